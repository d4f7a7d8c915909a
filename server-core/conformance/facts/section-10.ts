/** Section 10 of the protocol: metrics. */
import { cannotShow, type Fact, rule } from '../fact.ts'

export const SECTION_10 = {
  '10/page': rule('GET /metrics: 200, text/plain; charset=utf-8, HELP and TYPE per family'),
  '10/method': rule('other methods are 405'),
  '10/other-path': rule('any other path: 200 with an empty body'),
  '10/off': rule('--allow-metrics=false: no listener'),
  '10/labels': rule('labels sorted by name: model, version, and _<tag> of metric_tags'),
  '10/life': rule('series appear at 0 with the load, vanish with the unload but for the failures, restart at 0'),
  '10/request-success': rule('nv_inference_request_success'),
  '10/request-failure': rule('nv_inference_request_failure with reasons REJECTED, CANCELED, BACKEND, OTHER, all at 0'),
  '10/inference-count': rule('nv_inference_count grows by the batch size'),
  '10/exec-count': rule('nv_inference_exec_count grows by the execution'),
  '10/durations': rule('nv_inference_{request,queue,compute_input,compute_infer,compute_output}_duration_us'),
  '10/pending': rule('nv_inference_pending_request_count'),
  '10/load-duration': rule('nv_model_load_duration_secs'),
  '10/pinned-memory': rule('nv_pinned_memory_pool_total_bytes and _used_bytes'),
  '10/cache': rule('nv_cache_* for models with the response cache'),
  '10/first-response-histogram': rule('nv_inference_first_response_histogram_ms with histogram_latencies=true'),
  '10/summaries': rule('nv_inference_*_summary_us with summary_latencies=true, quantiles by summary_quantiles'),
  '10/cache-summaries': rule('nv_cache_hit_summary_per_model and nv_cache_miss_summary_per_model'),
  '10/cpu': rule('nv_cpu_utilization, nv_cpu_memory_total_bytes, nv_cpu_memory_used_bytes'),
  '10/gpu': cannotShow(rule('nv_gpu_* per GPU'), 'there are no GPUs: the families are left out, as the section says'),
  '10/counter-latencies': rule('counter_latencies=false stops all counters of models'),
  '10/ensemble': rule('ensembles have series of their own; a failed request counts twice as OTHER'),
  '10/help': rule('HELP texts as in the table'),
  '10/custom': rule('metrics of backends appear on the page'),
} as const satisfies Record<`10/${string}`, Fact>
