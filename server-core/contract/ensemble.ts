/** An ensemble as a graph of steps, what its steps cost, and its last requests step by step: what the console's pipelines page shows. */
import type { DataType } from './inference.ts'

export interface EnsembleGraph {
  readonly name: string
  readonly version: string
  /** A step is decoupled, so the ensemble answers with any number of responses. */
  readonly isDecoupled: boolean
  /** Requests of one step in flight at the same time, over all ensemble requests; 0: no limit. */
  readonly maxInflightRequests: number
  /** In the order of the config; `EnsembleEdge` and the records below name a step by its position. */
  readonly steps: readonly EnsembleGraphStep[]
  readonly edges: readonly EnsembleEdge[]
  /** One a step, since the ensemble was loaded. */
  readonly statistics: readonly EnsembleStepStatistics[]
  /** The last requests, oldest first; at most `ENSEMBLE_EXECUTIONS_KEPT`. */
  readonly executions: readonly EnsembleExecution[]
}

export const ENSEMBLE_EXECUTIONS_KEPT = 32
/** Runs of steps that are kept of one request: a decoupled step starts those behind it once a response. */
export const ENSEMBLE_STEP_RUNS_KEPT = 256

export interface EnsembleGraphStep {
  readonly step: number
  readonly modelName: string
  /** As the config says: -1 is the latest. */
  readonly modelVersion: number
  /** What served it when the ensemble was loaded. */
  readonly servedVersion: string
  readonly isDecoupled: boolean
  /** The model is an ensemble itself. */
  readonly isEnsemble: boolean
}

/** One way of a tensor: from where it is made to one place that uses it. */
export interface EnsembleEdge {
  /** Name of the ensemble tensor. */
  readonly tensor: string
  readonly datatype: DataType
  /** As its producer declares it, with -1 as batch dimension where that batches. */
  readonly shape: readonly number[]
  readonly from: { readonly kind: 'request' } | { readonly kind: 'step'; readonly step: number; readonly output: string }
  readonly to: { readonly kind: 'response' } | { readonly kind: 'step'; readonly step: number; readonly input: string }
}

/** Sums over the runs of a step that ended. A mean is the sum by `count`. */
export interface EnsembleStepStatistics {
  readonly step: number
  /** Runs that succeeded. The durations are theirs. */
  readonly count: number
  readonly failed: number
  readonly totalNanoseconds: number
  /** Waiting for a slot under `max_inflight_requests`; not part of the total. */
  readonly heldNanoseconds: number
  readonly queueNanoseconds: number
  readonly computeInputNanoseconds: number
  readonly computeInferNanoseconds: number
  readonly computeOutputNanoseconds: number
}

export interface EnsembleExecution {
  /** Id of the request; '' : none. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly finishedAt: number
  readonly totalNanoseconds: number
  readonly outcome: 'success' | 'failure' | 'cancelled'
  /** What the client was told; null: success. */
  readonly error: string | null
  /** In the order they began. */
  readonly steps: readonly EnsembleStepRun[]
  /** Runs beyond `ENSEMBLE_STEP_RUNS_KEPT`. */
  readonly omittedStepRuns: number
}

/** One request to the model of a step. Times are nanoseconds after the ensemble's request came in. */
export interface EnsembleStepRun {
  readonly step: number
  /** 0, or behind a decoupled step the number of the response that started it, counted over the request. */
  readonly iteration: number
  readonly startNanoseconds: number
  /** Null: not ended when the request was. */
  readonly endNanoseconds: number | null
  readonly heldNanoseconds: number
  readonly queueNanoseconds: number
  readonly computeInputNanoseconds: number
  readonly computeInferNanoseconds: number
  readonly computeOutputNanoseconds: number
  /** Of the execution that it was part of; 0: it did not succeed. */
  readonly batchSize: number
  readonly responseCount: number
  /** Of the model, without the ensemble's prefix; null: it succeeded. */
  readonly error: string | null
}
