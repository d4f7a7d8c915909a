/** `POST /v2/models/<m>[/versions/<v>]/infer`: body in, checks in the protocol's order (6.1), answer out. */
import { steadyNanoseconds } from '../../clock.ts'
import type { Tensor } from '../../contract/inference.ts'
import type { InferenceServer } from '../../inference-server.ts'
import { releaseOutputs } from '../../release-memory.ts'
import { ServerError } from '../../server-error.ts'
import type { SharedMemoryUse } from '../../shared-memory/shared-memory-regions.ts'
import type { FrontendServices } from '../frontend-services.ts'
import { readOutputClasses } from '../classification.ts'
import { forwardHeaders } from '../header-forwarding.ts'
import type { LinearPattern } from '../linear-pattern.ts'
import { acceptedEncoding, compress, type CompressedPieces, requestEncoding } from './compression.ts'
import type { HttpExchange } from './http-exchange.ts'
import { type BodySource, type ReceivedBody, receiveInferBody } from './infer-body.ts'
import { type InferCall, readInferBody } from './infer-request.ts'
import { type InferBodyPieces, inferResponseBody } from './infer-response.ts'
import { type MeasuredJson, measureJson } from './json-answer.ts'
import type { KnownHeaders } from './known-headers.ts'
import { readRawBody } from './raw-request.ts'
import { MAX_BODY_LENGTH } from './request-body.ts'
import { traceExchange } from './trace-endpoint.ts'

const NONE: readonly string[] = []

export interface InferEnvironment extends BodySource {
  readonly server: InferenceServer
  readonly services: FrontendServices
  /** Null: no headers become parameters. */
  readonly headerForwardPattern: LinearPattern | null
  readonly knownHeaders: KnownHeaders
  /** Takes back the memory of a collected body that nobody looks at any more. */
  recycle(body: Buffer): void
}

export async function handleInfer(exchange: HttpExchange, modelVersion: string, environment: InferEnvironment): Promise<void> {
  const { server } = environment
  const modelName = exchange.route.model
  if (server.isDecoupled(modelName, modelVersion)) {
    throw new ServerError('UNSUPPORTED', "HTTP end point doesn't support models with decoupled transaction policy")
  }
  const trace = traceExchange(exchange, environment.services.tracer)
  const encoding = requestEncoding(exchange.header('content-encoding'))
  const lengthHeader = exchange.header('inference-header-content-length')
  const headerLength = lengthHeader === undefined ? undefined : parseLength(lengthHeader)
  const received = await receiveInferBody(environment, exchange, encoding, headerLength)
  trace?.timestamp('HTTP_RECV_END', steadyNanoseconds())
  const sharedMemory = environment.services.sharedMemory.use()
  try {
    const call = readCall(exchange, modelVersion, environment, headerLength, received, sharedMemory)
    if (environment.headerForwardPattern !== null) forwardHeaders(environment.headerForwardPattern, exchange.rawHeaders(), call.request.parameters)
    const classes = readOutputClasses(server, call.request, classifiedOutputs(call))
    const { response, inputsAreFree } = await server.infer(trace === undefined ? call.request : { ...call.request, trace }, {
      onCall: (running) => { exchange.onGone = () => { running.cancel() } },
    })
    exchange.onGone = null
    if (inputsAreFree === true) environment.recycle(received.memory)
    // Nobody waits for the answer any more.
    if (exchange.response.destroyed) return
    // The system has it all by then. A connection that breaks off before leaves them to the collector: the system may still read them.
    if (response.outputs.some(isExclusive)) exchange.response.once('finish', () => { releaseOutputs(response.outputs) })
    const body = inferResponseBody(call, classes, response)
    trace?.timestamp('HTTP_SEND_START', steadyNanoseconds())
    const responseEncoding = acceptedEncoding(exchange.header('accept-encoding'))
    if (responseEncoding === undefined) {
      const sending = send(exchange, body)
      if (sending !== undefined) await sending
    } else sendCompressed(exchange, body, responseEncoding, await compress([...body.json, ...body.binaries], responseEncoding))
  } finally {
    sharedMemory.release()
  }
}

function classifiedOutputs({ outputForms }: InferCall): readonly string[] {
  let outputs: string[] | null = null
  for (const [output, form] of outputForms) if (form.classification > 0) (outputs ??= []).push(output)
  return outputs ?? NONE
}

function isExclusive(tensor: Tensor): boolean { return tensor.isExclusive === true }

function readCall(
  exchange: HttpExchange, modelVersion: string, environment: InferEnvironment, headerLength: number | undefined, received: ReceivedBody, sharedMemory: SharedMemoryUse,
): InferCall {
  const { json, binary, byteLength, streamed } = received
  const { server, maxInputSize } = environment
  if (headerLength !== undefined && (headerLength < 0 || headerLength > byteLength)) {
    throw new ServerError('INVALID_ARG', `inference header size should be in range (0, ${byteLength}), got: ${headerLength}`)
  }
  exchange.errorContentType = 'application/json'
  const input = { server, modelName: exchange.route.model, modelVersion, maxInputSize, sharedMemory, json, binary, streamed }
  if (headerLength === 0 || byteLength === 0) {
    if (byteLength > maxInputSize) {
      throw new ServerError('INVALID_ARG', `Raw input has a byte_size (${byteLength} bytes) that exceeds the maximum allowed value of ${maxInputSize} bytes. Use --http-max-input-size to increase the limit.`)
    }
    return readRawBody(input)
  }
  const jsonLength = headerLength ?? byteLength
  if (jsonLength > maxInputSize) throw jsonTooLarge(jsonLength, maxInputSize)
  return readInferBody({ ...input, knownHeaders: environment.knownHeaders })
}

/** @throws the text for a JSON document over the limit; every endpoint with a JSON body uses it. */
export function jsonTooLarge(byteLength: number, limit: number): ServerError {
  return new ServerError('INVALID_ARG', `request JSON size of ${byteLength} bytes exceeds the maximum allowed input size of ${limit} bytes. Use --http-max-input-size to increase the limit.`)
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

/** @returns a promise where it takes its time */
function send(exchange: HttpExchange, { json, binaries, binaryLength }: InferBodyPieces): Promise<void> | undefined {
  const measured = measureJson(json)
  if (measured instanceof Promise) return measured.then((later) => sendMeasured(exchange, later, binaries, binaryLength))
  return sendMeasured(exchange, measured, binaries, binaryLength)
}

function sendMeasured(exchange: HttpExchange, { pieces, length, isPrinted }: MeasuredJson, binaries: readonly Uint8Array[], binaryLength: number): Promise<void> | undefined {
  const headers = bodyHeaders(length, binaryLength)
  const all = binaries.length === 0 ? pieces : [...pieces, ...binaries]
  if (!isPrinted) return exchange.replyPrinting(headers, all, length + binaryLength)
  if (!exchange.response.destroyed) exchange.replyPieces(headers, all as readonly (string | Uint8Array)[], length + binaryLength)
  return undefined
}

function sendCompressed(exchange: HttpExchange, { binaryLength }: InferBodyPieces, encoding: string, { pieces, byteLength, plainLength }: CompressedPieces): void {
  if (exchange.response.destroyed) return
  exchange.replyPieces([...bodyHeaders(plainLength - binaryLength, binaryLength), 'Content-Encoding', encoding], pieces, byteLength)
}

function bodyHeaders(jsonLength: number, binaryLength: number): string[] {
  return binaryLength === 0 ? ['Content-Type', 'application/json'] : ['Content-Type', 'application/octet-stream', 'Inference-Header-Content-Length', String(jsonLength)]
}
