import type { Clock } from '../clock.ts'

/** A clock that only moves when a test says so. Timers fire in order of their due time while `advance` runs. */
export class FakeClock implements Clock {
  #now = 1_000_000_000
  #timers: { due: number; callback: () => void }[] = []

  now(): number { return this.#now }
  wallMilliseconds(): number { return Math.floor(this.#now / 1e6) }

  after(nanoseconds: number, callback: () => void): () => void {
    const timer = { due: this.#now + Math.max(0, nanoseconds), callback }
    this.#timers.push(timer)
    return () => { this.#timers = this.#timers.filter((other) => other !== timer) }
  }

  get timerCount(): number { return this.#timers.length }

  advance(nanoseconds: number): void {
    const end = this.#now + nanoseconds
    for (;;) {
      const next = this.#timers.filter((timer) => timer.due <= end).sort((a, b) => a.due - b.due)[0]
      if (next === undefined) break
      this.#timers = this.#timers.filter((timer) => timer !== next)
      this.#now = Math.max(this.#now, next.due)
      next.callback()
    }
    this.#now = end
  }

  advanceMicroseconds(microseconds: number): void { this.advance(microseconds * 1000) }
}
