/** Reads an array of `true` and `false` into a byte each while its text arrives, in pieces cut anywhere. */
import { ArrayReader, type Elements } from './element-reader.ts'
import { GrowingBytes } from './growing-bytes.ts'

const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')

export class BooleanArrayReader extends ArrayReader {
  protected readonly placeholder = 'false'
  readonly #wanted: number
  readonly #memory: GrowingBytes
  /** Goes on where a cut parts a word. */
  #target: Buffer

  /**
   * @param wanted elements that are kept; Infinity: all
   * @param textLength bytes that the text can have at most
   */
  constructor(wanted: number, textLength: number) {
    super()
    this.#wanted = wanted
    this.#memory = new GrowingBytes(Math.min(wanted, Math.ceil(textLength / TRUE.length)))
    this.#target = this.#memory.bytes
  }

  get elements(): Elements {
    const { count } = this
    const target = this.#target
    return {
      kind: count > 0 ? 'booleans' : 'nothing', count, isNested: this.isNested, byteSize: 0, firstUnfit: () => Infinity,
      bytes: (_datatype, wanted) => target.subarray(0, wanted),
    }
  }

  protected element(bytes: Buffer, at: number): number {
    const word = bytes[at] === TRUE[0] ? TRUE : FALSE
    for (let i = 0; i < word.length; i++) {
      const byte = bytes[at + i]
      if (byte === undefined) return this.wait(bytes, at)
      if (byte !== word[i]) return this.refuse(at)
    }
    if (this.count < this.#wanted) {
      if (this.count === this.#target.length) {
        this.#memory.reserve(this.count + 1)
        this.#target = this.#memory.bytes
      }
      this.#target[this.count] = word === TRUE ? 1 : 0
    }
    this.finished()
    return at + word.length
  }
}
