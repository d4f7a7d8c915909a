/** Where a card reported nothing: stretches of the window, and which cards they are about (none: the engine gave no data at all). Pure. */
import type { NpuFigures, SeriesPoint } from '../../lib/sample-series.ts'

export interface NpuGaps {
  readonly gaps: readonly { readonly from: number; readonly to: number }[]
  readonly cards: readonly number[]
}

/** @param points oldest first, evenly spaced: each stands for the time since the one before it */
export function npuGaps(points: readonly SeriesPoint[], cards: readonly number[], figure: keyof NpuFigures): NpuGaps {
  const gaps: { from: number; to: number }[] = []
  const silent = new Set<number>()
  for (const [index, point] of points.entries()) {
    const missing = cards.filter((card) => (point.npus[card]?.[figure] ?? null) === null)
    const from = points[index - 1]?.time
    if (missing.length === 0 || from === undefined) continue
    // A second without a sample says nothing about a card.
    if (point.seconds > 0) for (const card of missing) silent.add(card)
    const last = gaps[gaps.length - 1]
    if (last?.to === from) last.to = point.time
    else gaps.push({ from, to: point.time })
  }
  return { gaps, cards: [...silent].sort((a, b) => a - b) }
}
