/** ONNX TensorProto.DataType by number, and the protocol's name where it has one. */
import type { DataType } from '../contract/inference.ts'

export const ONNX_ELEMENT_TYPES: readonly { readonly name: string; readonly datatype: DataType | null }[] = [
  { name: 'UNDEFINED', datatype: null },
  { name: 'FLOAT', datatype: 'FP32' },
  { name: 'UINT8', datatype: 'UINT8' },
  { name: 'INT8', datatype: 'INT8' },
  { name: 'UINT16', datatype: 'UINT16' },
  { name: 'INT16', datatype: 'INT16' },
  { name: 'INT32', datatype: 'INT32' },
  { name: 'INT64', datatype: 'INT64' },
  { name: 'STRING', datatype: 'BYTES' },
  { name: 'BOOL', datatype: 'BOOL' },
  { name: 'FLOAT16', datatype: 'FP16' },
  { name: 'DOUBLE', datatype: 'FP64' },
  { name: 'UINT32', datatype: 'UINT32' },
  { name: 'UINT64', datatype: 'UINT64' },
  { name: 'COMPLEX64', datatype: null },
  { name: 'COMPLEX128', datatype: null },
  { name: 'BFLOAT16', datatype: 'BF16' },
  { name: 'FLOAT8E4M3FN', datatype: null },
  { name: 'FLOAT8E4M3FNUZ', datatype: null },
  { name: 'FLOAT8E5M2', datatype: null },
  { name: 'FLOAT8E5M2FNUZ', datatype: null },
  { name: 'UINT4', datatype: null },
  { name: 'INT4', datatype: null },
  { name: 'FLOAT4E2M1', datatype: null },
]
