/** One ModelStreamInfer call: any number of requests to any models, answered over one stream (protocol 9.5). */
import { steadyNanoseconds } from '../../clock.ts'
import type { InferenceResponse, RequestTrace, Tensor } from '../../contract/inference.ts'
import type { InferenceCall } from '../../inference-server.ts'
import type { Logger } from '../../logger.ts'
import { ServerError, toServerError } from '../../server-error.ts'
import type { SharedMemoryUse } from '../../shared-memory/shared-memory-regions.ts'
import { type OutputClasses, readOutputClasses } from '../classification.ts'
import { statusOf } from './call-status.ts'
import { type ForwardedHeaders, withForwarded } from './forwarded-headers.ts'
import { type GrpcInferCall, readInferRequest, writeInferResponse } from './infer-messages.ts'
import { type CallEnvironment, versionOf } from './methods.ts'
import type { CallListener, GrpcCall } from './transport/grpc-call.ts'
import { type GrpcServer, SHUTTING_DOWN } from './transport/grpc-server.ts'
import { OK_STATUS } from './transport/grpc-status.ts'
import { releasing } from './release-when-sent.ts'
import type { OutgoingMessage } from './transport/message.ts'
import { readInferRequestMessage } from './wire/infer-request-reader.ts'
import { writeStreamResponseMessage } from './wire/infer-response-writer.ts'
import type { WireInferRequest, WireInferResponse } from './wire/wire-types.ts'

/** Answers that wait for the network; from here on no more requests are read, and decoupled models that can wait do. */
const UNSENT_LIMIT_BYTES = 2 ** 20
/** Requests of one stream that are taken before their answers: more wait with the client. */
const INFLIGHT_LIMIT = 1024
const INFLIGHT_LIMIT_BYTES = 256 * 2 ** 20

export interface InferStreamOptions {
  readonly call: GrpcCall
  readonly environment: CallEnvironment
  readonly forwarded: ForwardedHeaders
  /** Counts the requests of the stream as work of the server. */
  readonly work: GrpcServer
  readonly log: Logger
}

/** The place of a request that is answered once, in the order of the requests; null: its answer is not there yet. */
interface Place { answer: Answer | null }

/** A message, and the outputs whose memory is in it: they are given back once it is sent. */
interface Answer { readonly message: OutgoingMessage; readonly outputs: readonly Tensor[] }

/** A request that is not answered to its end. */
interface OpenRequest {
  readonly byteLength: number
  /** Null: answers of a decoupled model go out as they come. */
  readonly place: Place | null
  /** Regions that the request reads or writes, held until it is over. */
  readonly sharedMemory: SharedMemoryUse
  readonly trace: RequestTrace | undefined
  call: InferenceCall | null
}

export class InferStream implements CallListener {
  readonly #call: GrpcCall
  readonly #environment: CallEnvironment
  readonly #forwarded: ForwardedHeaders
  readonly #work: GrpcServer
  readonly #log: Logger
  /** `triton_grpc_error: true`: the first error of an execution ends the stream with its status. */
  readonly #endsWithError: boolean
  readonly #open = new Set<OpenRequest>()
  readonly #places: Place[] = []
  #openBytes = 0
  #unsentBytes = 0
  #isHalfClosed = false
  #isOver = false
  /** Producers that wait until the client has read. */
  #waiting: (() => void)[] = []

  constructor({ call, environment, forwarded, work, log }: InferStreamOptions) {
    this.#call = call
    this.#environment = environment
    this.#forwarded = forwarded
    this.#work = work
    this.#log = log
    this.#endsWithError = call.metadata('triton_grpc_error') === 'true'
  }

  message(bytes: Buffer): void {
    if (this.#isOver) return
    let wire: WireInferRequest
    try {
      wire = readInferRequestMessage(bytes)
    } catch (error) {
      this.#endWith(error)
      return
    }
    try {
      if (this.#work.isDraining) throw new ServerError('UNAVAILABLE', SHUTTING_DOWN)
      this.#submit(wire, bytes)
    } catch (error) {
      const { message } = this.#serverError(error)
      const place: Place = { answer: { message: writeStreamResponseMessage(message, errorResponse({ id: wire.id })), outputs: [] } }
      this.#places.push(place)
      this.#sendPlaces()
    }
    this.#adjustReading()
  }

  halfClosed(): void {
    this.#isHalfClosed = true
    this.#endIfDone()
  }

  cancelled(): void { this.#stop() }

  /** @throws ServerError, ProtobufError: the request was refused, and nothing of it is left */
  #submit(wire: WireInferRequest, bytes: Buffer): void {
    const { server, services } = this.#environment
    const modelVersion = versionOf(wire.model_version)
    const isDecoupled = server.isDecoupled(wire.model_name, modelVersion)
    const trace = services.tracer.sample(wire.model_name)
    trace?.timestamp('GRPC_WAITREAD_END', steadyNanoseconds())
    const sharedMemory = services.sharedMemory.use()
    const open: OpenRequest = { byteLength: bytes.byteLength, place: isDecoupled ? null : { answer: null }, sharedMemory, trace, call: null }
    let inferCall: GrpcInferCall
    let classes: ReadonlyMap<string, OutputClasses>
    try {
      inferCall = readInferRequest(server, wire, modelVersion, sharedMemory)
      classes = readOutputClasses(server, inferCall.request, [...inferCall.classifications.keys()])
    } catch (error) {
      sharedMemory.release()
      throw error
    }
    const answer = (response: InferenceResponse, isFinal: boolean) => this.#answer(open, inferCall, classes, response, isFinal)
    const fail = (error: ServerError, isFinal: boolean) => { this.#fail(open, wire, error, isFinal) }
    this.#begin(open)
    try {
      const request = withForwarded(inferCall.request, this.#forwarded)
      open.call = server.inferStream(trace === undefined ? request : { ...request, trace }, {
        onResponse: (response) => {
          answer(response, false)
          return this.#unsentBytes < UNSENT_LIMIT_BYTES || this.#isOver ? undefined : new Promise<void>((resolve) => { this.#waiting.push(resolve) })
        },
        onError: (error) => { fail(error, false) },
        onDone: (end) => {
          if (end instanceof ServerError) fail(end, true)
          else if (end !== null) {
            if (end.inputsAreFree === true) this.#call.recycle(bytes)
            answer(end.response, true)
          }
          else if (!isDecoupled) fail(new ServerError('INTERNAL', `model '${wire.model_name}' gave no last response`), true)
          else if (inferCall.isEmptyFinalWanted) this.#send(open, writeStreamResponseMessage('', finalResponse(wire)))
          this.#end(open)
        },
      })
    } catch (error) {
      if (open.place !== null) this.#places.splice(this.#places.indexOf(open.place), 1)
      this.#end(open)
      throw error
    }
    if (this.#isOver) open.call.cancel()
  }

  #begin(open: OpenRequest): void {
    this.#open.add(open)
    this.#openBytes += open.byteLength
    if (open.place !== null) this.#places.push(open.place)
    this.#work.workBegins()
  }

  #end(open: OpenRequest): void {
    if (!this.#open.delete(open)) return
    open.sharedMemory.release()
    open.trace?.timestamp('GRPC_SEND_END', steadyNanoseconds())
    open.trace?.end()
    this.#openBytes -= open.byteLength
    this.#adjustReading()
    this.#endIfDone()
    this.#work.workEnds()
  }

  #answer(open: OpenRequest, call: GrpcInferCall, classes: ReadonlyMap<string, OutputClasses>, response: InferenceResponse, isFinal: boolean): void {
    if (this.#isOver) return
    open.trace?.timestamp('GRPC_SEND_START', steadyNanoseconds())
    try {
      const message = writeInferResponse(call, classes, response)
      this.#send(open, writeStreamResponseMessage('', { ...message, parameters: { ...message.parameters, triton_final_response: { bool_param: isFinal } } }), response.outputs)
    } catch (error) {
      // An output that cannot be sent as it was asked for (classification of a type without an order).
      const { modelName, modelVersion, id } = call.request
      this.#fail(open, { model_name: modelName, model_version: modelVersion, id }, this.#serverError(error), isFinal)
    }
  }

  #fail(open: OpenRequest, request: Pick<WireInferRequest, 'model_name' | 'model_version' | 'id'>, error: ServerError, isFinal: boolean): void {
    if (this.#isOver) return
    if (this.#endsWithError) this.#endWith(error)
    else this.#send(open, writeStreamResponseMessage(error.message, { ...errorResponse(request), parameters: { triton_final_response: { bool_param: isFinal } } }))
  }

  #send(open: OpenRequest, message: OutgoingMessage, outputs: readonly Tensor[] = []): void {
    if (open.place === null) {
      this.#write({ message, outputs })
      return
    }
    open.place.answer = { message, outputs }
    this.#sendPlaces()
  }

  #sendPlaces(): void {
    let sent = 0
    for (const { answer } of this.#places) {
      if (answer === null) break
      sent++
      this.#write(answer)
    }
    this.#places.splice(0, sent)
  }

  #write({ message, outputs }: Answer): void {
    if (this.#isOver) return
    this.#unsentBytes += message.byteLength
    const release = releasing(outputs)
    this.#call.send(message, (isRead) => {
      release(isRead)
      this.#unsentBytes -= message.byteLength
      if (this.#unsentBytes < UNSENT_LIMIT_BYTES) this.#goOn()
      this.#adjustReading()
    })
  }

  #adjustReading(): void {
    if (this.#isOver) return
    const isFull = this.#unsentBytes >= UNSENT_LIMIT_BYTES || this.#open.size >= INFLIGHT_LIMIT || this.#openBytes >= INFLIGHT_LIMIT_BYTES
    if (isFull) this.#call.pause()
    else if (this.#call.isPaused) this.#call.resume()
  }

  #goOn(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }

  #endIfDone(): void {
    if (!this.#isHalfClosed || this.#open.size > 0 || this.#isOver) return
    this.#isOver = true
    this.#call.end(OK_STATUS)
  }

  #endWith(error: unknown): void {
    if (this.#isOver) return
    this.#call.end(statusOf(error, 'ModelStreamInfer', this.#log))
    this.#stop()
  }

  /** Nothing more is sent: what is under way is cancelled, what waits goes on. */
  #stop(): void {
    this.#isOver = true
    this.#places.length = 0
    for (const { call } of [...this.#open]) call?.cancel()
    this.#goOn()
  }

  /** The error as its message tells it; one that nobody thought of is logged as well. */
  #serverError(error: unknown): ServerError {
    const { details } = statusOf(error, 'ModelStreamInfer', this.#log)
    return error instanceof ServerError ? error : new ServerError(toServerError(error).kind, details, { cause: error })
  }
}

function errorResponse({ id, model_name = '', model_version = '' }: Partial<WireInferRequest> & Pick<WireInferRequest, 'id'>): WireInferResponse {
  return { model_name, model_version, id, parameters: {}, outputs: [], raw_output_contents: [] }
}

/** The end of a decoupled request that came alone: the version is what the request said. */
function finalResponse(wire: WireInferRequest): WireInferResponse {
  return { ...errorResponse(wire), parameters: { triton_final_response: { bool_param: true } } }
}
