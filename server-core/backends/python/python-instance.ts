import type { ModelConfig } from '../../contract/model-config.ts'
import type { InferenceServer } from '../../inference-server.ts'
import type { Logger } from '../../logger.ts'
import { ServerError } from '../../server-error.ts'
import type { BackendModelInstance, BackendProcess, BackendRequest, ExecutionTimes } from '../backend.ts'
import { CallWatch } from './call-watch.ts'
import { residentBytesOf } from './process-memory.ts'
import type { PythonEnvironment } from './python-environment.ts'
import type { PythonMetrics } from './python-metrics.ts'
import type { CallLimits, PythonSettings } from './python-settings.ts'
import { StubCalls } from './stub-calls.ts'
import { DUMP_MILLISECONDS, notHealthy, StubConnection } from './stub-connection.ts'
import { StubHealth } from './stub-health.ts'
import type { FromStub, StubStart } from './stub-messages.ts'
import type { StubEnd } from './stub-process.ts'
import { executionFailure, StubRequests } from './stub-requests.ts'

export interface PythonInstanceOptions {
  readonly config: ModelConfig
  readonly settings: PythonSettings
  readonly limits: CallLimits
  readonly environment: PythonEnvironment
  readonly start: Omit<StubStart, 'memory_size' | 'memory_growth'>
  readonly server: () => InferenceServer
  readonly metrics: PythonMetrics
  readonly log: Logger
  readonly logFields: Readonly<Record<string, string>>
  /** Aborted: nobody waits for the instance any more. A start that hangs is ended then. */
  readonly unwanted?: AbortSignal
}

/** How long `is_ready` of a model may take. */
const IS_READY_MILLISECONDS = 5000
/** How long a process may take to end after its model was finalized. */
const END_MILLISECONDS = 5000

/** A model instance: one Python process, from its start to its end. What it runs is with `StubRequests`. */
export class PythonInstance implements BackendModelInstance {
  readonly #options: PythonInstanceOptions
  readonly #name: string
  readonly #calls: StubCalls
  readonly #health: StubHealth
  readonly #watch: CallWatch
  readonly #requests: StubRequests
  #connection: StubConnection | null = null
  #lastCall = 0
  #hasIsReady = false
  #readiness: { readonly call: number; readonly resolve: (error: string | null) => void; readonly promise: Promise<string | null> } | null = null
  #initialized: { readonly resolve: () => void; readonly reject: (error: Error) => void } | null = null
  #finalized: (() => void) | null = null
  #death: ServerError | null = null
  #isClosing = false
  #leavingTimer: NodeJS.Timeout | undefined
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
      instance.#watch.stop()
      instance.#calls.close()
      await instance.#connection?.close()
      throw error
    }
  }

  private constructor(options: PythonInstanceOptions) {
    this.#options = options
    this.#name = options.start.name
    this.#requests = new StubRequests({ config: options.config, instanceName: this.#name, isDecoupled: options.start.is_decoupled, connection: () => this.#connection })
    const { server, metrics, log, logFields, settings } = options
    this.#calls = new StubCalls({
      server, metrics, answer: (message) => { this.#connection?.send(message) }, traceOf: (request) => this.#requests.traceOf(request),
      memory: {
        take: (tensors) => this.#open.take(tensors), takeBytes: (offset, byteLength) => this.#open.takeBytes(offset, byteLength), put: (tensors) => this.#open.put(tensors),
      },
    })
    this.#health = new StubHealth({
      ping: () => { this.#connection?.send({ op: 'ping' }) },
      timeoutSeconds: settings.stubTimeoutSeconds,
      onStuck: (seconds) => { log.error('a Python model instance does not answer: it is not ready', { ...logFields, seconds }) },
      onAnswersAgain: () => { log.info('a Python model instance answers again', logFields) },
      onLost: (seconds) => { this.#connection?.endHanging(`it did not answer for ${seconds} seconds`) },
    })
    this.#watch = new CallWatch({
      log, logFields, slowSeconds: settings.slowCallSeconds,
      askStack: () => { this.#connection?.send({ op: 'stack' }) },
      onLimit: (call, seconds) => { this.#connection?.endHanging(`${call} did not return within ${seconds} seconds`) },
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
    const { settings, limits, environment, start, log, logFields, unwanted } = this.#options
    unwanted?.throwIfAborted()
    const initialized = new Promise<void>((resolve, reject) => { this.#initialized = { resolve, reject } })
    // The connection may fail first.
    initialized.catch(() => {})
    this.#connection = new StubConnection({
      settings, environment, start, log, logFields,
      onMessage: (message) => { this.#take(message) },
      onExit: (end) => { this.#exited(end) },
    })
    const abandon = () => { this.#connection?.kill('its load was given up') }
    unwanted?.addEventListener('abort', abandon, { once: true })
    try {
      await this.#connection.start()
      this.#watch.begin('initialize', limits.initializeSeconds)
      this.#watch.start()
      await initialized
    } finally {
      unwanted?.removeEventListener('abort', abandon)
      this.#watch.end()
    }
    this.#initialized = null
    this.#health.start()
  }

  async execute(requests: readonly BackendRequest[]): Promise<ExecutionTimes> {
    if (this.#death !== null) throw executionFailure(this.#name, this.#death.message)
    this.#watch.begin('execute', this.#options.limits.executeSeconds)
    try {
      return await this.#requests.execute(requests)
    } finally {
      this.#watch.end()
    }
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

  /** A batch that nobody waits for any more holds up the end of the model for at most `stub-timeout-seconds`. */
  leaving(): void {
    if (this.#leavingTimer !== undefined) return
    const { stubTimeoutSeconds } = this.#options.settings
    let seconds = 0
    this.#leavingTimer = setInterval(() => {
      seconds = this.#requests.areAbandoned ? seconds + 1 : 0
      if (seconds !== stubTimeoutSeconds) return
      this.#connection?.endHanging(`the model is unloaded, and what it runs did not return within ${seconds} seconds although nobody waits for it`)
    }, 1000)
    this.#leavingTimer.unref()
  }

  /** Lets the model finalize, for at most `stub-timeout-seconds`; then the process ends, and is ended where it does not. */
  async finalize(): Promise<void> {
    if (this.#isClosing) return
    this.#isClosing = true
    clearInterval(this.#leavingTimer)
    const connection = this.#connection
    let patience = END_MILLISECONDS
    if (this.#death === null && connection !== null) {
      const finalized = new Promise<void>((resolve) => { this.#finalized = resolve })
      connection.send({ op: 'finalize' })
      this.#watch.begin('finalize')
      const seconds = this.#options.settings.stubTimeoutSeconds
      const timer = setTimeout(() => {
        patience = 2 * DUMP_MILLISECONDS
        connection.endHanging(`finalize did not return within ${seconds} seconds`)
        this.#finalized?.()
      }, seconds * 1000)
      await finalized
      clearTimeout(timer)
    }
    this.#health.stop()
    this.#watch.stop()
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
      case 'executed': this.#requests.takeExecuted(message); return
      case 'send': this.#requests.takeSent(message); return
      case 'dropped': this.#requests.takeDropped(message.request); return
      case 'pong': this.#health.answered(); return
      case 'stack': this.#watch.tell(message.stack); return
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

  #exited(end: StubEnd): void {
    this.#health.stop()
    this.#watch.stop()
    clearInterval(this.#leavingTimer)
    this.#calls.close()
    this.#finalized?.()
    this.#readiness?.resolve('its process ended')
    this.#death = new ServerError('INTERNAL', notHealthy(this.#name, end))
    if (this.#initialized !== null) {
      this.#initialized.reject(this.#death)
      return
    }
    // Clients get Triton's sentence; how it ended stands in the log and in the index.
    this.#requests.failAll(executionFailure(this.#name, `Stub process '${this.#name}' is not healthy.`))
    if (!this.#isClosing) this.#onDeath?.(this.#death)
  }

  /** One call at a time; whoever asks meanwhile gets the same answer. @returns why the model is not ready; null: it is */
  #askIsReady(): Promise<string | null> {
    if (this.#readiness !== null) return this.#readiness.promise
    const { promise, resolve } = Promise.withResolvers<string | null>()
    const timer = setTimeout(() => { resolve(`is_ready of model '${this.#name}' did not answer within ${IS_READY_MILLISECONDS / 1000} seconds.`) }, IS_READY_MILLISECONDS)
    const call = ++this.#lastCall
    this.#readiness = { call, resolve, promise }
    void promise.then(() => {
      clearTimeout(timer)
      this.#readiness = null
    })
    this.#open.send({ op: 'is_ready', call })
    return promise
  }
}
