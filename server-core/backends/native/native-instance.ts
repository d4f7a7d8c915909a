import { steadyNanoseconds } from '../../clock.ts'
import type { ParameterValue, Tensor } from '../../contract/inference.ts'
import type { ModelInstanceReport } from '../../contract/repository.ts'
import { isWorthReleasing } from '../../release-memory.ts'
import { ServerError } from '../../server-error.ts'
import { inputLike } from '../batch-inputs.ts'
import type { BackendInstanceContext, BackendModelInstance, BackendRequest, CountedExecution, ExecutionTimes } from '../backend.ts'
import {
  eventError, hostRequestOf, RELEASE_RESCHEDULE, RESPONSE_FINAL, unflattenParameters, unflattenTensors,
  type FourTimes, type HostRequest, type ReleasedEvent, type ResponseEvent,
} from './host-events.ts'
import type { NativeHost, NativeRequestListener } from './native-host.ts'

export interface NativeInstanceOptions {
  readonly host: NativeHost
  readonly token: number
  readonly name: string
  readonly isDecoupled: boolean
  /** The next request of a sequence needs the state that this one leaves: nothing is answered before its release. */
  readonly hasSequences: boolean
  /** The shape of an output as a client sees it. */
  readonly clientShape: (output: string, shape: readonly number[]) => readonly number[]
  readonly countExecution: BackendInstanceContext['countExecution']
  /** Told when the instance leaves, with the promise of its end. */
  readonly finalized: (end: Promise<void>) => void
}

/** Errors that say nothing about the instance: asking it whether it is ready would be for nothing. */
const REQUEST_ERRORS = new Set(['INVALID_ARG', 'CANCELLED', 'UNSUPPORTED'])

/** A model instance of a backend library. Its code runs on the thread that the host has for it. */
export class NativeInstance implements BackendModelInstance {
  report: ModelInstanceReport | null = null
  readonly #options: NativeInstanceOptions
  readonly #batches = new Set<Batch>()
  #death: Error | null = null
  #onDeath: ((error: Error) => void) | null = null
  /** The backend reports its executions; one that never did is counted from here. */
  #reportsExecutions = false
  #isChecking = false
  #isRemoved = false

  constructor(options: NativeInstanceOptions) { this.#options = options }

  /** Told by the host: an execution that the backend reported. */
  batchStatistics(batchSize: number, times: FourTimes): void {
    // Those of the oldest batch: it says which times its requests are charged.
    for (const batch of this.#batches) {
      if (batch.reported !== null) continue
      batch.reported = executionTimes(times)
      break
    }
    this.#reportsExecutions = true
    this.#options.countExecution?.(batchSize, executionTimes(times))
  }

  readReport(json: string | null): void {
    if (json === null) return
    try {
      this.report = JSON.parse(json) as ModelInstanceReport
    } catch (error) {
      throw new ServerError('INTERNAL', `NPUCONSOLE_ModelInstanceReport of instance '${this.#options.name}' is not JSON: ${json.slice(0, 200)}`, { cause: error })
    }
  }

  execute(requests: readonly BackendRequest[]): Promise<CountedExecution> {
    const { host, token } = this.#options
    return new Promise((resolve, reject) => {
      const batch = new Batch(requests, this.#options, (ended) => { this.#ended(ended) }, resolve)
      this.#batches.add(batch)
      try {
        host.submit(token, host.nextToken(), batch.flat, batch.requests, (error) => { batch.executed(error) })
      } catch (error) {
        this.#batches.delete(batch)
        reject(error as Error)
        return
      }
      batch.requests.forEach((request) => { request.source.onCancel(() => { this.#cancel(request) }) })
    })
  }

  async isReady(): Promise<void> {
    if (this.#death !== null) throw this.#death
    const { host, token } = this.#options
    this.readReport(await host.checkInstance(token))
  }

  onDeath(listener: (error: Error) => void): void {
    this.#onDeath = listener
    if (this.#death !== null) listener(this.#death)
  }

  async finalize(): Promise<void> {
    if (this.#isRemoved) return
    this.#isRemoved = true
    const end = this.#options.host.removeInstance(this.#options.token)
    this.#options.finalized(end)
    await end
  }

  #cancel(request: NativeRequest): void {
    // Also while the instance leaves: that waits for what its backend holds.
    if (request.isOver) return
    this.#options.host.cancel(this.#options.token, request.token)
  }

  #ended(batch: Batch): void {
    this.#batches.delete(batch)
    const { countExecution, host } = this.#options
    // After what came with the last answer, which may be the report.
    host.atGroupEnd(() => { if (!this.#reportsExecutions && batch.hasSuccess) countExecution?.(batch.batchSize, batch.measured()) })
    if (batch.failure !== null) this.#check()
  }

  /** After a failure: the backend may have lost its card, which another instance of the same may not have. */
  #check(): void {
    if (this.#isChecking || this.#isRemoved || this.#death !== null) return
    this.#isChecking = true
    this.isReady().catch((error: unknown) => {
      if (this.#isRemoved) return
      this.#death = error instanceof Error ? error : new Error(String(error))
      this.#onDeath?.(this.#death)
    }).finally(() => { this.#isChecking = false })
  }
}

/** Requests that were handed over together, until the last of them is over. */
class Batch {
  readonly requests: readonly NativeRequest[]
  readonly batchSize: number
  /** What the backend reported of it; null: nothing so far. */
  reported: ExecutionTimes | null = null
  hasSuccess = false
  failure: ServerError | null = null
  readonly #onEnd: (batch: Batch) => void
  readonly #resolve: (execution: CountedExecution) => void
  readonly #answersAfterRelease: boolean
  readonly #executeStart = steadyNanoseconds()
  #executeEnd = 0
  #openCount: number

  constructor(requests: readonly BackendRequest[], options: NativeInstanceOptions, onEnd: (batch: Batch) => void, resolve: (execution: CountedExecution) => void) {
    const template = requests.find(({ isNull }) => !isNull)?.inputs
    this.requests = requests.map((request) => {
      // A row without a request has the same inputs as the others: what it lacks is zeros.
      const inputs = request.isNull && template !== undefined ? template.map((input) => inputLike(request, input)) : request.inputs
      return new NativeRequest(request, inputs, options.host.nextToken(), options, this)
    })
    this.batchSize = requests.reduce((sum, { batchSize }) => sum + Math.max(1, batchSize), 0)
    this.#openCount = requests.length
    this.#answersAfterRelease = options.hasSequences
    this.#onEnd = onEnd
    this.#resolve = resolve
  }

  get flat(): HostRequest[] { return this.requests.map((request) => request.flat()) }

  get isExecuted(): boolean { return this.#executeEnd > 0 }

  executed(error: ServerError | null): void {
    this.#executeEnd = steadyNanoseconds()
    if (error !== null) this.failure = error
    for (const request of this.requests) request.deliver()
    if (!this.#answersAfterRelease) this.#finishExecution()
    this.#endIfOver()
  }

  requestOver(): void {
    this.#openCount--
    this.#endIfOver()
  }

  #endIfOver(): void {
    if (this.#openCount > 0 || !this.isExecuted) return
    if (this.#answersAfterRelease) this.#finishExecution()
    this.#onEnd(this)
  }

  measured(): ExecutionTimes {
    const executeEnd = this.isExecuted ? this.#executeEnd : steadyNanoseconds()
    return { executeStart: this.#executeStart, computeStart: this.#executeStart, computeEnd: executeEnd, executeEnd }
  }

  #finishExecution(): void { this.#resolve({ ...this.reported ?? this.measured(), isCounted: true }) }
}

interface Answer { readonly outputs: readonly Tensor[]; readonly parameters: Readonly<Record<string, ParameterValue>> }

/**
 * One request that the backend has. Its last answer goes on when the request was released as well, so that it carries the times and states that come
 * with the release; where that takes longer than the execution, without (a state is always waited for).
 */
class NativeRequest implements NativeRequestListener {
  readonly source: BackendRequest
  readonly token: number
  /** The backend reads their memory until the release, so they are held as long: the zeros of a row without a request are nobody else's. */
  readonly #inputs: readonly Tensor[]
  readonly #options: NativeInstanceOptions
  readonly #batch: Batch
  /** Of a model that is not decoupled: sent without the FINAL flag, which comes alone. */
  #early: Answer | null = null
  /** Passes the last answer on. */
  #end: (() => void) | null = null
  #isDelivered = false
  #isReleased = false
  #hasFinal = false

  constructor(source: BackendRequest, inputs: readonly Tensor[], token: number, options: NativeInstanceOptions, batch: Batch) {
    this.source = source
    this.#inputs = inputs
    this.token = token
    this.#options = options
    this.#batch = batch
  }

  get isOver(): boolean { return this.#hasFinal && this.#isReleased }
  get trace(): BackendRequest['trace'] { return this.source.trace }

  /** Its trace has the number of the request. */
  flat(): HostRequest { return hostRequestOf(this.source, this.token, this.#inputs, this.source.trace === undefined ? 0 : this.token) }

  responded(event: ResponseEvent): void {
    const isFinal = (event.flags & RESPONSE_FINAL) !== 0
    const error = eventError(event)
    let answer: Answer | ServerError | null = error
    if (error === null && !event.isEmpty) {
      try {
        const outputs = unflattenTensors(event.tensors).map((output): Tensor => ({
          ...output, shape: this.#options.clientShape(output.name, output.shape), ...(isWorthReleasing(output.data) ? { isExclusive: true } : {}),
        }))
        answer = { outputs, parameters: unflattenParameters(event.parameters) }
      } catch (invalid) {
        answer = invalid as ServerError
      }
    }
    if (answer instanceof Error && !REQUEST_ERRORS.has(answer.kind)) this.#batch.failure ??= answer
    if (isFinal) this.#final(answer)
    else if (answer !== null) this.#partial(answer)
  }

  released(event: ReleasedEvent): void {
    const { flags, tensors, times } = event
    this.#isReleased = true
    if (times !== undefined) this.source.reportTimes(executionTimes(times))
    try {
      // Its states, which the next request of the sequence would need, did not come over.
      const lost = eventError(event)
      if (lost !== null) throw lost
      for (const state of unflattenTensors(tensors ?? [])) this.source.updateState(state)
      if ((flags & RELEASE_RESCHEDULE) !== 0) {
        this.source.reschedule()
        // Its answer comes after a later execution.
        this.#isDelivered = true
        this.#hasFinal = true
      }
    } catch (error) {
      this.#fail(error as Error)
    }
    this.deliver()
    this.#leaveIfOver()
  }

  /** Passes the last answer on if there is one and nothing more is to be waited for. */
  deliver(): void {
    if (this.#isDelivered || this.#end === null) return
    if (!this.#isReleased && (!this.#batch.isExecuted || this.#options.hasSequences)) return
    this.#isDelivered = true
    if (!this.#isReleased) this.source.holdInputs?.()
    this.#end()
  }

  #partial(answer: Answer | ServerError): void {
    if (!this.#options.isDecoupled) {
      if (answer instanceof Error) this.#fail(answer)
      else this.#early ??= answer
    } else if (answer instanceof Error) {
      this.source.sendError(answer)
    } else {
      // Triton's API has no way to make a backend wait; what waits for a slow client waits behind this.
      void this.source.send(answer.outputs, answer.parameters)
    }
  }

  #final(answer: Answer | ServerError | null): void {
    this.#hasFinal = true
    const last = answer ?? this.#early
    if (last instanceof Error) this.#fail(last)
    else if (last !== null) this.#succeed(() => { this.source.respond(last.outputs, last.parameters) })
    else if (this.#options.isDecoupled) this.#succeed(() => { this.source.complete() })
    else this.#fail(new ServerError('INTERNAL', 'the backend ended the request without a response'))
    // What the backend reports with the release often comes in the same group of events.
    if (this.#batch.isExecuted && !this.#isReleased) this.#options.host.atGroupEnd(() => { this.deliver() })
    else this.deliver()
    this.#leaveIfOver()
  }

  #succeed(end: () => void): void {
    this.#end ??= () => {
      this.#batch.hasSuccess = true
      end()
    }
  }

  #fail(error: Error): void { this.#end = () => { this.source.fail(error) } }

  #leaveIfOver(): void {
    if (!this.isOver) return
    this.#options.host.forgetRequest(this.token)
    this.#batch.requestOver()
  }
}

function executionTimes([executeStart, computeStart, computeEnd, executeEnd]: FourTimes): ExecutionTimes {
  return { executeStart, computeStart, computeEnd, executeEnd }
}
