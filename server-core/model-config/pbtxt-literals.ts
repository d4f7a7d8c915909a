/** What the literals of text format mean, and how strings are written back. */
import type { ScalarType } from './config-schema.ts'

const SIMPLE_ESCAPES: Readonly<Record<string, number>> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, '\\': 92, '\'': 39, '"': 34, '?': 63 }
const ESCAPE = /\\(?:([abfnrtv\\'"?])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/g

/**
 * The text of one string literal with its quotes (the closing one may be missing). Escapes are bytes, so `\345\255\227` is one character;
 * bytes that are no UTF-8 become U+FFFD.
 */
export function stringLiteralValue(literal: string): string {
  const closing = literal.length > 1 && /["'”’＂]$/.test(literal) ? literal.length - 1 : literal.length
  const body = literal.slice(1, closing)
  if (!body.includes('\\')) return body
  const bytes: number[] = []
  let last = 0
  for (const match of body.matchAll(ESCAPE)) {
    bytes.push(...utf8(body.slice(last, match.index)))
    last = match.index + match[0].length
    const [, simple, octal, hex, short, long] = match
    if (simple !== undefined) bytes.push(SIMPLE_ESCAPES[simple] ?? 0)
    else if (octal !== undefined) bytes.push(Number.parseInt(octal, 8) & 0xff)
    else if (hex !== undefined) bytes.push(Number.parseInt(hex, 16))
    else bytes.push(...codePointBytes(Number.parseInt(short ?? long ?? '0', 16)))
  }
  bytes.push(...utf8(body.slice(last)))
  return textOf(joinSurrogates(bytes))
}

const encoder = new TextEncoder()
// A byte order mark inside a string is text.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

function utf8(text: string): Uint8Array {
  return encoder.encode(text)
}

function textOf(bytes: readonly number[]): string {
  return decoder.decode(Uint8Array.from(bytes))
}

/**
 * UTF-8 of a code point; halves of a surrogate pair too, as three bytes that `joinSurrogates` puts together. What lies beyond Unicode stays
 * as it was written, as in protobuf.
 */
function codePointBytes(codePoint: number): Iterable<number> {
  if (codePoint > 0x10ffff) return utf8(`\\U${codePoint.toString(16).padStart(8, '0')}`)
  if (codePoint < 0xd800 || codePoint > 0xdfff) return utf8(String.fromCodePoint(codePoint))
  return [0xe0 | (codePoint >> 12), 0x80 | ((codePoint >> 6) & 0x3f), 0x80 | (codePoint & 0x3f)]
}

/** Two halves written as three bytes each become the four bytes of their character. */
function joinSurrogates(bytes: readonly number[]): readonly number[] {
  if (!bytes.includes(0xed)) return bytes
  const joined: number[] = []
  for (let at = 0; at < bytes.length; at++) {
    const high = surrogateAt(bytes, at, 0xd800)
    const low = high === null ? null : surrogateAt(bytes, at + 3, 0xdc00)
    if (high === null || low === null) { joined.push(bytes[at] ?? 0); continue }
    joined.push(...utf8(String.fromCharCode(high, low)))
    at += 5
  }
  return joined
}

/** The half of a pair whose three bytes begin at `at`, if it lies in the 1,024 from `first` on. */
function surrogateAt(bytes: readonly number[], at: number, first: number): number | null {
  const [lead, second, third] = [bytes[at], bytes[at + 1], bytes[at + 2]]
  if (lead !== 0xed || second === undefined || third === undefined) return null
  if ((second & 0xc0) !== 0x80 || (third & 0xc0) !== 0x80) return null
  const unit = 0xd000 | ((second & 0x3f) << 6) | (third & 0x3f)
  return unit >= first && unit < first + 0x400 ? unit : null
}

/** A string literal in double quotes. UTF-8 text stays readable; control characters become escapes. */
export function printStringLiteral(value: string): string {
   
  const escaped = value.replace(/[\u0000-\u001f\u007f"'\\]/g, (character) => {
    const named: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '"': '\\"', '\'': '\\\'', '\\': '\\\\' }
    return named[character] ?? `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`
  })
  return `"${escaped}"`
}

/** Smallest and largest value of an integer type. */
export const INTEGER_RANGES: Readonly<Partial<Record<ScalarType, readonly [bigint, bigint]>>> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
}

/** An integer literal without sign (decimal, hex, octal); null where a digit does not belong to its base. */
export function integerLiteralValue(literal: string): bigint | null {
  if (/^0[0-7]+$/.test(literal)) return BigInt(`0o${literal.slice(1)}`)
  if (/^(?:0|[1-9][0-9]*)$/.test(literal)) return BigInt(literal)
  return /^0[xX][0-9a-fA-F]+$/.test(literal) ? BigInt(`0x${literal.slice(2)}`) : null
}

/** A bigint as a number where that loses nothing. */
export function narrowInteger(value: bigint): number | bigint {
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value
}

/** Shortest text that reads back as the same float (32 bit) or double. */
export function shortestFloat(value: number, type: 'float' | 'double'): string {
  if (type === 'float' && Number.isFinite(value)) {
    for (let precision = 1; precision <= 9; precision++) {
      const text = Number(value.toPrecision(precision))
      if (Math.fround(text) === Math.fround(value)) return String(text)
    }
  }
  return String(value)
}
