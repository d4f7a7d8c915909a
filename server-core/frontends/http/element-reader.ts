/** What the readers of arrays that are read while they arrive have in common. */
import type { DataType } from '../../contract/inference.ts'
import { CLOSE_ARRAY, COMMA, OPEN_ARRAY } from './json-scan.ts'
import { NESTING_LIMIT } from './tensor-from-json.ts'

/** 'more': wants the next piece. 'done': the array ended. 'refused': from `pending` on it is not for this reader. */
export type ReaderState = 'more' | 'done' | 'refused'

/** What the elements that were read are; 'nothing': there were none. */
export type ElementKind = 'numbers' | 'booleans' | 'strings' | 'nothing'

/** Elements that were read. */
export interface Elements {
  readonly kind: ElementKind
  /** Elements seen; perhaps more than are kept. */
  readonly count: number
  /** There were arrays in the array. */
  readonly isNested: boolean
  /** Of strings: bytes of the tensor they make, whether they are kept or not. Else 0. */
  readonly byteSize: number
  /** Index of the first element that the datatype, which is one for their kind, cannot take; Infinity: none. */
  firstUnfit(datatype: DataType): number
  /** The first `count` elements as raw bytes. To be called once, with a datatype of their kind. */
  bytes(datatype: DataType, count: number): Uint8Array
}

export interface ElementReader {
  readonly state: ReaderState
  /** Bytes of earlier pieces that come before what is read next. */
  readonly pending: Buffer
  /** Arrays that are open. */
  readonly depth: number
  /** What stands for everything read so far, before `pending`, so that the text after it is read in the same place of the grammar. */
  readonly replacement: string
  /** Elements in the replacement. */
  readonly placeholders: number
  /** What comes next is inside a string. */
  readonly isInString: boolean
  readonly elements: Elements
  /**
   * Reads from `at`; the first piece begins with the opening bracket.
   * @returns offset after what was read; where refused, of the first byte that is not for this reader, unless that is in `pending`
   */
  read(bytes: Buffer, at: number): number
}

export const EMPTY = Buffer.alloc(0)

/** Where a reader stands between two tokens. */
export const OPENED = 0
export const AFTER_COMMA = 1
export const AFTER_VALUE = 2

/** What has to be seen at once is shorter: two escapes that stand for one character. Bytes. */
const LONGEST_TOKEN = 16

/** Brackets, commas and space; what an element is, those that extend it know. */
export abstract class ArrayReader implements ElementReader {
  state: ReaderState = 'more'
  pending: Buffer = EMPTY
  depth = 0
  isInString = false
  abstract readonly elements: Elements
  protected isNested = false
  protected count = 0
  #place = OPENED

  /** An element as it stands in the text. */
  protected abstract readonly placeholder: string

  get placeholders(): number { return !this.isInString && this.#place !== OPENED ? 1 : 0 }

  get replacement(): string {
    const inside = this.isInString ? '"' : this.#place === AFTER_VALUE ? `${this.placeholder} ` : this.#place === AFTER_COMMA ? `${this.placeholder},` : ''
    return '['.repeat(this.depth) + inside
  }

  read(bytes: Buffer, at: number): number {
    const kept = this.pending.length
    if (kept === 0) return this.#run(bytes, at)
    // The token that a cut parted, and no copy of the whole piece.
    const joined = Buffer.concat([this.pending, bytes.subarray(at, at + LONGEST_TOKEN)])
    this.pending = EMPTY
    const stopped = this.#run(joined, 0)
    if (this.state === 'refused' && stopped < kept) {
      this.pending = joined.subarray(stopped, kept)
      return at
    }
    if (this.state !== 'more') return at + stopped - kept
    const next = at + stopped - this.pending.length - kept
    // Still no whole token: the piece ended.
    if (next < at) return bytes.length
    this.pending = EMPTY
    return this.#run(bytes, next)
  }

  /**
   * Reads one element, or the next part of one, from `at` on: calls `finished` when it ended, `refused` where it is none, `wait` where it may go on.
   * @returns offset after what was read
   */
  protected abstract element(bytes: Buffer, at: number): number

  protected finished(): void {
    this.count++
    this.#place = AFTER_VALUE
    if (this.depth === 0) this.state = 'done'
  }

  protected refuse(at: number): number {
    this.state = 'refused'
    return at
  }

  /** What lies from `at` on is no whole token yet. */
  protected wait(bytes: Buffer, at: number): number {
    this.pending = Buffer.from(bytes.subarray(at))
    return bytes.length
  }

  #run(bytes: Buffer, from: number): number {
    const { length } = bytes
    let at = from
    if (this.isInString) at = this.element(bytes, at)
    while (at < length && this.state === 'more') {
      const byte = bytes[at] as number
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) { at++; continue }
      if (this.#place === AFTER_VALUE) {
        if (byte === COMMA) { this.#place = AFTER_COMMA; at++; continue }
        if (byte !== CLOSE_ARRAY) return this.refuse(at)
        at++
        this.#close()
      } else if (byte === OPEN_ARRAY) {
        if (this.depth + 1 >= NESTING_LIMIT) return this.refuse(at)
        if (this.depth > 0) this.isNested = true
        this.depth++
        this.#place = OPENED
        at++
      } else if (byte === CLOSE_ARRAY) {
        if (this.#place !== OPENED) return this.refuse(at)
        at++
        this.#close()
      } else at = this.element(bytes, at)
    }
    return at
  }

  #close(): void {
    this.#place = AFTER_VALUE
    if (--this.depth === 0) this.state = 'done'
  }
}
