/** Knows every connection: which have a request in flight (for draining) and which make no progress (slow or stalled clients). */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { errorBody, type HttpExchange } from './http-exchange.ts'
import type { BodyCollector } from './request-body.ts'

/** A client counts as stuck after this many checks without progress. */
const CHECKS_UNTIL_STUCK = 4

interface ConnectionState {
  /** Answers not yet written, in the order of their requests. */
  readonly responses: Set<ServerResponse>
  /** The last request that began: its body may still be arriving, even after it was answered early. */
  request: IncomingMessage | undefined
  /** Bytes taken by the client and bytes received at the last check, and checks since something moved that should have. */
  bytesSent: number
  bytesRead: number
  stalledChecks: number
}

export class ConnectionWatch {
  readonly #connections = new Map<Socket, ConnectionState>()
  readonly #uploads = new Map<BodyCollector, HttpExchange>()
  readonly #checkMilliseconds: number
  readonly #onCheck: () => void
  #timer: NodeJS.Timeout | undefined
  #isDraining = false

  /** @param onCheck called with each look at the connections */
  constructor(idleTimeoutMilliseconds: number, onCheck: () => void = () => {}) {
    this.#onCheck = onCheck
    this.#checkMilliseconds = Math.max(1, Math.round(idleTimeoutMilliseconds / CHECKS_UNTIL_STUCK))
  }

  get connectionCount(): number { return this.#connections.size }

  start(): void {
    this.#timer = setInterval(() => { this.#check() }, this.#checkMilliseconds)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  addConnection(socket: Socket): void {
    this.#connections.set(socket, { responses: new Set(), request: undefined, bytesSent: 0, bytesRead: 0, stalledChecks: 0 })
    socket.once('close', () => { this.#connections.delete(socket) })
    this.#lingerOnEnd(socket)
  }

  /**
   * Ends a connection after an answer that came before the whole body did: closing it at once would make the system answer what still arrives with
   * a reset, which takes an answer from the client that it has not read yet. The rest is read and dropped, no longer than a stuck body may take.
   */
  #lingerOnEnd(socket: Socket): void {
    const destroySoon = socket.destroySoon.bind(socket)
    socket.destroySoon = () => {
      const request = this.#connections.get(socket)?.request
      if (request === undefined || request.complete || request.destroyed) { destroySoon(); return }
      socket.end()
      request.resume()
      const timer = setTimeout(destroySoon, this.#checkMilliseconds * CHECKS_UNTIL_STUCK)
      request.once('end', destroySoon)
      socket.once('close', () => { clearTimeout(timer) })
    }
  }

  /** Counts the request until its answer is written or its connection is gone. */
  beginExchange(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    const state = this.#connections.get(socket)
    if (this.#isDraining) response.shouldKeepAlive = false
    if (state === undefined) return
    state.request = request
    state.responses.add(response)
    response.once('close', () => {
      state.responses.delete(response)
      // Its body would be held as long as the connection idles.
      if (state.request === request && request.complete) state.request = undefined
      if (this.#isDraining && state.responses.size === 0) socket.destroySoon()
    })
  }

  /** Calls back once the requests that arrived whole on this connection are answered; at once when there are none. */
  whenAnswered(socket: Socket, proceed: () => void): void {
    const pending = [...(this.#connections.get(socket)?.responses ?? [])].filter((response) => response.req.complete && !response.writableFinished)
    const last = pending.at(-1)
    if (last === undefined) proceed()
    else last.once('close', proceed)
  }

  addUpload(collector: BodyCollector, exchange: HttpExchange): void {
    this.#uploads.set(collector, exchange)
  }

  removeUpload(collector: BodyCollector): void {
    this.#uploads.delete(collector)
  }

  /** From now on a connection ends with its last answer; idle ones end at once. */
  drain(): void {
    this.#isDraining = true
    for (const [socket, state] of this.#connections) {
      if (state.responses.size === 0) socket.destroy()
    }
  }

  destroyAll(): void {
    for (const socket of this.#connections.keys()) socket.destroy()
  }

  #check(): void {
    this.#onCheck()
    for (const [collector, exchange] of this.#uploads) {
      if (++collector.idleChecks > CHECKS_UNTIL_STUCK) this.#endUpload(exchange)
    }
    for (const [socket, state] of this.#connections) {
      const bytesSent = socket.bytesWritten - socket.writableLength
      const isUnread = socket.writableLength > 0 && bytesSent === state.bytesSent
      const isUnsent = state.request?.complete === false && socket.bytesRead === state.bytesRead
      state.bytesSent = bytesSent
      state.bytesRead = socket.bytesRead
      state.stalledChecks = isUnread || isUnsent ? state.stalledChecks + 1 : 0
      // One check more than an upload that can still be told 408.
      if (state.stalledChecks > CHECKS_UNTIL_STUCK + 1) socket.destroy()
    }
  }

  #endUpload({ request, response }: HttpExchange): void {
    const { socket } = request
    if (!response.headersSent) {
      response.shouldKeepAlive = false
      response.writeHead(408, ['Content-Type', 'text/plain'])
      response.end(errorBody('the request body stopped arriving'))
    }
    socket.destroySoon()
  }
}
