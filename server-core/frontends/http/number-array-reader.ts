/**
 * Reads the text of an array of numbers into typed bytes while it arrives, in pieces cut anywhere: no text is kept but a number that a cut
 * parts. Whatever is no plain array of numbers of its type is left to the readers of whole documents, which know what is wrong with it.
 * Its loop is that of `ArrayReader`, written out: it runs for each number of large tensors.
 */
import { DATA_TYPES } from '../../contract/inference.ts'
import { AFTER_COMMA, AFTER_VALUE, type ElementReader, type Elements, EMPTY, OPENED, type ReaderState } from './element-reader.ts'
import { CLOSE_ARRAY, COMMA, DOT, MINUS, OPEN_ARRAY, ZERO } from './json-scan.ts'
import { NumberStage, type NumberType, targetOf } from './number-stage.ts'
import { EXACT_POWERS, EXACT_WHOLE, NESTING_LIMIT, nearestSingle } from './tensor-from-json.ts'

/** A number in two pieces may be this long; longer ones are refused. Bytes. */
const MAX_PENDING = 4096

/** Memory for all elements is taken once 1/64 of them are here, so that a shape alone costs nothing. */
const ALLOCATE_AFTER_PART = 64
const FIRST_ELEMENTS = 4096

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const WORDS: Readonly<Record<string, number | undefined>> = { NaN, '-NaN': NaN, Inf: Infinity, Infinity, '-Inf': -Infinity, '-Infinity': -Infinity }

export function isNumberType(datatype: string): datatype is NumberType {
  return Object.hasOwn(DATA_TYPES, datatype) && !['BYTES', 'FP16', 'BF16', 'BOOL'].includes(datatype)
}

/** Where the datatype is not known yet, numbers are read as doubles. */
const UNKNOWN = 'FP64'

export class NumberArrayReader implements ElementReader {
  readonly isInString = false
  state: ReaderState = 'more'
  pending: Buffer = EMPTY
  depth = 0
  /** Elements seen; may go beyond those wanted. */
  #count = 0
  #isNested = false
  readonly #datatype: NumberType
  /** Where elements of an unknown datatype go. */
  readonly #stage: NumberStage | undefined
  readonly #wanted: number
  /** Elements that there is memory for in the end. */
  readonly #capacity: number
  #target: ReturnType<typeof targetOf>
  readonly #isFloat: boolean
  readonly #isSingle: boolean
  /** Of 64-bit integers: the same memory in halves of 32 bits, the low one first. */
  #halves: Uint32Array | undefined
  readonly #isSigned: boolean
  #place = OPENED

  /**
   * @param datatype undefined: not known yet
   * @param wanted elements that the shape has; Infinity: not known yet
   * @param capacity elements that the text can have at most: no more memory is taken
   */
  constructor(datatype: NumberType | undefined, wanted: number, capacity: number) {
    this.#datatype = datatype ?? UNKNOWN
    this.#isSingle = datatype === 'FP32'
    this.#isFloat = this.#isSingle || this.#datatype === 'FP64'
    this.#isSigned = this.#datatype.startsWith('INT')
    this.#wanted = wanted
    const most = Math.min(wanted, capacity)
    this.#stage = datatype === undefined ? new NumberStage(most) : undefined
    this.#capacity = datatype === undefined ? 0 : most
    this.#target = this.#allocate(Math.min(this.#capacity, Math.max(FIRST_ELEMENTS, Math.ceil(this.#capacity / ALLOCATE_AFTER_PART))))
  }

  get elements(): Elements {
    const stage = this.#stage
    const target = this.#target
    return {
      kind: this.#count > 0 ? 'numbers' : 'nothing', count: this.#count, isNested: this.#isNested, byteSize: 0,
      firstUnfit: (datatype) => stage?.firstUnfit(datatype) ?? Infinity,
      bytes: (datatype, count) => (stage === undefined ? new Uint8Array(target.buffer, 0, count * target.BYTES_PER_ELEMENT) : stage.bytes(datatype as NumberType, count)),
    }
  }

  get placeholders(): number { return this.#place === OPENED ? 0 : 1 }

  get replacement(): string {
    return '['.repeat(this.depth) + (this.#place === AFTER_VALUE ? '0 ' : this.#place === AFTER_COMMA ? '0,' : '')
  }

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
        if (this.depth > 0) this.#isNested = true
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
      const index = this.#count
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
        else if (this.#stage !== undefined && index < this.#wanted) {
          if (!isPlain || !isWhole) this.#stage.addFraction(value)
          else if (!(mantissa <= EXACT_WHOLE ? this.#stage.addInteger(value) : this.#stage.addLong(bytes.toString('latin1', start, at)))) return this.#refuse(start)
        }
      } else {
        if (!isPlain || !isWhole || (isNegative && !this.#isSigned && mantissa !== 0)) return this.#refuse(start)
        if (digits <= 15) { if (isKept) this.#storeSmall(isNegative ? -mantissa : mantissa, index) }
        else if (!this.#storeInteger(bytes.toString('latin1', start, at), index, isKept)) return this.#refuse(start)
      }
      this.#count = index + 1
      this.#place = AFTER_VALUE
    }
    return at
  }

  #allocate(length: number): ReturnType<typeof targetOf> {
    const target = targetOf(this.#datatype, Buffer.allocUnsafeSlow(length * DATA_TYPES[this.#datatype].byteSize).buffer, length)
    this.#halves = this.#datatype.endsWith('INT64') ? new Uint32Array(target.buffer) : undefined
    return target
  }

  /** So much has come that the rest is believed. */
  #grow(): ReturnType<typeof targetOf> {
    const first = this.#target
    const target = this.#allocate(this.#capacity)
    this.#target = target
    new Uint8Array(target.buffer).set(new Uint8Array(first.buffer))
    return target
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
