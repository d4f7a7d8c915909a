/**
 * `POST /v2/models/<m>[/versions/<v>]/(generate|generate_stream)` (protocol section 7): one JSON object in, one or a stream of server-sent
 * events out. Decoupled models are welcome on both.
 */
import { steadyNanoseconds } from '../../clock.ts'
import type { InferenceResponse } from '../../contract/inference.ts'
import { ServerError, toServerError } from '../../server-error.ts'
import { forwardHeaders } from '../header-forwarding.ts'
import { generateResponse } from './generate-response.ts'
import { readGenerateBody } from './generate-request.ts'
import { errorBody, type HttpExchange, untilDrained } from './http-exchange.ts'
import { announcedLength } from './infer-body.ts'
import { type InferEnvironment, jsonTooLarge } from './infer-endpoint.ts'
import { readDocument, STREAMED_LENGTH, StreamedJson } from './streamed-json.ts'
import { traceExchange } from './trace-endpoint.ts'

const NOT_ONE = 'generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses'
/** An execution error as first response has this status, whatever its kind. */
const EXECUTION_ERROR_STATUS = 400
/** A reader that leaves this much unread, of a model that cannot wait, is cut off. Bytes. */
const MAX_UNREAD = 64 * 1024 * 1024

/** What the responses of a request become on the wire. */
interface GenerateAnswer {
  /** The return value asks the model to wait: the client reads slower than it answers. */
  response(body: Buffer): void | Promise<void>
  error(message: string): void
  end(): void
}

export async function handleGenerate(exchange: HttpExchange, modelVersion: string, environment: InferEnvironment, isStream: boolean): Promise<void> {
  const { server, maxInputSize } = environment
  exchange.errorContentType = 'application/json'
  const metadata = server.modelMetadata(exchange.route.model, modelVersion)
  const encoding = exchange.header('content-encoding')
  if (encoding !== undefined && encoding !== '' && encoding !== 'identity') {
    throw new ServerError('INVALID_ARG', "Unsupported content-encoding, only 'identity' is supported.")
  }
  const trace = traceExchange(exchange, environment.services.tracer)
  const announced = announcedLength(exchange)
  const streamed = announced !== undefined && announced < STREAMED_LENGTH ? undefined
    : new StreamedJson({ limit: maxInputSize, announced: announced ?? 0, inputs: new Map(metadata.inputs.map(({ name, datatype }) => [name, datatype])) })
  const { body, byteLength } = await environment.collect(exchange, maxInputSize, streamed === undefined ? undefined : (piece) => {
    streamed.push(piece)
    return undefined
  })
  streamed?.finish()
  trace?.timestamp('HTTP_RECV_END', steadyNanoseconds())
  if (byteLength > maxInputSize) throw jsonTooLarge(byteLength, maxInputSize)
  const request = readGenerateBody({ document: readDocument(streamed?.document ?? body, streamed), streamed, metadata, modelVersion, maxInputSize })
  if (environment.headerForwardPattern !== null) forwardHeaders(environment.headerForwardPattern, exchange.rawHeaders(), request.parameters)
  const { response } = exchange
  if (response.destroyed) return
  const answer = isStream ? new EventStream(exchange) : new SingleAnswer(exchange)
  let isFirst = true
  const take = (result: InferenceResponse): void | Promise<void> => {
    if (isFirst) trace?.timestamp('HTTP_SEND_START', steadyNanoseconds())
    isFirst = false
    let text: Buffer
    try {
      text = generateResponse(result)
    } catch (error) {
      answer.error(toServerError(error).message)
      return undefined
    }
    return answer.response(text)
  }
  const call = server.inferStream(trace === undefined ? request : { ...request, trace }, {
    onResponse: take,
    onError: (error) => { answer.error(error.message) },
    onDone: (end) => {
      if (end instanceof ServerError) answer.error(end.message)
      else if (end !== null) void take(end.response)
      answer.end()
    },
  })
  response.once('close', () => { if (!response.writableFinished) call.cancel() })
}

/** `generate`: the only response; of several, or none, an error with the status of the first. */
class SingleAnswer implements GenerateAnswer {
  readonly #exchange: HttpExchange
  #first: { readonly status: number; readonly body: Buffer | string } | undefined
  #count = 0

  constructor(exchange: HttpExchange) { this.#exchange = exchange }

  response(body: Buffer): void { this.#add(200, body) }

  error(message: string): void { this.#add(EXECUTION_ERROR_STATUS, errorBody(message)) }

  end(): void {
    const { response } = this.#exchange
    if (response.destroyed) return
    response.writeHead(this.#first?.status ?? 200, ['Content-Type', 'application/json'])
    response.end(this.#count === 1 ? this.#first?.body : errorBody(NOT_ONE))
  }

  #add(status: number, body: Buffer | string): void {
    this.#count++
    if (this.#count === 1) this.#first = { status, body }
    else if (this.#first !== undefined) this.#first = { status: this.#first.status, body: '' }
  }
}

/** `generate_stream`: an event each, written as it comes; a model that can wait does so for a slow reader. */
class EventStream implements GenerateAnswer {
  readonly #exchange: HttpExchange
  #reading: Promise<void> | undefined

  constructor(exchange: HttpExchange) { this.#exchange = exchange }

  response(body: Buffer): void | Promise<void> { return this.#write(200, body) }

  error(message: string): void { void this.#write(EXECUTION_ERROR_STATUS, Buffer.from(errorBody(message))) }

  end(): void {
    const { response } = this.#exchange
    if (response.destroyed) return
    this.#begin(200)
    response.end()
  }

  #begin(status: number): void {
    const { response } = this.#exchange
    if (response.headersSent) return
    response.writeHead(status, ['Content-Type', 'text/event-stream; charset=utf-8'])
    response.flushHeaders()
  }

  #write(status: number, json: Buffer): void | Promise<void> {
    const { response } = this.#exchange
    if (response.destroyed) return undefined
    this.#begin(status)
    if (response.write(Buffer.concat([Buffer.from('data: '), json, Buffer.from('\n\n')]))) return undefined
    if (response.writableLength > MAX_UNREAD) {
      response.destroy()
      return undefined
    }
    return this.#reading ??= this.#untilRead()
  }

  /** The client has read what was written, or is gone. */
  async #untilRead(): Promise<void> {
    await untilDrained(this.#exchange.response)
    this.#reading = undefined
  }
}
