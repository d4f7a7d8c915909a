/**
 * Static validation of a config, in Triton's order and with Triton's texts. Parts with a subject of their own: tensors
 * (`validate-tensors.ts`), sequence batching (`validate-sequence.ts`), ensembles (`validate-ensemble.ts`).
 */
import type { ModelConfig, ModelDynamicBatching } from '../contract/model-config.ts'
import { ServerError } from '../server-error.ts'
import { BACKEND_RULES } from './infer-backend.ts'
import { validateEnsembleScheduling } from './validate-ensemble.ts'
import { validateSequenceBatching } from './validate-sequence.ts'
import type { SequenceBatching } from './validate-sequence.ts'
import { validateInputsAndOutputs } from './validate-tensors.ts'

/** The backends whose platform names Triton's core knows. */
const CORE_BACKENDS = new Set(['tensorflow', 'tensorrt', 'onnxruntime', 'pytorch'])

function refuse(message: string): never {
  throw new ServerError('INVALID_ARG', message)
}

/**
 * @param config after `inferBackend` and normalisation
 * @param options.checkInputsAndOutputs false while auto-completion may still fill them
 * @throws ServerError INVALID_ARG
 */
export function validateModelConfig(config: ModelConfig, options: { readonly checkInputsAndOutputs: boolean }): void {
  const { name } = config
  if (name === '') refuse('model configuration must specify \'name\'')
  validatePlatform(config)
  if (config.max_batch_size < 0) refuse(`'max_batch_size' must be non-negative value for ${name}`)
  if (config.version_policy === undefined) refuse(`must specify 'version policy' for ${name}`)
  if (config.dynamic_batching !== undefined) validateDynamicBatching(config.dynamic_batching, config)
  if (config.sequence_batching !== undefined) {
    validateSequenceBatching(config.sequence_batching as unknown as SequenceBatching, name, config.max_batch_size)
  }
  if (config.ensemble_scheduling !== undefined) validateEnsembleScheduling(config)
  else if (config.platform === 'ensemble') refuse(`ensemble scheduling must be set for ensemble ${name} whose platform is ensemble`)
  validateResponseCache(config)
  validateMetrics(config)
  validateRepositoryAgents(config)
  if (options.checkInputsAndOutputs) validateInputsAndOutputs(config)
}

function validatePlatform({ name, platform, backend }: ModelConfig): void {
  if (platform === 'ensemble') {
    if (backend !== '') refuse(`Ensemble model '${name}' must have platform type 'ensemble' and empty backend type`)
    return
  }
  if (backend === '') refuse(`unexpected platform type '${platform}' for ${name}`)
  if (!CORE_BACKENDS.has(backend)) return
  const isOwn = BACKEND_RULES.some((rule) => rule.backend === backend && (rule.platform === platform || rule.aliases?.includes(platform) === true))
  if (!isOwn) refuse(`unexpected 'platform' and 'backend' pair, got:${platform}, ${backend}`)
}

function validateDynamicBatching(batching: ModelDynamicBatching, { name, max_batch_size: maxBatchSize }: ModelConfig): void {
  for (const size of batching.preferred_batch_size) {
    if (size <= 0) refuse(`dynamic batching preferred size must be positive for ${name}`)
    if (size > maxBatchSize) refuse(`dynamic batching preferred size must be <= max batch size for ${name}`)
  }
  const levels = batching.priority_levels
  if (levels !== 0) {
    const { default_priority_level: level } = batching
    if (level === 0 || level > levels) refuse(`default priority level must be in range [1, ${levels}] for ${name}`)
    for (const key of Object.keys(batching.priority_queue_policy)) {
      if (BigInt(key) === 0n || BigInt(key) > BigInt(levels)) refuse(`priority queue policy must have priority level in range [1, ${levels}] for ${name}`)
    }
  }
  if (!batching.preserve_ordering) return
  if (levels > 1) refuse(`Only one priority level is allowed when 'preserve_ordering' is true for ${name}`)
  const policies = [batching.default_queue_policy, ...Object.values(batching.priority_queue_policy)]
  for (const policy of policies) {
    if (policy?.timeout_action === 'DELAY' && policy.default_timeout_microseconds !== 0) {
      refuse(`Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for ${name}`)
    }
  }
}

function validateResponseCache(config: ModelConfig): void {
  if (config.response_cache?.enable !== true) return
  const text = (what: string): string =>
    `Response Cache does not currently support model ${config.name} with ${what}. Please disable the response cache.`
  if (config.sequence_batching !== undefined) refuse(text('sequence batching scheduler'))
  if (config.model_transaction_policy?.decoupled === true) refuse(text('\'decoupled\' transaction policy'))
}

interface MetricControl {
  readonly metric_identifier?: { readonly family: string }
  readonly histogram_options?: { readonly buckets: readonly number[] }
}

function validateMetrics(config: ModelConfig): void {
  const controls = (config.model_metrics?.['metric_control'] ?? []) as readonly MetricControl[]
  for (const control of controls) {
    if (control.metric_identifier === undefined) refuse('metric control must specify \'metric_identifier\'')
    if (control.metric_identifier.family === '') refuse('metric identifier must specify non-empty \'family\'')
    if (control.histogram_options === undefined) refuse('metric control must specify \'histogram_options\'')
    if (control.histogram_options.buckets.length === 0) refuse('histogram options must specify non-empty \'buckets\'')
  }
}

/** Triton 2.73 crashes on the empty message, so there is no text of its own to follow. */
function validateRepositoryAgents(config: ModelConfig): void {
  const agents = config.model_repository_agents
  if (agents !== undefined && ((agents['agents'] ?? []) as readonly unknown[]).length === 0) {
    refuse(`model_repository_agents must name at least one agent for ${config.name}: remove the empty block`)
  }
}
