/**
 * Every text with which Triton refuses a config by itself (grammar, schema, static validation, instance groups, ensembles), the rule that
 * says it here, a config that is refused with it, and the same config as its first fix leaves it.
 */

export interface TritonText {
  readonly code: string
  /** As the server prints it for model `m`; texts of the parser without their place. */
  readonly text: string
  readonly config: string
  /** What the preferred fix makes of it, or the first one where none is preferred; null: there is no fix. */
  readonly repaired: string | null
}

function row(code: string, text: string, config: string, repaired: string | null): TritonText {
  return { code, text, config, repaired }
}

const B = 'backend: "custom"\n'

export const GRAMMAR_TEXTS: readonly TritonText[] = [
  row('slash-comment', 'Expected identifier, got: /', '// batching\nmax_batch_size: 8\n', '# batching\nmax_batch_size: 8\n'),
  row('slash-comment', 'Expected identifier, got: /', '/* a\nb */\nmax_batch_size: 8\n', '# a\n# b \nmax_batch_size: 8\n'),
  row('full-width-character', 'Interpreting non ascii codepoint 239.', 'name： "m"\n', 'name: "m"\n'),
  row('full-width-character', 'Interpreting non ascii codepoint 226.', 'name: “m”\n', 'name: "m"\n'),
  row('full-width-character', 'Interpreting non ascii codepoint 227.', 'version_policy { specific { versions: 【1] } }\n', 'version_policy { specific { versions: [1] } }\n'),
  row('no-break-space', 'Interpreting non ascii codepoint 194.', 'name:\u00a0"m"\n', 'name: "m"\n'),
  row('non-ascii-text', 'Interpreting non ascii codepoint 230.', '模型\nname: "m"\n', '\nname: "m"\n'),
  row('control-character', 'Invalid control characters encountered in text.', 'name:\u0001 "m"\n', 'name: "m"\n'),
  row('wrong-type', 'Expect a decimal number, got: 0x10', 'sequence_batching { direct { minimum_slot_utilization: 0x1 } }\n'.replace('0x1 ', '0x10 '),
    'sequence_batching { direct { minimum_slot_utilization: 16 } }\n'),
  row('invalid-boolean', 'Integer out of range (2)', 'response_cache { enable: 2 }\n', null),
  row('wrong-case', 'Invalid value for boolean field "enable". Value: "TRUE".', 'response_cache { enable: TRUE }\n', 'response_cache { enable: true }\n'),
  row('invalid-boolean', 'Invalid value for boolean field "enable". Value: "yes".', 'response_cache { enable: yes }\n', 'response_cache { enable: true }\n'),
  row('quoted-boolean', 'Expected identifier, got: "true"', 'response_cache { enable: "true" }\n', 'response_cache { enable: true }\n'),
  row('unknown-enum-value', 'Unknown enumeration value of "KIND_NPU" for field "kind".', 'instance_group { kind: KIND_NPU }\n', 'instance_group { kind: KIND_CPU }\n'),
  row('wrong-case', 'Unknown enumeration value of "type_fp32" for field "data_type".', 'input { data_type: type_fp32 }\n', 'input { data_type: TYPE_FP32 }\n'),
  row('quoted-enum', 'Expected integer or identifier, got: "KIND_CPU"', 'instance_group { kind: "KIND_CPU" }\n', 'instance_group { kind: KIND_CPU }\n'),
  row('missing-colon', 'Expected ":", found "8".', 'max_batch_size 8\n', 'max_batch_size: 8\n'),
  row('missing-colon', 'Expected ":", found "[".', 'input { dims [ 1 ] }\n', 'input { dims: [ 1 ] }\n'),
  row('equals-sign', 'Expected ":", found "=".', 'max_batch_size = 8\n', 'max_batch_size: 8\n'),
  row('expected-message', 'Expected "{", found ""1"".', 'parameters { key: "a" value: "1" }\n', 'parameters { key: "a" value: { string_value: "1" } }\n'),
  row('expected-message', 'Expected "{", found "true".', 'dynamic_batching: true\n', 'dynamic_batching: { }\n'),
  row('list-not-allowed', 'Expected integer, got: [', 'max_batch_size: [ 8 ]\n', 'max_batch_size: 8\n'),
  row('list-not-allowed', 'Expected "{", found "[".', 'input { reshape: [ 1, 2 ] }\n', 'input { reshape: { shape: [ 1, 2 ] } }\n'),
  row('trailing-comma', 'Expected integer, got: ]', 'input { dims: [ 4, ] }\n', 'input { dims: [ 4 ] }\n'),
  row('trailing-comma', 'Expected "{", found "]".', 'input [ { name: "A" }, ]\n', 'input [ { name: "A" } ]\n'),
  row('extra-comma', 'Expected integer, got: ,', 'input { dims: [ 4,, 5 ] }\n', 'input { dims: [ 4, 5 ] }\n'),
  row('missing-comma', 'Expected ",", found "5".', 'input { dims: [ 4 5 ] }\n', 'input { dims: [ 4, 5 ] }\n'),
  row('missing-comma', 'Expected ",", found "{".', 'input [ { name: "A" } { name: "B" } ]\n', 'input [ { name: "A" }, { name: "B" } ]\n'),
  row('extra-separator', 'Expected identifier, got: ,', 'name: "m",, max_batch_size: 8\n', 'name: "m", max_batch_size: 8\n'),
  row('unclosed-bracket', 'Expected ",", found "".', 'instance_group [\n  {\n    count: 2\n  }\n', 'instance_group [\n  {\n    count: 2\n  }\n]\n'),
  row('unclosed-bracket', 'Expected ",", found "output".', 'input [\n  { name: "A" }\noutput [ { name: "B" } ]\n', 'input [\n  { name: "A" }\n]\noutput [ { name: "B" } ]\n'),
  row('unclosed-bracket', 'Expected ",", found "}".', 'input { dims: [ 1, 2 }\n', 'input { dims: [ 1, 2 ] }\n'),
  row('unclosed-bracket', 'Message type "inference.ModelDynamicBatching" has no field named "instance_group".',
    'dynamic_batching {\n  preferred_batch_size: [ 4 ] # four\n\ninstance_group [ { count: 1 } ]\n', 'dynamic_batching {\n  preferred_batch_size: [ 4 ] # four\n}\n\ninstance_group [ { count: 1 } ]\n'),
  row('unclosed-bracket', 'Expected identifier, got: ', 'dynamic_batching { preserve_ordering: true\n', 'dynamic_batching { preserve_ordering: true }\n'),
  row('unclosed-bracket', 'Expected identifier, got: ]', 'input [ { name: "A" ]\n', 'input [ { name: "A" } ]\n'),
  row('unmatched-bracket', 'Expected identifier, got: }', 'name: "m" }\n', 'name: "m"\n'),
  row('mismatched-bracket', 'Expected ">", found "}".', 'input < name: "A" }\n', 'input < name: "A" >\n'),
  row('unexpected-text', 'Expected identifier, got: "x"', 'max_batch_size: 8 "x"\n', 'max_batch_size: 8\n'),
  row('missing-value', 'Expected integer, got: ', 'max_batch_size:\n', ''),
  row('quoted-number', 'Expected integer, got: "8"', 'max_batch_size: "8"\n', 'max_batch_size: 8\n'),
  row('wrong-type', 'Expected integer, got: 8.0', 'max_batch_size: 8.0\n', 'max_batch_size: 8\n'),
  row('wrong-type', 'Expected integer, got: eight', 'max_batch_size: eight\n', null),
  row('wrong-type', 'Expected double, got: half', 'sequence_batching { direct { minimum_slot_utilization: half } }\n', null),
  row('unquoted-string', 'Expected string, got: my', 'name: my-model.v2\n', 'name: "my-model.v2"\n'),
  row('number-out-of-range', 'Integer out of range (99999999999)', 'max_batch_size: 99999999999\n', 'max_batch_size: 2147483647\n'),
  row('number-out-of-range', 'Expected integer, got: -', 'model_warmup { batch_size: -1 }\n', null),
  row('bad-number', 'Numbers starting with leading zero must be in octal.', 'max_batch_size: 08\n', 'max_batch_size: 8\n'),
  row('unclosed-string', 'String literals cannot cross line boundaries.', 'name: "m\nmax_batch_size: 8\n', 'name: "m"\nmax_batch_size: 8\n'),
  row('unclosed-string', 'Unexpected end of string.', 'parameters { key: "a }', 'parameters { key: "a" }'),
  row('bad-escape', 'Invalid escape sequence in string literal.', 'default_model_filename: "a\\model.onnx"\n'.replace('\\m', '\\m'), 'default_model_filename: "a\\\\model.onnx"\n'),
  row('duplicate-field', 'Non-repeated field "max_batch_size" is specified multiple times.', 'max_batch_size: 8\nmax_batch_size: 4\n', 'max_batch_size: 8\n'),
  row('oneof-conflict', 'Field "sequence_batching" is specified along with field "dynamic_batching", another member of oneof "scheduling_choice".',
    'dynamic_batching { }\nsequence_batching { }\n', 'dynamic_batching { }\n'),
  row('misplaced-field', 'Message type "inference.ModelDynamicBatching" has no field named "max_batch_size".',
    'name: "m"\ndynamic_batching {\n  max_batch_size: 32 # here\n  preserve_ordering: true\n}\n', 'name: "m"\nmax_batch_size: 32\ndynamic_batching {\n  # here\n  preserve_ordering: true\n}\n'),
  row('misplaced-field', 'Message type "inference.ModelConfig" has no field named "preferred_batch_size".',
    'max_batch_size: 8\npreferred_batch_size: [ 4, 8 ]\n', 'max_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 4, 8 ] }\n'),
  row('camel-case-field', 'Message type "inference.ModelConfig" has no field named "maxBatchSize".', 'maxBatchSize: 8\n', 'max_batch_size: 8\n'),
  row('wrong-case', 'Message type "inference.ModelConfig" has no field named "Name".', 'Name: "m"\n', 'name: "m"\n'),
  row('unknown-field', 'Message type "inference.ModelConfig" has no field named "max_bach_size".', 'max_bach_size: 8\n', 'max_batch_size: 8\n'),
  row('unknown-field', 'Message type "inference.ModelConfig" has no field named "nothing_of_the_kind".', 'name: "m"\nnothing_of_the_kind: 8\n', 'name: "m"\n'),
  row('unknown-extension', 'Extension "a.b" is not defined or is not an extension of "inference.ModelConfig".', 'name: "m"\n[a.b]: 1\n', 'name: "m"\n'),
]

const INPUT = 'input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] }\n'
const OUTPUT = 'output { name: "y" data_type: TYPE_FP32 dims: [ -1 ] }\n'
const sequence = (body: string): string => `${B}max_batch_size: 4\nsequence_batching { ${body} }\n`
const control = (body: string, name = 'C'): string => `control_input { name: "${name}" control { ${body} } }`
const START = 'kind: CONTROL_SEQUENCE_START'
const CORRID = 'kind: CONTROL_SEQUENCE_CORRID'
const state = (body: string): string => `${B}sequence_batching { state { input_name: "S" output_name: "T" data_type: TYPE_FP32 ${body} } }\n`
const tensor = (body: string): string => `${B}input { name: "x" data_type: TYPE_FP32 ${body} }\n`

const ENDS = 'input { name: "A" data_type: TYPE_FP32 dims: [ 1 ] }\noutput { name: "Z" data_type: TYPE_FP32 dims: [ 1 ] }\n'
const step = (body: string): string => `  step { ${body} }\n`
const map = (input: string, output: string): string => `input_map { key: "I" value: "${input}" } output_map { key: "O" value: "${output}" }`
const ensemble = (steps: string, ends = ENDS): string => `platform: "ensemble"\n${ends}ensemble_scheduling {\n${steps}}\n`
const ONE_STEP = step(`model_name: "a" ${map('A', 'Z')}`)

export const VALIDATION_TEXTS: readonly TritonText[] = [
  row('backend-unknown', 'Invalid model name: Could not determine backend for model \'m\' with no backend in model configuration. Expected model name of the form \'model.<backend_name>\'.',
    'max_batch_size: 8\n', 'backend: "onnxruntime"\nmax_batch_size: 8\n'),
  row('unknown-platform', 'unexpected platform type \'onnxruntime\' for m', 'platform: "onnxruntime"\n', 'backend: "onnxruntime"\n'),
  row('unknown-platform', 'unexpected platform type \'onnxruntime_onx\' for m', 'platform: "onnxruntime_onx"\n', 'platform: "onnxruntime_onnx"\n'),
  row('ensemble-with-backend', 'Ensemble model \'m\' must have platform type \'ensemble\' and empty backend type', `${ensemble(ONE_STEP)}${B}`, ensemble(ONE_STEP)),
  row('platform-of-other-backend', 'unexpected \'platform\' and \'backend\' pair, got:tensorrt_plan, onnxruntime', 'backend: "onnxruntime"\nplatform: "tensorrt_plan"\n', 'backend: "onnxruntime"\n'),
  row('negative-max-batch-size', '\'max_batch_size\' must be non-negative value for m', `${B}max_batch_size: -1\n`, `${B}max_batch_size: 0\n`),
  row('empty-repository-agents', 'model_repository_agents must name at least one agent for m: remove the empty block', `${B}model_repository_agents { }\n`, B),
  row('metric-without-identifier', 'metric control must specify \'metric_identifier\'', `${B}model_metrics { metric_control { histogram_options { buckets: 1 } } }\n`, `${B}model_metrics { }\n`),
  row('metric-without-family', 'metric identifier must specify non-empty \'family\'', `${B}model_metrics { metric_control { metric_identifier { } histogram_options { buckets: 1 } } }\n`,
    `${B}model_metrics { metric_control { metric_identifier { family: "nv_inference_first_response_histogram_ms" } histogram_options { buckets: 1 } } }\n`),
  row('metric-without-options', 'metric control must specify \'histogram_options\'', `${B}model_metrics { metric_control { metric_identifier { family: "f" } } }\n`,
    `${B}model_metrics { metric_control { metric_identifier { family: "f" } histogram_options { buckets: [ 10, 100, 1000 ] } } }\n`),
  row('metric-without-buckets', 'histogram options must specify non-empty \'buckets\'', `${B}model_metrics { metric_control { metric_identifier { family: "f" } histogram_options { } } }\n`,
    `${B}model_metrics { metric_control { metric_identifier { family: "f" } histogram_options { buckets: [ 10, 100, 1000 ] } } }\n`),
  row('cache-with-sequences', 'Response Cache does not currently support model m with sequence batching scheduler. Please disable the response cache.',
    `${B}sequence_batching { }\nresponse_cache { enable: true }\n`, `${B}sequence_batching { }\n`),
  row('cache-with-decoupled', 'Response Cache does not currently support model m with \'decoupled\' transaction policy. Please disable the response cache.',
    `${B}model_transaction_policy { decoupled: true }\nresponse_cache { enable: true }\n`, `${B}model_transaction_policy { decoupled: true }\n`),

  row('preferred-size-not-positive', 'dynamic batching preferred size must be positive for m',
    `${B}max_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 4, 0 ] }\n`, `${B}max_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 4 ] }\n`),
  row('preferred-size-over-max', 'dynamic batching preferred size must be <= max batch size for m',
    `${B}max_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 4, 16 ] }\n`, `${B}max_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 4 ] }\n`),
  row('default-priority-range', 'default priority level must be in range [1, 3] for m',
    `${B}dynamic_batching { priority_levels: 3 }\n`, `${B}dynamic_batching { priority_levels: 3 default_priority_level: 2 }\n`),
  row('priority-policy-range', 'priority queue policy must have priority level in range [1, 1] for m',
    `${B}dynamic_batching { priority_levels: 1 default_priority_level: 1 priority_queue_policy { key: 2 value { } } }\n`, `${B}dynamic_batching { priority_levels: 1 default_priority_level: 1 }\n`),
  row('ordering-with-priorities', 'Only one priority level is allowed when \'preserve_ordering\' is true for m',
    `${B}dynamic_batching { preserve_ordering: true priority_levels: 2 default_priority_level: 1 }\n`, `${B}dynamic_batching { priority_levels: 2 default_priority_level: 1 }\n`),
  row('ordering-with-delay', 'Queue policy can not have DELAY as timeout action when \'preserve_ordering\' is true for m',
    `${B}dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 9 } }\n`,
    `${B}dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: REJECT default_timeout_microseconds: 9 } }\n`),

  row('control-without-name', 'sequence batching control tensor must have a name for m', sequence(`control_input { control { ${START} int32_false_true: [ 0, 1 ] } }`), `${B}max_batch_size: 4\nsequence_batching { }\n`),
  row('control-tensor-twice', 'sequence batching control tensor \'C\' is specified for multiple control kinds for m',
    sequence(`${control(`${START} int32_false_true: [ 0, 1 ]`)} ${control(`${CORRID} data_type: TYPE_INT32`)}`), sequence(control(`${START} int32_false_true: [ 0, 1 ]`))),
  row('control-kind-twice', 'sequence batching specifies multiple CONTROL_SEQUENCE_START tensors for m',
    sequence(`control_input { name: "C" control { ${START} int32_false_true: [ 0, 1 ] } control { ${START} int32_false_true: [ 0, 1 ] } }`), sequence(control(`${START} int32_false_true: [ 0, 1 ]`))),
  row('control-without-values', 'sequence batching must specify either \'int32_false_true\', \'fp32_false_true\' or \'bool_false_true\' for CONTROL_SEQUENCE_START for m',
    sequence(control(START)), sequence(control(`${START} int32_false_true: [ 0, 1 ]`))),
  row('control-values-twice', 'sequence batching specifies more than one from \'int32_false_true\', \'fp32_false_true\' and \'bool_false_true\' for CONTROL_SEQUENCE_START for m',
    sequence(control(`${START} int32_false_true: [ 0, 1 ] fp32_false_true: [ 0, 1 ]`)), sequence(control(`${START} int32_false_true: [ 0, 1 ]`))),
  ...['int32', 'fp32', 'bool'].map((type): TritonText => row('control-values-count', `sequence batching control '${type}_false_true' must have exactly 2 entries for CONTROL_SEQUENCE_START for m`,
    sequence(control(`${START} ${type}_false_true: [ ${type === 'bool' ? 'false' : '0'} ]`)), sequence(control(`${START} ${type}_false_true: [ ${type === 'bool' ? 'false, true' : '0, 1'} ]`)))),
  row('corrid-with-values', 'sequence batching must not specify either \'int32_false_true\', \'fp32_false_true\' or \'bool_false_true\' for CONTROL_SEQUENCE_CORRID for m',
    sequence(control(`${CORRID} int32_false_true: [ 0, 1 ] data_type: TYPE_INT32`)), sequence(control(`${CORRID} data_type: TYPE_INT32`))),
  row('corrid-type', 'unexpected data type for control CONTROL_SEQUENCE_CORRID for m. Allowed data types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING',
    sequence(control(`${CORRID} data_type: TYPE_FP32`)), sequence(control(`${CORRID} data_type: TYPE_UINT64`))),
  row('sequence-preferred-size-not-positive', 'sequence batching preferred batch size must be positive for m', sequence('oldest { preferred_batch_size: -1 }'), sequence('oldest { }')),
  row('sequence-preferred-size-over-max', 'sequence batching preferred batch size must be <= max batch size for m', sequence('oldest { preferred_batch_size: [ 2, 5 ] }'), sequence('oldest { preferred_batch_size: [ 2 ] }')),
  row('slot-utilization-range', 'sequence batching minimum slot utilization must be in range (0.0, 1.0] for m', sequence('direct { minimum_slot_utilization: 1.5 }'), sequence('direct { minimum_slot_utilization: 1 }')),
  row('initial-state-count', 'initial_state field for state input \'S\' must contain exactly one or zero element. Found \'2\' elements.',
    state('initial_state { name: "i" data_type: TYPE_FP32 zero_data: true } initial_state { }'), state('initial_state { name: "i" data_type: TYPE_FP32 zero_data: true }')),
  row('initial-state-type', 'The data type used for \'initial_state\' field of state \'S\' does not match the state data type.', state('initial_state { name: "i" data_type: TYPE_INT32 }'), state('initial_state { name: "i" data_type: TYPE_FP32 }')),
  row('initial-state-without-name', 'Field \'name\' must be set when using initial_state for state input \'S\'.', state('initial_state { data_type: TYPE_FP32 }'), state('initial_state { data_type: TYPE_FP32 name: "initial S" }')),
  row('initial-state-rank', 'Number of dimensions in \'initial_state\' doesn\'t match the size of \'state\' dimensions for state input \'S\'. 2 != 1',
    state('dims: 2 initial_state { name: "i" data_type: TYPE_FP32 dims: [ 2, 1 ] }'), state('dims: 2 initial_state { name: "i" data_type: TYPE_FP32 dims: [ 2 ] }')),
  row('initial-state-dims', '\'initial_state\' dim for input name \'S\' doesn\'t match \'state\' dim description. 3 != 2', state('dims: 2 initial_state { name: "i" data_type: TYPE_FP32 dims: 3 }'), state('dims: 2 initial_state { name: "i" data_type: TYPE_FP32 dims: 2 }')),
  row('initial-state-variable-dims', '\'initial_state\' field for state input name \'S\' contains variable dimensions.', state('dims: -1 initial_state { name: "i" data_type: TYPE_FP32 dims: -1 }'), state('dims: -1 initial_state { name: "i" data_type: TYPE_FP32 dims: 1 }')),
  row('initial-state-file-short', 'initial_state setting expects 8 bytes, but the data provided from short.binonly has 4 bytes.',
    state('dims: 2 initial_state { name: "i" data_type: TYPE_FP32 dims: 2 data_file: "short.bin" }'), state('dims: 2 initial_state { name: "i" data_type: TYPE_FP32 dims: 2 zero_data: true }')),

  row('tensor-without-name', 'model input must specify \'name\' for m', `${B}input { data_type: TYPE_FP32 dims: 1 }\n`, B),
  row('tensor-without-name', 'model output must specify \'name\' for m', `${B}output { data_type: TYPE_FP32 dims: 1 }\n`, B),
  row('tensor-without-type', 'model input \'x\' must specify \'data_type\' for m', `${B}input { name: "x" dims: 1 }\n`, `${B}input { name: "x" data_type: TYPE_FP32 dims: 1 }\n`),
  row('tensor-without-dims', 'model output \'y\' must specify \'dims\' for m', `${B}output { name: "y" data_type: TYPE_FP32 }\n`, `${B}output { name: "y" data_type: TYPE_FP32 dims: [ -1 ] }\n`),
  row('bad-dimension', 'model input \'x\' dimension must be integer >= 1, or -1 to indicate a variable-size dimension for m', tensor('dims: [ 3, 0 ]'), tensor('dims: [ 3, -1 ]')),
  row('empty-reshape-without-batching', 'model input \'x\' cannot have empty reshape for non-batching model as scalar tensors are not supported for m', tensor('dims: 1 reshape { }'), tensor('dims: 1')),
  row('bad-reshape-dimension', 'model input \'x\' reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension for m', tensor('dims: -1 reshape { shape: 0 }'), tensor('dims: -1 reshape { shape: -1 }')),
  row('reshape-size', 'model input \'x\' has different size for dims and reshape for m', tensor('dims: [ 2, 2 ] reshape { shape: 3 }'), tensor('dims: [ 2, 2 ]')),
  row('reshape-variable-dims', 'model input \'x\' has different number of variable-size dimensions for dims and reshape for m', tensor('dims: [ -1, -1 ] reshape { shape: -1 }'), tensor('dims: [ -1, -1 ]')),
  row('image-format-dims', 'model input NHWC/NCHW require 3 dims for m', tensor('format: FORMAT_NHWC dims: [ 3, 8 ]'), tensor('dims: [ 3, 8 ]')),
  row('shape-tensor', 'shape tensors are only supported for TensorRT platform for m', tensor('dims: 1 is_shape_tensor: true'), tensor('dims: 1')),
  row('non-linear-format', 'Non-linear IO format is only supported for the TensorRT platform for m', tensor('dims: 1 is_non_linear_format_io: true'), tensor('dims: 1')),
  row('batch-input-sources', 'batch input kind \'BATCH_ELEMENT_COUNT\' expects 1 source input, got 0 for m',
    `${B}${INPUT}batch_input { data_type: TYPE_INT32 }\n`, `${B}${INPUT}batch_input { data_type: TYPE_INT32 source_input: [ "x" ] }\n`),
  row('batch-input-type', 'batch input data type must be TYPE_INT32 or TYPE_FP32 for m', `${B}${INPUT}batch_input { data_type: TYPE_INT64 source_input: "x" }\n`, `${B}${INPUT}batch_input { data_type: TYPE_INT32 source_input: "x" }\n`),
  row('unknown-source-input', 'unknown source input name \'q\' for m', `${B}${INPUT}batch_input { data_type: TYPE_INT32 source_input: "q" }\n`, `${B}${INPUT}batch_input { data_type: TYPE_INT32 source_input: "x" }\n`),
  row('batch-output-sources', 'batch output kind \'BATCH_SCATTER_WITH_INPUT_SHAPE\' expects 1 source input, got 2 for m',
    `${B}${INPUT}batch_output { source_input: [ "x", "x" ] }\n`, `${B}${INPUT}batch_output { source_input: [ "x" ] }\n`),
  row('unknown-target-output', 'unknown target output name \'q\' for m', `${B}${INPUT}${OUTPUT}batch_output { target_name: "q" source_input: "x" }\n`, `${B}${INPUT}${OUTPUT}batch_output { target_name: "y" source_input: "x" }\n`),
  row('target-output-twice', 'target output name \'y\' can only be specified once for m',
    `${B}${INPUT}${OUTPUT}batch_output { target_name: [ "y", "y" ] source_input: "x" }\n`, `${B}${INPUT}${OUTPUT}batch_output { target_name: [ "y" ] source_input: "x" }\n`),

  row('gpus-without-gpu-kind', 'instance group m_0 of model m has kind KIND_CPU but specifies one or more GPUs', `${B}instance_group { kind: KIND_CPU gpus: [ 0 ] }\n`, `${B}instance_group { kind: KIND_CPU }\n`),
  row('gpus-without-gpu-kind', 'instance group m_0 of model m has kind KIND_MODEL but specifies one or more GPUs', `${B}instance_group { kind: KIND_MODEL gpus: [ 0 ] }\n`, `${B}instance_group { kind: KIND_MODEL }\n`),
  row('unknown-instance-kind', 'instance group m_0 of model m has unexpected kind KIND_AUTO', `${B}instance_group { kind: 9 }\n`, `${B}instance_group { kind: KIND_CPU }\n`),
  row('too-many-instances', 'instance groups of model m ask for 1025 instances, at most 1024 are possible', `${B}instance_group [ { }, { count: 1024 } ]\n`, `${B}instance_group [ { }, { count: 1 } ]\n`),
  row('profile-without-tensorrt', 'instance group m_0 of model m and platform onnxruntime_onnxspecifies profile field which is only supported for TensorRT models',
    'backend: "onnxruntime"\ninstance_group { kind: KIND_CPU profile: "1" }\n', 'backend: "onnxruntime"\ninstance_group { kind: KIND_CPU }\n'),

  row('scheduling-without-ensemble', 'ensemble scheduling cannot be set for model \'m\' whose platform is not ensemble',
    `${B}${ENDS}ensemble_scheduling {\n${ONE_STEP}}\n`, `platform: "ensemble"\n${ENDS}ensemble_scheduling {\n${ONE_STEP}}\n`),
  row('ensemble-without-scheduling', 'ensemble scheduling must be set for ensemble m whose platform is ensemble', 'platform: "ensemble"\n', ''),
  row('ensemble-with-instance-group', 'instance group should not be specified for ensemble \'m\'', `${ensemble(ONE_STEP)}instance_group { }\n`, ensemble(ONE_STEP)),
  row('ensemble-with-optimization', 'optimization should not be specified for ensemble \'m\'', `${ensemble(ONE_STEP)}optimization { }\n`, ensemble(ONE_STEP)),
  row('ensemble-with-model-warmup', 'model_warmup can not be specified for ensemble \'m\'', `${ensemble(ONE_STEP)}model_warmup { name: "w" }\n`, ensemble(ONE_STEP)),
  row('ensemble-without-steps', 'must specify \'step\' for ensemble \'m\'', ensemble(''), null),
  row('step-without-model-name', 'must specify \'model_name\' in step 0 of ensemble \'m\'', ensemble(step(map('A', 'Z'))), null),
  row('step-without-input-map', 'must specify \'input_map\' in step 0 of ensemble \'m\'', ensemble(step('model_name: "a" output_map { key: "O" value: "Z" }')), null),
  row('step-without-output-map', 'must specify \'output_map\' in step 0 of ensemble \'m\'', ensemble(step('model_name: "a" input_map { key: "I" value: "A" }')), null),
  row('ensemble-tensor-written-twice', 'ensemble tensor \'Z\' can appear in an output map only once for ensemble \'m\' step 1', ensemble(ONE_STEP + step(`model_name: "b" ${map('A', 'Z')}`)),
    ensemble(ONE_STEP + step(`model_name: "b" ${map('A', 'Z_1')}`))),
  row('ensemble-input-unused', 'ensemble input \'Q\' for ensemble m\' is not used', ensemble(ONE_STEP, ENDS.replace('"A"', '"Q"')), ensemble(ONE_STEP)),
  row('ensemble-output-unused', 'ensemble output \'Q\' for ensemble m\' is not used', ensemble(ONE_STEP, ENDS.replace('"Z"', '"Q"')), ensemble(ONE_STEP)),
  row('ensemble-output-not-written', 'output \'Z\' for ensemble \'m\' is not written: at least one of its depending tensors, \'features\', is not connected',
    ensemble(step(`model_name: "a" ${map('A', 'feature')}`) + step(`model_name: "b" ${map('features', 'Z')}`)),
    ensemble(step(`model_name: "a" ${map('A', 'feature')}`) + step(`model_name: "b" ${map('feature', 'Z')}`))),
  row('ensemble-output-not-written', 'output \'Z\' for ensemble \'m\' is not written',
    ensemble(step(`model_name: "a" ${map('A', 'B')}`) + step(`model_name: "b" ${map('Z', 'R')}`)), null),
  row('ensemble-tensor-unused', 'ensemble tensor \'B\' is unused in ensemble \'m\'', ensemble(ONE_STEP + step(`model_name: "b" ${map('A', 'B')}`)),
    ensemble(ONE_STEP + step(`model_name: "b" ${map('A', 'B')}`), `${ENDS}output { name: "B" data_type: TYPE_FP32 dims: [ -1 ] }\n`)),
]

/** Texts that other rules say, with the model's folder, file or machine: code of the rule. */
export const TEXTS_OF_JUDGEMENT: readonly (readonly [code: string, text: string])[] = [
  ['no-gpu-here', 'instance group <g> of model <m> has kind KIND_GPU but server does not support GPUs'],
  ['warm-up-dims', 'warmup setting expects all variable-size dimensions are specified for input \'<t>\''],
  ['warm-up-file-short', 'warmup setting expects <n> bytes, but the data provided from <f>only has <k> bytes'],
  ['name-differs-from-folder', 'unexpected directory name \'<dir>\' for model \'<name>\', directory name must equal model name'],
]

/** Texts that no config file leads to on this server, and why. */
export const UNREACHABLE_TEXTS: readonly (readonly [text: string, why: string])[] = [
  ['model configuration must specify \'name\'', 'the directory gives the name'],
  ['must specify \'version policy\' for <m>', 'normalisation sets one'],
  ['instance group <g> of model <m> has kind KIND_GPU but no GPUs are available', 'said by builds with CUDA only'],
  ['warmup setting expects input \'<t>\' to have input_data_type set', 'the variable-size text comes first'],
  ['input \'<k>\' in model \'<x>\' is mapped to multiple ensemble tensors for ensemble \'<m>\' step <i>', 'a map holds each key once, the last'],
  ['State input name \'<t>\' specified more than once.', 'never seen on a running server'],
]
