/** Which pings of a client are too many (protocol 9.7): a misbehaving client would keep the server busy answering them. */

export interface PingLimits {
  /** `--grpc-http2-min-recv-ping-interval-without-data`: between two pings with no data sent in between. */
  readonly minIntervalMilliseconds: number
  /** `--grpc-http2-max-ping-strikes`: how many may come earlier before the connection ends; 0: any number. */
  readonly maxStrikes: number
  /** `--grpc-keepalive-permit-without-calls`: false: between pings without any call two hours must pass. */
  readonly permitWithoutCalls: boolean
}

const WITHOUT_CALLS_MILLISECONDS = 7_200_000

export class PingPolicy {
  readonly #limits: PingLimits
  /** Steady milliseconds; null: none since data was sent. */
  #lastPing: number | null = null
  #strikes = 0

  constructor(limits: PingLimits) { this.#limits = limits }

  /**
   * The server sent headers, data or window updates: whatever came before is forgiven. gRPC's own clients ping to measure the connection while they
   * send a large message, when nothing but window updates goes back.
   */
  dataSent(): void {
    this.#lastPing = null
    this.#strikes = 0
  }

  /** @param hasCalls whether the connection has a call in progress @returns true: that was one too many */
  isTooMany(now: number, hasCalls: boolean): boolean {
    const { minIntervalMilliseconds, maxStrikes, permitWithoutCalls } = this.#limits
    const interval = hasCalls || permitWithoutCalls ? minIntervalMilliseconds : WITHOUT_CALLS_MILLISECONDS
    if (this.#lastPing === null || now - this.#lastPing >= interval) {
      this.#lastPing = now
      return false
    }
    this.#strikes++
    return maxStrikes > 0 && this.#strikes > maxStrikes
  }
}
