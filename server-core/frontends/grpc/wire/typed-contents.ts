/** Typed tensor contents (an `InferTensorContents` message) turned into Triton's raw bytes (protocol 9.2), without a boxed value in between. */
import { DATA_TYPES, type DataType } from '../../../contract/inference.ts'
import { ServerError } from '../../../server-error.ts'
import { ProtobufReader, WIRE_BYTES, WIRE_FIXED32, WIRE_FIXED64, WIRE_VARINT } from './protobuf-reader.ts'

interface ContentsField {
  /** What its data is, as the error text names it. */
  readonly datatype: DataType
  /** Wire type of one element. */
  readonly wireType: number
}

/** By field number of InferTensorContents. */
const FIELDS: readonly (ContentsField | undefined)[] = [
  undefined,
  { datatype: 'BOOL', wireType: WIRE_VARINT }, { datatype: 'INT32', wireType: WIRE_VARINT }, { datatype: 'INT64', wireType: WIRE_VARINT },
  { datatype: 'UINT32', wireType: WIRE_VARINT }, { datatype: 'UINT64', wireType: WIRE_VARINT }, { datatype: 'FP32', wireType: WIRE_FIXED32 },
  { datatype: 'FP64', wireType: WIRE_FIXED64 }, { datatype: 'BYTES', wireType: WIRE_BYTES },
]

/** The number of the field each datatype must use; FP16 and BF16 have none. */
const FIELD_OF: Readonly<Record<DataType, number | undefined>> = {
  BOOL: 1, INT8: 2, INT16: 2, INT32: 2, INT64: 3, UINT8: 4, UINT16: 4, UINT32: 4, UINT64: 5, FP32: 6, FP64: 7, BYTES: 8, FP16: undefined, BF16: undefined,
}

/** Elements of one field in the order they came: packed together, or one by one. */
interface Elements { readonly parts: Buffer[]; count: number }

/**
 * @param contents the message as it came
 * @returns where it can be (one packed run of FP32 or FP64) a view of `contents`
 * @throws ServerError INVALID_ARG when the wrong field, or more than one, is filled; ProtobufError. Nothing filled is an empty tensor.
 */
export function rawFromContents(contents: Buffer, datatype: DataType, inputName: string, modelName: string): Uint8Array {
  const filled = readFields(contents)
  const [first, second] = filled.keys()
  if (first === undefined) return new Uint8Array(0)
  const where = `unexpected explicit tensor data for input tensor '${inputName}' for model '${modelName}'`
  if (second !== undefined) throw new ServerError('INVALID_ARG', `${where}, binary data was already supplied.`)
  const field = FIELDS[first] as ContentsField
  if (FIELD_OF[datatype] !== first) throw new ServerError('INVALID_ARG', `${where} of type '${field.datatype}', expected datatype '${datatype}'`)
  const { parts, count } = filled.get(first) as Elements
  if (field.wireType === WIRE_BYTES) return rawStrings(parts)
  if (field.wireType !== WIRE_VARINT) return parts.length === 1 ? parts[0] as Buffer : Buffer.concat(parts)
  return rawIntegers(parts, count, datatype)
}

/** The fields with at least one element, by number. */
function readFields(contents: Buffer): Map<number, Elements> {
  const filled = new Map<number, Elements>()
  const reader = new ProtobufReader(contents)
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    const number = tag >>> 3
    const wireType = tag & 7
    const field = FIELDS[number]
    if (field === undefined || (wireType !== field.wireType && wireType !== WIRE_BYTES)) {
      reader.skip(tag)
      continue
    }
    const from = reader.at
    let part: Buffer
    if (wireType === WIRE_BYTES) part = reader.bytes()
    else {
      reader.skip(tag)
      part = contents.subarray(from, reader.at)
    }
    const count = field.wireType === WIRE_BYTES ? 1 : elementCount(part, field.wireType)
    if (count === 0) continue
    const elements = filled.get(number)
    if (elements === undefined) filled.set(number, { parts: [part], count })
    else {
      elements.parts.push(part)
      elements.count += count
    }
  }
  return filled
}

/** How many elements a packed run has: numbers of varying length end with a byte below 0x80. */
function elementCount(part: Buffer, wireType: number): number {
  if (wireType === WIRE_FIXED32) return Math.floor(part.length / 4)
  if (wireType === WIRE_FIXED64) return Math.floor(part.length / 8)
  let count = 0
  for (const byte of part) if (byte < 0x80) count++
  // A run without an end is read, and refused, like one with a last element.
  return count === 0 && part.length > 0 ? 1 : count
}

function rawIntegers(parts: readonly Buffer[], count: number, datatype: DataType): Uint8Array {
  const { byteSize } = DATA_TYPES[datatype]
  const data = Buffer.allocUnsafeSlow(count * byteSize)
  let at = 0
  for (const part of parts) {
    const reader = new ProtobufReader(part)
    while (reader.at < reader.end) {
      // What does not fit keeps its low bytes, as the protocol says.
      const low = reader.varint()
      if (byteSize === 8) {
        data.writeUInt32LE(low, at)
        data.writeUInt32LE(reader.high, at + 4)
      } else if (byteSize === 4) data.writeUInt32LE(low, at)
      else if (byteSize === 2) data.writeUInt16LE(low & 0xffff, at)
      else data[at] = datatype === 'BOOL' ? Number(low !== 0 || reader.high !== 0) : low
      at += byteSize
    }
  }
  return data
}

function rawStrings(values: readonly Uint8Array[]): Uint8Array {
  const data = Buffer.allocUnsafeSlow(values.reduce((sum, value) => sum + 4 + value.length, 0))
  let at = 0
  for (const value of values) {
    at = data.writeUInt32LE(value.length, at)
    data.set(value, at)
    at += value.length
  }
  return data
}
