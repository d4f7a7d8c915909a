/**
 * Reads the text of a `data` array into typed bytes while it arrives, in pieces cut anywhere: no text is kept but a number that a cut
 * parts. Whatever is no plain array of numbers of its type is left to the readers of whole documents, which know what is wrong with it.
 */
import { DATA_TYPES, type DataType } from '../../contract/inference.ts'
import { CLOSE_ARRAY, COMMA, DOT, MINUS, OPEN_ARRAY, ZERO } from './json-scan.ts'
import { EXACT_POWERS, EXACT_WHOLE, NESTING_LIMIT, nearestSingle } from './tensor-from-json.ts'

/** A number in two pieces may be this long; longer ones are refused. Bytes. */
const MAX_PENDING = 4096

/** Memory for all elements is taken once 1/64 of them are here, so that a shape alone costs nothing. */
const ALLOCATE_AFTER_PART = 64
const FIRST_ELEMENTS = 4096

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const WORDS: Readonly<Record<string, number | undefined>> = { NaN, '-NaN': NaN, Inf: Infinity, Infinity, '-Inf': -Infinity, '-Infinity': -Infinity }

export type NumberType = Exclude<DataType, 'BYTES' | 'FP16' | 'BF16' | 'BOOL'>

export function isNumberType(datatype: string): datatype is NumberType {
  return Object.hasOwn(DATA_TYPES, datatype) && !['BYTES', 'FP16', 'BF16', 'BOOL'].includes(datatype)
}

/** 'more': wants the next piece. 'done': the array ended. 'refused': from `pending` on it is not for this reader. */
export type ReaderState = 'more' | 'done' | 'refused'

type Target = Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array | BigInt64Array | BigUint64Array

const EMPTY = Buffer.alloc(0)

/** Where the reader stands between two tokens. */
const OPENED = 0
const AFTER_COMMA = 1
const AFTER_VALUE = 2

export class NumberArrayReader {
  state: ReaderState = 'more'
  /** Elements seen; may go beyond those wanted. */
  count = 0
  /** Bytes of earlier pieces that come before what is read next. */
  pending: Buffer = EMPTY
  /** Arrays that are open. */
  depth = 0
  readonly #datatype: NumberType
  /** Elements that there is memory for in the end. */
  readonly #capacity: number
  #target: Target
  readonly #isFloat: boolean
  readonly #isSingle: boolean
  /** Of 64-bit integers: the same memory in halves of 32 bits, the low one first. */
  #halves: Uint32Array | undefined
  readonly #isSigned: boolean
  #place = OPENED

  /**
   * @param wanted elements that the shape has
   * @param capacity elements that the text can have at most: no more memory is taken
   */
  constructor(datatype: NumberType, wanted: number, capacity: number) {
    this.#isSingle = datatype === 'FP32'
    this.#isFloat = this.#isSingle || datatype === 'FP64'
    this.#isSigned = datatype.startsWith('INT')
    this.#datatype = datatype
    this.#capacity = Math.min(wanted, capacity)
    this.#target = this.#allocate(Math.min(this.#capacity, Math.max(FIRST_ELEMENTS, Math.ceil(this.#capacity / ALLOCATE_AFTER_PART))))
  }

  /** The elements, when as many came as were wanted. */
  get bytes(): Uint8Array {
    const { buffer, byteOffset, byteLength } = this.#target
    return new Uint8Array(buffer, byteOffset, byteLength)
  }

  /** What stands for everything read so far, before `pending`, so that the text after it is read in the same place of the grammar. */
  get replacement(): string {
    return '['.repeat(this.depth) + (this.#place === AFTER_VALUE ? '0 ' : this.#place === AFTER_COMMA ? '0,' : '')
  }

  /**
   * Reads from `at`; the first piece begins with the opening bracket.
   * @returns offset after what was read
   */
  read(bytes: Buffer, at: number): number {
    if (this.pending.length > 0) {
      let end = at
      while (end < bytes.length && !isDelimiter(bytes[end] as number)) end++
      const joined = Buffer.concat([this.pending, bytes.subarray(at, Math.min(end + 1, bytes.length))])
      this.pending = EMPTY
      if (end >= bytes.length) {
        this.#keep(joined, 0)
        return bytes.length
      }
      const stopped = this.#run(joined, 0)
      if (this.state === 'refused') this.pending = joined.subarray(stopped)
      at = end + 1
      if (this.state !== 'more') return at
    }
    return this.#run(bytes, at)
  }

  /** A number that goes on in the next piece. */
  #keep(bytes: Buffer, from: number): void {
    this.pending = Buffer.from(bytes.subarray(from))
    if (this.pending.length > MAX_PENDING) this.state = 'refused'
  }

  #refuse(at: number): number {
    this.state = 'refused'
    return at
  }

  /** @returns offset after what was read; where refused, of the first byte that is not for this reader */
  #run(bytes: Buffer, from: number): number {
    const length = bytes.length
    let target = this.#target
    let at = from
    while (at < length) {
      const byte = bytes[at] as number
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) { at++; continue }
      if (this.#place === AFTER_VALUE) {
        if (byte === COMMA) { this.#place = AFTER_COMMA; at++; continue }
        if (byte !== CLOSE_ARRAY) return this.#refuse(at)
        at++
        if (this.#close()) return at
        continue
      }
      if (byte === OPEN_ARRAY) {
        if (this.depth + 1 >= NESTING_LIMIT) return this.#refuse(at)
        this.depth++
        this.#place = OPENED
        at++
        continue
      }
      if (byte === CLOSE_ARRAY) {
        if (this.#place !== OPENED) return this.#refuse(at)
        at++
        if (this.#close()) return at
        continue
      }
      // A number: digits, fraction and exponent in one pass.
      const start = at
      let isPlain = true
      const isNegative = byte === MINUS
      if (isNegative) at++
      let mantissa = 0
      let digit = (bytes[at] as number) - ZERO
      const firstDigitAt = at
      while (digit >= 0 && digit <= 9) { mantissa = mantissa * 10 + digit; digit = (bytes[++at] as number) - ZERO }
      let digits = at - firstDigitAt
      if (digits === 0 || (digits > 1 && bytes[firstDigitAt] === ZERO)) isPlain = false
      const isWhole = digit !== DOT - ZERO && digit !== 0x65 - ZERO && digit !== 0x45 - ZERO
      let exponent = 0
      if (digit === DOT - ZERO) {
        const pointAt = at
        digit = (bytes[++at] as number) - ZERO
        while (digit >= 0 && digit <= 9) { mantissa = mantissa * 10 + digit; digit = (bytes[++at] as number) - ZERO }
        const fraction = at - pointAt - 1
        if (fraction === 0) isPlain = false
        digits += fraction
        exponent = -fraction
      }
      if (digit === 0x65 - ZERO || digit === 0x45 - ZERO) {
        at++
        const sign = bytes[at]
        if (sign === MINUS || sign === 0x2b) at++
        let value = 0
        const exponentAt = at
        digit = (bytes[at] as number) - ZERO
        while (digit >= 0 && digit <= 9) { value = Math.min(9999, value * 10 + digit); digit = (bytes[++at] as number) - ZERO }
        if (at === exponentAt) isPlain = false
        exponent += sign === MINUS ? -value : value
      }
      if (at < length && !isDelimiter(bytes[at] as number)) {
        isPlain = false
        while (at < length && !isDelimiter(bytes[at] as number)) at++
      }
      if (at >= length) { this.#keep(bytes, start); return length }
      const index = this.count
      if (index === target.length && index < this.#capacity) target = this.#grow()
      const isKept = index < target.length
      if (this.#isFloat) {
        let value = NaN
        if (isPlain && exponent >= -22 && exponent <= 22) {
          const scaled = exponent < 0 ? mantissa / (EXACT_POWERS[-exponent] as number) : mantissa * (EXACT_POWERS[exponent] as number)
          value = mantissa <= EXACT_WHOLE ? scaled : this.#isSingle && digits <= 22 ? nearestSingle(scaled) : NaN
          if (isNegative) value = -value
        }
        // Not exact by the short way: too many digits, a large exponent, or one of the words.
        if (Number.isNaN(value)) {
          const text = bytes.toString('latin1', start, at)
          if (NUMBER.test(text)) {
            value = Number(text)
            if (!Number.isFinite(value)) return this.#refuse(start)
          } else if (Object.hasOwn(WORDS, text)) value = WORDS[text] as number
          else return this.#refuse(start)
        }
        if (isKept) (target as Float64Array)[index] = value
      } else {
        if (!isPlain || !isWhole || (isNegative && !this.#isSigned && mantissa !== 0)) return this.#refuse(start)
        if (digits <= 15) { if (isKept) this.#storeSmall(isNegative ? -mantissa : mantissa, index) }
        else if (!this.#storeInteger(bytes.toString('latin1', start, at), index, isKept)) return this.#refuse(start)
      }
      this.count = index + 1
      this.#place = AFTER_VALUE
    }
    return at
  }

  #allocate(length: number): Target {
    const target = targetOf(this.#datatype, length)
    this.#halves = this.#datatype.endsWith('INT64') ? new Uint32Array(target.buffer) : undefined
    return target
  }

  /** So much has come that the rest is believed. */
  #grow(): Target {
    const first = this.bytes
    this.#target = this.#allocate(this.#capacity)
    this.bytes.set(first)
    return this.#target
  }

  /** @returns whether the outermost array ended */
  #close(): boolean {
    this.#place = AFTER_VALUE
    if (--this.depth > 0) return false
    this.state = 'done'
    return true
  }

  /** An integer that a double holds. Those of 64 bits are written as halves: no BigInt each. */
  #storeSmall(value: number, index: number): void {
    if (this.#halves === undefined) { (this.#target as Int32Array)[index] = value; return }
    this.#halves[2 * index] = value
    this.#halves[2 * index + 1] = Math.floor(value / 0x1_0000_0000)
  }

  /** An integer that a double may not hold, cut to the width of its type. @returns false: beyond int64 or uint64 */
  #storeInteger(text: string, index: number, isKept: boolean): boolean {
    if (text.length > 20) return false
    const value = BigInt(text)
    if (this.#isSigned ? value > 0x7fff_ffff_ffff_ffffn || value < -0x8000_0000_0000_0000n : value > 0xffff_ffff_ffff_ffffn) return false
    if (!isKept) return true
    if (this.#halves !== undefined) (this.#target as BigInt64Array)[index] = value
    else (this.#target as Int32Array)[index] = Number(BigInt.asIntN(32, value))
    return true
  }
}

function isDelimiter(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_ARRAY || byte <= 0x20 || byte === 0x7d || byte === OPEN_ARRAY
}

function targetOf(datatype: NumberType, length: number): Target {
  switch (datatype) {
    case 'INT8': return new Int8Array(length)
    case 'INT16': return new Int16Array(length)
    case 'INT32': return new Int32Array(length)
    case 'UINT8': return new Uint8Array(length)
    case 'UINT16': return new Uint16Array(length)
    case 'UINT32': return new Uint32Array(length)
    case 'INT64': return new BigInt64Array(length)
    case 'UINT64': return new BigUint64Array(length)
    case 'FP32': return new Float32Array(length)
    case 'FP64': return new Float64Array(length)
  }
}
