import { describe, expect, it } from 'vitest'
import { fp32, floatsOf } from '../testing/test-server.ts'
import { ResponseCache, type CachedResponse } from './response-cache.ts'

const response = (value: number, elements = 1): CachedResponse => ({ outputs: [fp32('OUT', [elements], Array.from({ length: elements }, () => value))], parameters: { from: value } })

/** Bytes that one response of this many elements takes. */
function entrySize(elements: number): number {
  const cache = new ResponseCache(1e9)
  cache.open('m', '1').insert('k', response(1, elements))
  return cache.usedBytes
}

describe('ResponseCache', () => {
  it('finds by model, version, names and bytes alone, in whatever order and shape the inputs come', () => {
    const cache = new ResponseCache(1e6)
    const model = cache.open('m', '1')
    const a = fp32('A', [2], [1, 2])
    const b = fp32('B', [2], [3, 4])
    const key = model.keyOf([a, b])
    expect(model.keyOf([b, a])).toBe(key)
    expect(model.keyOf([{ ...a, shape: [1, 2], datatype: 'INT32' }, b])).toBe(key)
    const others = [
      model.keyOf([a]), model.keyOf([fp32('A', [2], [1, 3]), b]), model.keyOf([{ ...a, name: 'B' }, { ...b, name: 'A' }]),
      cache.open('m', '2').keyOf([a, b]), cache.open('n', '1').keyOf([a, b]),
      model.keyOf([{ ...a, data: new Uint8Array([...a.data, ...b.data]) }, { ...b, data: new Uint8Array() }]),
    ]
    expect(new Set([key, ...others]).size).toBe(7)
  })

  it('keeps within its bytes, overhead included, and lets the entry leave that was not asked for the longest', () => {
    const one = entrySize(100)
    expect(one).toBeGreaterThan(400)
    const cache = new ResponseCache(3 * one)
    const [m, n] = [cache.open('m', '1'), cache.open('n', '1')]
    m.insert('a', response(1, 100))
    n.insert('b', response(2, 100))
    m.insert('c', response(3, 100))
    expect(cache).toMatchObject({ entryCount: 3, usedBytes: 3 * one })
    expect(m.lookup('a')).not.toBeNull()
    expect(n.insert('d', response(4, 100))).toBe('inserted')
    expect(['a', 'b', 'c', 'd'].map((key) => m.lookup(key) !== null)).toEqual([true, false, true, true])
    expect(cache.usedBytes).toBe(3 * one)
    expect(m.insert('e', response(5, 150))).toBe('inserted')
    expect(cache.entryCount).toBe(2)
    expect(cache.usedBytes).toBeLessThanOrEqual(3 * one)
  })

  it('refuses what is larger than itself without pushing anything out', () => {
    const cache = new ResponseCache(entrySize(10))
    const model = cache.open('m', '1')
    model.insert('a', response(1, 10))
    expect(model.insert('b', response(1, 11))).toBe('tooLarge')
    expect(model.lookup('a')).not.toBeNull()
    expect(model.insert('a', response(9, 10))).toBe('exists')
  })

  it('holds copies and answers copies', () => {
    const model = new ResponseCache(1e6).open('m', '1')
    const given = response(7)
    model.insert('a', given)
    given.outputs[0]?.data.fill(0)
    const first = model.lookup('a')
    expect(floatsOf(first?.outputs[0])).toEqual([7])
    first?.outputs[0]?.data.fill(0)
    expect(floatsOf(model.lookup('a')?.outputs[0])).toEqual([7])
    expect(model.lookup('a')?.parameters).toEqual({ from: 7 })
  })

  it('forgets a version that ends, and takes nothing from it any more', () => {
    const cache = new ResponseCache(1e6)
    const [old, other] = [cache.open('m', '1'), cache.open('n', '1')]
    const input = fp32('A', [1], [1])
    old.insert(old.keyOf([input]), response(1))
    other.insert('b', response(2))
    const reloaded = cache.open('m', '1')
    expect(reloaded.lookup(reloaded.keyOf([input]))).toBeNull()
    old.close()
    expect(old.insert('late', response(3))).toBe('closed')
    expect(cache.entryCount).toBe(1)
    expect(cache.usedBytes).toBe(entrySize(1))
    other.close()
    expect(cache).toMatchObject({ entryCount: 0, usedBytes: 0 })
  })
})
