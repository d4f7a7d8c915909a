import { steadyNanoseconds } from '../../clock.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import type { Tensor } from '../../contract/inference.ts'
import type { InferenceServer } from '../../inference-server.ts'
import type { Logger } from '../../logger.ts'
import { ServerError, toServerError } from '../../server-error.ts'
import type { BackendModelInstance, BackendProcess, BackendRequest, ExecutionTimes } from '../backend.ts'
import { clientShapeOf } from '../client-shape.ts'
import { residentBytesOf } from './process-memory.ts'
import type { PythonEnvironment } from './python-environment.ts'
import type { PythonMetrics } from './python-metrics.ts'
import type { PythonSettings } from './python-settings.ts'
import { StubCalls } from './stub-calls.ts'
import { notHealthy, StubConnection } from './stub-connection.ts'
import { StubHealth } from './stub-health.ts'
import type { ExecutedMessage, FromStub, SendMessage, StubRequest, StubResponse, StubStart } from './stub-messages.ts'
import type { StubEnd } from './stub-process.ts'
import { correlationOf, errorOf, parametersJson, parametersOf, sequenceFlags } from './stub-values.ts'

export interface PythonInstanceOptions {
  readonly config: ModelConfig
  readonly settings: PythonSettings
  readonly environment: PythonEnvironment
  readonly start: Omit<StubStart, 'memory_size' | 'memory_growth'>
  readonly server: () => InferenceServer
  readonly metrics: PythonMetrics
  readonly log: Logger
  readonly logFields: Readonly<Record<string, string>>
}

/** How long `is_ready` of a model may take. */
const IS_READY_MILLISECONDS = 5000
/** How long a process may take to end after its model was finalized. */
const END_MILLISECONDS = 5000
/** How long one that is given up may take to write the stacks of its threads. */
const DUMP_MILLISECONDS = 500

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

/** A model instance: one Python process. A batch goes over as one message, and its answer comes as one. */
export class PythonInstance implements BackendModelInstance {
  readonly #options: PythonInstanceOptions
  readonly #name: string
  readonly #calls: StubCalls
  readonly #health: StubHealth
  readonly #pending = new Map<number, PendingRequest>()
  readonly #batches = new Map<number, Batch>()
  readonly #outputNames: ReadonlySet<string>
  readonly #isDecoupled: boolean
  #connection: StubConnection | null = null
  #lastNumber = 0
  #hasIsReady = false
  #readiness: { readonly call: number; readonly resolve: (error: string | null) => void; readonly promise: Promise<string | null> } | null = null
  #initialized: { readonly resolve: () => void; readonly reject: (error: Error) => void } | null = null
  #finalized: (() => void) | null = null
  #death: ServerError | null = null
  #isClosing = false
  #onDeath: ((error: Error) => void) | null = null

  /**
   * Starts the process, which imports and initializes the model.
   * @throws ServerError INTERNAL with the text of the exception; what `StubConnection` throws
   */
  static async create(options: PythonInstanceOptions): Promise<PythonInstance> {
    const instance = new PythonInstance(options)
    try {
      await instance.#start()
      return instance
    } catch (error) {
      instance.#isClosing = true
      instance.#calls.close()
      await instance.#connection?.close()
      throw error
    }
  }

  private constructor(options: PythonInstanceOptions) {
    this.#options = options
    this.#name = options.start.name
    this.#isDecoupled = options.start.is_decoupled
    this.#outputNames = new Set(options.config.output.map(({ name }) => name))
    const { server, metrics, log, logFields, settings } = options
    this.#calls = new StubCalls({
      server, metrics, answer: (message) => { this.#connection?.send(message) }, traceOf: (request) => this.#pending.get(request)?.request.trace,
      memory: {
        take: (tensors) => this.#open.take(tensors), takeBytes: (offset, byteLength) => this.#open.takeBytes(offset, byteLength), put: (tensors) => this.#open.put(tensors),
      },
    })
    this.#health = new StubHealth({
      ping: () => { this.#connection?.send({ op: 'ping' }) },
      timeoutSeconds: settings.stubTimeoutSeconds,
      onStuck: (seconds) => { log.error('a Python model instance does not answer: it is not ready', { ...logFields, seconds }) },
      onAnswersAgain: () => { log.info('a Python model instance answers again', logFields) },
      onLost: (seconds) => {
        log.error('a Python model instance does not answer and is ended; the stacks of its threads follow where it can still tell them', { ...logFields, seconds })
        this.#connection?.dumpStacks()
        setTimeout(() => { this.#connection?.kill() }, DUMP_MILLISECONDS)
      },
    })
  }

  /** @throws ServerError INTERNAL once it is closed */
  get #open(): StubConnection {
    if (this.#connection === null) throw new ServerError('INTERNAL', `Stub process '${this.#name}' is not healthy.`)
    return this.#connection
  }

  get processId(): number { return this.#connection?.processId ?? 0 }
  /** Memory that its process holds; 0: it is gone. Processes that the model started are not counted. */
  get residentBytes(): number { return this.processId === 0 ? 0 : residentBytesOf(this.processId) }
  /** Inputs of requests, and answers to those of the model, that lie in shared memory: for tests. */
  get usedBlocks(): number { return this.#connection?.usedBlocks ?? 0 }
  get process(): BackendProcess | null {
    const python = this.#connection?.python ?? null
    return this.#death !== null || python === null ? null : { processId: this.processId, python }
  }
  get isResponding(): boolean { return this.#health.isResponding }

  async #start(): Promise<void> {
    const { settings, environment, start, log, logFields } = this.#options
    const initialized = new Promise<void>((resolve, reject) => { this.#initialized = { resolve, reject } })
    // The connection may fail first.
    initialized.catch(() => {})
    this.#connection = new StubConnection({
      settings, environment, start, log, logFields,
      onMessage: (message) => { this.#take(message) },
      onExit: (end) => { this.#exited(end) },
    })
    await this.#connection.start()
    await initialized
    this.#initialized = null
    this.#health.start()
  }

  async execute(requests: readonly BackendRequest[]): Promise<ExecutionTimes> {
    if (this.#death !== null) throw this.#failure(this.#death.message)
    const executeStart = steadyNanoseconds()
    const sent: StubRequest[] = []
    const batch: PendingRequest[] = []
    try {
      for (const request of requests) {
        const { described, block } = this.#open.putTogether(request.inputs)
        const number = ++this.#lastNumber
        batch.push({ number, request, block, isExecuted: false, waits: 0, isOver: false })
        sent.push({
          request: number, id: request.id, correlation: correlationOf(request.sequenceId), flags: sequenceFlags(request), timeout: request.timeoutMicroseconds,
          parameters: parametersJson(request.parameters), outputs: request.requestedOutputs, inputs: described,
        })
      }
    } catch (error) {
      for (const { block } of batch) this.#connection?.release(block)
      throw this.#failure(toServerError(error).message)
    }
    const number = ++this.#lastNumber
    const executed = new Promise<ExecutedMessage>((resolve, reject) => { this.#batches.set(number, { requests: batch, resolve, reject }) })
    for (const pending of batch) this.#pending.set(pending.number, pending)
    this.#open.send({ op: 'execute', batch: number, requests: sent })
    for (const pending of batch) pending.request.onCancel(() => { if (!pending.isOver) this.#connection?.send({ op: 'cancel', request: pending.number }) })
    const { compute_start: computeStart, compute_end: computeEnd } = await executed
    return { executeStart, computeStart, computeEnd, executeEnd: steadyNanoseconds() }
  }

  /** Alive, answering, and ready in its own eyes where the model has `is_ready`. */
  async isReady(): Promise<void> {
    if (this.#death !== null) throw this.#death
    if (!this.#health.isResponding) throw new ServerError('UNAVAILABLE', `Stub process '${this.#name}' is not healthy. It does not answer.`)
    if (!this.#hasIsReady) return
    const error = await this.#askIsReady()
    if (error !== null) throw new ServerError('UNAVAILABLE', error)
  }

  onDeath(listener: (error: Error) => void): void {
    this.#onDeath = listener
    if (this.#death !== null) listener(this.#death)
  }

  /** Lets the model finalize, for at most `stub-timeout-seconds`; then the process ends, and is ended where it does not. */
  async finalize(): Promise<void> {
    if (this.#isClosing) return
    this.#isClosing = true
    const connection = this.#connection
    let patience = END_MILLISECONDS
    if (this.#death === null && connection !== null) {
      const finalized = new Promise<void>((resolve) => { this.#finalized = resolve })
      connection.send({ op: 'finalize' })
      const seconds = this.#options.settings.stubTimeoutSeconds
      const timer = setTimeout(() => {
        this.#options.log.error('finalize of a model takes too long: its process is ended, and the stacks of its threads follow', { ...this.#options.logFields, seconds })
        connection.dumpStacks()
        patience = DUMP_MILLISECONDS
        this.#finalized?.()
      }, seconds * 1000)
      await finalized
      clearTimeout(timer)
    }
    this.#health.stop()
    this.#calls.close()
    this.#connection = null
    await connection?.closeWithin(patience)
  }

  #take(message: FromStub): void {
    switch (message.op) {
      case 'initialized':
        this.#hasIsReady = message.has_is_ready
        this.#initialized?.resolve()
        return
      case 'failed': this.#initialized?.reject(new ServerError('INTERNAL', message.error)); return
      case 'executed': this.#takeExecuted(message); return
      case 'send': this.#takeSent(message); return
      case 'dropped': this.#takeDropped(message.request); return
      case 'pong': this.#health.answered(); return
      case 'readiness': if (this.#readiness?.call === message.call) this.#readiness.resolve(message.error); return
      case 'finalized':
        if (message.error !== null) this.#options.log.error(`finalize of a model failed: ${message.error}`, this.#options.logFields)
        this.#finalized?.()
        return
      case 'infer': this.#calls.infer(message); this.#connection?.freeNow(); return
      case 'cancel_infer': this.#calls.cancelInfer(message.cancelled); return
      case 'metric_free': this.#calls.releaseMetric(message.metric); return
      case 'load': case 'unload': case 'ready': case 'metric_family': case 'metric': case 'metric_do': this.#calls.ask(message); return
      // The connection keeps these to itself, and nobody is completed here.
      case 'started': case 'log': case 'completed': return
    }
  }

  #takeExecuted(message: ExecutedMessage): void {
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

  #takeSent({ request: number, final: isFinal, response }: SendMessage): void {
    const pending = this.#pending.get(number)
    if (pending === undefined) {
      // Failed meanwhile, with everything that ran.
      if (response?.outputs !== undefined) this.#connection?.discard(response.outputs)
    } else if (!this.#isDecoupled) {
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
      const wait = request.send(this.#outputsOf(request, response), parametersOf(response.parameters))
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

  #takeDropped(number: number): void {
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
      else request.respond(this.#outputsOf(request, response), parametersOf(response.parameters))
    })
  }

  #outputsOf(request: BackendRequest, { outputs = [] }: StubResponse): Tensor[] {
    const asked = new Set(request.requestedOutputs)
    const wanted = outputs.filter(([name]) => asked.has(name) && this.#outputNames.has(name))
    const unwanted = outputs.filter((output) => !wanted.includes(output))
    if (unwanted.length > 0) this.#open.discard(unwanted)
    return this.#open.take(wanted).map((tensor) => ({ ...tensor, shape: clientShapeOf(this.#options.config, tensor.name, tensor.shape) }))
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

  #exited(end: StubEnd): void {
    this.#health.stop()
    this.#calls.close()
    this.#finalized?.()
    this.#readiness?.resolve('its process ended')
    this.#death = new ServerError('INTERNAL', notHealthy(this.#name, end))
    if (this.#initialized !== null) {
      this.#initialized.reject(this.#death)
      return
    }
    // Clients get Triton's sentence; how it ended stands in the log and in the index.
    const failure = this.#failure(`Stub process '${this.#name}' is not healthy.`)
    for (const pending of [...this.#pending.values()]) {
      this.#end(pending, (request) => { request.fail(failure) })
      this.#executed(pending)
    }
    const batches = [...this.#batches.values()]
    this.#batches.clear()
    for (const { reject } of batches) reject(failure)
    if (!this.#isClosing) this.#onDeath?.(this.#death)
  }

  #failure(text: string): ServerError {
    return new ServerError('INTERNAL', `Failed to process the request(s) for model instance '${this.#name}', message: ${text}`)
  }

  /** One call at a time; whoever asks meanwhile gets the same answer. @returns why the model is not ready; null: it is */
  #askIsReady(): Promise<string | null> {
    if (this.#readiness !== null) return this.#readiness.promise
    const { promise, resolve } = Promise.withResolvers<string | null>()
    const timer = setTimeout(() => { resolve(`is_ready of model '${this.#name}' did not answer within ${IS_READY_MILLISECONDS / 1000} seconds.`) }, IS_READY_MILLISECONDS)
    const call = ++this.#lastNumber
    this.#readiness = { call, resolve, promise }
    void promise.then(() => {
      clearTimeout(timer)
      this.#readiness = null
    })
    this.#open.send({ op: 'is_ready', call })
    return promise
  }
}
