/** Collects a request body: one chunk is handed on as it is, several are copied once into a buffer of the announced length. */
import type { IncomingMessage } from 'node:http'
import { releaseMemory } from '../../release-memory.ts'
import { ServerError } from '../../server-error.ts'
import type { BufferPool } from '../buffer-pool.ts'

/** Largest Content-Length the protocol knows. */
export const MAX_BODY_LENGTH = 2_147_483_647
const MAX_CHUNKS = 65_536
/** A chunk that arrives in pieces looks like several; below this average they are certainly small chunks. */
const SMALL_CHUNK = 256
/** The whole buffer is allocated once 1/64 of the announced bytes are here, so an announcement alone costs nothing. */
const ALLOCATE_AFTER_PART = 64

export interface CollectedBody {
  /** Empty when more than the limit arrived: the rest was read and dropped, so the connection stays usable. Empty, too, where somebody took the pieces. */
  readonly body: Buffer
  readonly byteLength: number
}

const EMPTY = Buffer.alloc(0)

export class TooManyChunksError extends ServerError {
  constructor() {
    super('INVALID_ARG', `Chunked request body exceeds maximum of ${MAX_CHUNKS} non-empty chunks. Send fewer or larger HTTP chunks.`)
  }
}

/** The client went away before its body was complete; there is nobody to answer. */
export class AbortedUploadError extends Error {}

export class BodyCollector {
  /** Raised by whoever watches for slow clients; any arriving byte resets it. */
  idleChecks = 0
  readonly #limit: number
  readonly #announced: number
  readonly #pool: BufferPool
  readonly #take: ((piece: Buffer) => Promise<void> | undefined) | undefined
  readonly #chunks: Buffer[] = []
  #target: Buffer | undefined
  #received = 0
  #count = 0
  #isSettled = false

  /**
   * @param limit bytes kept; what goes beyond is counted and dropped.
   * @param pool where a body of several chunks has its memory from; whoever knows that nobody looks at it any more gives it back
   * @param take is given the pieces as they come, up to the limit; then none is kept. A piece is its own until it returns, or until what it returns is
   * settled; only then it is given the next.
   */
  constructor(limit: number, announced: number, pool: BufferPool, take?: (piece: Buffer) => Promise<void> | undefined) {
    this.#pool = pool
    this.#take = take
    this.#limit = limit
    this.#announced = announced
  }

  /** @param onEnd called once: with the body, or with TooManyChunksError, AbortedUploadError or what `take` threw */
  collect(request: IncomingMessage, onEnd: (end: CollectedBody | Error) => void): void {
    const end = (result: CollectedBody | Error) => {
      if (this.#isSettled) return
      this.#isSettled = true
      onEnd(result)
    }
    const abort = () => {
      if (this.#isSettled) return
      this.#drop()
      end(new AbortedUploadError())
    }
    request.on('data', (chunk: Buffer) => {
      try {
        this.#add(request, chunk)
      } catch (error) {
        end(error as Error)
      }
      if (this.#count > MAX_CHUNKS && this.#received < this.#count * SMALL_CHUNK) end(new TooManyChunksError())
    })
    request.on('end', () => { if (!this.#isSettled) end(this.#result()) })
    request.on('close', abort)
    request.on('error', abort)
  }

  #add(request: IncomingMessage, chunk: Buffer): void {
    this.idleChecks = 0
    this.#count++
    const start = this.#received
    this.#received += chunk.length
    if (this.#received > this.#limit || this.#isSettled) { this.#drop(); return }
    if (this.#take !== undefined) { this.#hand(request, chunk, this.#take(chunk)); return }
    if (this.#target !== undefined) {
      chunk.copy(this.#target, start)
      releaseMemory(chunk)
      return
    }
    this.#chunks.push(chunk)
    const isWorthOneBuffer = chunk.length < this.#announced && this.#received * ALLOCATE_AFTER_PART >= this.#announced
    if (isWorthOneBuffer && this.#announced <= this.#limit) this.#target = this.#join(this.#announced)
  }

  #hand(request: IncomingMessage, chunk: Buffer, taken: Promise<void> | undefined): void {
    if (taken === undefined) { releaseMemory(chunk); return }
    request.pause()
    void taken.then(() => {
      releaseMemory(chunk)
      request.resume()
    })
  }

  #drop(): void {
    this.#chunks.length = 0
    if (this.#target !== undefined) this.#pool.giveBack(this.#target)
    this.#target = undefined
  }

  #join(length: number): Buffer {
    const target = this.#pool.take(length).subarray(0, length)
    let at = 0
    for (const chunk of this.#chunks) {
      at += chunk.copy(target, at)
      releaseMemory(chunk)
    }
    this.#chunks.length = 0
    return target
  }

  #result(): CollectedBody {
    const byteLength = this.#received
    if (byteLength > this.#limit || byteLength === 0 || this.#take !== undefined) return { body: EMPTY, byteLength }
    const body = this.#target ?? (this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : this.#join(byteLength))
    return { body, byteLength }
  }
}
