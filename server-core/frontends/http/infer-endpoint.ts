/** `POST /v2/models/<m>[/versions/<v>]/infer`: body in, checks in the protocol's order (6.1), answer out. */
import { steadyNanoseconds } from '../../clock.ts'
import type { RequestTrace } from '../../contract/inference.ts'
import type { InferenceServer } from '../../inference-server.ts'
import { releaseOutputs } from '../../release-memory.ts'
import { ServerError } from '../../server-error.ts'
import type { SharedMemoryUse } from '../../shared-memory/shared-memory-regions.ts'
import type { FrontendServices } from '../frontend-services.ts'
import { readOutputClasses } from '../classification.ts'
import { forwardHeaders } from '../header-forwarding.ts'
import type { LinearPattern } from '../linear-pattern.ts'
import { acceptedEncoding, compress, decompress, requestEncoding } from './compression.ts'
import type { HttpExchange } from './http-exchange.ts'
import { type InferCall, readInferBody } from './infer-request.ts'
import { type InferBodyPieces, inferResponseBody } from './infer-response.ts'
import { readRawBody } from './raw-request.ts'
import { StreamedJson } from './streamed-json.ts'
import { type CollectedBody, MAX_BODY_LENGTH } from './request-body.ts'
import { traceExchange } from './trace-endpoint.ts'

/** A shorter JSON body is read when it is there. Bytes. */
const STREAMED_LENGTH = 16_384

export interface InferEnvironment {
  readonly server: InferenceServer
  readonly services: FrontendServices
  readonly maxInputSize: number
  /** Null: no headers become parameters. */
  readonly headerForwardPattern: LinearPattern | null
  /** Reads the body, keeping at most `limit` bytes; none where `take` is given the pieces. */
  collect(exchange: HttpExchange, limit: number, take?: (piece: Buffer) => void): Promise<CollectedBody>
  /** Takes back the memory of a collected body that nobody looks at any more. */
  recycle(body: Buffer): void
}

export async function handleInfer(exchange: HttpExchange, modelVersion: string, environment: InferEnvironment): Promise<void> {
  const { server, maxInputSize } = environment
  const modelName = exchange.route.model
  if (server.isDecoupled(modelName, modelVersion)) {
    throw new ServerError('UNSUPPORTED', "HTTP end point doesn't support models with decoupled transaction policy")
  }
  const trace = traceExchange(exchange, environment.services.tracer)
  const encoding = requestEncoding(exchange.header('content-encoding'))
  const lengthHeader = exchange.header('inference-header-content-length')
  const headerLength = lengthHeader === undefined ? undefined : parseLength(lengthHeader)
  // Without a binary part the whole body has to be within the limit; then more need not be kept.
  const isBounded = encoding === undefined && (headerLength === undefined || headerLength === 0)
  const streamed = encoding === undefined && headerLength === undefined ? streamedJson(exchange, maxInputSize) : undefined
  const collected = await environment.collect(exchange, isBounded ? maxInputSize : MAX_BODY_LENGTH, streamed === undefined ? undefined : (piece) => { streamed.push(piece) })
  trace?.timestamp('HTTP_RECV_END', steadyNanoseconds())
  streamed?.finish()
  const sent = encoding === undefined ? collected : plain(await decompress(collected.body, encoding, maxInputSize))
  const sharedMemory = environment.services.sharedMemory.use()
  try {
    const call = readCall(exchange, modelVersion, environment, headerLength, { ...sent, streamed }, sharedMemory)
    if (environment.headerForwardPattern !== null) forwardHeaders(environment.headerForwardPattern, exchange.rawHeaders(), call.request.parameters)
    const body = await inferredBody(exchange, call, server, trace, () => { environment.recycle(collected.body) })
    if (body === null) return
    trace?.timestamp('HTTP_SEND_START', steadyNanoseconds())
    const responseEncoding = acceptedEncoding(exchange.header('accept-encoding'))
    if (responseEncoding === undefined) send(exchange, body)
    else sendCompressed(exchange, body, responseEncoding, await compress(body.pieces, responseEncoding))
  } finally {
    sharedMemory.release()
  }
}

/** Runs the request. @returns null: nobody waits for the answer any more */
async function inferredBody(
  exchange: HttpExchange, call: InferCall, server: InferenceServer, trace: RequestTrace | undefined, onInputsFree: () => void,
): Promise<InferBodyPieces | null> {
  const signal = abortSignal(exchange)
  const classified = [...call.outputForms].flatMap(([output, form]) => (form.classification > 0 ? [output] : []))
  const classes = readOutputClasses(server, call.request, classified)
  const { response, inputsAreFree } = await server.infer(trace === undefined ? call.request : { ...call.request, trace }, { signal })
  if (inputsAreFree === true) onInputsFree()
  if (exchange.response.destroyed) return null
  // The system has it all by then. A connection that breaks off before leaves them to the collector: the system may still read them.
  exchange.response.once('finish', () => { releaseOutputs(response.outputs) })
  return inferResponseBody(call, classes, response)
}

function readCall(
  exchange: HttpExchange, modelVersion: string, environment: InferEnvironment, headerLength: number | undefined, collected: CollectedBody & { readonly streamed: StreamedJson | undefined },
  sharedMemory: SharedMemoryUse,
): InferCall {
  const { body, byteLength, streamed } = collected
  const { server, maxInputSize } = environment
  if (headerLength !== undefined && (headerLength < 0 || headerLength > byteLength)) {
    throw new ServerError('INVALID_ARG', `inference header size should be in range (0, ${byteLength}), got: ${headerLength}`)
  }
  exchange.errorContentType = 'application/json'
  const input = { server, modelName: exchange.route.model, modelVersion, maxInputSize, sharedMemory }
  if (headerLength === 0 || byteLength === 0) {
    if (byteLength > maxInputSize) {
      throw new ServerError('INVALID_ARG', `Raw input has a byte_size (${byteLength} bytes) that exceeds the maximum allowed value of ${maxInputSize} bytes. Use --http-max-input-size to increase the limit.`)
    }
    return readRawBody({ ...input, body, headerLength: 0 })
  }
  const jsonLength = headerLength ?? byteLength
  if (jsonLength > maxInputSize) throw jsonTooLarge(jsonLength, maxInputSize)
  if (streamed === undefined) return readInferBody({ ...input, body, headerLength: jsonLength })
  const { document } = streamed
  return readInferBody({ ...input, body: document, headerLength: document.length, streamed })
}

/** For a body that is JSON alone and too long for one piece; else undefined. */
function streamedJson(exchange: HttpExchange, limit: number): StreamedJson | undefined {
  const length = exchange.header('content-length')
  const announced = length === undefined ? 0 : Number(length)
  return announced === 0 ? (length === undefined ? new StreamedJson(limit, 0) : undefined) : announced < STREAMED_LENGTH ? undefined : new StreamedJson(limit, announced)
}

/** @throws the text for a JSON document over the limit; every endpoint with a JSON body uses it. */
export function jsonTooLarge(byteLength: number, limit: number): ServerError {
  return new ServerError('INVALID_ARG', `request JSON size of ${byteLength} bytes exceeds the maximum allowed input size of ${limit} bytes. Use --http-max-input-size to increase the limit.`)
}

function plain(body: Buffer): CollectedBody {
  return { body, byteLength: body.length }
}

/** C's stoi: leading space, sign and digits; what follows is ignored. @throws ServerError INVALID_ARG */
function parseLength(text: string): number {
  const digits = /^\s*[+-]?\d+/.exec(text.length > 64 ? text.slice(0, 64) : text)?.[0]
  // Sent twice, the values come joined: which one somebody on the way went by is not to be known.
  if (digits === undefined || text.includes(', ')) throw new ServerError('INVALID_ARG', `Unable to parse Inference-Header-Content-Length, got: ${text}`)
  const value = Number(digits)
  if (value > MAX_BODY_LENGTH || value < -MAX_BODY_LENGTH - 1) {
    throw new ServerError('INVALID_ARG', `Unable to parse Inference-Header-Content-Length, value is out of range [ -2147483648, 2147483647 ], got: ${text}`)
  }
  return value
}

/** Aborted when the client goes away before its answer is written. */
function abortSignal(exchange: HttpExchange): AbortSignal {
  const controller = new AbortController()
  const { response } = exchange
  response.once('close', () => { if (!response.writableFinished) controller.abort() })
  return controller.signal
}

function send(exchange: HttpExchange, body: InferBodyPieces): void {
  exchange.replyPieces(bodyHeaders(body), body.pieces, body.byteLength)
}

function sendCompressed(exchange: HttpExchange, body: InferBodyPieces, encoding: string, compressed: Buffer): void {
  if (exchange.response.destroyed) return
  exchange.replyPieces([...bodyHeaders(body), 'Content-Encoding', encoding], [compressed], compressed.length)
}

function bodyHeaders(body: InferBodyPieces): string[] {
  return body.byteLength === body.jsonLength
    ? ['Content-Type', 'application/json']
    : ['Content-Type', 'application/octet-stream', 'Inference-Header-Content-Length', String(body.jsonLength)]
}
