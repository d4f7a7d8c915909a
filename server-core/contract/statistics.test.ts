import { describe, expect, it } from 'vitest'
import { LATENCY_BUCKET_COUNT, latencyBucketBound, latencyBucketIndex, latencyQuantile } from './statistics.ts'

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

  it('finds a percentile within one bucket of the exact one', () => {
    const values = Array.from({ length: 1000 }, (_, i) => 1_000_000 + i * 10_000)
    const counts: Record<number, number> = {}
    for (const value of values) counts[latencyBucketIndex(value)] = (counts[latencyBucketIndex(value)] ?? 0) + 1
    for (const quantile of [0.5, 0.95, 0.99]) {
      const exact = values[Math.floor(quantile * values.length)] ?? 0
      const found = latencyQuantile(counts, quantile) ?? 0
      expect(Math.abs(latencyBucketIndex(found) - latencyBucketIndex(exact))).toBeLessThanOrEqual(1)
    }
  })
})
