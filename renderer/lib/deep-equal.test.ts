import { describe, expect, it } from 'vitest'
import { isDeepEqual } from './deep-equal.ts'

describe('deep equality', () => {
  it.each([[1, 1], [null, null], [1n, 1n], [NaN, NaN], [[1, ['a']], [1, ['a']]], [{ a: { b: [1] }, c: undefined }, { c: undefined, a: { b: [1] } }]])('finds equals equal (%#)', (a, b) => {
    expect(isDeepEqual(a, b)).toBe(true)
  })

  it.each([[1, '1'], [null, {}], [[], {}], [[1], [1, 2]], [{ a: 1 }, { b: 1 }], [{ a: undefined }, {}], [{ a: [1] }, { a: [2] }], [new Map([[1, 2]]), new Map([[1, 2]])]])('finds others different (%#)', (a, b) => {
    expect(isDeepEqual(a, b)).toBe(false)
  })
})
