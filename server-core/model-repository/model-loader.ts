import { BATCH_STRATEGY_PATH, type BackendModel } from '../backends/backend.ts'
import type { BackendRegistry } from '../backends/backend-registry.ts'
import type { Clock } from '../clock.ts'
import type { ModelConfig } from '../contract/model-config.ts'
import type { LoadStageKind, ModelInstanceReport } from '../contract/repository.ts'
import { PYTHON_ENVIRONMENT_PARAMETER, PYTHON_INTERPRETER_PARAMETER } from '../contract/python-interpreters.ts'
import type { RepositoryCode } from '../contract/repository-trust.ts'
import type { LogHub } from '../logger.ts'
import { DEFAULT_METRICS_CONFIG, firstResponseBuckets, type MetricsConfig } from '../metrics/metrics-config.ts'
import { ModelStatistics } from '../metrics/model-statistics.ts'
import { checkExecutable } from '../model/executable-config.ts'
import { Model, type InstanceSteps } from '../model/model.ts'
import type { HostPolicies } from '../model/host-policy.ts'
import { isParallelLoadingAsked } from '../model/instance-groups.ts'
import type { ResponseCache } from '../model/response-cache.ts'
import { readSequenceStates } from '../model/sequence-inputs.ts'
import { readWarmUpSamples } from '../model/warm-up.ts'
import { firstInNameOrder, inferBackend } from '../model-config/infer-backend.ts'
import { readModelConfigJson } from '../model-config/json-config.ts'
import { normalizeInstanceGroups, normalizeModelConfig } from '../model-config/normalize.ts'
import { emptyModelConfig, readModelConfig } from '../model-config/read-config.ts'
import { validateModelConfig } from '../model-config/validate.ts'
import type { RateLimiter } from '../scheduling/rate-limiter.ts'
import type { FindEnsembleMember } from '../scheduling/ensemble-member.ts'
import { ServerError } from '../server-error.ts'
import { readConfigText } from './config-file.ts'
import { loadEnsemble } from './ensemble-loader.ts'
import { readLabelFiles } from './label-files.ts'
import type { StageInstance } from './load-progress.ts'
import type { ModelDirectory, VersionDirectory } from './model-directory.ts'
import { RepositoryNotTrusted, TRUSTS_ALL, type RepositoryTrust } from './repository-trust.ts'
import { cpuInstead, fallbackOf, refuseWhileOff, wantsNpu, withFallbackHint, withGroupHint, type NpuPolicy } from './npu-fallback.ts'

export interface ModelLoaderOptions {
  readonly registry: BackendRegistry
  readonly disableAutoComplete: boolean
  /** Shared by all models; null: `--rate-limit=off`. */
  readonly rateLimiter: RateLimiter | null
  readonly hostPolicies: HostPolicies
  readonly npu: NpuPolicy
  /** Whose code runs. Default: everybody's. */
  readonly trust?: RepositoryTrust
  /** Of the server; null or absent: none. */
  readonly responseCache?: ResponseCache | null
  /** `--metrics-config` */
  readonly metrics?: MetricsConfig
  readonly clock: Clock
  readonly logs: LogHub
}

export interface LoadVersionOptions {
  /** Aborted: the version is not wanted any more; what was made of it is freed. */
  readonly outdated?: AbortSignal
  readonly onStage: (kind: LoadStageKind, place?: StageInstance) => void
  readonly onInstancesChanged: () => void
  /** The model of an ensemble's step. */
  readonly findMember: FindEnsembleMember
}

/** Turns a model directory into running models: reads, completes and checks the config, then builds one `Model` a version. */
/** Parameters of a config that are paths of what runs. */
const CODE_PARAMETERS = [PYTHON_INTERPRETER_PARAMETER, PYTHON_ENVIRONMENT_PARAMETER, BATCH_STRATEGY_PATH] as const

export class ModelLoader {
  readonly #options: ModelLoaderOptions

  constructor(options: ModelLoaderOptions) { this.#options = options }

  /**
   * The config of a model directory, read and checked as far as that is possible without a backend (steps 1 to 6 of a load).
   * @param configJson replaces config.pbtxt where given
   */
  async readConfig(directory: ModelDirectory, configJson?: string): Promise<ModelConfig> {
    const given = await this.#readGivenConfig(directory, configJson)
    const named = given.name === '' ? { ...given, name: directory.name } : given
    const config = normalizeModelConfig(inferBackend(named, directory.name, firstInNameOrder(directory.versions)?.entries ?? []))
    validateModelConfig(config, { checkInputsAndOutputs: this.#options.disableAutoComplete })
    if (config.name !== directory.name) {
      throw new ServerError('INVALID_ARG', `unexpected directory name '${directory.name}' for model '${config.name}', directory name must equal model name`)
    }
    return config
  }

  /** What of a model would run as code, whichever of its versions is loaded; null: nothing, or nobody asks. */
  codeOf(directory: ModelDirectory, config: ModelConfig): RepositoryCode | null {
    if ((this.#options.trust ?? TRUSTS_ALL).report.mode === 'all') return null
    const codes = directory.versions.map((version) => this.#options.registry.codeOf(config, { modelDirectory: directory.path, versionDirectory: version.path }))
    return codes.find((code) => code !== null) ?? null
  }

  /** Builds and starts one version (step 7). @throws what the backend, the checks or an instance reported */
  async loadVersion(directory: ModelDirectory, config: ModelConfig, version: VersionDirectory, options: LoadVersionOptions): Promise<Model> {
    const { npu, registry, logs } = this.#options
    if (!wantsNpu(config)) return this.#load(directory, config, version, options)
    const fallback = fallbackOf(config, npu)
    try {
      refuseWhileOff(config, npu)
      return await this.#load(directory, config, version, options)
    } catch (error) {
      const cpu = options.outdated?.aborted === true ? null : cpuInstead(config, version.entries.map(({ name }) => name), error, registry.names.includes(config.backend))
      if (cpu === null) throw withGroupHint(config, error)
      if (fallback === 'fail') throw withFallbackHint(config, error)
      logs.logger('model-lifecycle').warning(`model '${config.name}' runs on the CPU: the NPU that it asks for is not to be had`, {
        model: config.name, version: version.version, reason: cpu.report.fallback_reason ?? '',
      })
      return this.#load(directory, cpu.config, version, options, cpu.report)
    }
  }

  /** @param report of its instances; what their backend says comes on top */
  async #load(directory: ModelDirectory, config: ModelConfig, version: VersionDirectory, options: LoadVersionOptions, report?: ModelInstanceReport): Promise<Model> {
    const { registry, clock, logs, disableAutoComplete } = this.#options
    const started = clock.now()
    checkExecutable(config)
    // Before anything of a backend: asking a model to complete its config runs its code as well.
    const allowInstance = () => this.#requireTrust(directory, config, version)
    await allowInstance()
    this.#warnOfMissingCache(config)
    if (config.ensemble_scheduling !== undefined) return loadEnsemble({ directory, config, version: String(version.version), ...options, ...this.#options })
    const backend = await registry.find(config.backend, { modelDirectory: directory.path, versionDirectory: version.path, runtime: config.runtime })
    const grouped = normalizeInstanceGroups(config, { gpuCount: 0 })
    options.onStage('initializingModel')
    const backendModel = await backend.initializeModel({
      backendConfig: registry.configOf(config.backend),
      log: logs.logger(`backend-${config.backend}`),
      modelName: directory.name,
      modelVersion: version.version,
      modelDirectory: directory.path,
      versionDirectory: version.path,
      config: grouped,
      autoComplete: !disableAutoComplete,
      writtenInstanceGroups: config.instance_group,
      ...(options.outdated === undefined ? {} : { outdated: options.outdated }),
    })
    let model: Model
    try {
      const completed = normalizeModelConfig(backendModel.config)
      validateModelConfig(completed, { checkInputsAndOutputs: true })
      checkExecutable(completed)
      this.#warnOfIdleBatchStrategy(completed, backendModel)
      const statistics = new ModelStatistics(directory.name, String(version.version), {
        metricTags: completed.metric_tags, metrics: this.#options.metrics ?? DEFAULT_METRICS_CONFIG, firstResponseBuckets: firstResponseBuckets(completed),
      })
      model = new Model({
        version: String(version.version), config: completed, backendModel, findMember: null, statistics, clock,
        labels: await readLabelFiles(completed, directory.path),
        warmUp: await readWarmUpSamples(completed, directory.path),
        sequenceStates: await readSequenceStates(completed, directory.path),
        rateLimiter: this.#options.rateLimiter,
        responseCache: this.#options.responseCache ?? null,
        hostPolicies: this.#options.hostPolicies,
        ...(report === undefined ? {} : { report }),
        createsInstancesInParallel: (backendModel.createsInstancesInParallel ?? backend.createsInstancesInParallel) === true || isParallelLoadingAsked(),
        log: logs.logger('model-instance'),
        allowInstance,
        onInstancesChanged: options.onInstancesChanged,
      })
    } catch (error) {
      await backendModel.finalize()
      throw error
    }
    await model.start(options)
    model.statistics.loadDurationSeconds = (clock.now() - started) / 1e9
    return model
  }

  /**
   * Brings a running version to the instances of a config that differs in nothing else (but the version policy).
   * @throws what the check of the groups or a new instance reported; then the version runs on as it was
   */
  async updateInstances(model: Model, config: ModelConfig, steps: InstanceSteps): Promise<void> {
    const { instance_group } = normalizeInstanceGroups(config, { gpuCount: 0 })
    await model.updateInstances(instance_group, config.version_policy, steps)
  }

  /** Asked at each start of an instance as well: until then a link may lead elsewhere. @throws RepositoryNotTrusted */
  async #requireTrust(directory: ModelDirectory, config: ModelConfig, version: VersionDirectory): Promise<void> {
    const { registry, trust = TRUSTS_ALL } = this.#options
    if (trust.report.mode === 'all') return
    const code = registry.codeOf(config, { modelDirectory: directory.path, versionDirectory: version.path })
    if (code === null) return
    // Files of a load request lie in a folder of their own, which is no repository.
    if (directory.repositoryPath === directory.path || await this.#namesOtherCode(directory, config)) throw new RepositoryNotTrusted(directory.name, code, null)
    const untrusted = await trust.untrustedPath(directory.repositoryPath)
    if (untrusted !== null) throw new RepositoryNotTrusted(directory.name, code, untrusted)
  }

  /** Does the config that came with a load request name a program or library which that of the repository does not? */
  async #namesOtherCode(directory: ModelDirectory, config: ModelConfig): Promise<boolean> {
    const named = (of: ModelConfig) => CODE_PARAMETERS.map((name) => of.parameters[name]?.string_value ?? '')
    const wanted = named(config)
    if (wanted.every((value) => value === '')) return false
    // One that cannot be read names nothing.
    const own = named(await this.#readGivenConfig(directory, undefined).catch(() => emptyModelConfig()))
    return wanted.some((value, index) => value !== '' && value !== own[index])
  }

  /** Backends that are no libraries have nothing that a batching library could be told of. */
  #warnOfIdleBatchStrategy(config: ModelConfig, { batchStrategy }: BackendModel): void {
    if (!Object.hasOwn(config.parameters, BATCH_STRATEGY_PATH) || batchStrategy) return
    this.#options.logs.logger('model-lifecycle').warning(
      `model '${config.name}' has the parameter ${BATCH_STRATEGY_PATH} to no effect: it takes dynamic_batching and a backend that is a library`, { backend: config.backend },
    )
  }

  /** Both the server and the model must want the cache; Triton says nothing where only the model does. */
  #warnOfMissingCache(config: ModelConfig): void {
    if (config.response_cache?.enable !== true || this.#options.responseCache !== null) return
    this.#options.logs.logger('model-lifecycle').warning(
      `model '${config.name}' enables response_cache, but the server has no response cache: its responses are not cached. Start the server with --cache-config=local,size=<bytes>`,
      { model: config.name },
    )
  }

  async #readGivenConfig(directory: ModelDirectory, configJson: string | undefined): Promise<ModelConfig> {
    if (configJson !== undefined) return readModelConfigJson(configJson)
    if (directory.configPath !== null) return readModelConfig(await readConfigText(directory.configPath), directory.configPath)
    if (this.#options.disableAutoComplete) {
      throw new ServerError('INTERNAL', `failed to open text file for read ${directory.path}/config.pbtxt: No such file or directory`)
    }
    return emptyModelConfig()
  }
}
