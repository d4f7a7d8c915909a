/** `--metrics-config`: which families of latencies there are, and how summaries look (protocol section 10). */
import type { ModelConfig } from '../contract/model-config.ts'
import { ServerError } from '../server-error.ts'

export interface SummaryQuantile {
  /** 0 to 1. */
  readonly quantile: number
  /** How far the rank may be off, as a share of all. */
  readonly error: number
}

export interface MetricsConfig {
  /** Off: the counters of models stay at 0. */
  readonly hasCounters: boolean
  readonly hasHistograms: boolean
  readonly hasSummaries: boolean
  readonly summaryQuantiles: readonly SummaryQuantile[]
}

export const DEFAULT_METRICS_CONFIG: MetricsConfig = Object.freeze({
  hasCounters: true, hasHistograms: false, hasSummaries: false,
  summaryQuantiles: [{ quantile: 0.5, error: 0.05 }, { quantile: 0.9, error: 0.01 }, { quantile: 0.95, error: 0.001 }, { quantile: 0.99, error: 0.001 }, { quantile: 0.999, error: 0.001 }],
})

/** The only family with buckets of its own. */
export const FIRST_RESPONSE_FAMILY = 'nv_inference_first_response_histogram_ms'
const FIRST_RESPONSE_BUCKETS: readonly number[] = [100, 500, 2000, 5000]

const SWITCHES: ReadonlyMap<string, 'hasCounters' | 'hasHistograms' | 'hasSummaries'> = new Map([
  ['counter_latencies', 'hasCounters'], ['histogram_latencies', 'hasHistograms'], ['summary_latencies', 'hasSummaries'],
] as const)

/**
 * One `<setting>=<value>` over the settings before.
 * @param readBoolean the words of a flag that is true or false @throws ServerError INVALID_ARG
 */
export function metricsConfigWith(config: MetricsConfig, text: string, readBoolean: (text: string) => boolean): MetricsConfig {
  const equals = text.indexOf('=')
  const [name, value] = [text.slice(0, equals), text.slice(equals + 1)]
  const known = SWITCHES.get(name)
  if (equals > 0 && known !== undefined) return { ...config, [known]: readBoolean(value) }
  if (equals > 0 && name === 'summary_quantiles') return { ...config, summaryQuantiles: value.split(',').map(quantileOf) }
  throw new ServerError('INVALID_ARG', `--metrics-config expects <setting>=<value> with one of the settings ${[...SWITCHES.keys(), 'summary_quantiles'].join(', ')}, got: ${text}`)
}

function quantileOf(text: string): SummaryQuantile {
  const [quantile = NaN, error = NaN, ...rest] = text.split(':').map((part) => (part.trim() === '' ? NaN : Number(part)))
  if (rest.length > 0 || !(quantile >= 0 && quantile <= 1) || !(error >= 0 && error <= 1)) {
    throw new ServerError('INVALID_ARG', `--metrics-config summary_quantiles expects <quantile>:<error>[,<quantile>:<error>], each from 0 to 1, got: ${text}`)
  }
  return { quantile, error }
}

/** Upper ends of the first response histogram of a model, ascending, in milliseconds: those of its config, or the default. */
export function firstResponseBuckets(config: ModelConfig): readonly number[] {
  const controls = (config.model_metrics?.['metric_control'] ?? []) as readonly { metric_identifier?: { family?: string }; histogram_options?: { buckets?: readonly number[] } }[]
  const own = controls.find((control) => control.metric_identifier?.family === FIRST_RESPONSE_FAMILY)?.histogram_options?.buckets
  return own === undefined ? FIRST_RESPONSE_BUCKETS : [...own].sort((a, b) => a - b)
}
