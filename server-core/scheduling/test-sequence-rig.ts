/** Drives the sequence batcher in tests: instances that finish a batch when the test says so, requests in shorthand, answers by id. */
import type { ParameterValue, Tensor } from '../contract/inference.ts'
import type { ModelSequenceBatching } from '../contract/model-config.ts'
import { LogHub } from '../logger.ts'
import { readModelConfig } from '../model-config/read-config.ts'
import { normalizeModelConfig } from '../model-config/normalize.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { InflightRequest, type RequestOutcome } from './inflight-request.ts'
import { InstancePool, type PayloadRunner } from './instance-pool.ts'
import type { Payload } from './payload.ts'
import type { Admission, RateLimiter } from './rate-limiter.ts'
import { SequenceBatchScheduler, type SequenceBatchOptions } from './sequence-batch-scheduler.ts'
import type { ShapeRule } from './shape-rule.ts'

const TIMES = { executeStart: 1, computeStart: 2, computeEnd: 3, executeEnd: 4 }

/** What an instance does with each request of a batch; the default answers it. */
export type Execution = (request: InflightRequest) => void

/** An instance that runs a batch until the test says it is done. Settles requests in the way of a model instance. */
export class HeldInstance implements PayloadRunner {
  /** Ids of the requests by row; null rows are `-`. */
  readonly batches: string[][] = []
  /** The rows of the batches with all that the backend saw. */
  readonly rows: { readonly id: string; readonly inputs: readonly Tensor[]; readonly isNull: boolean }[][] = []
  execution: Execution
  admission: Admission | null = null
  #finish: (() => void) | null = null
  #crash: (error: Error) => void = () => {}

  constructor(execution: Execution = (request) => { request.respond([]) }) { this.execution = execution }

  get isRunning(): boolean { return this.#finish !== null }

  async run(payload: Payload): Promise<void> {
    const requests = payload.requests.filter((request) => !request.isSettled)
    if (requests.length === 0) return
    for (const request of requests) request.markExecuting()
    this.batches.push(requests.map((request) => (request.isNull ? '-' : request.id)))
    this.rows.push(requests.map(({ id, inputs, isNull }) => ({ id, inputs, isNull })))
    const failure = await new Promise<Error | null>((resolve) => {
      this.#finish = () => { resolve(null) }
      this.#crash = resolve
    })
    if (failure === null) for (const request of requests) this.execution(request)
    for (const request of requests) request.settleExecution(TIMES, requests.length, failure)
  }

  async finish(): Promise<void> {
    this.#finish?.()
    this.#finish = null
    await turns()
  }

  async crash(error: Error): Promise<void> {
    this.#finish = null
    this.#crash(error)
    await turns()
  }
}

export async function turns(): Promise<void> { for (let turn = 0; turn < 8; turn++) await Promise.resolve() }

export interface RigOptions extends Partial<Pick<SequenceBatchOptions, 'states' | 'delayCount' | 'backlogDelayCount'>> {
  readonly instances?: number
  readonly maxBatchSize?: number
  readonly shapeRule?: ShapeRule
  readonly execution?: Execution
  /** One resource of this server, of which every instance needs one. */
  readonly limiter?: RateLimiter
}

export interface RequestMore {
  readonly batchSize?: number
  readonly timeoutMicroseconds?: number
  readonly columns?: number
  readonly isDecoupled?: boolean
  readonly value?: number
}

/** `config`: what stands inside `sequence_batching { }`. */
export function sequenceRig(config = '', options: RigOptions = {}) {
  const clock = new FakeClock()
  const pool = new InstancePool(options.limiter ?? null)
  const logs = new LogHub()
  const warnings: string[] = []
  logs.addSink((entry) => { if (entry.level === 'warning') warnings.push(entry.message) })
  const maxBatchSize = options.maxBatchSize ?? 4
  const scheduler = new SequenceBatchScheduler({
    modelName: 'm', maxBatchSize, batching: batchingOf(config, maxBatchSize), states: options.states ?? [], shapeRule: options.shapeRule ?? null,
    log: logs.logger('sequence-batcher'), delayCount: options.delayCount ?? 0, backlogDelayCount: options.backlogDelayCount ?? 0,
  }, pool, clock)
  const instances = Array.from({ length: options.instances ?? 1 }, () => new HeldInstance(options.execution))
  for (const instance of instances) {
    instance.admission = options.limiter?.register({ resources: [{ name: 'R', global: true, count: 1 }], priority: 0, device: 0 }) ?? null
    pool.add(instance)
  }
  const outcomes = new Map<string, RequestOutcome>()
  const settled: string[] = []
  let made = 0

  /** `flags`: any of S (start) and E (end). The request's name is its id in batches and outcomes. */
  const send = (name: string, sequenceId: bigint | string, flags = '', more: RequestMore = {}): InflightRequest => {
    made++
    const batch = maxBatchSize > 0 ? [more.batchSize ?? 1] : []
    const request = new InflightRequest({
      id: name,
      inputs: [{ name: 'INPUT', datatype: 'INT32', shape: [...batch, more.columns ?? 1], data: new Uint8Array(Int32Array.of(more.value ?? made).buffer) }],
      requestedOutputs: ['OUTPUT'], parameters: {}, batchSize: more.batchSize ?? 1, requestStart: clock.now(), queueStart: clock.now(),
      timeoutMicroseconds: more.timeoutMicroseconds ?? 0, isDecoupled: more.isDecoupled ?? false,
      sequenceId, sequenceStart: flags.includes('S'), sequenceEnd: flags.includes('E'),
      onSettled: (outcome) => {
        if (outcomes.has(name)) throw new Error(`request ${name} was settled twice`)
        outcomes.set(name, outcome)
        settled.push(name)
      },
    })
    scheduler.enqueue(request)
    return request
  }
  /** How the request ended: `ok`, the text of its error, or undefined. */
  const endOf = (name: string): string | undefined => {
    const outcome = outcomes.get(name)
    return outcome?.kind === 'failure' ? `${outcome.reason} ${outcome.error.message}` : outcome === undefined ? undefined : 'ok'
  }
  return { clock, pool, scheduler, instances, instance: instances[0]!, outcomes, settled, warnings, send, endOf }
}

/** As a load hands it over: read from text, complete, normalised. */
export function batchingOf(config: string, maxBatchSize = 4): ModelSequenceBatching {
  const text = `name: "m" max_batch_size: ${maxBatchSize} sequence_batching { ${config} }`
  const batching = normalizeModelConfig(readModelConfig(text, 'config.pbtxt')).sequence_batching
  if (batching === undefined) throw new Error('the config has no sequence_batching')
  return batching
}

/** The first element of a tensor of the row, as a number or text. */
export function valueOf(inputs: readonly Tensor[], name: string): ParameterValue | undefined {
  const tensor = inputs.find((candidate) => candidate.name === name)
  if (tensor === undefined) return undefined
  const { buffer, byteOffset, byteLength } = tensor.data
  const view = new DataView(buffer, byteOffset, byteLength)
  switch (tensor.datatype) {
    case 'INT32': return view.getInt32(0, true)
    case 'UINT32': return view.getUint32(0, true)
    case 'INT64': return view.getBigInt64(0, true)
    case 'UINT64': return view.getBigUint64(0, true)
    case 'FP32': return view.getFloat32(0, true)
    case 'BOOL': return view.getUint8(0) === 1
    case 'BYTES': return new TextDecoder().decode(tensor.data.subarray(4))
    default: throw new Error(`no reading of ${tensor.datatype}`)
  }
}
