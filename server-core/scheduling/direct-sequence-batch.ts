import type { Clock } from '../clock.ts'
import type { InflightRequest } from './inflight-request.ts'
import type { InstancePool, PayloadRunner } from './instance-pool.ts'
import { Payload } from './payload.ts'
import { cancelWaiting } from './refusals.ts'
import type { SequenceBatch, SequenceBatchOwner } from './sequence-batch.ts'
import { SequenceSlots } from './sequence-slots.ts'
import type { Sequence, SequenceModel } from './sequence.ts'

export interface DirectSequenceOptions {
  readonly model: SequenceModel
  readonly slotCount: number
  readonly queueDelayMicroseconds: number
  readonly minimumSlotUtilization: number
}

/**
 * The direct strategy on one instance: slot i is row i of every batch. A batch is formed when the instance is free and any slot has a
 * request; rows up to the highest slot with a request are filled, those without one get a null request.
 */
export class DirectSequenceBatch implements SequenceBatch {
  readonly runner: PayloadRunner
  readonly slots: SequenceSlots
  isRetiring = false
  readonly #options: DirectSequenceOptions
  readonly #pool: InstancePool
  readonly #clock: Clock
  readonly #owner: SequenceBatchOwner
  #outstanding: Payload | null = null
  /** The sequences of the outstanding batch, by row. */
  #rows: (Sequence | null)[] = []
  #isGone = false
  #cancelTimer: (() => void) | null = null

  constructor(runner: PayloadRunner, options: DirectSequenceOptions, pool: InstancePool, clock: Clock, owner: SequenceBatchOwner) {
    this.runner = runner
    this.slots = new SequenceSlots(options.slotCount)
    this.#options = options
    this.#pool = pool
    this.#clock = clock
    this.#owner = owner
  }

  get isBusy(): boolean { return this.#outstanding !== null }

  advance(): void {
    if (this.#outstanding !== null || this.#isGone || this.#owner.isHeld) return
    this.#stopTimer()
    let readyCount = 0
    let highest = -1
    let oldest: InflightRequest | null = null
    let oldestSequence: Sequence | null = null
    for (const [row, sequence] of this.slots.rows.entries()) {
      const head = sequence?.head
      if (sequence === null || head === undefined) continue
      readyCount++
      highest = row
      if (oldest !== null && head.queueStart >= oldest.queueStart) continue
      oldest = head
      oldestSequence = sequence
    }
    if (oldest === null || oldestSequence === null || this.#waits(readyCount, oldest)) return
    // The request that waits longest says the shapes, so that no shape can keep another one waiting for ever.
    this.#run(highest, oldestSequence.headShapeKey(oldest))
  }

  withdraw(sequence: Sequence): void {
    const payload = this.#outstanding
    const request = sequence.inFlight
    if (payload === null || request === null || request.isExecuting) return
    const row = payload.requests.indexOf(request)
    // Row i stays the row of slot i: a null row takes the place.
    payload.requests[row] = this.#options.model.nullRequest(request, sequence.clientInputs, sequence.states)
    sequence.complete(request)
    cancelWaiting(request)
    // Null rows alone need no execution.
    if (payload.requests.every((other) => other.isNull)) for (const other of payload.requests) cancelWaiting(other)
  }

  releaseIfOver(sequence: Sequence): void {
    if (sequence.slot < 0 || !sequence.leavesSlot) return
    this.slots.release(sequence)
    this.#owner.onSlotFreed()
  }

  abandon(errorOf: (id: bigint | string) => Error): void {
    this.#isGone = true
    this.#stopTimer()
    const payload = this.#outstanding
    this.#outstanding = null
    for (const request of payload?.requests ?? []) {
      if (!request.isExecuting) request.settle({ kind: 'failure', error: errorOf(request.sequenceId), reason: 'OTHER' })
    }
  }

  /** With delay and utilization both set: too few slots have requests, and the oldest request is young. */
  #waits(readyCount: number, oldest: InflightRequest): boolean {
    const { minimumSlotUtilization, queueDelayMicroseconds, slotCount } = this.#options
    if (minimumSlotUtilization === 0 || queueDelayMicroseconds === 0) return false
    // Triton compares 32-bit floats.
    if (Math.fround(readyCount / slotCount) >= Math.fround(minimumSlotUtilization)) return false
    const remaining = oldest.queueStart + queueDelayMicroseconds * 1000 - this.#clock.now()
    if (remaining <= 0) return false
    this.#cancelTimer = this.#clock.after(remaining, () => {
      this.#cancelTimer = null
      this.advance()
    })
    return true
  }

  #run(highest: number, shapeKey: string): void {
    const rows = this.slots.rows.slice(0, highest + 1)
      .map((sequence) => (sequence?.head !== undefined && sequence.headShapeKey(sequence.head) === shapeKey ? sequence : null))
    const requests = rows.map((sequence) => sequence?.dispatch() ?? null)
    const row = requests.findIndex((request) => request !== null)
    const [template, sample] = [requests[row], rows[row]]
    if (!template || !sample) throw new Error('a direct sequence batch has no request')
    const payload = new Payload(this.runner)
    payload.isSaturated = true
    for (const request of requests) payload.add(request ?? this.#options.model.nullRequest(template, sample.clientInputs, sample.states))
    payload.onExecuted = () => { this.#executed(payload) }
    this.#outstanding = payload
    this.#rows = rows
    this.#pool.offer(payload)
    for (const sequence of rows) if (sequence !== null) this.releaseIfOver(sequence)
  }

  #executed(payload: Payload): void {
    if (this.#outstanding !== payload) return
    this.#outstanding = null
    const rows = this.#rows
    this.#rows = []
    for (const [row, sequence] of rows.entries()) {
      const request = payload.requests[row]
      if (sequence !== null && request !== undefined) sequence.complete(request)
    }
    for (const sequence of rows) if (sequence !== null) this.releaseIfOver(sequence)
    this.advance()
    if (!this.isBusy) this.#owner.onIdle(this)
  }

  #stopTimer(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
  }
}
