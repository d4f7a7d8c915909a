import { expect, it } from 'vitest'
import { readModelConfig } from '../model-config/read-config.ts'
import { queueLevelsOf } from './create-scheduler.ts'

it('takes every digit of the priority levels of a config', () => {
  const { dynamic_batching: batching } = readModelConfig(`max_batch_size: 4 dynamic_batching {
    priority_levels: 18446744073709551615 default_priority_level: 18446744073709551614
    default_queue_policy { max_queue_size: 3 } priority_queue_policy { key: 18446744073709551613 value { timeout_action: DELAY } }
  }`, 'config.pbtxt')
  const levels = queueLevelsOf(batching!)
  expect(levels).toMatchObject({ count: 18446744073709551615n, defaultLevel: 18446744073709551614n, defaultPolicy: { max_queue_size: 3 } })
  expect([...levels.policies!]).toEqual([[18446744073709551613n, expect.objectContaining({ timeout_action: 'DELAY' })]])
})
