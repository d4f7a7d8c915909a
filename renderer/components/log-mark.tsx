/** Before the message of a log line: that the cards of its server are simulated. Nothing where they are real. */
import type { LogEntry } from '../../server-core/contract/console-api.ts'
import { logMark } from '../lib/log-line.ts'

export function LogMark({ entry }: { readonly entry: LogEntry }) {
  const mark = logMark(entry)
  return mark === '' ? null : <span className="npu-is-simulated" data-testid="log-simulated">{mark}</span>
}
