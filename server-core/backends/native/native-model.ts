import type { ModelConfig, ModelInstanceGroup } from '../../contract/model-config.ts'
import type { MemoryUsage } from '../../contract/statistics.ts'
import { printModelConfigJson, readModelConfigJson } from '../../model-config/json-config.ts'
import { processorsOf } from '../../model/host-policy.ts'
import { ServerError } from '../../server-error.ts'
import { BATCH_STRATEGY_PATH, type BackendInstanceContext, type BackendModel, type BackendModelContext, type BackendModelInstance, type BatchStrategy } from '../backend.ts'
import { clientShapeOf } from '../client-shape.ts'
import { NativeBatchStrategy } from './native-batch-strategy.ts'
import type { MemoryUsageEvent } from './host-events.ts'
import type { NativeHost, NativeModelListener } from './native-host.ts'
import { NativeInstance } from './native-instance.ts'

/** TRITONSERVER_InstanceGroupKind, whose numbers are not those of the config. */
const KINDS = { KIND_CPU: 1, KIND_GPU: 2, KIND_MODEL: 3 } as const
const MEMORY_TYPES = ['CPU', 'CPU_PINNED', 'GPU']
/** How long a new instance waits for the backend to let go of the dead one that it replaces. */
const LET_GO_MILLISECONDS = 30_000

/** What a backend says about itself when a model is initialized. */
interface BackendFacts {
  readonly preferred_groups: readonly { readonly kind: string; readonly count: number; readonly gpus: readonly number[] }[]
  readonly parallel_model_instance_loading: boolean
}

/** A model version that a backend library serves. */
export class NativeModel implements BackendModel, NativeModelListener {
  readonly name: string
  readonly backend: string
  readonly followsHostPolicy = true
  readonly copiesInputs = true
  readonly answersLater: boolean
  createsInstancesInParallel = false
  batchStrategy: BatchStrategy | null = null
  readonly #host: NativeHost
  readonly #token: number
  readonly #context: BackendModelContext
  #config: ModelConfig
  /** By token of the instance; 0: the model's own. */
  readonly #memory = new Map<number, readonly MemoryUsage[]>()
  /** Instances that leave, by name. */
  readonly #leaving = new Map<string, Promise<void>>()

  /**
   * @param backendConfig JSON, as TRITONBACKEND_BackendConfig answers it
   * @throws ServerError with the backend's or the loader's reason
   */
  static async initialize(host: NativeHost, backend: string, context: BackendModelContext, backendConfig: string): Promise<NativeModel> {
    const model = new NativeModel(host, backend, context)
    const { config } = context
    const given = printModelConfigJson(config)
    const initialized = await host.loadModel({
      token: model.#token, name: context.modelName, version: context.modelVersion, directory: context.modelDirectory, backend,
      library: config.runtime === '' || context.takesOwnLibrary === true ? null : config.runtime, config: given, backendConfig, autoComplete: context.autoComplete,
      mayReschedule: config.sequence_batching?.iterative_sequence === true,
      outputs: config.output.map(({ name }) => name), states: config.sequence_batching?.state.map((state) => state.output_name) ?? [],
    }, model)
    model.createsInstancesInParallel = (JSON.parse(initialized.facts) as BackendFacts).parallel_model_instance_loading
    try {
      if (initialized.config !== given) model.#config = model.#configOf(initialized.config)
      await model.#openBatcher()
    } catch (error) {
      await host.unloadModel(model.#token)
      throw error
    }
    return model
  }

  private constructor(host: NativeHost, backend: string, context: BackendModelContext) {
    this.#host = host
    this.#context = context
    this.#token = host.nextToken()
    this.#config = context.config
    this.name = context.modelName
    this.backend = backend
    // The next request of a sequence must not overtake an answer.
    this.answersLater = context.config.sequence_batching === undefined
  }

  get config(): ModelConfig { return this.#config }
  get memoryUsage(): readonly MemoryUsage[] { return [...this.#memory.values()].flat() }

  memoryUsed({ instance, usages }: MemoryUsageEvent): void {
    this.#memory.set(instance, usages.map(({ memoryType, id, byteSize }) => ({ type: MEMORY_TYPES[memoryType] ?? 'CPU', id, byte_size: byteSize })))
  }

  instanceGroups(configJson: string, backendFacts: string): string {
    const { preferred_groups: preferred } = JSON.parse(backendFacts) as BackendFacts
    const groups = withPreferredGroups(this.#context.config.instance_group, this.#context.writtenInstanceGroups ?? [], preferred)
    return groups === null ? configJson : printModelConfigJson({ ...this.#context.config, instance_group: groups })
  }

  async initializeInstance(context: BackendInstanceContext): Promise<BackendModelInstance> {
    const { name, kind, deviceId, isPassive = false, hostPolicy, profiles = [], secondaryDevices = [] } = context
    await this.#waitForLeaving(name)
    const token = this.#host.nextToken()
    const { sequence_batching: sequences, model_transaction_policy: policy } = this.#config
    const instance = new NativeInstance({
      host: this.#host, token, name, isDecoupled: policy?.decoupled === true, hasSequences: sequences !== undefined, countExecution: context.countExecution,
      clientShape: (output, shape) => clientShapeOf(this.#config, output, shape),
      finalized: (end) => { this.#leaves(name, token, end) },
    })
    const processors = hostPolicy?.cpuList === null || hostPolicy === undefined ? [] : [...processorsOf(hostPolicy.cpuList)]
    const report = await this.#host.addInstance({
      token, model: this.#token, name, kind: KINDS[kind], deviceId, isPassive, processors, profiles, hostPolicyName: hostPolicy?.name ?? '',
      hostPolicy: JSON.stringify(hostPolicy === undefined ? {} : { [hostPolicy.name]: hostPolicy.cpuList === null ? {} : { 'cpu-cores': hostPolicy.cpuList } }),
      secondaryKinds: secondaryDevices.map((device) => device.kind), secondaryIds: secondaryDevices.map((device) => device.device_id),
    }, instance)
    instance.readReport(report)
    return instance
  }

  async finalize(): Promise<void> { await this.#host.unloadModel(this.#token) }

  #configOf(json: string): ModelConfig {
    try {
      return readModelConfigJson(json)
    } catch (error) {
      throw new ServerError('INVALID_ARG', `backend '${this.backend}' gave model '${this.name}' a config that is none: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    }
  }

  /** Only the dynamic batcher asks one. */
  async #openBatcher(): Promise<void> {
    const { dynamic_batching: batching, parameters } = this.#config
    if (batching === undefined) return
    const path = parameters[BATCH_STRATEGY_PATH]?.string_value ?? ''
    const library = await this.#host.openBatcher(this.#token, path === '' ? null : path)
    if (library === null) return
    this.#context.log.info('a batching library says which requests join a batch', { model: this.name, library })
    this.batchStrategy = new NativeBatchStrategy(this.#host, this.#token, this.#context.log)
  }

  #leaves(name: string, token: number, end: Promise<void>): void {
    const left = end.catch(() => {}).then(() => {
      this.#memory.delete(token)
      if (this.#leaving.get(name) === left) this.#leaving.delete(name)
    })
    this.#leaving.set(name, left)
  }

  /** Two instances of one place would share what there is one of, a card for instance. @throws ServerError UNAVAILABLE */
  async #waitForLeaving(name: string): Promise<void> {
    const leaving = this.#leaving.get(name)
    if (leaving === undefined) return
    let timer: NodeJS.Timeout | undefined
    const tooLong = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(new ServerError('UNAVAILABLE', `backend '${this.backend}' has not let go of the dead instance '${name}' of model '${this.name}' for ${LET_GO_MILLISECONDS / 1000} s: `
          + 'it still holds requests or its ModelInstanceFinalize does not return'))
      }, LET_GO_MILLISECONDS)
    })
    await Promise.race([leaving, tooLong]).finally(() => { clearTimeout(timer) })
  }
}

/**
 * As Triton takes them: where the config has no group, the first that the backend prefers and this machine has; where a group leaves its kind to the
 * server, the kind of that one. Null: nothing changes. Groups on GPUs are none of this machine's.
 */
export function withPreferredGroups(
  normalised: readonly ModelInstanceGroup[], written: readonly ModelInstanceGroup[], preferred: BackendFacts['preferred_groups'],
): ModelInstanceGroup[] | null {
  const first = preferred.find(({ kind }) => kind === 'KIND_CPU' || kind === 'KIND_MODEL')
  if (first === undefined) return null
  const kind = first.kind as ModelInstanceGroup['kind']
  if (written.length === 0) return normalised.map((group) => ({ ...group, kind, count: Math.max(1, first.count) }))
  if (!written.some((group) => group.kind === 'KIND_AUTO')) return null
  return normalised.map((group, index) => {
    const asked = written[index]
    return asked?.kind === 'KIND_AUTO' ? { ...group, kind, count: asked.count < 1 ? Math.max(1, first.count) : asked.count } : group
  })
}
