/**
 * What the server can do: one method per verb, no knowledge of any front end. Front ends (http, grpc, metrics, console) translate
 * their protocol to these calls and a `ServerError` back to their own statuses; nothing below calls a front end.
 *
 * Names and behaviour are Triton's (TRITONSERVER_Server*). `version` is '' where the version policy decides.
 */
import type { InferenceRequest, InferenceResponse, ModelMetadata, ServerMetadata } from './contract/inference.ts'
import type { EnsembleGraph } from './contract/ensemble.ts'
import type { InferenceTiming } from './contract/console-api.ts'
import type { ModelConfig } from './contract/model-config.ts'
import type { ModelControlMode, ModelIndexEntry, ModelSummary, TrafficSplit, TrafficSplitSettings } from './contract/repository.ts'
import type { RepositoryTrustReport } from './contract/repository-trust.ts'
import type { ModelStatisticsEntry, ServerSample } from './contract/statistics.ts'
import type { ServerError } from './server-error.ts'

export interface LoadParameters {
  /** ModelConfig JSON that replaces config.pbtxt for this load. */
  readonly config?: string
  /** `file:<relative path>` parameters without the prefix, with the raw bytes. */
  readonly files?: ReadonlyMap<string, Uint8Array>
}

export interface InferenceResult {
  readonly response: InferenceResponse
  readonly timing: InferenceTiming
  /** True: nothing looks at the memory of the inputs any more, the response included. Absent: something may. */
  readonly inputsAreFree?: boolean
}

/** What the caller of a request that may be answered several times hears. Called in the order of the answers, never after `onDone`. */
export interface InferenceStreamHandlers {
  /** Decoupled models: an answer that is not the last one. A promise asks whoever makes the answers to wait for it before the next one. */
  onResponse(response: InferenceResponse): void | Promise<void>
  /** Decoupled models: an error that is not the last answer. */
  onError(error: ServerError): void
  /** What a request that succeeded took; just before `onDone`. */
  onTiming?(timing: InferenceTiming): void
  /** Exactly once, last. Null: nothing more came (the FINAL flag alone). */
  onDone(end: InferenceResult | null | ServerError): void
}

/** A request on its way. */
export interface InferenceCall {
  /** The caller does not want it any more; `onDone` still comes. */
  cancel(): void
}

export interface InferenceOptions {
  readonly signal?: AbortSignal
  /** Told of the call that is under way, once, unless the request was refused or is over by then: costs less than a signal that never comes. */
  readonly onCall?: (call: InferenceCall) => void
}

export interface InferenceServerListener {
  modelChanged?(summary: ModelSummary): void
  modelRemoved?(name: string): void
  /** Once a second. */
  sampled?(sample: ServerSample): void
  /** Server state, control mode or repository paths changed. */
  statusChanged?(): void
}

/** Prometheus' summary: quantiles are NaN while there is nothing to tell. */
export interface SummarySnapshot {
  readonly count: number
  readonly sum: number
  readonly quantiles: readonly { readonly quantile: number; readonly value: number }[]
}

/** Prometheus' histogram; buckets are cumulative and ascend, the last one ends at infinity. */
export interface HistogramSnapshot {
  readonly buckets: readonly { readonly upperEnd: number; readonly count: number }[]
  readonly count: number
  readonly sum: number
}

export const SUMMARY_NAMES = ['request', 'queue', 'computeInput', 'computeInfer', 'computeOutput', 'cacheHit', 'cacheMiss'] as const
export type SummaryName = (typeof SUMMARY_NAMES)[number]

/** The counters of one model version that `/metrics` prints; monotonic while the version stays loaded. Microseconds. */
export interface ModelMetricsSnapshot {
  readonly model: string
  readonly version: string
  readonly metricTags: Readonly<Record<string, string>>
  readonly requestSuccess: number
  readonly requestFailure: Readonly<Record<'REJECTED' | 'CANCELED' | 'BACKEND' | 'OTHER', number>>
  readonly inferenceCount: number
  readonly executionCount: number
  readonly requestDurationMicroseconds: number
  readonly queueDurationMicroseconds: number
  readonly computeInputDurationMicroseconds: number
  readonly computeInferDurationMicroseconds: number
  readonly computeOutputDurationMicroseconds: number
  readonly pendingRequestCount: number
  readonly loadDurationSeconds: number
  /** Absent: the response cache is not on for this model. */
  readonly cache?: {
    readonly hits: number
    readonly misses: number
    readonly hitDurationMicroseconds: number
    readonly missDurationMicroseconds: number
  }
  /** Microseconds; those that are on for this model. */
  readonly summaries?: Readonly<Partial<Record<SummaryName, SummarySnapshot>>>
  /** Milliseconds from the request to its first response; absent: off. */
  readonly firstResponse?: HistogramSnapshot
  /** False after an unload: only the failure series stay on the page. */
  readonly isLoaded: boolean
}

export interface InferenceServer {
  readonly controlMode: ModelControlMode
  readonly repositoryPaths: readonly string[]
  readonly state: 'STARTING' | 'READY' | 'EXITING'

  isLive(): boolean
  /** With strict readiness: every known version READY or deliberately unloaded. */
  isReady(): boolean
  /** @throws ServerError with the lookup texts of the protocol when the model or version is not there. */
  isModelReady(name: string, version: string): boolean
  /** As `isReady` and `isModelReady`, and asks models that say themselves whether they are ready (Python's `is_ready`). */
  askReady(): Promise<boolean>
  askModelReady(name: string, version: string): Promise<boolean>
  serverMetadata(): ServerMetadata
  modelMetadata(name: string, version: string): ModelMetadata
  modelConfig(name: string, version: string): ModelConfig
  /** name '' = all models. Only READY versions. */
  modelStatistics(name: string, version: string): readonly ModelStatisticsEntry[]
  modelMetrics(): readonly ModelMetricsSnapshot[]
  repositoryIndex(readyOnly: boolean): readonly ModelIndexEntry[]
  loadModel(name: string, parameters?: LoadParameters): Promise<void>
  /** Resolves when the unload has started; state changes tell the rest. */
  unloadModel(name: string, unloadDependents?: boolean): Promise<void>
  /**
   * Gives a share of the requests of a model that name no version to one of its versions, from the next request on; the highest of the other
   * ready versions gets the rest. A sequence stays with the version it began on. null ends it; so does the end of one of the two versions.
   * @throws ServerError (lookup); INVALID_ARG, UNAVAILABLE where the traffic cannot be split so
   */
  setTrafficSplit(name: string, split: TrafficSplitSettings | null): void
  /** @throws ServerError (lookup) */
  trafficSplit(name: string): TrafficSplit | null
  /** @throws ServerError (lookup) ; true for `model_transaction_policy { decoupled: true }`. */
  isDecoupled(name: string, version: string): boolean
  /** Steps, edges and timings of a loaded ensemble. @throws ServerError (lookup); INVALID_ARG for a model that is none */
  ensembleGraph(name: string, version: string): EnsembleGraph
  /** Class labels of an output with a label file; undefined where it has none. Index = class. */
  labels(name: string, version: string, output: string): readonly string[] | undefined
  /** Exactly one response. An aborted signal, or the call that `onCall` is given, cancels the request while it waits. */
  infer(request: InferenceRequest, options?: InferenceOptions): Promise<InferenceResult>
  /** Any number of responses, also of models that are not decoupled (those have one). @throws ServerError when the request is refused at the door */
  inferStream(request: InferenceRequest, handlers: InferenceStreamHandlers): InferenceCall

  /** The console's table: every model directory, loaded or not. */
  modelSummaries(): readonly ModelSummary[]
  /** Directory of a model in its repository (absolute). @throws ServerError NOT_FOUND */
  modelDirectory(name: string): string
  /** Looks at the disk again: new and vanished model directories. */
  rescan(): Promise<void>
  /** Unloads everything and serves this repository instead. Explicit mode only. */
  replaceRepository(path: string): Promise<void>
  /** Whose code runs. */
  readonly repositoryTrust: RepositoryTrustReport
  /** The real path that is to be trusted before code of this repository runs; null: it may. */
  untrustedPath(repositoryPath: string): Promise<string | null>
  /** Trusts a repository by its real path and begins to load what waited for that. @throws ServerError INVALID_ARG, NOT_FOUND, UNAVAILABLE, UNSUPPORTED */
  trustRepository(path: string): Promise<void>
  /** Unloads the models that run code of it; they do not load any more. @throws ServerError NOT_FOUND, UNAVAILABLE, UNSUPPORTED */
  revokeTrust(path: string): Promise<void>
  /** Last samples, oldest first. */
  sampleHistory(seconds: number): readonly ServerSample[]
  subscribe(listener: InferenceServerListener): () => void

  /** Stops accepting work, waits for in-flight requests at most `timeoutSeconds`, unloads. */
  stop(timeoutSeconds: number): Promise<void>
}
