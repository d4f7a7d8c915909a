/** What Triton fills in before a config is used; `/config` shows the result. */
import type { InstanceGroupKind, ModelConfig, ModelInstanceGroup, ModelSequenceBatching } from '../contract/model-config.ts'
import { refuseFirst } from './config-problem.ts'
import type { ConfigProblem } from './config-problem.ts'

const DEFAULT_SEQUENCE_IDLE_MICROSECONDS = 1_000_000
/** Backends whose default on the CPU is two instances a group. */
const TWO_CPU_INSTANCES = new Set(['onnxruntime', 'tensorflow'])
const MINIMUM_COMPUTE_CAPABILITY = '6.000000'

/**
 * Version policy, preferred batch sizes, sequence idle time, pinned memory, ensemble transaction policy. Instance groups are
 * `normalizeInstanceGroups`, backend and platform `inferBackend`.
 */
export function normalizeModelConfig(config: ModelConfig): ModelConfig {
  const isEnsemble = config.ensemble_scheduling !== undefined
  const result: ModelConfig = { ...config, version_policy: normalizeVersionPolicy(config) }
  if (config.dynamic_batching !== undefined) {
    const preferred = withPreferredSizes(config.dynamic_batching.preferred_batch_size, config.max_batch_size)
    result.dynamic_batching = { ...config.dynamic_batching, preferred_batch_size: preferred }
  }
  if (config.sequence_batching !== undefined) result.sequence_batching = normalizeSequenceBatching(config.sequence_batching, config.max_batch_size)
  if (isEnsemble) {
    result.model_transaction_policy = config.model_transaction_policy ?? { decoupled: false }
  } else {
    result.optimization = {
      priority: 'PRIORITY_DEFAULT',
      gather_kernel_buffer_threshold: 0,
      eager_batching: false,
      ...config.optimization,
      input_pinned_memory: config.optimization?.['input_pinned_memory'] ?? { enable: true },
      output_pinned_memory: config.optimization?.['output_pinned_memory'] ?? { enable: true },
    }
  }
  return result
}

function normalizeVersionPolicy({ version_policy: policy }: ModelConfig): NonNullable<ModelConfig['version_policy']> {
  const isChosen = policy !== undefined && (policy.latest !== undefined || policy.all !== undefined || policy.specific !== undefined)
  return isChosen ? policy : { latest: { num_versions: 1 } }
}

function withPreferredSizes(sizes: readonly number[], maxBatchSize: number): number[] {
  return sizes.length === 0 && maxBatchSize > 0 ? [maxBatchSize] : [...sizes]
}

function normalizeSequenceBatching(batching: ModelSequenceBatching, maxBatchSize: number): ModelSequenceBatching {
  const { oldest } = batching
  return {
    ...batching,
    ...(batching.max_sequence_idle_microseconds === 0 ? { max_sequence_idle_microseconds: DEFAULT_SEQUENCE_IDLE_MICROSECONDS } : {}),
    ...(oldest === undefined ? {} : { oldest: { ...oldest, preferred_batch_size: withPreferredSizes(oldest.preferred_batch_size, maxBatchSize) } }),
  }
}

/** Each instance is a thread and a session of its own; more than this would take the whole machine. */
const MAXIMUM_INSTANCES = 1024

/**
 * Names, kinds and counts of the instance groups, and their checks. A group made because none was given bears the model's name, others
 * `<model>_<index>`.
 *
 * @param machine GPUs that backends may use; 0 on every machine without CUDA
 * @throws ServerError INVALID_ARG with Triton's texts; INTERNAL for an enum number that is no kind
 */
export function normalizeInstanceGroups(config: ModelConfig, machine: { readonly gpuCount: number }): ModelConfig {
  if (config.ensemble_scheduling !== undefined) return config
  const result = { ...config, instance_group: normalGroups(config, machine) }
  refuseFirst(instanceGroupProblems(result, machine))
  return result
}

/** The groups before their checks: of the same order as those written, or the one made where none is. */
export function normalGroups(config: ModelConfig, machine: { readonly gpuCount: number }): ModelInstanceGroup[] {
  const written = config.instance_group.length > 0 ? config.instance_group : [emptyGroup(config.name)]
  return written.map((group, index) => normalizeGroup(group, index, config, machine.gpuCount))
}

function emptyGroup(name: string): ModelInstanceGroup {
  return { name, kind: 'KIND_AUTO', count: 0, gpus: [], secondary_devices: [], profile: [], passive: false, host_policy: '' }
}

function normalizeGroup(group: ModelInstanceGroup, index: number, config: ModelConfig, gpuCount: number): ModelInstanceGroup {
  const kind = group.kind === 'KIND_AUTO' ? automaticKind(group, gpuCount) : group.kind
  return {
    ...group,
    name: group.name === '' ? `${config.name}_${index}` : group.name,
    kind,
    count: group.count < 1 ? (kind === 'KIND_CPU' && TWO_CPU_INSTANCES.has(config.backend) ? 2 : 1) : group.count,
    gpus: kind === 'KIND_GPU' && group.gpus.length === 0 ? Array.from({ length: gpuCount }, (_none, gpu) => gpu) : group.gpus,
  }
}

function automaticKind(group: ModelInstanceGroup, gpuCount: number): InstanceGroupKind {
  return gpuCount > 0 && group.gpus.every((gpu) => gpu >= 0 && gpu < gpuCount) ? 'KIND_GPU' : 'KIND_CPU'
}

/** @param config with normalised groups, or with those written: their index is the same */
export function* instanceGroupProblems(config: ModelConfig, machine: { readonly gpuCount: number }): Generator<ConfigProblem> {
  let instances = 0
  for (const [index, group] of config.instance_group.entries()) {
    yield* groupProblems(group, index, config, machine.gpuCount)
    instances += group.count
    if (instances <= MAXIMUM_INSTANCES) continue
    yield {
      code: 'too-many-instances', path: ['instance_group', index, 'count'], facts: { instances, maximum: MAXIMUM_INSTANCES },
      text: `instance groups of model ${config.name} ask for ${instances} instances, at most ${MAXIMUM_INSTANCES} are possible`,
    }
    return
  }
}

function* groupProblems(group: ModelInstanceGroup, index: number, config: ModelConfig, gpuCount: number): Generator<ConfigProblem> {
  const prefix = `instance group ${group.name} of model ${config.name}`
  const path = ['instance_group', index]
  const { kind, gpus } = group
  const facts = { group: group.name, kind }
  switch (kind) {
    case 'KIND_MODEL':
    case 'KIND_CPU':
      if (gpus.length > 0) yield { code: 'gpus-without-gpu-kind', path: [...path, 'gpus'], text: `${prefix} has kind ${kind} but specifies one or more GPUs`, facts }
      break
    case 'KIND_GPU': {
      if (gpuCount === 0) { yield { code: 'gpu-kind-without-gpu', path: [...path, 'kind'], text: `${prefix} has kind KIND_GPU but server does not support GPUs`, facts }; break }
      const wrong = gpus.findIndex((gpu) => gpu < 0 || gpu >= gpuCount)
      if (wrong >= 0) {
        const list = Array.from({ length: gpuCount }, (_none, gpu) => gpu).join(', ')
        yield {
          code: 'unknown-gpu', path: [...path, 'gpus', wrong], facts: { ...facts, gpu: gpus[wrong] ?? 0, list },
          text: `${prefix} specifies invalid or unsupported gpu id ${gpus[wrong]}. GPUs with at least the minimum required CUDA compute compatibility of `
            + `${MINIMUM_COMPUTE_CAPABILITY} are: ${list}`,
        }
      }
      break
    }
    case 'KIND_AUTO':
    default: // an enum number that is no kind is kept by protobuf
      yield { code: 'unknown-instance-kind', path: [...path, 'kind'], kind: 'INTERNAL', text: `${prefix} has unexpected kind KIND_AUTO`, facts }
  }
  if (group.profile.length > 0 && config.platform !== 'tensorrt_plan') {
    yield {
      code: 'profile-without-tensorrt', path: [...path, 'profile'], facts,
      // The space is missing in Triton's text too.
      text: `${prefix} and platform ${config.platform}specifies profile field which is only supported for TensorRT models`,
    }
  }
}
