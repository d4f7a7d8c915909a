import { describe, expect, it } from 'vitest'
import { randomNumbers } from '../testing/random-numbers.ts'
import { Histogram, Summary } from './latency-metrics.ts'
import { DEFAULT_METRICS_CONFIG, metricsConfigWith } from './metrics-config.ts'
import { ModelStatistics } from './model-statistics.ts'
import { QuantileEstimator } from './quantile-estimator.ts'

const QUANTILES = DEFAULT_METRICS_CONFIG.summaryQuantiles

describe('QuantileEstimator', () => {
  it('is within the error of each quantile, whatever the order', () => {
    const random = randomNumbers(7)
    const count = 20_000
    const ascending = Array.from({ length: count }, (_, index) => index)
    const shuffled = ascending.map((value) => ({ value, key: random(2 ** 31) })).sort((a, b) => a.key - b.key).map(({ value }) => value)
    for (const values of [ascending, ascending.toReversed(), shuffled]) {
      const estimator = new QuantileEstimator(QUANTILES)
      for (const value of values) estimator.add(value)
      for (const { quantile, error } of QUANTILES) {
        // The rank of value n among 0, 1, 2, ... is n.
        expect(Math.abs(estimator.quantile(quantile) - quantile * count)).toBeLessThanOrEqual(error * count + 1)
      }
    }
  })

  it('has none before the first value', () => {
    const estimator = new QuantileEstimator(QUANTILES)
    expect(estimator.quantile(0.5)).toBeNaN()
    estimator.add(3)
    expect(estimator.quantile(0.999)).toBe(3)
  })
})

describe('Summary', () => {
  it('counts everything, and forgets in its quantiles what is older than a minute', () => {
    let now = 0
    const summary = new Summary([{ quantile: 0.5, error: 0.01 }], () => now)
    for (let index = 0; index < 10; index++) summary.observe(1000)
    now = 40_000
    summary.observe(5)
    expect(summary.snapshot()).toEqual({ count: 11, sum: 10_005, quantiles: [{ quantile: 0.5, value: 1000 }] })
    now = 65_000
    expect(summary.snapshot()).toEqual({ count: 11, sum: 10_005, quantiles: [{ quantile: 0.5, value: 5 }] })
    now = 1_000_000
    expect(summary.snapshot()).toEqual({ count: 11, sum: 10_005, quantiles: [{ quantile: 0.5, value: NaN }] })
  })
})

it('puts what equals an end into its bucket', () => {
  const histogram = new Histogram([100, 500])
  for (const value of [0, 100, 101, 501]) histogram.observe(value)
  expect(histogram.snapshot()).toEqual({ buckets: [{ upperEnd: 100, count: 2 }, { upperEnd: 500, count: 3 }, { upperEnd: Infinity, count: 4 }], count: 4, sum: 702 })
})

describe('ModelStatistics', () => {
  const times = { executeStart: 3_000, computeStart: 7_000, computeEnd: 12_000, executeEnd: 18_000 }
  const succeed = (statistics: ModelStatistics) => { statistics.countSuccess({ requestStart: 0, queueStart: 1_000, requestEnd: 20_000, batchSize: 1, times }) }

  it('has the summaries that are on, with or without those of the cache', () => {
    const statistics = new ModelStatistics('m', '1', { metrics: { ...DEFAULT_METRICS_CONFIG, hasSummaries: true, summaryQuantiles: [{ quantile: 0.5, error: 0.1 }] } })
    succeed(statistics)
    const of = (sum: number) => ({ count: 1, sum, quantiles: [{ quantile: 0.5, value: sum }] })
    expect(statistics.metrics(true).summaries).toEqual({ request: of(20), queue: of(2), computeInput: of(4), computeInfer: of(5), computeOutput: of(6) })
    statistics.hasResponseCache = true
    statistics.countCacheMiss(9_000)
    statistics.countCacheHit({ requestStart: 0, queueStart: 0, lookupStart: 2_000, lookupEnd: 5_000, requestEnd: 6_000 })
    const { summaries } = statistics.metrics(true)
    expect(Object.keys(summaries ?? {})).toEqual(['queue', 'computeInput', 'computeInfer', 'computeOutput', 'cacheHit', 'cacheMiss'])
    expect([summaries?.cacheHit?.sum, summaries?.cacheMiss?.sum, summaries?.queue?.count]).toEqual([3, 9, 2])
  })

  it('counts first responses in milliseconds where the histogram is on', () => {
    const statistics = new ModelStatistics('m', '1', { metrics: { ...DEFAULT_METRICS_CONFIG, hasHistograms: true }, firstResponseBuckets: [10] })
    statistics.countFirstResponse(10_900_000)
    statistics.countFirstResponse(11_000_000)
    expect(statistics.metrics(true).firstResponse).toEqual({ buckets: [{ upperEnd: 10, count: 1 }, { upperEnd: Infinity, count: 2 }], count: 2, sum: 21 })
    expect(new ModelStatistics('m', '1').countsFirstResponses).toBe(false)
  })

  it('keeps the counters of the page at 0 with counter_latencies=false, not those of the statistics', () => {
    const statistics = new ModelStatistics('m', '1', { metrics: { ...DEFAULT_METRICS_CONFIG, hasCounters: false } })
    succeed(statistics)
    statistics.countFailure('OTHER', 1)
    expect(statistics.metrics(true)).toMatchObject({ requestSuccess: 0, inferenceCount: 0, requestDurationMicroseconds: 0, requestFailure: { OTHER: 0 } })
    expect(statistics.entry().inference_stats.success.count).toBe(1)
  })
})

describe('--metrics-config', () => {
  const read = (text: string) => metricsConfigWith(DEFAULT_METRICS_CONFIG, text, (word) => word === 'true')

  it('switches families and sets quantiles', () => {
    expect(read('summary_latencies=true')).toEqual({ ...DEFAULT_METRICS_CONFIG, hasSummaries: true })
    expect(read('counter_latencies=false').hasCounters).toBe(false)
    expect(read('summary_quantiles=0.5:0.05,0.9:0').summaryQuantiles).toEqual([{ quantile: 0.5, error: 0.05 }, { quantile: 0.9, error: 0 }])
  })

  it.each(['latencies=true', 'summary_latencies', 'summary_quantiles=', 'summary_quantiles=0.5', 'summary_quantiles=2:0.1', 'summary_quantiles=0.5:0.1:1'])('refuses %s', (text) => {
    expect(() => read(text)).toThrow(/--metrics-config/)
  })
})
