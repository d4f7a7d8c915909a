import type { Logger } from '../../logger.ts'

/** What of a model may not come back. A stub's main thread does one at a time. */
export type ModelCall = 'auto_complete_config' | 'initialize' | 'execute' | 'finalize'

export interface CallWatchOptions {
  readonly log: Logger
  readonly logFields: Readonly<Record<string, string>>
  /** Seconds after which a call that still runs is worth a warning, and then whenever it has run twice as long; 0: never. */
  readonly slowSeconds: number
  /** Asks the stub where its main thread is; `tell` gets the answer. */
  readonly askStack: () => void
  /** A call ran longer than it may. Once a call. */
  readonly onLimit: (call: ModelCall, seconds: number) => void
}

interface Running {
  readonly call: ModelCall
  /** 0: none. */
  readonly limitSeconds: number
  seconds: number
  nextWarning: number
  isOverLimit: boolean
}

/**
 * Looks once a second at what a model does. The stub answers health checks while `execute` runs, however long, so a call that never returns looks healthy: this
 * says where it hangs, and ends it where it has a limit. Counts seconds in which it looked: when this process itself was stopped, nobody is to blame.
 */
export class CallWatch {
  readonly #options: CallWatchOptions
  #timer: NodeJS.Timeout | undefined
  #running: Running | null = null
  #askedAt = 0

  constructor(options: CallWatchOptions) { this.#options = options }

  start(): void {
    this.#timer = setInterval(() => { this.tick() }, 1000)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#running = null
  }

  begin(call: ModelCall, limitSeconds = 0): void {
    this.#askedAt = 0
    this.#running = { call, limitSeconds, seconds: 0, nextWarning: this.#options.slowSeconds, isOverLimit: false }
  }

  end(): void { this.#running = null }

  /** One second is over. */
  tick(): void {
    const running = this.#running
    if (running === null) return
    running.seconds++
    if (this.#askedAt > 0) this.#warn(running, 'it does not say where, so native code keeps the interpreter or the process is stopped')
    if (running.limitSeconds > 0 && running.seconds > running.limitSeconds && !running.isOverLimit) {
      running.isOverLimit = true
      this.#options.onLimit(running.call, running.limitSeconds)
    } else if (running.nextWarning > 0 && running.seconds >= running.nextWarning) {
      running.nextWarning = 2 * running.seconds
      this.#askedAt = running.seconds
      this.#options.askStack()
    }
  }

  /** The Python stack of the stub's main thread. */
  tell(stack: string): void { if (this.#running !== null && this.#askedAt > 0) this.#warn(this.#running, stack) }

  #warn({ call }: Running, where: string): void {
    const { log, logFields } = this.#options
    log.warning(`${call} of a Python model has been running for ${this.#askedAt} seconds:\n${where}`, { ...logFields, seconds: this.#askedAt })
    this.#askedAt = 0
  }
}
