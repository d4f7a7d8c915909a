/** States and lists of a model repository. Wire documents keep Triton's spelling. */

export type ModelReadyState = 'UNKNOWN' | 'READY' | 'UNAVAILABLE' | 'LOADING' | 'UNLOADING'

/** `POST /v2/repository/index` answers an array of these. */
export interface ModelIndexEntry {
  readonly name: string
  /** Absent: the model directory exists but was never loaded. */
  readonly version?: string
  readonly state?: ModelReadyState
  readonly reason?: string
}

export type ModelControlMode = 'none' | 'poll' | 'explicit'

export interface ModelFile {
  /** Relative to the model directory, with `/`. */
  readonly path: string
  readonly byteSize: number
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number
}

export interface ModelVersionSummary {
  readonly version: string
  /** Never loaded: 'UNKNOWN'. */
  readonly state: ModelReadyState
  /** Why it is not ready; '' when there is nothing to say; 'unloaded' after an unload. */
  readonly reason: string
  readonly files: readonly ModelFile[]
}

/** One row of the console's model table. */
export interface ModelSummary {
  readonly name: string
  readonly repositoryPath: string
  readonly backend: string
  readonly platform: string
  /** State of the model as a whole: what the best of its versions says; failed loads are UNAVAILABLE with a reason. */
  readonly state: ModelReadyState
  readonly reason: string
  readonly versions: readonly ModelVersionSummary[]
  /** Executing model instances; null while unknown (not loaded). */
  readonly instanceCount: number | null
  /** e.g. 'CPU'; null while not loaded. */
  readonly runsOn: string | null
  /** Milliseconds since the epoch of the last state change. */
  readonly changedAt: number
  /** What the load is doing now ('reading config', 'creating instances'); '' when not loading. */
  readonly stage: string
  readonly maxBatchSize: number | null
}
