/** One response per request: what `execute` returns. Models that answer by response senders are left alone. */
import type { ConfigFix } from '../../contract/config-language.ts'
import type { CodeContext } from '../../contract/model-code.ts'
import { childrenOf } from '../python-source.ts'
import type { PythonFunction, PythonNode, PythonSource } from '../python-source.ts'
import { modelMethod, preferredFix, say } from './code-rule.ts'
import type { CodeFinding, CodeRule } from './code-rule.ts'

const LOOPS = ['ForStatement', 'WhileStatement']

export const RESPONSE_RULES: readonly CodeRule[] = [
  { codes: ['execute-returns-nothing', 'execute-returns-one-response', 'return-in-request-loop', 'append-after-request-loop', 'only-first-request'], check: responses },
]

interface Execute {
  readonly source: PythonSource
  readonly method: PythonFunction
  /** The name of the list of requests. */
  readonly requests: string
  readonly returns: readonly { readonly node: PythonNode; readonly value: PythonNode | null }[]
  /** `for request in requests:` of the method itself. */
  readonly loops: readonly PythonNode[]
}

function* responses(source: PythonSource, context: CodeContext): Generator<CodeFinding> {
  const method = modelMethod(source, 'execute')
  const requests = method?.parameters.positional[1]?.name
  if (method === null || requests === undefined || context.isDecoupled === true || source.text.includes('get_response_sender')) return
  if (source.inScope('YieldStatement', method.body).length + source.inScope('YieldExpression', method.body).length > 0) return
  const execute: Execute = {
    source, method, requests, loops: source.inScope('ForStatement', method.body).filter((loop) => overRequests(source, loop, requests)),
    returns: source.inScope('ReturnStatement', method.body).map((node) => ({ node, value: childrenOf(node)[1] ?? null })),
  }
  yield* returnsNothing(execute, context)
  yield* returnsOneResponse(execute)
  yield* returnsInLoop(execute)
  yield* appendsAfterLoop(execute)
  yield* onlyFirst(execute)
}

function overRequests(source: PythonSource, loop: PythonNode, requests: string): boolean {
  const parts = childrenOf(loop)
  const over = parts[parts.findIndex(({ name }) => name === 'in') + 1]
  if (over === undefined) return false
  return over.name === 'VariableName' ? source.textOf(over) === requests : new RegExp(String.raw`^(?:enumerate|zip|reversed|list|tqdm)\([^]*\b${requests}\b`).test(source.textOf(over))
}

/** Real Triton waits for ever for such requests. */
function* returnsNothing({ source, method, returns, loops }: Execute, { isDecoupled }: CodeContext): Generator<CodeFinding> {
  if (returns.some(({ value }) => value !== null && source.textOf(value) !== 'None')) return
  const last = source.statementsOf(method.body).at(-1)
  if (last === undefined || last.name === 'RaiseStatement' || last.name === 'PassStatement' || source.textOf(last) === '...') return
  // Whatever gets the requests themselves may answer them; and a try or a while may never come to its end.
  if (handsOn(source, method) || ['TryStatement', 'WhileStatement', 'WithStatement'].includes(last.name)) return
  const list = loops.length === 0 ? null : appendedList(source, method)
  const fixes: ConfigFix[] = []
  if (list !== null && returns.length === 0) {
    const at = source.lineEndAt(lastLeaf(last).to)
    fixes.push(preferredFix(`Return ${list}`, `返回 ${list}`, [{ offset: at, length: 0, text: `${source.lineEnd}${source.indentAt(firstStatement(source, method).from)}return ${list}` }]))
  }
  yield {
    code: 'execute-returns-nothing', severity: isDecoupled === false ? 'error' : 'warning', start: method.nameNode.from, end: method.nameNode.to, fixes,
    message: say(
      'execute returns no responses, so the requests of the batch are never answered. Return a list with one InferenceResponse per request, in their order.',
      'execute 没有返回响应，这一批请求得不到回答。返回一个列表，按顺序为每个请求给出一个 InferenceResponse。'),
    serverText: "Expected a list in the execute return, found type '<class 'NoneType'>'.",
  }
}

/** Requests that go to a function as they are: `self.run(requests)`, `self.answer(request)`. */
function handsOn(source: PythonSource, method: PythonFunction): boolean {
  const requests = method.parameters.positional[1]?.name ?? ''
  const names = new Set([requests])
  for (const loop of source.inScope('ForStatement', method.body)) if (overRequests(source, loop, requests)) for (const name of loopVariables(source, loop)) names.add(name)
  return source.calls(method.body).some(({ callee, arguments: given }) => !/^(?:len|enumerate|zip|print|range|list|reversed|str|repr)$|get_input_tensor_by_name$|\.Logger\./.test(callee)
    && given.some(({ value }) => value.name === 'VariableName' && names.has(source.textOf(value))))
}

function loopVariables(source: PythonSource, loop: PythonNode): string[] {
  const parts = childrenOf(loop)
  const at = parts.findIndex(({ name }) => name === 'in')
  return parts.slice(0, at).flatMap((part) => source.all('VariableName', part)).map((node) => source.textOf(node))
}

/** The one list of the method that starts empty and is appended to. */
function appendedList(source: PythonSource, method: PythonFunction): string | null {
  const empty = new Set(source.inScope('AssignStatement', method.body).flatMap((statement) => {
    const [target, , value] = childrenOf(statement)
    return target?.name === 'VariableName' && value !== undefined && /^(?:\[\s*\]|list\(\s*\))$/.test(source.textOf(value)) ? [source.textOf(target)] : []
  }))
  const appended = new Set(source.calls(method.body).flatMap(({ callee, arguments: given }) => {
    const name = callee.endsWith('.append') ? callee.slice(0, -'.append'.length) : ''
    // Tensors and inputs are collected too; what is returned are responses.
    return empty.has(name) && given[0] !== undefined && isResponse(source, method, given[0].value) ? [name] : []
  }))
  return appended.size === 1 ? [...appended][0] ?? null : null
}

/** A call that makes a response, or a name that only such calls are assigned to. */
function isResponse(source: PythonSource, method: PythonFunction, node: PythonNode): boolean {
  if (node.name === 'CallExpression') return /(?:^|\.)InferenceResponse$/.test(source.callOf(node)?.callee ?? '')
  if (node.name !== 'VariableName') return false
  const name = source.textOf(node)
  const values = source.inScope('AssignStatement', method.body).flatMap((statement) => {
    const parts = childrenOf(statement)
    return parts[0] !== undefined && source.textOf(parts[0]) === name ? [parts.at(-1)] : []
  })
  return values.length > 0 && values.every((value) => value?.name === 'CallExpression' && /(?:^|\.)InferenceResponse$/.test(source.callOf(value)?.callee ?? ''))
}

function* returnsOneResponse({ source, method, returns, loops }: Execute): Generator<CodeFinding> {
  for (const { value } of returns) {
    if (value === null || !isResponse(source, method, value)) continue
    const isInLoop = loops.some((loop) => loop.from < value.from && value.to <= loop.to)
    yield {
      code: 'execute-returns-one-response', severity: 'error', start: value.from, end: value.to,
      message: isInLoop ? say(
        'execute returns the response of the first request alone. Collect the responses in a list, and return that after the loop.',
        'execute 只返回了第一个请求的响应。在循环中把响应收集到列表里，循环结束后返回该列表。') : say(
        'execute returns one response, and a list is expected. Return a list with one InferenceResponse per request.',
        'execute 返回了单个响应，而需要的是列表。返回一个列表，为每个请求给出一个 InferenceResponse。'),
      serverText: "Expected a list in the execute return, found type '<class 'c_python_backend_utils.InferenceResponse'>'.",
      fixes: isInLoop ? [] : [preferredFix('Put it in a list', '放进列表', [{ offset: value.from, length: 0, text: '[' }, { offset: value.to, length: 0, text: ']' }])],
    }
  }
}

/** `return responses` indented into the loop: the first request is answered, and all others fail. */
function* returnsInLoop({ source, loops, returns }: Execute): Generator<CodeFinding> {
  for (const loop of loops) {
    const body = loop.getChild('Body')
    const statements = body === null ? [] : source.statementsOf(body)
    const last = statements.at(-1)
    const returned = returns.find(({ node, value }) => node.from === last?.from && value?.name === 'VariableName')
    if (body === null || last === undefined || returned?.value === undefined || returned.value === null) continue
    const name = source.textOf(returned.value)
    const isAppended = source.calls(body).some(({ callee }) => callee === `${name}.append`)
    if (!isAppended || isAssigned(source, body, name) || statements.length < 2 || isInLoop(loop)) continue
    const start = source.lineStart(last.from)
    const fixes = source.text.slice(start, last.from).trim() === ''
      ? [preferredFix('Return after the loop', '移到循环之后返回', [{ offset: start, length: last.from - start, text: source.indentAt(loop.from) }])] : []
    yield {
      code: 'return-in-request-loop', severity: 'error', start: last.from, end: last.to, fixes,
      message: say(
        `${name} is returned inside the loop, with the response of the first request alone. Return it after the loop.`,
        `${name} 在循环内就返回了，里面只有第一个请求的响应。移到循环之后再返回。`),
      serverText: 'Number of InferenceResponse objects do not match the number of InferenceRequest objects.',
    }
  }
}

/** `responses.append(...)` just after the loop: only the last request is answered. */
function* appendsAfterLoop({ source, method, loops, returns }: Execute): Generator<CodeFinding> {
  for (const loop of loops) {
    const next = nextStatement(loop)
    const call = next?.name === 'ExpressionStatement' ? source.callOf(next.firstChild) : null
    const body = loop.getChild('Body')
    if (next === null || call === null || body === null || !call.callee.endsWith('.append')) continue
    const name = call.callee.slice(0, -'.append'.length)
    const isReturned = returns.some(({ value }) => value !== null && source.textOf(value) === name)
    const isElsewhere = source.calls(method.body).some(({ callee, node }) => node.from !== call.node.from && callee.startsWith(`${name}.`))
    // What is appended is of the loop: a batch that is answered at once has its own names.
    const usesLoop = source.all('VariableName', next).some((node) => loopVariables(source, loop).includes(source.textOf(node)) || isAssigned(source, body, source.textOf(node)))
    const first = source.statementsOf(body)[0]
    if (!isReturned || isElsewhere || !usesLoop || isInLoop(loop) || first === undefined || source.lineStart(first.from) <= loop.from) continue
    const start = source.lineStart(next.from)
    const isOneLine = !source.textOf(next).includes('\n') && source.text.slice(start, next.from).trim() === ''
    yield {
      code: 'append-after-request-loop', severity: 'error', start: next.from, end: next.to,
      message: say(
        'The response is appended after the loop, so only the last request is answered. Append inside the loop.',
        '响应是在循环之后才加入列表的，只有最后一个请求得到回答。在循环内加入。'),
      serverText: 'Number of InferenceResponse objects do not match the number of InferenceRequest objects.',
      fixes: isOneLine ? [preferredFix('Append inside the loop', '移到循环内', [{ offset: start, length: next.from - start, text: source.indentAt(first.from) }])] : [],
    }
  }
}

function* onlyFirst({ source, method, requests, loops }: Execute): Generator<CodeFinding> {
  if (loops.length > 0) return
  const uses = source.all('VariableName', method.body).filter((node) => source.textOf(node) === requests)
  const [first] = uses
  const isFirst = (node: PythonNode): boolean => {
    const [object, bracket, index] = node.parent?.name === 'MemberExpression' ? childrenOf(node.parent) : []
    return object?.from === node.from && bracket?.name === '[' && index !== undefined && source.textOf(index) === '0'
  }
  if (first === undefined || !uses.every(isFirst)) return
  const start = first.from
  yield {
    code: 'only-first-request', severity: 'warning', start, end: first.parent?.to ?? first.to,
    message: say(
      `Only the first request is answered, and with dynamic batching execute is given several. Loop over ${requests}, and append one response for each.`,
      `只回答了第一个请求，而启用动态批处理后 execute 一次会收到多个。遍历 ${requests}，为每个请求加入一个响应。`),
  }
}

function isAssigned(source: PythonSource, below: PythonNode, name: string): boolean {
  return source.inScope('AssignStatement', below).some((statement) => {
    const parts = childrenOf(statement)
    const operator = parts.findIndex((part) => part.name === 'AssignOp')
    return parts.slice(0, operator).some((part) => source.all('VariableName', part).some((node) => source.textOf(node) === name && node.parent?.name !== 'MemberExpression'))
  })
}

function isInLoop(loop: PythonNode): boolean {
  for (let at = loop.parent; at !== null && at.name !== 'FunctionDefinition'; at = at.parent) if (LOOPS.includes(at.name)) return true
  return false
}

function nextStatement(node: PythonNode): PythonNode | null {
  let next = node.nextSibling
  while (next?.name === 'Comment') next = next.nextSibling
  return next
}

function firstStatement(source: PythonSource, { body }: PythonFunction): PythonNode {
  return source.statementsOf(body)[0] ?? body
}

/** Bodies end with the line end after them; their last word does not. */
function lastLeaf(node: PythonNode): PythonNode {
  let at = node
  for (let child = at.lastChild; child !== null; child = at.lastChild) at = child.name === 'Comment' && child.prevSibling !== null ? child.prevSibling : child
  return at
}
