/** Control mode `poll` on a fake clock: what is applied when, and what a copy that is not finished does. */
import { rename, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { FakeClock } from '../testing/fake-clock.ts'
import { createScriptedServer, scriptedConfig, type ScriptedServer } from '../testing/scripted-backend.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import { fp32, requestOf } from '../testing/test-server.ts'

const POLL_SECONDS = 15
const input = fp32('INPUT0', [1], [1])
const model = (name: string, more = '') => ({ [`${name}/config.pbtxt`]: scriptedConfig(more), [`${name}/1/weights`]: 'a' })
const states = ({ server }: ScriptedServer) => Object.fromEntries(server.repositoryIndex(false).map((entry) => [`${entry.name}/${entry.version ?? ''}`, entry.state]))

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn()
}

interface Polling extends ScriptedServer { readonly clock: FakeClock }

async function polling(repositories: readonly string[], given: Parameters<typeof createScriptedServer>[2] = {}): Promise<Polling> {
  const clock = new FakeClock()
  const test = createScriptedServer(repositories, clock, { modelControlMode: 'poll', repositoryPollSeconds: POLL_SECONDS, ...given })
  await test.server.start()
  return { ...test, clock }
}

/** Lets time pass until the next timer of the poller is set, which is when a look is over. */
async function pass({ clock }: Polling, seconds: number): Promise<void> {
  clock.advance(seconds * 1e9)
  // The sampler's timer aside, the poller always has one: none while it looks.
  await until(() => clock.timerCount >= 2)
}

/** The first look of a poll, and the second one that confirms it. */
async function poll(test: Polling): Promise<void> {
  await pass(test, POLL_SECONDS)
  await pass(test, 1)
}

describe('poll mode', () => {
  it('applies what two looks find alike: new, modified and removed models', async () => {
    await using repository = await TemporaryRepository.create(model('a'))
    const test = await polling([repository.path])
    expect(states(test)).toEqual({ 'a/1': 'READY' })
    await repository.write(model('b'))
    await pass(test, POLL_SECONDS)
    expect(states(test)).toEqual({ 'a/1': 'READY', 'b/': undefined })
    await pass(test, 1)
    await until(() => states(test)['b/1'] === 'READY')
    await repository.write({ 'a/1/weights': 'changed' })
    await poll(test)
    await until(() => test.backend.models.length === 3)
    await repository.remove('b')
    await poll(test)
    await until(() => states(test)['b/1'] === undefined)
    await expect(test.server.loadModel('a')).rejects.toThrow('explicit model load / unload is not allowed if polling is enabled')
    await test.server.stop(5)
    expect(test.backend.leaked()).toEqual([])
  })

  it('leaves a copy alone while it grows or its times change, and takes it when it is still', async () => {
    await using repository = await TemporaryRepository.create(model('a'))
    const test = await polling([repository.path])
    for (let part = 1; part <= 3; part++) {
      await repository.write({ ...model('b'), 'b/1/weights': 'x'.repeat(part) })
      await pass(test, POLL_SECONDS)
      if (part < 3) await repository.write({ 'b/1/weights': 'x'.repeat(10 + part) })
      else await utimes(join(repository.path, 'b/1/weights'), new Date(), new Date(1e12))
      await pass(test, 1)
    }
    expect(test.backend.models).toHaveLength(1)
    await poll(test)
    await until(() => states(test)['b/1'] === 'READY')
    await test.server.stop(5)
  })

  it('does not take a directory that is exchanged between two looks for one that vanished', async () => {
    await using repository = await TemporaryRepository.create(model('a'))
    const test = await polling([repository.path])
    await using outside = await TemporaryRepository.create({ 'a/config.pbtxt': scriptedConfig(), 'a/1/weights': 'b' })
    await rename(join(repository.path, 'a'), join(outside.path, 'old'))
    await pass(test, POLL_SECONDS)
    await rename(join(outside.path, 'a'), join(repository.path, 'a'))
    await pass(test, 1)
    expect(states(test)).toEqual({ 'a/1': 'READY' })
    await poll(test)
    await until(() => test.backend.models.length === 2)
    expect(states(test)).toEqual({ 'a/1': 'READY' })
    await test.server.stop(5)
  })

  it('keeps what runs when a config becomes unreadable or invalid, and tries again when it changes', async () => {
    await using repository = await TemporaryRepository.create({ ...model('a'), ...model('b') })
    const test = await polling([repository.path])
    await repository.write({ 'a/config.pbtxt': 'nonsense {', 'b/config.pbtxt': scriptedConfig('max_batch_size: -3') })
    await poll(test)
    await until(() => test.server.modelSummaries().every(({ reason }) => reason !== ''))
    expect(states(test)).toEqual({ 'a/1': 'READY', 'b/1': 'READY' })
    expect(test.server.isReady()).toBe(true)
    await test.server.infer(requestOf('a', [input]))
    const said = () => test.messages().filter((message) => message.startsWith('Poll failed')).length
    const before = said()
    await poll(test)
    expect(said()).toBe(before)
    await repository.write({ 'a/config.pbtxt': scriptedConfig('metric_tags { key: "k" value: "v" }') })
    await poll(test)
    await until(() => test.server.modelConfig('a', '').metric_tags['k'] === 'v')
    await test.server.stop(5)
  })

  it('lets one model that hangs or fails hold up no other one, and ends its load when its directory goes', async () => {
    await using repository = await TemporaryRepository.create(model('a'))
    const test = await polling([repository.path])
    test.backend.held.add('model')
    await repository.write(model('hangs'))
    await poll(test)
    await until(() => test.backend.waiting.length === 1)
    test.backend.held.clear()
    await repository.write({ ...model('fails'), 'fails/config.pbtxt': 'backend: "nowhere"', ...model('b') })
    await poll(test)
    await until(() => states(test)['b/1'] === 'READY')
    expect(states(test)).toMatchObject({ 'a/1': 'READY', 'hangs/1': 'LOADING' })
    await repository.remove('hangs')
    await poll(test)
    await until(() => states(test)['hangs/1'] === undefined)
    test.backend.waiting[0]?.proceed()
    await test.server.stop(5)
    expect(test.backend.leaked()).toEqual([])
    expect(test.backend.mistakes).toEqual([])
  })

  it('stops while a load of it hangs', async () => {
    await using repository = await TemporaryRepository.create(model('a'))
    const test = await polling([repository.path])
    test.backend.held.add('instance')
    await repository.write({ 'a/1/weights': 'changed' })
    await poll(test)
    await until(() => test.backend.waiting.length === 1)
    const stopped = test.server.stop(5)
    test.backend.waiting[0]?.proceed()
    await stopped
    expect(test.backend.leaked()).toEqual([])
  })
})

describe('several repositories', () => {
  it('serves the models of all, refuses a name that two have, and takes it when one of the two goes', async () => {
    await using one = await TemporaryRepository.create({ ...model('a'), ...model('both') })
    await using two = await TemporaryRepository.create({ ...model('b'), ...model('both') })
    const clock = new FakeClock()
    const test = createScriptedServer([one.path, two.path], clock, { modelControlMode: 'poll', repositoryPollSeconds: POLL_SECONDS, exitOnError: false })
    await expect(test.server.start()).rejects.toThrow('failed to load all models')
    expect(states(test)).toEqual({ 'a/1': 'READY', 'b/1': 'READY', 'both/': 'UNAVAILABLE' })
    expect(test.server.repositoryIndex(false)).toContainEqual({ name: 'both', state: 'UNAVAILABLE', reason: 'model appears in two or more repositories' })
    await two.remove('both')
    await poll({ ...test, clock })
    await until(() => states(test)['both/1'] === 'READY')
    await test.server.stop(5)
  })
})
