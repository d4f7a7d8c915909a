import type { ModelQueuePolicy } from '../contract/model-config.ts'
import { DeadlineHeap } from './deadline-heap.ts'
import type { InflightRequest } from './inflight-request.ts'
import { RequestList } from './request-list.ts'

/** One level of a model's queue: waiting requests, and those whose timeout expired under the DELAY action. */
interface QueueLevel {
  readonly policy: ModelQueuePolicy
  readonly waiting: RequestList
  readonly delayed: RequestList
}

const NO_POLICY: ModelQueuePolicy = {
  timeout_action: 'REJECT', default_timeout_microseconds: 0, allow_timeout_override: false, max_queue_size: 0,
}

/** Does the policy restrict anything? Then a batch may only be formed when an instance waits for work. */
export function restrictsQueue(policy: ModelQueuePolicy | undefined): boolean {
  return policy !== undefined && (policy.default_timeout_microseconds !== 0 || policy.allow_timeout_override || policy.max_queue_size !== 0)
}

/**
 * The queue of one model in the order of service: level by level, in each level first the waiting then the delayed requests. Today
 * there is one level; further priority levels are further entries of `#levels`, and nothing else changes.
 */
export class RequestQueue {
  readonly #levels: readonly QueueLevel[]
  readonly #lists: readonly RequestList[]
  readonly #deadlines = new DeadlineHeap()
  #size = 0
  /** Grows whenever a request leaves from, or enters into, the part that was already scanned for a batch. */
  #scanVersion = 0

  constructor(policies: readonly (ModelQueuePolicy | undefined)[]) {
    this.#levels = policies.map((policy) => ({ policy: policy ?? NO_POLICY, waiting: new RequestList(), delayed: new RequestList() }))
    this.#lists = this.#levels.flatMap((level) => [level.waiting, level.delayed])
  }

  get size(): number { return this.#size }
  get scanVersion(): number { return this.#scanVersion }

  isFull(levelIndex: number): boolean {
    const level = this.#level(levelIndex)
    const limit = level.policy.max_queue_size
    return limit !== 0 && level.waiting.size + level.delayed.size >= limit
  }

  append(request: InflightRequest, levelIndex: number): void {
    const level = this.#level(levelIndex)
    const timeout = effectiveTimeoutMicroseconds(level.policy, request.timeoutMicroseconds)
    if (timeout > 0) {
      request.deadline = request.queueStart + timeout * 1000
      this.#deadlines.add(request)
    }
    level.waiting.append(request)
    this.#size++
    if (this.#isScannedBeyond(level.waiting)) this.#scanVersion++
  }

  get first(): InflightRequest | null { return this.#firstOf(0) }

  /** The request served after this one, or null at the end. */
  after(request: InflightRequest): InflightRequest | null {
    if (request.next !== null) return request.next
    const index = request.list === null ? -1 : this.#lists.indexOf(request.list)
    return index < 0 ? null : this.#firstOf(index + 1)
  }

  /** Takes a request out, from anywhere. */
  remove(request: InflightRequest): void {
    if (request.list === null) return
    request.list.remove(request)
    this.#deadlines.remove(request)
    this.#size--
    if (request.isScanned) this.#scanVersion++
  }

  /** Steady nanoseconds of the nearest deadline; null: none. */
  get nearestDeadline(): number | null { return this.#deadlines.nearest?.deadline ?? null }

  /** Handles every request whose deadline passed: returns those to refuse; delayed ones change their list and have no deadline any more. */
  expire(now: number): InflightRequest[] {
    const refused: InflightRequest[] = []
    for (let request = this.#deadlines.nearest; request !== undefined && request.deadline <= now; request = this.#deadlines.nearest) {
      const expired = request
      const level = this.#levels.find((candidate) => candidate.waiting === expired.list)
      this.remove(expired)
      expired.deadline = 0
      if (level?.policy.timeout_action === 'DELAY') {
        expired.isScanned = false
        level.delayed.append(expired)
        this.#size++
      } else {
        refused.push(expired)
      }
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

  #level(index: number): QueueLevel {
    const level = this.#levels[index]
    if (level === undefined) throw new Error(`queue level ${index} does not exist`)
    return level
  }

  #firstOf(listIndex: number): InflightRequest | null {
    for (let index = listIndex; index < this.#lists.length; index++) {
      const head = this.#lists[index]?.head
      if (head) return head
    }
    return null
  }

  /** Was a request of a list that is served after this one already scanned? Then a request added here comes before it. */
  #isScannedBeyond(list: RequestList): boolean {
    for (let index = this.#lists.indexOf(list) + 1; index < this.#lists.length; index++) {
      if (this.#lists[index]?.head?.isScanned === true) return true
    }
    return false
  }
}

/** The default timeout, or the request's own where overriding is allowed and it is smaller than the default. 0: never. */
function effectiveTimeoutMicroseconds(policy: ModelQueuePolicy, requested: number): number {
  const standard = policy.default_timeout_microseconds
  return policy.allow_timeout_override && requested !== 0 && requested < standard ? requested : standard
}
