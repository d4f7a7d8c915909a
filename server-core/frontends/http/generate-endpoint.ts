/**
 * `POST /v2/models/<m>[/versions/<v>]/(generate|generate_stream)` (protocol section 7): one JSON object in, one or a stream of server-sent
 * events out. Decoupled models are welcome on both.
 */
import type { ServerResponse } from 'node:http'
import { steadyNanoseconds } from '../../clock.ts'
import type { InferenceResponse, Tensor } from '../../contract/inference.ts'
import { releaseOutputs } from '../../release-memory.ts'
import { ServerError, toServerError } from '../../server-error.ts'
import { forwardHeaders } from '../header-forwarding.ts'
import { generateResponse } from './generate-response.ts'
import { readGenerateBody } from './generate-request.ts'
import { errorBody, type HttpExchange, untilDrained, writePrinting } from './http-exchange.ts'
import { announcedLength } from './infer-body.ts'
import { type InferEnvironment, jsonTooLarge } from './infer-endpoint.ts'
import type { JsonPiece } from './json-writer.ts'
import { readDocument, STREAMED_LENGTH, StreamedJson } from './streamed-json.ts'
import { traceExchange } from './trace-endpoint.ts'

const NOT_ONE = 'generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses'
/** An execution error as first response has this status, whatever its kind. */
const EXECUTION_ERROR_STATUS = 400
/** A reader that leaves this much waiting behind what is being written, of a model that cannot wait, is cut off. Bytes. */
const MAX_UNREAD = 64 * 1024 * 1024

/** What the responses of a request become on the wire. */
interface GenerateAnswer {
  /** What stands before a response, and behind it. */
  readonly before: string
  readonly after: string
  /** The return value asks the model to wait: the client reads slower than it answers. */
  response(text: GenerateText): void | Promise<void>
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
  const over = Promise.withResolvers<void>()
  const failed = (error: unknown) => {
    response.destroy()
    over.reject(error)
  }
  const answer = isStream ? new EventStream(response, failed) : new SingleAnswer(response, failed)
  let isFirst = true
  const take = (result: InferenceResponse): void | Promise<void> => {
    if (isFirst) trace?.timestamp('HTTP_SEND_START', steadyNanoseconds())
    isFirst = false
    let text: GenerateText
    try {
      text = new GenerateText(result, answer.before, answer.after)
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
  response.once('close', () => {
    if (!response.writableFinished) call.cancel()
    over.resolve()
  })
  return over.promise
}

/** A response as text: its pieces, of which those of large tensors are printed when they are written. */
class GenerateText {
  /** Null: not all of it is printed. */
  readonly printed: Buffer | null
  /** What it keeps until it is written: the text that is printed, and tensors. Bytes. */
  readonly keptBytes: number
  readonly #pieces: readonly JsonPiece[]
  readonly #outputs: readonly Tensor[]

  /** @throws ServerError with the protocol's texts when a tensor has no JSON form. */
  constructor(response: InferenceResponse, before: string, after: string) {
    this.#pieces = generateResponse(response, before, after)
    this.#outputs = response.outputs
    let bytes = 0
    const buffers: Buffer[] = []
    for (const piece of this.#pieces) {
      if (typeof piece === 'function') continue
      bytes += piece.length
      buffers.push(piece)
    }
    const [only] = buffers
    this.printed = buffers.length < this.#pieces.length ? null : buffers.length === 1 && only !== undefined ? only : Buffer.concat(buffers)
    this.keptBytes = this.printed === null ? this.#outputs.reduce((sum, { data }) => sum + data.byteLength, bytes) : bytes
  }

  /** Prints it as the client reads it, and gives back the memory of its outputs. */
  async write(response: ServerResponse): Promise<void> {
    await writePrinting(response, this.#pieces)
    releaseOutputs(this.#outputs)
  }
}

/** `generate`: the only response; of several, or none, an error with the status of the first. */
class SingleAnswer implements GenerateAnswer {
  readonly before = ''
  readonly after = ''
  readonly #response: ServerResponse
  readonly #failed: (error: unknown) => void
  #status = 200
  #only: GenerateText | string | undefined
  #count = 0

  constructor(response: ServerResponse, failed: (error: unknown) => void) {
    this.#response = response
    this.#failed = failed
  }

  response(text: GenerateText): void { this.#add(200, text) }

  error(message: string): void { this.#add(EXECUTION_ERROR_STATUS, errorBody(message)) }

  end(): void {
    const response = this.#response
    if (response.destroyed) return
    response.writeHead(this.#status, ['Content-Type', 'application/json'])
    const body = this.#only ?? errorBody(NOT_ONE)
    if (typeof body === 'string') response.end(body)
    else if (body.printed !== null) response.end(body.printed)
    else body.write(response).then(() => { if (!response.destroyed) response.end() }, this.#failed)
  }

  #add(status: number, body: GenerateText | string): void {
    this.#count++
    if (this.#count === 1) this.#status = status
    this.#only = this.#count === 1 ? body : undefined
  }
}

/**
 * `generate_stream`: an event each, written as it comes, the next when the client has read what was before it; a model that can wait does so for a slow
 * reader.
 */
class EventStream implements GenerateAnswer {
  readonly before = 'data: '
  readonly after = '\n\n'
  readonly #response: ServerResponse
  readonly #failed: (error: unknown) => void
  /** What is under way, until the client has read it. */
  #writing: Promise<void> | undefined
  /** Of events behind that. */
  #waitingBytes = 0

  constructor(response: ServerResponse, failed: (error: unknown) => void) {
    this.#response = response
    this.#failed = failed
  }

  response(text: GenerateText): void | Promise<void> {
    const response = this.#response
    if (response.destroyed) return undefined
    this.#begin(200)
    if (text.printed !== null) return this.#write(text.printed)
    return this.#then(text.keptBytes, () => text.write(response))
  }

  error(message: string): void {
    if (this.#response.destroyed) return
    this.#begin(EXECUTION_ERROR_STATUS)
    void this.#write(Buffer.from(`${this.before}${errorBody(message)}${this.after}`))
  }

  end(): void {
    const response = this.#response
    if (response.destroyed) return
    this.#begin(200)
    const end = () => { if (!response.destroyed) response.end() }
    if (this.#writing === undefined) end()
    else void this.#writing.then(end)
  }

  #begin(status: number): void {
    const response = this.#response
    if (response.headersSent) return
    response.writeHead(status, ['Content-Type', 'text/event-stream; charset=utf-8'])
    response.flushHeaders()
  }

  #write(event: Buffer): void | Promise<void> {
    const response = this.#response
    if (this.#writing !== undefined) return this.#then(event.length, () => writePrinting(response, [event]))
    if (response.write(event)) return undefined
    const drained = untilDrained(response)
    return this.#then(0, () => drained)
  }

  /** Goes on with this when the client has read what is under way. */
  #then(keptBytes: number, write: () => Promise<void>): Promise<void> | undefined {
    const response = this.#response
    const isWaiting = this.#writing !== undefined
    if (isWaiting) this.#waitingBytes += keptBytes
    if (this.#waitingBytes > MAX_UNREAD) {
      response.destroy()
      return undefined
    }
    const written = (this.#writing ?? Promise.resolve()).then(async () => {
      if (isWaiting) this.#waitingBytes -= keptBytes
      if (response.destroyed) return
      try {
        await write()
      } catch (error) {
        this.#failed(error)
      }
      if (this.#writing === written) this.#writing = undefined
    })
    this.#writing = written
    return written
  }
}
