import type { LogEntry } from './contract/console-api.ts'

const LEVEL_LETTERS: Readonly<Record<LogEntry['level'], string>> = { error: 'E', warning: 'W', info: 'I', verbose: 'I' }

/**
 * A log entry as Triton's default format prints it: `LMMDD hh:mm:ss.uuuuuu <pid> <source>] "<message>"`, local time, the message as a
 * JSON string (tables of several lines as they are), then the facts that the message does not say.
 */
export function formatLogEntry(entry: LogEntry, processId: number = process.pid): string {
  const time = new Date(entry.time)
  const two = (value: number) => String(value).padStart(2, '0')
  const microseconds = String(Math.floor((entry.time % 1000) * 1000)).padStart(6, '0')
  const date = `${two(time.getMonth() + 1)}${two(time.getDate())}`
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}.${microseconds}`
  const head = `${LEVEL_LETTERS[entry.level]}${date} ${clock} ${processId} ${entry.source}] `
  if (entry.message.includes('\n')) return `${head}\n${entry.message}`
  const facts = Object.entries(entry.fields).filter(([, value]) => !entry.message.includes(String(value)))
  return head + JSON.stringify(entry.message) + facts.map(([key, value]) => ` ${key}=${typeof value === 'string' ? JSON.stringify(value) : value}`).join('')
}
