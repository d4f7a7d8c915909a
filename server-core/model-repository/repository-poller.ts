import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import { toServerError } from '../server-error.ts'
import type { ModelLifecycle } from './model-lifecycle.ts'
import { directoryOf } from './model-record.ts'

/**
 * Control mode `poll`: looks at the repositories again and again and applies what changed. New models are loaded, modified ones
 * reloaded, vanished ones unloaded; one that cannot be read or loaded changes nothing and is tried again when its files change.
 */
export class RepositoryPoller {
  readonly #lifecycle: ModelLifecycle
  readonly #clock: Clock
  readonly #log: Logger
  readonly #periodSeconds: number
  readonly #tried = new Map<string, string>()
  #cancelTimer: (() => void) | null = null
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
    this.#schedule()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer?.()
    await this.#running
  }

  /** One look at the repositories; resolves when everything that changed was applied. */
  async poll(): Promise<void> {
    const entries = await this.#lifecycle.rescan()
    const work: Promise<void>[] = []
    const present = new Set<string>()
    for (const entry of entries) {
      if (entry.kind !== 'model') {
        present.add(entry.name)
        continue
      }
      const { name, signature } = entry.directory
      present.add(name)
      if (this.#tried.get(name) === signature) continue
      this.#tried.set(name, signature)
      work.push(this.#lifecycle.load(name))
    }
    for (const record of [...this.#lifecycle.records.values()]) {
      if (present.has(record.name)) continue
      this.#tried.delete(record.name)
      work.push(this.#lifecycle.unload(record.name))
    }
    for (const result of await Promise.allSettled(work)) {
      if (result.status === 'rejected') this.#log.warning('a change in the model repository could not be applied', { error: toServerError(result.reason).message.trim() })
    }
  }

  #schedule(): void {
    this.#cancelTimer = this.#clock.after(this.#periodSeconds * 1e9, () => {
      this.#running = this.poll().catch((error: unknown) => {
        this.#log.error('the model repository cannot be read', { error: toServerError(error).message })
      }).finally(() => { if (!this.#isStopped) this.#schedule() })
    })
  }
}
