/**
 * Parses protobuf text format along a schema into the lossless tree, as protobuf's C++ `TextFormat::Parser` does (forbidding repeated
 * singular fields, refusing unknown ones). The first error is exactly protobuf's; after it the parser recovers and goes on, so an editor
 * gets every error and a tree of the whole file. Never throws; time is linear in the text.
 */
import { MODEL_CONFIG_SCHEMA } from './config-schema.ts'
import type { FieldSchema, MessageSchema } from './config-schema.ts'
import { PbtxtCursor, spanOf } from './pbtxt-cursor.ts'
import type { ReportedError } from './pbtxt-cursor.ts'
import { missingValue, parseScalarValue } from './pbtxt-scalars.ts'
import { tokenizePbtxt } from './pbtxt-tokenizer.ts'
import type { PbtxtError, PbtxtField, PbtxtList, PbtxtMessage, PbtxtScalarValue, PbtxtSpan, PbtxtToken, PbtxtTree, PbtxtValue } from './pbtxt-tree.ts'

/** Deepest nesting of brackets; the schema itself needs 7. */
export const MAX_NESTING = 100

/** What a message has seen so far, for repeated singular fields and oneofs. */
interface Seen {
  readonly fields: Set<string>
  readonly oneofs: Map<string, string>
}

class Parser {
  readonly #cursor: PbtxtCursor
  #listsOpen = 0

  constructor(cursor: PbtxtCursor) {
    this.#cursor = cursor
  }

  root(schema: MessageSchema, end: number): PbtxtMessage {
    return { ...this.#body(schema, null, 0), end }
  }

  /** Fields up to the closing bracket (`open` given) or the end of the file. */
  #body(schema: MessageSchema | null, open: PbtxtToken | null, depth: number): PbtxtMessage {
    const fields: PbtxtField[] = []
    const skipped: PbtxtToken[] = []
    const seen: Seen = { fields: new Set(), oneofs: new Map() }
    const closer = open === null ? null : open.text === '<' || open.meant === '<' ? '>' : '}'
    let close: PbtxtToken | null = null
    for (;;) {
      const token = this.#cursor.current
      if (token.kind === 'end') {
        if (closer !== null) this.#cursor.report('expected-identifier', 'Expected identifier, got: ')
        break
      }
      if (closer !== null && (this.#cursor.looksLike('}') || this.#cursor.looksLike('>'))) {
        if (!this.#cursor.looksLike(closer)) this.#cursor.expected(closer)
        close = this.#cursor.next()
        break
      }
      if (token.kind === 'identifier' || this.#cursor.looksLike('[')) {
        fields.push(this.#field(schema, seen, depth))
        continue
      }
      this.#cursor.report('expected-identifier', `Expected identifier, got: ${token.text}`)
      if (token.text === ']' && closer !== null && this.#listsOpen > 0) break // the list's: this message was never closed
      this.#skip(skipped)
    }
    return { kind: 'message', schema, open, close, fields, skipped, start: open?.offset ?? 0, end: this.#cursor.takenEnd }
  }

  /** Passes over what is no field: a `//` comment up to its line's end, otherwise one token. */
  #skip(skipped: PbtxtToken[]): void {
    const token = this.#cursor.next()
    skipped.push(token)
    if (token.text !== '/' || (this.#cursor.current.text !== '/' && this.#cursor.current.text !== '*')) return
    while (this.#cursor.current.kind !== 'end' && this.#cursor.current.line === token.line) skipped.push(this.#cursor.next())
  }

  #field(message: MessageSchema | null, seen: Seen, depth: number): PbtxtField {
    const first = this.#cursor.current
    const nameTokens: PbtxtToken[] = []
    let name: string
    let schema: FieldSchema | null = null
    if (this.#cursor.looksLike('[')) {
      name = this.#extensionName(nameTokens)
      if (message !== null) {
        this.#cursor.report('unknown-extension', `Extension "${name}" is not defined or is not an extension of "${message.fullName}".`, spanOf(first, nameTokens))
      }
    } else {
      nameTokens.push(this.#cursor.next())
      name = first.text
      schema = message?.byName.get(name) ?? null
      if (message !== null) this.#checkName(message, schema, name, seen, spanOf(first))
    }

    const colon = this.#cursor.take(':')
    if (colon === null && this.#needsColon(message, schema)) this.#cursor.expected(':')

    let list: PbtxtList | null = null
    const values: PbtxtValue[] = []
    if (this.#cursor.looksLike('[') && (schema === null || schema.isRepeated)) list = this.#list(schema, values, depth)
    else values.push(this.#value(schema, depth))
    if (schema !== null) this.#remember(schema, values, seen)
    const separator = this.#cursor.take(';') ?? this.#cursor.take(',')
    const end = this.#cursor.takenEnd
    return { name, nameTokens, schema, colon, list, values, separator, start: first.offset, end }
  }

  /** Scalars need one. Of an unknown field that was reported already we say no more; inside one we go by what follows. */
  #needsColon(message: MessageSchema | null, schema: FieldSchema | null): boolean {
    if (schema !== null) return schema.type.kind !== 'message'
    return message === null && !this.#cursor.startsMessage() && !this.#cursor.looksLike('[')
  }

  /** `[a.b]`, brackets included in `tokens`. */
  #extensionName(tokens: PbtxtToken[]): string {
    tokens.push(this.#cursor.next())
    let name = ''
    for (;;) {
      if (this.#cursor.current.kind !== 'identifier') {
        this.#cursor.report('expected-identifier', `Expected identifier, got: ${this.#cursor.current.text}`)
        break
      }
      const part = this.#cursor.next()
      tokens.push(part)
      name += part.text
      if (!this.#cursor.looksLike('.')) break
      tokens.push(this.#cursor.next())
      name += '.'
    }
    const close = this.#cursor.take(']')
    if (close === null) this.#cursor.expected(']')
    else tokens.push(close)
    return name
  }

  #checkName(message: MessageSchema, schema: FieldSchema | null, name: string, seen: Seen, culprit: PbtxtSpan): void {
    if (schema === null) {
      this.#cursor.report('unknown-field', `Message type "${message.fullName}" has no field named "${name}".`, culprit)
      return
    }
    if (!schema.isRepeated && seen.fields.has(name)) {
      this.#cursor.report('duplicate-field', `Non-repeated field "${name}" is specified multiple times.`, culprit)
      return
    }
    const other = schema.oneof === undefined ? undefined : seen.oneofs.get(schema.oneof)
    if (other !== undefined) {
      this.#cursor.report('oneof-conflict',
        `Field "${name}" is specified along with field "${other}", another member of oneof "${schema.oneof ?? ''}".`, culprit)
    }
  }

  /** proto3 knows a plain scalar only by a value that is not its default: `count: 0 count: 2` passes, as in protobuf. */
  #remember(schema: FieldSchema, values: readonly PbtxtValue[], seen: Seen): void {
    if (schema.isRepeated) return
    if (schema.oneof !== undefined) {
      seen.oneofs.set(schema.oneof, schema.name)
      seen.fields.add(schema.name)
      return
    }
    const value = values[0]
    if (value?.kind === 'scalar' && isDefaultValue(schema, value.value)) return
    seen.fields.add(schema.name)
  }

  #list(schema: FieldSchema | null, values: PbtxtValue[], depth: number): PbtxtList {
    const open = this.#cursor.next()
    const commas: PbtxtToken[] = []
    if (depth >= MAX_NESTING) return { open, close: this.#tooDeep(open), commas }
    this.#listsOpen++
    let close = this.#cursor.take(']')
    while (close === null) {
      const before = this.#cursor.position
      const value = this.#value(schema, depth + 1)
      if (value.end > value.start) values.push(value) // after a trailing comma there is none
      close = this.#cursor.take(']')
      if (close !== null) break
      const comma = this.#cursor.take(',')
      if (comma !== null) { commas.push(comma); continue }
      this.#cursor.expected(',')
      if (this.#cursor.position === before || !this.#startsElement(schema)) break
    }
    this.#listsOpen--
    return { open, close, commas }
  }

  /** After a missing comma: does another element follow, or has the list ended without its bracket? */
  #startsElement(schema: FieldSchema | null): boolean {
    if (this.#cursor.startsMessage()) return schema === null || schema.type.kind === 'message'
    if (schema?.type.kind === 'message') return false
    const { kind } = this.#cursor.current
    if (kind === 'integer' || kind === 'float' || kind === 'string' || this.#cursor.looksLike('-')) return true
    return kind === 'identifier' && !this.#cursor.startsField()
  }

  #value(schema: FieldSchema | null, depth: number): PbtxtValue {
    if (schema?.type.kind === 'message') return this.#messageValue(schema.type.message, depth)
    if (schema === null) return this.#cursor.startsMessage() ? this.#messageValue(null, depth) : this.#anyScalar(depth)
    return parseScalarValue(this.#cursor, schema.name, schema.type, () => this.#anyScalar(depth))
  }

  #messageValue(schema: MessageSchema | null, depth: number): PbtxtValue {
    if (!this.#cursor.startsMessage()) {
      this.#cursor.expected('{')
      return this.#anyScalar(depth)
    }
    const open = this.#cursor.next()
    if (depth >= MAX_NESTING) {
      const close = this.#tooDeep(open)
      return { kind: 'message', schema, open, close, fields: [], skipped: [], start: open.offset, end: this.#cursor.takenEnd }
    }
    return this.#body(schema, open, depth + 1)
  }

  /** Passes over everything up to the bracket that matches, without recursion. */
  #tooDeep(open: PbtxtToken): PbtxtToken | null {
    this.#cursor.report('too-deep', `Message is too deep, the parser exceeded the configured recursion limit of ${MAX_NESTING}.`, spanOf(open))
    let level = 1
    while (this.#cursor.current.kind !== 'end') {
      const token = this.#cursor.next()
      if (token.kind !== 'symbol') continue
      const symbol = token.meant ?? token.text
      if (symbol === '{' || symbol === '<' || symbol === '[') level++
      else if ((symbol === '}' || symbol === '>' || symbol === ']') && --level === 0) return token
    }
    return null
  }

  /** A value nobody can type: what stands there is taken so that parsing goes on behind it. */
  #anyScalar(depth: number): PbtxtValue {
    const start = this.#cursor.current
    if (this.#cursor.startsMessage()) return this.#messageValue(null, depth)
    const tokens: PbtxtToken[] = []
    if (this.#cursor.looksLike('[')) {
      // A list where none is allowed: its elements are of no use to anybody.
      if (depth >= MAX_NESTING) this.#tooDeep(this.#cursor.next())
      else this.#list(null, [], depth + 1)
    } else if (this.#cursor.looksLike('-')) {
      tokens.push(this.#cursor.next())
      if (this.#cursor.startsLiteral() && !this.#cursor.startsField()) tokens.push(this.#cursor.next())
    } else if (this.#cursor.current.kind === 'string') {
      while (this.#cursor.current.kind === 'string') tokens.push(this.#cursor.next())
    } else if (this.#cursor.startsLiteral() && !this.#cursor.startsField()) tokens.push(this.#cursor.next())
    if (this.#cursor.current === start) return missingValue(this.#cursor)
    return { kind: 'scalar', tokens, value: null, start: start.offset, end: this.#cursor.takenEnd }
  }
}

function isDefaultValue(schema: FieldSchema, value: PbtxtScalarValue | null): boolean {
  if (schema.type.kind === 'enum') return typeof value === 'string' && schema.type.enum.values[value] === 0
  return value === '' || value === false || Object.is(value, 0)
}

/**
 * @param schema message type of the file
 * @returns the lossless tree, and all errors in the order of the text; none means that protobuf accepts the file
 */
export function parsePbtxt(text: string, schema: MessageSchema = MODEL_CONFIG_SCHEMA): { tree: PbtxtTree; errors: PbtxtError[] } {
  const { tokens, significant, errors: tokenErrors } = tokenizePbtxt(text)
  const cursor = new PbtxtCursor(significant)
  const root = new Parser(cursor).root(schema, text.length)
  const fromTokenizer = tokenErrors.map(({ significantIndex, ...error }): ReportedError => ({ ...error, at: significantIndex }))
  // Stable: at one token the tokenizer speaks first, as it reads ahead of protobuf's parser.
  const errors = [...fromTokenizer, ...cursor.errors].sort((a, b) => a.at - b.at)
    .map(({ at: _at, ...error }): PbtxtError => error)
  return { tree: { text, tokens, root }, errors }
}
