import type { ModelConfig } from '../contract/model-config.ts'
import { ServerError } from '../server-error.ts'

/**
 * What a config may ask for that this version cannot execute: such a model is refused at load with the field's name, so that nothing
 * in a config is silently ignored.
 * @throws ServerError UNSUPPORTED
 */
export function checkExecutable(config: ModelConfig): void {
  const refuse = (field: string, what: string): never => {
    throw new ServerError('UNSUPPORTED', `model '${config.name}' sets ${field}: this version cannot run ${what}. Remove the field or serve the model with a version that can`)
  }
  if (config.ensemble_scheduling !== undefined || config.platform === 'ensemble') refuse('ensemble_scheduling', 'ensembles')
  if (config.sequence_batching !== undefined) refuse('sequence_batching', 'models with the sequence batcher')
  if (config.model_transaction_policy?.decoupled === true) refuse('model_transaction_policy.decoupled', 'decoupled models')
  if ((config.dynamic_batching?.priority_levels ?? 0) > 0) refuse('dynamic_batching.priority_levels', 'priority levels')
  if (config.batch_input.length > 0) refuse('batch_input', 'batch inputs')
  if (config.batch_output.length > 0) refuse('batch_output', 'batch outputs')
  if (config.input.some((input) => input.allow_ragged_batch)) refuse('input.allow_ragged_batch', 'ragged batches')
  if (listOf(config.model_operations, 'op_library_filename').length > 0) refuse('model_operations.op_library_filename', 'custom operator libraries')
  if (listOf(config.model_repository_agents, 'agents').length > 0) refuse('model_repository_agents', 'repository agents')
  const accelerators = (config.optimization?.['execution_accelerators'] ?? {}) as Record<string, unknown>
  for (const key of Object.keys(accelerators)) {
    if (listOf(accelerators, key).length > 0) refuse(`optimization.execution_accelerators.${key}`, 'execution accelerators')
  }
}

function listOf(message: Record<string, unknown> | undefined, field: string): readonly unknown[] {
  const value = message?.[field]
  return Array.isArray(value) ? value : []
}
