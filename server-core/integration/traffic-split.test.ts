/** Two versions behind one name: a share of the traffic, over the protocols and the server itself. */
import { describe, expect, it } from 'vitest'
import { serverOptions } from '../options.ts'
import { startServer } from '../start-server.ts'
import { GrpcClient } from '../testing/grpc-client.ts'
import { HttpClient } from '../testing/http-client.ts'
import { identityConfig, TemporaryRepository } from '../testing/temporary-repository.ts'
import { createTestServer, fp32, requestOf, type TestServer } from '../testing/test-server.ts'

const both = identityConfig('version_policy { all { } }')
const twoVersions = { 'm/config.pbtxt': both, 'm/1/x': '', 'm/2/x': '' }
const input = fp32('INPUT0', [1, 4], [1, 2, 3, 4])

async function answeredBy({ server }: TestServer, count: number, version = ''): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (let position = 0; position < count; position++) {
    const { response } = await server.infer(requestOf('m', [input], { modelVersion: version }))
    counts[response.modelVersion] = (counts[response.modelVersion] ?? 0) + 1
  }
  return counts
}

const messages = ({ logs }: TestServer) => logs.recent(200).map((entry) => entry.message)

describe('traffic split', () => {
  it('is off unless asked for, changes while the server runs and ends on demand', async () => {
    await using repository = await TemporaryRepository.create(twoVersions)
    await using test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    expect(await answeredBy(test, 10)).toEqual({ 2: 10 })
    expect(test.server.modelSummaries()[0]?.traffic).toBeNull()
    test.server.setTrafficSplit('m', { version: '2', percent: 10 })
    expect(await answeredBy(test, 100)).toEqual({ 1: 90, 2: 10 })
    expect(await answeredBy(test, 5, '2')).toEqual({ 2: 5 })
    test.server.setTrafficSplit('m', { version: '2', percent: 75 })
    expect(await answeredBy(test, 8)).toEqual({ 1: 2, 2: 6 })
    expect(test.server.modelSummaries()[0]?.traffic).toEqual({ version: '2', percent: 75, baseVersion: '1', versionRequests: 16, baseRequests: 92 })
    expect(test.server.repositoryIndex(false)).toEqual([
      { name: 'm', version: '1', state: 'READY', traffic_percent: 25 }, { name: 'm', version: '2', state: 'READY', traffic_percent: 75 },
    ])
    expect(test.server.modelStatistics('m', '').map(({ version, traffic }) => ({ version, traffic }))).toEqual([
      { version: '1', traffic: { percent: 25, requests: 92 } }, { version: '2', traffic: { percent: 75, requests: 16 } },
    ])
    test.server.setTrafficSplit('m', null)
    expect(await answeredBy(test, 10)).toEqual({ 2: 10 })
    expect(test.server.repositoryIndex(false)[0]).toEqual({ name: 'm', version: '1', state: 'READY' })
    expect(messages(test)).toContain("traffic split of model 'm': 10 % of the requests without a version go to version 2, the others to version 1")
    expect(messages(test)).toContain("traffic split of model 'm' ended: all requests without a version go to version 2")
  })

  it('ends with a line in the log when one of the two versions leaves', async () => {
    await using repository = await TemporaryRepository.create(twoVersions)
    await using test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    test.server.setTrafficSplit('m', { version: '1', percent: 50 })
    expect(await answeredBy(test, 4)).toEqual({ 1: 2, 2: 2 })
    await repository.write({ 'm/config.pbtxt': identityConfig('version_policy { specific { versions: [ 2 ] } }') })
    await test.server.loadModel('m')
    expect(await answeredBy(test, 4)).toEqual({ 2: 4 })
    expect(messages(test)).toContain("traffic split of model 'm' ended: version 1 is not ready any more")
    expect(test.server.modelSummaries()[0]?.traffic).toBeNull()
    await repository.write({ 'm/config.pbtxt': both })
    await test.server.loadModel('m')
    expect(await answeredBy(test, 4)).toEqual({ 2: 4 })
    test.server.setTrafficSplit('m', { version: '1', percent: 50 })
    await repository.write({ 'm/config.pbtxt': identityConfig('version_policy { specific { versions: [ 1 ] } }') })
    await test.server.loadModel('m')
    expect(messages(test)).toContain("traffic split of model 'm' ended: version 1 is the only ready one")
    await test.server.unloadModel('m')
    expect(() => { test.server.setTrafficSplit('m', { version: '1', percent: 50 }) }).toThrow("Request for unknown model: 'm' has no available versions")
  })

  it('survives a reload of the version that gets the share', async () => {
    await using repository = await TemporaryRepository.create(twoVersions)
    await using test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    test.server.setTrafficSplit('m', { version: '2', percent: 50 })
    await repository.write({ 'm/2/x': 'new weights' })
    await test.server.loadModel('m')
    expect(await answeredBy(test, 10)).toEqual({ 1: 5, 2: 5 })
  })

  it('refuses what cannot be split', async () => {
    await using repository = await TemporaryRepository.create({ ...twoVersions, 'one/config.pbtxt': identityConfig(), 'one/1/x': '' })
    await using test = createTestServer([repository.path], { loadModels: ['m', 'one'] })
    await test.server.start()
    const refusal = (name: string, version: string, percent: number) => {
      try { test.server.setTrafficSplit(name, { version, percent }) } catch (error) { return `${(error as { kind: string }).kind}: ${(error as Error).message}` }
      return 'taken'
    }
    expect(refusal('m', '3', 10)).toBe("NOT_FOUND: Request for unknown model: 'm' version 3 is not found")
    expect(refusal('none', '1', 10)).toBe("NOT_FOUND: Request for unknown model: 'none' is not found")
    expect(refusal('one', '1', 10)).toBe("UNAVAILABLE: the traffic of model 'one' cannot be split: version 1 is its only ready version. Load another one as well (version_policy)")
    for (const percent of [-1, 100.5, Number.NaN]) expect(refusal('m', '2', percent)).toMatch(/^INVALID_ARG: the share of version 2 of model 'm' must be 0 to 100 percent/)
    expect(test.server.trafficSplit('m')).toBeNull()
  })

  it('is set, read and ended over HTTP, and leaves the answers of Triton readable', async () => {
    await using repository = await TemporaryRepository.create(twoVersions)
    const running = await startServer(serverOptions({ modelRepositories: [repository.path], httpPort: 0, grpcPort: 0, metricsPort: 0, console: false }))
    const http = new HttpClient(running.addresses.http?.port ?? 0)
    const grpc = new GrpcClient(running.addresses.grpc?.port ?? 0)
    const path = '/v2/models/m/traffic'
    const post = (body: string, headers: Record<string, string> = {}) => http.send({ path, method: 'POST', body, headers })
    try {
      expect((await http.send({ path, method: 'GET' })).text).toBe('{"version":null}')
      const set = await post('{"version":"2","percent":12.5}')
      expect([set.status, set.text]).toEqual([200, '{"version":"2","percent":12.5,"base_version":"1","version_requests":0,"base_requests":0}'])
      const counts = { 1: 0, 2: 0 }
      const body = JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] }] })
      for (let position = 0; position < 8; position++) counts[JSON.parse((await http.send({ path: '/v2/models/m/infer', body })).text).model_version as '1' | '2']++
      expect(counts).toEqual({ 1: 7, 2: 1 })
      expect(JSON.parse((await http.send({ path: '/v2/repository/index', method: 'POST' })).text)).toMatchObject([{ version: '1', traffic_percent: 87.5 }, { version: '2', traffic_percent: 12.5 }])
      expect(await grpc.call('RepositoryIndex', {})).toMatchObject({ models: [{ name: 'm', version: '1', state: 'READY' }, { name: 'm', version: '2', state: 'READY' }] })
      for (const wrong of ['', '{}', '[]', '{"version":2,"percent":1}', '{"version":"2"}', '{"version":"2","percent":"9"}']) {
        const answer = await post(wrong)
        expect([answer.status, answer.text]).toEqual([400, JSON.stringify({ error: 'a traffic split is {"version":"<version>","percent":<0 to 100>}, or {"version":null} to end it' })])
      }
      expect((await post('{"version":"2","percent":101}')).status).toBe(400)
      expect((await post('{"version":null}', { origin: 'http://elsewhere' })).status).toBe(403)
      expect((await http.send({ path, method: 'GET' })).text).toContain('"version_requests":1,"base_requests":7')
      expect((await post('{"version":null}')).text).toBe('{"version":null}')
    } finally {
      http.close()
      grpc.close()
      await running.stop()
    }
  })
})
