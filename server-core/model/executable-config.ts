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
  if (config.sequence_batching !== undefined) yield cannot('sequence_batching', 'models with the sequence batcher')
  if (config.batch_input.length > 0) yield cannot('batch_input', 'batch inputs')
  if (config.batch_output.length > 0) yield cannot('batch_output', 'batch outputs')
  const ragged = config.input.findIndex((input) => input.allow_ragged_batch)
  if (ragged >= 0) yield { ...cannot('input.allow_ragged_batch', 'ragged batches'), path: ['input', ragged, 'allow_ragged_batch'] }
  if (listOf(config.model_operations, 'op_library_filename').length > 0) yield cannot('model_operations.op_library_filename', 'custom operator libraries')
  if (listOf(config.model_repository_agents, 'agents').length > 0) yield cannot('model_repository_agents', 'repository agents')
  const accelerators = (config.optimization?.['execution_accelerators'] ?? {}) as Record<string, unknown>
  for (const key of Object.keys(accelerators)) {
    if (listOf(accelerators, key).length > 0) yield cannot(`optimization.execution_accelerators.${key}`, 'execution accelerators')
  }
}

function listOf(message: Record<string, unknown> | undefined, field: string): readonly unknown[] {
  const value = message?.[field]
  return Array.isArray(value) ? value : []
}
