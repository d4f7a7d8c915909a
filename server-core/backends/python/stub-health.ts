/** Milliseconds between two pings. */
const PING_MILLISECONDS = 1000
/** Pings in a row without an answer after which an instance is not ready: five seconds with the first wait. */
const STUCK_AFTER = 4

export interface StubHealthOptions {
  readonly ping: () => void
  /** How long it may be silent before it is lost. */
  readonly timeoutSeconds: number
  /** It does not answer any more. */
  readonly onStuck: (seconds: number) => void
  readonly onAnswersAgain: () => void
  /** It did not answer for `timeoutSeconds`. Once. */
  readonly onLost: (seconds: number) => void
}

/**
 * Asks a stub once a second whether it is there. A thread of its own answers while the model computes, so silence means that the process is stopped or that
 * native code keeps the interpreter's lock. Counts pings and not time: when this process itself was stopped, nobody is to blame.
 */
export class StubHealth {
  readonly #options: StubHealthOptions
  #timer: NodeJS.Timeout | undefined
  #isWaiting = false
  #missed = 0
  #isLost = false

  constructor(options: StubHealthOptions) { this.#options = options }

  get isResponding(): boolean { return this.#missed < STUCK_AFTER }

  start(): void {
    this.#timer = setInterval(() => { this.tick() }, PING_MILLISECONDS)
    this.#timer.unref()
  }

  stop(): void { clearInterval(this.#timer) }

  answered(): void {
    this.#isWaiting = false
    const wasStuck = !this.isResponding
    this.#missed = 0
    if (wasStuck) this.#options.onAnswersAgain()
  }

  /** One second is over. */
  tick(): void {
    if (!this.#isWaiting) {
      this.#isWaiting = true
      this.#options.ping()
      return
    }
    this.#missed++
    if (this.#missed === STUCK_AFTER) this.#options.onStuck(this.#missed)
    if (this.#missed < Math.max(STUCK_AFTER, this.#options.timeoutSeconds) || this.#isLost) return
    this.#isLost = true
    this.#options.onLost(this.#missed)
  }
}
