/** Card memory that a model takes in `initialize` and gives back to nobody: a reload then holds two copies for a while, and a failed one keeps it. */
import type { ConfigFix } from '../../contract/config-language.ts'
import { childrenOf } from '../python-source.ts'
import type { PythonClass, PythonNode, PythonSource } from '../python-source.ts'
import { MODEL_CLASS, preferredFix, say } from './code-rule.ts'
import type { CodeFinding, CodeRule } from './code-rule.ts'

export const FINALIZE_RULES: readonly CodeRule[] = [{ codes: ['nothing-freed'], check: nothingFreed }]

/** What holds card memory, what gives it back, and what shows that the file knows. */
interface Resource {
  readonly made: RegExp
  readonly freed: RegExp
  readonly what: string
  release(name: string): string
}

const RESOURCES: readonly Resource[] = [
  { made: /(?:^|\.)InferSession$/, freed: /\.free_resource\s*\(|InferSession\.finalize\s*\(/, what: 'InferSession', release: (name) => `${name}.free_resource()` },
  { made: /^acl\.mdl\.load_from_(?:file|mem)$/, freed: /\bmdl\.unload\s*\(/, what: 'acl.mdl', release: (name) => `acl.mdl.unload(${name})` },
]

function* nothingFreed(source: PythonSource): Generator<CodeFinding> {
  const model = source.classNamed(MODEL_CLASS)
  const initialize = model?.methods.findLast(({ name }) => name === 'initialize')
  // A class that inherits may be freed by what it inherits from.
  if (model === null || initialize === undefined || model.hasBases) return
  const finalize = model.methods.findLast(({ name }) => name === 'finalize')
  for (const statement of source.inScope('AssignStatement', initialize.body)) {
    const parts = childrenOf(statement)
    const [target] = parts
    const value = parts.at(-1)
    const name = target === undefined ? '' : source.dottedName(target)
    if (target === undefined || value === undefined || !/^self\.\w+$/.test(name)) continue
    const isList = value.name === 'ArrayComprehensionExpression'
    const call = source.callOf(isList ? value.getChild('CallExpression') : value)
    const resource = RESOURCES.find(({ made }) => call !== null && made.test(call.callee))
    if (resource === undefined || resource.freed.test(source.text) || isDropped(source, finalize?.body ?? null, name)) continue
    const lines = isList ? [`for session in ${name}:`, `    ${resource.release('session')}`] : [resource.release(name)]
    yield {
      code: 'nothing-freed', severity: 'warning', start: target.from, end: target.to,
      message: say(
        `${name} holds card memory that finalize does not free, so a reload may find the card full. Free it in finalize: ${resource.release(isList ? 'session' : name)}.`,
        `${name} 占用卡上显存，finalize 却没有释放，重新加载时显存可能不足。在 finalize 中释放：${resource.release(isList ? 'session' : name)}。`),
      fixes: finalizeFixes(source, model, finalize?.body ?? null, initialize.body, lines),
    }
  }
}

/** `del self.session` and `self.session = None` let go of it too. */
function isDropped(source: PythonSource, body: PythonNode | null, name: string): boolean {
  if (body === null) return false
  const escaped = name.replaceAll('.', String.raw`\s*\.\s*`)
  return new RegExp(String.raw`\bdel\s+[^\n]*${escaped}\b|${escaped}\s*=\s*None\b|${escaped}\.(?:close|release|finalize|destroy|unload|stop|shutdown)\s*\(`).test(source.textOf(body))
}

function finalizeFixes(source: PythonSource, model: PythonClass, finalize: PythonNode | null, initialize: PythonNode, lines: readonly string[]): ConfigFix[] {
  const { lineEnd, text } = source
  const methodIndent = source.indentAt(initialize.parent?.from ?? initialize.from)
  const first = source.statementsOf(initialize)[0]
  const bodyIndent = first === undefined || source.lineStart(first.from) <= initialize.from ? `${methodIndent}    ` : source.indentAt(first.from)
  const unit = bodyIndent.startsWith(methodIndent) ? bodyIndent.slice(methodIndent.length) : '    '
  const written = lines.map((line) => `${bodyIndent}${line.replace(/^ {4}/, unit)}`).join(lineEnd)
  const titles = ['Free it in finalize', '在 finalize 中释放'] as const
  if (finalize === null) {
    const end = lastLineOf(source, model.body)
    return [preferredFix(...titles, [{ offset: end, length: 0, text: `${lineEnd}${lineEnd}${methodIndent}def finalize(self):${lineEnd}${written}` }])]
  }
  const statements = source.statementsOf(finalize)
  const [only] = statements
  if (statements.length === 1 && only?.name === 'PassStatement') {
    const colon = finalize.from + 1
    const isSameLine = !text.slice(colon, only.from).includes('\n')
    return [preferredFix(...titles, [isSameLine
      ? { offset: colon, length: only.to - colon, text: `${lineEnd}${written}` }
      : { offset: source.lineStart(only.from), length: only.to - source.lineStart(only.from), text: written }])]
  }
  const last = statements.at(-1)
  if (last === undefined || source.lineStart(last.from) <= finalize.from || ['ReturnStatement', 'RaiseStatement'].includes(last.name)) return []
  return [preferredFix(...titles, [{ offset: lastLineOf(source, finalize), length: 0, text: `${lineEnd}${written}` }])]
}

/** The end of the last line of a body that holds more than a comment. */
function lastLineOf(source: PythonSource, body: PythonNode): number {
  let at: PythonNode = body
  for (let child = lastOf(at); child !== null; child = lastOf(at)) at = child
  return source.lineEndAt(at.to)
}

function lastOf(node: PythonNode): PythonNode | null {
  let child = node.lastChild
  while (child?.name === 'Comment') child = child.prevSibling
  return child
}
