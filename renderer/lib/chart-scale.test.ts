import { describe, expect, it } from 'vitest'
import { HeldScale, timeTicks, valueScale } from './chart-scale.ts'

describe('valueScale', () => {
  it.each([
    [30, [0, 10, 20, 30]], [31, [0, 10, 20, 30, 40]], [41, [0, 20, 40, 60]], [497, [0, 200, 400, 600]], [0.3, [0, 0.1, 0.2, 0.3]], [1, [0, 0.5, 1]], [2, [0, 0.5, 1, 1.5, 2]], [0, [0, 0.5, 1]],
  ])('holds %d with the ticks %j', (max, ticks) => {
    expect(valueScale(max)).toEqual({ top: ticks[ticks.length - 1], ticks })
  })

  it('has three to five ticks and holds the value, whatever the size', () => {
    for (let exponent = -6; exponent < 12; exponent += 0.037) {
      const max = 10 ** exponent
      const { top, ticks } = valueScale(max)
      expect(top).toBeGreaterThanOrEqual(max * (1 - 1e-9))
      expect(ticks.length).toBeGreaterThanOrEqual(3)
      expect(ticks.length).toBeLessThanOrEqual(5)
    }
  })

  it('stays on whole numbers where only those make sense', () => {
    expect(valueScale(1, { whole: true }).ticks).toEqual([0, 1, 2])
    expect(valueScale(3, { whole: true }).ticks).toEqual([0, 1, 2, 3])
  })
})

describe('HeldScale', () => {
  it('grows at once and shrinks only after 30 s of lower values', () => {
    const scale = new HeldScale(1)
    expect(scale.next(10, 0).top).toBe(10)
    expect(scale.next(90, 1000).top).toBe(100)
    expect(scale.next(10, 2000).top).toBe(100)
    expect(scale.next(15, 31_999).top).toBe(100)
    expect(scale.next(10, 32_000).top).toBe(15)
  })

  it('starts the 30 s again after a high value', () => {
    const scale = new HeldScale(1)
    scale.next(90, 0)
    scale.next(10, 1000)
    scale.next(90, 20_000)
    expect(scale.next(10, 31_000).top).toBe(100)
  })

  it('never goes below its floor, and forgets on reset', () => {
    const scale = new HeldScale(10)
    expect(scale.next(0, 0).top).toBe(10)
    scale.next(90, 1000)
    scale.reset()
    expect(scale.next(0, 2000).top).toBe(10)
  })
})

describe('timeTicks', () => {
  it('gives whole steps inside the window', () => {
    const start = Date.UTC(2026, 0, 1, 12, 0, 7)
    const ticks = timeTicks(start, start + 60_000, 6)
    expect(ticks.map((time) => new Date(time).getUTCSeconds())).toEqual([10, 20, 30, 40, 50, 0])
    expect(timeTicks(start, start + 3_600_000, 6)).toHaveLength(6)
  })
})
