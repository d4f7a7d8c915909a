import { describe, expect, it } from 'vitest'
import { summarise } from './sample-series.ts'
import { npuSample, serverSample } from '../testing/models.ts'
import { npuGaps } from './npu-gaps.ts'

/** One point a second; null: the card reports nothing. */
const points = (...seconds: readonly (readonly (number | null)[])[]) => seconds.map((cards, index) => {
  const sample = { ...serverSample(index + 1), npus: cards.map((aiCorePercent, card) => npuSample({ card, aiCorePercent })) }
  return summarise([sample], sample.time, '')
})

describe('npuGaps', () => {
  it('is nothing while every card reports, zeros included', () => {
    expect(npuGaps(points([0, 5], [0, 0], [3, 4]), [0, 1], 'aiCorePercent')).toEqual([])
  })

  it('joins seconds that follow each other, and names the cards', () => {
    expect(npuGaps(points([1, 1], [1, null], [1, null], [1, 1], [null, 1]), [0, 1], 'aiCorePercent')).toEqual([{ from: 1000, to: 3000, cards: [1] }, { from: 4000, to: 5000, cards: [0] }])
  })

  it('blames no card for a second without a sample', () => {
    expect(npuGaps([...points([1]), summarise([], 2000, ''), ...points([1], [1], [1]).slice(2)], [0], 'aiCorePercent')).toEqual([{ from: 1000, to: 2000, cards: [] }])
  })

  it('has a card that is not there at all as silent', () => {
    expect(npuGaps(points([1], [1]), [0, 7], 'aiCorePercent')).toEqual([{ from: 1000, to: 2000, cards: [7] }])
  })
})
