/**
 * Static validation of a config, in Triton's order and with Triton's texts. Parts with a subject of their own: tensors
 * (`validate-tensors.ts`), sequence batching (`validate-sequence.ts`), ensembles (`validate-ensemble.ts`). The same checks refuse a load
 * here and are shown one by one in the editor (`rules/triton-rules.ts`).
 */
import type { ModelConfig, ModelDynamicBatching } from '../contract/model-config.ts'
import { refuseFirst } from './config-problem.ts'
import type { ConfigProblem } from './config-problem.ts'
import { BACKEND_RULES } from './infer-backend.ts'
import { ensembleProblems } from './validate-ensemble.ts'
import { sequenceBatchingProblems } from './validate-sequence.ts'
import type { SequenceBatching } from './validate-sequence.ts'
import { tensorProblems } from './validate-tensors.ts'

/** The backends whose platform names Triton's core knows. */
const CORE_BACKENDS = new Set(['tensorflow', 'tensorrt', 'onnxruntime', 'pytorch'])

export interface ValidationOptions {
  /** false while auto-completion may still fill them */
  readonly checkInputsAndOutputs: boolean
}

/**
 * @param config after `inferBackend` and normalisation
 * @throws ServerError INVALID_ARG
 */
export function validateModelConfig(config: ModelConfig, options: ValidationOptions): void {
  refuseFirst(configProblems(config, options))
}

/** Everything that validation refuses, in the order in which it is found. */
export function* configProblems(config: ModelConfig, options: ValidationOptions): Generator<ConfigProblem> {
  const { name } = config
  if (name === '') yield { code: 'name-missing', path: ['name'], text: 'model configuration must specify \'name\'' }
  yield* platformProblems(config)
  if (config.max_batch_size < 0) {
    yield { code: 'negative-max-batch-size', path: ['max_batch_size'], text: `'max_batch_size' must be non-negative value for ${name}`, facts: { value: config.max_batch_size } }
  }
  if (config.version_policy === undefined) yield { code: 'version-policy-missing', path: ['version_policy'], text: `must specify 'version policy' for ${name}` }
  if (config.dynamic_batching !== undefined) yield* dynamicBatchingProblems(config.dynamic_batching, config)
  if (config.sequence_batching !== undefined) {
    yield* sequenceBatchingProblems(config.sequence_batching as unknown as SequenceBatching, name, config.max_batch_size)
  }
  if (config.ensemble_scheduling !== undefined) yield* ensembleProblems(config)
  else if (config.platform === 'ensemble') {
    yield { code: 'ensemble-without-scheduling', path: ['platform'], text: `ensemble scheduling must be set for ensemble ${name} whose platform is ensemble` }
  }
  yield* responseCacheProblems(config)
  yield* metricsProblems(config)
  yield* repositoryAgentsProblems(config)
  if (options.checkInputsAndOutputs) yield* tensorProblems(config)
}

function* platformProblems({ name, platform, backend }: ModelConfig): Generator<ConfigProblem> {
  if (platform === 'ensemble') {
    if (backend !== '') {
      yield { code: 'ensemble-with-backend', path: ['backend'], text: `Ensemble model '${name}' must have platform type 'ensemble' and empty backend type` }
    }
    return
  }
  if (backend === '') yield { code: 'unknown-platform', path: ['platform'], text: `unexpected platform type '${platform}' for ${name}`, facts: { platform } }
  if (!CORE_BACKENDS.has(backend)) return
  const isOwn = BACKEND_RULES.some((rule) => rule.backend === backend && (rule.platform === platform || rule.aliases?.includes(platform) === true))
  if (!isOwn) {
    yield {
      code: 'platform-of-other-backend', path: ['platform'], text: `unexpected 'platform' and 'backend' pair, got:${platform}, ${backend}`, facts: { platform, backend },
    }
  }
}

function* dynamicBatchingProblems(batching: ModelDynamicBatching, config: ModelConfig): Generator<ConfigProblem> {
  const { name, max_batch_size: max } = config
  const field = (...rest: ConfigProblem['path']): ConfigProblem['path'] => ['dynamic_batching', ...rest]
  for (const [index, size] of batching.preferred_batch_size.entries()) {
    const path = field('preferred_batch_size', index)
    if (size <= 0) yield { code: 'preferred-size-not-positive', path, text: `dynamic batching preferred size must be positive for ${name}`, facts: { size } }
    else if (size > max) yield { code: 'preferred-size-over-max', path, text: `dynamic batching preferred size must be <= max batch size for ${name}`, facts: { size, max } }
  }
  const levels = batching.priority_levels
  if (levels !== 0) {
    const { default_priority_level: level } = batching
    const facts = { level, levels }
    if (level === 0 || level > levels) {
      yield { code: 'default-priority-range', path: field('default_priority_level'), text: `default priority level must be in range [1, ${levels}] for ${name}`, facts }
    }
    for (const key of Object.keys(batching.priority_queue_policy)) {
      if (BigInt(key) !== 0n && BigInt(key) <= BigInt(levels)) continue
      yield {
        code: 'priority-policy-range', path: field('priority_queue_policy', { key }, 'key'),
        text: `priority queue policy must have priority level in range [1, ${levels}] for ${name}`, facts: { level: key, levels },
      }
    }
  }
  if (batching.preserve_ordering) yield* orderingProblems(batching, name)
}

function* orderingProblems(batching: ModelDynamicBatching, name: string): Generator<ConfigProblem> {
  if (batching.priority_levels > 1) {
    yield {
      code: 'ordering-with-priorities', path: ['dynamic_batching', 'preserve_ordering'],
      text: `Only one priority level is allowed when 'preserve_ordering' is true for ${name}`, facts: { levels: batching.priority_levels },
    }
  }
  const policies = [
    { policy: batching.default_queue_policy, path: ['default_queue_policy'] },
    ...Object.entries(batching.priority_queue_policy).map(([key, policy]) => ({ policy, path: ['priority_queue_policy', { key }, 'value'] })),
  ]
  for (const { policy, path } of policies) {
    if (policy?.timeout_action !== 'DELAY' || policy.default_timeout_microseconds === 0) continue
    yield {
      code: 'ordering-with-delay', path: ['dynamic_batching', ...path, 'timeout_action'],
      text: `Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for ${name}`,
    }
  }
}

function* responseCacheProblems(config: ModelConfig): Generator<ConfigProblem> {
  if (config.response_cache?.enable !== true) return
  const text = (what: string): string =>
    `Response Cache does not currently support model ${config.name} with ${what}. Please disable the response cache.`
  const path = ['response_cache', 'enable']
  if (config.sequence_batching !== undefined) yield { code: 'cache-with-sequences', path, text: text('sequence batching scheduler') }
  if (config.model_transaction_policy?.decoupled === true) yield { code: 'cache-with-decoupled', path, text: text('\'decoupled\' transaction policy') }
}

interface MetricControl {
  readonly metric_identifier?: { readonly family: string }
  readonly histogram_options?: { readonly buckets: readonly number[] }
}

function* metricsProblems(config: ModelConfig): Generator<ConfigProblem> {
  const controls = (config.model_metrics?.['metric_control'] ?? []) as readonly MetricControl[]
  for (const [index, control] of controls.entries()) {
    const path = ['model_metrics', 'metric_control', index]
    if (control.metric_identifier === undefined) yield { code: 'metric-without-identifier', path, text: 'metric control must specify \'metric_identifier\'' }
    else if (control.metric_identifier.family === '') {
      yield { code: 'metric-without-family', path: [...path, 'metric_identifier'], text: 'metric identifier must specify non-empty \'family\'' }
    }
    if (control.histogram_options === undefined) yield { code: 'metric-without-options', path, text: 'metric control must specify \'histogram_options\'' }
    else if (control.histogram_options.buckets.length === 0) {
      yield { code: 'metric-without-buckets', path: [...path, 'histogram_options'], text: 'histogram options must specify non-empty \'buckets\'' }
    }
  }
}

/** Triton 2.73 crashes on the empty message, so there is no text of its own to follow. */
function* repositoryAgentsProblems(config: ModelConfig): Generator<ConfigProblem> {
  const agents = config.model_repository_agents
  if (agents === undefined || ((agents['agents'] ?? []) as readonly unknown[]).length > 0) return
  yield {
    code: 'empty-repository-agents', path: ['model_repository_agents'],
    text: `model_repository_agents must name at least one agent for ${config.name}: remove the empty block`,
  }
}
