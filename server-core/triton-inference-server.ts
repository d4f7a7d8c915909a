import type { BackendRegistry } from './backends/backend-registry.ts'
import type { Clock } from './clock.ts'
import type { EnsembleGraph } from './contract/ensemble.ts'
import type { InferenceRequest, ModelMetadata, ServerMetadata } from './contract/inference.ts'
import type { ModelConfig } from './contract/model-config.ts'
import type { ModelControlMode, ModelIndexEntry, ModelSummary, TrafficSplit, TrafficSplitSettings } from './contract/repository.ts'
import type { RepositoryTrustReport } from './contract/repository-trust.ts'
import type { ModelStatisticsEntry, NpuSample, ServerSample } from './contract/statistics.ts'
import type {
  InferenceCall, InferenceOptions, InferenceResult, InferenceServer, InferenceServerListener, InferenceStreamHandlers, LoadParameters, ModelMetricsSnapshot,
} from './inference-server.ts'
import type { LogHub, Logger } from './logger.ts'
import type { ModelStatistics } from './metrics/model-statistics.ts'
import { ServerSampler } from './metrics/server-sampler.ts'
import type { Model } from './model/model.ts'
import { ResponseCache } from './model/response-cache.ts'
import { ExitCountdown } from './model-repository/exit-countdown.ts'
import { ModelLifecycle } from './model-repository/model-lifecycle.ts'
import { ModelLoader } from './model-repository/model-loader.ts'
import { findModel } from './model-repository/model-lookup.ts'
import { requestedModelName } from './model-repository/model-name.ts'
import { indexEntries, sortedVersions, summaryOf, trafficOf, trafficShareOf, UNLOADED_REASON, type ModelRecord } from './model-repository/model-record.ts'
import { ModelRepository } from './model-repository/model-repository.ts'
import { TRUSTS_ALL, type RepositoryTrust } from './model-repository/repository-trust.ts'
import { RepositoryPoller } from './model-repository/repository-poller.ts'
import { Semaphore } from './model-repository/semaphore.ts'
import { responseCacheByteSize, type ServerOptions } from './options.ts'
import { RateLimiter } from './scheduling/rate-limiter.ts'
import { ServerError, toServerError } from './server-error.ts'

export interface TritonInferenceServerOptions {
  readonly options: ServerOptions
  readonly registry: BackendRegistry
  readonly clock: Clock
  readonly logs: LogHub
  /** Whose code runs. Default: everybody's. */
  readonly trust?: RepositoryTrust
  /** The cards as they are known now, for the samples; null, or absent: no NPU found. */
  readonly npus?: () => readonly NpuSample[] | null
}

/** The Triton release whose protocol and behaviour this server follows; clients read it from the server metadata. */
export const TRITON_VERSION = '2.73.0'

/** Extensions this server really has, in Triton's order and spelling. */
const EXTENSIONS = [
  'classification', 'sequence', 'model_repository', 'model_repository(unload_dependents)', 'schedule_policy', 'model_configuration',
  'system_shared_memory', 'cuda_shared_memory', 'binary_tensor_data', 'parameters', 'statistics', 'trace', 'logging',
] as const

const NO_OPTIONS: InferenceOptions = {}

/** The inference server: one method per verb over the repository, the loaded models and their statistics. Knows no front end. */
export class TritonInferenceServer implements InferenceServer {
  readonly controlMode: ModelControlMode
  readonly #options: ServerOptions
  readonly #registry: BackendRegistry
  readonly #clock: Clock
  readonly #log: Logger
  readonly #repositoryLog: Logger
  readonly #trust: RepositoryTrust
  readonly #lifecycle: ModelLifecycle
  /** One repository is opened at a time, in the order in which they were asked for, however long the disk takes to find each. */
  readonly #openings = new Semaphore(1)
  readonly #sampler: ServerSampler
  readonly #poller: RepositoryPoller
  readonly #listeners = new Set<InferenceServerListener>()
  /** Counters of unloaded versions: their failure series stay on the metrics page. */
  readonly #formerStatistics = new Map<string, ModelStatistics>()
  #state: InferenceServer['state'] = 'STARTING'
  #stopped: Promise<void> | null = null

  constructor({ options, registry, clock, logs, npus, trust = TRUSTS_ALL }: TritonInferenceServerOptions) {
    this.controlMode = options.modelControlMode
    this.#options = options
    this.#registry = registry
    registry.attach(this)
    this.#trust = trust
    this.#clock = clock
    this.#log = logs.logger('server')
    this.#repositoryLog = logs.logger('model-repository')
    this.#sampler = new ServerSampler({
      clock, onSample: (sample) => { this.#notify((listener) => listener.sampled?.(sample)) }, ...(npus === undefined ? {} : { npus }),
    })
    const cacheByteSize = responseCacheByteSize(options)
    this.#lifecycle = new ModelLifecycle({
      repository: new ModelRepository(options.modelRepositories, this.#repositoryLog, options.modelConfigName),
      loader: new ModelLoader({
        registry, trust, disableAutoComplete: options.disableAutoCompleteConfig, hostPolicies: options.hostPolicies, metrics: options.metricsConfig, npu: { source: options.npu, fallback: options.npuFallback }, clock, logs,
        responseCache: cacheByteSize === 0 ? null : new ResponseCache(cacheByteSize),
        rateLimiter: options.rateLimit === 'off' ? null : new RateLimiter(options.rateLimitResources),
      }),
      trust,
      loadThreadCount: options.modelLoadThreadCount,
      loadRetryCount: options.modelLoadRetryCount,
      clock,
      log: logs.logger('model-lifecycle'),
      onChanged: (record) => { this.#notify((listener) => listener.modelChanged?.(summaryOf(record))) },
      onRemoved: (name) => { this.#notify((listener) => listener.modelRemoved?.(name)) },
      onModelStarted: (model) => { this.#modelStarted(model) },
      onModelStopped: (model) => { this.#modelStopped(model) },
    })
    this.#poller = new RepositoryPoller({
      lifecycle: this.#lifecycle, clock, log: this.#repositoryLog, periodSeconds: options.repositoryPollSeconds,
    })
  }

  get repositoryPaths(): readonly string[] { return this.#lifecycle.repository.paths }
  get state(): InferenceServer['state'] { return this.#state }

  /**
   * Looks at the repositories and loads what the control mode says.
   * @throws ServerError INTERNAL `failed to load all models` when a model that was to be loaded is not ready
   */
  async start(): Promise<void> {
    await this.#lifecycle.repository.check()
    await this.#lifecycle.rescan()
    if (this.#isExiting()) return
    this.#sampler.start()
    const failures = await this.#loadStartupModels()
    // Stopped meanwhile: it stays so.
    if (this.#isExiting()) return
    this.#setState('READY')
    if (this.controlMode === 'poll') this.#poller.start()
    if (failures > 0) throw new ServerError('INTERNAL', 'failed to load all models')
  }

  isLive(): boolean { return this.#state !== 'STARTING' }

  isReady(): boolean {
    if (this.#state !== 'READY') return false
    if (!this.#options.strictReadiness) return true
    for (const record of this.#lifecycle.records.values()) {
      for (const { state, reason, model } of record.versions.values()) {
        if (state === 'READY' ? model?.isServing === false : state !== 'UNAVAILABLE' || reason !== UNLOADED_REASON) return false
      }
    }
    return true
  }

  isModelReady(name: string, version: string): boolean {
    this.#requireRunning()
    return this.#find(name, version).isServing
  }

  async askReady(): Promise<boolean> {
    if (!this.isReady()) return false
    if (!this.#options.strictReadiness) return true
    const models = [...this.#lifecycle.records.values()].flatMap(({ versions }) => [...versions.values()].flatMap(({ state, model }) => (state === 'READY' && model !== null ? [model] : [])))
    const answers = await Promise.all(models.map((model) => model.askReady()))
    return this.isReady() && answers.every((isReady) => isReady)
  }

  async askModelReady(name: string, version: string): Promise<boolean> {
    this.#requireRunning()
    return this.#find(name, version).askReady()
  }

  serverMetadata(): ServerMetadata {
    return { name: this.#options.id, version: TRITON_VERSION, extensions: EXTENSIONS }
  }

  modelMetadata(name: string, version: string): ModelMetadata {
    this.#requireRunning()
    const model = this.#find(name, version)
    return model.metadata(version === '' ? this.#readyVersions(name) : [model.version])
  }

  modelConfig(name: string, version: string): ModelConfig {
    this.#requireRunning()
    return this.#find(name, version).config
  }

  modelStatistics(name: string, version: string): readonly ModelStatisticsEntry[] {
    this.#requireRunning()
    const records = name === '' ? [...this.#lifecycle.records.values()] : this.#recordWithReady(name)
    const entries = records.flatMap((record) => sortedVersions(record)
      .filter(([candidate, entry]) => entry.state === 'READY' && (version === '' || candidate === version))
      .flatMap(([candidate, { model }]) => {
        const share = trafficShareOf(record, candidate)
        return model === null ? [] : [{ ...model.statistics.entry(), ...(share === null ? {} : { traffic: share }) }]
      }))
    if (name !== '' && version !== '' && entries.length === 0) {
      throw new ServerError('INVALID_ARG', `requested model version is not available for model '${name}'`)
    }
    return entries
  }

  modelMetrics(): readonly ModelMetricsSnapshot[] {
    const loaded = [...this.#lifecycle.records.values()].flatMap((record) => sortedVersions(record).flatMap(([, { model }]) => (model === null ? [] : [model])))
    const keys = new Set(loaded.map((model) => statisticsKey(model.statistics)))
    return [
      ...loaded.map((model) => model.statistics.metrics(true)),
      ...[...this.#formerStatistics].filter(([key]) => !keys.has(key)).map(([, statistics]) => statistics.metrics(false)),
    ]
  }

  repositoryIndex(readyOnly: boolean): readonly ModelIndexEntry[] {
    this.#requireRunning()
    return this.#sortedRecords().flatMap((record) => indexEntries(record, readyOnly))
  }

  async loadModel(name: string, parameters: LoadParameters = {}): Promise<void> {
    const model = this.#controlledModel(name)
    await this.#lifecycle.load(model, parameters)
  }

  async unloadModel(name: string, unloadDependents = false): Promise<void> {
    const model = this.#controlledModel(name)
    await this.#lifecycle.unload(model, unloadDependents)
  }

  isDecoupled(name: string, version: string): boolean {
    return this.#find(name, version).config.model_transaction_policy?.decoupled === true
  }

  ensembleGraph(name: string, version: string): EnsembleGraph {
    this.#requireRunning()
    const graph = this.#find(name, version).ensembleGraph()
    if (graph === null) throw new ServerError('INVALID_ARG', `model '${name}' is not an ensemble: it has no steps`)
    return graph
  }

  labels(name: string, version: string, output: string): readonly string[] | undefined {
    return this.#find(name, version).labels.get(output)
  }

  infer(request: InferenceRequest, options: InferenceOptions = NO_OPTIONS): Promise<InferenceResult> {
    const requestStart = this.#clock.now()
    if (this.#state === 'STARTING') return Promise.reject(new ServerError('UNAVAILABLE', 'Server not ready'))
    try {
      return this.#lifecycle.modelFor(request).infer(request, requestStart, options)
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)))
    }
  }

  inferStream(request: InferenceRequest, handlers: InferenceStreamHandlers): InferenceCall {
    const requestStart = this.#clock.now()
    if (this.#state === 'STARTING') throw new ServerError('UNAVAILABLE', 'Server not ready')
    return this.#lifecycle.modelFor(request).submit(request, requestStart, handlers)
  }

  setTrafficSplit(name: string, split: TrafficSplitSettings | null): void {
    this.#requireRunning()
    this.#lifecycle.setTrafficSplit(name, split)
  }

  trafficSplit(name: string): TrafficSplit | null {
    this.#requireRunning()
    this.#find(name, '')
    const record = this.#lifecycle.records.get(name)
    return record === undefined ? null : trafficOf(record)
  }

  modelSummaries(): readonly ModelSummary[] { return this.#sortedRecords().map((record) => summaryOf(record)) }

  modelDirectory(name: string): string {
    const record = this.#lifecycle.records.get(name)
    if (record?.entry?.kind === 'model') return record.entry.directory.path
    throw new ServerError('NOT_FOUND', `model '${name}' has no directory in the model repository`)
  }

  async rescan(): Promise<void> { await this.#lifecycle.rescan() }

  async replaceRepository(path: string): Promise<void> {
    if (this.controlMode !== 'explicit') {
      throw new ServerError('UNAVAILABLE', 'another repository can only be opened in explicit mode. Start the server with --model-control-mode=explicit')
    }
    const repository = new ModelRepository([path], this.#repositoryLog, this.#options.modelConfigName)
    await this.#openings.run(async () => {
      await repository.check()
      await this.#lifecycle.replaceRepository(repository)
    })
    this.#notify((listener) => listener.statusChanged?.())
  }

  get repositoryTrust(): RepositoryTrustReport { return this.#trust.report }

  untrustedPath(repositoryPath: string): Promise<string | null> { return this.#trust.untrustedPath(repositoryPath) }

  async trustRepository(path: string): Promise<void> {
    await this.#trust.trust(path)
    await this.#applyTrust()
  }

  async revokeTrust(path: string): Promise<void> {
    await this.#trust.revoke(path)
    await this.#applyTrust()
  }

  async #applyTrust(): Promise<void> {
    this.#notify((listener) => listener.statusChanged?.())
    await this.#lifecycle.applyTrust()
  }

  sampleHistory(seconds: number): readonly ServerSample[] { return this.#sampler.history(seconds) }

  subscribe(listener: InferenceServerListener): () => void {
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }

  /** Tells listeners that the server's status changed in a way only its owner knows (a front end opened). */
  announceStatus(): void { this.#notify((listener) => listener.statusChanged?.()) }

  /** Cards answer again: instances that wait for one of them are tried at once. @param isBack whether a device, as backends number it, is one of them */
  cardsAnswer(isBack: (device: number) => boolean): void {
    for (const { versions } of this.#lifecycle.records.values()) {
      for (const { model } of versions.values()) model?.cardsAnswer(isBack)
    }
  }

  /** Ends every load that did not finish; whoever asked for it is told that it is out-dated. */
  interruptLoads(): void { this.#lifecycle.interruptLoads() }

  stop(timeoutSeconds: number): Promise<void> {
    this.#stopped ??= this.#stop(timeoutSeconds)
    return this.#stopped
  }

  async #stop(timeoutSeconds: number): Promise<void> {
    this.#setState('EXITING')
    this.#log.info('Waiting for in-flight requests to complete.')
    // Together: a look at the repositories waits for the loads that it began, and those end here.
    const freed = Promise.all([this.#poller.stop(), this.#lifecycle.unloadAll()]).then(() => this.#registry.finalize())
    const countdown = new ExitCountdown({ lifecycle: this.#lifecycle, clock: this.#clock, log: this.#log, timeoutSeconds })
    try {
      await Promise.race([freed, countdown.expired])
      countdown.logEnd()
    } finally {
      countdown.cancel()
      this.#sampler.stop()
    }
  }

  async #loadStartupModels(): Promise<number> {
    const all = this.#sortedRecords().map((record) => record.name)
    const names = this.controlMode !== 'explicit' ? all : this.#options.loadModels.includes('*') ? all : [...new Set(this.#options.loadModels)]
    const results = await this.#lifecycle.loadMany(names.map((name) => requestedModelName(name)))
    // What waits for somebody in the console is no reason to have no console.
    return results.filter((result, index) => result.status === 'rejected' && !this.#lifecycle.awaitsTrust(requestedModelName(names[index] ?? ''))).length
  }

  #find(name: string, version: string): Model { return findModel(this.#lifecycle.records, name, version) }

  #sortedRecords(): ModelRecord[] {
    return [...this.#lifecycle.records.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  #readyVersions(name: string): string[] {
    const record = this.#lifecycle.records.get(name)
    return record === undefined ? [] : sortedVersions(record).filter(([, entry]) => entry.state === 'READY').map(([version]) => version)
  }

  #recordWithReady(name: string): ModelRecord[] {
    const record = this.#lifecycle.records.get(name)
    if (record === undefined || this.#readyVersions(name).length === 0) throw new ServerError('INVALID_ARG', `requested model '${name}' is not available`)
    return [record]
  }

  #controlledModel(name: string): string {
    if (this.controlMode !== 'explicit') throw new ServerError('UNAVAILABLE', 'explicit model load / unload is not allowed if polling is enabled')
    this.#requireRunning()
    return requestedModelName(name)
  }

  #requireRunning(): void {
    if (this.#state === 'EXITING') throw new ServerError('UNAVAILABLE', 'Server exiting')
    if (this.#state === 'STARTING') throw new ServerError('UNAVAILABLE', 'Server not ready')
  }

  #modelStarted(model: Model): void {
    this.#formerStatistics.delete(statisticsKey(model.statistics))
    this.#sampler.add(model.statistics)
  }

  #modelStopped(model: Model): void {
    this.#sampler.remove(model.statistics)
    this.#formerStatistics.set(statisticsKey(model.statistics), model.statistics)
  }

  #isExiting(): boolean { return this.#state === 'EXITING' }

  #setState(state: InferenceServer['state']): void {
    this.#state = state
    this.#notify((listener) => listener.statusChanged?.())
  }

  #notify(call: (listener: InferenceServerListener) => void): void {
    for (const listener of this.#listeners) {
      try {
        call(listener)
      } catch (error) {
        this.#log.error('a listener of the server failed', { error: toServerError(error).message })
      }
    }
  }
}

function statisticsKey({ model, version }: ModelStatistics): string {
  return `${model}/${version}`
}
