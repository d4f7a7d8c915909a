import { describe, expect, it } from 'vitest'
import { LATENCY_BUCKET_COUNT, LATENCY_RELATIVE_ERROR, latencyBucketBound, latencyBucketIndex, latencyQuantile } from './statistics.ts'

describe('latency buckets', () => {
  it('puts a value into the bucket whose bounds hold it', () => {
    for (const value of [1, 1000, 1001, 1189, 1190, 123_456, 1_000_000, 987_654_321]) {
      const index = latencyBucketIndex(value)
      expect(value).toBeLessThanOrEqual(latencyBucketBound(index) * (1 + 1e-9))
      if (index > 0) expect(value).toBeGreaterThan(latencyBucketBound(index - 1) * (1 - 1e-9))
    }
  })

  it('keeps a bound in its own bucket', () => {
    for (let index = 0; index < LATENCY_BUCKET_COUNT; index++) expect(latencyBucketIndex(latencyBucketBound(index))).toBe(index)
  })

  it('clamps what is longer than the table', () => {
    expect(latencyBucketIndex(1e18)).toBe(LATENCY_BUCKET_COUNT - 1)
  })

  it('answers unknown, not 0, when nothing was counted', () => {
    expect(latencyQuantile({}, 0.5)).toBeNull()
    expect(latencyQuantile({ 5: 0 }, 0.5)).toBeNull()
  })

  it('finds every percentile within the promised error, whatever the distribution, merged or not', () => {
    let seed = 7
    const random = () => { seed = (seed * 1103515245 + 12345) % 2 ** 31; return seed / 2 ** 31 }
    const distributions: Record<string, () => number> = {
      uniform: () => 1e6 + random() * 1e7,
      longTail: () => 2e5 / (1 - random()) ** 1.5,
      twoPeaks: () => (random() < 0.9 ? 3e5 : 8e8) * (1 + random() * 0.001),
      narrow: () => 123_456,
    }
    for (const [name, draw] of Object.entries(distributions)) {
      const values = Array.from({ length: 2000 }, () => Math.min(1e12, draw()))
      const parts: Record<number, number>[] = [{}, {}, {}]
      values.forEach((value, position) => {
        const part = parts[position % 3]!
        const index = latencyBucketIndex(value)
        part[index] = (part[index] ?? 0) + 1
      })
      const merged: Record<number, number> = {}
      for (const part of parts) for (const [index, count] of Object.entries(part)) merged[Number(index)] = (merged[Number(index)] ?? 0) + count
      values.sort((a, b) => a - b)
      for (const quantile of [0, 0.001, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1]) {
        const exact = values[Math.max(1, Math.ceil(quantile * values.length)) - 1]!
        const found = latencyQuantile(merged, quantile)!
        expect(Math.abs(found - exact) / exact, `${name} at ${quantile}: ${found} for ${exact}`).toBeLessThanOrEqual(LATENCY_RELATIVE_ERROR + 1e-9)
      }
    }
  })

  it('reaches from 1 microsecond beyond 1000 s', () => {
    expect(latencyBucketIndex(1)).toBe(0)
    expect(latencyBucketIndex(1e12)).toBeLessThan(LATENCY_BUCKET_COUNT)
    expect(latencyBucketBound(LATENCY_BUCKET_COUNT - 1)).toBeGreaterThanOrEqual(1e12)
  })
})
