import type { QueueLevel } from './queue-level.ts'

/** Enough for 4^20 levels that hold requests at a time. */
const MAXIMUM_HEIGHT = 20

/**
 * The levels that hold requests, in the order of service: a skip list, so that entering and leaving cost O(log levels), and the first
 * level and the one after a level are known at once, however many there are.
 */
export class LevelOrder {
  readonly #heads: (QueueLevel | null)[] = []
  /** State of the generator of heights (xorshift): the same in every run. */
  #seed = 0x9e3779b9

  get first(): QueueLevel | null { return this.#heads[0] ?? null }

  /** The level served after this one, which is in the list. */
  after(level: QueueLevel): QueueLevel | null { return level.links[0] ?? null }

  /** Enters a level that is not in the list. */
  add(level: QueueLevel): void {
    const height = this.#height()
    while (this.#heads.length < height) this.#heads.push(null)
    const before = this.#linksBefore(level)
    for (let row = 0; row < height; row++) {
      const links = before[row] ?? this.#heads
      level.links[row] = links[row] ?? null
      links[row] = level
    }
  }

  /** Takes a level of the list out. */
  remove(level: QueueLevel): void {
    const before = this.#linksBefore(level)
    for (let row = 0; row < level.links.length; row++) {
      const links = before[row] ?? this.#heads
      links[row] = level.links[row] ?? null
    }
    level.links.length = 0
  }

  /** Per height the links that point at the place of this level. */
  #linksBefore(level: QueueLevel): (QueueLevel | null)[][] {
    const before: (QueueLevel | null)[][] = []
    let links = this.#heads
    for (let row = this.#heads.length - 1; row >= 0; row--) {
      for (let next = links[row] ?? null; next !== null && isBefore(next, level); next = links[row] ?? null) links = next.links
      before[row] = links
    }
    return before
  }

  /** 1 in three of four cases, one more with a quarter each. */
  #height(): number {
    let seed = this.#seed
    seed ^= seed << 13
    seed ^= seed >>> 17
    seed ^= seed << 5
    this.#seed = seed
    let height = 1
    for (let bits = seed >>> 0; (bits & 3) === 0 && height < MAXIMUM_HEIGHT; bits >>>= 2) height++
    return height
  }
}

function isBefore(level: QueueLevel, other: QueueLevel): boolean {
  return level.high < other.high || (level.high === other.high && level.low < other.low)
}
