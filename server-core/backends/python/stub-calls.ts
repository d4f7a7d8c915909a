import type { RequestTrace, Tensor } from '../../contract/inference.ts'
import type { InferenceCall, InferenceServer } from '../../inference-server.ts'
import { ServerError, toServerError } from '../../server-error.ts'
import type { MetricKind, PythonMetric, PythonMetrics } from './python-metrics.ts'
import type { CallAnswer, InferCall, ServerCall, ServerTensor, StubTensor } from './stub-messages.ts'
import { failureOf, parametersJson, parametersOf, sequenceIdOf, sequenceOf } from './stub-values.ts'

/** What answers travel through. */
export interface CallMemory {
  /** Reads tensors of the stub, whose memory is free then. */
  take(tensors: readonly StubTensor[]): Tensor[]
  takeBytes(offset: number, byteLength: number): Uint8Array
  /** Writes tensors for the stub, which frees them. @throws ServerError UNAVAILABLE where memory is exhausted */
  put(tensors: readonly Tensor[]): ServerTensor[]
}

export interface StubCallsOptions {
  readonly server: () => InferenceServer
  readonly metrics: PythonMetrics
  readonly memory: CallMemory
  readonly answer: (message: CallAnswer) => void
  /** The trace of a request that the model has; undefined: it is not traced, or is over. */
  readonly traceOf: (request: number) => RequestTrace | undefined
}

/** What a model asks of the server it runs in, answered by the same calls that front ends use. */
export class StubCalls {
  readonly #options: StubCallsOptions
  readonly #inferences = new Map<number, InferenceCall>()
  readonly #metrics = new Map<number, PythonMetric>()
  #lastMetric = 0
  #isClosed = false

  constructor(options: StubCallsOptions) { this.#options = options }

  /** Questions that are no inference. */
  ask(message: ServerCall): void {
    this.#value(message).then(
      (value) => { this.#answer({ op: 'answer', call: message.call, value }) },
      (error: unknown) => { this.#answer({ op: 'answer', call: message.call, error: toServerError(error).message }) },
    )
  }

  infer(message: InferCall): void {
    const { call } = message
    const fail = (error: ServerError, isFinal: boolean) => { this.#answer({ op: 'answer', call, failure: failureOf(error), final: isFinal }) }
    const respond = (outputs: readonly Tensor[], parameters: Parameters<typeof parametersJson>[0], isFinal: boolean) => {
      if (this.#isClosed) return
      try {
        this.#answer({ op: 'answer', call, outputs: this.#options.memory.put(outputs), parameters: parametersJson(parameters), final: isFinal })
      } catch (error) {
        fail(toServerError(error), isFinal)
      }
    }
    let isDone = false
    try {
      const inputs = this.#options.memory.take(message.inputs)
      const version = message.version < 0 ? '' : String(message.version)
      const server = this.#options.server()
      if (!message.decoupled && server.isDecoupled(message.model, version)) {
        throw new ServerError('UNSUPPORTED', `Model ${message.model} is using the decoupled. The current BLS request call doesn't support models using the decoupled transaction `
          + "policy. Please use 'decoupled=True' argument to the 'exec' or 'async_exec' calls for decoupled models.'")
      }
      const trace = message.trace === undefined ? undefined : this.#options.traceOf(message.trace)?.child()
      const request = {
        modelName: message.model, modelVersion: version, id: message.id, inputs, requestedOutputs: message.outputs, parameters: parametersOf(message.parameters),
        sequenceId: sequenceIdOf(message.correlation), ...sequenceOf(message.flags), timeoutMicroseconds: message.timeout,
        ...(trace === undefined ? {} : { trace }),
      }
      const inference = server.inferStream(request, {
        onResponse: ({ outputs, parameters }) => { respond(outputs, parameters, false) },
        onError: (error) => { fail(error, false) },
        onDone: (end) => {
          isDone = true
          this.#inferences.delete(call)
          if (end === null) respond([], {}, true)
          else if (end instanceof ServerError) fail(end, true)
          else respond(end.response.outputs, end.response.parameters, true)
        },
      })
      if (!isDone) this.#inferences.set(call, inference)
    } catch (error) {
      const { kind, message: text } = toServerError(error)
      fail(new ServerError(kind, `Model ${message.model} - Error when running inference: ${text}`), true)
    }
  }

  cancelInfer(call: number): void { this.#inferences.get(call)?.cancel() }

  releaseMetric(number: number): void {
    const metric = this.#metrics.get(number)
    if (metric === undefined) return
    this.#metrics.delete(number)
    this.#options.metrics.release(metric)
  }

  /** The stub is gone: nobody wants answers, and what it held is free. */
  close(): void {
    this.#isClosed = true
    for (const call of this.#inferences.values()) call.cancel()
    for (const number of [...this.#metrics.keys()]) this.releaseMetric(number)
  }

  #answer(message: CallAnswer): void { if (!this.#isClosed) this.#options.answer(message) }

  async #value(message: ServerCall): Promise<unknown> {
    const { metrics, memory } = this.#options
    switch (message.op) {
      case 'load': {
        // In any case, so that the memory is free again.
        const files = new Map(message.files.map(([path, offset, byteLength]) => [path, memory.takeBytes(offset, byteLength)]))
        await this.#options.server().loadModel(message.model, {
          ...(message.config === '' ? {} : { config: message.config }),
          ...(files.size === 0 ? {} : { files: new Map([...files].map(([path, bytes]) => [relativePath(path), bytes])) }),
        })
        return null
      }
      case 'unload':
        await this.#options.server().unloadModel(message.model, message.dependents)
        return null
      case 'ready': return this.#options.server().askModelReady(message.model, message.version)
      case 'metric_family': return metrics.family(message.name, message.description, message.kind satisfies MetricKind)
      case 'metric': {
        const metric = metrics.hold(message.family, message.labels, message.buckets.map(pythonNumber))
        this.#metrics.set(++this.#lastMetric, metric)
        return this.#lastMetric
      }
      case 'metric_do': {
        const metric = this.#metrics.get(message.metric)
        if (metric === undefined) throw new ServerError('NOT_FOUND', `there is no metric ${message.metric}`)
        const value = metrics.act(metric, message.do, pythonNumber(message.value ?? '0'))
        // As text: JSON has neither infinity nor NaN.
        return value === null ? null : String(value)
      }
    }
  }
}

const FILE_PREFIX = 'file:'

/** @throws ServerError INVALID_ARG */
function relativePath(path: string): string {
  if (path.startsWith(FILE_PREFIX)) return path.slice(FILE_PREFIX.length)
  throw new ServerError('INVALID_ARG', `attempt to load model with unknown parameter '${path}': expected file:<path>`)
}

/** What `repr` of a float gives. */
function pythonNumber(text: string): number {
  if (text === 'inf') return Infinity
  return text === '-inf' ? -Infinity : Number(text)
}
