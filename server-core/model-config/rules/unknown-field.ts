/** A name that its message does not have: where it belongs, or what was meant. */
import type { ConfigFix, TextEdit } from '../../contract/config-language.ts'
import { applyEdits, insertItem, removal, setField, smallestChange } from '../config-edit.ts'
import type { ConfigPath, ConfigValue } from '../config-edit.ts'
import { messageFromTree } from '../config-message.ts'
import { elementsNamed, fieldSpan } from '../config-path.ts'
import { MODEL_CONFIG_SCHEMA, mapValueField } from '../config-schema.ts'
import type { FieldSchema, MessageSchema } from '../config-schema.ts'
import { parsePbtxt } from '../pbtxt-parser.ts'
import type { PbtxtError, PbtxtField, PbtxtMessage, PbtxtTree } from '../pbtxt-tree.ts'
import { didYouMean } from './did-you-mean.ts'
import { otherFix, preferredFix, say } from './rule.ts'
import type { Finding } from './rule.ts'
import { loggedText } from './syntax-analysis.ts'
import type { FieldPlace, SyntaxAnalysis } from './syntax-analysis.ts'

/** `maxBatchSize`, `MaxBatchSize`, `MAX-BATCH-SIZE`: all `max_batch_size`. */
function snakeCase(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').replaceAll('-', '_').toLowerCase()
}

export function unknownField(analysis: SyntaxAnalysis, error: PbtxtError, place: FieldPlace): Finding {
  const { tree } = analysis
  const { field, message } = place
  const name = field.nameTokens[0]
  const span = { start: error.offset, end: error.offset + error.length }
  const serverText = loggedText(error)
  const own = message.schema
  const rename = (to: string): ConfigFix => preferredFix(`Rename to ${to}`, `改名为 ${to}`, [{ offset: span.start, length: span.end - span.start, text: to }])
  if (name === undefined || own === null) return { code: 'unknown-field', severity: 'error', span, serverText, message: nothingNamed(field.name, own) }
  const plain = [snakeCase(field.name), field.name.toLowerCase()].find((candidate) => own.byName.has(candidate))
  if (plain !== undefined) {
    const isCamel = /[a-z][A-Z]/.test(field.name)
    return {
      code: isCamel ? 'camel-case-field' : 'wrong-case', severity: 'error', span, serverText,
      message: isCamel ? say(`Field names are written with underscores: ${plain}.`, `字段名用下划线书写：${plain}。`)
        : say(`Field names are case-sensitive: ${plain}.`, `字段名区分大小写：${plain}。`),
      fixes: [rename(plain)],
    }
  }
  return belongsOutside(analysis, field, place, span, serverText) ?? belongsInside(analysis, field, message, place, span, serverText)
    ?? misspelt(tree, field, own, rename, span, serverText)
}

function nothingNamed(name: string, schema: MessageSchema | null): Finding['message'] {
  const owner = schema === null || schema === MODEL_CONFIG_SCHEMA ? { en: 'A model config', zh: '模型配置' } : { en: shortName(schema), zh: shortName(schema) }
  return say(`${owner.en} has no field "${name}".`, `${owner.zh} 没有字段“${name}”。`)
}

function shortName(schema: MessageSchema): string {
  return schema.fullName.replace('inference.', '')
}

function misspelt(
  tree: PbtxtTree, field: PbtxtField, schema: MessageSchema, rename: (to: string) => ConfigFix, span: { start: number; end: number }, serverText: string,
): Finding {
  const meant = didYouMean(field.name, schema.byName.keys())
  const remove = otherFix('Remove the field', '删除该字段', [removal(tree.text, field.start, field.end)])
  const base = nothingNamed(field.name, schema)
  return {
    code: 'unknown-field', severity: 'error', span, serverText,
    message: meant === undefined ? base : say(`${base.en} Did you mean ${meant}?`, `${base['zh-CN']}是否想写 ${meant}？`),
    fixes: meant === undefined ? [remove] : [rename(meant), remove],
  }
}

/** The field whose value a message is; undefined for the file. */
function ownerOf({ valuesByStart }: SyntaxAnalysis, message: PbtxtMessage): PbtxtField | undefined {
  return message.open === null ? undefined : valuesByStart.get(message.start)?.field
}

function pathTo(analysis: SyntaxAnalysis, message: PbtxtMessage, around: readonly PbtxtMessage[]): ConfigPath {
  const [outer, ...rest] = around
  const field = ownerOf(analysis, message)
  if (outer === undefined || field === undefined) return []
  const before = pathTo(analysis, outer, rest)
  if (field.schema?.isRepeated !== true) return [...before, field.name]
  return [...before, field.name, elementsNamed(outer, field.name).findIndex((element) => element.value === message)]
}

/** `max_batch_size` in `dynamic_batching`: the file's. */
function belongsOutside(analysis: SyntaxAnalysis, field: PbtxtField, { message, around }: FieldPlace, span: { start: number; end: number }, serverText: string): Finding | null {
  const { tree } = analysis
  const level = around.findIndex((candidate) => candidate.schema?.byName.has(field.name) === true)
  const home = around[level]
  const schema = home?.schema?.byName.get(field.name)
  if (home === undefined || schema === undefined) return null
  const isTop = home.open === null
  const where = ownerOf(analysis, home)?.name ?? ''
  const existing = elementsNamed(home, field.name)[0]?.field
  const remove: TextEdit = removal(tree.text, field.start, field.end)
  const isSame = existing !== undefined && bodyText(tree, existing) === bodyText(tree, field)
  const fixes: ConfigFix[] = []
  if (existing !== undefined && !schema.isRepeated) {
    fixes.push(preferredFix(isSame ? 'Remove it: it is set there already' : `Remove it and keep the value set there`, isSame ? '删除：那里已有相同的值' : '删除，保留那里的值', [remove]))
  }
  const move = moveEdits(analysis, field, schema, pathTo(analysis, home, around.slice(level + 1)), remove)
  if (move !== null && !isSame) {
    const title: [string, string] = isTop ? ['Move it to the top level', '移到顶层'] : [`Move it to ${where}`, `移到 ${where}`]
    fixes.push(fixes.length === 0 ? preferredFix(...title, move) : otherFix(...title, move))
  }
  if (fixes.length === 0) fixes.push(otherFix('Remove the field', '删除该字段', [remove]))
  const inner = ownerOf(analysis, message)?.name ?? ''
  return {
    code: 'misplaced-field', severity: 'error', span, serverText, fixes,
    message: isTop
      ? say(`${field.name} belongs to the top level of the config, not into ${inner}.`, `${field.name} 属于配置的顶层，不应写在 ${inner} 里。`)
      : say(`${field.name} belongs to ${where}, not into ${inner}.`, `${field.name} 属于 ${where}，不应写在 ${inner} 里。`),
  }
}

/** `preferred_batch_size` at the top level: of `dynamic_batching`. */
function belongsInside(analysis: SyntaxAnalysis, field: PbtxtField, message: PbtxtMessage, place: FieldPlace, span: { start: number; end: number }, serverText: string): Finding | null {
  const { tree } = analysis
  const homes = (message.schema?.fields ?? []).filter((candidate) =>
    candidate.type.kind === 'message' && mapValueField(candidate) === undefined && candidate.type.message.byName.has(field.name))
  const present = homes.filter((home) => elementsNamed(message, home.name).length > 0)
  const home = present[0] ?? homes.find((candidate) => !candidate.isRepeated)
  if (home?.type.kind !== 'message' || field.name === 'name' || field.name === 'kind') return null
  const schema = home.type.message.byName.get(field.name)
  if (schema === undefined) return null
  const path: ConfigPath = home.isRepeated ? [home.name, 0] : [home.name]
  const move = moveEdits(analysis, field, schema, [...pathTo(analysis, message, place.around), ...path], removal(tree.text, field.start, field.end))
  const isSure = present.length === 1 || homes.length === 1
  const title: [string, string] = [`Move it into ${home.name}`, `移到 ${home.name} 里`]
  return {
    code: 'misplaced-field', severity: 'error', span, serverText,
    message: say(`${field.name} belongs into ${home.name}.`, `${field.name} 应写在 ${home.name} 里。`),
    fixes: move === null ? [] : [isSure ? preferredFix(...title, move) : otherFix(...title, move)],
  }
}

function bodyText(tree: PbtxtTree, field: PbtxtField): string {
  const { start, end } = fieldSpan(field)
  return tree.text.slice(start, end).replace(/\s+/g, '')
}

/** A move parses the text anew; a text full of misplaced fields gets moves for the first ones only. */
const MOST_PARSED_CHARACTERS = 1_000_000
const parsedCharacters = new WeakMap<PbtxtTree, number>()

function mayParse(tree: PbtxtTree): boolean {
  const parsed = (parsedCharacters.get(tree) ?? 0) + tree.text.length
  parsedCharacters.set(tree, parsed)
  return parsed <= MOST_PARSED_CHARACTERS || parsed === tree.text.length
}

/** Takes the field out and sets it anew under `home`; null where its value does not fit there. */
function moveEdits({ tree, isClean }: SyntaxAnalysis, field: PbtxtField, schema: FieldSchema, home: ConfigPath, remove: TextEdit): TextEdit[] | null {
  if (!isClean || !mayParse(tree)) return null
  const { start, end } = fieldSpan(field)
  // The value is read as the home's field reads it.
  const parent: MessageSchema = { fullName: 'inference.ModelConfig', fields: [schema], byName: new Map([[schema.name, schema]]), isMapEntry: false }
  const alone = parsePbtxt(tree.text.slice(start, end), parent)
  if (alone.errors.length > 0) return null
  const value = messageFromTree(alone.tree.root, parent)[schema.name]
  if (value === undefined) return null
  const without = applyEdits(tree.text, [remove])
  try {
    const current = parsePbtxt(without).tree
    const added = schema.isRepeated && Array.isArray(value)
      ? appendAll(without, [...home, schema.name], value as readonly ConfigValue[])
      : applyEdits(without, setField(current, [...home, schema.name], value as ConfigValue))
    return [smallestChange(tree.text, added)]
  } catch (error) {
    if (error instanceof TypeError) return null // no such place in this config
    throw error
  }
}

function appendAll(text: string, path: ConfigPath, values: readonly ConfigValue[]): string {
  return values.reduce<string>((current, value) => applyEdits(current, insertItem(parsePbtxt(current).tree, path, Number.MAX_SAFE_INTEGER, value)), text)
}
