/** The Prometheus page in Triton's words: families, labels, HELP texts (protocol section 10). Pure: numbers in, text out. */
import type { ModelMetricsSnapshot, SummaryName } from '../inference-server.ts'
import { FIRST_RESPONSE_FAMILY } from './metrics-config.ts'

export interface CpuMetrics {
  /** 0..1 over all cores since the last reading; null: not known yet. */
  readonly utilization: number | null
  readonly memoryTotalBytes: number | null
  readonly memoryUsedBytes: number | null
}

type FailureReason = keyof ModelMetricsSnapshot['requestFailure']

interface ModelFamily {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly help: string
  readonly value: (model: ModelMetricsSnapshot) => number
}

const FAILURE_REASONS: readonly FailureReason[] = ['REJECTED', 'CANCELED', 'BACKEND', 'OTHER']

const SUCCESS_FAMILY: ModelFamily = {
  name: 'nv_inference_request_success', type: 'counter', help: 'Number of successful inference requests, all batch sizes',
  value: (model) => model.requestSuccess,
}

const MODEL_FAMILIES: readonly ModelFamily[] = [
  {
    name: 'nv_inference_count', type: 'counter', help: 'Number of inferences performed (does not include cached requests)',
    value: (model) => model.inferenceCount,
  },
  {
    name: 'nv_inference_exec_count', type: 'counter', help: 'Number of model executions performed (does not include cached requests)',
    value: (model) => model.executionCount,
  },
  {
    name: 'nv_inference_request_duration_us', type: 'counter',
    help: 'Cumulative inference request duration in microseconds (includes cached requests)', value: (model) => model.requestDurationMicroseconds,
  },
  {
    name: 'nv_inference_queue_duration_us', type: 'counter',
    help: 'Cumulative inference queuing duration in microseconds (includes cached requests)', value: (model) => model.queueDurationMicroseconds,
  },
  {
    name: 'nv_inference_compute_input_duration_us', type: 'counter',
    help: 'Cumulative compute input duration in microseconds (does not include cached requests)',
    value: (model) => model.computeInputDurationMicroseconds,
  },
  {
    name: 'nv_inference_compute_infer_duration_us', type: 'counter',
    help: 'Cumulative compute inference duration in microseconds (does not include cached requests)',
    value: (model) => model.computeInferDurationMicroseconds,
  },
  {
    name: 'nv_inference_compute_output_duration_us', type: 'counter',
    help: 'Cumulative inference compute output duration in microseconds (does not include cached requests)',
    value: (model) => model.computeOutputDurationMicroseconds,
  },
  {
    name: 'nv_inference_pending_request_count', type: 'gauge', help: 'Instantaneous number of pending requests awaiting execution per-model.',
    value: (model) => model.pendingRequestCount,
  },
  { name: 'nv_model_load_duration_secs', type: 'gauge', help: 'Model load time in seconds', value: (model) => model.loadDurationSeconds },
]

/** Only models with the response cache have these. */
const CACHE_FAMILIES: readonly (Omit<ModelFamily, 'value'> & { readonly value: (cache: NonNullable<ModelMetricsSnapshot['cache']>) => number })[] = [
  { name: 'nv_cache_num_hits_per_model', type: 'counter', help: 'Number of cache hits per model', value: (cache) => cache.hits },
  { name: 'nv_cache_num_misses_per_model', type: 'counter', help: 'Number of cache misses per model', value: (cache) => cache.misses },
  {
    name: 'nv_cache_hit_duration_per_model', type: 'counter', help: 'Total cache hit duration per model, in microseconds',
    value: (cache) => cache.hitDurationMicroseconds,
  },
  {
    name: 'nv_cache_miss_duration_per_model', type: 'counter', help: 'Total cache miss (insert+lookup) duration per model, in microseconds',
    value: (cache) => cache.missDurationMicroseconds,
  },
]

/** HELP texts of the compute summaries are those of the counters. */
const SUMMARY_FAMILIES: readonly { readonly name: string; readonly help: string; readonly summary: SummaryName }[] = [
  { name: 'nv_inference_request_summary_us', help: 'Summary of inference request duration in microseconds (includes cached requests)', summary: 'request' },
  { name: 'nv_inference_queue_summary_us', help: 'Summary of inference queuing duration in microseconds (includes cached requests)', summary: 'queue' },
  { name: 'nv_inference_compute_input_summary_us', help: 'Cumulative compute input duration in microseconds (does not include cached requests)', summary: 'computeInput' },
  { name: 'nv_inference_compute_infer_summary_us', help: 'Cumulative compute inference duration in microseconds (does not include cached requests)', summary: 'computeInfer' },
  { name: 'nv_inference_compute_output_summary_us', help: 'Cumulative inference compute output duration in microseconds (does not include cached requests)', summary: 'computeOutput' },
  { name: 'nv_cache_hit_summary_per_model', help: 'Summary of cache hit counts/durations per model, in microseconds.', summary: 'cacheHit' },
  { name: 'nv_cache_miss_summary_per_model', help: 'Summary of cache miss counts/durations per model, in microseconds.', summary: 'cacheMiss' },
]

/** @returns the whole page, Prometheus text format 0.0.4 @param cpu null: not wanted */
export function metricsPage(models: readonly ModelMetricsSnapshot[], cpu: CpuMetrics | null): string {
  const loaded = models.filter((model) => model.isLoaded)
  const cached = loaded.filter((model) => model.cache !== undefined)
  return [
    modelFamily(SUCCESS_FAMILY, loaded),
    failureFamily(models),
    ...MODEL_FAMILIES.map((family) => modelFamily(family, loaded)),
    ...CACHE_FAMILIES.map((family) => modelFamily({ ...family, value: ({ cache }) => (cache === undefined ? 0 : family.value(cache)) }, cached)),
    histogramFamily(loaded),
    ...SUMMARY_FAMILIES.map((family) => summaryFamily(family, loaded)),
    // There is no such pool, as on a Triton server without GPUs.
    gauge('nv_pinned_memory_pool_total_bytes', 'Pinned memory pool total memory size, in bytes', 0),
    gauge('nv_pinned_memory_pool_used_bytes', 'Pinned memory pool used memory size, in bytes', 0),
    ...(cpu === null ? [] : [
      gauge('nv_cpu_utilization', 'CPU utilization rate [0.0 - 1.0]', cpu.utilization),
      gauge('nv_cpu_memory_total_bytes', 'CPU total memory (RAM), in bytes', cpu.memoryTotalBytes),
      gauge('nv_cpu_memory_used_bytes', 'CPU used memory (RAM), in bytes', cpu.memoryUsedBytes),
    ]),
  ].join('')
}

function modelFamily(family: ModelFamily, models: readonly ModelMetricsSnapshot[]): string {
  return header(family.name, family.type, family.help) +
    models.map((model) => `${family.name}${labels(modelLabels(model))} ${printedValue(family.value(model))}\n`).join('')
}

/** All four reasons exist at 0, and stay on the page after an unload. */
function failureFamily(models: readonly ModelMetricsSnapshot[]): string {
  const name = 'nv_inference_request_failure'
  return header(name, 'counter', 'Number of failed inference requests, all batch sizes') + models.flatMap((model) =>
    FAILURE_REASONS.map((reason) => `${name}${labels({ ...modelLabels(model), reason })} ${printedValue(model.requestFailure[reason])}\n`)).join('')
}

/** '' where the family is off. */
function histogramFamily(models: readonly ModelMetricsSnapshot[]): string {
  const name = FIRST_RESPONSE_FAMILY
  const series = models.flatMap((model) => {
    const { firstResponse } = model
    if (firstResponse === undefined) return []
    const own = labels(modelLabels(model))
    return [
      `${name}_count${own} ${firstResponse.count}\n`, `${name}_sum${own} ${printedValue(firstResponse.sum)}\n`,
      ...firstResponse.buckets.map(({ upperEnd, count }) => `${name}_bucket${labels({ ...modelLabels(model), le: printedValue(upperEnd) })} ${count}\n`),
    ]
  })
  return series.length === 0 ? '' : header(name, 'histogram', 'Duration from request to first response in milliseconds') + series.join('')
}

/** '' where the family is off. */
function summaryFamily({ name, help, summary }: (typeof SUMMARY_FAMILIES)[number], models: readonly ModelMetricsSnapshot[]): string {
  const series = models.flatMap((model) => {
    const own = model.summaries?.[summary]
    if (own === undefined) return []
    const ownLabels = labels(modelLabels(model))
    return [
      `${name}_count${ownLabels} ${own.count}\n`, `${name}_sum${ownLabels} ${printedValue(own.sum)}\n`,
      ...own.quantiles.map(({ quantile, value }) => `${name}${labels({ ...modelLabels(model), quantile: printedValue(quantile) })} ${printedValue(value)}\n`),
    ]
  })
  return series.length === 0 ? '' : header(name, 'summary', help) + series.join('')
}

function gauge(name: string, help: string, value: number | null): string {
  return value === null ? '' : `${header(name, 'gauge', help)}${name} ${printedValue(value)}\n`
}

export function header(name: string, type: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
}

function modelLabels(model: ModelMetricsSnapshot): Record<string, string> {
  const tags = Object.entries(model.metricTags).map(([tag, value]) => [`_${tag}`, value])
  return { ...Object.fromEntries(tags), model: model.model, version: model.version }
}

/** `{a="1",b="2"}`, sorted by name. */
export function labels(values: Readonly<Record<string, string>>): string {
  const names = Object.keys(values).sort((a, b) => (a < b ? -1 : 1))
  return `{${names.map((name) => `${name}="${escaped(values[name] ?? '')}"`).join(',')}}`
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}

export function printedValue(value: number): string {
  if (Number.isNaN(value)) return 'Nan'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  return String(value)
}
