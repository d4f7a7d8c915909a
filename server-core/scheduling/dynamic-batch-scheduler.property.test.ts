import { it } from 'vitest'
import type { BatchStrategy } from '../backends/backend.ts'
import type { ModelQueuePolicy } from '../contract/model-config.ts'
import { BatcherModel, type ModelledRequest } from '../testing/batcher-model.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { randomNumbers } from '../testing/random-numbers.ts'
import { DynamicBatchScheduler, type DynamicBatchOptions } from './dynamic-batch-scheduler.ts'
import { InflightRequest } from './inflight-request.ts'
import { InstancePool, type PayloadRunner } from './instance-pool.ts'
import type { Payload } from './payload.ts'
import { policyOf, type QueueLevels } from './queue-level.ts'

const SEQUENCES = 10_000
const SEED = 20261129
const MICROSECOND = 1000

type Random = (limit: number) => number

/** Every random choice of one sequence; the text of its operations names the fault. */
function randomOptions(random: Random): DynamicBatchOptions & { readonly levels: QueueLevels; readonly instanceCount: number; readonly volumeLimit: number } {
  const pick = <T>(...values: readonly [T, ...T[]]): T => values[random(values.length)] ?? values[0]
  const maxBatchSize = pick(0, 1, 2, 4, 8)
  const preferredBatchSizes = maxBatchSize === 0 ? [] : pick([maxBatchSize], [maxBatchSize], [Math.ceil(maxBatchSize / 2)], [Math.ceil(maxBatchSize / 4), Math.ceil(maxBatchSize / 2)], [1, maxBatchSize])
  const policy = (): ModelQueuePolicy => ({
    timeout_action: pick('REJECT', 'DELAY'), default_timeout_microseconds: pick(0, 3, 7, 20), allow_timeout_override: pick(true, false), max_queue_size: pick(0, 0, 2, 5),
  })
  const count = pick(0n, 0n, 1n, 2n, 3n, 18446744073709551615n)
  const levels: QueueLevels = {
    count,
    defaultLevel: count === 0n ? 0n : pick(1n, count),
    ...(random(2) === 0 ? {} : { defaultPolicy: policy() }),
    ...(count === 0n || random(2) === 0 ? {} : { policies: new Map([[pick(1n, count), policy()]]) }),
  }
  return {
    maxBatchSize, preferredBatchSizes, queueDelayMicroseconds: pick(0, 0, 2, 10), levels, instanceCount: pick(1, 1, 2, 3),
    shapeRule: random(2) === 0 ? null : (request) => String(request.inputs[0]?.shape[1]), volumeLimit: pick(Infinity, Infinity, 3, 6),
  }
}

const volumeOf = ({ id }: { readonly id: string }) => Number(id.slice(1)) % 4

/** Refuses what would take a batch over the limit. Every batch that begins must end, and be told of in the order of service. */
class VolumeStrategy implements BatchStrategy {
  openCount = 0
  readonly #limit: number

  constructor(limit: number) { this.#limit = limit }

  begin() {
    let volume = 0
    let isEnded = false
    this.openCount++
    const requireOpen = () => { if (isEnded) throw new Error('a batch that had ended was gone on with') }
    return {
      includes: (request: { readonly id: string }) => {
        requireOpen()
        volume += volumeOf(request)
        return volume <= this.#limit
      },
      end: () => {
        requireOpen()
        isEnded = true
        this.openCount--
      },
    }
  }
}

/** Runs what it gets until the test says that it is done. */
class HeldInstance implements PayloadRunner {
  readonly #started: InflightRequest[][]
  running: InflightRequest[] | null = null
  #finish: (() => void) | null = null

  constructor(started: InflightRequest[][]) { this.#started = started }

  run(payload: Payload): Promise<void> {
    const requests = payload.requests.filter((request) => !request.isSettled)
    if (requests.length === 0) return Promise.resolve()
    for (const request of requests) request.markExecuting()
    this.running = requests
    this.#started.push(requests)
    return new Promise((resolve) => { this.#finish = resolve })
  }

  async finish(): Promise<void> {
    for (const request of this.running ?? []) request.respond([])
    for (const request of this.running ?? []) request.settleExecution({ executeStart: 0, computeStart: 0, computeEnd: 0, executeEnd: 0 }, 1, null)
    this.running = null
    this.#finish?.()
    // The pool goes on in microtasks.
    for (let turn = 0; turn < 6; turn++) await Promise.resolve()
  }
}

/** One random sequence on both; throws where they differ or a promise is broken. */
class Sequence {
  readonly log: string[] = []
  readonly #random: Random
  readonly #options: ReturnType<typeof randomOptions>
  readonly #clock = new FakeClock()
  readonly #pool = new InstancePool()
  readonly #scheduler: DynamicBatchScheduler
  readonly #strategy: VolumeStrategy | null
  readonly #model: BatcherModel
  readonly #requests: InflightRequest[] = []
  readonly #answers = new Map<string, string[]>()
  readonly #failures: string[] = []
  readonly #refused = new Set<string>()
  readonly #started: InflightRequest[][] = []
  #instances: HeldInstance[] = []
  #checked = 0

  constructor(random: Random) {
    this.#random = random
    this.#options = randomOptions(random)
    const shown = JSON.stringify(this.#options, (_key, value: unknown) => (value instanceof Map ? [...value] : typeof value === 'bigint' ? `${value}` : typeof value === 'function' ? 'by columns' : value))
    this.log.push(shown)
    this.#strategy = this.#options.volumeLimit === Infinity ? null : new VolumeStrategy(this.#options.volumeLimit)
    this.#scheduler = new DynamicBatchScheduler({ ...this.#options, strategy: this.#strategy }, this.#pool, this.#clock)
    this.#model = new BatcherModel({ ...this.#options, delay: this.#options.queueDelayMicroseconds * MICROSECOND }, this.#clock.now())
    for (let index = 0; index < this.#options.instanceCount; index++) this.#addInstance()
  }

  async run(): Promise<void> {
    const length = 5 + this.#random(20)
    for (let step = 0; step < length; step++) {
      await this.#step()
      this.#compare()
    }
    this.log.push('drain')
    while (this.#instances.length === 0) this.#addBoth()
    for (let round = 0; this.#waiting().length > 0 || this.#instances.some((instance) => instance.running !== null); round++) {
      if (round > 500) throw new Error(`${this.#waiting().length} requests wait for ever`)
      for (const instance of this.#instances) if (instance.running !== null) await this.#finish(instance)
      this.#advance(20 * MICROSECOND)
      this.#compare()
    }
    for (const request of this.#requests) {
      const answers = this.#answers.get(request.id) ?? []
      if (answers.length !== (this.#refused.has(request.id) ? 0 : 1)) throw new Error(`${request.id} was answered ${answers.length} times: ${answers.join()}`)
    }
    requireEqual('timers', this.#clock.timerCount, 0)
    requireEqual('batches that a strategy was not told the end of', this.#strategy?.openCount ?? 0, 0)
  }

  async #step(): Promise<void> {
    const choice = this.#random(20)
    const busy = this.#instances.filter((instance) => instance.running !== null)
    if (choice < 9) this.#enqueue()
    else if (choice < 12) this.#advance((1 + this.#random(6)) * MICROSECOND)
    else if (choice < 16) {
      const instance = busy[this.#random(busy.length)]
      if (instance !== undefined) await this.#finish(instance)
    } else if (choice < 18) {
      const request = this.#requests[this.#random(this.#requests.length)]
      if (request !== undefined) this.#cancel(request)
    } else if (choice === 18 && this.#instances.length < 4) this.#addBoth()
    else if (choice === 19) this.#removeInstance()
  }

  #enqueue(): void {
    const { maxBatchSize, levels, shapeRule } = this.#options
    const size = this.#random(3) === 0 && maxBatchSize > 1 ? 1 + this.#random(maxBatchSize) : 1
    const columns = shapeRule === null || this.#random(4) > 0 ? 4 : 5
    const priority = [0n, 1n, 2n, levels.count, levels.count + 1n][this.#random(5)] ?? 0n
    const timeoutMicroseconds = [0, 0, 1, 5, 30][this.#random(5)] ?? 0
    const id = `r${this.#requests.length}`
    this.log.push(`enqueue ${id} size ${size} columns ${columns} priority ${priority} timeout ${timeoutMicroseconds}`)
    const request = new InflightRequest({
      id, inputs: [{ name: 'A', datatype: 'FP32', shape: [size, columns], data: new Uint8Array(0) }], requestedOutputs: [], parameters: {}, batchSize: size,
      requestStart: this.#clock.now(), queueStart: this.#clock.now(), timeoutMicroseconds, priority,
      onSettled: (outcome) => {
        const kind = outcome.kind === 'failure' ? outcome.reason : 'response'
        this.#answers.set(id, [...(this.#answers.get(id) ?? []), kind])
        if (kind !== 'response') this.#failures.push(`${id} ${kind === 'CANCELED' ? 'cancelled' : 'rejected'}`)
      },
    })
    this.#requests.push(request)
    const modelled: ModelledRequest = { id, size, shape: shapeRule?.(request) ?? '', volume: volumeOf(request), priority, timeout: timeoutMicroseconds * MICROSECOND }
    const isExpected = this.#model.enqueue(modelled)
    let isTaken = true
    try {
      this.#scheduler.enqueue(request)
    } catch {
      isTaken = false
      this.#refused.add(id)
    }
    if (isTaken !== isExpected) throw new Error(`${id} was ${isTaken ? 'taken in' : 'refused'}`)
  }

  #advance(nanoseconds: number): void {
    this.log.push(`advance ${nanoseconds / MICROSECOND}`)
    this.#clock.advance(nanoseconds)
    this.#model.advance(nanoseconds)
  }

  async #finish(instance: HeldInstance): Promise<void> {
    this.log.push(`finish ${instance.running?.map((request) => request.id).join()}`)
    const isMember = this.#instances.includes(instance)
    await instance.finish()
    if (isMember) this.#model.finish()
  }

  #cancel(request: InflightRequest): void {
    if (request.isSettled || this.#refused.has(request.id)) return
    this.log.push(`cancel ${request.id}`)
    const isRunning = request.isExecuting
    this.#scheduler.cancel(request)
    this.#model.cancel(request.id, isRunning)
  }

  #addInstance(): void {
    const instance = new HeldInstance(this.#started)
    this.#instances.push(instance)
    this.#pool.add(instance)
  }

  #addBoth(): void {
    this.log.push('add an instance')
    this.#addInstance()
    this.#model.addInstance()
  }

  /** A busy one ends its batch first, so that nothing is left behind in the check. */
  #removeInstance(): void {
    const index = this.#instances.findIndex((instance) => instance.running === null)
    const instance = this.#instances[index]
    if (instance === undefined) return
    this.log.push('remove an idle instance')
    this.#instances.splice(index, 1)
    this.#pool.remove(instance)
    this.#model.removeInstance(true)
  }

  #waiting(): InflightRequest[] {
    return this.#requests.filter((request) => !request.isSettled && !request.isExecuting && !this.#refused.has(request.id))
  }

  #compare(): void {
    const started = this.#started.slice(this.#checked).map((batch) => batch.map((request) => request.id).join())
    requireEqual('batches', started.join(' | '), this.#model.started.slice(this.#checked).map((batch) => batch.join()).join(' | '))
    requireEqual('endings', [...this.#failures].sort().join(), [...this.#model.endings].map(([id, ending]) => `${id} ${ending}`).sort().join())
    requireEqual('waiting', this.#scheduler.waitingCount, this.#model.waitingCount)
    this.#checkPromises()
  }

  /** What holds whatever the model says. */
  #checkPromises(): void {
    const { maxBatchSize, preferredBatchSizes, queueDelayMicroseconds, shapeRule, levels } = this.#options
    const delay = queueDelayMicroseconds * MICROSECOND
    const now = this.#clock.now()
    const seen = new Set(this.#started.slice(0, this.#checked).flat())
    for (const batch of this.#started.slice(this.#checked)) {
      const size = batch.reduce((sum, request) => sum + request.batchSize, 0)
      const name = batch.map((request) => request.id).join()
      if (batch.length > 1 && size > Math.max(1, maxBatchSize)) throw new Error(`${name} exceeds max_batch_size`)
      if (shapeRule !== null && new Set(batch.map(shapeRule)).size > 1) throw new Error(`${name} mixes shapes`)
      const isLate = delay > 0 && batch.some((request) => now - request.queueStart >= delay)
      if (batch.length > 1 && size > Math.max(...preferredBatchSizes) && !isLate) throw new Error(`${name} exceeds the largest preferred size before the delay`)
      for (const request of batch) {
        if (seen.has(request)) throw new Error(`${request.id} ran twice`)
        seen.add(request)
      }
    }
    this.#checked = this.#started.length
    if (levels.count === 0n && policyOf(levels, 0n).timeout_action === 'REJECT') {
      const order = this.#started.flat().map((request) => this.#requests.indexOf(request))
      if (order.some((place, index) => index > 0 && place < (order[index - 1] ?? 0))) throw new Error('a later request ran before an earlier one')
    }
    if (this.#instances.some((instance) => instance.running === null)) {
      const late = this.#waiting().find((request) => now - request.queueStart >= delay)
      if (late !== undefined) throw new Error(`${late.id} waits beyond the delay beside an idle instance`)
    }
  }
}

function requireEqual(what: string, actual: string | number, expected: string | number): void {
  if (actual !== expected) throw new Error(`${what}: ${actual} instead of ${expected}`)
}

it('does what a plain model of the batcher does, in 10,000 random sequences', { timeout: 60_000 }, async () => {
  for (let index = 0; index < SEQUENCES; index++) {
    const seed = SEED + index
    const sequence = new Sequence(randomNumbers(seed))
    try {
      await sequence.run()
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}\n${sequence.log.join('\n')}`, { cause: error })
    }
  }
})
