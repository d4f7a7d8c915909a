/**
 * Memory for bytes of which only the most there can be is known. After the first of them all of it is taken at once: the system gives pages to what is
 * written and to nothing else, so what is there in the end is never copied, which would take it twice.
 */

/** Up to here memory is taken for what came, so that an announcement alone costs nothing. Bytes. */
const BELIEVED_AFTER = 262_144
const FIRST_LENGTH = 4096

export class GrowingBytes {
  /** Longer than what was written to it. */
  bytes: Buffer
  readonly #most: number

  /** @param most bytes there can be; more are taken in, but copied for it */
  constructor(most: number) {
    this.#most = most
    // Not from the pool of small buffers: numbers of eight bytes begin at a multiple of eight.
    this.bytes = Buffer.allocUnsafeSlow(FIRST_LENGTH)
  }

  /**
   * Makes room. What was written before is still there, perhaps in other memory.
   * @param needed bytes altogether
   */
  reserve(needed: number): void {
    if (needed <= this.bytes.length) return
    const wanted = needed <= BELIEVED_AFTER ? Math.min(needed * 2, BELIEVED_AFTER) : this.bytes.length > BELIEVED_AFTER ? needed * 2 : Math.max(needed, this.#most)
    const larger = Buffer.allocUnsafeSlow(Math.ceil(wanted / 8) * 8)
    this.bytes.copy(larger)
    this.bytes = larger
  }

  /** Lets go of the memory. */
  drop(): void { this.bytes = Buffer.alloc(0) }
}
