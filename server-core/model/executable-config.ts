import { isBatchInputKind, isBatchOutputKind } from '../backends/batch-inputs.ts'
import type { ModelConfig } from '../contract/model-config.ts'
import { refuseFirst } from '../model-config/config-problem.ts'
import type { ConfigProblem } from '../model-config/config-problem.ts'

/**
 * What a config may ask for that this version cannot execute: such a model is refused at load with the field's name, so that nothing
 * in a config is silently ignored.
 * @throws ServerError UNSUPPORTED
 */
export function checkExecutable(config: ModelConfig): void {
  refuseFirst(executableProblems(config))
}

/** The same as a list, for whoever shows it before a load. `facts.what` names the feature. */
export function* executableProblems(config: ModelConfig): Generator<ConfigProblem> {
  const cannot = (field: string, what: string): ConfigProblem => ({
    code: 'not-executable-here', kind: 'UNSUPPORTED', path: field.split('.'), facts: { field, what },
    text: `model '${config.name}' sets ${field}: this version cannot run ${what}. Remove the field or serve the model with a version that can`,
  })
  yield* batchTensorProblems(config, cannot)
  if (listOf(config.model_operations, 'op_library_filename').length > 0) yield cannot('model_operations.op_library_filename', 'custom operator libraries')
  if (listOf(config.model_repository_agents, 'agents').length > 0) yield cannot('model_repository_agents', 'repository agents')
  const accelerators = (config.optimization?.['execution_accelerators'] ?? {}) as Record<string, unknown>
  for (const key of Object.keys(accelerators)) {
    if (listOf(accelerators, key).length > 0) yield cannot(`optimization.execution_accelerators.${key}`, 'execution accelerators')
  }
}

/** Built-in backends that answer each request by itself, so that there is no batch to compute anything from. */
const BACKENDS_WITHOUT_BATCHES = new Set(['identity', 'repeat'])

function* batchTensorProblems(config: ModelConfig, cannot: (field: string, what: string) => ConfigProblem): Generator<ConfigProblem> {
  for (const field of ['batch_input', 'batch_output'] as const) {
    const isKnown = field === 'batch_input' ? isBatchInputKind : isBatchOutputKind
    // Protobuf keeps an enum number that is no kind.
    const unknown = config[field].findIndex(({ kind }) => !isKnown(kind))
    if (unknown >= 0) yield { ...cannot(`${field}.kind`, 'batch tensors of an unknown kind'), path: [field, unknown, 'kind'] }
    if (config[field].length > 0 && BACKENDS_WITHOUT_BATCHES.has(config.backend)) yield cannot(field, 'batch tensors with this backend')
  }
}

function listOf(message: Record<string, unknown> | undefined, field: string): readonly unknown[] {
  const value = message?.[field]
  return Array.isArray(value) ? value : []
}
