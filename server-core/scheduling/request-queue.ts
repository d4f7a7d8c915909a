import type { ModelQueuePolicy } from '../contract/model-config.ts'
import { DeadlineHeap } from './deadline-heap.ts'
import type { InflightRequest } from './inflight-request.ts'
import { LevelOrder } from './level-order.ts'
import { levelOf, LevelList, policyOf, QueueLevel, type QueueLevels } from './queue-level.ts'

/**
 * The queue of one model in the order of service: level by level, in each level first the waiting then the delayed requests. A level
 * exists while it holds requests (there may be 2^64 - 1 of them), so nothing here looks at an empty one. Entering and leaving cost O(1)
 * in the number of requests, with a deadline O(log n).
 */
export class RequestQueue {
  readonly #levels: QueueLevels
  /** By number; without priorities the one level 0 stays for good. */
  readonly #existing = new Map<bigint, QueueLevel>()
  readonly #order = new LevelOrder()
  readonly #only: QueueLevel | null
  readonly #deadlines = new DeadlineHeap()
  #size = 0
  #arrivals = 0
  #generation = 1

  constructor(levels: QueueLevels) {
    this.#levels = levels
    this.#only = levels.count === 0n ? new QueueLevel(0n, policyOf(levels, 0n)) : null
    if (this.#only !== null) this.#order.add(this.#only)
  }

  get size(): number { return this.#size }

  /**
   * Grows whenever a request leaves from, or enters into, the part that was already scanned for a batch: what was scanned is void then.
   */
  get scanGeneration(): number { return this.#generation }
  markScanned(request: InflightRequest): void { request.scanGeneration = this.#generation }
  forgetScan(): void { this.#generation++ }

  /** Has the request's level no room left? */
  isFullFor(request: InflightRequest): boolean {
    const level = this.#only ?? this.#existing.get(levelOf(this.#levels, request.priority))
    return level?.isFull === true
  }

  append(request: InflightRequest): void {
    const level = this.#levelFor(request)
    const timeout = effectiveTimeoutMicroseconds(level.policy, request.timeoutMicroseconds)
    request.arrival = this.#arrivals++
    request.deadline = 0
    if (timeout > 0) {
      request.deadline = request.queueStart + timeout * 1000
      this.#deadlines.add(request)
    }
    this.#enter(request, level.waiting)
  }

  get first(): InflightRequest | null {
    const level = this.#only ?? this.#order.first
    return level === null ? null : level.waiting.head ?? level.delayed.head
  }

  /** The request served after this one, or null at the end. */
  after(request: InflightRequest): InflightRequest | null {
    if (request.next !== null) return request.next
    if (!(request.list instanceof LevelList)) return null
    const { level } = request.list
    if (request.list === level.waiting && level.delayed.head !== null) return level.delayed.head
    const next = this.#order.after(level)
    return next === null ? null : next.waiting.head ?? next.delayed.head
  }

  /** Takes a request out, from anywhere; one that is not in the queue stays as it is. */
  remove(request: InflightRequest): void {
    const level = this.#leave(request)
    if (level !== null) this.#dropIfEmpty(level)
  }

  /** Steady nanoseconds of the nearest deadline; null: none. */
  get nearestDeadline(): number | null { return this.#deadlines.nearest?.deadline ?? null }

  /** Handles every request whose deadline passed: returns those to refuse; delayed ones change their list and have no deadline any more. */
  expire(now: number): InflightRequest[] {
    const refused: InflightRequest[] = []
    for (let request = this.#deadlines.nearest; request !== undefined && request.deadline <= now; request = this.#deadlines.nearest) {
      const level = this.#leave(request)
      request.deadline = 0
      if (level?.policy.timeout_action === 'DELAY') this.#enter(request, level.delayed)
      else refused.push(request)
      if (level !== null) this.#dropIfEmpty(level)
    }
    return refused
  }

  /** Everything that waits, in order; the queue is empty afterwards. */
  takeAll(): InflightRequest[] {
    const all: InflightRequest[] = []
    for (let request = this.first; request !== null; request = this.first) {
      this.remove(request)
      all.push(request)
    }
    return all
  }

  #levelFor(request: InflightRequest): QueueLevel {
    if (this.#only !== null) return this.#only
    const number = levelOf(this.#levels, request.priority)
    let level = this.#existing.get(number)
    if (level === undefined) {
      level = new QueueLevel(number, policyOf(this.#levels, number))
      this.#existing.set(number, level)
      this.#order.add(level)
    }
    return level
  }

  #enter(request: InflightRequest, list: LevelList): void {
    request.scanGeneration = 0
    list.append(request)
    this.#size++
    // Scanned is a part from the front. Is the next one in it, then this one came into the middle.
    if (this.after(request)?.scanGeneration === this.#generation) this.#generation++
  }

  #leave(request: InflightRequest): QueueLevel | null {
    if (!(request.list instanceof LevelList)) return null
    const { level } = request.list
    request.list.remove(request)
    this.#deadlines.remove(request)
    this.#size--
    if (request.scanGeneration === this.#generation) this.#generation++
    return level
  }

  #dropIfEmpty(level: QueueLevel): void {
    if (level.size > 0 || level === this.#only) return
    this.#order.remove(level)
    this.#existing.delete(level.number)
  }
}

/** The default timeout, or the request's own where overriding is allowed and it is smaller than the default. 0: never. */
function effectiveTimeoutMicroseconds(policy: ModelQueuePolicy, requested: number): number {
  const standard = policy.default_timeout_microseconds
  return policy.allow_timeout_override && requested !== 0 && requested < standard ? requested : standard
}
