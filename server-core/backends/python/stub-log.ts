import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

/** A longer line is cut into pieces. */
const MAX_LINE_LENGTH = 16 * 1024
/** What of a second's lines is passed on; the rest is counted, so that a model that prints without end costs neither the log nor the server its time. */
export const MAX_LINES_PER_SECOND = 1000
/** Kept to explain an end. */
const LAST_LINES = 20

export interface LineReaderOptions {
  /** Milliseconds, of a clock that never goes back. */
  readonly now?: () => number
  readonly onLine: (line: string) => void
  readonly onLeftOut: (count: number) => void
}

/** The lines of a model's standard output or error. */
export class LineReader {
  readonly #options: LineReaderOptions
  readonly #now: () => number
  readonly #decoder = new StringDecoder('utf8')
  readonly #last: string[] = []
  #rest = ''
  #secondStart = -Infinity
  #lineCount = 0
  #leftOut = 0

  constructor(options: LineReaderOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  /** The last lines, also those that were left out. */
  get lastLines(): readonly string[] { return this.#last }

  read(stream: Readable): void {
    stream.on('data', (chunk: Buffer) => { this.take(chunk) })
    stream.on('end', () => { this.end() })
  }

  take(chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#pass(line)
    while (this.#rest.length > MAX_LINE_LENGTH) {
      this.#pass(this.#rest.slice(0, MAX_LINE_LENGTH))
      this.#rest = this.#rest.slice(MAX_LINE_LENGTH)
    }
  }

  /** Nothing more comes. */
  end(): void {
    const rest = this.#rest + this.#decoder.end()
    this.#rest = ''
    if (rest !== '') this.#pass(rest)
    this.#reportLeftOut()
  }

  #pass(raw: string): void {
    const line = raw.replace(/\r$/, '')
    this.#last.push(line)
    if (this.#last.length > LAST_LINES) this.#last.shift()
    const now = this.#now()
    if (now - this.#secondStart >= 1000) {
      this.#reportLeftOut()
      this.#secondStart = now
      this.#lineCount = 0
    }
    if (++this.#lineCount > MAX_LINES_PER_SECOND) this.#leftOut++
    else this.#options.onLine(line)
  }

  #reportLeftOut(): void {
    if (this.#leftOut === 0) return
    this.#options.onLeftOut(this.#leftOut)
    this.#leftOut = 0
  }
}
