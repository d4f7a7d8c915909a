import { describe, expect, it } from 'vitest'
import { DefaultScheduler } from './default-scheduler.ts'
import { InflightRequest } from './inflight-request.ts'
import { InstancePool, type PayloadRunner } from './instance-pool.ts'
import type { Payload } from './payload.ts'
import { type Admission, RateLimiter } from './rate-limiter.ts'

/** A model with one instance, whose executions end when the test says so. */
class OneInstance implements PayloadRunner {
  readonly admission: Admission | null
  readonly scheduler: DefaultScheduler
  readonly executed: string[] = []
  readonly ends: string[] = []
  onSettled: (id: string) => void = () => {}
  #end: (() => void) | null = null

  constructor(limiter: RateLimiter | null = null) {
    this.admission = limiter?.register({ resources: [{ name: 'R', global: true, count: 1 }], priority: 0, device: 0 }) ?? null
    const pool = new InstancePool(limiter)
    this.scheduler = new DefaultScheduler(pool)
    pool.add(this)
  }

  get isBusy(): boolean { return this.#end !== null }

  async run(payload: Payload): Promise<void> {
    this.executed.push(payload.requests.map(({ id }) => id).join())
    for (const request of payload.requests) request.markExecuting()
    await new Promise<void>((resolve) => { this.#end = resolve })
    for (const request of payload.requests) {
      request.respond([])
      request.settleExecution({ executeStart: 1, computeStart: 2, computeEnd: 3, executeEnd: 4 }, 1, null)
    }
  }

  async finish(): Promise<void> {
    this.#end?.()
    this.#end = null
    for (let turn = 0; turn < 8; turn++) await Promise.resolve()
  }

  ask(id: string): InflightRequest {
    const request = new InflightRequest({
      id, inputs: [], requestedOutputs: [], parameters: {}, batchSize: 1, requestStart: 0, queueStart: 0, timeoutMicroseconds: 0,
      onSettled: (outcome) => {
        this.ends.push(`${id} ${outcome.kind === 'failure' ? outcome.reason : 'ok'}`)
        this.onSettled(id)
      },
    })
    this.scheduler.enqueue(request)
    return request
  }
}

describe('a cancelled request of a model without a batcher', () => {
  it('is answered at once, leaves memory, and is passed over when it would be its turn', async () => {
    const model = new OneInstance()
    model.ask('a')
    const cancelled = model.ask('b')
    model.ask('c')
    const { payload } = cancelled
    model.scheduler.cancel(cancelled)
    expect([model.ends, payload?.requests]).toEqual([['b CANCELED'], []])
    await model.finish()
    await model.finish()
    expect(model.executed).toEqual(['a', 'c'])
    expect(model.ends).toEqual(['b CANCELED', 'a ok', 'c ok'])
  })

  it('takes no turn of the rate limiter from the requests behind it', async () => {
    const limiter = new RateLimiter()
    const [steady, model] = [new OneInstance(limiter), new OneInstance(limiter)]
    for (let request = 0; request < 100; request++) steady.ask(`${request}`)
    const cancelled = Array.from({ length: 50 }, (_unused, request) => model.ask(`gone ${request}`))
    model.ask('wanted')
    for (const request of cancelled) model.scheduler.cancel(request)
    for (let turn = 0; turn < 4; turn++) await [steady, model].find(({ isBusy }) => isBusy)?.finish()
    expect(model.executed).toEqual(['wanted'])
  })

  it('does not keep its instance waiting for resources', async () => {
    const limiter = new RateLimiter()
    const [blocker, model] = [new OneInstance(limiter), new OneInstance(limiter)]
    blocker.ask('blocker')
    const only = model.ask('only')
    expect(limiter.waitingCount).toBe(1)
    model.scheduler.cancel(only)
    expect(limiter.waitingCount).toBe(0)
    model.ask('next')
    await blocker.finish()
    await model.finish()
    expect(model.ends).toEqual(['only CANCELED', 'next ok'])
  })

  it('may be cancelled while all that waits is being answered', async () => {
    const model = new OneInstance()
    model.ask('a')
    const [first, second] = [model.ask('b'), model.ask('c')]
    model.onSettled = (id) => { if (id === 'b') model.scheduler.cancel(second) }
    model.scheduler.failWaiting(new Error('no instance left'))
    expect([first.isSettled, model.ends]).toEqual([true, ['b OTHER', 'c CANCELED']])
    await model.finish()
    model.ask('d')
    await model.finish()
    expect(model.executed).toEqual(['a', 'd'])
  })
})
