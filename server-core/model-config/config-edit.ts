/**
 * Edits of a config that change only what they must: every other byte, comment and habit of the file stays. Each function looks at a
 * parsed tree and returns changes of its text, none where nothing has to change; the caller applies them and parses again.
 */
import type { TextEdit } from '../contract/config-language.ts'
import { mapValueField } from './config-schema.ts'
import type { FieldSchema, MessageSchema } from './config-schema.ts'
import { elementsNamed, entryKey, fieldSpan, resolvePath } from './config-path.ts'
import type { ConfigPath, PbtxtElement } from './config-path.ts'
import { entryKeyValue, indentAt, isMultiLine, lineStartAt, renderField, renderScalar, renderString, renderValue, restOfLine, startsLine, styleOf } from './config-style.ts'
import type { ConfigScalar, ConfigValue } from './config-style.ts'
import { parsePbtxt } from './pbtxt-parser.ts'
import type { PbtxtField, PbtxtMessage, PbtxtScalar, PbtxtTree, PbtxtValue } from './pbtxt-tree.ts'

export { findField } from './config-path.ts'
export type { ConfigPath, ConfigPathStep } from './config-path.ts'
export type { ConfigScalar, ConfigValue } from './config-style.ts'

/** @param edits in any order, not overlapping; those at one offset apply in the order given */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  let result = ''
  let at = 0
  for (const edit of edits.toSorted((a, b) => a.offset - b.offset)) {
    result += text.slice(at, edit.offset) + edit.text
    at = Math.max(at, edit.offset + edit.length)
  }
  return result + text.slice(at)
}

/**
 * Gives the field or element at `path` a value, creating what is missing on the way. Lists and messages are made equal to `value` with
 * as little change as possible. Messages of a oneof put out the member that was set before.
 *
 * @param value scalar, JSON-shaped message, or the array of a repeated field
 * @throws TypeError where the schema has no such path or the value does not fit it
 */
export function setField(tree: PbtxtTree, path: ConfigPath, value: ConfigValue): TextEdit[] {
  const place = resolvePath(tree, path)
  if (place.resolved < path.length) return create(tree, path, place.resolved, value)
  const last = path[path.length - 1]
  const [field] = place.fields
  if (field?.schema === undefined || field.schema === null) throw new TypeError(`no field at ${pathText(path)}`)
  if (typeof last === 'object') return setEntryValue(tree, path.slice(0, -1), last.key, value)
  if (field.schema.isRepeated && typeof last === 'string') return setRepeated(tree, path, field.schema, value)
  return place.element === null ? [] : setValue(tree, path, field.schema, place.element, value)
}

function pathText(path: ConfigPath): string {
  return path.map((step) => (typeof step === 'object' ? step.key : String(step))).join('.')
}

/** Changes an existing value. */
function setValue(tree: PbtxtTree, path: ConfigPath, schema: FieldSchema, { field, value: node }: PbtxtElement, value: ConfigValue): TextEdit[] {
  if (schema.type.kind === 'message') {
    if (node.kind === 'message') return mergeMessage(tree, path, schema.type.message, node, value)
    return [replacement(node, renderValue(schema, value, placeAt(tree, field)))]
  }
  if (typeof value === 'object') throw new TypeError(`${schema.name} takes a single value`)
  if (node.kind !== 'scalar') throw new TypeError(`${schema.name} holds a message`)
  if (isSameScalar(schema, node, value)) return []
  const first = node.tokens[0]
  const quote = first?.kind === 'string' && (first.text.startsWith('\'') || first.text.startsWith('‘')) ? '\'' : '"'
  if (node.end > node.start) return [replacement(node, renderScalar(schema, value, first?.kind === 'string' ? quote : styleOf(tree).quote))]
  const name = fieldSpan(field)
  const text = renderScalar(schema, value, styleOf(tree).quote)
  return [{ offset: Math.max(name.end, field.colon === null ? 0 : field.colon.offset + 1), length: 0, text: field.colon === null ? `: ${text}` : ` ${text}` }]
}

function replacement(span: { readonly start: number; readonly end: number }, text: string): TextEdit {
  return { offset: span.start, length: span.end - span.start, text }
}

function isSameScalar(schema: FieldSchema, node: PbtxtScalar, value: ConfigScalar): boolean {
  if (node.value === null) return false
  if (schema.type.kind === 'enum') return node.value === value || (typeof value === 'number' && schema.type.enum.values[String(node.value)] === value)
  if (typeof node.value === 'string' || typeof node.value === 'boolean') return node.value === value
  if (typeof value === 'number' && schema.type.kind === 'scalar' && schema.type.scalar === 'float') return Object.is(node.value, Math.fround(value))
  return typeof value === 'bigint' || typeof node.value === 'bigint' ? BigInt(node.value) === BigInt(value) : Object.is(node.value, value)
}

/** Makes a message equal to `value`: sets what it gives, removes what it does not. */
function mergeMessage(tree: PbtxtTree, path: ConfigPath, schema: MessageSchema, node: PbtxtMessage, value: ConfigValue): TextEdit[] {
  if (typeof value !== 'object' || Array.isArray(value)) throw new TypeError(`${schema.fullName} is a message`)
  const wanted = value as Readonly<Record<string, ConfigValue | null | undefined>>
  for (const name of Object.keys(wanted)) if (!schema.byName.has(name)) throw new TypeError(`${schema.fullName} has no field ${name}`)
  const steps: ((current: PbtxtTree) => TextEdit[])[] = []
  for (const name of new Set(node.fields.map((field) => field.name))) {
    if (schema.byName.has(name) && isNothing(wanted[name])) steps.push((current) => removeField(current, [...path, name]))
  }
  for (const field of schema.fields) {
    const next = wanted[field.name]
    if (next === undefined || next === null) continue
    const isThere = node.fields.some((own) => own.name === field.name)
    if (!isThere && (isNothing(next) || (field.oneof === undefined && isDefault(field, next)))) continue
    if (isNothing(next)) continue
    steps.push((current) => setField(current, [...path, field.name], next))
  }
  return inSequence(tree, steps)
}

/** Left out, or a list or map without entries; an empty message is something. */
function isNothing(value: ConfigValue | null | undefined): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}

function isDefault(schema: FieldSchema, value: ConfigValue): boolean {
  if (schema.isRepeated) return typeof value === 'object' && Object.keys(value).length === 0
  if (schema.type.kind === 'enum') return value === 0 || schema.type.enum.values[String(value)] === 0
  return schema.type.kind === 'scalar' && (value === '' || value === false || Object.is(value, 0) || value === 0n)
}

function setRepeated(tree: PbtxtTree, path: ConfigPath, schema: FieldSchema, value: ConfigValue): TextEdit[] {
  const place = resolvePath(tree, path)
  if (mapValueField(schema) !== undefined) return setMap(tree, path, place.message, schema, value)
  const values = Array.isArray(value) ? (value as readonly ConfigValue[]) : [value]
  const elements = elementsNamed(place.message, schema.name)
  const now = elements.length
  const kept = Math.min(now, values.length)
  // Changes inside elements, and a tail that goes, do not get in each other's way: no text is read again for them.
  const inPlace = values.slice(0, kept).flatMap((next, index) => setField(tree, [...path, index], next))
  if (now === values.length) return inPlace
  const tail = tailRemoval(tree, elements, kept)
  if (tail !== null) return [...inPlace, ...tail]
  const steps: ((current: PbtxtTree) => TextEdit[])[] = inPlace.length === 0 ? [] : [() => inPlace]
  for (let index = now - 1; index >= values.length; index--) steps.push((current) => removeItem(current, path, index, { keepsEmptyList: true }))
  for (const [offset, next] of values.slice(now).entries()) steps.push((current) => insertItem(current, path, now + offset, next))
  return inSequence(tree, steps)
}

/** The elements from `kept` on taken out at once, where they are fields of their own or the end of one list on one line; null otherwise. */
function tailRemoval(tree: PbtxtTree, elements: readonly PbtxtElement[], kept: number): TextEdit[] | null {
  const gone = elements.slice(kept)
  const last = gone[gone.length - 1]
  if (last === undefined) return null
  if (gone.every(({ field }) => field.list === null)) return merged(gone.map(({ field }) => removal(tree.text, field.start, field.end)))
  const before = elements[kept - 1]
  if (before === undefined || before.field !== last.field || last.position !== last.field.values.length - 1) return null
  const text = tree.text.slice(before.value.end, last.value.end)
  return /[\n#]/.test(text) ? null : [{ offset: before.value.end, length: text.length, text: '' }]
}

function setMap(tree: PbtxtTree, path: ConfigPath, message: PbtxtMessage, schema: FieldSchema, value: ConfigValue): TextEdit[] {
  if (typeof value !== 'object' || Array.isArray(value)) throw new TypeError(`${schema.name} is a map`)
  const wanted = Object.entries(value as Readonly<Record<string, ConfigValue | null | undefined>>)
  const keys = new Set(wanted.filter(([, entry]) => entry !== undefined && entry !== null).map(([key]) => key))
  const gone = new Set(elementsNamed(message, schema.name).map((element) => entryKey(element.value) ?? ''))
  return inSequence(tree, [
    ...[...gone].filter((key) => !keys.has(key)).map((key) => (current: PbtxtTree) => removeMapEntry(current, path, key)),
    ...wanted.flatMap(([key, entry]) => (entry === undefined || entry === null ? [] : [(current: PbtxtTree) => setMapEntry(current, path, key, entry)])),
  ])
}

/** Several edits one after the other, as one list about the first text. */
function inSequence(tree: PbtxtTree, steps: readonly ((current: PbtxtTree) => TextEdit[])[]): TextEdit[] {
  let { text } = tree
  let current: PbtxtTree | null = tree
  let only: TextEdit[] = []
  let changes = 0
  for (const step of steps) {
    current ??= parsePbtxt(text, tree.root.schema ?? undefined).tree
    const edits = step(current)
    if (edits.length === 0) continue
    changes++
    only = edits
    text = applyEdits(text, edits)
    current = null // parsed again only if another step follows
  }
  return changes === 0 ? [] : changes === 1 ? only : [smallestChange(tree.text, text)]
}

/** One edit that leaves the common start and end of two texts alone. */
export function smallestChange(before: string, after: string): TextEdit {
  const limit = Math.min(before.length, after.length)
  let start = 0
  while (start < limit && before.charCodeAt(start) === after.charCodeAt(start)) start++
  let tail = 0
  while (tail < limit - start && before.charCodeAt(before.length - 1 - tail) === after.charCodeAt(after.length - 1 - tail)) tail++
  return { offset: start, length: before.length - tail - start, text: after.slice(start, after.length - tail) }
}

function placeAt(tree: PbtxtTree, field: PbtxtField): { style: ReturnType<typeof styleOf>; indent: string; isMultiLine: boolean } {
  return { style: styleOf(tree), indent: indentAt(tree.text, field.start), isMultiLine: startsLine(tree.text, field.start) }
}

/** Writes what `path` lacks from step `resolved` on. */
function create(tree: PbtxtTree, path: ConfigPath, resolved: number, value: ConfigValue): TextEdit[] {
  const step = path[resolved]
  const rest = path.slice(resolved + 1)
  const before = path.slice(0, resolved)
  if (typeof step === 'number') {
    const place = resolvePath(tree, before)
    const count = elementsNamed(place.message, String(before[before.length - 1])).length
    return insertItem(tree, before, count, nest(fieldSchemaAt(tree, before), rest, value))
  }
  if (typeof step === 'object') return createEntry(tree, before, step.key, rest, value)
  const place = resolvePath(tree, before)
  const message = before.length === 0 ? tree.root : place.element?.value
  if (message?.kind !== 'message') throw new TypeError(`no message at ${pathText(before)}`)
  const schema = message.schema?.byName.get(step ?? '')
  if (schema === undefined) throw new TypeError(`no field ${pathText(path)}`)
  const whole = rest.length === 0 ? value : wrap(schema, rest, value)
  const rival = schema.oneof === undefined ? undefined
    : message.fields.find((field) => field.schema?.oneof === schema.oneof && field.name !== step)
  if (rival !== undefined) {
    return inSequence(tree, [(current) => removeField(current, [...before, rival.name]), (current) => setField(current, path, value)])
  }
  return [insertField(tree, message, schema, whole)]
}

function fieldSchemaAt(tree: PbtxtTree, path: ConfigPath): FieldSchema {
  const schema = resolvePath(tree, path).fields[0]?.schema
  if (schema === undefined || schema === null) throw new TypeError(`no field at ${pathText(path)}`)
  return schema
}

/** The value of `schema` in which `rest` leads to `value`. */
function wrap(schema: FieldSchema, rest: ConfigPath, value: ConfigValue): ConfigValue {
  const [step, ...more] = rest
  if (typeof step === 'number') return [nest(schema, more, value)]
  const valueField = mapValueField(schema)
  if (typeof step === 'object' && valueField !== undefined) return { [step.key]: nest(valueField, withoutValueStep(more), value) }
  return nest(schema, rest, value)
}

function withoutValueStep(rest: ConfigPath): ConfigPath {
  return rest[0] === 'value' ? rest.slice(1) : rest
}

function nest(schema: FieldSchema, rest: ConfigPath, value: ConfigValue): ConfigValue {
  const [step, ...more] = rest
  if (step === undefined) return value
  const inner = schema.type.kind === 'message' && typeof step === 'string' ? schema.type.message.byName.get(step) : undefined
  if (inner === undefined) throw new TypeError(`no field ${pathText(rest)} in ${schema.name}`)
  return { [inner.name]: more.length === 0 ? value : wrap(inner, more, value) }
}

function createEntry(tree: PbtxtTree, mapPath: ConfigPath, key: string, rest: ConfigPath, value: ConfigValue): TextEdit[] {
  const valueField = mapValueField(fieldSchemaAt(tree, mapPath))
  if (valueField === undefined) throw new TypeError(`${pathText(mapPath)} is no map`)
  return setMapEntry(tree, mapPath, key, nest(valueField, withoutValueStep(rest), value))
}

function declaredIndex(schema: MessageSchema | null, name: string): number {
  return schema?.fields.findIndex((field) => field.name === name) ?? -1
}

/** A new field, behind the one that the schema declares before it, on a line of its own where its neighbours are. */
function insertField(tree: PbtxtTree, message: PbtxtMessage, schema: FieldSchema, value: ConfigValue): TextEdit {
  const style = styleOf(tree)
  const own = declaredIndex(message.schema, schema.name)
  const earlier = message.fields.filter((field) => declaredIndex(message.schema, field.name) <= own && field.schema !== null)
  const neighbour = earlier.reduce<PbtxtField | undefined>((best, field) =>
    (best === undefined || declaredIndex(message.schema, field.name) >= declaredIndex(message.schema, best.name) ? field : best), undefined)
  if (neighbour !== undefined) return behind(tree, neighbour, (indent, isMulti) => renderField(schema, value, { style, indent, isMultiLine: isMulti }), isMultiLine(tree.text, message))
  const [first] = message.fields
  if (first !== undefined) {
    const indent = indentAt(tree.text, first.start)
    if (!startsLine(tree.text, first.start)) {
      return { offset: first.start, length: 0, text: `${renderField(schema, value, { style, indent, isMultiLine: false })} ` }
    }
    const text = renderField(schema, value, { style, indent, isMultiLine: true })
    return { offset: first.start, length: 0, text: `${text}${style.eol}${indent}` }
  }
  return intoEmpty(tree, message, schema, value)
}

/** The text behind a field: on the next line where the line ends there, otherwise on the same one. */
function behind(tree: PbtxtTree, field: PbtxtField, render: (indent: string, isMultiLine: boolean) => string, isMulti: boolean): TextEdit {
  const { text } = tree
  const style = styleOf(tree)
  const rest = restOfLine(text, field.end)
  const indent = indentAt(text, field.start)
  if (rest !== null && (isMulti || rest.hasComment)) {
    const end = Math.max(rest.end, field.end)
    return { offset: end, length: 0, text: `${style.eol}${indent}${render(indent, true)}` }
  }
  const separator = field.separator?.text ?? ''
  const gap = rest === null && /[\s}>\]]/.test(text.charAt(field.end)) ? '' : rest === null ? ' ' : ''
  return { offset: field.end, length: 0, text: ` ${render(indent, false)}${/^[,;]$/.test(separator) ? separator : ''}${gap}` }
}

function intoEmpty(tree: PbtxtTree, message: PbtxtMessage, schema: FieldSchema, value: ConfigValue): TextEdit {
  const { text } = tree
  const style = styleOf(tree)
  if (message.open === null) {
    const body = renderField(schema, value, { style, indent: '', isMultiLine: true })
    const isOnNewLine = text === '' || text === '\ufeff' || text.endsWith('\n')
    return { offset: text.length, length: 0, text: `${isOnNewLine ? '' : style.eol}${body}${style.eol}` }
  }
  const start = message.open.offset + 1
  const end = message.close?.offset ?? start
  const interior = text.slice(start, end)
  const indent = indentAt(text, message.start)
  if (!interior.includes('\n')) {
    const body = renderField(schema, value, { style, indent, isMultiLine: false })
    return { offset: start, length: end - start, text: ` ${body} ` }
  }
  const inner = indent + style.unit
  const body = renderField(schema, value, { style, indent: inner, isMultiLine: true })
  const keptEnd = start + interior.trimEnd().length
  return { offset: keptEnd, length: 0, text: `${style.eol}${inner}${body}` }
}

/** Removes every occurrence of the field at `path`, or the list item or map entry that its last step names. Comments stay. */
export function removeField(tree: PbtxtTree, path: ConfigPath): TextEdit[] {
  const last = path[path.length - 1]
  const parent = path.slice(0, -1)
  if (typeof last === 'number') return removeItem(tree, parent, last)
  if (typeof last === 'object') return removeMapEntry(tree, parent, last.key)
  const place = resolvePath(tree, path)
  if (path.length === 0 || place.resolved < path.length) return []
  return merged(place.fields.map((field) => removal(tree.text, field.start, field.end)))
}

/** Removals may share white space. */
function merged(edits: readonly TextEdit[]): TextEdit[] {
  const result: TextEdit[] = []
  for (const edit of edits.toSorted((a, b) => a.offset - b.offset)) {
    const last = result[result.length - 1]
    if (last === undefined || last.offset + last.length < edit.offset || edit.text !== '' || last.text !== '') { result.push(edit); continue }
    result[result.length - 1] = { offset: last.offset, length: Math.max(last.offset + last.length, edit.offset + edit.length) - last.offset, text: '' }
  }
  return result
}

/** Takes out a range: with its whole lines where it has them to itself, otherwise with the blanks before it. */
export function removal(text: string, start: number, end: number): TextEdit {
  if (startsLine(text, start)) {
    const lineStart = lineStartAt(text, start)
    const rest = restOfLine(text, end)
    if (rest !== null && !rest.hasComment) {
      const from = text.charCodeAt(lineStart) === 0xfeff ? lineStart + 1 : lineStart
      const newline = text.startsWith('\r\n', rest.end) ? 2 : text.charAt(rest.end) === '\n' ? 1 : 0
      return { offset: from, length: rest.end + newline - from, text: '' }
    }
    let to = end
    while (text.charAt(to) === ' ' || text.charAt(to) === '\t') to++
    return { offset: start, length: to - start, text: '' }
  }
  let from = start
  while (text.charAt(from - 1) === ' ' || text.charAt(from - 1) === '\t') from--
  const next = text.charAt(end)
  if (next !== '' && !/\s/.test(next)) from = start
  return { offset: from, length: end - from, text: '' }
}

/**
 * A new element of the repeated field at `path`, before the one at `index` (or last), in the form the field is written in.
 * @throws TypeError where the schema has no such repeated field
 */
export function insertItem(tree: PbtxtTree, path: ConfigPath, index: number, value: ConfigValue): TextEdit[] {
  const place = resolvePath(tree, path)
  if (place.resolved < path.length) {
    const schema = schemaAt(tree, path)
    return create(tree, path, place.resolved, mapValueField(schema) === undefined ? [value] : value)
  }
  const [field] = place.fields
  const schema = field?.schema
  if (field === undefined || schema?.isRepeated !== true) throw new TypeError(`${pathText(path)} is no list`)
  const elements = elementsNamed(place.message, field.name)
  const at = Math.max(0, Math.min(index, elements.length))
  const next = elements[at]
  const previous = elements[at - 1]
  if (next !== undefined && previous === undefined) return beforeElement(tree, schema, next, value)
  if (previous !== undefined) return afterElement(tree, schema, previous, value)
  return intoEmptyList(tree, schema, field, value)
}

function schemaAt(tree: PbtxtTree, path: ConfigPath): FieldSchema {
  let message = tree.root.schema
  let schema: FieldSchema | undefined
  for (const step of path) {
    if (typeof step !== 'string') continue
    schema = message?.byName.get(step)
    message = schema?.type.kind === 'message' ? schema.type.message : null
  }
  if (schema === undefined) throw new TypeError(`no field ${pathText(path)}`)
  return schema
}

function intoEmptyList(tree: PbtxtTree, schema: FieldSchema, field: PbtxtField, value: ConfigValue): TextEdit[] {
  const { text } = tree
  const style = styleOf(tree)
  const open = field.list?.open.offset ?? field.end
  const indent = indentAt(text, field.start)
  const end = field.list?.close?.offset ?? open + 1
  const isBlank = text.slice(open + 1, end).trim() === ''
  const isMulti = schema.type.kind === 'message' && startsLine(text, field.start)
  if (isMulti) {
    const inner = indent + style.unit
    const item = `${style.eol}${inner}${renderValue(schema, value, { style, indent: inner, isMultiLine: true })}`
    const keptEnd = open + 1 + text.slice(open + 1, end).trimEnd().length
    return isBlank ? [{ offset: open + 1, length: end - open - 1, text: `${item}${style.eol}${indent}` }] : [{ offset: keptEnd, length: 0, text: item }]
  }
  const item = renderValue(schema, value, { style, indent, isMultiLine: false })
  const pad = style.isListSpaced ? ' ' : ''
  return isBlank ? [{ offset: open + 1, length: end - open - 1, text: `${pad}${item}${pad}` }] : [{ offset: open + 1, length: 0, text: ` ${item}` }]
}

function renderLike(tree: PbtxtTree, schema: FieldSchema, sample: PbtxtValue, indent: string, value: ConfigValue): string {
  const isMulti = sample.kind === 'message' && tree.text.slice(sample.start, sample.end).includes('\n')
  return renderValue(schema, value, { style: styleOf(tree), indent, isMultiLine: isMulti })
}

/** The element as a field of its own, written as `sample` is. */
function renderOwnField(tree: PbtxtTree, schema: FieldSchema, sample: PbtxtElement, indent: string, value: ConfigValue): string {
  const { field } = sample
  const name = field.nameTokens[field.nameTokens.length - 1]
  const between = name === undefined ? ': ' : tree.text.slice(name.offset + name.text.length, sample.value.start)
  const isPlain = /^[ \t]*:?[ \t]*$/.test(between)
  return `${schema.name}${isPlain ? between : ': '}${renderLike(tree, schema, sample.value, indent, value)}`
}

function beforeElement(tree: PbtxtTree, schema: FieldSchema, next: PbtxtElement, value: ConfigValue): TextEdit[] {
  const { text } = tree
  const { eol } = styleOf(tree)
  const start = next.field.list === null ? next.field.start : next.value.start
  const indent = indentAt(text, start)
  const gap = startsLine(text, start) ? eol + indent : ' '
  const item = next.field.list === null
    ? `${renderOwnField(tree, schema, next, indent, value)}${separatorOf(next.field)}${gap}`
    : `${renderLike(tree, schema, next.value, indent, value)},${gap}`
  return [{ offset: start, length: 0, text: item }]
}

function separatorOf(field: PbtxtField): string {
  return field.separator !== null && /^[,;]$/.test(field.separator.text) ? field.separator.text : ''
}

function afterElement(tree: PbtxtTree, schema: FieldSchema, previous: PbtxtElement, value: ConfigValue): TextEdit[] {
  const { text } = tree
  const { field, value: node, position } = previous
  const { eol } = styleOf(tree)
  if (field.list === null) {
    return [behind(tree, field, (indent) => renderOwnField(tree, schema, previous, indent, value), startsLine(text, field.start))]
  }
  const indent = indentAt(text, node.start)
  const item = renderLike(tree, schema, node, indent, value)
  const comma = field.list.commas[position]
  const isLast = position === field.values.length - 1
  const end = comma === undefined ? node.end : comma.offset + 1
  const rest = restOfLine(text, end)
  const after = isLast ? '' : ','
  if (rest === null || (!startsLine(text, node.start) && !rest.hasComment)) return [{ offset: end, length: 0, text: `${comma === undefined ? ',' : ''} ${item}${after}` }]
  const line = `${eol}${indent}${item}${after}`
  if (comma !== undefined) return [{ offset: rest.end, length: 0, text: line }]
  return rest.hasComment
    ? [{ offset: node.end, length: 0, text: ',' }, { offset: rest.end, length: 0, text: line }]
    : [{ offset: node.end, length: 0, text: `,${line}` }]
}

/** Removes one element of the repeated field at `path`, with its comma. The last of a list takes the field along, unless a comment is in it. */
export function removeItem(tree: PbtxtTree, path: ConfigPath, index: number, options: { readonly keepsEmptyList?: boolean } = {}): TextEdit[] {
  const place = resolvePath(tree, path)
  const name = place.fields[0]?.name
  if (place.resolved < path.length || name === undefined) return []
  const element = elementsNamed(place.message, name)[index]
  return element === undefined ? [] : removeElement(tree, element, options.keepsEmptyList === true)
}

function removeElement(tree: PbtxtTree, { field, value, position }: PbtxtElement, keepsEmptyList: boolean): TextEdit[] {
  const { text } = tree
  if (field.list === null) return [removal(text, field.start, field.end)]
  const close = field.list.close?.offset ?? value.end
  if (field.values.length === 1) {
    const hasComment = tree.tokens.slice(field.list.open.index, field.list.close?.index).some((token) =>
      token.kind === 'comment' && (token.offset < value.start || token.offset >= value.end))
    if (!keepsEmptyList && !hasComment) return [removal(text, field.start, field.end)]
    if (hasComment) return merged([removal(text, value.start, value.end), ...field.list.commas.map((comma) => removal(text, comma.offset, comma.offset + 1))])
    return [{ offset: field.list.open.offset + 1, length: close - field.list.open.offset - 1, text: ' ' }]
  }
  const following = field.list.commas[position]
  if (following !== undefined && position < field.values.length - 1) {
    const gap = text.slice(value.end, following.offset)
    if (gap.trim() !== '') return merged([removal(text, value.start, value.end), removal(text, following.offset, following.offset + 1)])
    const range = removal(text, value.start, following.offset + 1)
    // Inside a line the blanks behind the comma go, not those before the element.
    if (startsLine(text, value.start)) return [range]
    let end = following.offset + 1
    while (text.charAt(end) === ' ') end++
    return [{ offset: value.start, length: end - value.start, text: '' }]
  }
  const comma = field.list.commas[position - 1]
  const own = removal(text, value.start, value.end)
  return comma === undefined ? [own] : merged([{ offset: comma.offset, length: 1, text: '' }, own])
}

/**
 * The value under `key` of the map at `path`. An entry that is there keeps its form; a new one is written as its neighbours are.
 * @param value scalar or message, as the map holds
 */
export function setMapEntry(tree: PbtxtTree, path: ConfigPath, key: string, value: ConfigValue): TextEdit[] {
  const place = resolvePath(tree, [...path, { key }])
  if (place.resolved === path.length + 1) return setEntryValue(tree, path, key, value)
  const mapPlace = resolvePath(tree, path)
  if (mapPlace.resolved < path.length) return create(tree, path, mapPlace.resolved, { [key]: value })
  const schema = fieldSchemaAt(tree, path)
  if (schema.type.kind !== 'message' || !schema.type.message.isMapEntry) throw new TypeError(`${pathText(path)} is no map`)
  const count = elementsNamed(mapPlace.message, schema.name).length
  return insertItem(tree, path, count, { key: entryKeyValue(schema.type.message, key), value })
}

function setEntryValue(tree: PbtxtTree, path: ConfigPath, key: string, value: ConfigValue): TextEdit[] {
  return setField(tree, [...path, { key }, 'value'], value)
}

/** Removes every entry with this key. */
export function removeMapEntry(tree: PbtxtTree, path: ConfigPath, key: string): TextEdit[] {
  const place = resolvePath(tree, path)
  const name = place.fields[0]?.name
  if (place.resolved < path.length || name === undefined) return []
  const steps = elementsNamed(place.message, name).flatMap((element, index) => (entryKey(element.value) === key ? [index] : [])).reverse()
  return inSequence(tree, steps.map((index) => (current: PbtxtTree) => removeItem(current, path, index)))
}

/** Gives a map entry another key; its value stays as it is. */
export function renameMapKey(tree: PbtxtTree, path: ConfigPath, key: string, newKey: string): TextEdit[] {
  const place = resolvePath(tree, [...path, { key }])
  const schema = place.element?.field.schema
  if (place.resolved <= path.length || schema?.type.kind !== 'message') return []
  return setField(tree, [...path, { key }, 'key'], entryKeyValue(schema.type.message, newKey))
}

/** A string literal in the file's quotes. */
export function stringLiteral(tree: PbtxtTree, value: string): string {
  return renderString(value, styleOf(tree).quote)
}
