import { Fifo } from './fifo.ts'
import type { Payload } from './payload.ts'
import type { Admission, RateLimiter } from './rate-limiter.ts'

/** So many discarded payloads may stay among the ready ones, or as many as there are others. */
const MOST_DISCARDED = 64

/** What can run a batch: a model instance. */
export interface PayloadRunner {
  /** Its place in the rate limiter of the pool, where that has one. */
  readonly admission?: Admission | null
  /** Runs the batch and settles its requests. Never rejects. @returns null: that is done already */
  run(payload: Payload): Promise<void> | null
}

/**
 * The ready queue of one model: payloads wait here, free instances take the oldest. A payload bound to one runner waits for that one, and
 * comes before those that anyone may take. An instance enters with `add` and is busy while it runs; `remove` takes a dead one out. With
 * a rate limiter a free instance that has something to run asks there first; the payload stays here, and may grow, until it is admitted.
 */
export class InstancePool {
  readonly #limiter: RateLimiter | null
  readonly #idle: PayloadRunner[] = []
  readonly #members = new Set<PayloadRunner>()
  /** Those that run a payload; one that left and came back meanwhile is among them too. */
  readonly #running: PayloadRunner[] = []
  readonly #ready = new Fifo<Payload>()
  /** Payloads among the ready ones that are passed over when it is their turn. */
  #discardedCount = 0
  readonly #bound = new Map<PayloadRunner, Fifo<Payload>>()
  #isOffering = false
  /** A runner is being given a payload, or takes its end. */
  #isStarting = false
  /** The scheduler's hook: a payload was taken or an instance became free. */
  onCapacity: () => void = () => {}
  /** The scheduler's hook: a runner entered, or left with the payloads that were bound to it and that nobody will run now. */
  onMembership: (change: { readonly added: PayloadRunner } | { readonly removed: PayloadRunner; readonly orphans: readonly Payload[] }) => void = () => {}

  constructor(limiter: RateLimiter | null = null) { this.#limiter = limiter }

  get instanceCount(): number { return this.#members.size }
  /** Is there an instance that waits for work, and none that already waits for an instance? */
  get hasIdle(): boolean {
    if (this.#limiter === null) return this.#idle.length > 0
    return this.#idle.filter((runner) => this.boundCount(runner) === 0).length > this.readyCount
  }
  get readyCount(): number { return this.#ready.length - this.#discardedCount }
  /** Payloads that wait for this one runner. */
  boundCount(runner: PayloadRunner): number { return this.#bound.get(runner)?.length ?? 0 }
  isIdle(runner: PayloadRunner): boolean { return this.#idle.includes(runner) }

  /** A free runner enters; one that is in the pool stays as it is. */
  add(runner: PayloadRunner): void {
    if (this.#members.has(runner)) return
    if (this.#limiter !== null && !runner.admission) throw new Error('an instance without a place in the rate limiter cannot enter')
    this.#members.add(runner)
    this.onMembership({ added: runner })
    if (this.#running.includes(runner)) return
    this.#release(runner)
    this.#limiter?.admit()
  }

  /** An idle instance leaves at once; a busy one does not come back when its batch is done. */
  remove(runner: PayloadRunner): void {
    if (!this.#members.delete(runner)) return
    this.#leaveIdle(runner)
    runner.admission?.withdraw()
    const orphans = this.#bound.get(runner)?.takeAll() ?? []
    this.#bound.delete(runner)
    this.onMembership({ removed: runner, orphans })
    // Whoever waited behind it for a resource may go on.
    this.#limiter?.admit()
  }

  /** Hands a payload to an idle instance, or keeps it until one is free. */
  offer(payload: Payload): void {
    if (payload.runner !== null && !this.#members.has(payload.runner)) throw new Error('a payload is bound to an instance that is not in the pool')
    if (this.#limiter !== null) {
      this.#enqueue(payload)
      this.#isOffering = true
      this.#askForAdmission()
      this.#limiter.admit()
      this.#isOffering = false
      return
    }
    const runner = payload.runner === null ? this.#firstIdle() : this.#leaveIdle(payload.runner)
    if (runner === undefined) this.#enqueue(payload)
    else this.#start(runner, payload)
  }

  /** A payload that was offered to anyone and not taken is not to run: nobody waits for an instance or for resources because of it. */
  discard(payload: Payload): void {
    if (payload.isTaken || payload.isDiscarded || payload.runner !== null) return
    payload.isDiscarded = true
    this.#discardedCount++
    // An instance that hangs takes none, while clients give up and ask again.
    if (this.#discardedCount >= MOST_DISCARDED && this.#discardedCount * 2 > this.#ready.length) {
      this.#ready.keep(({ isDiscarded }) => !isDiscarded)
      this.#discardedCount = 0
    }
    this.#reconsiderAdmission()
  }

  /** Payloads that no instance took; they are the caller's now. */
  takeReady(): Payload[] {
    const taken = [...[...this.#bound.values()].flatMap((bound) => bound.takeAll()), ...this.#ready.takeAll()]
    for (const payload of taken) payload.isDiscarded = true
    this.#discardedCount = 0
    this.#reconsiderAdmission()
    return taken
  }

  #reconsiderAdmission(): void {
    if (this.#limiter === null) return
    this.#askForAdmission()
    this.#limiter.admit()
  }

  #enqueue(payload: Payload): void {
    if (payload.runner === null) {
      this.#ready.push(payload)
      return
    }
    let bound = this.#bound.get(payload.runner)
    if (bound === undefined) {
      bound = new Fifo()
      this.#bound.set(payload.runner, bound)
    }
    bound.push(payload)
  }

  #release(runner: PayloadRunner): void {
    if (!this.#members.has(runner)) return
    if (this.#limiter !== null) {
      this.#idle.push(runner)
      this.#askForAdmission()
    } else {
      const payload = this.#next(runner)
      if (payload !== undefined) this.#start(runner, payload)
      else this.#idle.push(runner)
    }
    this.onCapacity()
  }

  #next(runner: PayloadRunner): Payload | undefined {
    const bound = this.#bound.get(runner)?.shift()
    if (bound !== undefined) return bound
    let payload = this.#ready.shift()
    for (; payload?.isDiscarded === true; payload = this.#ready.shift()) this.#discardedCount--
    return payload
  }

  /** Those that could run something wait in the limiter, the others do not. */
  #askForAdmission(): void {
    for (const runner of this.#idle) {
      if (this.readyCount > 0 || this.boundCount(runner) > 0) runner.admission?.request(() => { this.#admitted(runner) })
      else runner.admission?.withdraw()
    }
  }

  #admitted(runner: PayloadRunner): void {
    const payload = this.#next(runner)
    if (payload === undefined) throw new Error('an instance without anything to run was admitted')
    this.#leaveIdle(runner)
    this.#start(runner, payload)
    this.#askForAdmission()
    if (!this.#isOffering) this.onCapacity()
  }

  #firstIdle(): PayloadRunner | undefined { return this.#idle.length === 1 ? this.#idle.pop() : this.#idle.shift() }

  #leaveIdle(runner: PayloadRunner): PayloadRunner | undefined { return removeFrom(this.#idle, runner) }

  #start(runner: PayloadRunner, payload: Payload): void {
    payload.isTaken = true
    this.#running.push(runner)
    const isOutermost = !this.#isStarting
    this.#isStarting = true
    try {
      const execution = runner.run(payload)
      // What ends at once inside the end of another would have them all end inside each other.
      if (execution === null && isOutermost) this.#ended(runner, payload)
      else void (execution ?? Promise.resolve()).then(() => { this.#ended(runner, payload) })
    } finally {
      if (isOutermost) this.#isStarting = false
    }
  }

  #ended(runner: PayloadRunner, payload: Payload): void {
    removeFrom(this.#running, runner)
    runner.admission?.release()
    payload.onExecuted?.()
    this.#release(runner)
    this.#limiter?.admit()
  }
}

/** Both lists are short, and mostly it is the only one. */
function removeFrom(runners: PayloadRunner[], runner: PayloadRunner): PayloadRunner | undefined {
  if (runners.at(-1) === runner) return runners.pop()
  const index = runners.indexOf(runner)
  return index < 0 ? undefined : runners.splice(index, 1)[0]
}
