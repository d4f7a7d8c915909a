/**
 * Quantiles of a stream in bounded memory: targeted quantiles after Cormode, Korn, Muthukrishnan and Srivastava, "Effective computation of
 * biased quantiles over data streams" (2005), the method of Prometheus' client libraries. Each quantile is off by at most its error, as a
 * share of the number of values.
 */
import type { SummaryQuantile } from './metrics-config.ts'

/** `width`: ranks between this value and the one before; `spread`: how uncertain its own rank is. */
interface Sample {
  readonly value: number
  width: number
  readonly spread: number
}

const BUFFERED_VALUES = 500

export class QuantileEstimator {
  readonly #targets: readonly SummaryQuantile[]
  #samples: Sample[] = []
  /** Values in the samples. */
  #count = 0
  #buffer: number[] = []

  constructor(targets: readonly SummaryQuantile[]) { this.#targets = targets }

  add(value: number): void {
    this.#buffer.push(value)
    if (this.#buffer.length >= BUFFERED_VALUES) this.#takeBuffer()
  }

  /** @returns NaN where nothing was added */
  quantile(quantile: number): number {
    this.#takeBuffer()
    const samples = this.#samples
    const desired = Math.ceil(quantile * this.#count)
    const bound = desired + Math.ceil(this.#allowedError(desired) / 2)
    let rank = 0
    for (let index = 1; index < samples.length; index++) {
      const [before, sample] = [samples[index - 1]!, samples[index]!]
      rank += before.width
      if (rank + sample.width + sample.spread > bound) return before.value
    }
    return samples.at(-1)?.value ?? NaN
  }

  reset(): void {
    this.#samples = []
    this.#buffer = []
    this.#count = 0
  }

  #allowedError(rank: number): number {
    const count = this.#count
    return Math.min(count + 1, ...this.#targets.map(({ quantile, error }) => {
      // At the ends, quantiles 0 and 1, nothing may be off.
      if (quantile === 0 || quantile === 1) return 0
      return rank <= quantile * count ? (2 * error * (count - rank)) / (1 - quantile) : (2 * error * rank) / quantile
    }))
  }

  /** Merges the buffered values into the samples, then joins neighbours as far as the errors allow. */
  #takeBuffer(): void {
    if (this.#buffer.length === 0) return
    const added = this.#buffer.sort((a, b) => a - b)
    this.#buffer = []
    const before = this.#samples
    const merged: Sample[] = []
    let [at, rank] = [0, 0]
    for (const value of added) {
      while (at < before.length && before[at]!.value <= value) {
        rank += before[at]!.width
        merged.push(before[at++]!)
      }
      const isEnd = merged.length === 0 || at === before.length
      merged.push({ value, width: 1, spread: isEnd ? 0 : Math.max(0, Math.floor(this.#allowedError(rank)) - 1) })
      rank++
      this.#count++
    }
    while (at < before.length) merged.push(before[at++]!)
    this.#samples = this.#joined(merged)
  }

  #joined(samples: readonly Sample[]): Sample[] {
    const joined: Sample[] = []
    let rank = 0
    for (const sample of samples) {
      const before = joined.at(-1)
      // The smallest value stays a sample of its own: it is the only one whose rank is sure.
      if (before !== undefined && joined.length > 1 && before.width + sample.width + sample.spread <= this.#allowedError(rank - before.width)) {
        joined[joined.length - 1] = { value: sample.value, width: before.width + sample.width, spread: sample.spread }
      } else joined.push(sample)
      rank += sample.width
    }
    return joined
  }
}
