/** Reads an array of strings, or one string alone, into the raw BYTES form while its text arrives, in pieces cut anywhere, inside a string too. */
import { ArrayReader, type Elements } from './element-reader.ts'
import { GrowingBytes } from './growing-bytes.ts'
import { putUtf8 } from './json-document.ts'
import { BACKSLASH, hex4, QUOTE, simpleEscape } from './json-scan.ts'

/** Beyond the limit there may be what one piece of the body holds. Bytes. */
const SLACK = 262_144

export class StringArrayReader extends ArrayReader {
  protected readonly placeholder = '""'
  readonly #limit: number
  readonly #memory: GrowingBytes
  #target: Buffer
  #to = 0
  /** Where the string that is being read begins in the tensor. */
  #from = 0

  /**
   * @param limit bytes that are kept of the tensor; what a larger one would have is only counted
   * @param textLength bytes that the text can have at most
   */
  constructor(limit: number, textLength: number) {
    super()
    this.#limit = limit
    // An element without characters has three bytes of text and four in the tensor.
    this.#memory = new GrowingBytes(Math.min(Math.ceil(textLength * 4 / 3) + 8, limit + SLACK))
    this.#target = this.#memory.bytes
  }

  get elements(): Elements {
    const memory = this.#memory.bytes
    const byteSize = this.#to
    return {
      kind: this.count > 0 ? 'strings' : 'nothing', count: this.count, isNested: this.isNested, byteSize, firstUnfit: () => Infinity,
      bytes: () => memory.subarray(0, byteSize),
    }
  }

  protected element(bytes: Buffer, from: number): number {
    let at = from
    if (!this.isInString) {
      if (bytes[at] !== QUOTE) return this.refuse(at)
      at++
      this.isInString = true
      this.#makeRoom(this.#to + 4 + bytes.length - at)
      this.#to += 4
      this.#from = this.#to
    } else this.#makeRoom(this.#to + bytes.length - at)
    const { length } = bytes
    const target = this.#target
    let to = this.#to
    while (at < length) {
      const byte = bytes[at] as number
      if (byte === QUOTE) {
        this.#to = to
        this.isInString = false
        this.#endString()
        return at + 1
      }
      if (byte === BACKSLASH) {
        this.#to = to
        at = this.#escape(bytes, at)
        to = this.#to
        if (this.state === 'refused' || this.pending.length > 0) return at
        continue
      }
      if (byte < 0x20) {
        this.#to = to
        return this.refuse(at)
      }
      target[to++] = byte
      at++
    }
    this.#to = to
    return at
  }

  /** @returns offset after the escape */
  #escape(bytes: Buffer, at: number): number {
    const escape = bytes[at + 1]
    if (escape === undefined) return this.wait(bytes, at)
    if (escape !== 0x75) {
      const byte = simpleEscape(escape)
      if (byte === 0) return this.refuse(at)
      this.#target[this.#to++] = byte
      return at + 2
    }
    if (at + 6 > bytes.length) return this.wait(bytes, at)
    let code = hex4(bytes, at + 2)
    let end = at + 6
    if (code < 0 || (code >= 0xdc00 && code <= 0xdfff)) return this.refuse(at)
    if (code >= 0xd800 && code <= 0xdbff) {
      if (at + 12 > bytes.length) return this.wait(bytes, at)
      const low = bytes[at + 6] === BACKSLASH && bytes[at + 7] === 0x75 ? hex4(bytes, at + 8) : -1
      if (low < 0xdc00 || low > 0xdfff) return this.refuse(at)
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
      end = at + 12
    }
    this.#to = putUtf8(this.#target, this.#to, code)
    return end
  }

  #endString(): void {
    const length = this.#to - this.#from
    const at = this.#from - 4
    const target = this.#target
    target[at] = length
    target[at + 1] = length >>> 8
    target[at + 2] = length >>> 16
    target[at + 3] = length >>> 24
    this.finished()
  }

  #makeRoom(needed: number): void {
    if (this.#to > this.#limit) this.#memory.drop()
    else this.#memory.reserve(needed)
    this.#target = this.#memory.bytes
  }
}
