/** States and lists of a model repository. Wire documents keep Triton's spelling. */

export type ModelReadyState = 'UNKNOWN' | 'READY' | 'UNAVAILABLE' | 'LOADING' | 'UNLOADING'

/** `POST /v2/repository/index` answers an array of these. */
export interface ModelIndexEntry {
  readonly name: string
  /** Absent: the model directory exists but was never loaded. */
  readonly version?: string
  readonly state?: ModelReadyState
  readonly reason?: string
  /** Ours: share of the requests that name no version, while the traffic is split. Clients of Triton ignore it. */
  readonly traffic_percent?: number
}

export type ModelControlMode = 'none' | 'poll' | 'explicit'

export interface ModelFile {
  /** Relative to the model directory, with `/`. */
  readonly path: string
  readonly byteSize: number
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number
}

export type ModelInstanceState = 'STARTING' | 'READY' | 'RESTARTING' | 'FAILED' | 'STOPPED'

/**
 * What an instance says it runs on. Backends tell it, as JSON through `NPUCONSOLE_ModelInstanceReport`; what they do not know is absent.
 */
export interface ModelInstanceReport {
  readonly runs_on?: 'npu' | 'cpu'
  /** The NPU is a simulated one. */
  readonly simulated?: boolean
  /** Logical id of the device, or of the first of `devices`. */
  readonly device?: number
  /** Logical ids, where one instance runs on several cards. */
  readonly devices?: readonly number[]
  /** "Ascend310P3" */
  readonly chip?: string
  readonly precision?: string
  readonly graph?: 'static' | 'dynamic' | 'gears'
  readonly gears?: readonly string[]
  readonly streams?: number
  readonly weight_bytes?: number
  readonly workspace_bytes?: number
  /** The bytes above are the model version's: each of its instances on these devices tells of the same ones. */
  readonly memory_is_shared?: boolean
  readonly notes?: readonly string[]
  /** Why it runs on the CPU though an NPU was asked for. */
  readonly fallback_reason?: string
}

/** The devices that an instance is on, as the process numbers them: one instance may run on several. Empty: none, or its backend does not say which. */
export function devicesOf(report: ModelInstanceReport | null | undefined): readonly number[] {
  if (report?.runs_on !== 'npu') return []
  return report.devices ?? (report.device === undefined ? [] : [report.device])
}

/** The process that an instance has of its own. */
export interface InstanceProcess {
  /** Null: it does not run. */
  readonly processId: number | null
  /** How often it ended by itself since the instance was made; the engine starts another each time. */
  readonly deaths: number
  readonly lastDeath: { /** Milliseconds since the epoch. */ readonly at: number; readonly reason: string } | null
  readonly python: PythonProcess
}

/** As the interpreter tells. */
export interface PythonProcess {
  /** Absolute path of its program. */
  readonly interpreter: string
  /** `3.11.2` */
  readonly version: string
  readonly numpyVersion: string
}

export interface ModelInstanceSummary {
  /** `<group>_<index>` */
  readonly name: string
  readonly kind: 'KIND_CPU' | 'KIND_GPU' | 'KIND_MODEL'
  /** Never executes. */
  readonly isPassive: boolean
  /** RESTARTING: it died and is replaced; FAILED: given up until the model is loaded again. */
  readonly state: ModelInstanceState
  /** Why it does not run; '' while it does. */
  readonly reason: string
  /** While RESTARTING: which of the attempts comes next or is under way. Null otherwise. */
  readonly restart: InstanceRestart | null
  /** What it runs on, or ran on before it died, as its backend says; absent: the backend does not say. */
  readonly report?: ModelInstanceReport
  /** Absent: it runs in the engine's own process. */
  readonly process?: InstanceProcess
}

export interface InstanceRestart {
  /** From 1. */
  readonly attempt: number
  /** After so many the instance is given up; null: never, since its card is at fault and may come back at any time. */
  readonly limit: number | null
  /** When it begins, milliseconds since the epoch; past: it is under way. */
  readonly at: number
}

export interface ModelVersionSummary {
  readonly version: string
  /** Never loaded: 'UNKNOWN'. */
  readonly state: ModelReadyState
  /** Why it is not ready; '' when there is nothing to say; 'unloaded' after an unload. */
  readonly reason: string
  readonly files: readonly ModelFile[]
  /** Milliseconds since the epoch: since when it has this state; 0: never loaded. */
  readonly changedAt: number
  /** In the order of the config; empty while the version is not loaded, and of an ensemble. */
  readonly instances: readonly ModelInstanceSummary[]
}

/** A share of the requests that name no version goes to this version. */
export interface TrafficSplitSettings {
  readonly version: string
  /** 0 to 100; hundredths count. */
  readonly percent: number
}

export interface TrafficSplit extends TrafficSplitSettings {
  /** The highest of the other ready versions: gets the rest. */
  readonly baseVersion: string
  /** Requests since the split to this version began. */
  readonly versionRequests: number
  readonly baseRequests: number
}

/** Parts of a load in their order. `updatingInstances` stands for a reload that keeps the running version. */
export type LoadStageKind = 'readingConfig' | 'waitingForSlot' | 'initializingModel' | 'creatingInstance' | 'warmingUp' | 'updatingInstances'

export interface LoadStage {
  readonly kind: LoadStageKind
  /** '' : the model as a whole. */
  readonly version: string
  /** The instance that is made or warmed up, from 1; 0: the stage is not about one. */
  readonly instance: number
  readonly instanceCount: number
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

/** A load that ended, and how long its parts took. */
export interface ModelLoadReport {
  /** 'outdated': a newer operation ended it. */
  readonly outcome: 'loaded' | 'failed' | 'outdated'
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly endedAt: number
  /** One a version and kind, in the order they began; the instances of a version add up. */
  readonly stages: readonly {
    readonly kind: LoadStageKind
    readonly version: string
    readonly startedAt: number
    readonly instanceCount: number
    readonly milliseconds: number
  }[]
}

export interface ModelDegradation {
  /** 'NPU 1', or 'NPU' where any would do. */
  readonly wanted: string
  /** Why it was not to be had. */
  readonly reason: string
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
  /** Where its instances compute, each place once: 'CPU', 'NPU 0, 1', 'NPU 0 + CPU'; null while not loaded, and of an ensemble. */
  readonly runsOn: string | null
  /** Some of it runs on a simulated NPU. */
  readonly isSimulated: boolean
  /** It asked for an NPU, and (some of) it runs on the CPU; null: it runs where it was asked to. */
  readonly degraded: ModelDegradation | null
  /** Milliseconds since the epoch of the last state change. */
  readonly changedAt: number
  /** What the load is doing now: the stage that was begun last. null: no load goes on. */
  readonly stage: LoadStage | null
  /** A share of the traffic for another version; null: all goes where the version policy says. */
  readonly traffic: TrafficSplit | null
  /** The last load that ended; null: none since the server knows the model. */
  readonly lastLoad: ModelLoadReport | null
  readonly maxBatchSize: number | null
  /** It runs code of its repository, which is not trusted: the real path to trust before it loads. null: nothing of that kind keeps it from loading. */
  readonly awaitsTrust: string | null
}
