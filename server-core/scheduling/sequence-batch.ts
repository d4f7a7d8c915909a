import type { PayloadRunner } from './instance-pool.ts'
import type { Sequence } from './sequence.ts'
import type { SequenceSlots } from './sequence-slots.ts'

/** What the batch of one instance tells the sequence batcher. */
export interface SequenceBatchOwner {
  /** Test hook: nothing runs before enough requests wait. */
  readonly isHeld: boolean
  /** A slot became free. */
  onSlotFreed(): void
  /** Nothing is on its way through this batch for the moment. */
  onIdle(batch: SequenceBatch): void
}

/** The slots of one model instance, and how the requests in them become batches: `direct` or `oldest`. */
export interface SequenceBatch {
  readonly runner: PayloadRunner
  readonly slots: SequenceSlots
  /** True while a request that left its queue is not through its execution. */
  readonly isBusy: boolean
  /** No new sequence gets a slot here: the instance is to leave. */
  isRetiring: boolean
  /** Something was queued for this sequence, which has a slot here. */
  advance(sequence: Sequence): void
  /** Takes the request of this sequence that was dispatched and does not run yet out of its batch; it is settled as cancelled. */
  withdraw(sequence: Sequence): void
  /** Gives the slot back where the sequence does not need it any more. */
  releaseIfOver(sequence: Sequence): void
  /** The instance is gone: settles what was dispatched and does not run with the error of its sequence. */
  abandon(errorOf: (id: bigint | string) => Error): void
}
