/** Decompresses a request body while it arrives: what a piece stands for is handed on and forgotten before the next piece is asked for. */
import { constants, createGunzip, createInflate, type Gunzip, type Inflate } from 'node:zlib'
import { releaseMemory } from '../../release-memory.ts'
import { ServerError } from '../../server-error.ts'
import type { Encoding } from './compression.ts'

/** Of decompressed bytes. */
const PIECE_BYTES = 65_536

export class Inflater {
  readonly #stream: Gunzip | Inflate
  readonly #limit: number
  readonly #closed: Promise<void>
  #onTaken: () => void = () => {}
  #length = 0
  #isOver = false
  #isBroken = false
  #failure: Error | undefined

  /**
   * @param limit bytes that the body may have when it is decompressed
   * @param take is given the decompressed bytes, never more than the limit; they are its own only until it returns
   */
  constructor(encoding: Encoding, limit: number, take: (piece: Buffer) => void) {
    this.#limit = limit
    // A body that breaks off is as much as there was of it.
    const options = { finishFlush: constants.Z_SYNC_FLUSH, chunkSize: PIECE_BYTES }
    this.#stream = encoding === 'gzip' ? createGunzip(options) : createInflate(options)
    this.#stream.on('data', (piece: Buffer) => { this.#hand(piece, take) })
    this.#stream.on('end', () => { this.#isOver = true })
    this.#stream.on('error', () => { this.#isBroken = true })
    this.#closed = new Promise((resolve) => {
      this.#stream.once('close', () => {
        this.#onTaken()
        resolve()
      })
    })
  }

  /** @returns settled when the piece was read; what comes after the end, or after a mistake, is not */
  push(piece: Buffer): Promise<void> {
    if (this.#isOver || this.#stream.destroyed) return Promise.resolve()
    return new Promise((resolve) => {
      // After a mistake only the end of the stream is told.
      this.#onTaken = resolve
      this.#stream.write(piece, () => { resolve() })
    })
  }

  /**
   * The body is complete.
   * @returns whether it could be decompressed; a broken one stands for nothing, as in Triton
   * @throws ServerError INVALID_ARG when it has more than the limit; what `take` threw
   */
  async finish(): Promise<boolean> {
    this.#stream.end()
    await this.#closed
    if (this.#failure !== undefined) throw this.#failure
    return !this.#isBroken
  }

  /** Ends it, however far it came. */
  close(): void { this.#stream.destroy() }

  #hand(piece: Buffer, take: (piece: Buffer) => void): void {
    this.#length += piece.length
    try {
      if (this.#length > this.#limit) {
        throw new ServerError('INVALID_ARG', `Decompressed data size exceeds the maximum allowed value of ${this.#limit} bytes. Use --http-max-input-size to increase the limit.`)
      }
      take(piece)
      // Pieces are cut from one block of memory after the other: this was the last of its block.
      if (piece.byteOffset + piece.byteLength === piece.buffer.byteLength) releaseMemory(new Uint8Array(piece.buffer))
    } catch (error) {
      this.#failure = error as Error
      this.#stream.destroy()
    }
  }
}
