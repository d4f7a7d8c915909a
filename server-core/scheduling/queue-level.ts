import type { ModelQueuePolicy } from '../contract/model-config.ts'
import { RequestList } from './request-list.ts'

/** A list that knows its level, so that a request leads to its place in the queue in O(1). */
export class LevelList extends RequestList {
  readonly level: QueueLevel

  constructor(level: QueueLevel) {
    super()
    this.level = level
  }
}

/** One priority level of a model's queue: waiting requests, and those whose timeout expired under the DELAY action, which come after them. */
export class QueueLevel {
  /** 1 is served first. 0: the model has no levels. */
  readonly number: bigint
  /** Its upper and lower 32 bits, which compare many times faster than bigints. */
  readonly high: number
  readonly low: number
  readonly policy: ModelQueuePolicy
  readonly waiting: LevelList = new LevelList(this)
  readonly delayed: LevelList = new LevelList(this)
  /** Links of `LevelOrder`, one per height; empty: not in it. */
  readonly links: (QueueLevel | null)[] = []

  constructor(number: bigint, policy: ModelQueuePolicy) {
    this.number = number
    this.high = Number(number >> 32n)
    this.low = Number(number & 0xffff_ffffn)
    this.policy = policy
  }

  get size(): number { return this.waiting.size + this.delayed.size }
  get isFull(): boolean { return this.policy.max_queue_size !== 0 && this.size >= this.policy.max_queue_size }
}

const NO_POLICY: ModelQueuePolicy = {
  timeout_action: 'REJECT', default_timeout_microseconds: 0, allow_timeout_override: false, max_queue_size: 0,
}

/** Which levels a model's queue has and how each treats its requests. */
export interface QueueLevels {
  /** 0n: no priorities, whatever a request says. */
  readonly count: bigint
  readonly defaultLevel: bigint
  readonly defaultPolicy?: ModelQueuePolicy
  /** Levels with a policy of their own. */
  readonly policies?: ReadonlyMap<bigint, ModelQueuePolicy>
}

/** The level of a request: its own, or the default where it names none or one that does not exist. */
export function levelOf(levels: QueueLevels, priority: bigint): bigint {
  if (levels.count === 0n) return 0n
  return priority === 0n || priority > levels.count ? levels.defaultLevel : priority
}

export function policyOf(levels: QueueLevels, level: bigint): ModelQueuePolicy {
  return levels.policies?.get(level) ?? levels.defaultPolicy ?? NO_POLICY
}

/** Does anything restrict the queue? Then a batch may only be formed when an instance waits for work. */
export function restrictsQueue(levels: QueueLevels): boolean {
  if (levels.count > 0n) return true
  const { default_timeout_microseconds: timeout, allow_timeout_override: isOverridable, max_queue_size: limit } = policyOf(levels, 0n)
  return timeout !== 0 || isOverridable || limit !== 0
}
