import type { InflightRequest } from './inflight-request.ts'
import type { PayloadRunner } from './instance-pool.ts'

/** A batch about to run. It may grow until an instance takes it, unless it is saturated. */
export class Payload {
  readonly requests: InflightRequest[] = []
  /** Sum of the requests' batch sizes. */
  batchSize = 0
  isSaturated = false
  isTaken = false
  /** It is not to run: see `InstancePool.discard`. */
  isDiscarded = false
  /** Shapes that every request of the batch must share; null: not fixed yet or not enforced. */
  shapeKey: string | null = null
  /** The one runner that may take it (the slots of sequences belong to instances); null: any. */
  readonly runner: PayloadRunner | null
  /** Called once, when its execution is over, before the runner takes anything else. Not called for one that no runner took. */
  onExecuted: (() => void) | null = null

  constructor(runner: PayloadRunner | null = null) { this.runner = runner }

  add(request: InflightRequest): void {
    this.requests.push(request)
    this.batchSize += Math.max(1, request.batchSize)
    request.payload = this
  }

  /** Takes out a request that will not run after all. */
  remove(request: InflightRequest): void {
    const index = this.requests.indexOf(request)
    if (index < 0) return
    this.requests.splice(index, 1)
    this.batchSize -= Math.max(1, request.batchSize)
    request.payload = null
  }
}
