/**
 * gRPC over node:http2: connections, calls, and how they end when the server stops. Knows the protocol between client and server, not the messages.
 * Why not the server of @grpc/grpc-js: docs/adr/0010.
 */
import { createSecureServer, createServer, type Http2SecureServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { Server as NetServer } from 'node:net'
import type { Logger } from '../../../logger.ts'
import { listen, logDraining, timerMilliseconds } from '../../frontend.ts'
import { BufferPool } from '../../buffer-pool.ts'
import { Connection, type ConnectionOptions } from './connection.ts'
import { GrpcCall } from './grpc-call.ts'
import { GRPC_STATUS, type GrpcStatus } from './grpc-status.ts'

/** PEM texts. */
export interface TlsOptions {
  readonly certificate: Buffer
  readonly key: Buffer
  /** Who must have signed the certificate of a client; null: any client may come, with or without one. */
  readonly clientRoot: Buffer | null
}

export interface GrpcServerOptions {
  readonly connection: ConnectionOptions
  readonly tls: TlsOptions | null
  /** Milliseconds that a message may go without a byte of it arriving. */
  readonly stallMilliseconds: number
  readonly log: Logger
}

/** Answers the calls of one path. */
export interface CallHandler {
  /** False: a stream, which counts its own work. */
  readonly isUnary: boolean
  handle(call: GrpcCall): void
}

/** Triton's words to calls that come while the server stops. */
export const SHUTTING_DOWN = 'GRPC server is shutting down and has stopped accepting new requests.'

/** What a client may have under way to one stream, and to all of a connection, before it waits for the server to take it. Bytes. */
const STREAM_WINDOW_BYTES = 4 * 2 ** 20
const CONNECTION_WINDOW_BYTES = 16 * 2 ** 20
/** DATA frames of clients that send larger ones when they may cost less than the 16 KiB that HTTP/2 starts with. */
const MAX_FRAME_BYTES = 2 ** 20
/** Buffers of messages that wait for the next ones. */
const POOL_BYTES = 64 * 2 ** 20
const MAX_HEADER_BYTES = 65_536
const MAX_CONCURRENT_CALLS = 65_536
const CHECKS_UNTIL_STALLED = 4
/** What connections get to send their last frames. */
const FAREWELL_MILLISECONDS = 500

/** What the last look at a call saw. */
interface CallProgress {
  bytesReceived: number
  stalledChecks: number
}

export class GrpcServer {
  readonly #handlers: ReadonlyMap<string, CallHandler>
  readonly #options: GrpcServerOptions
  readonly #http: Http2Server | Http2SecureServer
  readonly #connections = new Map<ServerHttp2Session, Connection>()
  readonly #pool = new BufferPool(POOL_BYTES)
  readonly #calls = new Map<GrpcCall, CallProgress>()
  #watch: NodeJS.Timeout | null = null
  #workCount = 0
  #isDraining = false
  #idle: (() => void) | null = null

  constructor(options: GrpcServerOptions, handlers: ReadonlyMap<string, CallHandler>) {
    this.#options = options
    this.#handlers = handlers
    this.#http = createHttp2Server(options.tls)
    this.#http.on('session', (session) => { this.#connected(session) })
    this.#http.on('stream', (stream, headers) => { this.#called(stream, headers) })
    this.#http.on('sessionError', (error) => { options.log.verbose(1, 'a gRPC connection failed', { error: error.message }) })
    this.#http.on('tlsClientError', (error: Error) => { options.log.verbose(1, 'a gRPC client could not be authenticated', { error: error.message }) })
  }

  get isDraining(): boolean { return this.#isDraining }

  /** Work that a stopping server waits for: unary calls, requests in streams. */
  workBegins(): void { this.#workCount++ }

  workEnds(): void {
    this.#workCount--
    if (this.#workCount === 0) this.#idle?.()
  }

  /** @throws ServerError UNAVAILABLE, INVALID_ARG that names the port and the flag */
  async listen(address: string, port: number, flag: string, reusePort = false): Promise<{ address: string; port: number }> {
    const bound = await listen(this.#http, address, port, flag, reusePort)
    this.#watch = setInterval(() => { this.#lookAround() }, Math.max(1, this.#options.stallMilliseconds / CHECKS_UNTIL_STALLED))
    this.#watch.unref()
    return bound
  }

  /** New connections and calls are refused, work in progress is waited for at most so long, then connections are cut. */
  async stop(timeoutSeconds: number): Promise<void> {
    this.#isDraining = true
    const endLog = logDraining(this.#options.log, timeoutSeconds, () => `${this.#workCount} gRPC service connections and inference handlers`)
    // That of net: http2's own would send GOAWAY, and a call on a live connection is to hear why it is refused.
    const closed = new Promise<void>((resolve) => { NetServer.prototype.close.call(this.#http, () => { resolve() }) })
    const isIdle = await this.#drained(timeoutSeconds)
    if (isIdle) {
      for (const call of this.#calls.keys()) call.end({ code: GRPC_STATUS.UNAVAILABLE, details: SHUTTING_DOWN })
      for (const connection of this.#connections.values()) connection.close()
      await this.#disconnected(FAREWELL_MILLISECONDS)
    }
    for (const connection of this.#connections.values()) connection.destroy()
    if (this.#watch !== null) clearInterval(this.#watch)
    endLog()
    await closed
  }

  /** @returns false: the time was over first */
  #drained(timeoutSeconds: number): Promise<boolean> {
    if (this.#workCount === 0) return Promise.resolve(true)
    return new Promise((resolve) => {
      const timer = setTimeout(() => { resolve(false) }, timerMilliseconds(timeoutSeconds))
      this.#idle = () => {
        clearTimeout(timer)
        resolve(true)
      }
    })
  }

  #disconnected(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      const check = () => {
        if (this.#connections.size > 0) return
        clearTimeout(timer)
        resolve()
      }
      for (const session of this.#connections.keys()) session.once('close', check)
      check()
    })
  }

  #connected(session: ServerHttp2Session): void {
    // Of a connection that came while the listening socket closed.
    if (this.#isDraining) {
      session.destroy()
      return
    }
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES)
    session.on('error', () => {}) // Reported as sessionError.
    const connection = new Connection(session, this.#options.connection)
    this.#connections.set(session, connection)
    session.once('close', () => { this.#connections.delete(session) })
  }

  #called(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const connection = this.#connections.get(stream.session as ServerHttp2Session)
    const contentType = headers['content-type'] ?? ''
    if (connection === undefined || !contentType.startsWith('application/grpc')) {
      stream.on('error', () => {})
      stream.respond({ ':status': 415 }, { endStream: true })
      return
    }
    const call = new GrpcCall(stream, headers, this.#pool, () => { connection.dataSent() })
    const handler = this.#isDraining ? undefined : this.#handlers.get(call.path)
    const isCounted = handler?.isUnary === true
    if (isCounted) this.workBegins()
    connection.callCount++
    this.#calls.set(call, { bytesReceived: 0, stalledChecks: 0 })
    stream.once('close', () => {
      connection.callCount--
      this.#calls.delete(call)
      if (isCounted) this.workEnds()
    })
    if (handler !== undefined) handler.handle(call)
    else if (this.#isDraining) refuse(call, { code: GRPC_STATUS.UNAVAILABLE, details: SHUTTING_DOWN })
    else refuse(call, { code: GRPC_STATUS.UNIMPLEMENTED, details: `The server does not implement the method ${call.path}` })
  }

  /** Ends calls whose client began a message and stopped sending, and frees what is not needed. */
  #lookAround(): void {
    this.#pool.trim()
    for (const [call, progress] of this.#calls) {
      if (!call.isReceiving || call.isPaused || call.bytesReceived !== progress.bytesReceived) progress.stalledChecks = 0
      else if (++progress.stalledChecks >= CHECKS_UNTIL_STALLED) {
        call.abort({ code: GRPC_STATUS.DEADLINE_EXCEEDED, details: `no byte of the request arrived for ${Math.round(this.#options.stallMilliseconds / 1000)} s` })
      }
      progress.bytesReceived = call.bytesReceived
    }
  }
}

function refuse(call: GrpcCall, status: GrpcStatus): void {
  call.start({ message: () => {}, halfClosed: () => {}, cancelled: () => {} })
  call.end(status)
}

function createHttp2Server(tls: TlsOptions | null): Http2Server | Http2SecureServer {
  const options = {
    // Bounds are those of messages and windows; this one would refuse calls because large answers are on their way.
    maxSessionMemory: Number.MAX_SAFE_INTEGER,
    settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES, maxFrameSize: MAX_FRAME_BYTES, maxConcurrentStreams: MAX_CONCURRENT_CALLS, maxHeaderListSize: MAX_HEADER_BYTES },
  }
  if (tls === null) return createServer(options)
  return createSecureServer({
    ...options, cert: tls.certificate, key: tls.key, minVersion: 'TLSv1.2',
    ...(tls.clientRoot === null ? {} : { ca: tls.clientRoot, requestCert: true, rejectUnauthorized: true }),
  })
}
