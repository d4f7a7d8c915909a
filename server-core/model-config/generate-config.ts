/** A new config.pbtxt for a model file: the fewest fields, in the order and style a person would write them. */
import type { ModelConfig, ModelInput, ModelOutput } from '../contract/model-config.ts'
import { completeFromOnnx, DEFAULT_MAX_BATCH_SIZE } from './auto-complete.ts'
import type { OnnxSignature } from './onnx-signature.ts'
import { printStringLiteral } from './pbtxt-literals.ts'
import { emptyModelConfig } from './read-config.ts'

/**
 * Without a name: the folder gives it. What Triton would complete by itself is written out, so that the signature can be read and edited.
 *
 * @throws ServerError INVALID_ARG for a tensor type that cannot be served
 */
export function generateOnnxConfig(signature: OnnxSignature): string {
  const config = completeFromOnnx(emptyModelConfig(), signature, { defaultMaxBatchSize: DEFAULT_MAX_BATCH_SIZE })
  const blocks = [
    `backend: "onnxruntime"\nmax_batch_size: ${config.max_batch_size}\n`,
    tensorBlock('input', config.input),
    tensorBlock('output', config.output),
  ]
  if (config.dynamic_batching !== undefined) blocks.push(`# Requests that arrive together run together, up to max_batch_size.\n${dynamicBatching(config)}`)
  return blocks.filter((block) => block !== '').join('\n')
}

function dynamicBatching(config: ModelConfig): string {
  const preferred = config.dynamic_batching?.preferred_batch_size ?? []
  return preferred.length === 0 ? 'dynamic_batching { }\n' : `dynamic_batching {\n  preferred_batch_size: ${list(preferred)}\n}\n`
}

function tensorBlock(field: 'input' | 'output', tensors: readonly (ModelInput | ModelOutput)[]): string {
  if (tensors.length === 0) return ''
  const elements = tensors.map((tensor) => {
    const reshape = tensor.reshape === undefined ? '' : `    reshape { shape: ${list(tensor.reshape.shape)} }\n`
    return `  {\n    name: ${printStringLiteral(tensor.name)}\n    data_type: ${tensor.data_type}\n    dims: ${list(tensor.dims)}\n${reshape}  }`
  })
  return `${field} [\n${elements.join(',\n')}\n]\n`
}

function list(numbers: readonly number[]): string {
  return numbers.length === 0 ? '[ ]' : `[ ${numbers.join(', ')} ]`
}
