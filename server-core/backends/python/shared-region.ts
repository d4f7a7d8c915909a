import { randomUUID } from 'node:crypto'
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, statfsSync, unlinkSync, writevSync } from 'node:fs'
import { join } from 'node:path'
import { ServerError } from '../../server-error.ts'

export const SHARED_MEMORY_DIRECTORY = '/dev/shm'
export const DEFAULT_REGION_PREFIX = 'triton_python_backend_shm_region_'

/** Tensors begin at multiples of it: a cache line, and what vector instructions like. */
const ALIGNMENT = 64

/** What to do about too little shared memory. */
const MORE_MEMORY = `Give ${SHARED_MEMORY_DIRECTORY} more memory (mount -o remount,size=... ${SHARED_MEMORY_DIRECTORY}, for containers --shm-size)`

export interface RegionSettings {
  /** Bytes at the start. */
  readonly byteSize: number
  /** Bytes by which it grows, or a multiple. */
  readonly growthByteSize: number
  readonly prefix: string
  /** Default: /dev/shm. */
  readonly directory?: string
}

/**
 * Opens a file in shared memory that has no name any more: it is there as long as somebody has it open.
 * @throws ServerError UNAVAILABLE where there is no shared memory
 */
export function openUnnamedFile({ prefix, directory = SHARED_MEMORY_DIRECTORY }: Pick<RegionSettings, 'prefix' | 'directory'>): number {
  const path = join(directory, `${prefix}${randomUUID()}`)
  try {
    const descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600)
    unlinkSync(path)
    return descriptor
  } catch (cause) {
    throw new ServerError('UNAVAILABLE', `Python models need shared memory, and no file can be made in ${directory}: ${(cause as Error).message}`, { cause })
  }
}

/** Reads from a region. @throws ServerError INTERNAL where it is shorter */
export function readRegion(descriptor: number, offset: number, byteLength: number): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(byteLength)
  let done = 0
  while (done < byteLength) {
    const count = readSync(descriptor, bytes, done, byteLength - done, offset + done)
    if (count === 0) throw new ServerError('INTERNAL', `a Python model describes a tensor of ${byteLength} bytes at ${offset}, which is beyond its shared memory`)
    done += count
  }
  return bytes
}

/**
 * Memory for tensors on their way to a stub, which maps it. This side is the only one that allocates; it writes through the file, so that memory that is
 * not to be had is an error of the call and no signal.
 */
export class SharedRegion {
  readonly descriptor: number
  readonly #settings: RegionSettings
  #size = 0
  /** By offset, never two that touch. */
  readonly #free: { offset: number; length: number }[] = []
  readonly #used = new Map<number, number>()

  /** @throws ServerError UNAVAILABLE where there is too little shared memory */
  constructor(settings: RegionSettings) {
    this.#settings = settings
    this.descriptor = openUnnamedFile(settings)
    try {
      this.#extend(settings.byteSize)
    } catch (error) {
      this.close()
      throw error
    }
  }

  get byteSize(): number { return this.#size }
  get usedBlocks(): number { return this.#used.size }

  /** Copies the parts in, one behind another. @returns the offset of each; the first one names the block for `release`. @throws ServerError UNAVAILABLE */
  write(parts: readonly Uint8Array[]): number[] {
    const lengths = parts.map((part) => alignUp(part.byteLength))
    const total = lengths.reduce((sum, length) => sum + length, 0)
    const start = this.#take(Math.max(total, ALIGNMENT))
    const offsets: number[] = []
    let offset = start
    try {
      for (const [index, part] of parts.entries()) {
        offsets.push(offset)
        this.#writeAt(part, offset)
        offset += lengths[index] ?? 0
      }
    } catch (error) {
      this.release(start)
      throw error
    }
    return parts.length === 0 ? [start] : offsets
  }

  release(offset: number): void {
    const length = this.#used.get(offset)
    if (length === undefined) return
    this.#used.delete(offset)
    this.#giveBack(offset, length)
  }

  close(): void { closeSync(this.descriptor) }

  #writeAt(part: Uint8Array, offset: number): void {
    let done = 0
    while (done < part.byteLength) {
      try {
        done += writevSync(this.descriptor, [done === 0 ? part : part.subarray(done)], offset + done)
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code !== 'ENOSPC') throw cause
        throw new ServerError('UNAVAILABLE', `shared memory is full: an input of ${part.byteLength} bytes could not be written. ${MORE_MEMORY}`, { cause })
      }
    }
  }

  #take(length: number): number {
    let index = this.#free.findIndex((candidate) => candidate.length >= length)
    if (index < 0) {
      const last = this.#free.at(-1)
      const tail = last !== undefined && last.offset + last.length === this.#size ? last.length : 0
      this.#grow(length - tail)
      index = this.#free.length - 1
    }
    const found = this.#free[index]
    if (found === undefined) throw new Error('a region that grew has no free memory')
    const { offset } = found
    if (found.length === length) this.#free.splice(index, 1)
    else this.#free[index] = { offset: offset + length, length: found.length - length }
    this.#used.set(offset, length)
    return offset
  }

  #grow(missing: number): void {
    const step = this.#settings.growthByteSize
    this.#extend(Math.ceil(missing / step) * step)
  }

  #extend(added: number): void {
    const directory = this.#settings.directory ?? SHARED_MEMORY_DIRECTORY
    const { bavail, bsize } = statfsSync(directory)
    if (added > bavail * bsize) {
      throw new ServerError('UNAVAILABLE', `Failed to increase the shared memory pool by ${added} bytes to ${this.#size + added}: ${directory} has ${bavail * bsize} bytes left. ${MORE_MEMORY}`)
    }
    const start = this.#size
    this.#size += added
    ftruncateSync(this.descriptor, this.#size)
    this.#giveBack(start, added)
  }

  #giveBack(offset: number, length: number): void {
    let low = 0
    let high = this.#free.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#free[middle]?.offset ?? 0) < offset) low = middle + 1
      else high = middle
    }
    const next = this.#free[low]
    if (next !== undefined && offset + length === next.offset) {
      length += next.length
      this.#free.splice(low, 1)
    }
    const previous = this.#free[low - 1]
    if (previous !== undefined && previous.offset + previous.length === offset) previous.length += length
    else this.#free.splice(low, 0, { offset, length })
  }
}

/** How large a region is now, as its owner made it. */
export function regionByteSize(descriptor: number): number { return fstatSync(descriptor).size }

function alignUp(byteLength: number): number { return Math.ceil(byteLength / ALIGNMENT) * ALIGNMENT }
