/**
 * Per-second samples as the points of charts and the rows of tables. Unknown is null, never 0: a second without a sample, a latency
 * without a request, a memory figure that was not reported. Percentiles come from merged histograms, so a point over many seconds or
 * models is as right as one over a single second.
 */
import { latencyQuantile, type ModelSample, type ServerSample } from '../../server-core/contract/statistics.ts'

/** What happened in (time - span, time]. Durations in milliseconds. */
export interface SeriesPoint {
  /** Milliseconds since the epoch: the end of the span. */
  readonly time: number
  /** Seconds that were sampled inside the span; 0: nothing is known. */
  readonly seconds: number
  /** Successful requests, counted; null: unknown. */
  readonly requests: number | null
  readonly failures: number | null
  readonly requestsPerSecond: number | null
  readonly failuresPerSecond: number | null
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
  /** Mean per successful request; null: unknown, or no request. */
  readonly queue: number | null
  readonly computeInput: number | null
  readonly computeInfer: number | null
  readonly computeOutput: number | null
  /** Mean total batch size per execution; null: no execution. */
  readonly meanBatch: number | null
  /** Waiting requests at the end of the span. */
  readonly pending: number | null
  /** Of the server process, whatever model is selected. */
  readonly cpuCores: number | null
  readonly residentBytes: number | null
}

/** `model`: '' merges all. */
export interface SeriesQuery {
  readonly start: number
  readonly end: number
  readonly stepSeconds: number
  readonly model: string
}

type Counts = Record<number, number>

function addCounts(target: Counts, added: Readonly<Record<number, number>>): void {
  for (const key in added) target[key] = (target[key] ?? 0) + (added[key] ?? 0)
}

function matching(sample: ServerSample, model: string): readonly ModelSample[] {
  return model === '' ? sample.models : sample.models.filter((entry) => entry.model === model)
}

/** One point over all given samples. */
export function summarise(samples: readonly ServerSample[], time: number, model: string): SeriesPoint {
  const latency: Counts = {}
  let requests = 0, failures = 0, inferences = 0, executions = 0, queue = 0, input = 0, infer = 0, output = 0
  let cpu = 0, cpuSamples = 0, resident = null as number | null
  for (const sample of samples) {
    for (const entry of matching(sample, model)) {
      requests += entry.success
      failures += entry.failure
      inferences += entry.inferences
      executions += entry.executions
      queue += entry.queueNanoseconds
      input += entry.computeInputNanoseconds
      infer += entry.computeInferNanoseconds
      output += entry.computeOutputNanoseconds
      addCounts(latency, entry.latency)
    }
    if (sample.processCpuCores !== null) {
      cpu += sample.processCpuCores
      cpuSamples++
    }
    if (sample.processResidentBytes !== null) resident = Math.max(resident ?? 0, sample.processResidentBytes)
  }
  const seconds = samples.length
  const isKnown = seconds > 0
  const last = samples[seconds - 1]
  const perRequest = (nanoseconds: number) => (requests > 0 ? nanoseconds / requests / 1e6 : null)
  const quantile = (q: number) => {
    const nanoseconds = latencyQuantile(latency, q)
    return nanoseconds === null ? null : nanoseconds / 1e6
  }
  return {
    time, seconds,
    requests: isKnown ? requests : null,
    failures: isKnown ? failures : null,
    requestsPerSecond: isKnown ? requests / seconds : null,
    failuresPerSecond: isKnown ? failures / seconds : null,
    p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99),
    queue: perRequest(queue), computeInput: perRequest(input), computeInfer: perRequest(infer), computeOutput: perRequest(output),
    meanBatch: executions > 0 ? inferences / executions : null,
    pending: last ? matching(last, model).reduce((sum, entry) => sum + entry.pending, 0) : null,
    cpuCores: cpuSamples > 0 ? cpu / cpuSamples : null,
    residentBytes: resident,
  }
}

/**
 * One point per step. Steps are aligned to the clock, so points keep their value while the window moves; the last one may be incomplete
 * and lies at the window's end. `cache` (kept by the caller, one per step and model) saves the work for spans that did not change.
 */
export function seriesPoints(samples: readonly ServerSample[], query: SeriesQuery, cache: Map<number, SeriesPoint> = new Map()): SeriesPoint[] {
  const step = query.stepSeconds * 1000
  const points: SeriesPoint[] = []
  let next = 0
  for (let end = Math.ceil((query.start + 1) / step) * step; end < query.end + step; end += step) {
    const first = next
    while ((samples[next]?.time ?? Infinity) <= end) next++
    const cached = cache.get(end)
    const count = next - first
    const isWhole = end <= query.end && end - step >= query.start
    if (isWhole && cached && cached.seconds === count) {
      points.push(cached)
      continue
    }
    const point = summarise(samples.slice(first, next), Math.min(end, query.end), query.model)
    points.push(point)
    if (isWhole) cache.set(end, point)
  }
  for (const time of cache.keys()) if (time < query.start) cache.delete(time)
  return points
}

/** One row per second of the window, oldest first; seconds without a sample are there with unknown values. */
export function secondRows(samples: readonly ServerSample[], start: number, end: number, model: string, cache?: Map<number, SeriesPoint>): SeriesPoint[] {
  return seriesPoints(samples, { start, end, stepSeconds: 1, model }, cache)
}

/** Stretches (from, to] without samples, at least one whole second long. */
export function sampleGaps(samples: readonly ServerSample[], start: number, end: number): { readonly from: number; readonly to: number }[] {
  const gaps: { from: number; to: number }[] = []
  let known = start
  for (const sample of samples) {
    if (sample.time - 1000 - known >= 1000) gaps.push({ from: known, to: sample.time - 1000 })
    known = sample.time
  }
  if (end - known >= 1000) gaps.push({ from: known, to: end })
  return gaps
}

/** Executions by total batch size over all samples, smallest size first. */
export function batchSizeHistogram(samples: readonly ServerSample[], model: string): { readonly size: number; readonly executions: number }[] {
  const counts: Counts = {}
  for (const sample of samples) for (const entry of matching(sample, model)) addCounts(counts, entry.batchSizes)
  return Object.keys(counts).map(Number).sort((a, b) => a - b).map((size) => ({ size, executions: counts[size] ?? 0 })).filter((bar) => bar.executions > 0)
}

const STEPS = [1, 2, 5, 10, 15, 30, 60] as const

/** Seconds per point so that there is at most one point per two pixels. */
export function stepSecondsFor(windowSeconds: number, plotWidth: number): number {
  const most = Math.max(1, Math.floor(plotWidth / 2))
  return STEPS.find((step) => windowSeconds / step <= most) ?? 60
}
