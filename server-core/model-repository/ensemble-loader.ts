import type { BackendModel } from '../backends/backend.ts'
import type { Clock } from '../clock.ts'
import type { ModelConfig } from '../contract/model-config.ts'
import type { LogHub } from '../logger.ts'
import { DEFAULT_METRICS_CONFIG, firstResponseBuckets, type MetricsConfig } from '../metrics/metrics-config.ts'
import { ModelStatistics } from '../metrics/model-statistics.ts'
import type { HostPolicies } from '../model/host-policy.ts'
import { Model } from '../model/model.ts'
import type { ResponseCache } from '../model/response-cache.ts'
import { ensembleSteps } from '../model-config/validate-ensemble-members.ts'
import { validateModelConfig } from '../model-config/validate.ts'
import type { FindEnsembleMember } from '../scheduling/ensemble-member.ts'
import type { RateLimiter } from '../scheduling/rate-limiter.ts'
import { readLabelFiles } from './label-files.ts'
import type { ModelDirectory } from './model-directory.ts'

export interface EnsembleLoad {
  readonly directory: ModelDirectory
  /** Completed against its members. */
  readonly config: ModelConfig
  readonly version: string
  readonly findMember: FindEnsembleMember
  readonly onInstancesChanged: () => void
  readonly rateLimiter: RateLimiter | null
  readonly responseCache?: ResponseCache | null
  readonly hostPolicies: HostPolicies
  readonly metrics?: MetricsConfig
  readonly clock: Clock
  readonly logs: LogHub
}

/** Builds a version of an ensemble: it has no backend and no instances. The load duration stays 0, as Triton's metric has it. */
export async function loadEnsemble(load: EnsembleLoad): Promise<Model> {
  const { config, version, findMember, clock, logs, rateLimiter, responseCache = null, hostPolicies, onInstancesChanged, metrics = DEFAULT_METRICS_CONFIG } = load
  validateModelConfig(config, { checkInputsAndOutputs: true })
  const own = await readLabelFiles(config, load.directory.path)
  const model = new Model({
    version, config, findMember, clock, rateLimiter, responseCache, hostPolicies, onInstancesChanged,
    backendModel: withoutBackend(config),
    statistics: new ModelStatistics(load.directory.name, version, { metricTags: config.metric_tags, metrics, firstResponseBuckets: firstResponseBuckets(config) }),
    labels: new Map([...memberLabels(config, findMember), ...own]),
    warmUp: [],
    createsInstancesInParallel: false,
    log: logs.logger('ensemble'),
  })
  await model.start()
  return model
}

/** An output without labels of its own has those of the step's output that makes it. */
function memberLabels(config: ModelConfig, findMember: FindEnsembleMember): Map<string, readonly string[]> {
  const outputs = new Set(config.output.map((output) => output.name))
  return new Map(ensembleSteps(config).flatMap((step) => Object.entries(step.output_map).flatMap(([name, tensor]) => {
    const labels = outputs.has(tensor) ? findMember(step.model_name, step.model_version).labels.get(name) : undefined
    return labels === undefined ? [] : [[tensor, labels] as const]
  })))
}

function withoutBackend(config: ModelConfig): BackendModel {
  return {
    config,
    initializeInstance: () => Promise.reject(new Error(`ensemble '${config.name}' has no backend that could make an instance`)),
    finalize: () => Promise.resolve(),
  }
}
