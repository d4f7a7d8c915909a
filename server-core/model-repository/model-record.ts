import type { ModelConfig } from '../contract/model-config.ts'
import type { ModelIndexEntry, ModelLoadReport, ModelReadyState, ModelSummary, ModelVersionSummary, TrafficSplit } from '../contract/repository.ts'
import type { Model } from '../model/model.ts'
import type { LoadProgress } from './load-progress.ts'
import type { ModelDirectory } from './model-directory.ts'
import type { LoadParameters } from '../inference-server.ts'
import type { RepositoryCode } from '../contract/repository-trust.ts'
import type { TrafficRouter } from './traffic-router.ts'
import { DUPLICATE_REASON, type RepositoryEntry } from './model-repository.ts'
import type { OverrideDirectory } from './override-directory.ts'

/** Reason of a version that was unloaded on purpose: such a version does not make the server unready. */
export const UNLOADED_REASON = 'unloaded'

export interface VersionRecord {
  state: ModelReadyState
  reason: string
  /** Serves requests; kept while a reload beside it runs. */
  model: Model | null
  /** Milliseconds since the epoch: of the state. */
  readonly changedAt: number
}

/** What the repository says about a model without loading it. */
export interface ModelDescription {
  readonly backend: string
  readonly platform: string
  readonly maxBatchSize: number
  /** Models that the steps of an ensemble name; empty: no ensemble. */
  readonly members: readonly string[]
  /** What of it would run as code; null: nothing. */
  readonly code: RepositoryCode | null
}

/** What keeps a model from loading until somebody trusts its repository. */
export interface AwaitedTrust {
  /** Real path. */
  readonly repositoryPath: string
  /** For people, with the next step. */
  readonly reason: string
}

/** What was loaded: compared with the disk to tell a modified model, and freed at unload. */
export interface LoadedSource {
  /** Of the repository's directory when the load began; null: the model was not in a repository. */
  readonly diskSignature: string | null
  readonly overrideConfig: string | null
  /** As read, before any backend completed it. */
  readonly config: ModelConfig
  /** The directory the versions came from. */
  readonly directory: ModelDirectory
  readonly overrideDirectory: OverrideDirectory | null
}

/** Everything the life cycle knows about one model name. */
export interface ModelRecord {
  readonly name: string
  entry: RepositoryEntry | null
  /** Number of the look at the disk that `entry` comes from: what an earlier look says counts no more. */
  look: number
  description: ModelDescription | null
  readonly versions: Map<string, VersionRecord>
  source: LoadedSource | null
  /** Why the last load failed before any version was tried; '' otherwise. */
  pollError: string
  /** The load that goes on. */
  load: LoadProgress | null
  lastLoad: ModelLoadReport | null
  /** Null: the traffic was never split. */
  traffic: TrafficRouter | null
  /** Its code is not trusted; null: it is, or it has none. */
  awaitsTrust: AwaitedTrust | null
  /** The load that is made up for when its repository is trusted; null: none was refused for that. */
  refusedLoad: LoadParameters | null
  changedAt: number
}

export function createRecord(name: string, now: number): ModelRecord {
  return { name, entry: null, look: 0, description: null, versions: new Map(), source: null, pollError: '', load: null, lastLoad: null, traffic: null, awaitsTrust: null, refusedLoad: null, changedAt: now }
}

/** Versions ascending. */
export function sortedVersions(record: ModelRecord): [string, VersionRecord][] {
  return [...record.versions].sort(([a], [b]) => Number(a) - Number(b))
}

/** The highest version that serves; null where none does. */
export function highestReady(record: ModelRecord): Model | null {
  let best: Model | null = null
  for (const { state, model } of record.versions.values()) {
    if (state === 'READY' && model !== null && (best === null || Number(model.version) > Number(best.version))) best = model
  }
  return best
}

/** The version that gets the rest of a split traffic: the highest that serves, `version` aside. */
export function baseVersionOf(record: ModelRecord, version: string): string | null {
  const others = sortedVersions(record).filter(([candidate, { state, model }]) => candidate !== version && state === 'READY' && model !== null)
  return others.at(-1)?.[0] ?? null
}

/** The split in use; null: none, or one of its versions is not ready. */
export function trafficOf(record: ModelRecord): TrafficSplit | null {
  const version = record.traffic?.version ?? null
  if (version === null || record.versions.get(version)?.state !== 'READY') return null
  const base = baseVersionOf(record, version)
  return base === null ? null : record.traffic?.describe(base) ?? null
}

/** Share of the unversioned requests and their number that a version gets; null: the traffic is not split, or the version has no part in it. */
export function trafficShareOf(record: ModelRecord, version: string): { percent: number; requests: number } | null {
  const split = trafficOf(record)
  if (version === split?.version) return { percent: split.percent, requests: split.versionRequests }
  return version === split?.baseVersion ? { percent: 100 - split.percent, requests: split.baseRequests } : null
}

export function directoryOf(record: ModelRecord): ModelDirectory | null {
  return record.entry?.kind === 'model' ? record.entry.directory : null
}

/** The repository index entries of a model; Triton's rules, plus the reason of a load that failed before any version was tried, and of instances that do not run. */
export function indexEntries(record: ModelRecord, readyOnly: boolean): ModelIndexEntry[] {
  if (record.entry?.kind === 'duplicate') return [{ name: record.name, state: 'UNAVAILABLE', reason: DUPLICATE_REASON }]
  const entries: ModelIndexEntry[] = sortedVersions(record)
    .filter(([, version]) => !readyOnly || version.state === 'READY')
    .map(([version, { state, reason: own, model }]) => {
      const untrusted = state === 'READY' ? '' : record.awaitsTrust?.reason ?? ''
      const reason = [record.pollError, untrusted, own, model?.trouble ?? ''].find((text) => text !== '') ?? ''
      const share = trafficShareOf(record, version)
      return { name: record.name, version, state, ...(reason === '' ? {} : { reason }), ...(share === null ? {} : { traffic_percent: share.percent }) }
    })
  if (entries.length > 0 || readyOnly) return entries
  const reason = record.pollError === '' ? record.awaitsTrust?.reason ?? '' : record.pollError
  return reason === '' ? [{ name: record.name }] : [{ name: record.name, state: 'UNAVAILABLE', reason }]
}

/** One row of the console's table. */
export function summaryOf(record: ModelRecord): ModelSummary {
  const serving = highestReady(record)
  const config: ModelConfig | null = serving?.config ?? null
  const isEnsemble = config?.ensemble_scheduling !== undefined
  const directory = directoryOf(record)
  const { state, reason } = overallState(record)
  return {
    name: record.name,
    repositoryPath: record.entry === null ? '' : record.entry.kind === 'model' ? record.entry.directory.repositoryPath : record.entry.repositoryPath,
    backend: config?.backend ?? record.description?.backend ?? '',
    platform: config?.platform ?? record.description?.platform ?? '',
    state,
    reason,
    versions: versionSummaries(record, directory),
    instanceCount: isEnsemble ? null : serving?.instanceCount ?? null,
    runsOn: isEnsemble ? null : serving?.placement.runsOn ?? null,
    isSimulated: serving?.placement.isSimulated ?? false,
    degraded: serving?.placement.degraded ?? null,
    changedAt: record.changedAt,
    stage: record.load?.current ?? null,
    lastLoad: record.lastLoad,
    traffic: trafficOf(record),
    maxBatchSize: config?.max_batch_size ?? record.description?.maxBatchSize ?? null,
    awaitsTrust: record.awaitsTrust?.repositoryPath ?? null,
  }
}

function versionSummaries(record: ModelRecord, directory: ModelDirectory | null): ModelVersionSummary[] {
  const names = new Set([...record.versions.keys(), ...directory?.versions.map((version) => String(version.version)) ?? []])
  return [...names].sort((a, b) => Number(a) - Number(b)).map((version) => {
    const known = record.versions.get(version)
    const files = directory?.versions.find((candidate) => String(candidate.version) === version)?.files ?? []
    const trouble = known?.model?.trouble ?? ''
    return { version, state: known?.state ?? 'UNKNOWN', reason: known === undefined || known.reason === '' ? trouble : known.reason, files, changedAt: known?.changedAt ?? 0, instances: known?.model?.instanceSummaries ?? [] }
  })
}

const BEST_FIRST: readonly ModelReadyState[] = ['READY', 'LOADING', 'UNLOADING', 'UNAVAILABLE', 'UNKNOWN']

/** What the best of the versions says; a reason is shown wherever there is one. */
function overallState(record: ModelRecord): { state: ModelReadyState; reason: string } {
  if (record.entry?.kind === 'duplicate') return { state: 'UNAVAILABLE', reason: DUPLICATE_REASON }
  const versions = sortedVersions(record).reverse().map(([, version]) => version)
  const best = BEST_FIRST.find((state) => versions.some((version) => version.state === state))
  const unusable = record.entry?.kind === 'unusable' ? record.entry.reason : ''
  const fallback = record.pollError === '' ? unusable : record.pollError
  if (best === undefined) {
    if (record.load !== null) return { state: 'LOADING', reason: '' }
    return fallback === '' ? { state: 'UNKNOWN', reason: '' } : { state: 'UNAVAILABLE', reason: fallback }
  }
  const state = record.load !== null && best !== 'READY' ? 'LOADING' : best
  const reasons = versions.map((version) => (version.reason === '' ? version.model?.trouble ?? '' : version.reason)).filter((reason) => reason !== '')
  const telling = fallback !== '' ? fallback : reasons.find((reason) => reason !== UNLOADED_REASON) ?? reasons[0] ?? ''
  return { state, reason: state === 'LOADING' || (state === 'READY' && telling === UNLOADED_REASON) ? '' : telling }
}
