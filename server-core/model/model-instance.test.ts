import { describe, expect, it } from 'vitest'
import type { BackendModel, BackendModelInstance } from '../backends/backend.ts'
import type { ModelInstanceReport } from '../contract/repository.ts'
import { LogHub } from '../logger.ts'
import { ModelStatistics } from '../metrics/model-statistics.ts'
import { InflightRequest, type RequestOutcome } from '../scheduling/inflight-request.ts'
import { InstancePool } from '../scheduling/instance-pool.ts'
import { Payload } from '../scheduling/payload.ts'
import { RateLimiter } from '../scheduling/rate-limiter.ts'
import { readModelConfig } from '../model-config/read-config.ts'
import { ServerError } from '../server-error.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { ModelInstance } from './model-instance.ts'

const SECOND = 1e9
const times = { executeStart: 1, computeStart: 2, computeEnd: 3, executeEnd: 4 }

/** A backend whose instances die when the test says so, and whose starts can be made to fail. */
class MortalBackend implements BackendModel {
  readonly config = readModelConfig('name: "m"', 'config.pbtxt')
  readonly deaths: ((error: Error) => void)[] = []
  starts = 0
  failingStarts = 0
  /** Why those fail. */
  refusal: Error = new Error('no memory')
  /** What instances say that they run on. */
  report: ModelInstanceReport | null = null
  finalized = 0
  /** What a start waits for. */
  gate: Promise<void> = Promise.resolve()
  execute: BackendModelInstance['execute'] = async (requests) => {
    for (const request of requests) request.respond([])
    return times
  }

  async initializeInstance(): Promise<BackendModelInstance> {
    this.starts++
    if (this.failingStarts-- > 0) throw this.refusal
    await this.gate
    return {
      report: this.report,
      execute: (requests) => this.execute(requests),
      onDeath: (listener) => { this.deaths.push(listener) },
      finalize: async () => { this.finalized++ },
    }
  }

  async finalize(): Promise<void> {}
}

async function setUp({ joins = true, starts = true, isPassive = false, warmUp, limiter = null }: {
  joins?: boolean; starts?: boolean; isPassive?: boolean; warmUp?: (instance: ModelInstance) => Promise<void>; limiter?: RateLimiter | null
} = {}) {
  const clock = new FakeClock()
  const backend = new MortalBackend()
  const pool = new InstancePool(limiter)
  const givenUp: string[] = []
  const statistics = new ModelStatistics('m', '1')
  const instance = new ModelInstance({
    context: { name: 'm_0', index: 0, kind: 'KIND_CPU', deviceId: 0, isPassive },
    admission: limiter?.register({ resources: [{ name: 'R', count: 1, global: false }], priority: 1, device: 0 }) ?? null, ...(warmUp === undefined ? {} : { warmUp }), signature: '', backendModel: backend, statistics, pool, clock, log: new LogHub().logger('test'),
    model: 'm', version: '1', onOutOfService: (error) => { givenUp.push(error.message) }, onStateChanged: () => {},
  })
  if (starts) await instance.start()
  if (starts && joins) instance.join()
  return { clock, backend, pool, instance, givenUp, statistics }
}

const settle = async () => { for (let turn = 0; turn < 10; turn++) await Promise.resolve() }

function payloadOf(...ids: string[]) { return payloadFrom(ids, false) }

function payloadFrom(ids: readonly string[], isDecoupled: boolean) {
  const outcomes = new Map<string, RequestOutcome>()
  const payload = new Payload()
  for (const id of ids) {
    payload.add(new InflightRequest({
      id, inputs: [], requestedOutputs: [], parameters: {}, batchSize: 1, requestStart: 0, queueStart: 0, timeoutMicroseconds: 0, isDecoupled,
      onSettled: (outcome) => { outcomes.set(id, outcome) },
    }))
  }
  return { payload, outcomes }
}

describe('an execution that takes no time', () => {
  it('has ended when the call of the backend returns', async () => {
    const { backend, instance, pool, statistics } = await setUp()
    backend.execute = (requests) => {
      for (const request of requests) request.respond([])
      return times
    }
    const { payload, outcomes } = payloadOf('a', 'b')
    pool.offer(payload)
    expect([...outcomes.values()]).toMatchObject([{ kind: 'response', times, executedBatchSize: 2 }, { kind: 'response' }])
    expect([pool.hasIdle, statistics.entry().execution_count]).toEqual([true, 1])
    await instance.stop()
    expect(backend.finalized).toBe(1)
  })

  it('and fails ends its requests with the reason, and leaves the instance its place', async () => {
    const { backend, pool } = await setUp()
    backend.execute = () => { throw new Error('no such kernel') }
    const { payload, outcomes } = payloadOf('a')
    pool.offer(payload)
    expect(outcomes.get('a')).toMatchObject({ kind: 'failure', error: { message: 'no such kernel' } })
    expect(pool.hasIdle).toBe(true)
  })
})

describe('a dead instance', () => {
  it('is replaced after 1, 2, 4, 8 and 8 seconds, then given up with its last reason', async () => {
    const { clock, backend, pool, instance, givenUp } = await setUp()
    for (const [attempt, delay] of [1, 2, 4, 8, 8].entries()) {
      backend.deaths.at(-1)?.(new Error(`death ${attempt}`))
      expect(instance.state).toBe('RESTARTING')
      expect(pool.instanceCount).toBe(0)
      clock.advance(delay * SECOND - 1)
      expect(backend.starts).toBe(attempt + 1)
      clock.advance(1)
      await settle()
      expect(instance.state).toBe('READY')
      expect(pool.hasIdle).toBe(true)
    }
    backend.deaths.at(-1)?.(new Error('last death'))
    expect(instance.state).toBe('FAILED')
    expect(givenUp).toEqual(['last death'])
    expect(instance.trouble).toBe('last death')
  })

  it('tells which attempt comes when, and nothing of it once it runs or was given up', async () => {
    const { clock, backend, instance } = await setUp()
    expect(instance.restart).toBeNull()
    backend.deaths.at(-1)?.(new Error('death'))
    expect(instance.restart).toEqual({ attempt: 1, limit: 5, at: clock.wallMilliseconds() + 1000 })
    clock.advance(1 * SECOND)
    await settle()
    expect(instance.restart).toBeNull()
    for (const delay of [2, 4, 8, 8]) {
      backend.deaths.at(-1)?.(new Error('death'))
      expect(instance.restart?.at).toBe(clock.wallMilliseconds() + delay * 1000)
      clock.advance(delay * SECOND)
      await settle()
    }
    backend.deaths.at(-1)?.(new Error('death'))
    expect(instance).toMatchObject({ state: 'FAILED', restart: null })
  })

  it('waits longer when the new one does not start either', async () => {
    const { clock, backend, instance } = await setUp()
    backend.failingStarts = 1
    backend.deaths[0]?.(new Error('death'))
    clock.advance(1 * SECOND)
    await settle()
    expect(instance).toMatchObject({ state: 'RESTARTING', trouble: 'no memory' })
    clock.advance(2 * SECOND)
    await settle()
    expect(instance).toMatchObject({ state: 'READY', trouble: '' })
  })

  it('starts with the shortest wait again after it served for a minute', async () => {
    const { clock, backend, instance } = await setUp()
    backend.deaths.at(-1)?.(new Error('first'))
    clock.advance(1 * SECOND)
    await settle()
    clock.advance(61 * SECOND)
    backend.deaths.at(-1)?.(new Error('second'))
    clock.advance(1 * SECOND)
    await settle()
    expect(instance.state).toBe('READY')
  })

  it('takes no work before it runs again when it died before it joined', async () => {
    const { clock, backend, pool, instance } = await setUp({ joins: false })
    backend.deaths[0]?.(new Error('death'))
    instance.join()
    const { payload, outcomes } = payloadOf('a')
    pool.offer(payload)
    await settle()
    expect(outcomes.size).toBe(0)
    clock.advance(1 * SECOND)
    await settle()
    expect(outcomes.get('a')).toMatchObject({ kind: 'response' })
  })

  it('runs one batch at a time when it died and ran again before it joined', async () => {
    const { clock, backend, pool, instance } = await setUp({ joins: false })
    backend.deaths[0]?.(new Error('death'))
    clock.advance(1 * SECOND)
    await settle()
    expect(pool.hasIdle).toBe(false)
    instance.join()
    const { promise, resolve } = Promise.withResolvers<void>()
    const started: string[] = []
    backend.execute = async (requests) => {
      started.push(requests[0]!.id)
      await promise
      requests[0]!.respond([])
      return times
    }
    const first = payloadOf('a')
    const second = payloadOf('b')
    pool.offer(first.payload)
    pool.offer(second.payload)
    expect(started).toEqual(['a'])
    resolve()
    await settle()
    expect([first.outcomes.get('a'), second.outcomes.get('b')]).toMatchObject([{ kind: 'response' }, { kind: 'response' }])
  })

  it('is not replaced once its model stops', async () => {
    const { clock, backend, instance } = await setUp()
    backend.deaths[0]?.(new Error('death'))
    await instance.stop()
    clock.advance(100 * SECOND)
    await settle()
    expect(backend.starts).toBe(1)
  })
})

describe('an instance whose card is at fault', () => {
  const LOST = new ServerError('UNAVAILABLE', 'Device 1: running failed with 507901 SOCKET_CLOSE: the link to the card is gone: the card is lost')
  const REPORT = { runs_on: 'npu', device: 1 } as const

  async function onCard(report: ModelInstanceReport | null = REPORT) {
    const rig = await setUp({ starts: false })
    rig.backend.report = report
    await rig.instance.start()
    rig.instance.join()
    return rig
  }

  /** Attempts one after another, all of which fail; returns the wait before each. */
  async function waits({ clock, instance }: Awaited<ReturnType<typeof onCard>>, count: number): Promise<number[]> {
    const seconds: number[] = []
    for (let attempt = 0; attempt < count; attempt++) {
      const wait = ((instance.restart?.at ?? 0) - clock.wallMilliseconds()) / 1000
      seconds.push(wait)
      clock.advance(wait * SECOND)
      await settle()
    }
    return seconds
  }

  it('is tried for as long as the card is away, at most half a minute apart, and says all the while what it runs on', async () => {
    const rig = await onCard()
    const { backend, instance } = rig
    backend.failingStarts = 40
    backend.refusal = new ServerError('INTERNAL', 'loading m on device 1 failed with 507033 DEV_SETUP_ERROR: the card could not be started')
    backend.deaths[0]?.(LOST)
    expect(instance).toMatchObject({ state: 'RESTARTING', trouble: LOST.message, report: REPORT, restart: { attempt: 1, limit: null } })
    expect(await waits(rig, 40)).toEqual([1, 2, 4, 8, 16, ...Array.from({ length: 35 }, () => 30)])
    expect(instance).toMatchObject({ state: 'RESTARTING', trouble: backend.refusal.message, report: REPORT, restart: { attempt: 41, limit: null } })
    await waits(rig, 1)
    expect(instance).toMatchObject({ state: 'READY', trouble: '', restart: null })
  })

  it('is no longer expected, with its last reason, once others would have been given up', async () => {
    const rig = await onCard()
    rig.backend.failingStarts = 7
    rig.backend.refusal = LOST
    rig.backend.deaths[0]?.(LOST)
    await waits(rig, 4)
    expect([rig.instance.isExpected, rig.givenUp]).toEqual([true, []])
    await waits(rig, 1)
    expect([rig.instance.isExpected, rig.givenUp]).toEqual([false, [LOST.message]])
    await waits(rig, 3)
    expect([rig.instance.state, rig.instance.isExpected]).toEqual(['READY', true])
  })

  it('is tried at once when that card answers again', async () => {
    const rig = await onCard()
    const { clock, backend, instance } = rig
    backend.failingStarts = 8
    backend.refusal = LOST
    backend.deaths[0]?.(LOST)
    await waits(rig, 8)
    instance.cardsAnswer((device) => device === 0)
    await settle()
    expect(instance.state).toBe('RESTARTING')
    instance.cardsAnswer((device) => device === 1)
    await settle()
    expect([instance.state, backend.starts]).toEqual(['READY', 10])
    clock.advance(100 * SECOND)
    await settle()
    expect(backend.starts).toBe(10)
  })

  it('is tried again soon when the card answers while an attempt is under way that began too early', async () => {
    const rig = await onCard()
    const { clock, backend, instance } = rig
    backend.failingStarts = 6
    backend.refusal = LOST
    backend.deaths[0]?.(LOST)
    await waits(rig, 6)
    const { promise, reject } = Promise.withResolvers<void>()
    backend.gate = promise
    clock.advance(30 * SECOND)
    instance.cardsAnswer(() => true)
    backend.gate = Promise.resolve()
    reject(LOST)
    await settle()
    expect(instance.restart?.at).toBe(clock.wallMilliseconds() + 1000)
    clock.advance(1 * SECOND)
    await settle()
    expect(instance.state).toBe('READY')
  })

  it.each([
    ['its code crashed', REPORT, new ServerError('INTERNAL', 'the backend threw: out of range')],
    ['an operator of its model fails', REPORT, new ServerError('UNAVAILABLE', 'Device 1: failed with 507015 AICORE_EXCEPTION: an operator failed on the AI Core')],
    ['it runs on the CPU', { runs_on: 'cpu' } as const, new ServerError('UNAVAILABLE', 'not now')],
    ['it does not say what it runs on', null, new ServerError('UNAVAILABLE', 'not now')],
  ])('is given up after five attempts all the same where %s', async (_what, report, error) => {
    const rig = await onCard(report)
    rig.backend.failingStarts = 9
    rig.backend.refusal = error
    rig.backend.deaths[0]?.(error)
    expect(await waits(rig, 5)).toEqual([1, 2, 4, 8, 8])
    expect([rig.instance.state, rig.instance.report, rig.givenUp]).toEqual(['FAILED', report, [error.message]])
  })
})

describe('a death', () => {
  it('ends the batch that runs, though the backend never comes back from it', async () => {
    const { clock, backend, pool, instance } = await setUp()
    backend.execute = () => new Promise(() => {})
    const { payload, outcomes } = payloadOf('a', 'b')
    pool.offer(payload)
    backend.deaths[0]?.(new Error('segment lost'))
    await settle()
    expect([...outcomes.values()]).toMatchObject([{ error: { message: 'segment lost' } }, { error: { message: 'segment lost' } }])
    const next = payloadOf('c')
    pool.offer(next.payload)
    backend.execute = async (requests) => { requests[0]?.respond([]); return times }
    clock.advance(1 * SECOND)
    await settle()
    expect(instance.state).toBe('READY')
    expect(next.outcomes.get('c')).toMatchObject({ kind: 'response' })
  })

  it('during the warm-up fails the start and leaves nothing behind', async () => {
    const { clock, backend, instance } = await setUp({
      starts: false, warmUp: async (self) => {
        const { payload, outcomes } = payloadOf('w')
        const run = self.run(payload)
        backend.deaths[0]?.(new Error('died while warm'))
        await run
        const outcome = outcomes.get('w')
        if (outcome?.kind === 'failure') throw outcome.error
      },
    })
    backend.execute = () => new Promise(() => {})
    await expect(instance.start()).rejects.toThrow('died while warm')
    await instance.stop()
    clock.advance(100 * SECOND)
    expect([backend.starts, backend.finalized]).toEqual([1, 1])
  })

  it('after the last sample of the warm-up fails the start too', async () => {
    const { backend, instance } = await setUp({ starts: false, warmUp: async () => { backend.deaths[0]?.(new Error('died at the end')) } })
    await expect(instance.start()).rejects.toThrow('died at the end')
    expect([instance.state, backend.finalized]).toEqual(['STARTING', 1])
  })

  it('of the one that replaces it, while that is warmed up, counts as a failed restart', async () => {
    let isMortal = false
    const { clock, backend, pool, instance } = await setUp({ warmUp: async () => { if (isMortal) backend.deaths.at(-1)?.(new Error('again')) } })
    isMortal = true
    backend.deaths[0]?.(new Error('first'))
    clock.advance(1 * SECOND)
    await settle()
    expect(instance).toMatchObject({ state: 'RESTARTING', trouble: 'again' })
    expect(pool.instanceCount).toBe(0)
    isMortal = false
    clock.advance(2 * SECOND)
    await settle()
    expect(instance).toMatchObject({ state: 'READY', trouble: '' })
    expect([backend.starts, backend.finalized]).toEqual([3, 2])
  })

  it('leads to a new one that is warmed up before it takes requests', async () => {
    const warmed: (readonly [number, number])[] = []
    const { clock, backend, pool, instance } = await setUp({ starts: false, warmUp: async () => { warmed.push([backend.starts, pool.instanceCount]) } })
    await instance.start()
    instance.join()
    backend.deaths[0]?.(new Error('death'))
    clock.advance(1 * SECOND)
    await settle()
    expect(warmed).toEqual([[1, 0], [2, 0]])
    expect(pool.hasIdle).toBe(true)
  })

  it('while the instance stops ends what it waits for: the batch, and owed answers', async () => {
    const { backend, pool, instance } = await setUp()
    backend.execute = () => new Promise(() => {})
    const { payload, outcomes } = payloadOf('a')
    pool.offer(payload)
    const stopped = instance.stop()
    backend.deaths[0]?.(new Error('death'))
    await stopped
    expect(outcomes.get('a')).toMatchObject({ kind: 'failure', error: { message: 'death' } })
    expect([instance.state, backend.finalized]).toEqual(['STOPPED', 1])

    const owing = await setUp()
    owing.backend.execute = async () => times
    const open = payloadFrom(['b'], true)
    owing.pool.offer(open.payload)
    await settle()
    const stoppedToo = owing.instance.stop()
    await settle()
    owing.backend.deaths[0]?.(new Error('death'))
    await stoppedToo
    expect(open.outcomes.get('b')).toMatchObject({ kind: 'failure', error: { message: 'death' } })
  })

  it('gives the resources of the rate limiter back, and a stop gives the place back', async () => {
    const limiter = new RateLimiter()
    const { backend, pool, instance } = await setUp({ limiter })
    backend.execute = () => new Promise(() => {})
    pool.offer(payloadOf('a').payload)
    expect(limiter.inUse('R', 0)).toBe(1)
    backend.deaths[0]?.(new Error('death'))
    await settle()
    expect([limiter.inUse('R', 0), limiter.limitOf('R', 0)]).toEqual([0, 1])
    await instance.stop()
    expect(limiter.limitOf('R', 0)).toBe(0)
  })
})

describe('a stop', () => {
  it('waits for a start that goes on, and frees what comes of it', async () => {
    const { clock, backend, instance } = await setUp()
    const { promise, resolve } = Promise.withResolvers<void>()
    backend.gate = promise
    backend.deaths[0]?.(new Error('death'))
    clock.advance(1 * SECOND)
    await settle()
    let isStopped = false
    const stopped = instance.stop().then(() => { isStopped = true })
    await settle()
    expect([backend.starts, isStopped]).toEqual([2, false])
    resolve()
    await stopped
    expect([instance.state, backend.finalized]).toEqual(['STOPPED', 2])
  })

  it('does not mind a start that fails meanwhile', async () => {
    const { clock, backend, instance } = await setUp()
    const { promise, reject } = Promise.withResolvers<void>()
    backend.gate = promise
    backend.deaths[0]?.(new Error('death'))
    clock.advance(1 * SECOND)
    await settle()
    const stopped = instance.stop()
    reject(new Error('no memory'))
    await stopped
    clock.advance(100 * SECOND)
    await settle()
    expect([instance.state, backend.starts]).toEqual(['STOPPED', 2])
  })
})

describe('a passive instance', () => {
  it('is made, replaced and freed like others, and never takes anything', async () => {
    const { clock, backend, pool, instance } = await setUp({ isPassive: true, warmUp: async () => { throw new Error('a passive instance is not warmed up') } })
    expect([instance.state, pool.instanceCount]).toEqual(['READY', 0])
    backend.deaths[0]?.(new Error('death'))
    clock.advance(1 * SECOND)
    await settle()
    expect([instance.state, pool.instanceCount, backend.starts]).toEqual(['READY', 0, 2])
    await instance.stop()
    expect(backend.finalized).toBe(2)
  })
})

describe('a batch', () => {
  it('answers what the backend left open with its error, and keeps answers given before', async () => {
    const { backend, pool, statistics } = await setUp()
    backend.execute = async (requests) => {
      requests[0]!.respond([])
      requests[1]!.fail(new Error('bad pixels'))
      throw new Error('out of memory')
    }
    const { payload, outcomes } = payloadOf('a', 'b', 'c')
    pool.offer(payload)
    await settle()
    expect([...outcomes].map(([id, outcome]) => [id, outcome.kind === 'failure' ? outcome.error.message : outcome.kind])).toEqual([
      ['a', 'response'], ['b', 'bad pixels'], ['c', 'out of memory'],
    ])
    expect(statistics.entry().execution_count).toBe(0)
  })

  it('fails a request that the backend forgot', async () => {
    const { backend, pool } = await setUp()
    backend.execute = async () => times
    const { payload, outcomes } = payloadOf('a')
    pool.offer(payload)
    await settle()
    expect(outcomes.get('a')).toMatchObject({ kind: 'failure', reason: 'BACKEND', error: { message: 'the backend finished the batch without answering this request' } })
  })
})

describe('an instance of a decoupled model', () => {
  it('fails what it still owes an answer when it dies', async () => {
    const { backend, pool } = await setUp()
    backend.execute = async (requests) => {
      requests[0]?.complete()
      return times
    }
    const { payload, outcomes } = payloadFrom(['done', 'owed'], true)
    pool.offer(payload)
    await settle()
    expect([...outcomes.keys()]).toEqual(['done'])
    backend.deaths[0]?.(new Error('death'))
    expect(outcomes.get('owed')).toMatchObject({ kind: 'failure', error: { message: 'death' } })
  })

  it('stops after its last answer', async () => {
    const { backend, pool, instance } = await setUp()
    let answerLater = () => {}
    backend.execute = async (requests) => {
      answerLater = () => { requests[0]?.complete() }
      return times
    }
    const { payload, outcomes } = payloadFrom(['a'], true)
    pool.offer(payload)
    await settle()
    let isStopped = false
    const stopped = instance.stop().then(() => { isStopped = true })
    await settle()
    expect(isStopped).toBe(false)
    answerLater()
    await stopped
    expect(outcomes.get('a')).toMatchObject({ kind: 'response', outputs: null })
  })
})

it('keeps its place and answers the others when the receiver of one answer throws', async () => {
  const { pool } = await setUp()
  const { payload, outcomes } = payloadOf('good')
  payload.requests.unshift(new InflightRequest({
    id: 'bad', inputs: [], requestedOutputs: [], parameters: {}, batchSize: 1, requestStart: 0, queueStart: 0, timeoutMicroseconds: 0,
    onSettled: () => { throw new Error('no memory for a copy') },
  }))
  pool.offer(payload)
  await settle()
  expect(outcomes.get('good')).toMatchObject({ kind: 'response' })
  expect(pool.hasIdle).toBe(true)
})
