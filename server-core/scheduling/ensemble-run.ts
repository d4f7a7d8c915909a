import type { ExecutionTimes } from '../backends/backend.ts'
import type { Clock } from '../clock.ts'
import type { InferenceTiming } from '../contract/console-api.ts'
import type { InferenceResponse, ParameterValue, Tensor } from '../contract/inference.ts'
import type { InferenceCall, InferenceStreamHandlers } from '../inference-server.ts'
import type { Logger } from '../logger.ts'
import { reshapeDims } from '../model/request-validation.ts'
import { shared } from '../release-memory.ts'
import { ServerError, toServerError } from '../server-error.ts'
import { Iteration, type EnsembleTensor, type SequenceInfo } from './ensemble-iteration.ts'
import { tensorFor, type EnsembleMember } from './ensemble-member.ts'
import type { EnsemblePlan, PlannedStep, PlanPart } from './ensemble-plan.ts'
import type { ExecutionRecord, StepRun } from './ensemble-trace.ts'
import type { InflightRequest } from './inflight-request.ts'
import { requestIdPrefix } from './refusals.ts'
import type { StepLimiter } from './step-limiter.ts'

export interface EnsembleRunOptions {
  readonly ensemble: string
  readonly plan: EnsemblePlan
  readonly request: InflightRequest
  /** By step. */
  readonly members: readonly EnsembleMember[]
  /** By step; null: `max_inflight_requests` is not set. */
  readonly limiters: readonly StepLimiter[] | null
  readonly record: ExecutionRecord
  readonly clock: Clock
  readonly log: Logger
  /** Called once, just before the request is settled. `times`: what its members took together; null where it failed. */
  readonly onEnd: (error: ServerError | null, times: ExecutionTimes | null) => void
}

/** A response as far as it is made: outputs and parameters. */
interface ReadyResponse {
  readonly outputs: readonly Tensor[]
  readonly parameters: Readonly<Record<string, ParameterValue>>
}

/**
 * One request on its way through an ensemble. A step starts as soon as its tensors are there, as an ordinary request to its model; tensors
 * go from step to step by reference. After a failure no step starts any more, and the request fails when those that run are done.
 */
export class EnsembleRun {
  readonly #options: EnsembleRunOptions
  readonly #part: PlanPart
  readonly #root: Iteration
  readonly #calls = new Set<InferenceCall>()
  /** Steps that have what they need and wait for a slot; each gives its place up when called. */
  readonly #held = new Set<() => void>()
  readonly #outbox: ReadyResponse[] = []
  readonly #compute = { input: 0, infer: 0, output: 0 }
  readonly #begun: number
  /** Of decoupled steps. */
  #responses = 0
  /** Steps that run or wait for a slot. */
  #inFlight = 0
  #hasAnswered = false
  #isOver = false
  #error: ServerError | null = null

  constructor(options: EnsembleRunOptions) {
    this.#options = options
    this.#part = options.plan.partFor(options.request.requestedOutputs)
    this.#root = new Iteration(0, options.plan, this.#part)
    this.#begun = options.clock.now()
  }

  start(): void {
    const { plan, request } = this.#options
    const given = new Map(request.inputs.map((input) => [input.name, input]))
    const ready: PlannedStep[] = []
    for (const { name, tensor } of plan.inputs) {
      const input = given.get(name)
      this.#root.supply(tensor, input === undefined ? null : { tensor: input, sequence: null }, this.#part, ready)
    }
    void this.#launchAll(ready, this.#root)
    void this.#proceed()
  }

  /** Running steps are told; nothing new starts. The request still ends when they are done. */
  cancel(): void {
    if (this.#isOver) return
    for (const call of [...this.#calls]) call.cancel()
    if (this.#held.size > 0) this.#stopStarting(this.#cancelled())
    void this.#proceed()
  }

  /** @returns a promise where steps wait for slots: whoever made their tensors should wait too before it makes more */
  #launchAll(ready: readonly PlannedStep[], iteration: Iteration): Promise<void> | undefined {
    if (ready.length === 0 || this.#error !== null) return undefined
    if (this.#options.request.isCancelled) {
      this.#stopStarting(this.#cancelled())
      return undefined
    }
    // All are counted before any starts: one that is answered at once must not find the request finished.
    this.#inFlight += ready.length
    iteration.running += ready.length
    const waits = ready.map((step) => this.#launch(step, iteration)).filter((wait) => wait !== undefined)
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => {})
  }

  #launch(step: PlannedStep, iteration: Iteration): Promise<void> | undefined {
    const { limiters, clock, ensemble, log } = this.#options
    const limiter = limiters?.[step.index]
    const readySince = clock.now()
    if (this.#error !== null) {
      this.#leave(iteration)
      return undefined
    }
    if (limiter === undefined) {
      this.#begin(step, iteration, readySince, undefined)
      return undefined
    }
    let resolve = () => {}
    let isStarted = false
    const begin = () => {
      isStarted = true
      if (giveUp !== null) this.#held.delete(giveUp)
      resolve()
      this.#begin(step, iteration, readySince, limiter)
    }
    let giveUp: (() => void) | null = null
    const leaveQueue = limiter.acquire(begin, () => {
      log.error('ensemble step waited too long for a slot and starts without one', {
        model: ensemble, step: step.index, stepModel: step.modelName, inFlight: limiter.inFlight, requestId: this.#options.request.id,
      })
    })
    if (leaveQueue === null || isStarted) return undefined
    giveUp = () => {
      leaveQueue()
      resolve()
      this.#leave(iteration)
    }
    this.#held.add(giveUp)
    return new Promise<void>((done) => { resolve = done })
  }

  #begin(step: PlannedStep, iteration: Iteration, readySince: number, limiter: StepLimiter | undefined): void {
    const { request, members, clock, record } = this.#options
    const member = members[step.index]
    if (member === undefined) throw new Error(`step ${step.index} has no model`)
    const now = clock.now()
    const run = record.stepBegins(step.index, iteration.number, readySince, now)
    const { inputs, sequence } = this.#inputsOf(step, iteration, member)
    let call: InferenceCall | null = null
    let isDone = false
    const end = (error: ServerError | null) => {
      isDone = true
      if (call !== null) this.#calls.delete(call)
      if (error !== null) this.#fail(step, member, error)
      this.#leave(iteration)
      limiter?.release()
      void this.#proceed()
    }
    const handlers: InferenceStreamHandlers = {
      onResponse: (response) => {
        const steps = this.#receive(step, member, iteration, response, run, sequence)
        const client = this.#proceed()
        return steps === undefined || client === undefined ? steps ?? client : Promise.all([steps, client]).then(() => {})
      },
      onError: (error) => { this.#fail(step, member, error) },
      onTiming: (timing) => { this.#addTiming(run, timing) },
      onDone: (last) => {
        // Before its answer starts the steps behind it: their beginning is not its time.
        run.ended(clock.now(), last instanceof ServerError ? last.message : null)
        if (last instanceof ServerError) {
          end(last)
          return
        }
        if (last !== null) void this.#receive(step, member, iteration, last.response, run, sequence)
        end(null)
      },
    }
    try {
      const begun = member.submit({
        modelName: member.name, modelVersion: member.version, id: request.id, inputs, requestedOutputs: (this.#part.usedOutputs[step.index] ?? []).map(({ name }) => name),
        parameters: request.parameters, sequenceId: sequence.id, sequenceStart: sequence.isStart, sequenceEnd: sequence.isEnd,
        priority: request.priority, timeoutMicroseconds: request.timeoutMicroseconds,
        ...(request.trace === undefined ? {} : { trace: request.trace.child() }),
      }, now, handlers)
      // It may be answered already; the compiler does not see that the handlers were called.
      if (isDone as boolean) return
      call = begun
      this.#calls.add(begun)
      if (request.isCancelled) begun.cancel()
    } catch (error) {
      const refusal = toServerError(error)
      run.ended(clock.now(), refusal.message)
      end(refusal)
    }
  }

  #inputsOf(step: PlannedStep, iteration: Iteration, member: EnsembleMember): { inputs: Tensor[]; sequence: SequenceInfo } {
    const { request, log, ensemble } = this.#options
    const isBatching = member.config.max_batch_size > 0
    const inputs: Tensor[] = []
    let sequence: SequenceInfo | null = null
    for (const { name, tensor } of step.inputs) {
      const value = iteration.values[tensor]
      if (value === null || value === undefined) continue
      const declared = member.config.input.find((input) => input.name === name)
      inputs.push(declared === undefined ? { ...value.tensor, name } : tensorFor(value.tensor, name, declared.dims, isBatching))
      if (value.sequence === null) continue
      if (sequence !== null && (sequence.id !== value.sequence.id || sequence.isStart !== value.sequence.isStart || sequence.isEnd !== value.sequence.isEnd)) {
        log.error('inputs of an ensemble step belong to different sequences, the first one is used', { model: ensemble, step: step.index, stepModel: member.name, sequenceId: String(sequence.id) })
      }
      sequence ??= value.sequence
    }
    return { inputs, sequence: sequence ?? { id: request.sequenceId, isStart: request.sequenceStart, isEnd: request.sequenceEnd } }
  }

  #receive(
    step: PlannedStep, member: EnsembleMember, iteration: Iteration, response: InferenceResponse, run: StepRun, own: SequenceInfo,
  ): Promise<void> | undefined {
    run.responded()
    if (this.#error !== null) return undefined
    let sequence: SequenceInfo
    try {
      sequence = sequenceOf(response.parameters, own)
    } catch (error) {
      this.#fail(step, member, toServerError(error))
      return undefined
    }
    let target = iteration
    if (member.isDecoupled) {
      target = new Iteration(this.#responses++, this.#options.plan, this.#part)
      iteration.addChild(target)
    }
    const ready: PlannedStep[] = []
    for (const { name, tensor } of this.#part.usedOutputs[step.index] ?? []) {
      const output = response.outputs.find((candidate) => candidate.name === name)
      target.supply(tensor, output === undefined ? null : { tensor: shared(output), sequence }, this.#part, ready)
    }
    return this.#launchAll(ready, target)
  }

  #addTiming(run: StepRun, timing: InferenceTiming): void {
    run.timed(timing)
    this.#compute.input += timing.computeInputNanoseconds
    this.#compute.infer += timing.computeInferNanoseconds
    this.#compute.output += timing.computeOutputNanoseconds
  }

  #fail(step: PlannedStep, member: EnsembleMember, cause: ServerError): void {
    const { ensemble, log, request } = this.#options
    log.verbose(1, 'ensemble step failed', { model: ensemble, step: step.index, stepModel: member.name, stepVersion: member.version, requestId: request.id, error: cause.message })
    const where = new Error(`step ${step.index} (model '${member.name}' version ${member.version}) failed: ${cause.message}`, { cause })
    this.#stopStarting(new ServerError(cause.kind, `in ensemble '${ensemble}', ${cause.message}`, { cause: where }))
  }

  #cancelled(): ServerError { return new ServerError('CANCELLED', `in ensemble '${this.#options.ensemble}', `) }

  /** The first error is the request's. */
  #stopStarting(error: ServerError): void {
    this.#error ??= error
    const held = [...this.#held]
    this.#held.clear()
    for (const giveUp of held) giveUp()
  }

  #leave(iteration: Iteration): void {
    iteration.running--
    this.#inFlight--
  }

  /**
   * Answers what can be answered, in order, and ends the request when no step is in flight.
   * @returns a promise where the client has enough to do with the answers it got
   */
  #proceed(): Promise<void> | undefined {
    if (this.#isOver) return undefined
    let wait: Promise<void> | undefined
    const { request } = this.#options
    const isLast = this.#inFlight === 0
    if (this.#error === null) {
      this.#root.takeComplete((iteration) => { this.#outbox.push(this.#responseOf(iteration)) })
      while (request.isDecoupled && this.#outbox.length > (isLast ? 1 : 0)) {
        this.#hasAnswered = true
        const { outputs, parameters } = this.#outbox.shift() as ReadyResponse
        wait = request.send(outputs, parameters) ?? wait
      }
    }
    if (isLast) this.#end()
    return wait
  }

  #end(): void {
    // A client that was answered just now may have cancelled, which ends the request from inside.
    if (this.#isOver) return
    this.#isOver = true
    const { request, ensemble, onEnd } = this.#options
    const last = this.#outbox.shift() ?? null
    if (this.#error === null && last === null && !request.isDecoupled && !this.#hasAnswered) {
      this.#error = new ServerError('INVALID_ARG', `in ensemble '${ensemble}', ${requestIdPrefix(request.id)}unexpected deadlock, at least one output is not set `
        + 'while no more ensemble steps can be made')
    }
    if (this.#error !== null) {
      onEnd(this.#error, null)
      request.settle({ kind: 'failure', error: this.#error, reason: 'OTHER' })
      return
    }
    const computeStart = this.#begun + this.#compute.input
    const computeEnd = computeStart + this.#compute.infer
    const times = { executeStart: this.#begun, computeStart, computeEnd, executeEnd: computeEnd + this.#compute.output }
    onEnd(null, times)
    request.settle({ kind: 'response', outputs: last?.outputs ?? null, parameters: last?.parameters ?? {}, times, executedBatchSize: Math.max(1, request.batchSize) })
  }

  #responseOf(iteration: Iteration): ReadyResponse {
    const { plan, request } = this.#options
    const outputs: Tensor[] = []
    let sequence: SequenceInfo | null = null
    for (const { tensor, config } of this.#part.outputs) {
      const value: EnsembleTensor | null | undefined = iteration.values[tensor]
      if (value === null || value === undefined) continue
      const declared = config.reshape?.shape ?? config.dims
      const output = tensorFor(value.tensor, config.name, declared, plan.isBatching)
      outputs.push(config.reshape === undefined ? output : { ...output, shape: withDims(output.shape, declared, config.dims, plan.isBatching) })
      sequence = value.sequence ?? sequence
    }
    return { outputs, parameters: sequence === null ? {} : sequenceParameters(sequence, request.sequenceId) }
  }
}

/** The shape that the client sees of a tensor with `reshape`. */
function withDims(shape: readonly number[], from: readonly number[], to: readonly number[], isBatching: boolean): readonly number[] {
  const batch = isBatching ? shape.slice(0, 1) : []
  return [...batch, ...reshapeDims(from, shape.slice(batch.length), to)]
}

/** Ids keep the type of the request's: a client that numbers its sequences gets numbers. */
function sequenceParameters({ id, isStart, isEnd }: SequenceInfo, requestId: bigint | string): Record<string, ParameterValue> {
  const isText = typeof requestId === 'string' && requestId !== ''
  return { sequence_id: isText ? String(id) : typeof id === 'bigint' ? id : id === '' ? 0n : id, sequence_start: isStart, sequence_end: isEnd }
}

/** What a step's response says about its sequence; where it says nothing, that of the step's own request. @throws ServerError INVALID_ARG */
function sequenceOf(parameters: Readonly<Record<string, ParameterValue>>, own: SequenceInfo): SequenceInfo {
  const { sequence_id: id, sequence_start: isStart, sequence_end: isEnd } = parameters
  if (id === undefined && isStart === undefined && isEnd === undefined) return own
  if (id !== undefined && typeof id !== 'bigint' && typeof id !== 'string') {
    throw new ServerError('INVALID_ARG', "expected parameter 'sequence_id' to be TRITONSERVER_PARAMETER_INT or TRITONSERVER_PARAMETER_STRING")
  }
  for (const [name, value] of [['sequence_start', isStart], ['sequence_end', isEnd]] as const) {
    if (value !== undefined && typeof value !== 'boolean') throw new ServerError('INVALID_ARG', `expect parameter '${name}' to be TRITONSERVER_PARAMETER_BOOL`)
  }
  return { id: id ?? own.id, isStart: isStart === true, isEnd: isEnd === true }
}
