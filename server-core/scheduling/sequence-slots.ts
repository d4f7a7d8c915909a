import type { Sequence } from './sequence.ts'

/** The slots of one instance. The lowest free one is handed out first; only slots in use take memory (their number may be in the billions). */
export class SequenceSlots {
  readonly #count: number
  /** By slot; null: free. */
  readonly #rows: (Sequence | null)[] = []
  /** Free slots among `#rows`, highest first. */
  readonly #free: number[] = []

  constructor(count: number) { this.#count = count }

  /** Slot by slot, up to the highest one ever used. */
  get rows(): readonly (Sequence | null)[] { return this.#rows }
  get usedCount(): number { return this.#rows.length - this.#free.length }

  /** null: all are taken. */
  get lowestFree(): number | null {
    return this.#free.at(-1) ?? (this.#rows.length < this.#count ? this.#rows.length : null)
  }

  take(sequence: Sequence): void {
    const slot = this.lowestFree
    if (slot === null) throw new Error('no free sequence slot')
    if (this.#free.length > 0) this.#free.pop()
    this.#rows[slot] = sequence
    sequence.slot = slot
  }

  release(sequence: Sequence): void {
    const { slot } = sequence
    if (this.#rows[slot] !== sequence) throw new Error('a sequence gives back a slot that it does not hold')
    this.#rows[slot] = null
    sequence.slot = -1
    let low = 0
    let high = this.#free.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#free[middle] ?? 0) > slot) low = middle + 1
      else high = middle
    }
    this.#free.splice(low, 0, slot)
  }

  sequences(): Sequence[] { return this.#rows.filter((sequence) => sequence !== null) }
}
