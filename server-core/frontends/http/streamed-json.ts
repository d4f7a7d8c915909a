/**
 * Takes the JSON body of an inference while it arrives. The elements of `inputs[i].data` go straight into typed bytes where the members
 * before them say of what type and shape they are; everything else is kept as text. What is kept is a document of its own, with `[]` in
 * place of each array that was read, so that every rule about documents and every error stays with the readers of documents.
 */
import { DATA_TYPES } from '../../contract/inference.ts'
import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE, skipSpace } from './json-scan.ts'
import { JsonSyntaxError } from './json-syntax.ts'
import { isNumberType, NumberArrayReader } from './number-array-reader.ts'

/** First size of the kept text. Bytes. */
const FIRST_LENGTH = 4096
/** Of the text of a shape. Bytes. */
const MAX_SHAPE_LENGTH = 1024
const SHAPE = /^\[[ \t\r\n]*\d{1,15}(?:[ \t\r\n]*,[ \t\r\n]*\d{1,15})*[ \t\r\n]*\]/

/** Elements of one `data` array that were read while the body arrived. */
export interface StreamedData {
  readonly bytes: Uint8Array
  /** How many there were before `isPartial`, or altogether. */
  readonly count: number
  /** Something among them was for another reader: from there on the array is in the document, after `placeholders` elements that mean nothing. */
  readonly isPartial: boolean
  readonly placeholders: number
}

/** An array whose elements are being read; `at` is its offset in the document. */
interface OpenArray {
  readonly elements: NumberArrayReader
  readonly at: number
}

export class StreamedJson {
  /** By the offset of the array in the document. */
  readonly data = new Map<number, StreamedData>()
  readonly #limit: number
  readonly #announced: number
  #text = Buffer.allocUnsafe(FIRST_LENGTH)
  #length = 0
  /** Bytes of the body before the current piece. */
  #base = 0
  /** From offset `at` of the document on, the body is `by` bytes ahead. */
  readonly #shifts: { readonly at: number; readonly by: number }[] = []
  #depth = 0
  #isInString = false
  #isEscaped = false
  /** A string that begins now is the name of a member of the root or of an input. */
  #isNameNext = false
  /** Where the name that is being read begins in the document; -1: none is. */
  #nameAt = -1
  #name = ''
  /** The member of the root whose value is being read. */
  #rootName = ''
  /** Where the values of the input that is being read begin in the document; -1: not seen. */
  #datatypeAt = -1
  #shapeAt = -1
  #hasData = false
  #isDataNext = false
  #reader: OpenArray | undefined

  /**
   * @param limit bytes that the tensor of one array may have
   * @param announced bytes of the body; 0: unknown
   */
  constructor(limit: number, announced: number) {
    this.#limit = limit
    this.#announced = announced
  }

  /** The text that was kept; whole after `finish`. */
  get document(): Buffer { return this.#text.subarray(0, this.#length) }

  push(piece: Buffer): void {
    for (let at = 0; at < piece.length;) at = this.#reader === undefined ? this.#scan(piece, at) : this.#readElements(piece, at)
    this.#base += piece.length
  }

  /** The body is over, perhaps too early. */
  finish(): void {
    if (this.#reader !== undefined) this.#leaveArray(this.#reader, this.#base)
  }

  /** Turns a syntax error of the document into one of the body as it came. */
  relocate({ reason, offset }: JsonSyntaxError): JsonSyntaxError {
    return new JsonSyntaxError(reason, offset + (this.#shifts.findLast(({ at }) => offset >= at)?.by ?? 0))
  }

  /** Keeps text up to the next array of elements. @returns offset in the piece */
  #scan(piece: Buffer, from: number): number {
    let at = this.#length
    const ahead = from - at
    this.#append(piece.subarray(from))
    const text = this.#text
    for (; at < this.#length; at++) {
      const byte = text[at] as number
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false
        else if (byte === BACKSLASH) this.#isEscaped = true
        else if (byte === QUOTE) this.#endString(at)
        continue
      }
      if (byte <= 0x20) continue
      const isData = this.#isDataNext
      this.#isDataNext = false
      switch (byte) {
        case QUOTE:
          this.#isInString = true
          this.#nameAt = this.#isNameNext ? at + 1 : -1
          break
        case OPEN_ARRAY:
          if (isData && this.#beginElements(at)) {
            this.#length = at
            return at + ahead
          }
          this.#depth++
          break
        case OPEN_OBJECT: this.#openObject(); break
        case CLOSE_ARRAY: case CLOSE_OBJECT: this.#depth--; break
        case COMMA: this.#isNameNext = this.#hasNames; break
        case COLON: this.#beginValue(at + 1); break
        default:
      }
    }
    return piece.length
  }

  get #hasNames(): boolean { return this.#depth === 1 || (this.#depth === 3 && this.#rootName === 'inputs') }

  #endString(at: number): void {
    this.#isInString = false
    if (this.#nameAt < 0) return
    this.#name = this.#text.toString('latin1', this.#nameAt, Math.min(at, this.#nameAt + 16))
    this.#nameAt = -1
    this.#isNameNext = false
  }

  #openObject(): void {
    this.#depth++
    this.#isNameNext = this.#hasNames
    if (this.#depth !== 3) return
    this.#datatypeAt = -1
    this.#shapeAt = -1
    this.#hasData = false
  }

  /** The first of equal names counts, as it does for the readers of the document. */
  #beginValue(at: number): void {
    if (this.#depth === 1) this.#rootName = this.#name
    if (this.#depth !== 3 || this.#rootName !== 'inputs') return
    if (this.#name === 'datatype' && this.#datatypeAt < 0) this.#datatypeAt = at
    else if (this.#name === 'shape' && this.#shapeAt < 0) this.#shapeAt = at
    else if (this.#name === 'data' && !this.#hasData) {
      this.#hasData = true
      this.#isDataNext = true
    }
  }

  /** @returns whether the elements of the array at `at` are read as they come: their type and number are known, and they are numbers. */
  #beginElements(at: number): boolean {
    if (this.#datatypeAt < 0 || this.#shapeAt < 0) return false
    const datatypeAt = skipSpace(this.#text, this.#datatypeAt)
    const datatype = /^"([A-Z0-9]{4,6})"/.exec(this.#text.toString('latin1', datatypeAt, Math.min(at, datatypeAt + 8)))?.[1] ?? ''
    const shapeAt = skipSpace(this.#text, this.#shapeAt)
    const shape = SHAPE.exec(this.#text.toString('latin1', shapeAt, Math.min(at, shapeAt + MAX_SHAPE_LENGTH)))?.[0]
    if (!isNumberType(datatype) || shape === undefined) return false
    const count = (JSON.parse(shape) as number[]).reduce((product, dim) => product * dim, 1)
    if (count === 0 || count * DATA_TYPES[datatype].byteSize > this.#limit) return false
    // Each element takes a character and a comma.
    const capacity = this.#announced === 0 ? count : Math.ceil(this.#announced / 2) + 1
    this.#reader = { elements: new NumberArrayReader(datatype, count, capacity), at }
    return true
  }

  #readElements(piece: Buffer, from: number): number {
    const reader = this.#reader as OpenArray
    const { elements } = reader
    const end = elements.read(piece, from)
    if (elements.state === 'more') return end
    if (elements.state === 'refused') {
      this.#leaveArray(reader, this.#base + end)
      return end
    }
    this.data.set(reader.at, { bytes: elements.bytes, count: elements.count, isPartial: false, placeholders: 0 })
    this.#reader = undefined
    this.#append(Buffer.from('[]'))
    this.#shift(this.#base + end)
    return end
  }

  /** Goes on with the text of an array. @param end bytes of the body that the reader has seen */
  #leaveArray({ elements, at }: OpenArray, end: number): void {
    const { replacement, pending, depth } = elements
    this.data.set(at, { bytes: elements.bytes, count: elements.count, isPartial: true, placeholders: replacement.includes('0') ? 1 : 0 })
    this.#reader = undefined
    this.#append(Buffer.from(replacement))
    this.#depth += depth
    this.#shift(end - pending.length)
    this.#scan(pending, 0)
  }

  #shift(bodyOffset: number): void {
    this.#shifts.push({ at: this.#length, by: bodyOffset - this.#length })
  }

  #append(bytes: Buffer): void {
    const needed = this.#length + bytes.length
    if (needed > this.#text.length) {
      // Text that is long after all: as much as there will be, at once.
      const larger = Buffer.allocUnsafeSlow(needed > 4 * 65_536 && needed <= this.#announced ? this.#announced + FIRST_LENGTH : needed * 2)
      this.#text.copy(larger, 0, 0, this.#length)
      this.#text = larger
    }
    bytes.copy(this.#text, this.#length)
    this.#length = needed
  }
}
