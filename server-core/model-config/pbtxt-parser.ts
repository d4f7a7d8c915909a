/**
 * Parses protobuf text format along a schema into the lossless tree, as protobuf's C++ `TextFormat::Parser` does (forbidding repeated
 * singular fields, refusing unknown ones). The first error is exactly protobuf's; after it the parser recovers and goes on, so an editor
 * gets every error and a tree of the whole file. Never throws; time is linear in the text.
 */
import { MODEL_CONFIG_SCHEMA } from './config-schema.ts'
import type { EnumSchema, FieldSchema, MessageSchema, ScalarType } from './config-schema.ts'
import { INTEGER_RANGES, integerLiteralValue, narrowInteger, stringLiteralValue } from './pbtxt-literals.ts'
import { tokenizePbtxt } from './pbtxt-tokenizer.ts'
import type {
  PbtxtError, PbtxtErrorCode, PbtxtField, PbtxtList, PbtxtMessage, PbtxtScalar, PbtxtScalarValue, PbtxtSpan, PbtxtToken, PbtxtTree, PbtxtValue,
} from './pbtxt-tree.ts'

/** Deepest nesting of brackets; the schema itself needs 7. */
export const MAX_NESTING = 100

interface ReportedError extends PbtxtError {
  /** Index of the token at which protobuf would report it. */
  readonly at: number
}

/** What a message has seen so far, for repeated singular fields and oneofs. */
interface Seen {
  readonly fields: Set<string>
  readonly oneofs: Map<string, string>
}

class Parser {
  readonly #tokens: readonly PbtxtToken[]
  readonly errors: ReportedError[] = []
  #position = 0
  #listsOpen = 0

  constructor(tokens: readonly PbtxtToken[]) {
    this.#tokens = tokens
  }

  root(schema: MessageSchema): PbtxtMessage {
    return this.#body(schema, null, 0)
  }

  get #current(): PbtxtToken {
    return this.#tokens[this.#position] ?? this.#end
  }

  get #end(): PbtxtToken {
    const end = this.#tokens[this.#tokens.length - 1]
    if (end === undefined) throw new Error('The tokenizer always ends with an end token.')
    return end
  }

  #peek(distance: number): PbtxtToken {
    return this.#tokens[this.#position + distance] ?? this.#end
  }

  #next(): PbtxtToken {
    const token = this.#current
    if (token.kind !== 'end') this.#position++
    return token
  }

  /** Is the current token this symbol, or its full-width twin (which carries its own error)? */
  #looksLike(symbol: string): boolean {
    return this.#current.text === symbol || this.#current.meant === symbol
  }

  #take(symbol: string): PbtxtToken | null {
    return this.#looksLike(symbol) ? this.#next() : null
  }

  /** Reports at the current token; silent where the tokenizer already complained about it, and only once at the end of the file. */
  #report(code: PbtxtErrorCode, message: string, culprit: PbtxtSpan = spanOf(this.#current)): void {
    const { isBroken, line, column, kind } = this.#current
    if (isBroken) return
    const last = this.errors[this.errors.length - 1]
    if (kind === 'end' && last !== undefined && last.at === this.#position && last.code.startsWith('expected')) return
    this.errors.push({ code, message, line, column, offset: culprit.start, length: culprit.end - culprit.start, at: this.#position })
  }

  #expected(symbol: string): void {
    this.#report('expected-token', `Expected "${symbol}", found "${this.#current.text}".`)
  }

  /** Fields up to the closing bracket (`open` given) or the end of the file. */
  #body(schema: MessageSchema | null, open: PbtxtToken | null, depth: number): PbtxtMessage {
    const fields: PbtxtField[] = []
    const skipped: PbtxtToken[] = []
    const seen: Seen = { fields: new Set(), oneofs: new Map() }
    const closer = open === null ? null : open.text === '<' || open.meant === '<' ? '>' : '}'
    let close: PbtxtToken | null = null
    for (;;) {
      const token = this.#current
      if (token.kind === 'end') {
        if (closer !== null) this.#report('expected-identifier', 'Expected identifier, got: ')
        break
      }
      if (closer !== null && (this.#looksLike('}') || this.#looksLike('>'))) {
        if (!this.#looksLike(closer)) this.#expected(closer)
        close = this.#next()
        break
      }
      if (token.kind === 'identifier' || this.#looksLike('[')) {
        fields.push(this.#field(schema, seen, depth))
        continue
      }
      this.#report('expected-identifier', `Expected identifier, got: ${token.text}`)
      if (token.text === ']' && closer !== null && this.#listsOpen > 0) break // the list's: this message was never closed
      this.#skip(skipped)
    }
    const first = open ?? this.#tokens[0] ?? this.#end
    const start = open === null ? 0 : first.offset
    const end = open === null ? this.#end.offset : this.#previousEnd(first)
    return { kind: 'message', schema, open, close, fields, skipped, start, end }
  }

  /** End of the last token taken. */
  #previousEnd(atLeast: PbtxtToken): number {
    const previous = this.#tokens[this.#position - 1]
    return Math.max(atLeast.offset + atLeast.text.length, previous === undefined ? 0 : previous.offset + previous.text.length)
  }

  /** Passes over what is no field: a `//` comment up to its line's end, otherwise one token. */
  #skip(skipped: PbtxtToken[]): void {
    const token = this.#next()
    skipped.push(token)
    if (token.text !== '/' || (this.#current.text !== '/' && this.#current.text !== '*')) return
    while (this.#current.kind !== 'end' && this.#current.line === token.line) skipped.push(this.#next())
  }

  #field(message: MessageSchema | null, seen: Seen, depth: number): PbtxtField {
    const first = this.#current
    const nameTokens: PbtxtToken[] = []
    let name: string
    let schema: FieldSchema | null = null
    if (this.#looksLike('[')) {
      name = this.#extensionName(nameTokens)
      if (message !== null) {
        this.#report('unknown-extension', `Extension "${name}" is not defined or is not an extension of "${message.fullName}".`, spanOf(first, nameTokens))
      }
    } else {
      nameTokens.push(this.#next())
      name = first.text
      schema = message?.byName.get(name) ?? null
      if (message !== null) this.#checkName(message, schema, name, seen, spanOf(first))
    }

    const isMessage = schema?.type.kind === 'message'
    const colon = this.#take(':')
    if (colon === null && schema !== null && !isMessage) this.#expected(':')
    else if (colon === null && schema === null && !this.#startsMessage() && !this.#looksLike('[')) {
      if (message === null) this.#expected(':')
    }

    let list: PbtxtList | null = null
    const values: PbtxtValue[] = []
    if (this.#looksLike('[') && (schema === null || schema.isRepeated)) list = this.#list(schema, values, depth)
    else values.push(this.#value(schema, depth))
    if (schema !== null) this.#remember(schema, values, seen)
    const separator = this.#take(';') ?? this.#take(',')
    const end = this.#previousEnd(first)
    return { name, nameTokens, schema, colon, list, values, separator, start: first.offset, end }
  }

  /** `[a.b]`, brackets included in `tokens`. */
  #extensionName(tokens: PbtxtToken[]): string {
    tokens.push(this.#next())
    let name = ''
    for (;;) {
      if (this.#current.kind !== 'identifier') {
        this.#report('expected-identifier', `Expected identifier, got: ${this.#current.text}`)
        break
      }
      const part = this.#next()
      tokens.push(part)
      name += part.text
      if (!this.#looksLike('.')) break
      tokens.push(this.#next())
      name += '.'
    }
    const close = this.#take(']')
    if (close === null) this.#expected(']')
    else tokens.push(close)
    return name
  }

  #checkName(message: MessageSchema, schema: FieldSchema | null, name: string, seen: Seen, culprit: PbtxtSpan): void {
    if (schema === null) {
      this.#report('unknown-field', `Message type "${message.fullName}" has no field named "${name}".`, culprit)
      return
    }
    if (!schema.isRepeated && seen.fields.has(name)) {
      this.#report('duplicate-field', `Non-repeated field "${name}" is specified multiple times.`, culprit)
      return
    }
    const other = schema.oneof === undefined ? undefined : seen.oneofs.get(schema.oneof)
    if (other !== undefined) {
      this.#report('oneof-conflict',
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
    const open = this.#next()
    const commas: PbtxtToken[] = []
    if (depth >= MAX_NESTING) return { open, close: this.#tooDeep(open), commas }
    this.#listsOpen++
    let close = this.#take(']')
    while (close === null) {
      const before = this.#position
      const value = this.#value(schema, depth + 1)
      if (value.end > value.start) values.push(value) // after a trailing comma there is none
      close = this.#take(']')
      if (close !== null) break
      const comma = this.#take(',')
      if (comma !== null) { commas.push(comma); continue }
      this.#expected(',')
      if (this.#position === before || !this.#startsElement(schema)) break
    }
    this.#listsOpen--
    return { open, close, commas }
  }

  /** After a missing comma: does another element follow, or has the list ended without its bracket? */
  #startsElement(schema: FieldSchema | null): boolean {
    if (this.#startsMessage()) return schema === null || schema.type.kind === 'message'
    if (schema?.type.kind === 'message') return false
    const { kind } = this.#current
    if (kind === 'integer' || kind === 'float' || kind === 'string' || this.#looksLike('-')) return true
    return kind === 'identifier' && !this.#startsField()
  }

  #startsMessage(): boolean {
    return this.#looksLike('{') || this.#looksLike('<')
  }

  /** An identifier followed by what only a field name is followed by. */
  #startsField(): boolean {
    const after = this.#peek(1)
    return this.#current.kind === 'identifier' && [':', '{', '<', '['].some((symbol) => after.text === symbol || after.meant === symbol)
  }

  #value(schema: FieldSchema | null, depth: number): PbtxtValue {
    if (schema?.type.kind === 'message') return this.#messageValue(schema.type.message, depth)
    if (schema === null) return this.#startsMessage() ? this.#messageValue(null, depth) : this.#anyScalar(depth)
    return schema.type.kind === 'enum' ? this.#enumValue(schema.name, schema.type.enum, depth) : this.#scalarValue(schema.name, schema.type.scalar, depth)
  }

  #messageValue(schema: MessageSchema | null, depth: number): PbtxtValue {
    if (!this.#startsMessage()) {
      this.#expected('{')
      return this.#anyScalar(depth)
    }
    const open = this.#next()
    if (depth >= MAX_NESTING) {
      const close = this.#tooDeep(open)
      return { kind: 'message', schema, open, close, fields: [], skipped: [], start: open.offset, end: this.#previousEnd(open) }
    }
    return this.#body(schema, open, depth + 1)
  }

  /** Passes over everything up to the bracket that matches, without recursion. */
  #tooDeep(open: PbtxtToken): PbtxtToken | null {
    this.#report('too-deep', `Message is too deep, the parser exceeded the configured recursion limit of ${MAX_NESTING}.`, spanOf(open))
    let level = 1
    while (this.#current.kind !== 'end') {
      const token = this.#next()
      if (token.kind !== 'symbol') continue
      const symbol = token.meant ?? token.text
      if (symbol === '{' || symbol === '<' || symbol === '[') level++
      else if ((symbol === '}' || symbol === '>' || symbol === ']') && --level === 0) return token
    }
    return null
  }

  /** A value nobody can type: what stands there is taken so that parsing goes on behind it. */
  #anyScalar(depth: number): PbtxtValue {
    const start = this.#current
    if (this.#startsMessage()) return this.#messageValue(null, depth)
    const tokens: PbtxtToken[] = []
    if (this.#looksLike('[')) {
      // A list where none is allowed: its elements are of no use to anybody.
      if (depth >= MAX_NESTING) this.#tooDeep(this.#next())
      else this.#list(null, [], depth + 1)
    } else if (this.#looksLike('-')) {
      tokens.push(this.#next())
      if (this.#isLiteral() && !this.#startsField()) tokens.push(this.#next())
    } else if (this.#current.kind === 'string') {
      while (this.#current.kind === 'string') tokens.push(this.#next())
    } else if (this.#isLiteral() && !this.#startsField()) tokens.push(this.#next())
    if (this.#current === start) return this.#missingValue()
    return { kind: 'scalar', tokens, value: null, start: start.offset, end: this.#previousEnd(start) }
  }

  /** Nothing where a value should be: an empty span behind the last token. */
  #missingValue(): PbtxtScalar {
    const previous = this.#tokens[this.#position - 1]
    const place = previous === undefined ? 0 : previous.offset + previous.text.length
    return { kind: 'scalar', tokens: [], value: null, start: place, end: place }
  }

  #isLiteral(): boolean {
    const { kind } = this.#current
    return kind === 'integer' || kind === 'float' || kind === 'string' || kind === 'identifier'
  }

  #refuse(expected: string, depth: number, got = this.#current.text): PbtxtValue {
    this.#report('expected-value', `Expected ${expected}, got: ${got}`)
    return this.#anyScalar(depth)
  }

  #scalarValue(name: string, type: ScalarType, depth: number): PbtxtValue {
    switch (type) {
      case 'string': return this.#stringValue(depth)
      case 'bool': return this.#boolValue(name, depth)
      case 'float':
      case 'double': return this.#floatValue(type, depth)
      case 'int32':
      case 'int64':
      case 'uint32':
      case 'uint64': return this.#integerValue(type, depth)
    }
  }

  #stringValue(depth: number): PbtxtValue {
    if (this.#current.kind !== 'string') return this.#refuse('string', depth)
    const tokens: PbtxtToken[] = []
    while (this.#current.kind === 'string') tokens.push(this.#next())
    return scalar(tokens, tokens.map((token) => stringLiteralValue(token.text)).join(''))
  }

  #boolValue(name: string, depth: number): PbtxtValue {
    const token = this.#current
    if (token.kind === 'integer') {
      const value = integerLiteralValue(token.text)
      if (value !== null && value > 1n) this.#report('out-of-range', `Integer out of range (${token.text})`)
      return scalar([this.#next()], value === null || value > 1n ? null : value === 1n)
    }
    if (token.kind !== 'identifier') return this.#refuse('identifier', depth)
    if (['true', 'True', 't'].includes(token.text)) return scalar([this.#next()], true)
    if (['false', 'False', 'f'].includes(token.text)) return scalar([this.#next()], false)
    return this.#wrongWord('invalid-boolean', `Invalid value for boolean field "${name}". Value: "${token.text}".`)
  }

  /** protobuf takes the word for the value and complains behind it; where the word is really the next field's name, we give it back. */
  #wrongWord(code: PbtxtErrorCode, message: string): PbtxtValue {
    const isFieldName = this.#startsField()
    const word = this.#next()
    this.#report(code, message, spanOf(word))
    if (!isFieldName) return scalar([word], null)
    this.#position--
    return this.#missingValue()
  }

  #integerValue(type: ScalarType, depth: number): PbtxtValue {
    const [minimum, maximum] = INTEGER_RANGES[type] ?? [0n, 0n]
    const sign = minimum < 0n ? this.#take('-') : null
    if (this.#current.kind !== 'integer') {
      this.#report('expected-value', `Expected integer, got: ${this.#current.text}`)
      return withSign(sign, this.#anyScalar(depth))
    }
    const token = this.#current
    const magnitude = integerLiteralValue(token.text)
    const isInRange = magnitude !== null && magnitude <= (sign === null ? maximum : -minimum)
    if (magnitude !== null && !isInRange) this.#report('out-of-range', `Integer out of range (${token.text})`)
    this.#next()
    const tokens = sign === null ? [token] : [sign, token]
    return scalar(tokens, isInRange && magnitude !== null ? narrowInteger(sign === null ? magnitude : -magnitude) : null)
  }

  #floatValue(type: ScalarType, depth: number): PbtxtValue {
    const sign = this.#take('-')
    const token = this.#current
    const tokens = sign === null ? [token] : [sign, token]
    const finish = (magnitude: number): PbtxtValue => {
      this.#next()
      const value = sign === null ? magnitude : -magnitude
      return scalar(tokens, type === 'float' ? Math.fround(value) : value)
    }
    if (token.kind === 'float') return finish(Number.parseFloat(token.text))
    if (token.kind === 'integer') {
      if (/^0[xX0-7]/.test(token.text)) {
        this.#report('expected-value', `Expect a decimal number, got: ${token.text}`)
        this.#next()
        return scalar(tokens, null)
      }
      return finish(Number(token.text))
    }
    if (token.kind === 'identifier') {
      const word = token.text.toLowerCase()
      if (word === 'inf' || word === 'infinity') return finish(Infinity)
      if (word === 'nan') return finish(NaN)
      return withSign(sign, this.#refuse('double', depth, word))
    }
    return withSign(sign, this.#refuse('double', depth))
  }

  #enumValue(name: string, schema: EnumSchema, depth: number): PbtxtValue {
    const token = this.#current
    if (token.kind === 'identifier') {
      if (Object.hasOwn(schema.values, token.text)) return scalar([this.#next()], token.text)
      return this.#wrongWord('unknown-enum-value', `Unknown enumeration value of "${token.text}" for field "${name}".`)
    }
    if (token.kind !== 'integer' && !this.#looksLike('-')) return this.#refuse('integer or identifier', depth)
    const value = this.#integerValue('int32', depth)
    if (value.kind !== 'scalar' || value.value === null) return value
    const known = Object.entries(schema.values).find(([, number]) => number === value.value)
    return { ...value, value: known?.[0] ?? value.value }
  }
}

function spanOf(first: PbtxtToken, more: readonly PbtxtToken[] = []): PbtxtSpan {
  const last = more[more.length - 1] ?? first
  return { start: first.offset, end: last.offset + last.text.length }
}

function scalar(tokens: readonly [PbtxtToken, ...PbtxtToken[]] | readonly PbtxtToken[], value: PbtxtScalarValue | null): PbtxtScalar {
  const first = tokens[0]
  const last = tokens[tokens.length - 1]
  return { kind: 'scalar', tokens, value, start: first?.offset ?? 0, end: last === undefined ? 0 : last.offset + last.text.length }
}

function withSign(sign: PbtxtToken | null, value: PbtxtValue): PbtxtValue {
  if (sign === null || value.kind === 'message') return value
  return { ...value, tokens: [sign, ...value.tokens], start: sign.offset, end: Math.max(value.end, sign.offset + 1) }
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
  const parser = new Parser(significant)
  const root = parser.root(schema)
  const fromTokenizer = tokenErrors.map(({ significantIndex, ...error }): ReportedError => ({ ...error, at: significantIndex }))
  // Stable: at one token the tokenizer speaks first, as it reads ahead of protobuf's parser.
  const errors = [...fromTokenizer, ...parser.errors].sort((a, b) => a.at - b.at)
    .map(({ at: _at, ...error }): PbtxtError => error)
  return { tree: { text, tokens, root }, errors }
}
