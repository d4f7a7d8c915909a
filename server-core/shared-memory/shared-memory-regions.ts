/**
 * The shared memory extension (protocol 5.9): regions that clients registered, POSIX shared memory objects below /dev/shm. A region is read
 * and written through its open file and not mapped: what its owner cuts off or changes meanwhile is an error or other bytes, never an
 * invalid memory access in this process (docs/adr, shared memory without mapping).
 */
import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { ServerError } from '../server-error.ts'

/** As `status` shows it. */
export interface SharedMemoryRegionStatus {
  readonly name: string
  readonly key: string
  /** Bytes, where the region begins in the object. */
  readonly offset: bigint
  /** Bytes. */
  readonly byteSize: bigint
}

interface Region extends SharedMemoryRegionStatus {
  readonly file: number
  /** Requests that use it. */
  users: number
  /** It is let go when its last user is done. */
  isUnregistered: boolean
}

/** A part of a region that a request reads or writes; bounds were checked. */
export interface SharedMemoryRange {
  readonly region: string
  readonly file: number
  /** Bytes from the begin of the object. */
  readonly position: number
  readonly byteSize: number
}

export type SharedMemoryKind = 'system' | 'CUDA'

const DISABLED = "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable."
const RESERVED_PREFIX = 'triton_python_backend_shm_region_'
const UINT64_MAX = 0xffff_ffff_ffff_ffffn
/** Regions begin at a page, as mmap has it. */
const PAGE_BYTES = 4096n
/** Node reads and writes less than 2 GiB a call. */
const CALL_BYTES = 2 ** 30

export interface SharedMemoryOptions {
  /** Clients may register regions. */
  readonly isAllowed: boolean
  /** How the names of the regions of Python models begin: no client may have them. Default: Triton's, which is reserved in any case. */
  readonly pythonPrefix?: string | undefined
  /** Where objects lie. Default: /dev/shm. */
  readonly directory?: string
}

export class SharedMemoryRegions {
  readonly #isAllowed: boolean
  readonly #directory: string
  readonly #reservedPrefixes: readonly string[]
  readonly #regions = new Map<string, Region>()
  readonly #users: RegionUsers = { find: (name) => this.#find(name), release: (region) => { this.#release(region) } }

  constructor({ isAllowed, pythonPrefix = RESERVED_PREFIX, directory = '/dev/shm' }: SharedMemoryOptions) {
    this.#isAllowed = isAllowed
    this.#reservedPrefixes = [...new Set([RESERVED_PREFIX, pythonPrefix])]
    this.#directory = directory
  }

  /** @param name '' : all. @throws ServerError NOT_FOUND */
  status(kind: SharedMemoryKind, name: string): readonly SharedMemoryRegionStatus[] {
    const shown = kind === 'system' ? [...this.#regions.values()].map(statusOf) : []
    if (name === '') return shown
    const found = shown.find((region) => region.name === name)
    if (found !== undefined) return [found]
    throw new ServerError('NOT_FOUND', this.#regions.has(name)
      ? `The region named '${name}' is registered as system shared memory, not CUDA shared memory`
      : `Unable to find ${kind} shared memory region: '${name}'`)
  }

  /** @throws ServerError UNSUPPORTED where clients may register nothing */
  requireAllowed(): void {
    if (!this.#isAllowed) throw new ServerError('UNSUPPORTED', DISABLED)
  }

  /** @throws ServerError with the protocol's texts; then nothing is registered */
  registerSystem({ name, key, offset, byteSize }: SharedMemoryRegionStatus): void {
    this.requireAllowed()
    if (this.#regions.has(name)) throw new ServerError('ALREADY_EXISTS', `shared memory region '${name}' already in manager`)
    const file = this.#open(name, key)
    try {
      checkRange(file, name, offset, byteSize)
    } catch (error) {
      closeSync(file)
      throw error
    }
    this.#regions.set(name, { name, key, offset, byteSize, file, users: 0, isUnregistered: false })
  }

  /** There are no CUDA devices. @throws ServerError always */
  registerCuda(name: string): never {
    throw new ServerError('INVALID_ARG', `failed to register CUDA shared memory region: '${name}', GPUs not supported`)
  }

  /**
   * A region that requests use is let go when the last of them is done; one that is not there is no error.
   * @param name '' : all. @throws ServerError UNSUPPORTED
   */
  unregister(kind: SharedMemoryKind, name: string): void {
    this.requireAllowed()
    if (kind === 'CUDA') return
    for (const region of name === '' ? [...this.#regions.values()] : [this.#regions.get(name)]) {
      if (region === undefined) continue
      region.isUnregistered = true
      this.#letGo(region)
    }
  }

  /** Lets everything go, whoever uses it: the server ends. */
  close(): void {
    for (const { file } of this.#regions.values()) closeSync(file)
    this.#regions.clear()
  }

  /** What one request uses; to be released when the request is over. */
  use(): SharedMemoryUse { return new SharedMemoryUse(this.#users) }

  #find(name: string): Region {
    const region = this.#regions.get(name)
    if (region === undefined) throw new ServerError('NOT_FOUND', `Unable to find shared memory region: '${name}'`)
    region.users++
    return region
  }

  #release(region: Region): void {
    region.users--
    if (region.isUnregistered) this.#letGo(region)
  }

  #letGo(region: Region): void {
    if (region.users > 0 || this.#regions.get(region.name) !== region) return
    this.#regions.delete(region.name)
    closeSync(region.file)
  }

  /** As shm_open: leading slashes do not count, another one is no name, links are not followed. */
  #open(region: string, key: string): number {
    const name = key.replace(/^\/+/, '')
    if (name === '') throw new ServerError('INVALID_ARG', `cannot register shared memory region '${region}' - invalid shm key '${key}'`)
    const reserved = this.#reservedPrefixes.find((prefix) => name.startsWith(prefix))
    if (reserved !== undefined) {
      throw new ServerError('INVALID_ARG', `cannot register shared memory region '${region}' with key '${key}' as the key contains the reserved prefix '${reserved}'`)
    }
    const refuse = (cause?: unknown) => new ServerError('INTERNAL', `Unable to open shared memory region: '${key}'`, { cause })
    if (name.includes('/') || name === '.' || name === '..') throw refuse()
    let file: number
    try {
      // NONBLOCK: a pipe of that name must not make the server wait for its other end.
      file = openSync(`${this.#directory}/${name}`, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    } catch (error) {
      throw refuse(error)
    }
    if (fstatSync(file).isFile()) return file
    closeSync(file)
    throw refuse()
  }
}

/** Counts who uses a region. */
interface RegionUsers {
  /** @throws ServerError NOT_FOUND */
  find(name: string): Region
  release(region: Region): void
}

/** The regions that one request uses. */
export class SharedMemoryUse {
  readonly #users: RegionUsers
  /** Null: none, as with most requests. */
  #regions: Region[] | null = null

  constructor(users: RegionUsers) { this.#users = users }

  /** @param offset bytes from the begin of the region @throws ServerError NOT_FOUND, INVALID_ARG */
  range(name: string, offset: bigint, byteSize: bigint): SharedMemoryRange {
    const region = this.#users.find(name)
    ;(this.#regions ??= []).push(region)
    if (offset >= region.byteSize) throw new ServerError('INVALID_ARG', `Invalid offset for shared memory region: '${name}'`)
    if (byteSize > UINT64_MAX - offset) {
      throw new ServerError('INVALID_ARG', `Integer overflow detected: byte_size (${byteSize}) + offset (${offset}) exceeds maximum value (${UINT64_MAX}) for region '${name}'`)
    }
    if (offset + byteSize > region.byteSize) throw new ServerError('INVALID_ARG', `Invalid offset + byte size for shared memory region: '${name}'`)
    return { region: name, file: region.file, position: Number(region.offset + offset), byteSize: Number(byteSize) }
  }

  /** The request is over. */
  release(): void {
    const regions = this.#regions
    if (regions === null) return
    this.#regions = null
    for (const region of regions) this.#users.release(region)
  }
}

/** The bytes of a range, as they are now. @throws ServerError INVALID_ARG when its owner made the object shorter, INTERNAL when there is no memory for them */
export function readSharedMemory({ region, file, position, byteSize }: SharedMemoryRange): Buffer {
  const data = bufferFor(region, byteSize)
  let count = 0
  while (count < byteSize) {
    const read = readSync(file, data, count, Math.min(byteSize - count, CALL_BYTES), position + count)
    if (read === 0) throw tooShort(region)
    count += read
  }
  return data
}

/** Writes to the begin of a range, which is large enough. @throws ServerError INVALID_ARG when its owner made the object shorter, INTERNAL when memory is full */
export function writeSharedMemory({ region, file, position }: SharedMemoryRange, data: Uint8Array): void {
  // Writing would make it longer again.
  if (fstatSync(file).size < position + data.byteLength) throw tooShort(region)
  let count = 0
  try {
    while (count < data.byteLength) count += writeSync(file, data, count, Math.min(data.byteLength - count, CALL_BYTES), position + count)
  } catch (error) {
    throw new ServerError('INTERNAL', `cannot write to shared memory region '${region}': ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

function bufferFor(region: string, byteSize: number): Buffer {
  try {
    return Buffer.allocUnsafe(byteSize)
  } catch (error) {
    throw new ServerError('INTERNAL', `no memory for ${byteSize} bytes of shared memory region '${region}': ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

function tooShort(region: string): ServerError {
  return new ServerError('INVALID_ARG', `shared memory region '${region}' is shorter than when it was registered: its object was truncated. Make it as long as before, or unregister it and register it again`)
}

/** @throws ServerError INVALID_ARG where mmap would fail */
function checkRange(file: number, name: string, offset: bigint, byteSize: bigint): void {
  const refuse = (reason: string) => new ServerError('INVALID_ARG', `failed to register shared memory region '${name}': ${reason}`)
  if (offset + byteSize > fstatSync(file, { bigint: true }).size) throw refuse('invalid args')
  if (byteSize === 0n || offset % PAGE_BYTES !== 0n) throw refuse('unable to process address spaceInvalid argument')
}

function statusOf({ name, key, offset, byteSize }: Region): SharedMemoryRegionStatus {
  return { name, key, offset, byteSize }
}
