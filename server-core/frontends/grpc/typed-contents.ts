/** Typed tensor contents (`InferTensorContents`) turned into Triton's raw bytes (protocol 9.2). */
import { DATA_TYPES, type DataType } from '../../contract/inference.ts'
import { ServerError } from '../../server-error.ts'
import type { WireContents } from './wire-types.ts'

type ContentsField = keyof WireContents

/** The field each datatype must use; FP16 and BF16 have none. */
const FIELD_OF: Readonly<Record<DataType, ContentsField | undefined>> = {
  BOOL: 'bool_contents', INT8: 'int_contents', INT16: 'int_contents', INT32: 'int_contents', INT64: 'int64_contents',
  UINT8: 'uint_contents', UINT16: 'uint_contents', UINT32: 'uint_contents', UINT64: 'uint64_contents',
  FP32: 'fp32_contents', FP64: 'fp64_contents', BYTES: 'bytes_contents', FP16: undefined, BF16: undefined,
}

/** What a filled field says its data is, as the error text names it. */
const TYPE_OF_FIELD: Readonly<Record<ContentsField, DataType>> = {
  bool_contents: 'BOOL', int_contents: 'INT32', int64_contents: 'INT64', uint_contents: 'UINT32', uint64_contents: 'UINT64',
  fp32_contents: 'FP32', fp64_contents: 'FP64', bytes_contents: 'BYTES',
}

/** @throws ServerError INVALID_ARG when the wrong field, or more than one, is filled. Nothing filled is an empty tensor. */
export function rawFromContents(contents: WireContents, datatype: DataType, inputName: string, modelName: string): Uint8Array {
  const filled = (Object.keys(TYPE_OF_FIELD) as ContentsField[]).filter((field) => contents[field].length > 0)
  const field = filled[0]
  if (field === undefined) return new Uint8Array(0)
  const where = `unexpected explicit tensor data for input tensor '${inputName}' for model '${modelName}'`
  if (filled.length > 1) throw new ServerError('INVALID_ARG', `${where}, binary data was already supplied.`)
  if (FIELD_OF[datatype] !== field) {
    throw new ServerError('INVALID_ARG', `${where} of type '${TYPE_OF_FIELD[field]}', expected datatype '${datatype}'`)
  }
  if (datatype === 'BYTES') return rawStrings(contents.bytes_contents)
  return rawNumbers(contents[field] as readonly (number | boolean | string)[], datatype)
}

function rawNumbers(values: readonly (number | boolean | string)[], datatype: DataType): Uint8Array {
  const data = new ArrayBuffer(values.length * DATA_TYPES[datatype].byteSize)
  if (datatype === 'INT64' || datatype === 'UINT64') {
    const target = new BigUint64Array(data)
    for (let i = 0; i < values.length; i++) target[i] = BigInt.asUintN(64, BigInt(values[i] as string))
  } else {
    const target = numberArray(datatype, data)
    for (let i = 0; i < values.length; i++) target[i] = Number(values[i])
  }
  return new Uint8Array(data)
}

type NumberArray = Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array

/** The arrays keep the low bytes of what does not fit, as the protocol says. */
function numberArray(datatype: DataType, data: ArrayBuffer): NumberArray {
  switch (datatype) {
    case 'INT8': return new Int8Array(data)
    case 'INT16': return new Int16Array(data)
    case 'INT32': return new Int32Array(data)
    case 'UINT16': return new Uint16Array(data)
    case 'UINT32': return new Uint32Array(data)
    case 'FP32': return new Float32Array(data)
    case 'FP64': return new Float64Array(data)
    default: return new Uint8Array(data)
  }
}

function rawStrings(values: readonly Uint8Array[]): Uint8Array {
  const data = Buffer.allocUnsafe(values.reduce((sum, value) => sum + 4 + value.length, 0))
  let at = 0
  for (const value of values) {
    at = data.writeUInt32LE(value.length, at)
    data.set(value, at)
    at += value.length
  }
  return data
}
