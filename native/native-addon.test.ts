/** Loads the built addon as the server does, in the main thread and in workers. Build it first: node scripts/build.mjs --only native */
import { readdirSync, readFileSync } from 'node:fs'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { loadNativeAddon, nativeAddon, NATIVE_ADDON_PATH } from '../server-core/backends/native-addon.ts'

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

  it('says what to do where it is missing or broken', () => {
    expect(loadNativeAddon('/nowhere/addon.node')).toEqual({
      ok: false,
      reason: 'The native addon is not built (/nowhere/addon.node is not there): install g++ and cmake, then run: npm run build',
    })
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
