/**
 * A JSON document that stays bytes: one pass checks the whole text (RapidJSON's rules, error texts and byte offsets), then values are read
 * in place by offset. Nothing is boxed, so a 64 MiB body costs its bytes and a small table of where its large parts end.
 *
 * Beyond JSON: the words NaN, Infinity, Inf, -Infinity, -Inf. UTF-8 is not validated (protocol section 2).
 */
import { ServerError } from '../../server-error.ts'

export type JsonKind = 'object' | 'array' | 'string' | 'integer' | 'double' | 'boolean' | 'null'

/** Containers shorter than this are skipped by reading them again. */
const REMEMBERED_LENGTH = 1024
const REMEMBERED_DEPTH = 8

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const MINUS = 0x2d
const DOT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

export class JsonDocument {
  readonly bytes: Buffer
  /** Offset of the root value. */
  readonly root: number
  /** Start to end of long containers near the root. */
  readonly #ends = new Map<number, number>()
  #at = 0

  /** @throws ServerError INTERNAL `failed to parse the request JSON buffer: <reason> at <offset>` */
  constructor(bytes: Buffer) {
    this.bytes = bytes
    this.root = skipSpace(bytes, 0)
    this.#validate()
  }

  kind(at: number): JsonKind {
    switch (this.bytes[at]) {
      case OPEN_OBJECT: return 'object'
      case OPEN_ARRAY: return 'array'
      case QUOTE: return 'string'
      case 0x74: case 0x66: return 'boolean'
      case 0x6e: return 'null'
      default: return this.#numberKind(at)
    }
  }

  /** Offset just after the value at `at`. */
  end(at: number): number {
    const bytes = this.bytes
    const first = bytes[at]
    if (first === QUOTE) return stringEnd(bytes, at)
    if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return scalarEnd(bytes, at)
    const remembered = this.#ends.get(at)
    if (remembered !== undefined) return remembered
    let depth = 0
    let offset = at
    for (;;) {
      const byte = bytes[offset]
      if (byte === QUOTE) { offset = stringEnd(bytes, offset); continue }
      offset++
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++
      else if ((byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) && --depth === 0) return offset
    }
  }

  /** Offset of the first element of an array or the first member name of an object; -1 when it is empty. */
  first(at: number): number {
    const offset = skipSpace(this.bytes, at + 1)
    const byte = this.bytes[offset]
    return byte === CLOSE_ARRAY || byte === CLOSE_OBJECT ? -1 : offset
  }

  /** Offset of the element or member name that follows the value at `valueAt`; -1 after the last. */
  next(valueAt: number): number {
    const offset = skipSpace(this.bytes, this.end(valueAt))
    return this.bytes[offset] === COMMA ? skipSpace(this.bytes, offset + 1) : -1
  }

  /** Offset of the value of the member whose name starts at `nameAt`. */
  memberValue(nameAt: number): number {
    const colon = skipSpace(this.bytes, stringEnd(this.bytes, nameAt))
    return skipSpace(this.bytes, colon + 1)
  }

  /** Offset of a member's value; -1 when there is none or `at` is no object. The first of equal names counts. `name` is ASCII. */
  find(at: number, name: string): number {
    if (at < 0 || this.bytes[at] !== OPEN_OBJECT) return -1
    for (let nameAt = this.first(at); nameAt >= 0;) {
      const valueAt = this.memberValue(nameAt)
      if (this.#nameIs(nameAt, name)) return valueAt
      nameAt = this.next(valueAt)
    }
    return -1
  }

  /**
   * `find` for several names in one pass.
   * @returns an offset per name; -1 where there is none or `at` is no object
   */
  findAll(at: number, names: readonly string[]): number[] {
    const found = new Array<number>(names.length).fill(-1)
    if (at < 0 || this.bytes[at] !== OPEN_OBJECT) return found
    let missing = names.length
    for (let nameAt = this.first(at); nameAt >= 0 && missing > 0;) {
      const valueAt = this.memberValue(nameAt)
      for (let i = 0; i < names.length; i++) {
        if (found[i] === -1 && this.#nameIs(nameAt, names[i] as string)) {
          found[i] = valueAt
          missing--
          break
        }
      }
      nameAt = this.next(valueAt)
    }
    return found
  }

  /** The text of a string value or member name; invalid UTF-8 becomes U+FFFD. */
  text(at: number): string {
    const bytes = this.bytes
    const end = stringEnd(bytes, at) - 1
    for (let i = at + 1; i < end; i++) {
      if (bytes[i] === BACKSLASH) {
        const target = Buffer.allocUnsafe(end - at - 1)
        return target.toString('utf8', 0, this.copyString(at, target, 0))
      }
    }
    return bytes.toString('utf8', at + 1, end)
  }

  /**
   * Writes the bytes of a string value, escapes resolved, to `target`.
   * @returns the offset after the last byte written. Never more than the quoted length.
   */
  copyString(at: number, target: Uint8Array, to: number): number {
    const bytes = this.bytes
    let offset = at + 1
    for (;;) {
      const byte = bytes[offset++] as number
      if (byte === QUOTE) return to
      if (byte !== BACKSLASH) { target[to++] = byte; continue }
      const escape = bytes[offset++] as number
      if (escape !== 0x75) { target[to++] = simpleEscape(escape); continue }
      let code = hex4(bytes, offset)
      offset += 4
      if (code >= 0xd800 && code <= 0xdbff) {
        code = 0x10000 + ((code - 0xd800) << 10) + (hex4(bytes, offset + 2) - 0xdc00)
        offset += 6
      }
      to = putUtf8(target, to, code)
    }
  }

  /** @throws ServerError INTERNAL `attempt to access JSON non-string as string` */
  asString(at: number): string {
    if (this.bytes[at] !== QUOTE) throw wrongKind('string', 'string')
    return this.text(at)
  }

  /** @throws ServerError INTERNAL `attempt to access JSON non-boolean as boolean` */
  asBoolean(at: number): boolean {
    const first = this.bytes[at]
    if (first === 0x74) return true
    if (first === 0x66) return false
    throw wrongKind('boolean', 'boolean')
  }

  /** An integer that fits uint64. @throws ServerError INTERNAL `attempt to access JSON non-unsigned-integer as unsigned-integer` */
  asUnsigned(at: number): bigint {
    const value = this.kind(at) === 'integer' ? this.integer(at) : -1n
    if (value < 0n) throw wrongKind('unsigned-integer', 'unsigned-integer')
    return value
  }

  /** The value of an integer (kind 'integer': it fits int64 or uint64). */
  integer(at: number): bigint {
    return BigInt(this.bytes.toString('latin1', at, scalarEnd(this.bytes, at)))
  }

  /** The value of a number of either kind. */
  number(at: number): number {
    return numberOf(this.bytes.toString('latin1', at, scalarEnd(this.bytes, at)))
  }

  #nameIs(nameAt: number, name: string): boolean {
    const bytes = this.bytes
    let i = 0
    for (; i < name.length; i++) {
      const byte = bytes[nameAt + 1 + i]
      if (byte === BACKSLASH) return this.text(nameAt) === name
      if (byte !== name.charCodeAt(i)) return false
    }
    const last = bytes[nameAt + 1 + i]
    return last === QUOTE || (last === BACKSLASH && this.text(nameAt) === name)
  }

  #numberKind(at: number): JsonKind {
    const bytes = this.bytes
    const end = scalarEnd(bytes, at)
    for (let i = at; i < end; i++) {
      const byte = bytes[i] as number
      if ((byte < ZERO || byte > NINE) && byte !== MINUS) return 'double'
    }
    if (end - at < 19) return 'integer'
    const value = this.integer(at)
    return value >= -0x8000_0000_0000_0000n && value <= 0xffff_ffff_ffff_ffffn ? 'integer' : 'double'
  }

  /** Checks the whole text without recursion; containers on the way are a stack of one byte each. */
  #validate(): void {
    const bytes = this.bytes
    let stack = new Uint8Array(64)
    const starts: number[] = []
    let depth = 0
    this.#at = this.root
    if (this.#at >= bytes.length || bytes[this.#at] === 0) throw syntaxError('The document is empty.', this.#at)
    for (;;) {
      // A value starts here.
      const first = bytes[this.#at]
      if (first === OPEN_OBJECT || first === OPEN_ARRAY) {
        if (depth === stack.length) stack = grow(stack)
        if (depth < REMEMBERED_DEPTH) starts[depth] = this.#at
        stack[depth++] = first
        this.#at = skipSpace(bytes, this.#at + 1)
        const isEmpty = bytes[this.#at] === (first === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY)
        if (!isEmpty) {
          if (first === OPEN_OBJECT) this.#memberName()
          continue
        }
      } else if (first === QUOTE) this.#string()
      else this.#scalar(first)
      // After a value (or at the closing bracket of an empty container): close containers until another value follows.
      for (;;) {
        if (depth === 0) {
          const rest = skipSpace(bytes, this.#at)
          if (rest < bytes.length && bytes[rest] !== 0) throw syntaxError('The document root must not be followed by other values.', rest)
          return
        }
        this.#at = skipSpace(bytes, this.#at)
        const byte = bytes[this.#at]
        const isObject = stack[depth - 1] === OPEN_OBJECT
        if (byte === COMMA) {
          this.#at = skipSpace(bytes, this.#at + 1)
          if (isObject) this.#memberName()
          break
        }
        if (byte !== (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) {
          throw syntaxError(isObject ? 'Missing a comma or } after an object member.' : 'Missing a comma or ] after an array element.', this.#at)
        }
        this.#at++
        depth--
        if (depth < REMEMBERED_DEPTH) {
          const start = starts[depth] as number
          if (this.#at - start > REMEMBERED_LENGTH) this.#ends.set(start, this.#at)
        }
      }
    }
  }

  #memberName(): void {
    if (this.bytes[this.#at] !== QUOTE) throw syntaxError('Missing a name for object member.', this.#at)
    this.#string()
    this.#at = skipSpace(this.bytes, this.#at)
    if (this.bytes[this.#at] !== COLON) throw syntaxError('Missing a colon after a name of object member.', this.#at)
    this.#at = skipSpace(this.bytes, this.#at + 1)
  }

  #string(): void {
    const bytes = this.bytes
    let offset = this.#at + 1
    for (;;) {
      const byte = bytes[offset]
      if (byte === undefined || byte === 0) throw syntaxError('Missing a closing quotation mark in string.', offset)
      if (byte === QUOTE) break
      if (byte < 0x20) throw syntaxError('Invalid encoding in string.', offset)
      if (byte !== BACKSLASH) { offset++; continue }
      const escape = bytes[offset + 1]
      if (escape === 0x75) offset = this.#unicodeEscape(offset)
      else if (escape !== undefined && simpleEscape(escape) !== 0) offset += 2
      else throw syntaxError('Invalid escape character in string.', offset)
    }
    this.#at = offset + 1
  }

  #unicodeEscape(at: number): number {
    const bytes = this.bytes
    const code = hex4(bytes, at + 2)
    if (code < 0) throw syntaxError('Incorrect hex digit after \\u escape in string.', at)
    if (code < 0xd800 || code > 0xdfff) return at + 6
    if (code > 0xdbff || bytes[at + 6] !== BACKSLASH || bytes[at + 7] !== 0x75) throw syntaxError('The surrogate pair in string is invalid.', at)
    const low = hex4(bytes, at + 8)
    if (low < 0) throw syntaxError('Incorrect hex digit after \\u escape in string.', at)
    if (low < 0xdc00 || low > 0xdfff) throw syntaxError('The surrogate pair in string is invalid.', at)
    return at + 12
  }

  #scalar(first: number | undefined): void {
    switch (first) {
      case 0x6e: this.#word('null'); return
      case 0x74: this.#word('true'); return
      case 0x66: this.#word('false'); return
      default: this.#number()
    }
  }

  #word(word: string): void {
    for (let i = 0; i < word.length; i++, this.#at++) {
      if (this.bytes[this.#at] !== word.charCodeAt(i)) throw syntaxError('Invalid value.', this.#at)
    }
  }

  #number(): void {
    const bytes = this.bytes
    const start = this.#at
    let offset = start
    if (bytes[offset] === MINUS) offset++
    const first = bytes[offset]
    if (first === 0x49 || first === 0x4e) { this.#at = offset; this.#wordNumber(first); return }
    if (first === ZERO) offset++
    else if (isDigit(first)) { do offset++; while (isDigit(bytes[offset])) }
    else throw syntaxError('Invalid value.', offset)
    let mayOverflow = offset - start > 300
    if (bytes[offset] === DOT) {
      if (!isDigit(bytes[++offset])) throw syntaxError('Missing fraction part in number.', offset)
      do offset++; while (isDigit(bytes[offset]))
    }
    if (bytes[offset] === 0x65 || bytes[offset] === 0x45) {
      offset++
      if (bytes[offset] === 0x2b || bytes[offset] === MINUS) offset++
      if (!isDigit(bytes[offset])) throw syntaxError('Missing exponent in number.', offset)
      do offset++; while (isDigit(bytes[offset]))
      mayOverflow = true
    }
    if (mayOverflow && !Number.isFinite(Number(bytes.toString('latin1', start, offset)))) {
      throw syntaxError('Number too big to be stored in double.', start)
    }
    this.#at = offset
  }

  /** NaN, Inf, Infinity; the sign was read. */
  #wordNumber(first: number): void {
    if (first === 0x4e) { this.#word('NaN'); return }
    this.#word('Inf')
    if (this.bytes[this.#at] === 0x69) this.#word('inity')
  }
}

/** The number a literal stands for, the words NaN, Inf and Infinity included. */
export function numberOf(literal: string): number {
  if (literal.endsWith('Inf')) return literal.startsWith('-') ? -Infinity : Infinity
  return Number(literal)
}

export function skipSpace(bytes: Uint8Array, at: number): number {
  for (;;) {
    const byte = bytes[at]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at
    at++
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE
}

/** Offset after the closing quote; the text was checked. */
export function stringEnd(bytes: Uint8Array, at: number): number {
  let offset = at + 1
  for (;;) {
    const byte = bytes[offset++]
    if (byte === QUOTE) return offset
    if (byte === BACKSLASH) offset++
  }
}

/** Offset after a number or word; the text was checked. */
export function scalarEnd(bytes: Uint8Array, at: number): number {
  let offset = at
  for (;;) {
    const byte = bytes[offset]
    if (byte === undefined || byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT || byte <= 0x20) return offset
    offset++
  }
}

/** The byte that `\<escape>` stands for; 0: no such escape. */
function simpleEscape(escape: number): number {
  switch (escape) {
    case QUOTE: case BACKSLASH: case 0x2f: return escape
    case 0x62: return 0x08
    case 0x66: return 0x0c
    case 0x6e: return 0x0a
    case 0x72: return 0x0d
    case 0x74: return 0x09
    default: return 0
  }
}

function hex4(bytes: Uint8Array, at: number): number {
  let code = 0
  for (let i = at; i < at + 4; i++) {
    const byte = bytes[i] ?? 0
    const digit = byte >= ZERO && byte <= NINE ? byte - ZERO : byte >= 0x61 && byte <= 0x66 ? byte - 0x57 : byte >= 0x41 && byte <= 0x46 ? byte - 0x37 : -1
    if (digit < 0) return -1
    code = code * 16 + digit
  }
  return code
}

function putUtf8(target: Uint8Array, to: number, code: number): number {
  if (code < 0x80) target[to++] = code
  else if (code < 0x800) { target[to++] = 0xc0 | (code >> 6); target[to++] = 0x80 | (code & 0x3f) }
  else if (code < 0x10000) { target[to++] = 0xe0 | (code >> 12); target[to++] = 0x80 | ((code >> 6) & 0x3f); target[to++] = 0x80 | (code & 0x3f) }
  else { target[to++] = 0xf0 | (code >> 18); target[to++] = 0x80 | ((code >> 12) & 0x3f); target[to++] = 0x80 | ((code >> 6) & 0x3f); target[to++] = 0x80 | (code & 0x3f) }
  return to
}

function grow(stack: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(stack.length * 2)
  larger.set(stack)
  return larger
}

function syntaxError(reason: string, at: number): ServerError {
  return new ServerError('INTERNAL', `failed to parse the request JSON buffer: ${reason} at ${at}`)
}

function wrongKind(kind: string, as: string): ServerError {
  return new ServerError('INTERNAL', `attempt to access JSON non-${kind} as ${as}`)
}
