import type { Clock } from '../clock.ts'
import type { LoadStage, LoadStageKind, ModelLoadReport } from '../contract/repository.ts'

/** Where an instance stands in a stage that is about instances. */
export interface StageInstance {
  /** From 1. */
  readonly instance: number
  readonly instanceCount: number
}

/** What one load of a model is doing, and how long each part took. Versions load side by side: each has a stage of its own. */
export class LoadProgress {
  readonly #clock: Clock
  readonly #startedAt: number
  /** Version ('' : the model as a whole) to its stage, the one begun last at the end. */
  readonly #active = new Map<string, { readonly stage: LoadStage; readonly since: number }>()
  /** One a version and kind: the instances of a version add up. Nanoseconds. */
  readonly #done = new Map<string, { readonly stage: LoadStage; nanoseconds: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#startedAt = clock.wallMilliseconds()
  }

  /** The stage that was begun last among those that go on; null between two. */
  get current(): LoadStage | null { return [...this.#active.values()].at(-1)?.stage ?? null }

  /** Begins a stage; the one before of the same version ends. */
  enter(version: string, kind: LoadStageKind, { instance, instanceCount }: StageInstance = { instance: 0, instanceCount: 0 }): void {
    this.leave(version)
    const stage: LoadStage = { kind, version, instance, instanceCount, startedAt: this.#clock.wallMilliseconds() }
    this.#active.set(version, { stage, since: this.#clock.now() })
  }

  /** The version has no stage any more. */
  leave(version: string): void {
    const active = this.#active.get(version)
    if (active === undefined) return
    this.#active.delete(version)
    const key = `${version}/${active.stage.kind}`
    const done = this.#done.get(key) ?? { stage: active.stage, nanoseconds: 0 }
    done.nanoseconds += this.#clock.now() - active.since
    this.#done.set(key, done)
  }

  report(outcome: ModelLoadReport['outcome']): ModelLoadReport {
    for (const version of [...this.#active.keys()]) this.leave(version)
    return {
      outcome,
      startedAt: this.#startedAt,
      endedAt: this.#clock.wallMilliseconds(),
      stages: [...this.#done.values()].map(({ stage: { kind, version, startedAt, instanceCount }, nanoseconds }) => ({
        kind, version, startedAt, instanceCount, milliseconds: nanoseconds / 1e6,
      })),
    }
  }
}
