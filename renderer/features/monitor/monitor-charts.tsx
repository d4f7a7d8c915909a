/** The charts of the Monitor page: two columns on one cursor. */
import type { TFunction } from 'i18next'
import { useMemo } from 'react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { BarsChart } from '../../components/chart-bars.tsx'
import { ChartColumn } from '../../components/chart-cursor.tsx'
import { TimeChart, type ChartSeries } from '../../components/chart-time.tsx'
import { StatePill } from '../../components/state-pill.tsx'
import { useConsole } from '../../console-store.ts'
import type { ValueScale } from '../../lib/chart-scale.ts'
import { formatClock, formatCount, formatDecimal, formatMilliseconds } from '../../lib/format.ts'
import type { SeriesPoint } from '../../lib/sample-series.ts'
import { monitorAnnotations } from './monitor-annotations.ts'
import { monitorSeries } from './monitor-series.ts'
import { useMonitor } from './monitor-store.ts'
import { cursorIndexOf, type MonitorView } from './monitor-view.ts'

export function MonitorCharts({ view }: { readonly view: MonitorView }) {
  const { t } = useTranslation('monitor')
  const activity = useConsole((state) => state.activity)
  const model = useMonitor((state) => state.model)
  const cursor = useMonitor((state) => state.cursor)
  const series = useMemo(() => monitorSeries(t), [t])
  const annotations = useMemo(() => monitorAnnotations(activity, view.start, view.end, model, t), [activity, view.start, view.end, model, t])
  const times = useMemo(() => view.points.map((point) => point.time), [view.points])
  const cursorIndex = cursorIndexOf(times, cursor, view.start)
  const shown = cursorIndex === null ? view.newest : (view.points[cursorIndex] ?? null)
  // Latency and throughput come from simulated times too; what the process takes is real.
  const isSimulated = view.latest?.npus?.some((npu) => npu.isSimulated) === true

  const chart = (key: keyof typeof series & keyof typeof view.scales, unit: string, options: { readonly note?: string; readonly hasTimeAxis?: boolean } = {}): ReactNode => (
    <TimeChart title={t(`chart.${key}`)} series={series[key]} points={view.points} start={view.start} end={view.end} scale={view.scales[key] as ValueScale} unit={unit} gaps={view.gaps}
      gapLabel={t('gap')} marks={annotations} newest={view.newest} cursorIndex={cursorIndex} summary={summaryOf(t, series[key], view, shown)} {...options} />
  )
  const column = {
    times, start: view.start, end: view.end, cursorIndex, annotations,
    onCursor: (next: number | null) => useMonitor.setState({ cursor: next === null ? null : (times[next] ?? null) }),
  }
  return (
    <div className="npu-monitor-columns">
      <div className="npu-monitor-half" data-simulated={isSimulated}>
        <div className="npu-row npu-monitor-half-head"><h2>{t('column.serving')}</h2><span className="npu-quiet">{model === '' ? t('filter.all') : model} · {t('perPoint', { count: view.stepSeconds })}</span>{isSimulated && <><StatePill kind="simulated" isPlain /><span className="npu-quiet">{t('column.simulatedTimes')}</span></>}</div>
        <ChartColumn {...column} sliderLabel={t('cursor')} {...(shown ? { sliderText: `${formatClock(shown.time)}, ${wordsAt(t, shown)}` } : {})}>
          {chart('latency', 'ms')}
          {chart('throughput', '/s')}
          {chart('split', 'ms')}
          {chart('errors', '/s', { hasTimeAxis: true })}
        </ChartColumn>
      </div>
      <div className="npu-monitor-half">
        <div className="npu-row npu-monitor-half-head"><h2>{t('column.engine')}</h2><span className="npu-quiet">{t('column.engineNote')}</span></div>
        <ChartColumn {...column}>
          {chart('pending', '')}
          {chart('cpu', t('unit.coresAxis', { count: view.scales.cpu.top }))}
          {chart('memory', 'MB', { hasTimeAxis: true })}
        </ChartColumn>
        <BarsChart title={t('chart.batch')} note={t('chart.batchNote')} color="var(--c1)" verdict={<BatchVerdict view={view} />}
          bars={view.batchSizes.map((bar) => ({ label: String(bar.size), value: bar.executions }))} />
      </div>
      <ul className="npu-visually-hidden" aria-label={t('annotation.list')}>{annotations.map((entry) => <li key={entry.id}>{formatClock(entry.time)} {entry.text}</li>)}</ul>
    </div>
  )
}

type Texts = TFunction<'monitor'>

function wordsAt(t: Texts, point: SeriesPoint): string {
  if (point.requests === null) return t('gap')
  const { requests, failures } = point
  return t('at', { requests: t('requests', { count: requests, number: formatCount(requests) }), p95: formatMilliseconds(point.p95), failures: t('errors', { count: failures ?? 0, number: formatCount(failures) }) })
}

/** "Latency, last 5 min: p50 now 5.7 ms, highest 9.8 ms; ..." */
function summaryOf(t: Texts, series: readonly ChartSeries<SeriesPoint>[], view: MonitorView, shown: SeriesPoint | null): string {
  return series.map((entry) => {
    const own = entry.headerValue ?? entry.value
    const values = view.points.flatMap((point) => own(point) ?? [])
    return t('summary', { label: entry.label, now: entry.format(shown ? own(shown) : null), highest: entry.format(values.length === 0 ? null : Math.max(...values)) })
  }).join(' ')
}

function BatchVerdict({ view }: { readonly view: MonitorView }) {
  const { t } = useTranslation('monitor')
  const requests = view.batchSizes.reduce((sum, bar) => sum + bar.executions * bar.size, 0)
  if (requests === 0) return <>{t('batch.none')}</>
  const batched = view.batchSizes.filter((bar) => bar.size > 1).reduce((sum, bar) => sum + bar.executions * bar.size, 0)
  return <>{t(batched === 0 ? 'batch.single' : 'batch.batched', { mean: formatDecimal(view.total.meanBatch, 1), share: formatDecimal((batched / requests) * 100, 0) })}</>
}
