/** Counts what a load generator's connections report, after a warm-up and until the end of its time. */

export interface LoadResult {
  readonly requestsPerSecond: number
  readonly p50Milliseconds: number
  readonly p99Milliseconds: number
  /** Requests that were answered in the measured time. */
  readonly count: number
  /** All that were answered, with those of the warm-up and the last ones. */
  readonly total: number
  /** Processors that the generator used itself: near 1 it is the bottleneck. */
  readonly generatorCores: number
}

export class LoadMeter {
  readonly #seconds: number
  readonly #from: number
  readonly #until: number
  readonly #started = performance.now()
  readonly #latencies: number[] = []
  /** Where a busy machine answers nothing in time: what came later, over the time until then. */
  #firstLate: { readonly milliseconds: number; readonly ended: number } | null = null
  #total = 0

  constructor(warmupSeconds: number, seconds: number) {
    this.#seconds = seconds
    this.#from = performance.now() + warmupSeconds * 1000
    this.#until = this.#from + seconds * 1000
  }

  get isOver(): boolean { return performance.now() >= this.#until }

  /** One answered request; times of `performance.now()`. */
  report(started: number, ended: number): void {
    this.#total++
    if (ended >= this.#from && ended <= this.#until) this.#latencies.push(ended - started)
    else if (ended > this.#until) this.#firstLate ??= { milliseconds: ended - started, ended }
  }

  /** @throws Error when nothing was answered */
  result(): LoadResult {
    const { user, system } = process.cpuUsage()
    const shared = { total: this.#total, generatorCores: (user + system) / 1000 / (performance.now() - this.#started) }
    if (this.#latencies.length === 0) {
      const late = this.#firstLate
      if (late === null) throw new Error('no request was answered')
      return { requestsPerSecond: 1000 / (late.ended - this.#from), p50Milliseconds: late.milliseconds, p99Milliseconds: late.milliseconds, count: 1, ...shared }
    }
    const sorted = this.#latencies.sort((a, b) => a - b)
    const at = (quantile: number) => sorted[Math.min(sorted.length - 1, Math.floor(quantile * sorted.length))] ?? NaN
    return { requestsPerSecond: sorted.length / this.#seconds, p50Milliseconds: at(0.5), p99Milliseconds: at(0.99), count: sorted.length, ...shared }
  }
}
