/** Cards written into the code: then every instance runs on that one, whatever `instance_group` says. */
import type { ConfigFix } from '../../contract/config-language.ts'
import { childrenOf } from '../python-source.ts'
import type { PythonCall, PythonNode, PythonSource } from '../python-source.ts'
import { argsNameAt, otherFix, preferredFix, replaceNode, say } from './code-rule.ts'
import type { CodeFinding, CodeRule } from './code-rule.ts'

const DEVICE_KEY = 'model_instance_device_id'
/** Calls whose first argument, or `device_id`, is a card. */
const CARD_CALLS = /(?:^|\.)(?:InferSession|acl\.rt\.(?:set_device|create_context|reset_device)|npu\.(?:set_device|device))$/
/** Calls of torch that take a device by name, wherever it stands. */
const DEVICE_CALLS = /^(?:torch|torch_npu)\.|(?:^|\.)(?:to|set_device|from_pretrained|load_model|InferenceSession)$/
const DEVICE_KEYWORD = /^(?:device|device_id|map_location|device_map)$/
const DEVICE_NAME = /(?:^|[._])(?:device|npu|card)(?:_?(?:id|no|index|name))?$/i
const DEVICE_NUMBER_NAME = /(?:^|[._])(?:device|npu|card)_?(?:id|no|index)$/i
const VISIBLE_VARIABLES = new Set(['ASCEND_RT_VISIBLE_DEVICES', 'ASCEND_VISIBLE_DEVICES', 'NPU_VISIBLE_DEVICES'])

export const CARD_RULES: readonly CodeRule[] = [
  { codes: ['hard-coded-card'], check: hardCodedCards },
  { codes: ['visible-devices-in-code'], check: visibleDevices },
]

function* hardCodedCards(source: PythonSource): Generator<CodeFinding> {
  const places = new Map<number, PythonNode>()
  for (const call of source.calls()) for (const node of cardsOfCall(source, call)) places.set(node.from, node)
  for (const node of cardsAssigned(source)) places.set(node.from, node)
  for (const node of [...places.values()].sort((a, b) => a.from - b.from)) {
    // Code that asks for the id knows; what is written beside it is a default, or another card on purpose.
    const around = source.functionAround(node)
    if (around === null ? source.text.includes(DEVICE_KEY) : source.textOf(around.node).includes(DEVICE_KEY)) continue
    yield { code: 'hard-coded-card', severity: 'warning', start: node.from, end: node.to, ...cardMessage(source, node), fixes: cardFixes(source, node) }
  }
}

/** The literals of a call that name a card. */
function cardsOfCall(source: PythonSource, { callee, arguments: given }: PythonCall): PythonNode[] {
  const found: PythonNode[] = []
  if (CARD_CALLS.test(callee)) {
    const card = given.find(({ name }) => name === 'device_id' || name === 'device') ?? given.find(({ name }) => name === null)
    if (card !== undefined && (isWholeNumber(source, card.value) || isNpuName(source, card.value))) found.push(card.value)
  }
  for (const { name, value } of given) {
    if (isNpuName(source, value) && (name === null ? DEVICE_CALLS.test(callee) : DEVICE_KEYWORD.test(name))) found.push(value)
  }
  return found
}

/** `device = "npu:0"`, `self.device_id = 0`. A number is a card only where nothing in the file knows the instance's. */
function cardsAssigned(source: PythonSource): PythonNode[] {
  return source.all('AssignStatement').flatMap((statement) => {
    const parts = childrenOf(statement)
    const operator = parts.findIndex(({ name }) => name === 'AssignOp')
    const [target] = parts
    const value = parts.at(-1)
    if (target === undefined || value === undefined || operator === -1 || parts.length !== operator + 2 || parts[1]?.name === ',') return []
    const name = source.dottedName(target)
    if (isNpuName(source, value) && DEVICE_NAME.test(name)) return [value]
    return isWholeNumber(source, value) && DEVICE_NUMBER_NAME.test(name) && !source.text.includes(DEVICE_KEY) ? [value] : []
  })
}

function isWholeNumber(source: PythonSource, node: PythonNode): boolean {
  return node.name === 'Number' && /^\d+$/.test(source.textOf(node))
}

function isNpuName(source: PythonSource, node: PythonNode): boolean {
  return /^npu:\d+$/.test(source.stringValue(node) ?? '')
}

function cardMessage(source: PythonSource, node: PythonNode): Pick<CodeFinding, 'message'> {
  const written = source.textOf(node)
  return {
    message: say(
      `The card ${written} is written into the code, so every instance runs on it, whatever instance_group says. Take the id from args["${DEVICE_KEY}"] in initialize.`,
      `代码里写死了卡 ${written}：无论 instance_group 怎么配置，每个实例都会在这张卡上运行。在 initialize 中从 args["${DEVICE_KEY}"] 取得卡号。`),
  }
}

function cardFixes(source: PythonSource, node: PythonNode): ConfigFix[] {
  const args = argsNameAt(source, node)
  if (args === null) return []
  const literal = source.textOf(node)
  // Before Python 3.12 an f-string cannot have its own quotes inside.
  const text = node.name === 'Number' ? `int(${args}["${DEVICE_KEY}"])` : literal.startsWith("'") ? `f'npu:{${args}["${DEVICE_KEY}"]}'` : `f"npu:{${args}['${DEVICE_KEY}']}"`
  return [preferredFix(`Take the card from ${args}["${DEVICE_KEY}"]`, `从 ${args}["${DEVICE_KEY}"] 取卡号`, [replaceNode(node, text)])]
}

/** The server chooses the card by its id among those that it sees; a process that hides some counts otherwise. */
function* visibleDevices(source: PythonSource): Generator<CodeFinding> {
  const set: { readonly name: PythonNode; readonly statement: PythonNode }[] = []
  for (const statement of source.all('AssignStatement')) {
    const [target] = childrenOf(statement)
    const parts = target?.name === 'MemberExpression' ? childrenOf(target) : []
    if (parts[0] !== undefined && parts[2] !== undefined && source.resolvedName(parts[0]) === 'os.environ') set.push({ name: parts[2], statement })
  }
  for (const call of source.calls()) {
    const [first] = call.arguments
    if (first !== undefined && call.node.parent?.name === 'ExpressionStatement' && /^os\.(?:putenv|environ\.setdefault)$/.test(call.callee)) set.push({ name: first.value, statement: call.node.parent })
  }
  for (const { name, statement } of set) {
    const variable = source.stringValue(name)
    if (variable === null || !VISIBLE_VARIABLES.has(variable)) continue
    yield {
      code: 'visible-devices-in-code', severity: 'warning', start: statement.from, end: statement.to,
      message: say(
        `The code hides cards by ${variable}, so that ids no longer mean the cards of instance_group and the console. Remove it here; set it for the whole server where cards are to be left alone.`,
        `代码用 ${variable} 屏蔽了部分卡，卡号就不再对应 instance_group 和控制台里的卡。在这里删除；需要留出某些卡时，对整个服务引擎设置该变量。`),
      fixes: removalFixes(source, statement),
    }
  }
}

function removalFixes(source: PythonSource, statement: PythonNode): ConfigFix[] {
  const title = ['Remove the statement', '删除该语句'] as const
  const start = source.lineStart(statement.from)
  const end = source.lineEndAt(statement.to)
  const isAlone = source.text.slice(start, statement.from).trim() === '' && /^\s*(#.*)?$/.test(source.text.slice(statement.to, end))
  const isLast = statement.parent?.name === 'Body' && source.statementsOf(statement.parent).length === 1
  if (!isAlone || isLast) return [otherFix(...title, [replaceNode(statement, 'pass')])]
  const next = source.text.indexOf('\n', end)
  return [otherFix(...title, [{ offset: start, length: (next === -1 ? end : next + 1) - start, text: '' }])]
}
