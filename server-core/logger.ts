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

/** How lines look (protocol 11.2). */
export const LOG_FORMATS = ['default', 'ISO8601'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

/** What the logging extension shows and changes. */
export interface LogSettings {
  /** Where lines go instead of standard error; '' : nowhere else. Fixed at start. */
  readonly file: string
  readonly isInfoOn: boolean
  readonly isWarningOn: boolean
  readonly isErrorOn: boolean
  /** 0: no verbose messages. */
  readonly verboseLevel: number
  readonly format: LogFormat
}

export const DEFAULT_LOG_SETTINGS: LogSettings = Object.freeze({ file: '', isInfoOn: true, isWarningOn: true, isErrorOn: true, verboseLevel: 0, format: 'default' })

/** Hands out loggers by source name, numbers entries, keeps the last ones, and passes each to every sink; levels that are switched off reach neither. */
export class LogHub {
  readonly #sinks = new Set<LogSink>()
  readonly #listeners = new Set<(settings: LogSettings) => void>()
  readonly #recent: LogEntry[] = []
  readonly #capacity: number
  readonly #now: () => number
  #sequence = 0
  #settings: LogSettings
  /** Whether the cards of this server are simulated, which each entry from then on says. */
  isSimulated = false

  constructor(options: { settings?: Partial<LogSettings>; capacity?: number; now?: () => number } = {}) {
    this.#settings = { ...DEFAULT_LOG_SETTINGS, ...options.settings }
    this.#capacity = options.capacity ?? 10_000
    this.#now = options.now ?? Date.now
  }

  get settings(): LogSettings { return this.#settings }

  /** Takes effect with the next message. */
  change(settings: Partial<LogSettings>): void {
    this.#settings = { ...this.#settings, ...settings }
    for (const listener of this.#listeners) listener(this.#settings)
  }

  /** Told of each change. @returns ends it */
  onChange(listener: (settings: LogSettings) => void): () => void {
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }

  logger(source: string): Logger {
    const write = (level: LogLevel, message: string, fields: LogFields = {}) => { this.#write(level, source, message, fields) }
    return {
      error: (message, fields) => { if (this.#settings.isErrorOn) write('error', message, fields) },
      warning: (message, fields) => { if (this.#settings.isWarningOn) write('warning', message, fields) },
      info: (message, fields) => { if (this.#settings.isInfoOn) write('info', message, fields) },
      verbose: (level, message, fields) => { if (level <= this.#settings.verboseLevel) write('verbose', message, fields) },
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
    const entry: LogEntry = { sequence: ++this.#sequence, time: this.#now(), level, source, message, fields, ...(this.isSimulated ? { isSimulated: true as const } : {}) }
    this.#recent.push(entry)
    if (this.#recent.length > this.#capacity * 1.25) this.#recent.splice(0, this.#recent.length - this.#capacity)
    for (const sink of this.#sinks) sink(entry)
  }
}
