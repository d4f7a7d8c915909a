/** What the Monitor page shows at one moment, computed once a second from the samples kept: pure, apart from the scales that hold. */
import type { ServerSample } from '../../../server-core/contract/statistics.ts'
import { HeldScale, type ValueScale } from '../../lib/chart-scale.ts'
import { batchSizeBars, pointOf, sampleGaps, secondRows, seriesOf, stepSecondsFor, type NpuFigures, type SeriesPoint, type SpanCache } from '../../lib/sample-series.ts'

export type WindowSeconds = 60 | 300 | 900 | 3600
export const WINDOWS: readonly WindowSeconds[] = [60, 300, 900, 3600]

export const BYTES_PER_MEGABYTE = 2 ** 20
export const BYTES_PER_GIGABYTE = 2 ** 30

export interface MonitorScales {
  readonly latency: ValueScale
  readonly throughput: ValueScale
  readonly split: ValueScale
  readonly errors: ValueScale
  readonly pending: ValueScale
  readonly cpu: ValueScale
  readonly memory: ValueScale
  readonly npuPercent: ValueScale
  /** In GB. */
  readonly npuMemory: ValueScale
  readonly npuTemperature: ValueScale
  readonly npuPower: ValueScale
}

export interface MonitorView {
  /**
   * What is drawn is (start, end], in milliseconds since the epoch. It moves by whole pixels: where one stands for several seconds, start,
   * end, points and gaps keep their identity for that long, and the charts need no work.
   */
  readonly start: number
  readonly end: number
  readonly stepSeconds: number
  readonly points: readonly SeriesPoint[]
  /** The last span up to now, whatever is drawn; null: the window is empty. */
  readonly newest: SeriesPoint | null
  /** One row per second; empty while the table is not shown. */
  readonly rows: readonly SeriesPoint[]
  readonly gaps: readonly { readonly from: number; readonly to: number }[]
  readonly batchSizes: readonly { readonly size: number; readonly executions: number }[]
  /** The whole window as one point. */
  readonly total: SeriesPoint
  readonly latest: ServerSample | null
  /** Models with traffic in the window, by name. */
  readonly models: readonly string[]
  readonly scales: MonitorScales
}

export interface MonitorQuery {
  readonly end: number
  readonly windowSeconds: WindowSeconds
  readonly model: string
  /** Of the plot, in CSS pixels. */
  readonly plotWidth: number
  readonly hasRows: boolean
}

/** Computes views and remembers between them what need not be computed again. */
export class MonitorViewBuilder {
  readonly #scales = {
    latency: new HeldScale(10), throughput: new HeldScale(10), split: new HeldScale(10), errors: new HeldScale(2), pending: new HeldScale(4, { whole: true }), cpu: new HeldScale(1), memory: new HeldScale(200),
    npuPercent: new HeldScale(100), npuMemory: new HeldScale(1), npuTemperature: new HeldScale(100), npuPower: new HeldScale(20),
  }
  #cache: SpanCache = new Map()
  #rowCache: SpanCache = new Map()
  #cacheKey = ''
  #drawn: Pick<MonitorView, 'start' | 'end' | 'points' | 'gaps'> | null = null

  build(samples: readonly ServerSample[], query: MonitorQuery): MonitorView {
    const { end, windowSeconds, model } = query
    const start = end - windowSeconds * 1000
    const stepSeconds = stepSecondsFor(windowSeconds, query.plotWidth)
    const key = `${windowSeconds} ${stepSeconds} ${model}`
    if (key !== this.#cacheKey) {
      this.#cacheKey = key
      this.#drawn = null
      this.#cache = new Map()
      this.#rowCache = new Map()
      for (const scale of Object.values(this.#scales)) scale.reset()
    }
    const { points, total } = seriesOf(samples, { start, end, stepSeconds, model }, this.#cache)
    const most = (value: (point: SeriesPoint) => number | null) => points.reduce((max, point) => Math.max(max, value(point) ?? 0), 0)
    const scales: MonitorScales = {
      latency: this.#scales.latency.next(most((point) => point.p99), end),
      throughput: this.#scales.throughput.next(most((point) => point.requestsPerSecond), end),
      split: this.#scales.split.next(most(meanTotal), end),
      errors: this.#scales.errors.next(most((point) => point.failuresPerSecond), end),
      pending: this.#scales.pending.next(most((point) => point.pending), end),
      cpu: this.#scales.cpu.next(most((point) => point.cpuCores), end),
      npuPercent: this.#scales.npuPercent.next(100, end),
      npuMemory: this.#scales.npuMemory.next(Math.max(0, ...(samples[samples.length - 1]?.npus ?? []).map((npu) => npu.memoryTotalBytes ?? npu.memoryUsedBytes ?? 0)) / BYTES_PER_GIGABYTE, end),
      npuTemperature: this.#scales.npuTemperature.next(most((point) => mostOf(point, 'temperatureCelsius')), end),
      npuPower: this.#scales.npuPower.next(most((point) => mostOf(point, 'powerWatts')), end),
      memory: this.#scales.memory.next(most((point) => point.residentBytes) / BYTES_PER_MEGABYTE, end),
    }
    const secondsPerPixel = Math.max(1, Math.floor(windowSeconds / query.plotWidth))
    const moved = this.#drawn === null ? Infinity : Math.abs(end - this.#drawn.end) / 1000
    if (this.#drawn === null || moved >= secondsPerPixel || moved === 0) this.#drawn = { start, end, points, gaps: sampleGaps(samples, start, end) }
    return {
      ...this.#drawn, stepSeconds, scales, newest: points[points.length - 1] ?? null,
      rows: query.hasRows ? secondRows(samples, start, end, model, this.#rowCache) : [],
      batchSizes: batchSizeBars(total),
      total: pointOf(total, end),
      latest: samples[samples.length - 1] ?? null,
      models: [...new Set(samples.flatMap((sample) => sample.models.map((entry) => entry.model)))].sort(),
    }
  }
}

/** Of the cards; null: none reports it. */
function mostOf(point: SeriesPoint, figure: keyof NpuFigures): number | null {
  return Object.values(point.npus).reduce<number | null>((most, card) => (card[figure] === null ? most : Math.max(most ?? 0, card[figure])), null)
}

/** Mean time of a request inside the server: the sum of its parts; null: unknown. */
export function meanTotal(point: SeriesPoint): number | null {
  return point.queue === null ? null : point.queue + (point.computeInput ?? 0) + (point.computeInfer ?? 0) + (point.computeOutput ?? 0)
}

/**
 * The point that the cursor stands on; null: none, or the window has left it behind. The newest point lies at the window's end until its step is
 * whole and moves on with it: a cursor that was put on it stays in that step.
 */
export function cursorIndexOf(times: readonly number[], cursor: number | null, start: number): number | null {
  if (cursor === null || cursor < start) return null
  const index = times.findIndex((time) => time >= cursor)
  return index < 0 ? null : index
}
