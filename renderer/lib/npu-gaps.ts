/** Where a card reported nothing: stretches of the window, and which cards each is about. Pure. */
import type { NpuFigures, SeriesPoint } from './sample-series.ts'

export interface NpuGap {
  readonly from: number
  readonly to: number
  /** Ascending; empty: the engine gave no data at all. */
  readonly cards: readonly number[]
}

/** @param points oldest first, evenly spaced: each stands for the time since the one before it */
export function npuGaps(points: readonly SeriesPoint[], cards: readonly number[], figure: keyof NpuFigures): readonly NpuGap[] {
  const gaps: NpuGap[] = []
  for (const [index, point] of points.entries()) {
    const missing = cards.filter((card) => (point.npus[card]?.[figure] ?? null) === null)
    const from = points[index - 1]?.time
    if (missing.length === 0 || from === undefined) continue
    // A second without a sample says nothing about a card.
    const silent = point.seconds > 0 ? missing : []
    const last = gaps[gaps.length - 1]
    if (last?.to === from && last.cards.join() === silent.join()) gaps[gaps.length - 1] = { ...last, to: point.time }
    else gaps.push({ from, to: point.time, cards: silent })
  }
  return gaps
}
