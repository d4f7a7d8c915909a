import type { Logger } from '../../logger.ts'
import type { BackendRequest, BatchRecord, BatchStrategy } from '../backend.ts'
import { callError, hostRequestOf, type HostRequest } from './host-events.ts'
import type { NativeHost } from './native-host.ts'

/** A batching library of a model. What it fails at counts as a refusal: a smaller batch is never wrong. */
export class NativeBatchStrategy implements BatchStrategy {
  readonly #host: NativeHost
  readonly #model: number
  readonly #log: Logger
  #lastFailure = ''

  constructor(host: NativeHost, model: number, log: Logger) {
    this.#host = host
    this.#model = model
    this.#log = log
  }

  begin(): BatchRecord {
    const { host } = this.#host
    const batch = this.#host.nextToken()
    const isBegun = this.#attempt(() => { host.beginBatch(this.#model, batch); return true })
    /** What the library may still look at. */
    const shown: HostRequest[] = []
    return {
      includes: (request: BackendRequest) => {
        if (!isBegun) return false
        const shownRequest = hostRequestOf(request, this.#host.nextToken(), request.inputs)
        shown.push(shownRequest)
        return this.#attempt(() => host.includeRequest(this.#model, batch, shownRequest))
      },
      end: () => {
        if (isBegun) this.#attempt(() => { host.endBatch(this.#model, batch); return true })
        shown.length = 0
      },
    }
  }

  /** The same failure again is not logged again: it would be with every batch. */
  #attempt(call: () => boolean): boolean {
    try {
      return call()
    } catch (error) {
      const { message } = callError(error)
      if (message !== this.#lastFailure) this.#log.error('a batching library failed, which counts as a refusal: batches stay smaller', { error: message })
      this.#lastFailure = message
      return false
    }
  }
}
