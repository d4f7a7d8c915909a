/** Classification: an output turned into its top-k strings `<value>:<index>[:<label>]` (protocol 6.5; the same for gRPC). */
import { DATA_TYPES, type DataType, type Tensor } from '../contract/inference.ts'
import type { InferenceServer } from '../inference-server.ts'
import { ServerError } from '../server-error.ts'

const MAX_STRINGS = 1_000_000
const NO_CLASSES: ReadonlyMap<string, OutputClasses> = new Map()

/** What a model says about the classes of one output. */
export interface OutputClasses {
  /** The model batches: the first dim is the batch. */
  readonly hasBatchDimension: boolean
  /** Index = class; '' counts as no label. */
  readonly labels: readonly string[] | undefined
}

export interface ClassificationOptions extends OutputClasses {
  readonly topK: number
}

/**
 * The classes of these outputs. Asked before the inference: a model that is unloaded meanwhile still answers, but nobody finds it any more.
 * @throws ServerError when there is no such model
 */
export function readOutputClasses(server: InferenceServer, model: { readonly modelName: string; readonly modelVersion: string }, outputs: readonly string[]): ReadonlyMap<string, OutputClasses> {
  if (outputs.length === 0) return NO_CLASSES
  const { modelName, modelVersion } = model
  const hasBatchDimension = server.modelConfig(modelName, modelVersion).max_batch_size > 0
  return new Map(outputs.map((output) => [output, { hasBatchDimension, labels: server.labels(modelName, modelVersion, output) }]))
}

/** @returns a BYTES tensor of shape [batch, k] or [k]. @throws ServerError INVALID_ARG for types without an order. */
export function classify(output: Tensor, options: ClassificationOptions): Tensor {
  const read = valueReader(output.datatype, output.data)
  const batch = options.hasBatchDimension ? (output.shape[0] ?? 1) : 1
  const total = output.shape.reduce((product, dim) => product * dim, 1)
  const classes = batch === 0 ? 0 : total / batch
  const k = Math.min(options.topK, classes)
  if (batch * k > MAX_STRINGS) throw new ServerError('INVALID_ARG', 'classification output tensor too large')
  const strings: string[] = []
  for (let row = 0; row < batch; row++) {
    for (const index of topIndices(read, row * classes, classes, k)) {
      const label = options.labels?.[index]
      strings.push(`${printed(read(row * classes + index), output.datatype)}:${index}${label === undefined || label === '' ? '' : `:${label}`}`)
    }
  }
  return { name: output.name, datatype: 'BYTES', shape: options.hasBatchDimension ? [batch, k] : [k], data: rawStrings(strings) }
}

type Value = number | bigint

/** Indices of the k largest values, descending; equal values: lower index first. */
function topIndices(read: (index: number) => Value, offset: number, classes: number, k: number): number[] {
  const indices = Array.from({ length: classes }, (_, index) => index)
  return indices.sort((a, b) => {
    const left = read(offset + a)
    const right = read(offset + b)
    return left > right ? -1 : left < right ? 1 : a - b
  }).slice(0, k)
}

function printed(value: Value, datatype: DataType): string {
  if (datatype !== 'FP32' && datatype !== 'FP64') return String(value)
  const number = Number(value)
  if (Number.isNaN(number)) return 'nan'
  if (!Number.isFinite(number)) return number > 0 ? 'inf' : '-inf'
  return Math.abs(number) < 1e21 ? sixDecimals(number) : `${BigInt(number)}.000000`
}

/** C's %f: six decimals, exact ties to the even digit (toFixed goes up). */
function sixDecimals(value: number): string {
  const long = value.toFixed(30)
  const cut = long.length - 24
  const isTie = long[cut] === '5' && /^0*$/.test(long.slice(cut + 1))
  return isTie && Number(long[cut - 1]) % 2 === 0 ? long.slice(0, cut) : value.toFixed(6)
}

function valueReader(datatype: DataType, data: Uint8Array): (index: number) => Value {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const size = DATA_TYPES[datatype].byteSize
  switch (datatype) {
    case 'UINT8': return (i) => view.getUint8(i)
    case 'INT8': return (i) => view.getInt8(i)
    case 'UINT16': return (i) => view.getUint16(size * i, true)
    case 'INT16': return (i) => view.getInt16(size * i, true)
    case 'UINT32': return (i) => view.getUint32(size * i, true)
    case 'INT32': return (i) => view.getInt32(size * i, true)
    case 'UINT64': return (i) => view.getBigUint64(size * i, true)
    case 'INT64': return (i) => view.getBigInt64(size * i, true)
    case 'FP32': return (i) => view.getFloat32(size * i, true)
    case 'FP64': return (i) => view.getFloat64(size * i, true)
    case 'BOOL': case 'FP16': case 'BF16': case 'BYTES':
      throw new ServerError('INVALID_ARG', `class result not available for output due to unsupported type '${datatype}'`)
  }
}

function rawStrings(strings: readonly string[]): Buffer {
  const parts = strings.map((text) => Buffer.from(text))
  const data = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + 4 + part.length, 0))
  let at = 0
  for (const part of parts) {
    at = data.writeUInt32LE(part.length, at)
    at += part.copy(data, at)
  }
  return data
}
