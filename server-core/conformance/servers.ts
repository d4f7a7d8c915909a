/** The servers that cases run against: real repositories of small models, every front end on a free port. Each starts with its first case. */
import type { DataType } from '../contract/inference.ts'
import { DEFAULT_METRICS_CONFIG } from '../metrics/metrics-config.ts'
import { onnxModel } from '../testing/onnx-fixture.ts'
import { serveRepository, type ServedRepository } from '../testing/served-repository.ts'
import { identityConfig, TemporaryRepository } from '../testing/temporary-repository.ts'
import { servePythonModels } from './python-server.ts'

type Files = Readonly<Record<string, string | Uint8Array>>

/** All types in the order of their numbers: INPUT<n> of the model `types` has the n-th. */
export const TYPES = ['BOOL', 'UINT8', 'UINT16', 'UINT32', 'UINT64', 'INT8', 'INT16', 'INT32', 'INT64', 'FP16', 'FP32', 'FP64', 'BYTES', 'BF16'] as const satisfies readonly DataType[]

/** Name of the input of the model `types` that has this type. */
export function inputOf(datatype: DataType): string { return `INPUT${TYPES.indexOf(datatype)}` }

/** Members of the JSON object of parameters that every response of an identity model has. */
export const IDENTITY_PARAMETERS = '"param0":"an example string parameter","param1":42,"param2":false,"param3":123.123'

/** An identity model with these pairs of equal tensors. */
export function identityPairs(pairs: readonly (readonly [type: string, dims: string, more?: string])[], more = '', maxBatchSize = 0): string {
  const list = (role: string, entries: readonly string[]) => `${role} [ ${entries.join(', ')} ]`
  return `backend: "identity" max_batch_size: ${maxBatchSize}
${list('input', pairs.map(([type, dims, extra = ''], index) => `{ name: "INPUT${index}" data_type: ${type} dims: ${dims} ${extra} }`))}
${list('output', pairs.map(([type, dims], index) => `{ name: "OUTPUT${index}" data_type: ${type} dims: ${dims} }`))}
${more}`
}

/** A model directory with one version that holds nothing. */
function model(name: string, config: string, ...more: readonly Files[]): Files {
  return Object.assign({ [`${name}/config.pbtxt`]: config, [`${name}/1/.keep`]: '' }, ...more) as Files
}

const REPEAT = `backend: "repeat" model_transaction_policy { decoupled: true }
input [ { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] }, { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }, { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_FP32 dims: [ 1 ] }, { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] } ]`

const DELAY = (milliseconds: number) => `parameters { key: "execute_delay_ms" value { string_value: "${milliseconds}" } }`

/** Counts the sum of a sequence; the correlation id control is UINT64. */
const ACCUMULATOR = onnxModel({
  inputs: [
    { name: 'INPUT', type: 'INT32', shape: ['batch', 1] }, { name: 'SUM_IN', type: 'INT32', shape: ['batch', 1] }, { name: 'START', type: 'INT32', shape: ['batch', 1] },
    { name: 'END', type: 'INT32', shape: ['batch', 1] }, { name: 'READY', type: 'INT32', shape: ['batch', 1] }, { name: 'ID', type: 'UINT64', shape: ['batch', 1] },
  ],
  outputs: [
    { name: 'OUTPUT', type: 'INT32', shape: ['batch', 1] }, { name: 'SUM_OUT', type: 'INT32', shape: ['batch', 1] }, { name: 'SAW_START', type: 'INT32', shape: ['batch', 1] },
    { name: 'SAW_END', type: 'INT32', shape: ['batch', 1] }, { name: 'SAW_READY', type: 'INT32', shape: ['batch', 1] }, { name: 'SAW_ID', type: 'UINT64', shape: ['batch', 1] },
  ],
  nodes: [
    { operator: 'Add', inputs: ['INPUT', 'SUM_IN'], outputs: ['OUTPUT'] }, { operator: 'Identity', inputs: ['OUTPUT'], outputs: ['SUM_OUT'] },
    ...['START', 'END', 'READY', 'ID'].map((name) => ({ operator: 'Identity', inputs: [name], outputs: [`SAW_${name}`] })),
  ],
})

const SEQUENCE = `backend: "onnxruntime" max_batch_size: 4
input [ { name: "INPUT" data_type: TYPE_INT32 dims: [ 1 ] } ]
output [ { name: "OUTPUT" data_type: TYPE_INT32 dims: [ 1 ] }, { name: "SAW_ID" data_type: TYPE_UINT64 dims: [ 1 ] } ]
sequence_batching { direct { } max_sequence_idle_microseconds: 60000000
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }
  control_input { name: "END" control { kind: CONTROL_SEQUENCE_END int32_false_true: [ 0, 1 ] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } }
  control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } }
  state [ { input_name: "SUM_IN" output_name: "SUM_OUT" data_type: TYPE_INT32 dims: [ 1 ] } ] }
parameters { key: "intra_op_thread_count" value { string_value: "1" } }`

/** Takes rows by their numbers: a number beyond the rows fails in the runtime. */
const GATHER = onnxModel({
  inputs: [{ name: 'ROWS', type: 'FP32', shape: ['n', 2] }, { name: 'INDEX', type: 'INT64', shape: ['count'] }], outputs: [{ name: 'OUTPUT', type: 'FP32', shape: ['count', 2] }],
  nodes: [{ operator: 'Gather', inputs: ['ROWS', 'INDEX'], outputs: ['OUTPUT'] }],
})

/** Its input is called `parameters`. */
const KEYWORD = onnxModel({
  inputs: [{ name: 'parameters', type: 'FP32', shape: [1] }], outputs: [{ name: 'OUTPUT', type: 'FP32', shape: [1] }], nodes: [{ operator: 'Identity', inputs: ['parameters'], outputs: ['OUTPUT'] }],
})

/** Loaded at start. */
const READY_MODELS: Files = {
  ...model('plain', identityConfig('version_policy { all { } }'), { 'plain/3/.keep': '' }),
  ...model('types', identityPairs(TYPES.map((type) => [type === 'BYTES' ? 'TYPE_STRING' : `TYPE_${type}`, '[ -1 ]', 'optional: true'] as const))),
  ...model('batched', identityConfig('dynamic_batching { max_queue_delay_microseconds: 100 default_queue_policy { default_timeout_microseconds: 18446744073709551615 } }')),
  ...model('pair', identityPairs([['TYPE_FP32', '[ 2 ]'], ['TYPE_INT32', '[ -1, 2 ]']], '', 4)),
  ...model('optional', identityPairs([['TYPE_FP32', '[ 1 ]'], ['TYPE_FP32', '[ 1 ]', 'optional: true']])),
  ...model('vector', identityPairs([['TYPE_FP32', '[ -1 ]']])),
  ...model('square', identityPairs([['TYPE_FP32', '[ -1, -1 ]']])),
  ...model('rows', identityPairs([['TYPE_INT32', '[ -1, 2 ]']])),
  ...model('half', identityPairs([['TYPE_FP16', '[ -1 ]']])),
  ...model('text', identityPairs([['TYPE_STRING', '[ -1 ]']])),
  ...model('word', identityPairs([['TYPE_STRING', '[ 1 ]']])),
  ...model('words', identityPairs([['TYPE_STRING', '[ 2 ]']])),
  ...model('reshaped', identityPairs([['TYPE_FP32', '[ -1, 4 ]']], '').replaceAll('dims: [ -1, 4 ]', 'dims: [ -1, 4 ] reshape: { shape: [ -1, 2, 2 ] }')),
  ...model('labelled', identityPairs([['TYPE_FP32', '[ 4 ]']], '', 2).replace(/(output \[ \{ name: "OUTPUT0" data_type: TYPE_FP32 dims: \[ 4 \])/, '$1 label_filename: "labels.txt"'), { 'labelled/labels.txt': 'cat\ndog\n\nbird\n' }),
  ...model('slow', identityConfig(DELAY(300))),
  ...model('queue', identityConfig(`${DELAY(300)} dynamic_batching { default_queue_policy { max_queue_size: 1 } }`, 1)),
  ...model('repeat', REPEAT),
  'sequence/config.pbtxt': SEQUENCE, 'sequence/1/model.onnx': ACCUMULATOR,
  'keyword/config.pbtxt': '', 'keyword/1/model.onnx': KEYWORD,
  'gather/config.pbtxt': '', 'gather/1/model.onnx': GATHER,
  ...model('chain', `platform: "ensemble" max_batch_size: 8
    input [ { name: "X" data_type: TYPE_FP32 dims: [ 4 ] } ] output [ { name: "Y" data_type: TYPE_FP32 dims: [ 4 ] } ]
    ensemble_scheduling { step { model_name: "plain" model_version: -1 input_map { key: "INPUT0" value: "X" } output_map { key: "OUTPUT0" value: "Y" } } }`),
}

/** There, and not loaded at start. */
const OTHER_MODELS: Files = {
  ...model('later', identityConfig()),
  ...model('never', identityConfig()),
  ...model('bad', identityPairs([['TYPE_FP32', '[ 1 ]']]).replace('INPUT0', 'X')),
  ...model('leaving', identityConfig(DELAY(300))),
}

function namesOf(files: Files): string[] {
  return [...new Set(Object.keys(files).map((path) => path.slice(0, path.indexOf('/'))))]
}

/** An ensemble whose one step is another, which is meant to have this one as its step. */
function circular(name: string, member: string): Files {
  return model(name, `platform: "ensemble" input [ { name: "X" data_type: TYPE_FP32 dims: [ 4 ] } ] output [ { name: "Y" data_type: TYPE_FP32 dims: [ 4 ] } ]
    ensemble_scheduling { step { model_name: "${member}" model_version: -1 input_map { key: "X" value: "X" } output_map { key: "Y" value: "Y" } } }`)
}

/** Two repositories that both have a model `both`. */
async function serveTwoRepositories(): Promise<ServedRepository> {
  const other = await TemporaryRepository.create(model('both', identityConfig()))
  const first = await TemporaryRepository.create({ ...model('both', identityConfig()), ...model('plain', identityConfig()) })
  const served = await serveRepository({}, { modelControlMode: 'explicit', modelRepositories: [first.path, other.path] })
  return {
    ...served,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]()
      await first[Symbol.asyncDispose]()
      await other[Symbol.asyncDispose]()
    },
  }
}

const SERVERS = {
  /** Everything, explicit mode. */
  main: () => serveRepository({ ...READY_MODELS, ...OTHER_MODELS }, { modelControlMode: 'explicit', loadModels: namesOf(READY_MODELS) }),
  /** Loads and unloads of its own: explicit mode, `plain` loaded; no counters among the metrics. */
  control: () => serveRepository({ ...model('plain', identityConfig()), ...OTHER_MODELS }, { modelControlMode: 'explicit', loadModels: ['plain'], id: 'control', metricsConfig: { ...DEFAULT_METRICS_CONFIG, hasCounters: false } }),
  /** Control mode none, readiness not strict, no metrics. */
  fixed: () => serveRepository({ ...model('plain', identityConfig()), ...model('bad', OTHER_MODELS['bad/config.pbtxt'] as string) }, { strictReadiness: false, exitOnError: false, allowMetrics: false }),
  /** Shared memory, a response cache and every family of metrics; explicit mode. */
  extensions: () => serveRepository({
    ...model('plain', identityConfig()), ...model('measured', identityConfig()), ...model('slow', identityConfig(DELAY(300))), ...model('pair', identityPairs([['TYPE_FP32', '[ 2 ]'], ['TYPE_INT32', '[ -1, 2 ]']], '', 4)),
    ...model('cached', identityConfig('response_cache { enable: true }')), ...model('tagged', identityConfig('metric_tags { key: "team" value: "ocr" }')),
    'gather/config.pbtxt': '', 'gather/1/model.onnx': GATHER,
    ...model('lookup', `platform: "ensemble"
      input [ { name: "ROWS" data_type: TYPE_FP32 dims: [ -1, 2 ] }, { name: "INDEX" data_type: TYPE_INT64 dims: [ -1 ] } ] output [ { name: "OUTPUT" data_type: TYPE_FP32 dims: [ -1, 2 ] } ]
      ensemble_scheduling { step { model_name: "gather" model_version: -1 input_map [ { key: "ROWS" value: "ROWS" }, { key: "INDEX" value: "INDEX" } ] output_map { key: "OUTPUT" value: "OUTPUT" } } }`),
  }, {
    modelControlMode: 'explicit', loadModels: ['plain', 'measured', 'slow', 'pair', 'cached', 'lookup'], allowClientSharedMemory: true, cacheConfig: { local: { size: '1048576' } },
    metricsConfig: { hasCounters: true, hasHistograms: true, hasSummaries: true, summaryQuantiles: [{ quantile: 0.5, error: 0.05 }, { quantile: 0.9, error: 0.01 }] },
  }),
  /** `--http-max-input-size=1024` */
  small: () => serveRepository({ ...READY_MODELS }, { modelControlMode: 'explicit', loadModels: ['vector', 'text', 'types', 'repeat'], httpMaxInputSize: 1024 }),
  /** Models whose loads fail, take their time or bring others along; explicit mode, `plain` loaded. */
  readiness: () => serveRepository({
    ...model('plain', identityConfig()), 'broken/config.pbtxt': '', 'broken/1/model.onnx': 'no model', ...model('updated', identityConfig()), ...model('member', identityConfig()),
    ...model('creeping', identityConfig('parameters { key: "creation_delay_sec" value { string_value: "1" } }')),
    ...circular('one', 'other'), ...circular('other', 'one'),
    ...model('whole', `platform: "ensemble" max_batch_size: 8
      input [ { name: "X" data_type: TYPE_FP32 dims: [ 4 ] } ] output [ { name: "Y" data_type: TYPE_FP32 dims: [ 4 ] } ]
      ensemble_scheduling { step { model_name: "member" model_version: -1 input_map { key: "INPUT0" value: "X" } output_map { key: "OUTPUT0" value: "Y" } } }`),
  }, { modelControlMode: 'explicit', loadModels: ['plain'] }),
  twoRepositories: serveTwoRepositories,
  python: servePythonModels,
  /** `--http-header-forward-pattern=X-|TIMEOUT` */
  forwarding: () => serveRepository({ ...model('vector', identityPairs([['TYPE_FP32', '[ -1 ]']])) }, { httpHeaderForwardPattern: 'X-|TIMEOUT' }),
  /** Every category wants the header `key: secret`. */
  restricted: () => serveRepository({ ...model('plain', identityConfig()) }, {
    modelControlMode: 'explicit', loadModels: ['plain'],
    httpRestrictedApis: [{ categories: ['health', 'metadata', 'inference', 'shared-memory', 'model-config', 'model-repository', 'statistics', 'trace', 'logging'], header: 'key', value: 'secret' }],
    grpcRestrictedProtocols: [{ categories: ['inference'], header: 'key', value: 'secret' }],
  }),
} as const satisfies Record<string, () => Promise<ServedRepository>>

export type ServerName = keyof typeof SERVERS

/** The servers of one run of the suite. */
export class ConformanceServers {
  readonly #started = new Map<ServerName, Promise<ServedRepository>>()

  get(name: ServerName): Promise<ServedRepository> {
    const started = this.#started.get(name) ?? SERVERS[name]()
    this.#started.set(name, started)
    return started
  }

  async stop(): Promise<void> {
    const started = await Promise.allSettled(this.#started.values())
    await Promise.all(started.flatMap((result) => (result.status === 'fulfilled' ? [result.value[Symbol.asyncDispose]()] : [])))
  }
}
