/** inference.ModelConfig with Triton's spelling (proto field names), as `/config` prints it. Int64 fields are numbers. */
import type { DataTypeConfigName } from './inference.ts'

export type InstanceGroupKind = 'KIND_AUTO' | 'KIND_GPU' | 'KIND_CPU' | 'KIND_MODEL'

export interface ModelTensorReshape { shape: number[] }

export interface ModelInput {
  name: string
  data_type: DataTypeConfigName
  format: 'FORMAT_NONE' | 'FORMAT_NHWC' | 'FORMAT_NCHW'
  dims: number[]
  reshape?: ModelTensorReshape
  is_shape_tensor: boolean
  allow_ragged_batch: boolean
  optional: boolean
  is_non_linear_format_io: boolean
}

export interface ModelOutput {
  name: string
  data_type: DataTypeConfigName
  dims: number[]
  reshape?: ModelTensorReshape
  label_filename: string
  is_shape_tensor: boolean
  is_non_linear_format_io: boolean
}

export type BatchInputKind = 'BATCH_ELEMENT_COUNT' | 'BATCH_ACCUMULATED_ELEMENT_COUNT' | 'BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO'
  | 'BATCH_MAX_ELEMENT_COUNT_AS_SHAPE' | 'BATCH_ITEM_SHAPE' | 'BATCH_ITEM_SHAPE_FLATTEN'

/** An input that the backend computes from the batch. */
export interface ModelBatchInput {
  kind: BatchInputKind
  target_name: string[]
  data_type: DataTypeConfigName
  source_input: string[]
}

/** Outputs whose share of each request follows another rule than the batch dimension. */
export interface ModelBatchOutput {
  target_name: string[]
  kind: 'BATCH_SCATTER_WITH_INPUT_SHAPE'
  source_input: string[]
}

export interface ModelVersionPolicy {
  latest?: { num_versions: number }
  all?: Record<string, never>
  specific?: { versions: number[] }
}

export interface ModelInstanceGroup {
  name: string
  kind: InstanceGroupKind
  count: number
  rate_limiter?: { resources: { name: string; global: boolean; count: number }[]; priority: number }
  gpus: number[]
  secondary_devices: { kind: string; device_id: number }[]
  profile: string[]
  passive: boolean
  host_policy: string
}

export interface ModelQueuePolicy {
  timeout_action: 'REJECT' | 'DELAY'
  default_timeout_microseconds: number
  allow_timeout_override: boolean
  max_queue_size: number
}

export interface ModelDynamicBatching {
  preferred_batch_size: number[]
  max_queue_delay_microseconds: number
  preserve_ordering: boolean
  priority_levels: number
  default_priority_level: number
  default_queue_policy?: ModelQueuePolicy
  priority_queue_policy: Record<string, ModelQueuePolicy>
}

export type SequenceControlKind = 'CONTROL_SEQUENCE_START' | 'CONTROL_SEQUENCE_READY' | 'CONTROL_SEQUENCE_END' | 'CONTROL_SEQUENCE_CORRID'

export interface ModelSequenceControl {
  kind: SequenceControlKind
  int32_false_true: number[]
  fp32_false_true: number[]
  bool_false_true: boolean[]
  /** CONTROL_SEQUENCE_CORRID only. */
  data_type: DataTypeConfigName
}

export interface ModelSequenceInitialState {
  data_type: DataTypeConfigName
  dims: number[]
  zero_data?: boolean
  /** Relative to the folder `initial_state` of the model directory. */
  data_file?: string
  name: string
}

export interface ModelSequenceState {
  input_name: string
  output_name: string
  data_type: DataTypeConfigName
  dims: number[]
  initial_state: ModelSequenceInitialState[]
  use_same_buffer_for_input_output: boolean
  use_growable_memory: boolean
}

/** Neither `direct` nor `oldest`: direct. */
export interface ModelSequenceBatching {
  direct?: { max_queue_delay_microseconds: number; minimum_slot_utilization: number }
  oldest?: { max_candidate_sequences: number; preferred_batch_size: number[]; max_queue_delay_microseconds: number; preserve_ordering: boolean }
  max_sequence_idle_microseconds: number
  control_input: { name: string; control: ModelSequenceControl[] }[]
  state: ModelSequenceState[]
  iterative_sequence: boolean
}

export interface ModelEnsembleStep {
  model_name: string
  /** -1: the latest. */
  model_version: number
  /** The model's tensor to the ensemble's. */
  input_map: Record<string, string>
  output_map: Record<string, string>
  model_namespace: string
}

export interface ModelEnsembling {
  step: ModelEnsembleStep[]
  /** Of each step, over all requests; 0: no limit. */
  max_inflight_requests: number
}

export interface ModelParameter { string_value: string }

/**
 * The typed view of a config. Sub-messages that later features own (ensemble_scheduling, optimization,
 * model_warmup ...) are kept as JSON-shaped values: read, validated by schema and printed, not yet executed.
 */
export interface ModelConfig {
  name: string
  platform: string
  backend: string
  runtime: string
  version_policy?: ModelVersionPolicy
  max_batch_size: number
  input: ModelInput[]
  output: ModelOutput[]
  batch_input: ModelBatchInput[]
  batch_output: ModelBatchOutput[]
  optimization?: Record<string, unknown>
  dynamic_batching?: ModelDynamicBatching
  sequence_batching?: ModelSequenceBatching
  ensemble_scheduling?: ModelEnsembling
  instance_group: ModelInstanceGroup[]
  default_model_filename: string
  cc_model_filenames: Record<string, string>
  metric_tags: Record<string, string>
  parameters: Record<string, ModelParameter>
  model_warmup: unknown[]
  model_operations?: Record<string, unknown>
  model_transaction_policy?: { decoupled: boolean }
  model_repository_agents?: Record<string, unknown>
  response_cache?: { enable: boolean }
  model_metrics?: Record<string, unknown>
}
