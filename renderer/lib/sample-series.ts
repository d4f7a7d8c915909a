/**
 * Per-second samples as the points of charts and the rows of tables. Unknown is null, never 0: a second without a sample, a latency
 * without a request, a memory figure that was not reported. Percentiles come from merged histograms, so a point over many seconds or
 * models is as right as one over a single second.
 */
import { latencyQuantile, type ModelSample, type NpuSample, type ServerSample } from '../../server-core/contract/statistics.ts'

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
  /** By card, whatever model is selected: the means of what was reported. A card that was not there is not in it. */
  readonly npus: Readonly<Record<number, NpuFigures>>
}

/** Figures of a card that are drawn over time; null: not reported. */
export const NPU_FIGURES = ['aiCorePercent', 'memoryUsedBytes', 'temperatureCelsius', 'powerWatts'] as const satisfies readonly (keyof NpuSample)[]
export type NpuFigures = Readonly<Record<(typeof NPU_FIGURES)[number], number | null>>

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

/** Everything counted over a span, mergeable: what points and totals are made of. */
export interface Tally {
  readonly seconds: number
  readonly requests: number
  readonly failures: number
  readonly inferences: number
  readonly executions: number
  readonly queueNanoseconds: number
  readonly computeInputNanoseconds: number
  readonly computeInferNanoseconds: number
  readonly computeOutputNanoseconds: number
  readonly latency: Readonly<Counts>
  readonly batchSizes: Readonly<Counts>
  readonly cpuCores: { readonly sum: number; readonly count: number }
  readonly residentBytes: number | null
  readonly pending: number | null
  readonly npus: NpuTally
}

interface Mean { readonly sum: number; readonly count: number }
type NpuTally = Readonly<Record<number, Readonly<Record<(typeof NPU_FIGURES)[number], Mean>>>>
const NOTHING: Mean = { sum: 0, count: 0 }
const addMeans = (a: Mean, b: Mean): Mean => ({ sum: a.sum + b.sum, count: a.count + b.count })
const ofEach = <T>(value: (figure: (typeof NPU_FIGURES)[number]) => T) => Object.fromEntries(NPU_FIGURES.map((figure) => [figure, value(figure)])) as Record<(typeof NPU_FIGURES)[number], T>

function npuTally(sample: ServerSample): NpuTally {
  return Object.fromEntries((sample.npus ?? []).map((npu) => [npu.card, ofEach((figure) => { const value = npu[figure]; return value === null ? NOTHING : { sum: value, count: 1 } })]))
}

function mergeNpus(a: NpuTally, b: NpuTally): NpuTally {
  const merged: Record<number, NpuTally[number]> = { ...a }
  for (const [card, added] of Object.entries(b)) {
    const known = merged[Number(card)]
    merged[Number(card)] = known === undefined ? added : ofEach((figure) => addMeans(known[figure], added[figure]))
  }
  return merged
}

const EMPTY: Tally = {
  seconds: 0, requests: 0, failures: 0, inferences: 0, executions: 0, queueNanoseconds: 0, computeInputNanoseconds: 0, computeInferNanoseconds: 0, computeOutputNanoseconds: 0,
  latency: {}, batchSizes: {}, cpuCores: { sum: 0, count: 0 }, residentBytes: null, pending: null, npus: {},
}

/** Counts over all given samples, oldest first. */
export function tallyOf(samples: readonly ServerSample[], model: string): Tally {
  return mergeTallies(samples.map((sample) => {
    const rows = matching(sample, model)
    const sum = (value: (row: ModelSample) => number) => rows.reduce((total, row) => total + value(row), 0)
    const latency: Counts = {}
    const batchSizes: Counts = {}
    for (const row of rows) {
      addCounts(latency, row.latency)
      addCounts(batchSizes, row.batchSizes)
    }
    return {
      seconds: 1, latency, batchSizes, requests: sum((row) => row.success), failures: sum((row) => row.failure), inferences: sum((row) => row.inferences), executions: sum((row) => row.executions),
      queueNanoseconds: sum((row) => row.queueNanoseconds), computeInputNanoseconds: sum((row) => row.computeInputNanoseconds),
      computeInferNanoseconds: sum((row) => row.computeInferNanoseconds), computeOutputNanoseconds: sum((row) => row.computeOutputNanoseconds),
      cpuCores: sample.processCpuCores === null ? EMPTY.cpuCores : { sum: sample.processCpuCores, count: 1 }, residentBytes: sample.processResidentBytes, pending: sum((row) => row.pending), npus: npuTally(sample),
    }
  }))
}

/** Sums of counts; the highest memory; of `pending` the last. Tallies oldest first. */
export function mergeTallies(tallies: readonly Tally[]): Tally {
  const latency: Counts = {}
  const batchSizes: Counts = {}
  let merged = EMPTY
  for (const tally of tallies) {
    addCounts(latency, tally.latency)
    addCounts(batchSizes, tally.batchSizes)
    merged = {
      seconds: merged.seconds + tally.seconds, requests: merged.requests + tally.requests, failures: merged.failures + tally.failures,
      inferences: merged.inferences + tally.inferences, executions: merged.executions + tally.executions,
      queueNanoseconds: merged.queueNanoseconds + tally.queueNanoseconds, computeInputNanoseconds: merged.computeInputNanoseconds + tally.computeInputNanoseconds,
      computeInferNanoseconds: merged.computeInferNanoseconds + tally.computeInferNanoseconds, computeOutputNanoseconds: merged.computeOutputNanoseconds + tally.computeOutputNanoseconds,
      latency, batchSizes,
      cpuCores: { sum: merged.cpuCores.sum + tally.cpuCores.sum, count: merged.cpuCores.count + tally.cpuCores.count },
      residentBytes: tally.residentBytes === null ? merged.residentBytes : Math.max(merged.residentBytes ?? 0, tally.residentBytes),
      pending: tally.pending ?? merged.pending,
      npus: mergeNpus(merged.npus, tally.npus),
    }
  }
  return merged
}

/** The figures of a tally: rates, percentiles and means. */
export function pointOf(tally: Tally, time: number): SeriesPoint {
  const { seconds, requests, failures } = tally
  const isKnown = seconds > 0
  const perRequest = (nanoseconds: number) => (requests > 0 ? nanoseconds / requests / 1e6 : null)
  const quantile = (q: number) => {
    const nanoseconds = latencyQuantile(tally.latency, q)
    return nanoseconds === null ? null : nanoseconds / 1e6
  }
  return {
    time, seconds,
    requests: isKnown ? requests : null,
    failures: isKnown ? failures : null,
    requestsPerSecond: isKnown ? requests / seconds : null,
    failuresPerSecond: isKnown ? failures / seconds : null,
    p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99),
    queue: perRequest(tally.queueNanoseconds), computeInput: perRequest(tally.computeInputNanoseconds),
    computeInfer: perRequest(tally.computeInferNanoseconds), computeOutput: perRequest(tally.computeOutputNanoseconds),
    meanBatch: tally.executions > 0 ? tally.inferences / tally.executions : null,
    pending: tally.pending,
    cpuCores: tally.cpuCores.count > 0 ? tally.cpuCores.sum / tally.cpuCores.count : null,
    residentBytes: tally.residentBytes,
    npus: Object.fromEntries(Object.entries(tally.npus).map(([card, means]) => [card, ofEach((figure) => (means[figure].count === 0 ? null : means[figure].sum / means[figure].count))])),
  }
}

/** One point over all given samples. */
export function summarise(samples: readonly ServerSample[], time: number, model: string): SeriesPoint {
  return pointOf(tallyOf(samples, model), time)
}

/** Spans already counted, by the time of their end. */
export type SpanCache = Map<number, { readonly tally: Tally; readonly point: SeriesPoint }>

export interface Series {
  readonly points: SeriesPoint[]
  /** The whole window. */
  readonly total: Tally
}

/**
 * One point per step. Steps are aligned to the clock, so points keep their value while the window moves; the first and the last one may be
 * incomplete, and the last one lies at the window's end. `cache` (kept by the caller, one per step and model) saves the work for spans that
 * did not change.
 */
export function seriesOf(samples: readonly ServerSample[], query: SeriesQuery, cache: SpanCache = new Map()): Series {
  const step = query.stepSeconds * 1000
  const points: SeriesPoint[] = []
  const tallies: Tally[] = []
  let next = 0
  for (let end = Math.ceil((query.start + 1) / step) * step; end < query.end + step; end += step) {
    const first = next
    while ((samples[next]?.time ?? Infinity) <= end) next++
    const isWhole = end <= query.end && end - step >= query.start
    const known = isWhole ? cache.get(end) : undefined
    const span = known?.tally.seconds === next - first ? known : spanOf(samples.slice(first, next), Math.min(end, query.end), query.model)
    if (isWhole) cache.set(end, span)
    points.push(span.point)
    tallies.push(span.tally)
  }
  for (const time of cache.keys()) if (time < query.start) cache.delete(time)
  return { points, total: mergeTallies(tallies) }
}

function spanOf(samples: readonly ServerSample[], time: number, model: string) {
  const tally = tallyOf(samples, model)
  return { tally, point: pointOf(tally, time) }
}

/** The points of `seriesOf` alone. */
export function seriesPoints(samples: readonly ServerSample[], query: SeriesQuery, cache?: SpanCache): SeriesPoint[] {
  return seriesOf(samples, query, cache).points
}

/** One row per second of the window, oldest first; seconds without a sample are there with unknown values. */
export function secondRows(samples: readonly ServerSample[], start: number, end: number, model: string, cache?: SpanCache): SeriesPoint[] {
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

/** Executions by total batch size, smallest size first. */
export function batchSizeBars(tally: Tally): { readonly size: number; readonly executions: number }[] {
  return Object.entries(tally.batchSizes).map(([size, executions]) => ({ size: Number(size), executions })).filter((bar) => bar.executions > 0).sort((a, b) => a.size - b.size)
}

const STEPS = [1, 2, 5, 10, 15, 30, 60] as const

/** Seconds per point so that there is at most one point per two pixels. */
export function stepSecondsFor(windowSeconds: number, plotWidth: number): number {
  const most = Math.max(1, Math.floor(plotWidth / 2))
  return STEPS.find((step) => windowSeconds / step <= most) ?? 60
}
