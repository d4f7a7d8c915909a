import type { Clock } from '../clock.ts'
import type { ModelConfig } from '../contract/model-config.ts'
import { DefaultScheduler } from './default-scheduler.ts'
import { DynamicBatchScheduler } from './dynamic-batch-scheduler.ts'
import type { InstancePool } from './instance-pool.ts'
import type { Scheduler } from './scheduler.ts'
import { shapeRuleOf } from './shape-rule.ts'

/** The scheduler that a model's config asks for. @param config complete and normalised */
export function createScheduler(config: ModelConfig, pool: InstancePool, clock: Clock): Scheduler {
  const batching = config.dynamic_batching
  if (batching === undefined) return new DefaultScheduler(pool)
  return new DynamicBatchScheduler({
    maxBatchSize: config.max_batch_size,
    preferredBatchSizes: batching.preferred_batch_size,
    queueDelayMicroseconds: batching.max_queue_delay_microseconds,
    ...(batching.default_queue_policy === undefined ? {} : { queuePolicy: batching.default_queue_policy }),
    shapeRule: shapeRuleOf(config),
  }, pool, clock)
}
