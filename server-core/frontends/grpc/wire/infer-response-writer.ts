/**
 * ModelInferResponse and ModelStreamInferResponse as bytes (protocol 9.1). Large tensors are not copied: a message is a few pieces, of which those are views
 * of the tensors themselves.
 */
import { FRAME_PREFIX_BYTES, type OutgoingMessage } from '../transport/message.ts'
import type { WireInferResponse, WireParameter, WireParameters } from './wire-types.ts'

/** Tensors up to this size are copied into the piece before them: a piece of their own would cost more than the copy. */
const COPY_UP_TO_BYTES = 8192
/** Length of the number that tells a length: at most 2^32. */
const MAX_LENGTH_BYTES = 5

export function writeInferResponseMessage(response: WireInferResponse): OutgoingMessage {
  const writer = new PieceWriter()
  writeResponse(writer, response)
  return writer.finish()
}

/** @param errorMessage '' : none */
export function writeStreamResponseMessage(errorMessage: string, response: WireInferResponse): OutgoingMessage {
  const writer = new PieceWriter()
  writer.text(1, errorMessage)
  writer.length(2, responseByteLength(response))
  writeResponse(writer, response)
  return writer.finish()
}

function writeResponse(writer: PieceWriter, response: WireInferResponse): void {
  writer.text(1, response.model_name)
  writer.text(2, response.model_version)
  writer.text(3, response.id)
  writeParameters(writer, 4, response.parameters)
  for (const output of response.outputs) {
    const shapeLength = output.shape.reduce((sum, dim) => sum + varintLength(dim), 0)
    writer.length(5, textLength(output.name) + textLength(output.datatype) + (output.shape.length === 0 ? 0 : lengthDelimited(shapeLength)) + parametersLength(output.parameters ?? {}))
    writer.text(1, output.name)
    writer.text(2, output.datatype)
    if (output.shape.length > 0) {
      writer.length(3, shapeLength)
      for (const dim of output.shape) writer.varint(dim)
    }
    writeParameters(writer, 4, output.parameters ?? {})
  }
  for (const data of response.raw_output_contents) writer.bytes(6, data)
}

function responseByteLength(response: WireInferResponse): number {
  let length = textLength(response.model_name) + textLength(response.model_version) + textLength(response.id) + parametersLength(response.parameters)
  for (const output of response.outputs) {
    const shapeLength = output.shape.reduce((sum, dim) => sum + varintLength(dim), 0)
    length += lengthDelimited(textLength(output.name) + textLength(output.datatype) + (output.shape.length === 0 ? 0 : lengthDelimited(shapeLength)) + parametersLength(output.parameters ?? {}))
  }
  for (const data of response.raw_output_contents) length += lengthDelimited(data.byteLength)
  return length
}

function writeParameters(writer: PieceWriter, field: number, parameters: WireParameters): void {
  for (const [key, value] of Object.entries(parameters)) {
    const choice = choiceLength(value)
    writer.length(field, textLength(key) + lengthDelimited(choice))
    writer.text(1, key)
    writer.length(2, choice)
    writeChoice(writer, value)
  }
}

function writeChoice(writer: PieceWriter, value: WireParameter): void {
  if (value.bool_param !== undefined) writer.number(1, value.bool_param ? 1 : 0)
  else if (value.int64_param !== undefined) writer.bigNumber(2, BigInt.asUintN(64, BigInt(value.int64_param)))
  else if (value.string_param !== undefined) writer.textAlways(3, value.string_param)
  else if (value.double_param !== undefined) writer.double(4, value.double_param)
  else if (value.uint64_param !== undefined) writer.bigNumber(5, BigInt(value.uint64_param))
}

function parametersLength(parameters: WireParameters): number {
  let length = 0
  for (const [key, value] of Object.entries(parameters)) length += lengthDelimited(textLength(key) + lengthDelimited(choiceLength(value)))
  return length
}

function choiceLength(value: WireParameter): number {
  if (value.bool_param !== undefined) return 2
  if (value.int64_param !== undefined) return 1 + bigVarintLength(BigInt.asUintN(64, BigInt(value.int64_param)))
  if (value.string_param !== undefined) return lengthDelimited(Buffer.byteLength(value.string_param))
  if (value.double_param !== undefined) return 9
  if (value.uint64_param !== undefined) return 1 + bigVarintLength(BigInt(value.uint64_param))
  return 0
}

/** Of a text field, which is left out when empty. All field numbers here are below 16, so a tag is one byte. */
function textLength(text: string): number { return text === '' ? 0 : lengthDelimited(Buffer.byteLength(text)) }

function lengthDelimited(length: number): number { return 1 + varintLength(length) + length }

function varintLength(value: number): number {
  if (value < 0) return 10
  let length = 1
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) length++
  return length
}

function bigVarintLength(value: bigint): number {
  let length = 1
  for (let rest = value; rest >= 128n; rest >>= 7n) length++
  return length
}

/** Appends fields; starts a new piece where a large tensor goes between. */
class PieceWriter {
  readonly #pieces: Uint8Array[] = []
  #buffer: Buffer
  #at = FRAME_PREFIX_BYTES
  #piecesLength = 0

  constructor() { this.#buffer = Buffer.allocUnsafe(512) }

  text(field: number, text: string): void { if (text !== '') this.textAlways(field, text) }

  textAlways(field: number, text: string): void {
    const length = Buffer.byteLength(text)
    this.length(field, length)
    this.#room(length)
    this.#buffer.write(text, this.#at, 'utf8')
    this.#at += length
  }

  /** Tag and length of a length-delimited field whose bytes follow. */
  length(field: number, length: number): void {
    this.#room(1 + MAX_LENGTH_BYTES)
    this.#buffer[this.#at++] = field << 3 | 2
    this.varint(length)
  }

  number(field: number, value: number): void {
    this.#room(1)
    this.#buffer[this.#at++] = field << 3
    this.varint(value)
  }

  bigNumber(field: number, value: bigint): void {
    this.#room(11)
    this.#buffer[this.#at++] = field << 3
    let rest = value
    for (; rest >= 128n; rest >>= 7n) this.#buffer[this.#at++] = Number(rest & 0x7fn) | 0x80
    this.#buffer[this.#at++] = Number(rest)
  }

  double(field: number, value: number): void {
    this.#room(9)
    this.#buffer[this.#at++] = field << 3 | 1
    this.#at = this.#buffer.writeDoubleLE(value, this.#at)
  }

  varint(value: number): void {
    this.#room(10)
    if (value < 0) {
      let rest = BigInt.asUintN(64, BigInt(value))
      for (; rest >= 128n; rest >>= 7n) this.#buffer[this.#at++] = Number(rest & 0x7fn) | 0x80
      this.#buffer[this.#at++] = Number(rest)
      return
    }
    let rest = value
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#buffer[this.#at++] = rest % 128 | 0x80
    this.#buffer[this.#at++] = rest
  }

  bytes(field: number, data: Uint8Array): void {
    this.length(field, data.byteLength)
    if (data.byteLength <= COPY_UP_TO_BYTES) {
      this.#room(data.byteLength)
      this.#buffer.set(data, this.#at)
      this.#at += data.byteLength
      return
    }
    this.#endPiece()
    this.#push(data)
    this.#buffer = Buffer.allocUnsafe(64)
    this.#at = 0
  }

  finish(): OutgoingMessage {
    this.#endPiece()
    return { pieces: this.#pieces, byteLength: this.#piecesLength - FRAME_PREFIX_BYTES }
  }

  #endPiece(): void { if (this.#at > 0) this.#push(this.#buffer.subarray(0, this.#at)) }

  #push(piece: Uint8Array): void {
    this.#pieces.push(piece)
    this.#piecesLength += piece.byteLength
  }

  #room(length: number): void {
    if (this.#at + length <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#at + length))
    this.#buffer.copy(larger, 0, 0, this.#at)
    this.#buffer = larger
  }
}
