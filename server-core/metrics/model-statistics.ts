import type { ExecutionTimes } from '../backends/backend.ts'
import { SUMMARY_NAMES, type ModelMetricsSnapshot, type SummaryName } from '../inference-server.ts'
import {
  latencyBucketIndex, type InferBatchStatistics, type InferResponseStatistics, type MemoryUsage, type ModelSample, type ModelStatisticsEntry, type StatisticDuration,
} from '../contract/statistics.ts'
import { Histogram, Summary } from './latency-metrics.ts'
import { DEFAULT_METRICS_CONFIG, type MetricsConfig } from './metrics-config.ts'

export interface ModelStatisticsOptions {
  readonly metricTags?: Readonly<Record<string, string>>
  readonly metrics?: MetricsConfig
  /** Ascending, milliseconds; for the histogram of first responses. */
  readonly firstResponseBuckets?: readonly number[]
  /** Steady milliseconds; ages of summaries. */
  readonly now?: () => number
}

export type FailureReason = keyof ModelMetricsSnapshot['requestFailure']

class Duration {
  count = 0
  ns = 0

  add(nanoseconds: number, count = 1): void {
    this.count += count
    this.ns += Math.max(0, nanoseconds)
  }

  get value(): StatisticDuration { return { count: this.count, ns: Math.round(this.ns) } }
}

interface BatchDurations { readonly input: Duration; readonly infer: Duration; readonly output: Duration }

class ResponseDurations {
  readonly computeInfer = new Duration()
  readonly computeOutput = new Duration()
  readonly success = new Duration()
  readonly fail = new Duration()
  readonly emptyResponse = new Duration()
  readonly cancel = new Duration()

  get value(): InferResponseStatistics {
    return {
      compute_infer: this.computeInfer.value, compute_output: this.computeOutput.value, success: this.success.value, fail: this.fail.value,
      empty_response: this.emptyResponse.value, cancel: this.cancel.value,
    }
  }
}

/** One response of a request that has several. Nanoseconds. */
export interface CountedResponse {
  /** Position among the responses of its request, from 0. */
  readonly index: number
  /** `empty`: the FINAL flag came alone. */
  readonly end: 'success' | 'fail' | 'empty' | 'cancel'
  /** Since the execution began or the response before it left. */
  readonly inferNanoseconds: number
  readonly outputNanoseconds: number
}

/** The second that is being counted. */
class Window {
  success = 0
  failure = 0
  inferences = 0
  executions = 0
  queue = 0
  computeInput = 0
  computeInfer = 0
  computeOutput = 0
  readonly latency: Record<number, number> = {}
  readonly batchSizes: Record<number, number> = {}
}

export interface SuccessfulRequest {
  /** Steady nanoseconds. */
  readonly requestStart: number
  readonly queueStart: number
  readonly requestEnd: number
  readonly batchSize: number
  readonly times: ExecutionTimes
}

/** Steady nanoseconds. */
export interface CacheHit {
  readonly requestStart: number
  readonly queueStart: number
  readonly lookupStart: number
  readonly lookupEnd: number
  readonly requestEnd: number
}

/**
 * Everything that is counted about one model version, counted once: the statistics extension, `/metrics` and the per-second samples are
 * three views on it. Requests refused before or at enqueue are counted nowhere; each request of a batch is charged the whole batch's
 * compute time. Metrics are microseconds, cut per observation as Triton does.
 */
export class ModelStatistics {
  readonly model: string
  readonly version: string
  readonly metricTags: Readonly<Record<string, string>>
  /** Requests that were taken in and are not over: waiting or being executed. */
  admitted = 0
  /** Those of them that wait. */
  pending = 0
  loadDurationSeconds = 0
  /** The model's responses are cached: it has cache metrics. */
  hasResponseCache = false
  /** What the backend says the model holds now. */
  memoryUsage: () => readonly MemoryUsage[] = () => []
  readonly #success = new Duration()
  readonly #fail = new Duration()
  readonly #queue = new Duration()
  readonly #computeInput = new Duration()
  readonly #computeInfer = new Duration()
  readonly #computeOutput = new Duration()
  readonly #batches = new Map<number, BatchDurations>()
  readonly #responses: ResponseDurations[] = []
  readonly #failures = { REJECTED: 0, CANCELED: 0, BACKEND: 0, OTHER: 0 }
  readonly #cacheHit = new Duration()
  readonly #cacheMiss = new Duration()
  readonly #microseconds = { request: 0, queue: 0, computeInput: 0, computeInfer: 0, computeOutput: 0, cacheHit: 0, cacheMiss: 0 }
  readonly #hasCounters: boolean
  /** null: off. */
  readonly #summaries: ReadonlyMap<SummaryName, Summary> | null
  readonly #firstResponse: Histogram | null
  #lastInference = 0
  #inferenceCount = 0
  #executionCount = 0
  #window = new Window()

  constructor(model: string, version: string, options: ModelStatisticsOptions = {}) {
    const { metricTags = {}, metrics = DEFAULT_METRICS_CONFIG, firstResponseBuckets = [], now = () => performance.now() } = options
    this.model = model
    this.version = version
    this.metricTags = metricTags
    this.#hasCounters = metrics.hasCounters
    this.#summaries = metrics.hasSummaries ? new Map(SUMMARY_NAMES.map((name) => [name, new Summary(metrics.summaryQuantiles, now)])) : null
    this.#firstResponse = metrics.hasHistograms ? new Histogram(firstResponseBuckets) : null
  }

  countSuccess(request: SuccessfulRequest): void {
    const { times } = request
    const total = request.requestEnd - request.requestStart
    const queue = times.executeStart - request.queueStart
    const input = times.computeStart - times.executeStart
    const infer = times.computeEnd - times.computeStart
    const output = times.executeEnd - times.computeEnd
    const inferences = Math.max(1, request.batchSize)
    this.#success.add(total)
    this.#queue.add(queue)
    this.#computeInput.add(input)
    this.#computeInfer.add(infer)
    this.#computeOutput.add(output)
    this.#inferenceCount += inferences
    const sums = this.#microseconds
    sums.request += wholeMicroseconds(total)
    sums.queue += wholeMicroseconds(queue)
    sums.computeInput += wholeMicroseconds(input)
    sums.computeInfer += wholeMicroseconds(infer)
    sums.computeOutput += wholeMicroseconds(output)
    if (this.#summaries !== null) {
      this.#observe('request', total)
      this.#observe('queue', queue)
      this.#observe('computeInput', input)
      this.#observe('computeInfer', infer)
      this.#observe('computeOutput', output)
    }
    const window = this.#window
    window.success++
    window.inferences += inferences
    window.queue += Math.max(0, queue)
    window.computeInput += Math.max(0, input)
    window.computeInfer += Math.max(0, infer)
    window.computeOutput += Math.max(0, output)
    const bucket = latencyBucketIndex(total)
    window.latency[bucket] = (window.latency[bucket] ?? 0) + 1
  }

  /** A request that the response cache answered: a success without inference or execution. */
  countCacheHit({ requestStart, queueStart, lookupStart, lookupEnd, requestEnd }: CacheHit): void {
    const total = requestEnd - requestStart
    const queue = lookupStart - queueStart
    this.#success.add(total)
    this.#queue.add(queue)
    this.#cacheHit.add(lookupEnd - lookupStart)
    const sums = this.#microseconds
    sums.request += wholeMicroseconds(total)
    sums.queue += wholeMicroseconds(queue)
    sums.cacheHit += wholeMicroseconds(lookupEnd - lookupStart)
    this.#observe('queue', queue)
    this.#observe('cacheHit', lookupEnd - lookupStart)
    const window = this.#window
    window.success++
    window.queue += Math.max(0, queue)
    const bucket = latencyBucketIndex(total)
    window.latency[bucket] = (window.latency[bucket] ?? 0) + 1
  }

  /** Looking up in vain and inserting: time of the request that its success did not count yet. */
  countCacheMiss(nanoseconds: number): void {
    this.#cacheMiss.add(nanoseconds)
    this.#success.add(nanoseconds, 0)
    this.#microseconds.request += wholeMicroseconds(nanoseconds)
    this.#microseconds.cacheMiss += wholeMicroseconds(nanoseconds)
    this.#observe('cacheMiss', nanoseconds)
  }

  countFailure(reason: FailureReason, durationNanoseconds: number): void {
    this.#fail.add(durationNanoseconds)
    this.#failures[reason]++
    this.#window.failure++
  }

  /** Triton counts a failed ensemble request twice in its statistics and metrics; the samples behind the charts count it once. */
  countFailureAgain(reason: FailureReason, durationNanoseconds: number): void {
    this.#fail.add(durationNanoseconds)
    this.#failures[reason]++
  }

  /** Whether anybody wants to hear of first responses. */
  get countsFirstResponses(): boolean { return this.#firstResponse !== null }

  /** The first answer of a request left. @param nanoseconds since the request came */
  countFirstResponse(nanoseconds: number): void { this.#firstResponse?.observe(Math.floor(Math.max(0, nanoseconds) / 1e6)) }

  /** Once per execution. `batchSize`: total of the batch. */
  countExecution(batchSize: number, times: ExecutionTimes, wallMilliseconds: number): void {
    this.#executionCount++
    this.#lastInference = wallMilliseconds
    let batch = this.#batches.get(batchSize)
    if (batch === undefined) {
      batch = { input: new Duration(), infer: new Duration(), output: new Duration() }
      this.#batches.set(batchSize, batch)
    }
    batch.input.add(times.computeStart - times.executeStart)
    batch.infer.add(times.computeEnd - times.computeStart)
    batch.output.add(times.executeEnd - times.computeEnd)
    this.#window.executions++
    this.#window.batchSizes[batchSize] = (this.#window.batchSizes[batchSize] ?? 0) + 1
  }

  /** Once per response of a decoupled model (the response statistics API of backends). */
  countResponse({ index, end, inferNanoseconds, outputNanoseconds }: CountedResponse): void {
    while (this.#responses.length <= index) this.#responses.push(new ResponseDurations())
    const durations = this.#responses[index]!
    const total = Math.max(0, inferNanoseconds) + Math.max(0, outputNanoseconds)
    if (end === 'cancel') durations.cancel.add(total)
    else if (end === 'empty') durations.emptyResponse.add(total)
    else {
      durations.computeInfer.add(inferNanoseconds)
      durations.computeOutput.add(outputNanoseconds)
      if (end === 'success') durations.success.add(total)
      else durations.fail.add(total)
    }
  }

  entry(): ModelStatisticsEntry {
    const batches: InferBatchStatistics[] = [...this.#batches].sort(([a], [b]) => a - b).map(([batchSize, durations]) => ({
      batch_size: batchSize, compute_input: durations.input.value, compute_infer: durations.infer.value, compute_output: durations.output.value,
    }))
    return {
      name: this.model,
      version: this.version,
      last_inference: this.#lastInference,
      inference_count: this.#inferenceCount,
      execution_count: this.#executionCount,
      inference_stats: {
        success: this.#success.value, fail: this.#fail.value, queue: this.#queue.value, compute_input: this.#computeInput.value,
        compute_infer: this.#computeInfer.value, compute_output: this.#computeOutput.value, cache_hit: this.#cacheHit.value, cache_miss: this.#cacheMiss.value,
      },
      response_stats: Object.fromEntries(this.#responses.map((response, index) => [String(index), response.value])),
      batch_stats: batches,
      memory_usage: this.memoryUsage(),
    }
  }

  metrics(isLoaded: boolean): ModelMetricsSnapshot {
    const head = { model: this.model, version: this.version, metricTags: this.metricTags, pendingRequestCount: this.pending, loadDurationSeconds: this.loadDurationSeconds, isLoaded }
    return { ...(this.#hasCounters ? this.#counters() : noCounters(this.hasResponseCache)), ...this.#latencies(), ...head }
  }

  #observe(name: SummaryName, nanoseconds: number): void { this.#summaries?.get(name)?.observe(wholeMicroseconds(nanoseconds)) }

  /** With a response cache there is no summary of requests, without one there are none of the cache. */
  #latencies(): Pick<ModelMetricsSnapshot, 'summaries' | 'firstResponse'> {
    const left = this.hasResponseCache ? ['request'] : ['cacheHit', 'cacheMiss']
    return {
      ...(this.#summaries === null ? {} : { summaries: Object.fromEntries([...this.#summaries].flatMap(([name, summary]) => (left.includes(name) ? [] : [[name, summary.snapshot()]]))) }),
      ...(this.#firstResponse === null ? {} : { firstResponse: this.#firstResponse.snapshot() }),
    }
  }

  #counters(): Counters {
    const sums = this.#microseconds
    return {
      requestSuccess: this.#success.count,
      requestFailure: { ...this.#failures },
      inferenceCount: this.#inferenceCount,
      executionCount: this.#executionCount,
      requestDurationMicroseconds: sums.request,
      queueDurationMicroseconds: sums.queue,
      computeInputDurationMicroseconds: sums.computeInput,
      computeInferDurationMicroseconds: sums.computeInfer,
      computeOutputDurationMicroseconds: sums.computeOutput,
      ...(this.hasResponseCache ? {
        cache: { hits: this.#cacheHit.count, misses: this.#cacheMiss.count, hitDurationMicroseconds: sums.cacheHit, missDurationMicroseconds: sums.cacheMiss },
      } : {}),
    }
  }

  /** What happened since the last call; null when nothing did and no request is under way. */
  takeSample(): ModelSample | null {
    const window = this.#window
    if (window.success + window.failure + window.executions + this.pending + this.admitted === 0) return null
    this.#window = new Window()
    return {
      model: this.model,
      version: this.version,
      success: window.success,
      failure: window.failure,
      inferences: window.inferences,
      executions: window.executions,
      latency: window.latency,
      queueNanoseconds: window.queue,
      computeInputNanoseconds: window.computeInput,
      computeInferNanoseconds: window.computeInfer,
      computeOutputNanoseconds: window.computeOutput,
      batchSizes: window.batchSizes,
      pending: this.pending,
      inFlight: Math.max(0, this.admitted - this.pending),
    }
  }
}

type Counters = Omit<ModelMetricsSnapshot, 'model' | 'version' | 'metricTags' | 'pendingRequestCount' | 'loadDurationSeconds' | 'isLoaded' | 'summaries' | 'firstResponse'>

/** What `counter_latencies=false` leaves of the counters. */
function noCounters(hasResponseCache: boolean): Counters {
  return {
    requestSuccess: 0, requestFailure: { REJECTED: 0, CANCELED: 0, BACKEND: 0, OTHER: 0 }, inferenceCount: 0, executionCount: 0, requestDurationMicroseconds: 0,
    queueDurationMicroseconds: 0, computeInputDurationMicroseconds: 0, computeInferDurationMicroseconds: 0, computeOutputDurationMicroseconds: 0,
    ...(hasResponseCache ? { cache: { hits: 0, misses: 0, hitDurationMicroseconds: 0, missDurationMicroseconds: 0 } } : {}),
  }
}

function wholeMicroseconds(nanoseconds: number): number {
  return Math.floor(Math.max(0, nanoseconds) / 1000)
}
