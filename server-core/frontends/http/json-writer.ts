/** Writes JSON as RapidJSON does: doubles with a fraction, bare NaN and Infinity, tensor bytes untouched but for escaping. */
import { nativeAddon, type NativeAddonResult } from '../../backends/native-addon.ts'
import { DATA_TYPES, type DataType, type ParameterValue } from '../../contract/inference.ts'
import { releaseMemory } from '../../release-memory.ts'
import { ServerError } from '../../server-error.ts'

/** Text is turned into bytes in pieces of about this many characters. */
const PIECE_LENGTH = 65_536

const NEEDS_ESCAPE = Uint8Array.from({ length: 256 }, (_, byte) => (byte < 0x20 || byte === 0x22 || byte === 0x5c ? 1 : 0))
/** Bytes that a byte of a string is printed as. */
const PRINTED_LENGTH = NEEDS_ESCAPE.map((needs, byte) => (needs === 0 ? 1 : escapeOf(byte).length))

/** A piece of JSON: its bytes, or what prints them, the same each time. */
export type JsonPiece = Buffer | (() => Buffer)

export function printed(piece: JsonPiece): Buffer { return typeof piece === 'function' ? piece() : piece }

/** Collects text and bytes in order; `finish` hands out the pieces. */
export class JsonWriter {
  readonly #pieces: JsonPiece[] = []
  #text = ''

  add(text: string): void {
    this.#text += text
    if (this.#text.length >= PIECE_LENGTH) this.#flush()
  }

  /** A string value whose content is bytes, escaped and otherwise as they are. */
  addBytesAsString(bytes: Uint8Array): void {
    let isAscii = true
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i] as number
      if (byte >= 0x80 || NEEDS_ESCAPE[byte] === 1) { isAscii = false; break }
    }
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    if (isAscii) { this.add(`"${view.toString('latin1')}"`); return }
    this.#flush()
    this.#pieces.push(escapeBytes(view, '"'))
  }

  /** Text that is there as bytes. */
  addAscii(bytes: Buffer): void {
    this.#flush()
    this.#pieces.push(bytes)
  }

  /** The whole document as it is, where it is short and ASCII; then nothing is to be finished. Undefined: it is not. */
  finishAscii(): string | undefined {
    return this.#pieces.length === 0 && Buffer.byteLength(this.#text) === this.#text.length ? this.#text : undefined
  }

  /** A part of a large tensor, to be printed when it is needed. */
  addLater(print: () => Buffer): void {
    this.#flush()
    this.#pieces.push(print)
  }

  finish(): JsonPiece[] {
    this.#flush()
    return this.#pieces
  }

  /** All of it in one piece. */
  finishJoined(): Buffer {
    const pieces = this.finish().map(printed)
    const [only] = pieces
    if (only !== undefined && pieces.length === 1) return only
    const joined = Buffer.concat(pieces)
    for (const piece of pieces) releaseMemory(piece)
    return joined
  }

  #flush(): void {
    if (this.#text !== '') this.#pieces.push(Buffer.from(this.#text, 'utf8'))
    this.#text = ''
  }
}

/** A string, or without quotes a part of one; what is large is in memory of its own, to be given back. */
function escapeBytes(bytes: Uint8Array, quote: '"' | ''): Buffer {
  let length = 2 * quote.length
  for (const byte of bytes) length += PRINTED_LENGTH[byte] as number
  const target = Buffer.allocUnsafe(length)
  let to = target.write(quote, 0, 'latin1')
  for (const byte of bytes) {
    if (NEEDS_ESCAPE[byte] === 0) { target[to++] = byte; continue }
    to += target.write(escapeOf(byte), to, 'latin1')
  }
  target.write(quote, to, 'latin1')
  return target
}

function escapeOf(code: number): string {
  switch (code) {
    case 0x22: return '\\"'
    case 0x5c: return '\\\\'
    case 0x08: return '\\b'
    case 0x0c: return '\\f'
    case 0x0a: return '\\n'
    case 0x0d: return '\\r'
    case 0x09: return '\\t'
    default: return `\\u00${code.toString(16).toUpperCase().padStart(2, '0')}`
  }
}

/** A string value, quoted. */
export function jsonString(text: string): string {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 || code === 0x22 || code === 0x5c) {
      return `"${Array.from(text, (character) => (character.length === 1 && NEEDS_ESCAPE[character.charCodeAt(0)] === 1 ? escapeOf(character.charCodeAt(0)) : character)).join('')}"`
    }
  }
  return `"${text}"`
}

/** Shortest form of a double with a fraction or an exponent: `1.0`, `-0.0`, `1e21`, `NaN`, `-Infinity` (protocol section 2). */
export function jsonDouble(value: number): string {
  const text = String(value)
  if (Number.isInteger(value)) {
    if (Object.is(value, -0)) return '-0.0'
    return text.includes('e') ? text.replace('e+', 'e') : `${text}.0`
  }
  return text
}

/** A parameter: integers are bigint, doubles number. */
export function jsonParameter(value: ParameterValue): string {
  switch (typeof value) {
    case 'string': return jsonString(value)
    case 'number': return jsonDouble(value)
    default: return String(value)
  }
}

export function jsonParameters(parameters: Readonly<Record<string, ParameterValue>>): string {
  return `{${Object.entries(parameters).map(([key, value]) => `${jsonString(key)}:${jsonParameter(value)}`).join(',')}}`
}

/**
 * Adds the flat `data` array of a tensor.
 * @param elementCount product of the shape; the raw bytes were checked against it for every type but BYTES.
 * @param native prints many doubles where it is there
 * @throws ServerError INVALID_ARG for FP16 and BF16, INTERNAL when a BYTES tensor does not match its shape.
 */
export function addTensorData(
  writer: JsonWriter, name: string, datatype: DataType, data: Uint8Array, elementCount: number, native: () => NativeAddonResult = nativeAddon,
): void {
  if (datatype === 'BYTES') { addByteStrings(writer, name, data, elementCount); return }
  writer.add('[')
  if (elementCount <= TOGETHER_LATER) addElements(writer, datatype, data, elementCount, native)
  else {
    // What has no form in JSON is refused here.
    elementReader(datatype, data)
    const { byteSize } = DATA_TYPES[datatype]
    for (let start = 0; start < elementCount; start += TOGETHER_LATER) {
      const count = Math.min(TOGETHER_LATER, elementCount - start)
      const part = data.subarray(start * byteSize, (start + count) * byteSize)
      if (start > 0) writer.add(',')
      writer.addLater(() => {
        const own = new JsonWriter()
        addElements(own, datatype, part, count, native)
        return own.finishJoined()
      })
    }
  }
  writer.add(']')
}

/** Elements of a tensor that is larger are printed in parts, each when it is written. */
const TOGETHER_LATER = 8192

function addElements(writer: JsonWriter, datatype: Exclude<DataType, 'BYTES'>, data: Uint8Array, elementCount: number, native: () => NativeAddonResult): void {
  const numbers = numberReader(datatype, data)
  const isFloat = datatype === 'FP32' || datatype === 'FP64'
  const addon = isFloat && elementCount >= WORTH_THE_ADDON ? native() : null
  if (addon?.ok === true) writer.addAscii(addon.addon.jsonNumbers(data, datatype === 'FP32'))
  else if (numbers !== undefined) addNumbers(writer, numbers, elementCount, isFloat)
  else {
    const element = elementReader(datatype, data)
    for (let i = 0; i < elementCount; i++) {
      if (i > 0) writer.add(',')
      writer.add(element(i))
    }
  }
}

/** So many doubles are printed in a third of the time by the addon, where there is one. Below that the call costs what it saves. */
const WORTH_THE_ADDON = 64

/** Numbers that are printed together: the engine prints an array of doubles without a string for each. */
const TOGETHER = 4096

function addNumbers(writer: JsonWriter, read: (index: number) => number, count: number, isFloat: boolean): void {
  // Filled with fractions, so that the engine keeps it as doubles.
  const values = new Array<number>(Math.min(TOGETHER, count)).fill(0.5)
  for (let start = 0; start < count; start += TOGETHER) {
    const length = Math.min(TOGETHER, count - start)
    if (length < values.length) values.length = length
    let special = 0
    for (let i = 0; i < length; i++) {
      const value = read(start + i)
      values[i] = value
      // Whole numbers get a fraction, and the words are no JSON for the engine.
      if (isFloat && (value === Math.floor(value) || value !== value)) special++
    }
    let text = JSON.stringify(values).slice(1, -1)
    if (special > 0) text = special > length / 4 ? values.map(jsonDouble).join(',') : withSpecials(text, values)
    writer.add(start === 0 ? text : `,${text}`)
  }
}

function withSpecials(text: string, values: readonly number[]): string {
  const texts = text.split(',')
  for (const [index, value] of values.entries()) if (value === Math.floor(value) || value !== value) texts[index] = jsonDouble(value)
  return texts.join(',')
}

/** Elements as numbers, for types whose elements a double holds. */
function numberReader(datatype: DataType, data: Uint8Array): ((index: number) => number) | undefined {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  switch (datatype) {
    case 'UINT8': return (i) => view.getUint8(i)
    case 'INT8': return (i) => view.getInt8(i)
    case 'UINT16': return (i) => view.getUint16(2 * i, true)
    case 'INT16': return (i) => view.getInt16(2 * i, true)
    case 'UINT32': return (i) => view.getUint32(4 * i, true)
    case 'INT32': return (i) => view.getInt32(4 * i, true)
    case 'FP32': return (i) => view.getFloat32(4 * i, true)
    case 'FP64': return (i) => view.getFloat64(8 * i, true)
    case 'BOOL': case 'INT64': case 'UINT64': case 'FP16': case 'BF16': case 'BYTES': return undefined
  }
}

/** Adds the only element of a tensor, without the brackets of an array. @throws ServerError as `addTensorData` */
export function addTensorElement(writer: JsonWriter, name: string, datatype: DataType, data: Uint8Array): void {
  if (datatype === 'BYTES') {
    forEachString(name, data, 1, (bytes) => {
      if (bytes.length > BYTES_LATER) addStringLater(writer, bytes)
      else writer.addBytesAsString(bytes)
    })
  } else writer.add(elementReader(datatype, data)(0))
}

function elementReader(datatype: Exclude<DataType, 'BYTES'>, data: Uint8Array): (index: number) => string {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  switch (datatype) {
    case 'BOOL': return (i) => (data[i] === 0 ? 'false' : 'true')
    case 'UINT8': return (i) => String(data[i])
    case 'INT8': return (i) => String(view.getInt8(i))
    case 'UINT16': return (i) => String(view.getUint16(2 * i, true))
    case 'INT16': return (i) => String(view.getInt16(2 * i, true))
    case 'UINT32': return (i) => String(view.getUint32(4 * i, true))
    case 'INT32': return (i) => String(view.getInt32(4 * i, true))
    case 'UINT64': return (i) => String(view.getBigUint64(8 * i, true))
    case 'INT64': return (i) => String(view.getBigInt64(8 * i, true))
    case 'FP32': return (i) => jsonDouble(view.getFloat32(4 * i, true))
    case 'FP64': return (i) => jsonDouble(view.getFloat64(8 * i, true))
    case 'FP16': case 'BF16':
      throw new ServerError('INVALID_ARG', `sending ${datatype} data via JSON is not supported. Please use the binary data format for output`)
  }
}

function addByteStrings(writer: JsonWriter, name: string, data: Uint8Array, elementCount: number): void {
  writer.add('[')
  if (data.byteLength <= BYTES_LATER) {
    forEachString(name, data, elementCount, (bytes, index) => {
      if (index > 0) writer.add(',')
      writer.addBytesAsString(bytes)
    })
  } else addStringsLater(writer, name, data, elementCount)
  writer.add(']')
}

/** Bytes of strings that are printed together; what is longer is printed in parts, each when it is written. */
const BYTES_LATER = 65_536

/** A long string, printed in parts. */
function addStringLater(writer: JsonWriter, bytes: Uint8Array): void {
  writer.add('"')
  for (let from = 0; from < bytes.length; from += BYTES_LATER) {
    const part = bytes.subarray(from, from + BYTES_LATER)
    writer.addLater(() => escapeBytes(part, ''))
  }
  writer.add('"')
}

function addStringsLater(writer: JsonWriter, name: string, data: Uint8Array, elementCount: number): void {
  // Strings that go together lie one after the other in the tensor.
  let start = 0
  let count = 0
  let isFirst = true
  const flush = (end: number): void => {
    if (count > 0) {
      const part = data.subarray(start, end)
      const partCount = count
      const comma = isFirst ? '' : ','
      isFirst = false
      writer.addLater(() => {
        const own = new JsonWriter()
        own.add(comma)
        forEachString(name, part, partCount, (bytes, index) => {
          if (index > 0) own.add(',')
          own.addBytesAsString(bytes)
        })
        return own.finishJoined()
      })
    }
    start = end
    count = 0
  }
  let at = 0
  forEachString(name, data, elementCount, (bytes) => {
    const end = at + 4 + bytes.length
    if (end - start > BYTES_LATER) flush(at)
    if (bytes.length > BYTES_LATER) {
      if (!isFirst) writer.add(',')
      isFirst = false
      addStringLater(writer, bytes)
      start = end
    } else count++
    at = end
  })
  flush(at)
}

function forEachString(name: string, data: Uint8Array, elementCount: number, visit: (bytes: Uint8Array, index: number) => void): void {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  let offset = 0
  for (let i = 0; i < elementCount; i++) {
    const length = offset + 4 <= data.length ? view.getUint32(offset, true) : Infinity
    if (offset + 4 + length > data.length) throw sizeMismatch(name)
    visit(data.subarray(offset + 4, offset + 4 + length), i)
    offset += 4 + length
  }
  if (offset !== data.length) throw sizeMismatch(name)
}

function sizeMismatch(name: string): ServerError {
  return new ServerError('INTERNAL', `output tensor shape does not match size of output for '${name}'`)
}
