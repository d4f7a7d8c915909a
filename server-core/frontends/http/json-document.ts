/**
 * A JSON document that stays bytes: one pass checks the whole text (RapidJSON's rules, error texts and byte offsets), then values are read
 * in place by offset. Nothing is boxed, so a 64 MiB body costs its bytes and a small table of where its large parts end.
 *
 * Beyond JSON: the words NaN, Infinity, Inf, -Infinity, -Inf. UTF-8 is not validated (protocol section 2).
 */
import { ServerError } from '../../server-error.ts'
import {
  BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COMMA, hex4, MINUS, NINE, OPEN_ARRAY, OPEN_OBJECT, QUOTE, scalarEnd, simpleEscape, skipSpace, stringEnd, ZERO,
} from './json-scan.ts'
import { checkSyntax } from './json-syntax.ts'

export type JsonKind = 'object' | 'array' | 'string' | 'integer' | 'double' | 'boolean' | 'null'

export class JsonDocument {
  readonly bytes: Buffer
  /** Offset of the root value. */
  readonly root: number
  readonly #ends: ReadonlyMap<number, number>

  /** @throws ServerError INTERNAL `failed to parse the request JSON buffer: <reason> at <offset>` */
  constructor(bytes: Buffer) {
    this.bytes = bytes
    const { root, ends } = checkSyntax(bytes)
    this.root = root
    this.#ends = ends
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
}

/** The number a literal stands for, the words NaN, Inf and Infinity included. */
export function numberOf(literal: string): number {
  if (literal.endsWith('Inf')) return literal.startsWith('-') ? -Infinity : Infinity
  return Number(literal)
}

/** Writes a code point as UTF-8. @returns the offset after it */
export function putUtf8(target: Uint8Array, to: number, code: number): number {
  if (code < 0x80) target[to++] = code
  else if (code < 0x800) { target[to++] = 0xc0 | (code >> 6); target[to++] = 0x80 | (code & 0x3f) }
  else if (code < 0x10000) { target[to++] = 0xe0 | (code >> 12); target[to++] = 0x80 | ((code >> 6) & 0x3f); target[to++] = 0x80 | (code & 0x3f) }
  else { target[to++] = 0xf0 | (code >> 18); target[to++] = 0x80 | ((code >> 12) & 0x3f); target[to++] = 0x80 | ((code >> 6) & 0x3f); target[to++] = 0x80 | (code & 0x3f) }
  return to
}

function wrongKind(kind: string, as: string): ServerError {
  return new ServerError('INTERNAL', `attempt to access JSON non-${kind} as ${as}`)
}
