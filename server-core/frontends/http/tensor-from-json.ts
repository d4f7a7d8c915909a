/** Turns the `data` array of a JSON input into Triton's raw bytes, straight from the text: no JavaScript array in between. */
import { DATA_TYPES, type DataType } from '../../contract/inference.ts'
import { ServerError } from '../../server-error.ts'
import type { StreamedData } from './streamed-json.ts'
import { type JsonDocument, numberOf } from './json-document.ts'
import { CLOSE_ARRAY, COMMA, DOT, MINUS, NINE, OPEN_ARRAY, QUOTE, scalarEnd, skipSpace, stringEnd, ZERO } from './json-scan.ts'

/** `data` may nest 99 levels deep, the outer array counted. */
export const NESTING_LIMIT = 100

/** Powers of ten that a double holds exactly. */
export const EXACT_POWERS = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`))
/** 2^53: whole numbers up to here are exact. */
export const EXACT_WHOLE = Number.MAX_SAFE_INTEGER

/** Writes the element whose text starts at an offset; knows where its array is. */
type ElementWriter = (document: JsonDocument, at: number, index: number) => void

/**
 * Reads the flattened elements of the array at `at`, whatever its nesting. Not for BYTES, FP16, BF16.
 * @throws ServerError INTERNAL for a wrong count or element kind, INVALID_ARG for nesting of 100 levels or more.
 */
export function numbersFromJson(document: JsonDocument, at: number, datatype: DataType, elementCount: number): Uint8Array {
  const target = new ArrayBuffer(elementCount * DATA_TYPES[datatype].byteSize)
  const write = elementWriter(datatype, target)
  const bytes = document.bytes
  let depth = 0
  let index = 0
  let offset = at
  for (;;) {
    offset = skipSpace(bytes, offset)
    const byte = bytes[offset]
    if (byte === OPEN_ARRAY) {
      if (++depth >= NESTING_LIMIT) throw new ServerError('INVALID_ARG', `Unable to parse 'data': ${nestingText()}`)
      offset++
    } else if (byte === CLOSE_ARRAY) {
      offset++
      if (--depth === 0) break
    } else if (byte === COMMA) offset++
    else {
      if (index >= elementCount) throw dataError("Shape does not match true shape of 'data' field")
      write(document, offset, index++)
      offset = document.end(offset)
    }
  }
  if (index !== elementCount) throw tooFewElements()
  return new Uint8Array(target)
}

/** The tensor of an array whose elements were read as they came, at least in part. @throws ServerError as `numbersFromJson` */
export function numbersFromStream(document: JsonDocument, at: number, datatype: DataType, elementCount: number, streamed: StreamedData): Uint8Array {
  const { elements: { kind, count }, isPartial, placeholders } = streamed
  const fits = kind === 'nothing' || kind === (datatype === 'BOOL' ? 'booleans' : 'numbers')
  if (!fits || streamed.elements.firstUnfit(datatype) < Math.min(count, elementCount)) throw wrongElement(datatype)
  if (count > elementCount) throw dataError("Shape does not match true shape of 'data' field")
  if (!isPartial) {
    if (count < elementCount) throw tooFewElements()
    return readBytes(streamed, datatype)
  }
  const { byteSize } = DATA_TYPES[datatype]
  const rest = numbersFromJson(document, at, datatype, elementCount - count + placeholders)
  return Buffer.concat([readBytes(streamed, datatype), rest.subarray(placeholders * byteSize)])
}

function readBytes({ elements }: StreamedData, datatype: DataType): Uint8Array {
  return elements.kind === 'nothing' ? new Uint8Array(0) : elements.bytes(datatype, elements.count)
}

/** As `bytesFromJson`, of an array or string that was read as it came, at least in part. */
export function bytesFromStream(document: JsonDocument, at: number, limit: number, tooLarge: (byteSize: number) => Error, streamed: StreamedData): Uint8Array {
  const { elements, isPartial, placeholders } = streamed
  if (elements.kind === 'numbers' || elements.kind === 'booleans') throw bytesError()
  if (!isPartial) {
    if (elements.byteSize > limit) throw tooLarge(elements.byteSize)
    return readBytes(streamed, 'BYTES')
  }
  const before = elements.byteSize - placeholders * 4
  const rest = bytesFromJson(document, at, limit - before, (byteSize) => tooLarge(before + byteSize))
  return Buffer.concat([readBytes(streamed, 'BYTES'), rest.subarray(placeholders * 4)])
}

/**
 * The tensor of a scalar, or of an array without arrays in it, whose elements were counted.
 * @throws ServerError as `numbersFromJson`
 */
export function numbersFromElements(document: JsonDocument, at: number, datatype: DataType, elementCount: number): Uint8Array {
  if (document.kind(at) === 'array') return numbersFromJson(document, at, datatype, elementCount)
  const target = new ArrayBuffer(DATA_TYPES[datatype].byteSize)
  elementWriter(datatype, target)(document, at, 0)
  return new Uint8Array(target)
}

/** As `bytesFromJson`, for a scalar too. */
export function bytesFromElements(document: JsonDocument, at: number, limit: number, tooLarge: (byteSize: number) => Error): Uint8Array {
  if (document.kind(at) === 'array') return bytesFromJson(document, at, limit, tooLarge)
  if (document.kind(at) !== 'string') throw bytesError()
  const target = Buffer.allocUnsafe(4 + document.end(at) - at)
  const end = document.copyString(at, target, 4)
  if (end > limit) throw tooLarge(end)
  target.writeUInt32LE(end - 4, 0)
  return target.subarray(0, end)
}

/**
 * Reads a `data` array of strings into the raw BYTES form. The element count is checked by the core.
 * @param limit bytes; a tensor that would be larger makes `tooLarge` throw
 */
export function bytesFromJson(document: JsonDocument, at: number, limit: number, tooLarge: (byteSize: number) => Error): Uint8Array {
  const bytes = document.bytes
  // Escapes only shrink, so text length + 4 per element is enough: measured first, allocated once.
  let size = 0
  walkStrings(document, at, (start, end) => { size += 4 + (end - start - 2) })
  if (size > limit) {
    // The bound counts escapes at full length; only what is really too large may be refused.
    const exact = exactByteSize(document, at)
    if (exact > limit) throw tooLarge(exact)
  }
  const target = Buffer.allocUnsafe(size)
  let to = 0
  let backslashAt = nextBackslash(bytes, at)
  walkStrings(document, at, (start, end) => {
    const from = to + 4
    if (backslashAt < start) backslashAt = nextBackslash(bytes, start)
    const stop = backslashAt < end ? document.copyString(start, target, from) : from + bytes.copy(target, from, start + 1, end - 1)
    target.writeUInt32LE(stop - from, to)
    to = stop
  })
  return target.subarray(0, to)
}

function nextBackslash(bytes: Buffer, from: number): number {
  const found = bytes.indexOf(0x5c, from)
  return found < 0 ? Infinity : found
}

function exactByteSize(document: JsonDocument, at: number): number {
  let size = 0
  walkStrings(document, at, (start, end) => {
    const scratch = Buffer.allocUnsafe(end - start)
    size += 4 + document.copyString(start, scratch, 0)
  })
  return size
}

function walkStrings(document: JsonDocument, at: number, visit: (start: number, end: number) => void): void {
  const bytes = document.bytes
  let depth = 0
  let offset = at
  for (;;) {
    offset = skipSpace(bytes, offset)
    const byte = bytes[offset]
    if (byte === OPEN_ARRAY) {
      if (++depth >= NESTING_LIMIT) throw new ServerError('INVALID_ARG', nestingText())
      offset++
    } else if (byte === CLOSE_ARRAY) {
      offset++
      if (--depth === 0) return
    } else if (byte === COMMA) offset++
    else if (byte === QUOTE) {
      const end = stringEnd(bytes, offset)
      visit(offset, end)
      offset = end
    } else throw bytesError()
  }
}

function elementWriter(datatype: DataType, target: ArrayBuffer): ElementWriter {
  switch (datatype) {
    case 'BOOL': return booleanWriter(new Uint8Array(target))
    case 'INT8': return narrowWriter(new Int8Array(target), true)
    case 'INT16': return narrowWriter(new Int16Array(target), true)
    case 'INT32': return narrowWriter(new Int32Array(target), true)
    case 'UINT8': return narrowWriter(new Uint8Array(target), false)
    case 'UINT16': return narrowWriter(new Uint16Array(target), false)
    case 'UINT32': return narrowWriter(new Uint32Array(target), false)
    case 'INT64': return wideWriter(target, true)
    case 'UINT64': return wideWriter(target, false)
    case 'FP32': return singleWriter(new Float32Array(target))
    case 'FP64': return doubleWriter(new Float64Array(target))
    case 'FP16': case 'BF16': case 'BYTES':
      throw new ServerError('INTERNAL', `${datatype} has no JSON number form`)
  }
}

function booleanWriter(target: Uint8Array): ElementWriter {
  return (document, at, index) => {
    const first = document.bytes[at]
    if (first !== 0x74 && first !== 0x66) throw wrongElement('BOOL')
    target[index] = first === 0x74 ? 1 : 0
  }
}

type NarrowArray = Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array

/** Integers of up to 32 bits: what does not fit is cut to the width, as the array's own conversion does. */
function narrowWriter(target: NarrowArray, isSigned: boolean): ElementWriter {
  return (document, at, index) => {
    const value = smallInteger(document.bytes, at, isSigned)
    target[index] = Number.isNaN(value) ? Number(BigInt.asIntN(32, exactInteger(document, at, isSigned))) : value
  }
}

function wideWriter(target: ArrayBuffer, isSigned: boolean): ElementWriter {
  const halves = new Uint32Array(target)
  const wholes = new BigUint64Array(target)
  return (document, at, index) => {
    const value = smallInteger(document.bytes, at, isSigned)
    if (Number.isNaN(value)) { wholes[index] = BigInt.asUintN(64, exactInteger(document, at, isSigned)); return }
    halves[2 * index] = value
    halves[2 * index + 1] = Math.floor(value / 0x1_0000_0000)
  }
}

function singleWriter(target: Float32Array): ElementWriter {
  return (document, at, index) => { target[index] = decimal(document.bytes, at, true) }
}

function doubleWriter(target: Float64Array): ElementWriter {
  return (document, at, index) => { target[index] = decimal(document.bytes, at, false) }
}

/** The integer at `at` when it has at most 15 digits; NaN: longer, or no integer. */
function smallInteger(bytes: Uint8Array, at: number, isSigned: boolean): number {
  let offset = at
  const isNegative = bytes[offset] === MINUS
  if (isNegative) offset++
  const start = offset
  let value = 0
  for (;;) {
    const byte = bytes[offset] as number
    if (byte < ZERO || byte > NINE) {
      const isWhole = offset > start && offset - start <= 15 && byte !== DOT && byte !== 0x65 && byte !== 0x45
      if (!isWhole || (isNegative && !isSigned && value !== 0)) return Number.NaN
      return isNegative ? -value : value
    }
    value = value * 10 + (byte - ZERO)
    offset++
  }
}

function exactInteger(document: JsonDocument, at: number, isSigned: boolean): bigint {
  const value = document.kind(at) === 'integer' ? document.integer(at) : undefined
  if (value === undefined || (isSigned ? value > 0x7fff_ffff_ffff_ffffn : value < 0n)) throw wrongElement(isSigned ? 'INT64' : 'UINT64')
  return value
}

/**
 * The number at `at`, correctly rounded. Short literals are computed directly (both parts exact, one rounding). Where the result goes
 * to FP32, longer ones are too, as long as the error bound cannot change the rounding; the rest goes through the engine's parser.
 */
function decimal(bytes: Buffer, at: number, toSingle: boolean): number {
  let offset = at
  const isNegative = bytes[offset] === MINUS
  if (isNegative) offset++
  let mantissa = 0
  let digits = 0
  let fraction = 0
  let byte = bytes[offset] as number
  while (byte >= ZERO && byte <= NINE) { mantissa = mantissa * 10 + (byte - ZERO); digits++; byte = bytes[++offset] as number }
  if (digits === 0) return wordNumber(bytes, at)
  if (byte === DOT) {
    byte = bytes[++offset] as number
    while (byte >= ZERO && byte <= NINE) { mantissa = mantissa * 10 + (byte - ZERO); digits++; fraction++; byte = bytes[++offset] as number }
  }
  let exponent = 0
  if (byte === 0x65 || byte === 0x45) {
    byte = bytes[++offset] as number
    const isSmall = byte === MINUS
    if (isSmall || byte === 0x2b) byte = bytes[++offset] as number
    while (byte >= ZERO && byte <= NINE) { exponent = Math.min(9999, exponent * 10 + (byte - ZERO)); byte = bytes[++offset] as number }
    if (isSmall) exponent = -exponent
  }
  exponent -= fraction
  if (exponent >= -22 && exponent <= 22) {
    const power = EXACT_POWERS[Math.abs(exponent)] as number
    const value = exponent < 0 ? mantissa / power : mantissa * power
    if (mantissa <= EXACT_WHOLE) return isNegative ? -value : value
    if (toSingle && digits <= 22) {
      const single = nearestSingle(value)
      if (!Number.isNaN(single)) return isNegative ? -single : single
    }
  }
  return Number(bytes.toString('latin1', at, offset))
}

/**
 * The FP32 value nearest to a number that up to 22 digits were computed to: at most fourteen roundings of the mantissa and one of the
 * scaling, each half a unit, are below 16 units. NaN where these could change the result.
 */
export function nearestSingle(value: number): number {
  const single = Math.fround(value * (1 - 16 * Number.EPSILON))
  return single === Math.fround(value * (1 + 16 * Number.EPSILON)) ? single : Number.NaN
}

function wordNumber(bytes: Buffer, at: number): number {
  const first = bytes[at]
  const mayBeWord = first === 0x4e || first === 0x49 || first === MINUS
  const literal = bytes.toString('latin1', at, Math.min(scalarEnd(bytes, at), at + 16))
  if (!mayBeWord || (literal !== 'NaN' && literal !== '-NaN' && !literal.endsWith('Inf') && !literal.endsWith('Infinity'))) {
    throw wrongElement('FP64')
  }
  return literal === '-NaN' ? Number.NaN : numberOf(literal)
}

function bytesError(): ServerError {
  return new ServerError('INTERNAL', 'Unable to parse JSON bytes array: attempt to access JSON non-string as string')
}

function tooFewElements(): ServerError {
  return new ServerError('INTERNAL', "Failed to parse 'data' field: shape does not match true shape")
}

function nestingText(): string {
  return `JSON nesting depth exceeds maximum allowed limit (${NESTING_LIMIT})`
}

/** An element that a tensor of the type cannot take. */
function wrongElement(datatype: DataType): ServerError {
  const wanted = datatype === 'BOOL' ? 'boolean' : datatype.startsWith('INT') ? 'signed-integer' : datatype.startsWith('UINT') ? 'unsigned-integer' : undefined
  return dataError(wanted === undefined ? 'attempt to access JSON non-number as double' : `attempt to access JSON non-${wanted} as ${wanted}`)
}

function dataError(text: string): ServerError {
  return new ServerError('INTERNAL', `Unable to parse 'data': ${text}`)
}
