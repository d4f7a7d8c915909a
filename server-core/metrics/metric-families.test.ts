import { describe, expect, it } from 'vitest'
import type { ModelMetricsSnapshot } from '../inference-server.ts'
import { metricsPage } from './metric-families.ts'

const NO_CPU = { utilization: null, memoryTotalBytes: null, memoryUsedBytes: null }

function snapshot(fields: Partial<ModelMetricsSnapshot> = {}): ModelMetricsSnapshot {
  return {
    model: 'm', version: '2', metricTags: {}, requestSuccess: 3, requestFailure: { REJECTED: 1, CANCELED: 0, BACKEND: 2, OTHER: 0 },
    inferenceCount: 9, executionCount: 4, requestDurationMicroseconds: 1000, queueDurationMicroseconds: 10, computeInputDurationMicroseconds: 20,
    computeInferDurationMicroseconds: 30, computeOutputDurationMicroseconds: 40, pendingRequestCount: 5, loadDurationSeconds: 0.125, isLoaded: true, ...fields,
  }
}

describe('metricsPage', () => {
  it('prints every family of a loaded model', () => {
    const series = metricsPage([snapshot()], { utilization: 0.25, memoryTotalBytes: 2048, memoryUsedBytes: 1024 }).split('\n').filter((line) => !line.startsWith('#'))
    expect(series).toEqual([
      'nv_inference_request_success{model="m",version="2"} 3',
      'nv_inference_request_failure{model="m",reason="REJECTED",version="2"} 1',
      'nv_inference_request_failure{model="m",reason="CANCELED",version="2"} 0',
      'nv_inference_request_failure{model="m",reason="BACKEND",version="2"} 2',
      'nv_inference_request_failure{model="m",reason="OTHER",version="2"} 0',
      'nv_inference_count{model="m",version="2"} 9',
      'nv_inference_exec_count{model="m",version="2"} 4',
      'nv_inference_request_duration_us{model="m",version="2"} 1000',
      'nv_inference_queue_duration_us{model="m",version="2"} 10',
      'nv_inference_compute_input_duration_us{model="m",version="2"} 20',
      'nv_inference_compute_infer_duration_us{model="m",version="2"} 30',
      'nv_inference_compute_output_duration_us{model="m",version="2"} 40',
      'nv_inference_pending_request_count{model="m",version="2"} 5',
      'nv_model_load_duration_secs{model="m",version="2"} 0.125',
      'nv_pinned_memory_pool_total_bytes 0',
      'nv_pinned_memory_pool_used_bytes 0',
      'nv_cpu_utilization 0.25',
      'nv_cpu_memory_total_bytes 2048',
      'nv_cpu_memory_used_bytes 1024',
      '',
    ])
  })

  it('says what each family is', () => {
    const page = metricsPage([], NO_CPU)
    expect(page).toContain('# HELP nv_inference_request_success Number of successful inference requests, all batch sizes\n# TYPE nv_inference_request_success counter\n')
    expect(page).toContain('# HELP nv_inference_pending_request_count Instantaneous number of pending requests awaiting execution per-model.\n# TYPE nv_inference_pending_request_count gauge\n')
  })

  it('keeps only the failure series of an unloaded model', () => {
    const series = metricsPage([snapshot({ isLoaded: false })], NO_CPU).split('\n').filter((line) => line !== '' && !line.startsWith('#') && !line.startsWith('nv_pinned'))
    expect(series).toHaveLength(4)
    expect(series.every((line) => line.startsWith('nv_inference_request_failure{'))).toBe(true)
  })

  it('puts tags first and escapes values', () => {
    expect(metricsPage([snapshot({ metricTags: { team: 'a"b\\c\nd' } })], NO_CPU)).toContain('nv_inference_count{_team="a\\"b\\\\c\\nd",model="m",version="2"} 9\n')
  })

  it('prints summaries and the histogram as Prometheus has them, and nothing of them where they are off', () => {
    const summary = { count: 3, sum: 60, quantiles: [{ quantile: 0.5, value: 20 }, { quantile: 0.9, value: NaN }] }
    const firstResponse = { buckets: [{ upperEnd: 100, count: 1 }, { upperEnd: Infinity, count: 3 }], count: 3, sum: 700 }
    const page = metricsPage([snapshot({ summaries: { queue: summary }, firstResponse })], NO_CPU)
    expect(page).toContain('# HELP nv_inference_queue_summary_us Summary of inference queuing duration in microseconds (includes cached requests)\n# TYPE nv_inference_queue_summary_us summary\n'
      + 'nv_inference_queue_summary_us_count{model="m",version="2"} 3\nnv_inference_queue_summary_us_sum{model="m",version="2"} 60\n'
      + 'nv_inference_queue_summary_us{model="m",quantile="0.5",version="2"} 20\nnv_inference_queue_summary_us{model="m",quantile="0.9",version="2"} Nan\n')
    expect(page).toContain('# HELP nv_inference_first_response_histogram_ms Duration from request to first response in milliseconds\n# TYPE nv_inference_first_response_histogram_ms histogram\n'
      + 'nv_inference_first_response_histogram_ms_count{model="m",version="2"} 3\nnv_inference_first_response_histogram_ms_sum{model="m",version="2"} 700\n'
      + 'nv_inference_first_response_histogram_ms_bucket{le="100",model="m",version="2"} 1\nnv_inference_first_response_histogram_ms_bucket{le="+Inf",model="m",version="2"} 3\n')
    expect(metricsPage([snapshot()], NO_CPU)).not.toMatch(/summary|histogram/)
  })

  it('leaves unknown gauges out instead of printing 0', () => {
    expect(metricsPage([], NO_CPU)).not.toContain('nv_cpu')
    expect(metricsPage([], null)).not.toContain('nv_cpu')
  })
})
