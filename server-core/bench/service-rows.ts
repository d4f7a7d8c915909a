/** What the benches share that put a service under load and compare processor time: their options, the rows that they measure, the comparison. */
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type { LoadResult } from './load-meter.ts'

export interface ServiceBenchOptions {
  readonly rounds: number
  readonly seconds: number
  readonly concurrencies?: readonly number[]
  readonly withFastApi?: boolean
  /** Where the server writes a processor profile when it ends; undefined: nowhere. */
  readonly profileDirectory?: string | undefined
  /** Measure only rows whose name contains this. */
  readonly match?: string | undefined
}

/** The environment of a server that is to write its processor profile. */
export function profileEnvironment(directory: string | undefined): Record<string, string> {
  return directory === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${directory}` }
}

/** Prints the report where the module is the program that was started: `--rounds=3 --seconds=2 [--concurrency=8] [--without=fastapi] [--cpu-prof=<directory>] [--match=<name>]`. */
export async function runServiceBench(moduleUrl: string, figures: (options: ServiceBenchOptions) => Promise<string[]>): Promise<void> {
  if (process.argv[1] === undefined || moduleUrl !== pathToFileURL(process.argv[1]).href) return
  const { values } = parseArgs({ options: {
    rounds: { type: 'string', default: '3' }, seconds: { type: 'string', default: '2' }, concurrency: { type: 'string', multiple: true }, without: { type: 'string' }, 'cpu-prof': { type: 'string' }, match: { type: 'string' },
  } })
  const lines = await figures({
    rounds: Number(values.rounds), seconds: Number(values.seconds), withFastApi: values.without !== 'fastapi', profileDirectory: values['cpu-prof'], match: values.match,
    ...(values.concurrency === undefined ? {} : { concurrencies: values.concurrency.map(Number) }),
  })
  for (const line of lines) process.stdout.write(`${line}\n`)
}

interface Sample extends LoadResult {
  /** Processor seconds of all that serves, for 1,000 requests. */
  readonly cpuPerThousand: number
}

export interface ServiceRow {
  readonly name: string
  readonly size: string
  readonly concurrency: number
  readonly samples: Sample[]
}

export class ServiceRows {
  readonly all: ServiceRow[] = []
  readonly #seconds: number

  /** @param seconds of each measurement; a quarter of them is run before it */
  constructor(seconds: number) { this.#seconds = seconds }

  /** @param processorSeconds that the service has used until now */
  async measure(
    at: Omit<ServiceRow, 'samples'>, processorSeconds: () => number, run: (load: { readonly concurrency: number; readonly warmupSeconds: number; readonly seconds: number }) => Promise<LoadResult>,
  ): Promise<void> {
    let row = this.find(at.name, at.size, at.concurrency)
    if (row === undefined) this.all.push(row = { ...at, samples: [] })
    const before = processorSeconds()
    const result = await run({ concurrency: at.concurrency, warmupSeconds: this.#seconds / 4, seconds: this.#seconds })
    row.samples.push({ ...result, cpuPerThousand: (processorSeconds() - before) / result.total * 1000 })
  }

  find(name: string, size: string, concurrency: number): ServiceRow | undefined {
    return this.all.find((row) => row.name === name && row.size === size && row.concurrency === concurrency)
  }

  /** A line per row under one with the names. */
  table(subject: string, processes: string): string[] {
    return [
      `${subject.padEnd(22)} tensor  concurrency   requests/s     p50 ms     p99 ms   CPU s of ${processes} / 1,000   client cores`,
      ...this.all.map((row) => [
        row.name.padEnd(22), row.size.padStart(6), String(row.concurrency).padStart(12), medianOf(row, (s) => s.requestsPerSecond).toFixed(1).padStart(12), medianOf(row, (s) => s.p50Milliseconds).toFixed(3).padStart(10),
        medianOf(row, (s) => s.p99Milliseconds).toFixed(3).padStart(10), medianOf(row, (s) => s.cpuPerThousand).toFixed(3).padStart(18 + processes.length), medianOf(row, (s) => s.generatorCores).toFixed(2).padStart(14),
      ].join(' ')),
    ]
  }
}

export function middle(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN
}

/** Of the row's samples; NaN without any. */
export function medianOf(row: ServiceRow | undefined, value: (sample: Sample) => number): number {
  return middle((row?.samples ?? []).map(value))
}

/** Throughput per processor second of the one over that of the other. */
export function perProcessorSecond(row: ServiceRow, over: ServiceRow): number {
  return medianOf(over, (s) => s.cpuPerThousand) / medianOf(row, (s) => s.cpuPerThousand)
}

/** ` (goal >= 1.5): met`; nothing without a goal. */
export function verdict(value: number, goal: number | null): string {
  return goal === null ? '' : ` (goal >= ${goal}): ${value >= goal ? 'met' : 'NOT MET'}`
}
