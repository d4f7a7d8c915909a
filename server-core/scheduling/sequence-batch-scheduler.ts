import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import { ServerError } from '../server-error.ts'
import { DirectSequenceBatch } from './direct-sequence-batch.ts'
import type { InflightRequest } from './inflight-request.ts'
import type { InstancePool, PayloadRunner } from './instance-pool.ts'
import { OldestSequenceBatch } from './oldest-sequence-batch.ts'
import { cancelWaiting } from './refusals.ts'
import type { Scheduler } from './scheduler.ts'
import type { SequenceBatch, SequenceBatchOwner } from './sequence-batch.ts'
import { Sequence, SequenceModel, type SequenceModelOptions } from './sequence.ts'

export interface SequenceBatchOptions extends SequenceModelOptions {
  readonly log: Logger
  /** Test hooks: direct batches start once so many requests wait in slots and in the backlog; oldest ones know only the first number. */
  readonly delayCount?: number
  readonly backlogDelayCount?: number
}

/** Ids that the server gives to iterative requests without one count from here; clients rarely use the upper half. */
const FIRST_INVENTED_ID = 1n << 63n

/**
 * Triton's sequence batcher: all requests of a sequence go to one slot of one instance, in their order and one at a time. Sequences
 * that find no free slot wait in the backlog, first in first out. The batch of an instance (direct or oldest) decides what runs together.
 *
 * When an instance stops, its sequences fail and must be started again; one that is taken away on purpose (`retire`) gets no new
 * sequences and keeps those it has to their end.
 */
export class SequenceBatchScheduler implements Scheduler, SequenceBatchOwner {
  readonly #options: SequenceBatchOptions
  readonly #pool: InstancePool
  readonly #clock: Clock
  readonly #model: SequenceModel
  readonly #idleNanoseconds: number
  readonly #batches = new Map<PayloadRunner, SequenceBatch>()
  /** Sequences that take further requests, by correlation id: 1n and '1' are two. */
  readonly #open = new Map<bigint | string, Sequence>()
  readonly #backlog = new Set<Sequence>()
  /** Sequences of the backlog that can expire. */
  readonly #expiring = new Set<Sequence>()
  /** Open sequences with a slot, the longest idle one first. */
  readonly #idling = new Set<Sequence>()
  readonly #retired = new Map<SequenceBatch, (() => void)[]>()
  #inventedId = FIRST_INVENTED_ID
  #isStopped = false
  #isHeld: boolean
  #isFilling = false
  #cancelIdleTimer: (() => void) | null = null
  #cancelBacklogTimer: (() => void) | null = null
  #backlogDue = Infinity

  constructor(options: SequenceBatchOptions, pool: InstancePool, clock: Clock) {
    this.#options = options
    this.#pool = pool
    this.#clock = clock
    this.#model = new SequenceModel(options)
    this.#idleNanoseconds = options.batching.max_sequence_idle_microseconds * 1000
    this.#isHeld = options.batching.oldest === undefined && ((options.delayCount ?? 0) > 0 || (options.backlogDelayCount ?? 0) > 0)
    pool.onMembership = (change) => {
      if ('added' in change) this.#addInstance(change.added)
      else this.#loseInstance(change.removed)
    }
  }

  get isHeld(): boolean { return this.#isHeld }
  get backlogSize(): number { return this.#backlog.size }

  enqueue(request: InflightRequest): void {
    const sequence = this.#sequenceOf(request)
    const isNew = sequence.waitingCount === 0 && sequence.inFlight === null && sequence.batch === null
    sequence.add(request)
    const { batch } = sequence
    if (isNew) this.#place(sequence)
    else if (batch === null) this.#expireLater(sequence, request)
    else {
      this.#touch(sequence)
      batch.advance(sequence)
    }
    if (this.#isHeld) this.#releaseHold()
  }

  cancel(request: InflightRequest): void {
    request.isCancelled = true
    const sequence = request.sequenceHooks
    if (request.isSettled || !(sequence instanceof Sequence)) return
    this.#close(sequence)
    this.#leaveBacklog(sequence)
    const { batch } = sequence
    const waiting = sequence.takeWaiting()
    batch?.withdraw(sequence)
    for (const other of waiting) {
      other.isCancelled = true
      cancelWaiting(other)
    }
    batch?.releaseIfOver(sequence)
    if (batch !== null) this.onIdle(batch)
  }

  /** Running sequences may go on; only requests that start one are refused. */
  stopAccepting(): void { this.#isStopped = true }

  endSequences(): void {
    for (const sequence of [...this.#open.values()]) {
      this.#close(sequence)
      sequence.batch?.releaseIfOver(sequence)
      if (sequence.batch !== null) this.onIdle(sequence.batch)
    }
  }

  failWaiting(error: Error): void {
    const backlog = [...this.#backlog]
    for (const sequence of backlog) {
      this.#close(sequence)
      this.#leaveBacklog(sequence)
    }
    for (const sequence of backlog) failAll(sequence, error)
    for (const [runner, batch] of [...this.#batches]) {
      this.#batches.set(runner, this.#createBatch(runner))
      this.#abandon(batch, () => error)
    }
  }

  /** No new sequence comes to this instance; resolves when those that it has are over. */
  retire(runner: PayloadRunner): Promise<void> {
    const batch = this.#batches.get(runner)
    if (batch === undefined) return Promise.resolve()
    batch.isRetiring = true
    return new Promise((resolve) => {
      const listeners = this.#retired.get(batch) ?? []
      listeners.push(resolve)
      this.#retired.set(batch, listeners)
      this.onIdle(batch)
    })
  }

  onSlotFreed(): void {
    // A sequence of one request gives its slot back while it gets it: the loop that runs already sees that.
    if (this.#isFilling) return
    this.#isFilling = true
    for (const sequence of this.#backlog) {
      const batch = this.#batchWithLowestSlot()
      if (batch === null) break
      this.#leaveBacklog(sequence)
      this.#give(batch, sequence)
    }
    this.#isFilling = false
  }

  onIdle(batch: SequenceBatch): void {
    if (!batch.isRetiring || batch.isBusy || batch.slots.usedCount > 0) return
    const listeners = this.#retired.get(batch) ?? []
    this.#retired.delete(batch)
    for (const listener of listeners) listener()
  }

  /** The sequence that the request belongs to, a new one where it starts one. @throws ServerError where it cannot be taken */
  #sequenceOf(request: InflightRequest): Sequence {
    const { modelName } = this.#options
    const refuse = (text: string): never => { throw new ServerError('INVALID_ARG', text) }
    if (request.batchSize > 1) refuse(`inference request to model '${modelName}' must specify batch-size 1 due to requirements of sequence batcher`)
    const isNameless = request.sequenceId === 0n || request.sequenceId === ''
    if (isNameless && !this.#model.isIterative) refuse(`inference request to model '${modelName}' must specify a non-zero or non-empty correlation ID`)
    if (this.#isStopped && (isNameless || request.sequenceStart)) {
      throw new ServerError('UNAVAILABLE', 'Server is stopping, scheduler for model has stopped accepting new inference requests')
    }
    if (isNameless) {
      request.sequenceId = this.#inventId()
      request.sequenceStart = true
      const single = this.#newSequence(request.sequenceId)
      single.isClosed = true
      return single
    }
    const known = this.#open.get(request.sequenceId)
    if (known === undefined && !request.sequenceStart) {
      refuse(`inference request for sequence ${request.sequenceId} to model '${modelName}' must specify the START flag on the first request of the sequence`)
    }
    if (known !== undefined && request.sequenceStart) {
      this.#options.log.warning(`sequence ${request.sequenceId} for model '${modelName}' has a conflict. The previous sequence did not end before this sequence start. `
        + 'Previous sequence will be terminated early.')
    }
    const sequence = known ?? this.#newSequence(request.sequenceId)
    this.#open.set(sequence.id, sequence)
    if (request.sequenceEnd) this.#close(sequence)
    return sequence
  }

  #newSequence(id: bigint | string): Sequence {
    return new Sequence(id, this.#model, (sequence) => { if (!sequence.isClosed) this.#touch(sequence) })
  }

  #inventId(): bigint {
    while (this.#open.has(this.#inventedId)) this.#inventedId++
    return this.#inventedId++
  }

  #place(sequence: Sequence): void {
    const batch = this.#backlog.size > 0 ? null : this.#batchWithLowestSlot()
    if (batch !== null) {
      this.#give(batch, sequence)
      return
    }
    this.#backlog.add(sequence)
    const first = sequence.head
    if (first !== undefined) this.#expireLater(sequence, first)
  }

  #give(batch: SequenceBatch, sequence: Sequence): void {
    batch.slots.take(sequence)
    sequence.batch = batch
    if (!sequence.isClosed) this.#touch(sequence)
    batch.advance(sequence)
  }

  /** Slots are handed out lowest index first across the instances. */
  #batchWithLowestSlot(): SequenceBatch | null {
    let best: SequenceBatch | null = null
    let lowest = Infinity
    for (const batch of this.#batches.values()) {
      const slot = batch.isRetiring ? null : batch.slots.lowestFree
      if (slot === null || slot >= lowest) continue
      best = batch
      lowest = slot
    }
    return best
  }

  /** No request can join the sequence any more; those that it has still run. */
  #close(sequence: Sequence): void {
    sequence.isClosed = true
    if (this.#open.get(sequence.id) === sequence) this.#open.delete(sequence.id)
    this.#idling.delete(sequence)
    if (this.#idling.size === 0) this.#stopIdleTimer()
  }

  #leaveBacklog(sequence: Sequence): void {
    this.#backlog.delete(sequence)
    this.#expiring.delete(sequence)
    if (this.#expiring.size === 0) this.#setBacklogTimer(Infinity)
  }

  #addInstance(runner: PayloadRunner): void {
    this.#batches.set(runner, this.#createBatch(runner))
    this.onSlotFreed()
  }

  #createBatch(runner: PayloadRunner): SequenceBatch {
    const { batching, maxBatchSize } = this.#options
    const rows = Math.max(1, maxBatchSize)
    const { oldest, direct } = batching
    if (oldest !== undefined) {
      return new OldestSequenceBatch(runner, {
        model: this.#model, slotCount: oldest.max_candidate_sequences > 0 ? oldest.max_candidate_sequences : rows, maxBatchSize,
        preferredBatchSizes: oldest.preferred_batch_size, queueDelayMicroseconds: oldest.max_queue_delay_microseconds,
        delayedStartCount: this.#options.delayCount ?? 0,
      }, this.#pool, this.#clock, this)
    }
    return new DirectSequenceBatch(runner, {
      model: this.#model, slotCount: rows,
      queueDelayMicroseconds: direct?.max_queue_delay_microseconds ?? 0, minimumSlotUtilization: direct?.minimum_slot_utilization ?? 0,
    }, this.#pool, this.#clock, this)
  }

  #loseInstance(runner: PayloadRunner): void {
    const batch = this.#batches.get(runner)
    if (batch === undefined) return
    this.#batches.delete(runner)
    this.#abandon(batch, (id) => new ServerError('UNAVAILABLE', `sequence ${id} of model '${this.#options.modelName}' was ended: the model instance that held its `
      + 'state stopped. Start the sequence again with the START flag'))
  }

  /** Ends every sequence of an instance with an error. */
  #abandon(batch: SequenceBatch, errorOf: (id: bigint | string) => Error): void {
    const sequences = batch.slots.sequences()
    for (const sequence of sequences) {
      this.#close(sequence)
      sequence.lose(errorOf(sequence.id))
    }
    batch.abandon(errorOf)
    for (const sequence of sequences) failAll(sequence, errorOf(sequence.id))
    for (const listener of this.#retired.get(batch) ?? []) listener()
    this.#retired.delete(batch)
  }

  #touch(sequence: Sequence): void {
    sequence.lastActivity = this.#clock.now()
    this.#idling.delete(sequence)
    if (sequence.isClosed) return
    this.#idling.add(sequence)
    if (this.#cancelIdleTimer === null) this.#awaitIdle(this.#idleNanoseconds)
  }

  #awaitIdle(nanoseconds: number): void {
    this.#cancelIdleTimer = this.#clock.after(nanoseconds, () => {
      this.#cancelIdleTimer = null
      this.#endIdle()
    })
  }

  #endIdle(): void {
    const over: Sequence[] = []
    for (const sequence of this.#idling) {
      const remaining = this.#idleLeft(sequence)
      if (remaining > 0) {
        // Before any slot is given on: a sequence that gets one now is due later than this one.
        this.#awaitIdle(remaining)
        break
      }
      over.push(sequence)
    }
    for (const sequence of over) {
      if (!this.#idling.has(sequence) || this.#idleLeft(sequence) > 0) continue
      this.#close(sequence)
      sequence.batch?.releaseIfOver(sequence)
      if (sequence.batch !== null) this.onIdle(sequence.batch)
    }
  }

  /** Nanoseconds until the sequence has idled too long. */
  #idleLeft(sequence: Sequence): number { return sequence.lastActivity + this.#idleNanoseconds - this.#clock.now() }

  #stopIdleTimer(): void {
    this.#cancelIdleTimer?.()
    this.#cancelIdleTimer = null
  }

  /** A request of the backlog with a timeout: the earliest one expires its whole sequence. */
  #expireLater(sequence: Sequence, request: InflightRequest): void {
    if (request.timeoutMicroseconds === 0) return
    sequence.deadline = Math.min(sequence.deadline, request.queueStart + request.timeoutMicroseconds * 1000)
    this.#expiring.add(sequence)
    if (sequence.deadline < this.#backlogDue) this.#setBacklogTimer(sequence.deadline)
  }

  #setBacklogTimer(due: number): void {
    if (due === this.#backlogDue) return
    this.#cancelBacklogTimer?.()
    this.#cancelBacklogTimer = null
    this.#backlogDue = due
    if (due === Infinity) return
    this.#cancelBacklogTimer = this.#clock.after(Math.max(0, due - this.#clock.now()), () => {
      this.#cancelBacklogTimer = null
      this.#backlogDue = Infinity
      this.#expireBacklog()
    })
  }

  #expireBacklog(): void {
    const now = this.#clock.now()
    const expired: Sequence[] = []
    let nearest = Infinity
    for (const sequence of this.#expiring) {
      if (sequence.deadline <= now) expired.push(sequence)
      else nearest = Math.min(nearest, sequence.deadline)
    }
    for (const sequence of expired) {
      this.#close(sequence)
      this.#leaveBacklog(sequence)
    }
    this.#setBacklogTimer(nearest)
    for (const sequence of expired) {
      const error = new ServerError('UNAVAILABLE', 'timeout of the corresponding sequence has been expired')
      for (const request of sequence.takeWaiting()) request.settle({ kind: 'failure', error, reason: 'REJECTED' })
    }
  }

  /** Test hook: starts everything once enough requests wait in slots and in the backlog. */
  #releaseHold(): void {
    const waiting = (sequences: Iterable<Sequence>): number => [...sequences].reduce((sum, sequence) => sum + sequence.waitingCount, 0)
    const batches = [...this.#batches.values()]
    const inSlots = batches.reduce((sum, batch) => sum + waiting(batch.slots.sequences()), 0)
    if (inSlots < (this.#options.delayCount ?? 0) || waiting(this.#backlog) < (this.#options.backlogDelayCount ?? 0)) return
    this.#isHeld = false
    for (const batch of batches) for (const sequence of batch.slots.sequences()) batch.advance(sequence)
  }
}

function failAll(sequence: Sequence, error: Error): void {
  for (const request of sequence.takeWaiting()) request.settle({ kind: 'failure', error, reason: 'OTHER' })
}
