/** What the cards did in the window, on the cursor of the other charts: a line a card; where a card reported nothing there is a gap with its reason. */
import type { TFunction } from 'i18next'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { ChartColumn } from '../../components/chart-cursor.tsx'
import { TimeChart, type ChartSeries } from '../../components/chart-time.tsx'
import { useConsole } from '../../console-store.ts'
import { formatDecimal, UNKNOWN } from '../../lib/format.ts'
import { npuGaps } from '../../lib/npu-gaps.ts'
import type { NpuFigures, SeriesPoint } from '../../lib/sample-series.ts'
import { monitorAnnotations } from './monitor-annotations.ts'
import { useMonitor } from './monitor-store.ts'
import { BYTES_PER_GIGABYTE, cursorIndexOf, type MonitorView } from './monitor-view.ts'

/** Card 0 and 1 have these colours on every page. More cards than that are in the rows above and on Devices. */
const COLORS: readonly string[] = ['var(--c3)', 'var(--c2)', 'var(--c1)', 'var(--c7)', 'var(--c8)']

const CHARTS = [
  { key: 'aiCore', figure: 'aiCorePercent', scale: 'npuPercent', unit: '%', divisor: 1, digits: 0 },
  { key: 'npuMemory', figure: 'memoryUsedBytes', scale: 'npuMemory', unit: 'GB', divisor: BYTES_PER_GIGABYTE, digits: 1 },
  { key: 'temperature', figure: 'temperatureCelsius', scale: 'npuTemperature', unit: '°C', divisor: 1, digits: 0 },
  { key: 'power', figure: 'powerWatts', scale: 'npuPower', unit: 'W', divisor: 1, digits: 0 },
] as const

export function NpuCharts({ view }: { readonly view: MonitorView }) {
  const { t } = useTranslation('monitor')
  const activity = useConsole((state) => state.activity)
  const model = useMonitor((state) => state.model)
  const cursor = useMonitor((state) => state.cursor)
  const key = (view.latest?.npus ?? []).map(({ card }) => card).join(' ')
  const cards = useMemo(() => key.split(' ').filter((card) => card !== '').map(Number).slice(0, COLORS.length), [key])
  const series = useMemo(() => CHARTS.map((chart) => seriesOf(t, cards, chart)), [t, cards])
  const gaps = useMemo(() => CHARTS.map(({ figure }) => npuGaps(view.points, cards, figure).map(({ cards: silent, ...gap }) => (silent.length === 0 ? gap : { ...gap, label: t('npu.gap', { cards: silent.join(', ') }) }))), [t, view.points, cards])
  const annotations = useMemo(() => monitorAnnotations(activity, view.start, view.end, model, t), [activity, view.start, view.end, model, t])
  const times = useMemo(() => view.points.map((point) => point.time), [view.points])
  const cursorIndex = cursorIndexOf(times, cursor, view.start)
  const shown = cursorIndex === null ? view.newest : (view.points[cursorIndex] ?? null)
  const isSimulated = view.latest?.npus?.some((npu) => npu.isSimulated) === true
  const column = { times, start: view.start, end: view.end, cursorIndex, annotations: [], onCursor: (next: number | null) => useMonitor.setState({ cursor: next === null ? null : (times[next] ?? null) }) }
  const chart = (place: number) => {
    const { key: name, scale, unit } = CHARTS[place] ?? CHARTS[0]
    const own = series[place] ?? []
    return (
      <TimeChart key={name} title={t(`chart.${name}`)} series={own} points={view.points} start={view.start} end={view.end} scale={view.scales[scale]} unit={unit} gaps={gaps[place] ?? []} gapLabel={t('gap')}
        marks={annotations} newest={view.newest} cursorIndex={cursorIndex} summary={own.map((entry) => t('summary', { label: entry.label, now: entry.format(shown ? entry.value(shown) : null), highest: entry.format(highest(view.points, entry)) })).join(' ')} />
    )
  }
  return (
    <div className="npu-monitor-npu-charts" data-simulated={isSimulated} data-testid="npu-charts">
      <ChartColumn {...column}>{chart(0)}{chart(2)}</ChartColumn>
      <ChartColumn {...column}>{chart(1)}{chart(3)}</ChartColumn>
    </div>
  )
}

function seriesOf(t: TFunction<'monitor'>, cards: readonly number[], { figure, unit, divisor, digits }: { readonly figure: keyof NpuFigures; readonly unit: string; readonly divisor: number; readonly digits: number }): readonly ChartSeries<SeriesPoint>[] {
  return cards.map((card, place) => ({
    key: `card${card}`, label: t('common:npu.card', { card }), color: COLORS[place] ?? 'var(--c1)', ...(place === 1 ? { dash: '6 3' } : {}),
    value: (point) => { const value = point.npus[card]?.[figure] ?? null; return value === null ? null : value / divisor },
    format: (value) => (value === null ? UNKNOWN : `${formatDecimal(value, digits)} ${unit}`),
  }))
}

function highest(points: readonly SeriesPoint[], { value }: ChartSeries<SeriesPoint>): number | null {
  return points.reduce<number | null>((most, point) => { const own = value(point); return own === null ? most : Math.max(most ?? own, own) }, null)
}
