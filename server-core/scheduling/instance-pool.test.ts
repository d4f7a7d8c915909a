import { describe, expect, it } from 'vitest'
import { collectGarbage } from '../testing/collect-garbage.ts'
import { InstancePool, type PayloadRunner } from './instance-pool.ts'
import { Payload } from './payload.ts'

function runner() {
  const taken: Payload[] = []
  const ends: (() => void)[] = []
  const self: PayloadRunner = {
    run(payload) {
      taken.push(payload)
      return new Promise((resolve) => { ends.push(resolve) })
    },
  }
  return { self, taken, finish: async () => { ends.shift()?.(); await Promise.resolve(); await Promise.resolve() } }
}

describe('InstancePool', () => {
  it('keeps a bound payload for its runner and gives it that before what anyone may take', async () => {
    const pool = new InstancePool()
    const [a, b] = [runner(), runner()]
    pool.add(a.self)
    pool.add(b.self)
    const first = new Payload(a.self)
    const second = new Payload(a.self)
    const free = [new Payload(), new Payload()]
    pool.offer(first)
    pool.offer(second)
    expect(pool.boundCount(a.self)).toBe(1)
    pool.offer(free[0]!)
    pool.offer(free[1]!)
    expect([a.taken, b.taken]).toEqual([[first], [free[0]]])
    await a.finish()
    expect(a.taken).toEqual([first, second])
    await a.finish()
    expect(a.taken).toEqual([first, second, free[1]])
  })

  it('tells when a payload was executed, before its runner takes the next one', async () => {
    const pool = new InstancePool()
    const a = runner()
    pool.add(a.self)
    const [first, second] = [new Payload(), new Payload()]
    const order: string[] = []
    first.onExecuted = () => { order.push(`first is over, ${a.taken.length} taken`) }
    pool.offer(first)
    pool.offer(second)
    expect(order).toEqual([])
    await a.finish()
    expect(order).toEqual(['first is over, 1 taken'])
    expect(a.taken).toEqual([first, second])
  })

  it('keeps none of those that were given up while an instance hangs, and the others in order', async () => {
    const pool = new InstancePool()
    const a = runner()
    pool.add(a.self)
    pool.offer(new Payload())
    const wanted: Payload[] = []
    const givenUp = Array.from({ length: 1000 }, () => {
      const [stays, goes] = [new Payload(), new Payload()]
      if (wanted.length < 3) {
        wanted.push(stays)
        pool.offer(stays)
      }
      pool.offer(goes)
      pool.discard(goes)
      return new WeakRef(goes)
    })
    await collectGarbage()
    expect(givenUp.filter((payload) => payload.deref() !== undefined).length).toBeLessThanOrEqual(64)
    expect(pool.readyCount).toBe(3)
    for (let ends = 0; ends < 4; ends++) await a.finish()
    expect(a.taken.slice(1)).toEqual(wanted)
    expect(pool.readyCount).toBe(0)
  })

  it('hands back what was bound to a runner that leaves', () => {
    const pool = new InstancePool()
    const a = runner()
    const changes: unknown[] = []
    pool.onMembership = (change) => { changes.push(change) }
    pool.add(a.self)
    pool.offer(new Payload(a.self))
    const waiting = new Payload(a.self)
    pool.offer(waiting)
    pool.remove(a.self)
    pool.remove(a.self)
    expect(changes).toEqual([{ added: a.self }, { removed: a.self, orphans: [waiting] }])
    expect(() => { pool.offer(new Payload(a.self)) }).toThrow('bound to an instance that is not in the pool')
  })

  it('runs one after another what ends at once, however many wait', async () => {
    const pool = new InstancePool()
    const taken: Payload[] = []
    const payloads = Array.from({ length: 20_000 }, () => new Payload())
    for (const payload of payloads) pool.offer(payload)
    const { promise: last, resolve } = Promise.withResolvers<void>()
    pool.add({
      run(payload) {
        taken.push(payload)
        if (taken.length === payloads.length) resolve()
        return null
      },
    })
    await last
    expect(taken.every((payload, index) => payload === payloads[index])).toBe(true)
    expect(pool.readyCount).toBe(0)
  })

  it('has a runner that ended at once take the next payload at once', () => {
    const pool = new InstancePool()
    let count = 0
    pool.add({ run() { count++; return null } })
    pool.offer(new Payload())
    expect([count, pool.hasIdle]).toEqual([1, true])
    pool.offer(new Payload())
    expect(count).toBe(2)
  })

  it('keeps what is offered by the end of a payload for after it', async () => {
    const pool = new InstancePool()
    const log: string[] = []
    const [first, second] = [new Payload(), new Payload()]
    pool.add({
      run(payload) {
        log.push(payload === first ? 'first begins' : 'second begins')
        if (payload === first) pool.offer(second)
        log.push(payload === first ? 'first ends' : 'second ends')
        return null
      },
    })
    pool.offer(first)
    await Promise.resolve()
    expect(log).toEqual(['first begins', 'first ends', 'second begins', 'second ends'])
    expect(pool.hasIdle).toBe(true)
  })
})
