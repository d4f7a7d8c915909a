import type { BackendModel, HostPolicy } from '../backends/backend.ts'
import type { Clock } from '../clock.ts'
import type { InferenceRequest, InferenceResponse, ModelMetadata, ParameterValue, Tensor, TensorMetadata } from '../contract/inference.ts'
import type { EnsembleGraph } from '../contract/ensemble.ts'
import type { ModelConfig, ModelInput, ModelInstanceGroup, ModelOutput, ModelVersionPolicy } from '../contract/model-config.ts'
import type { ModelInstanceReport, ModelInstanceSummary } from '../contract/repository.ts'
import type { InferenceCall, InferenceOptions, InferenceStreamHandlers, InferenceResult } from '../inference-server.ts'
import type { Logger } from '../logger.ts'
import type { ModelStatistics } from '../metrics/model-statistics.ts'
import type { StageInstance } from '../model-repository/load-progress.ts'
import { createScheduler } from '../scheduling/create-scheduler.ts'
import type { FindEnsembleMember } from '../scheduling/ensemble-member.ts'
import { EnsembleScheduler } from '../scheduling/ensemble-scheduler.ts'
import { InflightRequest, type RequestOutcome } from '../scheduling/inflight-request.ts'
import { InstancePool } from '../scheduling/instance-pool.ts'
import { Payload } from '../scheduling/payload.ts'
import type { RateLimiter } from '../scheduling/rate-limiter.ts'
import { stoppingError } from '../scheduling/refusals.ts'
import { ResponseOrder } from '../scheduling/response-order.ts'
import type { Scheduler } from '../scheduling/scheduler.ts'
import type { SequenceState } from '../scheduling/sequence.ts'
import { ServerError, toServerError } from '../server-error.ts'
import type { HostPolicies } from './host-policy.ts'
import { expandGroups, resolveHostPolicies, type WantedInstance } from './instance-groups.ts'
import { ModelInstance } from './model-instance.ts'
import { protocolDataType, RequestValidator, type ValidatedRequest } from './request-validation.ts'
import { prepareSequenceWarmUp } from './sequence-inputs.ts'
import { placementOf, type ModelPlacement } from './runs-on.ts'
import { traceEnded, tracePartial, traceSettled, traceTaken } from './request-tracing.ts'
import { ResponseCounter } from './response-counter.ts'
import type { CachedResponse, ModelResponseCache, ResponseCache } from './response-cache.ts'
import type { WarmUpSample } from './warm-up.ts'

export interface ModelOptions {
  readonly version: string
  /** Complete and normalised. */
  readonly config: ModelConfig
  readonly backendModel: BackendModel
  /** Of an ensemble: where its steps run. Null: any other model. */
  readonly findMember: FindEnsembleMember | null
  readonly labels: ReadonlyMap<string, readonly string[]>
  /** Run on each instance before it takes requests. */
  readonly warmUp: readonly WarmUpSample[]
  /** Implicit states of a model with the sequence batcher; absent: none. */
  readonly sequenceStates?: readonly SequenceState[]
  /** Null: `--rate-limit=off`. */
  readonly rateLimiter: RateLimiter | null
  readonly hostPolicies: HostPolicies
  /** Make instances at the same time instead of one after another. */
  readonly createsInstancesInParallel: boolean
  readonly statistics: ModelStatistics
  readonly clock: Clock
  readonly log: Logger
  /** What is known of the instances before their backend says something, which comes on top; absent: nothing, and without a word of the backend it is the CPU, as was asked. */
  readonly report?: ModelInstanceReport
  /** Of the server; null or absent: it has none, and no response is cached whatever the config says. */
  readonly responseCache?: ResponseCache | null
  /** Asked before each instance is made, restarts included; rejects where it must not be. Absent: it may. */
  readonly allowInstance?: () => Promise<void>
  /** Running instances changed outside a load. */
  readonly onInstancesChanged: () => void
}

/** What a lookup in the response cache leaves behind when it finds nothing. */
interface CacheMiss {
  readonly cache: ModelResponseCache
  readonly key: string
  readonly lookupNanoseconds: number
}

/** What whoever has instances made is told, and how it ends that early. */
export interface InstanceSteps {
  /** Aborted: they are not wanted any more. Looked at between instances and between rounds of a warm-up. */
  readonly outdated?: AbortSignal
  readonly onStage?: (kind: 'creatingInstance' | 'warmingUp', place: StageInstance) => void
}

const NO_STEPS: InstanceSteps = {}
/** Answers of a model that keeps no order. */
const AT_ONCE: ReturnType<ResponseOrder['take']> = (deliver) => { deliver() }

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
  readonly #pool: InstancePool
  readonly #scheduler: Scheduler
  /** The scheduler of an ensemble, which has no instances; null: any other model. */
  readonly #ensemble: EnsembleScheduler | null
  readonly #order: ResponseOrder | null
  #instances: ModelInstance[] = []
  /** Taken away by an update, and kept by the sequences that they still have. */
  readonly #leaving = new Set<ModelInstance>()
  #config: ModelConfig
  #nextIndex = 0
  #inflightCount = 0
  #drained: (() => void)[] = []
  /** Requests of ensembles that have steps on this model, or may still begin one. */
  #holds = 0
  #letGo: (() => void)[] = []
  #deadReason: Error | null = null
  #isStopping = false
  /** Updates of the instances that are not over; they never reject. */
  readonly #updates = new Set<Promise<void>>()
  /** Null: responses are not cached. */
  readonly #responseCache: ModelResponseCache | null

  constructor(options: ModelOptions) {
    this.#options = options
    this.name = options.config.name
    this.version = options.version
    this.#config = options.config
    this.labels = options.labels
    this.statistics = options.statistics
    this.#validator = new RequestValidator(options.config)
    const isCached = options.config.response_cache?.enable === true && !this.isDecoupled
    this.#responseCache = isCached ? options.responseCache?.open(this.name, this.version) ?? null : null
    options.statistics.hasResponseCache = this.#responseCache !== null
    options.statistics.memoryUsage = () => options.backendModel.memoryUsage ?? []
    this.#pool = new InstancePool(options.rateLimiter)
    this.#ensemble = options.findMember === null ? null : this.#createEnsemble(options.findMember)
    this.#scheduler = this.#ensemble ?? createScheduler(options.config, this.#pool, options.clock, { strategy: options.backendModel.batchStrategy ?? null, states: options.sequenceStates ?? [], log: options.log })
    this.#order = options.config.dynamic_batching?.preserve_ordering === true ? new ResponseOrder() : null
  }

  /** Changes only in its instance groups and version policy. */
  get config(): ModelConfig { return this.#config }
  /** 0..n responses a request, in any order between requests. */
  get isDecoupled(): boolean { return this.#config.model_transaction_policy?.decoupled === true }
  get inflightCount(): number { return this.#inflightCount }
  /** Instances that execute: passive ones, dead ones and those that start again do not. */
  get instanceCount(): number { return this.#executing.filter((instance) => instance.state === 'READY').length }
  /** What is wrong with the instances of a model that serves; '' : nothing. */
  get trouble(): string {
    const troubled = this.#instances.filter((instance) => instance.trouble !== '')
    const first = troubled[0]
    if (first === undefined) return ''
    const what = troubled.some((instance) => instance.state === 'RESTARTING') ? 'start again' : 'were given up; load the model again'
    return `${troubled.length} of ${this.#instances.length} instances ${what}: ${first.trouble}`
  }
  get instanceSummaries(): readonly ModelInstanceSummary[] {
    return this.#instances.map(({ name, kind, isPassive, state, trouble, restart, report: told, process }) => {
      // What the loader knows, that it was to run elsewhere for instance, a backend that says something of an instance does not know.
      const report = told === null ? this.#options.report : { ...this.#options.report, ...told }
      return { name, kind, isPassive, state, reason: trouble, restart, ...(report === undefined ? {} : { report }), ...(process === undefined ? {} : { process }) }
    })
  }
  get placement(): ModelPlacement { return placementOf(this.instanceSummaries.map(({ report }) => report ?? null)) }

  /** Creates the instances in the order of the config, one after another unless the backend says otherwise. On failure those already made are freed. */
  async start(steps: InstanceSteps = NO_STEPS): Promise<void> {
    try {
      const wanted = expandGroups(this.config.instance_group)
      this.#instances = await this.#createInstances(wanted.map((instance) => ({ wanted: instance, kept: null })), steps)
      for (const instance of this.#instances) instance.join()
    } catch (error) {
      await this.#free()
      throw error
    }
  }

  /**
   * Changes the instances of a running model: those that fit stay, missing ones are created first, then surplus ones leave after the
   * batch they run, or after the sequences that have slots on them (which this does not wait for). On failure nothing changes.
   */
  async updateInstances(groups: readonly ModelInstanceGroup[], policy: ModelVersionPolicy | undefined, steps: InstanceSteps = NO_STEPS): Promise<void> {
    const update = this.#updateInstances(groups, policy, steps)
    const over = update.then(() => {}, () => {}).finally(() => { this.#updates.delete(over) })
    this.#updates.add(over)
    await update
  }

  async #updateInstances(groups: readonly ModelInstanceGroup[], policy: ModelVersionPolicy | undefined, steps: InstanceSteps): Promise<void> {
    // Of equal ones, those that run are kept first.
    const unused = this.#instances.toSorted((a, b) => Number(b.state === 'READY') - Number(a.state === 'READY'))
    const places = expandGroups(groups).map((wanted) => {
      const fitting = unused.findIndex((instance) => instance.signature === wanted.signature)
      return { wanted, kept: fitting >= 0 ? unused.splice(fitting, 1)[0] ?? null : null }
    })
    const before = new Set(this.#instances)
    const instances = await this.#createInstances(places, steps)
    if (steps.outdated?.aborted === true) {
      await Promise.allSettled(instances.filter((instance) => !before.has(instance)).map((instance) => instance.stop()))
      steps.outdated.throwIfAborted()
    }
    this.#instances = instances
    this.#config = { ...this.#config, instance_group: [...groups], ...(policy === undefined ? {} : { version_policy: policy }) }
    for (const instance of this.#instances) if (!before.has(instance)) instance.join()
    // The last one may have been given up while new ones were made.
    if (this.#executing.some(isExpected)) this.#deadReason = null
    await Promise.all(unused.map((instance) => this.#dismiss(instance)))
    this.#refuseWaiting()
  }

  /** What waits has no instance left that could ever run it: an update may leave passive ones only. */
  #refuseWaiting(): void {
    if (this.#hasPassiveOnly) this.#scheduler.failWaiting(this.#passiveError())
  }

  get #hasPassiveOnly(): boolean { return this.#ensemble === null && this.#pool.instanceCount === 0 && this.#executing.length === 0 }

  #passiveError(): ServerError {
    return new ServerError('UNAVAILABLE', `model '${this.name}' version ${this.version} has passive instances only, which never execute. Add an instance_group without passive`)
  }

  async #dismiss(instance: ModelInstance): Promise<void> {
    if (this.#scheduler.retire === undefined) {
      await instance.stop()
      return
    }
    this.#leaving.add(instance)
    // The model may end before the sequences; then it stops the instance itself.
    void this.#scheduler.retire(instance).then(() => (this.#leaving.has(instance) ? instance.stop() : undefined)).catch((error: unknown) => {
      this.#options.log.warning('could not free an instance of a model', { model: this.name, version: this.version, instance: instance.name, error: String(error) })
    }).finally(() => {
      this.#leaving.delete(instance)
      this.#refuseWaiting()
    })
  }

  /** The instances of all places, in their order: those kept, and new ones. On failure the new ones are freed. */
  async #createInstances(places: readonly { readonly wanted: WantedInstance; readonly kept: ModelInstance | null }[], steps: InstanceSteps): Promise<ModelInstance[]> {
    const policies = await resolveHostPolicies(places.flatMap(({ wanted, kept }) => (kept === null ? [wanted] : [])), this.#options.hostPolicies)
    const made: ModelInstance[] = []
    const fill = async ({ wanted, kept }: typeof places[number], index: number): Promise<ModelInstance> => {
      if (kept !== null) return kept
      const instance = await this.#createInstance(wanted, policies, steps, { instance: index + 1, instanceCount: places.length })
      made.push(instance)
      return instance
    }
    const results: PromiseSettledResult<ModelInstance>[] = []
    if (this.#options.createsInstancesInParallel) {
      results.push(...await Promise.allSettled(places.map(fill)))
    } else {
      for (const [index, place] of places.entries()) {
        const [result] = await Promise.allSettled([fill(place, index)])
        results.push(result)
        if (result.status === 'rejected') break
      }
    }
    const failure = results.find((result) => result.status === 'rejected')
    if (failure === undefined) return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    await Promise.allSettled(made.map((instance) => instance.stop()))
    throw failure.reason
  }

  async #createInstance(wanted: WantedInstance, policies: ReadonlyMap<string, HostPolicy>, steps: InstanceSteps, place: StageInstance): Promise<ModelInstance> {
    steps.outdated?.throwIfAborted()
    steps.onStage?.('creatingInstance', place)
    const { name, kind, deviceId, isPassive, signature, demand } = wanted
    const { rateLimiter, backendModel, clock, log } = this.#options
    const hostPolicy = policies.get(wanted.hostPolicyName)
    if (hostPolicy !== undefined && hostPolicy.cpuList !== null && backendModel.followsHostPolicy !== true) {
      log.warning('a host policy has no effect: the backend has no threads of its own', { model: this.name, version: this.version, instance: name, policy: hostPolicy.name })
    }
    // One that replaces a dead instance later is warmed up too, and then no load listens or ends that.
    let listener = steps
    const warmUp = async (instance: ModelInstance) => {
      if (this.#options.warmUp.length > 0) listener.onStage?.('warmingUp', place)
      for (const sample of this.#options.warmUp) await this.#warmUp(instance, sample, listener.outdated)
    }
    const instance = new ModelInstance({
      context: { name, index: this.#nextIndex++, deviceId, kind, isPassive, profiles: wanted.profiles, secondaryDevices: wanted.secondaryDevices, ...(hostPolicy === undefined ? {} : { hostPolicy }) },
      admission: isPassive ? null : rateLimiter?.register(demand) ?? null,
      warmUp, signature, backendModel, clock, log,
      ...(this.#options.allowInstance === undefined ? {} : { allow: this.#options.allowInstance }),
      statistics: this.statistics,
      pool: this.#pool,
      model: this.name,
      version: this.version,
      onOutOfService: (error) => { this.#instanceOut(error) },
      onStateChanged: () => { this.#instanceChanged() },
    })
    const abandon = () => { instance.abandonStart() }
    steps.outdated?.addEventListener('abort', abandon, { once: true })
    try {
      await instance.start()
      steps.outdated?.throwIfAborted()
    } catch (error) {
      await instance.stop()
      throw error
    } finally {
      steps.outdated?.removeEventListener('abort', abandon)
    }
    listener = NO_STEPS
    return instance
  }

  /** One sample on one instance; counted like requests, as Triton does. */
  async #warmUp(instance: ModelInstance, sample: WarmUpSample, outdated: AbortSignal | undefined): Promise<void> {
    const { clock } = this.#options
    for (let round = 0; round < sample.count; round++) {
      // However many rounds a config asks for, the server goes on with everything else.
      await new Promise((resolve) => { setImmediate(resolve) })
      outdated?.throwIfAborted()
      const payload = new Payload()
      const errors: Error[] = []
      const started = clock.now()
      const ends: Promise<void>[] = []
      for (let position = 0; position < sample.batchSize; position++) {
        const request = new InflightRequest({
          ...sample.request, id: '', parameters: {}, requestStart: started, queueStart: started, timeoutMicroseconds: 0,
          isDecoupled: this.isDecoupled,
          onSettled: (outcome, { requestStart, queueStart, batchSize }) => {
            if (outcome.kind === 'failure') errors.push(outcome.error)
            else this.statistics.countSuccess({ requestStart, queueStart, requestEnd: clock.now(), batchSize, times: outcome.times })
          },
        })
        const { sequence_batching: sequences } = this.#config
        if (sequences !== undefined) {
          prepareSequenceWarmUp(request, this.#options.sequenceStates ?? [], sequences.iterative_sequence, () => {
            const ended = clock.now()
            return { executeStart: started, computeStart: started, computeEnd: ended, executeEnd: ended }
          })
        }
        // A decoupled model may answer after its execution.
        ends.push(new Promise((resolve) => { request.whenOver(resolve) }))
        payload.add(request)
      }
      await instance.run(payload)
      await Promise.all(ends)
      const [cause] = errors
      if (cause !== undefined) throw new ServerError('INTERNAL', `failed to run warmup sample '${sample.name}': ${cause.message}; `, { cause })
    }
  }

  /** Are inputs free with the answer? Not where a sequence keeps states, or a batching library looks at a batch to its end. */
  get #leavesInputs(): boolean {
    const { backendModel, config } = this.#options
    return backendModel.copiesInputs === true && config.sequence_batching === undefined && (backendModel.batchStrategy ?? null) === null
  }

  /** Does at least one instance run? (A model whose instances are all passive counts as serving.) */
  get isServing(): boolean {
    const executing = this.#executing
    return executing.length === 0 || executing.some((instance) => instance.isServing)
  }

  /** `isServing`, and no instance that runs says that it is not ready; asks those that want to be asked. */
  async askReady(): Promise<boolean> {
    if (!this.isServing) return false
    const answers = await Promise.all(this.#executing.filter((instance) => instance.state === 'READY').map((instance) => instance.askReady()))
    return this.isServing && answers.every((isReady) => isReady)
  }

  get #executing(): readonly ModelInstance[] { return this.#instances.filter((instance) => !instance.isPassive) }

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
  infer(request: InferenceRequest, requestStart: number, { signal, onCall }: InferenceOptions): Promise<InferenceResult> {
    if (signal?.aborted === true) throw new ServerError('CANCELLED', '')
    if (this.isDecoupled) {
      throw new ServerError('UNSUPPORTED', `model '${this.name}' is decoupled: it gives any number of responses, which a call for exactly one cannot take. Ask it through a stream`)
    }
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
      if (isDone) return
      onCall?.(call)
      signal?.addEventListener('abort', onAbort, { once: true })
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
    if (this.#hasPassiveOnly) throw this.#passiveError()
    const { trace } = request
    if (trace !== undefined) traceTaken(trace, { model: this.name, version: this.version, id: request.id, requestStart, inputs: valid.inputs })
    const lookedUp = this.#responseCache === null ? null : this.#lookUp(this.#responseCache, request, valid, requestStart, handlers)
    if (lookedUp === 'answered') return { cancel: () => {} }
    let isWaiting = true
    const inTurn = this.#order?.take() ?? AT_ONCE
    const counter = this.isDecoupled ? new ResponseCounter(this.statistics, this.#options.clock) : null
    let isAnswered = !this.statistics.countsFirstResponses
    const countFirst = () => {
      if (isAnswered) return
      isAnswered = true
      this.statistics.countFirstResponse(this.#options.clock.now() - requestStart)
    }
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
      trace,
      onExecuting: () => {
        leaveQueue()
        counter?.executionBegins()
      },
      onPartial: (answer) => {
        counter?.count('error' in answer ? 'fail' : 'success')
        if (trace !== undefined) tracePartial(trace, answer)
        let wait: void | Promise<void> = undefined
        inTurn(() => {
          countFirst()
          if ('error' in answer) handlers.onError(toServerError(answer.error))
          else wait = handlers.onResponse(this.#response(request, answer.outputs, answer.parameters))
        }, false)
        return wait
      },
      onSettled: (outcome, settled) => {
        leaveQueue()
        if (settled.isExecuting) counter?.countEnd(outcome)
        const deliver = () => {
          if (trace !== undefined) traceSettled(trace, settled, outcome, this.#options.clock.now())
          if (outcome.kind === 'failure' || outcome.outputs !== null) countFirst()
          this.#deliver(request, settled, outcome, handlers, lookedUp)
        }
        inTurn(deliver, true)
      },
    })
    this.#inflightCount++
    this.statistics.admitted++
    this.statistics.pending++
    try {
      this.#scheduler.enqueue(inflight)
    } catch (error) {
      leaveQueue()
      this.#leave()
      inTurn(() => {}, true)
      if (trace !== undefined) traceEnded(trace, this.#options.clock.now())
      throw toServerError(error)
    }
    return { cancel: () => { if (!inflight.isSettled) this.#scheduler.cancel(inflight) } }
  }

  /** Ensembles keep the models of their steps serving while a request is under way. Returns what lets go again, to be called once. */
  hold(): () => void {
    this.#holds++
    const letMembersGo = this.#ensemble?.holdMembers()
    return () => {
      letMembersGo?.()
      this.#holds--
      if (this.#holds > 0) return
      const letGo = this.#letGo
      this.#letGo = []
      for (const resolve of letGo) resolve()
    }
  }

  /** Steps, edges and timings; null: no ensemble. */
  ensembleGraph(): EnsembleGraph | null { return this.#ensemble?.graph() ?? null }

  #createEnsemble(findMember: FindEnsembleMember): EnsembleScheduler {
    const { config, version, clock, log, statistics } = this.#options
    return new EnsembleScheduler({
      config, version, findMember, clock, log,
      onExecuted: (batchSize, times) => { statistics.countExecution(batchSize, times, clock.wallMilliseconds()) },
      onFailed: (durationNanoseconds) => { statistics.countFailureAgain('OTHER', durationNanoseconds) },
    })
  }

  /** New requests are refused from now on (steps of ensemble requests under way are not); resolves when the last one was answered and everything is freed. */
  async stop(): Promise<void> {
    if (this.#holds > 0) await new Promise<void>((resolve) => { this.#letGo.push(resolve) })
    this.#isStopping = true
    this.#scheduler.stopAccepting()
    // A sequence that still has its slot would keep those of the backlog, and this, until it idles out.
    this.#scheduler.endSequences?.()
    for (const instance of [...this.#instances, ...this.#leaving]) instance.leaving()
    if (this.#inflightCount > 0) await new Promise<void>((resolve) => { this.#drained.push(resolve) })
    await this.#free()
  }

  async #free(): Promise<void> {
    this.#responseCache?.close()
    // An out-dated update may still wait for its backend: the backend's model must outlive that.
    await Promise.all(this.#updates)
    const all = [...this.#instances, ...this.#leaving]
    this.#leaving.clear()
    const results = await Promise.allSettled(all.map((instance) => instance.stop()))
    this.#instances = []
    results.push(...await Promise.allSettled([this.#options.backendModel.finalize()]))
    for (const result of results) {
      if (result.status === 'rejected') {
        this.#options.log.warning('could not free a part of a model', { model: this.name, version: this.version, error: String(result.reason) })
      }
    }
  }

  /** Answers a request from the cache; what it costs to find nothing is counted with the response. @throws ServerError when the model stops */
  #lookUp(cache: ModelResponseCache, request: InferenceRequest, valid: ValidatedRequest, requestStart: number, handlers: InferenceStreamHandlers): CacheMiss | 'answered' {
    const { clock } = this.#options
    if (this.#isStopping) {
      if (request.trace !== undefined) traceEnded(request.trace, clock.now())
      throw stoppingError(request.id)
    }
    const lookupStart = clock.now()
    const key = cache.keyOf(valid.inputs)
    const found = cache.lookup(key)
    const lookupEnd = clock.now()
    if (found === null) return { cache, key, lookupNanoseconds: lookupEnd - lookupStart }
    const deliver = () => {
      const requestEnd = clock.now()
      if (request.trace !== undefined) traceEnded(request.trace, requestEnd)
      this.statistics.countFirstResponse(requestEnd - requestStart)
      this.statistics.countCacheHit({ requestStart, queueStart: lookupStart, lookupStart, lookupEnd, requestEnd })
      handlers.onDone({
        response: this.#response(request, found.outputs, found.parameters),
        timing: {
          queueNanoseconds: 0, computeInputNanoseconds: 0, computeInferNanoseconds: 0, computeOutputNanoseconds: 0,
          totalNanoseconds: requestEnd - requestStart, batchSize: valid.batchSize,
        },
      })
    }
    if (this.#order === null) deliver()
    else this.#order.take()(deliver, true)
    return 'answered'
  }

  #insertInCache({ cache, key, lookupNanoseconds }: CacheMiss, response: CachedResponse): void {
    const { clock, log } = this.#options
    const insertStart = clock.now()
    const result = cache.insert(key, response)
    if (result === 'closed' || result === 'exists') return
    this.statistics.countCacheMiss(lookupNanoseconds + clock.now() - insertStart)
    if (result === 'tooLarge') {
      log.error(`Failed to insert key [${key}] into response cache: the response is larger than the whole cache. Give it more bytes with --cache-config=local,size=<bytes>`, {
        model: this.name, version: this.version,
      })
    }
  }

  #deliver(request: InferenceRequest, inflight: InflightRequest, outcome: RequestOutcome, handlers: InferenceStreamHandlers, missed: CacheMiss | null): void {
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
    if (missed !== null && outputs !== null) this.#insertInCache(missed, { outputs, parameters: outcome.parameters })
    this.#leave()
    const timing = {
      queueNanoseconds: Math.max(0, times.executeStart - inflight.queueStart),
      computeInputNanoseconds: Math.max(0, times.computeStart - times.executeStart),
      computeInferNanoseconds: Math.max(0, times.computeEnd - times.computeStart),
      computeOutputNanoseconds: Math.max(0, times.executeEnd - times.computeEnd),
      totalNanoseconds: requestEnd - inflight.requestStart,
      batchSize: executedBatchSize,
    }
    handlers.onTiming?.(timing)
    if (outputs === null) handlers.onDone(null)
    else handlers.onDone({ response: this.#response(request, outputs, outcome.parameters), timing, inputsAreFree: this.#leavesInputs && !inflight.inputsAreHeld && request.trace === undefined })
  }

  #response(request: InferenceRequest, outputs: readonly Tensor[], parameters: Readonly<Record<string, ParameterValue>>): InferenceResponse {
    return { modelName: this.name, modelVersion: this.version, id: request.id, parameters, outputs }
  }

  #leave(): void {
    this.#inflightCount--
    this.statistics.admitted--
    if (this.#inflightCount > 0) return
    const drained = this.#drained
    this.#drained = []
    for (const resolve of drained) resolve()
  }

  /** Cards answer again: instances that wait for one of them are tried at once. @param isBack whether a device, as backends number it, is one of them */
  cardsAnswer(isBack: (device: number) => boolean): void {
    for (const instance of this.#instances) instance.cardsAnswer(isBack)
  }

  #instanceOut(error: Error): void {
    if (this.#executing.some(isExpected)) return
    this.#deadReason = error
    this.#scheduler.failWaiting(this.#deadError(error))
  }

  #instanceChanged(): void {
    if (this.#executing.some(isExpected)) this.#deadReason = null
    this.#options.onInstancesChanged()
  }

  #deadError(cause: Error): ServerError {
    const next = this.#executing.some(({ state }) => state === 'RESTARTING')
      ? 'has no running instance: its card is at fault. It is started again by itself as soon as the card allows it'
      : 'has no running instance left, load it again'
    return new ServerError('UNAVAILABLE', `model '${this.name}' version ${this.version} ${next}. The last instance failed with: ${cause.message}`, { cause })
  }

  #tensorMetadata(tensor: ModelInput | ModelOutput): TensorMetadata {
    return {
      name: tensor.name, datatype: protocolDataType(tensor.data_type), shape: this.config.max_batch_size > 0 ? [-1, ...tensor.dims] : [...tensor.dims],
    }
  }
}

function isExpected(instance: ModelInstance): boolean { return instance.isExpected }
