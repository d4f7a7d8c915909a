import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { addModel } from '../testing/onnx-fixture.ts'
import { identityConfig, TemporaryRepository } from '../testing/temporary-repository.ts'
import { createTestServer, floatsOf, fp32, requestOf, type TestServer } from '../testing/test-server.ts'

/** Where a thread can be ended from outside. */
const ON_WORKERS = { backendConfig: { onnxruntime: { implementation: 'worker' } } }
const slow = (milliseconds: number) => `parameters { key: "execute_delay_ms" value { string_value: "${milliseconds}" } }`
const needs = (resources: string, priority = 1) => `instance_group { count: 1 kind: KIND_CPU rate_limiter { ${resources} priority: ${priority} } }`
const ask = (test: TestServer, model: string) => test.server.infer(requestOf(model, [fp32('INPUT0', [1, 4], [1, 2, 3, 4])]))
const messageOf = (promise: Promise<unknown>) => promise.then(() => '', (error: unknown) => (error as Error).message)

describe('--rate-limit', () => {
  it('execution_count: instances of two models share a resource, the favoured one runs twice as often', async () => {
    await using repository = await TemporaryRepository.create({
      'often/config.pbtxt': identityConfig(`${needs('resources { name: "R" count: 1 }')} ${slow(1)}`, 0).replace('dims: [ 4 ]', 'dims: [ 1, 4 ]').replace('dims: [ 4 ]', 'dims: [ 1, 4 ]'), 'often/1/x': '',
      'seldom/config.pbtxt': identityConfig(`${needs('resources { name: "R" count: 1 }', 2)} ${slow(1)}`, 0).replace('dims: [ 4 ]', 'dims: [ 1, 4 ]').replace('dims: [ 4 ]', 'dims: [ 1, 4 ]'), 'seldom/1/x': '',
    })
    await using test = createTestServer([repository.path], { loadModels: ['*'], rateLimit: 'execution_count' })
    await test.server.start()
    const order: string[] = []
    const run = (model: string, count: number) => Array.from({ length: count }, () => ask(test, model).then(() => { order.push(model) }))
    await Promise.all([...run('often', 60), ...run('seldom', 60)])
    // While both have work: of the first 75 about 50.
    const often = order.slice(0, 75).filter((model) => model === 'often').length
    expect(often).toBeGreaterThanOrEqual(48)
    expect(often).toBeLessThanOrEqual(52)
  })

  it('off: what the config says of resources does not matter', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig(needs('resources { name: "R" count: 9 }')), 'm/1/x': '' })
    await using test = createTestServer([repository.path], { rateLimitResources: [{ name: 'R', count: 1, device: null }] })
    await test.server.start()
    await test.server.loadModel('m')
    await ask(test, 'm')
  })

  it('fails the load of what could never run, and counts models no more that are gone', async () => {
    await using repository = await TemporaryRepository.create({
      'large/config.pbtxt': identityConfig(needs('resources { name: "R" count: 3 }')), 'large/1/x': '',
      'device/config.pbtxt': identityConfig(needs('resources { name: "G" count: 1 }')), 'device/1/x': '',
      'global/config.pbtxt': identityConfig(needs('resources { name: "G" global: true count: 1 }')), 'global/1/x': '',
    })
    await using test = createTestServer([repository.path], { rateLimit: 'execution_count', rateLimitResources: [{ name: 'R', count: 2, device: null }] })
    await test.server.start()
    expect(await messageOf(test.server.loadModel('large'))).toBe("load failed for model 'large': version 1 is at UNAVAILABLE state: Invalid argument: "
      + 'Resource count for "R" is limited to 2 which will prevent scheduling of one or more model instances, the minimum required count is 3;\n')
    await test.server.loadModel('device')
    expect(await messageOf(test.server.loadModel('global'))).toContain('Resource "G" is present as both global and device-specific resource in the model configuration.')
    await test.server.unloadModel('device')
    await expect.poll(() => test.server.repositoryIndex(false).find(({ name }) => name === 'device')?.state).toBe('UNAVAILABLE')
    await test.server.loadModel('global')
    await ask(test, 'global')
  })

  it('keeps the running instances when an update asks for more than there is, with the reason beside READY', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig(needs('resources { name: "R" count: 1 }')), 'm/1/x': '' })
    await using test = createTestServer([repository.path], { loadModels: ['m'], rateLimit: 'execution_count', rateLimitResources: [{ name: 'R', count: 2, device: null }] })
    await test.server.start()
    await repository.write({ 'm/config.pbtxt': identityConfig(needs('resources { name: "R" count: 3 }')) })
    const reason = 'Invalid argument: Resource count for "R" is limited to 2 which will prevent scheduling of one or more model instances, the minimum required count is 3'
    expect(await messageOf(test.server.loadModel('m'))).toBe(`load failed for model 'm': version 1 is at READY state: ${reason};\n`)
    expect(test.server.repositoryIndex(false)).toEqual([{ name: 'm', version: '1', state: 'READY', reason }])
    await ask(test, 'm')
    await repository.write({ 'm/config.pbtxt': identityConfig(needs('resources { name: "R" count: 2 }')) })
    await test.server.loadModel('m')
    expect(test.server.repositoryIndex(false)).toEqual([{ name: 'm', version: '1', state: 'READY' }])
    await ask(test, 'm')
    expect(test.server.modelStatistics('m', '')[0]).toMatchObject({ inference_count: 2 })
  })
})

describe('instances of an ONNX model', () => {
  const config = (count: number) => `max_batch_size: 4 dynamic_batching { } instance_group { count: ${count} kind: KIND_CPU } parameters { key: "intra_op_thread_count" value { string_value: "1" } }`
  const sum = async (test: TestServer, value: number) => floatsOf((await test.server.infer(requestOf('add', [fp32('A', [1, 2], [value, 1]), fp32('B', [1, 2], [value, 1])]))).response.outputs[0])[0]

  it('change under load without a request lost, and with the statistics kept', async () => {
    await using repository = await TemporaryRepository.create({ 'add/1/model.onnx': addModel(2), 'add/config.pbtxt': config(1) })
    await using test = createTestServer([repository.path], { loadModels: ['add'] })
    await test.server.start()
    let isUpdating = true
    const clients = Array.from({ length: 6 }, async (_unused, client) => {
      let answered = 0
      for (; isUpdating || answered < 20; answered++) expect(await sum(test, client * 1000 + answered)).toBe(2 * (client * 1000 + answered))
      return answered
    })
    for (const count of [3, 1, 2]) {
      await repository.write({ 'add/config.pbtxt': config(count) })
      await test.server.loadModel('add')
      expect(test.server.modelSummaries()[0]).toMatchObject({ state: 'READY', instanceCount: count, reason: '' })
    }
    isUpdating = false
    const answered = (await Promise.all(clients)).reduce((total, count) => total + count, 0)
    expect(test.server.modelStatistics('add', '')[0]).toMatchObject({ inference_count: answered, inference_stats: { fail: { count: 0 } } })
  })

  it('serve on while one is replaced, with the reason beside READY', async () => {
    await using repository = await TemporaryRepository.create({ 'add/1/model.onnx': addModel(2), 'add/config.pbtxt': config(2) })
    await using test = createTestServer([repository.path], ON_WORKERS)
    await test.server.start()
    const workers: Worker[] = []
    const collect = (worker: Worker) => { workers.push(worker) }
    process.on('worker', collect)
    await test.server.loadModel('add')
    const [first] = workers
    const ended = once(first!, 'exit')
    await first!.terminate()
    await ended
    expect(test.server.repositoryIndex(false)).toMatchObject([{ state: 'READY', reason: expect.stringMatching(/^1 of 2 instances start again: the worker thread/) as string }])
    expect(test.server.modelSummaries()[0]?.versions[0]?.instances.map(({ name, state }) => [name, state])).toEqual([['add_0_0', 'RESTARTING'], ['add_0_1', 'READY']])
    expect(test.server.isModelReady('add', '')).toBe(true)
    expect(await Promise.all([1, 2, 3].map((value) => sum(test, value)))).toEqual([2, 4, 6])
    await expect.poll(() => test.server.modelSummaries()[0]?.instanceCount, { timeout: 10_000 }).toBe(2)
    process.off('worker', collect)
    expect(workers).toHaveLength(3)
    expect(test.server.repositoryIndex(false)).toEqual([{ name: 'add', version: '1', state: 'READY' }])
  })

  it('that are passive are made and never run', async () => {
    const passive = `${config(1)} instance_group { name: "spare" count: 1 kind: KIND_CPU passive: true }`
    await using repository = await TemporaryRepository.create({ 'add/1/model.onnx': addModel(2), 'add/config.pbtxt': passive })
    await using test = createTestServer([repository.path], ON_WORKERS)
    await test.server.start()
    const workers: Worker[] = []
    const collect = (worker: Worker) => { workers.push(worker) }
    process.on('worker', collect)
    await test.server.loadModel('add')
    process.off('worker', collect)
    expect(workers.map((worker) => worker.threadName)).toEqual(['add_0_0', 'spare_0'])
    expect(test.server.modelSummaries()[0]).toMatchObject({
      instanceCount: 1, versions: [{ instances: [{ name: 'add_0_0', isPassive: false, state: 'READY' }, { name: 'spare_0', isPassive: true, state: 'READY' }] }],
    })
    expect(await sum(test, 4)).toBe(8)
  })
})
