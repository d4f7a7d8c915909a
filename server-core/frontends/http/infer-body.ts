/** Receives the body of an inference: short ones whole, the others as they come, so that what is kept of them is their tensors and little more. */
import { GrowingBytes } from './growing-bytes.ts'
import type { Encoding } from './compression.ts'
import type { HttpExchange } from './http-exchange.ts'
import { Inflater } from './inflater.ts'
import { type CollectedBody, MAX_BODY_LENGTH } from './request-body.ts'
import { STREAMED_LENGTH, StreamedJson } from './streamed-json.ts'

const EMPTY = Buffer.alloc(0)

export interface ReceivedBody {
  /** Bytes of the body, decompressed. */
  readonly byteLength: number
  /** The JSON part, or what was kept of it. */
  readonly json: Buffer
  /** What follows the JSON part; the body of a raw request. */
  readonly binary: Buffer
  /** The JSON part was read as it came. */
  readonly streamed?: StreamedJson | undefined
  /** Memory that can be recycled when nobody looks at the body any more. */
  readonly memory: Buffer
}

export interface BodySource {
  readonly maxInputSize: number
  /** Reads the body, keeping at most `limit` bytes; none where `take` is given the pieces. */
  collect(exchange: HttpExchange, limit: number, take?: (piece: Buffer) => Promise<void> | undefined): Promise<CollectedBody>
}

/** Bytes of the body as the client says; undefined: it does not. */
export function announcedLength(exchange: HttpExchange): number | undefined {
  const length = exchange.header('content-length')
  return length === undefined ? undefined : Number(length)
}

/**
 * @param headerLength bytes of the JSON part as the client says; undefined: all of the body. It is not checked here: what cannot be is not kept.
 * @throws ServerError INVALID_ARG for a body that is too large when it is decompressed, and what `collect` throws
 */
export async function receiveInferBody(source: BodySource, exchange: HttpExchange, encoding: Encoding | undefined, headerLength: number | undefined): Promise<ReceivedBody> {
  const { maxInputSize: limit } = source
  const announced = announcedLength(exchange)
  if (encoding !== undefined) return receiveCompressed(source, exchange, encoding, headerLength)
  // Without a binary part the whole body has to be within the limit; then more need not be kept.
  const kept = headerLength === undefined || headerLength === 0 ? limit : MAX_BODY_LENGTH
  const jsonLength = headerLength ?? announced ?? Infinity
  if (jsonLength >= 0 && jsonLength < STREAMED_LENGTH) {
    const { body, byteLength } = await source.collect(exchange, kept)
    return { byteLength, memory: body, json: body.subarray(0, jsonLength), binary: body.subarray(jsonLength) }
  }
  const sink = new InferBodySink(headerLength, limit, announced ?? 0)
  const { byteLength } = await source.collect(exchange, kept, (piece) => {
    sink.push(piece)
    return undefined
  })
  return { ...sink.finish(), byteLength }
}

async function receiveCompressed(source: BodySource, exchange: HttpExchange, encoding: Encoding, headerLength: number | undefined): Promise<ReceivedBody> {
  const sink = new InferBodySink(headerLength, source.maxInputSize, 0)
  const inflater = new Inflater(encoding, source.maxInputSize, (piece) => { sink.push(piece) })
  try {
    await source.collect(exchange, MAX_BODY_LENGTH, (piece) => inflater.push(piece))
    return await inflater.finish() ? sink.finish() : { byteLength: 0, memory: EMPTY, json: EMPTY, binary: EMPTY }
  } finally {
    inflater.close()
  }
}

/** Takes the pieces of a body: reads its JSON part, and keeps the binary one once. */
class InferBodySink {
  readonly #json: StreamedJson
  readonly #jsonLength: number
  /** A JSON part of that length is refused. */
  readonly #isDropped: boolean
  readonly #binary: GrowingBytes
  #received = 0

  /** @param announced bytes of the whole body; 0: unknown */
  constructor(jsonLength: number | undefined, limit: number, announced: number) {
    this.#jsonLength = jsonLength ?? Infinity
    this.#isDropped = jsonLength !== undefined && (jsonLength < 0 || jsonLength > limit)
    this.#json = new StreamedJson({ limit, announced: Math.min(announced, this.#jsonLength) })
    this.#binary = new GrowingBytes((announced === 0 ? limit : announced) - (jsonLength ?? announced))
  }

  push(piece: Buffer): void {
    const start = this.#received
    this.#received += piece.length
    if (this.#isDropped) return
    const jsonEnd = Math.max(0, Math.min(piece.length, this.#jsonLength - start))
    if (jsonEnd > 0) this.#json.push(piece.subarray(0, jsonEnd))
    if (jsonEnd === piece.length) return
    const at = start + jsonEnd - this.#jsonLength
    this.#binary.reserve(at + piece.length - jsonEnd)
    piece.copy(this.#binary.bytes, at, jsonEnd)
  }

  /** The body is over. */
  finish(): ReceivedBody {
    this.#json.finish()
    return {
      byteLength: this.#received, memory: EMPTY, json: this.#json.document, streamed: this.#json,
      binary: this.#isDropped ? EMPTY : this.#binary.bytes.subarray(0, Math.max(0, this.#received - this.#jsonLength)),
    }
  }
}
