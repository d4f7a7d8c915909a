import type { InferenceRequest, InferenceResponse, RequestTrace } from '../../contract/inference.ts'
import type { InferenceCall, InferenceServer, LoadParameters } from '../../inference-server.ts'
import { printModelConfigJson } from '../../model-config/json-config.ts'
import { ServerError, toServerError } from '../../server-error.ts'
import {
  callError, errorCode, eventError, flattenParameters, flattenTensors, QUESTION, RESPONSE_FINAL, SEQUENCE_END, SEQUENCE_START, unflattenParameters, unflattenTensors,
  type HostReply, type InferEvent, type QuestionEvent, type TritonHost,
} from './host-events.ts'
import type { ServerQuestions } from './native-host.ts'
import type { RequestTraces } from './request-traces.ts'

const BATCH_UNKNOWN = 1
const BATCH_FIRST_DIMENSION = 2
const ONE_TO_ONE = 1
const DECOUPLED = 2
const READY_ONLY = 1

interface Answer { readonly value?: number; readonly text?: string }

/**
 * What backends ask of the server they run in, answered by the same calls that front ends use: questions, which a thread of the backend waits for, and
 * inference requests to any model (business logic scripting).
 */
export class InferenceServerQuestions implements ServerQuestions {
  readonly #server: () => InferenceServer
  readonly #calls = new Map<number, InferenceCall>()

  constructor(server: () => InferenceServer) { this.#server = server }

  question(event: QuestionEvent, host: TritonHost): void {
    this.#answer(event).then(
      ({ value = 0, text }) => { host.answer(event.token, 0, null, value, text ?? null) },
      (error: unknown) => {
        const { kind, message } = toServerError(error)
        host.answer(event.token, errorCode(kind), message, 0, null)
      },
    ).catch(() => {
      // The host is closed, and with it whoever waited.
    })
  }

  async #answer(event: QuestionEvent): Promise<Answer> {
    const lost = eventError(event)
    if (lost !== null) throw lost
    const { question, name = '', version, flags, parameters } = event
    const server = this.#server()
    const wanted = version < 0 ? '' : String(version)
    switch (question) {
      case QUESTION.serverLive: return { value: Number(server.isLive()) }
      case QUESTION.serverReady: return { value: Number(server.isReady()) }
      case QUESTION.modelReady: return { value: Number(server.isModelReady(name, wanted)) }
      case QUESTION.modelBatch: return { value: server.modelConfig(name, wanted).max_batch_size > 0 ? BATCH_FIRST_DIMENSION : BATCH_UNKNOWN }
      case QUESTION.modelTransaction: return { value: server.isDecoupled(name, wanted) ? DECOUPLED : ONE_TO_ONE }
      case QUESTION.serverMetadata: return { text: JSON.stringify(server.serverMetadata()) }
      case QUESTION.modelMetadata: return { text: JSON.stringify(server.modelMetadata(name, wanted)) }
      case QUESTION.modelStatistics: return { text: JSON.stringify({ model_stats: server.modelStatistics(name, wanted) }) }
      case QUESTION.modelConfig: return { text: printModelConfigJson(server.modelConfig(name, wanted)) }
      case QUESTION.modelIndex: return { text: JSON.stringify(server.repositoryIndex((flags & READY_ONLY) !== 0)) }
      case QUESTION.loadModel: await server.loadModel(name, loadParameters(parameters)); return {}
      case QUESTION.unloadModel: await server.unloadModel(name, false); return {}
      case QUESTION.unloadModelAndDependents: await server.unloadModel(name, true); return {}
      default: throw new ServerError('UNSUPPORTED', `this server cannot answer question ${question} of a backend`)
    }
  }

  infer(event: InferEvent, host: TritonHost, traces: RequestTraces): void {
    const { token } = event
    const trace = traces.child(event.traceId, event.parentTraceId)
    const reply = (flags: number, answer: HostReply | null) => { whileOpen(() => { host.respond(token, flags, answer) }) }
    const end = (answer: HostReply | null) => {
      this.#calls.delete(token)
      traces.end(event.traceId)
      try {
        reply(RESPONSE_FINAL, answer)
      } catch (error) {
        // The machine has no memory for it, say: the backend waits, and hears at least that.
        reply(RESPONSE_FINAL, errorReply(event, toServerError(error)))
      }
      // The inputs were copied long ago; until now the backend could still cancel.
      whileOpen(() => { host.releaseInfer(token) })
    }
    const lost = eventError(event)
    if (lost !== null) {
      end(errorReply(event, lost))
      return
    }
    try {
      let isDone = false
      const call = this.#server().inferStream(requestOf(event, trace), {
        onResponse: (response) => { reply(0, replyOf(response)) },
        onError: (error) => { reply(0, errorReply(event, error)) },
        onDone: (result) => {
          isDone = true
          end(result === null ? null : result instanceof ServerError ? errorReply(event, result) : replyOf(result.response))
        },
      })
      if (!isDone) this.#calls.set(token, call)
    } catch (error) {
      trace?.requestEnded()
      end(errorReply(event, toServerError(error)))
    }
  }

  cancelInfer(infer: number): void { this.#calls.get(infer)?.cancel() }
}

/** Not for a host that was closed: it failed the requests of its backends itself, and whoever answers one late must not hear of that. */
function whileOpen(call: () => void): void {
  try {
    call()
  } catch (error) {
    const failure = callError(error)
    if (failure.kind !== 'UNAVAILABLE') throw failure
  }
}

function requestOf(event: InferEvent, trace: RequestTrace | undefined): InferenceRequest {
  return {
    modelName: event.name ?? '',
    modelVersion: event.version < 0 ? '' : String(event.version),
    id: event.text ?? '',
    inputs: unflattenTensors(event.tensors),
    requestedOutputs: event.outputs,
    parameters: unflattenParameters(event.parameters),
    sequenceId: event.correlationId,
    sequenceStart: (event.flags & SEQUENCE_START) !== 0,
    sequenceEnd: (event.flags & SEQUENCE_END) !== 0,
    priority: event.priority,
    timeoutMicroseconds: event.timeoutMicroseconds,
    ...(trace === undefined ? {} : { trace }),
  }
}

function replyOf({ modelName, modelVersion, outputs, parameters }: InferenceResponse): HostReply {
  return { errorCode: 0, errorMessage: null, modelName, modelVersion: Number(modelVersion), outputs: flattenTensors(outputs), parameters: flattenParameters(parameters) }
}

function errorReply({ name = '', version }: InferEvent, { kind, message }: ServerError): HostReply {
  return { errorCode: errorCode(kind), errorMessage: message, modelName: name, modelVersion: version, outputs: [], parameters: [] }
}

const FILE_PREFIX = 'file:'

/** `config`, and `file:<path>` with bytes, as a load over HTTP has them. */
function loadParameters(flat: QuestionEvent['parameters']): LoadParameters {
  const files = new Map<string, Uint8Array>()
  let config: string | undefined
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const [name, value] = [String(flat[index]), flat[index + 1] ?? '']
    if (name === 'config') config = String(value)
    else if (name.startsWith(FILE_PREFIX)) files.set(name.slice(FILE_PREFIX.length), value instanceof Uint8Array ? new Uint8Array(value) : Buffer.from(String(value)))
    else throw new ServerError('INVALID_ARG', `attempt to load model with unknown parameter '${name}': expected config or file:<path>`)
  }
  return { ...(config === undefined ? {} : { config }), ...(files.size === 0 ? {} : { files }) }
}
