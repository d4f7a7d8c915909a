/** Bars over classes, the value on each while there are at most ten. */
import { Bar, BarChart, CartesianGrid, LabelList, XAxis, YAxis } from 'recharts'
import { memo, useMemo } from 'react'
import type { ReactNode } from 'react'
import { valueScale } from '../lib/chart-scale.ts'
import { formatCount } from '../lib/format.ts'
import { CHART_AXIS_WIDTH, CHART_RIGHT_MARGIN } from './chart-time.tsx'
import { useElementSize } from './use-element-size.ts'
import './chart.css'

interface BarChartProps {
  readonly title: string
  readonly note?: string
  /** One sentence: the verdict, shown in the header. */
  readonly verdict: ReactNode
  readonly bars: readonly { readonly label: string; readonly value: number }[]
  readonly color: string
}

export function BarsChart({ title, note, verdict, bars, color }: BarChartProps) {
  const [ref, size] = useElementSize<HTMLDivElement>()
  return (
    <section className="npu-chart" aria-label={title}>
      <div className="npu-chart-head">
        <h3>{title}</h3>{note !== undefined && <span className="npu-quiet">{note}</span>}
        <span className="npu-grow" />
        <span className="npu-chart-value">{verdict}</span>
      </div>
      <div className="npu-chart-plot" ref={ref} aria-hidden="true">
        {size.width > 80 && size.height > 24 && <Bars bars={bars} color={color} width={size.width} height={size.height} />}
      </div>
      <ul className="npu-visually-hidden">{bars.map((bar) => <li key={bar.label}>{`${bar.label}: ${formatCount(bar.value)}`}</li>)}</ul>
    </section>
  )
}

/** The parts keep their identity while only the numbers change, which spares Recharts registering them anew. */
const Bars = memo(function Bars({ bars, color, width, height }: Pick<BarChartProps, 'bars' | 'color'> & { readonly width: number; readonly height: number }) {
  const scale = valueScale(Math.max(2, ...bars.map((bar) => bar.value)) * 1.1, { whole: true })
  const hasLabels = bars.length <= 10
  const { top } = scale
  const ticks = scale.ticks.join()
  const parts = useMemo(() => [
    <CartesianGrid key="grid" vertical={false} stroke="var(--npuGrid)" />,
    <XAxis key="x" dataKey="label" height={20} axisLine={false} tickLine={false} tickMargin={4} tick={AXIS_TICK} />,
    <YAxis key="y" width={CHART_AXIS_WIDTH} domain={[0, top]} ticks={ticks.split(',').map(Number)} axisLine={false} tickLine={false} interval={0} tick={AXIS_TICK} tickFormatter={formatCount} />,
    <Bar key="bar" dataKey="value" fill={color} isAnimationActive={false} maxBarSize={48}>
      {hasLabels && <LabelList dataKey="value" position="top" fontSize={11} fill="var(--colorNeutralForeground1)" formatter={(value: unknown) => formatCount(Number(value))} />}
    </Bar>,
  ], [top, ticks, color, hasLabels])
  return <BarChart width={width} height={height} data={bars as { label: string; value: number }[]} margin={MARGIN} accessibilityLayer={false} barCategoryGap={bars.length > 4 ? '20%' : '35%'} style={NO_POINTER}>{parts}</BarChart>
})

const AXIS_TICK = { fontSize: 11, fill: 'var(--npuAxis)' }
const MARGIN = { top: 14, right: CHART_RIGHT_MARGIN, bottom: 0, left: 0 }
const NO_POINTER = { pointerEvents: 'none' } as const
