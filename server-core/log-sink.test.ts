import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { printLog } from './log-sink.ts'
import { LogHub } from './logger.ts'

it('writes to the end of the log file, in the format that holds when a message comes', () => {
  const directory = mkdtempSync(join(tmpdir(), 'npu-console-log-'))
  try {
    const file = join(directory, 'log')
    const logs = new LogHub({ settings: { file } })
    printLog(logs)()
    printLog(logs)
    logs.logger('a').error('first')
    logs.change({ format: 'ISO8601' })
    logs.logger('a').error('second')
    logs.change({ isErrorOn: false })
    logs.logger('a').error('third')
    const lines = readFileSync(file, 'utf8').split('\n')
    expect(lines).toHaveLength(3)
    expect(lines[0]).toMatch(/^E\d{4} .*\] "first"$/)
    expect(lines[1]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ E \d+ a\] "second"$/)
  } finally {
    rmSync(directory, { recursive: true })
  }
})

it('says which file cannot be opened', () => {
  expect(() => printLog(new LogHub({ settings: { file: '/no/such/directory/log' } }))).toThrow(/--log-file: cannot open '\/no\/such\/directory\/log': ENOENT/)
})
