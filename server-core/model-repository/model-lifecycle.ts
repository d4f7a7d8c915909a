import type { Clock } from '../clock.ts'
import { ERROR_KINDS } from '../contract/errors.ts'
import type { InferenceRequest } from '../contract/inference.ts'
import type { ModelConfig } from '../contract/model-config.ts'
import type { LoadStageKind, ModelLoadReport, TrafficSplitSettings } from '../contract/repository.ts'
import type { LoadParameters } from '../inference-server.ts'
import type { Logger } from '../logger.ts'
import type { Model } from '../model/model.ts'
import { readModelConfigJson } from '../model-config/json-config.ts'
import { ServerError, toServerError } from '../server-error.ts'
import { EnsembleDependencies, memberNames } from './ensemble-dependencies.ts'
import { LoadProgress, type StageInstance } from './load-progress.ts'
import { openLoadSource, type LoadSource } from './load-source.ts'
import type { ModelDirectory, VersionDirectory } from './model-directory.ts'
import { findModel } from './model-lookup.ts'
import type { ModelLoader } from './model-loader.ts'
import { ModelOperations, type ModelOperation } from './model-operations.ts'
import {
  baseVersionOf, createRecord, directoryOf, highestReady, trafficOf, UNLOADED_REASON, type LoadedSource, type ModelRecord, type VersionRecord,
} from './model-record.ts'
import type { ModelRepository, RepositoryEntry } from './model-repository.ts'
import { isUnchanged, keptModel } from './reload-rules.ts'
import { notTrustedText, RepositoryNotTrusted, type RepositoryTrust } from './repository-trust.ts'
import { TrafficRouter } from './traffic-router.ts'
import { Semaphore } from './semaphore.ts'
import { chooseVersions } from './version-policy.ts'

export interface ModelLifecycleOptions {
  readonly repository: ModelRepository
  readonly loader: ModelLoader
  readonly trust: RepositoryTrust
  readonly loadThreadCount: number
  /** How often a version that fails is tried again. */
  readonly loadRetryCount: number
  readonly clock: Clock
  readonly log: Logger
  readonly onChanged: (record: ModelRecord) => void
  readonly onRemoved: (name: string) => void
  /** A version serves from now on, or does not any more. */
  readonly onModelStarted: (model: Model) => void
  readonly onModelStopped: (model: Model) => void
}

/** One load of a model on its way. */
interface Load {
  readonly record: ModelRecord
  readonly source: LoadSource
  readonly config: ModelConfig
  readonly parameters: LoadParameters
  readonly operation: ModelOperation
  readonly progress: LoadProgress
}

const OUTDATED = 'Newer operation has been applied to the model lifecycle, current load operation is out-dated.'

/**
 * The states of all models and the operations that change them. Operations of one model run one after another; a failed load leaves
 * what served before as it was, with the reason beside it; new versions are built beside the old ones and swapped in together.
 */
export class ModelLifecycle {
  readonly records = new Map<string, ModelRecord>()
  #repository: ModelRepository
  readonly #options: ModelLifecycleOptions
  readonly #operations = new ModelOperations()
  readonly #loadSlots: Semaphore
  readonly #ensembles: EnsembleDependencies
  /** One scan at a time: the last one asked for says what there is. */
  readonly #scans = new Semaphore(1)
  #looks = 0
  readonly #stopping = new Set<Promise<void>>()
  /** Loads that go on, those included that nobody waits for any more: each ends in a model or frees what it made. */
  readonly #unfinished = new Set<Promise<void>>()
  #buildingCount = 0
  #isClosed = false
  /** Models that answer their last requests. */
  readonly #leaving = new Set<Model>()

  constructor(options: ModelLifecycleOptions) {
    this.#options = options
    this.#repository = options.repository
    this.#loadSlots = new Semaphore(options.loadThreadCount)
    this.#ensembles = new EnsembleDependencies({
      records: this.records,
      log: options.log,
      look: async (name) => { await this.#look(name) },
      membersOfOverride: (name, parameters) => this.#membersOfOverride(name, parameters),
      loadOne: (name, parameters, isStale) => this.#loadOne(name, parameters, isStale),
      unloadOne: (name) => this.#operations.run(name, 'unload', true, async () => { this.#unload(name) }),
      onInvalid: (name, reason) => {
        const record = this.records.get(name)
        if (record === undefined) return
        record.pollError = reason
        options.log.error(reason, { model: name })
        this.#changed(record)
      },
    })
  }

  get repository(): ModelRepository { return this.#repository }

  /** Looks at the disk: new directories appear, vanished ones without a loaded version disappear. */
  async rescan(): Promise<readonly RepositoryEntry[]> { return this.#scans.run(() => this.#scan()) }

  async #scan(): Promise<readonly RepositoryEntry[]> {
    const look = ++this.#looks
    const entries = await this.#repository.scan()
    const names = new Set<string>()
    for (const entry of entries) {
      const name = entry.kind === 'model' ? entry.directory.name : entry.name
      names.add(name)
      await this.#setEntry(this.#record(name), entry, look)
    }
    for (const record of this.records.values()) {
      if (names.has(record.name) || record.look > look) continue
      const isNews = record.entry !== null
      record.entry = null
      record.look = look
      if ([...record.versions.values()].every((version) => version.model === null && version.state === 'UNAVAILABLE') && record.load === null) this.#forget(record)
      else if (isNews) this.#changed(record)
    }
    return entries
  }

  /**
   * Loads or reloads a model, before it what the steps of an ensemble name, after it the ensembles that name it. An unmodified model that is READY
   * stays as it is.
   * @throws ServerError INTERNAL when no version could be tried, INVALID_ARG with a line per failed version
   */
  async load(name: string, parameters: LoadParameters = {}): Promise<void> { await this.#ensembles.load(name, parameters) }

  /** Loads many models after a scan, each after what its steps name. @returns one result a name */
  async loadMany(names: readonly string[]): Promise<PromiseSettledResult<void>[]> { return this.#ensembles.loadMany(names) }

  async #loadOne(name: string, parameters: LoadParameters, isStale: () => boolean): Promise<void> {
    if (this.#isClosed) throw new ServerError('UNAVAILABLE', 'Server exiting')
    const isOverride = parameters.config !== undefined || (parameters.files?.size ?? 0) > 0
    await this.#operations.run(name, 'load', isOverride, (operation) => this.#load(name, parameters, operation, isStale))
  }

  /**
   * Begins to unload a model; resolves when its versions take no more requests. Ensembles that need it leave first.
   * @param withMembers also the models that only this ensemble needed
   */
  async unload(name: string, withMembers = false): Promise<void> { await this.#ensembles.unload(name, withMembers) }

  /** Brings all models to what is trusted now: those that run code that is not any more leave, and loads that were refused for want of it begin again; resolves without waiting for them. */
  async applyTrust(): Promise<void> {
    const begun = new Map<string, LoadParameters>()
    for (const record of [...this.records.values()]) {
      const before = record.awaitsTrust
      record.awaitsTrust = await this.#awaitedTrust(record.name, directoryOf(record), record.description)
      if (record.awaitsTrust !== null && (record.load !== null || highestReady(record) !== null)) {
        await this.unload(record.name)
        // It comes back with the trust.
        record.refusedLoad = {}
      } else if (record.awaitsTrust === null && record.refusedLoad !== null) begun.set(record.name, record.refusedLoad)
      if (before?.reason !== record.awaitsTrust?.reason) this.#changed(record)
    }
    this.#background(this.#ensembles.loadAgain(begun))
  }

  /** Does it wait for its repository, or that of a model that its steps name, to be trusted? */
  awaitsTrust(name: string, seen = new Set<string>()): boolean {
    const record = this.records.get(name)
    if (record === undefined || seen.has(name)) return false
    seen.add(name)
    return record.refusedLoad !== null || (record.description?.members ?? []).some((member) => this.awaitsTrust(member, seen))
  }

  async #awaitedTrust(name: string, directory: ModelDirectory | null, description: ModelRecord['description']): Promise<ModelRecord['awaitsTrust']> {
    const code = description?.code ?? null
    if (directory === null || code === null) return null
    const repositoryPath = await this.#options.trust.untrustedPath(directory.repositoryPath)
    return repositoryPath === null ? null : { repositoryPath, reason: notTrustedText(name, code, repositoryPath) }
  }

  /** Unloads everything and waits until it is gone, for good: nothing loads any more. */
  async unloadAll(): Promise<void> {
    this.#isClosed = true
    await this.#operations.finishAll()
    await this.#unloadAndWait()
    while (this.#unfinished.size > 0) await Promise.all(this.#unfinished)
  }

  /** Unloads everything and serves another repository; a load that is asked for meanwhile waits and finds the new one. */
  async replaceRepository(repository: ModelRepository): Promise<void> {
    await this.#operations.alone(async () => {
      await this.#unloadAndWait()
      await this.#scans.run(async () => {
        this.#repository = repository
        for (const record of [...this.records.values()]) this.#forget(record)
        await this.#scan()
      })
    })
  }

  async #unloadAndWait(): Promise<void> {
    this.#ensembles.forgetAll()
    for (const name of [...this.records.keys()]) this.#unload(name)
    while (this.#stopping.size > 0) await Promise.all(this.#stopping)
  }

  /**
   * Gives a share of the requests that name no version to one version, from the next request on; null ends that.
   * @throws ServerError when one of the two versions is not ready, or the share is none
   */
  setTrafficSplit(name: string, settings: TrafficSplitSettings | null): void {
    const { log } = this.#options
    const highest = findModel(this.records, name, '')
    const record = this.#record(name)
    if (settings === null) {
      if (record.traffic?.version === null || record.traffic === null) return
      record.traffic.set(null, highest.version)
      log.info(`traffic split of model '${name}' ended: all requests without a version go to version ${highest.version}`, { model: name })
      this.#changed(record)
      return
    }
    const { version, percent } = settings
    if (!(percent >= 0 && percent <= 100)) throw new ServerError('INVALID_ARG', `the share of version ${version} of model '${name}' must be 0 to 100 percent, got ${percent}`)
    const target = findModel(this.records, name, version)
    const base = baseVersionOf(record, target.version)
    if (base === null) {
      throw new ServerError('UNAVAILABLE', `the traffic of model '${name}' cannot be split: version ${target.version} is its only ready version. Load another one as well (version_policy)`)
    }
    if (record.versions.get(base)?.model?.isDecoupled !== target.isDecoupled) {
      throw new ServerError('INVALID_ARG', `the traffic of model '${name}' cannot be split: of versions ${base} and ${target.version} only one is decoupled`)
    }
    record.traffic ??= new TrafficRouter()
    record.traffic.set({ version: target.version, percent }, highest.version)
    log.info(`traffic split of model '${name}': ${percent} % of the requests without a version go to version ${target.version}, the others to version ${base}`, { model: name })
    this.#changed(record)
  }

  /** The model of an inference request; one without a version may have its share of a split. @throws ServerError (lookup) */
  modelFor(request: Pick<InferenceRequest, 'modelName' | 'modelVersion' | 'sequenceId' | 'sequenceStart' | 'sequenceEnd'>): Model {
    const { modelName, modelVersion } = request
    const record = this.records.get(modelName)
    if (modelVersion === '' && record?.traffic) {
      const { version } = record.traffic
      const isReady = version !== null && record.versions.get(version)?.state === 'READY'
      const chosen = record.traffic.choose(request, isReady ? baseVersionOf(record, version) : highestReady(record)?.version ?? null, this.#options.clock.now())
      const model = chosen === null ? null : record.versions.get(chosen)
      if (model?.state === 'READY' && model.model !== null) return model.model
    }
    return findModel(this.records, modelName, modelVersion)
  }

  #endTrafficWithoutVersions(record: ModelRecord): void {
    const version = record.traffic?.version ?? null
    if (version === null || trafficOf(record) !== null) return
    record.traffic?.set(null, '')
    const isGone = record.versions.get(version)?.state !== 'READY'
    this.#options.log.info(`traffic split of model '${record.name}' ended: ${isGone ? `version ${version} is not ready any more` : `version ${version} is the only ready one`}`, { model: record.name })
  }

  /** Versions with requests in flight, the leaving ones included. */
  busyModels(): Model[] { return this.#liveModels().filter((model) => model.inflightCount > 0) }

  /** Versions that serve or leave. */
  get liveModelCount(): number { return this.#liveModels().length }
  /** Versions that are being built, those included that nobody waits for any more. */
  get unfinishedLoadCount(): number { return this.#buildingCount }

  /** Out-dates every load that did not finish and refuses further ones: the server ends. */
  interruptLoads(): void {
    this.#isClosed = true
    this.#operations.outdateAll()
  }

  #liveModels(): Model[] {
    const serving = [...this.records.values()].flatMap((record) => [...record.versions.values()].flatMap(({ model }) => (model === null ? [] : [model])))
    return [...serving, ...this.#leaving]
  }

  async #load(name: string, parameters: LoadParameters, operation: ModelOperation, isStale: () => boolean): Promise<void> {
    const isNew = !this.records.has(name)
    const { log } = this.#options
    let source: LoadSource | null = null
    let config: ModelConfig
    let progress: LoadProgress | null = null
    try {
      source = await this.#locate(name, parameters)
      const record = this.#record(name)
      if (isUnchanged(record, source, parameters) && !isStale()) {
        record.pollError = ''
        return
      }
      record.refusedLoad = null
      progress = this.#beginLoad(record)
      this.#enterStage(record, progress, '', 'readingConfig')
      config = await this.#options.loader.readConfig(source.directory, parameters.config)
    } catch (error) {
      await source?.overrideDirectory?.remove()
      const cause = toServerError(error)
      log.error(`Poll failed for model directory '${name}': ${cause.message}${causeText(cause)}`, { model: name })
      const record = this.records.get(name)
      if (record !== undefined) {
        record.pollError = `${cause.message}${causeText(cause)}`
        this.#endLoad(record, progress, 'failed')
        if (isNew && record.entry === null) this.#forget(record)
        else this.#changed(record)
      }
      throw new ServerError('INTERNAL', `failed to load '${name}', failed to poll from model repository`, { cause })
    }
    const record = this.#record(name)
    record.pollError = ''
    progress.leave('')
    let outcome: ModelLoadReport['outcome'] = 'failed'
    try {
      await this.#loadVersions({ record, source, config, parameters, operation, progress })
      outcome = 'loaded'
    } catch (error) {
      if (operation.outdated.aborted) outcome = 'outdated'
      await source.overrideDirectory?.remove()
      throw error
    } finally {
      this.#endLoad(record, progress, outcome)
      const isEmpty = record.versions.size === 0 || (outcome === 'outdated' && [...record.versions.values()].every(({ state }) => state === 'UNAVAILABLE'))
      if (record.entry === null && isEmpty) this.#forget(record)
      else this.#changed(record)
    }
  }

  async #loadVersions(load: Load): Promise<void> {
    const { record, source, parameters, operation } = load
    const { log } = this.#options
    this.#ensembles.noteValidity(record.name, null)
    const fail = (text: string, cause?: unknown) => new ServerError('INVALID_ARG', `load failed for model '${record.name}': ${text}\n`, { cause })
    const { chosen, missing } = chooseVersions(source.directory.versions.map((version) => version.version), load.config.version_policy)
    for (const version of missing) log.error(`version ${version} is specified for model '${record.name}', but the version directory is not present`, { model: record.name })
    if (chosen.length === 0) {
      const text = `at least one version must be available under the version policy of model '${record.name}'`
      this.#noteInvalid(record, text)
      throw fail(text)
    }
    let { config } = load
    try {
      if (config.ensemble_scheduling !== undefined) config = this.#ensembles.complete(config)
    } catch (error) {
      const { message } = toServerError(error)
      this.#noteInvalid(record, message)
      throw fail(message, error)
    }
    const directories = source.directory.versions.filter((version) => chosen.includes(version.version))
    const kept = directories.flatMap((version) => keptModel(record, source, config, version) ?? [])
    const keptVersions = new Set(kept.map((model) => model.version))
    const wanted = directories.filter(({ version }) => !keptVersions.has(String(version)))
    for (const { version } of directories) {
      const known = record.versions.get(String(version))
      if (known?.model !== null && known !== undefined) known.reason = ''
      else record.versions.set(String(version), this.#versionRecord('LOADING', '', null))
    }
    const results = await Promise.allSettled(wanted.map((version) => this.#loadVersion({ ...load, config }, version)))
    const loaded = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const failures = results.flatMap((result, index) => (result.status === 'rejected' ? [{ version: String(wanted[index]?.version), error: toServerError(result.reason) }] : []))
    if (!operation.outdated.aborted && failures.length === 0) failures.push(...await this.#updateInPlace(load, kept))
    if (operation.outdated.aborted || failures.length > 0) {
      await Promise.all(loaded.map((model) => model.stop()))
      for (const [version, entry] of record.versions) {
        if (entry.state === 'LOADING') record.versions.set(version, this.#versionRecord('UNAVAILABLE', UNLOADED_REASON, null))
      }
      if (operation.outdated.aborted) throw fail(OUTDATED)
      this.#noteRefusal(load, failures)
      throw fail(failures.map(({ version, error }) => this.#noteFailure(record, version, error)).join(''), failures[0]?.error)
    }
    this.#swapIn(record, loaded, keptVersions, {
      diskSignature: source.diskSignature, overrideConfig: parameters.config ?? null, overrideDirectory: source.overrideDirectory, config, directory: source.directory,
    })
    log.info(`successfully loaded '${record.name}'`, { model: record.name })
  }

  async #updateInPlace({ record, config, operation: { outdated }, progress }: Load, kept: readonly Model[]): Promise<{ version: string; error: ServerError }[]> {
    const failures: { version: string; error: ServerError }[] = []
    const updated: { readonly model: Model; readonly before: ModelConfig }[] = []
    for (const model of kept) {
      const before = model.config
      this.#enterStage(record, progress, model.version, 'updatingInstances')
      const onStage = (kind: LoadStageKind, place: StageInstance) => { this.#enterStage(record, progress, model.version, kind, place) }
      try {
        await this.#unlessOutdated(this.#options.loader.updateInstances(model, config, { outdated, onStage }), outdated)
        updated.push({ model, before })
      } catch (error) {
        failures.push({ version: model.version, error: toServerError(error) })
      }
      progress.leave(model.version)
    }
    if (failures.length > 0 && !outdated.aborted) await this.#takeBack(updated, outdated)
    return failures
  }

  /** Where one version could not follow, the others go back to the instances they had. */
  async #takeBack(updated: readonly { readonly model: Model; readonly before: ModelConfig }[], outdated: AbortSignal): Promise<void> {
    for (const { model, before } of updated) {
      try {
        await this.#unlessOutdated(this.#options.loader.updateInstances(model, before, { outdated }), outdated)
      } catch (error) {
        this.#options.log.error('a version could not go back to the instances it had', { model: model.name, version: model.version, error: toServerError(error).message })
      }
    }
  }

  /** Builds a version when it is its turn, as often as the retries allow. One that is out-dated lets go at once, whatever its backend does. */
  async #loadVersion(load: Load, version: VersionDirectory): Promise<Model> {
    const { record, operation: { outdated }, progress } = load
    const name = String(version.version)
    const discard = (model: Model) => model.stop()
    this.#enterStage(record, progress, name, 'waitingForSlot')
    try {
      return await this.#unlessOutdated(this.#loadSlots.run(() => {
        this.#buildingCount++
        return this.#unlessOutdated(this.#buildVersion(load, version).finally(() => { this.#buildingCount-- }), outdated, discard)
      }), outdated, discard)
    } finally {
      progress.leave(name)
    }
  }

  async #buildVersion({ record, source, config, operation: { outdated }, progress }: Load, version: VersionDirectory): Promise<Model> {
    const { log, loader, loadRetryCount } = this.#options
    const name = String(version.version)
    const fields = { model: record.name, version: name }
    for (let attempt = 0; ; attempt++) {
      outdated.throwIfAborted()
      log.info(`loading: ${record.name}:${name}`, fields)
      try {
        return await loader.loadVersion(source.directory, config, version, {
          outdated,
          onStage: (kind, place) => { this.#enterStage(record, progress, name, kind, place) },
          onInstancesChanged: () => { this.#changed(record) },
          findMember: (modelName, memberVersion, request) => {
            const modelVersion = memberVersion === -1 ? '' : String(memberVersion)
            if (request === undefined) return findModel(this.records, modelName, modelVersion)
            const { sequenceId = 0n, sequenceStart = false, sequenceEnd = false } = request
            return this.modelFor({ modelName, modelVersion, sequenceId, sequenceStart, sequenceEnd })
          },
        })
      } catch (error) {
        if (outdated.aborted) throw error
        const { kind, message } = toServerError(error)
        log.error(`failed to load '${record.name}' version ${name}: ${ERROR_KINDS[kind].words}: ${message}`, fields)
        if (attempt >= loadRetryCount || error instanceof RepositoryNotTrusted) throw error
      }
    }
  }

  /**
   * The result of `work`, or the refusal as soon as the operation is out-dated: a backend that hangs holds nobody up. What comes of the work
   * then is discarded when it comes.
   */
  #unlessOutdated<T>(work: Promise<T>, outdated: AbortSignal, discard: (result: T) => Promise<void> = async () => {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const abandoned = new ServerError('INTERNAL', OUTDATED)
      const abandon = () => { reject(abandoned) }
      if (outdated.aborted) abandon()
      outdated.addEventListener('abort', abandon, { once: true })
      const settled: Promise<void> = work.then(async (result) => {
        if (outdated.aborted) await discard(result)
        else resolve(result)
      }, (error: unknown) => { reject(outdated.aborted ? abandoned : error) }).catch((error: unknown) => {
        this.#options.log.error('could not free what an out-dated load made', { error: String(error) })
      }).finally(() => {
        outdated.removeEventListener('abort', abandon)
        this.#unfinished.delete(settled)
      })
      this.#unfinished.add(settled)
    })
  }

  /** What was refused for want of trust is loaded when that is given; code that came with the request never is. */
  #noteRefusal({ record, parameters }: Load, failures: readonly { readonly error: ServerError }[]): void {
    const refusal = failures.map(({ error }) => error).find((error) => error instanceof RepositoryNotTrusted)
    if (refusal === undefined || refusal.repositoryPath === null) return
    record.refusedLoad = parameters
    // A link may have changed where it leads since the last look.
    record.awaitsTrust = { repositoryPath: refusal.repositoryPath, reason: refusal.message }
  }

  /** The model as a whole cannot be loaded: no version is tried. */
  #noteInvalid(record: ModelRecord, text: string): void {
    record.pollError = text
    this.#options.log.error(text, { model: record.name })
    this.#ensembles.noteValidity(record.name, text)
  }

  /** Puts the reason beside the version and answers its part of the load's error text. */
  #noteFailure(record: ModelRecord, version: string, error: ServerError): string {
    const reason = `${ERROR_KINDS[error.kind].words}: ${error.message}`
    const known = record.versions.get(version)
    const entry: VersionRecord = known !== undefined && known.model !== null ? { ...known, reason } : this.#versionRecord('UNAVAILABLE', reason, null)
    record.versions.set(version, entry)
    return `version ${version} is at ${entry.state} state: ${reason};`
  }

  /** All new versions begin to serve in one step; what they replace, and what is not wanted any more, ends after its requests. */
  #swapIn(record: ModelRecord, loaded: readonly Model[], keptVersions: ReadonlySet<string>, source: LoadedSource): void {
    const oldSource = record.source
    const retired: Model[] = []
    const fresh = new Map(loaded.map((model) => [model.version, model]))
    for (const [version, entry] of [...record.versions]) {
      if (keptVersions.has(version)) continue
      if (entry.model !== null) {
        retired.push(entry.model)
        if (!fresh.has(version)) void this.#retireVersion(record, version, entry.model)
      } else if (!fresh.has(version) && entry.state === 'UNAVAILABLE' && entry.reason !== UNLOADED_REASON) {
        record.versions.delete(version)
      }
    }
    for (const model of loaded) {
      record.versions.set(model.version, this.#versionRecord('READY', '', model))
      this.#options.onModelStarted(model)
    }
    record.source = source
    const replaced = retired.filter((model) => fresh.has(model.version))
    const stops = replaced.map((model) => this.#stop(model))
    this.#background(Promise.all(stops).then(() => oldSource?.overrideDirectory?.remove()))
  }

  #unload(name: string): void {
    const record = this.records.get(name)
    if (record === undefined) return
    record.refusedLoad = null
    const source = record.source
    const stops: Promise<void>[] = []
    for (const [version, entry] of record.versions) {
      if (entry.model !== null) stops.push(this.#retireVersion(record, version, entry.model))
    }
    if (stops.length === 0) return
    record.source = null
    this.#background(Promise.all(stops).then(() => source?.overrideDirectory?.remove()))
    this.#changed(record)
  }

  /** READY to UNLOADING at once; UNAVAILABLE with the reason `unloaded` when the last request was answered. */
  #retireVersion(record: ModelRecord, version: string, model: Model): Promise<void> {
    const leaving = this.#versionRecord('UNLOADING', '', null)
    record.versions.set(version, leaving)
    const done = this.#stop(model).then(() => {
      if (record.versions.get(version) !== leaving) return
      record.versions.set(version, this.#versionRecord('UNAVAILABLE', UNLOADED_REASON, null))
      if (record.entry === null && [...record.versions.values()].every((entry) => entry.state === 'UNAVAILABLE')) this.#forget(record)
      else this.#changed(record)
    })
    this.#background(done)
    return done
  }

  async #stop(model: Model): Promise<void> {
    this.#leaving.add(model)
    await model.stop()
    this.#leaving.delete(model)
    this.#options.onModelStopped(model)
    this.#options.log.info(`successfully unloaded '${model.name}' version ${model.version}`, { model: model.name, version: model.version })
  }

  #background(work: Promise<unknown>): void {
    const tracked: Promise<void> = work.then(() => {}, (error: unknown) => {
      this.#options.log.error('could not free an unloaded model', { error: String(error) })
    }).finally(() => { this.#stopping.delete(tracked) })
    this.#stopping.add(tracked)
  }

  async #locate(name: string, parameters: LoadParameters): Promise<LoadSource> {
    return openLoadSource(name, await this.#look(name), parameters)
  }

  /** One name on the disk; null when no repository lists it. */
  async #look(name: string): Promise<RepositoryEntry | null> {
    const look = ++this.#looks
    const entry = await this.#repository.find(name)
    if (entry !== null) await this.#setEntry(this.#record(name), entry, look)
    return entry
  }

  /** What the steps of a config that comes with the load call name; null: none comes, or it cannot be read, which the load reports. */
  async #membersOfOverride(name: string, { config }: LoadParameters): Promise<readonly string[] | null> {
    if (config === undefined) return null
    try {
      return memberNames(readModelConfigJson(config))
    } catch (error) {
      this.#options.log.verbose(1, 'config override cannot be read', { model: name, error: toServerError(error).message })
      return null
    }
  }

  async #setEntry(record: ModelRecord, entry: RepositoryEntry, look: number): Promise<void> {
    if (record.look > look) return
    record.look = look
    const before = directoryOf(record)?.signature
    const wasKind = record.entry?.kind
    record.entry = entry
    const directory = directoryOf(record)
    if (entry.kind === wasKind && before === directory?.signature) return
    const description = directory === null ? null : await this.#describe(directory)
    const awaitsTrust = await this.#awaitedTrust(record.name, directory, description)
    if (record.entry?.kind !== entry.kind || directoryOf(record)?.signature !== directory?.signature) return
    record.description = description
    record.awaitsTrust = awaitsTrust
    if (entry.kind === 'duplicate') {
      this.#options.log.error(`failed to poll model '${record.name}': not unique across all model repositories`, { model: record.name })
    }
    this.#changed(record)
  }

  /** What the config says without loading; null where it cannot be read, which a load then reports. */
  async #describe(directory: ModelDirectory): Promise<ModelRecord['description']> {
    try {
      const config = await this.#options.loader.readConfig(directory)
      return { backend: config.backend, platform: config.platform, maxBatchSize: config.max_batch_size, members: memberNames(config), code: this.#options.loader.codeOf(directory, config) }
    } catch (error) {
      this.#options.log.verbose(1, 'config of a model cannot be read', { model: directory.name, error: toServerError(error).message })
      return null
    }
  }

  #record(name: string): ModelRecord {
    let record = this.records.get(name)
    if (record === undefined) {
      record = createRecord(name, this.#options.clock.wallMilliseconds())
      this.records.set(name, record)
    }
    return record
  }

  #versionRecord(state: VersionRecord['state'], reason: string, model: Model | null): VersionRecord {
    return { state, reason, model, changedAt: this.#options.clock.wallMilliseconds() }
  }

  #forget(record: ModelRecord): void {
    if (this.records.get(record.name) !== record) return
    this.records.delete(record.name)
    this.#options.onRemoved(record.name)
  }

  #beginLoad(record: ModelRecord): LoadProgress {
    record.load = new LoadProgress(this.#options.clock)
    return record.load
  }

  #enterStage(record: ModelRecord, progress: LoadProgress, version: string, kind: LoadStageKind, place?: StageInstance): void {
    // An out-dated load that still ends something is no news.
    if (record.load !== progress) return
    progress.enter(version, kind, place)
    this.#changed(record)
  }

  #endLoad(record: ModelRecord, progress: LoadProgress | null, outcome: ModelLoadReport['outcome']): void {
    if (progress === null) return
    record.lastLoad = progress.report(outcome)
    record.load = null
  }

  #changed(record: ModelRecord): void {
    // What still happens to a model that was forgotten is no news: nobody lists it any more.
    if (this.records.get(record.name) !== record) return
    this.#endTrafficWithoutVersions(record)
    record.changedAt = this.#options.clock.wallMilliseconds()
    this.#options.onChanged(record)
  }
}

/** The cause's own text, where the error's message leaves it out (parse errors). */
function causeText(error: ServerError): string {
  return error.cause instanceof Error && !error.message.includes(error.cause.message) ? `: ${error.cause.message}` : ''
}
