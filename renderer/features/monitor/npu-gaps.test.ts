import { describe, expect, it } from 'vitest'
import { summarise } from '../../lib/sample-series.ts'
import { npuSample, serverSample } from '../../testing/models.ts'
import { npuGaps } from './npu-gaps.ts'

/** One point a second; null: the card reports nothing. */
const points = (...seconds: readonly (readonly (number | null)[])[]) => seconds.map((cards, index) => {
  const sample = { ...serverSample(index + 1), npus: cards.map((aiCorePercent, card) => npuSample({ card, aiCorePercent })) }
  return summarise([sample], sample.time, '')
})

describe('npuGaps', () => {
  it('is nothing while every card reports, zeros included', () => {
    expect(npuGaps(points([0, 5], [0, 0], [3, 4]), [0, 1], 'aiCorePercent')).toEqual({ gaps: [], cards: [] })
  })

  it('joins seconds that follow each other, and names the cards', () => {
    expect(npuGaps(points([1, 1], [1, null], [1, null], [1, 1], [null, 1]), [0, 1], 'aiCorePercent')).toEqual({ gaps: [{ from: 1000, to: 3000 }, { from: 4000, to: 5000 }], cards: [0, 1] })
  })

  it('has a card that is not there at all as silent', () => {
    expect(npuGaps(points([1], [1]), [0, 7], 'aiCorePercent')).toEqual({ gaps: [{ from: 1000, to: 2000 }], cards: [7] })
  })
})
