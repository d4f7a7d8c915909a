/**
 * Buffers of messages that are over, for messages to come. A fresh buffer of some hundred kilobytes is dear: its pages are cleared, and a few dozen of them
 * make the garbage collector look through the whole heap.
 */
const LEAST_BYTES = 65_536
/** A message gets a buffer of at most this many times its length. */
const MOST_WASTE = 2

export class BufferPool {
  readonly #maxBytes: number
  readonly #free: Buffer[] = []
  /** Out with a message; a buffer that nobody gives back is forgotten. */
  readonly #lent = new WeakSet<ArrayBufferLike>()
  #freeBytes = 0
  /** The fewest bytes that were free since the last trim: those were not needed. */
  #unusedBytes = 0

  /** @param maxBytes kept free at most */
  constructor(maxBytes: number) { this.#maxBytes = maxBytes }

  get freeBytes(): number { return this.#freeBytes }

  /** At least this long; what it holds is arbitrary. */
  take(length: number): Buffer {
    if (length < LEAST_BYTES) return Buffer.allocUnsafeSlow(length)
    const index = this.#free.findLastIndex((buffer) => buffer.length >= length && buffer.length <= length * MOST_WASTE)
    const [found] = index < 0 ? [] : this.#free.splice(index, 1)
    const buffer = found ?? Buffer.allocUnsafeSlow(Math.ceil(length / LEAST_BYTES) * LEAST_BYTES)
    if (found !== undefined) {
      this.#freeBytes -= found.length
      this.#unusedBytes = Math.min(this.#unusedBytes, this.#freeBytes)
    }
    this.#lent.add(buffer.buffer)
    return buffer
  }

  /** Takes the memory of a message back, if it came from here. Nobody may look at it any more. */
  giveBack(message: Buffer): void {
    if (!this.#lent.delete(message.buffer)) return
    const buffer = Buffer.from(message.buffer)
    if (buffer.length === 0 || this.#freeBytes + buffer.length > this.#maxBytes) return
    this.#free.push(buffer)
    this.#freeBytes += buffer.length
  }

  /** Lets go of what was not needed since the last time. */
  trim(): void {
    while (this.#unusedBytes > 0) {
      const buffer = this.#free.shift()
      if (buffer === undefined) break
      this.#freeBytes -= buffer.length
      this.#unusedBytes -= buffer.length
    }
    this.#unusedBytes = this.#freeBytes
  }
}
