import { randomUUID } from 'node:crypto'
import { closeSync, constants, openSync, statfsSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ServerError } from '../../server-error.ts'
import { MORE_MEMORY, RegionMemory } from './region-memory.ts'

export const SHARED_MEMORY_DIRECTORY = '/dev/shm'
export const DEFAULT_REGION_PREFIX = 'triton_python_backend_shm_region_'

/** Tensors begin at multiples of it: a cache line, and what vector instructions like. */
const ALIGNMENT = 64

export interface RegionSettings {
  /** Bytes at the start. */
  readonly byteSize: number
  /** Bytes by which it grows, or a multiple. */
  readonly growthByteSize: number
  readonly prefix: string
  /** Default: /dev/shm. */
  readonly directory?: string
  /** False: through the file, also where it could be mapped. Default: true. */
  readonly isMapped?: boolean
}

/** A piece that is in use. */
interface Block {
  readonly length: number
  /** Whoever wrote it, and those who look at it where it is. */
  holds: number
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

/**
 * Memory for tensors on their way to a stub, which maps it. This side is the only one that allocates. Its pages are claimed before they are used, or written
 * through the file, so that memory that is not to be had is an error of the call and no signal.
 */
export class SharedRegion {
  readonly descriptor: number
  readonly #settings: RegionSettings
  readonly #memory: RegionMemory
  #size = 0
  /** By offset, never two that touch. */
  readonly #free: { offset: number; length: number }[] = []
  readonly #used = new Map<number, Block>()

  /** @throws ServerError UNAVAILABLE where there is too little shared memory */
  constructor(settings: RegionSettings) {
    this.#settings = settings
    this.descriptor = openUnnamedFile(settings)
    this.#memory = new RegionMemory(this.descriptor, settings.isMapped)
    try {
      this.#extend(settings.byteSize)
    } catch (error) {
      this.close()
      throw error
    }
  }

  get byteSize(): number { return this.#size }
  get usedBlocks(): number {
    this.#takeBack()
    return this.#used.size
  }

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
        this.#memory.write(part, offset)
        offset += lengths[index] ?? 0
      }
    } catch (error) {
      this.release(start)
      throw error
    }
    return parts.length === 0 ? [start] : offsets
  }

  release(offset: number): void {
    const block = this.#used.get(offset)
    if (block === undefined || --block.holds > 0) return
    this.#used.delete(offset)
    this.#giveBack(offset, block.length)
  }

  /** A copy of what lies there. @throws ServerError INTERNAL beyond the end */
  read(offset: number, byteLength: number): Uint8Array { return this.#memory.read(offset, byteLength) }

  /**
   * What lies there, where it is; null: it is to be copied. Its block is not used again before nobody holds those bytes any more.
   * @param near the block that it is most likely part of
   */
  lend(offset: number, byteLength: number, near: number): Uint8Array | null {
    const start = this.#blockAround(offset, byteLength, near)
    const block = start === null ? undefined : this.#used.get(start)
    if (start === null || block === undefined) return null
    const bytes = this.#memory.lend(offset, byteLength, start)
    if (bytes !== null) block.holds++
    return bytes
  }

  close(): void {
    this.#memory.close()
    closeSync(this.descriptor)
  }

  #takeBack(): void { for (const start of this.#memory.takeBack()) this.release(start) }

  #blockAround(offset: number, byteLength: number, near: number): number | null {
    const contains = (start: number, block: Block | undefined) => block !== undefined && start <= offset && offset + byteLength <= start + block.length
    if (contains(near, this.#used.get(near))) return near
    for (const [start, block] of this.#used) if (contains(start, block)) return start
    return null
  }

  #take(length: number): number {
    this.#takeBack()
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
    this.#used.set(offset, { length, holds: 1 })
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
    this.#memory.extend(start, added)
    this.#size += added
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

function alignUp(byteLength: number): number { return Math.ceil(byteLength / ALIGNMENT) * ALIGNMENT }
