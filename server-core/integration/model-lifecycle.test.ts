import { writeFileSync } from 'node:fs'
import { mkdir, readdir, rename, symlink, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import type { ModelSummary } from '../contract/repository.ts'
import { printModelConfigJson } from '../model-config/json-config.ts'
import { ModelRepository } from '../model-repository/model-repository.ts'
import { addModel } from '../testing/onnx-fixture.ts'
import { identityConfig, TemporaryRepository } from '../testing/temporary-repository.ts'
import { createTestServer, floatsOf, fp32, requestOf, type TestServer } from '../testing/test-server.ts'

const input = fp32('INPUT0', [1, 4], [1, 2, 3, 4])
const ask = ({ server }: TestServer, model: string, version = '') => server.infer(requestOf(model, [input], { modelVersion: version }))
const index = ({ server }: TestServer) => server.repositoryIndex(false)
const overrideDirectories = async () => (await readdir(tmpdir())).filter((name) => name.startsWith('npu-console-model-'))

async function failure(work: Promise<unknown>): Promise<{ kind: string; message: string }> {
  const error: unknown = await work.then(() => { throw new Error('did not fail') }, (reason: unknown) => reason)
  return error as { kind: string; message: string }
}

/** Resolves when a model's summary satisfies the condition. */
function when({ server }: TestServer, name: string, condition: (summary: ModelSummary) => boolean): Promise<ModelSummary> {
  return new Promise((resolve) => {
    const check = (summary: ModelSummary) => {
      if (summary.name !== name || !condition(summary)) return
      unsubscribe()
      resolve(summary)
    }
    const unsubscribe = server.subscribe({ modelChanged: check })
    const now = server.modelSummaries().find((summary) => summary.name === name)
    if (now !== undefined) check(now)
  })
}

describe('explicit mode', () => {
  it('loads, answers, unloads and lists the states on the way', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig(), 'm/1/keep': '', 'other/readme.txt': 'no config' })
    await using test = createTestServer([repository.path])
    await test.server.start()
    expect(index(test)).toEqual([{ name: 'm' }, { name: 'other' }])
    expect((await failure(ask(test, 'm'))).message).toBe("Request for unknown model: 'm' is not found")
    const seen: string[] = []
    test.server.subscribe({ modelChanged: (summary) => { seen.push(`${summary.state} ${summary.stage?.kind ?? ''}`) } })
    await test.server.loadModel('m')
    expect(seen).toContain('LOADING readingConfig')
    expect(seen).toContain('LOADING creatingInstance')
    expect(seen.at(-1)).toBe('READY ')
    expect(floatsOf((await ask(test, 'm')).response.outputs[0])).toEqual([1, 2, 3, 4])
    expect(test.server.modelSummaries()[0]).toMatchObject({ name: 'm', backend: 'identity', state: 'READY', instanceCount: 1, runsOn: 'CPU', maxBatchSize: 8 })
    await test.server.unloadModel('m')
    await when(test, 'm', (summary) => summary.state === 'UNAVAILABLE')
    expect(index(test)[0]).toEqual({ name: 'm', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' })
    expect((await failure(ask(test, 'm'))).message).toBe("Request for unknown model: 'm' has no available versions")
    expect((await failure(ask(test, 'm', '1'))).message).toBe("Request for unknown model: 'm' version 1 is not at ready state")
    expect((await failure(ask(test, 'm', '2'))).message).toBe("Request for unknown model: 'm' version 2 is not found")
    expect(test.server.isReady()).toBe(true)
  })

  it('says what to do about a folder that stands where the config is looked for', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt/notes.txt': '', 'm/1/keep': '' })
    await using test = createTestServer([repository.path])
    await test.server.start()
    await failure(test.server.loadModel('m'))
    const reason = test.server.modelSummaries()[0]?.reason
    expect(test.logs.recent(5).at(-1)?.message).toBe(`Poll failed for model directory 'm': ${reason}`)
    expect(reason).toContain(`${repository.path}/m/config.pbtxt is a folder`)
    expect(reason).toContain('Move it away; then put the config there')
    await repository.remove('m/config.pbtxt')
    await repository.write({ 'm/config.pbtxt': identityConfig() })
    await test.server.loadModel('m')
    expect(floatsOf((await ask(test, 'm')).response.outputs[0])).toEqual([1, 2, 3, 4])
  })

  it('says of each version since when it has its state', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig(), 'm/1/keep': '', 'm/2/keep': '' })
    await using test = createTestServer([repository.path])
    await test.server.start()
    const since = () => test.server.modelSummaries()[0]?.versions.map(({ changedAt }) => changedAt)
    expect(since()).toEqual([0, 0])
    const before = Date.now()
    await test.server.loadModel('m')
    const [first = -1, loadedAt = 0] = since() ?? []
    expect(first).toBe(0)
    expect(loadedAt).toBeGreaterThanOrEqual(before)
    await ask(test, 'm')
    expect(since()).toEqual([0, loadedAt])
  })

  it('keeps serving the old version when a reload fails, with the reason beside it, and tries again next time', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig(), 'm/1/keep': '' })
    await using test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    await repository.write({ 'm/config.pbtxt': 'backend: "identity" max_batch_size: [' })
    expect(await failure(test.server.loadModel('m'))).toMatchObject({ kind: 'INTERNAL', message: "failed to load 'm', failed to poll from model repository" })
    expect(index(test)).toMatchObject([{ name: 'm', version: '1', state: 'READY', reason: expect.stringMatching(/failed to read text proto from .*config\.pbtxt: Error parsing text-format inference\.ModelConfig: 1:\d+/) as string }])
    await repository.write({ 'm/config.pbtxt': identityConfig().replace('"OUTPUT0"', '"WRONG"') })
    expect(await failure(test.server.loadModel('m'))).toMatchObject({
      kind: 'INVALID_ARG', message: "load failed for model 'm': version 1 is at READY state: Invalid argument: expected output name to follow OUTPUT<index> pattern, got 'WRONG';\n",
    })
    expect(floatsOf((await ask(test, 'm')).response.outputs[0])).toEqual([1, 2, 3, 4])
    await repository.write({ 'm/config.pbtxt': identityConfig('metric_tags { key: "a" value: "b" }') })
    await test.server.loadModel('m')
    expect(index(test)).toEqual([{ name: 'm', version: '1', state: 'READY' }])
    expect(test.server.modelConfig('m', '').metric_tags).toEqual({ a: 'b' })
  })

  it('names every failing version and loads none of them', async () => {
    await using repository = await TemporaryRepository.create({
      'm/config.pbtxt': 'backend: "onnxruntime" version_policy { all { } } input { name: "A" data_type: TYPE_FP32 dims: [ 1 ] } output { name: "B" data_type: TYPE_FP32 dims: [ 1 ] }',
      'm/1/keep': '', 'm/3/keep': '',
    })
    await using test = createTestServer([repository.path])
    await test.server.start()
    const { message } = await failure(test.server.loadModel('m'))
    expect(message).toMatch(/^load failed for model 'm': version 1 is at UNAVAILABLE state: Unavailable: unable to find '.*' for model 'm';version 3 is at UNAVAILABLE state: Unavailable: unable to find '.*' for model 'm';\n$/)
    expect(test.server.isReady()).toBe(false)
  })

  it('follows the version policy and ignores directories that are no version', async () => {
    await using repository = await TemporaryRepository.create({
      'm/config.pbtxt': identityConfig('version_policy { latest { num_versions: 2 } }'), 'm/1/x': '', 'm/3/x': '', 'm/12/x': '', 'm/007/x': '', 'm/old/x': '', 'm/warmup/x': '',
    })
    await using test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    expect(index(test).map((entry) => entry.version)).toEqual(['3', '12'])
    expect((await ask(test, 'm')).response.modelVersion).toBe('12')
    expect((await ask(test, 'm', '3')).response.modelVersion).toBe('3')
    expect(test.server.modelMetadata('m', '').versions).toEqual(['3', '12'])
    expect(test.logs.recent(100).map((entry) => entry.message)).toContain("ignore version directory '007' which contains leading zeros in its directory name")
    await repository.write({ 'm/config.pbtxt': identityConfig('version_policy { specific { versions: [ 1, 99 ] } }') })
    await test.server.loadModel('m')
    await when(test, 'm', (summary) => summary.versions.every((version) => version.state !== 'UNLOADING'))
    expect(index(test)).toEqual([
      { name: 'm', version: '1', state: 'READY' }, { name: 'm', version: '3', state: 'UNAVAILABLE', reason: 'unloaded' }, { name: 'm', version: '12', state: 'UNAVAILABLE', reason: 'unloaded' },
    ])
    await repository.write({ 'm/config.pbtxt': identityConfig('version_policy { specific { versions: [ 99 ] } }') })
    expect((await failure(test.server.loadModel('m'))).message).toBe("load failed for model 'm': at least one version must be available under the version policy of model 'm'\n")
    expect((await ask(test, 'm')).response.modelVersion).toBe('1')
  })

  it('does nothing for an unmodified model, and reloads one whose files changed', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig(), 'm/1/weights': 'a' })
    await using test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    await ask(test, 'm')
    await test.server.loadModel('m')
    expect(test.server.modelStatistics('m', '')[0]?.inference_count).toBe(1)
    await utimes(join(repository.path, 'm/1/weights'), new Date(), new Date(Date.now() + 5000))
    await test.server.loadModel('m')
    expect(test.server.modelStatistics('m', '')[0]?.inference_count).toBe(0)
  })

  it('updates the instances in place where nothing else changed, and keeps the statistics', async () => {
    const groups = (count: number) => identityConfig(`dynamic_batching { } instance_group { count: ${count} kind: KIND_CPU } parameters { key: "execute_delay_ms" value { string_value: "40" } }`)
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': groups(1), 'm/1/x': '' })
    await using test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    await ask(test, 'm')
    const inflight = ask(test, 'm')
    await repository.write({ 'm/config.pbtxt': groups(3) })
    await test.server.loadModel('m')
    expect(test.server.modelSummaries()[0]).toMatchObject({ state: 'READY', instanceCount: 3 })
    expect(test.server.modelConfig('m', '').instance_group).toMatchObject([{ count: 3 }])
    await inflight
    expect(test.server.modelStatistics('m', '')[0]).toMatchObject({ inference_count: 2 })
    await Promise.all([1, 2, 3].map(() => ask(test, 'm')))
    expect(test.server.modelStatistics('m', '')[0]).toMatchObject({ execution_count: 5 })
    await repository.write({ 'm/config.pbtxt': groups(1).replace('KIND_CPU', 'KIND_GPU') })
    expect((await failure(test.server.loadModel('m'))).message).toBe("load failed for model 'm': version 1 is at READY state: Invalid argument: instance group m_0 of model m has kind KIND_GPU but server does not support GPUs;\n")
    expect(index(test)).toMatchObject([{ state: 'READY', reason: expect.stringContaining('KIND_GPU') as string }])
    await repository.write({ 'm/config.pbtxt': groups(1) })
    await test.server.loadModel('m')
    expect(test.server.modelSummaries()[0]).toMatchObject({ instanceCount: 1, reason: '' })
    expect(test.server.modelStatistics('m', '')[0]).toMatchObject({ inference_count: 5 })
  })

  it('updates in place when the effective config comes back with another count', async () => {
    await using repository = await TemporaryRepository.create({ 'add/1/model.onnx': addModel(2) })
    await using test = createTestServer([repository.path], { loadModels: ['add'] })
    await test.server.start()
    const row = [fp32('A', [1, 2], [1, 2]), fp32('B', [1, 2], [3, 4])]
    await test.server.infer(requestOf('add', row))
    const effective = test.server.modelConfig('add', '')
    const config = printModelConfigJson({ ...effective, instance_group: effective.instance_group.map((group) => ({ ...group, count: 1 })) })
    await test.server.loadModel('add', { config })
    expect(test.server.modelSummaries()[0]?.instanceCount).toBe(1)
    await test.server.infer(requestOf('add', row))
    expect(test.server.modelStatistics('add', '')[0]?.inference_count).toBe(2)
  })

  it('loads a new version without touching the one that runs', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig('version_policy { all { } }'), 'm/1/x': '' })
    await using test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    await ask(test, 'm')
    await repository.write({ 'm/2/x': '' })
    await test.server.loadModel('m')
    expect((await ask(test, 'm')).response.modelVersion).toBe('2')
    expect(test.server.modelStatistics('m', '1')[0]?.inference_count).toBe(1)
  })

  it('answers every request while a model is reloaded again and again', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig('parameters { key: "execute_delay_ms" value { string_value: "2" } } dynamic_batching { }'), 'm/1/x': '' })
    await using test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    let isDone = false
    const client = async () => {
      let answered = 0
      while (!isDone) {
        await ask(test, 'm')
        answered++
      }
      return answered
    }
    const clients = Array.from({ length: 4 }, client)
    for (let round = 0; round < 10; round++) {
      await repository.write({ 'm/1/x': String(round) })
      await test.server.loadModel('m')
    }
    isDone = true
    for (const answered of await Promise.all(clients)) expect(answered).toBeGreaterThan(0)
  })

  it('lets an unload overtake a load that did not finish', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig('parameters { key: "creation_delay_sec" value { string_value: "0.2" } }'), 'm/1/x': '' })
    await using test = createTestServer([repository.path])
    await test.server.start()
    const loading = failure(test.server.loadModel('m'))
    await when(test, 'm', (summary) => summary.stage?.kind === 'creatingInstance')
    await test.server.unloadModel('m')
    expect(await loading).toMatchObject({ kind: 'INVALID_ARG', message: "load failed for model 'm': Newer operation has been applied to the model lifecycle, current load operation is out-dated.\n" })
    expect(index(test)).toEqual([{ name: 'm', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' }])
  })

  it('builds a model once when it is loaded by many at the same time', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig('parameters { key: "creation_delay_sec" value { string_value: "0.05" } }'), 'm/1/x': '' })
    await using test = createTestServer([repository.path])
    await test.server.start()
    await Promise.all(Array.from({ length: 20 }, () => test.server.loadModel('m')))
    expect(test.logs.recent(1000).filter((entry) => entry.message === 'loading: m:1')).toHaveLength(1)
  })

  it('takes a config with the load call and keeps it until the files change or the model is unloaded', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig(), 'm/1/x': '' })
    await using test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    const config = JSON.stringify({ ...test.server.modelConfig('m', ''), max_batch_size: 3, dynamic_batching: undefined })
    await test.server.loadModel('m', { config })
    expect(test.server.modelConfig('m', '').max_batch_size).toBe(3)
    await test.server.loadModel('m')
    expect(test.server.modelConfig('m', '').max_batch_size).toBe(3)
    await test.server.unloadModel('m')
    await test.server.loadModel('m')
    expect(test.server.modelConfig('m', '').max_batch_size).toBe(8)
    expect((await failure(test.server.loadModel('m', { config: '{"max_batch_sizes": 1}' }))).message).toBe("failed to load 'm', failed to poll from model repository")
    expect((await failure(test.server.loadModel('m', { config: '{"name": "other", "backend": "identity"}' }))).message).toBe("failed to load 'm', failed to poll from model repository")
    expect(test.logs.recent(5).at(-1)?.message).toBe("Poll failed for model directory 'm': unexpected directory name 'm' for model 'other', directory name must equal model name")
  })

  it('loads a model made of the files of the call, and removes them afterwards', async () => {
    await using repository = await TemporaryRepository.create({})
    await using test = createTestServer([repository.path])
    await test.server.start()
    const before = await overrideDirectories()
    const config = JSON.stringify({ backend: 'identity', max_batch_size: 8, input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [4] }], output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: [4] }] })
    const files = new Map([['1/weights.bin', Uint8Array.of(1, 2, 3)]])
    await test.server.loadModel('sent', { config, files })
    await ask(test, 'sent')
    expect(await overrideDirectories()).toHaveLength(before.length + 1)
    const removed = new Promise<void>((resolve) => { test.server.subscribe({ modelRemoved: () => { resolve() } }) })
    await test.server.unloadModel('sent')
    await removed
    await expect.poll(overrideDirectories).toEqual(before)
    expect((await failure(test.server.loadModel('sent', { files }))).message).toBe("failed to load 'sent', failed to poll from model repository")
    for (const path of ['../evil', '1/../../evil', '/etc/evil', '']) {
      expect((await failure(test.server.loadModel('sent', { config, files: new Map([[path, Uint8Array.of(1)]]) }))).message).toBe("failed to load 'sent', failed to poll from model repository")
    }
    expect(await overrideDirectories()).toEqual(before)
  })

  it('replaces the repository by another', async () => {
    await using first = await TemporaryRepository.create({ 'a/config.pbtxt': identityConfig(), 'a/1/x': '' })
    await using second = await TemporaryRepository.create({ 'b/config.pbtxt': identityConfig(), 'b/1/x': '' })
    await using test = createTestServer([first.path], { loadModels: ['a'] })
    await test.server.start()
    await test.server.replaceRepository(second.path)
    expect(test.server.repositoryPaths).toEqual([second.path])
    expect(index(test)).toEqual([{ name: 'b' }])
    await test.server.loadModel('b')
    await ask(test, 'b')
    await expect(test.server.replaceRepository(join(second.path, 'nowhere'))).rejects.toThrow(/nowhere/)
    await ask(test, 'b')
  })

  it('lets loads that come while the repository is replaced wait for the new one', async () => {
    await using first = await TemporaryRepository.create({
      'slow/config.pbtxt': identityConfig('parameters { key: "execute_delay_ms" value { string_value: "200" } }'), 'slow/1/x': '',
      'old/config.pbtxt': identityConfig(), 'old/1/x': '',
    })
    await using second = await TemporaryRepository.create({ 'new/config.pbtxt': identityConfig(), 'new/1/x': '' })
    await using test = createTestServer([first.path], { loadModels: ['slow'] })
    await test.server.start()
    const answer = ask(test, 'slow')
    const replaced = test.server.replaceRepository(second.path)
    await when(test, 'slow', (summary) => summary.state === 'UNLOADING')
    const loads = Promise.allSettled([test.server.loadModel('old'), test.server.loadModel('new')])
    await Promise.all([answer, replaced])
    expect(await loads).toMatchObject([
      { status: 'rejected', reason: { cause: { message: "no model repository has a directory 'old'" } } }, { status: 'fulfilled' },
    ])
    expect(test.server.modelMetrics().filter((model) => model.isLoaded).map((model) => model.model)).toEqual(['new'])
    await ask(test, 'new')
  })

  it('lists the new repository only, also when the old one is looked at meanwhile or both are opened at once', async () => {
    const models = (prefix: string) => Object.fromEntries(Array.from({ length: 60 }, (_unused, number) => [
      [`${prefix}${number}/config.pbtxt`, identityConfig()], [`${prefix}${number}/1/x`, ''],
    ]).flat())
    await using first = await TemporaryRepository.create(models('a'))
    await using second = await TemporaryRepository.create({ 'b/config.pbtxt': identityConfig(), 'b/1/x': '' })
    await using test = createTestServer([first.path])
    await test.server.start()
    await Promise.all([test.server.rescan(), test.server.replaceRepository(second.path), test.server.rescan()])
    expect(index(test)).toEqual([{ name: 'b' }])
    const listed = new Set(['b'])
    test.server.subscribe({ modelChanged: ({ name }) => { listed.add(name) }, modelRemoved: (name) => { listed.delete(name) } })
    await Promise.all([test.server.replaceRepository(first.path), test.server.replaceRepository(second.path)])
    expect(index(test)).toEqual([{ name: 'b' }])
    expect([...listed]).toEqual(['b'])
  })

  it('serves the repository that was opened last, also when the disk takes longer to find the one before', async () => {
    await using first = await TemporaryRepository.create({ 'a/config.pbtxt': identityConfig(), 'a/1/x': '' })
    await using second = await TemporaryRepository.create({ 'b/config.pbtxt': identityConfig(), 'b/1/x': '' })
    await using test = createTestServer([second.path])
    await test.server.start()
    const check = vi.spyOn(ModelRepository.prototype, 'check').mockImplementationOnce(async () => { await sleep(50) })
    try {
      await Promise.all([test.server.replaceRepository(first.path), test.server.replaceRepository(second.path)])
    } finally {
      check.mockRestore()
    }
    expect(index(test)).toEqual([{ name: 'b' }])
  })

  it('tells when the directory of a loaded model vanished', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig(), 'm/1/x': '' })
    await using test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    await repository.remove('m')
    const told = when(test, 'm', (summary) => summary.repositoryPath === '')
    await test.server.rescan()
    expect(await told).toMatchObject({ state: 'READY' })
    await ask(test, 'm')
  })

  it('stays stopped when it is stopped while it starts', async () => {
    await using repository = await TemporaryRepository.create({
      'm/config.pbtxt': identityConfig('parameters { key: "creation_delay_sec" value { string_value: "0.1" } }'), 'm/1/x': '',
    })
    const test = createTestServer([repository.path], { modelControlMode: 'poll' })
    const started = test.server.start()
    await when(test, 'm', (summary) => summary.stage?.kind === 'creatingInstance')
    await Promise.all([test.server.stop(10), started])
    expect(test.server.state).toBe('EXITING')
  })

  it('refuses by name what this version cannot run', async () => {
    const cases: Record<string, [string, RegExp]> = {
      operators: [identityConfig('model_operations { op_library_filename: "a.so" }'), /model_operations\.op_library_filename/],
    }
    const files = Object.fromEntries(Object.entries(cases).flatMap(([name, [config]]) => [[`${name}/config.pbtxt`, config], [`${name}/1/x`, '']]))
    await using repository = await TemporaryRepository.create(files)
    await using test = createTestServer([repository.path])
    await test.server.start()
    for (const [name, [, field]] of Object.entries(cases)) {
      const { message } = await failure(test.server.loadModel(name))
      expect(message).toMatch(/version 1 is at UNAVAILABLE state: Unsupported: /)
      expect(message).toMatch(field)
    }
    expect((await failure(test.server.loadModel('none'))).message).toBe("failed to load 'none', failed to poll from model repository")
  })

  it('warms every instance up before the model is ready, and counts that', async () => {
    const warm = (input: string, more = '') => identityConfig(`instance_group { count: 2 kind: KIND_CPU } model_warmup { name: "w" batch_size: 2 count: 3 inputs { key: "INPUT0" value { ${input} } } } ${more}`)
    await using repository = await TemporaryRepository.create({
      'zero/config.pbtxt': warm('data_type: TYPE_FP32 dims: [ 4 ] zero_data: true'), 'zero/1/x': '',
      'random/config.pbtxt': warm('data_type: TYPE_FP32 dims: [ 4 ] random_data: true'), 'random/1/x': '',
      'file/config.pbtxt': warm('data_type: TYPE_FP32 dims: [ 4 ] input_data_file: "rows"'), 'file/1/x': '', 'file/warmup/rows': new Uint8Array(16),
      'short/config.pbtxt': warm('data_type: TYPE_FP32 dims: [ 4 ] input_data_file: "rows"'), 'short/1/x': '', 'short/warmup/rows': new Uint8Array(15),
      'away/config.pbtxt': warm('data_type: TYPE_FP32 dims: [ 4 ] input_data_file: "../../zero/config.pbtxt"'), 'away/1/x': '',
      'open/config.pbtxt': warm('data_type: TYPE_FP32 dims: [ -1 ] zero_data: true'), 'open/1/x': '',
      'wrong/config.pbtxt': warm('data_type: TYPE_INT32 dims: [ 4 ] zero_data: true'), 'wrong/1/x': '',
    })
    await using test = createTestServer([repository.path])
    await test.server.start()
    for (const name of ['zero', 'random', 'file']) {
      await test.server.loadModel(name)
      expect(test.server.modelStatistics(name, '')[0]).toMatchObject({ inference_count: 12, execution_count: 6, inference_stats: { success: { count: 12 } }, batch_stats: [{ batch_size: 2 }] })
    }
    const reasons = await Promise.all(['short', 'away', 'open', 'wrong'].map(async (name) => (await failure(test.server.loadModel(name))).message))
    expect(reasons[0]).toContain('warmup setting expects 16 bytes, but the data provided from rowsonly has 15 bytes')
    expect(reasons[1]).toContain('is outside the model directory')
    expect(reasons[2]).toContain("warmup setting expects all variable-size dimensions are specified for input 'INPUT0'")
    expect(reasons[3]).toContain("inference input 'INPUT0' data-type is 'INT32', but model 'wrong' expects 'FP32'")
  })

  it("says Triton's words for a backend that is not there", async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': 'backend: "tensorflow" input { name: "A" data_type: TYPE_FP32 dims: [ 1 ] } output { name: "B" data_type: TYPE_FP32 dims: [ 1 ] }', 'm/1/x': '' })
    await using test = createTestServer([repository.path])
    await test.server.start()
    const { message } = await failure(test.server.loadModel('m'))
    expect(message).toContain("load failed for model 'm': version 1 is at UNAVAILABLE state: Invalid argument: unable to find backend library for backend 'tensorflow', try specifying runtime on the model configuration. Searched: ")
    expect(message).toContain(`${repository.path}/m/1/libtriton_tensorflow.so, ${repository.path}/m/libtriton_tensorflow.so, `)
  })

  it('refuses a warm-up batch beyond the model, and answers while a long warm-up runs', async () => {
    const warm = (more: string) => identityConfig(`model_warmup { name: "w" ${more} inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } } }`)
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': warm('batch_size: 4294967295'), 'm/1/x': '', 'n/config.pbtxt': warm('batch_size: 1 count: 20000'), 'n/1/x': '' })
    await using test = createTestServer([repository.path])
    await test.server.start()
    expect((await failure(test.server.loadModel('m'))).message).toContain("warmup sample 'w' of model 'm' has batch_size 4294967295, max_batch_size is 8")
    let isLoaded = false
    const loaded = test.server.loadModel('n').then(() => { isLoaded = true })
    await when(test, 'n', (summary) => summary.stage?.kind === 'warmingUp')
    await new Promise((resolve) => { setTimeout(resolve, 5) })
    expect(isLoaded).toBe(false)
    await loaded
  })

  it('reads labels and refuses label files that lead out of the model', async () => {
    const labelled = (file: string) => identityConfig().replace('name: "OUTPUT0"', `name: "OUTPUT0" label_filename: "${file}"`)
    await using repository = await TemporaryRepository.create({
      'good/config.pbtxt': labelled('labels.txt'), 'good/labels.txt': 'cat\r\ndog\n', 'good/1/x': '',
      'up/config.pbtxt': labelled('../good/labels.txt'), 'up/1/x': '', 'link/config.pbtxt': labelled('out.txt'), 'link/1/x': '', 'gone/config.pbtxt': labelled('none.txt'), 'gone/1/x': '', 'folder/config.pbtxt': labelled('.'), 'folder/1/x': '',
    })
    await symlink('/etc/hostname', join(repository.path, 'link/out.txt'))
    await using test = createTestServer([repository.path])
    await test.server.start()
    await test.server.loadModel('good')
    expect(test.server.labels('good', '', 'OUTPUT0')).toEqual(['cat', 'dog'])
    expect((await failure(test.server.loadModel('up'))).message).toContain("Unsupported: label file path '../good/labels.txt' for output 'OUTPUT0' in model 'up' is outside model directory")
    expect((await failure(test.server.loadModel('link'))).message).toContain("label file path 'out.txt' for output 'OUTPUT0' in model 'link' is outside model directory")
    expect((await failure(test.server.loadModel('gone'))).message).toContain("label file 'none.txt'")
    expect((await failure(test.server.loadModel('folder'))).message).toContain("Invalid argument: label file '.' for output 'OUTPUT0' in model 'folder' cannot be read: it is a directory")
  })
})

describe('names that would leave the repository', () => {
  it.each(['', '  ', '..', ' .. ', '.', 'a/b', '/etc', '../x', 'a\\b', 'a\0b'])('refuses %j', async (name) => {
    await using repository = await TemporaryRepository.create({})
    await using test = createTestServer([repository.path])
    await test.server.start()
    expect(await failure(test.server.loadModel(name))).toMatchObject({ kind: 'INVALID_ARG', message: expect.stringMatching(/^(Model name cannot be empty|invalid model name)/) as string })
  })

  it('serves a model directory that is a link into a model store, as Triton does', async () => {
    await using store = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig(), 'm/1/x': '' })
    await using repository = await TemporaryRepository.create({})
    await symlink(join(store.path, 'm'), join(repository.path, 'linked'))
    await using test = createTestServer([repository.path])
    await test.server.start()
    await test.server.loadModel('linked')
    await ask(test, 'linked')
  })

  it('reads a version whose links lead in circles once, and refuses one that leads to a sea of files', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig(), 'm/1/x': '', 'm/1/deep/y': '', 'wrong/config.pbtxt': identityConfig() })
    for (const link of ['a', 'b', 'deep/c']) await symlink(join(repository.path, 'm', '1'), join(repository.path, 'm', '1', link))
    await using elsewhere = await TemporaryRepository.create()
    for (let number = 0; number <= 10_000; number++) writeFileSync(join(elsewhere.path, String(number)), '')
    await mkdir(join(repository.path, 'wrong', '1'))
    await symlink(elsewhere.path, join(repository.path, 'wrong', '1', 'link'))
    await using test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    const [model, wrong] = test.server.modelSummaries()
    expect(model).toMatchObject({ state: 'READY', versions: [{ files: [{ path: '1/deep/y' }, { path: '1/x' }] }] })
    expect(wrong).toMatchObject({ state: 'UNAVAILABLE', reason: expect.stringContaining("'1/link' is no version of a model: there are more than 10000 files below it") as string })
  })

  it('refuses a model file outside its version', async () => {
    await using repository = await TemporaryRepository.create({
      'up/config.pbtxt': 'backend: "onnxruntime" default_model_filename: "../../secret.onnx" input { name: "A" data_type: TYPE_FP32 dims: [ 1 ] } output { name: "B" data_type: TYPE_FP32 dims: [ 1 ] }', 'up/1/x': '', 'secret.onnx': 'x',
    })
    await using test = createTestServer([repository.path])
    await test.server.start()
    expect((await failure(test.server.loadModel('up'))).message).toContain('leads outside the version directory')
  })

  it('does not take a folder in which an import is being built for a model', async () => {
    await using repository = await TemporaryRepository.create({ '.npu-console-import-1/config.pbtxt': identityConfig(), '.npu-console-import-1/1/x': '', '.hidden/1/x': '' })
    await using test = createTestServer([repository.path])
    await test.server.start()
    expect(index(test).map((entry) => entry.name)).toEqual(['.hidden'])
    expect((await failure(test.server.loadModel('.npu-console-import-1'))).message).toContain('failed to poll from model repository')
  })
})

describe('several repositories', () => {
  it('makes a name in two repositories unusable', async () => {
    await using first = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig(), 'm/1/x': '', 'a/config.pbtxt': identityConfig(), 'a/1/x': '' })
    await using second = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig(), 'm/1/x': '' })
    await using test = createTestServer([first.path, second.path], { modelControlMode: 'explicit', loadModels: ['a'] })
    await test.server.start()
    expect(test.server.repositoryIndex(true)).toEqual([{ name: 'a', version: '1', state: 'READY' }, { name: 'm', state: 'UNAVAILABLE', reason: 'model appears in two or more repositories' }])
    expect((await failure(test.server.loadModel('m'))).message).toBe("failed to load 'm', failed to poll from model repository")
  })
})

describe('the other control modes', () => {
  it('none: loads everything at start, refuses load and unload, fails as a whole', async () => {
    await using repository = await TemporaryRepository.create({ 'good/config.pbtxt': identityConfig(), 'good/1/x': '', 'bad/config.pbtxt': 'nonsense', 'bad/1/x': '' })
    await using test = createTestServer([repository.path], { modelControlMode: 'none' })
    expect(await failure(test.server.start())).toMatchObject({ kind: 'INTERNAL', message: 'failed to load all models' })
    await ask(test, 'good')
    for (const refused of [test.server.loadModel('bad'), test.server.unloadModel('good'), test.server.replaceRepository(repository.path)]) {
      expect((await failure(refused)).kind).toBe('UNAVAILABLE')
    }
    expect((await failure(test.server.loadModel('bad'))).message).toBe('explicit model load / unload is not allowed if polling is enabled')
  })

  it('poll: applies what changes on disk, and keeps serving what became invalid', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig(), 'm/1/x': '' })
    await using test = createTestServer([repository.path], { modelControlMode: 'poll', repositoryPollSeconds: 0.05 })
    await test.server.start()
    await ask(test, 'm')
    await using outside = await TemporaryRepository.create({ 'new/config.pbtxt': identityConfig(), 'new/1/x': '' })
    await rename(join(outside.path, 'new'), join(repository.path, 'new'))
    await when(test, 'new', (summary) => summary.state === 'READY')
    await repository.write({ 'm/config.pbtxt': identityConfig('metric_tags { key: "a" value: "b" }') })
    await expect.poll(() => test.server.modelConfig('m', '').metric_tags).toEqual({ a: 'b' })
    await repository.write({ 'm/config.pbtxt': 'nonsense {' })
    await when(test, 'm', (summary) => summary.reason !== '')
    await ask(test, 'm')
    expect(test.server.isReady()).toBe(true)
    const removed = new Promise<string>((resolve) => { test.server.subscribe({ modelRemoved: resolve }) })
    await repository.remove('new')
    expect(await removed).toBe('new')
    expect(index(test).map((entry) => entry.name)).toEqual(['m'])
  })
})

describe('statistics and stopping', () => {
  it('counts successes, failures and executions once', async () => {
    await using repository = await TemporaryRepository.create({
      'm/config.pbtxt': identityConfig('dynamic_batching { default_queue_policy { max_queue_size: 1 } } parameters { key: "execute_delay_ms" value { string_value: "20" } }'), 'm/1/x': '',
    })
    await using test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    const controller = new AbortController()
    const running = ask(test, 'm')
    const waiting = test.server.infer(requestOf('m', [input]), { signal: controller.signal })
    const refused = failure(ask(test, 'm'))
    expect((await refused).message).toBe('[request id: <id_unknown>] Exceeds maximum queue size')
    controller.abort()
    expect(await failure(waiting)).toMatchObject({ kind: 'CANCELLED', message: '' })
    const { timing } = await running
    expect(timing.totalNanoseconds).toBeGreaterThanOrEqual(timing.computeInputNanoseconds + timing.computeInferNanoseconds)
    expect(test.server.modelMetrics()).toMatchObject([{ requestSuccess: 1, requestFailure: { REJECTED: 0, CANCELED: 1 }, executionCount: 1, pendingRequestCount: 0, isLoaded: true }])
    await test.server.unloadModel('m')
    await when(test, 'm', (summary) => summary.state === 'UNAVAILABLE')
    expect(test.server.modelMetrics()).toMatchObject([{ model: 'm', isLoaded: false, requestFailure: { CANCELED: 1 } }])
  })

  it('answers what is in flight before it stops, and refuses the rest', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig('parameters { key: "execute_delay_ms" value { string_value: "100" } }'), 'm/1/x': '' })
    const test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    const inflight = [ask(test, 'm'), ask(test, 'm')]
    const stopped = test.server.stop(10)
    expect((await Promise.all(inflight)).map(({ response }) => floatsOf(response.outputs[0]))).toEqual([[1, 2, 3, 4], [1, 2, 3, 4]])
    await stopped
    expect(await failure(ask(test, 'm'))).toMatchObject({ kind: 'NOT_FOUND' })
    expect(test.server.state).toBe('EXITING')
  })

  it('gives up after the exit timeout', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig('parameters { key: "execute_delay_ms" value { string_value: "3000" } }'), 'm/1/x': '' })
    const test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    const inflight = ask(test, 'm')
    expect(await failure(test.server.stop(0))).toMatchObject({ kind: 'INTERNAL', message: 'Exit timeout expired. Exiting immediately.' })
    expect(test.logs.recent(10).map((entry) => entry.message)).toContain("Model 'm' (version 1) has 1 in-flight inferences")
    await inflight
  })

  it('keeps the order of the requests where the config asks for it', async () => {
    const config = identityConfig('instance_group { count: 2 kind: KIND_CPU } dynamic_batching { preserve_ordering: true preferred_batch_size: [ 1 ] } parameters { key: "execute_delay_ms" value { string_value: "10" } } parameters { key: "instance_wise_delay_multiplier" value { string_value: "5" } }', 1)
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': config, 'm/1/x': '' })
    await using test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    const order: number[] = []
    await Promise.all(Array.from({ length: 6 }, async (_unused, position) => {
      await ask(test, 'm')
      order.push(position)
    }))
    expect(order).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('lists 500 models with 2,000 versions', async () => {
    const files: Record<string, string> = {}
    for (let model = 0; model < 500; model++) {
      files[`model_${model}/config.pbtxt`] = identityConfig()
      for (let version = 1; version <= 4; version++) files[`model_${model}/${version}/x`] = ''
    }
    await using repository = await TemporaryRepository.create(files)
    await using test = createTestServer([repository.path])
    await test.server.start()
    expect(test.server.modelSummaries()).toHaveLength(500)
    await mkdir(join(repository.path, 'late'))
    await test.server.rescan()
    expect(test.server.modelSummaries()).toHaveLength(501)
  })
})
