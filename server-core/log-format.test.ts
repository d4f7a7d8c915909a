import { expect, it } from 'vitest'
import { formatLogEntry } from './log-format.ts'

const entry = { sequence: 1, time: new Date(2026, 10, 9, 3, 4, 5, 67).getTime(), level: 'warning', source: 'model-lifecycle' } as const

it("prints Triton's default format with the facts that the message does not say", () => {
  expect(formatLogEntry({ ...entry, message: 'model "m" died', fields: { model: 'm', attempt: 2, error: 'out of memory' } }, 42))
    .toBe('W1109 03:04:05.067000 42 model-lifecycle] "model \\"m\\" died" attempt=2 error="out of memory"')
})

it('prints tables as they are', () => {
  expect(formatLogEntry({ ...entry, level: 'info', message: '+--+\n|a |', fields: {} }, 42)).toBe('I1109 03:04:05.067000 42 model-lifecycle] \n+--+\n|a |')
})

it('prints ISO8601 in UTC', () => {
  const time = Date.UTC(2026, 10, 9, 3, 4, 5, 67)
  expect(formatLogEntry({ ...entry, time, message: 'm', fields: {} }, 42, 'ISO8601')).toBe('2026-11-09T03:04:05Z W 42 model-lifecycle] "m"')
})

it('says before the message that the cards are simulated, in a table too', () => {
  expect(formatLogEntry({ ...entry, message: 'cards found', fields: { count: 2 }, isSimulated: true }, 42)).toBe('W1109 03:04:05.067000 42 model-lifecycle] [simulated] "cards found" count=2')
  expect(formatLogEntry({ ...entry, message: '+--+\n|a |', fields: {}, isSimulated: true }, 42)).toBe('W1109 03:04:05.067000 42 model-lifecycle] [simulated] \n+--+\n|a |')
})
