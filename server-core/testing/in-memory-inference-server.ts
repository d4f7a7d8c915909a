/**
 * A test double of `InferenceServer` for front-end tests: models are given, `infer` answers inputs as outputs (INPUT0 becomes OUTPUT0)
 * or whatever `respond` says. Lookup errors carry the protocol's texts.
 */
import type { EnsembleGraph } from '../contract/ensemble.ts'
import type { InferenceRequest, InferenceResponse, ModelMetadata, ServerMetadata, Tensor } from '../contract/inference.ts'
import { DATA_TYPES, type DataType } from '../contract/inference.ts'
import type { ModelConfig, ModelInput, ModelOutput } from '../contract/model-config.ts'
import type { ModelIndexEntry, TrafficSplit, TrafficSplitSettings } from '../contract/repository.ts'
import type { RepositoryTrustReport } from '../contract/repository-trust.ts'
import type { ModelStatisticsEntry } from '../contract/statistics.ts'
import type { InferenceCall, InferenceOptions, InferenceResult, InferenceServer, InferenceStreamHandlers, LoadParameters, ModelMetricsSnapshot } from '../inference-server.ts'
import { ServerError, toServerError } from '../server-error.ts'

export interface InMemoryModel {
  readonly name: string
  readonly version: string
  readonly config: ModelConfig
  readonly isDecoupled?: boolean
  readonly labels?: readonly string[]
  readonly respond?: (request: InferenceRequest, signal: AbortSignal | undefined) => Promise<InferenceResponse> | InferenceResponse
  isReady: boolean
  successCount: number
}

export interface TensorSketch {
  readonly name: string
  readonly datatype: DataType
  readonly dims: readonly number[]
}

/** A model with the config fields that front ends read; everything else has its default. */
export function inMemoryModel(
  name: string, inputs: readonly TensorSketch[], options: {
    maxBatchSize?: number; isDecoupled?: boolean; labels?: readonly string[]; respond?: InMemoryModel['respond']
  } = {},
): InMemoryModel {
  const config: ModelConfig = {
    name, platform: '', backend: 'identity', runtime: '', version_policy: { latest: { num_versions: 1 } },
    max_batch_size: options.maxBatchSize ?? 0, input: inputs.map(inputOf), output: inputs.map(outputOf), batch_input: [], batch_output: [],
    instance_group: [{ name, kind: 'KIND_CPU', count: 1, gpus: [], secondary_devices: [], profile: [], passive: false, host_policy: '' }],
    default_model_filename: '', cc_model_filenames: {}, metric_tags: {}, parameters: { execute_delay_ms: { string_value: '0' } }, model_warmup: [],
    ...(options.isDecoupled === true ? { model_transaction_policy: { decoupled: true } } : {}),
  }
  return {
    name, version: '1', config, isReady: true, successCount: 0, isDecoupled: options.isDecoupled ?? false,
    ...(options.labels === undefined ? {} : { labels: options.labels }),
    ...(options.respond === undefined ? {} : { respond: options.respond }),
  }
}

function inputOf({ name, datatype, dims }: TensorSketch): ModelInput {
  return {
    name, data_type: DATA_TYPES[datatype].configName, format: 'FORMAT_NONE', dims: [...dims], is_shape_tensor: false,
    allow_ragged_batch: false, optional: false, is_non_linear_format_io: false,
  }
}

function outputOf({ name, datatype, dims }: TensorSketch): ModelOutput {
  return {
    name: name.replace('INPUT', 'OUTPUT'), data_type: DATA_TYPES[datatype].configName, dims: [...dims], label_filename: '',
    is_shape_tensor: false, is_non_linear_format_io: false,
  }
}

export class InMemoryInferenceServer implements InferenceServer {
  readonly controlMode = 'explicit'
  readonly repositoryPaths: readonly string[] = []
  readonly repositoryTrust: RepositoryTrustReport = { mode: 'all', trusted: [] }
  state: 'STARTING' | 'READY' | 'EXITING' = 'READY'
  /** What load and unload were called with, in order. */
  readonly controlCalls: { name: string; parameters?: LoadParameters | undefined; unloadDependents?: boolean | undefined }[] = []
  metrics: readonly ModelMetricsSnapshot[] = []
  traffic: TrafficSplitSettings | null = null
  readonly #models = new Map<string, InMemoryModel>()

  constructor(models: readonly InMemoryModel[]) {
    for (const model of models) this.#models.set(model.name, model)
  }

  isLive(): boolean { return this.state !== 'STARTING' }
  isReady(): boolean { return this.state === 'READY' }
  isModelReady(name: string, version: string): boolean { return this.#lookup(name, version).isReady }
  askReady(): Promise<boolean> { return Promise.resolve(this.isReady()) }
  async askModelReady(name: string, version: string): Promise<boolean> { return this.isModelReady(name, version) }
  setTrafficSplit(name: string, split: TrafficSplitSettings | null): void {
    this.#lookup(name, '')
    this.traffic = split
  }
  trafficSplit(name: string): TrafficSplit | null {
    this.#lookup(name, '')
    return this.traffic === null ? null : { ...this.traffic, baseVersion: '1', versionRequests: 0, baseRequests: 0 }
  }
  isDecoupled(name: string, version: string): boolean { return this.#lookup(name, version).isDecoupled ?? false }
  labels(name: string, version: string): readonly string[] | undefined { return this.#lookup(name, version).labels }
  ensembleGraph(name: string): EnsembleGraph { throw new ServerError('INVALID_ARG', `model '${name}' is not an ensemble: it has no steps`) }
  modelConfig(name: string, version: string): ModelConfig { return this.#lookup(name, version).config }
  modelMetrics(): readonly ModelMetricsSnapshot[] { return this.metrics }
  modelSummaries(): readonly never[] { return [] }
  modelDirectory(name: string): string { throw new ServerError('NOT_FOUND', `no directory for '${name}'`) }
  rescan(): Promise<void> { return Promise.resolve() }
  replaceRepository(): Promise<void> { return Promise.resolve() }
  untrustedPath(): Promise<null> { return Promise.resolve(null) }
  trustRepository(): Promise<void> { return Promise.resolve() }
  revokeTrust(): Promise<void> { return Promise.resolve() }
  sampleHistory(): readonly never[] { return [] }
  subscribe(): () => void { return () => undefined }
  stop(): Promise<void> { this.state = 'EXITING'; return Promise.resolve() }

  serverMetadata(): ServerMetadata {
    return { name: 'triton', version: '2.73.0', extensions: ['classification', 'sequence', 'binary_tensor_data', 'statistics'] }
  }

  modelMetadata(name: string, version: string): ModelMetadata {
    const { config, version: own } = this.#lookup(name, version)
    const shapeOf = (dims: readonly number[]) => (config.max_batch_size > 0 ? [-1, ...dims] : [...dims])
    const datatypeOf = (configName: string) => (configName === 'TYPE_STRING' ? 'BYTES' : configName.slice(5)) as DataType
    return {
      name, versions: [own], platform: config.backend,
      inputs: config.input.map((input) => ({ name: input.name, datatype: datatypeOf(input.data_type), shape: shapeOf(input.dims) })),
      outputs: config.output.map((output) => ({ name: output.name, datatype: datatypeOf(output.data_type), shape: shapeOf(output.dims) })),
    }
  }

  modelStatistics(name: string, version: string): readonly ModelStatisticsEntry[] {
    const models = name === '' ? [...this.#models.values()] : [this.#models.get(name)]
    return models.map((model) => {
      if (model === undefined) throw new ServerError('INVALID_ARG', `requested model '${name}' is not available`)
      if (version !== '' && version !== model.version) {
        throw new ServerError('INVALID_ARG', `requested model version is not available for model '${name}'`)
      }
      return statisticsOf(model)
    })
  }

  repositoryIndex(readyOnly: boolean): readonly ModelIndexEntry[] {
    const ready = [...this.#models.values()].map(({ name, version }): ModelIndexEntry => ({ name, version, state: 'READY' }))
    return readyOnly ? ready : [...ready, { name: 'never_loaded' }]
  }

  loadModel(name: string, parameters?: LoadParameters): Promise<void> {
    this.controlCalls.push({ name, parameters })
    if (this.#models.has(name)) return Promise.resolve()
    return Promise.reject(new ServerError('INTERNAL', `failed to load '${name}', failed to poll from model repository`))
  }

  unloadModel(name: string, unloadDependents?: boolean): Promise<void> {
    this.controlCalls.push({ name, unloadDependents })
    return Promise.resolve()
  }

  async infer(request: InferenceRequest, { signal, onCall }: InferenceOptions = {}): Promise<InferenceResult> {
    const model = this.#lookup(request.modelName, request.modelVersion)
    const gone = new AbortController()
    signal?.addEventListener('abort', () => { gone.abort() })
    onCall?.({ cancel: () => { gone.abort() } })
    const response = model.respond === undefined ? identityResponse(model, request) : await model.respond(request, gone.signal)
    model.successCount++
    const zero = { queueNanoseconds: 0, computeInputNanoseconds: 0, computeInferNanoseconds: 0, computeOutputNanoseconds: 0, totalNanoseconds: 0 }
    return { response, timing: { ...zero, batchSize: 1 } }
  }

  inferStream(request: InferenceRequest, handlers: InferenceStreamHandlers): InferenceCall {
    const gone = new AbortController()
    this.infer(request, { signal: gone.signal }).then((result) => { handlers.onDone(result) }, (error: unknown) => { handlers.onDone(toServerError(error)) })
    return { cancel: () => { gone.abort() } }
  }

  #lookup(name: string, version: string): InMemoryModel {
    const model = this.#models.get(name)
    if (model === undefined) throw new ServerError('NOT_FOUND', `Request for unknown model: '${name}' is not found`)
    if (version !== '' && version !== model.version) {
      throw new ServerError('NOT_FOUND', `Request for unknown model: '${name}' version ${version} is not found`)
    }
    return model
  }
}

function identityResponse(model: InMemoryModel, request: InferenceRequest): InferenceResponse {
  const outputs = request.inputs.map((input): Tensor => ({ ...input, name: input.name.replace('INPUT', 'OUTPUT') }))
  const known = new Set(model.config.output.map((output) => output.name))
  for (const name of request.requestedOutputs) {
    if (!known.has(name)) throw new ServerError('INVALID_ARG', `unexpected inference output '${name}' for model '${model.name}'`)
  }
  const wanted = request.requestedOutputs.length === 0 ? outputs : outputs.filter((output) => request.requestedOutputs.includes(output.name))
  return { modelName: model.name, modelVersion: model.version, id: request.id, parameters: request.parameters, outputs: wanted }
}

function statisticsOf(model: InMemoryModel): ModelStatisticsEntry {
  const zero = { count: 0, ns: 0 }
  const done = { count: model.successCount, ns: model.successCount * 1000 }
  return {
    name: model.name, version: model.version, last_inference: 0, inference_count: model.successCount, execution_count: model.successCount,
    inference_stats: { success: done, fail: zero, queue: done, compute_input: done, compute_infer: done, compute_output: done, cache_hit: zero, cache_miss: zero },
    response_stats: {}, batch_stats: [], memory_usage: [],
  }
}
