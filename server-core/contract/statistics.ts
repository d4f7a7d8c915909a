/** Statistics: Triton's statistics extension (wire spelling), and the per-second samples behind the console's charts. */

export interface StatisticDuration {
  readonly count: number
  readonly ns: number
}

export interface InferStatistics {
  readonly success: StatisticDuration
  readonly fail: StatisticDuration
  readonly queue: StatisticDuration
  readonly compute_input: StatisticDuration
  readonly compute_infer: StatisticDuration
  readonly compute_output: StatisticDuration
  readonly cache_hit: StatisticDuration
  readonly cache_miss: StatisticDuration
}

export interface InferBatchStatistics {
  readonly batch_size: number
  readonly compute_input: StatisticDuration
  readonly compute_infer: StatisticDuration
  readonly compute_output: StatisticDuration
}

export interface MemoryUsage {
  readonly type: string
  readonly id: number
  readonly byte_size: number
}

export interface ModelStatisticsEntry {
  readonly name: string
  readonly version: string
  /** Milliseconds since the epoch; 0: none yet. */
  readonly last_inference: number
  readonly inference_count: number
  readonly execution_count: number
  readonly inference_stats: InferStatistics
  readonly response_stats: Readonly<Record<string, never>>
  readonly batch_stats: readonly InferBatchStatistics[]
  readonly memory_usage: readonly MemoryUsage[]
}

/**
 * Latency buckets: bucket i counts values v (ns) with bounds[i-1] < v <= bounds[i]. Log-spaced, factor 2^(1/4), so histograms of
 * different seconds and models merge by adding counts. Index of v: `latencyBucketIndex(v)`.
 */
export const LATENCY_BUCKETS_PER_OCTAVE = 4
/** Upper bound of bucket 0: 1 microsecond. */
export const LATENCY_FIRST_BOUND_NANOSECONDS = 1000
/** Highest bucket: about 1000 s. */
export const LATENCY_BUCKET_COUNT = 121

/** Bucket of a latency in nanoseconds, clamped to the table. */
export function latencyBucketIndex(nanoseconds: number): number {
  if (nanoseconds <= LATENCY_FIRST_BOUND_NANOSECONDS) return 0
  const exact = Math.log2(nanoseconds / LATENCY_FIRST_BOUND_NANOSECONDS) * LATENCY_BUCKETS_PER_OCTAVE
  return Math.min(LATENCY_BUCKET_COUNT - 1, Math.ceil(exact - 1e-9))
}

/** Upper bound of a bucket, in nanoseconds. */
export function latencyBucketBound(index: number): number {
  return LATENCY_FIRST_BOUND_NANOSECONDS * 2 ** (index / LATENCY_BUCKETS_PER_OCTAVE)
}

/**
 * Percentile from bucket counts, linear inside the bucket. Counts: index to count, sparse.
 * @param quantile 0..1
 * @returns nanoseconds, or null when nothing was counted (unknown, never 0)
 */
export function latencyQuantile(counts: Readonly<Record<number, number>>, quantile: number): number | null {
  const buckets = Object.keys(counts).map(Number).sort((a, b) => a - b)
  const total = buckets.reduce((sum, bucket) => sum + counts[bucket]!, 0)
  if (total === 0) return null
  const rank = quantile * total
  let seen = 0
  for (const bucket of buckets) {
    const count = counts[bucket]!
    if (seen + count >= rank && count > 0) {
      const low = bucket === 0 ? 0 : latencyBucketBound(bucket - 1)
      return low + (latencyBucketBound(bucket) - low) * Math.max(0, Math.min(1, (rank - seen) / count))
    }
    seen += count
  }
  return latencyBucketBound(buckets[buckets.length - 1]!)
}

/** What one model did in one second. Everything is a delta over that second unless said otherwise. */
export interface ModelSample {
  readonly model: string
  readonly version: string
  readonly success: number
  readonly failure: number
  readonly inferences: number
  readonly executions: number
  /** Sparse counts of successful requests' latency, index by `latencyBucketIndex`. */
  readonly latency: Readonly<Record<number, number>>
  readonly queueNanoseconds: number
  readonly computeInputNanoseconds: number
  readonly computeInferNanoseconds: number
  readonly computeOutputNanoseconds: number
  /** Executions by total batch size. */
  readonly batchSizes: Readonly<Record<number, number>>
  /** Requests waiting at the end of the second (gauge). */
  readonly pending: number
}

/** One second of the whole server. Models that did nothing and have nothing pending are left out. */
export interface ServerSample {
  /** Milliseconds since the epoch, a whole second: the sample covers (time - 1 s, time]. */
  readonly time: number
  readonly models: readonly ModelSample[]
  /** Server process CPU, 0..1 per core summed (2.0 = two full cores); null: unknown. */
  readonly processCpuCores: number | null
  /** Resident memory of the server process in bytes; null: unknown. */
  readonly processResidentBytes: number | null
  /** Cards seen; null: no NPU found. */
  readonly npus: readonly NpuSample[] | null
}

/** One card in one second; null: not reported. */
export interface NpuSample {
  readonly card: number
  readonly chip: string
  readonly aiCorePercent: number | null
  readonly memoryUsedBytes: number | null
  readonly memoryTotalBytes: number | null
  readonly temperatureCelsius: number | null
  readonly powerWatts: number | null
}
