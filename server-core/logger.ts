/**
 * Logging for the core: a fixed sentence, facts as fields. Levels are Triton's. The core writes to a LogSink; whoever starts the server
 * decides what sinks there are (standard error, the console's ring, a file).
 */
import type { LogEntry, LogLevel } from './contract/console-api.ts'

export type LogFields = Readonly<Record<string, string | number | boolean>>

export interface Logger {
  error(message: string, fields?: LogFields): void
  warning(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  /** `level` 1 or higher, as `--log-verbose`. */
  verbose(level: number, message: string, fields?: LogFields): void
}

export type LogSink = (entry: LogEntry) => void

/** Hands out loggers by source name, numbers entries, keeps the last ones, and passes each to every sink. */
export class LogHub {
  readonly #sinks = new Set<LogSink>()
  readonly #recent: LogEntry[] = []
  readonly #capacity: number
  readonly #now: () => number
  #sequence = 0
  verboseLevel: number

  constructor(options: { verboseLevel?: number; capacity?: number; now?: () => number } = {}) {
    this.verboseLevel = options.verboseLevel ?? 0
    this.#capacity = options.capacity ?? 10_000
    this.#now = options.now ?? Date.now
  }

  logger(source: string): Logger {
    const write = (level: LogLevel, message: string, fields: LogFields = {}) => { this.#write(level, source, message, fields) }
    return {
      error: (message, fields) => { write('error', message, fields) },
      warning: (message, fields) => { write('warning', message, fields) },
      info: (message, fields) => { write('info', message, fields) },
      verbose: (level, message, fields) => { if (level <= this.verboseLevel) write('verbose', message, fields) },
    }
  }

  /** Returns a function that removes the sink. */
  addSink(sink: LogSink): () => void {
    this.#sinks.add(sink)
    return () => { this.#sinks.delete(sink) }
  }

  /** The last entries, oldest first, optionally only those about one model. */
  recent(count: number, model?: string): readonly LogEntry[] {
    const entries = model === undefined ? this.#recent : this.#recent.filter((entry) => entry.fields['model'] === model)
    return entries.slice(Math.max(0, entries.length - count))
  }

  #write(level: LogLevel, source: string, message: string, fields: LogFields): void {
    const entry: LogEntry = { sequence: ++this.#sequence, time: this.#now(), level, source, message, fields }
    this.#recent.push(entry)
    if (this.#recent.length > this.#capacity * 1.25) this.#recent.splice(0, this.#recent.length - this.#capacity)
    for (const sink of this.#sinks) sink(entry)
  }
}
