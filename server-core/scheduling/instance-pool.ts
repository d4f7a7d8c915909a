import { Fifo } from './fifo.ts'
import type { Payload } from './payload.ts'

/** What can run a batch: a model instance. */
export interface PayloadRunner {
  /** Runs the batch and settles its requests. Never rejects. */
  run(payload: Payload): Promise<void>
}

/**
 * The ready queue of one model: payloads wait here, free instances take the oldest. A payload bound to one runner waits for that one, and
 * comes before those that anyone may take. An instance enters with `add` and is busy while it runs; `remove` takes a dead one out.
 */
export class InstancePool {
  readonly #idle: PayloadRunner[] = []
  readonly #members = new Set<PayloadRunner>()
  readonly #ready = new Fifo<Payload>()
  readonly #bound = new Map<PayloadRunner, Fifo<Payload>>()
  /** The scheduler's hook: a payload was taken or an instance became free. */
  onCapacity: () => void = () => {}
  /** The scheduler's hook: a runner entered, or left with the payloads that were bound to it and that nobody will run now. */
  onMembership: (change: { readonly added: PayloadRunner } | { readonly removed: PayloadRunner; readonly orphans: readonly Payload[] }) => void = () => {}

  get instanceCount(): number { return this.#members.size }
  get hasIdle(): boolean { return this.#idle.length > 0 }
  get readyCount(): number { return this.#ready.length }
  /** Payloads that wait for this one runner. */
  boundCount(runner: PayloadRunner): number { return this.#bound.get(runner)?.length ?? 0 }
  isIdle(runner: PayloadRunner): boolean { return this.#idle.includes(runner) }

  /** A free runner enters; one that is in the pool stays as it is. */
  add(runner: PayloadRunner): void {
    if (this.#members.has(runner)) return
    this.#members.add(runner)
    this.onMembership({ added: runner })
    this.#release(runner)
  }

  /** An idle instance leaves at once; a busy one does not come back when its batch is done. */
  remove(runner: PayloadRunner): void {
    if (!this.#members.delete(runner)) return
    const index = this.#idle.indexOf(runner)
    if (index >= 0) this.#idle.splice(index, 1)
    const orphans = this.#bound.get(runner)?.takeAll() ?? []
    this.#bound.delete(runner)
    this.onMembership({ removed: runner, orphans })
  }

  /** Hands a payload to an idle instance, or keeps it until one is free. */
  offer(payload: Payload): void {
    if (payload.runner !== null) {
      this.#offerBound(payload, payload.runner)
      return
    }
    const runner = this.#idle.shift()
    if (runner === undefined) this.#ready.push(payload)
    else this.#start(runner, payload)
  }

  /** Payloads that no instance took; they are the caller's now. */
  takeReady(): Payload[] {
    return [...[...this.#bound.values()].flatMap((bound) => bound.takeAll()), ...this.#ready.takeAll()]
  }

  #offerBound(payload: Payload, runner: PayloadRunner): void {
    if (!this.#members.has(runner)) throw new Error('a payload is bound to an instance that is not in the pool')
    const index = this.#idle.indexOf(runner)
    if (index >= 0) {
      this.#idle.splice(index, 1)
      this.#start(runner, payload)
      return
    }
    let bound = this.#bound.get(runner)
    if (bound === undefined) {
      bound = new Fifo()
      this.#bound.set(runner, bound)
    }
    bound.push(payload)
  }

  #release(runner: PayloadRunner): void {
    if (!this.#members.has(runner)) return
    const payload = this.#bound.get(runner)?.shift() ?? this.#ready.shift()
    if (payload !== undefined) this.#start(runner, payload)
    else this.#idle.push(runner)
    this.onCapacity()
  }

  #start(runner: PayloadRunner, payload: Payload): void {
    payload.isTaken = true
    void runner.run(payload).then(() => {
      payload.onExecuted?.()
      this.#release(runner)
    })
  }
}
