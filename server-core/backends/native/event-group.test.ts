import { describe, expect, it } from 'vitest'
import { readEvents } from './event-group.ts'
import { EVENT } from './host-events.ts'

describe('a group of events', () => {
  it('is read in order, numbers and whole events, and not beyond its count', () => {
    const large = new Uint8Array(2000)
    const pool = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 5, 6).buffer
    const whole = { kind: EVENT.log, token: 0, level: 0, text: 'a', detail: '', line: 1 }
    const numbers = Float64Array.from([
      EVENT.response, 7, 1, 0, 2, /* Y */ 11, 2, 1, 2, -1, /* Z, a scalar, in the pool */ 6, 0, 8, 2,
      0,
      EVENT.response, 8, 1, 1, 0,
      EVENT.requestReleased, 7, 1, 1, 10, 20, 30, 40, 0,
      EVENT.requestReleased, 8, 2, 0, 0, 0, 0, 0, 0,
      EVENT.batchStatistics, 3, 4, 10, 20, 30, 40,
      EVENT.batchExecuted, 9,
      EVENT.batchExecuted, 10,
    ])
    expect(readEvents(numbers, numbers.length - 2, [pool, 'Y', large, 'Z', whole])).toEqual([
      { kind: EVENT.response, token: 7, flags: 1, isEmpty: false, tensors: ['Y', 11, [1, 2], large, 'Z', 6, [], Uint8Array.of(5, 6)], parameters: [] },
      whole,
      { kind: EVENT.response, token: 8, flags: 1, isEmpty: true, tensors: [], parameters: [] },
      { kind: EVENT.requestReleased, token: 7, flags: 1, tensors: [], times: [10, 20, 30, 40] },
      { kind: EVENT.requestReleased, token: 8, flags: 2, tensors: [] },
      { kind: EVENT.batchStatistics, token: 3, batchSize: 4, times: [10, 20, 30, 40] },
      { kind: EVENT.batchExecuted, token: 9 },
    ])
  })

  it('of another version says what to do', () => {
    expect(() => readEvents(Float64Array.from([99, 1]), 2, [null])).toThrow(/kind 99 .*npm run build/)
  })
})
