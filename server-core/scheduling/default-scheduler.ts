import type { InflightRequest } from './inflight-request.ts'
import type { InstancePool } from './instance-pool.ts'
import { Payload } from './payload.ts'
import { cancelWaiting, stoppingError } from './refusals.ts'
import type { Scheduler } from './scheduler.ts'

/** A model without a scheduling choice: every request is its own execution, first in first out, any free instance takes it. */
export class DefaultScheduler implements Scheduler {
  readonly #pool: InstancePool
  #isStopped = false

  constructor(pool: InstancePool) { this.#pool = pool }

  enqueue(request: InflightRequest): void {
    if (this.#isStopped) throw stoppingError(request.id)
    const payload = new Payload()
    payload.isSaturated = true
    payload.add(request)
    this.#pool.offer(payload)
  }

  /** Triton runs a cancelled request that waits here; answering it at once is compatible and saves the work. */
  cancel(request: InflightRequest): void {
    request.isCancelled = true
    if (request.isExecuting) return
    const { payload } = request
    if (payload !== null) {
      // Whoever gave up must neither keep the request in memory nor hold the place of those behind it.
      payload.remove(request)
      this.#pool.discard(payload)
    }
    cancelWaiting(request)
  }

  stopAccepting(): void { this.#isStopped = true }

  failWaiting(error: Error): void {
    for (const payload of this.#pool.takeReady()) {
      for (const request of payload.requests) request.settle({ kind: 'failure', error, reason: 'OTHER' })
    }
  }
}
