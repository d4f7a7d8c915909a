import { ServerError } from '../../server-error.ts'

export type MetricKind = 'COUNTER' | 'GAUGE' | 'HISTOGRAM'

const KIND_NAMES = { COUNTER: 'TRITONSERVER_METRIC_KIND_COUNTER', GAUGE: 'TRITONSERVER_METRIC_KIND_GAUGE', HISTOGRAM: 'TRITONSERVER_METRIC_KIND_HISTOGRAM' } as const

interface Family {
  readonly name: string
  readonly description: string
  readonly kind: MetricKind
  /** By labels. */
  readonly metrics: Map<string, Metric>
}

interface Metric {
  readonly family: Family
  readonly key: string
  readonly labels: Readonly<Record<string, string>>
  /** Upper bounds, ascending, without infinity. */
  readonly bounds: readonly number[]
  /** How many observations are at most each bound and above the one before; the last: above all. */
  readonly counts: number[]
  /** Of a histogram: the sum. */
  value: number
  /** How often models hold it. */
  holders: number
}

/**
 * Metrics that Python models make (`MetricFamily`). One of the same family and labels is one metric, whoever asks for it; it is there as long as somebody
 * holds it. Errors have the texts of Triton's metrics API.
 */
export class PythonMetrics {
  readonly #families = new Map<string, Family>()

  /** @throws ServerError INVALID_ARG */
  family(name: string, description: string, kind: MetricKind): string {
    if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name)) throw new ServerError('INVALID_ARG', `Invalid metric family name '${name}': letters, digits, '_' and ':' are allowed`)
    const known = this.#families.get(name)
    if (known === undefined) this.#families.set(name, { name, description, kind, metrics: new Map() })
    else if (known.kind !== kind) throw new ServerError('INVALID_ARG', 'Family name already exists with different type')
    return name
  }

  /** @throws ServerError INVALID_ARG */
  hold(familyName: string, labels: Readonly<Record<string, string>>, bounds: readonly number[]): Metric {
    const family = this.#families.get(familyName)
    if (family === undefined) throw new ServerError('NOT_FOUND', `There is no metric family '${familyName}'`)
    const wrong = Object.keys(labels).find((name) => !/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name))
    if (wrong !== undefined) throw new ServerError('INVALID_ARG', `Invalid label name '${wrong}' for metric family '${familyName}': letters, digits and '_' are allowed`)
    if (bounds.some((bound, index) => Number.isNaN(bound) || (index > 0 && bound <= (bounds[index - 1] ?? 0)))) {
      throw new ServerError('INVALID_ARG', `The buckets of metric family '${familyName}' must be ascending numbers`)
    }
    const key = JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)))
    let metric = family.metrics.get(key)
    if (metric === undefined) {
      const finite = bounds.filter((bound) => bound !== Infinity)
      metric = { family, key, labels, bounds: finite, counts: Array.from({ length: finite.length + 1 }, () => 0), value: 0, holders: 0 }
      family.metrics.set(key, metric)
    }
    metric.holders++
    return metric
  }

  release(metric: Metric): void {
    if (--metric.holders === 0) metric.family.metrics.delete(metric.key)
  }

  /** @returns the value for `value`, else null. @throws ServerError INVALID_ARG, UNSUPPORTED */
  act(metric: Metric, action: 'increment' | 'set' | 'observe' | 'value', value: number): number | null {
    const { kind } = metric.family
    const refuse = (what: string): never => { throw new ServerError('UNSUPPORTED', `${KIND_NAMES[kind]} does not support ${what}`) }
    switch (action) {
      case 'increment':
        if (kind === 'HISTOGRAM') refuse('Increment')
        if (kind === 'COUNTER' && !(value >= 0)) throw new ServerError('INVALID_ARG', `${KIND_NAMES[kind]} can only be incremented monotonically by non-negative values.`)
        metric.value += value
        return null
      case 'set':
        if (kind !== 'GAUGE') refuse('Set')
        metric.value = value
        return null
      case 'observe': {
        if (kind !== 'HISTOGRAM') refuse('Observe')
        const index = metric.bounds.findIndex((bound) => value <= bound)
        const bucket = index < 0 ? metric.bounds.length : index
        metric.counts[bucket] = (metric.counts[bucket] ?? 0) + 1
        metric.value += value
        return null
      }
      case 'value':
        return kind === 'HISTOGRAM' ? refuse('Value') : metric.value
    }
  }

  /** In Prometheus' text format. Families without metrics keep their head, as in Triton. */
  text(): string {
    return [...this.#families.values()].map((family) => {
      const head = `# HELP ${family.name} ${family.description.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${family.name} ${family.kind.toLowerCase()}\n`
      return head + [...family.metrics.values()].map(metricLines).join('')
    }).join('')
  }
}

export type PythonMetric = Metric

function metricLines({ family, labels, bounds, counts, value }: Metric): string {
  if (family.kind !== 'HISTOGRAM') return `${family.name}${labelText(labels)} ${numberText(value)}\n`
  let total = 0
  const buckets = counts.map((count, index) => {
    total += count
    return `${family.name}_bucket${labelText({ ...labels, le: numberText(bounds[index] ?? Infinity) })} ${total}\n`
  })
  return `${family.name}_count${labelText(labels)} ${total}\n${family.name}_sum${labelText(labels)} ${numberText(value)}\n${buckets.join('')}`
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const entries = Object.entries(labels)
  if (entries.length === 0) return ''
  return `{${entries.map(([name, value]) => `${name}="${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`).join(',')}}`
}

function numberText(value: number): string {
  if (value === Infinity) return '+Inf'
  return value === -Infinity ? '-Inf' : String(value)
}
