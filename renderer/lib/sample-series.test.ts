import { describe, expect, it } from 'vitest'
import { latencyBucketBound, latencyBucketIndex, type ModelSample, type ServerSample } from '../../server-core/contract/statistics.ts'
import { SampleRing } from './sample-ring.ts'
import { batchSizeBars, pointOf, sampleGaps, secondRows, seriesOf, seriesPoints, stepSecondsFor, summarise, tallyOf, type SpanCache } from './sample-series.ts'

const T0 = 1_700_000_000_000

function model(name: string, requests: number, milliseconds: number, more: Partial<ModelSample> = {}): ModelSample {
  return {
    model: name, version: '1', success: requests, failure: 0, inferences: requests, executions: requests, latency: requests > 0 ? { [latencyBucketIndex(milliseconds * 1e6)]: requests } : {},
    queueNanoseconds: requests * 1e6, computeInputNanoseconds: 0, computeInferNanoseconds: requests * 3e6, computeOutputNanoseconds: 0, batchSizes: requests > 0 ? { 1: requests } : {}, pending: 0, inFlight: 0, ...more,
  }
}

const sample = (second: number, models: ModelSample[] = [], more: Partial<ServerSample> = {}): ServerSample => ({ time: T0 + second * 1000, models, processCpuCores: 0.5, processResidentBytes: 1e8, npus: null, ...more })

describe('summarise', () => {
  it('counts over models and gives means per request', () => {
    const point = summarise([sample(1, [model('a', 10, 4), model('b', 30, 8, { failure: 2 })])], T0, '')
    expect(point).toMatchObject({ seconds: 1, requests: 40, failures: 2, requestsPerSecond: 40, queue: 1, computeInfer: 3, meanBatch: 1, cpuCores: 0.5, residentBytes: 1e8 })
  })

  it('looks at one model where one is selected', () => {
    expect(summarise([sample(1, [model('a', 10, 4), model('b', 30, 8)])], T0, 'a').requests).toBe(10)
  })

  it('takes percentiles from merged histograms, not from a mean of percentiles', () => {
    const point = summarise([sample(1, [model('a', 99, 1)]), sample(2, [model('a', 1, 1000)])], T0, '')
    expect(point.p95).toBeLessThanOrEqual(latencyBucketBound(latencyBucketIndex(1e6)) / 1e6)
    expect(summarise([sample(1, [model('a', 1, 1)]), sample(2, [model('a', 1, 1000)])], T0, '').p99).toBeGreaterThan(500)
  })

  it('knows 0 requests from a sample, but no latency and no mean', () => {
    expect(summarise([sample(1)], T0, '')).toMatchObject({ requests: 0, failures: 0, requestsPerSecond: 0, p50: null, p95: null, queue: null, meanBatch: null, pending: 0 })
  })

  it('knows nothing without a sample, and keeps unreported figures unknown', () => {
    expect(summarise([], T0, '')).toMatchObject({ seconds: 0, requests: null, requestsPerSecond: null, failuresPerSecond: null, cpuCores: null, residentBytes: null, pending: null })
    expect(summarise([sample(1, [], { processCpuCores: null, processResidentBytes: null })], T0, '')).toMatchObject({ requests: 0, cpuCores: null, residentBytes: null })
  })
})

describe('seriesPoints', () => {
  const samples = Array.from({ length: 60 }, (_, index) => sample(index + 1, [model('a', index + 1, 2)]))

  it('gives every second its own point, and null where no sample came', () => {
    const rows = secondRows([sample(1, [model('a', 7, 2)]), sample(3, [model('a', 9, 2)])], T0, T0 + 3000, '')
    expect(rows.map((row) => [row.time - T0, row.requests])).toEqual([[1000, 7], [2000, null], [3000, 9]])
  })

  it('keeps points where they are while the window moves', () => {
    const first = seriesPoints(samples, { start: T0, end: T0 + 50_000, stepSeconds: 10, model: '' })
    const second = seriesPoints(samples.slice(3), { start: T0 + 3000, end: T0 + 53_000, stepSeconds: 10, model: '' })
    expect(second[1]).toEqual(first[1])
    expect(second.map((point) => point.time - T0)).toEqual([10_000, 20_000, 30_000, 40_000, 50_000, 53_000])
  })

  it('divides by the seconds that were sampled', () => {
    const points = seriesPoints([sample(1, [model('a', 8, 2)])], { start: T0, end: T0 + 10_000, stepSeconds: 10, model: '' })
    expect(points).toHaveLength(1)
    expect(points[0]).toMatchObject({ requests: 8, seconds: 1, requestsPerSecond: 8 })
  })

  it('uses the cache for whole spans and drops what left the window', () => {
    const cache = new Map() as SpanCache
    const first = seriesPoints(samples, { start: T0, end: T0 + 30_000, stepSeconds: 10, model: '' }, cache)
    const again = seriesPoints(samples.slice(10), { start: T0 + 10_000, end: T0 + 40_000, stepSeconds: 10, model: '' }, cache)
    expect(again[0]).toBe(first[1])
    expect([...cache.keys()].map((time) => time - T0)).toEqual([10_000, 20_000, 30_000, 40_000])
  })

  it('computes a span again when a sample came late', () => {
    const cache = new Map() as SpanCache
    seriesPoints(samples.slice(0, 5), { start: T0, end: T0 + 10_000, stepSeconds: 10, model: '' }, cache)
    expect(seriesPoints(samples.slice(0, 10), { start: T0, end: T0 + 10_000, stepSeconds: 10, model: '' }, cache)[0]?.requests).toBe(55)
  })
})

describe('seriesOf', () => {
  it('totals the window as if all its samples were one span', () => {
    const samples = Array.from({ length: 40 }, (_, index) => sample(index + 1, [model('a', index, 1 + (index % 7), { pending: index })]))
    const cache: SpanCache = new Map()
    for (const end of [30, 31, 40]) {
      const shown = samples.slice(end - 20, end)
      const { total } = seriesOf(shown, { start: T0 + (end - 20) * 1000, end: T0 + end * 1000, stepSeconds: 5, model: '' }, cache)
      expect(pointOf(total, 0)).toEqual(summarise(shown, 0, ''))
    }
  })
})

describe('sampleGaps', () => {
  it('finds missing seconds at the start, inside and at the end', () => {
    expect(sampleGaps([sample(3), sample(4), sample(8)], T0, T0 + 10_000).map(({ from, to }) => [from - T0, to - T0])).toEqual([[0, 2000], [4000, 7000], [8000, 10_000]])
  })

  it('finds none where every second is there', () => {
    expect(sampleGaps([sample(1), sample(2)], T0, T0 + 2000)).toEqual([])
  })
})

describe('batchSizeBars', () => {
  it('adds executions over seconds and models, smallest size first', () => {
    const samples = [sample(1, [model('a', 2, 1, { batchSizes: { 16: 2, 4: 1 } })]), sample(2, [model('b', 2, 1, { batchSizes: { 4: 3 } })])]
    expect(batchSizeBars(tallyOf(samples, ''))).toEqual([{ size: 4, executions: 4 }, { size: 16, executions: 2 }])
    expect(batchSizeBars(tallyOf(samples, 'b'))).toEqual([{ size: 4, executions: 3 }])
  })
})

describe('stepSecondsFor', () => {
  it('keeps at most one point per two pixels', () => {
    expect(stepSecondsFor(60, 500)).toBe(1)
    expect(stepSecondsFor(300, 500)).toBe(2)
    expect(stepSecondsFor(3600, 500)).toBe(15)
  })
})

describe('SampleRing', () => {
  it('keeps an hour and hands out ranges', () => {
    const ring = new SampleRing(10)
    ring.add(Array.from({ length: 30 }, (_, index) => sample(index)))
    expect(ring.length).toBe(10)
    expect(ring.between(T0 + 25_000, T0 + 27_000).map((entry) => entry.time - T0)).toEqual([26_000, 27_000])
  })

  it('merges history that arrives after live samples without doubling', () => {
    const ring = new SampleRing()
    ring.add([sample(5), sample(6)])
    ring.add([sample(4), sample(5), sample(6)])
    expect(ring.between(0, Infinity).map((entry) => entry.time - T0)).toEqual([4000, 5000, 6000])
  })
})
