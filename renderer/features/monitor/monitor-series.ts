/** The series of each chart: colour, dash, value and wording. One colour per series on the page. */
import type { TFunction } from 'i18next'
import type { ChartSeries } from '../../components/chart-time.tsx'
import { formatCount, formatDecimal, formatMilliseconds, UNKNOWN } from '../../lib/format.ts'
import type { SeriesPoint } from '../../lib/sample-series.ts'
import { BYTES_PER_MEGABYTE } from './monitor-view.ts'

type Texts = TFunction<'monitor'>
type Series = readonly ChartSeries<SeriesPoint>[]

export interface MonitorSeries {
  readonly latency: Series
  readonly throughput: Series
  readonly split: Series
  readonly errors: Series
  readonly pending: Series
  readonly cpu: Series
  readonly memory: Series
}

const withUnit = (text: string, unit: string) => (text === UNKNOWN ? text : `${text} ${unit}`)

/** Makes the series in the language of `t`; keep the result while the language stays, charts compare it by identity. */
export function monitorSeries(t: Texts): MonitorSeries {
  const part = (key: string, color: string, own: (point: SeriesPoint) => number | null, below: readonly ((point: SeriesPoint) => number | null)[]): ChartSeries<SeriesPoint> => {
    const base = (point: SeriesPoint) => (own(point) === null ? null : below.reduce((sum, value) => sum + (value(point) ?? 0), 0))
    const value = (point: SeriesPoint) => (own(point) === null ? null : (base(point) ?? 0) + (own(point) ?? 0))
    // The header shows the part itself; the band reaches from the parts below it to their sum.
    return { key, label: t(`series.${key}`), color, base, value, format: formatMilliseconds, headerValue: own }
  }
  const queue = (point: SeriesPoint) => point.queue
  const input = (point: SeriesPoint) => point.computeInput
  const infer = (point: SeriesPoint) => point.computeInfer
  const output = (point: SeriesPoint) => point.computeOutput
  return {
    latency: [
      { key: 'p50', label: 'p50', color: 'var(--c7)', dash: '2 2', value: (point) => point.p50, format: formatMilliseconds },
      { key: 'p95', label: 'p95', color: 'var(--c1)', value: (point) => point.p95, format: formatMilliseconds },
      { key: 'p99', label: 'p99', color: 'var(--c6)', dash: '6 3', value: (point) => point.p99, format: formatMilliseconds },
    ],
    throughput: [{ key: 'success', label: t('series.success'), color: 'var(--c1)', base: 'ground', value: (point) => point.requestsPerSecond, format: (value) => withUnit(rate(value), t('unit.requestsPerSecond')) }],
    split: [
      part('queue', 'var(--c2)', queue, []), part('computeInput', 'var(--c3)', input, [queue]),
      part('computeInfer', 'var(--c1)', infer, [queue, input]), part('computeOutput', 'var(--c8)', output, [queue, input, infer]),
    ],
    errors: [{ key: 'errors', label: t('series.errors'), color: 'var(--npuFailed)', base: 'ground', value: (point) => point.failuresPerSecond, format: (value) => withUnit(rate(value), t('unit.perSecond')) }],
    pending: [{ key: 'pending', label: t('series.pending'), color: 'var(--c1)', base: 'ground', value: (point) => point.pending, format: formatCount }],
    cpu: [{ key: 'cpu', label: t('series.engine'), color: 'var(--c1)', base: 'ground', value: (point) => point.cpuCores, format: (value) => withUnit(formatDecimal(value, 2), t('unit.cores')) }],
    memory: [{ key: 'memory', label: t('series.engine'), color: 'var(--c1)', base: 'ground', value: (point) => (point.residentBytes === null ? null : point.residentBytes / BYTES_PER_MEGABYTE), format: (value) => withUnit(formatDecimal(value, 0), 'MB') }],
  }
}

/** Whole where it is whole (one second a point), else with the digits that matter. */
function rate(value: number | null): string {
  if (value === null) return UNKNOWN
  return Number.isInteger(value) ? formatCount(value) : formatDecimal(value, value < 1 ? 2 : 1)
}
