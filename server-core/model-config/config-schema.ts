/**
 * The schema of `inference.ModelConfig` as one typed table: every message, field number, type, label, oneof, enum and map. The text
 * parser, the JSON reader, the printers and (later) the editor's form all walk this table; nothing else knows a field by itself.
 *
 * Fields stand in declaration order (the order JSON prints); text output sorts by number. Maps are what protobuf makes of them: repeated
 * messages with `key` and `value`, marked `isMapEntry`.
 */

export type ScalarType = 'string' | 'bool' | 'int32' | 'int64' | 'uint32' | 'uint64' | 'float' | 'double'

export interface EnumSchema {
  readonly fullName: string
  /** Name to number, in declaration order; the first one is the default. */
  readonly values: Readonly<Record<string, number>>
}

export interface MessageSchema {
  readonly fullName: string
  readonly fields: readonly FieldSchema[]
  readonly byName: ReadonlyMap<string, FieldSchema>
  readonly isMapEntry: boolean
}

export type FieldType =
  | { readonly kind: 'scalar'; readonly scalar: ScalarType }
  | { readonly kind: 'enum'; readonly enum: EnumSchema }
  | { readonly kind: 'message'; readonly message: MessageSchema }

export interface FieldSchema {
  readonly name: string
  readonly number: number
  readonly type: FieldType
  readonly isRepeated: boolean
  /** Name of the oneof this field is a member of. */
  readonly oneof?: string
}

function enumeration(fullName: string, names: readonly string[]): EnumSchema {
  return { fullName, values: Object.fromEntries(names.map((name, index) => [name, index])) }
}

function message(fullName: string, fields: readonly FieldSchema[], isMapEntry = false): MessageSchema {
  return { fullName, fields, byName: new Map(fields.map((field) => [field.name, field])), isMapEntry }
}

type TypeSource = ScalarType | EnumSchema | MessageSchema

function typeOf(source: TypeSource): FieldType {
  if (typeof source === 'string') return { kind: 'scalar', scalar: source }
  return 'values' in source ? { kind: 'enum', enum: source } : { kind: 'message', message: source }
}

function field(name: string, number: number, source: TypeSource): FieldSchema {
  return { name, number, type: typeOf(source), isRepeated: false }
}

function repeated(name: string, number: number, source: TypeSource): FieldSchema {
  return { name, number, type: typeOf(source), isRepeated: true }
}

function oneOf(oneof: string, members: readonly FieldSchema[]): FieldSchema[] {
  return members.map((member) => ({ ...member, oneof }))
}

/** `map<key, value>`; `owner` is the full name of the message that declares it. */
function map(owner: string, name: string, number: number, key: ScalarType, value: TypeSource): FieldSchema {
  const entryName = name.split('_').map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join('') + 'Entry'
  return repeated(name, number, message(`${owner}.${entryName}`, [field('key', 1, key), field('value', 2, value)], true))
}

const DATA_TYPE = enumeration('inference.DataType', [
  'TYPE_INVALID', 'TYPE_BOOL', 'TYPE_UINT8', 'TYPE_UINT16', 'TYPE_UINT32', 'TYPE_UINT64', 'TYPE_INT8', 'TYPE_INT16', 'TYPE_INT32',
  'TYPE_INT64', 'TYPE_FP16', 'TYPE_FP32', 'TYPE_FP64', 'TYPE_STRING', 'TYPE_BF16',
])

const RESHAPE = message('inference.ModelTensorReshape', [repeated('shape', 1, 'int64')])

const INPUT = message('inference.ModelInput', [
  field('name', 1, 'string'),
  field('data_type', 2, DATA_TYPE),
  field('format', 3, enumeration('inference.ModelInput.Format', ['FORMAT_NONE', 'FORMAT_NHWC', 'FORMAT_NCHW'])),
  repeated('dims', 4, 'int64'),
  field('reshape', 5, RESHAPE),
  field('is_shape_tensor', 6, 'bool'),
  field('allow_ragged_batch', 7, 'bool'),
  field('optional', 8, 'bool'),
  field('is_non_linear_format_io', 9, 'bool'),
])

const OUTPUT = message('inference.ModelOutput', [
  field('name', 1, 'string'),
  field('data_type', 2, DATA_TYPE),
  repeated('dims', 3, 'int64'),
  field('reshape', 5, RESHAPE),
  field('label_filename', 4, 'string'),
  field('is_shape_tensor', 6, 'bool'),
  field('is_non_linear_format_io', 7, 'bool'),
])

const BATCH_INPUT = message('inference.BatchInput', [
  field('kind', 1, enumeration('inference.BatchInput.Kind', [
    'BATCH_ELEMENT_COUNT', 'BATCH_ACCUMULATED_ELEMENT_COUNT', 'BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO',
    'BATCH_MAX_ELEMENT_COUNT_AS_SHAPE', 'BATCH_ITEM_SHAPE', 'BATCH_ITEM_SHAPE_FLATTEN',
  ])),
  repeated('target_name', 2, 'string'),
  field('data_type', 3, DATA_TYPE),
  repeated('source_input', 4, 'string'),
])

const BATCH_OUTPUT = message('inference.BatchOutput', [
  repeated('target_name', 1, 'string'),
  field('kind', 2, enumeration('inference.BatchOutput.Kind', ['BATCH_SCATTER_WITH_INPUT_SHAPE'])),
  repeated('source_input', 3, 'string'),
])

const VERSION_POLICY = message('inference.ModelVersionPolicy', oneOf('policy_choice', [
  field('latest', 1, message('inference.ModelVersionPolicy.Latest', [field('num_versions', 1, 'uint32')])),
  field('all', 2, message('inference.ModelVersionPolicy.All', [])),
  field('specific', 3, message('inference.ModelVersionPolicy.Specific', [repeated('versions', 1, 'int64')])),
]))

const RATE_LIMITER = message('inference.ModelRateLimiter', [
  repeated('resources', 1, message('inference.ModelRateLimiter.Resource', [
    field('name', 1, 'string'), field('global', 2, 'bool'), field('count', 3, 'uint32'),
  ])),
  field('priority', 2, 'uint32'),
])

const INSTANCE_GROUP = message('inference.ModelInstanceGroup', [
  field('name', 1, 'string'),
  field('kind', 4, enumeration('inference.ModelInstanceGroup.Kind', ['KIND_AUTO', 'KIND_GPU', 'KIND_CPU', 'KIND_MODEL'])),
  field('count', 2, 'int32'),
  field('rate_limiter', 6, RATE_LIMITER),
  repeated('gpus', 3, 'int32'),
  repeated('secondary_devices', 8, message('inference.ModelInstanceGroup.SecondaryDevice', [
    field('kind', 1, enumeration('inference.ModelInstanceGroup.SecondaryDevice.SecondaryDeviceKind', ['KIND_NVDLA'])),
    field('device_id', 2, 'int64'),
  ])),
  repeated('profile', 5, 'string'),
  field('passive', 7, 'bool'),
  field('host_policy', 9, 'string'),
])

const CUDA_SHAPE = message('inference.ModelOptimizationPolicy.Cuda.GraphSpec.Shape', [repeated('dim', 1, 'int64')])
const LOWER_BOUND_NAME = 'inference.ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound'
const GRAPH_SPEC_NAME = 'inference.ModelOptimizationPolicy.Cuda.GraphSpec'
const ACCELERATOR_NAME = 'inference.ModelOptimizationPolicy.ExecutionAccelerators.Accelerator'
const ACCELERATOR = message(ACCELERATOR_NAME, [field('name', 1, 'string'), map(ACCELERATOR_NAME, 'parameters', 2, 'string', 'string')])
const PINNED_MEMORY = message('inference.ModelOptimizationPolicy.PinnedMemoryBuffer', [field('enable', 1, 'bool')])

const OPTIMIZATION = message('inference.ModelOptimizationPolicy', [
  field('graph', 1, message('inference.ModelOptimizationPolicy.Graph', [field('level', 1, 'int32')])),
  field('priority', 2, enumeration('inference.ModelOptimizationPolicy.ModelPriority', ['PRIORITY_DEFAULT', 'PRIORITY_MAX', 'PRIORITY_MIN'])),
  field('cuda', 3, message('inference.ModelOptimizationPolicy.Cuda', [
    field('graphs', 1, 'bool'),
    field('busy_wait_events', 2, 'bool'),
    repeated('graph_spec', 3, message(GRAPH_SPEC_NAME, [
      field('batch_size', 1, 'int32'),
      map(GRAPH_SPEC_NAME, 'input', 2, 'string', CUDA_SHAPE),
      field('graph_lower_bound', 3, message(LOWER_BOUND_NAME, [
        field('batch_size', 1, 'int32'), map(LOWER_BOUND_NAME, 'input', 2, 'string', CUDA_SHAPE),
      ])),
    ])),
    field('output_copy_stream', 4, 'bool'),
  ])),
  field('execution_accelerators', 4, message('inference.ModelOptimizationPolicy.ExecutionAccelerators', [
    repeated('gpu_execution_accelerator', 1, ACCELERATOR), repeated('cpu_execution_accelerator', 2, ACCELERATOR),
  ])),
  field('input_pinned_memory', 5, PINNED_MEMORY),
  field('output_pinned_memory', 6, PINNED_MEMORY),
  field('gather_kernel_buffer_threshold', 7, 'uint32'),
  field('eager_batching', 8, 'bool'),
])

const QUEUE_POLICY = message('inference.ModelQueuePolicy', [
  field('timeout_action', 1, enumeration('inference.ModelQueuePolicy.TimeoutAction', ['REJECT', 'DELAY'])),
  field('default_timeout_microseconds', 2, 'uint64'),
  field('allow_timeout_override', 3, 'bool'),
  field('max_queue_size', 4, 'uint32'),
])

const DYNAMIC_BATCHING = message('inference.ModelDynamicBatching', [
  repeated('preferred_batch_size', 1, 'int32'),
  field('max_queue_delay_microseconds', 2, 'uint64'),
  field('preserve_ordering', 3, 'bool'),
  field('priority_levels', 4, 'uint64'),
  field('default_priority_level', 5, 'uint64'),
  field('default_queue_policy', 6, QUEUE_POLICY),
  map('inference.ModelDynamicBatching', 'priority_queue_policy', 7, 'uint64', QUEUE_POLICY),
])

const SEQUENCE_CONTROL = message('inference.ModelSequenceBatching.Control', [
  field('kind', 1, enumeration('inference.ModelSequenceBatching.Control.Kind', [
    'CONTROL_SEQUENCE_START', 'CONTROL_SEQUENCE_READY', 'CONTROL_SEQUENCE_END', 'CONTROL_SEQUENCE_CORRID',
  ])),
  repeated('int32_false_true', 2, 'int32'),
  repeated('fp32_false_true', 3, 'float'),
  repeated('bool_false_true', 5, 'bool'),
  field('data_type', 4, DATA_TYPE),
])

const SEQUENCE_BATCHING = message('inference.ModelSequenceBatching', [
  ...oneOf('strategy_choice', [
    field('direct', 3, message('inference.ModelSequenceBatching.StrategyDirect', [
      field('max_queue_delay_microseconds', 1, 'uint64'), field('minimum_slot_utilization', 2, 'float'),
    ])),
    field('oldest', 4, message('inference.ModelSequenceBatching.StrategyOldest', [
      field('max_candidate_sequences', 1, 'int32'),
      repeated('preferred_batch_size', 2, 'int32'),
      field('max_queue_delay_microseconds', 3, 'uint64'),
      field('preserve_ordering', 4, 'bool'),
    ])),
  ]),
  field('max_sequence_idle_microseconds', 1, 'uint64'),
  repeated('control_input', 2, message('inference.ModelSequenceBatching.ControlInput', [
    field('name', 1, 'string'), repeated('control', 2, SEQUENCE_CONTROL),
  ])),
  repeated('state', 5, message('inference.ModelSequenceBatching.State', [
    field('input_name', 1, 'string'),
    field('output_name', 2, 'string'),
    field('data_type', 3, DATA_TYPE),
    repeated('dims', 4, 'int64'),
    repeated('initial_state', 5, message('inference.ModelSequenceBatching.InitialState', [
      field('data_type', 1, DATA_TYPE),
      repeated('dims', 2, 'int64'),
      ...oneOf('state_data', [field('zero_data', 3, 'bool'), field('data_file', 4, 'string')]),
      field('name', 5, 'string'),
    ])),
    field('use_same_buffer_for_input_output', 6, 'bool'),
    field('use_growable_memory', 7, 'bool'),
  ])),
  field('iterative_sequence', 6, 'bool'),
])

const STEP_NAME = 'inference.ModelEnsembling.Step'
const ENSEMBLING = message('inference.ModelEnsembling', [
  repeated('step', 1, message(STEP_NAME, [
    field('model_name', 1, 'string'),
    field('model_version', 2, 'int64'),
    map(STEP_NAME, 'input_map', 3, 'string', 'string'),
    map(STEP_NAME, 'output_map', 4, 'string', 'string'),
    field('model_namespace', 5, 'string'),
  ])),
  field('max_inflight_requests', 2, 'uint32'),
])

const WARMUP = message('inference.ModelWarmup', [
  field('name', 1, 'string'),
  field('batch_size', 2, 'uint32'),
  map('inference.ModelWarmup', 'inputs', 3, 'string', message('inference.ModelWarmup.Input', [
    field('data_type', 1, DATA_TYPE),
    repeated('dims', 2, 'int64'),
    ...oneOf('input_data_type', [field('zero_data', 3, 'bool'), field('random_data', 4, 'bool'), field('input_data_file', 5, 'string')]),
  ])),
  field('count', 4, 'uint32'),
])

const AGENT_NAME = 'inference.ModelRepositoryAgents.Agent'
const METRIC_CONTROL_NAME = 'inference.ModelMetrics.MetricControl'
const CONFIG_NAME = 'inference.ModelConfig'

export const MODEL_CONFIG_SCHEMA: MessageSchema = message(CONFIG_NAME, [
  field('name', 1, 'string'),
  field('platform', 2, 'string'),
  field('backend', 17, 'string'),
  field('runtime', 25, 'string'),
  field('version_policy', 3, VERSION_POLICY),
  field('max_batch_size', 4, 'int32'),
  repeated('input', 5, INPUT),
  repeated('output', 6, OUTPUT),
  repeated('batch_input', 20, BATCH_INPUT),
  repeated('batch_output', 21, BATCH_OUTPUT),
  field('optimization', 12, OPTIMIZATION),
  ...oneOf('scheduling_choice', [
    field('dynamic_batching', 11, DYNAMIC_BATCHING),
    field('sequence_batching', 13, SEQUENCE_BATCHING),
    field('ensemble_scheduling', 15, ENSEMBLING),
  ]),
  repeated('instance_group', 7, INSTANCE_GROUP),
  field('default_model_filename', 8, 'string'),
  map(CONFIG_NAME, 'cc_model_filenames', 9, 'string', 'string'),
  map(CONFIG_NAME, 'metric_tags', 10, 'string', 'string'),
  map(CONFIG_NAME, 'parameters', 14, 'string', message('inference.ModelParameter', [field('string_value', 1, 'string')])),
  repeated('model_warmup', 16, WARMUP),
  field('model_operations', 18, message('inference.ModelOperations', [repeated('op_library_filename', 1, 'string')])),
  field('model_transaction_policy', 19, message('inference.ModelTransactionPolicy', [field('decoupled', 1, 'bool')])),
  field('model_repository_agents', 23, message('inference.ModelRepositoryAgents', [
    repeated('agents', 1, message(AGENT_NAME, [field('name', 1, 'string'), map(AGENT_NAME, 'parameters', 2, 'string', 'string')])),
  ])),
  field('response_cache', 24, message('inference.ModelResponseCache', [field('enable', 1, 'bool')])),
  field('model_metrics', 26, message('inference.ModelMetrics', [
    repeated('metric_control', 1, message(METRIC_CONTROL_NAME, [
      field('metric_identifier', 1, message(`${METRIC_CONTROL_NAME}.MetricIdentifier`, [field('family', 1, 'string')])),
      ...oneOf('metric_options', [
        field('histogram_options', 2, message(`${METRIC_CONTROL_NAME}.HistogramOptions`, [repeated('buckets', 1, 'double')])),
      ]),
    ])),
  ])),
])

/** The `value` field of a map field's entry message, or undefined where the field is no map. */
export function mapValueField(schema: FieldSchema): FieldSchema | undefined {
  return schema.type.kind === 'message' && schema.type.message.isMapEntry ? schema.type.message.byName.get('value') : undefined
}
