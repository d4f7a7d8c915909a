/**
 * `batch_input`, `batch_output` and `allow_ragged_batch`, as far as they are arithmetic on the shapes of a batch: what every backend that
 * puts batches together itself has in common. Pure; the facts are those of Triton's model config (kinds) and of its backend utilities.
 */
import { DATA_TYPES, type Tensor } from '../contract/inference.ts'
import type { BatchInputKind, ModelBatchInput, ModelBatchOutput, ModelConfig } from '../contract/model-config.ts'
import { ServerError } from '../server-error.ts'
import type { BackendRequest } from './backend.ts'

/** What of a request is looked at. The first dimension of a shape is the batch where the model batches. */
export interface BatchMember {
  readonly inputs: readonly Pick<Tensor, 'name' | 'shape'>[]
}

/** An input of the whole batch, in Triton's raw form. */
export interface BatchTensor {
  readonly name: string
  readonly datatype: 'INT32' | 'FP32'
  readonly dims: readonly number[]
  readonly data: ArrayBuffer
}

const KINDS: Readonly<Record<BatchInputKind, (shapes: readonly (readonly number[])[], isBatching: boolean) => BatchValues>> = {
  BATCH_ELEMENT_COUNT: (shapes) => flat(shapes.map(elementCount)),
  BATCH_ACCUMULATED_ELEMENT_COUNT: (shapes) => flat(accumulated(shapes).slice(1)),
  BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO: (shapes) => flat(accumulated(shapes)),
  // The shape is what counts; Triton leaves the data as it is.
  BATCH_MAX_ELEMENT_COUNT_AS_SHAPE: (shapes) => {
    const largest = Math.max(0, ...shapes.map(elementCount))
    return { dims: [largest], values: null }
  },
  BATCH_ITEM_SHAPE: (shapes, isBatching) => {
    const items = itemShapes(shapes, isBatching)
    return { dims: [items.length, Math.max(0, (shapes[0]?.length ?? 0) - (isBatching ? 1 : 0))], values: items.flat() }
  },
  BATCH_ITEM_SHAPE_FLATTEN: (shapes, isBatching) => flat(itemShapes(shapes, isBatching).flat()),
}

interface BatchValues {
  readonly dims: readonly number[]
  /** Null: zeros. */
  readonly values: readonly number[] | null
}

export function isBatchInputKind(kind: string | number): kind is BatchInputKind { return Object.hasOwn(KINDS, kind) }

export function isBatchOutputKind(kind: string | number): kind is ModelBatchOutput['kind'] { return kind === 'BATCH_SCATTER_WITH_INPUT_SHAPE' }

/** The inputs that `batch_input` adds to a batch: one a target name. */
export function batchInputs(config: ModelConfig, requests: readonly BatchMember[]): BatchTensor[] {
  return config.batch_input.flatMap((entry) => batchInputTensors(entry, requests, config.max_batch_size > 0))
}

function batchInputTensors(entry: ModelBatchInput, requests: readonly BatchMember[], isBatching: boolean): BatchTensor[] {
  const shapes = requests.map((request) => sourceShape(request, entry))
  const { dims, values } = KINDS[entry.kind](shapes, isBatching)
  const count = dims.reduce((product, dim) => product * dim, 1)
  return entry.target_name.map((name) => {
    const isFloat = entry.data_type === 'TYPE_FP32'
    const array = isFloat ? new Float32Array(count) : new Int32Array(count)
    if (values !== null) array.set(values)
    return { name, datatype: isFloat ? 'FP32' : 'INT32', dims, data: array.buffer }
  })
}

/** The input of a request like that of another one of its batch: zeros where a row without a request has none. @throws ServerError INTERNAL where a request lacks it */
export function inputLike(request: Pick<BackendRequest, 'inputs' | 'isNull' | 'batchSize'>, template: Tensor): Tensor {
  const tensor = request.inputs.find((candidate) => candidate.name === template.name)
  if (tensor !== undefined) return tensor
  if (!request.isNull) throw new ServerError('INTERNAL', `request of a batch lacks input '${template.name}'`)
  const shape = [request.batchSize, ...template.shape.slice(1)]
  // An empty string is its length field alone.
  const byteSize = elementCount(shape) * (template.datatype === 'BYTES' ? 4 : DATA_TYPES[template.datatype].byteSize)
  return { ...template, shape, data: new Uint8Array(byteSize) }
}

/** The inputs that a batch holds flat, one request after another, instead of stacked. */
export function raggedInputs(config: ModelConfig): ReadonlySet<string> {
  return new Set(config.max_batch_size > 0 ? config.input.filter((input) => input.allow_ragged_batch).map((input) => input.name) : [])
}

/**
 * The shape of each request's share of an output that `batch_output` scatters: the output's dims, the variable ones as in the request's
 * source input. Null: the output is not scattered.
 */
export function scatteredShapes(config: ModelConfig, output: string, requests: readonly (BatchMember & { readonly batchSize: number })[]): number[][] | null {
  const entry = config.batch_output.find((candidate) => candidate.target_name.includes(output))
  const declared = config.output.find((candidate) => candidate.name === output)
  if (entry === undefined || declared === undefined) return null
  const isBatching = config.max_batch_size > 0
  return requests.map((request) => {
    const source = sourceShape(request, entry)
    const dims = declared.dims.map((dim, index) => (dim === -1 ? source[index + (isBatching ? 1 : 0)] ?? 1 : dim))
    return isBatching ? [request.batchSize, ...dims] : dims
  })
}

function sourceShape(request: BatchMember, { source_input: sources }: Pick<ModelBatchInput | ModelBatchOutput, 'source_input'>): readonly number[] {
  const name = sources[0] ?? ''
  const input = request.inputs.find((candidate) => candidate.name === name)
  if (input === undefined) throw new ServerError('INVALID_ARG', `a request lacks input '${name}', from which the model's batch tensors are computed`)
  return input.shape
}

export function elementCount(shape: readonly number[]): number { return shape.reduce((product, dim) => product * dim, 1) }

/** 0, then the sum up to each request. */
function accumulated(shapes: readonly (readonly number[])[]): number[] {
  const sums = [0]
  for (const shape of shapes) sums.push((sums.at(-1) ?? 0) + elementCount(shape))
  return sums
}

/** The shape of each item of the batch: a request with a batch of two counts twice. */
function itemShapes(shapes: readonly (readonly number[])[], isBatching: boolean): (readonly number[])[] {
  return isBatching ? shapes.flatMap(([batch = 0, ...item]) => Array.from({ length: batch }, () => item)) : [...shapes]
}

function flat(values: readonly number[]): BatchValues { return { dims: [values.length], values } }
