import type { ModelConfig } from '../../contract/model-config.ts'
import { refuseFirst } from '../../model-config/config-problem.ts'
import type { ConfigProblem } from '../../model-config/config-problem.ts'

/** The session options that a config can set; what is absent is ONNX Runtime's default. */
export interface SessionSettings {
  readonly intraOpNumThreads?: number
  readonly interOpNumThreads?: number
  readonly executionMode?: 'sequential' | 'parallel'
  readonly enableCpuMemArena?: boolean
  readonly enableMemPattern?: boolean
  readonly graphOptimizationLevel: 'basic' | 'extended' | 'all'
}

/**
 * Reads the ONNX parameters of a config (`intra_op_thread_count` ...; model config facts, section 7), the backend's own settings
 * coming second.
 * @throws ServerError INVALID_ARG that names the parameter
 */
export function readSessionSettings(config: ModelConfig, backendConfig: Readonly<Record<string, string>>): SessionSettings {
  const integer = (key: string): number | undefined => {
    const text = config.parameters[key]?.string_value ?? backendConfig[key]
    if (text === undefined || text === '') return undefined
    refuseFirst(wholeNumberProblems(config.name, key, text))
    return Number(text)
  }
  const flag = (key: string): boolean | undefined => {
    const value = integer(key)
    return value === undefined ? undefined : value !== 0
  }
  const threads = (key: string): number | undefined => {
    const value = integer(key)
    return value === 0 ? undefined : value
  }
  const executionMode = integer('execution_mode')
  return definedOnly({
    intraOpNumThreads: threads('intra_op_thread_count'),
    interOpNumThreads: threads('inter_op_thread_count'),
    executionMode: executionMode === undefined ? undefined : executionMode === 0 ? 'sequential' : 'parallel',
    enableCpuMemArena: flag('enable_mem_arena'),
    enableMemPattern: flag('enable_mem_pattern'),
    graphOptimizationLevel: graphOptimizationLevel(config),
  })
}

const INTEGER_PARAMETERS = ['intra_op_thread_count', 'inter_op_thread_count', 'execution_mode', 'enable_mem_arena', 'enable_mem_pattern']

/** Parameters of the config that are no whole numbers. Pure: the load refuses with the first, the editor shows all. */
export function* sessionParameterProblems(config: ModelConfig): Generator<ConfigProblem> {
  for (const key of INTEGER_PARAMETERS) yield* wholeNumberProblems(config.name, key, config.parameters[key]?.string_value ?? '')
}

function* wholeNumberProblems(model: string, key: string, text: string): Generator<ConfigProblem> {
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

/** `optimization { graph { level } }`: −1 basic, 1 extended, else everything. */
function graphOptimizationLevel(config: ModelConfig): SessionSettings['graphOptimizationLevel'] {
  const graph = config.optimization?.['graph']
  const level = graph !== null && typeof graph === 'object' ? (graph as { level?: unknown }).level : undefined
  if (level === -1) return 'basic'
  return level === 1 ? 'extended' : 'all'
}

type Optional<T> = { [K in keyof T]: T[K] | undefined }

function definedOnly(settings: Optional<Required<SessionSettings>>): SessionSettings {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as unknown as SessionSettings
}
