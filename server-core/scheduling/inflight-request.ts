import type { BackendRequest, ExecutionTimes } from '../backends/backend.ts'
import type { ParameterValue, Tensor } from '../contract/inference.ts'
import type { FailureReason } from '../metrics/model-statistics.ts'
import type { RequestList } from './request-list.ts'
import { ServerError } from '../server-error.ts'

/** How a request ended. `execution` is absent when it never reached an instance. */
export type RequestOutcome =
  | {
    readonly kind: 'response'
    readonly outputs: readonly Tensor[]
    readonly parameters: Readonly<Record<string, ParameterValue>>
    readonly times: ExecutionTimes
    /** Total batch size of the execution. */
    readonly executedBatchSize: number
  }
  | { readonly kind: 'failure'; readonly error: Error; readonly reason: FailureReason }

type Answer =
  | { readonly outputs: readonly Tensor[]; readonly parameters: Readonly<Record<string, ParameterValue>> }
  | { readonly error: Error }

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
  readonly onSettled: (outcome: RequestOutcome, request: InflightRequest) => void
  /** Told when the request leaves the queue for an instance. */
  readonly onExecuting?: () => void
}

/**
 * One request between the server's front door and its answer. Owned by the scheduler from `enqueue` until `settle`, which is called
 * exactly once. The fields `list`, `previous` and `next` belong to the `RequestList` that holds it.
 */
export class InflightRequest implements BackendRequest {
  readonly id: string
  readonly inputs: readonly Tensor[]
  readonly requestedOutputs: readonly string[]
  readonly parameters: Readonly<Record<string, ParameterValue>>
  readonly batchSize: number
  readonly requestStart: number
  readonly queueStart: number
  readonly timeoutMicroseconds: number
  list: RequestList | null = null
  previous: InflightRequest | null = null
  next: InflightRequest | null = null
  /** Part of the batch that is being formed. */
  isScanned = false
  /** Position in the deadline heap; -1: no deadline. */
  heapIndex = -1
  /** Steady nanoseconds; 0: never. */
  deadline = 0
  isCancelled = false
  #isExecuting = false
  #answer: Answer | null = null
  #isSettled = false
  readonly #onSettled: InflightRequestFields['onSettled']
  readonly #onExecuting: (() => void) | undefined

  constructor(fields: InflightRequestFields) {
    this.id = fields.id
    this.inputs = fields.inputs
    this.requestedOutputs = fields.requestedOutputs
    this.parameters = fields.parameters
    this.batchSize = fields.batchSize
    this.requestStart = fields.requestStart
    this.queueStart = fields.queueStart
    this.timeoutMicroseconds = fields.timeoutMicroseconds
    this.#onSettled = fields.onSettled
    this.#onExecuting = fields.onExecuting
  }

  get isSettled(): boolean { return this.#isSettled }
  get isExecuting(): boolean { return this.#isExecuting }

  /** The request is handed to an instance: from here only the backend can react to a cancellation. */
  markExecuting(): void {
    this.#isExecuting = true
    this.#onExecuting?.()
  }

  respond(outputs: readonly Tensor[], parameters: Readonly<Record<string, ParameterValue>> = {}): void {
    this.#answerOnce({ outputs, parameters })
  }

  fail(error: Error): void { this.#answerOnce({ error }) }

  /** Ends the request with what the backend answered, or with `executionError` where it did not answer. */
  settleExecution(times: ExecutionTimes, executedBatchSize: number, executionError: Error | null): void {
    const answer = this.#answer
    if (answer !== null && 'outputs' in answer) {
      this.settle({ kind: 'response', outputs: answer.outputs, parameters: answer.parameters, times, executedBatchSize })
      return
    }
    const error = answer !== null && 'error' in answer ? answer.error
      : executionError ?? new ServerError('INTERNAL', 'the backend finished the batch without answering this request')
    this.settle({ kind: 'failure', error, reason: 'BACKEND' })
  }

  settle(outcome: RequestOutcome): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#onSettled(outcome, this)
  }

  #answerOnce(answer: Answer): void {
    if (this.#answer !== null) throw new Error('a request was answered twice by its backend')
    this.#answer = answer
  }
}
