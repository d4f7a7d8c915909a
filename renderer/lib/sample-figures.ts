/** Figures of the last seconds, computed from the per-second samples. Unknown (nothing sampled, nothing counted) is null, never 0. */
import { latencyQuantile } from '../../server-core/contract/statistics.ts'
import type { ModelSample, ServerSample } from '../../server-core/contract/statistics.ts'

/** Seconds behind a rate, and behind percentiles and error counts. */
export const RATE_SECONDS = 5
export const WINDOW_SECONDS = 60

export interface TrafficFigures {
  /** Answered requests a second (successes and failures), mean of the last 5 s. */
  readonly requestsPerSecond: number | null
  /** Of the last minute. */
  readonly p95Milliseconds: number | null
  readonly failures: number | null
  readonly requests: number | null
  /** Waiting now. */
  readonly pending: number | null
  /** Being executed now. */
  readonly inFlight: number | null
}

export const NO_FIGURES: TrafficFigures = { requestsPerSecond: null, p95Milliseconds: null, failures: null, requests: null, pending: null, inFlight: null }

class Tally {
  #recentRequests = 0
  #requests = 0
  #failures = 0
  #pending = 0
  #inFlight = 0
  readonly #latency: Record<number, number> = {}

  add(row: ModelSample, isRecent: boolean, isLast: boolean): void {
    this.#requests += row.success + row.failure
    this.#failures += row.failure
    if (isRecent) this.#recentRequests += row.success + row.failure
    if (isLast) {
      this.#pending += row.pending
      this.#inFlight += row.inFlight
    }
    for (const [bucket, count] of Object.entries(row.latency)) this.#latency[Number(bucket)] = (this.#latency[Number(bucket)] ?? 0) + count
  }

  figures(recentSeconds: number): TrafficFigures {
    const p95 = latencyQuantile(this.#latency, 0.95)
    return {
      requestsPerSecond: this.#recentRequests / recentSeconds, p95Milliseconds: p95 === null ? null : p95 / 1e6,
      failures: this.#failures, requests: this.#requests, pending: this.#pending, inFlight: this.#inFlight,
    }
  }
}

export interface Traffic {
  readonly total: TrafficFigures
  /** Figures of one model: zeros where it was sampled doing nothing, all unknown where nothing was sampled. */
  of(model: string): TrafficFigures
  /** The same of one version of a model. */
  ofVersion(model: string, version: string): TrafficFigures
}

/** One pass over the samples (oldest first, one a second) for the whole server and every model. */
export function traffic(samples: readonly ServerSample[]): Traffic {
  const last = samples[samples.length - 1]
  if (last === undefined) return { total: NO_FIGURES, of: () => NO_FIGURES, ofVersion: () => NO_FIGURES }
  const total = new Tally()
  const byModel = new Map<string, Tally>()
  const byVersion = new Map<string, Tally>()
  let recentSeconds = 0
  for (const sample of samples) {
    if (sample.time <= last.time - WINDOW_SECONDS * 1000) continue
    const isRecent = sample.time > last.time - RATE_SECONDS * 1000
    if (isRecent) recentSeconds++
    for (const row of sample.models) {
      const tally = byModel.get(row.model) ?? new Tally()
      byModel.set(row.model, tally)
      tally.add(row, isRecent, sample === last)
      const key = `${row.model}/${row.version}`
      const ofVersion = byVersion.get(key) ?? new Tally()
      byVersion.set(key, ofVersion)
      ofVersion.add(row, isRecent, sample === last)
      total.add(row, isRecent, sample === last)
    }
  }
  const idle = new Tally()
  return {
    total: total.figures(recentSeconds), of: (model) => (byModel.get(model) ?? idle).figures(recentSeconds),
    ofVersion: (model, version) => (byVersion.get(`${model}/${version}`) ?? idle).figures(recentSeconds),
  }
}
