/** What the onnxruntime backend refuses in a config besides what the model file says. Pure: its load refuses with the first problem, the editor shows all. */
import type { ModelConfig } from '../../contract/model-config.ts'
import type { ConfigProblem } from '../../model-config/config-problem.ts'

const INTEGER_PARAMETERS = ['intra_op_thread_count', 'inter_op_thread_count', 'execution_mode', 'enable_mem_arena', 'enable_mem_pattern']

/** Parameters of the config that are no whole numbers. */
export function* sessionParameterProblems(config: ModelConfig): Generator<ConfigProblem> {
  for (const key of INTEGER_PARAMETERS) yield* wholeNumberProblems(config.name, key, config.parameters[key]?.string_value ?? '')
}

export function* wholeNumberProblems(model: string, key: string, text: string): Generator<ConfigProblem> {
  if (text === '' || (Number.isInteger(Number(text)) && Number(text) >= 0)) return
  yield {
    code: 'parameter-not-a-number', path: ['parameters', { key }, 'value', 'string_value'], facts: { key, value: text },
    text: `parameter '${key}' of model '${model}' must be a whole number >= 0, got '${text}'`,
  }
}

/** Tensors that cannot be passed to ONNX Runtime, though it may know their type. */
export function* bfloat16Problems(config: ModelConfig): Generator<ConfigProblem> {
  for (const role of ['input', 'output'] as const) {
    for (const [index, { name, data_type: type }] of config[role].entries()) {
      if (type !== 'TYPE_BF16') continue
      yield {
        code: 'bfloat16-tensor', kind: 'UNSUPPORTED', path: [role, index, 'data_type'], facts: { tensor: name },
        text: `tensor '${name}' of model '${config.name}' is TYPE_BF16, which the onnxruntime backend cannot pass to ONNX Runtime. `
          + 'Convert it to TYPE_FP16 or TYPE_FP32 in the model',
      }
    }
  }
}
