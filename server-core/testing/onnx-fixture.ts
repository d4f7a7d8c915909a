/** Writes small ONNX models for tests: a protobuf encoder for the few messages of `onnx.proto` that they need. */

export const ONNX_ELEMENT_TYPES = {
  FP32: 1, UINT8: 2, INT8: 3, UINT16: 4, INT16: 5, INT32: 6, INT64: 7, BYTES: 8, BOOL: 9, FP16: 10, FP64: 11, UINT32: 12, UINT64: 13, BF16: 16,
} as const

export type OnnxElementType = keyof typeof ONNX_ELEMENT_TYPES

export interface OnnxTensorSpec {
  readonly name: string
  readonly type: OnnxElementType
  /** Numbers are fixed, strings are symbolic dimensions. */
  readonly shape: readonly (number | string)[]
}

export interface OnnxNodeSpec {
  readonly operator: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  /** Integer attributes. */
  readonly attributes?: Readonly<Record<string, number>>
}

export interface OnnxModelSpec {
  readonly inputs: readonly OnnxTensorSpec[]
  readonly outputs: readonly OnnxTensorSpec[]
  readonly nodes: readonly OnnxNodeSpec[]
  readonly opset?: number
}

const VARINT = 0
const BYTES = 2
const INT_ATTRIBUTE = 2

function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = BigInt(value)
  do {
    const low = Number(rest & 0x7fn)
    rest >>= 7n
    bytes.push(rest === 0n ? low : low | 0x80)
  } while (rest !== 0n)
  return bytes
}

const integerField = (field: number, value: number): number[] => [...varint(field << 3 | VARINT), ...varint(value)]
const bytesField = (field: number, bytes: readonly number[]): number[] => [...varint(field << 3 | BYTES), ...varint(bytes.length), ...bytes]
const textField = (field: number, text: string): number[] => bytesField(field, [...new TextEncoder().encode(text)])

function valueInfo(tensor: OnnxTensorSpec): number[] {
  const dims = tensor.shape.flatMap((dim) => bytesField(1, typeof dim === 'number' ? integerField(1, dim) : textField(2, dim)))
  const tensorType = [...integerField(1, ONNX_ELEMENT_TYPES[tensor.type]), ...bytesField(2, dims)]
  return [...textField(1, tensor.name), ...bytesField(2, bytesField(1, tensorType))]
}

function node(spec: OnnxNodeSpec): number[] {
  const attributes = Object.entries(spec.attributes ?? {}).flatMap(([name, value]) => (
    bytesField(5, [...textField(1, name), ...integerField(3, value), ...integerField(20, INT_ATTRIBUTE)])
  ))
  return [...spec.inputs.flatMap((name) => textField(1, name)), ...spec.outputs.flatMap((name) => textField(2, name)), ...textField(4, spec.operator), ...attributes]
}

/** The bytes of a model file. */
export function onnxModel(spec: OnnxModelSpec): Uint8Array {
  const graph = [
    ...spec.nodes.flatMap((item) => bytesField(1, node(item))),
    ...textField(2, 'graph'),
    ...spec.inputs.flatMap((tensor) => bytesField(11, valueInfo(tensor))),
    ...spec.outputs.flatMap((tensor) => bytesField(12, valueInfo(tensor))),
  ]
  return Uint8Array.from([...integerField(1, 8), ...bytesField(7, graph), ...bytesField(8, integerField(2, spec.opset ?? 17))])
}

/** `SUM = A + B` over FP32 with a dynamic first dimension. */
export function addModel(columns = 4): Uint8Array {
  const tensor = (name: string): OnnxTensorSpec => ({ name, type: 'FP32', shape: ['batch', columns] })
  return onnxModel({ inputs: [tensor('A'), tensor('B')], outputs: [tensor('SUM')], nodes: [{ operator: 'Add', inputs: ['A', 'B'], outputs: ['SUM'] }] })
}

/** `OUTPUT = INPUT` for one element type and shape. */
export function identityModel(type: OnnxElementType, shape: readonly (number | string)[] = ['batch', 3]): Uint8Array {
  return onnxModel({
    inputs: [{ name: 'INPUT', type, shape }], outputs: [{ name: 'OUTPUT', type, shape }],
    nodes: [{ operator: 'Identity', inputs: ['INPUT'], outputs: ['OUTPUT'] }],
  })
}

/** A square matrix multiplied with itself again and again: one call computes for as long as the matrix is large (n = 1500: many seconds a core). */
export function slowModel(multiplications = 40): Uint8Array {
  const tensor = (name: string): OnnxTensorSpec => ({ name, type: 'FP32', shape: ['n', 'm'] })
  const nodes = Array.from({ length: multiplications }, (_unused, index) => ({
    operator: 'MatMul', inputs: [index === 0 ? 'X' : `y${index}`, 'X'], outputs: [index === multiplications - 1 ? 'Y' : `y${index + 1}`],
  }))
  return onnxModel({ inputs: [tensor('X')], outputs: [tensor('Y')], nodes })
}
