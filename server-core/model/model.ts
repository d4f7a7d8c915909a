import type { BackendModel } from '../backends/backend.ts'
import type { Clock } from '../clock.ts'
import type { InferenceRequest, InferenceResponse, ModelMetadata, ParameterValue, Tensor, TensorMetadata } from '../contract/inference.ts'
import type { ModelConfig, ModelInput, ModelInstanceGroup, ModelOutput, ModelVersionPolicy } from '../contract/model-config.ts'
import type { InferenceCall, InferenceStreamHandlers, InferenceResult } from '../inference-server.ts'
import type { Logger } from '../logger.ts'
import type { ModelStatistics } from '../metrics/model-statistics.ts'
import { createScheduler } from '../scheduling/create-scheduler.ts'
import { InflightRequest, type RequestOutcome } from '../scheduling/inflight-request.ts'
import { InstancePool } from '../scheduling/instance-pool.ts'
import { Payload } from '../scheduling/payload.ts'
import { ResponseOrder } from '../scheduling/response-order.ts'
import type { Scheduler } from '../scheduling/scheduler.ts'
import { ServerError, toServerError } from '../server-error.ts'
import { ModelInstance } from './model-instance.ts'
import { protocolDataType, RequestValidator } from './request-validation.ts'
import { ResponseCounter } from './response-counter.ts'
import type { WarmUpSample } from './warm-up.ts'

export interface ModelOptions {
  readonly version: string
  /** Complete and normalised. */
  readonly config: ModelConfig
  readonly backendModel: BackendModel
  readonly labels: ReadonlyMap<string, readonly string[]>
  /** Run on each instance before it takes requests. */
  readonly warmUp: readonly WarmUpSample[]
  readonly statistics: ModelStatistics
  readonly clock: Clock
  readonly log: Logger
  /** Running instances changed outside a load. */
  readonly onInstancesChanged: () => void
}

/**
 * One loaded version of a model: its config, its instances, its scheduler and its counters. It serves from `start` until `stop`;
 * what replaces it at a reload is another `Model`.
 */
export class Model {
  readonly name: string
  readonly version: string
  readonly statistics: ModelStatistics
  readonly labels: ReadonlyMap<string, readonly string[]>
  readonly #options: ModelOptions
  readonly #validator: RequestValidator
  readonly #pool = new InstancePool()
  readonly #scheduler: Scheduler
  readonly #order: ResponseOrder | null
  #instances: ModelInstance[] = []
  #config: ModelConfig
  #nextIndex = 0
  #inflightCount = 0
  #drained: (() => void)[] = []
  #deadReason: Error | null = null

  constructor(options: ModelOptions) {
    this.#options = options
    this.name = options.config.name
    this.version = options.version
    this.#config = options.config
    this.labels = options.labels
    this.statistics = options.statistics
    this.#validator = new RequestValidator(options.config)
    this.#scheduler = createScheduler(options.config, this.#pool, options.clock)
    this.#order = options.config.dynamic_batching?.preserve_ordering === true ? new ResponseOrder() : null
  }

  /** Changes only in its instance groups and version policy. */
  get config(): ModelConfig { return this.#config }
  /** 0..n responses a request, in any order between requests. */
  get isDecoupled(): boolean { return this.#config.model_transaction_policy?.decoupled === true }
  get inflightCount(): number { return this.#inflightCount }
  /** Instances that execute: passive ones, dead ones and those that start again do not. */
  get instanceCount(): number { return this.#instances.filter((instance) => instance.state === 'READY').length }
  /** What is wrong with the instances of a model that serves; '' : nothing. */
  get trouble(): string {
    const troubled = this.#instances.filter((instance) => instance.trouble !== '')
    const first = troubled[0]
    if (first === undefined) return ''
    const what = troubled.some((instance) => instance.state === 'RESTARTING') ? 'start again' : 'were given up; load the model again'
    return `${troubled.length} of ${this.#instances.length} instances ${what}: ${first.trouble}`
  }
  get runsOn(): string { return 'CPU' }

  /** Creates the instances one after another, in the order of the config. On failure those already made are freed. */
  async start(): Promise<void> {
    try {
      for (const wanted of expandGroups(this.config.instance_group)) this.#instances.push(await this.#createInstance(wanted))
      for (const instance of this.#instances) instance.join()
    } catch (error) {
      await this.#free()
      throw error
    }
  }

  /**
   * Changes the instances of a running model: those that fit stay, missing ones are created first, then surplus ones leave after the
   * batch they run. On failure nothing changes.
   */
  async updateInstances(groups: readonly ModelInstanceGroup[], policy: ModelVersionPolicy | undefined): Promise<void> {
    const unused = [...this.#instances]
    const kept: ModelInstance[] = []
    const created: ModelInstance[] = []
    try {
      for (const wanted of expandGroups(groups)) {
        const fitting = unused.findIndex((instance) => instance.signature === wanted.signature)
        if (fitting >= 0) kept.push(...unused.splice(fitting, 1))
        else created.push(await this.#createInstance(wanted))
      }
    } catch (error) {
      await Promise.allSettled(created.map((instance) => instance.stop()))
      throw error
    }
    this.#instances = [...kept, ...created]
    this.#config = { ...this.#config, instance_group: [...groups], ...(policy === undefined ? {} : { version_policy: policy }) }
    for (const instance of created) instance.join()
    await Promise.all(unused.map((instance) => instance.stop()))
  }

  async #createInstance({ name, kind, signature }: WantedInstance): Promise<ModelInstance> {
    const instance = new ModelInstance({
      context: { name, index: this.#nextIndex++, deviceId: 0, kind },
      signature,
      backendModel: this.#options.backendModel,
      statistics: this.statistics,
      pool: this.#pool,
      clock: this.#options.clock,
      log: this.#options.log,
      model: this.name,
      version: this.version,
      onGivenUp: (error) => { this.#instanceGivenUp(error) },
      onStateChanged: this.#options.onInstancesChanged,
    })
    await instance.start()
    try {
      for (const sample of this.#options.warmUp) await this.#warmUp(instance, sample)
    } catch (error) {
      await instance.stop()
      throw error
    }
    return instance
  }

  /** One sample on one instance; counted like requests, as Triton does. */
  async #warmUp(instance: ModelInstance, sample: WarmUpSample): Promise<void> {
    const { clock } = this.#options
    for (let round = 0; round < sample.count; round++) {
      // However many rounds a config asks for, the server goes on with everything else.
      await new Promise((resolve) => { setImmediate(resolve) })
      const payload = new Payload()
      const errors: Error[] = []
      const started = clock.now()
      for (let position = 0; position < sample.batchSize; position++) {
        payload.add(new InflightRequest({
          ...sample.request, id: '', parameters: {}, requestStart: started, queueStart: started, timeoutMicroseconds: 0,
          onSettled: (outcome, { requestStart, queueStart, batchSize }) => {
            if (outcome.kind === 'failure') errors.push(outcome.error)
            else this.statistics.countSuccess({ requestStart, queueStart, requestEnd: clock.now(), batchSize, times: outcome.times })
          },
        }))
      }
      await instance.run(payload)
      const [cause] = errors
      if (cause !== undefined) throw new ServerError('INTERNAL', `failed to run warmup sample '${sample.name}': ${cause.message}; `, { cause })
    }
  }

  /** Does at least one instance run? (A model whose instances are all passive counts as serving.) */
  get isServing(): boolean {
    return this.#instances.length === 0 || this.#instances.some((instance) => instance.state === 'READY')
  }

  metadata(versions: readonly string[]): ModelMetadata {
    return {
      name: this.name,
      versions,
      platform: this.config.platform === '' ? this.config.backend : this.config.platform,
      inputs: this.config.input.map((input) => this.#tensorMetadata(input)),
      outputs: this.config.output.map((output) => this.#tensorMetadata(output)),
    }
  }

  /**
   * Runs one request and answers it. @throws ServerError of validation, of the queue, or what the backend reported
   * @param requestStart steady nanoseconds when the server took the request in
   */
  infer(request: InferenceRequest, requestStart: number, signal: AbortSignal | undefined): Promise<InferenceResult> {
    if (signal?.aborted === true) throw new ServerError('CANCELLED', '')
    return new Promise<InferenceResult>((resolve, reject) => {
      const onAbort = () => { call.cancel() }
      let isDone = false
      const call = this.submit(request, requestStart, {
        onResponse: () => {},
        onError: () => {},
        onDone: (end) => {
          isDone = true
          signal?.removeEventListener('abort', onAbort)
          if (end instanceof ServerError) reject(end)
          else if (end === null) reject(new ServerError('INTERNAL', `model '${this.name}' gave no last response`))
          else resolve(end)
        },
      })
      if (!isDone) signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  /**
   * Hands a request to the scheduler; its answers come through `handlers`, perhaps before this returns.
   * @param requestStart steady nanoseconds when the server took the request in
   * @throws ServerError when the request is refused (validation, queue full, stopping): then no handler is called
   */
  submit(request: InferenceRequest, requestStart: number, handlers: InferenceStreamHandlers): InferenceCall {
    const valid = this.#validator.validate(request)
    if (this.#deadReason !== null) throw this.#deadError(this.#deadReason)
    let isWaiting = true
    const inTurn = this.#order?.take() ?? ((deliver: () => void) => { deliver() })
    const counter = this.isDecoupled ? new ResponseCounter(this.statistics, this.#options.clock) : null
    const leaveQueue = () => {
      if (!isWaiting) return
      isWaiting = false
      this.statistics.pending--
    }
    const inflight = new InflightRequest({
      id: request.id,
      inputs: valid.inputs,
      requestedOutputs: valid.requestedOutputs,
      parameters: request.parameters,
      batchSize: valid.batchSize,
      requestStart,
      queueStart: this.#options.clock.now(),
      timeoutMicroseconds: request.timeoutMicroseconds ?? 0,
      priority: request.priority ?? 0n,
      sequenceId: request.sequenceId ?? 0n,
      sequenceStart: request.sequenceStart ?? false,
      sequenceEnd: request.sequenceEnd ?? false,
      isDecoupled: this.isDecoupled,
      onExecuting: () => {
        leaveQueue()
        counter?.executionBegins()
      },
      onPartial: (answer) => {
        counter?.count('error' in answer ? 'fail' : 'success')
        inTurn(() => {
          if ('error' in answer) handlers.onError(toServerError(answer.error))
          else handlers.onResponse(this.#response(request, answer.outputs, answer.parameters))
        }, false)
      },
      onSettled: (outcome, settled) => {
        leaveQueue()
        if (settled.isExecuting) counter?.countEnd(outcome)
        const deliver = () => { this.#deliver(request, settled, outcome, handlers) }
        inTurn(deliver, true)
      },
    })
    this.#inflightCount++
    this.statistics.pending++
    try {
      this.#scheduler.enqueue(inflight)
    } catch (error) {
      leaveQueue()
      this.#leave()
      inTurn(() => {}, true)
      throw toServerError(error)
    }
    return { cancel: () => { if (!inflight.isSettled) this.#scheduler.cancel(inflight) } }
  }

  /** New requests are refused from now on; resolves when the last one was answered and everything is freed. */
  async stop(): Promise<void> {
    this.#scheduler.stopAccepting()
    if (this.#inflightCount > 0) await new Promise<void>((resolve) => { this.#drained.push(resolve) })
    await this.#free()
  }

  async #free(): Promise<void> {
    const results = await Promise.allSettled(this.#instances.map((instance) => instance.stop()))
    this.#instances = []
    results.push(...await Promise.allSettled([this.#options.backendModel.finalize()]))
    for (const result of results) {
      if (result.status === 'rejected') {
        this.#options.log.warning('could not free a part of a model', { model: this.name, version: this.version, error: String(result.reason) })
      }
    }
  }

  #deliver(request: InferenceRequest, inflight: InflightRequest, outcome: RequestOutcome, handlers: InferenceStreamHandlers): void {
    const requestEnd = this.#options.clock.now()
    if (outcome.kind === 'failure') {
      this.statistics.countFailure(outcome.reason, requestEnd - inflight.requestStart)
      this.#leave()
      handlers.onDone(toServerError(outcome.error))
      return
    }
    const { times, executedBatchSize, outputs } = outcome
    this.statistics.countSuccess({
      requestStart: inflight.requestStart, queueStart: inflight.queueStart, requestEnd, batchSize: inflight.batchSize, times,
    })
    this.#leave()
    if (outputs === null) {
      handlers.onDone(null)
      return
    }
    handlers.onDone({
      response: this.#response(request, outputs, outcome.parameters),
      timing: {
        queueNanoseconds: Math.max(0, times.executeStart - inflight.queueStart),
        computeInputNanoseconds: Math.max(0, times.computeStart - times.executeStart),
        computeInferNanoseconds: Math.max(0, times.computeEnd - times.computeStart),
        computeOutputNanoseconds: Math.max(0, times.executeEnd - times.computeEnd),
        totalNanoseconds: requestEnd - inflight.requestStart,
        batchSize: executedBatchSize,
      },
    })
  }

  #response(request: InferenceRequest, outputs: readonly Tensor[], parameters: Readonly<Record<string, ParameterValue>>): InferenceResponse {
    return { modelName: this.name, modelVersion: this.version, id: request.id, parameters, outputs }
  }

  #leave(): void {
    this.#inflightCount--
    if (this.#inflightCount > 0) return
    const drained = this.#drained
    this.#drained = []
    for (const resolve of drained) resolve()
  }

  #instanceGivenUp(error: Error): void {
    if (this.#instances.some((instance) => instance.state !== 'FAILED' && instance.state !== 'STOPPED')) return
    this.#deadReason = error
    this.#scheduler.failWaiting(this.#deadError(error))
  }

  #deadError(cause: Error): ServerError {
    return new ServerError('UNAVAILABLE', `model '${this.name}' version ${this.version} has no running instance left, load it again. `
      + `The last instance failed with: ${cause.message}`, { cause })
  }

  #tensorMetadata(tensor: ModelInput | ModelOutput): TensorMetadata {
    return {
      name: tensor.name, datatype: protocolDataType(tensor.data_type), shape: this.config.max_batch_size > 0 ? [-1, ...tensor.dims] : [...tensor.dims],
    }
  }
}

interface WantedInstance { readonly name: string; readonly kind: 'KIND_CPU' | 'KIND_MODEL'; readonly signature: string }

/** The instances of a config in their order: all but the passive ones, which never execute. */
function expandGroups(groups: readonly ModelInstanceGroup[]): WantedInstance[] {
  return groups.filter((group) => !group.passive).flatMap(({ name, count, ...rest }) => Array.from({ length: count }, (_unused, index) => ({
    name: `${name}_${index}`, kind: rest.kind === 'KIND_MODEL' ? 'KIND_MODEL' as const : 'KIND_CPU' as const, signature: JSON.stringify(rest),
  })))
}
