import type { BackendInstanceContext, BackendModel, BackendModelInstance, BackendProcess, CountedExecution } from '../backends/backend.ts'
import type { Clock } from '../clock.ts'
import { isFaultOfCard } from '../contract/npu-fault.ts'
import type { InstanceProcess, InstanceRestart, ModelInstanceReport, ModelInstanceState } from '../contract/repository.ts'
import type { Logger } from '../logger.ts'
import type { ModelStatistics } from '../metrics/model-statistics.ts'
import type { InflightRequest } from '../scheduling/inflight-request.ts'
import type { InstancePool, PayloadRunner } from '../scheduling/instance-pool.ts'
import type { Payload } from '../scheduling/payload.ts'
import type { Admission } from '../scheduling/rate-limiter.ts'
import { ServerError } from '../server-error.ts'
import { devicesOf } from '../contract/repository.ts'

export interface ModelInstanceOptions {
  readonly context: BackendInstanceContext
  /** What the instance is made from: two with equal signatures can stand in for each other. */
  readonly signature: string
  readonly backendModel: BackendModel
  readonly statistics: ModelStatistics
  readonly pool: InstancePool
  /** Its place in the rate limiter; freed when the instance stops. */
  readonly admission?: Admission | null
  /** Run on each backend instance before it takes requests, also on one that replaces a dead one. */
  readonly warmUp?: (instance: ModelInstance) => Promise<void>
  /** Asked before each start; rejects where it must not be made. Absent: it may. */
  readonly allow?: () => Promise<void>
  readonly clock: Clock
  readonly log: Logger
  readonly model: string
  readonly version: string
  /** Nobody knows when it runs again: it was restarted as often as is allowed and given up, or its card stays away. */
  readonly onOutOfService: (error: Error) => void
  /** Running, restarting or given up changed. */
  readonly onStateChanged: () => void
}

/** Waits before each restart of a dead instance; after the last one it is given up. */
export const RESTART_DELAYS_SECONDS = [1, 2, 4, 8, 8] as const
/** The same while its card is at fault; the last one again and again, since a card may be away for hours and the model is fine. */
export const CARD_RESTART_DELAYS_SECONDS = [1, 2, 4, 8, 16, 30] as const
/** An instance that served this long is healthy again: the next death starts the back-off anew. */
const HEALTHY_SECONDS = 60

/**
 * One copy of a model: takes batches from the pool one at a time, and is replaced with back-off when it dies. A passive one never takes
 * any. What kills the whole process (a crash in native code) is not survived here: the server process is restarted by who started it.
 */
export class ModelInstance implements PayloadRunner {
  readonly name: string
  readonly admission: Admission | null
  readonly #options: ModelInstanceOptions
  #backend: BackendModelInstance | null = null
  /** The last of its backend's instances that ran. */
  #lastReport: ModelInstanceReport | null = null
  /** The last that its backend told of; null: it has none of its own. */
  #lastProcess: BackendProcess | null = null
  #deaths = 0
  #lastDeath: InstanceProcess['lastDeath'] = null
  #state: ModelInstanceState = 'STARTING'
  /** Attempts in a row, by whose fault they are: those of the card do not count against the model. */
  #restarts = 0
  #cardRestarts = 0
  /** What it recovers from is a fault of its card. */
  #awaitsCard = false
  /** The card came back while an attempt was under way that may have begun too early. */
  #hasCardAnswered = false
  #readySince = 0
  #cancelRestart: (() => void) | null = null
  #starting: Promise<void> | null = null
  /** The execution that goes on; null: none that takes time. */
  #running: Promise<void> | null = null
  /** Ends the execution that goes on when the instance dies, whether or not its backend does. */
  #abandonExecution: ((error: Error) => void) | null = null
  /** Ends a start that hangs, where the backend can. */
  readonly #unwanted = new AbortController()
  #trouble = ''
  /** When the next attempt begins, milliseconds since the epoch. */
  #restartAt = 0
  #hasJoined = false
  /** Requests of a decoupled model, or of a backend that answers later, whose execution is over and whose last answer is still to come. */
  readonly #open = new Set<InflightRequest>()
  #whenAllAnswered: (() => void) | null = null

  constructor(options: ModelInstanceOptions) {
    this.#options = options
    this.name = options.context.name
    this.admission = options.admission ?? null
  }

  get isPassive(): boolean { return this.#options.context.isPassive === true }
  get kind(): BackendInstanceContext['kind'] { return this.#options.context.kind }
  get state(): ModelInstanceState { return this.#state }
  /** Runs, and its backend does not say that it is stuck. */
  get isServing(): boolean { return this.#state === 'READY' && this.#backend?.isResponding !== false }
  /** `isServing`, and ready in the eyes of its backend where that wants to be asked. */
  async askReady(): Promise<boolean> {
    const { backendModel, log, model, version } = this.#options
    if (!this.isServing || backendModel.asksReadiness !== true) return this.isServing
    try {
      await this.#backend?.isReady?.()
      return this.isServing
    } catch (error) {
      log.verbose(1, 'model instance is not ready', { model, version, instance: this.name, error: error instanceof Error ? error.message : String(error) })
      return false
    }
  }
  /** The process of its own; undefined: it has none. */
  get process(): InstanceProcess | undefined {
    const last = this.#lastProcess
    return last === null ? undefined : { processId: this.#backend?.process?.processId ?? null, deaths: this.#deaths, lastDeath: this.#lastDeath, python: last.python }
  }
  get signature(): string { return this.#options.signature }
  /** What it runs on, or ran on before it died, as the backend says; null: the backend does not say. */
  get report(): ModelInstanceReport | null { return this.#backend?.report ?? this.#lastReport }
  /** Why it does not run: the death that it recovers from, or that ended it; '' while it runs. */
  get trouble(): string { return this.#trouble }
  /** The attempt to replace it that comes next or is under way; null: none is needed, or none is left. */
  get restart(): InstanceRestart | null {
    if (this.#state !== 'RESTARTING') return null
    return this.#awaitsCard
      ? { attempt: this.#cardRestarts, limit: null, at: this.#restartAt }
      : { attempt: this.#restarts, limit: RESTART_DELAYS_SECONDS.length, at: this.#restartAt }
  }
  /** Runs, or will within seconds: requests may wait for it. */
  get isExpected(): boolean {
    if (this.#state === 'RESTARTING') return !this.#awaitsCard || this.#cardRestarts <= RESTART_DELAYS_SECONDS.length
    return this.#state !== 'FAILED' && this.#state !== 'STOPPED'
  }

  /** Cards answer again: if it waits for one of them, its next attempt begins at once. @param isBack whether a device, as the backend numbers it, is one of them */
  cardsAnswer(isBack: (device: number) => boolean): void {
    if (this.#state !== 'RESTARTING' || !this.#awaitsCard || !devicesOf(this.report).some(isBack)) return
    if (this.#cancelRestart === null) {
      this.#hasCardAnswered = true
      return
    }
    this.#cancelRestart()
    this.#restartAt = this.#options.clock.wallMilliseconds()
    this.#options.onStateChanged()
    this.#restartNow()
  }

  /** It stops once its batch is over, and should not hang for that. */
  leaving(): void { this.#backend?.leaving?.() }

  /** What starts is not wanted any more: the backend may end a call that hangs. The start then fails. */
  abandonStart(): void { this.#unwanted.abort() }

  /** Creates the backend's instance and warms it up. It does not take work before `join`. On failure nothing of it is left. */
  async start(): Promise<void> {
    this.#starting = this.#start()
    try {
      await this.#starting
    } finally {
      this.#starting = null
    }
  }

  async #start(): Promise<void> {
    const { backendModel, context, clock, statistics, warmUp } = this.#options
    if (this.#options.allow !== undefined) await this.#options.allow()
    const instance = await backendModel.initializeInstance({
      ...context, unwanted: this.#unwanted.signal, countExecution: (batchSize, times) => { statistics.countExecution(batchSize, times, clock.wallMilliseconds()) },
    })
    if (this.#isStopped()) {
      await instance.finalize()
      return
    }
    this.#backend = instance
    this.#lastProcess = instance.process ?? null
    const life: { death: Error | null } = { death: null }
    instance.onDeath?.((error) => {
      life.death ??= error
      this.#died(instance, error)
    })
    try {
      if (warmUp !== undefined && !this.isPassive) await warmUp(this)
      // Dead before it ever was ready: as if it had not started.
      if (life.death !== null && !this.#isStopped()) throw life.death
    } catch (error) {
      // While it stops, `stop` frees it.
      if (this.#backend === instance && !this.#isStopped()) {
        this.#backend = null
        await instance.finalize()
      }
      throw error
    }
    if (this.#isStopped()) return
    this.#state = 'READY'
    this.#trouble = ''
    this.#readySince = clock.now()
  }

  #isStopped(): boolean { return this.#state === 'STOPPED' }

  /** Begins to take batches; one that died meanwhile does so once it runs again, a passive one never. */
  join(): void {
    this.#hasJoined = true
    if (this.#state === 'READY' && !this.isPassive) this.#options.pool.add(this)
  }

  run(payload: Payload): Promise<void> | null {
    this.#running = this.#execute(payload)
    return this.#running
  }

  /** Leaves the pool, waits for the batch that runs and for the last answers of requests that are answered later, and frees the backend's instance. */
  async stop(): Promise<void> {
    this.#state = 'STOPPED'
    this.#options.pool.remove(this)
    this.#cancelRestart?.()
    this.#unwanted.abort()
    this.leaving()
    try {
      // A start that fails now has freed what it made, and nobody waits for its reason.
      await this.#starting?.catch(() => {})
      await this.#running
      if (this.#open.size > 0) await new Promise<void>((resolve) => { this.#whenAllAnswered = resolve })
      const backend = this.#backend
      this.#backend = null
      await backend?.finalize()
    } finally {
      this.admission?.close()
    }
  }

  #execute(payload: Payload): Promise<void> | null {
    const requests = payload.requests.filter((request) => !request.isSettled)
    if (requests.length === 0) return null
    let batchSize = 0
    for (const request of requests) {
      batchSize += Math.max(1, request.batchSize)
      request.markExecuting()
    }
    const started = this.#options.clock.now()
    const backend = this.#backend
    if (backend === null) {
      this.#executed(requests, batchSize, started, new ServerError('UNAVAILABLE', `instance '${this.name}' is not running`))
      return null
    }
    let execution: ReturnType<BackendModelInstance['execute']>
    try {
      execution = backend.execute(requests)
    } catch (error) {
      this.#executed(requests, batchSize, started, asError(error))
      return null
    }
    if (execution instanceof Promise) return this.#untilExecuted(execution, requests, batchSize, started)
    this.#executed(requests, batchSize, started, execution)
    return null
  }

  /** Waits for the backend, or for the instance's death: a backend that is dead may never come back from the call. */
  #untilExecuted(execution: Promise<CountedExecution>, requests: readonly InflightRequest[], batchSize: number, started: number): Promise<void> {
    return new Promise((resolve) => {
      let isOver = false
      const end = (result: CountedExecution | Error) => {
        if (isOver) return
        isOver = true
        this.#abandonExecution = null
        this.#executed(requests, batchSize, started, result)
        resolve()
      }
      // Not at once: whoever tells of the death first puts the instance out of service.
      this.#abandonExecution = (error) => { queueMicrotask(() => { end(error) }) }
      execution.then(end, (error: unknown) => { end(asError(error)) })
    })
  }

  /** Counts the execution and ends its requests. @param result its times, or why it failed */
  #executed(requests: readonly InflightRequest[], batchSize: number, started: number, result: CountedExecution | Error): void {
    const { backendModel, clock, log, model, statistics, version } = this.#options
    let times: CountedExecution
    let failure: Error | null = null
    if (result instanceof Error) {
      failure = result
      const ended = clock.now()
      times = { executeStart: started, computeStart: started, computeEnd: ended, executeEnd: ended }
    } else {
      times = result
      if (times.isCounted !== true) statistics.countExecution(batchSize, times, clock.wallMilliseconds())
    }
    const answersLater = backendModel.answersLater === true
    for (const request of requests) {
      try {
        request.settleExecution(times, batchSize, failure, answersLater)
      } catch (error) {
        // What its receiver does with one answer must not cost the others theirs, nor the instance its place.
        log.error('an answer could not be delivered', {
          model, version, instance: this.name, error: error instanceof Error ? error.stack ?? error.message : String(error),
        })
      }
      if ((request.isDecoupled || answersLater) && !request.isSettled && request.isExecuting) this.#keepOpen(request)
    }
  }

  #keepOpen(request: InflightRequest): void {
    this.#open.add(request)
    request.whenOver(() => {
      this.#open.delete(request)
      if (this.#open.size === 0) this.#whenAllAnswered?.()
    })
  }

  #died(instance: BackendModelInstance, error: Error): void {
    if (this.#backend !== instance) return
    const { clock, log, model, version, pool } = this.#options
    this.#lastReport = instance.report ?? this.#lastReport
    this.#deaths++
    this.#lastDeath = { at: clock.wallMilliseconds(), reason: error.message }
    this.#backend = null
    log.error('model instance died', { model, version, instance: this.name, error: error.message })
    this.#abandonExecution?.(error)
    for (const request of [...this.#open]) request.settle({ kind: 'failure', error, reason: 'BACKEND' })
    instance.finalize().catch((reason: unknown) => {
      log.warning('could not free a dead model instance', { model, version, instance: this.name, error: String(reason) })
    })
    // In every other state whoever starts or stops it goes on from here.
    if (this.#state !== 'READY') return
    pool.remove(this)
    if (clock.now() - this.#readySince > HEALTHY_SECONDS * 1e9) this.#restarts = this.#cardRestarts = 0
    this.#restartLater(error)
  }

  #restartLater(cause: Error): void {
    const { clock, log, model, version } = this.#options
    this.#trouble = cause.message
    this.#awaitsCard = this.report?.runs_on === 'npu' && isFaultOfCard(cause.message, cause instanceof ServerError && cause.kind === 'UNAVAILABLE')
    const delay = this.#awaitsCard ? this.#cardDelaySeconds() : RESTART_DELAYS_SECONDS[this.#restarts]
    if (delay === undefined) {
      this.#state = 'FAILED'
      log.error('model instance given up', { model, version, instance: this.name, restarts: this.#restarts, error: cause.message })
      this.#options.onOutOfService(cause)
      this.#options.onStateChanged()
      return
    }
    this.#state = 'RESTARTING'
    const attempt = this.#awaitsCard ? ++this.#cardRestarts : ++this.#restarts
    this.#restartAt = clock.wallMilliseconds() + delay * 1000
    log.warning('model instance restarts', { model, version, instance: this.name, attempt, delaySeconds: delay })
    if (!this.isExpected) this.#options.onOutOfService(cause)
    this.#options.onStateChanged()
    this.#cancelRestart = clock.after(delay * 1e9, () => { this.#restartNow() })
  }

  #cardDelaySeconds(): number {
    return CARD_RESTART_DELAYS_SECONDS[this.#hasCardAnswered ? 0 : Math.min(this.#cardRestarts, CARD_RESTART_DELAYS_SECONDS.length - 1)] ?? 1
  }

  #restartNow(): void {
    const { log, model, version } = this.#options
    this.#cancelRestart = null
    this.#hasCardAnswered = false
    this.start().then(() => {
      if (this.#state !== 'READY') return
      log.info('model instance runs again', { model, version, instance: this.name })
      if (this.#hasJoined) this.join()
      this.#options.onStateChanged()
    }, (error: unknown) => {
      if (this.#state === 'RESTARTING') this.#restartLater(asError(error))
    })
  }
}

function asError(error: unknown): Error { return error instanceof Error ? error : new Error(String(error)) }
