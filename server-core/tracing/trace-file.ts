import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs'

/**
 * Where traces go: a JSON array of entries, in one file or in numbered ones of so many traces each. The one file is a whole document after
 * every trace, so that what was traced before a crash can be read.
 */
export class TraceFile {
  readonly path: string
  #file: number | null = null
  /** Bytes in the one file. */
  #length = 0
  #pending: string[] = []
  #fileCount = 0

  constructor(path: string) { this.path = path }

  /** @param entries JSON objects, separated by commas @param frequency traces a numbered file; 0: the one file @throws what the disk says */
  write(entries: string, frequency: number): void {
    if (frequency > 0) {
      this.#pending.push(entries)
      if (this.#pending.length >= frequency) this.flush()
      return
    }
    const isFirst = this.#file === null
    this.#file ??= openSync(this.path, 'w')
    // Over the bracket that ends the document so far.
    const at = isFirst ? 0 : this.#length - 1
    const text = Buffer.from(`${isFirst ? '[' : ','}${entries}]`)
    for (let count = 0; count < text.length;) count += writeSync(this.#file, text, count, text.length - count, at + count)
    this.#length = at + text.length
  }

  /** Writes the traces of a numbered file that is not full. @throws what the disk says */
  flush(): void {
    if (this.#pending.length === 0) return
    const text = `[${this.#pending.join(',')}]`
    this.#pending = []
    writeFileSync(`${this.path}.${this.#fileCount++}`, text)
  }

  /** @throws what the disk says */
  close(): void {
    this.flush()
    if (this.#file !== null) closeSync(this.#file)
    this.#file = null
  }
}
