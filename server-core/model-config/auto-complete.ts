/** Completes a config from the ONNX file, and checks the config's tensors against it: Triton's onnxruntime backend, text by text. */
import { DATA_TYPES } from '../contract/inference.ts'
import type { DataTypeConfigName } from '../contract/inference.ts'
import type { ModelConfig, ModelInput, ModelOutput } from '../contract/model-config.ts'
import { ServerError } from '../server-error.ts'
import type { OnnxSignature, OnnxTensor } from './onnx-signature.ts'

/** `default-max-batch-size` where the backend config names none. */
export const DEFAULT_MAX_BATCH_SIZE = 4

function refuse(message: string): never {
  throw new ServerError('INVALID_ARG', message)
}

function configType(tensor: OnnxTensor): DataTypeConfigName {
  return tensor.datatype === null ? 'TYPE_INVALID' : DATA_TYPES[tensor.datatype].configName
}

/** Symbolic and unknown dims become -1. */
function plainDims(tensor: OnnxTensor): number[] {
  return tensor.dims.map((dim) => (typeof dim === 'number' ? dim : -1))
}

function supportsBatching({ inputs, outputs }: OnnxSignature): boolean {
  return [...inputs, ...outputs].every((tensor) => plainDims(tensor)[0] === -1)
}

/**
 * Fills missing inputs, outputs, max_batch_size and dynamic batching; then checks the result against the file.
 * Lists are filled in graph order. Nothing is completed where the config lists both inputs and outputs.
 *
 * @param options.defaultMaxBatchSize what a model that can batch gets; 0 leaves it at 0
 * @throws ServerError INVALID_ARG
 */
export function completeFromOnnx(config: ModelConfig, signature: OnnxSignature, options: { readonly defaultMaxBatchSize: number }): ModelConfig {
  const completed = config.input.length > 0 && config.output.length > 0 ? config : complete(config, signature, options.defaultMaxBatchSize)
  checkAgainstSignature(completed, signature)
  return completed
}

function complete(config: ModelConfig, signature: OnnxSignature, defaultMaxBatchSize: number): ModelConfig {
  const canBatch = supportsBatching(signature)
  if (!canBatch && config.max_batch_size !== 0) {
    refuse(`autofill failed for model '${config.name}': model does not support batching while non-zero max_batch_size is specified`)
  }
  const maxBatchSize = canBatch && config.max_batch_size === 0 ? defaultMaxBatchSize : config.max_batch_size
  const hasScheduler = config.dynamic_batching !== undefined || config.sequence_batching !== undefined || config.ensemble_scheduling !== undefined
  return {
    ...config,
    max_batch_size: maxBatchSize,
    input: config.input.length > 0 ? config.input : signature.inputs.map((tensor) => configInput(tensor, maxBatchSize)),
    output: config.output.length > 0 ? config.output : signature.outputs.map((tensor) => configOutput(tensor, maxBatchSize)),
    ...(canBatch && maxBatchSize > 1 && !hasScheduler ? { dynamic_batching: emptyDynamicBatching() } : {}),
  }
}

function emptyDynamicBatching(): NonNullable<ModelConfig['dynamic_batching']> {
  return {
    preferred_batch_size: [], max_queue_delay_microseconds: 0, preserve_ordering: false, priority_levels: 0, default_priority_level: 0,
    priority_queue_policy: {},
  }
}

/** Without the batch dim; a tensor with no dims left is `[1]`, reshaped to nothing where the model batches. */
function tensorShape(tensor: OnnxTensor, maxBatchSize: number): Pick<ModelInput, 'dims' | 'reshape'> {
  const dims = plainDims(tensor).slice(maxBatchSize > 0 ? 1 : 0)
  if (dims.length > 0) return { dims }
  return { dims: [1], ...(maxBatchSize > 0 ? { reshape: { shape: [] } } : {}) }
}

function configInput(tensor: OnnxTensor, maxBatchSize: number): ModelInput {
  return {
    name: tensor.name, data_type: configType(tensor), format: 'FORMAT_NONE', ...tensorShape(tensor, maxBatchSize), is_shape_tensor: false,
    allow_ragged_batch: false, optional: false, is_non_linear_format_io: false,
  }
}

function configOutput(tensor: OnnxTensor, maxBatchSize: number): ModelOutput {
  return {
    name: tensor.name, data_type: configType(tensor), ...tensorShape(tensor, maxBatchSize), label_filename: '', is_shape_tensor: false,
    is_non_linear_format_io: false,
  }
}

function checkAgainstSignature(config: ModelConfig, signature: OnnxSignature): void {
  const expectedInputs = config.input.length + scheduledInputs(config).length
  if (signature.inputs.length !== expectedInputs) {
    refuse(`unable to load model '${config.name}', configuration expects ${expectedInputs} inputs, model provides ${signature.inputs.length}`)
  }
  for (const input of config.input) {
    if (input.optional && config.max_batch_size > 0) {
      refuse(`model '${config.name}', tensor '${input.name}': optional inputs are supported only if max_batch_size is 0`)
    }
    checkTensor(config, input, signature.inputs, 'input')
  }
  if (signature.outputs.length < config.output.length) {
    refuse(`unable to load model '${config.name}', configuration expects ${config.output.length} outputs, model provides ${signature.outputs.length}`)
  }
  for (const output of config.output) checkTensor(config, output, signature.outputs, 'output')
}

/** Inputs of the model that are not in `input`: sequence controls and states, batch inputs. */
function scheduledInputs(config: ModelConfig): string[] {
  const controls = (config.sequence_batching?.['control_input'] ?? []) as readonly { readonly name: string }[]
  const states = (config.sequence_batching?.['state'] ?? []) as readonly { readonly input_name: string }[]
  const batchInputs = config.batch_input as readonly { readonly target_name: readonly string[] }[]
  return [...controls.map(({ name }) => name), ...states.map((state) => state.input_name), ...batchInputs.flatMap((entry) => entry.target_name)]
}

function checkTensor(config: ModelConfig, tensor: ModelInput | ModelOutput, provided: readonly OnnxTensor[], role: 'input' | 'output'): void {
  const found = provided.find(({ name }) => name === tensor.name)
  if (found === undefined) {
    const allowed = provided.map(({ name }) => name).toSorted().join(', ')
    refuse(`unexpected inference ${role} '${tensor.name}', allowed ${role}s are: ${allowed}`)
  }
  const providedType = configType(found)
  if (tensor.data_type === 'TYPE_INVALID') refuse(`unsupported datatype ${tensor.data_type} for ${role} '${tensor.name}' for model '${config.name}'`)
  if (tensor.data_type !== providedType) {
    refuse(`unable to load model '${config.name}', configuration expects datatype ${tensor.data_type} for ${role} '${tensor.name}', `
      + `model provides ${providedType === 'TYPE_INVALID' ? found.elementType : providedType}`)
  }
  if (found.hasShape) checkShape(config, tensor.name, plainDims(found), tensor.reshape?.shape ?? tensor.dims)
}

function shapeText(shape: readonly number[]): string {
  return `[${shape.join(',')}]`
}

function checkShape(config: ModelConfig, tensor: string, modelShape: readonly number[], dims: readonly number[]): void {
  const prefix = `model '${config.name}', tensor '${tensor}': `
  const isBatching = config.max_batch_size > 0
  if (isBatching && modelShape[0] !== -1) {
    refuse(`${prefix}for the model to support batching the shape should have at least 1 dimension and the first dimension must be -1; but shape `
      + `expected by the model is ${shapeText(modelShape)}`)
  }
  // A scalar of the model is written `dims: [ 1 ]`: a config cannot say rank 0.
  if (!isBatching && modelShape.length === 0 && dims.length === 1 && dims[0] === 1) return
  const complete = isBatching ? [-1, ...dims] : dims
  const isMatch = complete.length === modelShape.length && modelShape.every((dim, index) => dim === -1 || dim === complete[index])
  if (isMatch) return
  const configured = isBatching
    ? `an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape ${shapeText(complete)}`
    : `shape ${shapeText(complete)}`
  refuse(`${prefix}the model expects ${modelShape.length} dimensions (shape ${shapeText(modelShape)}) but the model configuration specifies `
    + `${complete.length} dimensions (${configured})`)
}
