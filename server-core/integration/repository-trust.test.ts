/** Code of a repository that nobody trusted does not run, however its load is asked for. Each model leaves a mark outside the repository when a line of it runs. */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answering, PYTHON_CONFIG, testInterpreter } from '../testing/python-models.ts'
import { serveRepository, type ServedRepository } from '../testing/served-repository.ts'
import { identityConfig, TemporaryRepository } from '../testing/temporary-repository.ts'
import { createTestServer, fp32, requestOf } from '../testing/test-server.ts'
import { RepositoryTrustFile } from '../model-repository/repository-trust.ts'

let work: string
const mark = (name: string) => join(work, `${name}-ran`)
/** Marks that it runs at its first line; ends its process when it is asked with a negative number. */
const marking = (name: string, body = answering('x if x.min() >= 0 else os._exit(1)')) => `open(${JSON.stringify(mark(name))}, "a").close()\n${body}`
const base64Of = (text: string) => Buffer.from(text).toString('base64')
const BACKEND_CONFIG = { python: { interpreter: testInterpreter() } }
const ENSEMBLE = `platform: "ensemble"
max_batch_size: 8
input [ { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] } ]
ensemble_scheduling { step [ { model_name: "part" model_version: -1 input_map { key: "IN" value: "IN" } output_map { key: "OUT" value: "OUT" } } ] }
`

beforeAll(async () => { work = await realpath(await mkdtemp(join(tmpdir(), 'npu-console-trust-'))) })
afterAll(async () => { await rm(work, { recursive: true, force: true }) })

describe('a server with --repository-trust=ask', () => {
  let served: ServedRepository
  let repository: string
  const load = async (name: string, parameters: Readonly<Record<string, string>> = {}) => {
    const { status, text } = await served.http.send({ method: 'POST', path: `/v2/repository/models/${name}/load`, body: JSON.stringify({ parameters }) })
    return { status, text }
  }
  const indexEntry = async (name: string) => (JSON.parse((await served.http.send({ method: 'POST', path: '/v2/repository/index', body: '{}' })).text) as { name: string; state?: string; reason?: string }[]).find((entry) => entry.name === name)
  const summary = (name: string) => served.running.server.modelSummaries().find((model) => model.name === name)

  beforeAll(async () => {
    served = await serveRepository({
      'm/1/model.py': marking('m'), 'm/config.pbtxt': PYTHON_CONFIG,
      // Nothing but its code says what it takes: a load asks that first.
      'bare/1/model.py': marking('bare', `${answering('x')}    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "IN", "data_type": "TYPE_FP32", "dims": [-1]})
        config.add_output({"name": "OUT", "data_type": "TYPE_FP32", "dims": [-1]})
        return config
`),
      'part/1/model.py': marking('part'), 'part/config.pbtxt': PYTHON_CONFIG,
      'whole/config.pbtxt': ENSEMBLE, 'whole/1/about.txt': '',
      'library/1/libtriton_own.so': 'no library', 'library/config.pbtxt': 'backend: "own"\n',
      'batched/1/about.txt': '', 'batched/batchstrategy.so': 'no library', 'batched/config.pbtxt': identityConfig('dynamic_batching { }'),
      'plain/1/about.txt': '', 'plain/config.pbtxt': identityConfig(),
    }, { repositoryTrust: 'ask', dataDirectory: join(work, 'data'), modelControlMode: 'explicit', backendConfig: BACKEND_CONFIG, loadModels: ['m', 'plain'] })
    repository = await realpath(served.repository.path)
  }, 60_000)
  afterAll(async () => { await served[Symbol.asyncDispose]() })

  it('starts although a model that was to be loaded waits, and serves the others', async () => {
    expect(served.running.server.isModelReady('plain', '')).toBe(true)
    expect(summary('plain')?.awaitsTrust).toBeNull()
    expect(await indexEntry('m')).toMatchObject({ state: 'UNAVAILABLE', reason: expect.stringContaining(`its repository '${repository}' is not trusted: trust it in the console`) as unknown })
  })

  it('says so of models that nobody asked for, the path that is to be trusted included', async () => {
    for (const name of ['bare', 'part', 'library', 'batched']) {
      expect(await indexEntry(name)).toMatchObject({ state: 'UNAVAILABLE', reason: expect.stringContaining('is not trusted') as unknown })
      expect(summary(name)).toMatchObject({ state: 'UNKNOWN', awaitsTrust: repository })
    }
    expect(await indexEntry('whole')).toEqual({ name: 'whole' })
  })

  it('refuses every way to load them, with the reason and the next step, before a line of them runs', async () => {
    const reason = 'with your rights, and its repository'
    for (const name of ['m', 'bare', 'part', 'whole', 'library', 'batched']) expect(await load(name)).toMatchObject({ status: 400, text: expect.stringContaining(reason) as unknown })
    await expect(served.grpc.call('RepositoryModelLoad', { model_name: 'bare' })).rejects.toThrow(reason)
    await expect(served.running.server.loadModel('m')).rejects.toThrow(reason)
    expect(await load('plain', { config: JSON.stringify({ backend: 'python', max_batch_size: 8 }) })).toMatchObject({ status: 400, text: expect.stringContaining(reason) as unknown })
    for (const name of ['m', 'bare']) expect(await served.http.send({ path: `/v2/models/${name}/ready` })).toMatchObject({ status: 404, text: expect.stringContaining(reason) as unknown })
    expect((await served.http.send({ path: '/v2/models/m/config' })).text).toContain(reason)
    for (const name of ['m', 'bare', 'part']) expect(existsSync(mark(name)), name).toBe(false)
    expect(served.running.server.isModelReady('plain', '')).toBe(true)
  })

  it('never runs code that comes with a load request', async () => {
    const answer = await load('sent', { config: JSON.stringify({ backend: 'python' }), 'file:1/model.py': base64Of(marking('sent')) })
    expect(answer).toMatchObject({ status: 400, text: expect.stringContaining('came with the load request, which this server does not run') as unknown })
    expect(existsSync(mark('sent'))).toBe(false)
  })

  it('loads what waited once its repository is trusted, ensembles included, and nothing else', async () => {
    await expect(served.running.server.trustRepository(join(repository, 'nothing'))).rejects.toMatchObject({ kind: 'NOT_FOUND' })
    await served.running.server.trustRepository(repository)
    for (const name of ['m', 'bare', 'part', 'whole']) await expect.poll(() => summary(name)?.state, { timeout: 60_000 }).toBe('READY')
    expect(summary('m')?.awaitsTrust).toBeNull()
    expect(served.running.status().repositoryTrust).toMatchObject({ mode: 'ask', trusted: [{ path: repository }] })
    expect(existsSync(mark('sent'))).toBe(false)
    expect(await load('sent', { config: JSON.stringify({ backend: 'python' }), 'file:1/model.py': base64Of(marking('sent')) })).toMatchObject({ status: 400 })
    expect(existsSync(mark('sent'))).toBe(false)
    // Nor a program that a request names for a model that is trusted.
    await writeFile(join(work, 'program'), `#!/bin/sh\ntouch ${mark('program')}\n`, { mode: 0o755 })
    for (const parameter of ['PYTHON_INTERPRETER', 'EXECUTION_ENV_PATH']) {
      const config = { ...JSON.parse((await served.http.send({ path: '/v2/models/m/config' })).text) as object, parameters: { [parameter]: { string_value: join(work, 'program') } } }
      expect(await load('m', { config: JSON.stringify(config) })).toMatchObject({ status: 400, text: expect.stringContaining('came with the load request, which this server does not run') as unknown })
      expect(existsSync(mark('program'))).toBe(false)
    }
    const { response } = await served.running.server.infer(requestOf('whole', [fp32('IN', [1, 2], [1, 2])]))
    expect(response.outputs).toHaveLength(1)
  }, 90_000)

  it('unloads what runs their code when the trust is taken back, and loads it when that is given again', async () => {
    await served.running.server.revokeTrust(repository)
    for (const name of ['m', 'bare', 'part', 'whole']) await expect.poll(() => summary(name)?.state, { timeout: 60_000 }).toBe('UNAVAILABLE')
    expect(await indexEntry('m')).toMatchObject({ state: 'UNAVAILABLE', reason: expect.stringContaining('is not trusted') as unknown })
    expect(await load('m')).toMatchObject({ status: 400 })
    expect(served.running.server.isModelReady('plain', '')).toBe(true)
    await served.running.server.trustRepository(repository)
    for (const name of ['m', 'whole']) await expect.poll(() => summary(name)?.state, { timeout: 60_000 }).toBe('READY')
  }, 90_000)
})

describe('a trusted repository behind a link', () => {
  it('is asked about again when the link leads elsewhere, instances that die included', async () => {
    await using first = await TemporaryRepository.create({ 'm/1/model.py': marking('first'), 'm/config.pbtxt': PYTHON_CONFIG })
    await using second = await TemporaryRepository.create({ 'm/1/model.py': marking('second'), 'm/config.pbtxt': PYTHON_CONFIG })
    const link = join(work, 'link')
    const lead = async (path: string) => {
      await rm(link, { force: true })
      await symlink(path, link)
    }
    await lead(first.path)
    const data = join(work, 'link-data')
    await mkdir(data)
    const trust = await RepositoryTrustFile.open(data, { error() {}, warning() {}, info() {}, verbose() {} })
    await trust.trust(await realpath(first.path))
    await using test = createTestServer([link], { backendConfig: BACKEND_CONFIG, modelControlMode: 'poll', repositoryPollSeconds: 3600 }, undefined, { trust })
    await test.server.start()
    expect(existsSync(mark('first'))).toBe(true)
    await lead(second.path)
    await expect(test.server.infer(requestOf('m', [fp32('IN', [1, 1], [-1])]))).rejects.toThrow('is not healthy')
    const instance = () => test.server.modelSummaries()[0]?.versions[0]?.instances[0]
    await expect.poll(() => instance()?.reason, { timeout: 60_000 }).toContain(`its repository '${await realpath(second.path)}' is not trusted`)
    expect(existsSync(mark('second'))).toBe(false)
  }, 120_000)
})
