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
}

const NOTHING: TrafficFigures = { requestsPerSecond: null, p95Milliseconds: null, failures: null, requests: null, pending: null }

/** Figures of the whole server, or of one model. Samples oldest first, one a second. */
export function trafficFigures(samples: readonly ServerSample[], model?: string): TrafficFigures {
  const last = samples[samples.length - 1]
  if (last === undefined) return NOTHING
  const recent = (seconds: number) => samples.filter((sample) => sample.time > last.time - seconds * 1000)
  const rows = (sample: ServerSample): readonly ModelSample[] => model === undefined ? sample.models : sample.models.filter((row) => row.model === model)
  const rateSamples = recent(RATE_SECONDS)
  const latency: Record<number, number> = {}
  let requests = 0
  let failures = 0
  for (const row of recent(WINDOW_SECONDS).flatMap(rows)) {
    requests += row.success + row.failure
    failures += row.failure
    for (const [bucket, count] of Object.entries(row.latency)) latency[Number(bucket)] = (latency[Number(bucket)] ?? 0) + count
  }
  const p95 = latencyQuantile(latency, 0.95)
  return {
    requestsPerSecond: sum(rateSamples.flatMap(rows).map((row) => row.success + row.failure)) / rateSamples.length,
    p95Milliseconds: p95 === null ? null : p95 / 1e6,
    failures, requests,
    pending: sum(rows(last).map((row) => row.pending)),
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
