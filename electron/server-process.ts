/**
 * Starts, watches and restarts the server process. Knows no Electron: whoever makes it gives it a way to start a child, a clock, and
 * takes the states it publishes.
 *
 * A crash is followed by a restart after 1, 2, 4, then 8 s. After five crashes in a row the supervisor gives up with the reason. A process
 * that stayed healthy for a minute clears the count.
 */
import type { ServerProcessState, ServerRestart } from '../server-core/contract/console-api.ts'
import type { MessageFromServer, MessageToServer, PortFallback, Ports, ServerStartArguments, ServingStatus } from './server-messages.ts'

export const MAXIMUM_QUICK_CRASHES = 5
export const HEALTHY_AFTER_MILLISECONDS = 60_000
export const START_TIMEOUT_MILLISECONDS = 30_000
/** How long a stop may drain before the process is killed. */
export const STOP_TIMEOUT_MILLISECONDS = 35_000

export interface ServerChild {
  readonly processId: number
  send(message: MessageToServer): void
  /** SIGKILL. */
  kill(): void
}

export interface ServerChildEvents {
  message(message: MessageFromServer): void
  /** Exactly once. `detail`: the last words of the process on standard error, '' where it said nothing. */
  exit(code: number, detail: string): void
}

export interface Clock {
  setTimeout(callback: () => void, milliseconds: number): unknown
  clearTimeout(handle: unknown): void
}

export interface ServerProcessPorts {
  startChild(events: ServerChildEvents): ServerChild
  /** Asked before every start, so that a restart opens what was open last. */
  startArguments(): ServerStartArguments
  readonly clock: Clock
  stateChanged(state: ServerProcessState): void
  statusChanged?(status: ServingStatus): void
  /** The server asks to be stopped and started again otherwise; whoever is told calls `restart` when the arguments are ready. */
  restartAsked?(change: ServerRestart, readyModels: readonly string[]): void
}

/** Where a running server listens. */
export interface RunningServer {
  readonly ports: Ports
  readonly fallbacks: readonly PortFallback[]
}

/** Milliseconds to wait before the restart that follows the given crash in a row (1 = first): 1, 2, 4, 8, 8... s. */
export function restartDelay(crashesInARow: number): number {
  return Math.min(8, 2 ** (crashesInARow - 1)) * 1000
}

export class ServerProcess {
  readonly #ports: ServerProcessPorts
  #state: ServerProcessState = { kind: 'stopped' }
  #child: ServerChild | null = null
  #running: RunningServer | null = null
  #status: ServingStatus = { repositoryPaths: [], readyModels: [] }
  #crashesInARow = 0
  #failure = ''
  #isFailureFinal = false
  #timer: unknown = undefined
  #waiting: { resolve(server: RunningServer): void; reject(error: Error): void }[] = []
  #stopping: Promise<void> | null = null
  #stopped: (() => void) | null = null

  constructor(ports: ServerProcessPorts) {
    this.#ports = ports
  }

  get state(): ServerProcessState { return this.#state }

  get status(): ServingStatus { return this.#status }

  /** Starts the process; also a new chance after the supervisor gave up. Does nothing while one is there. */
  start(): void {
    if (this.#child !== null || this.#state.kind === 'restarting' || this.#stopping !== null) return
    this.#crashesInARow = 0
    this.#startChild()
  }

  /** Where the server listens; waits while it starts or restarts. Rejects with the reason once the supervisor gave up. */
  running(): Promise<RunningServer> {
    if (this.#running !== null) return Promise.resolve(this.#running)
    if (this.#state.kind === 'failed') return Promise.reject(new Error(this.#state.reason))
    if (this.#state.kind === 'stopped') return Promise.reject(new Error('The server process is stopped.'))
    return new Promise((resolve, reject) => { this.#waiting.push({ resolve, reject }) })
  }

  /** Drains and ends the process; kills it when draining takes too long. Resolves when it is gone. */
  stop(): Promise<void> {
    this.#stopping ??= this.#drain().then(() => {
      this.#stopping = null
      this.#publish({ kind: 'stopped' })
      this.#settleWaiting(new Error('The server process was stopped.'))
    })
    return this.#stopping
  }

  /** Drains and ends the process, then starts another. One that was stopped for good meanwhile stays so. */
  async restart(): Promise<void> {
    if (this.#stopping !== null) return
    await this.stop()
    this.start()
  }

  /** Ends the process at once, for the moment the application itself has to go. */
  kill(): void {
    this.#clearTimer()
    this.#child?.kill()
  }

  #startChild(): void {
    this.#failure = ''
    this.#isFailureFinal = false
    this.#publish({ kind: 'starting' })
    const events: ServerChildEvents = {
      message: (message) => { if (child === this.#child) this.#received(message) },
      exit: (code, detail) => { if (child === this.#child) this.#exited(code, detail) },
    }
    const child = this.#ports.startChild(events)
    this.#child = child
    this.#setTimer(START_TIMEOUT_MILLISECONDS, () => {
      this.#failure = `The server process did not answer within ${START_TIMEOUT_MILLISECONDS / 1000} s of its start.`
      child.kill()
    })
  }

  #received(message: MessageFromServer): void {
    switch (message.kind) {
      case 'loaded':
        this.#child?.send({ kind: 'start', arguments: this.#ports.startArguments() })
        return
      case 'ready': {
        if (this.#stopping !== null) return
        this.#running = { ports: message.ports, fallbacks: message.fallbacks }
        this.#setTimer(HEALTHY_AFTER_MILLISECONDS, () => { this.#crashesInARow = 0 })
        this.#publish({
          kind: 'running',
          processId: this.#child?.processId ?? 0,
          ...(message.fallbacks.length > 0 ? { portFallbacks: message.fallbacks } : {}),
        })
        this.#setStatus(message.status)
        this.#settleWaiting(this.#running)
        return
      }
      case 'status':
        this.#setStatus(message.status)
        return
      case 'restart':
        this.#ports.restartAsked?.(message.change, message.readyModels)
        return
      case 'failed':
        this.#failure = message.reason
        this.#isFailureFinal = message.isFinal
        return
    }
  }

  #exited(code: number, detail: string): void {
    this.#clearTimer()
    this.#child = null
    this.#running = null
    this.#setStatus({ ...this.#status, readyModels: [] })
    if (this.#stopped !== null) {
      this.#stopped()
      return
    }
    const reason = this.#failure !== '' ? this.#failure : `The server process ended with code ${code}${detail === '' ? '.' : `: ${detail}`}`
    if (this.#isFailureFinal) {
      this.#giveUp(reason)
      return
    }
    this.#crashesInARow++
    if (this.#crashesInARow >= MAXIMUM_QUICK_CRASHES) {
      this.#giveUp(`${reason} It ended ${this.#crashesInARow} times in a row and is not started again.`)
      return
    }
    const delayMilliseconds = restartDelay(this.#crashesInARow)
    this.#publish({ kind: 'restarting', attempt: this.#crashesInARow, delayMilliseconds, reason })
    this.#setTimer(delayMilliseconds, () => { this.#startChild() })
  }

  #giveUp(reason: string): void {
    this.#publish({ kind: 'failed', reason })
    this.#settleWaiting(new Error(reason))
  }

  async #drain(): Promise<void> {
    this.#clearTimer()
    const child = this.#child
    if (child === null) return
    const gone = new Promise<void>((resolve) => { this.#stopped = resolve })
    child.send({ kind: 'stop' })
    this.#setTimer(STOP_TIMEOUT_MILLISECONDS, () => { child.kill() })
    await gone
    this.#stopped = null
  }

  #setStatus(status: ServingStatus): void {
    this.#status = status
    this.#ports.statusChanged?.(status)
  }

  #settleWaiting(outcome: RunningServer | Error): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { resolve, reject } of waiting) {
      if (outcome instanceof Error) reject(outcome)
      else resolve(outcome)
    }
  }

  #publish(state: ServerProcessState): void {
    this.#state = state
    this.#ports.stateChanged(state)
  }

  /** One timer at a time: the start timeout, the healthy minute, the back-off, or the stop timeout. */
  #setTimer(milliseconds: number, callback: () => void): void {
    this.#clearTimer()
    this.#timer = this.#ports.clock.setTimeout(callback, milliseconds)
  }

  #clearTimer(): void {
    if (this.#timer !== undefined) this.#ports.clock.clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
