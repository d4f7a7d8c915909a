import type { BatchRecord, BatchStrategy } from '../backends/backend.ts'
import type { InflightRequest } from './inflight-request.ts'

/**
 * Asks a batching strategy about the one batch that is being formed. What the strategy keeps of that batch stays right when it is formed anew (a request
 * left it, or fewer were sent than were looked at): then it is told of the batch again from the start.
 */
export class BatchJudge {
  readonly #strategy: BatchStrategy
  #record: BatchRecord | null = null
  #toldCount = 0

  constructor(strategy: BatchStrategy) { this.#strategy = strategy }

  /** Before more requests are asked about: these are in the batch, and no others. */
  resume(requests: readonly InflightRequest[]): void {
    if (this.#record !== null && this.#toldCount === requests.length) return
    this.end()
    for (const request of requests) this.admits(request)
  }

  /** May it join? The first request is in the batch whatever the answer; after a refusal nothing more is asked. */
  admits(request: InflightRequest): boolean {
    this.#record ??= this.#strategy.begin()
    this.#toldCount++
    return this.#record.includes(request)
  }

  /** The batch is formed, or will be told again. */
  end(): void {
    this.#record?.end()
    this.#record = null
    this.#toldCount = 0
  }
}
