/** Writes tiny ONNX files for tests: just enough protobuf. */

function varint(value: number | bigint): number[] {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
  return [...bytes, Number(rest)]
}

export function integerField(number: number, value: number | bigint): Buffer {
  return Buffer.from([...varint(number << 3), ...varint(value)])
}

export function bytesField(number: number, ...parts: readonly (Uint8Array | string)[]): Buffer {
  const payload = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  return Buffer.concat([fieldHeader(number, payload.length), payload])
}

/** Tag and length of a field whose payload comes later. */
export function fieldHeader(number: number, length: number): Buffer {
  return Buffer.from([...varint((number << 3) | 2), ...varint(length)])
}

/** `dims` null: no shape at all. */
export function valueInfo(name: string, elementType: number, dims: readonly (number | string | null)[] | null): Buffer {
  const shape = dims?.map((dim) => bytesField(1, dim === null ? '' : typeof dim === 'number' ? integerField(1, dim) : bytesField(2, dim)))
  return Buffer.concat([
    bytesField(1, name),
    bytesField(2, bytesField(1, integerField(1, elementType), ...(shape === undefined ? [] : [bytesField(2, ...shape)]))),
  ])
}

export interface TestGraph {
  readonly inputs: readonly Uint8Array[]
  readonly outputs: readonly Uint8Array[]
  readonly initializers?: readonly Uint8Array[]
}

export function graphField({ inputs, outputs, initializers = [] }: TestGraph): Buffer {
  return bytesField(7, bytesField(1, 'a node'), bytesField(2, 'graph'), ...initializers.map((tensor) => bytesField(5, tensor)),
    ...inputs.map((input) => bytesField(11, input)), ...outputs.map((output) => bytesField(12, output)))
}

export function onnxModel(graph: TestGraph, opset = 17): Buffer {
  return Buffer.concat([integerField(1, 8), bytesField(2, 'test'), graphField(graph), bytesField(8, bytesField(1, ''), integerField(2, opset)),
    bytesField(8, bytesField(1, 'ai.onnx.ml'), integerField(2, 3))])
}
