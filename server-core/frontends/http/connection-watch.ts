/** Knows every connection: which have a request in flight (for draining) and which make no progress (slow or stalled clients). */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { errorBody, type HttpExchange } from './http-exchange.ts'

/** A client counts as stuck after this many checks without progress. */
const CHECKS_UNTIL_STUCK = 4

interface ConnectionState {
  /** Answers not yet written, in the order of their requests. */
  readonly responses: ServerResponse[]
  /** The last request that began: its body may still be arriving, even after it was answered early. That of every request before it is here. */
  exchange: HttpExchange | undefined
  /** Bytes taken by the client and bytes received at the last check, and checks since something moved that should have. */
  bytesSent: number
  bytesRead: number
  stalledChecks: number
}

export class ConnectionWatch {
  readonly #connections = new Map<Socket, ConnectionState>()
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
    this.#connections.set(socket, { responses: [], exchange: undefined, bytesSent: 0, bytesRead: 0, stalledChecks: 0 })
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
      const request = this.#connections.get(socket)?.exchange?.request
      if (request === undefined || request.complete || request.destroyed) { destroySoon(); return }
      socket.end()
      request.resume()
      const timer = setTimeout(destroySoon, this.#checkMilliseconds * CHECKS_UNTIL_STUCK)
      request.once('end', destroySoon)
      socket.once('close', () => { clearTimeout(timer) })
    }
  }

  /** Counts the request until its answer is written or its connection is gone, which the exchange is told. */
  beginExchange(exchange: HttpExchange): void {
    const { request, response } = exchange
    const { socket } = request
    const state = this.#connections.get(socket)
    if (this.#isDraining) response.shouldKeepAlive = false
    if (state !== undefined) {
      state.exchange = exchange
      state.responses.push(response)
    }
    // The only listener of most answers.
    response.on('close', () => {
      if (!response.writableFinished) exchange.onGone?.()
      if (state === undefined) return
      const index = state.responses.indexOf(response)
      if (index >= 0) state.responses.splice(index, 1)
      // Its body would be held as long as the connection idles.
      if (state.exchange === exchange && request.complete) state.exchange = undefined
      if (this.#isDraining && state.responses.length === 0) socket.destroySoon()
    })
  }

  /** Calls back once the requests that arrived whole on this connection are answered; at once when there are none. */
  whenAnswered(socket: Socket, proceed: () => void): void {
    const pending = (this.#connections.get(socket)?.responses ?? []).filter((response) => response.req.complete && !response.writableFinished)
    const last = pending.at(-1)
    if (last === undefined) proceed()
    else last.once('close', proceed)
  }

  /** From now on a connection ends with its last answer; idle ones end at once. */
  drain(): void {
    this.#isDraining = true
    for (const [socket, state] of this.#connections) {
      if (state.responses.length === 0) socket.destroy()
    }
  }

  destroyAll(): void {
    for (const socket of this.#connections.keys()) socket.destroy()
  }

  #check(): void {
    this.#onCheck()
    for (const { exchange } of this.#connections.values()) {
      if (exchange !== undefined && exchange.upload !== null && ++exchange.upload.idleChecks > CHECKS_UNTIL_STUCK) this.#endUpload(exchange)
    }
    for (const [socket, state] of this.#connections) {
      const bytesSent = socket.bytesWritten - socket.writableLength
      const isUnread = socket.writableLength > 0 && bytesSent === state.bytesSent
      const isUnsent = state.exchange?.request.complete === false && socket.bytesRead === state.bytesRead
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
