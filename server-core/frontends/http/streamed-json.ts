/**
 * Takes the JSON body of an inference while it arrives. The elements of tensors go straight into typed bytes: those of `inputs[i].data`, or, of the flat
 * body of `generate`, those of the members named like an input. Everything else is kept as text. What is kept is a document of its own, with `[]` in
 * place of each array that was read, so that every rule about documents and every error stays with the readers of documents.
 */
import { DATA_TYPES, type DataType } from '../../contract/inference.ts'
import { BooleanArrayReader } from './boolean-array-reader.ts'
import type { ElementReader, Elements } from './element-reader.ts'
import { JsonDocument } from './json-document.ts'
import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE, skipSpace } from './json-scan.ts'
import { JsonSyntaxError } from './json-syntax.ts'
import { isNumberType, NumberArrayReader } from './number-array-reader.ts'
import { StringArrayReader } from './string-array-reader.ts'
import { UntypedArrayReader } from './untyped-array-reader.ts'

/** A shorter JSON text is read when all of it is there. Bytes. */
export const STREAMED_LENGTH = 16_384
/** First size of the kept text. Bytes. */
const FIRST_LENGTH = 4096
/** Of the text of a shape. Bytes. */
const MAX_SHAPE_LENGTH = 1024
const SHAPE = /^\[[ \t\r\n]*\d{1,15}(?:[ \t\r\n]*,[ \t\r\n]*\d{1,15})*[ \t\r\n]*\]/

/** Of a name that is compared with those of inputs. Bytes. */
const MAX_NAME_LENGTH = 1024
/** The member of a flat body whose members are like those of the root. */
const NESTED = 'parameters'

/** Elements of one array, or one string, that were read while the body arrived. */
export interface StreamedData {
  readonly elements: Elements
  /** Something among them was for another reader: from there on the array is in the document, after `placeholders` elements that mean nothing. */
  readonly isPartial: boolean
  readonly placeholders: number
}

/** An array whose elements are being read, or a string; `at` is its offset in the document. */
interface OpenValue {
  readonly reader: ElementReader
  readonly at: number
  /** What stands for it in the document. */
  readonly emptied: '[]' | '""'
}

export interface StreamedJsonOptions {
  /** Bytes that one tensor may have. */
  readonly limit: number
  /** Bytes of the body; 0: unknown. */
  readonly announced: number
  /** The inputs of the model, where the body is the flat one of `generate`. */
  readonly inputs?: ReadonlyMap<string, DataType>
}

export class StreamedJson {
  /** By the offset of the array or string in the document. */
  readonly data = new Map<number, StreamedData>()
  readonly #limit: number
  readonly #announced: number
  /** Bytes that a text can have at most. */
  readonly #textLength: number
  readonly #inputs: ReadonlyMap<string, DataType> | undefined
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
  /** A name of the input had an escape: which member it names is left to the readers of documents, and so are the elements. */
  #hasEscapedName = false
  /** How deep the members lie that may be inputs of a flat body: 1, and 1 more for each `parameters` on the way. */
  #memberDepth = 1
  #isDataNext = false
  /** An object that begins now is `parameters` of a flat body. */
  #isNestedNext = false
  #open: OpenValue | undefined

  constructor({ limit, announced, inputs }: StreamedJsonOptions) {
    this.#limit = limit
    this.#announced = announced
    // A document over the limit is refused.
    this.#textLength = announced === 0 ? limit : announced
    this.#inputs = inputs
  }

  /** The text that was kept; whole after `finish`. */
  get document(): Buffer { return this.#text.subarray(0, this.#length) }

  push(piece: Buffer): void {
    for (let at = 0; at < piece.length;) at = this.#open === undefined ? this.#scan(piece, at) : this.#readElements(piece, at)
    this.#base += piece.length
  }

  /** The body is over, perhaps too early. */
  finish(): void {
    if (this.#open !== undefined) this.#leaveValue(this.#open, this.#base)
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
      const isNested = this.#isNestedNext
      this.#isDataNext = false
      this.#isNestedNext = false
      switch (byte) {
        case QUOTE:
          if (isData && this.#beginString(at)) {
            this.#length = at
            return at + ahead
          }
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
        case OPEN_OBJECT: this.#openObject(isNested); break
        case CLOSE_ARRAY: case CLOSE_OBJECT: this.#close(); break
        case COMMA: this.#isNameNext = this.#hasNames; break
        case COLON: this.#beginValue(at + 1); break
        default:
      }
    }
    return piece.length
  }

  get #hasNames(): boolean {
    return this.#inputs === undefined ? this.#depth === 1 || (this.#depth === 3 && this.#rootName === 'inputs') : this.#depth === this.#memberDepth
  }

  #endString(at: number): void {
    this.#isInString = false
    if (this.#nameAt < 0) return
    const end = Math.min(at, this.#nameAt + MAX_NAME_LENGTH)
    this.#name = this.#text.toString('utf8', this.#nameAt, end)
    if (this.#depth === 3 && this.#name.includes('\\')) this.#hasEscapedName = true
    this.#nameAt = -1
    this.#isNameNext = false
  }

  #openObject(isNested: boolean): void {
    this.#depth++
    if (isNested) this.#memberDepth = this.#depth
    this.#isNameNext = this.#hasNames
    if (this.#depth !== 3) return
    this.#datatypeAt = -1
    this.#shapeAt = -1
    this.#hasData = false
    this.#hasEscapedName = false
  }

  #close(): void {
    if (this.#depth === this.#memberDepth && this.#memberDepth > 1) this.#memberDepth--
    this.#depth--
  }

  /** The first of equal names counts, as it does for the readers of the document. */
  #beginValue(at: number): void {
    if (this.#inputs !== undefined) {
      const isMember = this.#depth === this.#memberDepth
      this.#isNestedNext = isMember && this.#name === NESTED
      this.#isDataNext = isMember && this.#inputs.has(this.#name)
      return
    }
    if (this.#depth === 1) this.#rootName = this.#name
    if (this.#depth !== 3 || this.#rootName !== 'inputs') return
    if (this.#name === 'datatype' && this.#datatypeAt < 0) this.#datatypeAt = at
    else if (this.#name === 'shape' && this.#shapeAt < 0) this.#shapeAt = at
    else if (this.#name === 'data' && !this.#hasData) {
      this.#hasData = true
      this.#isDataNext = !this.#hasEscapedName
    }
  }

  /** @returns whether the elements of the array at `at` are read as they come */
  #beginElements(at: number): boolean {
    const reader = this.#inputs === undefined ? this.#readerOfData(at) : this.#readerOf(this.#inputs.get(this.#name) ?? '', Infinity)
    this.#open = { reader, at, emptied: '[]' }
    return true
  }

  /** @returns whether the string at `at` is read as it comes */
  #beginString(at: number): boolean {
    if (this.#inputs?.get(this.#name) !== 'BYTES') return false
    this.#open = { reader: new StringArrayReader(this.#limit, this.#textLength), at, emptied: '""' }
    return true
  }

  /** For the array at `at`, of which the members before it may tell datatype and shape. */
  #readerOfData(at: number): ElementReader {
    const datatypeAt = this.#datatypeAt < 0 ? at : skipSpace(this.#text, this.#datatypeAt)
    const datatype = /^"([A-Z0-9]{4,6})"/.exec(this.#text.toString('latin1', datatypeAt, Math.min(at, datatypeAt + 8)))?.[1] ?? ''
    const shapeAt = this.#shapeAt < 0 ? at : skipSpace(this.#text, this.#shapeAt)
    const shape = SHAPE.exec(this.#text.toString('latin1', shapeAt, Math.min(at, shapeAt + MAX_SHAPE_LENGTH)))?.[0]
    const count = shape === undefined ? Infinity : (JSON.parse(shape) as number[]).reduce((product, dim) => product * dim, 1)
    // Elements of an empty tensor mean nothing, and those of one that is too large, or has no form in JSON, are not looked at.
    const isRefused = datatype === 'FP16' || datatype === 'BF16' || (shape !== undefined && isNumberType(datatype) && count * DATA_TYPES[datatype].byteSize > this.#limit)
    return this.#readerOf(datatype, isRefused ? 0 : count)
  }

  /** @param wanted elements; Infinity: not known */
  #readerOf(datatype: string, wanted: number): ElementReader {
    const limit = this.#limit
    const textLength = this.#textLength
    if (wanted > 0 && isNumberType(datatype)) return new NumberArrayReader(datatype, wanted, Math.ceil(textLength / 2) + 1)
    if (wanted > 0 && datatype === 'BOOL') return new BooleanArrayReader(wanted, textLength)
    if (wanted > 0 && datatype === 'BYTES') return new StringArrayReader(limit, textLength)
    return new UntypedArrayReader({ wanted, limit, textLength })
  }

  #readElements(piece: Buffer, from: number): number {
    const open = this.#open as OpenValue
    const { reader } = open
    const end = reader.read(piece, from)
    if (reader.state === 'more') return end
    if (reader.state === 'refused') {
      this.#leaveValue(open, this.#base + end)
      return end
    }
    this.data.set(open.at, { elements: reader.elements, isPartial: false, placeholders: 0 })
    this.#open = undefined
    this.#append(Buffer.from(open.emptied))
    this.#shift(this.#base + end)
    return end
  }

  /** Goes on with the text of an array or string. @param end bytes of the body that the reader has seen */
  #leaveValue({ reader, at }: OpenValue, end: number): void {
    const { replacement, placeholders, pending, depth, isInString } = reader
    this.data.set(at, { elements: reader.elements, isPartial: true, placeholders })
    this.#open = undefined
    this.#append(Buffer.from(replacement))
    this.#depth += depth
    this.#isInString = isInString
    this.#nameAt = -1
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

/**
 * The document of a body, or of what was kept of one that was read as it came.
 * @throws JsonSyntaxError with the offset in the body as it came
 */
export function readDocument(json: Buffer, streamed: StreamedJson | undefined): JsonDocument {
  try {
    return new JsonDocument(json)
  } catch (error) {
    throw streamed !== undefined && error instanceof JsonSyntaxError ? streamed.relocate(error) : error
  }
}
