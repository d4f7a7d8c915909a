/** Axes of the live charts: ticks on a 1-2-5 ladder, a top that does not jump, whole times below. */

export interface ValueScale {
  readonly top: number
  /** From 0 to top, three to five. */
  readonly ticks: readonly number[]
}

/** The smallest 1-2-5 scale that holds `max`, with three to five ticks. `whole`: no ticks between whole numbers. */
export function valueScale(max: number, options: { readonly whole?: boolean } = {}): ValueScale {
  const target = max > 0 && Number.isFinite(max) ? max : 1
  let exponent = Math.floor(Math.log10(target)) - 1
  if (options.whole) exponent = Math.max(0, exponent)
  for (; ; exponent++) {
    for (const mantissa of [1, 2, 5]) {
      const step = exponent < 0 ? mantissa / 10 ** -exponent : mantissa * 10 ** exponent
      const count = Math.max(2, Math.ceil(target / step - 1e-9))
      if (count <= 4) {
        const ticks = Array.from({ length: count + 1 }, (_, index) => (exponent < 0 ? (index * mantissa) / 10 ** -exponent : index * step))
        return { top: ticks[count] ?? step * count, ticks }
      }
    }
  }
}

/** A scale that grows at once and shrinks only after the values have stayed lower for 30 s. */
export class HeldScale {
  #scale: ValueScale
  #lowerSince: number | null = null
  #lowerMax = 0
  readonly #options: { readonly whole?: boolean }
  readonly #floor: number

  /** `floor`: the top never goes below the scale of this value, so an idle chart keeps its axis. */
  constructor(floor: number, options: { readonly whole?: boolean } = {}) {
    this.#floor = floor
    this.#options = options
    this.#scale = valueScale(floor, options)
  }

  /** The scale to draw with, given the greatest value shown and the time (ms) of the newest. */
  next(max: number, time: number): ValueScale {
    const wanted = valueScale(Math.max(max, this.#floor), this.#options)
    if (wanted.top >= this.#scale.top) {
      this.#lowerSince = null
      this.#lowerMax = 0
      if (wanted.top > this.#scale.top) this.#scale = wanted
      return this.#scale
    }
    this.#lowerSince ??= time
    this.#lowerMax = Math.max(this.#lowerMax, max)
    if (time - this.#lowerSince >= SHRINK_AFTER_MILLISECONDS) {
      this.#scale = valueScale(Math.max(this.#lowerMax, this.#floor), this.#options)
      this.#lowerSince = null
      this.#lowerMax = 0
    }
    return this.#scale
  }

  /** Forgets what it held: another window, another model. */
  reset(): void {
    this.#scale = valueScale(this.#floor, this.#options)
    this.#lowerSince = null
    this.#lowerMax = 0
  }
}

const SHRINK_AFTER_MILLISECONDS = 30_000

const SECOND_STEPS = [5, 10, 15, 30, 60, 120, 300, 600, 900] as const

/** Times (ms) of the x ticks inside (start, end]: whole steps of the wall clock in the local zone, at most `most`. */
export function timeTicks(start: number, end: number, most: number): number[] {
  const step = (SECOND_STEPS.find((seconds) => (end - start) / (seconds * 1000) <= most) ?? 900) * 1000
  const ticks: number[] = []
  for (let time = Math.ceil((start + 1) / step) * step; time <= end; time += step) ticks.push(time)
  return ticks
}
