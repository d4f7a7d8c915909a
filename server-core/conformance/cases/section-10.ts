/** Section 10 of the protocol: metrics. */
import { expect } from 'vitest'
import type { ConformanceCase } from '../conformance-case.ts'
import type { Conversation } from '../conversation.ts'

const page = async (c: Conversation) => (await c.metrics({ path: '/metrics' })).text

/** The value of a series, as it is written before the space; null: it is not on the page. */
function valueOf(text: string, series: string): number | null {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `))
  return line === undefined ? null : Number(line.slice(series.length + 1))
}

const ofModel = (family: string, model: string) => `${family}{model="${model}",version="1"}`
const failed = (model: string, reason: string) => `nv_inference_request_failure{model="${model}",reason="${reason}",version="1"}`
const vector = (count: number) => ({ inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [count, 4], data: Array.from({ length: 4 * count }, () => 1) }] })
const index = (value: number, shape: readonly number[] = [1]) => ({ inputs: [{ name: 'ROWS', datatype: 'FP32', shape: [1, 2], data: [1, 2] }, { name: 'INDEX', datatype: 'INT64', shape, data: [value] }] })

const COUNTED = [
  'nv_inference_request_success', 'nv_inference_count', 'nv_inference_exec_count', 'nv_inference_request_duration_us', 'nv_inference_queue_duration_us', 'nv_inference_compute_input_duration_us',
  'nv_inference_compute_infer_duration_us', 'nv_inference_compute_output_duration_us', 'nv_inference_pending_request_count',
]

const HELP: readonly (readonly [family: string, type: string, help: string])[] = [
  ['nv_inference_request_success', 'counter', 'Number of successful inference requests, all batch sizes'],
  ['nv_inference_request_failure', 'counter', 'Number of failed inference requests, all batch sizes'],
  ['nv_inference_count', 'counter', 'Number of inferences performed (does not include cached requests)'],
  ['nv_inference_exec_count', 'counter', 'Number of model executions performed (does not include cached requests)'],
  ['nv_inference_request_duration_us', 'counter', 'Cumulative inference request duration in microseconds (includes cached requests)'],
  ['nv_inference_queue_duration_us', 'counter', 'Cumulative inference queuing duration in microseconds (includes cached requests)'],
  ['nv_inference_compute_input_duration_us', 'counter', 'Cumulative compute input duration in microseconds (does not include cached requests)'],
  ['nv_inference_compute_infer_duration_us', 'counter', 'Cumulative compute inference duration in microseconds (does not include cached requests)'],
  ['nv_inference_compute_output_duration_us', 'counter', 'Cumulative inference compute output duration in microseconds (does not include cached requests)'],
  ['nv_inference_pending_request_count', 'gauge', 'Instantaneous number of pending requests awaiting execution per-model.'],
  ['nv_model_load_duration_secs', 'gauge', 'Model load time in seconds'],
  ['nv_pinned_memory_pool_total_bytes', 'gauge', 'Pinned memory pool total memory size, in bytes'],
  ['nv_pinned_memory_pool_used_bytes', 'gauge', 'Pinned memory pool used memory size, in bytes'],
  ['nv_cache_num_hits_per_model', 'counter', 'Number of cache hits per model'],
  ['nv_cache_num_misses_per_model', 'counter', 'Number of cache misses per model'],
  ['nv_cache_hit_duration_per_model', 'counter', 'Total cache hit duration per model, in microseconds'],
  ['nv_cache_miss_duration_per_model', 'counter', 'Total cache miss (insert+lookup) duration per model, in microseconds'],
  ['nv_inference_first_response_histogram_ms', 'histogram', 'Duration from request to first response in milliseconds'],
  ['nv_inference_request_summary_us', 'summary', 'Summary of inference request duration in microseconds (includes cached requests)'],
  ['nv_inference_queue_summary_us', 'summary', 'Summary of inference queuing duration in microseconds (includes cached requests)'],
  ['nv_inference_compute_input_summary_us', 'summary', 'Cumulative compute input duration in microseconds (does not include cached requests)'],
  ['nv_inference_compute_infer_summary_us', 'summary', 'Cumulative compute inference duration in microseconds (does not include cached requests)'],
  ['nv_inference_compute_output_summary_us', 'summary', 'Cumulative inference compute output duration in microseconds (does not include cached requests)'],
  ['nv_cpu_utilization', 'gauge', 'CPU utilization rate [0.0 - 1.0]'],
  ['nv_cpu_memory_total_bytes', 'gauge', 'CPU total memory (RAM), in bytes'],
  ['nv_cpu_memory_used_bytes', 'gauge', 'CPU used memory (RAM), in bytes'],
]

export const SECTION_10_CASES: readonly ConformanceCase[] = [
  {
    facts: ['10/page', '10/method', '10/other-path'], name: 'what the port answers', transport: 'http',
    run: async (c) => {
      const answer = await c.metrics({ path: '/metrics' })
      expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8'])
      for (const method of ['POST', 'DELETE']) expect((await c.metrics({ method, path: '/metrics' })).status).toBe(405)
      for (const path of ['/', '/metrics/', '/v2']) {
        const other = await c.metrics({ path })
        expect([other.status, other.text]).toEqual([200, ''])
      }
    },
  },
  { facts: ['10/off'], name: 'no listener', transport: 'http', server: 'fixed', run: (c) => { expect(c.running.addresses.metrics).toBeNull(); return Promise.resolve() } },
  {
    facts: ['10/help'], name: 'every family of a server that has them all', transport: 'http', server: 'extensions',
    run: async (c) => {
      const text = await page(c)
      for (const [family, type, help] of HELP) expect(text).toContain(`# HELP ${family} ${help}\n# TYPE ${family} ${type}\n`)
    },
  },
  {
    facts: ['10/request-success', '10/inference-count', '10/exec-count', '10/durations'], name: 'a batch of three', transport: 'http',
    run: async (c) => {
      const before = await page(c)
      expect((await c.inferJson('plain', vector(3))).status).toBe(200)
      const after = await page(c)
      const grown = (family: string) => (valueOf(after, `${family}{model="plain",version="3"}`) ?? NaN) - (valueOf(before, `${family}{model="plain",version="3"}`) ?? NaN)
      expect([grown('nv_inference_request_success'), grown('nv_inference_count'), grown('nv_inference_exec_count')]).toEqual([1, 3, 1])
      const parts = ['queue', 'compute_input', 'compute_infer', 'compute_output'].map((part) => grown(`nv_inference_${part}_duration_us`))
      expect(grown('nv_inference_request_duration_us')).toBeGreaterThanOrEqual(parts.reduce((sum, part) => sum + part))
    },
  },
  {
    facts: ['10/request-failure'], name: 'an execution that fails', transport: 'http',
    run: async (c) => {
      const before = await page(c)
      for (const reason of ['REJECTED', 'CANCELED', 'BACKEND', 'OTHER']) expect(valueOf(before, failed('vector', reason))).not.toBeNull()
      expect((await c.inferJson('gather', index(5, [1, 1]))).text).toMatch(/Gather/)
      expect((valueOf(await page(c), failed('gather', 'BACKEND')) ?? NaN) - (valueOf(before, failed('gather', 'BACKEND')) ?? NaN)).toBe(1)
    },
  },
  {
    facts: ['10/pending'], name: 'a request that waits behind another one', transport: 'http', server: 'extensions',
    run: async (c) => {
      const answers = [c.inferGrpc(slowCall), c.inferGrpc(slowCall)]
      await expect.poll(() => page(c), { interval: 5, timeout: 10_000 }).toContain(`${ofModel('nv_inference_pending_request_count', 'slow')} 1\n`)
      await Promise.all(answers)
      expect(valueOf(await page(c), ofModel('nv_inference_pending_request_count', 'slow'))).toBe(0)
    },
  },
  {
    facts: ['10/life', '10/labels', '10/load-duration'], name: 'load, infer, unload, load again', transport: 'http', server: 'extensions',
    run: async (c) => {
      const series = (family: string) => `${family}{_team="ocr",model="tagged",version="1"}`
      const control = (verb: string) => c.http({ method: 'POST', path: `/v2/repository/models/tagged/${verb}` })
      await control('load')
      const loaded = await page(c)
      for (const family of COUNTED) expect([family, valueOf(loaded, series(family))]).toEqual([family, 0])
      expect(valueOf(loaded, series('nv_model_load_duration_secs'))).toBeGreaterThan(0)
      await c.inferJson('tagged', vector(1))
      expect(valueOf(await page(c), series('nv_inference_request_success'))).toBe(1)
      await control('unload')
      await expect.poll(async () => (await page(c)).split('\n').filter((line) => line.includes('model="tagged"')).map((line) => line.slice(0, line.indexOf('{'))), { interval: 5, timeout: 10_000 })
        .toEqual(Array.from({ length: 4 }, () => 'nv_inference_request_failure'))
      await control('load')
      expect(valueOf(await page(c), series('nv_inference_request_success'))).toBe(0)
    },
  },
  {
    facts: ['10/pinned-memory', '10/cpu'], name: 'gauges without labels', transport: 'http',
    run: async (c) => {
      const text = await page(c)
      for (const gauge of ['nv_pinned_memory_pool_total_bytes', 'nv_pinned_memory_pool_used_bytes', 'nv_cpu_utilization']) expect(valueOf(text, gauge)).toBeGreaterThanOrEqual(0)
      expect(valueOf(text, 'nv_cpu_utilization')).toBeLessThanOrEqual(1)
      expect(valueOf(text, 'nv_cpu_memory_used_bytes')).toBeLessThan(valueOf(text, 'nv_cpu_memory_total_bytes') ?? 0)
    },
  },
  {
    facts: ['10/cache', '10/cache-summaries'], name: 'a miss and a hit', transport: 'http', server: 'extensions',
    run: async (c) => {
      for (const _ of ['miss', 'hit']) await c.inferJson('cached', vector(1))
      const text = await page(c)
      const values = ['nv_cache_num_hits_per_model', 'nv_cache_num_misses_per_model', 'nv_cache_hit_summary_per_model_count', 'nv_cache_miss_summary_per_model_count', 'nv_inference_request_success', 'nv_inference_count']
      expect(values.map((family) => valueOf(text, ofModel(family, 'cached')))).toEqual([1, 1, 1, 1, 2, 1])
      expect(valueOf(text, ofModel('nv_cache_hit_duration_per_model', 'cached'))).not.toBeNull()
      expect([ofModel('nv_cache_num_hits_per_model', 'plain'), ofModel('nv_cache_hit_summary_per_model_count', 'plain'), ofModel('nv_inference_request_summary_us_count', 'cached')].map((series) => valueOf(text, series)))
        .toEqual([null, null, null])
    },
  },
  {
    facts: ['10/first-response-histogram', '10/summaries'], name: 'one request', transport: 'http', server: 'extensions',
    run: async (c) => {
      await c.inferJson('measured', vector(1))
      const text = await page(c)
      const buckets = text.split('\n').filter((line) => line.startsWith('nv_inference_first_response_histogram_ms_bucket{') && line.includes('model="measured"')).map((line) => /le="([^"]+)"/.exec(line)?.[1])
      expect(buckets).toEqual(['100', '500', '2000', '5000', '+Inf'])
      expect([valueOf(text, 'nv_inference_first_response_histogram_ms_bucket{le="+Inf",model="measured",version="1"}'), valueOf(text, ofModel('nv_inference_first_response_histogram_ms_count', 'measured'))]).toEqual([1, 1])
      for (const name of ['request', 'queue', 'compute_input', 'compute_infer', 'compute_output']) {
        expect(valueOf(text, ofModel(`nv_inference_${name}_summary_us_count`, 'measured'))).toBe(1)
        const sum = valueOf(text, ofModel(`nv_inference_${name}_summary_us_sum`, 'measured'))
        expect(['0.5', '0.9'].map((quantile) => valueOf(text, `nv_inference_${name}_summary_us{model="measured",quantile="${quantile}",version="1"}`))).toEqual([sum, sum])
      }
      expect(text).not.toContain('quantile="0.95"')
    },
  },
  {
    facts: ['10/counter-latencies'], name: 'a request that no counter knows', transport: 'http', server: 'control',
    run: async (c) => {
      expect((await c.inferJson('plain', vector(1))).status).toBe(200)
      const text = await page(c)
      for (const family of COUNTED) expect([family, valueOf(text, ofModel(family, 'plain'))]).toEqual([family, 0])
    },
  },
  {
    facts: ['10/ensemble'], name: 'a request that works and one that fails', transport: 'http', server: 'extensions',
    run: async (c) => {
      const before = await page(c)
      expect((await c.inferJson('lookup', index(0))).status).toBe(200)
      expect((await c.inferJson('lookup', index(9))).status).not.toBe(200)
      const after = await page(c)
      const grown = (series: string) => (valueOf(after, series) ?? NaN) - (valueOf(before, series) ?? NaN)
      expect(grown(ofModel('nv_inference_request_success', 'lookup'))).toBe(1)
      expect(grown(failed('lookup', 'OTHER'))).toBe(2)
      expect(valueOf(after, ofModel('nv_model_load_duration_secs', 'lookup'))).toBe(0)
    },
  },
]

const slowCall = { model: 'slow', inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 4], data: new Uint8Array(16) }] } as const
