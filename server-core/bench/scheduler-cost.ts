/** What the dynamic batcher costs by itself: no model, no protocol, processor time of this thread only, so that neighbours do not count. */
import type { ModelQueuePolicy } from '../contract/model-config.ts'
import { systemClock } from '../clock.ts'
import { DynamicBatchScheduler } from '../scheduling/dynamic-batch-scheduler.ts'
import { InflightRequest } from '../scheduling/inflight-request.ts'
import { InstancePool, type PayloadRunner } from '../scheduling/instance-pool.ts'
import type { Payload } from '../scheduling/payload.ts'
import type { QueueLevels } from '../scheduling/queue-level.ts'
import { RequestQueue } from '../scheduling/request-queue.ts'
import { randomNumbers } from '../testing/random-numbers.ts'

const BATCH_SIZE = 8
const OUTSTANDING = 64
const REQUESTS = 160_000
const ROUNDS = 3
const FEW = 100
const MANY = 100_000
const STEPS = 200_000

export interface SchedulerCost {
  /** Microseconds from the construction of a request to its answer, in batches of 8. */
  readonly microsecondsPerRequest: number
  readonly meanBatchSize: number
  /** Nanoseconds to enter and leave the queue, by kind of queue, with few and with many requests waiting. */
  readonly queues: readonly { readonly name: string; readonly few: number; readonly many: number }[]
}

export async function schedulerCost(): Promise<SchedulerCost> {
  const rounds: { microseconds: number; meanBatchSize: number }[] = []
  for (let round = 0; round < ROUNDS; round++) rounds.push(await batchingRound())
  const policy: ModelQueuePolicy = { timeout_action: 'REJECT', default_timeout_microseconds: 1e9, allow_timeout_override: true, max_queue_size: 0 }
  const kinds: readonly [string, QueueLevels, 'first' | 'any'][] = [
    ['first come first served', { count: 0n, defaultLevel: 0n }, 'first'],
    ['cancelled anywhere', { count: 0n, defaultLevel: 0n }, 'any'],
    ['with timeouts of their own', { count: 0n, defaultLevel: 0n, defaultPolicy: policy }, 'first'],
    ['on 1,000 of 2^64 - 1 levels', { count: 0xffff_ffff_ffff_ffffn, defaultLevel: 1n }, 'first'],
  ]
  return {
    microsecondsPerRequest: median(rounds.map((round) => round.microseconds)),
    meanBatchSize: median(rounds.map((round) => round.meanBatchSize)),
    queues: kinds.map(([name, levels, leaving]) => ({
      name,
      few: median(Array.from({ length: ROUNDS }, () => queueNanoseconds(levels, leaving, FEW))),
      many: median(Array.from({ length: ROUNDS }, () => queueNanoseconds(levels, leaving, MANY))),
    })),
  }
}

/** A closed loop: every answered request makes room for the next one; the instance is done at once. */
async function batchingRound(): Promise<{ microseconds: number; meanBatchSize: number }> {
  const pool = new InstancePool()
  const scheduler = new DynamicBatchScheduler({
    maxBatchSize: BATCH_SIZE, preferredBatchSizes: [BATCH_SIZE], queueDelayMicroseconds: 100, shapeRule: null,
  }, pool, systemClock)
  let sent = 0
  let answered = 0
  let batches = 0
  const done = Promise.withResolvers<null>()
  const send = () => {
    sent++
    const now = systemClock.now()
    scheduler.enqueue(new InflightRequest({
      id: '', inputs: [], requestedOutputs: [], parameters: {}, batchSize: 1, requestStart: now, queueStart: now, timeoutMicroseconds: 0,
      onSettled: () => {
        answered++
        if (sent < REQUESTS) send()
        else if (answered === REQUESTS) done.resolve(null)
      },
    }))
  }
  const times = { executeStart: 0, computeStart: 0, computeEnd: 0, executeEnd: 0 }
  const instance: PayloadRunner = {
    async run({ requests, batchSize }: Payload) {
      batches++
      for (const request of requests) request.markExecuting()
      await Promise.resolve()
      for (const request of requests) {
        request.respond([])
        request.settleExecution(times, batchSize, null)
      }
    },
  }
  pool.add(instance)
  const started = process.threadCpuUsage()
  for (let index = 0; index < OUTSTANDING; index++) send()
  await done.promise
  return { microseconds: microsecondsSince(started) / REQUESTS, meanBatchSize: REQUESTS / batches }
}

/** Each step one request leaves and enters again at the end, so `count` always wait. */
function queueNanoseconds(levels: QueueLevels, leaving: 'first' | 'any', count: number): number {
  const random = randomNumbers(1)
  const queue = new RequestQueue(levels)
  const requests = Array.from({ length: count }, (_unused, index) => new InflightRequest({
    id: '', inputs: [], requestedOutputs: [], parameters: {}, batchSize: 1, requestStart: 0, queueStart: index, timeoutMicroseconds: 1 + random(1e8),
    priority: BigInt(1 + random(Math.min(count, 1000))) * 0x1_0000_0000n, onSettled: () => {},
  }))
  for (const request of requests) queue.append(request)
  const places = Array.from({ length: STEPS }, () => random(count))
  const started = process.threadCpuUsage()
  for (const place of places) {
    const request = leaving === 'first' ? queue.first : requests[place]
    if (request === null || request === undefined) throw new Error('the queue is empty')
    queue.remove(request)
    queue.append(request)
  }
  return microsecondsSince(started) * 1000 / STEPS
}

function microsecondsSince(started: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(started)
  return user + system
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN
}
