import { beforeEach, describe, expect, it } from 'vitest'
import type { ServerProcessState } from '../server-core/contract/console-api.ts'
import type { MessageToServer, Ports } from './server-messages.ts'
import { HEALTHY_AFTER_MILLISECONDS, restartDelay, ServerProcess, START_TIMEOUT_MILLISECONDS, STOP_TIMEOUT_MILLISECONDS } from './server-process.ts'
import type { ServerChildEvents } from './server-process.ts'

const PORTS: Ports = { http: 8000, grpc: 8001, metrics: 8002, console: 8600 }

/** Time that stands still until a test moves it. */
class FakeClock {
  now = 0
  private timers: { readonly at: number; readonly callback: () => void }[] = []

  setTimeout(callback: () => void, milliseconds: number): unknown {
    const timer = { at: this.now + milliseconds, callback }
    this.timers.push(timer)
    return timer
  }

  clearTimeout(handle: unknown): void { this.timers = this.timers.filter((timer) => timer !== handle) }

  advance(milliseconds: number): void {
    const end = this.now + milliseconds
    for (;;) {
      const next = this.timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.clearTimeout(next)
      this.now = next.at
      next.callback()
    }
    this.now = end
  }
}

class FakeChild {
  readonly processId: number
  readonly events: ServerChildEvents
  readonly sent: MessageToServer[] = []
  isKilled = false

  constructor(processId: number, events: ServerChildEvents) {
    this.processId = processId
    this.events = events
  }

  send(message: MessageToServer): void { this.sent.push(message) }
  kill(): void { this.isKilled = true }
  becomeReady(repositoryPaths: readonly string[] = []): void {
    this.events.message({ kind: 'ready', ports: PORTS, fallbacks: [], status: { repositoryPaths, readyModels: [] } })
  }
}

let clock: FakeClock
let children: FakeChild[]
let states: ServerProcessState[]
let asked: unknown[]
let server: ServerProcess

beforeEach(() => {
  clock = new FakeClock()
  children = []
  states = []
  asked = []
  server = new ServerProcess({
    startChild: (events) => {
      const child = new FakeChild(100 + children.length, events)
      children.push(child)
      return child
    },
    startArguments: () => ({ repositoryPaths: server.status.repositoryPaths, ports: PORTS, commandLine: [], loadModels: [], consoleToken: 't', rendererDirectory: '/r', dataDirectory: '/d' }),
    clock,
    stateChanged: (state) => { states.push(state) },
    restartAsked: (...args) => { asked.push(args) },
  })
})

function child(): FakeChild {
  const last = children.at(-1)
  if (last === undefined) throw new Error('no child was started')
  return last
}

describe('server process', () => {
  it('sends the arguments once the process has loaded, and says where it listens', async () => {
    server.start()
    const running = server.running()
    expect(child().sent).toEqual([])
    child().events.message({ kind: 'loaded' })
    expect(child().sent[0]).toMatchObject({ kind: 'start', arguments: { ports: PORTS } })
    child().becomeReady()
    expect(await running).toEqual({ ports: PORTS, fallbacks: [] })
    expect(states).toEqual([{ kind: 'starting' }, { kind: 'running', processId: 100 }])
  })

  it('tells which ports were in use', () => {
    server.start()
    const fallbacks = [{ name: 'http' as const, requested: 8000, used: 41234 }]
    child().events.message({ kind: 'ready', ports: { ...PORTS, http: 41234 }, fallbacks, status: { repositoryPaths: [], readyModels: [] } })
    expect(server.state).toEqual({ kind: 'running', processId: 100, portFallbacks: fallbacks })
  })

  it('starts again otherwise when the server asks for it, after it has drained', async () => {
    server.start()
    child().becomeReady()
    child().events.message({ kind: 'restart', change: { npuSource: 'simulated' }, readyModels: ['m'] })
    expect(asked).toEqual([[{ npuSource: 'simulated' }, ['m']]])
    const restarted = server.restart()
    expect(child().sent.at(-1)).toEqual({ kind: 'stop' })
    child().events.exit(0, '')
    await restarted
    expect(children).toHaveLength(2)
    child().becomeReady()
    expect(states.map(({ kind }) => kind)).toEqual(['starting', 'running', 'stopped', 'starting', 'running'])
  })

  it('stays stopped where it was being stopped already', async () => {
    server.start()
    child().becomeReady()
    const stopped = server.stop()
    const restarted = server.restart()
    child().events.exit(0, '')
    await Promise.all([stopped, restarted])
    expect(children).toHaveLength(1)
    expect(server.state).toEqual({ kind: 'stopped' })
  })

  it('restarts after 1, 2, 4 and 8 s, and gives up after the fifth crash in a row', () => {
    server.start()
    for (const [attempt, delay] of [[1, 1000], [2, 2000], [3, 4000], [4, 8000]] as const) {
      child().becomeReady()
      child().events.exit(137, 'out of memory')
      expect(server.state).toEqual({ kind: 'restarting', attempt, delayMilliseconds: delay, reason: 'The server process ended with code 137: out of memory' })
      clock.advance(delay - 1)
      expect(children).toHaveLength(attempt)
      clock.advance(1)
      expect(children).toHaveLength(attempt + 1)
    }
    child().events.exit(137, '')
    expect(server.state).toEqual({ kind: 'failed', reason: 'The server process ended with code 137. It ended 5 times in a row and is not started again.' })
    clock.advance(3_600_000)
    expect(children).toHaveLength(5)
  })

  it('never waits longer than 8 s', () => {
    expect([1, 2, 3, 4, 5, 9].map(restartDelay)).toEqual([1000, 2000, 4000, 8000, 8000, 8000])
  })

  it('forgets crashes after a healthy minute, not before', () => {
    server.start()
    child().becomeReady()
    child().events.exit(1, '')
    clock.advance(1000)
    child().becomeReady()
    clock.advance(HEALTHY_AFTER_MILLISECONDS - 1)
    child().events.exit(1, '')
    expect(server.state).toMatchObject({ attempt: 2 })
    clock.advance(2000)
    child().becomeReady()
    clock.advance(HEALTHY_AFTER_MILLISECONDS)
    child().events.exit(1, '')
    expect(server.state).toMatchObject({ attempt: 1, delayMilliseconds: 1000 })
  })

  it('gives the reason of a failed start instead of the exit code', () => {
    server.start()
    child().events.message({ kind: 'failed', reason: 'no such repository', isFinal: false })
    child().events.exit(1, 'noise')
    expect(server.state).toMatchObject({ kind: 'restarting', reason: 'no such repository' })
  })

  it('gives up at once where another try would fail the same way', () => {
    server.start()
    child().events.message({ kind: 'failed', reason: 'Bad option: "--http-port".', isFinal: true })
    child().events.exit(1, '')
    expect(server.state).toEqual({ kind: 'failed', reason: 'Bad option: "--http-port".' })
    clock.advance(60_000)
    expect(children).toHaveLength(1)
    server.start()
    child().events.exit(1, '')
    expect(server.state.kind).toBe('restarting')
  })

  it('kills a process that does not answer its start, and counts that as a crash', () => {
    server.start()
    clock.advance(START_TIMEOUT_MILLISECONDS)
    expect(child().isKilled).toBe(true)
    child().events.exit(137, '')
    expect(server.state).toMatchObject({ kind: 'restarting', attempt: 1, reason: 'The server process did not answer within 30 s of its start.' })
  })

  it('answers those who wait with the address after a restart, or the reason when it gives up', async () => {
    server.start()
    child().events.exit(1, '')
    const later = server.running()
    clock.advance(1000)
    child().becomeReady()
    expect((await later).ports.console).toBe(8600)

    for (let crash = 1; crash < 5; crash++) {
      child().events.exit(1, '')
      clock.advance(8000)
    }
    expect(server.state.kind).toBe('failed')
    await expect(server.running()).rejects.toThrow('ended 5 times in a row')
  })

  it('starts again on request after it gave up, with a fresh count', () => {
    server.start()
    for (let crash = 0; crash < 5; crash++) {
      child().events.exit(1, '')
      clock.advance(8000)
    }
    expect(server.state.kind).toBe('failed')
    server.start()
    expect(server.state.kind).toBe('starting')
    child().events.exit(1, '')
    expect(server.state).toMatchObject({ kind: 'restarting', attempt: 1 })
  })

  it('opens after a crash what was open before it', () => {
    server.start()
    child().becomeReady(['/models'])
    child().events.message({ kind: 'status', status: { repositoryPaths: ['/other'], readyModels: ['ocr'] } })
    expect(server.status.readyModels).toEqual(['ocr'])
    child().events.exit(1, '')
    expect(server.status.readyModels).toEqual([])
    clock.advance(1000)
    child().events.message({ kind: 'loaded' })
    expect(child().sent[0]).toMatchObject({ arguments: { repositoryPaths: ['/other'] } })
  })

  it('drains on stop and does not restart', async () => {
    server.start()
    child().becomeReady()
    const stopped = server.stop()
    expect(child().sent).toContainEqual({ kind: 'stop' })
    expect(child().isKilled).toBe(false)
    child().events.exit(0, '')
    await stopped
    expect(server.state).toEqual({ kind: 'stopped' })
    clock.advance(60_000)
    expect(children).toHaveLength(1)
  })

  it('kills a process that drains too long', async () => {
    server.start()
    child().becomeReady()
    const stopped = server.stop()
    clock.advance(STOP_TIMEOUT_MILLISECONDS)
    expect(child().isKilled).toBe(true)
    child().events.exit(137, '')
    await stopped
  })

  it('stops while it waits for a restart', async () => {
    server.start()
    child().events.exit(1, '')
    await server.stop()
    clock.advance(60_000)
    expect(children).toHaveLength(1)
    expect(server.state).toEqual({ kind: 'stopped' })
  })

  it('ignores what an old process still says', () => {
    server.start()
    const old = child()
    old.events.exit(1, '')
    clock.advance(1000)
    old.becomeReady()
    expect(server.state).toEqual({ kind: 'starting' })
  })
})
