import { mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ServerError } from '../server-error.ts'
import { readSharedMemory, SharedMemoryRegions, writeSharedMemory } from './shared-memory-regions.ts'

let directory: string
let regions: SharedMemoryRegions

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'npu-console-shm-'))
  regions = new SharedMemoryRegions({ isAllowed: true, directory })
})
afterEach(() => { rmSync(directory, { recursive: true }) })

const object = (name: string, byteSize = 8192) => { writeFileSync(join(directory, name), Uint8Array.from({ length: byteSize }, (_, index) => index % 251)) }
const register = (name: string, key: string, more: { offset?: bigint; byteSize?: bigint } = {}) => { regions.registerSystem({ name, key, offset: 0n, byteSize: 4096n, ...more }) }

function refusal(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (error instanceof ServerError) return `${error.kind} ${error.message}`
    throw error
  }
  return 'taken'
}

describe('registering', () => {
  it('shows what is registered, all or one', () => {
    object('a')
    register('r', '/a')
    register('s', 'a', { offset: 4096n, byteSize: 100n })
    expect(regions.status('system', '')).toEqual([{ name: 'r', key: '/a', offset: 0n, byteSize: 4096n }, { name: 's', key: 'a', offset: 4096n, byteSize: 100n }])
    expect(regions.status('system', 's')).toHaveLength(1)
    expect(regions.status('CUDA', '')).toEqual([])
    expect(refusal(() => regions.status('CUDA', 's'))).toBe("NOT_FOUND The region named 's' is registered as system shared memory, not CUDA shared memory")
    expect(refusal(() => { register('r', '/a') })).toBe("ALREADY_EXISTS shared memory region 'r' already in manager")
  })

  it.each<[string, string, { offset?: bigint; byteSize?: bigint }, string]>([
    ['no key', '///', {}, "INVALID_ARG cannot register shared memory region 'r' - invalid shm key '///'"],
    ['the prefix of the Python backend', '/triton_python_backend_shm_region_1', {},
      "INVALID_ARG cannot register shared memory region 'r' with key '/triton_python_backend_shm_region_1' as the key contains the reserved prefix 'triton_python_backend_shm_region_'"],
    ['no such object', '/nothing', {}, "INTERNAL Unable to open shared memory region: '/nothing'"],
    ['a path', '/sub/../a', {}, "INTERNAL Unable to open shared memory region: '/sub/../a'"],
    ['the directory above', '/..', {}, "INTERNAL Unable to open shared memory region: '/..'"],
    ['a byte of 0', 'a\0b', {}, "INTERNAL Unable to open shared memory region: 'a\0b'"],
    ['a link', '/link', {}, "INTERNAL Unable to open shared memory region: '/link'"],
    ['beyond the end', '/a', { offset: 4096n, byteSize: 4097n }, "INVALID_ARG failed to register shared memory region 'r': invalid args"],
    ['offset + size beyond uint64', '/a', { offset: 0xffff_ffff_ffff_f000n, byteSize: 0xffff_ffff_ffff_ffffn }, "INVALID_ARG failed to register shared memory region 'r': invalid args"],
    ['no page', '/a', { offset: 1n, byteSize: 8n }, "INVALID_ARG failed to register shared memory region 'r': unable to process address spaceInvalid argument"],
    ['nothing', '/a', { byteSize: 0n }, "INVALID_ARG failed to register shared memory region 'r': unable to process address spaceInvalid argument"],
  ])('refuses %s', (_name, key, more, text) => {
    object('a')
    symlinkSync('/etc/hostname', join(directory, 'link'))
    expect(refusal(() => { register('r', key, more) })).toBe(text)
    expect(regions.status('system', '')).toEqual([])
  })

  it('reserves the prefix that Python models were given as well', () => {
    regions = new SharedMemoryRegions({ isAllowed: true, directory, pythonPrefix: 'mine_' })
    object('mine_1')
    for (const key of ['/mine_1', 'triton_python_backend_shm_region_1']) {
      expect(refusal(() => { register('r', key) })).toMatch(/^INVALID_ARG cannot register shared memory region 'r' with key .* as the key contains the reserved prefix '(mine_|triton_python_backend_shm_region_)'$/)
    }
  })

  it('takes nothing unless it is allowed', () => {
    regions = new SharedMemoryRegions({ isAllowed: false, directory })
    object('a')
    const text = "UNSUPPORTED Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable."
    expect(refusal(() => { register('r', '/a') })).toBe(text)
    expect(refusal(() => { regions.unregister('system', '') })).toBe(text)
    expect(regions.status('system', '')).toEqual([])
  })
})

describe('use', () => {
  it('reads and writes where the region lies in its object', () => {
    object('a')
    register('r', '/a', { offset: 4096n, byteSize: 4096n })
    const use = regions.use()
    expect([...readSharedMemory(use.range('r', 10n, 3n))]).toEqual([4106 % 251, 4107 % 251, 4108 % 251])
    writeSharedMemory(use.range('r', 4093n, 3n), Uint8Array.of(1, 2, 3))
    expect([...readFileSync(join(directory, 'a')).subarray(8188)]).toEqual([8188 % 251, 1, 2, 3])
    use.release()
  })

  it.each<[string, string, bigint, bigint, string]>([
    ['a region that is not there', 'x', 0n, 1n, "NOT_FOUND Unable to find shared memory region: 'x'"],
    ['an offset behind the region', 'r', 4096n, 0n, "INVALID_ARG Invalid offset for shared memory region: 'r'"],
    ['an end behind the region', 'r', 4000n, 97n, "INVALID_ARG Invalid offset + byte size for shared memory region: 'r'"],
    ['a sum beyond 64 bits', 'r', 1n, 0xffff_ffff_ffff_ffffn,
      "INVALID_ARG Integer overflow detected: byte_size (18446744073709551615) + offset (1) exceeds maximum value (18446744073709551615) for region 'r'"],
  ])('refuses %s', (_name, region, offset, byteSize, text) => {
    object('a')
    register('r', '/a')
    expect(refusal(() => regions.use().range(region, offset, byteSize))).toBe(text)
  })

  it('keeps a region until the last request that uses it is over', () => {
    object('a')
    register('r', '/a')
    const [first, second] = [regions.use(), regions.use()]
    const range = first.range('r', 0n, 4n)
    first.range('r', 4n, 4n)
    second.range('r', 0n, 4n)
    regions.unregister('system', '')
    second.release()
    expect(regions.status('system', '')).toHaveLength(1)
    writeSharedMemory(range, Uint8Array.of(9))
    first.release()
    expect(regions.status('system', '')).toEqual([])
    register('r', '/a')
    regions.unregister('system', 'r')
    regions.unregister('system', 'r')
    expect(regions.status('system', '')).toEqual([])
  })

  it('lets everything go when the server ends, also what is in use', () => {
    object('a')
    register('r', '/a')
    const use = regions.use()
    use.range('r', 0n, 4n)
    regions.unregister('system', 'r')
    regions.close()
    expect(regions.status('system', '')).toEqual([])
    expect(() => { use.release() }).not.toThrow()
  })

  it('says that there is no memory for a range that is larger than any', () => {
    object('a')
    register('r', '/a')
    const range = regions.use().range('r', 0n, 1n)
    expect(refusal(() => readSharedMemory({ ...range, byteSize: 2 ** 50 }))).toMatch(/^INTERNAL no memory for 1125899906842624 bytes of shared memory region 'r': /)
  })

  it('answers an error for an object that was truncated, and does not make it longer again', () => {
    object('a')
    register('r', '/a', { byteSize: 8192n })
    const use = regions.use()
    truncateSync(join(directory, 'a'), 4100)
    const text = "INVALID_ARG shared memory region 'r' is shorter than when it was registered: its object was truncated. Make it as long as before, or unregister it and register it again"
    expect(refusal(() => readSharedMemory(use.range('r', 4096n, 8n)))).toBe(text)
    expect(refusal(() => { writeSharedMemory(use.range('r', 4096n, 8n), new Uint8Array(8)) })).toBe(text)
    expect(readFileSync(join(directory, 'a'))).toHaveLength(4100)
    expect(readSharedMemory(use.range('r', 0n, 4100n))).toHaveLength(4100)
  })
})
