/**
 * Tensor bytes to values and back, exactly: 64-bit integers are bigint, FP16 and BF16 are decoded and rounded here (nearest, ties to even),
 * BYTES elements are their raw bytes. Layout: little-endian, row-major; BYTES: 4-byte little-endian length before each element.
 */
import { DATA_TYPES, type DataType } from '../contract/inference.ts'

/** One element. BYTES: the element's own bytes. */
export type TensorValue = number | bigint | boolean | Uint8Array

/** Elements of a shape; 1 for rank 0. NaN when a dim is variable (negative) or not a whole number. */
export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, dim) => (Number.isInteger(dim) && dim >= 0 ? product * dim : Number.NaN), 1)
}

/** Bytes that a tensor of this shape must have; null for BYTES, whose elements vary. */
export function tensorByteSize(datatype: DataType, shape: readonly number[]): number | null {
  const size = DATA_TYPES[datatype].byteSize
  return size === 0 ? null : size * elementCount(shape)
}

/** Elements that the bytes hold. @throws Error when the bytes are not whole elements */
export function countElements(datatype: DataType, data: Uint8Array): number {
  const size = DATA_TYPES[datatype].byteSize
  if (size > 0) {
    if (data.byteLength % size !== 0) throw new Error(`${data.byteLength} bytes are not whole ${datatype} elements of ${size} bytes`)
    return data.byteLength / size
  }
  let count = 0
  for (let offset = 0; offset < data.byteLength; count++) offset = bytesElementEnd(data, offset)
  return count
}

/** Reads elements one by one; `read(index)` of fixed-size types is O(1). BYTES are indexed once. */
export function tensorReader(datatype: DataType, data: Uint8Array): { readonly count: number; read(index: number): TensorValue } {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const size = DATA_TYPES[datatype].byteSize
  const count = countElements(datatype, data)
  if (datatype === 'BYTES') {
    const starts: number[] = []
    for (let offset = 0; offset < data.byteLength; offset = bytesElementEnd(data, offset)) starts.push(offset)
    return { count, read: (index) => data.subarray((starts[index] ?? 0) + 4, bytesElementEnd(data, starts[index] ?? 0)) }
  }
  const read = READERS[datatype]
  return { count, read: (index) => read(view, index * size) }
}

/** Elements `start` to `start + count` (clamped). */
export function decodeElements(datatype: DataType, data: Uint8Array, start = 0, count = Number.MAX_SAFE_INTEGER): TensorValue[] {
  const reader = tensorReader(datatype, data)
  const values: TensorValue[] = []
  for (let index = start; index < Math.min(reader.count, start + count); index++) values.push(reader.read(index))
  return values
}

/**
 * Values as tensor bytes.
 * @throws RangeError when a value does not fit the type: out of range, a fraction for an integer type, a number for BOOL other than 0 and 1
 */
export function encodeElements(datatype: DataType, values: readonly TensorValue[]): Uint8Array<ArrayBuffer> {
  if (datatype === 'BYTES') return encodeBytesElements(values)
  const size = DATA_TYPES[datatype].byteSize
  const data = new Uint8Array(values.length * size)
  const view = new DataView(data.buffer)
  values.forEach((value, index) => { writeElement(view, index * size, datatype, value) })
  return data
}

function encodeBytesElements(values: readonly TensorValue[]): Uint8Array<ArrayBuffer> {
  const elements = values.map((value) => {
    if (!(value instanceof Uint8Array)) throw new RangeError('a BYTES element is text or bytes')
    return value
  })
  const data = new Uint8Array(elements.reduce((sum, element) => sum + 4 + element.byteLength, 0))
  const view = new DataView(data.buffer)
  let offset = 0
  for (const element of elements) {
    view.setUint32(offset, element.byteLength, true)
    data.set(element, offset + 4)
    offset += 4 + element.byteLength
  }
  return data
}

function bytesElementEnd(data: Uint8Array, offset: number): number {
  if (offset + 4 > data.byteLength) throw new Error(`BYTES tensor ends inside the length field at byte ${offset}`)
  const length = new DataView(data.buffer, data.byteOffset + offset, 4).getUint32(0, true)
  const end = offset + 4 + length
  if (end > data.byteLength) throw new Error(`BYTES element at byte ${offset} claims ${length} bytes, ${data.byteLength - offset - 4} are left`)
  return end
}

const READERS: Readonly<Record<Exclude<DataType, 'BYTES'>, (view: DataView, offset: number) => TensorValue>> = {
  BOOL: (view, offset) => view.getUint8(offset) !== 0,
  UINT8: (view, offset) => view.getUint8(offset),
  UINT16: (view, offset) => view.getUint16(offset, true),
  UINT32: (view, offset) => view.getUint32(offset, true),
  UINT64: (view, offset) => view.getBigUint64(offset, true),
  INT8: (view, offset) => view.getInt8(offset),
  INT16: (view, offset) => view.getInt16(offset, true),
  INT32: (view, offset) => view.getInt32(offset, true),
  INT64: (view, offset) => view.getBigInt64(offset, true),
  FP16: (view, offset) => halfToNumber(view.getUint16(offset, true)),
  FP32: (view, offset) => view.getFloat32(offset, true),
  FP64: (view, offset) => view.getFloat64(offset, true),
  BF16: (view, offset) => bfloatToNumber(view.getUint16(offset, true)),
}

/** Inclusive ranges of the integer types. */
export const INTEGER_RANGES: Readonly<Partial<Record<DataType, readonly [bigint, bigint]>>> = {
  UINT8: [0n, 0xffn], UINT16: [0n, 0xffffn], UINT32: [0n, 0xffffffffn], UINT64: [0n, 2n ** 64n - 1n],
  INT8: [-0x80n, 0x7fn], INT16: [-0x8000n, 0x7fffn], INT32: [-(2n ** 31n), 2n ** 31n - 1n], INT64: [-(2n ** 63n), 2n ** 63n - 1n],
}

/** Writes one element. @throws RangeError as `encodeElements` */
export function writeElement(view: DataView, offset: number, datatype: Exclude<DataType, 'BYTES'>, value: TensorValue): void {
  if (value instanceof Uint8Array) throw new RangeError(`text does not fit ${datatype}`)
  if (datatype === 'BOOL') {
    if (value !== true && value !== false && value !== 0 && value !== 1 && value !== 0n && value !== 1n) throw new RangeError(`${value} does not fit BOOL: expected true, false, 0 or 1`)
    view.setUint8(offset, value ? 1 : 0)
    return
  }
  if (typeof value === 'boolean') throw new RangeError(`${value} does not fit ${datatype}: expected a number`)
  const range = INTEGER_RANGES[datatype]
  if (range) {
    if (typeof value === 'number' && !Number.isInteger(value)) throw new RangeError(`${value} does not fit ${datatype}: expected a whole number`)
    const integer = BigInt(value)
    if (integer < range[0] || integer > range[1]) throw new RangeError(`${value} does not fit ${datatype}: ${range[0]} to ${range[1]}`)
    writeInteger(view, offset, datatype, integer)
    return
  }
  writeFloat(view, offset, datatype, Number(value))
}

function writeInteger(view: DataView, offset: number, datatype: DataType, value: bigint): void {
  switch (DATA_TYPES[datatype].byteSize) {
    case 1: view.setUint8(offset, Number(BigInt.asUintN(8, value))); break
    case 2: view.setUint16(offset, Number(BigInt.asUintN(16, value)), true); break
    case 4: view.setUint32(offset, Number(BigInt.asUintN(32, value)), true); break
    default: view.setBigUint64(offset, BigInt.asUintN(64, value), true)
  }
}

function writeFloat(view: DataView, offset: number, datatype: DataType, value: number): void {
  if (datatype === 'FP16') view.setUint16(offset, numberToHalf(value), true)
  else if (datatype === 'BF16') view.setUint16(offset, numberToBfloat(value), true)
  else if (datatype === 'FP32') view.setFloat32(offset, value, true)
  else view.setFloat64(offset, value, true)
}

/** IEEE-754 binary16 bits to the number they mean. */
export function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : Number.NaN
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

/** Nearest binary16, ties to even; beyond 65504 by half a step or more: infinity. */
export function numberToHalf(value: number): number {
  if (Number.isNaN(value)) return 0x7e00
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0
  const magnitude = Math.abs(value)
  if (magnitude >= 65520) return sign | 0x7c00
  if (magnitude < 2 ** -14) return sign | roundHalfToEven(magnitude * 2 ** 24)
  const exponent = Math.floor(Math.log2(magnitude))
  // log2 can be off by one next to a power of two.
  const exact = magnitude < 2 ** exponent ? exponent - 1 : magnitude >= 2 ** (exponent + 1) ? exponent + 1 : exponent
  // A fraction that rounds up to 1024 carries into the exponent by plain addition.
  return sign | (((exact + 15) << 10) + roundHalfToEven((magnitude / 2 ** exact - 1) * 1024))
}

function roundHalfToEven(value: number): number {
  const floor = Math.floor(value)
  const rest = value - floor
  if (rest > 0.5 || (rest === 0.5 && floor % 2 === 1)) return floor + 1
  return floor
}

const scratch = new DataView(new ArrayBuffer(4))

/** bfloat16 bits (the upper half of an FP32) to the number they mean. */
export function bfloatToNumber(bits: number): number {
  scratch.setUint32(0, bits * 0x10000)
  return scratch.getFloat32(0)
}

/** Nearest bfloat16 of the value's FP32, ties to even. */
export function numberToBfloat(value: number): number {
  if (Number.isNaN(value)) return 0x7fc0
  scratch.setFloat32(0, value)
  const bits = scratch.getUint32(0)
  const rounded = bits + 0x7fff + ((bits >>> 16) & 1)
  return (rounded >>> 16) & 0xffff
}
