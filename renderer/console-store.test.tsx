import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ConsoleClient } from './console-client.ts'
import { followServer, initialConsoleState, useConsole, withLog, withModel, withSamples } from './console-store.ts'
import type { ConsoleState } from './console-store.ts'
import { FakeWebSocket } from './testing/fake-web-socket.ts'
import { loadStage, modelSummary, serverSample, serverStatus } from './testing/models.ts'

const logEntry = (sequence: number, time = sequence) => ({ sequence, time, level: 'info', source: 'test', message: String(sequence), fields: {} }) as const

describe('followServer', () => {
  let sockets: FakeWebSocket[]
  let client: ConsoleClient
  let stop: () => void
  const last = () => sockets[sockets.length - 1] as FakeWebSocket
  const tell = async (instanceId = 'first', models = [modelSummary('b'), modelSummary('a', { state: 'READY' })]) => {
    last().open()
    last().answer('server.status', serverStatus({ instanceId }))
    last().answer('repository.models', models)
    last().answer('statistics.history', [serverSample(1), serverSample(2)])
    last().answer('log.recent', [logEntry(1)])
    await vi.advanceTimersByTimeAsync(0)
  }

  beforeEach(async () => {
    vi.useFakeTimers()
    useConsole.setState(initialConsoleState, true)
    sockets = []
    client = new ConsoleClient({ address: () => Promise.resolve('ws://x/console'), createSocket: (address) => { const socket = new FakeWebSocket(address); sockets.push(socket); return socket as unknown as WebSocket } })
    stop = followServer(client, useConsole, () => 5000)
    client.start()
    await vi.advanceTimersByTimeAsync(0)
  })

  afterEach(() => {
    stop()
    client.stop()
    vi.useRealTimers()
  })

  it('fetches the whole state when the connection opens', async () => {
    await tell()
    const state = useConsole.getState()
    expect(state).toMatchObject({ connection: 'open', lostAt: null, status: { instanceId: 'first' } })
    expect(state.models?.map((model) => model.name)).toEqual(['a', 'b'])
    expect(state.samples.map((sample) => sample.time)).toEqual([1000, 2000])
    expect(state.activity.map((entry) => [entry.model, entry.kind])).toEqual([['a', 'ready'], [null, 'engineStarted']])
  })

  it('follows pushed events', async () => {
    await tell()
    last().receive({ type: 'event', name: 'model.changed', value: modelSummary('b', { state: 'LOADING', changedAt: 4000 }) })
    last().receive({ type: 'event', name: 'statistics.sample', value: serverSample(3) })
    last().receive({ type: 'event', name: 'log.appended', value: [logEntry(2)] })
    last().receive({ type: 'event', name: 'model.removed', value: { name: 'a' } })
    const state = useConsole.getState()
    expect(state.models?.map((model) => [model.name, model.state])).toEqual([['b', 'LOADING']])
    expect(state.samples.length).toBe(3)
    expect(state.log.length).toBe(2)
    expect(state.loadStartedAt).toEqual({ b: 4000 })
  })

  it('keeps what events told after the part of the state that they change', async () => {
    last().open()
    last().answer('server.status', serverStatus({ instanceId: 'first' }))
    last().answer('repository.models', [modelSummary('a', { state: 'LOADING' }), modelSummary('gone')])
    await vi.advanceTimersByTimeAsync(0)
    last().receive({ type: 'event', name: 'model.changed', value: modelSummary('a', { state: 'READY', changedAt: 4000 }) })
    last().receive({ type: 'event', name: 'model.removed', value: { name: 'gone' } })
    last().receive({ type: 'event', name: 'server.statusChanged', value: serverStatus({ instanceId: 'first', state: 'EXITING' }) })
    last().answer('statistics.history', [serverSample(1)])
    await vi.advanceTimersByTimeAsync(0)
    last().receive({ type: 'event', name: 'statistics.sample', value: serverSample(2) })
    last().answer('log.recent', [logEntry(1)])
    await vi.advanceTimersByTimeAsync(0)
    const state = useConsole.getState()
    expect(state.models?.map((model) => [model.name, model.state])).toEqual([['a', 'READY']])
    expect(state).toMatchObject({ lostAt: null, status: { state: 'EXITING' } })
    expect(state.samples.map((sample) => sample.time)).toEqual([1000, 2000])
  })

  it('keeps the old figures with their age while it reconnects, and fetches again after', async () => {
    await tell()
    last().drop()
    expect(useConsole.getState()).toMatchObject({ connection: 'reconnecting', lostAt: 5000, status: { instanceId: 'first' } })
    await vi.advanceTimersByTimeAsync(250)
    await tell('second', [modelSummary('c')])
    const state = useConsole.getState()
    expect(state).toMatchObject({ connection: 'open', lostAt: null, status: { instanceId: 'second' } })
    expect(state.models?.map((model) => model.name)).toEqual(['c'])
    expect(state.activity.map((entry) => entry.kind)).toEqual(['engineStarted', 'connectionLost', 'ready', 'engineStarted'])
  })
})

describe('withModel', () => {
  const base: ConsoleState = { ...initialConsoleState, models: [modelSummary('a')] }

  it('measures a load from its start to its end, through all its stages', () => {
    const started = { ...base, ...withModel(base, modelSummary('a', { state: 'LOADING', stage: loadStage('readingConfig'), changedAt: 2000 }), 2100) }
    const staged = { ...started, ...withModel(started, modelSummary('a', { state: 'LOADING', stage: loadStage('creatingInstance'), changedAt: 2500 }), 2600) }
    const done = { ...staged, ...withModel(staged, modelSummary('a', { state: 'READY', changedAt: 4000 }), 4000) }
    expect(staged.loadStartedAt).toEqual({ a: 2000 })
    expect(done.loadStartedAt).toEqual({})
    expect(done.activity.map((entry) => [entry.kind, entry.milliseconds])).toEqual([['ready', 2000], ['loading', null]])
  })

  it('says nothing of a new model that is merely on disk', () => {
    expect(withModel(base, modelSummary('b'), 1).activity).toBeUndefined()
  })

  it('says a failure again when a second load fails', () => {
    const failed = { ...base, ...withModel(base, modelSummary('a', { state: 'UNAVAILABLE', reason: 'bad', changedAt: 2000 }), 2000) }
    const again = { ...failed, ...withModel(failed, modelSummary('a', { state: 'UNAVAILABLE', reason: 'bad', changedAt: 3000 }), 3000) }
    expect(again.activity.map((entry) => entry.kind)).toEqual(['failed', 'failed'])
  })
})

describe('appending', () => {
  it('never repeats a log entry, and goes on when a new process counts from one again', () => {
    const log = withLog([logEntry(1), logEntry(2)], [logEntry(2), logEntry(3)])
    expect(log.map((entry) => entry.sequence)).toEqual([1, 2, 3])
    expect(withLog(log, [logEntry(1, 9000)]).map((entry) => entry.sequence)).toEqual([1, 2, 3, 1])
  })

  it('keeps two minutes of samples, each once', () => {
    const samples = Array.from({ length: 130 }, (_, second) => serverSample(second + 1)).reduce<ReturnType<typeof withSamples>>((all, sample) => withSamples(withSamples(all, [sample]), [sample]), [])
    expect(samples.length).toBe(120)
    expect(samples[0]?.time).toBe(11_000)
  })
})
