import { describe, expect, it } from 'vitest'
import { latencyBucketIndex } from '../contract/statistics.ts'
import { ModelStatistics } from './model-statistics.ts'

const times = { executeStart: 2_000_000, computeStart: 2_100_900, computeEnd: 5_100_900, executeEnd: 5_200_000 }
const request = (batchSize: number) => ({ requestStart: 900_000, queueStart: 1_000_000, requestEnd: 5_300_500, batchSize, times })

function counted() {
  const statistics = new ModelStatistics('m', '1', { metricTags: { team: 'ocr' } })
  statistics.countExecution(3, times, 1_733_000_000_000)
  statistics.countSuccess(request(1))
  statistics.countSuccess(request(2))
  statistics.countFailure('REJECTED', 7000)
  return statistics
}

describe('ModelStatistics', () => {
  it("charges each request of a batch the whole batch's compute time", () => {
    expect(counted().entry()).toMatchObject({
      name: 'm', version: '1', last_inference: 1_733_000_000_000, inference_count: 3, execution_count: 1,
      inference_stats: {
        success: { count: 2, ns: 8_801_000 }, fail: { count: 1, ns: 7000 }, queue: { count: 2, ns: 2_000_000 },
        compute_input: { count: 2, ns: 201_800 }, compute_infer: { count: 2, ns: 6_000_000 }, compute_output: { count: 2, ns: 198_200 },
        cache_hit: { count: 0, ns: 0 },
      },
      batch_stats: [{ batch_size: 3, compute_infer: { count: 1, ns: 3_000_000 } }],
    })
  })

  it('cuts metrics to whole microseconds per observation', () => {
    expect(counted().metrics(true)).toMatchObject({
      metricTags: { team: 'ocr' }, requestSuccess: 2, inferenceCount: 3, executionCount: 1, isLoaded: true,
      requestDurationMicroseconds: 8800, queueDurationMicroseconds: 2000, computeInputDurationMicroseconds: 200, computeOutputDurationMicroseconds: 198,
      requestFailure: { REJECTED: 1, CANCELED: 0, BACKEND: 0, OTHER: 0 },
    })
  })

  it('gives each second its own deltas and nothing for a second without work', () => {
    const statistics = counted()
    expect(statistics.takeSample()).toMatchObject({
      success: 2, failure: 1, inferences: 3, executions: 1, batchSizes: { 3: 1 }, latency: { [latencyBucketIndex(4_400_500)]: 2 }, pending: 0,
    })
    expect(statistics.takeSample()).toBeNull()
    statistics.pending = 4
    expect(statistics.takeSample()).toMatchObject({ success: 0, pending: 4 })
  })

  it('tells requests in flight from waiting ones, and goes on while one is under way that nothing else tells of', () => {
    const statistics = counted()
    statistics.takeSample()
    statistics.admitted = 5
    statistics.pending = 3
    expect(statistics.takeSample()).toMatchObject({ pending: 3, inFlight: 2 })
    statistics.admitted = 1
    statistics.pending = 0
    expect(statistics.takeSample()).toMatchObject({ success: 0, pending: 0, inFlight: 1 })
    statistics.admitted = 0
    expect(statistics.takeSample()).toBeNull()
  })
})
