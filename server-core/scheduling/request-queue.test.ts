import { describe, expect, it } from 'vitest'
import { randomNumbers } from '../testing/random-numbers.ts'
import { InflightRequest } from './inflight-request.ts'
import { LevelOrder } from './level-order.ts'
import { policyOf, QueueLevel, type QueueLevels } from './queue-level.ts'
import { RequestQueue } from './request-queue.ts'

const LEVELS: QueueLevels = { count: 18446744073709551615n, defaultLevel: 1n }

function request(id: string, priority = 0n): InflightRequest {
  return new InflightRequest({
    id, inputs: [], requestedOutputs: [], parameters: {}, batchSize: 1, requestStart: 0, queueStart: 0, timeoutMicroseconds: 0, priority, onSettled: () => {},
  })
}

function inOrder(queue: RequestQueue): string[] {
  const ids: string[] = []
  for (let next = queue.first; next !== null; next = queue.after(next)) ids.push(next.id)
  return ids
}

describe('RequestQueue', () => {
  it('keeps the order of service through random arrivals and departures on any level', () => {
    const random = randomNumbers(7)
    const queue = new RequestQueue(LEVELS)
    const waiting: { readonly request: InflightRequest; readonly level: bigint; readonly arrival: number }[] = []
    for (let step = 0; step < 5000; step++) {
      if (random(3) > 0) {
        const level = BigInt(1 + random(100)) ** BigInt(1 + random(9))
        const made = request(`r${step}`, level)
        queue.append(made)
        waiting.push({ request: made, level, arrival: step })
      } else {
        const [gone] = waiting.splice(random(waiting.length), 1)
        if (gone !== undefined) queue.remove(gone.request)
      }
    }
    waiting.sort((a, b) => (a.level === b.level ? a.arrival - b.arrival : a.level < b.level ? -1 : 1))
    expect(inOrder(queue)).toEqual(waiting.map(({ request: { id } }) => id))
    expect(queue.size).toBe(waiting.length)
    expect(queue.takeAll().map(({ id }) => id)).toEqual(waiting.map(({ request: { id } }) => id))
    expect(queue.first).toBeNull()
  })

  it('voids a scan when something comes before its end, and only then', () => {
    const queue = new RequestQueue(LEVELS)
    const scanned = request('scanned', 5n)
    queue.append(scanned)
    queue.markScanned(scanned)
    const generation = queue.scanGeneration
    queue.append(request('later', 6n))
    queue.append(request('behind', 5n))
    expect(queue.scanGeneration).toBe(generation)
    queue.append(request('urgent', 4n))
    expect(queue.scanGeneration).toBeGreaterThan(generation)
  })
})

it('LevelOrder holds levels in order, however they come and go', () => {
  const random = randomNumbers(3)
  const order = new LevelOrder()
  const held = new Map<bigint, QueueLevel>()
  for (let step = 0; step < 4000; step++) {
    const number = BigInt(random(300)) * 0x100000000n
    const known = held.get(number)
    if (known === undefined) {
      const level = new QueueLevel(number, policyOf(LEVELS, number))
      order.add(level)
      held.set(number, level)
    } else {
      order.remove(known)
      held.delete(number)
    }
  }
  const numbers: bigint[] = []
  for (let level = order.first; level !== null; level = order.after(level)) numbers.push(level.number)
  expect(numbers).toEqual([...held.keys()].sort((a, b) => (a < b ? -1 : 1)))
})
