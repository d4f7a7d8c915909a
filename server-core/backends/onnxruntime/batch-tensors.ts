import type { BackendRequest } from '../backend.ts'
import { batchInputs, elementCount, inputLike, raggedInputs, scatteredShapes } from '../batch-inputs.ts'
import { clientShapeOf } from '../client-shape.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import { DATA_TYPES, type Tensor } from '../../contract/inference.ts'
import { ServerError } from '../../server-error.ts'
import { skipStrings } from './string-tensor.ts'
import type { WorkerTensor } from './worker-messages.ts'

/**
 * Puts the inputs of a batch together: one fresh buffer per input, each request's bytes copied once, first dimensions added up; ragged
 * inputs are flat, one request after another, and the inputs that `batch_input` computes come last. The requests have the same inputs,
 * and equal shapes except in ragged ones (the scheduler's shape rule). A row without a request is zeros where nothing was put into it.
 */
export function assembleInputs(requests: readonly BackendRequest[], config: ModelConfig): WorkerTensor[] {
  const first = requests.find((request) => !request.isNull) ?? requests[0]
  if (first === undefined) return []
  const isBatching = config.max_batch_size > 0
  if (!isBatching && requests.length > 1) throw new ServerError('INTERNAL', 'a model without batch dimension was given more than one request at a time')
  const ragged = raggedInputs(config)
  const assembled = first.inputs.map((input): WorkerTensor => {
    const parts = requests.length === 1 ? [input] : requests.map((request) => inputLike(request, input))
    const byteLength = parts.reduce((sum, part) => sum + part.data.byteLength, 0)
    const bytes = byteLength === 0 ? new Uint8Array(0) : Buffer.allocUnsafeSlow(byteLength)
    let position = 0
    for (const part of parts) {
      bytes.set(part.data, position)
      position += part.data.byteLength
    }
    return { name: input.name, datatype: input.datatype, dims: dimsOf(parts, isBatching, ragged.has(input.name)), data: bytes.buffer as ArrayBuffer }
  })
  return config.batch_input.length === 0 ? assembled : [...assembled, ...batchInputs(config, requests)]
}

function dimsOf(parts: readonly Tensor[], isBatching: boolean, isRagged: boolean): readonly number[] {
  const shape = parts[0]?.shape ?? []
  if (isRagged) return [parts.reduce((sum, part) => sum + elementCount(part.shape), 0)]
  return isBatching ? [parts.reduce((sum, part) => sum + (part.shape[0] ?? 0), 0), ...shape.slice(1)] : shape
}

/** What one request gets of a batch. */
export interface RequestShare {
  readonly outputs: Tensor[]
  /** New values of implicit states, for the next request of the sequence. */
  readonly states: Tensor[]
}

/** The outputs that carry implicit states: asked for in every batch. */
export function stateOutputs(config: ModelConfig): readonly string[] {
  return config.sequence_batching?.state.map((state) => state.output_name) ?? []
}

/**
 * Each request's share of the outputs, as views on the batch's buffers, with the config's `reshape` undone; only the outputs each
 * request asked for, and its states. Outputs of `batch_output` are cut as the source inputs are long.
 * @throws ServerError INTERNAL where an output's first dimension is not the batch, or a scattered one does not hold what is to be cut
 */
export function splitOutputs(requests: readonly BackendRequest[], outputs: readonly WorkerTensor[], config: ModelConfig): RequestShare[] {
  const states = new Set(stateOutputs(config))
  const shares = requests.map((): RequestShare => ({ outputs: [], states: [] }))
  for (const output of outputs) {
    const parts = cut(requests, output, config)
    requests.forEach((request, index) => {
      const { shape, data } = parts[index] ?? { shape: [], data: new Uint8Array(0) }
      const { name, datatype } = output
      if (states.has(name)) shares[index]?.states.push({ name, datatype, shape, data })
      if (!request.requestedOutputs.includes(name)) return
      shares[index]?.outputs.push({ name, datatype, shape: clientShapeOf(config, name, shape), data })
    })
  }
  return shares
}

interface Part { readonly shape: readonly number[]; readonly data: Uint8Array }

function cut(requests: readonly BackendRequest[], output: WorkerTensor, config: ModelConfig): Part[] {
  const data = new Uint8Array(output.data)
  if (config.max_batch_size === 0 && config.batch_output.length === 0) return requests.map(() => ({ shape: output.dims, data }))
  const shapes = scatteredShapes(config, output.name, requests) ?? stackedShapes(requests, output, config)
  const held = elementCount(output.dims)
  const wanted = shapes.reduce((sum, shape) => sum + elementCount(shape), 0)
  if (held !== wanted) {
    throw new ServerError('INTERNAL', `output '${output.name}' of model '${config.name}' has shape [${output.dims.join(',')}], which is ${held} elements; scattered with the shapes `
      + `of its source input it is to have ${wanted}. Check batch_output and the dims of the output`)
  }
  let position = 0
  return shapes.map((shape) => {
    const elements = elementCount(shape)
    const end = output.datatype === 'BYTES' ? skipStrings(data, position, elements) : position + elements * DATA_TYPES[output.datatype].byteSize
    const part = { shape, data: data.subarray(position, end) }
    position = end
    return part
  })
}

/** The usual rule: the first dimension is the batch. */
function stackedShapes(requests: readonly BackendRequest[], output: WorkerTensor, config: ModelConfig): (readonly number[])[] {
  if (config.max_batch_size === 0) return requests.map(() => output.dims)
  const total = requests.reduce((sum, request) => sum + request.batchSize, 0)
  if (output.dims[0] !== total) {
    throw new ServerError('INTERNAL', `output '${output.name}' of model '${config.name}' has shape [${output.dims.join(',')}], expected its first `
      + `dimension to be the batch size ${total}. Set max_batch_size to 0 if this output has no batch dimension`)
  }
  return requests.map((request) => [request.batchSize, ...output.dims.slice(1)])
}
