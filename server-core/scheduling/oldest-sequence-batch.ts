import type { Clock } from '../clock.ts'
import { DynamicBatchScheduler } from './dynamic-batch-scheduler.ts'
import { InstancePool, type PayloadRunner } from './instance-pool.ts'
import type { InflightRequest } from './inflight-request.ts'
import { Payload } from './payload.ts'
import type { SequenceBatch, SequenceBatchOwner } from './sequence-batch.ts'
import { SequenceSlots } from './sequence-slots.ts'
import type { Sequence, SequenceModel } from './sequence.ts'

export interface OldestSequenceOptions {
  readonly model: SequenceModel
  readonly slotCount: number
  readonly maxBatchSize: number
  readonly preferredBatchSizes: readonly number[]
  readonly queueDelayMicroseconds: number
  /** Test hook of the inner batcher. */
  readonly delayedStartCount: number
}

/**
 * The oldest strategy on one instance: a dynamic batcher of its own, fed with at most one request of each sequence at a time, so that
 * requests of different sequences meet in any row. The batcher hands its payloads to one stand-in, which binds them to the instance in
 * the model's pool. One instance runs one batch after another in the order of the queue, so `preserve_ordering` needs nothing more.
 */
export class OldestSequenceBatch implements SequenceBatch {
  readonly runner: PayloadRunner
  readonly slots: SequenceSlots
  isRetiring = false
  readonly #pool: InstancePool
  readonly #owner: SequenceBatchOwner
  readonly #inner: DynamicBatchScheduler
  readonly #dispatched = new Map<InflightRequest, Sequence>()
  #isGone = false

  constructor(runner: PayloadRunner, options: OldestSequenceOptions, pool: InstancePool, clock: Clock, owner: SequenceBatchOwner) {
    this.runner = runner
    this.slots = new SequenceSlots(options.slotCount)
    this.#pool = pool
    this.#owner = owner
    const innerPool = new InstancePool()
    this.#inner = new DynamicBatchScheduler({
      maxBatchSize: options.maxBatchSize,
      preferredBatchSizes: options.preferredBatchSizes,
      queueDelayMicroseconds: options.queueDelayMicroseconds,
      delayedStartCount: options.delayedStartCount,
      shapeRule: (request) => this.#shapeKey(request, options.model),
    }, innerPool, clock)
    innerPool.add({ run: (payload) => this.#run(payload) })
  }

  get isBusy(): boolean { return this.#dispatched.size > 0 }

  advance(sequence: Sequence): void {
    if (this.#isGone || sequence.inFlight !== null || sequence.head === undefined) return
    const request = sequence.dispatch()
    this.#dispatched.set(request, sequence)
    this.#inner.enqueue(request)
    this.releaseIfOver(sequence)
  }

  withdraw(sequence: Sequence): void {
    const request = sequence.inFlight
    if (request === null || request.isExecuting) return
    this.#dispatched.delete(request)
    sequence.complete(request)
    this.#inner.cancel(request)
  }

  releaseIfOver(sequence: Sequence): void {
    if (sequence.slot < 0 || !sequence.leavesSlot) return
    this.slots.release(sequence)
    this.#owner.onSlotFreed()
  }

  abandon(errorOf: (id: bigint | string) => Error): void {
    this.#isGone = true
    const waiting = [...this.#dispatched.keys()].filter((request) => !request.isExecuting)
    this.#dispatched.clear()
    for (const request of waiting) request.settle({ kind: 'failure', error: errorOf(request.sequenceId), reason: 'OTHER' })
    this.#inner.failWaiting(new Error('the instance is gone'))
  }

  #shapeKey(request: InflightRequest, model: SequenceModel): string {
    return model.shapeKey(request, this.#dispatched.get(request)?.states ?? [])
  }

  #run(given: Payload): Promise<void> {
    const payload = new Payload(this.runner)
    payload.isSaturated = true
    for (const request of given.requests) if (!request.isSettled) payload.add(request)
    if (this.#isGone || payload.requests.length === 0) return Promise.resolve()
    return new Promise((resolve) => {
      payload.onExecuted = () => {
        this.#executed(payload)
        resolve()
      }
      this.#pool.offer(payload)
    })
  }

  #executed(payload: Payload): void {
    if (this.#isGone) return
    for (const request of payload.requests) {
      const sequence = this.#dispatched.get(request)
      if (sequence === undefined) continue
      this.#dispatched.delete(request)
      sequence.complete(request)
      this.advance(sequence)
      this.releaseIfOver(sequence)
    }
    if (!this.isBusy) this.#owner.onIdle(this)
  }
}
