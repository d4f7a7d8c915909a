import { describe, expect, it } from 'vitest'
import { timingParts } from './timing-parts.ts'

const timing = { queueNanoseconds: 2e6, computeInputNanoseconds: 1e6, computeInferNanoseconds: 10e6, computeOutputNanoseconds: 1e6, totalNanoseconds: 15e6, batchSize: 1 }

describe('timingParts', () => {
  it('lays the parts end to end and finds the longest', () => {
    const { parts, total, server, longest } = timingParts(timing, { roundTripMilliseconds: 17, preprocessMilliseconds: 3 })
    expect(parts.map((part) => [part.key, part.start, part.duration])).toEqual([
      ['preprocess', 0, 3], ['queue', 3, 2], ['computeInput', 5, 1], ['computeInfer', 6, 10], ['computeOutput', 16, 1], ['other', 17, 1], ['transfer', 18, 2],
    ])
    expect([total, server, longest]).toEqual([20, 15, { key: 'computeInfer', share: 0.5 }])
  })

  it('never makes a part negative where clocks disagree', () => {
    const { parts } = timingParts({ ...timing, totalNanoseconds: 13e6 }, { roundTripMilliseconds: 12 })
    expect(parts.every((part) => part.duration >= 0)).toBe(true)
  })
})
