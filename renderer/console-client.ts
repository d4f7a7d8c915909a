/**
 * The only user of the console WebSocket: sends commands, hands out events, and keeps itself connected. A command is rejected with
 * `ConsoleError` when the server says no or when the connection ends before the answer; it has no other time limit.
 */
import { decodeConsoleMessage, encodeConsoleMessage } from '../server-core/contract/console-codec.ts'
import { CONSOLE_SOCKET_PATH } from '../server-core/contract/console-api.ts'
import type { ClientMessage, CommandResult, ConsoleCommandName, ConsoleCommands, ConsoleEventName, ConsoleEvents, ServerMessage } from '../server-core/contract/console-api.ts'
import type { ErrorKind } from '../server-core/contract/errors.ts'
import { desktopApi } from './lib/desktop-api.ts'

/** 'connecting': never connected yet; 'reconnecting': was connected, trying again. */
export type ConnectionState = 'connecting' | 'open' | 'reconnecting'

export class ConsoleError extends Error {
  readonly kind: ErrorKind
  /** True when the connection ended before the answer: what the command did is unknown. */
  readonly isDisconnect: boolean
  constructor(kind: ErrorKind, message: string, isDisconnect = false) {
    super(message)
    this.name = 'ConsoleError'
    this.kind = kind
    this.isDisconnect = isDisconnect
  }
}

/** Where to connect; asked again before every attempt, because a restarted server may listen elsewhere. */
export async function consoleAddress(): Promise<string> {
  const desktop = desktopApi()
  if (desktop) {
    const { url, token } = await desktop.connection()
    const address = new URL(url)
    address.searchParams.set('token', token)
    return address.href
  }
  const address = new URL(CONSOLE_SOCKET_PATH, window.location.href)
  address.protocol = window.location.protocol === 'https:' ? 'wss:' : 'ws:'
  return address.href
}

export interface ConsoleClientOptions {
  readonly address?: () => Promise<string>
  readonly createSocket?: (address: string) => WebSocket
  readonly firstDelayMilliseconds?: number
  readonly lastDelayMilliseconds?: number
}

type Listener = (value: unknown) => void
interface Pending { readonly resolve: (value: unknown) => void; readonly reject: (error: ConsoleError) => void }

export class ConsoleClient {
  #state: ConnectionState = 'connecting'
  #socket: WebSocket | null = null
  #nextId = 1
  #failedAttempts = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #stopped = true
  /** Rises with every attempt, so that an answer of an older one is not taken for the current one. */
  #attempt = 0
  readonly #pending = new Map<number, Pending>()
  readonly #listeners = new Map<ConsoleEventName, Set<Listener>>()
  readonly #stateListeners = new Set<(state: ConnectionState, failedAttempts: number) => void>()
  readonly #address: () => Promise<string>
  readonly #createSocket: (address: string) => WebSocket
  readonly #firstDelay: number
  readonly #lastDelay: number

  constructor(options: ConsoleClientOptions = {}) {
    this.#address = options.address ?? consoleAddress
    this.#createSocket = options.createSocket ?? ((address) => new WebSocket(address))
    this.#firstDelay = options.firstDelayMilliseconds ?? 250
    this.#lastDelay = options.lastDelayMilliseconds ?? 4000
  }

  get state(): ConnectionState {
    return this.#state
  }

  start(): void {
    if (!this.#stopped) return
    this.#stopped = false
    void this.#connect()
  }

  stop(): void {
    this.#stopped = true
    this.#attempt++
    clearTimeout(this.#timer)
    this.#socket?.close()
    this.#socket = null
    this.#rejectPending()
  }

  /** Tries at once instead of waiting for the next turn; does nothing while connected. */
  retryNow(): void {
    if (this.#stopped || this.#socket !== null) return
    clearTimeout(this.#timer)
    void this.#connect()
  }

  /** @throws ConsoleError with the server's kind and message, or UNAVAILABLE when there is no connection */
  command<K extends ConsoleCommandName>(name: K, ...args: Parameters<ConsoleCommands[K]>): Promise<CommandResult<K>> {
    const socket = this.#socket
    if (socket === null || this.#state !== 'open') {
      return Promise.reject(new ConsoleError('UNAVAILABLE', `not connected to the server: ${name} was not sent`, true))
    }
    const id = this.#nextId++
    const message: ClientMessage = args.length === 0 ? { type: 'command', id, name } : { type: 'command', id, name, args: args[0] }
    return new Promise<CommandResult<K>>((resolve, reject) => {
      this.#pending.set(id, { resolve: (value) => resolve(value as CommandResult<K>), reject })
      socket.send(encodeConsoleMessage(message))
    })
  }

  /** Subscribes to a pushed event. Returns the unsubscribe function. */
  on<K extends ConsoleEventName>(name: K, listener: (value: ConsoleEvents[K]) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set<Listener>()
    this.#listeners.set(name, listeners)
    const entry: Listener = (value) => listener(value as ConsoleEvents[K])
    listeners.add(entry)
    return () => void listeners.delete(entry)
  }

  /** Told about every change of the connection, with the number of failed attempts in a row. Returns the unsubscribe function. */
  onState(listener: (state: ConnectionState, failedAttempts: number) => void): () => void {
    this.#stateListeners.add(listener)
    return () => void this.#stateListeners.delete(listener)
  }

  async #connect(): Promise<void> {
    const attempt = ++this.#attempt
    let socket: WebSocket
    try {
      const address = await this.#address()
      if (attempt !== this.#attempt) return
      socket = this.#createSocket(address)
    } catch {
      // The shell has no address yet (its server process is starting): the same as a refused connection.
      if (attempt === this.#attempt) this.#retryLater()
      return
    }
    socket.binaryType = 'arraybuffer'
    this.#socket = socket
    socket.addEventListener('open', () => {
      if (attempt !== this.#attempt) return
      this.#failedAttempts = 0
      this.#setState('open')
    })
    socket.addEventListener('message', (event: MessageEvent<string | ArrayBuffer>) => {
      if (attempt === this.#attempt) this.#receive(event.data)
    })
    socket.addEventListener('close', () => {
      if (attempt !== this.#attempt) return
      this.#socket = null
      this.#rejectPending()
      this.#retryLater()
    })
  }

  #retryLater(): void {
    const delay = Math.min(this.#lastDelay, this.#firstDelay * 2 ** this.#failedAttempts)
    this.#failedAttempts++
    this.#setState(this.#state === 'connecting' ? 'connecting' : 'reconnecting')
    this.#timer = setTimeout(() => void this.#connect(), delay)
  }

  #receive(data: string | ArrayBuffer): void {
    const message = decodeConsoleMessage(typeof data === 'string' ? data : new Uint8Array(data)) as ServerMessage
    if (message.type === 'event') {
      for (const listener of this.#listeners.get(message.name) ?? []) listener(message.value)
      return
    }
    const pending = this.#pending.get(message.id)
    if (!pending) return
    this.#pending.delete(message.id)
    if (message.ok) pending.resolve(message.value)
    else pending.reject(new ConsoleError(message.error.kind, message.error.message))
  }

  #rejectPending(): void {
    const lost = [...this.#pending.values()]
    this.#pending.clear()
    for (const { reject } of lost) reject(new ConsoleError('UNAVAILABLE', 'the connection to the server ended before it answered', true))
  }

  #setState(state: ConnectionState): void {
    this.#state = state
    for (const listener of this.#stateListeners) listener(state, this.#failedAttempts)
  }
}

/** The window's one connection; `main.tsx` starts it. */
export const consoleClient = new ConsoleClient()

/** Sends a command over the window's connection. */
export function command<K extends ConsoleCommandName>(name: K, ...args: Parameters<ConsoleCommands[K]>): Promise<CommandResult<K>> {
  return consoleClient.command(name, ...args)
}
