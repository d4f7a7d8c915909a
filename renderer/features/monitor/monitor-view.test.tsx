import { describe, expect, it } from 'vitest'
import { modelSample, serverSample } from '../../testing/models.ts'
import { cursorIndexOf, MonitorViewBuilder, type MonitorQuery } from './monitor-view.ts'

const samples = Array.from({ length: 120 }, (_, second) => serverSample(second + 1, [modelSample('rec', { success: second + 1 })]))
const query = (second: number, part: Partial<MonitorQuery> = {}): MonitorQuery => ({ end: second * 1000, windowSeconds: 60, model: '', plotWidth: 560, hasRows: false, ...part })
const until = (second: number) => samples.slice(0, second)

describe('MonitorViewBuilder', () => {
  it('moves every second where a second is a pixel or more', () => {
    const builder = new MonitorViewBuilder()
    const first = builder.build(until(70).slice(10), query(70))
    const second = builder.build(until(71).slice(11), query(71))
    expect([first.end, second.end]).toEqual([70_000, 71_000])
    expect(second.newest?.requests).toBe(71)
  })

  it('draws a long window anew only when it moved by a pixel, while figures stay current', () => {
    const builder = new MonitorViewBuilder()
    const long = (second: number) => builder.build(until(second), query(second, { windowSeconds: 3600, plotWidth: 900 }))
    const first = long(70)
    const later = long(73)
    expect(later.points).toBe(first.points)
    expect(later.gaps).toBe(first.gaps)
    expect(later.newest).not.toEqual(first.newest)
    expect(later.total.requests).toBe((73 * 74) / 2)
    expect(long(74).end).toBe(74_000)
  })

  it('draws anew at once for another model', () => {
    const builder = new MonitorViewBuilder()
    const all = builder.build(until(70), query(70, { windowSeconds: 3600 }))
    const one = builder.build(until(71), query(71, { windowSeconds: 3600, model: 'other' }))
    expect(one.points).not.toBe(all.points)
    expect(one.total.requests).toBe(0)
    expect(one.models).toEqual(['rec'])
  })
})

describe('cursorIndexOf', () => {
  it('keeps a cursor that was put on the newest point while that point moves on with the window', () => {
    // Two seconds a point; the window ends within a step, then with it.
    const times = (second: number) => new MonitorViewBuilder().build(until(second), query(second, { windowSeconds: 300 })).points.map(({ time }) => time)
    const before = times(71)
    const cursor = before.at(-1) ?? null
    expect(cursor).toBe(71_000)
    expect(cursorIndexOf(times(72), cursor, 0)).toBe(times(72).length - 1)
    expect(cursorIndexOf(times(75), cursor, 0)).toBe(times(75).indexOf(72_000))
  })

  it('lets go of a cursor that the window has left behind', () => {
    expect(cursorIndexOf([10, 12], null, 8)).toBeNull()
    expect(cursorIndexOf([10, 12], 7, 8)).toBeNull()
    expect(cursorIndexOf([10, 12], 13, 8)).toBeNull()
  })
})
