/** One client connection: keepalive both ways, its age, and clients that ping too often (protocol 9.7). */
import { constants, type ServerHttp2Session } from 'node:http2'
import { timerMilliseconds } from '../../frontend.ts'
import { PingPolicy } from './ping-policy.ts'

/** All times in milliseconds. */
export interface ConnectionOptions {
  /** `--grpc-keepalive-time`: without a sign of the client for so long, it is pinged. */
  readonly keepaliveTime: number
  /** `--grpc-keepalive-timeout`: a client that does not answer a ping for so long is gone. */
  readonly keepaliveTimeout: number
  /** `--grpc-keepalive-permit-without-calls`: pings also while no call is in progress. */
  readonly keepalivePermitWithoutCalls: boolean
  /** `--grpc-http2-max-pings-without-data`: pings of the server that may go out with no data in between; 0: any number. */
  readonly maxPingsWithoutData: number
  readonly minReceivedPingInterval: number
  readonly maxPingStrikes: number
  /** `--grpc-max-connection-age`, +-10 % at random; 0: any age. */
  readonly maxAge: number
  /** `--grpc-max-connection-age-grace`: what calls in progress get after that; 0: as long as they take. */
  readonly maxAgeGrace: number
}

export const DEFAULT_CONNECTION_OPTIONS: ConnectionOptions = {
  keepaliveTime: 7_200_000, keepaliveTimeout: 20_000, keepalivePermitWithoutCalls: false, maxPingsWithoutData: 2,
  minReceivedPingInterval: 300_000, maxPingStrikes: 2, maxAge: 0, maxAgeGrace: 0,
}

/** Longest wait for a GOAWAY to leave before the connection is cut. */
const FAREWELL_MILLISECONDS = 1000
/** No answer to a ping is longer, with TLS around it. */
const PING_ANSWER_BYTES = 64
/** Triton's library takes the largest int as "never". */
const NEVER_MILLISECONDS = 0x7fffffff

export class Connection {
  callCount = 0
  readonly #session: ServerHttp2Session
  readonly #options: ConnectionOptions
  readonly #pings: PingPolicy
  readonly #timers = new Set<NodeJS.Timeout>()
  #pingsWithoutData = 0
  /** On this connection, at its last ping. */
  #bytesSent = 0
  #isLeaving = false

  constructor(session: ServerHttp2Session, options: ConnectionOptions) {
    this.#session = session
    this.#options = options
    this.#pings = new PingPolicy({ minIntervalMilliseconds: options.minReceivedPingInterval, maxStrikes: options.maxPingStrikes, permitWithoutCalls: options.keepalivePermitWithoutCalls })
    session.on('ping', () => { this.#pinged() })
    session.once('close', () => { for (const timer of this.#timers) clearTimeout(timer) })
    this.#scheduleKeepalive()
    if (options.maxAge > 0) this.#after(options.maxAge * (0.9 + Math.random() * 0.2), () => { this.#retire() })
  }

  dataSent(): void {
    this.#pings.dataSent()
    this.#pingsWithoutData = 0
  }

  #pinged(): void {
    // A large answer is handed over at once and goes out for a long time after that.
    const bytesSent = this.#session.socket.bytesWritten
    if (bytesSent - this.#bytesSent > PING_ANSWER_BYTES) this.dataSent()
    this.#bytesSent = bytesSent
    if (this.#pings.isTooMany(performance.now(), this.callCount > 0)) this.#refusePings()
  }

  /** Lets calls in progress end, takes no new ones, and closes. */
  close(): void { if (!this.#session.destroyed) this.#session.close() }

  destroy(): void { if (!this.#session.destroyed) this.#session.destroy() }

  #refusePings(): void {
    if (this.#isLeaving || this.#session.destroyed) return
    this.#isLeaving = true
    this.#session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, Buffer.from('too_many_pings'))
    // Not at once: the frame has to get out first.
    this.#after(FAREWELL_MILLISECONDS / 10, () => { this.destroy() })
  }

  #retire(): void {
    const session = this.#session
    if (this.#isLeaving || session.destroyed) return
    session.goaway(constants.NGHTTP2_NO_ERROR, 0x7fffffff, Buffer.from('max_age'))
    session.close()
    if (this.#options.maxAgeGrace > 0) this.#after(this.#options.maxAgeGrace, () => { this.destroy() })
  }

  #scheduleKeepalive(): void {
    const { keepaliveTime } = this.#options
    if (keepaliveTime > 0 && keepaliveTime < NEVER_MILLISECONDS) this.#after(keepaliveTime, () => { this.#keepAlive() })
  }

  #keepAlive(): void {
    const { keepalivePermitWithoutCalls, maxPingsWithoutData, keepaliveTimeout } = this.#options
    const session = this.#session
    if (session.destroyed) return
    const isDue = (this.callCount > 0 || keepalivePermitWithoutCalls) && (maxPingsWithoutData === 0 || this.#pingsWithoutData < maxPingsWithoutData)
    if (!isDue) {
      this.#scheduleKeepalive()
      return
    }
    this.#pingsWithoutData++
    const gone = this.#after(keepaliveTimeout, () => { this.destroy() })
    const isSent = session.ping((error) => {
      this.#cancelTimer(gone)
      if (error === null) this.#scheduleKeepalive()
      else this.destroy()
    })
    if (!isSent) this.destroy()
  }

  #after(milliseconds: number, step: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      step()
    }, timerMilliseconds(milliseconds / 1000))
    timer.unref()
    this.#timers.add(timer)
    return timer
  }

  #cancelTimer(timer: NodeJS.Timeout): void {
    clearTimeout(timer)
    this.#timers.delete(timer)
  }
}
