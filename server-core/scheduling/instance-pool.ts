import { Fifo } from './fifo.ts'
import type { Payload } from './payload.ts'

/** What can run a batch: a model instance. */
export interface PayloadRunner {
  /** Runs the batch and settles its requests. Never rejects. */
  run(payload: Payload): Promise<void>
}

/**
 * The ready queue of one model: payloads wait here, free instances take the oldest. An instance enters with `add` and is busy while it
 * runs; `remove` takes a dead one out.
 */
export class InstancePool {
  readonly #idle: PayloadRunner[] = []
  readonly #members = new Set<PayloadRunner>()
  readonly #ready = new Fifo<Payload>()
  /** The scheduler's hook: a payload was taken or an instance became free. */
  onCapacity: () => void = () => {}

  get instanceCount(): number { return this.#members.size }
  get hasIdle(): boolean { return this.#idle.length > 0 }
  get readyCount(): number { return this.#ready.length }

  /** A free runner enters; one that is in the pool stays as it is. */
  add(runner: PayloadRunner): void {
    if (this.#members.has(runner)) return
    this.#members.add(runner)
    this.#release(runner)
  }

  /** An idle instance leaves at once; a busy one does not come back when its batch is done. */
  remove(runner: PayloadRunner): void {
    this.#members.delete(runner)
    const index = this.#idle.indexOf(runner)
    if (index >= 0) this.#idle.splice(index, 1)
  }

  /** Hands a payload to an idle instance, or keeps it until one is free. */
  offer(payload: Payload): void {
    const runner = this.#idle.shift()
    if (runner === undefined) this.#ready.push(payload)
    else this.#start(runner, payload)
  }

  /** Payloads that no instance took; they are the caller's now. */
  takeReady(): Payload[] { return this.#ready.takeAll() }

  #release(runner: PayloadRunner): void {
    if (!this.#members.has(runner)) return
    const payload = this.#ready.shift()
    if (payload !== undefined) this.#start(runner, payload)
    else this.#idle.push(runner)
    this.onCapacity()
  }

  #start(runner: PayloadRunner, payload: Payload): void {
    payload.isTaken = true
    void runner.run(payload).then(() => { this.#release(runner) })
  }
}
