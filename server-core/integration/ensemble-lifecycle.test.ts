/** Loading and unloading of ensembles and of the models they depend on (model config facts, sections 11 and 12). */
import { describe, expect, it } from 'vitest'
import type { ModelIndexEntry } from '../contract/repository.ts'
import { identityConfig, TemporaryRepository } from '../testing/temporary-repository.ts'
import { createTestServer, floatsOf, fp32, requestOf, type TestServer } from '../testing/test-server.ts'

const input = fp32('IN', [1, 4], [1, 2, 3, 4])
const ask = ({ server }: TestServer, name: string) => server.infer(requestOf(name, [input]))
const tensorText = (name: string, more = '') => `{ name: "${name}" data_type: TYPE_FP32 dims: [ 4 ] ${more} }`

/** An ensemble that passes its input through these models one after another. */
function chain(models: readonly string[], more = '', names: { in: string; out: string } = { in: 'INPUT0', out: 'OUTPUT0' }, versions: readonly number[] = []): string {
  const steps = models.map((model, index) => `step { model_name: "${model}" model_version: ${versions[index] ?? -1}
    input_map { key: "${names.in}" value: "${index === 0 ? 'IN' : `T${index}`}" }
    output_map { key: "${names.out}" value: "${index === models.length - 1 ? 'OUT' : `T${index + 1}`}" } }`).join('\n')
  return `platform: "ensemble" max_batch_size: 4 input ${tensorText('IN')} output ${tensorText('OUT')} ensemble_scheduling { ${steps} } ${more}`
}

const OF_ENSEMBLE = { in: 'IN', out: 'OUT' }
const plain = (name: string, more = '', maxBatchSize = 8) => ({ [`${name}/config.pbtxt`]: identityConfig(more, maxBatchSize), [`${name}/1/keep`]: '' })
const ensembleOf = (name: string, text: string) => ({ [`${name}/config.pbtxt`]: text, [`${name}/1/keep`]: '' })

async function failure(work: Promise<unknown>): Promise<{ kind: string; message: string; cause?: unknown }> {
  const error: unknown = await work.then(() => { throw new Error('did not fail') }, (reason: unknown) => reason)
  return error as { kind: string; message: string }
}

function states({ server }: TestServer): Record<string, string> {
  return Object.fromEntries(server.repositoryIndex(false).map(({ name, state, reason }: ModelIndexEntry) => [name, [state ?? '-', ...(reason === undefined ? [] : [reason])].join(': ')]))
}

/** Resolves when the states are these. */
function whenStates(test: TestServer, wanted: Record<string, string>): Promise<void> {
  return new Promise((resolve, reject) => {
    const isThere = () => Object.entries(wanted).every(([name, text]) => states(test)[name] === text)
    const timer = setTimeout(() => { reject(new Error(`the states are ${JSON.stringify(states(test))}`)) }, 10_000)
    const check = () => {
      if (!isThere()) return
      clearTimeout(timer)
      unsubscribe()
      resolve()
    }
    const unsubscribe = test.server.subscribe({ modelChanged: check, modelRemoved: check })
    check()
  })
}

describe('loading', () => {
  it('loads the models of the steps first, nested ensembles too, and answers through all of them', async () => {
    await using repository = await TemporaryRepository.create({ ...plain('a'), ...plain('b'), ...ensembleOf('inner', chain(['a', 'b'])), ...ensembleOf('outer', chain(['inner', 'inner'], '', OF_ENSEMBLE)) })
    await using test = createTestServer([repository.path])
    await test.server.start()
    await test.server.loadModel('outer')
    expect(states(test)).toEqual({ a: 'READY', b: 'READY', inner: 'READY', outer: 'READY' })
    const { response, timing } = await ask(test, 'outer')
    expect(floatsOf(response.outputs[0])).toEqual([1, 2, 3, 4])
    expect(response).toMatchObject({ modelName: 'outer', modelVersion: '1', parameters: { sequence_id: 0n, sequence_start: false, sequence_end: false } })
    expect(timing.totalNanoseconds).toBeGreaterThan(0)
    const counts = Object.fromEntries(test.server.modelStatistics('', '').map(({ name, execution_count: count }) => [name, count]))
    expect(counts).toEqual({ a: 2, b: 2, inner: 2, outer: 1 })
    expect(test.server.modelSummaries().find(({ name }) => name === 'outer')).toMatchObject({ platform: 'ensemble', backend: '', instanceCount: null, runsOn: null })
    expect(test.server.modelMetadata('outer', '')).toMatchObject({ platform: 'ensemble', inputs: [{ name: 'IN', shape: [-1, 4] }] })
  })

  it.each([
    { what: 'a missing model', files: ensembleOf('e', chain(['a', 'nope', 'gone'])), text: 'ensemble e contains models that are not available or ambiguous: gone, nope' },
    { what: 'a model whose config cannot be read', files: { ...ensembleOf('e', chain(['a', 'x'])), 'x/config.pbtxt': 'backend: [', 'x/1/keep': '' }, text: 'ensemble e contains models that are not available or ambiguous: x' },
    {
      what: 'a model whose versions failed', files: { ...ensembleOf('e', chain(['a', 'x'])), 'x/config.pbtxt': identityConfig().replace('"OUTPUT0"', '"WRONG"'), 'x/1/keep': '' },
      text: "ensemble 'e' depends on 'x' which has no loaded version. Model 'x' loading failed with error: Invalid argument: expected output name to follow OUTPUT<index> pattern, got 'WRONG'",
    },
    {
      what: 'a model without versions', files: { ...ensembleOf('e', chain(['a', 'x'])), 'x/config.pbtxt': identityConfig() },
      text: "ensemble 'e' depends on 'x' which is not valid. Model 'x' failed with error: at least one version must be available under the version policy of model 'x'",
    },
    { what: 'a version that is not loaded', files: ensembleOf('e', chain(['a'], '', undefined, [7])), text: "ensemble 'e' depends on 'a' whose required version 7 is not loaded." },
    { what: 'a smaller batch', files: { ...ensembleOf('e', chain(['x'])), ...plain('x', '', 2) }, text: 'ensemble e allows maximum batch size 4, but it contains model x which only allows maximum batch size to be 2' },
    { what: 'an ensemble in a circle', files: { ...ensembleOf('e', chain(['f'], '', OF_ENSEMBLE)), ...ensembleOf('f', chain(['g'], '', OF_ENSEMBLE)), ...ensembleOf('g', chain(['f'], '', OF_ENSEMBLE)) },
      text: "ensemble 'e' depends on 'f' which is not valid. Model 'f' failed with error: circular dependency between ensembles: f -> g -> f" },
  ])('refuses $what, and adds no version', async ({ files, text }) => {
    await using repository = await TemporaryRepository.create({ ...plain('a'), ...files })
    await using test = createTestServer([repository.path])
    await test.server.start()
    expect(await failure(test.server.loadModel('e'))).toMatchObject({ kind: 'INVALID_ARG', message: `load failed for model 'e': ${text}\n` })
    expect(test.server.repositoryIndex(false).find(({ name }) => name === 'e')).toEqual({ name: 'e', state: 'UNAVAILABLE', reason: text })
  })

  it('refuses a circle, and says of its other ensembles that no version is available', async () => {
    await using repository = await TemporaryRepository.create({ ...ensembleOf('a', chain(['b'], '', OF_ENSEMBLE)), ...ensembleOf('b', chain(['a'], '', OF_ENSEMBLE)) })
    await using test = createTestServer([repository.path])
    await test.server.start()
    const text = 'circular dependency between ensembles: a -> b -> a'
    expect(await failure(test.server.loadModel('a'))).toMatchObject({ kind: 'INVALID_ARG', message: `load failed for model 'a': ${text}\n` })
    expect(await failure(test.server.loadModel('b'))).toMatchObject({ kind: 'INTERNAL', message: "failed to load 'b', no version is available" })
    expect(await failure(test.server.loadModel('a'))).toMatchObject({ kind: 'INVALID_ARG' })
    await repository.write({ 'b/config.pbtxt': chain(['x']), ...plain('x') })
    await test.server.loadModel('a')
    expect(states(test)).toMatchObject({ a: 'READY', b: 'READY', x: 'READY' })
  })

  it('loads in the order of dependencies at start, in every control mode', async () => {
    await using repository = await TemporaryRepository.create({ ...ensembleOf('a_outer', chain(['b_inner'], '', OF_ENSEMBLE)), ...ensembleOf('b_inner', chain(['z'])), ...plain('z', 'parameters { key: "creation_delay_sec" value: { string_value: "0.1" } }') })
    for (const given of [{ modelControlMode: 'none' }, { modelControlMode: 'poll' }, { modelControlMode: 'explicit', loadModels: ['*'] }, { modelControlMode: 'explicit', loadModels: ['a_outer'] }] as const) {
      await using test = createTestServer([repository.path], given)
      await test.server.start()
      expect(states(test)).toEqual({ a_outer: 'READY', b_inner: 'READY', z: 'READY' })
      expect(test.server.isReady()).toBe(true)
    }
  })

  it('takes the steps of a config that comes with the load call', async () => {
    await using repository = await TemporaryRepository.create({ ...plain('a'), ...plain('b'), ...ensembleOf('e', chain(['a'])) })
    await using test = createTestServer([repository.path])
    await test.server.start()
    const step = { model_name: 'b', model_version: -1, input_map: { INPUT0: 'IN' }, output_map: { OUTPUT0: 'OUT' } }
    await test.server.loadModel('e', { config: JSON.stringify({
      name: 'e', platform: 'ensemble', max_batch_size: 4, input: [{ name: 'IN', data_type: 'TYPE_FP32', dims: [4] }], output: [{ name: 'OUT', data_type: 'TYPE_FP32', dims: [4] }],
      ensemble_scheduling: { step: [step] },
    }) })
    expect(states(test)).toEqual({ a: '-', b: 'READY', e: 'READY' })
    expect(floatsOf((await ask(test, 'e')).response.outputs[0])).toEqual([1, 2, 3, 4])
  })

  it('has the labels of the model that makes an output, unless it has its own', async () => {
    const labelled = identityConfig().replace('name: "OUTPUT0"', 'name: "OUTPUT0" label_filename: "labels.txt"')
    await using repository = await TemporaryRepository.create({
      'a/config.pbtxt': labelled, 'a/1/keep': '', 'a/labels.txt': 'cat\ndog\n',
      ...ensembleOf('e', chain(['a'])), ...ensembleOf('f', chain(['a']).replace('name: "OUT"', 'name: "OUT" label_filename: "own.txt"')), 'f/own.txt': 'bird\n',
    })
    await using test = createTestServer([repository.path])
    await test.server.start()
    await test.server.loadModel('e')
    await test.server.loadModel('f')
    expect([test.server.labels('e', '', 'OUT'), test.server.labels('f', '', 'OUT')]).toEqual([['cat', 'dog'], ['bird']])
  })
})

describe('changes of the models below', () => {
  it('takes an ensemble away with a model of its steps, and brings it back with it', async () => {
    await using repository = await TemporaryRepository.create({ ...plain('a'), ...plain('b'), ...ensembleOf('inner', chain(['a', 'b'])), ...ensembleOf('outer', chain(['inner'], '', OF_ENSEMBLE)) })
    await using test = createTestServer([repository.path])
    await test.server.start()
    await test.server.loadModel('outer')
    await test.server.unloadModel('a')
    await whenStates(test, { a: 'UNAVAILABLE: unloaded', b: 'READY', inner: 'UNAVAILABLE: unloaded', outer: 'UNAVAILABLE: unloaded' })
    expect(test.server.isReady()).toBe(true)
    await test.server.loadModel('a')
    expect(states(test)).toEqual({ a: 'READY', b: 'READY', inner: 'READY', outer: 'READY' })
    expect(floatsOf((await ask(test, 'outer')).response.outputs[0])).toEqual([1, 2, 3, 4])
  })

  it('does not bring back what was unloaded by its own call', async () => {
    await using repository = await TemporaryRepository.create({ ...plain('a'), ...ensembleOf('e', chain(['a'])) })
    await using test = createTestServer([repository.path])
    await test.server.start()
    await test.server.loadModel('e')
    await test.server.unloadModel('e')
    await whenStates(test, { e: 'UNAVAILABLE: unloaded', a: 'READY' })
    await test.server.unloadModel('a')
    await test.server.loadModel('a')
    expect(states(test)).toMatchObject({ e: 'UNAVAILABLE: unloaded', a: 'READY' })
  })

  it('loads an ensemble that failed for want of a model when the model is there', async () => {
    await using repository = await TemporaryRepository.create({ ...ensembleOf('e', chain(['a'])) })
    await using test = createTestServer([repository.path])
    await test.server.start()
    expect((await failure(test.server.loadModel('e'))).message).toContain('not available or ambiguous: a')
    await repository.write(plain('a'))
    await test.server.loadModel('a')
    expect(states(test)).toEqual({ a: 'READY', e: 'READY' })
  })

  it('checks an ensemble anew when a model of its steps was reloaded, and takes it away when it does not fit any more', async () => {
    await using repository = await TemporaryRepository.create({ ...plain('a'), ...ensembleOf('e', chain(['a'])) })
    await using test = createTestServer([repository.path])
    await test.server.start()
    await test.server.loadModel('e')
    await ask(test, 'e')
    await repository.write({ 'a/config.pbtxt': identityConfig('metric_tags { key: "x" value: "y" }') })
    await test.server.loadModel('a')
    expect(states(test)).toEqual({ a: 'READY', e: 'READY' })
    // It was built again on the new model: its counters begin anew.
    expect(test.server.modelStatistics('e', '')[0]?.execution_count).toBe(0)
    await repository.write({ 'a/config.pbtxt': identityConfig('', 2) })
    await test.server.loadModel('a')
    const text = 'ensemble e allows maximum batch size 4, but it contains model a which only allows maximum batch size to be 2'
    await whenStates(test, { a: 'READY', e: `UNAVAILABLE: ${text}` })
    expect((await failure(ask(test, 'e'))).message).toBe("Request for unknown model: 'e' has no available versions")
    await repository.write({ 'a/config.pbtxt': identityConfig('', 4) })
    await test.server.loadModel('a')
    expect(states(test)).toEqual({ a: 'READY', e: 'READY' })
  })

  it('leaves an ensemble alone when only the instances of a model changed', async () => {
    await using repository = await TemporaryRepository.create({ ...plain('a'), ...ensembleOf('e', chain(['a'])) })
    await using test = createTestServer([repository.path])
    await test.server.start()
    await test.server.loadModel('e')
    await ask(test, 'e')
    await repository.write({ 'a/config.pbtxt': identityConfig('instance_group { count: 2 kind: KIND_CPU }') })
    await test.server.loadModel('a')
    expect(test.server.modelSummaries().find(({ name }) => name === 'a')?.instanceCount).toBe(2)
    expect(test.server.modelStatistics('e', '')[0]?.execution_count).toBe(1)
  })

  it('lets requests under way finish their steps on models that are being unloaded', async () => {
    const slow = 'parameters { key: "execute_delay_ms" value: { string_value: "150" } }'
    await using repository = await TemporaryRepository.create({ ...plain('a', slow), ...plain('b', slow), ...ensembleOf('e', chain(['a', 'b'])) })
    await using test = createTestServer([repository.path])
    await test.server.start()
    await test.server.loadModel('e')
    const answer = ask(test, 'e')
    await Promise.all([test.server.unloadModel('b'), test.server.unloadModel('a')])
    expect(states(test)).toEqual({ a: 'UNLOADING', b: 'UNLOADING', e: 'UNLOADING' })
    expect(floatsOf((await answer).response.outputs[0])).toEqual([1, 2, 3, 4])
    await whenStates(test, { a: 'UNAVAILABLE: unloaded', b: 'UNAVAILABLE: unloaded', e: 'UNAVAILABLE: unloaded' })
  })

  it('gives the versions of a model their share of the traffic of an ensemble too', async () => {
    await using repository = await TemporaryRepository.create({ ...plain('a', 'version_policy { all { } }'), 'a/2/keep': '', ...ensembleOf('e', chain(['a'])) })
    await using test = createTestServer([repository.path])
    await test.server.start()
    await test.server.loadModel('e')
    test.server.setTrafficSplit('a', { version: '1', percent: 25 })
    for (let index = 0; index < 8; index++) await ask(test, 'e')
    expect(test.server.modelStatistics('a', '').map(({ version, execution_count: count }) => [version, count])).toEqual([['1', 2], ['2', 6]])
  })

  it('keeps whole answers of an ensemble in the response cache', async () => {
    await using repository = await TemporaryRepository.create({ ...plain('a'), ...ensembleOf('e', chain(['a'], 'response_cache { enable: true }')) })
    await using test = createTestServer([repository.path], { cacheConfig: { local: { size: '1000000' } } })
    await test.server.start()
    await test.server.loadModel('e')
    const [first, second] = [await ask(test, 'e'), await ask(test, 'e')]
    expect(floatsOf(second.response.outputs[0])).toEqual(floatsOf(first.response.outputs[0]))
    expect(test.server.modelStatistics('a', '')[0]?.execution_count).toBe(1)
    expect(test.server.modelStatistics('e', '')[0]).toMatchObject({ execution_count: 1, inference_stats: { success: { count: 2 }, cache_hit: { count: 1 } } })
  })

  it('drains ensembles and their models when the server stops', async () => {
    const slow = 'parameters { key: "execute_delay_ms" value: { string_value: "100" } }'
    await using repository = await TemporaryRepository.create({ ...plain('a', slow), ...ensembleOf('e', chain(['a', 'a'])) })
    const test = createTestServer([repository.path])
    await test.server.start()
    await test.server.loadModel('e')
    const answer = ask(test, 'e')
    await test.server.stop(10)
    expect(floatsOf((await answer).response.outputs[0])).toEqual([1, 2, 3, 4])
  })
})

describe('unload_dependents', () => {
  it('takes the models along that only this ensemble needed', async () => {
    await using repository = await TemporaryRepository.create({
      ...plain('a'), ...plain('b'), ...plain('shared'), ...plain('own'), ...ensembleOf('inner', chain(['b'])),
      ...ensembleOf('e', chain(['a', 'shared', 'own']).replace('ensemble_scheduling {', `ensemble_scheduling {
        step { model_name: "inner" model_version: -1 input_map { key: "IN" value: "IN" } output_map { key: "OUT" value: "SIDE" } }`).replace(`output ${tensorText('OUT')}`, `output [ ${tensorText('OUT')}, ${tensorText('SIDE')} ]`)),
      ...ensembleOf('other', chain(['shared'])),
    })
    await using test = createTestServer([repository.path])
    await test.server.start()
    await test.server.loadModel('own')
    await test.server.loadModel('e')
    await test.server.loadModel('other')
    await test.server.unloadModel('e', true)
    await whenStates(test, { a: 'UNAVAILABLE: unloaded', b: 'UNAVAILABLE: unloaded', inner: 'UNAVAILABLE: unloaded', e: 'UNAVAILABLE: unloaded', shared: 'READY', own: 'READY', other: 'READY' })
  })
})

describe('poll mode', () => {
  it('applies changes of a model to the ensembles above it', async () => {
    await using repository = await TemporaryRepository.create({ ...plain('a'), ...ensembleOf('e', chain(['a'])) })
    await using test = createTestServer([repository.path], { modelControlMode: 'poll', repositoryPollSeconds: 0.1 })
    await test.server.start()
    await repository.remove('a')
    await whenStates(test, { e: 'UNAVAILABLE: unloaded' })
    await repository.write(plain('a'))
    await whenStates(test, { a: 'READY', e: 'READY' })
    await repository.write({ 'e/config.pbtxt': chain(['a', 'b']), ...plain('b') })
    await whenStates(test, { b: 'READY', e: 'READY' })
    await expect.poll(async () => test.server.modelConfig('e', '').ensemble_scheduling?.step.length, { timeout: 5000 }).toBe(2)
  })
})
