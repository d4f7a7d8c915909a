/** Loads the built addon as the server does, in the main thread and in workers. Build it first: node scripts/build.mjs --only native */
import { closeSync, fstatSync, mkdtempSync, openSync, readdirSync, readFileSync, readSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { readEvents } from '../server-core/backends/native/event-group.ts'
import { EVENT } from '../server-core/backends/native/host-events.ts'
import { loadNativeAddon, nativeAddon, NATIVE_ADDON_PATH } from '../server-core/backends/native-addon.ts'
import { releaseMemory } from '../server-core/release-memory.ts'

const HOST_OPTIONS = { backendDirectories: ['/nowhere'], logLevels: 0, unloadReportMilliseconds: 0, leakGraceMilliseconds: 0 }
const MODEL_OPTIONS = {
  token: 1, name: 'm', version: 1, directory: '/nowhere', backend: 'nobody', library: null, config: '{}', backendConfig: '{}', autoComplete: false, mayReschedule: false,
  outputs: [], states: [],
}

/** Names a thread, says so, then does what it is told until it ends. */
const WORKER_SOURCE = `
  const { parentPort, workerData } = require('node:worker_threads')
  const addon = require(workerData.path)
  addon.nameCurrentThread(workerData.name)
  parentPort.on('message', () => {
    const before = addon.currentThreadCpuNanoseconds()
    const end = performance.now() + 30
    while (performance.now() < end);
    parentPort.postMessage({ used: addon.currentThreadCpuNanoseconds() - before })
  })
  parentPort.postMessage('named')
`

describe('native addon', () => {
  it('is built', () => {
    const result = nativeAddon()
    expect(result.ok ? '' : result.reason).toBe('')
  })

  it('names a worker thread so that the system shows it, cut to 15 bytes and to whole characters', async () => {
    for (const [name, shown] of [['ppocr_rec_0', 'ppocr_rec_0'], ['a-very-long-instance-name', 'a-very-long-ins'], ['识别模型实例', '识别模型实']]) {
      const worker = await namedWorker(name ?? '')
      expect(threadNames()).toContain(shown)
      await worker.terminate()
    }
  })

  it('says what is missing where there is no DCMI', async () => {
    const { error, values } = await new Promise<{ error: (Error & { dcmiCode: number }) | null; values: unknown }>((resolve) => {
      loadedAddon().readDcmi('/nowhere', (...[error, values]) => { resolve({ error, values }) })
    })
    expect(values).toBeNull()
    expect(error?.message).toMatch(/DCMI cannot be opened\. Tried: \/nowhere\/libdcmi\.so/)
    expect(error?.dcmiCode).toBe(0)
  })

  it('counts the processor time of the calling thread only', async () => {
    const main = loadedAddon()
    const worker = await namedWorker('busy')
    const before = main.currentThreadCpuNanoseconds()
    worker.postMessage('work')
    const [{ used }] = await once(worker, 'message') as [{ used: number }]
    const usedByMain = main.currentThreadCpuNanoseconds() - before
    expect(used).toBeGreaterThan(5_000_000)
    expect(usedByMain).toBeLessThan(used)
    await worker.terminate()
  })

  it('refuses a name that is no string, and goes on', () => {
    const addon = loadedAddon()
    expect(() => { addon.nameCurrentThread(5 as unknown as string) }).toThrow('nameCurrentThread takes one string')
  })

  it('survives 20 workers that load it and are terminated', async () => {
    const workers = await Promise.all(Array.from({ length: 20 }, (_, index) => namedWorker(`w${index}`)))
    const names = threadNames()
    for (let index = 0; index < 20; index++) expect(names).toContain(`w${index}`)
    for (const worker of workers) worker.postMessage('work')
    const codes = await Promise.all(workers.map((worker) => worker.terminate()))
    expect(codes).toHaveLength(20)
    // The kernel forgets a thread a moment after it was joined.
    await expect.poll(() => threadNames().filter((name) => /^w\d+$/.test(name)), { timeout: 10_000 }).toEqual([])
  })

  it('closes its Triton host, which takes nothing more then', async () => {
    const { TritonHost } = loadedAddon()
    const events: number[] = []
    const host = new TritonHost(HOST_OPTIONS, (...group) => { for (const { kind } of readEvents(...group)) events.push(kind) })
    host.loadModel({ ...MODEL_OPTIONS, token: 1 })
    await expect.poll(() => events).toEqual([EVENT.modelInitialized])
    expect(() => { host.unloadModel(7) }).toThrow('no model has the token 7')
    expect(() => { host.loadModel({ ...MODEL_OPTIONS, token: 2, config: '{' }) }).toThrow("the config of model 'm' is not JSON")
    expect(() => { host.submit(1, 1, [[1, '', 'x', 0, 0, ['X', 1, [1], 'no bytes' as unknown as Uint8Array], [], [], 0]]) }).toThrow('the Triton host expected a Uint8Array')
    await host.close(1000)
    expect(() => { host.unloadModel(1) }).toThrow('the Triton host is closed')
  })

  it('lets a worker end that did not close its Triton host', async () => {
    const source = `
      const { parentPort, workerData } = require('node:worker_threads')
      const { TritonHost } = require(workerData.path)
      const host = new TritonHost(workerData.options, () => {})
      host.loadModel(workerData.model)
      parentPort.on('message', () => {})
      parentPort.postMessage('loads')`
    const worker = new Worker(source, { eval: true, workerData: { path: NATIVE_ADDON_PATH, options: HOST_OPTIONS, model: MODEL_OPTIONS } })
    await once(worker, 'message')
    expect(await worker.terminate()).toBe(1)
  })

  it('maps a file: what is lent stays there when the file is closed, and comes back when it is given back', async () => {
    const path = join('/dev/shm', `npu_console_test_${process.pid}_mapping`)
    const descriptor = openSync(path, 'wx+')
    unlinkSync(path)
    const mapping = new (loadedAddon().SharedMapping)(descriptor)
    mapping.claim(0, 8192)
    expect(fstatSync(descriptor)).toMatchObject({ size: 8192, blocks: 16 })
    mapping.map(8192)
    mapping.write(4096, Buffer.from('tensor'))
    const [copy, behind] = [Buffer.alloc(6), Buffer.alloc(6)]
    mapping.read(4096, copy)
    expect(readSync(descriptor, behind, 0, 6, 4096)).toBe(6)
    expect([copy.toString(), behind.toString(), mapping.takeFreed()]).toEqual(['tensor', 'tensor', null])
    const lent = mapping.lend(4096, 6, 7)
    if (lent === null) throw new Error('nothing was lent')
    mapping.write(4096, Buffer.from('T'))
    expect([lent.toString(), lent.buffer.byteLength]).toEqual(['Tensor', 6])
    expect(() => { mapping.write(8190, Buffer.from('abc')) }).toThrow('beyond the mapped memory')
    expect(() => { mapping.read(8193, Buffer.alloc(0)) }).toThrow('beyond the mapped memory')
    expect(() => mapping.lend(2 ** 53 - 1, 2, 1)).toThrow('beyond the mapped memory')
    expect(() => { mapping.claim(0, 2 ** 52) }).toThrow('memory could not be claimed: ')
    // A larger mapping takes the place of the first one, which the lent buffer keeps.
    mapping.claim(8192, 4096)
    mapping.map(12_288)
    mapping.close()
    closeSync(descriptor)
    expect([lent.toString(), mapping.takeFreed()]).toEqual(['Tensor', null])
    expect(() => { mapping.write(0, Buffer.from('a')) }).toThrow('beyond the mapped memory')
    releaseMemory(lent)
    await expect.poll(() => mapping.takeFreed()).toEqual([7])
    expect(mapping.takeFreed()).toBeNull()
  })

  it('says what to do where it is missing or broken', () => {
    expect(loadNativeAddon('/nowhere/addon.node')).toEqual({
      ok: false,
      reason: 'The native addon is not built (/nowhere/addon.node is not there): install g++, cmake and make, then run: npm run build',
    })
    const directory = mkdtempSync(join(tmpdir(), 'npu-console-addon-'))
    const old = join(directory, 'old.cjs')
    writeFileSync(old, 'exports.nameCurrentThread = exports.readDcmi = exports.exitAtOnce = exports.currentThreadCpuNanoseconds = exports.TritonHost = exports.tritonMetricsText = () => {}')
    expect(loadNativeAddon(old)).toEqual({
      ok: false, reason: `The native addon ${old} is of another version than this server (it has no jsonNumbers, SharedMapping). Build both: npm run build`,
    })
    rmSync(directory, { recursive: true })
    const broken = loadNativeAddon(import.meta.filename)
    expect(broken.ok ? '' : broken.reason).toContain('Build it again on this machine: npm run build')
  })
})

function loadedAddon() {
  const result = nativeAddon()
  if (!result.ok) throw new Error(result.reason)
  return result.addon
}

async function namedWorker(name: string): Promise<Worker> {
  const worker = new Worker(WORKER_SOURCE, { eval: true, workerData: { path: NATIVE_ADDON_PATH, name } })
  await once(worker, 'message')
  return worker
}

/** Of all threads of this process. */
function threadNames(): string[] {
  return readdirSync('/proc/self/task').flatMap((thread) => {
    try {
      return [readFileSync(`/proc/self/task/${thread}/comm`, 'utf8').trim()]
    } catch {
      // It ended between the two calls.
      return []
    }
  })
}
