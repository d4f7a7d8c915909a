/** Checks that bytes are JSON as RapidJSON does: the same rules, error texts and byte offsets. One pass, no recursion, nothing built. */
import { ServerError } from '../../server-error.ts'
import {
  BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, DOT, hex4, isDigit, MINUS, OPEN_ARRAY, OPEN_OBJECT, QUOTE, simpleEscape, skipSpace, ZERO,
} from './json-scan.ts'

/** Containers shorter than this are skipped by reading them again. */
const REMEMBERED_LENGTH = 1024
const REMEMBERED_DEPTH = 8

/** INTERNAL `failed to parse the request JSON buffer: <reason> at <offset>` */
export class JsonSyntaxError extends ServerError {
  readonly reason: string
  readonly offset: number

  constructor(reason: string, offset: number) {
    super('INTERNAL', `failed to parse the request JSON buffer: ${reason} at ${offset}`)
    this.reason = reason
    this.offset = offset
  }
}

export interface CheckedText {
  /** Offset of the root value. */
  readonly root: number
  /** Start to end of long containers near the root, so that readers can step over them. */
  readonly ends: ReadonlyMap<number, number>
}

/** @throws ServerError INTERNAL `failed to parse the request JSON buffer: <reason> at <offset>` */
export function checkSyntax(bytes: Buffer): CheckedText {
  return new SyntaxCheck(bytes).run()
}

class SyntaxCheck {
  readonly #bytes: Buffer
  readonly #ends = new Map<number, number>()
  #at = 0

  constructor(bytes: Buffer) { this.#bytes = bytes }

  /** Checks the whole text without recursion; containers on the way are a stack of one byte each. */
  run(): CheckedText {
    const bytes = this.#bytes
    const root = skipSpace(bytes, 0)
    let stack = new Uint8Array(64)
    const starts: number[] = []
    let depth = 0
    this.#at = root
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
          return { root, ends: this.#ends }
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
    if (this.#bytes[this.#at] !== QUOTE) throw syntaxError('Missing a name for object member.', this.#at)
    this.#string()
    this.#at = skipSpace(this.#bytes, this.#at)
    if (this.#bytes[this.#at] !== COLON) throw syntaxError('Missing a colon after a name of object member.', this.#at)
    this.#at = skipSpace(this.#bytes, this.#at + 1)
  }

  #string(): void {
    const bytes = this.#bytes
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
    const bytes = this.#bytes
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
      if (this.#bytes[this.#at] !== word.charCodeAt(i)) throw syntaxError('Invalid value.', this.#at)
    }
  }

  #number(): void {
    const bytes = this.#bytes
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
    if (this.#bytes[this.#at] === 0x69) this.#word('inity')
  }
}

function grow(stack: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(stack.length * 2)
  larger.set(stack)
  return larger
}

function syntaxError(reason: string, at: number): JsonSyntaxError {
  return new JsonSyntaxError(reason, at)
}
