/** Cuts the bytes of a call into its messages. Each message is gathered into one buffer as its bytes come: they are copied once, the first 16 MiB of a larger one twice. */
import type { BufferPool } from '../../buffer-pool.ts'
import { FRAME_PREFIX_BYTES } from './message.ts'

/**
 * A message beyond this is given its whole buffer when that much of it has come: until then its length is only what the client says, and memory is for bytes that
 * came.
 */
const TRUSTED_LENGTH_BYTES = 16 * 2 ** 20

/** A message of which the announced length is more than may be. */
export class MessageTooLargeError extends Error {}

export class MessageReader {
  readonly #maxBytes: number
  readonly #pool: BufferPool
  readonly #onMessage: (bytes: Buffer, isCompressed: boolean) => void
  readonly #prefix = new Uint8Array(FRAME_PREFIX_BYTES)
  #prefixLength = 0
  #message: Buffer = EMPTY
  #length = 0
  #received = 0

  constructor(maxBytes: number, pool: BufferPool, onMessage: (bytes: Buffer, isCompressed: boolean) => void) {
    this.#maxBytes = maxBytes
    this.#pool = pool
    this.#onMessage = onMessage
  }

  /** Has a message begun that is not complete? */
  get isInside(): boolean { return this.#prefixLength > 0 }

  /** @throws MessageTooLargeError */
  push(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#prefixLength < FRAME_PREFIX_BYTES) {
        this.#prefix[this.#prefixLength++] = chunk[at++] as number
        if (this.#prefixLength < FRAME_PREFIX_BYTES) continue
        this.#begin()
        if (this.#length > 0) continue
        this.#end(EMPTY)
        continue
      }
      const rest = this.#length - this.#received
      const taken = Math.min(rest, chunk.length - at)
      if (this.#received === 0 && taken === rest && this.#length <= WHOLE_UP_TO_BYTES) {
        // A small message inside one chunk is a view of it.
        this.#end(chunk.subarray(at, at + taken))
      } else {
        this.#take(chunk, at, taken)
        if (this.#received === this.#length) this.#end(this.#message.subarray(0, this.#length))
      }
      at += taken
    }
  }

  #begin(): void {
    const [, a = 0, b = 0, c = 0, d = 0] = this.#prefix
    this.#length = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
    if (this.#length > this.#maxBytes) throw new MessageTooLargeError(`Received message larger than max (${this.#length} vs. ${this.#maxBytes})`)
    this.#received = 0
  }

  #take(chunk: Buffer, at: number, length: number): void {
    const needed = this.#received + length
    if (this.#received === 0 && this.#length <= TRUSTED_LENGTH_BYTES) this.#message = this.#pool.take(this.#length)
    if (this.#message.length < needed) {
      // Who has sent that much is believed: the rest is copied once.
      const larger = Buffer.allocUnsafeSlow(this.#received === 0 ? Math.min(this.#length, Math.max(needed, TRUSTED_LENGTH_BYTES)) : this.#length)
      this.#message.copy(larger, 0, 0, this.#received)
      this.#message = larger
    }
    chunk.copy(this.#message, this.#received, at, at + length)
    this.#received = needed
  }

  #end(message: Buffer): void {
    const isCompressed = this.#prefix[0] === 1
    this.#message = EMPTY
    this.#prefixLength = 0
    this.#onMessage(message, isCompressed)
  }
}

const EMPTY = Buffer.alloc(0)
/** A view keeps its whole chunk (64 KiB) alive; a larger message is worth a buffer of its own. */
const WHOLE_UP_TO_BYTES = 16_384
