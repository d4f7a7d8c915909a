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

/** Of the responses with one index in their requests, where a backend reports them one by one. */
export interface InferResponseStatistics {
  readonly compute_infer: StatisticDuration
  readonly compute_output: StatisticDuration
  readonly success: StatisticDuration
  readonly fail: StatisticDuration
  readonly empty_response: StatisticDuration
  readonly cancel: StatisticDuration
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
  /** Key: index of the response in its request. */
  readonly response_stats: Readonly<Record<string, InferResponseStatistics>>
  readonly batch_stats: readonly InferBatchStatistics[]
  readonly memory_usage: readonly MemoryUsage[]
  /** Ours, only while the traffic is split: share of the requests that name no version, and those that came by it. */
  readonly traffic?: { readonly percent: number; readonly requests: number }
}

/** Largest relative error of a percentile taken from the buckets. */
export const LATENCY_RELATIVE_ERROR = 0.01
/** Upper bound of a bucket over that of the one below: the middle of a bucket is then at most the relative error away from all in it. */
const LATENCY_GROWTH = (1 + LATENCY_RELATIVE_ERROR) / (1 - LATENCY_RELATIVE_ERROR)
const LATENCY_BUCKETS_PER_E_FOLD = 1 / Math.log(LATENCY_GROWTH)
/** Upper bound of bucket 0, 1 microsecond: what is quicker counts as that. */
const LATENCY_FIRST_BOUND_NANOSECONDS = 1000
/** The highest bucket reaches beyond 1000 s. */
export const LATENCY_BUCKET_COUNT = Math.ceil(Math.log(1e12 / LATENCY_FIRST_BOUND_NANOSECONDS) * LATENCY_BUCKETS_PER_E_FOLD) + 1

/**
 * Latency buckets are log-spaced, so that histograms of different seconds and models merge by adding counts. Bucket i counts values v
 * (ns) with bound(i - 1) < v <= bound(i), clamped to the table.
 */
export function latencyBucketIndex(nanoseconds: number): number {
  if (nanoseconds <= LATENCY_FIRST_BOUND_NANOSECONDS) return 0
  const exact = Math.log(nanoseconds / LATENCY_FIRST_BOUND_NANOSECONDS) * LATENCY_BUCKETS_PER_E_FOLD
  return Math.min(LATENCY_BUCKET_COUNT - 1, Math.ceil(exact - 1e-9))
}

/** Upper bound of a bucket, in nanoseconds. */
export function latencyBucketBound(index: number): number {
  return LATENCY_FIRST_BOUND_NANOSECONDS * LATENCY_GROWTH ** index
}

/** The value that stands for a bucket, in nanoseconds. */
function latencyBucketMiddle(index: number): number {
  return index === 0 ? LATENCY_FIRST_BOUND_NANOSECONDS : latencyBucketBound(index) * 2 / (1 + LATENCY_GROWTH)
}

/**
 * Percentile (nearest rank) from bucket counts: at most `LATENCY_RELATIVE_ERROR` away from the exact one between 1 us and 1000 s.
 * Counts: index to count, sparse.
 * @param quantile 0..1
 * @returns nanoseconds, or null when nothing was counted (unknown, never 0)
 */
export function latencyQuantile(counts: Readonly<Record<number, number>>, quantile: number): number | null {
  const buckets = Object.keys(counts).map(Number).filter((bucket) => counts[bucket]! > 0).sort((a, b) => a - b)
  const total = buckets.reduce((sum, bucket) => sum + counts[bucket]!, 0)
  if (total === 0) return null
  const rank = Math.max(1, Math.ceil(quantile * total))
  let seen = 0
  for (const bucket of buckets) {
    seen += counts[bucket]!
    if (seen >= rank) return latencyBucketMiddle(bucket)
  }
  return latencyBucketMiddle(buckets[buckets.length - 1]!)
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
  /** Requests being executed at the end of the second, or answered part by part (gauge). */
  readonly inFlight: number
}

/** One second of the whole server. Models that did nothing and have nothing pending or in flight are left out. */
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

export type NpuHealth = 'ok' | 'warning' | 'alarm' | 'critical'

/** What only the driver's library DCMI tells, for the metrics page; null: not reported. */
export interface NpuGauges {
  /** Of the whole chip. */
  readonly overallPercent: number | null
  readonly aiCoreMegahertz: number | null
  readonly hbmTemperatureCelsius: number | null
  readonly hbmBandwidthPercent: number | null
}

/** One card (chip) in one second; null: not reported, or what is known is too old to stand for this second. */
export interface NpuSample {
  /** Logical id, before `ASCEND_RT_VISIBLE_DEVICES`; where the driver does not tell it, the card's place in the driver's list. */
  readonly card: number
  /** As the driver names it: `310P3`, `910B3`. */
  readonly chip: string
  readonly aiCorePercent: number | null
  readonly vectorCorePercent: number | null
  readonly cubeCorePercent: number | null
  /** Card memory: HBM where the chip has it, else its DDR. */
  readonly memoryUsedBytes: number | null
  readonly memoryTotalBytes: number | null
  readonly temperatureCelsius: number | null
  readonly powerWatts: number | null
  readonly health: NpuHealth | null
  /** Empty: the driver says that there are none. */
  readonly errorCodes: readonly string[] | null
  /** Null, or absent: not reported. */
  readonly gauges?: NpuGauges | null
  /** When the driver was asked, milliseconds since the epoch. */
  readonly readAt: number
  /** The same for vector core, cube core and error codes, which are asked for less often: the oldest of those reported; null: none is. */
  readonly detailsReadAt: number | null
  /** The values come from the simulated NPU. */
  readonly isSimulated: boolean
}
