import type { Clock } from '../clock.ts'
import type { ModelQueuePolicy } from '../contract/model-config.ts'
import type { InflightRequest } from './inflight-request.ts'
import type { InstancePool } from './instance-pool.ts'
import { Payload } from './payload.ts'
import { cancelWaiting, queueFullError, rejectExpired, stoppingError } from './refusals.ts'
import { RequestQueue, restrictsQueue } from './request-queue.ts'
import type { Scheduler } from './scheduler.ts'
import type { ShapeRule } from './shape-rule.ts'

export interface DynamicBatchOptions {
  /** 0: the model has no batch dimension, every request runs alone. */
  readonly maxBatchSize: number
  readonly preferredBatchSizes: readonly number[]
  readonly queueDelayMicroseconds: number
  readonly queuePolicy?: ModelQueuePolicy
  readonly shapeRule: ShapeRule | null
}

/** How far the queue was looked through for the batch that is being formed. */
interface Scan {
  /** The payload the batch would join, or null for a new one. */
  readonly base: Payload | null
  readonly version: number
  last: InflightRequest | null
  count: number
  size: number
  shapeKey: string | null
  /** The best cut so far: a preferred size, or what fitted before the largest preferred size was exceeded. */
  candidateCount: number
  candidateSize: number
  isSaturated: boolean
  /** Nothing more can join. */
  isClosed: boolean
}

const LEVEL = 0

/**
 * Triton's dynamic batcher: one queue per model; batches ("payloads") go to the instance pool. Everything happens in the calls that can
 * change something (a request arrives, capacity appears, a timer fires), each of which looks only at requests not seen before.
 */
export class DynamicBatchScheduler implements Scheduler {
  readonly #options: DynamicBatchOptions
  readonly #pool: InstancePool
  readonly #clock: Clock
  readonly #queue: RequestQueue
  readonly #maxBatchSize: number
  readonly #maxPreferred: number
  readonly #preferred: ReadonlySet<number>
  readonly #delay: number
  /** Without queue limits, up to two payloads per instance are formed ahead of time. */
  readonly #mayPrefetch: boolean
  #current: Payload | null = null
  #scan: Scan | null = null
  #isStopped = false
  #isAdvancing = false
  #cancelTimer: (() => void) | null = null
  #timerDue = Infinity

  constructor(options: DynamicBatchOptions, pool: InstancePool, clock: Clock) {
    this.#options = options
    this.#pool = pool
    this.#clock = clock
    this.#queue = new RequestQueue([options.queuePolicy])
    this.#maxBatchSize = Math.max(1, options.maxBatchSize)
    this.#maxPreferred = Math.max(0, ...options.preferredBatchSizes)
    this.#preferred = new Set(options.preferredBatchSizes)
    this.#delay = options.queueDelayMicroseconds * 1000
    this.#mayPrefetch = !restrictsQueue(options.queuePolicy)
    pool.onCapacity = () => { this.#advance() }
  }

  get waitingCount(): number { return this.#queue.size }

  enqueue(request: InflightRequest): void {
    if (this.#isStopped) throw stoppingError(request.id)
    if (this.#queue.isFull(LEVEL)) {
      this.#expire()
      if (this.#queue.isFull(LEVEL)) throw queueFullError(request.id)
    }
    this.#queue.append(request, LEVEL)
    this.#advance()
  }

  cancel(request: InflightRequest): void {
    request.isCancelled = true
    if (request.isExecuting) return
    this.#queue.remove(request)
    cancelWaiting(request)
    this.#advance()
  }

  stopAccepting(): void { this.#isStopped = true }

  failWaiting(error: Error): void {
    this.#scan = null
    this.#current = null
    const waiting = [...this.#pool.takeReady().flatMap((payload) => payload.requests), ...this.#queue.takeAll()]
    for (const request of waiting) request.settle({ kind: 'failure', error, reason: 'OTHER' })
    this.#setTimer(null)
  }

  /** Forms as many batches as the queue, the capacity and the delay allow; then sleeps until the next moment that can change that. */
  #advance(): void {
    if (this.#isAdvancing) return
    this.#isAdvancing = true
    try {
      let wakeAt: number | null = null
      while (this.#queue.size > 0) {
        this.#expire()
        const base = this.#growablePayload()
        if (base === null && !this.#hasSlot()) break
        const scan = this.#continueScan(base)
        const decision = this.#decide(scan)
        if (decision.count === 0) {
          if (base?.isSaturated === true) continue
          wakeAt = decision.wakeAt
          break
        }
        this.#send(scan, decision.count, decision.isSaturated)
      }
      this.#setTimer(earliest(wakeAt, this.#queue.nearestDeadline))
    } finally {
      this.#isAdvancing = false
    }
  }

  #expire(): void {
    for (const request of this.#queue.expire(this.#clock.now())) rejectExpired(request)
  }

  #growablePayload(): Payload | null {
    const payload = this.#current
    return payload === null || payload.isTaken || payload.isSaturated ? null : payload
  }

  #hasSlot(): boolean {
    if (!this.#mayPrefetch) return this.#pool.hasIdle && this.#pool.readyCount === 0
    return this.#pool.hasIdle || this.#pool.readyCount < 2 * this.#pool.instanceCount
  }

  /** Looks at the requests that arrived since the last look (all, when something before them changed). */
  #continueScan(base: Payload | null): Scan {
    let scan = this.#scan
    if (scan === null || scan.base !== base || scan.version !== this.#queue.scanVersion) {
      this.#forgetScan()
      scan = {
        base, version: this.#queue.scanVersion, last: null, count: 0, size: 0, shapeKey: base?.shapeKey ?? null,
        candidateCount: 0, candidateSize: 0, isSaturated: false, isClosed: false,
      }
      this.#scan = scan
    }
    const baseSize = base?.batchSize ?? 0
    while (!scan.isClosed) {
      const request = scan.last === null ? this.#queue.first : this.#queue.after(scan.last)
      if (request === null) break
      const size = Math.max(1, request.batchSize)
      const total = baseSize + scan.size + size
      const shapeKey = this.#options.shapeRule?.(request) ?? null
      if (baseSize + scan.count > 0) {
        if (total > this.#maxPreferred && scan.candidateCount === 0) {
          scan.candidateCount = scan.count
          scan.candidateSize = scan.size
          scan.isSaturated = true
        }
        if (total > this.#maxBatchSize || shapeKey !== scan.shapeKey) {
          scan.isClosed = true
          scan.isSaturated = true
          break
        }
      } else {
        scan.shapeKey = shapeKey
      }
      request.isScanned = true
      scan.last = request
      scan.count++
      scan.size += size
      if (this.#preferred.has(baseSize + scan.size)) {
        scan.candidateCount = scan.count
        scan.candidateSize = scan.size
      }
    }
    return scan
  }

  /** How many of the scanned requests leave now; 0: wait until `wakeAt` or until something changes. */
  #decide(scan: Scan): { count: number; isSaturated: boolean; wakeAt: number | null } {
    const oldest = this.#queue.first
    if (oldest === null) return { count: 0, isSaturated: false, wakeAt: null }
    const baseSize = scan.base?.batchSize ?? 0
    const age = this.#clock.now() - oldest.queueStart
    const isOverdue = this.#delay !== 0 && age >= this.#delay
    if (scan.candidateCount > 0 && !isOverdue) {
      return { count: scan.candidateCount, isSaturated: scan.isSaturated || this.#delay === 0, wakeAt: null }
    }
    if (scan.count === 0) {
      // Nothing fits the payload that still grows: close it, and start a new one.
      if (scan.base !== null) scan.base.isSaturated = true
      return { count: 0, isSaturated: true, wakeAt: null }
    }
    if (scan.isClosed || baseSize + scan.size >= this.#maxPreferred) return { count: scan.count, isSaturated: true, wakeAt: null }
    if (isOverdue || this.#delay === 0) return { count: scan.count, isSaturated: false, wakeAt: null }
    // A payload that already waits for an instance gets what there is, unless it has a preferred size.
    if (baseSize > 0 && !scan.isSaturated && !this.#preferred.has(baseSize)) return { count: scan.count, isSaturated: false, wakeAt: null }
    return { count: 0, isSaturated: false, wakeAt: oldest.queueStart + this.#delay }
  }

  #send(scan: Scan, count: number, isSaturated: boolean): void {
    const payload = scan.base ?? new Payload()
    for (let taken = 0; taken < count; taken++) {
      const request = this.#queue.first
      if (request === null) break
      this.#queue.remove(request)
      payload.add(request)
    }
    payload.shapeKey = scan.shapeKey
    payload.isSaturated = isSaturated
    this.#forgetScan()
    this.#current = payload
    if (scan.base === null) this.#pool.offer(payload)
  }

  #forgetScan(): void {
    this.#scan = null
    for (let request = this.#queue.first; request !== null && request.isScanned; request = this.#queue.after(request)) request.isScanned = false
  }

  #setTimer(due: number | null): void {
    const at = due ?? Infinity
    if (at === this.#timerDue) return
    this.#cancelTimer?.()
    this.#cancelTimer = null
    this.#timerDue = at
    if (at === Infinity) return
    this.#cancelTimer = this.#clock.after(Math.max(0, at - this.#clock.now()), () => {
      this.#cancelTimer = null
      this.#timerDue = Infinity
      this.#advance()
    })
  }
}

function earliest(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.min(a, b)
}
