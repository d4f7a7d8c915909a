/** Random configs, written in every style that text format allows. For property tests. */
import { MODEL_CONFIG_SCHEMA, mapValueField } from './config-schema.ts'
import type { FieldSchema, MessageSchema } from './config-schema.ts'
import { renderScalar } from './config-style.ts'
import type { ConfigScalar, ConfigValue } from './config-style.ts'

/** A whole number below the limit. */
export type Random = (limit: number) => number

export type PlainMessage = Record<string, ConfigValue>

export function randomNumbers(seed: number): Random {
  let state = seed >>> 0
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

const STRINGS = ['a', 'input_0', '昇腾', 'with "quotes"', 'it\'s', 'line\nbreak', '\\', '# no comment', '{', '😀', '7', '']

export function randomScalar(field: FieldSchema, random: Random): ConfigScalar {
  if (field.type.kind === 'enum') return Object.keys(field.type.enum.values)[random(Object.keys(field.type.enum.values).length)] ?? 0
  if (field.type.kind === 'message') throw new TypeError(`${field.name} is a message`)
  switch (field.type.scalar) {
    case 'string': return STRINGS[random(STRINGS.length)] ?? ''
    case 'bool': return random(2) === 1
    case 'float':
    case 'double': return [0, 0.5, -1.5, 1024, Infinity][random(5)] ?? 0
    case 'int32':
    case 'int64': return [0, 1, -1, 48, 2 ** 31 - 1][random(5)] ?? 0
    case 'uint32':
    case 'uint64': return [0, 1, 7, 2 ** 32 - 1][random(4)] ?? 0
  }
}

export function randomKey(field: FieldSchema, random: Random): string {
  return field.name === 'priority_queue_policy' ? String(random(9)) : (STRINGS[random(STRINGS.length)] ?? '')
}

/** One value: scalar or message. */
export function randomValue(field: FieldSchema, random: Random): ConfigValue {
  return field.type.kind === 'message' ? randomMessage(field.type.message, random) : randomScalar(field, random)
}

/** The value of a whole field: list, map, or one value. */
export function randomFieldValue(field: FieldSchema, random: Random): ConfigValue {
  const valueField = mapValueField(field)
  if (valueField !== undefined) {
    return Object.fromEntries(Array.from({ length: 1 + random(2) }, () => [randomKey(field, random), randomValue(valueField, random)]))
  }
  return field.isRepeated ? Array.from({ length: 1 + random(3) }, () => randomValue(field, random)) : randomValue(field, random)
}

export function randomMessage(schema: MessageSchema, random: Random): PlainMessage {
  const message: PlainMessage = {}
  const oneofs = new Set<string>()
  for (const field of schema.fields) {
    if (random(4) !== 0 || (field.oneof !== undefined && oneofs.has(field.oneof))) continue
    if (field.oneof !== undefined) oneofs.add(field.oneof)
    message[field.name] = randomFieldValue(field, random)
  }
  return message
}

/** A text that reads as `message`, with comments, and each part in a style of its own. */
export function writeRandomly(message: PlainMessage, random: Random): string {
  const isDos = random(4) === 0
  const lines = new Writer(random).fields(MODEL_CONFIG_SCHEMA, message, '', random(5) !== 0)
  const text = `${random(4) === 0 ? '# a licence\n\n' : ''}${lines}${random(4) === 0 ? '' : '\n'}`
  return `${random(10) === 0 ? '\ufeff' : ''}${isDos ? text.replaceAll('\n', '\r\n') : text}`
}

class Writer {
  readonly #random: Random
  readonly #quote: '"' | '\''
  readonly #unit: string
  #comments = 0

  constructor(random: Random) {
    this.#random = random
    this.#quote = random(3) === 0 ? '\'' : '"'
    this.#unit = ['  ', '    ', '\t', ''][random(4)] ?? '  '
  }

  fields(schema: MessageSchema, message: PlainMessage, indent: string, isMultiLine: boolean): string {
    const parts = schema.fields.flatMap((field) => (message[field.name] === undefined ? [] : this.#field(field, message[field.name] ?? '', indent, isMultiLine)))
    if (this.#random(6) === 0) parts.reverse()
    if (!isMultiLine) return parts.join(' ')
    return parts.map((part) => `${this.#comment(indent)}${indent}${part}${this.#random(8) === 0 ? ` # comment ${this.#comments++}` : ''}`).join('\n')
  }

  #comment(indent: string): string {
    return this.#random(8) === 0 ? `${indent}# comment ${this.#comments++}, with a { and "\n` : ''
  }

  #field(field: FieldSchema, value: ConfigValue, indent: string, isMultiLine: boolean): string[] {
    const separator = this.#random(6) === 0 ? [',', ';', ' ,'][this.#random(3)] ?? '' : ''
    const isMessage = field.type.kind === 'message'
    const colon = isMessage ? ['', ' ', ': ', ':'][this.#random(4)] ?? ' ' : [': ', ':', ' : '][this.#random(3)] ?? ': '
    const values = this.#values(field, value)
    if (!field.isRepeated) return values.map((one) => `${field.name}${colon}${this.#value(field, one, indent, isMultiLine)}${separator}`)
    if (this.#random(2) === 0) return values.map((one) => `${field.name}${colon}${this.#value(field, one, indent, isMultiLine)}${separator}`)
    const [first, ...rest] = values
    if (first !== undefined && rest.length > 0 && this.#random(4) === 0) {
      return [`${field.name}${colon}${this.#value(field, first, indent, isMultiLine)}`, `${field.name}${colon}${this.#list(field, rest, indent, isMultiLine)}`]
    }
    return [`${field.name}${colon}${this.#list(field, values, indent, isMultiLine)}${separator}`]
  }

  #values(field: FieldSchema, value: ConfigValue): ConfigValue[] {
    if (mapValueField(field) === undefined) return Array.isArray(value) ? [...(value as ConfigValue[])] : [value]
    const isInteger = field.name === 'priority_queue_policy'
    return Object.entries(value as PlainMessage).map(([key, entry]) => ({ key: isInteger ? Number(key) : key, value: entry }))
  }

  #list(field: FieldSchema, values: readonly ConfigValue[], indent: string, isMultiLine: boolean): string {
    const pad = this.#random(2) === 0 ? ' ' : ''
    if (!isMultiLine || this.#random(2) === 0) {
      return `[${pad}${values.map((value) => this.#value(field, value, indent, false)).join([', ', ',', ' , '][this.#random(3)] ?? ', ')}${pad}]`
    }
    const inner = indent + this.#unit
    const lines = values.map((value, index) =>
      `${this.#comment(inner)}${inner}${this.#value(field, value, inner, true)}${index < values.length - 1 ? ',' : ''}${this.#random(6) === 0 ? ` # comment ${this.#comments++}` : ''}`)
    return `[\n${lines.join('\n')}\n${indent}]`
  }

  #value(field: FieldSchema, value: ConfigValue, indent: string, isMultiLine: boolean): string {
    if (field.type.kind !== 'message') return renderScalar(field, value as ConfigScalar, this.#quote)
    const [open, close] = this.#random(8) === 0 ? ['<', '>'] : ['{', '}']
    const message = value as PlainMessage
    if (!isMultiLine || this.#random(3) === 0) return `${open} ${this.fields(field.type.message, message, indent, false)} ${close}`
    const inner = indent + this.#unit
    const body = this.fields(field.type.message, message, inner, true)
    return `${open}\n${body}${body === '' ? '' : '\n'}${this.#random(12) === 0 ? `${inner}# comment ${this.#comments++}\n` : ''}${indent}${close}`
  }
}
