import type { BatchStrategy } from '../backends/backend.ts'
import type { Clock } from '../clock.ts'
import type { ModelConfig, ModelDynamicBatching } from '../contract/model-config.ts'
import type { Logger } from '../logger.ts'
import { exactInteger } from '../model-config/exact-integers.ts'
import { DefaultScheduler } from './default-scheduler.ts'
import { DynamicBatchScheduler } from './dynamic-batch-scheduler.ts'
import type { InstancePool } from './instance-pool.ts'
import type { QueueLevels } from './queue-level.ts'
import type { Scheduler } from './scheduler.ts'
import { SequenceBatchScheduler } from './sequence-batch-scheduler.ts'
import type { SequenceState } from './sequence.ts'
import { shapeRuleOf } from './shape-rule.ts'
import { delayedBacklogCount, delayedStartCount } from './test-hooks.ts'

/** What only some schedulers ask for. */
export interface SchedulerParts {
  /** Of the dynamic batcher. */
  readonly strategy?: BatchStrategy | null
  /** Of the sequence batcher. */
  readonly states: readonly SequenceState[]
  readonly log: Logger
}

/** The scheduler that a model's config asks for. @param config complete and normalised */
export function createScheduler(config: ModelConfig, pool: InstancePool, clock: Clock, { strategy = null, states, log }: SchedulerParts): Scheduler {
  if (config.sequence_batching !== undefined) {
    return new SequenceBatchScheduler({
      modelName: config.name, maxBatchSize: config.max_batch_size, batching: config.sequence_batching, shapeRule: shapeRuleOf(config), states, log,
      delayCount: delayedStartCount(), backlogDelayCount: delayedBacklogCount(),
    }, pool, clock)
  }
  const batching = config.dynamic_batching
  if (batching === undefined) return new DefaultScheduler(pool)
  return new DynamicBatchScheduler({
    maxBatchSize: config.max_batch_size,
    preferredBatchSizes: batching.preferred_batch_size,
    queueDelayMicroseconds: batching.max_queue_delay_microseconds,
    levels: queueLevelsOf(batching),
    shapeRule: shapeRuleOf(config),
    strategy,
    delayedStartCount: delayedStartCount(),
  }, pool, clock)
}

/** Levels are uint64: every digit of the config counts. */
export function queueLevelsOf(batching: ModelDynamicBatching): QueueLevels {
  const integer = (field: 'priority_levels' | 'default_priority_level') => BigInt(exactInteger(batching, field, batching[field]))
  return {
    count: integer('priority_levels'),
    defaultLevel: integer('default_priority_level'),
    ...(batching.default_queue_policy === undefined ? {} : { defaultPolicy: batching.default_queue_policy }),
    policies: new Map(Object.entries(batching.priority_queue_policy).map(([level, policy]) => [BigInt(level), policy])),
  }
}
