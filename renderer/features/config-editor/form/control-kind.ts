/** Which control edits a field: every field of the schema has a typed one. */
import type { FieldSchema } from '../../../../server-core/model-config/config-schema.ts'
import { mapValueField } from '../../../../server-core/model-config/config-schema.ts'

export type ControlKind =
  | 'text' | 'number' | 'switch' | 'choice'
  /** `[ 3, 48, -1 ]` in one line. */
  | 'number-list' | 'boolean-list'
  /** A row per item. */
  | 'text-list'
  /** Key and value side by side; values that are messages open below their key. */
  | 'text-map' | 'message-map'
  | 'group' | 'group-list'

export function controlKind(field: FieldSchema): ControlKind {
  const mapValue = mapValueField(field)
  if (mapValue !== undefined) return mapValue.type.kind === 'message' ? 'message-map' : 'text-map'
  if (field.type.kind === 'message') return field.isRepeated ? 'group-list' : 'group'
  if (field.type.kind === 'enum') return field.isRepeated ? 'text-list' : 'choice'
  switch (field.type.scalar) {
    case 'string': return field.isRepeated ? 'text-list' : 'text'
    case 'bool': return field.isRepeated ? 'boolean-list' : 'switch'
    default: return field.isRepeated ? 'number-list' : 'number'
  }
}

/** Sections below the first ones, generated from the schema; every top-level field stands in exactly one section of the form. */
export const GENERATED_SECTIONS = [
  { id: 'sequence', fields: ['sequence_batching'] },
  { id: 'ensemble', fields: ['ensemble_scheduling'] },
  { id: 'optimization', fields: ['optimization'] },
  { id: 'batch-tensors', fields: ['batch_input', 'batch_output'] },
  { id: 'files', fields: ['platform', 'runtime', 'cc_model_filenames', 'model_operations'] },
  { id: 'behavior', fields: ['model_transaction_policy', 'model_repository_agents'] },
  { id: 'metrics', fields: ['metric_tags', 'model_metrics'] },
] as const

/** Fields that the first sections show in editors of their own. */
export const FIRST_SECTIONS = [
  { id: 'model', fields: ['name', 'backend', 'default_model_filename', 'version_policy'] },
  { id: 'tensors', fields: ['max_batch_size', 'input', 'output'] },
  { id: 'instances', fields: ['instance_group'] },
  { id: 'batching', fields: ['dynamic_batching'] },
  { id: 'warmup', fields: ['response_cache', 'model_warmup'] },
] as const

export type SectionId = (typeof GENERATED_SECTIONS)[number]['id'] | (typeof FIRST_SECTIONS)[number]['id'] | 'npu' | 'parameters' | 'unknown'

/** Units of numbers, shown behind the field. */
export function unitOf(name: string): 'microseconds' | 'requests' | 'rows' | null {
  if (name.endsWith('_microseconds')) return 'microseconds'
  if (name === 'max_queue_size' || name === 'max_inflight_requests') return 'requests'
  if (name === 'max_batch_size' || name === 'batch_size') return 'rows'
  return null
}
