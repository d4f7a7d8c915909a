import type { ModelConfig } from '../../contract/model-config.ts'
import type { HostPolicy } from '../backend.ts'
import { refuseFirst } from '../../model-config/config-problem.ts'
import { wholeNumberProblems } from './session-parameters.ts'

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

/**
 * The settings of a session whose threads are bound: as many threads as there are processors unless the config says otherwise. (Left to
 * itself ONNX Runtime makes one a core of the machine and binds each to a core of its own choice, whatever its maker was bound to.)
 */
export function boundSettings(settings: SessionSettings, policy: Pick<HostPolicy, 'cpuList' | 'cpuCount'> | undefined): SessionSettings {
  if (policy === undefined || policy.cpuList === null) return settings
  const interOp = settings.executionMode === 'parallel' ? { interOpNumThreads: settings.interOpNumThreads ?? policy.cpuCount } : {}
  return { ...settings, intraOpNumThreads: settings.intraOpNumThreads ?? policy.cpuCount, ...interOp }
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
