import { steadyNanoseconds } from '../../clock.ts'
import type { Tensor } from '../../contract/inference.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import { ServerError, toServerError } from '../../server-error.ts'
import type { BackendRequest, ExecutionTimes } from '../backend.ts'
import { clientShapeOf } from '../client-shape.ts'
import type { StubConnection } from './stub-connection.ts'
import type { ExecutedMessage, SendMessage, StubRequest, StubResponse, StubTensor } from './stub-messages.ts'
import { correlationOf, errorOf, parametersJson, parametersOf, sequenceFlags } from './stub-values.ts'

interface Batch {
  readonly requests: readonly PendingRequest[]
  readonly resolve: (message: ExecutedMessage) => void
  readonly reject: (error: Error) => void
}

/** A request that the stub knows. */
interface PendingRequest {
  readonly number: number
  readonly request: BackendRequest
  /** Of its inputs in shared memory. */
  readonly block: number
  isExecuted: boolean
  /** Answers that whoever takes them has not worked off. */
  waits: number
  /** The last answer was given, or it was put back. */
  isOver: boolean
}

export interface StubRequestsOptions {
  readonly config: ModelConfig
  readonly instanceName: string
  readonly isDecoupled: boolean
  /** The stub; null once there is none. */
  readonly connection: () => StubConnection | null
}

/** The requests that a stub has: batches go over as one message each, and answers come back for a batch or one by one. */
export class StubRequests {
  readonly #options: StubRequestsOptions
  readonly #outputNames: ReadonlySet<string>
  readonly #pending = new Map<number, PendingRequest>()
  readonly #batches = new Map<number, Batch>()
  #lastNumber = 0

  constructor(options: StubRequestsOptions) {
    this.#options = options
    this.#outputNames = new Set(options.config.output.map(({ name }) => name))
  }

  get #connection(): StubConnection | null { return this.#options.connection() }

  /** @throws ServerError INTERNAL once there is none */
  get #open(): StubConnection {
    const connection = this.#connection
    if (connection === null) throw new ServerError('INTERNAL', `Stub process '${this.#options.instanceName}' is not healthy.`)
    return connection
  }

  /** Is there something to answer, and nobody that waits for it? */
  get areAbandoned(): boolean { return this.#pending.size > 0 && [...this.#pending.values()].every(({ request }) => request.isCancelled || request.isNull) }

  /** By the number that the stub knows a request by; undefined: it is not traced, or is over. */
  traceOf(number: number): BackendRequest['trace'] { return this.#pending.get(number)?.request.trace }

  /** @throws ServerError INTERNAL where shared memory is exhausted, and when the stub ends */
  async execute(requests: readonly BackendRequest[]): Promise<ExecutionTimes> {
    const executeStart = steadyNanoseconds()
    const connection = this.#open
    const sent: StubRequest[] = []
    const batch: PendingRequest[] = []
    try {
      for (const request of requests) {
        const { described, block } = connection.putTogether(request.inputs)
        const number = ++this.#lastNumber
        batch.push({ number, request, block, isExecuted: false, waits: 0, isOver: false })
        sent.push({
          request: number, id: request.id, correlation: correlationOf(request.sequenceId), flags: sequenceFlags(request), timeout: request.timeoutMicroseconds,
          parameters: parametersJson(request.parameters), outputs: request.requestedOutputs, inputs: described,
        })
      }
    } catch (error) {
      for (const { block } of batch) connection.release(block)
      throw this.#failure(toServerError(error).message)
    }
    const number = ++this.#lastNumber
    const executed = new Promise<ExecutedMessage>((resolve, reject) => { this.#batches.set(number, { requests: batch, resolve, reject }) })
    for (const pending of batch) this.#pending.set(pending.number, pending)
    connection.send({ op: 'execute', batch: number, requests: sent })
    for (const pending of batch) pending.request.onCancel(() => { if (!pending.isOver) this.#connection?.send({ op: 'cancel', request: pending.number }) })
    const { compute_start: computeStart, compute_end: computeEnd } = await executed
    return { executeStart, computeStart, computeEnd, executeEnd: steadyNanoseconds() }
  }

  takeExecuted(message: ExecutedMessage): void {
    const batch = this.#batches.get(message.batch)
    if (batch === undefined) return
    this.#batches.delete(message.batch)
    const { error, responses } = message
    for (const [index, pending] of batch.requests.entries()) {
      const response = responses?.[index] ?? null
      if (error !== undefined) this.#end(pending, (request) => { request.fail(new ServerError('INTERNAL', error)) })
      else if (response?.put_back === true) this.#end(pending, (request) => { request.reschedule() })
      else if (response !== null) this.#answer(pending, response)
      this.#executed(pending)
    }
    batch.resolve(message)
  }

  takeSent({ request: number, final: isFinal, response }: SendMessage): void {
    const pending = this.#pending.get(number)
    if (pending === undefined) {
      // Failed meanwhile, with everything that ran.
      if (response?.outputs !== undefined) this.#connection?.discard(response.outputs)
    } else if (!this.#options.isDecoupled) {
      if (response !== undefined) this.#answer(pending, response)
    } else if (response === undefined) {
      if (isFinal) this.#end(pending, (request) => { request.complete() })
    } else if (isFinal) {
      this.#answer(pending, response)
    } else {
      this.#sendPartial(pending, response)
    }
    this.#connection?.freeNow()
  }

  #sendPartial(pending: PendingRequest, response: StubResponse): void {
    const { request } = pending
    if (response.failure !== undefined) {
      request.sendError(errorOf(response.failure))
      return
    }
    try {
      const wait = request.send(this.#outputsOf(pending, response), parametersOf(response.parameters))
      if (wait !== undefined) this.#holdWhile(wait, pending)
    } catch (error) {
      request.sendError(this.#failure(toServerError(error).message))
    }
  }

  /** The model's sender waits before its next answer until this one has been worked off, or given up. */
  #holdWhile(wait: Promise<void>, pending: PendingRequest): void {
    const { number } = pending
    if (pending.waits++ === 0) this.#connection?.send({ op: 'hold', request: number })
    const done = () => { if (--pending.waits === 0) this.#connection?.send({ op: 'go', request: number }) }
    wait.then(done, done)
  }

  takeDropped(number: number): void {
    const pending = this.#pending.get(number)
    if (pending === undefined) return
    this.#end(pending, (request) => {
      request.fail(this.#failure('the model let go of a request without a last answer to it. Return a response from execute, or send one with TRITONSERVER_RESPONSE_COMPLETE_FINAL '
        + 'through the response sender of the request'))
    })
  }

  /** The last answer of a request. */
  #answer(pending: PendingRequest, response: StubResponse): void {
    this.#end(pending, (request) => {
      if (response.failure !== undefined) request.fail(errorOf(response.failure))
      else request.respond(this.#outputsOf(pending, response), parametersOf(response.parameters))
    })
  }

  #outputsOf({ request, block }: PendingRequest, { outputs = [] }: StubResponse): Tensor[] {
    const isWanted = ([name]: StubTensor) => request.requestedOutputs.includes(name) && this.#outputNames.has(name)
    const wanted = outputs.every(isWanted) ? outputs : outputs.filter(isWanted)
    if (wanted.length < outputs.length) this.#open.discard(outputs.filter((output) => !wanted.includes(output)))
    return this.#open.takeOutputs(wanted, block).map((tensor) => ({ ...tensor, shape: clientShapeOf(this.#options.config, tensor.name, tensor.shape) }))
  }

  /** Ends a request once; what goes wrong with that is its answer. */
  #end(pending: PendingRequest, end: (request: BackendRequest) => void): void {
    if (pending.isOver) return
    pending.isOver = true
    try {
      end(pending.request)
    } catch (error) {
      pending.request.fail(toServerError(error))
    }
    if (pending.isExecuted) this.#forget(pending)
  }

  #executed(pending: PendingRequest): void {
    pending.isExecuted = true
    if (pending.isOver) this.#forget(pending)
  }

  #forget(pending: PendingRequest): void {
    this.#pending.delete(pending.number)
    this.#connection?.release(pending.block)
  }

  /** The stub is gone: everything that it had ends with that error. */
  failAll(failure: ServerError): void {
    for (const pending of [...this.#pending.values()]) {
      this.#end(pending, (request) => { request.fail(failure) })
      this.#executed(pending)
    }
    const batches = [...this.#batches.values()]
    this.#batches.clear()
    for (const { reject } of batches) reject(failure)
  }

  #failure(text: string): ServerError { return executionFailure(this.#options.instanceName, text) }
}

/** Triton's sentence for what the server finds, not the stub. */
export function executionFailure(instanceName: string, text: string): ServerError {
  return new ServerError('INTERNAL', `Failed to process the request(s) for model instance '${instanceName}', message: ${text}`)
}
