/** A log entry as one line of text: in the dock, on the model's page, in reports, and wherever it is copied to. */
import type { LogEntry } from '../../server-core/contract/console-api.ts'
import { SIMULATED_MARK } from '../../server-core/contract/devices.ts'
import { formatClockMilliseconds } from './format.ts'

/** ` model=ppocr_rec version=1`: the facts of an entry as text, '' where it has none. */
export function logFacts(entry: LogEntry): string {
  return Object.entries(entry.fields).map(([key, value]) => ` ${key}=${String(value)}`).join('')
}

/** `[simulated] `, or '' where the cards of the server are real. */
export function logMark(entry: LogEntry): string {
  return entry.isSimulated === true ? `${SIMULATED_MARK} ` : ''
}

/** @param time as printed; default: the time of day */
export function logLine(entry: LogEntry, time: string = formatClockMilliseconds(entry.time)): string {
  return `${time} ${entry.level.toUpperCase()} ${entry.source} ${logMark(entry)}${entry.message}${logFacts(entry)}`
}
