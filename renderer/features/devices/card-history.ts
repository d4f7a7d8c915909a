/** One card's AI Core over the last minutes as the lines of a small chart. Pure. */
import type { ServerSample } from '../../../server-core/contract/statistics.ts'

export interface HistoryQuery {
  readonly card: number
  /** Milliseconds since the epoch. */
  readonly end: number
  readonly seconds: number
  readonly width: number
  readonly height: number
}

/** A step of the chart: the mean of its seconds; null: the card told nothing in them. */
interface Step { readonly x: number; readonly percent: number | null }

/**
 * Paths of 0 to 100 %, at most one point per two pixels. Where nothing was reported the line ends and begins again: a gap, never 0.
 * @returns SVG path data, one for each unbroken stretch
 */
export function historyPaths(samples: readonly ServerSample[], query: HistoryQuery): readonly string[] {
  const { height } = query
  const paths: string[] = []
  let open = ''
  for (const { x, percent } of steps(samples, query)) {
    if (percent === null) {
      if (open !== '') paths.push(open)
      open = ''
    } else {
      const point = `${round(x)} ${round(height * (1 - Math.min(100, percent) / 100))}`
      open = open === '' ? `M${point}h.01` : `${open}L${point}`
    }
  }
  return open === '' ? paths : [...paths, open]
}

function steps(samples: readonly ServerSample[], { card, end, seconds, width }: HistoryQuery): Step[] {
  const count = Math.max(1, Math.min(seconds, Math.floor(width / 2)))
  const stepMilliseconds = (seconds * 1000) / count
  const start = end - seconds * 1000
  const sums = Array.from({ length: count }, () => ({ sum: 0, count: 0 }))
  for (const sample of samples) {
    const percent = sample.npus?.find((npu) => npu.card === card)?.aiCorePercent ?? null
    const step = sums[Math.ceil((sample.time - start) / stepMilliseconds) - 1]
    if (percent === null || step === undefined) continue
    step.sum += percent
    step.count++
  }
  return sums.map((step, index) => ({ x: ((index + 1) / count) * width, percent: step.count === 0 ? null : step.sum / step.count }))
}

function round(value: number): number { return Math.round(value * 10) / 10 }
