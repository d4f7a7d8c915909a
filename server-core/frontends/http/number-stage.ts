/**
 * Numbers whose datatype is not known yet: kept in the narrowest datatype that holds all of them so far, in one piece of memory, and turned there into what they
 * turn out to be. Which datatypes cannot take them, and from which element on, is noted while they come, so that errors are those of a reader that knew the datatype.
 */
import { DATA_TYPES, type DataType } from '../../contract/inference.ts'
import { GrowingBytes } from './growing-bytes.ts'

export type NumberType = Exclude<DataType, 'BYTES' | 'FP16' | 'BF16' | 'BOOL'>

type Target = Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array | BigInt64Array | BigUint64Array

const WIDEST = 8
/** Datatypes of integers and what they hold, the narrow ones first. */
const INTEGERS = [
  ['UINT8', 0, 255], ['INT8', -128, 127], ['UINT16', 0, 65_535], ['INT16', -32_768, 32_767], ['UINT32', 0, 0xffff_ffff], ['INT32', -0x8000_0000, 0x7fff_ffff],
  ['INT64', Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
] as const satisfies readonly (readonly [NumberType, number, number])[]
/** Whole numbers up to here are exact as FP32. */
const EXACT_SINGLE = 2 ** 24
const INT64_MAX = 0x7fff_ffff_ffff_ffffn
const INT64_MIN = -0x8000_0000_0000_0000n
const UINT64_MAX = 0xffff_ffff_ffff_ffffn

/** A typed array over the beginning of a buffer. @param length elements */
export function targetOf(datatype: NumberType, buffer: ArrayBufferLike, length: number): Target {
  switch (datatype) {
    case 'INT8': return new Int8Array(buffer, 0, length)
    case 'INT16': return new Int16Array(buffer, 0, length)
    case 'INT32': return new Int32Array(buffer, 0, length)
    case 'INT64': return new BigInt64Array(buffer, 0, length)
    case 'UINT8': return new Uint8Array(buffer, 0, length)
    case 'UINT16': return new Uint16Array(buffer, 0, length)
    case 'UINT32': return new Uint32Array(buffer, 0, length)
    case 'UINT64': return new BigUint64Array(buffer, 0, length)
    case 'FP32': return new Float32Array(buffer, 0, length)
    case 'FP64': return new Float64Array(buffer, 0, length)
  }
}

export class NumberStage {
  readonly #memory: GrowingBytes
  #format: NumberType = 'UINT8'
  #view: Target
  /** What an integer may be to fit the format; where the format is one of floating point numbers, none. */
  #lowest = 0
  #highest = 255
  #count = 0
  /** Indexes of the first element that is no integer, no unsigned one, no signed one. */
  #firstFraction = Infinity
  #firstNegative = Infinity
  #firstUnsigned = Infinity
  /** There are integers that a double may not hold. */
  #hasLong = false

  /** @param most elements that there can be */
  constructor(most: number) {
    this.#memory = new GrowingBytes(most * WIDEST)
    this.#view = this.#viewOf('UINT8')
  }

  /** An integer that a double holds. @returns false: it and those before it have no format together (see `addLong`) */
  addInteger(value: number): boolean {
    if (value < 0 && this.#firstNegative === Infinity) this.#firstNegative = this.#count
    if (value < this.#lowest || value > this.#highest || (value === 0 && 1 / value < 0)) return this.#addAnyInteger(value)
    this.#store(value)
    return true
  }

  /** A number with a fraction or an exponent, or none at all (NaN, infinities). */
  addFraction(value: number): void {
    if (this.#firstFraction === Infinity) this.#firstFraction = this.#count
    this.#addFloat(value)
  }

  /** An integer that a double may not hold. @returns false: there was a `-0`, which only a double holds */
  addLong(text: string): boolean {
    const value = BigInt(text)
    if (value > UINT64_MAX || value < INT64_MIN) {
      this.addFraction(Number(value))
      return true
    }
    if (value < 0n && this.#firstNegative === Infinity) this.#firstNegative = this.#count
    if (value > INT64_MAX && this.#firstUnsigned === Infinity) this.#firstUnsigned = this.#count
    if (this.#isFloat || !this.#mayBeIntegers) {
      if (this.#mayBeIntegers) return false
      this.#addFloat(Number(value))
      return true
    }
    this.#hasLong = true
    // The same bits in both.
    if (DATA_TYPES[this.#format].byteSize < WIDEST) this.#widen('INT64')
    if (value > INT64_MAX) this.#lowest = 0
    this.#makeRoom();
    (this.#view as BigInt64Array)[this.#count++] = value
    return true
  }

  /** @see Elements.firstUnfit */
  firstUnfit(datatype: DataType): number {
    if (datatype === 'FP32' || datatype === 'FP64') return Infinity
    return Math.min(this.#firstFraction, datatype.startsWith('U') ? this.#firstNegative : this.#firstUnsigned)
  }

  /** The first `count` elements as raw bytes, cut to the width of the datatype, which has to take them. Once. */
  bytes(datatype: NumberType, count: number): Uint8Array {
    this.#count = count
    const { byteSize } = DATA_TYPES[datatype]
    this.#memory.reserve(count * byteSize)
    convert(this.#source, this.#viewOf(datatype), count)
    return this.#memory.bytes.subarray(0, count * byteSize)
  }

  get #isFloat(): boolean { return this.#format === 'FP32' || this.#format === 'FP64' }

  /** The elements so far. Those of 64 bits are unsigned where one of them is no signed integer. */
  get #source(): Target { return this.#viewOf(this.#format === 'INT64' && this.#firstUnsigned < this.#count ? 'UINT64' : this.#format) }

  /** Is there a datatype of integers that takes all so far? */
  get #mayBeIntegers(): boolean { return this.#firstFraction === Infinity && (this.#firstUnsigned === Infinity || this.#firstNegative === Infinity) }

  #addAnyInteger(value: number): boolean {
    if (this.#isFloat || Object.is(value, -0) || !this.#mayBeIntegers) {
      if (this.#hasLong && this.#mayBeIntegers) return false
      this.#addFloat(value)
      return true
    }
    let lowest = value
    let highest = value
    for (let i = 0; i < this.#count; i++) {
      const before = Number(this.#view[i])
      if (before < lowest) lowest = before
      else if (before > highest) highest = before
    }
    const wider = INTEGERS.find(([, low, high]) => lowest >= low && highest <= high)
    if (wider !== undefined) this.#widen(wider[0])
    this.#store(value)
    return true
  }

  #addFloat(value: number): void {
    const isSingle = Math.fround(value) === value || Number.isNaN(value)
    if (this.#format !== 'FP64' && !(this.#format === 'FP32' && isSingle)) this.#widen(isSingle && this.#isSingle() ? 'FP32' : 'FP64')
    this.#makeRoom()
    this.#view[this.#count++] = value
  }

  /** Are all elements exact as FP32? */
  #isSingle(): boolean {
    const source = this.#source
    for (let i = 0; i < this.#count; i++) {
      const value = source[i] as number | bigint
      if (value > EXACT_SINGLE || value < -EXACT_SINGLE) return false
    }
    return true
  }

  #store(value: number): void {
    const index = this.#count
    this.#makeRoom()
    const view = this.#view
    if (view instanceof BigInt64Array) view[index] = BigInt(value)
    else (view as Float64Array)[index] = value
    this.#count = index + 1
  }

  #makeRoom(): void {
    if (this.#count < this.#view.length) return
    this.#memory.reserve((this.#count + 1) * DATA_TYPES[this.#format].byteSize)
    this.#view = this.#viewOf(this.#format)
  }

  /** Goes over to another format, one that holds every element so far. */
  #widen(format: NumberType): void {
    this.#memory.reserve(this.#count * DATA_TYPES[format].byteSize)
    const before = this.#source
    this.#format = format
    this.#view = this.#viewOf(format)
    convert(before, this.#view, this.#count)
    const range = INTEGERS.find(([name]) => name === format)
    this.#lowest = range?.[1] ?? Infinity
    this.#highest = range?.[2] ?? -Infinity
  }

  #viewOf(format: NumberType): Target {
    const { buffer } = this.#memory.bytes
    return targetOf(format, buffer, Math.floor(buffer.byteLength / DATA_TYPES[format].byteSize))
  }
}

/** Elements of one type as those of another that lies in the same memory: from the end where they grow, so that none is written over before it was read. */
function convert(source: Target, target: Target, count: number): void {
  const isLong = isOfBigInts(source)
  if (isOfBigInts(target)) {
    if (isLong) return
    const halves = new Uint32Array(target.buffer)
    for (let i = count - 1; i >= 0; i--) {
      const value = source[i] as number
      halves[2 * i] = value
      halves[2 * i + 1] = Math.floor(value / 0x1_0000_0000)
    }
  } else if (isLong && !(target instanceof Float32Array || target instanceof Float64Array)) {
    const halves = new Uint32Array(source.buffer)
    for (let i = 0; i < count; i++) target[i] = halves[2 * i] as number
  } else if (isLong) for (let i = 0; i < count; i++) target[i] = Number(source[i])
  else if (target.BYTES_PER_ELEMENT > source.BYTES_PER_ELEMENT) for (let i = count - 1; i >= 0; i--) target[i] = source[i] as number
  else for (let i = 0; i < count; i++) target[i] = source[i] as number
}

function isOfBigInts(array: Target): array is BigInt64Array | BigUint64Array {
  return array instanceof BigInt64Array || array instanceof BigUint64Array
}
