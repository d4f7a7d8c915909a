/** One open window: takes its commands, pushes events to it, and never lets a slow window hold the server's memory. */
import type { RawData, WebSocket } from 'ws'
import type { ClientMessage, ConsoleEventName, ConsoleEvents, LogEntry, ServerMessage } from '../../contract/console-api.ts'
import { decodeConsoleMessage, encodeConsoleMessage } from '../../contract/console-codec.ts'
import type { Logger } from '../../logger.ts'
import { ServerError, toErrorValue } from '../../server-error.ts'
import type { ConsoleCaller, ConsoleCommandHandlers } from './console-commands.ts'

const LOG_BATCH_MILLISECONDS = 100
/** A window that leaves this much unread is cut off; it reconnects and starts from fresh state. */
const MAXIMUM_UNSENT_BYTES = 64 * 1024 * 1024

export class ConsoleSession implements ConsoleCaller {
  readonly #socket: WebSocket
  readonly #handlers: ConsoleCommandHandlers
  readonly #log: Logger
  #pendingLog: LogEntry[] = []
  #logTimer: NodeJS.Timeout | undefined
  readonly #closing = new AbortController()

  constructor(socket: WebSocket, handlers: ConsoleCommandHandlers, log: Logger) {
    this.#socket = socket
    this.#handlers = handlers
    this.#log = log
    socket.on('message', (data, isBinary) => { void this.#receive(data, isBinary) })
    socket.on('error', (error) => { log.warning('console connection failed', { reason: error.message }) })
    socket.on('close', () => {
      clearTimeout(this.#logTimer)
      this.#closing.abort()
    })
  }

  /** Fires when the connection ends. */
  get closed(): AbortSignal { return this.#closing.signal }

  sendEvent<K extends ConsoleEventName>(name: K, value: ConsoleEvents[K]): void {
    this.#send({ type: 'event', name, value })
  }

  /** Entries leave together, at most every 100 ms. */
  appendLog(entry: LogEntry): void {
    this.#pendingLog.push(entry)
    this.#logTimer ??= setTimeout(() => {
      this.#logTimer = undefined
      const entries = this.#pendingLog
      this.#pendingLog = []
      this.sendEvent('log.appended', entries)
    }, LOG_BATCH_MILLISECONDS)
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason)
  }

  async #receive(data: RawData, isBinary: boolean): Promise<void> {
    let message: ClientMessage
    try {
      message = clientMessage(decodeConsoleMessage(isBinary ? toBytes(data) : toBytes(data).toString('utf8')))
    } catch (error) {
      this.#log.warning('console message refused', { reason: toErrorValue(error).message })
      this.close(1008, 'not a console message')
      return
    }
    try {
      if (!Object.hasOwn(this.#handlers, message.name)) throw new ServerError('INVALID_ARG', `there is no console command '${message.name}'`)
      const answer: unknown = this.#handlers[message.name](message.args, this)
      // What is known at once leaves at once: an event that follows must not overtake the older state in the answer.
      const value = answer instanceof Promise ? await answer as unknown : answer
      this.#send({ type: 'result', id: message.id, ok: true, value })
    } catch (error) {
      const reply = toErrorValue(error)
      if (!(error instanceof ServerError)) this.#log.error('console command failed', { command: message.name, reason: reply.message })
      this.#send({ type: 'result', id: message.id, ok: false, error: reply })
    }
  }

  #send(message: ServerMessage): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    if (this.#socket.bufferedAmount > MAXIMUM_UNSENT_BYTES) {
      this.#log.warning('console window reads too slowly: connection cut', { unsentBytes: this.#socket.bufferedAmount })
      this.#socket.terminate()
      return
    }
    this.#socket.send(encodeConsoleMessage(message))
  }
}

function toBytes(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data)
  return data instanceof ArrayBuffer ? Buffer.from(data) : data
}

function clientMessage(value: unknown): ClientMessage {
  const message = value as Partial<ClientMessage> | null
  if (message === null || typeof message !== 'object' || message.type !== 'command' || !Number.isSafeInteger(message.id) || typeof message.name !== 'string') {
    throw new ServerError('INVALID_ARG', 'expected { type: "command", id, name, args }')
  }
  return message as ClientMessage
}
