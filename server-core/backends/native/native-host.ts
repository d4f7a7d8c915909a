import type { LogHub, LogSettings } from '../../logger.ts'
import type { RequestTrace } from '../../contract/inference.ts'
import { toServerError, type ServerError } from '../../server-error.ts'
import { readEvents } from './event-group.ts'
import {
  callError, errorCode, EVENT, eventError, LOG_LEVEL, QUESTION,
  type FourTimes, type HostEvent, type HostInstanceOptions, type HostModelOptions, type HostRequest, type InferEvent, type MemoryUsageEvent, type QuestionEvent,
  type ReleasedEvent, type ResponseEvent, type TritonHost, type TritonHostConstructor,
} from './host-events.ts'
import { RequestTraces } from './request-traces.ts'

/** Whoever answers what backends ask of the server. */
export interface ServerQuestions {
  question(event: QuestionEvent, host: TritonHost): void
  infer(event: InferEvent, host: TritonHost, traces: RequestTraces): void
  cancelInfer(infer: number): void
}

/** What a model is told besides the results of its calls. */
export interface NativeModelListener {
  readonly name: string
  readonly backend: string
  memoryUsed(event: MemoryUsageEvent): void
  /** The config that ModelInitialize is to see, JSON. */
  instanceGroups(configJson: string, backendFacts: string): string
}

export interface NativeInstanceListener {
  batchStatistics(batchSize: number, times: FourTimes): void
}

/** One request that a backend has. It is over after its last answer and its release, in either order. */
export interface NativeRequestListener {
  /** Absent: it is not traced. */
  readonly trace?: RequestTrace | undefined
  responded(event: ResponseEvent): void
  released(event: ReleasedEvent): void
}

/** What TRITONHOST_EVENT_MODEL_INITIALIZED says. */
export interface InitializedModel {
  /** JSON; a backend may have changed it. */
  readonly config: string
  readonly facts: string
}

interface Waiting<T> { readonly resolve: (value: T) => void; readonly reject: (error: Error) => void }

export interface NativeHostOptions {
  readonly TritonHost: TritonHostConstructor
  readonly backendDirectories: readonly string[]
  readonly logs: LogHub
  readonly questions: ServerQuestions
}

/**
 * The host of backend libraries, seen from this server: gives out tokens, turns the events that end a call into promises, and hands the others to
 * whom they are about. Events come in groups; `onGroupEnd` runs after each, so that what came together is looked at together.
 */
export class NativeHost {
  readonly host: TritonHost
  readonly #options: NativeHostOptions
  readonly #models = new Map<number, NativeModelListener>()
  readonly #instances = new Map<number, NativeInstanceListener>()
  readonly #batches = new Map<number, (error: ServerError | null) => void>()
  readonly #requests = new Map<number, NativeRequestListener>()
  readonly #traces = new RequestTraces()
  readonly #modelsWaiting = new Map<number, Waiting<InitializedModel>>()
  readonly #batchersWaiting = new Map<number, Waiting<string | null>>()
  readonly #instancesWaiting = new Map<number, Waiting<string | null>>()
  readonly #endsWaiting = new Map<number, Waiting<void>>()
  readonly #checksWaiting = new Map<number, Waiting<string | null>[]>()
  readonly #groupEnds = new Set<() => void>()
  readonly #endLog: () => void
  #lastToken = 0

  constructor(options: NativeHostOptions) {
    this.#options = options
    const { TritonHost: Host, backendDirectories, logs } = options
    this.host = new Host(
      { backendDirectories, logLevels: levelsOf(logs.settings), unloadReportMilliseconds: 0, leakGraceMilliseconds: 0 },
      (numbers, count, values) => { this.#take(readEvents(numbers, count, values)) },
    )
    this.#endLog = logs.onChange((settings) => { this.host.setLogLevels(levelsOf(settings)) })
  }

  /** @param timeoutMilliseconds how long backends may take to let go. @throws ServerError UNAVAILABLE that names the models a backend keeps */
  close(timeoutMilliseconds: number): Promise<void> {
    this.#endLog()
    return this.host.close(timeoutMilliseconds)
  }

  nextToken(): number { return ++this.#lastToken }

  /** Opens the backend where it is the first model of it, and initializes the model. On failure nothing of the model is left. */
  loadModel(options: HostModelOptions, listener: NativeModelListener): Promise<InitializedModel> {
    const { token } = options
    this.#models.set(token, listener)
    return this.#call(this.#modelsWaiting, token, () => { this.host.loadModel(options) }).catch((error: unknown) => {
      this.#models.delete(token)
      throw error
    })
  }

  /** @param library the path in the config; null: none is given @returns the path of the batching library of a model; null: it has none */
  openBatcher(model: number, library: string | null): Promise<string | null> {
    return this.#call(this.#batchersWaiting, model, () => { this.host.openBatcher(model, library) })
  }

  /** Removes its instances and finalizes it, however long its backend takes. */
  async unloadModel(token: number): Promise<void> {
    try {
      await this.#call(this.#endsWaiting, token, () => { this.host.unloadModel(token) })
    } finally {
      this.#models.delete(token)
    }
  }

  /** @returns what the backend reports of the instance, JSON; null: it reports nothing */
  addInstance(options: HostInstanceOptions, listener: NativeInstanceListener): Promise<string | null> {
    const { token } = options
    this.#instances.set(token, listener)
    return this.#call(this.#instancesWaiting, token, () => { this.host.addInstance(options) }).catch((error: unknown) => {
      this.#instances.delete(token)
      throw error
    })
  }

  /** Runs what was submitted, waits for what the backend still holds, finalizes. */
  async removeInstance(token: number): Promise<void> {
    try {
      await this.#call(this.#endsWaiting, token, () => { this.host.removeInstance(token) })
    } finally {
      this.#instances.delete(token)
    }
  }

  /** Rejects with the backend's reason where the instance is not ready. @returns what the backend reports of it, as `addInstance` */
  checkInstance(token: number): Promise<string | null> {
    return new Promise((resolve, reject) => {
      const waiting = this.#checksWaiting.get(token) ?? []
      waiting.push({ resolve, reject })
      this.#checksWaiting.set(token, waiting)
      try {
        this.host.checkInstance(token)
      } catch (error) {
        waiting.pop()
        reject(callError(error))
      }
    })
  }

  /**
   * Hands a batch over. The listeners hear of each request until it is over.
   * @throws ServerError where the host does not take it; then no listener hears anything
   */
  submit(instance: number, batch: number, requests: readonly HostRequest[], listeners: readonly NativeRequestListener[], onExecuted: (error: ServerError | null) => void): void {
    this.#batches.set(batch, onExecuted)
    requests.forEach(([token], index) => {
      const listener = listeners[index]!
      this.#requests.set(token, listener)
      if (listener.trace !== undefined) this.#traces.begin(token, listener.trace)
    })
    try {
      this.host.submit(instance, batch, requests)
    } catch (error) {
      this.#batches.delete(batch)
      for (const [token] of requests) this.forgetRequest(token)
      throw callError(error)
    }
  }

  /** Tells the backend that nobody waits for the request any more. */
  cancel(instance: number, request: number): void {
    try {
      this.host.cancel(instance, request)
    } catch (error) {
      // The instance or the host ended meanwhile, and the request with it: its last answer is under way.
      const failure = callError(error)
      if (failure.kind !== 'NOT_FOUND' && failure.kind !== 'UNAVAILABLE') throw failure
    }
  }

  forgetRequest(token: number): void {
    this.#requests.delete(token)
    this.#traces.end(token)
  }

  /** Runs after the next group of events. */
  atGroupEnd(run: () => void): void { this.#groupEnds.add(run) }

  #call<T>(waiting: Map<number, Waiting<T>>, token: number, call: () => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      waiting.set(token, { resolve, reject })
      try {
        call()
      } catch (error) {
        waiting.delete(token)
        reject(callError(error))
      }
    })
  }

  #take(events: readonly HostEvent[]): void {
    for (const event of events) this.#guard(() => { this.#handle(event) })
    const ends = [...this.#groupEnds]
    this.#groupEnds.clear()
    for (const end of ends) this.#guard(end)
  }

  /** One event that cannot be worked must not cost the others. */
  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#options.logs.logger('native-host').error('an event of a backend could not be worked', { error: error instanceof Error ? error.stack ?? error.message : String(error) })
    }
  }

  #handle(event: HostEvent): void {
    const { token } = event
    switch (event.kind) {
      case EVENT.modelInitialized: return settle(this.#modelsWaiting, token, eventError(event), { config: event.text ?? '', facts: event.detail ?? '{}' })
      case EVENT.instanceInitialized: return settle(this.#instancesWaiting, token, eventError(event), event.detail ?? null)
      case EVENT.modelUnloaded:
      case EVENT.instanceRemoved: return settle(this.#endsWaiting, token, eventError(event), undefined)
      case EVENT.batcherOpened: return settle(this.#batchersWaiting, token, eventError(event), event.text ?? null)
      case EVENT.instanceReadiness: return this.#checked(token, eventError(event), event.detail ?? null)
      case EVENT.batchExecuted: {
        const executed = this.#batches.get(token)
        this.#batches.delete(token)
        return executed?.(eventError(event))
      }
      case EVENT.response: return this.#requests.get(token)?.responded(event)
      case EVENT.requestReleased: return this.#requests.get(token)?.released(event)
      case EVENT.batchStatistics:
        failIfLost(event)
        return this.#instances.get(token)?.batchStatistics(event.batchSize, event.times)
      case EVENT.memoryUsage:
        failIfLost(event)
        return this.#models.get(event.model ?? 0)?.memoryUsed(event)
      case EVENT.log: return this.#log(event)
      case EVENT.violation:
        failIfLost(event)
        return this.#options.logs.logger('native-host').warning(event.text, this.#modelField(event.model))
      case EVENT.question: return event.question === QUESTION.instanceGroups ? this.#answerGroups(event) : this.#options.questions.question(event, this.host)
      case EVENT.infer: return this.#options.questions.infer(event, this.host, this.#traces)
      case EVENT.inferCancelled: return this.#options.questions.cancelInfer(token)
      case EVENT.traceActivity:
        failIfLost(event)
        return this.#traces.activity(token, event.text, event.times[0])
      // This server counts the responses of decoupled models itself, as for any backend.
      case EVENT.responseStatistics: return
    }
  }

  #checked(token: number, error: Error | null, report: string | null): void {
    const first = this.#checksWaiting.get(token)?.shift()
    if (error === null) first?.resolve(report)
    else first?.reject(error)
  }

  #log(event: Extract<HostEvent, { readonly kind: typeof EVENT.log }>): void {
    failIfLost(event)
    const { level, text, detail, line, model } = event
    const backend = this.#models.get(model ?? 0)?.backend
    const logger = this.#options.logs.logger(backend === undefined ? 'native-backend' : `backend-${backend}`)
    const fields = this.#modelField(model)
    if (level === LOG_LEVEL.error) logger.error(text, { ...fields, ...sourceOf(detail, line) })
    else if (level === LOG_LEVEL.warning) logger.warning(text, fields)
    else if (level === LOG_LEVEL.info) logger.info(text, fields)
    else logger.verbose(1, text, { ...fields, ...sourceOf(detail, line) })
  }

  #answerGroups(event: QuestionEvent): void {
    const { token, model = 0, text = '', detail = '' } = event
    try {
      failIfLost(event)
      this.host.answer(token, 0, null, 0, this.#models.get(model)?.instanceGroups(text, detail) ?? text)
    } catch (error) {
      const { kind, message } = toServerError(error)
      this.host.answer(token, errorCode(kind), message, 0, null)
    }
  }

  #modelField(model: number | undefined): { readonly model?: string } {
    const name = this.#models.get(model ?? 0)?.name
    return name === undefined ? {} : { model: name }
  }
}

/** An event that nobody hears the failure of otherwise. @throws ServerError where the addon could not bring over what it carried */
function failIfLost(event: HostEvent): void {
  const error = eventError(event)
  if (error !== null) throw error
}

function settle<T>(waiting: Map<number, Waiting<T>>, token: number, error: Error | null, value: T): void {
  const call = waiting.get(token)
  waiting.delete(token)
  if (error === null) call?.resolve(value)
  else call?.reject(error)
}

function sourceOf(file: string, line: number): { readonly source?: string } {
  return file === '' ? {} : { source: `${file.slice(file.lastIndexOf('/') + 1)}:${line}` }
}

/** The mask of the levels that are wanted. */
function levelsOf({ isInfoOn, isWarningOn, isErrorOn, verboseLevel }: LogSettings): number {
  const bit = (isOn: boolean, level: number) => (isOn ? 1 << level : 0)
  return bit(isInfoOn, LOG_LEVEL.info) | bit(isWarningOn, LOG_LEVEL.warning) | bit(isErrorOn, LOG_LEVEL.error) | bit(verboseLevel > 0, LOG_LEVEL.verbose)
}
