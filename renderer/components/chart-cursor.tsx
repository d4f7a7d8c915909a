/**
 * One cursor over a column of charts that share their time axis. The pointer moves it; the lane above the charts is a slider for the
 * keyboard (Left, Right, Home, End, Escape) and holds the annotations.
 */
import type { KeyboardEvent, PointerEvent, ReactNode } from 'react'
import { formatClock } from '../lib/format.ts'
import { placeLabels } from '../lib/label-placement.ts'
import { CHART_AXIS_WIDTH, CHART_RIGHT_MARGIN, timeShare } from './chart-time.tsx'
import { useElementSize } from './use-element-size.ts'
import './chart.css'

export interface ChartAnnotation {
  readonly id: number
  readonly time: number
  readonly text: string
  /** A text-safe CSS colour. */
  readonly color: string
}

interface ChartColumnProps {
  /** Times of the points, oldest first: where the cursor can stand. */
  readonly times: readonly number[]
  readonly start: number
  readonly end: number
  readonly cursorIndex: number | null
  readonly onCursor: (index: number | null) => void
  readonly annotations: readonly ChartAnnotation[]
  /** Makes the lane a slider with this name. Only one column of a page needs it. */
  readonly sliderLabel?: string
  /** What the charts show at the cursor, in words. */
  readonly sliderText?: string
  readonly children: ReactNode
}

export function ChartColumn({ times, start, end, cursorIndex, onCursor, annotations, sliderLabel, sliderText, children }: ChartColumnProps) {
  const [ref, size] = useElementSize<HTMLDivElement>()
  const plotWidth = Math.max(1, size.width - CHART_AXIS_WIDTH - CHART_RIGHT_MARGIN)
  const left = (time: number) => CHART_AXIS_WIDTH + timeShare(time, start, end) * plotWidth
  const cursorTime = cursorIndex === null ? undefined : times[cursorIndex]

  const move = (event: PointerEvent<HTMLDivElement>) => {
    const box = event.currentTarget.getBoundingClientRect()
    const share = (event.clientX - box.left - CHART_AXIS_WIDTH) / plotWidth
    onCursor(share < -0.02 || share > 1.02 ? null : nearestIndex(times, start + share * (end - start)))
  }
  const press = (event: KeyboardEvent<HTMLDivElement>) => {
    const last = times.length - 1
    const at = cursorIndex ?? last
    const target = event.key === 'ArrowLeft' ? Math.max(0, cursorIndex === null ? last : at - 1) : event.key === 'ArrowRight' ? Math.min(last, at + 1)
      : event.key === 'PageUp' ? Math.max(0, at - 10) : event.key === 'PageDown' ? Math.min(last, at + 10)
      : event.key === 'Home' ? 0 : event.key === 'End' ? last : event.key === 'Escape' ? null : undefined
    if (target === undefined || last < 0) return
    event.preventDefault()
    onCursor(target)
  }
  const slider = sliderLabel === undefined ? {} : {
    role: 'slider', tabIndex: 0, 'aria-label': sliderLabel, 'aria-valuemin': 0, 'aria-valuemax': Math.max(0, times.length - 1), 'aria-valuenow': cursorIndex ?? Math.max(0, times.length - 1),
    'aria-valuetext': sliderText, onKeyDown: press,
  }
  return (
    <div className="npu-chart-column" ref={ref} onPointerMove={move} onPointerLeave={() => onCursor(null)}>
      <div className="npu-chart-lane" {...slider}><Lane annotations={annotations} left={left} width={size.width} /></div>
      {children}
      {cursorTime !== undefined && (
        <div className="npu-chart-cursor" style={{ left: left(cursorTime) }} aria-hidden="true"><span className="npu-chart-cursor-time">{formatClock(cursorTime)}</span></div>
      )}
    </div>
  )
}

function Lane({ annotations, left, width }: { readonly annotations: readonly ChartAnnotation[]; readonly left: (time: number) => number; readonly width: number }) {
  const places = placeLabels(annotations.map((entry) => ({ at: left(entry.time), text: entry.text })), width)
  return annotations.map((entry, index) => {
    const place = places[index] ?? 'none'
    return (
      <span key={entry.id} className={`npu-chart-flag npu-chart-flag-${place}`} style={{ left: left(entry.time), color: entry.color }} title={`${formatClock(entry.time)} ${entry.text}`} aria-hidden="true">
        <svg width="10" height="12" viewBox="0 0 10 12"><path d="M1.5 12V1.5h7L6.5 4l2 2.5h-7" fill="none" stroke="currentColor" strokeWidth="1.3" /></svg>
        {place !== 'none' && <span>{entry.text}</span>}
      </span>
    )
  })
}

function nearestIndex(times: readonly number[], time: number): number | null {
  let best: number | null = null
  times.forEach((candidate, index) => { if (best === null || Math.abs(candidate - time) < Math.abs((times[best] ?? 0) - time)) best = index })
  return best
}
