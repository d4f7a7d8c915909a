/**
 * The HTTP/REST front end (port 8000): node:http, own routing (protocol section 4), bodies handed on as bytes. It translates to
 * `InferenceServer` and back and decides nothing about models.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from '../../logger.ts'
import { toServerError, ServerError } from '../../server-error.ts'
import type { NpuSimulation } from '../../simulated-npu/npu-simulation.ts'
import { BufferPool } from '../buffer-pool.ts'
import { DEFAULT_MAX_INPUT_SIZE, type Frontend, type FrontendOptions, listen, logDraining, refuseDetached, timerMilliseconds } from '../frontend.ts'
import { defaultServices } from '../frontend-services.ts'
import type { LinearPattern } from '../linear-pattern.ts'
import { type ApiCategory, type RestrictedApi, restrictionsByCategory } from '../restricted-api.ts'
import { UnsupportedEncodingError } from './compression.ts'
import { ConnectionWatch } from './connection-watch.ts'
import { type EndpointEnvironment, ENDPOINTS } from './endpoints.ts'
import { errorBody, HttpExchange } from './http-exchange.ts'
import { KnownHeaders } from './known-headers.ts'
import { AbortedUploadError, BodyCollector, type CollectedBody, MAX_BODY_LENGTH, TooManyChunksError } from './request-body.ts'
import { matchRoute, type Route } from './routes.ts'

export interface HttpFrontendOptions extends FrontendOptions {
  /** A body or an answer that makes no progress this long ends its connection. */
  readonly idleTimeoutMilliseconds?: number | undefined
  /** Headers that become parameters of requests. Absent or null: none. */
  readonly headerForwardPattern?: LinearPattern | null
  readonly simulation: NpuSimulation
}

const HEADERS_TIMEOUT_MILLISECONDS = 30_000
const KEEP_ALIVE_MILLISECONDS = 300_000
const IDLE_TIMEOUT_MILLISECONDS = 60_000
/** Request line and headers together. */
const MAX_HEADER_BYTES = 32_768
/** Buffers of bodies that wait for the next ones. */
const POOL_BYTES = 64 * 2 ** 20
const NO_ROUTE: Route = { kind: 'serverLive', model: '', version: '', qualifier: '' }

/** @throws ServerError UNAVAILABLE that names the port and `--http-port` when it cannot be bound. */
export async function startHttpFrontend(options: HttpFrontendOptions): Promise<Frontend> {
  const frontend = new HttpFrontend(options)
  return frontend.start(options.address, options.port, options.reusePort)
}

class HttpFrontend {
  readonly #http: Server
  readonly #environment: EndpointEnvironment
  readonly #restrictions: ReadonlyMap<ApiCategory, RestrictedApi>
  readonly #watch: ConnectionWatch
  readonly #log: Logger
  readonly #pool = new BufferPool(POOL_BYTES)

  constructor(options: HttpFrontendOptions) {
    this.#log = options.log
    this.#restrictions = restrictionsByCategory(options.restrictedApis ?? [])
    this.#watch = new ConnectionWatch(options.idleTimeoutMilliseconds ?? IDLE_TIMEOUT_MILLISECONDS, () => { this.#pool.trim() })
    this.#environment = {
      server: options.server,
      services: options.services ?? defaultServices(),
      maxInputSize: options.maxInputSize ?? DEFAULT_MAX_INPUT_SIZE,
      headerForwardPattern: options.headerForwardPattern ?? null,
      allowRepositoryControl: options.allowRepositoryControl || this.#restrictions.has('model-repository'),
      simulation: options.simulation,
      knownHeaders: new KnownHeaders(),
      collect: (exchange, limit, take) => this.#collect(exchange, limit, take),
      recycle: (body) => { this.#pool.giveBack(body) },
    }
    this.#http = createServer({
      noDelay: true, keepAlive: true, requireHostHeader: false, maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MILLISECONDS, requestTimeout: 0, keepAliveTimeout: KEEP_ALIVE_MILLISECONDS,
    })
    this.#http.on('request', (request, response) => { this.#answer(request, response) })
    this.#http.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => { response.writeContinue(); this.#answer(request, response) })
    this.#http.on('connection', (socket) => { this.#watch.addConnection(socket) })
    this.#http.on('clientError', (error, socket: Socket) => { this.#watch.whenAnswered(socket, () => { refuseBrokenRequest(error, socket) }) })
    this.#http.on('connect', (_request, socket) => { refuseDetached(socket, plainReply('405 Method Not Allowed', 'Method Not Allowed')) })
  }

  async start(address: string, port: number, reusePort = false): Promise<Frontend> {
    const bound = await listen(this.#http, address, port, '--http-port', reusePort)
    this.#watch.start()
    this.#log.verbose(1, 'HTTP service started', { address: bound.address, port: bound.port })
    return { ...bound, stop: (timeoutSeconds) => this.#stop(timeoutSeconds) }
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const route = matchRoute(request.url ?? '')
    const exchange = new HttpExchange(request, response, route ?? NO_ROUTE)
    this.#watch.beginExchange(exchange)
    try {
      if (route === undefined) { exchange.replyRefusal(404, 'Not Found'); return }
      const endpoint = ENDPOINTS[route.kind]
      const restriction = this.#restrictions.get(endpoint.category)
      if (restriction !== undefined && exchange.header(restriction.header.toLowerCase()) !== restriction.value) {
        exchange.replyRefusal(403, `This API is restricted, expecting header '${restriction.header}'`)
        return
      }
      if (!endpoint.methods.includes(request.method ?? '')) { exchange.replyRefusal(405, 'Method Not Allowed'); return }
      endpoint.run(exchange, this.#environment)?.catch((error: unknown) => { this.#fail(exchange, error) })
    } catch (error) {
      this.#fail(exchange, error)
    }
  }

  #fail(exchange: HttpExchange, error: unknown): void {
    if (error instanceof AbortedUploadError) return
    if (!(error instanceof ServerError)) {
      const cause = error instanceof Error ? (error.stack ?? error.message) : String(error)
      this.#log.error('unexpected error while answering a request', { path: exchange.request.url ?? '', cause })
    }
    const { response } = exchange
    // Half an answer: a client that waits for the rest learns from the end of the connection that it does not come.
    if (response.headersSent && !response.writableEnded) { response.destroy(); return }
    if (error instanceof UnsupportedEncodingError) response.setHeader('Accept-Encoding', 'gzip, deflate')
    if (error instanceof TooManyChunksError || error instanceof BodyTooLongError) response.shouldKeepAlive = false
    exchange.replyError(toServerError(error))
  }

  #collect(exchange: HttpExchange, limit: number, take?: (piece: Buffer) => Promise<void> | undefined): Promise<CollectedBody> {
    const announced = Number(exchange.header('content-length') ?? 0)
    if (announced > MAX_BODY_LENGTH) return Promise.reject(new BodyTooLongError(announced))
    return new Promise((resolve, reject) => {
      const collector = new BodyCollector(limit, announced, this.#pool, take)
      exchange.upload = collector
      collector.collect(exchange.request, (end) => {
        exchange.upload = null
        if (end instanceof Error) reject(end)
        else if (end.byteLength > MAX_BODY_LENGTH) reject(new BodyTooLongError(end.byteLength))
        else resolve(end)
      })
    })
  }

  async #stop(timeoutSeconds: number): Promise<void> {
    const closed = new Promise<void>((resolve) => { this.#http.close(() => { resolve() }) })
    this.#watch.drain()
    const endLog = logDraining(this.#log, timeoutSeconds, () => `${this.#watch.connectionCount} HTTP service connections`)
    const timer = setTimeout(() => { this.#watch.destroyAll() }, timerMilliseconds(timeoutSeconds))
    await closed
    clearTimeout(timer)
    endLog()
    this.#watch.stop()
    this.#log.info('HTTP service stopped')
  }
}

class BodyTooLongError extends ServerError {
  constructor(byteLength: number) {
    super('INVALID_ARG', `Unable to parse Content-Length, value is out of range [ -2147483648, 2147483647 ], got: ${byteLength}`)
  }
}

/** What the HTTP parser refuses: answered once, then the connection closes, since nothing after it can be understood. */
function refuseBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) { socket.destroy(); return }
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW': socket.end(plainReply('431 Request Header Fields Too Large', `request line and headers exceed ${MAX_HEADER_BYTES} bytes`)); return
    case 'ERR_HTTP_REQUEST_TIMEOUT': socket.end(plainReply('408 Request Timeout', 'the request did not arrive in time')); return
    default: socket.end(plainReply('400 Bad Request', 'malformed HTTP request'))
  }
}

function plainReply(status: string, message: string): string {
  const body = errorBody(message)
  return `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
}
