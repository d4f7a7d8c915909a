import { describe, expect, it } from 'vitest'
import { InstancePool, type PayloadRunner } from './instance-pool.ts'
import { Payload } from './payload.ts'
import { RateLimiter, type Admission, type RateLimitDemand } from './rate-limiter.ts'

interface DemandSpec { readonly local?: Readonly<Record<string, number>>; readonly global?: Readonly<Record<string, number>>; readonly priority?: number; readonly device?: number }

function demandOf({ local = {}, global = {}, priority = 0, device = 0 }: DemandSpec): RateLimitDemand {
  const resources = [
    ...Object.entries(local).map(([name, count]) => ({ name, count, global: false })), ...Object.entries(global).map(([name, count]) => ({ name, count, global: true })),
  ]
  return { resources, priority, device }
}

/** A runner whose executions end when the test says so. */
class ManualRunner implements PayloadRunner {
  readonly admission: Admission
  readonly taken: Payload[] = []
  readonly demand: RateLimitDemand
  readonly #limiter: RateLimiter
  #end: (() => void) | null = null

  constructor(limiter: RateLimiter, spec: DemandSpec) {
    this.#limiter = limiter
    this.demand = demandOf(spec)
    this.admission = limiter.register(this.demand)
  }

  get isBusy(): boolean { return this.#end !== null }

  run(payload: Payload): Promise<void> {
    if (this.#end !== null) throw new Error('two executions at a time')
    for (const { name, global } of this.demand.resources) {
      const device = global ? 'global' : this.demand.device
      if (this.#limiter.inUse(name, device) > this.#limiter.limitOf(name, device)) throw new Error(`more of '${name}' is in use than there is`)
    }
    this.taken.push(payload)
    return new Promise((resolve) => { this.#end = () => { this.#end = null; resolve() } })
  }

  async finish(): Promise<void> {
    this.#end?.()
    for (let turn = 0; turn < 3; turn++) await Promise.resolve()
  }
}

function poolOf(limiter: RateLimiter, ...runners: readonly ManualRunner[]): InstancePool {
  const pool = new InstancePool(limiter)
  for (const runner of runners) pool.add(runner)
  return pool
}

function offer(pool: InstancePool, count: number, runner: PayloadRunner | null = null): void {
  for (let index = 0; index < count; index++) pool.offer(new Payload(runner))
}

describe('the pools of the rate limiter', () => {
  it.each<[string, Parameters<typeof limitOf>[0], DemandSpec[], number]>([
    ['the largest demand of the instances', [], [{ local: { R: 2 } }, { local: { R: 5 } }, { local: { R: 3 } }], 5],
    ['what the command line says for all devices', [{ name: 'R', count: 9, device: null }], [{ local: { R: 2 } }], 9],
    ['what it says for the device, before that for all', [{ name: 'R', count: 7, device: 0 }, { name: 'R', count: 9, device: null }], [{ local: { R: 2 } }], 7],
    ['the largest demand where it speaks of another device', [{ name: 'R', count: 9, device: 1 }], [{ local: { R: 2 } }], 2],
    ['the largest demand where it speaks of another resource', [{ name: 'Q', count: 9, device: null }], [{ local: { R: 2 } }], 2],
  ])('hold %s', (_name, given, specs, expected) => {
    expect(limitOf(given, specs)).toBe(expected)
  })

  function limitOf(given: readonly { name: string; count: number; device: number | null }[], specs: readonly DemandSpec[]): number {
    const limiter = new RateLimiter(given)
    for (const spec of specs) limiter.register(demandOf(spec))
    return limiter.limitOf('R', 0)
  }

  it('are one a device, and one for the server where the resource is global, whatever device is named', () => {
    const limiter = new RateLimiter([{ name: 'G', count: 4, device: 1 }])
    for (const device of [0, 1]) limiter.register(demandOf({ local: { R: device + 1 }, global: { G: 1 }, device }))
    expect([limiter.limitOf('R', 0), limiter.limitOf('R', 1), limiter.limitOf('G', 'global')]).toEqual([1, 2, 4])
  })

  it('shrink when an instance goes, and never below what runs', () => {
    const limiter = new RateLimiter()
    const [small, large] = [new ManualRunner(limiter, { local: { R: 1 } }), new ManualRunner(limiter, { local: { R: 4 } })]
    poolOf(limiter, small)
    expect(limiter.limitOf('R', 0)).toBe(4)
    large.admission.close()
    expect(limiter.limitOf('R', 0)).toBe(1)
    small.admission.close()
    expect(limiter.limitOf('R', 0)).toBe(0)
  })

  it('refuse an instance that could never run', () => {
    const limiter = new RateLimiter([{ name: 'R', count: 3, device: null }])
    expect(() => limiter.register(demandOf({ local: { R: 4 } }))).toThrow(expect.objectContaining({
      kind: 'INVALID_ARG', message: 'Resource count for "R" is limited to 3 which will prevent scheduling of one or more model instances, the minimum required count is 4',
    }) as Error)
    expect(limiter.limitOf('R', 0)).toBe(0)
  })

  it.each<[string, DemandSpec[]]>([
    ['in one instance', [{ local: { R: 1 }, global: { R: 1 } }]],
    ['across models', [{ local: { R: 1 } }, { global: { R: 1 }, device: 1 }]],
  ])('refuse a resource that is both global and of a device: %s', (_name, specs) => {
    const limiter = new RateLimiter()
    expect(() => { for (const spec of specs) limiter.register(demandOf(spec)) }).toThrow(expect.objectContaining({
      kind: 'INVALID_ARG', message: 'Resource "R" is present as both global and device-specific resource in the model configuration.',
    }) as Error)
  })
})

describe('an instance under the rate limiter', () => {
  it('holds its resources for the execution, across models', async () => {
    const limiter = new RateLimiter()
    const [a, b] = [new ManualRunner(limiter, { local: { R: 2 } }), new ManualRunner(limiter, { local: { R: 1 } })]
    const pools = [poolOf(limiter, a), poolOf(limiter, b)]
    offer(pools[0]!, 1)
    offer(pools[1]!, 1)
    expect([a.isBusy, b.isBusy, limiter.inUse('R', 0)]).toEqual([true, false, 2])
    await a.finish()
    expect([a.isBusy, b.isBusy, limiter.inUse('R', 0)]).toEqual([false, true, 1])
  })

  it('is not overtaken for what it waits for, while others go on', async () => {
    const limiter = new RateLimiter([{ name: 'R', count: 2, device: null }])
    const [first, both, one, other] = [{ R: 1 }, { R: 2 }, { R: 1 }, { S: 1 }].map((local) => new ManualRunner(limiter, { local })) as [ManualRunner, ManualRunner, ManualRunner, ManualRunner]
    for (const runner of [first, both, one, other]) offer(poolOf(limiter, runner), 1)
    expect([first, both, one, other].map((runner) => runner.isBusy)).toEqual([true, false, false, true])
    await first.finish()
    expect([both.isBusy, one.isBusy]).toEqual([true, false])
    await both.finish()
    expect(one.isBusy).toBe(true)
  })

  it('lets a payload grow until it is admitted, and tells the scheduler when it was taken', async () => {
    const limiter = new RateLimiter()
    const [blocker, runner] = [new ManualRunner(limiter, { local: { R: 1 } }), new ManualRunner(limiter, { local: { R: 1 } })]
    offer(poolOf(limiter, blocker), 1)
    const pool = poolOf(limiter, runner)
    const payload = new Payload()
    pool.offer(payload)
    expect([payload.isTaken, pool.hasIdle, pool.readyCount]).toEqual([false, false, 1])
    let told = 0
    pool.onCapacity = () => { told++ }
    await blocker.finish()
    expect([payload.isTaken, told]).toEqual([true, 1])
  })

  it('runs as soon as a larger demand makes the pool larger', () => {
    const limiter = new RateLimiter()
    const [running, waiting] = [new ManualRunner(limiter, { local: { R: 1 } }), new ManualRunner(limiter, { local: { R: 1 } })]
    for (const runner of [running, waiting]) offer(poolOf(limiter, runner), 1)
    expect(waiting.isBusy).toBe(false)
    limiter.register(demandOf({ local: { R: 2 } }))
    expect(waiting.isBusy).toBe(true)
  })

  it('gives way when it leaves, whether it waits or runs', async () => {
    const limiter = new RateLimiter([{ name: 'R', count: 2, device: null }])
    const [running, waiting, small] = [{ R: 1 }, { R: 2 }, { R: 1 }].map((local) => new ManualRunner(limiter, { local })) as [ManualRunner, ManualRunner, ManualRunner]
    const pools = [running, waiting, small].map((runner) => poolOf(limiter, runner))
    for (const pool of pools) offer(pool, 1)
    expect(small.isBusy).toBe(false)
    pools[1]!.remove(waiting)
    expect(small.isBusy).toBe(true)
    pools[0]!.remove(running)
    expect(limiter.inUse('R', 0)).toBe(2)
    await running.finish()
    expect(limiter.inUse('R', 0)).toBe(1)
  })

  it('does not wait for resources when what it was to run is taken back', () => {
    const limiter = new RateLimiter()
    const [blocker, runner] = [new ManualRunner(limiter, { local: { R: 1 } }), new ManualRunner(limiter, { local: { R: 1 } })]
    offer(poolOf(limiter, blocker), 1)
    const pool = poolOf(limiter, runner)
    offer(pool, 2)
    offer(pool, 1, runner)
    expect(limiter.waitingCount).toBe(1)
    expect(pool.takeReady()).toHaveLength(3)
    expect(limiter.waitingCount).toBe(0)
  })

  it('runs what is bound to it before what anyone may take, and hands that back when it leaves', async () => {
    const limiter = new RateLimiter()
    const [a, b] = [new ManualRunner(limiter, { local: { R: 1 } }), new ManualRunner(limiter, { local: { R: 1 } })]
    const pool = poolOf(limiter, a, b)
    const orphans: Payload[] = []
    pool.onMembership = (change) => { if ('removed' in change) orphans.push(...change.orphans) }
    const bound = [new Payload(b), new Payload(b)]
    pool.offer(new Payload())
    for (const payload of bound) pool.offer(payload)
    expect([a.taken.length, b.taken.length]).toEqual([1, 0])
    await a.finish()
    expect(b.taken).toEqual([bound[0]])
    pool.remove(b)
    expect(orphans).toEqual([bound[1]])
    await b.finish()
    expect([limiter.waitingCount, limiter.inUse('R', 0)]).toEqual([0, 0])
  })
})

describe('the order of the rate limiter', () => {
  /** Runs one after another, each with more work than it can do; how often each ran. */
  async function race(specs: readonly DemandSpec[], turns: number, given: ConstructorParameters<typeof RateLimiter>[0] = []) {
    const limiter = new RateLimiter(given)
    const runners = specs.map((spec) => new ManualRunner(limiter, spec))
    for (const runner of runners) offer(poolOf(limiter, runner), turns)
    for (let turn = 0; turn < turns; turn++) await runners.find((runner) => runner.isBusy)?.finish()
    return runners.map((runner) => runner.taken.length)
  }

  it.each<[string, (number | undefined)[], number[]]>([
    ['equal priorities alternate', [1, 1], [151, 150]],
    ['priority 0 and none count as 1', [0, undefined, 1], [101, 100, 100]],
    ['priority 2 gets half the chances', [1, 2], [201, 100]],
    ['1 : 2 : 3', [1, 2, 3], [164, 82, 55]],
  ])('%s', async (_name, priorities, expected) => {
    const counts = await race(priorities.map((priority) => ({ local: { R: 1 }, ...(priority === undefined ? {} : { priority }) })), 300)
    counts.forEach((count, index) => { expect(Math.abs(count - expected[index]!)).toBeLessThanOrEqual(1) })
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(301)
  })

  it('does not starve the one that needs everything', async () => {
    const counts = await race([{ local: { R: 1 } }, { local: { R: 1 } }, { local: { R: 4 } }], 300, [{ name: 'R', count: 4, device: null }])
    expect(counts[2]).toBeGreaterThanOrEqual(98)
  })

  it('gives the next payload of a model to its least used instance', async () => {
    const limiter = new RateLimiter()
    const [a, b] = [new ManualRunner(limiter, { priority: 1 }), new ManualRunner(limiter, { priority: 3 })]
    const pool = poolOf(limiter, a, b)
    for (let turn = 0; turn < 40; turn++) {
      offer(pool, 1)
      await a.finish()
      await b.finish()
    }
    expect([a.taken.length, b.taken.length]).toEqual([30, 10])
  })

  it('puts one that was idle, or is new, beside the others instead of letting it catch up', async () => {
    const limiter = new RateLimiter()
    const [steady, late] = [new ManualRunner(limiter, { local: { R: 1 } }), new ManualRunner(limiter, { local: { R: 1 } })]
    offer(poolOf(limiter, steady), 200)
    for (let turn = 0; turn < 100; turn++) await steady.finish()
    offer(poolOf(limiter, late), 100)
    for (let turn = 0; turn < 20; turn++) await [steady, late].find((runner) => runner.isBusy)?.finish()
    expect(late.taken.length).toBeGreaterThanOrEqual(9)
    expect(late.taken.length).toBeLessThanOrEqual(11)
  })
})

/** mulberry32 */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * below)
  }
}

describe('random models, resources and ends', () => {
  it.each(Array.from({ length: 200 }, (_unused, seed) => [seed + 1]))('never take more than there is, and forget nobody (seed %i)', async (seed) => {
    const random = randomOf(seed)
    const names = ['R', 'S', 'T']
    const limiter = new RateLimiter(random(2) === 0 ? [] : [{ name: 'R', count: 3 + random(3), device: null }])
    const spec = (): DemandSpec => {
      const local: Record<string, number> = {}
      for (const name of names.slice(0, 2)) if (random(2) === 0) local[name] = random(4)
      return { local, global: random(3) === 0 ? { T: 1 + random(3) } : {}, priority: random(4), device: random(2) }
    }
    const models = Array.from({ length: 1 + random(4) }, () => {
      const pool = new InstancePool(limiter)
      return { pool, runners: [] as ManualRunner[], gone: [] as ManualRunner[], offered: 0 }
    })
    const join = (model: typeof models[number]) => {
      const runner = new ManualRunner(limiter, spec())
      model.runners.push(runner)
      model.pool.add(runner)
    }
    for (const model of models) for (let count = 1 + random(3); count > 0; count--) join(model)
    const everyone = () => models.flatMap((model) => [...model.runners, ...model.gone])

    const check = () => {
      const held = new Map<string, number>()
      for (const { demand } of everyone().filter((runner) => runner.isBusy)) {
        for (const { name, global, count } of demand.resources) {
          const key = `${global ? 'global' : demand.device}/${name}`
          held.set(key, (held.get(key) ?? 0) + count)
        }
      }
      const free = (name: string, device: number | 'global') => limiter.limitOf(name, device) - (held.get(`${device}/${name}`) ?? 0)
      const devices = [0, 1, 'global'] as const
      for (const name of names) {
        for (const device of devices) {
          const taken = limiter.inUse(name, device)
          if (taken !== (held.get(`${device}/${name}`) ?? 0)) throw new Error(`${taken} of '${name}' is in use, those who run hold something else`)
        }
      }
      // Who fits and yet waits is behind one that does not fit, or behind one that is behind such a one.
      const idle = models.flatMap(({ pool, runners }) => runners.filter((runner) => pool.isIdle(runner) && pool.readyCount + pool.boundCount(runner) > 0))
      const fits = ({ demand }: ManualRunner) => demand.resources.every(({ name, global, count }) => count <= free(name, global ? 'global' : demand.device))
      const keysOf = ({ demand }: ManualRunner) => demand.resources.map(({ name, global }) => `${global ? 'global' : demand.device}/${name}`)
      const blocked = new Set(idle.filter((runner) => !fits(runner)))
      const claimed = new Set([...blocked].flatMap(keysOf))
      for (let before = -1; before < blocked.size;) {
        before = blocked.size
        for (const runner of idle) {
          if (blocked.has(runner) || !keysOf(runner).some((key) => claimed.has(key))) continue
          blocked.add(runner)
          for (const key of keysOf(runner)) claimed.add(key)
        }
      }
      if (idle.some((runner) => !blocked.has(runner))) throw new Error('a free instance waits without a reason')
    }

    for (let step = 0; step < 150; step++) {
      const model = models[random(models.length)]!
      const action = random(20)
      if (action < 8) {
        const bound = random(4) === 0 ? model.runners[random(model.runners.length)] ?? null : null
        offer(model.pool, 1, bound)
        model.offered++
      } else if (action < 17) {
        const busy = everyone().filter((runner) => runner.isBusy)
        const runner = busy[random(busy.length)]
        await runner?.finish()
        if (models.some(({ gone }) => runner !== undefined && gone.includes(runner))) runner?.admission.close()
      } else if (action === 17 && model.runners.length > 1) {
        const [runner] = model.runners.splice(random(model.runners.length), 1)
        const orphans: Payload[] = []
        model.pool.onMembership = (change) => { if ('removed' in change) orphans.push(...change.orphans) }
        model.pool.remove(runner!)
        model.gone.push(runner!)
        if (!runner!.isBusy) runner!.admission.close()
        offer(model.pool, orphans.length)
      } else if (action === 18) join(model)
      check()
    }
    for (let rounds = 0; everyone().some((runner) => runner.isBusy); rounds++) {
      if (rounds > 10_000) throw new Error('it does not end')
      for (const runner of everyone()) {
        await runner.finish()
        if (models.some(({ gone }) => gone.includes(runner))) runner.admission.close()
        check()
      }
    }
    for (const { runners, gone, offered } of models) {
      const taken = [...runners, ...gone].flatMap((runner) => runner.taken)
      expect([taken.length, new Set(taken).size]).toEqual([offered, offered])
    }
    expect(limiter.waitingCount).toBe(0)
  })
})
