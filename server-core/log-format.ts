import type { LogEntry } from './contract/console-api.ts'
import { SIMULATED_MARK } from './contract/devices.ts'
import type { LogFormat } from './logger.ts'

const LEVEL_LETTERS: Readonly<Record<LogEntry['level'], string>> = { error: 'E', warning: 'W', info: 'I', verbose: 'I' }

/**
 * A log entry as Triton prints it: `LMMDD hh:mm:ss.uuuuuu <pid> <source>] "<message>"` in local time, or with ISO8601
 * `YYYY-MM-DDThh:mm:ssZ L <pid> <source>] "<message>"` in UTC; the message as a JSON string (tables of several lines as they are), then
 * the facts that the message does not say. With simulated cards `[simulated]` stands before the message.
 */
export function formatLogEntry(entry: LogEntry, processId: number = process.pid, format: LogFormat = 'default'): string {
  const head = `${format === 'ISO8601' ? isoHead(entry) : defaultHead(entry)} ${processId} ${entry.source}] ${entry.isSimulated === true ? `${SIMULATED_MARK} ` : ''}`
  if (entry.message.includes('\n')) return `${head}\n${entry.message}`
  const facts = Object.entries(entry.fields).filter(([, value]) => !entry.message.includes(String(value)))
  return head + JSON.stringify(entry.message) + facts.map(([key, value]) => ` ${key}=${typeof value === 'string' ? JSON.stringify(value) : value}`).join('')
}

function defaultHead({ time: milliseconds, level }: LogEntry): string {
  const time = new Date(milliseconds)
  const two = (value: number) => String(value).padStart(2, '0')
  const microseconds = String(Math.floor((milliseconds % 1000) * 1000)).padStart(6, '0')
  const date = `${two(time.getMonth() + 1)}${two(time.getDate())}`
  return `${LEVEL_LETTERS[level]}${date} ${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}.${microseconds}`
}

function isoHead({ time, level }: LogEntry): string {
  return `${new Date(time).toISOString().slice(0, 19)}Z ${LEVEL_LETTERS[level]}`
}
