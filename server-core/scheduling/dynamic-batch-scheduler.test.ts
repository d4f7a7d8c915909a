import { describe, expect, it } from 'vitest'
import type { BatchStrategy } from '../backends/backend.ts'
import type { ModelQueuePolicy } from '../contract/model-config.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { DynamicBatchScheduler, type DynamicBatchOptions } from './dynamic-batch-scheduler.ts'
import { InflightRequest, type RequestOutcome } from './inflight-request.ts'
import { InstancePool, type PayloadRunner } from './instance-pool.ts'
import type { Payload } from './payload.ts'
import type { QueueLevels } from './queue-level.ts'

const MICROSECOND = 1000

/** An instance that runs a batch until the test says it is done. */
class HeldInstance implements PayloadRunner {
  readonly batches: string[][] = []
  #finish: (() => void) | null = null

  run(payload: Payload): Promise<void> {
    const requests = payload.requests.filter((request) => !request.isSettled)
    for (const request of requests) request.markExecuting()
    this.batches.push(requests.map((request) => request.id))
    return new Promise((resolve) => { this.#finish = resolve })
  }

  async finish(): Promise<void> {
    this.#finish?.()
    this.#finish = null
    await Promise.resolve()
    await Promise.resolve()
  }
}

function setUp(options: Partial<DynamicBatchOptions> = {}, instanceCount = 1) {
  const clock = new FakeClock()
  const pool = new InstancePool()
  const scheduler = new DynamicBatchScheduler({
    maxBatchSize: 8, preferredBatchSizes: [8], queueDelayMicroseconds: 0, shapeRule: null, ...options,
  }, pool, clock)
  const instances = Array.from({ length: instanceCount }, () => new HeldInstance())
  for (const instance of instances) pool.add(instance)
  const outcomes = new Map<string, RequestOutcome>()
  const request = (id: string, more: { batchSize?: number; timeoutMicroseconds?: number; columns?: number; priority?: bigint } = {}) => new InflightRequest({
    id,
    inputs: [{ name: 'A', datatype: 'FP32', shape: [more.batchSize ?? 1, more.columns ?? 4], data: new Uint8Array(0) }],
    requestedOutputs: [],
    parameters: {},
    batchSize: more.batchSize ?? 1,
    requestStart: clock.now(),
    queueStart: clock.now(),
    timeoutMicroseconds: more.timeoutMicroseconds ?? 0,
    priority: more.priority ?? 0n,
    onSettled: (outcome, settled) => { outcomes.set(settled.id, outcome) },
  })
  const enqueue = (id: string, more: Parameters<typeof request>[1] = {}) => {
    const made = request(id, more)
    scheduler.enqueue(made)
    return made
  }
  return { clock, pool, scheduler, instances, instance: instances[0]!, outcomes, enqueue }
}

function policyWith(more: Partial<ModelQueuePolicy>): ModelQueuePolicy {
  return { timeout_action: 'REJECT', default_timeout_microseconds: 0, allow_timeout_override: false, max_queue_size: 0, ...more }
}

const policy = (more: Partial<ModelQueuePolicy>): QueueLevels => ({ count: 0n, defaultLevel: 0n, defaultPolicy: policyWith(more) })

const messageOf = (outcome: RequestOutcome | undefined) => (outcome?.kind === 'failure' ? outcome.error.message : outcome?.kind)

describe('DynamicBatchScheduler without a delay', () => {
  it('gives an idle instance the first request alone and batches what comes while it is busy', async () => {
    const { instance, enqueue } = setUp()
    for (const id of ['a', 'b', 'c', 'd']) enqueue(id)
    expect(instance.batches).toEqual([['a']])
    await instance.finish()
    expect(instance.batches).toEqual([['a'], ['b', 'c', 'd']])
  })

  it('lets a formed payload that nobody took grow until it has the preferred size', async () => {
    const { instance, enqueue, pool } = setUp({ preferredBatchSizes: [2] })
    for (const id of ['a', 'b', 'c', 'd', 'e']) enqueue(id)
    expect(pool.readyCount).toBe(2)
    await instance.finish()
    await instance.finish()
    expect(instance.batches).toEqual([['a'], ['b', 'c'], ['d', 'e']])
  })

  it('forms at most two payloads per instance ahead; the rest stays in the queue', async () => {
    const { instance, enqueue, pool, scheduler } = setUp({ maxBatchSize: 2, preferredBatchSizes: [2] })
    for (let index = 0; index < 9; index++) enqueue(String(index))
    expect(pool.readyCount).toBe(2)
    expect(scheduler.waitingCount).toBe(4)
    for (let round = 0; round < 4; round++) await instance.finish()
    expect(instance.batches).toEqual([['0'], ['1', '2'], ['3', '4'], ['5', '6'], ['7', '8']])
  })

  it('fills a second instance before it batches', () => {
    const { instances, enqueue } = setUp({}, 2)
    enqueue('a')
    enqueue('b')
    expect(instances.map((instance) => instance.batches)).toEqual([[['a']], [['b']]])
  })

  it('does not let a payload grow past its largest preferred size', async () => {
    const { instance, enqueue } = setUp({ preferredBatchSizes: [4], queueDelayMicroseconds: 1000 })
    enqueue('hold', { batchSize: 4 })
    enqueue('a', { batchSize: 4 })
    enqueue('b')
    await instance.finish()
    expect(instance.batches).toEqual([['hold'], ['a']])
  })

  it('never splits a request and never exceeds max_batch_size', async () => {
    const { instance, enqueue } = setUp({ maxBatchSize: 4, preferredBatchSizes: [4] })
    enqueue('hold')
    enqueue('a', { batchSize: 3 })
    enqueue('b', { batchSize: 3 })
    await instance.finish()
    await instance.finish()
    expect(instance.batches).toEqual([['hold'], ['a'], ['b']])
  })

  it('runs a request larger than every preferred size', async () => {
    const { instance, enqueue } = setUp({ maxBatchSize: 8, preferredBatchSizes: [2] })
    enqueue('hold')
    enqueue('big', { batchSize: 6 })
    enqueue('small')
    await instance.finish()
    await instance.finish()
    expect(instance.batches).toEqual([['hold'], ['big'], ['small']])
  })

  it('closes a batch where the shapes differ', async () => {
    const { instance, enqueue } = setUp({ shapeRule: (request) => request.inputs[0]!.shape.slice(1).join() })
    enqueue('hold')
    enqueue('a')
    enqueue('b')
    enqueue('wide', { columns: 5 })
    enqueue('c')
    for (let round = 0; round < 4; round++) await instance.finish()
    expect(instance.batches).toEqual([['hold'], ['a', 'b'], ['wide'], ['c']])
  })

  it('runs every request alone where the model has no batch dimension', async () => {
    const { instance, enqueue } = setUp({ maxBatchSize: 0, preferredBatchSizes: [] })
    for (const id of ['a', 'b', 'c']) enqueue(id)
    await instance.finish()
    await instance.finish()
    expect(instance.batches).toEqual([['a'], ['b'], ['c']])
  })
})

describe('DynamicBatchScheduler with a delay', () => {
  it('runs two batch-1 requests as one when they reach the preferred size', () => {
    const { instance, enqueue } = setUp({ preferredBatchSizes: [2], queueDelayMicroseconds: 1000 })
    enqueue('a')
    expect(instance.batches).toEqual([])
    enqueue('b')
    expect(instance.batches).toEqual([['a', 'b']])
  })

  it('sends what there is when the oldest request has waited long enough', () => {
    const { clock, instance, enqueue } = setUp({ preferredBatchSizes: [4], queueDelayMicroseconds: 1000 })
    enqueue('a')
    clock.advance(400 * MICROSECOND)
    enqueue('b')
    clock.advance(599 * MICROSECOND)
    expect(instance.batches).toEqual([])
    clock.advance(1 * MICROSECOND)
    expect(instance.batches).toEqual([['a', 'b']])
    expect(clock.timerCount).toBe(0)
  })

  it('prefers the largest preferred size that was reached', async () => {
    const { instance, enqueue } = setUp({ preferredBatchSizes: [2, 4], queueDelayMicroseconds: 1000, levels: policy({ max_queue_size: 100 }) })
    enqueue('hold1')
    enqueue('hold2')
    for (const id of ['a', 'b', 'c', 'd', 'e']) enqueue(id)
    await instance.finish()
    expect(instance.batches).toEqual([['hold1', 'hold2'], ['a', 'b', 'c', 'd']])
  })

  it('sends the candidate when the next request would exceed the largest preferred size', () => {
    const { instance, enqueue } = setUp({ preferredBatchSizes: [4], queueDelayMicroseconds: 1000 })
    enqueue('a', { batchSize: 3 })
    enqueue('b', { batchSize: 3 })
    expect(instance.batches).toEqual([['a']])
  })

  it('sends all that fits max_batch_size once the delay is over', async () => {
    const { clock, instance, enqueue } = setUp({ maxBatchSize: 8, preferredBatchSizes: [4], queueDelayMicroseconds: 1000, levels: policy({ max_queue_size: 100 }) })
    enqueue('hold', { batchSize: 4 })
    enqueue('a', { batchSize: 3 })
    enqueue('b', { batchSize: 3 })
    clock.advance(1000 * MICROSECOND)
    await instance.finish()
    expect(instance.batches).toEqual([['hold'], ['a', 'b']])
  })

  it('adds to a payload that waits for an instance instead of waiting for the delay', async () => {
    const { clock, instance, enqueue, pool } = setUp({ preferredBatchSizes: [4], queueDelayMicroseconds: 1000 })
    enqueue('hold', { batchSize: 4 })
    enqueue('a')
    clock.advance(1000 * MICROSECOND)
    expect(pool.readyCount).toBe(1)
    enqueue('b')
    await instance.finish()
    expect(instance.batches).toEqual([['hold'], ['a', 'b']])
  })
})

describe('queue policies', () => {
  it('refuses a request when max_queue_size wait, not counting those handed to an instance', () => {
    const { enqueue } = setUp({ levels: policy({ max_queue_size: 2 }) })
    enqueue('running')
    enqueue('a')
    enqueue('b')
    expect(() => enqueue('c')).toThrow('[request id: c] Exceeds maximum queue size')
    expect(() => enqueue('')).toThrow('[request id: <id_unknown>] Exceeds maximum queue size')
  })

  it('rejects a request whose timeout expires while no instance is free', () => {
    const { clock, outcomes, enqueue } = setUp({ levels: policy({ default_timeout_microseconds: 200 }) })
    enqueue('running')
    enqueue('late')
    clock.advance(199 * MICROSECOND)
    expect(outcomes.size).toBe(0)
    clock.advance(1 * MICROSECOND)
    expect(outcomes.get('late')).toMatchObject({ kind: 'failure', reason: 'REJECTED', error: { kind: 'UNAVAILABLE', message: 'Request timeout expired' } })
  })

  it('takes the timeout of a request only where overriding is allowed and it is smaller', () => {
    const { clock, outcomes, enqueue } = setUp({ levels: policy({ default_timeout_microseconds: 200, allow_timeout_override: true }) })
    enqueue('running')
    enqueue('short', { timeoutMicroseconds: 50 })
    enqueue('long', { timeoutMicroseconds: 5000 })
    clock.advance(50 * MICROSECOND)
    expect([...outcomes.keys()]).toEqual(['short'])
    clock.advance(150 * MICROSECOND)
    expect([...outcomes.keys()]).toEqual(['short', 'long'])
  })

  it('ignores a request timeout where the default is 0', () => {
    const { clock, outcomes, enqueue } = setUp({ levels: policy({ allow_timeout_override: true }) })
    enqueue('running')
    enqueue('waiting', { timeoutMicroseconds: 50 })
    clock.advance(1e9)
    expect(outcomes.size).toBe(0)
  })

  it('serves delayed requests after the others, without a timeout', async () => {
    const { clock, instance, outcomes, enqueue } = setUp({ maxBatchSize: 1, preferredBatchSizes: [1], levels: policy({ default_timeout_microseconds: 200, timeout_action: 'DELAY' }) })
    enqueue('running')
    enqueue('delayed')
    clock.advance(200 * MICROSECOND)
    enqueue('fresh')
    await instance.finish()
    clock.advance(10_000 * MICROSECOND)
    await instance.finish()
    expect(instance.batches).toEqual([['running'], ['fresh'], ['delayed']])
    expect(outcomes.size).toBe(0)
  })

  it('keeps every request through many timeouts, cancellations and batches', async () => {
    const { clock, instance, outcomes, enqueue, scheduler } = setUp({ levels: policy({ default_timeout_microseconds: 100, allow_timeout_override: true }) })
    enqueue('running')
    const requests = Array.from({ length: 200 }, (_unused, index) => enqueue(String(index), { timeoutMicroseconds: ((index * 37) % 99) + 1 }))
    for (let index = 0; index < 200; index += 5) scheduler.cancel(requests[index]!)
    for (let step = 0; step < 10; step++) {
      clock.advance(4 * MICROSECOND)
      await instance.finish()
    }
    clock.advance(100 * MICROSECOND)
    const executed = instance.batches.flat().filter((id) => id !== 'running')
    expect(new Set([...executed, ...outcomes.keys()]).size).toBe(200)
    expect(executed.length + outcomes.size).toBe(200)
    expect(executed.length).toBeGreaterThan(40)
    expect(scheduler.waitingCount).toBe(0)
  })
})

describe('priorities', () => {
  const HIGHEST = 18446744073709551615n
  /** One request at a time, so that the batches show the order of service. */
  const single = { maxBatchSize: 1, preferredBatchSizes: [1] }
  const drain = async (instance: HeldInstance, rounds: number) => {
    for (let round = 0; round < rounds; round++) await instance.finish()
    return instance.batches.flat()
  }

  it('serves lower numbers first, in each level first come first served', async () => {
    const { instance, enqueue } = setUp({ ...single, levels: { count: 3n, defaultLevel: 2n } })
    enqueue('running')
    for (const [id, priority] of [['c1', 3n], ['b1', 2n], ['a1', 1n], ['c2', 3n], ['a2', 1n], ['b2', 2n]] as const) enqueue(id, { priority })
    expect(await drain(instance, 6)).toEqual(['running', 'a1', 'a2', 'b1', 'b2', 'c1', 'c2'])
  })

  it('puts priority 0 and priorities that do not exist into the default level', async () => {
    const { instance, enqueue } = setUp({ ...single, levels: { count: 3n, defaultLevel: 2n } })
    enqueue('running')
    for (const [id, priority] of [['last', 3n], ['none', 0n], ['beyond', 4n], ['second', 2n], ['first', 1n]] as const) enqueue(id, { priority })
    expect(await drain(instance, 5)).toEqual(['running', 'first', 'none', 'beyond', 'second', 'last'])
  })

  it('ignores the value where the model has no levels', async () => {
    const { instance, enqueue } = setUp(single)
    enqueue('running')
    enqueue('a', { priority: 2n })
    enqueue('b', { priority: 1n })
    expect(await drain(instance, 2)).toEqual(['running', 'a', 'b'])
  })

  it('tells neighbouring levels of 64 bits apart', async () => {
    const { instance, enqueue } = setUp({ ...single, levels: { count: HIGHEST, defaultLevel: HIGHEST } })
    enqueue('running')
    for (const [id, priority] of [['last', HIGHEST], ['before', HIGHEST - 1n], ['default', 0n], ['first', 1n]] as const) enqueue(id, { priority })
    expect(await drain(instance, 4)).toEqual(['running', 'first', 'before', 'last', 'default'])
  })

  it('batches across levels and leaves requests in the queue until an instance waits', async () => {
    const { instance, enqueue, pool } = setUp({ levels: { count: 2n, defaultLevel: 2n } })
    enqueue('running')
    enqueue('low', { priority: 2n })
    enqueue('high', { priority: 1n })
    expect(pool.readyCount).toBe(0)
    await instance.finish()
    expect(instance.batches).toEqual([['running'], ['high', 'low']])
  })

  it('counts the delay from the oldest request of the batch, not from the most urgent', () => {
    const { clock, instance, enqueue } = setUp({ queueDelayMicroseconds: 1000, levels: { count: 2n, defaultLevel: 2n } })
    enqueue('old', { priority: 2n })
    clock.advance(600 * MICROSECOND)
    enqueue('urgent', { priority: 1n })
    clock.advance(399 * MICROSECOND)
    expect(instance.batches).toEqual([])
    clock.advance(1 * MICROSECOND)
    expect(instance.batches).toEqual([['urgent', 'old']])
  })

  it('has a policy and a limit per level; levels without one follow the default policy', () => {
    const { clock, outcomes, enqueue } = setUp({
      levels: { count: 3n, defaultLevel: 3n, defaultPolicy: policyWith({ max_queue_size: 2 }), policies: new Map([[1n, policyWith({ max_queue_size: 1, default_timeout_microseconds: 50 })]]) },
    })
    enqueue('running', { priority: 1n })
    enqueue('a', { priority: 1n })
    expect(() => enqueue('b', { priority: 1n })).toThrow('[request id: b] Exceeds maximum queue size')
    for (const id of ['c', 'd']) enqueue(id, { priority: 2n })
    expect(() => enqueue('e', { priority: 2n })).toThrow('[request id: e] Exceeds maximum queue size')
    for (const id of ['f', 'g']) enqueue(id)
    clock.advance(1e9)
    expect([...outcomes.keys()]).toEqual(['a'])
    expect(messageOf(outcomes.get('a'))).toBe('Request timeout expired')
  })

  it('serves a delayed request when its own level is empty, before less urgent levels', async () => {
    const { clock, instance, enqueue } = setUp({
      ...single, levels: { count: 2n, defaultLevel: 1n, policies: new Map([[1n, policyWith({ timeout_action: 'DELAY', default_timeout_microseconds: 10 })]]) },
    })
    enqueue('running')
    enqueue('delayed', { priority: 1n })
    enqueue('low', { priority: 2n })
    clock.advance(10 * MICROSECOND)
    enqueue('fresh', { priority: 1n })
    expect(await drain(instance, 3)).toEqual(['running', 'fresh', 'delayed', 'low'])
  })
})

describe('delayed start', () => {
  it('runs nothing before so many requests wait, then goes on as usual', async () => {
    const { instance, enqueue } = setUp({ delayedStartCount: 3 })
    enqueue('a')
    enqueue('b')
    expect(instance.batches).toEqual([])
    enqueue('c')
    expect(instance.batches).toEqual([['a', 'b', 'c']])
    await instance.finish()
    enqueue('d')
    expect(instance.batches).toEqual([['a', 'b', 'c'], ['d']])
  })

  it('rejects expired requests meanwhile', () => {
    const { clock, outcomes, enqueue } = setUp({ delayedStartCount: 2, levels: policy({ default_timeout_microseconds: 10 }) })
    enqueue('a')
    clock.advance(10 * MICROSECOND)
    expect(messageOf(outcomes.get('a'))).toBe('Request timeout expired')
  })
})

describe('cancellation and stopping', () => {
  it('fills the place of a request that was cancelled in a batch that no instance took', async () => {
    const { instance, enqueue, scheduler } = setUp({ maxBatchSize: 2, preferredBatchSizes: [2] })
    enqueue('running')
    enqueue('a')
    const gone = enqueue('gone')
    scheduler.cancel(gone)
    enqueue('b')
    await instance.finish()
    expect(instance.batches).toEqual([['running'], ['a', 'b']])
  })

  it('settles a cancelled request that waits, with CANCELLED and no text', async () => {
    const { instance, outcomes, enqueue, scheduler } = setUp()
    enqueue('running')
    const gone = enqueue('gone')
    enqueue('stays')
    scheduler.cancel(gone)
    expect(outcomes.get('gone')).toMatchObject({ kind: 'failure', reason: 'CANCELED', error: { kind: 'CANCELLED', message: '' } })
    await instance.finish()
    expect(instance.batches).toEqual([['running'], ['stays']])
  })

  it('only marks a request that runs', () => {
    const { outcomes, enqueue, scheduler } = setUp()
    const running = enqueue('running')
    scheduler.cancel(running)
    expect(running.isCancelled).toBe(true)
    expect(outcomes.size).toBe(0)
  })

  it('refuses new requests after stopAccepting but runs those that wait', async () => {
    const { instance, enqueue, scheduler } = setUp()
    enqueue('running')
    enqueue('waiting')
    scheduler.stopAccepting()
    expect(() => enqueue('new')).toThrow('[request id: new] Server is stopping, scheduler for model has stopped accepting new inference requests')
    await instance.finish()
    expect(instance.batches).toEqual([['running'], ['waiting']])
  })

  it('settles everything that waits when no instance is left', () => {
    const { outcomes, enqueue, scheduler } = setUp()
    enqueue('running')
    enqueue('formed')
    scheduler.failWaiting(new Error('no instance'))
    expect(messageOf(outcomes.get('formed'))).toBe('no instance')
    expect(outcomes.has('running')).toBe(false)
  })

  it('waits with forming while there is no instance at all', () => {
    const { instance, pool, enqueue, scheduler } = setUp()
    pool.remove(instance)
    enqueue('a')
    enqueue('b')
    expect(scheduler.waitingCount).toBe(2)
    pool.add(instance)
    expect(instance.batches).toEqual([['a', 'b']])
  })
})

describe('DynamicBatchScheduler with a batching strategy', () => {
  /** Says yes to what `joins` says, and writes down what it is told. */
  const strategyOf = (joins: (id: string, batch: readonly string[]) => boolean) => {
    const told: string[] = []
    let batchCount = 0
    const strategy: BatchStrategy = {
      begin: () => {
        const batch: string[] = []
        const number = ++batchCount
        told.push(`begin ${number}`)
        return {
          includes: ({ id }) => {
            const isJoining = joins(id, batch)
            told.push(`${number} ${id} ${isJoining ? 'yes' : 'no'}`)
            batch.push(id)
            return isJoining
          },
          end: () => { told.push(`end ${number}`) },
        }
      },
    }
    return { told, strategy }
  }

  it('sends what was included at once when one is refused, which begins the next batch', () => {
    const { told, strategy } = strategyOf((_id, batch) => batch.length < 2)
    const { instance, enqueue } = setUp({ strategy, queueDelayMicroseconds: 1000 })
    for (const id of ['a', 'b', 'c']) enqueue(id)
    expect(instance.batches).toEqual([['a', 'b']])
    expect(told).toEqual(['begin 1', '1 a yes', '1 b yes', '1 c no', 'end 1', 'begin 2', '2 c yes'])
  })

  it('runs a request alone that is refused although it is the first', () => {
    const { told, strategy } = strategyOf(() => false)
    const { instances, enqueue } = setUp({ strategy, queueDelayMicroseconds: 1000 }, 2)
    for (const id of ['a', 'b']) enqueue(id)
    expect(instances.map(({ batches }) => batches)).toEqual([[['a']], [['b']]])
    expect(told).toEqual(['begin 1', '1 a no', 'end 1', 'begin 2', '2 b no', 'end 2'])
  })

  it('asks once about each request of a payload that grows, and again when one left it', async () => {
    const { told, strategy } = strategyOf(() => true)
    const { scheduler, instance, enqueue } = setUp({ strategy })
    enqueue('a')
    expect(told.splice(0)).toEqual(['begin 1', '1 a yes', 'end 1'])
    enqueue('b')
    const left = enqueue('c')
    expect(told.splice(0)).toEqual(['begin 2', '2 b yes', '2 c yes'])
    scheduler.cancel(left)
    enqueue('d')
    expect(told.splice(0)).toEqual(['end 2', 'begin 3', '3 b yes', '3 d yes'])
    await instance.finish()
    expect(instance.batches).toEqual([['a'], ['b', 'd']])
    expect(told).toEqual(['end 3'])
  })

  it('ends the batch that is being formed when nothing of it is left', () => {
    const { told, strategy } = strategyOf(() => true)
    const { scheduler, enqueue } = setUp({ strategy, queueDelayMicroseconds: 1000 })
    scheduler.cancel(enqueue('a'))
    expect(told.splice(0)).toEqual(['begin 1', '1 a yes', 'end 1'])
    enqueue('b')
    scheduler.failWaiting(new Error('unloading'))
    expect(told).toEqual(['begin 2', '2 b yes', 'end 2'])
  })
})
