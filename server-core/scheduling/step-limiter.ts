import type { Clock } from '../clock.ts'

/** A step that waited this long starts all the same: whatever holds the slots must not stop the ensemble for ever. */
export const STEP_WAIT_SECONDS = 300

interface WaitingStep {
  readonly start: () => void
  cancelTimer: () => void
}

/**
 * `ensemble_scheduling { max_inflight_requests }`: at most so many requests of one step are in flight, over all requests of the ensemble.
 * Whoever comes later waits, first come first served.
 */
export class StepLimiter {
  readonly #limit: number
  readonly #clock: Clock
  readonly #waiting = new Set<WaitingStep>()
  #inFlight = 0
  #isBeginning = false

  constructor(limit: number, clock: Clock) {
    this.#limit = limit
    this.#clock = clock
  }

  get inFlight(): number { return this.#inFlight }

  /**
   * Calls `start` at once, or later when a slot is free; then one `release` is owed.
   * @param onExpired told just before a start that did not get a slot within `STEP_WAIT_SECONDS`
   * @returns null when it started at once, else what gives the place in the queue up
   */
  acquire(start: () => void, onExpired: () => void): (() => void) | null {
    if (this.#inFlight < this.#limit && this.#waiting.size === 0) {
      this.#inFlight++
      start()
      return null
    }
    const waiting: WaitingStep = { start, cancelTimer: () => {} }
    this.#waiting.add(waiting)
    waiting.cancelTimer = this.#clock.after(STEP_WAIT_SECONDS * 1e9, () => {
      onExpired()
      this.#begin(waiting)
    })
    return () => {
      waiting.cancelTimer()
      this.#waiting.delete(waiting)
    }
  }

  release(): void {
    this.#inFlight--
    // A step that is over as soon as it starts (a cached answer, a refusal) releases from inside: the loop that runs sees that, however many wait.
    if (this.#isBeginning) return
    this.#isBeginning = true
    try {
      for (const next of this.#waiting) {
        if (this.#inFlight >= this.#limit) break
        this.#begin(next)
      }
    } finally {
      this.#isBeginning = false
    }
  }

  #begin(waiting: WaitingStep): void {
    if (!this.#waiting.delete(waiting)) return
    waiting.cancelTimer()
    this.#inFlight++
    waiting.start()
  }
}
