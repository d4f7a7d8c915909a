/** A new config.pbtxt for a model: the fewest fields, in the order and style a person would write them. Pure; files: `generate-from-file.ts`. */
import type { ModelConfig, ModelInput, ModelOutput } from '../contract/model-config.ts'
import { completeFromOnnx, DEFAULT_MAX_BATCH_SIZE } from './auto-complete.ts'
import type { OnnxSignature } from './onnx-signature.ts'
import { printStringLiteral } from './pbtxt-literals.ts'
import { emptyModelConfig } from './read-config.ts'

export interface GenerateOptions {
  /** Default: onnxruntime. */
  readonly backend?: string
  /** Where it is not the one that the backend looks for. */
  readonly defaultModelFilename?: string
}

/**
 * Without a name: the folder gives it. What Triton would complete by itself is written out, so that the signature can be read and edited.
 *
 * @throws ServerError INVALID_ARG for a tensor type that cannot be served
 */
export function generateOnnxConfig(signature: Pick<OnnxSignature, 'inputs' | 'outputs'>, options: GenerateOptions = {}): string {
  const config = completeFromOnnx(emptyModelConfig(), signature, { defaultMaxBatchSize: DEFAULT_MAX_BATCH_SIZE })
  return printNewConfig({ ...config, backend: options.backend ?? 'onnxruntime', default_model_filename: options.defaultModelFilename ?? '' })
}

export interface ConfigComments {
  /** Above the inputs: what the reader has to know about the tensors. */
  readonly tensors?: readonly string[]
}

/** The fields of a config that a generator fills; others are not printed. */
export function printNewConfig(config: ModelConfig, comments: ConfigComments = {}): string {
  const filename = config.default_model_filename === '' ? '' : `default_model_filename: ${printStringLiteral(config.default_model_filename)}\n`
  const batchSize = config.max_batch_size === 0 ? '' : `max_batch_size: ${config.max_batch_size}\n`
  const notes = (comments.tensors ?? []).map((line) => `# ${line}\n`).join('')
  const blocks = [
    `backend: ${printStringLiteral(config.backend)}\n${filename}${batchSize}`,
    `${notes}${tensorBlock('input', config.input)}`,
    tensorBlock('output', config.output),
  ]
  if (config.dynamic_batching !== undefined) blocks.push(`# Requests that arrive together run together, up to max_batch_size.\n${dynamicBatching(config)}`)
  if (config.model_transaction_policy?.decoupled === true) blocks.push('model_transaction_policy { decoupled: true }\n')
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
    const optional = 'optional' in tensor && tensor.optional ? '    optional: true\n' : ''
    return `  {\n    name: ${printStringLiteral(tensor.name)}\n    data_type: ${tensor.data_type}\n    dims: ${list(tensor.dims)}\n${reshape}${optional}  }`
  })
  return `${field} [\n${elements.join(',\n')}\n]\n`
}

function list(numbers: readonly number[]): string {
  return numbers.length === 0 ? '[ ]' : `[ ${numbers.join(', ')} ]`
}
