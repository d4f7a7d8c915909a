import { latencyBucketIndex } from '../contract/statistics.ts'
import { ModelStatistics } from '../metrics/model-statistics.ts'

const REQUESTS = 200_000
const ROUNDS = 7

export interface StatisticsCost {
  /** Nanoseconds a request: everything that is counted for it, and the part of it that is the latency histogram. */
  readonly countNanoseconds: number
  readonly histogramNanoseconds: number
}

/** What counting costs, as the median of several rounds in this process. */
export function statisticsCost(): StatisticsCost {
  const counts: number[] = []
  const histograms: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const statistics = new ModelStatistics('m', '1')
    counts.push(perRequest((latency) => {
      statistics.countSuccess({
        requestStart: 0, queueStart: 10, requestEnd: latency, batchSize: 1, times: { executeStart: 20, computeStart: 30, computeEnd: latency - 20, executeEnd: latency - 10 },
      })
    }))
    const window: Record<number, number> = {}
    histograms.push(perRequest((latency) => {
      const bucket = latencyBucketIndex(latency)
      window[bucket] = (window[bucket] ?? 0) + 1
    }))
  }
  return { countNanoseconds: median(counts), histogramNanoseconds: median(histograms) }
}

/** Latencies spread over three decades, as a busy server sees them. */
function perRequest(count: (latency: number) => void): number {
  const started = process.hrtime.bigint()
  let seed = 1
  for (let request = 0; request < REQUESTS; request++) {
    seed = (seed * 16807) % 2147483647
    count(1e5 * 10 ** (3 * seed / 2147483647))
  }
  return Number(process.hrtime.bigint() - started) / REQUESTS
}

function median(numbers: readonly number[]): number { return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN }
