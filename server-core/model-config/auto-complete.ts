/** Completes a config from the ONNX file, and checks the config's tensors against it: Triton's onnxruntime backend, text by text. */
import type { ModelConfig, ModelInput, ModelOutput } from '../contract/model-config.ts'
import { ServerError } from '../server-error.ts'
import type { OnnxSignature } from './onnx-model.ts'
import { completionProblems, configDimsOf, configTypeOf, scheduledInputs, signatureProblems, supportsBatching } from './signature-problems.ts'
import type { SignatureProblem, SignatureTensor, TensorSignature } from './signature-problems.ts'

/** `default-max-batch-size` where the backend config names none. */
export const DEFAULT_MAX_BATCH_SIZE = 4

/** Batch size for a model that can batch, where the backend fills in from the ONNX file what a config leaves out; null: it does not do so. */
export function completedBatchSize({ backend, parameters }: Pick<ModelConfig, 'backend' | 'parameters'>): number | null {
  if (backend === 'onnxruntime') return DEFAULT_MAX_BATCH_SIZE
  // A graph that is to be static gets no batch.
  return backend !== 'npu_ge' ? null : /^(1|true|on|yes)$/i.test(parameters['static_model']?.string_value ?? '') ? 0 : DEFAULT_MAX_BATCH_SIZE
}

/**
 * Fills missing inputs, outputs, max_batch_size and dynamic batching; then checks the result against the file.
 * Lists are filled in graph order. Nothing is completed where the config lists both inputs and outputs.
 *
 * @param options.defaultMaxBatchSize what a model that can batch gets; 0 leaves it at 0
 * @throws ServerError INVALID_ARG
 */
export function completeFromOnnx(
  config: ModelConfig, signature: Pick<OnnxSignature, 'inputs' | 'outputs'>, options: { readonly defaultMaxBatchSize: number },
): ModelConfig {
  refuseFirst(completionProblems(config, signature))
  const completed = completeFromSignature(config, signature, options)
  refuseFirst(signatureProblems(completed, signature))
  return completed
}

function refuseFirst(problems: Generator<SignatureProblem, void>): void {
  for (const { serverText } of problems) throw new ServerError('INVALID_ARG', serverText)
}

/** The completion without its checks. What the scheduler gives the model (controls and states of sequences, batch inputs) is no `input`. */
export function completeFromSignature(config: ModelConfig, signature: TensorSignature, options: { readonly defaultMaxBatchSize: number }): ModelConfig {
  if (config.input.length > 0 && config.output.length > 0) return config
  const canBatch = supportsBatching(signature)
  const maxBatchSize = canBatch && config.max_batch_size === 0 ? options.defaultMaxBatchSize : config.max_batch_size
  const hasScheduler = config.dynamic_batching !== undefined || config.sequence_batching !== undefined || config.ensemble_scheduling !== undefined
  const scheduled = new Set(scheduledInputs(config))
  return {
    ...config,
    max_batch_size: maxBatchSize,
    input: config.input.length > 0 ? config.input : signature.inputs.filter(({ name }) => !scheduled.has(name)).map((tensor) => configInput(tensor, maxBatchSize)),
    output: config.output.length > 0 ? config.output : signature.outputs.map((tensor) => configOutput(tensor, maxBatchSize)),
    ...(canBatch && maxBatchSize > 1 && !hasScheduler ? { dynamic_batching: emptyDynamicBatching() } : {}),
  }
}

export function emptyDynamicBatching(): NonNullable<ModelConfig['dynamic_batching']> {
  return {
    preferred_batch_size: [], max_queue_delay_microseconds: 0, preserve_ordering: false, priority_levels: 0, default_priority_level: 0,
    priority_queue_policy: {},
  }
}

export function configInput(tensor: SignatureTensor, maxBatchSize: number): ModelInput {
  return {
    name: tensor.name, data_type: configTypeOf(tensor), format: 'FORMAT_NONE', ...configDimsOf(tensor, maxBatchSize), is_shape_tensor: false,
    allow_ragged_batch: false, optional: false, is_non_linear_format_io: false,
  }
}

export function configOutput(tensor: SignatureTensor, maxBatchSize: number): ModelOutput {
  return {
    name: tensor.name, data_type: configTypeOf(tensor), ...configDimsOf(tensor, maxBatchSize), label_filename: '', is_shape_tensor: false,
    is_non_linear_format_io: false,
  }
}
