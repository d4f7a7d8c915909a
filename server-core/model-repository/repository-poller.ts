import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import { toServerError } from '../server-error.ts'
import type { ModelLifecycle } from './model-lifecycle.ts'
import { directoryOf } from './model-record.ts'

/** Two looks at a model must agree before what changed is applied: at least this far apart. */
const SETTLE_SECONDS = 1

/** Model names to the signature of their directory; null: there is something, but nothing that could be loaded. */
type Look = ReadonlyMap<string, string | null>

/**
 * Control mode `poll`: looks at the repositories again and again and applies what changed. New models are loaded, modified ones
 * reloaded, vanished ones unloaded; one that cannot be read or loaded changes nothing and is tried again when its files change.
 *
 * A copy that is not finished is left alone: a change is applied when a second look, a second later, finds the same paths, sizes and times.
 * A model that loads or hangs holds up no other one.
 */
export class RepositoryPoller {
  readonly #lifecycle: ModelLifecycle
  readonly #clock: Clock
  readonly #log: Logger
  readonly #periodSeconds: number
  readonly #tried = new Map<string, string>()
  /** Models with a change that is being applied. */
  readonly #busy = new Map<string, Promise<void>>()
  #endWait: () => void = () => {}
  #running: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(options: { lifecycle: ModelLifecycle; clock: Clock; log: Logger; periodSeconds: number }) {
    this.#lifecycle = options.lifecycle
    this.#clock = options.clock
    this.#log = options.log
    this.#periodSeconds = options.periodSeconds
  }

  start(): void {
    for (const record of this.#lifecycle.records.values()) this.#tried.set(record.name, directoryOf(record)?.signature ?? '')
    this.#running = this.#run()
  }

  /** Resolves when nothing is being looked at or applied any more. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#endWait()
    await this.#running
    while (this.#busy.size > 0) await Promise.all(this.#busy.values())
  }

  async #run(): Promise<void> {
    for (;;) {
      await this.#wait(this.#periodSeconds)
      if (this.#isStopped) return
      try {
        await this.#poll()
      } catch (error) {
        this.#log.error('the model repository cannot be read', { error: toServerError(error).message })
      }
    }
  }

  async #poll(): Promise<void> {
    const first = await this.#look()
    if (this.#changed(first).length + this.#vanished(first).length === 0) return
    await this.#wait(Math.min(SETTLE_SECONDS, this.#periodSeconds))
    if (this.#isStopped) return
    const second = await this.#look()
    if (this.#isStopped) return
    for (const [name, signature] of this.#changed(second)) {
      if (first.get(name) !== signature || this.#busy.has(name)) continue
      this.#tried.set(name, signature)
      this.#apply(name, () => this.#lifecycle.load(name))
    }
    for (const name of this.#vanished(second)) {
      if (first.has(name)) continue
      this.#tried.delete(name)
      // This also ends a load of it that goes on.
      this.#apply(name, () => this.#lifecycle.unload(name))
    }
  }

  async #look(): Promise<Look> {
    const entries = await this.#lifecycle.rescan()
    return new Map(entries.map((entry) => (entry.kind === 'model' ? [entry.directory.name, entry.directory.signature] : [entry.name, null])))
  }

  #changed(look: Look): [name: string, signature: string][] {
    return [...look].flatMap(([name, signature]) => (signature === null || this.#tried.get(name) === signature ? [] : [[name, signature]]))
  }

  #vanished(look: Look): string[] { return [...this.#lifecycle.records.keys()].filter((name) => !look.has(name)) }

  #apply(name: string, change: () => Promise<void>): void {
    const applied: Promise<void> = change().catch((error: unknown) => {
      this.#log.warning('a change in the model repository could not be applied', { model: name, error: toServerError(error).message.trim() })
    }).finally(() => { if (this.#busy.get(name) === applied) this.#busy.delete(name) })
    this.#busy.set(name, applied)
  }

  #wait(seconds: number): Promise<void> {
    if (this.#isStopped) return Promise.resolve()
    return new Promise((resolve) => {
      const cancel = this.#clock.after(seconds * 1e9, resolve)
      this.#endWait = () => {
        cancel()
        resolve()
      }
    })
  }
}
