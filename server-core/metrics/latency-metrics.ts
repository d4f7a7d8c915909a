/** The histogram and summary families of one model version (protocol section 10), as far as `--metrics-config` switches them on. */
import type { HistogramSnapshot, SummarySnapshot } from '../inference-server.ts'
import type { SummaryQuantile } from './metrics-config.ts'
import { QuantileEstimator } from './quantile-estimator.ts'

/** Quantiles are those of the last minute, in steps of 12 s, as Prometheus' client libraries have them. */
const AGE_BUCKETS = 5
const BUCKET_MILLISECONDS = 12_000

/** Count and sum of everything, quantiles of the last minute. */
export class Summary {
  readonly #quantiles: readonly SummaryQuantile[]
  readonly #now: () => number
  /** Each holds what came since it was emptied; the oldest answers. */
  readonly #ages: readonly QuantileEstimator[]
  #oldest = 0
  #emptiedAt: number
  #count = 0
  #sum = 0

  /** @param now steady milliseconds */
  constructor(quantiles: readonly SummaryQuantile[], now: () => number) {
    this.#quantiles = quantiles
    this.#now = now
    this.#ages = Array.from({ length: AGE_BUCKETS }, () => new QuantileEstimator(quantiles))
    this.#emptiedAt = now()
  }

  observe(value: number): void {
    this.#rotate()
    this.#count++
    this.#sum += value
    for (const age of this.#ages) age.add(value)
  }

  snapshot(): SummarySnapshot {
    this.#rotate()
    const oldest = this.#ages[this.#oldest]!
    return { count: this.#count, sum: this.#sum, quantiles: this.#quantiles.map(({ quantile }) => ({ quantile, value: oldest.quantile(quantile) })) }
  }

  #rotate(): void {
    const steps = Math.floor((this.#now() - this.#emptiedAt) / BUCKET_MILLISECONDS)
    for (let step = 0; step < Math.min(steps, AGE_BUCKETS); step++) {
      this.#ages[this.#oldest]!.reset()
      this.#oldest = (this.#oldest + 1) % AGE_BUCKETS
    }
    this.#emptiedAt += steps * BUCKET_MILLISECONDS
  }
}

export class Histogram {
  readonly #upperEnds: readonly number[]
  /** One more than ends: what lies above all. */
  readonly #counts: number[]
  #sum = 0

  /** @param upperEnds ascending; values equal to an end belong to it */
  constructor(upperEnds: readonly number[]) {
    this.#upperEnds = upperEnds
    this.#counts = new Array<number>(upperEnds.length + 1).fill(0)
  }

  observe(value: number): void {
    const found = this.#upperEnds.findIndex((end) => value <= end)
    const index = found < 0 ? this.#upperEnds.length : found
    this.#counts[index] = (this.#counts[index] ?? 0) + 1
    this.#sum += value
  }

  /** Buckets are cumulative, the last one ends at infinity. */
  snapshot(): HistogramSnapshot {
    let count = 0
    const buckets = this.#counts.map((own, index) => ({ upperEnd: this.#upperEnds[index] ?? Infinity, count: (count += own) }))
    return { buckets, count, sum: this.#sum }
  }
}
