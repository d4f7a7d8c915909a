import { Worker } from 'node:worker_threads'
import type { BackendModelInstance, BackendRequest, ExecutionTimes } from '../backend.ts'
import { steadyNanoseconds } from '../../clock.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import { ServerError } from '../../server-error.ts'
import { assembleInputs, splitOutputs, stateOutputs } from './batch-tensors.ts'
import type { FromWorker, ToWorker, WorkerData } from './worker-messages.ts'

/** The worker beside this module: the source in development, the bundle of the same name in a build. */
const WORKER_URL = new URL(import.meta.url.endsWith('.ts') ? './onnxruntime-worker.ts' : './onnxruntime-worker.mjs', import.meta.url)

/** How long a thread may take to free its session before it is no longer waited for. */
const CLOSE_MILLISECONDS = 5000

/** A model instance: one worker thread with one session. The batch goes over as transferred buffers and comes back the same way. */
export class OnnxRuntimeInstance implements BackendModelInstance {
  readonly #worker: Worker
  readonly #config: ModelConfig
  readonly #name: string
  #waiting: { resolve: (message: FromWorker) => void; reject: (error: Error) => void } | null = null
  #death: Error | null = null
  #isClosing = false
  #onDeath: ((error: Error) => void) | null = null

  /** Starts the thread and loads the model in it. @throws ServerError INTERNAL with ONNX Runtime's reason */
  static async create(name: string, config: ModelConfig, data: WorkerData): Promise<OnnxRuntimeInstance> {
    const instance = new OnnxRuntimeInstance(name, config, data)
    const message = await instance.#nextMessage()
    if (message.kind === 'ready') return instance
    await instance.finalize()
    if (message.kind === 'bindFailed') throw new ServerError('INVALID_ARG', message.message)
    throw new ServerError('INTERNAL', `onnx runtime error: ${message.kind === 'loadFailed' ? message.message : `unexpected message ${message.kind}`}`)
  }

  private constructor(name: string, config: ModelConfig, data: WorkerData) {
    this.#name = name
    this.#config = config
    this.#worker = new Worker(WORKER_URL, { name, workerData: data })
    this.#worker.on('message', (message: FromWorker) => {
      const waiting = this.#waiting
      this.#waiting = null
      waiting?.resolve(message)
    })
    this.#worker.on('error', (error) => { this.#died(error instanceof Error ? error.message : String(error)) })
    this.#worker.on('exit', (code) => { this.#died(`it exited with code ${code}`) })
  }

  async execute(requests: readonly BackendRequest[]): Promise<ExecutionTimes> {
    const executeStart = steadyNanoseconds()
    const inputs = assembleInputs(requests, this.#config)
    const asked = new Set(requests.flatMap((request) => request.requestedOutputs))
    const outputNames = [...new Set([...this.#config.output.map((output) => output.name).filter((name) => asked.has(name)), ...stateOutputs(this.#config)])]
    const answer = this.#nextMessage()
    this.#send({ kind: 'run', inputs, outputNames }, inputs.map((input) => input.data))
    const message = await answer
    if (message.kind !== 'ran') {
      throw new ServerError('INTERNAL', `onnx runtime error: ${message.kind === 'runFailed' ? message.message : `unexpected message ${message.kind}`}`)
    }
    const shares = splitOutputs(requests, message.outputs, this.#config)
    requests.forEach((request, index) => {
      const { outputs, states } = shares[index] ?? { outputs: [], states: [] }
      // A state outlives its batch: it does not keep the whole batch's buffer.
      for (const state of states) request.updateState({ ...state, data: requests.length === 1 ? state.data : state.data.slice() })
      request.respond(outputs)
    })
    return { executeStart, computeStart: message.computeStart, computeEnd: message.computeEnd, executeEnd: steadyNanoseconds() }
  }

  async isReady(): Promise<void> {
    if (this.#death !== null) throw this.#death
  }

  onDeath(listener: (error: Error) => void): void {
    this.#onDeath = listener
    if (this.#death !== null) listener(this.#death)
  }

  /**
   * Frees the session and ends the thread. One that is still inside a call after a while is left behind: ended in there it would take the
   * whole process down, so it ends by itself when the call does.
   */
  async finalize(): Promise<void> {
    if (this.#isClosing || this.#death !== null) return
    this.#isClosing = true
    let timer: NodeJS.Timeout | undefined
    const exited = new Promise<void>((resolve) => { this.#worker.once('exit', () => { resolve() }) })
    const tooLong = new Promise<void>((resolve) => { timer = setTimeout(resolve, CLOSE_MILLISECONDS) })
    this.#send({ kind: 'close' })
    await Promise.race([exited, tooLong])
    clearTimeout(timer)
    this.#worker.unref()
  }

  #send(message: ToWorker, transfer: readonly ArrayBuffer[] = []): void { this.#worker.postMessage(message, transfer) }

  #nextMessage(): Promise<FromWorker> {
    if (this.#death !== null) return Promise.reject(this.#death)
    return new Promise((resolve, reject) => { this.#waiting = { resolve, reject } })
  }

  #died(reason: string): void {
    if (this.#death !== null) return
    this.#death = new ServerError('INTERNAL', `the worker thread of model instance '${this.#name}' stopped: ${reason}`)
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.reject(this.#death)
    if (!this.#isClosing) this.#onDeath?.(this.#death)
  }
}
