import type { BatchStrategy } from '../backends/backend.ts'
import type { Clock } from '../clock.ts'
import { BatchJudge } from './batch-judge.ts'
import type { InflightRequest } from './inflight-request.ts'
import type { InstancePool } from './instance-pool.ts'
import { Payload } from './payload.ts'
import { restrictsQueue, type QueueLevels } from './queue-level.ts'
import { cancelWaiting, queueFullError, rejectExpired, stoppingError } from './refusals.ts'
import { RequestQueue } from './request-queue.ts'
import type { Scheduler } from './scheduler.ts'
import type { ShapeRule } from './shape-rule.ts'

export interface DynamicBatchOptions {
  /** 0: the model has no batch dimension, every request runs alone. */
  readonly maxBatchSize: number
  readonly preferredBatchSizes: readonly number[]
  readonly queueDelayMicroseconds: number
  /** Priority levels and queue policies; absent: one level without limits. */
  readonly levels?: QueueLevels
  readonly shapeRule: ShapeRule | null
  /** Null or absent: the model has no batching library. */
  readonly strategy?: BatchStrategy | null
  /** A test hook: nothing runs before this many requests wait at a time. */
  readonly delayedStartCount?: number
}

/** How far the queue was looked through for the batch that is being formed. */
interface Scan {
  /** The payload the batch would join, or null for a new one. */
  readonly base: Payload | null
  readonly generation: number
  last: InflightRequest | null
  /** Steady nanoseconds when the oldest of them entered the queue. */
  oldestStart: number
  count: number
  size: number
  shapeKey: string | null
  /** The best cut so far: a preferred size, or what fitted before the largest preferred size was exceeded (perhaps nothing). */
  hasCandidate: boolean
  candidateCount: number
  candidateSize: number
  isSaturated: boolean
  /** Nothing more can join. */
  isClosed: boolean
}

const NO_LEVELS: QueueLevels = { count: 0n, defaultLevel: 0n }

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
  readonly #judge: BatchJudge | null
  #current: Payload | null = null
  #scan: Scan | null = null
  /** 0: it has started. */
  #delayedStartCount: number
  #isStopped = false
  #isAdvancing = false
  #cancelTimer: (() => void) | null = null
  #timerDue = Infinity

  constructor(options: DynamicBatchOptions, pool: InstancePool, clock: Clock) {
    this.#options = options
    this.#pool = pool
    this.#clock = clock
    this.#queue = new RequestQueue(options.levels ?? NO_LEVELS)
    this.#maxBatchSize = Math.max(1, options.maxBatchSize)
    this.#maxPreferred = Math.max(0, ...options.preferredBatchSizes)
    this.#preferred = new Set(options.preferredBatchSizes)
    this.#delay = options.queueDelayMicroseconds * 1000
    this.#mayPrefetch = !restrictsQueue(options.levels ?? NO_LEVELS)
    this.#judge = options.strategy ? new BatchJudge(options.strategy) : null
    this.#delayedStartCount = options.delayedStartCount ?? 0
    pool.onCapacity = () => { this.#advance() }
  }

  get waitingCount(): number { return this.#queue.size }

  enqueue(request: InflightRequest): void {
    if (this.#isStopped) throw stoppingError(request.id)
    if (this.#queue.isFullFor(request)) {
      this.#expire()
      if (this.#queue.isFullFor(request)) throw queueFullError(request.id)
    }
    this.#queue.append(request)
    this.#advance()
  }

  cancel(request: InflightRequest): void {
    request.isCancelled = true
    if (request.isExecuting) return
    this.#queue.remove(request)
    this.#leavePayload(request)
    cancelWaiting(request)
    this.#advance()
  }

  stopAccepting(): void { this.#isStopped = true }

  failWaiting(error: Error): void {
    this.#scan = null
    this.#current = null
    this.#judge?.end()
    const waiting = [...this.#pool.takeReady().flatMap((payload) => payload.requests), ...this.#queue.takeAll()]
    for (const request of waiting) request.settle({ kind: 'failure', error, reason: 'OTHER' })
    this.#setTimer(null)
  }

  /** Forms as many batches as the queue, the capacity and the delay allow; then sleeps until the next moment that can change that. */
  #advance(): void {
    if (this.#isAdvancing) return
    this.#isAdvancing = true
    try {
      this.#dropTaken()
      let wakeAt: number | null = null
      while (this.#queue.size > 0) {
        this.#expire()
        if (!this.#hasStarted()) break
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
      if (this.#queue.size === 0 && this.#growablePayload() === null) this.#judge?.end()
      this.#setTimer(earliest(wakeAt, this.#queue.nearestDeadline))
    } finally {
      this.#isAdvancing = false
    }
  }

  #expire(): void {
    for (const request of this.#queue.expire(this.#clock.now())) rejectExpired(request)
  }

  #hasStarted(): boolean {
    if (this.#queue.size >= this.#delayedStartCount) this.#delayedStartCount = 0
    return this.#delayedStartCount === 0
  }

  /** A cancelled request leaves the batch that no instance took yet; the one that still could grow has room again. */
  #leavePayload(request: InflightRequest): void {
    const { payload } = request
    if (payload === null || payload.isTaken) return
    payload.remove(request)
    if (payload !== this.#current) return
    payload.isSaturated = false
    this.#judge?.end()
    this.#forgetScan()
  }

  /** What an instance took does not grow any more. */
  #dropTaken(): void {
    if (this.#current?.isTaken !== true) return
    this.#current = null
    if (this.#scan === null || this.#scan.base !== null) this.#judge?.end()
  }

  #growablePayload(): Payload | null {
    this.#dropTaken()
    return this.#current?.isSaturated === false ? this.#current : null
  }

  #hasSlot(): boolean {
    if (!this.#mayPrefetch) return this.#pool.hasIdle
    return this.#pool.hasIdle || this.#pool.readyCount < 2 * this.#pool.instanceCount
  }

  /** Looks at the requests that arrived since the last look (all, when something before them changed). */
  #continueScan(base: Payload | null): Scan {
    let scan = this.#scan
    if (scan === null || scan.base !== base || scan.generation !== this.#queue.scanGeneration) {
      this.#forgetScan()
      scan = {
        base, generation: this.#queue.scanGeneration, last: null, oldestStart: Infinity, count: 0, size: 0, shapeKey: base?.shapeKey ?? null,
        hasCandidate: false, candidateCount: 0, candidateSize: 0, isSaturated: false, isClosed: false,
      }
      this.#scan = scan
      this.#judge?.resume(base?.requests ?? [])
    }
    const baseSize = base?.batchSize ?? 0
    while (!scan.isClosed) {
      const request = scan.last === null ? this.#queue.first : this.#queue.after(scan.last)
      if (request === null) break
      const size = Math.max(1, request.batchSize)
      const total = baseSize + scan.size + size
      const shapeKey = this.#options.shapeRule?.(request) ?? null
      if (baseSize + scan.count > 0) {
        if (total > this.#maxPreferred && !scan.hasCandidate) {
          scan.hasCandidate = true
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
      const isAdmitted = this.#judge?.admits(request) ?? true
      if (!isAdmitted) {
        scan.isClosed = true
        scan.isSaturated = true
        if (baseSize + scan.count > 0) break
      }
      this.#queue.markScanned(request)
      scan.oldestStart = Math.min(scan.oldestStart, request.queueStart)
      scan.last = request
      scan.count++
      scan.size += size
      if (this.#preferred.has(baseSize + scan.size)) {
        scan.hasCandidate = true
        scan.candidateCount = scan.count
        scan.candidateSize = scan.size
      }
    }
    return scan
  }

  /** How many of the scanned requests leave now; 0: wait until `wakeAt` or until something changes. */
  #decide(scan: Scan): { count: number; isSaturated: boolean; wakeAt: number | null } {
    const baseSize = scan.base?.batchSize ?? 0
    const isOverdue = this.#delay !== 0 && this.#clock.now() >= scan.oldestStart + this.#delay
    if (scan.hasCandidate && scan.candidateCount > 0 && !isOverdue) {
      return { count: scan.candidateCount, isSaturated: scan.isSaturated || this.#delay === 0, wakeAt: null }
    }
    if (scan.base !== null && (scan.count === 0 || (scan.hasCandidate && !isOverdue))) {
      // Nothing suits the payload that still grows: close it, and start a new one.
      scan.base.isSaturated = true
      this.#judge?.end()
      return { count: 0, isSaturated: true, wakeAt: null }
    }
    if (scan.isClosed || baseSize + scan.size >= this.#maxPreferred) return { count: scan.count, isSaturated: true, wakeAt: null }
    if (isOverdue || this.#delay === 0) return { count: scan.count, isSaturated: false, wakeAt: null }
    // A payload that already waits for an instance gets what there is, unless it has a preferred size.
    if (baseSize > 0 && !scan.isSaturated && !this.#preferred.has(baseSize)) return { count: scan.count, isSaturated: false, wakeAt: null }
    return { count: 0, isSaturated: false, wakeAt: scan.oldestStart + this.#delay }
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
    if (isSaturated || payload.isTaken || count < scan.count) this.#judge?.end()
  }

  #forgetScan(): void {
    this.#scan = null
    this.#queue.forgetScan()
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
