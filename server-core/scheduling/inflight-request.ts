import type { BackendRequest, ExecutionTimes } from '../backends/backend.ts'
import type { ParameterValue, RequestTrace, Tensor } from '../contract/inference.ts'
import type { FailureReason } from '../metrics/model-statistics.ts'
import type { Payload } from './payload.ts'
import type { RequestList } from './request-list.ts'
import { ServerError } from '../server-error.ts'

/** How a request ended. */
export type RequestOutcome =
  | {
    readonly kind: 'response'
    /** Null: a decoupled model said that nothing more comes. */
    readonly outputs: readonly Tensor[] | null
    readonly parameters: Readonly<Record<string, ParameterValue>>
    readonly times: ExecutionTimes
    /** Total batch size of the execution. */
    readonly executedBatchSize: number
  }
  | { readonly kind: 'failure'; readonly error: Error; readonly reason: FailureReason }

/** One answer of a decoupled model that is not the last one. */
export type PartialAnswer =
  | { readonly outputs: readonly Tensor[]; readonly parameters: Readonly<Record<string, ParameterValue>> }
  | { readonly error: Error }

type FinalAnswer =
  | { readonly outputs: readonly Tensor[] | null; readonly parameters: Readonly<Record<string, ParameterValue>> }
  | { readonly error: Error }

/** What the sequence batcher wants to hear of a request. */
export interface SequenceHooks {
  /** @throws ServerError where the model has no state of that name */
  updateState(state: Tensor): void
  /** Null: the model is not iterative. */
  readonly reschedule: (() => void) | null
}

export interface InflightRequestFields {
  readonly id: string
  readonly inputs: readonly Tensor[]
  readonly requestedOutputs: readonly string[]
  readonly parameters: Readonly<Record<string, ParameterValue>>
  readonly batchSize: number
  /** Steady nanoseconds: when the server took the request in, and when it entered the scheduler. */
  readonly requestStart: number
  readonly queueStart: number
  /** Queue timeout asked for by the client; 0: none. */
  readonly timeoutMicroseconds: number
  /** 0n: the model's default level. */
  readonly priority?: bigint
  readonly sequenceId?: bigint | string
  readonly sequenceStart?: boolean
  readonly sequenceEnd?: boolean
  /** Of a decoupled model: may be answered several times, also after its execution. */
  readonly isDecoupled?: boolean
  readonly isNull?: boolean
  /** Absent: it is not traced. */
  readonly trace?: RequestTrace | undefined
  readonly onPartial?: (answer: PartialAnswer, request: InflightRequest) => void | Promise<void>
  readonly onSettled: (outcome: RequestOutcome, request: InflightRequest) => void
  /** Told when the request leaves the queue for an instance. */
  readonly onExecuting?: () => void
}

/**
 * One request between the server's front door and its last answer. Owned by the scheduler from `enqueue` until `settle`, which has an
 * effect exactly once. The fields `list`, `previous` and `next` belong to the `RequestList` that holds it.
 */
export class InflightRequest implements BackendRequest {
  readonly id: string
  /** A scheduler may add tensors (controls and states of sequences). */
  inputs: readonly Tensor[]
  readonly requestedOutputs: readonly string[]
  readonly parameters: Readonly<Record<string, ParameterValue>>
  readonly batchSize: number
  readonly requestStart: number
  readonly queueStart: number
  readonly timeoutMicroseconds: number
  readonly priority: bigint
  sequenceId: bigint | string
  sequenceStart: boolean
  sequenceEnd: boolean
  readonly isDecoupled: boolean
  readonly isNull: boolean
  readonly trace: RequestTrace | undefined
  /** Its instance looks at the inputs after the last answer. */
  inputsAreHeld = false
  list: RequestList | null = null
  previous: InflightRequest | null = null
  next: InflightRequest | null = null
  /** The payload that it waits in or ran in; null: none yet, or taken out again. */
  payload: Payload | null = null
  /** Part of the batch that is being formed, if it is the queue's current generation. */
  scanGeneration = 0
  /** Its number in the queue: which of two with the same deadline came first. */
  arrival = 0
  /** Position in the deadline heap; -1: no deadline. */
  heapIndex = -1
  /** Steady nanoseconds; 0: never. */
  deadline = 0
  /** Set by the sequence batcher. */
  sequenceHooks: SequenceHooks | null = null
  #isExecuting = false
  #isCancelled = false
  #cancelListeners: (() => void)[] | null = null
  /** Of this request alone, where its backend told them. */
  #ownTimes: ExecutionTimes | null = null
  #answer: FinalAnswer | null = null
  #isRescheduled = false
  /** Of the execution, once it has ended; a decoupled request may be answered after that. */
  #execution: { readonly times: ExecutionTimes; readonly batchSize: number } | null = null
  #isSettled = false
  #overListeners: (() => void)[] | null = null
  readonly #fields: Pick<InflightRequestFields, 'onPartial' | 'onSettled' | 'onExecuting'>

  constructor(fields: InflightRequestFields) {
    this.id = fields.id
    this.inputs = fields.inputs
    this.requestedOutputs = fields.requestedOutputs
    this.parameters = fields.parameters
    this.batchSize = fields.batchSize
    this.requestStart = fields.requestStart
    this.queueStart = fields.queueStart
    this.timeoutMicroseconds = fields.timeoutMicroseconds
    this.priority = fields.priority ?? 0n
    this.sequenceId = fields.sequenceId ?? 0n
    this.sequenceStart = fields.sequenceStart ?? false
    this.sequenceEnd = fields.sequenceEnd ?? false
    this.isDecoupled = fields.isDecoupled ?? false
    this.isNull = fields.isNull ?? false
    this.trace = fields.trace
    this.#fields = fields
  }

  get isSettled(): boolean { return this.#isSettled }
  get isExecuting(): boolean { return this.#isExecuting }

  get isCancelled(): boolean { return this.#isCancelled }
  /** Set by the scheduler: the client does not want the request any more. Never back to false. */
  set isCancelled(isCancelled: boolean) {
    if (!isCancelled || this.#isCancelled) return
    this.#isCancelled = true
    const listeners = this.#cancelListeners ?? []
    this.#cancelListeners = null
    for (const listener of listeners) listener()
  }

  onCancel(listener: () => void): void {
    if (this.#isCancelled) listener()
    else if (!this.#isSettled) (this.#cancelListeners ??= []).push(listener)
  }

  /** The request is handed to an instance: from here only the backend can react to a cancellation. */
  markExecuting(): void {
    this.#isExecuting = true
    this.#answer = null
    this.#isRescheduled = false
    this.#execution = null
    this.#ownTimes = null
    this.#cancelListeners = null
    this.#fields.onExecuting?.()
  }

  respond(outputs: readonly Tensor[], parameters: Readonly<Record<string, ParameterValue>> = {}): void {
    this.#end({ outputs, parameters })
  }

  fail(error: Error): void { this.#end({ error }) }

  complete(): void {
    this.#requireDecoupled()
    this.#end({ outputs: null, parameters: {} })
  }

  send(outputs: readonly Tensor[], parameters: Readonly<Record<string, ParameterValue>> = {}): void | Promise<void> {
    return this.#sendPartial({ outputs, parameters })
  }

  sendError(error: Error): void { void this.#sendPartial({ error }) }

  reportTimes(times: ExecutionTimes): void { this.#ownTimes = times }

  holdInputs(): void { this.inputsAreHeld = true }

  updateState(state: Tensor): void {
    if (this.isNull) return
    if (this.sequenceHooks === null) throw new ServerError('INVALID_ARG', `unable to add state '${state.name}'. State configuration is missing for the model`)
    this.sequenceHooks.updateState(state)
  }

  reschedule(): void {
    if (!this.sequenceHooks?.reschedule) {
      throw new ServerError('INVALID_ARG', 'Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag.')
    }
    this.#requireOpen()
    this.#isRescheduled = true
    if (this.#execution !== null) this.#goBack()
  }

  /**
   * The execution is over: ends the request with what the backend answered, or with `executionError` where it did not answer. One that
   * was put back goes to its scheduler; one of a decoupled model, or of a backend that answers later, stays open until its last answer.
   */
  settleExecution(times: ExecutionTimes, executedBatchSize: number, executionError: Error | null, mayBeAnsweredLater = false): void {
    this.#execution = { times, batchSize: executedBatchSize }
    if (this.#isRescheduled && executionError === null) {
      this.#goBack()
      return
    }
    if (this.#answer === null && executionError === null && (this.isDecoupled || mayBeAnsweredLater)) return
    this.#answer ??= { error: executionError ?? new ServerError('INTERNAL', 'the backend finished the batch without answering this request') }
    this.#settleAnswer(this.#answer)
  }

  /** Calls when the request is over, whatever its end, just before the client hears of it. */
  whenOver(listener: () => void): void { (this.#overListeners ??= []).push(listener) }

  settle(outcome: RequestOutcome): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#cancelListeners = null
    for (const listener of this.#overListeners ?? []) listener()
    this.#fields.onSettled(outcome, this)
  }

  #goBack(): void {
    this.#isExecuting = false
    this.sequenceHooks?.reschedule?.()
  }

  #end(answer: FinalAnswer): void {
    // What a backend still says about a request that its server gave up reaches nobody.
    if (this.#isSettled) return
    this.#requireOpen()
    this.#answer = answer
    if (this.#execution !== null) this.#settleAnswer(answer)
  }

  #settleAnswer(answer: FinalAnswer): void {
    if ('error' in answer) {
      this.settle({ kind: 'failure', error: answer.error, reason: 'BACKEND' })
      return
    }
    if (this.#execution === null) throw new Error('a request is answered before its execution')
    this.settle({
      kind: 'response', outputs: answer.outputs, parameters: answer.parameters, times: this.#ownTimes ?? this.#execution.times, executedBatchSize: this.#execution.batchSize,
    })
  }

  #sendPartial(answer: PartialAnswer): void | Promise<void> {
    this.#requireDecoupled()
    if (this.#isSettled) return
    this.#requireOpen()
    return this.isNull ? undefined : this.#fields.onPartial?.(answer, this)
  }

  #requireOpen(): void {
    if (this.#answer !== null || this.#isRescheduled) throw new Error('a request was ended twice by its backend')
  }

  #requireDecoupled(): void {
    if (!this.isDecoupled) throw new Error('several answers are for decoupled models only (model_transaction_policy { decoupled: true })')
  }
}
