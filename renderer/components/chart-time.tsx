/**
 * One chart over time: a header with the value of each series (at the cursor, else now), lines or bands on a fixed y axis of 48 px, gaps
 * where nothing is known. It draws what it is given and holds no data; the cursor itself is drawn by `ChartCursor` across all charts.
 */
import { memo, useMemo } from 'react'
import { Area, ComposedChart, XAxis, YAxis } from 'recharts'
import type { ValueScale } from '../lib/chart-scale.ts'
import { timeTicks } from '../lib/chart-scale.ts'
import { formatClock } from '../lib/format.ts'
import { labelWidth } from '../lib/label-placement.ts'
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
  readonly gaps: readonly { readonly from: number; readonly to: number; /** Instead of `gapLabel`. */ readonly label?: string }[]
  /** Stands in a gap that is wide enough. */
  readonly gapLabel: string
  readonly marks: readonly ChartMark[]
  /** Shown in the header while there is no cursor; null: nothing is known. */
  readonly newest: Point | null
  /** Index of the point under the cursor; null: none. */
  readonly cursorIndex: number | null
  readonly hasTimeAxis?: boolean
}

/** A time as a share of the plot's width. */
export function timeShare(time: number, start: number, end: number): number {
  return (time - start) / (end - start)
}

export function TimeChart<Point extends { readonly time: number }>(props: TimeChartProps<Point>) {
  const { title, note, summary, series, points, newest, cursorIndex, hasTimeAxis = false } = props
  const [plotRef, size] = useElementSize<HTMLDivElement>()
  const shown = cursorIndex === null ? newest : (points[cursorIndex] ?? null)
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
  const sized = { start, end, scale, width, height, hasTimeAxis }
  return (
    <>
      <Background {...sized} gaps={gaps} gapLabel={gapLabel} marks={marks} />
      <ValueAxis scale={scale} unit={unit} width={width} height={height} hasTimeAxis={hasTimeAxis} />
      <Lines series={series} points={points} end={end} milliseconds={end - start} top={scale.top} width={width} height={height} hasTimeAxis={hasTimeAxis} />
      <LonePoints series={series} points={points} {...sized} />
    </>
  )
}

/** Horizontal grid and the values beside it; the unit stands on the top one, and inside the plot where it would be cut off there. */
const ValueAxis = memo(function ValueAxis({ scale, unit, ...sized }: { readonly scale: ValueScale; readonly unit: string } & Sized) {
  const { y } = geometry({ start: 0, end: 1, scale }, sized)
  const isUnitBeside = unit !== '' && `${tickText(scale.top)} ${unit}`.length <= AXIS_LETTERS
  return (
    <svg className="npu-chart-overlay" width={sized.width} height={sized.height}>
      {scale.ticks.map((tick) => (
        <g key={tick}>
          <line x1={CHART_AXIS_WIDTH} x2={sized.width - CHART_RIGHT_MARGIN} y1={y(tick)} y2={y(tick)} stroke="var(--npuGrid)" />
          <text x={CHART_AXIS_WIDTH - 7} y={y(tick) + 4} textAnchor="end" fontSize={11} fill="var(--npuAxis)">{tick === scale.top && isUnitBeside ? `${tickText(tick)} ${unit}` : tickText(tick)}</text>
        </g>
      ))}
      {unit !== '' && !isUnitBeside && <text x={CHART_AXIS_WIDTH + 4} y={y(scale.top) + 10} fontSize={11} fill="var(--npuAxis)">{unit}</text>}
    </svg>
  )
})

/** As many letters of the axis's type find room beside it: "500 ms". */
const AXIS_LETTERS = 6

/** What moves with the window and is no series: gaps, marks, times below. Drawn here, since Recharts would register each anew every second. */
function Background({ gaps, gapLabel, marks, scale, ...place }: Pick<TimeChartProps<{ readonly time: number }>, 'gaps' | 'gapLabel' | 'marks'> & PlotGeometry & Sized) {
  const rest = { ...place, scale }
  const { x, top, bottom } = geometry(rest, rest)
  const { start, end, width, height } = rest
  // Between the two lowest grid lines: on one of them its words would be struck through.
  const labelY = bottom - (bottom - top) / Math.max(1, scale.ticks.length - 1) / 2 + 4
  const hasSeconds = end - start <= 120_000
  return (
    <svg className="npu-chart-overlay" width={width} height={height}>
      {gaps.map((gap) => {
        const gapWidth = x(gap.to) - x(gap.from)
        const label = gap.label ?? gapLabel
        return (
          <g key={gap.from}>
            <rect x={x(gap.from)} y={top} width={gapWidth} height={bottom - top} fill="var(--npuGrid)" opacity={0.7} />
            {gapWidth > labelWidth(label) && height > 50 && <text x={x(gap.from) + gapWidth / 2} y={labelY} textAnchor="middle" fontSize={11} fill="var(--colorNeutralForeground2)">{label}</text>}
          </g>
        )
      })}
      {marks.map((mark) => <line key={`${mark.time}${mark.color}`} x1={x(mark.time)} x2={x(mark.time)} y1={top} y2={bottom} stroke={mark.color} strokeDasharray="3 3" />)}
      {rest.hasTimeAxis && timeTicks(start, end, 6).map((time) => (
        <text key={time} x={Math.min(x(time), width - 24)} y={height - 5} textAnchor="middle" fontSize={11} fill="var(--npuAxis)">{hasSeconds ? formatClock(time) : formatClock(time).slice(0, 5)}</text>
      ))}
    </svg>
  )
}

interface LinesProps<Point> extends Sized {
  readonly series: readonly ChartSeries<Point>[]
  readonly points: readonly Point[]
  readonly end: number
  readonly milliseconds: number
  /** Of the y axis. */
  readonly top: number
}

/**
 * The series by Recharts. Everything but the data keeps its identity from second to second (times are relative to the window's end), so
 * that an update costs the paths and no new registration of axes and items.
 */
function Lines<Point extends { readonly time: number }>({ series, points, end, milliseconds, top, width, height, hasTimeAxis }: LinesProps<Point>) {
  const data = useMemo(() => points.map((point) => {
    const row: Record<string, number | [number, number] | null> = { time: point.time - end }
    for (const entry of series) row[entry.key] = bandOf(entry, point)
    return row
  }), [points, series, end])
  const margin = useMemo(() => ({ top: TOP_MARGIN, right: CHART_RIGHT_MARGIN, bottom: hasTimeAxis ? TIME_AXIS_HEIGHT : BOTTOM_MARGIN, left: CHART_AXIS_WIDTH }), [hasTimeAxis])
  const children = useMemo(() => [
    <XAxis key="x" dataKey="time" type="number" domain={[-milliseconds, 0]} allowDataOverflow hide />,
    <YAxis key="y" domain={[0, top]} allowDataOverflow hide />,
    ...series.map((entry) => {
      const isBand = typeof entry.base === 'function'
      return <Area key={entry.key} dataKey={entry.key} stroke={entry.color} strokeWidth={isBand ? 0 : 1.5} {...(entry.dash === undefined ? {} : { strokeDasharray: entry.dash })} fill={entry.base === undefined ? 'none' : entry.color}
        fillOpacity={isBand ? 0.85 : 0.1} dot={false} activeDot={false} connectNulls={false} isAnimationActive={false} type="linear" />
    }),
  ], [series, top, milliseconds])
  return <ComposedChart width={width} height={height} data={data} margin={margin} accessibilityLayer={false} style={NO_POINTER}>{children}</ComposedChart>
}

const NO_POINTER = { pointerEvents: 'none' } as const

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
    top: TOP_MARGIN,
    bottom: TOP_MARGIN + plotHeight,
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
