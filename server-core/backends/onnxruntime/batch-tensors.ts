import type { BackendRequest } from '../backend.ts'
import type { ModelConfig, ModelOutput } from '../../contract/model-config.ts'
import type { Tensor } from '../../contract/inference.ts'
import { reshapeDims } from '../../model/request-validation.ts'
import { ServerError } from '../../server-error.ts'
import { skipStrings } from './string-tensor.ts'
import type { WorkerTensor } from './worker-messages.ts'

/**
 * Puts the inputs of a batch together: one fresh buffer per input, each request's bytes copied once, first dimensions added up.
 * The requests have equal inputs and shapes (the scheduler's shape rule).
 */
export function assembleInputs(requests: readonly BackendRequest[], isBatching: boolean): WorkerTensor[] {
  const first = requests[0]
  if (first === undefined) return []
  if (!isBatching && requests.length > 1) throw new ServerError('INTERNAL', 'a model without batch dimension was given more than one request at a time')
  return first.inputs.map((input) => {
    const parts = requests.length === 1 ? [input] : requests.map((request) => inputNamed(request, input.name))
    const byteLength = parts.reduce((sum, part) => sum + part.data.byteLength, 0)
    const bytes = byteLength === 0 ? new Uint8Array(0) : Buffer.allocUnsafeSlow(byteLength)
    let position = 0
    for (const part of parts) {
      bytes.set(part.data, position)
      position += part.data.byteLength
    }
    const dims = isBatching ? [parts.reduce((sum, part) => sum + (part.shape[0] ?? 0), 0), ...input.shape.slice(1)] : input.shape
    return { name: input.name, datatype: input.datatype, dims, data: bytes.buffer as ArrayBuffer }
  })
}

function inputNamed(request: BackendRequest, name: string): Tensor {
  const tensor = request.inputs.find((candidate) => candidate.name === name)
  if (tensor === undefined) throw new ServerError('INTERNAL', `request of a batch lacks input '${name}'`)
  return tensor
}

/**
 * Each request's share of the outputs, as views on the batch's buffers, with the config's `reshape` undone; only the outputs each
 * request asked for.
 * @throws ServerError INTERNAL where an output's first dimension is not the batch
 */
export function splitOutputs(requests: readonly BackendRequest[], outputs: readonly WorkerTensor[], config: ModelConfig): Tensor[][] {
  const isBatching = config.max_batch_size > 0
  const total = requests.reduce((sum, request) => sum + request.batchSize, 0)
  const shares: Tensor[][] = requests.map(() => [])
  for (const output of outputs) {
    const declared = config.output.find((candidate) => candidate.name === output.name)
    const data = new Uint8Array(output.data)
    const dims = isBatching ? output.dims.slice(1) : [...output.dims]
    if (isBatching && output.dims[0] !== total) {
      throw new ServerError('INTERNAL', `output '${output.name}' of model '${config.name}' has shape [${output.dims.join(',')}], expected its first `
        + `dimension to be the batch size ${total}. Set max_batch_size to 0 if this output has no batch dimension`)
    }
    const itemShape = declared === undefined ? dims : clientShape(declared, dims)
    const elementsPerItem = dims.reduce((product, dim) => product * dim, 1)
    let position = 0
    requests.forEach((request, index) => {
      const items = isBatching ? request.batchSize : 1
      const end = output.datatype === 'BYTES'
        ? skipStrings(data, position, items * elementsPerItem)
        : isBatching ? position + (total === 0 ? 0 : (data.byteLength / total) * items) : data.byteLength
      if (request.requestedOutputs.includes(output.name)) {
        shares[index]?.push({
          name: output.name, datatype: output.datatype, shape: isBatching ? [request.batchSize, ...itemShape] : itemShape, data: data.subarray(position, end),
        })
      }
      position = end
    })
  }
  return shares
}

/** The shape a client sees: `reshape` undone; a scalar, which a config cannot say, has the one dimension that the config gives it. */
function clientShape(output: ModelOutput, dims: readonly number[]): readonly number[] {
  if (output.reshape !== undefined) return reshapeDims(output.reshape.shape, dims, output.dims)
  return dims.length === 0 && output.dims.length === 1 ? [1] : dims
}
