import type { Clock } from '../clock.ts'
import type { CountedResponse, ModelStatistics } from '../metrics/model-statistics.ts'
import type { RequestOutcome } from '../scheduling/inflight-request.ts'

/**
 * Counts the responses of one request of a decoupled model by their position. A response is charged the time since the one before it
 * left, or since the execution began; handing it over takes no time of its own here.
 */
export class ResponseCounter {
  readonly #statistics: ModelStatistics
  readonly #clock: Clock
  #index = 0
  #since: number

  constructor(statistics: ModelStatistics, clock: Clock) {
    this.#statistics = statistics
    this.#clock = clock
    this.#since = clock.now()
  }

  executionBegins(): void { this.#since = this.#clock.now() }

  count(end: CountedResponse['end']): void {
    const now = this.#clock.now()
    this.#statistics.countResponse({ index: this.#index++, end, inferNanoseconds: now - this.#since, outputNanoseconds: 0 })
    this.#since = now
  }

  /** The last answer of a request that reached an instance. */
  countEnd(outcome: RequestOutcome): void {
    if (outcome.kind === 'response') this.count(outcome.outputs === null ? 'empty' : 'success')
    else this.count(outcome.reason === 'CANCELED' ? 'cancel' : 'fail')
  }
}
