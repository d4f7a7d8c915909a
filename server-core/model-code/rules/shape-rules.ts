/** What the backend calls: the import, the class, its methods; and prints that cost every request. */
import type { ConfigFix, TextEdit } from '../../contract/config-language.ts'
import { childrenOf } from '../python-source.ts'
import type { PythonFunction, PythonNode, PythonSource } from '../python-source.ts'
import { importEdits, MODEL_CLASS, modelMethod, preferredFix, replaceNode, say, UTILS_MODULE } from './code-rule.ts'
import type { CodeFinding, CodeRule } from './code-rule.ts'

export const SHAPE_RULES: readonly CodeRule[] = [
  { codes: ['utils-not-imported'], check: utilsNotImported },
  { codes: ['model-class-missing', 'execute-missing'], check: modelClass },
  { codes: ['method-signature'], check: signatures },
  { codes: ['prints-tensor'], check: prints },
]

const USUAL_NAME = 'pb_utils'

function* utilsNotImported(source: PythonSource): Generator<CodeFinding> {
  if (source.hasStarImport || isBound(source, USUAL_NAME)) return
  const use = source.all('MemberExpression').find((node) => node.firstChild?.name === 'VariableName' && source.textOf(node.firstChild) === USUAL_NAME)
  if (use?.firstChild === undefined || use.firstChild === null) return
  const statement = `import ${UTILS_MODULE} as ${USUAL_NAME}`
  yield {
    code: 'utils-not-imported', severity: 'error', start: use.firstChild.from, end: use.firstChild.to, serverText: `NameError: name '${USUAL_NAME}' is not defined`,
    message: say(`${USUAL_NAME} is used and never imported. Add "${statement}" at the top.`, `用到了 ${USUAL_NAME}，却没有导入。在文件开头加上 “${statement}”。`),
    fixes: [preferredFix(`Add ${statement}`, `添加 ${statement}`, importEdits(source, statement))],
  }
}

/** Imported, assigned, a parameter: given a meaning anywhere. */
function isBound(source: PythonSource, name: string): boolean {
  if (source.imports.has(name)) return true
  const isName = (node: PythonNode | null): boolean => node?.name === 'VariableName' && source.textOf(node) === name
  return source.all('VariableName').some((node) => isName(node) && (
    (node.parent?.name === 'AssignStatement' && isBeforeOperator(node)) || node.parent?.name === 'ParamList' || node.parent?.name === 'FunctionDefinition' || node.parent?.name === 'ClassDefinition'
    || node.prevSibling?.name === 'as' || node.parent?.name === 'ScopeStatement'))
}

function isBeforeOperator(node: PythonNode): boolean {
  for (let next = node.nextSibling; next !== null; next = next.nextSibling) if (next.name === 'AssignOp') return true
  return false
}

function* modelClass(source: PythonSource): Generator<CodeFinding> {
  const model = source.classNamed(MODEL_CLASS)
  if (model === null) {
    // Made in some other way: imported, assigned, in an if or a try.
    if (source.hasStarImport || isBound(source, MODEL_CLASS) || new RegExp(String.raw`\bclass\s+${MODEL_CLASS}\b`).test(source.text)) return
    const candidates = source.classes.filter(({ methods }) => methods.some(({ name }) => name === 'execute'))
    const [only] = candidates
    // A file without any such class may be a module of a model.
    if (only === undefined || candidates.length !== 1) return
    const uses = source.all('VariableName').filter((node) => source.textOf(node) === only.name)
    yield {
      code: 'model-class-missing', severity: 'error', start: only.nameNode.from, end: only.nameNode.to, serverText: `AttributeError: module '1.model' has no attribute '${MODEL_CLASS}'`,
      message: say(`The class is named ${only.name}, and the backend looks for ${MODEL_CLASS}. Rename it.`, `类名是 ${only.name}，而后端要找的是 ${MODEL_CLASS}。改名。`),
      fixes: [preferredFix(`Rename it to ${MODEL_CLASS}`, `改名为 ${MODEL_CLASS}`, uses.map((node) => replaceNode(node, MODEL_CLASS)))],
    }
    return
  }
  const isSet = new RegExp(String.raw`\bexecute\s*=|\.execute\b|__getattr__`).test(source.text)
  if (model.hasBases || isSet || model.methods.some(({ name }) => name === 'execute') || /\bdef\s+execute\b/.test(source.textOf(model.node))) return
  yield {
    code: 'execute-missing', severity: 'error', start: model.nameNode.from, end: model.nameNode.to, serverText: `AttributeError: '${MODEL_CLASS}' object has no attribute 'execute'`,
    message: say(`${MODEL_CLASS} has no method execute, so the model loads and no request is answered. Add "def execute(self, requests):".`, `${MODEL_CLASS} 没有 execute 方法：模型能加载，但请求得不到回答。添加 “def execute(self, requests):”。`),
  }
}

/** Names of what the backend gives each method, after `self`. */
const METHOD_PARAMETERS: Readonly<Record<string, readonly string[]>> = { initialize: ['args'], execute: ['requests'], finalize: [], is_ready: [] }

function* signatures(source: PythonSource): Generator<CodeFinding> {
  for (const method of source.classNamed(MODEL_CLASS)?.methods ?? []) {
    const given = Object.hasOwn(METHOD_PARAMETERS, method.name) ? METHOD_PARAMETERS[method.name] : undefined
    const { positional, hasRest } = method.parameters
    // A decorator may change what is called.
    if (given === undefined || hasRest || method.decorators.length > 0) continue
    const required = positional.filter(({ hasDefault }) => !hasDefault).length
    const wanted = 1 + given.length
    if (required <= wanted && wanted <= positional.length) continue
    const expected = `(${['self', ...given].join(', ')})`
    yield {
      code: 'method-signature', severity: 'error', start: method.parameters.node.from, end: method.parameters.node.to,
      message: say(`The backend calls ${method.name}${expected}, which does not fit ${method.name}${source.textOf(method.parameters.node)}. Give it these parameters.`,
        `后端按 ${method.name}${expected} 调用，与 ${method.name}${source.textOf(method.parameters.node)} 不符。改成这些参数。`),
      fixes: signatureFixes(method, expected),
    }
  }
}

function signatureFixes(method: PythonFunction, expected: string): ConfigFix[] {
  const names = method.parameters.positional.map(({ name }) => name)
  const wanted = expected.slice(1, -1).split(', ')
  // Only names that mean the same: what else is there has a use that only its author knows.
  if (names.some((name) => !wanted.includes(name))) return []
  const edit: TextEdit = replaceNode(method.parameters.node, expected)
  return [preferredFix(`Make it ${method.name}${expected}`, `改成 ${method.name}${expected}`, [edit])]
}

function* prints(source: PythonSource): Generator<CodeFinding> {
  const method = modelMethod(source, 'execute')
  if (method === null) return
  const arrays = new Set(source.inScope('AssignStatement', method.body).flatMap((statement) => {
    const [target, operator, value] = childrenOf(statement)
    return target?.name === 'VariableName' && operator?.name === 'AssignOp' && value !== undefined && isArray(source, value) ? [source.textOf(target)] : []
  }))
  for (const call of source.calls(method.body)) {
    if (call.callee !== 'print') continue
    const printed = call.arguments.find(({ name, value }) => name === null && (isArray(source, value) || (value.name === 'VariableName' && arrays.has(source.textOf(value)))))
    if (printed === undefined) continue
    const text = source.textOf(printed.value)
    yield {
      code: 'prints-tensor', severity: 'info', start: call.node.from, end: call.node.to,
      message: say(
        `The values of ${text} are printed with every request, which costs time and fills the log. Print its shape, or remove the line.`,
        `每个请求都会打印 ${text} 的内容，既耗时又占满日志。只打印形状，或删除这一行。`),
      fixes: [preferredFix('Print the shape instead', '改为打印形状', [{ offset: printed.value.to, length: 0, text: '.shape' }])],
    }
  }
}

function isArray(source: PythonSource, node: PythonNode): boolean {
  const [callee] = node.name === 'CallExpression' ? childrenOf(node) : []
  const last = callee?.name === 'MemberExpression' ? callee.lastChild : null
  return last?.name === 'PropertyName' && source.textOf(last) === 'as_numpy'
}
