/** How a config is written (indent, quotes, colons, lists, line ends), and new parts written the same way. */
import { mapValueField } from './config-schema.ts'
import type { FieldSchema, MessageSchema } from './config-schema.ts'
import { shortestFloat } from './pbtxt-literals.ts'
import type { PbtxtField, PbtxtMessage, PbtxtTree } from './pbtxt-tree.ts'

export type ConfigScalar = string | number | bigint | boolean
/** JSON-shaped: messages are objects by field name, maps objects by key, lists arrays. `undefined` and `null` are left out. */
export type ConfigValue = ConfigScalar | readonly ConfigValue[] | { readonly [name: string]: ConfigValue | null | undefined }

export interface ConfigStyle {
  readonly eol: '\n' | '\r\n'
  /** One level of indent. */
  readonly unit: string
  readonly quote: '"' | '\''
  /** What stands between name and value: `: `. */
  readonly scalarColon: string
  /** What stands between name and bracket: ` ` or `: `. */
  readonly messageColon: string
  /** `[ 1, 2 ]` instead of `[1, 2]`. */
  readonly isListSpaced: boolean
  /** `input [ {..} ]` instead of `input {..}` again and again. */
  readonly usesMessageLists: boolean
}

/** Fields looked at to tell the style; files of real size have fewer. */
const FIELDS_LOOKED_AT = 400

const styles = new WeakMap<PbtxtTree, ConfigStyle>()

export function styleOf(tree: PbtxtTree): ConfigStyle {
  const known = styles.get(tree)
  if (known !== undefined) return known
  const style = lookAt(tree)
  styles.set(tree, style)
  return style
}

function lookAt(tree: PbtxtTree): ConfigStyle {
  const { text } = tree
  const newline = text.indexOf('\n')
  const seen = { unit: '', quote: '', scalarColon: '', messageColon: '', list: '', messageLists: '' }
  const note = (what: keyof typeof seen, value: string): void => { if (seen[what] === '') seen[what] = value }
  const queue: { field: PbtxtField; parentIndent: string | null }[] = tree.root.fields.slice(0, FIELDS_LOOKED_AT).map((field) => ({ field, parentIndent: null }))
  for (let index = 0; index < queue.length && index < FIELDS_LOOKED_AT; index++) {
    const entry = queue[index]
    if (entry === undefined) break
    const { field, parentIndent } = entry
    const indent = indentAt(text, field.start)
    if (parentIndent !== null && startsLine(text, field.start) && indent.length > parentIndent.length && indent.startsWith(parentIndent)) {
      note('unit', indent.slice(parentIndent.length))
    }
    const [value] = field.values
    const nameEnd = field.nameTokens[field.nameTokens.length - 1]
    const open = field.list?.open.offset ?? value?.start
    if (value !== undefined && nameEnd !== undefined && open !== undefined) {
      const between = text.slice(nameEnd.offset + nameEnd.text.length, open)
      if (/^\s?:?[ \t]?$/.test(between)) note(value.kind === 'message' ? 'messageColon' : 'scalarColon', between === '' ? 'none' : between)
      if (field.list !== null && value.kind === 'scalar') note('list', text.charAt(field.list.open.offset + 1) === ' ' ? 'yes' : 'no')
      if (value.kind === 'message' && field.schema?.isRepeated === true && !isMap(field.schema)) note('messageLists', field.list === null ? 'no' : 'yes')
      if (value.kind === 'scalar' && value.tokens[0]?.kind === 'string') note('quote', value.tokens[0].text.charAt(0))
    }
    for (const child of field.values) {
      if (child.kind === 'message' && queue.length < FIELDS_LOOKED_AT) for (const inner of child.fields) queue.push({ field: inner, parentIndent: indentAt(text, child.start) })
    }
  }
  const colon = (value: string, fallback: string): string => (value === 'none' ? '' : value === '' ? fallback : value)
  return {
    eol: newline > 0 && text.charCodeAt(newline - 1) === 13 ? '\r\n' : '\n',
    unit: seen.unit === '' ? '  ' : seen.unit,
    quote: seen.quote === '\'' ? '\'' : '"',
    scalarColon: seen.scalarColon.includes(':') ? seen.scalarColon : ': ',
    messageColon: colon(seen.messageColon, ' '),
    isListSpaced: seen.list !== 'no',
    usesMessageLists: seen.messageLists !== 'no',
  }
}

function isMap(field: FieldSchema): boolean {
  return mapValueField(field) !== undefined
}

export function lineStartAt(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1
}

/** The white space that the line of `offset` begins with. */
export function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStartAt(text, offset), offset))?.[0] ?? ''
}

/** Does only white space stand before `offset` on its line? */
export function startsLine(text: string, offset: number): boolean {
  let at = offset - 1
  while (at >= 0 && (text.charAt(at) === ' ' || text.charAt(at) === '\t' || text.charAt(at) === '\ufeff')) at--
  return at < 0 || text.charAt(at) === '\n'
}

/** End of the line (before its line break) if nothing but white space and a comment follows on it; null otherwise. */
export function restOfLine(text: string, offset: number): { readonly end: number; readonly hasComment: boolean } | null {
  let at = offset
  while (text.charAt(at) === ' ' || text.charAt(at) === '\t') at++
  const next = text.charAt(at)
  const isComment = next === '#'
  if (!isComment && next !== '' && next !== '\n' && next !== '\r') return null
  const newline = text.indexOf('\n', at)
  const lineEnd = newline < 0 ? text.length : newline > 0 && text.charAt(newline - 1) === '\r' && newline - 1 >= offset ? newline - 1 : newline
  if (isComment) return { end: lineEnd, hasComment: true }
  return at >= lineEnd ? { end: lineEnd, hasComment: false } : null
}

/** Is anything in `message` on a line of its own? */
export function isMultiLine(text: string, message: PbtxtMessage): boolean {
  if (message.open === null) return true
  const end = message.fields[0]?.start ?? message.close?.offset ?? message.end
  return text.slice(message.open.offset, end).includes('\n')
}

export function renderScalar(schema: FieldSchema, value: ConfigScalar, quote: '"' | '\''): string {
  if (schema.type.kind === 'enum') {
    const byNumber = Object.entries(schema.type.enum.values).find(([, number]) => number === Number(value))
    return typeof value === 'number' && byNumber !== undefined ? byNumber[0] : String(value)
  }
  if (schema.type.kind === 'message') throw new TypeError(`${schema.name} is a message, not a single value`)
  const { scalar } = schema.type
  if (scalar === 'string') return renderString(String(value), quote)
  if (scalar === 'bool') return value === true || value === 'true' ? 'true' : 'false'
  if (typeof value !== 'number') return String(value)
  if (scalar !== 'float' && scalar !== 'double') return Number.isSafeInteger(value) ? String(value) : BigInt(Math.trunc(value)).toString()
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  return Object.is(value, -0) ? '-0' : shortestFloat(value, scalar)
}

/** A literal that escapes only what must be. */
export function renderString(value: string, quote: '"' | '\''): string {
  const named: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' }
  const body = value.replace(/[\u0000-\u001f\u007f\\]/g, (character) =>
    named[character] ?? `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`).replaceAll(quote, `\\${quote}`)
  return `${quote}${body}${quote}`
}

/** Where and how a new part is written. */
export interface RenderPlace {
  readonly style: ConfigStyle
  /** Of the line the part begins on. */
  readonly indent: string
  readonly isMultiLine: boolean
}

/** A whole field without indent before its first line: `name: value`, `name { .. }`, `name [ .. ]`, or an entry per key of a map. */
export function renderField(schema: FieldSchema, value: ConfigValue, place: RenderPlace): string {
  const { style } = place
  const valueField = mapValueField(schema)
  if (valueField !== undefined && schema.type.kind === 'message') {
    const entries = Object.entries(asObject(schema, value)).filter(([, entry]) => entry !== undefined && entry !== null)
    const { message } = schema.type
    return entries.map(([key, entry]) => `${schema.name}${style.messageColon}${renderMessage(message, { key: entryKeyValue(message, key), value: entry }, place)}`)
      .join(place.isMultiLine ? style.eol + place.indent : ' ')
  }
  if (schema.isRepeated) return renderRepeated(schema, Array.isArray(value) ? (value as readonly ConfigValue[]) : [value], place)
  const separator = schema.type.kind === 'message' ? style.messageColon : style.scalarColon
  return `${schema.name}${separator}${renderValue(schema, value, place)}`
}

/** Integer keys as integers. */
export function entryKeyValue(entry: MessageSchema, key: string): ConfigScalar {
  const type = entry.byName.get('key')?.type
  return type?.kind === 'scalar' && type.scalar !== 'string' ? BigInt(key) : key
}

function renderRepeated(schema: FieldSchema, values: readonly ConfigValue[], place: RenderPlace): string {
  const { style } = place
  const [open, close] = style.isListSpaced ? ['[ ', ' ]'] : ['[', ']']
  if (schema.type.kind !== 'message') {
    const list = values.map((value) => renderValue(schema, value, place)).join(', ')
    return `${schema.name}${style.scalarColon}${list === '' ? '[ ]' : `${open}${list}${close}`}`
  }
  if (values.length === 0) return `${schema.name}${style.messageColon}[ ]`
  if (!style.usesMessageLists) {
    return values.map((value) => `${schema.name}${style.messageColon}${renderValue(schema, value, place)}`)
      .join(place.isMultiLine ? style.eol + place.indent : ' ')
  }
  if (!place.isMultiLine) return `${schema.name}${style.messageColon}${open}${values.map((value) => renderValue(schema, value, place)).join(', ')}${close}`
  const inner = { ...place, indent: place.indent + style.unit }
  const elements = values.map((value) => inner.indent + renderValue(schema, value, inner)).join(`,${style.eol}`)
  return `${schema.name}${style.messageColon}[${style.eol}${elements}${style.eol}${place.indent}]`
}

/** One value: a literal, or a message with its brackets. */
export function renderValue(schema: FieldSchema, value: ConfigValue, place: RenderPlace): string {
  if (schema.type.kind === 'message') return renderMessage(schema.type.message, asObject(schema, value), place)
  if (typeof value === 'object') throw new TypeError(`${schema.name} takes a single value`)
  return renderScalar(schema, value, place.style.quote)
}

function asObject(schema: FieldSchema, value: ConfigValue): Readonly<Record<string, ConfigValue | null | undefined>> {
  if (typeof value !== 'object' || Array.isArray(value)) throw new TypeError(`${schema.name} is a message`)
  return value as Readonly<Record<string, ConfigValue | null | undefined>>
}

function isEmptyCollection(value: ConfigValue): boolean {
  return typeof value === 'object' && Object.keys(value).length === 0
}

function renderMessage(schema: MessageSchema, object: Readonly<Record<string, ConfigValue | null | undefined>>, place: RenderPlace): string {
  for (const name of Object.keys(object)) if (!schema.byName.has(name)) throw new TypeError(`${schema.fullName} has no field ${name}`)
  const given = schema.fields.flatMap((field) => {
    const value = object[field.name]
    return value === undefined || value === null || (field.isRepeated && isEmptyCollection(value)) ? [] : [{ field, value }]
  })
  if (given.length === 0) return '{ }'
  const isSmall = given.length === 1 && (typeof given[0]?.value !== 'object' || Array.isArray(given[0].value)) && given[0]?.field.type.kind !== 'message'
  if (!place.isMultiLine || isSmall) {
    return `{ ${given.map(({ field, value }) => renderField(field, value, { ...place, isMultiLine: false })).join(' ')} }`
  }
  const inner = { ...place, indent: place.indent + place.style.unit }
  const lines = given.map(({ field, value }) => inner.indent + renderField(field, value, inner))
  return `{${place.style.eol}${lines.join(place.style.eol)}${place.style.eol}${place.indent}}`
}
