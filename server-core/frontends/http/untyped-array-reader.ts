/** Reads an array of which nobody has said yet what it holds: its first element tells whether it is one of numbers, of booleans or of strings. */
import { BooleanArrayReader } from './boolean-array-reader.ts'
import { type ElementReader, type Elements, EMPTY, type ReaderState } from './element-reader.ts'
import { CLOSE_ARRAY, COMMA, OPEN_ARRAY, QUOTE } from './json-scan.ts'
import { NumberArrayReader } from './number-array-reader.ts'
import { StringArrayReader } from './string-array-reader.ts'

/** Brackets and space before the first element. Bytes. */
const MAX_LEAD = 4096

export interface UntypedLimits {
  /** Elements that are kept; Infinity: all. */
  readonly wanted: number
  /** Bytes of the tensor that are kept. */
  readonly limit: number
  /** Bytes that the text can have at most. */
  readonly textLength: number
}

export class UntypedArrayReader implements ElementReader {
  readonly #limits: UntypedLimits
  #inner: ElementReader | undefined
  /** What came before the first element, as long as that has not come; later what a reader refused of it. */
  #lead: Buffer = EMPTY
  #depth = 0

  constructor(limits: UntypedLimits) { this.#limits = limits }

  get state(): ReaderState { return this.#inner?.state ?? 'more' }
  get pending(): Buffer { return this.#lead.length > 0 ? this.#lead : this.#inner?.pending ?? EMPTY }
  get depth(): number { return this.#inner?.depth ?? 0 }
  get replacement(): string { return this.#inner?.replacement ?? '' }
  get placeholders(): number { return this.#inner?.placeholders ?? 0 }
  get isInString(): boolean { return this.#inner?.isInString ?? false }
  get elements(): Elements { return (this.#inner ?? this.#choose(0)).elements }

  read(bytes: Buffer, at: number): number {
    if (this.#inner !== undefined) return this.#inner.read(bytes, at)
    let end = at
    while (end < bytes.length && this.#isLead(bytes[end] as number)) end++
    const kept = this.#lead.length
    if (end === bytes.length && kept + end - at <= MAX_LEAD) {
      this.#lead = Buffer.concat([this.#lead, bytes.subarray(at, end)])
      return end
    }
    const inner = this.#choose(bytes[end] ?? 0)
    this.#inner = inner
    if (kept === 0) return inner.read(bytes, at)
    const joined = Buffer.concat([this.#lead, bytes.subarray(at)])
    const stopped = inner.read(joined, 0)
    // In what came before this piece there is no element and no end: a reader stops there only at a mistake.
    this.#lead = stopped < kept ? joined.subarray(stopped, kept) : EMPTY
    return at + Math.max(0, stopped - kept)
  }

  /** @returns whether the first element comes later */
  #isLead(byte: number): boolean {
    switch (byte) {
      case OPEN_ARRAY: this.#depth++; return true
      case CLOSE_ARRAY: return --this.#depth > 0
      case COMMA: case 0x20: case 0x0a: case 0x0d: case 0x09: return true
      default: return false
    }
  }

  #choose(first: number): ElementReader {
    const { wanted, limit, textLength } = this.#limits
    if (first === QUOTE) return new StringArrayReader(wanted === 0 ? 0 : limit, textLength)
    if (first === 0x74 || first === 0x66) return new BooleanArrayReader(wanted, textLength)
    return new NumberArrayReader(undefined, wanted, Math.ceil(textLength / 2) + 1)
  }
}
