import { fstatSync, ftruncateSync, readSync, writevSync } from 'node:fs'
import { ServerError } from '../../server-error.ts'
import { nativeAddon, type SharedMapping } from '../native-addon.ts'

/** What to do about too little shared memory. */
export const MORE_MEMORY = 'Give /dev/shm more memory (mount -o remount,size=... /dev/shm, for containers --shm-size)'

/** Less is copied: a buffer over foreign memory costs as much as copying some ten thousand bytes. */
const SMALLEST_LENT = 64 << 10
/** Of a region. What is lent comes back with the answer it belongs to, or when the garbage collector finds it; until then the region has to grow instead. */
const MOST_LENT = 32 << 20

/** A piece that is lent, under the name that its owner gave it. */
interface Loan { readonly key: number; readonly byteLength: number }

/**
 * The bytes of a region. Mapped where the native addon is there, so that they are copied once or not at all; else read and written through the file. The region's
 * file is ours, and neither side ever makes it shorter.
 */
export class RegionMemory {
  readonly #descriptor: number
  readonly #mapping: SharedMapping | null
  readonly #loans = new Map<number, Loan>()
  #mappedByteSize = 0
  #lastToken = 0
  #lentByteSize = 0

  /** @param isMapped false: through the file, also where the addon is there */
  constructor(descriptor: number, isMapped = true) {
    this.#descriptor = descriptor
    const native = isMapped ? nativeAddon() : null
    this.#mapping = native?.ok === true ? new native.addon.SharedMapping(descriptor) : null
  }

  /** Makes the file longer: for the side that owns the region. @throws ServerError UNAVAILABLE where memory is exhausted */
  extend(byteSize: number, added: number): void {
    if (this.#mapping === null) {
      ftruncateSync(this.#descriptor, byteSize + added)
      return
    }
    try {
      this.#mapping.claim(byteSize, added)
      this.#map(byteSize + added)
    } catch (cause) {
      throw new ServerError('UNAVAILABLE', `Failed to increase the shared memory pool by ${added} bytes to ${byteSize + added}: ${(cause as Error).message}. ${MORE_MEMORY}`, { cause })
    }
  }

  /** @throws ServerError UNAVAILABLE where memory is exhausted */
  write(bytes: Uint8Array, offset: number): void {
    if (this.#mapping !== null) {
      this.#mapping.write(offset, bytes)
      return
    }
    let done = 0
    while (done < bytes.byteLength) {
      try {
        done += writevSync(this.#descriptor, [done === 0 ? bytes : bytes.subarray(done)], offset + done)
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code !== 'ENOSPC') throw cause
        throw new ServerError('UNAVAILABLE', `shared memory is full: an input of ${bytes.byteLength} bytes could not be written. ${MORE_MEMORY}`, { cause })
      }
    }
  }

  /** A copy. @throws ServerError INTERNAL where the region is shorter */
  read(offset: number, byteLength: number): Uint8Array {
    // Tensors without elements lie nowhere, also while nothing is mapped yet.
    if (byteLength === 0) return new Uint8Array(0)
    const bytes = Buffer.allocUnsafeSlow(byteLength)
    if (this.#mapping !== null) {
      this.#mapAsFarAs(offset, byteLength)
      this.#mapping.read(offset, bytes)
      return bytes
    }
    let done = 0
    while (done < byteLength) {
      const count = readSync(this.#descriptor, bytes, done, byteLength - done, offset + done)
      if (count === 0) throw beyond(offset, byteLength)
      done += count
    }
    return bytes
  }

  /**
   * The bytes where they are; null where they are to be copied. Nothing else may be put there until `takeBack` gave `key`.
   * @throws ServerError INTERNAL where the region is shorter
   */
  lend(offset: number, byteLength: number, key: number): Uint8Array | null {
    if (this.#mapping === null || byteLength < SMALLEST_LENT || this.#lentByteSize + byteLength > MOST_LENT) return null
    this.#mapAsFarAs(offset, byteLength)
    const token = ++this.#lastToken
    const bytes = this.#mapping.lend(offset, byteLength, token)
    if (bytes === null) return null
    this.#loans.set(token, { key, byteLength })
    this.#lentByteSize += byteLength
    return bytes
  }

  /** Keys of pieces that nobody holds any more, since the last call. */
  takeBack(): readonly number[] {
    const tokens = this.#lentByteSize === 0 ? null : this.#mapping?.takeFreed() ?? null
    if (tokens === null) return []
    return tokens.flatMap((token) => {
      const loan = this.#loans.get(token)
      if (loan === undefined) return []
      this.#loans.delete(token)
      this.#lentByteSize -= loan.byteLength
      return [loan.key]
    })
  }

  /** What is lent keeps its memory. */
  close(): void { this.#mapping?.close() }

  #mapAsFarAs(offset: number, byteLength: number): void {
    if (offset + byteLength <= this.#mappedByteSize) return
    const { size } = fstatSync(this.#descriptor)
    if (offset + byteLength > size) throw beyond(offset, byteLength)
    this.#map(size)
  }

  #map(byteSize: number): void {
    this.#mapping?.map(byteSize)
    this.#mappedByteSize = byteSize
  }
}

function beyond(offset: number, byteLength: number): ServerError {
  return new ServerError('INTERNAL', `a Python model describes a tensor of ${byteLength} bytes at ${offset}, which is beyond its shared memory`)
}
