/** Loads, unloads, reloads and exits that meet: a scripted backend says when each step ends, and nothing may leak or be freed twice. */
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { FakeClock } from '../testing/fake-clock.ts'
import { randomNumbers } from '../testing/random-numbers.ts'
import { createScriptedServer, scriptedConfig, type ScriptedServer, type ScriptedStep } from '../testing/scripted-backend.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import { fp32, requestOf } from '../testing/test-server.ts'

const OUTDATED = 'Newer operation has been applied to the model lifecycle, current load operation is out-dated.'
const input = fp32('INPUT0', [1], [1])
const warmUp = (count: number) => `model_warmup { name: "w" batch_size: 1 count: ${count} inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: [ 1 ] zero_data: true } } }`

/** Looks again and again, in turns of the event loop and not in time: the disk is real here. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn()
}

const waits = ({ backend }: ScriptedServer, step: ScriptedStep) => until(() => backend.waiting.some((waiting) => waiting.step === step))
const ending = (work: Promise<unknown>) => work.then(() => 'done', (error: unknown) => (error as Error).message)
const states = ({ server }: ScriptedServer, name = 'm') => Object.fromEntries(server.repositoryIndex(false).filter((entry) => entry.name === name).map((entry) => [entry.version, entry.state]))

async function letAllThrough({ backend }: ScriptedServer): Promise<void> {
  backend.held.clear()
  while (backend.waiting.length > 0) {
    for (const waiting of [...backend.waiting]) waiting.proceed()
    await turn()
  }
}

async function expectClean(test: ScriptedServer): Promise<void> {
  await letAllThrough(test)
  await test.server.stop(10)
  expect(test.backend.mistakes).toEqual([])
  expect(test.backend.leaked()).toEqual([])
}

describe('a load that hangs', () => {
  for (const step of ['model', 'instance', 'execute'] as const) {
    it(`is let go by an unload while it waits for: ${step}`, async () => {
      await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': scriptedConfig(warmUp(3)), 'm/1/x': '' })
      const test = createScriptedServer([repository.path], new FakeClock())
      await test.server.start()
      test.backend.held.add(step)
      const load = ending(test.server.loadModel('m'))
      await waits(test, step)
      await test.server.unloadModel('m')
      expect(await load).toBe(`load failed for model 'm': ${OUTDATED}\n`)
      expect(test.server.modelSummaries()[0]).toMatchObject({ state: 'UNAVAILABLE', reason: 'unloaded', stage: null, lastLoad: { outcome: 'outdated' } })
      // The name is free again while the backend still hangs.
      test.backend.held.clear()
      await test.server.loadModel('m')
      expect(states(test)).toEqual({ 1: 'READY' })
      await expectClean(test)
    })
  }

  it('does not go on with rounds and instances nobody wants', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': scriptedConfig(`${warmUp(1000)} instance_group { count: 4 kind: KIND_CPU }`), 'm/1/x': '' })
    const test = createScriptedServer([repository.path], new FakeClock())
    await test.server.start()
    test.backend.held.add('execute')
    const load = ending(test.server.loadModel('m'))
    await waits(test, 'execute')
    await test.server.unloadModel('m')
    await load
    await letAllThrough(test)
    await until(() => test.backend.leaked().length === 0)
    expect(test.backend.executions).toBe(1)
    expect(test.backend.instances).toHaveLength(1)
    await expectClean(test)
  })

  it('gives its place to others: four that hang do not keep the fifth from loading', async () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    await using repository = await TemporaryRepository.create(Object.fromEntries(names.flatMap((name) => [[`${name}/config.pbtxt`, scriptedConfig()], [`${name}/1/x`, '']])))
    const test = createScriptedServer([repository.path], new FakeClock())
    await test.server.start()
    test.backend.held.add('model')
    const hanging = names.slice(0, 4).map((name) => ending(test.server.loadModel(name)))
    await until(() => test.backend.waiting.length === 4)
    const fifth = test.server.loadModel('e')
    await until(() => test.server.modelSummaries()[4]?.stage?.kind === 'waitingForSlot')
    test.backend.held.clear()
    await test.server.unloadModel('a')
    await fifth
    expect(states(test, 'e')).toEqual({ 1: 'READY' })
    await letAllThrough(test)
    expect(await Promise.all(hanging)).toEqual([`load failed for model 'a': ${OUTDATED}\n`, 'done', 'done', 'done'])
    await expectClean(test)
  })

  it('keeps the old version serving while a reload hangs, and after it was given up', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': scriptedConfig(), 'm/1/x': '' })
    const test = createScriptedServer([repository.path], new FakeClock(), { loadModels: ['m'] })
    await test.server.start()
    await repository.write({ 'm/1/x': 'new' })
    test.backend.held.add('instance')
    const reload = ending(test.server.loadModel('m'))
    await waits(test, 'instance')
    await test.server.infer(requestOf('m', [input]))
    // An override out-dates it.
    const override = test.server.loadModel('m', { config: JSON.stringify({ backend: 'scripted', input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [1] }], output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: [1] }] }) })
    expect(await reload).toBe(`load failed for model 'm': ${OUTDATED}\n`)
    await test.server.infer(requestOf('m', [input]))
    await letAllThrough(test)
    await override
    await expectClean(test)
  })

  it('is let go when only instances were being added, and the backend model outlives them', async () => {
    const groups = (count: number) => scriptedConfig(`instance_group { count: ${count} kind: KIND_CPU }`)
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': groups(1), 'm/1/x': '' })
    const test = createScriptedServer([repository.path], new FakeClock(), { loadModels: ['m'] })
    await test.server.start()
    await repository.write({ 'm/config.pbtxt': groups(3) })
    test.backend.held.add('instance')
    const update = ending(test.server.loadModel('m'))
    await waits(test, 'instance')
    expect(test.server.modelSummaries()[0]).toMatchObject({ state: 'READY', stage: { kind: 'creatingInstance', version: '1' } })
    await test.server.unloadModel('m')
    expect(await update).toBe(`load failed for model 'm': ${OUTDATED}\n`)
    expect(states(test)).toEqual({ 1: 'UNLOADING' })
    await letAllThrough(test)
    await until(() => states(test)['1'] === 'UNAVAILABLE')
    await expectClean(test)
  })
})

describe('the end of the server', () => {
  it('ends loads that hang within the exit timeout, and says each second what it waits for', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': scriptedConfig(), 'm/1/x': '', 'n/config.pbtxt': scriptedConfig(), 'n/1/x': '' })
    const clock = new FakeClock()
    const test = createScriptedServer([repository.path], clock, { loadModels: ['n'] })
    await test.server.start()
    test.backend.held.add('model').add('execute')
    const load = ending(test.server.loadModel('m'))
    await waits(test, 'model')
    const request = test.server.infer(requestOf('n', [input]))
    const stop = ending(test.server.stop(3))
    expect(await load).toBe(`load failed for model 'm': ${OUTDATED}\n`)
    clock.advance(1e9)
    test.backend.waiting.find(({ step }) => step === 'execute')?.proceed()
    await request
    await until(() => test.backend.leaked().length === 0)
    clock.advance(1e9)
    clock.advance(1e9)
    clock.advance(1e9)
    expect(await stop).toBe('Exit timeout expired. Exiting immediately.')
    const said = test.messages()
    expect(said.slice(said.indexOf('Waiting for in-flight requests to complete.')).filter((message) => /^(Waiting|Timeout|Model|All)/.test(message))).toEqual([
      'Waiting for in-flight requests to complete.',
      'Timeout 3: Found 1 model versions that have in-flight inferences',
      "Model 'n' (version 1) has 1 in-flight inferences",
      'Timeout 2: Found 1 model versions that have in-flight inferences',
      "Model 'n' (version 1) has 1 in-flight inferences",
      'Timeout 1: Found 0 model versions that have in-flight inferences',
      'All models are stopped, unloading models',
      'Timeout 1: Found 0 live models and 1 in-flight non-inference requests',
      'Timeout 0: Found 0 live models and 1 in-flight non-inference requests',
    ])
    expect(await ending(test.server.loadModel('m'))).toBe('Server exiting')
    test.backend.waiting[0]?.proceed()
  })

  it('loads nothing any more, whatever was still to follow', async () => {
    const files = Object.fromEntries(Array.from({ length: 6 }, (_unused, index) => `m${index}`).flatMap((name) => [[`${name}/config.pbtxt`, scriptedConfig()], [`${name}/1/x`, '']]))
    await using repository = await TemporaryRepository.create(files)
    const test = createScriptedServer([repository.path], new FakeClock(), { modelControlMode: 'none', modelLoadThreadCount: 1 })
    test.backend.held.add('instance')
    const started = ending(test.server.start())
    await waits(test, 'instance')
    const stop = test.server.stop(10)
    await letAllThrough(test)
    await stop
    await started
    expect(test.backend.models.length).toBe(1)
    expect(test.backend.leaked()).toEqual([])
    expect(test.backend.mistakes).toEqual([])
  })
})

describe('versions', () => {
  it('adds and removes versions without touching the others: same object, counters and requests in flight', async () => {
    const config = (policy: string) => scriptedConfig(`version_policy { ${policy} }`)
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': config('all { }'), 'm/1/x': '', 'm/2/x': '' })
    const test = createScriptedServer([repository.path], new FakeClock(), { loadModels: ['m'] })
    await test.server.start()
    await test.server.infer(requestOf('m', [input], { modelVersion: '1' }))
    test.backend.held.add('execute')
    const inflight = test.server.infer(requestOf('m', [input], { modelVersion: '1' }))
    await waits(test, 'execute')
    await repository.write({ 'm/3/x': '' })
    await test.server.loadModel('m')
    expect(states(test)).toEqual({ 1: 'READY', 2: 'READY', 3: 'READY' })
    await repository.remove('m/2')
    await test.server.loadModel('m')
    await until(() => states(test)['2'] === 'UNAVAILABLE')
    expect(test.messages().filter((message) => message.startsWith('successfully unloaded'))).toEqual(["successfully unloaded 'm' version 2"])
    await repository.write({ 'm/config.pbtxt': config('specific { versions: [ 1, 3, 7 ] }') })
    await test.server.loadModel('m')
    expect(test.messages()).toContain("version 7 is specified for model 'm', but the version directory is not present")
    expect(test.backend.models.map(({ label, finalized }) => [label, finalized])).toEqual([['model m/1', 0], ['model m/2', 1], ['model m/3', 0]])
    test.backend.waiting[0]?.proceed()
    await inflight
    expect(test.server.modelStatistics('m', '1')[0]).toMatchObject({ inference_count: 2 })
    await expectClean(test)
  })

  it('changes the instances of all versions or of none', async () => {
    const config = (count: number) => scriptedConfig(`version_policy { all { } } instance_group { count: ${count} kind: KIND_CPU }`)
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': config(1), 'm/1/x': '', 'm/2/x': '' })
    const test = createScriptedServer([repository.path], new FakeClock(), { loadModels: ['m'] })
    await test.server.start()
    await repository.write({ 'm/config.pbtxt': config(2) })
    test.backend.held.add('instance')
    const update = ending(test.server.loadModel('m'))
    await waits(test, 'instance')
    test.backend.waiting[0]?.proceed()
    await until(() => test.backend.waiting[0]?.version === 2)
    test.backend.waiting[0]?.fail('out of memory')
    expect(await update).toBe("load failed for model 'm': version 2 is at READY state: Internal: out of memory;\n")
    expect(['1', '2'].map((version) => test.server.modelConfig('m', version).instance_group[0]?.count)).toEqual([1, 1])
    await until(() => test.backend.leaked().length === 4)
    await expectClean(test)
  })

  it('tries a version that fails as often as it was told', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': scriptedConfig(), 'm/1/x': '' })
    const test = createScriptedServer([repository.path], new FakeClock(), { modelLoadRetryCount: 2 })
    await test.server.start()
    test.backend.held.add('instance')
    for (const failures of [2, 3]) {
      const load = ending(test.server.loadModel('m'))
      for (let attempt = 0; attempt < failures; attempt++) {
        await waits(test, 'instance')
        test.backend.waiting[0]?.fail('out of memory')
      }
      if (failures === 2) {
        await waits(test, 'instance')
        test.backend.waiting[0]?.proceed()
      }
      expect(await load).toBe(failures === 2 ? 'done' : "load failed for model 'm': version 1 is at UNAVAILABLE state: Internal: out of memory;\n")
      if (failures === 2) await test.server.unloadModel('m')
    }
    expect(test.messages().filter((message) => message.startsWith('failed to load'))).toHaveLength(5)
    await expectClean(test)
  })

  it('tells how long the stages of the last load took', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': scriptedConfig(`${warmUp(1)} instance_group { count: 2 kind: KIND_CPU }`), 'm/1/x': '' })
    const clock = new FakeClock()
    const test = createScriptedServer([repository.path], clock)
    await test.server.start()
    for (const step of ['model', 'instance', 'execute'] as const) test.backend.held.add(step)
    const load = test.server.loadModel('m')
    const expected: [ScriptedStep, object][] = [
      ['model', { kind: 'initializingModel', instance: 0, instanceCount: 0 }],
      ['instance', { kind: 'creatingInstance', instance: 1, instanceCount: 2 }], ['execute', { kind: 'warmingUp', instance: 1, instanceCount: 2 }],
      ['instance', { kind: 'creatingInstance', instance: 2, instanceCount: 2 }], ['execute', { kind: 'warmingUp', instance: 2, instanceCount: 2 }],
    ]
    for (const [step, stage] of expected) {
      await waits(test, step)
      expect(test.server.modelSummaries()[0]?.stage).toEqual({ version: '1', startedAt: clock.wallMilliseconds(), ...stage })
      clock.advance(10e6)
      test.backend.waiting[0]?.proceed()
    }
    await load
    const { stage, lastLoad } = test.server.modelSummaries()[0]!
    expect(stage).toBeNull()
    expect(lastLoad).toMatchObject({ outcome: 'loaded' })
    expect(lastLoad!.endedAt - lastLoad!.startedAt).toBe(50)
    expect(lastLoad!.stages.map(({ kind, version, milliseconds, instanceCount }) => [kind, version, milliseconds, instanceCount])).toEqual([
      ['readingConfig', '', 0, 0], ['waitingForSlot', '1', 0, 0], ['initializingModel', '1', 10, 0], ['creatingInstance', '1', 20, 2], ['warmingUp', '1', 20, 2],
    ])
    await expectClean(test)
  })
})

describe('whatever comes in whatever order', () => {
  for (let seed = 1; seed <= 12; seed++) {
    it(`leaks nothing and frees everything once, seed ${seed}`, async () => {
      const whole = randomNumbers(seed)
      const random = () => whole(1e6) / 1e6
      const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!
      const names = ['a', 'b']
      await using repository = await TemporaryRepository.create(Object.fromEntries(names.flatMap((name) => [[`${name}/config.pbtxt`, scriptedConfig('version_policy { all { } }')], [`${name}/1/x`, '']])))
      const test = createScriptedServer([repository.path], new FakeClock(), { modelLoadThreadCount: 2 })
      await test.server.start()
      for (const step of ['model', 'instance', 'execute'] as const) if (random() < 0.7) test.backend.held.add(step)
      const work: Promise<string>[] = []
      const requests: Promise<string>[] = []
      let writes = 0
      for (let action = 0; action < 60; action++) {
        const name = pick(names)
        const kind = random()
        if (kind < 0.2) work.push(ending(test.server.loadModel(name)))
        else if (kind < 0.3) work.push(ending(test.server.unloadModel(name)))
        else if (kind < 0.4) await repository.write({ [`${name}/${pick([1, 2, 3])}/x`]: `content ${++writes}` })
        else if (kind < 0.45) await repository.remove(`${name}/${pick([2, 3])}`)
        else if (kind < 0.5) await repository.write({ [`${name}/config.pbtxt`]: scriptedConfig(`version_policy { all { } } instance_group { count: ${pick([1, 2, 3])} kind: KIND_CPU } ${random() < 0.3 ? warmUp(2) : ''}`) })
        else if (kind < 0.65) requests.push(ending(test.server.infer(requestOf(name, [input]))))
        else if (kind < 0.7) await test.server.rescan()
        else if (test.backend.waiting.length > 0) {
          const waiting = pick(test.backend.waiting)
          if (waiting.step !== 'execute' && random() < 0.2) waiting.fail('scripted')
          else waiting.proceed()
        }
        for (let wait = Math.floor(random() * 6); wait > 0; wait--) await turn()
      }
      const stop = test.server.stop(1000)
      await letAllThrough(test)
      // Steps that come after the ones that waited go through at once.
      await Promise.all([...work, ...requests])
      await stop
      expect(test.backend.mistakes).toEqual([])
      expect(test.backend.leaked()).toEqual([])
      expect(test.server.modelMetrics().every(({ isLoaded, pendingRequestCount }) => !isLoaded && pendingRequestCount === 0)).toBe(true)
    })
  }
})

describe('an ensemble of an ensemble', () => {
  const tensorText = (name: string) => `{ name: "${name}" data_type: TYPE_FP32 dims: [ 1 ] }`
  const step = (model: string, from: string, to: string) =>
    `step { model_name: "${model}" model_version: -1 input_map { key: "INPUT0" value: "${from}" } output_map { key: "OUTPUT0" value: "${to}" } }`
  const ensembleText = (steps: string) => `platform: "ensemble" input ${tensorText('INPUT0')} output ${tensorText('OUTPUT0')} ensemble_scheduling { ${steps} }`
  const files = {
    'first/config.pbtxt': scriptedConfig(), 'first/1/x': '', 'last/config.pbtxt': scriptedConfig(), 'last/1/x': '',
    'inner/config.pbtxt': ensembleText(step('last', 'INPUT0', 'OUTPUT0')), 'inner/1/x': '',
    'outer/config.pbtxt': ensembleText(step('first', 'INPUT0', 'T') + step('inner', 'T', 'OUTPUT0')), 'outer/1/x': '',
  }

  it.each<[string, (test: ScriptedServer) => Promise<void>]>([
    ['the model of the inner one is unloaded', ({ server }) => server.unloadModel('last')],
    ['everything is unloaded', ({ server }) => server.unloadModel('outer', true)],
    ['the server stops', async ({ server }) => { void server.stop(10) }],
  ])('answers a request on its way while %s', async (_what, end) => {
    await using repository = await TemporaryRepository.create(files)
    const test = createScriptedServer([repository.path], new FakeClock(), { loadModels: ['outer'] })
    await test.server.start()
    test.backend.held.add('execute')
    const answer = ending(test.server.infer(requestOf('outer', [input])))
    await waits(test, 'execute')
    await end(test)
    const stateOfLast = () => test.server.modelSummaries().find(({ name }) => name === 'last')?.state
    await until(() => stateOfLast() === 'UNLOADING')
    test.backend.waiting[0]!.proceed()
    const result = await Promise.race([answer, waits(test, 'execute').then(() => 'the last step runs')])
    expect(result).toBe('the last step runs')
    test.backend.waiting[0]!.proceed()
    expect(await answer).toBe('done')
    await until(() => stateOfLast() === 'UNAVAILABLE')
    await expectClean(test)
  })
})
