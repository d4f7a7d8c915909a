import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ConsoleClient, ConsoleError } from './console-client.ts'
import type { ConnectionState } from './console-client.ts'
import { FakeWebSocket } from './testing/fake-web-socket.ts'
import { modelSummary } from './testing/models.ts'

describe('ConsoleClient', () => {
  let sockets: FakeWebSocket[]
  let states: ConnectionState[]
  let asked: number
  let client: ConsoleClient
  const last = () => sockets[sockets.length - 1] as FakeWebSocket

  beforeEach(async () => {
    vi.useFakeTimers()
    sockets = []
    states = []
    asked = 0
    client = new ConsoleClient({
      address: () => Promise.resolve(`ws://127.0.0.1:${8600 + asked++}/console`),
      createSocket: (address) => {
        const socket = new FakeWebSocket(address)
        sockets.push(socket)
        return socket as unknown as WebSocket
      },
    })
    client.onState((state) => states.push(state))
    client.start()
    await vi.advanceTimersByTimeAsync(0)
  })

  afterEach(() => {
    client.stop()
    vi.useRealTimers()
  })

  it('answers each command with its own result, whatever the order', async () => {
    last().open()
    const first = client.command('model.detail', { name: 'a' })
    const second = client.command('log.recent', { count: 3 })
    const [one, two] = last().sent
    last().receive({ type: 'result', id: two?.id ?? 0, ok: true, value: ['second'] })
    last().receive({ type: 'result', id: one?.id ?? 0, ok: true, value: 'first' })
    expect(await first).toBe('first')
    expect(await second).toEqual(['second'])
    expect(one).toMatchObject({ type: 'command', name: 'model.detail', args: { name: 'a' } })
  })

  it('sends bytes in a binary frame', () => {
    last().open()
    void client.command('import.chunk', { importId: 'a', file: 0, offset: 0, data: new Uint8Array([1, 2, 3]) }).catch(() => {})
    expect(last().frames[0]).toBeInstanceOf(Uint8Array)
    expect(last().sent[0]?.args).toEqual({ importId: 'a', file: 0, offset: 0, data: new Uint8Array([1, 2, 3]) })
    expect(last().binaryType).toBe('arraybuffer')
  })

  it("rejects with the server's kind and message", async () => {
    last().open()
    const load = client.command('model.load', { name: 'a' })
    last().receive({ type: 'result', id: last().sent[0]?.id ?? 0, ok: false, error: { kind: 'NOT_FOUND', message: "no model 'a'" } })
    await expect(load).rejects.toMatchObject({ kind: 'NOT_FOUND', message: "no model 'a'", isDisconnect: false })
  })

  it('hands events to their listeners until they unsubscribe', () => {
    last().open()
    const seen: string[] = []
    const stop = client.on('model.changed', (model) => seen.push(model.name))
    last().receive({ type: 'event', name: 'model.changed', value: modelSummary('a') })
    stop()
    last().receive({ type: 'event', name: 'model.changed', value: modelSummary('b') })
    expect(seen).toEqual(['a'])
  })

  it('rejects what waits when the connection ends, and what is asked without one', async () => {
    last().open()
    const load = client.command('model.load', { name: 'a' })
    last().drop()
    await expect(load).rejects.toMatchObject({ kind: 'UNAVAILABLE', isDisconnect: true })
    await expect(client.command('server.status')).rejects.toBeInstanceOf(ConsoleError)
  })

  it('has no time limit of its own on a command', async () => {
    last().open()
    let isSettled = false
    const load = client.command('model.load', { name: 'slow' }).finally(() => { isSettled = true })
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(isSettled).toBe(false)
    last().receive({ type: 'result', id: last().sent[0]?.id ?? 0, ok: true, value: null })
    await load
  })

  it('reconnects with a delay that doubles from a quarter second to four, asking for the address each time', async () => {
    last().open()
    last().drop()
    expect(states).toEqual(['open', 'reconnecting'])
    for (const delay of [250, 500, 1000, 2000, 4000, 4000]) {
      const before = sockets.length
      await vi.advanceTimersByTimeAsync(delay - 1)
      expect(sockets.length).toBe(before)
      await vi.advanceTimersByTimeAsync(1)
      expect(sockets.length).toBe(before + 1)
      last().drop()
    }
    expect(last().address).toBe('ws://127.0.0.1:8606/console')
    await vi.advanceTimersByTimeAsync(4000)
    last().open()
    expect(client.state).toBe('open')
    last().drop()
    const before = sockets.length
    await vi.advanceTimersByTimeAsync(250)
    expect(sockets.length).toBe(before + 1)
  })

  it('says connecting, not reconnecting, while it never was connected', async () => {
    last().drop()
    await vi.advanceTimersByTimeAsync(250)
    last().drop()
    expect(states).toEqual(['connecting', 'connecting'])
  })

  it('tries again when there is no address yet', async () => {
    const tries: string[] = []
    const starting = new ConsoleClient({
      address: () => { tries.push('asked'); return tries.length < 3 ? Promise.reject(new Error('starting')) : Promise.resolve('ws://later/console') },
      createSocket: (address) => { tries.push(address); return new FakeWebSocket(address) as unknown as WebSocket },
    })
    starting.start()
    await vi.advanceTimersByTimeAsync(750)
    expect(tries).toEqual(['asked', 'asked', 'asked', 'ws://later/console'])
    starting.stop()
  })

  it('connects at once when told to, and not twice', async () => {
    last().open()
    last().drop()
    client.retryNow()
    await vi.advanceTimersByTimeAsync(0)
    expect(sockets.length).toBe(2)
    client.retryNow()
    await vi.advanceTimersByTimeAsync(250)
    expect(sockets.length).toBe(2)
  })
})
