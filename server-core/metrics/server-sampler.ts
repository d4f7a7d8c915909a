import type { Clock } from '../clock.ts'
import type { ModelSample, NpuSample, ServerSample } from '../contract/statistics.ts'
import type { ModelStatistics } from './model-statistics.ts'
import { SampleHistory } from './sample-history.ts'

export interface ProcessUsage {
  /** Microseconds of CPU, user and system, since the process started. */
  readonly cpuMicroseconds: number
  /** null: it cannot be read now. */
  readonly residentBytes: number | null
}

/** The process as the operating system counts it. */
export function processUsage(): ProcessUsage {
  const { user, system } = process.cpuUsage()
  return { cpuMicroseconds: user + system, residentBytes: residentBytes() }
}

/** Reading it opens a file, which fails when the process has none left to open. */
function residentBytes(): number | null {
  try {
    return process.memoryUsage.rss()
  } catch {
    return null
  }
}

export interface ServerSamplerOptions {
  readonly clock: Clock
  readonly onSample: (sample: ServerSample) => void
  readonly usage?: () => ProcessUsage
  /** The cards as they are known now; null, or absent: no NPU found. */
  readonly npus?: () => readonly NpuSample[] | null
  /** Samples kept: one hour. */
  readonly capacity?: number
}

const SECOND_MILLISECONDS = 1000
const NANOSECONDS_PER_MILLISECOND = 1e6

/** Takes one sample of every model's counters on each whole second, keeps the last hour, and passes each on. */
export class ServerSampler {
  readonly #clock: Clock
  readonly #onSample: (sample: ServerSample) => void
  readonly #usage: () => ProcessUsage
  readonly #npus: () => readonly NpuSample[] | null
  readonly #sources = new Set<ModelStatistics>()
  readonly #leaving = new Set<ModelStatistics>()
  readonly #history: SampleHistory
  #lastUsage: { cpuMicroseconds: number; at: number } | null = null
  #cancelTimer: (() => void) | null = null

  constructor(options: ServerSamplerOptions) {
    this.#clock = options.clock
    this.#onSample = options.onSample
    this.#usage = options.usage ?? processUsage
    this.#npus = options.npus ?? (() => null)
    this.#history = new SampleHistory(options.capacity ?? 3600)
  }

  start(): void {
    this.#lastUsage = { cpuMicroseconds: this.#usage().cpuMicroseconds, at: this.#clock.now() }
    this.#schedule()
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
  }

  add(statistics: ModelStatistics): void { this.#sources.add(statistics) }

  /** The model is gone: what it did since the last sample still goes into the next one. */
  remove(statistics: ModelStatistics): void { this.#leaving.add(statistics) }

  /** The samples of the last `seconds` seconds, oldest first. */
  history(seconds: number): readonly ServerSample[] {
    return this.#history.after(this.#clock.wallMilliseconds() - seconds * SECOND_MILLISECONDS)
  }

  #schedule(): void {
    const now = this.#clock.wallMilliseconds()
    const next = (Math.floor(now / SECOND_MILLISECONDS) + 1) * SECOND_MILLISECONDS
    this.#cancelTimer = this.#clock.after((next - now) * NANOSECONDS_PER_MILLISECOND, () => {
      this.#take(next)
      this.#schedule()
    })
  }

  #take(time: number): void {
    const models = new Map<string, ModelSample>()
    for (const statistics of this.#sources) {
      const sample = statistics.takeSample()
      if (sample === null) continue
      const key = `${sample.model}/${sample.version}`
      const other = models.get(key)
      models.set(key, other === undefined ? sample : addSamples(other, sample))
    }
    for (const statistics of this.#leaving) this.#sources.delete(statistics)
    this.#leaving.clear()
    const usage = this.#usage()
    const at = this.#clock.now()
    const last = this.#lastUsage
    const elapsedMicroseconds = last === null ? 0 : (at - last.at) / 1000
    this.#lastUsage = { cpuMicroseconds: usage.cpuMicroseconds, at }
    const sample: ServerSample = {
      time,
      models: [...models.values()],
      processCpuCores: last === null || elapsedMicroseconds <= 0 ? null : (usage.cpuMicroseconds - last.cpuMicroseconds) / elapsedMicroseconds,
      processResidentBytes: usage.residentBytes,
      npus: this.#npus(),
    }
    this.#history.add(sample)
    this.#onSample(sample)
  }
}

/** Both halves of a second in which a model was reloaded: the old object's and the new one's. */
function addSamples(a: ModelSample, b: ModelSample): ModelSample {
  return {
    model: a.model,
    version: a.version,
    success: a.success + b.success,
    failure: a.failure + b.failure,
    inferences: a.inferences + b.inferences,
    executions: a.executions + b.executions,
    latency: addCounts(a.latency, b.latency),
    queueNanoseconds: a.queueNanoseconds + b.queueNanoseconds,
    computeInputNanoseconds: a.computeInputNanoseconds + b.computeInputNanoseconds,
    computeInferNanoseconds: a.computeInferNanoseconds + b.computeInferNanoseconds,
    computeOutputNanoseconds: a.computeOutputNanoseconds + b.computeOutputNanoseconds,
    batchSizes: addCounts(a.batchSizes, b.batchSizes),
    pending: a.pending + b.pending,
    inFlight: a.inFlight + b.inFlight,
  }
}

function addCounts(a: Readonly<Record<number, number>>, b: Readonly<Record<number, number>>): Record<number, number> {
  const sum: Record<number, number> = { ...a }
  for (const [key, count] of Object.entries(b)) sum[Number(key)] = (sum[Number(key)] ?? 0) + count
  return sum
}
