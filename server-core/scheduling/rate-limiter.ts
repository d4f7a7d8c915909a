import { ServerError } from '../server-error.ts'

/** `--rate-limit-resource=<name>:<count>[:<device>]` */
export interface RateLimitResource {
  readonly name: string
  readonly count: number
  /** Null: every device, and the server as a whole. */
  readonly device: number | null
}

/** `rate_limiter` of an instance group, and where its instances run. */
export interface RateLimitDemand {
  readonly resources: readonly { readonly name: string; readonly global: boolean; readonly count: number }[]
  /** 0 counts as 1; an instance with priority 2 gets half the chances of one with priority 1. */
  readonly priority: number
  readonly device: number
}

/** A resource of one device, or of the whole server. */
interface ResourcePool {
  readonly name: string
  readonly device: number | 'global'
  /** What the command line says, else the largest demand of a loaded instance. */
  limit: number
  inUse: number
  /** `execution_count x priority` of the instance that took some last, before it did. */
  lastTurn: number
}

/**
 * Decides which waiting instance of all models runs next: the one with the smallest `execution_count x priority`, as soon as all its
 * resources are there. One that waits for a resource is not overtaken by later ones that need the same resource; others go on. An
 * instance that had nothing to do for a while does not save up turns: it starts again beside the others (Triton lets it catch up, which
 * shuts everybody else out). One object per server, under `--rate-limit=execution_count` only.
 */
export class RateLimiter {
  readonly #given: readonly RateLimitResource[]
  readonly #pools = new Map<string, ResourcePool>()
  readonly #admissions = new Set<Admission>()
  /** By turn, then by arrival. */
  readonly #waiting: Admission[] = []
  #isAdmitting = false

  /** @param given sizes that are not the largest demand of the loaded instances */
  constructor(given: readonly RateLimitResource[] = []) { this.#given = given }

  /**
   * Makes an instance known; `close` of the result takes it out again, and with it its part in the pool sizes.
   * @throws ServerError INVALID_ARG where it could never run
   */
  register(demand: RateLimitDemand): Admission {
    const demands = new Map<string, { pool: ResourcePool; count: number }>()
    for (const { name, global, count } of demand.resources) {
      const device = global ? 'global' : demand.device
      for (const other of [...this.#pools.values(), ...[...demands.values()].map(({ pool }) => pool)]) {
        if (other.name === name && (other.device === 'global') !== global) {
          throw new ServerError('INVALID_ARG', `Resource "${name}" is present as both global and device-specific resource in the model configuration.`)
        }
      }
      const key = poolKey(name, device)
      const known = demands.get(key)
      if (known !== undefined) known.count += count
      else demands.set(key, { pool: this.#pools.get(key) ?? { name, device, limit: 0, inUse: 0, lastTurn: 0 }, count })
    }
    for (const { pool, count } of demands.values()) {
      const limit = this.#givenLimit(pool)
      if (limit === null || limit >= count) continue
      throw new ServerError('INVALID_ARG', `Resource count for "${pool.name}" is limited to ${limit} which will prevent scheduling of one or more model instances, `
        + `the minimum required count is ${count}`)
    }
    for (const [key, { pool }] of demands) this.#pools.set(key, pool)
    const admission = new Admission(this, demands, Math.max(1, demand.priority))
    this.#admissions.add(admission)
    this.#setLimits(admission)
    // A larger pool lets others run.
    this.admit()
    return admission
  }

  /** How much of a resource the server has. */
  limitOf(name: string, device: number | 'global'): number { return this.#pools.get(poolKey(name, device))?.limit ?? 0 }

  inUse(name: string, device: number | 'global'): number { return this.#pools.get(poolKey(name, device))?.inUse ?? 0 }

  get waitingCount(): number { return this.#waiting.length }

  /** Lets run what can run. To be called after every `request`, `withdraw`, `release` and `close`. */
  admit(): void {
    if (this.#isAdmitting) return
    this.#isAdmitting = true
    try {
      for (let next = this.#next(); next !== null; next = this.#next()) {
        this.#remove(next)
        for (const { pool, count } of next.demands.values()) {
          pool.inUse += count
          pool.lastTurn = next.turn
        }
        next.start()
      }
    } finally {
      this.#isAdmitting = false
    }
  }

  /** For `Admission`. */
  insert(admission: Admission): void {
    let low = 0
    let high = this.#waiting.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#waiting[middle]?.turn ?? 0) <= admission.turn) low = middle + 1
      else high = middle
    }
    this.#waiting.splice(low, 0, admission)
  }

  /** For `Admission`. */
  remove(admission: Admission): void { this.#remove(admission) }

  /** For `Admission`. */
  forget(admission: Admission): void {
    if (!this.#admissions.delete(admission)) return
    const needed = new Set([...this.#admissions].flatMap(({ demands }) => [...demands.keys()]))
    for (const key of admission.demands.keys()) if (!needed.has(key)) this.#pools.delete(key)
    this.#setLimits(admission)
  }

  #next(): Admission | null {
    const claimed = new Set<string>()
    for (const admission of this.#waiting) {
      let fits = true
      for (const [key, { pool, count }] of admission.demands) if (claimed.has(key) || pool.inUse + count > pool.limit) fits = false
      if (fits) return admission
      for (const key of admission.demands.keys()) claimed.add(key)
    }
    return null
  }

  #remove(admission: Admission): void {
    const index = this.#waiting.indexOf(admission)
    if (index >= 0) this.#waiting.splice(index, 1)
  }

  /** Sizes anew the pools that an instance which came or went has to do with. */
  #setLimits({ demands: touched }: Admission): void {
    for (const [key, { pool }] of touched) {
      const counts = [...this.#admissions].map(({ demands }) => demands.get(key)?.count ?? 0)
      pool.limit = this.#givenLimit(pool) ?? Math.max(0, ...counts)
    }
  }

  /** A device's own number counts before the one for all; for a global resource the device does not matter. */
  #givenLimit({ name, device }: ResourcePool): number | null {
    const entries = this.#given.filter((entry) => entry.name === name && (device === 'global' || entry.device === null || entry.device === device))
    if (device === 'global') return entries.length === 0 ? null : Math.max(...entries.map(({ count }) => count))
    return (entries.findLast((entry) => entry.device === device) ?? entries.at(-1))?.count ?? null
  }
}

/** What one instance has to do with the limiter: it waits, runs with its resources, and gives them back. */
export class Admission {
  readonly demands: ReadonlyMap<string, { readonly pool: ResourcePool; readonly count: number }>
  readonly #limiter: RateLimiter
  readonly #priority: number
  #turn = 0
  #state: 'idle' | 'waiting' | 'running' | 'closed' = 'idle'
  #onAdmitted: () => void = () => {}

  constructor(limiter: RateLimiter, demands: Admission['demands'], priority: number) {
    this.#limiter = limiter
    this.demands = demands
    this.#priority = priority
  }

  /** `execution_count x priority` */
  get turn(): number { return this.#turn }
  get isRunning(): boolean { return this.#state === 'running' }

  /** The instance has something to run. @param onAdmitted called once, when its resources were taken for it */
  request(onAdmitted: () => void): void {
    if (this.#state !== 'idle') return
    this.#state = 'waiting'
    this.#onAdmitted = onAdmitted
    // Not behind what the least advanced of its resources has come to meanwhile.
    const floors = [...this.demands.values()].map(({ pool }) => pool.lastTurn)
    if (floors.length > 0) this.#turn = Math.max(this.#turn, Math.min(...floors))
    this.#limiter.insert(this)
  }

  /** There is nothing to run any more. */
  withdraw(): void {
    if (this.#state !== 'waiting') return
    this.#state = 'idle'
    this.#limiter.remove(this)
  }

  /** The execution is over. */
  release(): void {
    if (this.#state !== 'running') return
    this.#state = 'idle'
    for (const { pool, count } of this.demands.values()) pool.inUse -= count
  }

  /** The instance is gone. What it holds is given back, and others may run. */
  close(): void {
    this.withdraw()
    this.release()
    this.#state = 'closed'
    this.#limiter.forget(this)
    this.#limiter.admit()
  }

  /** For `RateLimiter`. */
  start(): void {
    this.#state = 'running'
    this.#turn += this.#priority
    this.#onAdmitted()
  }
}

function poolKey(name: string, device: number | 'global'): string { return `${device}\n${name}` }
