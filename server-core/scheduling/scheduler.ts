import type { InflightRequest } from './inflight-request.ts'
import type { PayloadRunner } from './instance-pool.ts'

/** Decides when which requests of one model run together. */
export interface Scheduler {
  /**
   * Takes the request over: it will be settled exactly once.
   * @throws ServerError when it is refused (queue full, stopping); then the request stays the caller's and is not counted.
   */
  enqueue(request: InflightRequest): void
  /** The client is gone: a request that waits is settled as cancelled; one that runs is only marked. */
  cancel(request: InflightRequest): void
  /** No new requests from now on; what waits is still executed. */
  stopAccepting(): void
  /** Nobody can send a request any more: sequences end with what they have, so that those behind them get their slots. Absent: there are none. */
  endSequences?(): void
  /** Settles everything that waits with this error: no instance will ever run it. */
  failWaiting(error: Error): void
  /**
   * An instance is to leave for good: no new sequence comes to it; resolves when it may be stopped. Absent: at once. (What an instance
   * runs at that moment is its own affair.)
   */
  retire?(runner: PayloadRunner): Promise<void>
}
