/** Decides which requests are traced and writes what they collect (protocol 11.1). */
import type { RequestTrace, Tensor, TraceActivity } from '../contract/inference.ts'
import type { Logger } from '../logger.ts'
import { toServerError } from '../server-error.ts'
import { tensorDocument } from './tensor-text.ts'
import { TraceFile } from './trace-file.ts'
import type { TraceChange, TraceConfig, TraceSettings } from './trace-settings.ts'

/** Settings with what they have counted so far. */
interface Sampler {
  readonly settings: TraceSettings
  /** Requests seen. */
  seen: number
  /** -1: no limit. */
  remaining: number
}

export class Tracer {
  readonly #atStart: TraceConfig
  readonly #log: Logger
  readonly #file: TraceFile
  #global: TraceSettings
  #globalSampler: Sampler
  /** What models have of their own, and the sampler of each. */
  readonly #models = new Map<string, { own: Partial<TraceSettings>; sampler: Sampler }>()
  #isAllOff = true
  #lastId = 0
  #hasFailed = false

  constructor(config: TraceConfig, log: Logger) {
    this.#atStart = config
    this.#log = log
    this.#file = new TraceFile(config.file)
    this.#global = config
    this.#globalSampler = samplerOf(config)
    this.#update()
  }

  /** Where traces go; '' : nowhere. */
  get file(): string { return this.#file.path }

  /** @param model '' : the global ones. `count` is what is left. */
  settings(model: string): TraceSettings {
    const { settings, remaining } = this.#models.get(model)?.sampler ?? this.#globalSampler
    return { ...settings, count: remaining }
  }

  /** Takes effect with the next request. Traces of a numbered file that is not full are written. @param model '' : the global ones */
  change(model: string, change: TraceChange): void {
    if (model === '') {
      this.#global = changed(this.#global, change, this.#atStart)
      this.#globalSampler = samplerOf(this.#global)
    } else {
      const own = Object.fromEntries(Object.entries({ ...this.#models.get(model)?.own, ...change }).filter(([, value]) => value !== null)) as Partial<TraceSettings>
      if (Object.keys(own).length === 0) this.#models.delete(model)
      else this.#models.set(model, { own, sampler: samplerOf({ ...this.#global, ...own }) })
    }
    // Models follow what they have not of their own.
    if (model === '') for (const entry of this.#models.values()) entry.sampler = samplerOf({ ...this.#global, ...entry.own })
    this.#guard(() => { this.#file.flush() })
    this.#hasFailed = false
    this.#update()
    if (this.file === '' && this.settings(model).levels.length > 0) {
      this.#log.warning('requests are not traced: there is no file for traces. Start the server with --trace-config triton,file=<path>')
    }
  }

  /** @returns undefined: this request is not traced */
  sample(model: string): RequestTrace | undefined {
    if (this.#isAllOff) return undefined
    const sampler = this.#models.get(model)?.sampler ?? this.#globalSampler
    const { levels, rate, logFrequency } = sampler.settings
    if (levels.length === 0 || rate === 0 || sampler.remaining === 0) return undefined
    if (++sampler.seen % rate !== 0) return undefined
    if (sampler.remaining > 0) sampler.remaining--
    return new Trace({
      levels, nextId: () => ++this.#lastId, parentId: null,
      write: (entries) => { if (!this.#hasFailed) this.#guard(() => { this.#file.write(entries, logFrequency) }) },
    })
  }

  /** Writes what is left. */
  close(): void { this.#guard(() => { this.#file.close() }) }

  #update(): void {
    const samplers = [this.#globalSampler, ...[...this.#models.values()].map(({ sampler }) => sampler)]
    this.#isAllOff = this.file === '' || samplers.every(({ settings }) => settings.levels.length === 0 || settings.rate === 0)
  }

  /** A trace that cannot be written costs no request anything. */
  #guard(write: () => void): void {
    try {
      write()
    } catch (error) {
      this.#hasFailed = true
      this.#log.error('traces cannot be written, and are not until the trace settings are changed. Look at the path and the space on its disk', { file: this.file, error: toServerError(error).message })
    }
  }
}

function samplerOf(settings: TraceSettings): Sampler { return { settings, seen: 0, remaining: settings.count } }

function changed(settings: TraceSettings, change: TraceChange, fallback: TraceSettings): TraceSettings {
  const value = <K extends keyof TraceSettings>(key: K): TraceSettings[K] => (change[key] === undefined ? settings[key] : change[key] ?? fallback[key])
  return { levels: value('levels'), rate: value('rate'), count: value('count'), logFrequency: value('logFrequency') }
}

interface TraceOptions {
  readonly levels: TraceSettings['levels']
  readonly nextId: () => number
  readonly parentId: number | null
  readonly write: (entries: string) => void
}

class Trace implements RequestTrace {
  readonly #options: TraceOptions
  readonly #id: number
  readonly #hasTimestamps: boolean
  readonly #hasTensors: boolean
  #head = ''
  readonly #entries: string[] = []

  constructor(options: TraceOptions) {
    this.#options = options
    this.#id = options.nextId()
    this.#hasTimestamps = options.levels.includes('TIMESTAMPS')
    this.#hasTensors = options.levels.includes('TENSORS')
  }

  begin(modelName: string, modelVersion: string, requestId: string): void {
    const id = requestId === '' ? '' : `,"request_id":${JSON.stringify(requestId)}`
    const parent = this.#options.parentId === null ? '' : `,"parent_id":${this.#options.parentId}`
    this.#head = `{"id":${this.#id},"model_name":${JSON.stringify(modelName)},"model_version":${Number(modelVersion)}${id}${parent}}`
  }

  timestamp(activity: TraceActivity, nanoseconds: number): void {
    if (this.#hasTimestamps) this.#entries.push(`{"id":${this.#id},"timestamps":[{"name":"${activity}","ns":${nanoseconds}}]}`)
  }

  customActivity(name: string, nanoseconds: number): void {
    if (this.#hasTimestamps) this.#entries.push(`{"id":${this.#id},"timestamps":[{"name":${JSON.stringify(name)},"ns":${nanoseconds}}]}`)
  }

  tensors(activity: 'TENSOR_QUEUE_INPUT' | 'TENSOR_BACKEND_OUTPUT', tensors: readonly Tensor[]): void {
    if (!this.#hasTensors) return
    for (const tensor of tensors) this.#entries.push(`{"id":${this.#id},"activity":"${activity}","tensor":${tensorDocument(tensor)}}`)
  }

  child(): RequestTrace { return new Trace({ ...this.#options, parentId: this.#id }) }

  requestEnded(): void { if (this.#options.parentId !== null) this.end() }

  /** A request that no model took in leaves nothing. */
  end(): void {
    if (this.#head === '') return
    this.#options.write([this.#head, ...this.#entries].join(','))
    this.#head = ''
  }
}
