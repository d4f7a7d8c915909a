import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import { ServerError } from '../server-error.ts'
import type { ModelLifecycle } from './model-lifecycle.ts'

const SECOND_NANOSECONDS = 1e9

export interface ExitCountdownOptions {
  readonly lifecycle: Pick<ModelLifecycle, 'busyModels' | 'liveModelCount' | 'unfinishedLoadCount'>
  readonly clock: Clock
  readonly log: Logger
  readonly timeoutSeconds: number
}

/**
 * The exit timeout: says once a second what the server still waits for, first the requests in flight, then the models that are not freed,
 * in Triton's words (scheduling facts, section 10).
 */
export class ExitCountdown {
  /** Rejects when the time is up. */
  readonly expired: Promise<never>
  readonly #options: ExitCountdownOptions
  #remaining: number
  #areModelsStopped = false
  #cancelTimer: () => void = () => {}

  constructor(options: ExitCountdownOptions) {
    this.#options = options
    this.#remaining = Math.ceil(Math.max(0, options.timeoutSeconds))
    this.expired = new Promise<never>((_resolve, reject) => {
      const tick = () => {
        this.#logWaiting()
        const left = this.#remaining--
        // Even without a timeout, what only takes the end of the current work is not an expired exit.
        const wait = left <= 0 ? 0 : SECOND_NANOSECONDS
        this.#cancelTimer = options.clock.after(wait, left <= 0
          ? () => { reject(new ServerError('INTERNAL', 'Exit timeout expired. Exiting immediately.')) }
          : tick)
      }
      tick()
    })
    // Nobody waits for it any more once everything ended in time.
    this.expired.catch(() => {})
  }

  cancel(): void { this.#cancelTimer() }

  /** The last lines: everything is freed. */
  logEnd(): void {
    this.#remaining = Math.max(0, this.#remaining)
    this.#logStopped()
    this.#logLive()
  }

  #logWaiting(): void {
    const { lifecycle, log } = this.#options
    if (!this.#areModelsStopped) {
      const busy = lifecycle.busyModels()
      log.info(`Timeout ${this.#remaining}: Found ${busy.length} model versions that have in-flight inferences`)
      for (const model of busy) log.info(`Model '${model.name}' (version ${model.version}) has ${model.inflightCount} in-flight inferences`, { model: model.name })
      if (busy.length > 0) return
    }
    this.#logStopped()
    this.#logLive()
  }

  #logStopped(): void {
    if (this.#areModelsStopped) return
    this.#areModelsStopped = true
    this.#options.log.info('All models are stopped, unloading models')
  }

  #logLive(): void {
    const { lifecycle, log } = this.#options
    log.info(`Timeout ${this.#remaining}: Found ${lifecycle.liveModelCount} live models and ${lifecycle.unfinishedLoadCount} in-flight non-inference requests`)
  }
}
