import { expect, it } from 'vitest'
import type { LogEntry } from '../../server-core/contract/console-api.ts'
import { logLine } from './log-line.ts'

const ENTRY: LogEntry = { sequence: 1, time: 0, level: 'warning', source: 'model-lifecycle', message: 'load failed', fields: { model: 'rec', version: 1 } }

it('says everything of an entry in one line, and first of all that its cards are simulated', () => {
  expect(logLine(ENTRY, '12:00')).toBe('12:00 WARNING model-lifecycle load failed model=rec version=1')
  expect(logLine({ ...ENTRY, isSimulated: true }, '12:00')).toBe('12:00 WARNING model-lifecycle [simulated] load failed model=rec version=1')
})
