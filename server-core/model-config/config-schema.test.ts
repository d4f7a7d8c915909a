import { describe, expect, test } from 'vitest'
import { DATA_TYPES } from '../contract/inference.ts'
import { mapValueField, MODEL_CONFIG_SCHEMA } from './config-schema.ts'
import type { EnumSchema, FieldSchema, MessageSchema } from './config-schema.ts'

const messages = new Map<string, MessageSchema>()
const enums = new Map<string, EnumSchema>()

function collect(message: MessageSchema): void {
  if (messages.has(message.fullName)) return
  messages.set(message.fullName, message)
  for (const { type } of message.fields) {
    if (type.kind === 'message') collect(type.message)
    else if (type.kind === 'enum') enums.set(type.enum.fullName, type.enum)
  }
}
collect(MODEL_CONFIG_SCHEMA)

/** `name=number`, with `*` for a list, `%` for a map and the oneof behind a colon. */
function line(fullName: string): string {
  const mark = (field: FieldSchema): string => (mapValueField(field) !== undefined ? '%' : field.isRepeated ? '*' : '')
  return (messages.get(fullName)?.fields ?? []).map((field) => `${field.name}=${field.number}${mark(field)}${field.oneof === undefined ? '' : `:${field.oneof}`}`).join(' ')
}

describe('the schema', () => {
  test.each([
    ['inference.ModelConfig', 'name=1 platform=2 backend=17 runtime=25 version_policy=3 max_batch_size=4 input=5* output=6* batch_input=20* batch_output=21* optimization=12 '
      + 'dynamic_batching=11:scheduling_choice sequence_batching=13:scheduling_choice ensemble_scheduling=15:scheduling_choice instance_group=7* default_model_filename=8 '
      + 'cc_model_filenames=9% metric_tags=10% parameters=14% model_warmup=16* model_operations=18 model_transaction_policy=19 model_repository_agents=23 response_cache=24 '
      + 'model_metrics=26'],
    ['inference.ModelInput', 'name=1 data_type=2 format=3 dims=4* reshape=5 is_shape_tensor=6 allow_ragged_batch=7 optional=8 is_non_linear_format_io=9'],
    ['inference.ModelOutput', 'name=1 data_type=2 dims=3* reshape=5 label_filename=4 is_shape_tensor=6 is_non_linear_format_io=7'],
    ['inference.ModelInstanceGroup', 'name=1 kind=4 count=2 rate_limiter=6 gpus=3* secondary_devices=8* profile=5* passive=7 host_policy=9'],
    ['inference.ModelDynamicBatching', 'preferred_batch_size=1* max_queue_delay_microseconds=2 preserve_ordering=3 priority_levels=4 default_priority_level=5 '
      + 'default_queue_policy=6 priority_queue_policy=7%'],
    ['inference.ModelQueuePolicy', 'timeout_action=1 default_timeout_microseconds=2 allow_timeout_override=3 max_queue_size=4'],
    ['inference.ModelSequenceBatching', 'direct=3:strategy_choice oldest=4:strategy_choice max_sequence_idle_microseconds=1 control_input=2* state=5* iterative_sequence=6'],
    ['inference.ModelSequenceBatching.Control', 'kind=1 int32_false_true=2* fp32_false_true=3* bool_false_true=5* data_type=4'],
    ['inference.ModelOptimizationPolicy', 'graph=1 priority=2 cuda=3 execution_accelerators=4 input_pinned_memory=5 output_pinned_memory=6 '
      + 'gather_kernel_buffer_threshold=7 eager_batching=8'],
    ['inference.ModelEnsembling.Step', 'model_name=1 model_version=2 input_map=3% output_map=4% model_namespace=5'],
    ['inference.ModelWarmup.Input', 'data_type=1 dims=2* zero_data=3:input_data_type random_data=4:input_data_type input_data_file=5:input_data_type'],
    ['inference.ModelVersionPolicy', 'latest=1:policy_choice all=2:policy_choice specific=3:policy_choice'],
  ])('%s', (name, expected) => {
    expect(line(name)).toBe(expected)
  })

  test('numbers and names are unique in each message', () => {
    for (const { fields, byName } of messages.values()) {
      expect(new Set(fields.map((field) => field.number)).size).toBe(fields.length)
      expect(byName.size).toBe(fields.length)
    }
  })

  test('data types are those of the protocol', () => {
    expect(Object.keys(enums.get('inference.DataType')?.values ?? {}).toSorted())
      .toEqual(['TYPE_INVALID', ...Object.values(DATA_TYPES).map((row) => row.configName)].toSorted())
    expect(enums.get('inference.DataType')?.values).toMatchObject({ TYPE_INVALID: 0, TYPE_BOOL: 1, TYPE_FP32: 11, TYPE_STRING: 13, TYPE_BF16: 14 })
  })

  test('every enum starts at zero, its default', () => {
    for (const { values } of enums.values()) expect(Object.values(values)[0]).toBe(0)
  })
})
