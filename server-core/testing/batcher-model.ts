/**
 * The dynamic batcher as its rules say, without any economy: after every event it looks at the whole queue anew. Tests compare the real
 * one with it. It shares no code with the scheduler but the types of the options.
 */
import type { ModelQueuePolicy } from '../contract/model-config.ts'
import type { QueueLevels } from '../scheduling/queue-level.ts'

export interface BatcherModelOptions {
  readonly maxBatchSize: number
  readonly preferredBatchSizes: readonly number[]
  /** Nanoseconds, like every time here. */
  readonly delay: number
  readonly levels: QueueLevels
  readonly instanceCount: number
  /** Of a batch; Infinity: none. A request alone may exceed it. */
  readonly volumeLimit: number
}

export interface ModelledRequest {
  readonly id: string
  readonly size: number
  readonly shape: string
  readonly volume: number
  readonly priority: bigint
  /** Nanoseconds; 0: none. */
  readonly timeout: number
}

interface Waiting extends ModelledRequest {
  readonly level: bigint
  readonly policy: ModelQueuePolicy
  readonly since: number
  /** Infinity: none. */
  deadline: number
  isDelayed: boolean
  /** Place in its list. */
  place: number
}

interface Batch { requests: Waiting[]; isOpen: boolean }

type Ending = 'rejected' | 'cancelled'

const NO_POLICY: ModelQueuePolicy = { timeout_action: 'REJECT', default_timeout_microseconds: 0, allow_timeout_override: false, max_queue_size: 0 }

export class BatcherModel {
  readonly started: string[][] = []
  readonly endings = new Map<string, Ending>()
  readonly #options: BatcherModelOptions
  readonly #mayPrefetch: boolean
  #now: number
  #queue: Waiting[] = []
  #ready: Batch[] = []
  #newest: Batch | null = null
  #idle: number
  #instances: number
  #places = 0

  constructor(options: BatcherModelOptions, now: number) {
    this.#options = options
    this.#now = now
    this.#idle = options.instanceCount
    this.#instances = options.instanceCount
    const { default_timeout_microseconds: timeout, allow_timeout_override: override, max_queue_size: limit } = options.levels.defaultPolicy ?? NO_POLICY
    this.#mayPrefetch = options.levels.count === 0n && timeout === 0 && !override && limit === 0
  }

  get waitingCount(): number { return this.#queue.length }
  get idleCount(): number { return this.#idle }

  /** Is it taken in? */
  enqueue(request: ModelledRequest): boolean {
    const { count, defaultLevel, defaultPolicy, policies } = this.#options.levels
    let level = 0n
    if (count > 0n) level = request.priority >= 1n && request.priority <= count ? request.priority : defaultLevel
    const policy = policies?.get(level) ?? defaultPolicy ?? NO_POLICY
    this.#expire()
    if (policy.max_queue_size > 0 && this.#queue.filter((other) => other.level === level).length >= policy.max_queue_size) {
      this.#form()
      return false
    }
    const standard = policy.default_timeout_microseconds * 1000
    const timeout = policy.allow_timeout_override && request.timeout > 0 ? Math.min(request.timeout, standard) : standard
    this.#queue.push({ ...request, level, policy, since: this.#now, deadline: timeout > 0 ? this.#now + timeout : Infinity, isDelayed: false, place: this.#places++ })
    this.#form()
    return true
  }

  /** @param isRunning then nothing happens: only the backend can react */
  cancel(id: string, isRunning: boolean): void {
    if (isRunning || this.endings.has(id)) return
    this.endings.set(id, 'cancelled')
    this.#queue = this.#queue.filter((request) => request.id !== id)
    for (const batch of this.#ready) {
      const before = batch.requests.length
      batch.requests = batch.requests.filter((request) => request.id !== id)
      if (batch === this.#newest && batch.requests.length < before) batch.isOpen = true
    }
    this.#form()
  }

  /** An instance is done with its batch. */
  finish(): void { this.#free() }

  addInstance(): void {
    this.#instances++
    this.#free()
  }

  removeInstance(isIdle: boolean): void {
    this.#instances--
    if (isIdle) this.#idle--
  }

  advance(nanoseconds: number): void {
    const end = this.#now + nanoseconds
    for (;;) {
      const moments = this.#queue.flatMap((request) => [request.deadline, request.since + this.#options.delay]).filter((moment) => moment > this.#now && moment <= end)
      if (moments.length === 0) break
      this.#now = Math.min(...moments)
      this.#form()
    }
    this.#now = end
  }

  #free(): void {
    let next = this.#ready.shift()
    while (next?.requests.length === 0) next = this.#ready.shift()
    if (next === undefined) this.#idle++
    else this.#start(next)
    this.#form()
  }

  #start(batch: Batch): void {
    this.started.push(batch.requests.map((request) => request.id))
    if (batch === this.#newest) this.#newest = null
  }

  #expire(): void {
    const expired = this.#queue.filter((request) => request.deadline <= this.#now).sort((a, b) => a.deadline - b.deadline || a.place - b.place)
    for (const request of expired) {
      request.deadline = Infinity
      if (request.policy.timeout_action === 'DELAY') {
        request.isDelayed = true
        request.place = this.#places++
      } else {
        this.#queue = this.#queue.filter((other) => other !== request)
        this.endings.set(request.id, 'rejected')
      }
    }
  }

  #form(): void {
    for (;;) {
      this.#expire()
      if (this.#queue.length === 0) return
      this.#queue.sort((a, b) => (a.level === b.level ? Number(a.isDelayed) - Number(b.isDelayed) || a.place - b.place : a.level < b.level ? -1 : 1))
      const base = this.#newest !== null && this.#ready.includes(this.#newest) && this.#newest.isOpen ? this.#newest : null
      const hasSlot = this.#idle > 0 || (this.#mayPrefetch && this.#ready.length < 2 * this.#instances)
      if (base === null && !hasSlot) return
      const cut = this.#cut(base?.requests ?? [])
      if (cut === null) return
      if (base !== null && cut.count === 0) {
        base.isOpen = false
        continue
      }
      const batch = base ?? { requests: [], isOpen: true }
      batch.requests.push(...this.#queue.splice(0, cut.count))
      batch.isOpen = !cut.isFull
      this.#newest = batch
      if (base !== null) continue
      if (this.#idle > 0) {
        this.#idle--
        this.#start(batch)
      } else {
        this.#ready.push(batch)
      }
    }
  }

  /** How many from the front of the queue join the batch now; null: wait. */
  #cut(base: readonly Waiting[]): { readonly count: number; readonly isFull: boolean } | null {
    const { preferredBatchSizes: preferred, delay } = this.#options
    const maximum = Math.max(1, this.#options.maxBatchSize)
    const largest = Math.max(0, ...preferred)
    const all = [...base, ...this.#queue]
    const sizeOf = (count: number) => all.slice(0, base.length + count).reduce((sum, request) => sum + request.size, 0)
    const isWithinVolume = (count: number) => all.slice(0, base.length + count).reduce((sum, request) => sum + request.volume, 0) <= this.#options.volumeLimit
    const fits = (count: number) => base.length + count === 1
      || (sizeOf(count) <= maximum && all[base.length + count - 1]?.shape === all[0]?.shape && isWithinVolume(count))

    let fitting = 0
    while (fitting < this.#queue.length && fits(fitting + 1)) fitting++
    const isClosed = fitting < this.#queue.length || (base.length === 0 && !isWithinVolume(1))
    const counts = Array.from({ length: fitting }, (_unused, index) => index + 1)
    const exact = counts.findLast((count) => preferred.includes(sizeOf(count)))
    const before = [0, ...counts].find((count) => base.length + count > 0 && count < this.#queue.length && sizeOf(count + 1) > largest)
    const exceeds = before !== undefined && !counts.some((count) => count <= before && preferred.includes(sizeOf(count)))
    const candidate = exact ?? (exceeds ? before : undefined)
    const isOverdue = delay > 0 && counts.length > 0 && this.#now >= Math.min(...this.#queue.slice(0, fitting).map((request) => request.since)) + delay

    if (candidate !== undefined && !isOverdue) {
      return { count: candidate, isFull: candidate > 0 && (isClosed || exceeds || delay === 0) }
    }
    if (fitting === 0) return { count: 0, isFull: true }
    if (isClosed || sizeOf(fitting) >= largest) return { count: fitting, isFull: true }
    if (isOverdue || delay === 0) return { count: fitting, isFull: false }
    // A batch that waits for an instance takes what comes, unless it has a preferred size.
    if (base.length > 0 && !preferred.includes(sizeOf(0))) return { count: fitting, isFull: false }
    return null
  }
}
