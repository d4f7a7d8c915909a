import { describe, expect, test } from 'vitest'
import { normalizeModelConfig } from './normalize.ts'
import { readModelConfig } from './read-config.ts'
import { validateSequenceStates } from './validate-sequence.ts'
import type { SequenceBatching } from './validate-sequence.ts'
import { validateModelConfig } from './validate.ts'

/** Adds what every valid config has; `text` says the rest. */
function validate(text: string, checkInputsAndOutputs = true): void {
  const config = readModelConfig(text, '')
  const named = { ...config, name: config.name === '' ? 'm' : config.name }
  const isBare = named.backend === '' && named.platform === ''
  validateModelConfig(normalizeModelConfig(isBare ? { ...named, backend: 'custom' } : named), { checkInputsAndOutputs })
}

const INPUT = 'input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] }'
const OUTPUT = 'output { name: "y" data_type: TYPE_FP32 dims: [ -1 ] }'
const CONTROL = (kind: string, rest: string, name = 'C'): string => `control_input { name: "${name}" control { kind: ${kind} ${rest} } }`
const ensemble = (rest: string, inputs = 'A', outputs = 'Z'): string =>
  `platform: "ensemble" ${rest} input { name: "${inputs}" data_type: TYPE_FP32 dims: 1 } output { name: "${outputs}" data_type: TYPE_FP32 dims: 1 }`
const step = (model: string, input: string, output: string): string =>
  `ensemble_step { model_name: "${model}" ${input === '' ? '' : `input_map { key: "I" value: "${input}" }`} ${output === '' ? '' : `output_map { key: "O" value: "${output}" }`} }`
const scheduling = (...steps: string[]): string => `ensemble_scheduling { ${steps.join(' ').replaceAll('ensemble_step', 'step')} }`

const ACCEPTED: readonly string[] = [
  '',
  'backend: "onnxruntime" platform: "onnxruntime_onnx"',
  'backend: "npu_ge" platform: "onnxruntime_onnx"',
  'backend: "pytorch" platform: "torch_aoti"',
  'version_policy { }',
  'version_policy { latest { } }',
  'dynamic_batching { }',
  'max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 1, 8 ] }',
  'max_batch_size: 8 dynamic_batching { priority_levels: 2 default_priority_level: 2 priority_queue_policy { key: 1 value { } } }',
  'max_batch_size: 8 dynamic_batching { preserve_ordering: true priority_levels: 1 default_priority_level: 1 default_queue_policy { timeout_action: DELAY } }',
  'max_batch_size: 8 dynamic_batching { default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 5 } }',
  'max_batch_size: 8 sequence_batching { }',
  `sequence_batching { ${CONTROL('CONTROL_SEQUENCE_START', 'int32_false_true: [0, 1]', 'S')} ${CONTROL('CONTROL_SEQUENCE_END', 'fp32_false_true: [0, 1]', 'E')}
    ${CONTROL('CONTROL_SEQUENCE_READY', 'bool_false_true: [false, true]', 'R')} ${CONTROL('CONTROL_SEQUENCE_CORRID', 'data_type: TYPE_STRING', 'I')} }`,
  'max_batch_size: 4 sequence_batching { oldest { preferred_batch_size: [ 1, 4 ] } }',
  'sequence_batching { direct { minimum_slot_utilization: 1.0 } }',
  'response_cache { enable: true }',
  'sequence_batching { } response_cache { enable: false }',
  'model_metrics { metric_control { metric_identifier { family: "f" } histogram_options { buckets: 1 } } }',
  'model_repository_agents { agents { name: "checksum" } }',
  `${INPUT} ${OUTPUT}`,
  'input { name: "x" data_type: TYPE_FP32 dims: [ 2, 4, -1, 6 ] reshape { shape: [ 8, -1, 1, 6 ] } }',
  'max_batch_size: 1 input { name: "x" data_type: TYPE_FP32 dims: 1 reshape { } }',
  'input { name: "x" data_type: TYPE_FP32 dims: [ 3, 8, 8 ] format: FORMAT_NCHW }',
  'backend: "tensorrt" platform: "tensorrt_plan" input { name: "x" data_type: TYPE_INT32 dims: 1 is_shape_tensor: true is_non_linear_format_io: true }',
  `${INPUT} ${OUTPUT} batch_input { kind: BATCH_ELEMENT_COUNT target_name: "n" data_type: TYPE_FP32 source_input: "x" }
    batch_output { target_name: "y" source_input: "x" } batch_output { target_name: "y" source_input: "x" }`,
  ensemble(scheduling(step('a', 'A', 'B'), step('b', 'B', 'Z'))),
]

const REFUSED: readonly (readonly [text: string, message: string])[] = [
  ['platform: "foo"', 'unexpected platform type \'foo\' for m'],
  ['platform: "ensemble" backend: "onnxruntime"', 'Ensemble model \'m\' must have platform type \'ensemble\' and empty backend type'],
  ['backend: "onnxruntime" platform: "tensorrt_plan"', 'unexpected \'platform\' and \'backend\' pair, got:tensorrt_plan, onnxruntime'],
  ['backend: "tensorrt" platform: "foo"', 'unexpected \'platform\' and \'backend\' pair, got:foo, tensorrt'],
  ['max_batch_size: -1', '\'max_batch_size\' must be non-negative value for m'],
  ['model_repository_agents { }', 'model_repository_agents must name at least one agent for m: remove the empty block'],
  ['model_metrics { metric_control { } }', 'metric control must specify \'metric_identifier\''],
  ['model_metrics { metric_control { metric_identifier { } } }', 'metric identifier must specify non-empty \'family\''],
  ['model_metrics { metric_control { metric_identifier { family: "f" } } }', 'metric control must specify \'histogram_options\''],
  ['model_metrics { metric_control { metric_identifier { family: "f" } histogram_options { } } }', 'histogram options must specify non-empty \'buckets\''],
  ['sequence_batching { } response_cache { enable: true }',
    'Response Cache does not currently support model m with sequence batching scheduler. Please disable the response cache.'],
  ['model_transaction_policy { decoupled: true } response_cache { enable: true }',
    'Response Cache does not currently support model m with \'decoupled\' transaction policy. Please disable the response cache.'],

  ['max_batch_size: 8 dynamic_batching { preferred_batch_size: 0 }', 'dynamic batching preferred size must be positive for m'],
  ['max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 4, 9 ] }', 'dynamic batching preferred size must be <= max batch size for m'],
  ['dynamic_batching { priority_levels: 2 }', 'default priority level must be in range [1, 2] for m'],
  ['dynamic_batching { priority_levels: 2 default_priority_level: 3 }', 'default priority level must be in range [1, 2] for m'],
  ['dynamic_batching { priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 3 value { } } }',
    'priority queue policy must have priority level in range [1, 2] for m'],
  ['dynamic_batching { priority_levels: 2 default_priority_level: 1 preserve_ordering: true }', 'Only one priority level is allowed when \'preserve_ordering\' is true for m'],
  ['dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 1 } }',
    'Queue policy can not have DELAY as timeout action when \'preserve_ordering\' is true for m'],
  ['dynamic_batching { preserve_ordering: true priority_queue_policy { key: 1 value { timeout_action: DELAY default_timeout_microseconds: 1 } } }',
    'Queue policy can not have DELAY as timeout action when \'preserve_ordering\' is true for m'],

  [`sequence_batching { ${CONTROL('CONTROL_SEQUENCE_START', 'int32_false_true: [0, 1]', '')} }`, 'sequence batching control tensor must have a name for m'],
  [`sequence_batching { ${CONTROL('CONTROL_SEQUENCE_START', 'int32_false_true: [0, 1]')} ${CONTROL('CONTROL_SEQUENCE_END', 'int32_false_true: [0, 1]')} }`,
    'sequence batching control tensor \'C\' is specified for multiple control kinds for m'],
  [`sequence_batching { ${CONTROL('CONTROL_SEQUENCE_START', 'int32_false_true: [0, 1]', 'A')} ${CONTROL('CONTROL_SEQUENCE_START', 'int32_false_true: [0, 1]', 'B')} }`,
    'sequence batching specifies multiple CONTROL_SEQUENCE_START tensors for m'],
  [`sequence_batching { ${CONTROL('CONTROL_SEQUENCE_END', '')} }`,
    'sequence batching must specify either \'int32_false_true\', \'fp32_false_true\' or \'bool_false_true\' for CONTROL_SEQUENCE_END for m'],
  [`sequence_batching { ${CONTROL('CONTROL_SEQUENCE_READY', 'int32_false_true: [0, 1] fp32_false_true: [0, 1]')} }`,
    'sequence batching specifies more than one from \'int32_false_true\', \'fp32_false_true\' and \'bool_false_true\' for CONTROL_SEQUENCE_READY for m'],
  ...['int32', 'fp32', 'bool'].map((type): [string, string] => [`sequence_batching { ${CONTROL('CONTROL_SEQUENCE_START', `${type}_false_true: ${type === 'bool' ? 'true' : '1'}`)} }`,
    `sequence batching control '${type}_false_true' must have exactly 2 entries for CONTROL_SEQUENCE_START for m`]),
  [`sequence_batching { ${CONTROL('CONTROL_SEQUENCE_CORRID', 'data_type: TYPE_INT32 int32_false_true: [0, 1]')} }`,
    'sequence batching must not specify either \'int32_false_true\', \'fp32_false_true\' or \'bool_false_true\' for CONTROL_SEQUENCE_CORRID for m'],
  [`sequence_batching { ${CONTROL('CONTROL_SEQUENCE_CORRID', 'data_type: TYPE_FP32')} }`,
    'unexpected data type for control CONTROL_SEQUENCE_CORRID for m. Allowed data types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING'],
  ['max_batch_size: 4 sequence_batching { oldest { preferred_batch_size: -1 } }', 'sequence batching preferred batch size must be positive for m'],
  ['max_batch_size: 4 sequence_batching { oldest { preferred_batch_size: 5 } }', 'sequence batching preferred batch size must be <= max batch size for m'],
  ['sequence_batching { direct { minimum_slot_utilization: 1.5 } }', 'sequence batching minimum slot utilization must be in range (0.0, 1.0] for m'],
  ['sequence_batching { direct { minimum_slot_utilization: -0.5 } }', 'sequence batching minimum slot utilization must be in range (0.0, 1.0] for m'],

  ['input { }', 'model input must specify \'name\' for m'],
  ['output { }', 'model output must specify \'name\' for m'],
  ['input { name: "x" }', 'model input \'x\' must specify \'data_type\' for m'],
  ['output { name: "x" data_type: TYPE_FP32 }', 'model output \'x\' must specify \'dims\' for m'],
  ['input { name: "x" data_type: TYPE_FP32 dims: 0 }', 'model input \'x\' dimension must be integer >= 1, or -1 to indicate a variable-size dimension for m'],
  ['input { name: "x" data_type: TYPE_FP32 dims: -2 }', 'model input \'x\' dimension must be integer >= 1, or -1 to indicate a variable-size dimension for m'],
  ['output { name: "x" data_type: TYPE_FP32 dims: 1 reshape { } }',
    'model output \'x\' cannot have empty reshape for non-batching model as scalar tensors are not supported for m'],
  ['input { name: "x" data_type: TYPE_FP32 dims: 1 reshape { shape: 0 } }',
    'model input \'x\' reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension for m'],
  ['input { name: "x" data_type: TYPE_FP32 dims: [ 2, 2 ] reshape { shape: 3 } }', 'model input \'x\' has different size for dims and reshape for m'],
  ['max_batch_size: 1 input { name: "x" data_type: TYPE_FP32 dims: 2 reshape { } }', 'model input \'x\' has different size for dims and reshape for m'],
  ['input { name: "x" data_type: TYPE_FP32 dims: -1 reshape { shape: 4 } }', 'model input \'x\' has different size for dims and reshape for m'],
  ['input { name: "x" data_type: TYPE_FP32 dims: [ 2, -1, 3 ] reshape { shape: [ 3, -1, 2 ] } }', 'model input \'x\' has different size for dims and reshape for m'],
  ['input { name: "x" data_type: TYPE_FP32 dims: [ -1, -1 ] reshape { shape: -1 } }',
    'model input \'x\' has different number of variable-size dimensions for dims and reshape for m'],
  ['input { name: "x" data_type: TYPE_FP32 dims: [ 3, 8 ] format: FORMAT_NHWC }', 'model input NHWC/NCHW require 3 dims for m'],
  ['input { name: "x" data_type: TYPE_FP32 dims: 1 is_shape_tensor: true }', 'shape tensors are only supported for TensorRT platform for m'],
  ['output { name: "x" data_type: TYPE_FP32 dims: 1 is_non_linear_format_io: true }', 'Non-linear IO format is only supported for the TensorRT platform for m'],
  [`${INPUT} batch_input { }`, 'batch input kind \'BATCH_ELEMENT_COUNT\' expects 1 source input, got 0 for m'],
  [`${INPUT} batch_input { kind: BATCH_ITEM_SHAPE source_input: [ "x", "x" ] }`, 'batch input kind \'BATCH_ITEM_SHAPE\' expects 1 source input, got 2 for m'],
  [`${INPUT} batch_input { source_input: "x" data_type: TYPE_INT64 }`, 'batch input data type must be TYPE_INT32 or TYPE_FP32 for m'],
  [`${INPUT} batch_input { source_input: "q" data_type: TYPE_INT32 }`, 'unknown source input name \'q\' for m'],
  [`${INPUT} batch_output { }`, 'batch output kind \'BATCH_SCATTER_WITH_INPUT_SHAPE\' expects 1 source input, got 0 for m'],
  [`${INPUT} batch_output { source_input: "q" }`, 'unknown source input name \'q\' for m'],
  [`${INPUT} ${OUTPUT} batch_output { source_input: "x" target_name: "q" }`, 'unknown target output name \'q\' for m'],
  [`${INPUT} ${OUTPUT} batch_output { source_input: "x" target_name: [ "y", "y" ] }`, 'target output name \'y\' can only be specified once for m'],

  ['backend: "custom" ensemble_scheduling { step { model_name: "a" } }', 'ensemble scheduling cannot be set for model \'m\' whose platform is not ensemble'],
  ['platform: "ensemble"', 'ensemble scheduling must be set for ensemble m whose platform is ensemble'],
  [`${ensemble(scheduling(step('a', 'A', 'Z')))} instance_group { }`, 'instance group should not be specified for ensemble \'m\''],
  [`${ensemble(scheduling(step('a', 'A', 'Z')))} optimization { }`, 'optimization should not be specified for ensemble \'m\''],
  [`${ensemble(scheduling(step('a', 'A', 'Z')))} model_warmup { }`, 'model_warmup can not be specified for ensemble \'m\''],
  [ensemble(scheduling()), 'must specify \'step\' for ensemble \'m\''],
  [ensemble(scheduling(step('', 'A', 'Z'))), 'must specify \'model_name\' in step 0 of ensemble \'m\''],
  [ensemble(scheduling(step('a', 'A', 'Z'), step('b', '', 'B'))), 'must specify \'input_map\' in step 1 of ensemble \'m\''],
  [ensemble(scheduling(step('a', 'A', ''))), 'must specify \'output_map\' in step 0 of ensemble \'m\''],
  [ensemble(scheduling(step('a', 'A', 'Z'), step('b', 'A', 'Z'))), 'ensemble tensor \'Z\' can appear in an output map only once for ensemble \'m\' step 1'],
  [ensemble(scheduling(step('a', 'A', 'Z')), 'Q'), 'ensemble input \'Q\' for ensemble m\' is not used'],
  [ensemble(scheduling(step('a', 'A', 'Z')), 'A', 'Q'), 'ensemble output \'Q\' for ensemble m\' is not used'],
  [ensemble(scheduling(step('a', 'A', 'B'), step('b', 'C', 'Z'))),
    'output \'Z\' for ensemble \'m\' is not written: at least one of its depending tensors, \'C\', is not connected'],
  [ensemble(scheduling(step('a', 'A', 'Z'), step('b', 'Q', 'R')), 'A', 'Q'), 'output \'Q\' for ensemble \'m\' is not written'],
  [ensemble(scheduling(step('a', 'A', 'Z'), step('b', 'A', 'B'))), 'ensemble tensor \'B\' is unused in ensemble \'m\''],
]

describe('validateModelConfig', () => {
  test.each(ACCEPTED)('accepts %s', (text) => {
    expect(() => { validate(text) }).not.toThrow()
  })

  test.each(REFUSED)('refuses %s', (text, message) => {
    expect(() => { validate(text) }).toThrow(expect.objectContaining({ kind: 'INVALID_ARG', message }) as Error)
  })

  test('a config must have a name and a version policy', () => {
    const config = normalizeModelConfig(readModelConfig('backend: "custom"', ''))
    expect(() => { validateModelConfig(config, { checkInputsAndOutputs: true }) }).toThrow('model configuration must specify \'name\'')
    const { version_policy: _policy, ...bare } = config
    expect(() => { validateModelConfig({ ...bare, name: 'm' }, { checkInputsAndOutputs: true }) }).toThrow('must specify \'version policy\' for m')
  })

  test('inputs and outputs are left alone while they may still be completed', () => {
    expect(() => { validate('input { }', false) }).not.toThrow()
  })
})

describe('validateSequenceStates', () => {
  const states = (state: string): void => {
    const config = readModelConfig(`sequence_batching { state { input_name: "S" output_name: "T" data_type: TYPE_FP32 ${state} } }`, '')
    validateSequenceStates(config.sequence_batching as unknown as SequenceBatching)
  }

  test.each([
    '', 'dims: -1', 'dims: [ 1, 2 ] initial_state { name: "i" data_type: TYPE_FP32 dims: [ 1, 2 ] zero_data: true }',
    'dims: -1 initial_state { name: "i" data_type: TYPE_FP32 dims: 7 }',
  ])('accepts %s', (state) => {
    expect(() => { states(state) }).not.toThrow()
  })

  test.each([
    ['initial_state { } initial_state { }', 'initial_state field for state input \'S\' must contain exactly one or zero element. Found \'2\' elements.'],
    ['initial_state { data_type: TYPE_INT32 }', 'The data type used for \'initial_state\' field of state \'S\' does not match the state data type.'],
    ['initial_state { data_type: TYPE_FP32 }', 'Field \'name\' must be set when using initial_state for state input \'S\'.'],
    ['dims: 2 initial_state { name: "i" data_type: TYPE_FP32 dims: [ 2, 1 ] }',
      'Number of dimensions in \'initial_state\' doesn\'t match the size of \'state\' dimensions for state input \'S\'. 2 != 1'],
    ['dims: 2 initial_state { name: "i" data_type: TYPE_FP32 dims: 3 }', '\'initial_state\' dim for input name \'S\' doesn\'t match \'state\' dim description. 3 != 2'],
    ['dims: -1 initial_state { name: "i" data_type: TYPE_FP32 dims: -1 }', '\'initial_state\' field for state input name \'S\' contains variable dimensions.'],
  ])('refuses %s', (state, message) => {
    expect(() => { states(state) }).toThrow(expect.objectContaining({ kind: 'INVALID_ARG', message }) as Error)
  })
})
