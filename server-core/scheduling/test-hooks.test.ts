import { expect, it } from 'vitest'
import { delayedStartCount } from './test-hooks.ts'

it.each([[undefined, 0], ['', 0], ['8', 8], ['-1', 0], ['many', 0]])('reads TRITONSERVER_DELAY_SCHEDULER=%s as %i', (value, count) => {
  expect(delayedStartCount({ TRITONSERVER_DELAY_SCHEDULER: value })).toBe(count)
})
