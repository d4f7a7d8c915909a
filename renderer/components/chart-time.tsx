/**
 * One chart over time: a header with the value of each series (at the cursor, else now), lines or bands on a fixed y axis of 48 px, gaps
 * where nothing is known. It draws what it is given and holds no data; the cursor itself is drawn by `ChartCursor` across all charts.
 */
import { memo } from 'react'
import { Area, CartesianGrid, ComposedChart, Line, ReferenceArea, ReferenceLine, XAxis, YAxis } from 'recharts'
import type { ValueScale } from '../lib/chart-scale.ts'
import { timeTicks } from '../lib/chart-scale.ts'
import { formatClock } from '../lib/format.ts'
import { useElementSize } from './use-element-size.ts'
import './chart.css'

export const CHART_AXIS_WIDTH = 48
export const CHART_RIGHT_MARGIN = 8
const TOP_MARGIN = 8
const BOTTOM_MARGIN = 6
const TIME_AXIS_HEIGHT = 20

export interface ChartSeries<Point> {
  readonly key: string
  readonly label: string
  /** A CSS colour: `var(--c1)`. */
  readonly color: string
  /** `stroke-dasharray`; absent: solid. */
  readonly dash?: string
  /** Value in the unit of the axis; null: unknown. */
  readonly value: (point: Point) => number | null
  /** A band from this value up to `value`, for stacked shares; 'ground': a tint from 0. */
  readonly base?: 'ground' | ((point: Point) => number | null)
  /** What the header shows, where that is not `value`: a part of a stack by itself. */
  readonly headerValue?: (point: Point) => number | null
  /** The value as text, with its unit, for the header. */
  readonly format: (value: number | null) => string
}

export interface ChartMark {
  readonly time: number
  readonly color: string
}

export interface TimeChartProps<Point extends { readonly time: number }> {
  readonly title: string
  readonly note?: string
  /** One sentence for screen readers: what the chart shows now. */
  readonly summary: string
  readonly series: readonly ChartSeries<Point>[]
  readonly points: readonly Point[]
  readonly start: number
  readonly end: number
  readonly scale: ValueScale
  /** Written on the top tick. */
  readonly unit: string
  readonly gaps: readonly { readonly from: number; readonly to: number }[]
  /** Stands in a gap that is wide enough. */
  readonly gapLabel: string
  readonly marks: readonly ChartMark[]
  /** Index of the point under the cursor; null: none. */
  readonly cursorIndex: number | null
  readonly hasTimeAxis?: boolean
}

/** A time as a share of the plot's width. */
export function timeShare(time: number, start: number, end: number): number {
  return (time - start) / (end - start)
}

export function TimeChart<Point extends { readonly time: number }>(props: TimeChartProps<Point>) {
  const { title, note, summary, series, points, cursorIndex, hasTimeAxis = false } = props
  const [plotRef, size] = useElementSize<HTMLDivElement>()
  const shown = points[cursorIndex ?? points.length - 1]
  return (
    <section className="npu-chart" aria-label={title}>
      <div className="npu-chart-head">
        <h3>{title}</h3>{note !== undefined && <span className="npu-quiet">{note}</span>}
        <span className="npu-grow" />
        {series.map((entry) => (
          <span key={entry.key} className="npu-chart-value">
            <Swatch color={entry.color} dash={entry.dash} isBand={typeof entry.base === 'function'} />{entry.label} <b>{entry.format(shown ? (entry.headerValue ?? entry.value)(shown) : null)}</b>
          </span>
        ))}
      </div>
      <p className="npu-visually-hidden">{summary}</p>
      <div className="npu-chart-plot" ref={plotRef} aria-hidden="true">
        {size.width > 80 && size.height > 24 && <Plot {...props} width={size.width} height={size.height} hasTimeAxis={hasTimeAxis} />}
        {size.width > 80 && shown && cursorIndex !== null && <CursorDots {...props} width={size.width} height={size.height} hasTimeAxis={hasTimeAxis} point={shown} />}
      </div>
    </section>
  )
}

function Swatch({ color, dash, isBand }: { readonly color: string; readonly dash: string | undefined; readonly isBand: boolean }) {
  return <svg width="14" height="8" aria-hidden="true"><line x1="0" x2="14" y1="4" y2="4" stroke={color} strokeWidth={isBand ? 8 : 2.5} strokeDasharray={dash} /></svg>
}

interface Sized { readonly width: number; readonly height: number; readonly hasTimeAxis: boolean }

/** Memoised: a moving cursor does not draw the lines again. */
const Plot = memo(PlotInner, (before, after) =>
  before.points === after.points && before.scale === after.scale && before.width === after.width && before.height === after.height &&
  before.gaps === after.gaps && before.marks === after.marks && before.series === after.series && before.end === after.end && before.start === after.start && before.unit === after.unit) as typeof PlotInner

function PlotInner<Point extends { readonly time: number }>({ series, points, start, end, scale, unit, gaps, gapLabel, marks, width, height, hasTimeAxis }: TimeChartProps<Point> & Sized) {
  const plotWidth = width - CHART_AXIS_WIDTH - CHART_RIGHT_MARGIN
  const hasSeconds = end - start <= 120_000
  return (
    <>
      <ComposedChart width={width} height={height} data={points as Point[]} margin={{ top: TOP_MARGIN, right: CHART_RIGHT_MARGIN, bottom: hasTimeAxis ? 0 : BOTTOM_MARGIN, left: 0 }} accessibilityLayer={false} style={{ pointerEvents: 'none' }}>
        <CartesianGrid vertical={false} stroke="var(--npuGrid)" />
        <XAxis dataKey="time" type="number" domain={[start, end]} allowDataOverflow ticks={timeTicks(start, end, 6)} height={TIME_AXIS_HEIGHT} hide={!hasTimeAxis} axisLine={false} tickLine={false} tickMargin={4}
          tick={{ fontSize: 11, fill: 'var(--npuAxis)' }} interval={0} tickFormatter={(time: number) => (hasSeconds ? formatClock(time) : formatClock(time).slice(0, 5))} />
        <YAxis width={CHART_AXIS_WIDTH} domain={[0, scale.top]} allowDataOverflow ticks={[...scale.ticks]} axisLine={false} tickLine={false} interval={0} tick={{ fontSize: 11, fill: 'var(--npuAxis)' }}
          tickFormatter={(value: number) => (value === scale.top ? `${tickText(value)}${unit === '' ? '' : `\u00a0${unit}`}` : tickText(value))} />
        {gaps.map((gap) => (
          <ReferenceArea key={gap.from} x1={gap.from} x2={gap.to} fill="var(--npuGrid)" fillOpacity={0.7} ifOverflow="hidden"
            {...(timeShare(gap.to - gap.from, 0, end - start) * plotWidth > 56 && height > 50 ? { label: { value: gapLabel, fill: 'var(--colorNeutralForeground2)', fontSize: 11 } } : {})} />
        ))}
        {marks.map((mark) => <ReferenceLine key={`${mark.time}${mark.color}`} x={mark.time} stroke={mark.color} strokeDasharray="3 3" ifOverflow="hidden" />)}
        {series.map((entry) => (entry.base === undefined
          ? <Line key={entry.key} dataKey={(point: Point) => entry.value(point)} stroke={entry.color} strokeWidth={1.5} {...(entry.dash === undefined ? {} : { strokeDasharray: entry.dash })} dot={false} activeDot={false} connectNulls={false} isAnimationActive={false} type="linear" />
          : <Area key={entry.key} dataKey={(point: Point) => bandOf(entry, point)} stroke={entry.color} strokeWidth={entry.base === 'ground' ? 1.5 : 0} fill={entry.color} fillOpacity={entry.base === 'ground' ? 0.1 : 0.85} dot={false} activeDot={false} connectNulls={false} isAnimationActive={false} type="linear" />))}
      </ComposedChart>
      <LonePoints series={series} points={points} start={start} end={end} scale={scale} width={width} height={height} hasTimeAxis={hasTimeAxis} />
    </>
  )
}

function bandOf<Point>(entry: ChartSeries<Point>, point: Point): [number, number] | number | null {
  const value = entry.value(point)
  if (value === null || entry.base === 'ground' || entry.base === undefined) return value
  const base = entry.base(point)
  return base === null ? null : [base, value]
}

function tickText(value: number): string {
  return String(Number(value.toPrecision(6)))
}

interface PlotGeometry { readonly start: number; readonly end: number; readonly scale: ValueScale }

function geometry({ start, end, scale }: PlotGeometry, { width, height, hasTimeAxis }: Sized) {
  const plotHeight = height - TOP_MARGIN - (hasTimeAxis ? TIME_AXIS_HEIGHT : BOTTOM_MARGIN)
  const plotWidth = width - CHART_AXIS_WIDTH - CHART_RIGHT_MARGIN
  return {
    x: (time: number) => CHART_AXIS_WIDTH + timeShare(time, start, end) * plotWidth,
    y: (value: number) => TOP_MARGIN + (1 - Math.min(1, value / scale.top)) * plotHeight,
  }
}

/** A value between two unknowns is no line: it is drawn as a dot. */
function LonePoints<Point extends { readonly time: number }>({ series, points, ...rest }: { readonly series: readonly ChartSeries<Point>[]; readonly points: readonly Point[] } & PlotGeometry & Sized) {
  const { x, y } = geometry(rest, rest)
  const dots = series.flatMap((entry) => points.flatMap((point, index) => {
    const value = entry.value(point)
    if (value === null) return []
    const before = points[index - 1]
    const after = points[index + 1]
    const isLone = (before === undefined || entry.value(before) === null) && (after === undefined || entry.value(after) === null)
    return isLone ? [<circle key={`${entry.key}${point.time}`} cx={x(point.time)} cy={y(value)} r={2} fill={entry.color} />] : []
  }))
  return dots.length === 0 ? null : <svg className="npu-chart-overlay" width={rest.width} height={rest.height}>{dots}</svg>
}

function CursorDots<Point extends { readonly time: number }>({ series, point, ...rest }: TimeChartProps<Point> & Sized & { readonly point: Point }) {
  const { x, y } = geometry(rest, rest)
  return (
    <svg className="npu-chart-overlay" width={rest.width} height={rest.height}>
      {series.filter((entry) => typeof entry.base !== 'function').map((entry) => {
        const value = entry.value(point)
        return value === null ? null : <circle key={entry.key} cx={x(point.time)} cy={y(value)} r={3.5} fill={entry.color} stroke="var(--colorNeutralBackground1)" strokeWidth={1.5} />
      })}
    </svg>
  )
}
