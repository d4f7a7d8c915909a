/** The last hour of per-second samples, in order, one a second. */
import type { ServerSample } from '../../server-core/contract/statistics.ts'

export const KEPT_SECONDS = 3600

export class SampleRing {
  #samples: ServerSample[] = []
  readonly #keptMilliseconds: number

  constructor(keptSeconds = KEPT_SECONDS) {
    this.#keptMilliseconds = keptSeconds * 1000
  }

  get latest(): ServerSample | undefined {
    return this.#samples[this.#samples.length - 1]
  }

  get oldest(): ServerSample | undefined {
    return this.#samples[0]
  }

  get length(): number {
    return this.#samples.length
  }

  /** Takes samples in any order; of two with the same time the first stays. What is older than the kept time falls out. */
  add(added: readonly ServerSample[]): void {
    const last = this.latest?.time ?? -Infinity
    const newer = added.every((sample, index) => sample.time > (index === 0 ? last : (added[index - 1]?.time ?? last)))
    if (newer) this.#samples.push(...added)
    else {
      const byTime = new Map([...added, ...this.#samples].map((sample) => [sample.time, sample]))
      this.#samples = [...byTime.values()].sort((a, b) => a.time - b.time)
    }
    const oldestKept = (this.latest?.time ?? 0) - this.#keptMilliseconds
    const drop = this.#samples.findIndex((sample) => sample.time > oldestKept)
    if (drop > 0) this.#samples.splice(0, drop)
  }

  /** Samples with start < time <= end, oldest first. */
  between(start: number, end: number): readonly ServerSample[] {
    return this.#samples.slice(this.#firstAfter(start), this.#firstAfter(end))
  }

  clear(): void {
    this.#samples = []
  }

  #firstAfter(time: number): number {
    let low = 0
    let high = this.#samples.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#samples[middle]?.time ?? 0) <= time) low = middle + 1
      else high = middle
    }
    return low
  }
}
