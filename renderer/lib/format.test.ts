import { describe, expect, it } from 'vitest'
import { ageParts, durationParts, formatBytes, formatCount, formatMilliseconds, formatRate, formatShape, joinFigure, percentFigure } from './format.ts'

describe('number formats', () => {
  it.each([[0, '0'], [999, '999'], [1000, '1\u2009000'], [1234567, '1\u2009234\u2009567'], [null, '—'], [undefined, '—'], [Number.NaN, '—']])('counts %s as %s', (value, text) => {
    expect(formatCount(value)).toBe(text)
  })

  it.each([[0.42, '0.42 ms'], [6.84, '6.8 ms'], [99.94, '99.9 ms'], [412.3, '412 ms'], [9999, '9\u2009999 ms'], [12_345, '12.3 s'], [null, '—']])('prints %s milliseconds as %s', (value, text) => {
    expect(formatMilliseconds(value)).toBe(text)
  })

  it.each([[0, '0 B'], [1023, '1\u2009023 B'], [1536, '1.5 KB'], [431_000_000, '411 MB'], [2 ** 30 * 9.7, '9.7 GB'], [null, '—']])('prints %s bytes as %s', (value, text) => {
    expect(formatBytes(value)).toBe(text)
  })

  it('never shows unknown as zero', () => {
    expect([formatRate(null), joinFigure(percentFigure(null)), formatBytes(undefined)]).toEqual(['—', '—', '—'])
    expect([formatRate(0), joinFigure(percentFigure(0))]).toEqual(['0.0', '0 %'])
  })

  it.each([[0.61, '61 %'], [0.05, '5.0 %'], [0.002, '0.20 %'], [0.00002, '0.002 %']])('prints a share of %s as %s', (share, text) => {
    expect(joinFigure(percentFigure(share))).toBe(text)
  })

  it.each([[5000, 'seconds', 5, 0], [65_000, 'minutes', 1, 5], [3_600_000 * 2 + 60_000, 'hoursMinutes', 2, 1], [86_400_000 * 3 + 3_600_000 * 4, 'daysHours', 3, 4], [-5, 'seconds', 0, 0]])('splits %s ms', (milliseconds, key, first, second) => {
    expect(durationParts(milliseconds)).toEqual({ key, first, second })
  })

  it.each([[0, 'now', 0], [59_999, 'now', 0], [60_000, 'minutes', 1], [3_599_999, 'minutes', 59], [3_600_000, 'hours', 1], [86_400_000 * 3, 'days', 3], [86_400_000 * 8, 'date', 8]])('words an age of %s ms', (age, key, count) => {
    expect(ageParts(1_000_000, 1_000_000 + age)).toEqual({ key, count })
  })

  it('prints shapes with names of variable axes', () => {
    expect(formatShape(['batch', 3, 48, -1])).toBe('[batch, 3, 48, -1]')
  })
})
