import { describe, expect, it } from 'vitest'
import { serverOptions } from '../options.ts'
import { startServer } from '../start-server.ts'
import { HttpClient } from '../testing/http-client.ts'
import { metricsPage } from '../metrics/metric-families.ts'
import { identityConfig, TemporaryRepository } from '../testing/temporary-repository.ts'
import { createTestServer, floatsOf, fp32, requestOf, type TestServer } from '../testing/test-server.ts'

const local = (size: number) => ({ cacheConfig: { local: { size: String(size) } } })
const row = (...values: number[]) => [fp32('INPUT0', [1, 4], values)]
const statistics = ({ server }: TestServer, model = 'm') => server.modelStatistics(model, '')[0]
const cachedConfig = (more = '') => identityConfig(`response_cache { enable: true } ${more}`)
const noCpu = { utilization: null, memoryTotalBytes: null, memoryUsedBytes: null }

describe('response cache', () => {
  it('answers the same inputs without an execution, with the id of the new request, and counts hits and misses', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': cachedConfig(), 'm/1/x': '', 'plain/config.pbtxt': identityConfig(), 'plain/1/x': '' })
    await using test = createTestServer([repository.path], { loadModels: ['m', 'plain'], ...local(1e6) })
    await test.server.start()
    await test.server.infer(requestOf('m', row(1, 2, 3, 4), { id: 'first' }))
    const { response, timing } = await test.server.infer(requestOf('m', row(1, 2, 3, 4), { id: 'second' }))
    expect(response).toMatchObject({ id: 'second', modelName: 'm', modelVersion: '1' })
    expect(floatsOf(response.outputs[0])).toEqual([1, 2, 3, 4])
    expect(timing).toMatchObject({ computeInferNanoseconds: 0, batchSize: 1 })
    await test.server.infer(requestOf('m', row(1, 2, 3, 5)))
    expect(statistics(test)).toMatchObject({
      inference_count: 2, execution_count: 2,
      inference_stats: { success: { count: 3 }, queue: { count: 3 }, compute_infer: { count: 2 }, cache_hit: { count: 1 }, cache_miss: { count: 2 }, fail: { count: 0 } },
    })
    const { inference_stats: sums } = statistics(test)!
    expect(sums.cache_hit.ns).toBeGreaterThan(0)
    expect(sums.success.ns).toBeGreaterThanOrEqual(sums.cache_hit.ns + sums.cache_miss.ns)
    const page = metricsPage(test.server.modelMetrics(), noCpu)
    expect(page).toContain('# HELP nv_cache_num_hits_per_model Number of cache hits per model\n# TYPE nv_cache_num_hits_per_model counter\nnv_cache_num_hits_per_model{model="m",version="1"} 1\n')
    expect(page).toContain('nv_cache_num_misses_per_model{model="m",version="1"} 2\n')
    expect(page).toMatch(/nv_cache_hit_duration_per_model\{model="m",version="1"\} \d+\n/)
    expect(page).toMatch(/nv_cache_miss_duration_per_model\{model="m",version="1"\} \d+\n/)
    expect(page).toContain('nv_inference_request_success{model="m",version="1"} 3\n')
    expect(page).not.toMatch(/nv_cache\w+\{model="plain"/)
  })

  it('looks up before batching: a hit does not wait for the queue', async () => {
    await using repository = await TemporaryRepository.create({
      'm/config.pbtxt': cachedConfig('dynamic_batching { max_queue_delay_microseconds: 20000 preferred_batch_size: [ 8 ] }'), 'm/1/x': '',
    })
    await using test = createTestServer([repository.path], { loadModels: ['m'], ...local(1e6) })
    await test.server.start()
    await test.server.infer(requestOf('m', row(1, 1, 1, 1)))
    const order: string[] = []
    const waiting = test.server.infer(requestOf('m', row(2, 2, 2, 2))).then(() => { order.push('miss') })
    await test.server.infer(requestOf('m', row(1, 1, 1, 1))).then(() => { order.push('hit') })
    await waiting
    expect(order).toEqual(['hit', 'miss'])
  })

  it('does not serve after a reload what the version before answered', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': cachedConfig(), 'm/1/x': '' })
    await using test = createTestServer([repository.path], { loadModels: ['m'], ...local(1e6) })
    await test.server.start()
    for (let round = 0; round < 2; round++) await test.server.infer(requestOf('m', row(1, 2, 3, 4)))
    expect(statistics(test)?.inference_stats.cache_hit.count).toBe(1)
    await repository.write({ 'm/1/x': 'other weights' })
    await test.server.loadModel('m')
    await test.server.infer(requestOf('m', row(1, 2, 3, 4)))
    expect(statistics(test)).toMatchObject({ execution_count: 1, inference_stats: { cache_hit: { count: 0 }, cache_miss: { count: 1 } } })
  })

  it('does not keep failures, nor what is larger than the cache, which it logs', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': cachedConfig(), 'm/1/x': '' })
    await using test = createTestServer([repository.path], { loadModels: ['m'], ...local(100) })
    await test.server.start()
    await test.server.infer(requestOf('m', row(1, 2, 3, 4)))
    await test.server.infer(requestOf('m', row(1, 2, 3, 4)))
    expect(statistics(test)).toMatchObject({ inference_count: 2, inference_stats: { cache_hit: { count: 0 }, cache_miss: { count: 2 } } })
    expect(test.logs.recent(50).filter((entry) => entry.level === 'error').map((entry) => entry.message)[0]).toMatch(/^Failed to insert key \[[0-9a-f]+\] into response cache: /)
    await expect(test.server.infer(requestOf('m', [fp32('INPUT0', [1, 3], [1, 2, 3])]))).rejects.toThrow()
    expect(statistics(test)?.inference_stats.cache_miss.count).toBe(2)
  })

  it('runs a model that asks for a cache the server does not have, and says so once', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': cachedConfig(), 'm/1/x': '' })
    await using test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    await test.server.infer(requestOf('m', row(1, 2, 3, 4)))
    await test.server.infer(requestOf('m', row(1, 2, 3, 4)))
    expect(statistics(test)).toMatchObject({ inference_count: 2, inference_stats: { cache_hit: { count: 0 }, cache_miss: { count: 0 } } })
    expect(test.server.modelMetrics()[0]?.cache).toBeUndefined()
    expect(test.logs.recent(50).filter((entry) => entry.level === 'warning').map((entry) => entry.message)).toEqual([
      "model 'm' enables response_cache, but the server has no response cache: its responses are not cached. Start the server with --cache-config=local,size=<bytes>",
    ])
  })

  it('refuses hits while the model leaves, as every other request', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': cachedConfig('parameters { key: "execute_delay_ms" value { string_value: "50" } }'), 'm/1/x': '' })
    await using test = createTestServer([repository.path], { loadModels: ['m'], ...local(1e6) })
    await test.server.start()
    await test.server.infer(requestOf('m', row(1, 2, 3, 4)))
    const running = test.server.infer(requestOf('m', row(9, 9, 9, 9)))
    await test.server.unloadModel('m')
    await expect(test.server.infer(requestOf('m', row(1, 2, 3, 4)))).rejects.toThrow("Request for unknown model: 'm' has no available versions")
    await running
  })

  it('answers a hit with what was stored, whatever outputs are asked for, over HTTP too', async () => {
    const pair = (kind: string) => `${kind} [ { name: "${kind.toUpperCase()}0" data_type: TYPE_FP32 dims: [ 1 ] }, { name: "${kind.toUpperCase()}1" data_type: TYPE_FP32 dims: [ 1 ] } ]`
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': `backend: "identity" response_cache { enable: true } ${pair('input')} ${pair('output')}`, 'm/1/x': '' })
    const running = await startServer(serverOptions({ modelRepositories: [repository.path], httpPort: 0, allowGrpc: false, metricsPort: 0, ...local(1e6) }))
    const http = new HttpClient(running.addresses.http?.port ?? 0)
    const inputs = [0, 1].map((index) => ({ name: `INPUT${index}`, datatype: 'FP32', shape: [1], data: [index] }))
    const ask = async (output: string, binary: boolean) => {
      const answer = await http.send({ path: '/v2/models/m/infer', body: JSON.stringify({ id: output, inputs, outputs: [{ name: output, parameters: { binary_data: binary } }] }) })
      expect(answer.status).toBe(200)
      return answer.text
    }
    try {
      expect(JSON.parse(await ask('OUTPUT0', false))).toMatchObject({ id: 'OUTPUT0', outputs: [{ name: 'OUTPUT0', data: [0] }] })
      expect(JSON.parse(await ask('OUTPUT1', false))).toMatchObject({ id: 'OUTPUT1', outputs: [{ name: 'OUTPUT0', data: [0] }] })
      expect(await ask('OUTPUT0', true)).toContain('"binary_data_size":4')
    } finally {
      http.close()
      await running.stop()
    }
  })

  it('keeps the whole result of an ensemble', async () => {
    await using repository = await TemporaryRepository.create({
      'm/config.pbtxt': identityConfig(), 'm/1/x': '',
      'e/config.pbtxt': `platform: "ensemble" max_batch_size: 8 response_cache { enable: true }
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ] output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
ensemble_scheduling { step { model_name: "m" model_version: -1 input_map { key: "INPUT0" value: "INPUT0" } output_map { key: "OUTPUT0" value: "OUTPUT0" } } }`, 'e/1/x': '',
    })
    await using test = createTestServer([repository.path], { loadModels: ['e'], ...local(1e6) })
    await test.server.start()
    for (let round = 0; round < 3; round++) expect(floatsOf((await test.server.infer(requestOf('e', row(1, 2, 3, 4)))).response.outputs[0])).toEqual([1, 2, 3, 4])
    expect(statistics(test, 'e')).toMatchObject({ execution_count: 1, inference_stats: { success: { count: 3 }, cache_hit: { count: 2 }, cache_miss: { count: 1 } } })
    expect(statistics(test)).toMatchObject({ inference_count: 1 })
  })
})
