/**
 * The backend interface: Triton's entry points (TRITONBACKEND_*) as TypeScript. Schedulers and the model life cycle see backends
 * through this file only.
 *
 * Ownership: `execute` is called with a batch and is never called again on the same instance before it returned times or its promise settled. It must end
 * every request exactly once, through `respond`, `fail`, `complete` or `reschedule`, before it resolves; requests of a decoupled model
 * may end later. When it throws, the caller ends every request that was not ended with that error. The `requests` array is the caller's
 * and only valid during the call.
 */
import type { ModelConfig, ModelInstanceGroup } from '../contract/model-config.ts'
import type { ModelInstanceReport, PythonProcess } from '../contract/repository.ts'
import type { MemoryUsage } from '../contract/statistics.ts'
import type { DataType, ParameterValue, RequestTrace, Tensor } from '../contract/inference.ts'
import type { InferenceServer } from '../inference-server.ts'
import type { Logger } from '../logger.ts'

export interface BackendContext {
  /** `--backend-config=<backend>,<key>=<value>` and the global ones, merged. */
  readonly backendConfig: Readonly<Record<string, string>>
  readonly log: Logger
  /** The library of the same name that comes with the server, as a backend: for one that can hand its models over. Absent: there is no host for libraries. */
  readonly library?: Backend
}

export interface BackendModelContext extends BackendContext {
  readonly modelName: string
  readonly modelVersion: number
  /** Absolute paths. */
  readonly modelDirectory: string
  readonly versionDirectory: string
  /** Normalised config as read; the backend may complete it (see `BackendModel.config`). */
  readonly config: ModelConfig
  /** Is auto-completion on? */
  readonly autoComplete: boolean
  /** The instance groups as the config has them, before defaults filled them in; a backend may prefer others where there are none. Absent: unknown. */
  readonly writtenInstanceGroups?: readonly ModelInstanceGroup[]
  /** Aborted: the load is not wanted any more. A call that hangs can be ended then; its result is not waited for. */
  readonly outdated?: AbortSignal
  /** The backend's own library serves, whatever file `runtime` names: whoever asks has found that no such file is there. */
  readonly takesOwnLibrary?: boolean
}

export interface BackendInstanceContext {
  /** `<group>_<index>` */
  readonly name: string
  readonly index: number
  readonly kind: 'KIND_CPU' | 'KIND_GPU' | 'KIND_MODEL'
  readonly deviceId: number
  /** Created and initialised, never given anything to execute. */
  readonly isPassive?: boolean
  /** Where the threads of the instance are to run. */
  readonly hostPolicy?: HostPolicy
  /** `instance_group { profile }` and `{ secondary_devices }`. */
  readonly profiles?: readonly string[]
  readonly secondaryDevices?: readonly { readonly kind: string; readonly device_id: number }[]
  /** Aborted: the instance is not wanted any more. Whoever makes it can end what hangs, and fail. */
  readonly unwanted?: AbortSignal
  /** For backends that count their executions themselves (`CountedExecution`), `batchSize` being the total of the batch. */
  readonly countExecution?: (batchSize: number, times: ExecutionTimes) => void
}

/** What `--host-policy` says for an instance. */
export interface HostPolicy {
  /** `instance_group.host_policy`, else `cpu`, `gpu_<id>` or `model`. */
  readonly name: string
  /** Processors that its threads may use, as taskset writes them (`0-3,8`); null: any. */
  readonly cpuList: string | null
  /** How many those are. */
  readonly cpuCount: number
}

/** Steady-clock nanoseconds (process.hrtime.bigint() as number) of one execution. */
export interface ExecutionTimes {
  readonly executeStart: number
  readonly computeStart: number
  readonly computeEnd: number
  readonly executeEnd: number
}

/** What an execution took, and whether the backend counts it in the statistics itself: it may know the times later, or run several executions a batch. */
export interface CountedExecution extends ExecutionTimes {
  readonly isCounted?: boolean
}

/** One request inside a batch, as a backend sees it. */
export interface BackendRequest {
  readonly id: string
  /** Under the sequence batcher the control and state tensors are among them. */
  readonly inputs: readonly Tensor[]
  /** Names of the outputs asked for (all config outputs if none were asked). */
  readonly requestedOutputs: readonly string[]
  readonly parameters: Readonly<Record<string, ParameterValue>>
  /** First dim of the inputs where the model batches, else 1. */
  readonly batchSize: number
  readonly isCancelled: boolean
  /** Calls when the request is cancelled; at once where it is. Not after it is over. */
  onCancel(listener: () => void): void
  /** 0n or '': no sequence. */
  readonly sequenceId: bigint | string
  readonly sequenceStart: boolean
  readonly sequenceEnd: boolean
  /** A uint64. 0n: the model's default. */
  readonly priority: bigint
  /** What the client asked for; 0: none. */
  readonly timeoutMicroseconds: number
  /** A row without a request in a batch of the direct sequence batcher: answered like the others, received by nobody. */
  readonly isNull: boolean
  /** Absent: the request is not traced. */
  readonly trace?: RequestTrace | undefined
  /** The last answer (of a model that is not decoupled: the only one). */
  respond(outputs: readonly Tensor[], parameters?: Readonly<Record<string, ParameterValue>>): void
  /** The last answer is this error. */
  fail(error: Error): void
  /** Decoupled models only: an answer that is not the last one. A promise: whoever takes the answers has enough to do, wait before the next one. */
  send(outputs: readonly Tensor[], parameters?: Readonly<Record<string, ParameterValue>>): void | Promise<void>
  /** Decoupled models only: an error that is not the last answer. */
  sendError(error: Error): void
  /** Decoupled models only: nothing more comes (the FINAL flag alone). */
  complete(): void
  /** The instance still looks at the inputs after the last answer, which comes now. For a model that `copiesInputs` otherwise. */
  holdInputs?(): void
  /** What this request took, where that differs from its batch; before its last answer. */
  reportTimes(times: ExecutionTimes): void
  /** Value of an implicit state for the next request of the sequence, under its `output_name`. @throws ServerError where the model has no such state */
  updateState(state: Tensor): void
  /** Iterative sequences only: puts the request back instead of ending it. @throws ServerError where the model's scheduler cannot */
  reschedule(): void
}

export interface BackendProcess {
  readonly processId: number
  readonly python: PythonProcess
}

export interface BackendModelInstance {
  /** Runs one batch; returns the times that statistics charge to every request of it that has none of its own: at once where the backend has nothing to wait for. */
  execute(requests: readonly BackendRequest[]): Promise<CountedExecution> | CountedExecution
  /** What the instance runs on; null: the backend does not say. May change when the instance was asked whether it is ready. */
  readonly report?: ModelInstanceReport | null
  /** The process of its own in which it runs; null: that is over. Absent: it has none. */
  readonly process?: BackendProcess | null
  /** False: it runs but does not react, so that it counts as not ready; it may come back. Absent: it reacts. */
  readonly isResponding?: boolean
  /** TRITONBACKEND_ModelInstanceReady: rejects when the instance cannot serve. Absent = ready. */
  isReady?(): Promise<void>
  /** Told once when the instance dies outside `execute` (its thread crashed). */
  onDeath?(listener: (error: Error) => void): void
  /** It is finalized once its batch is over. One that nobody waits for any more can be ended where it does not come back. */
  leaving?(): void
  finalize(): Promise<void>
}

/** The parameter of a model that gives the path of its batching library. */
export const BATCH_STRATEGY_PATH = 'TRITON_BATCH_STRATEGY_PATH'

/** Says whether a request joins a batch, beyond what the config says: Triton's custom batching. Asked on this thread, so answers come at once. */
export interface BatchStrategy {
  /** A batch is being formed. */
  begin(): BatchRecord
}

/** What a strategy keeps of one batch. It never throws. */
export interface BatchRecord {
  /** Asked once a request, in the order of service. The request is only looked at; what it holds may be looked at until `end`. */
  includes(request: BackendRequest): boolean
  end(): void
}

export interface BackendModel {
  /** The config after completion by the backend. */
  readonly config: ModelConfig
  /** Do instances run in threads of their own, which follow `hostPolicy`? */
  readonly followsHostPolicy?: boolean
  /** As `Backend.createsInstancesInParallel`, where models of the backend differ in that. */
  readonly createsInstancesInParallel?: boolean
  /** Each time a client asks whether the model is ready, its instances are asked (`isReady`). */
  readonly asksReadiness?: boolean
  /** Requests may be answered after `execute` is over, also where the model is not decoupled. The instance takes its next batch meanwhile. */
  readonly answersLater?: boolean
  /** Instances look at the inputs of a request no more once it is answered (but where they say `holdInputs` of it), and no answer shares memory with them. */
  readonly copiesInputs?: boolean
  /** Asked by the dynamic batcher. Absent or null: the model has none. */
  readonly batchStrategy?: BatchStrategy | null
  /** Memory that the backend says the model holds, instances included. */
  readonly memoryUsage?: readonly MemoryUsage[]
  initializeInstance(context: BackendInstanceContext): Promise<BackendModelInstance>
  finalize(): Promise<void>
}

export interface Backend {
  readonly name: string
  /** TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading: instances of a model may be made at the same time. */
  readonly createsInstancesInParallel?: boolean
  /** Once, on first use. */
  initialize?(context: BackendContext): Promise<void>
  /** Before the first model: the server that its models may ask. */
  attach?(server: InferenceServer): void
  /** What its models count themselves, in Prometheus' text format. */
  metricsText?(): string
  finalize?(): Promise<void>
  initializeModel(context: BackendModelContext): Promise<BackendModel>
  /** The backend `name`, which is code of this one in a folder: of `python`, a backend that is a model.py. */
  basedOn?(name: string, codeDirectory: string): Backend
}

export type { DataType }
