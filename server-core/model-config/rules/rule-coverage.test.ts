/**
 * What the config language must find, row by row, and the rule that finds it. That each of these rules has a case that it speaks about, one
 * that it leaves alone and a fix is held by `triton-texts.test.ts` and `judgement-rules.test.ts`, which refuse a code without a case.
 */
import { expect, test } from 'vitest'
import { ALL_RULES } from '../check-config.ts'
import { GRAMMAR_TEXTS, TEXTS_OF_JUDGEMENT, UNREACHABLE_TEXTS, VALIDATION_TEXTS } from './triton-texts.fixture.ts'

const ROWS: Readonly<Record<string, readonly string[]>> = {
  'unbalanced brackets': ['unclosed-bracket', 'unmatched-bracket', 'mismatched-bracket'],
  'missing or surplus commas': ['missing-comma', 'trailing-comma', 'extra-comma', 'extra-separator'],
  'full-width punctuation': ['full-width-character'],
  'no-break spaces': ['no-break-space'],
  'comments with slashes': ['slash-comment'],
  'wrong case': ['wrong-case', 'camel-case-field'],
  'unknown fields': ['unknown-field', 'misplaced-field', 'unknown-extension'],
  'wrong types': ['wrong-type', 'quoted-number', 'quoted-boolean', 'quoted-enum', 'unquoted-string', 'expected-message', 'list-not-allowed', 'invalid-boolean'],
  enums: ['unknown-enum-value'],
  ranges: ['number-out-of-range'],
  'a singular field twice': ['duplicate-field'],
  'two members of a oneof': ['oneof-conflict'],
  'name against folder': ['name-differs-from-folder'],
  'tensors against the model file': ['tensor-not-in-model', 'tensor-type-differs', 'tensor-type-unsupported', 'tensor-missing', 'tensor-twice', 'dims-differ'],
  'batch axis written twice': ['dims-contain-batch', 'dims-may-contain-batch'],
  'fixed first axis with batching': ['fixed-batch-dim', 'model-cannot-batch'],
  'preferred sizes': ['preferred-size-over-max', 'preferred-size-not-positive', 'preferred-sizes-unsorted'],
  'delay without batching': ['delay-without-batching', 'batching-without-batch-size'],
  'priority ranges': ['default-priority-range', 'priority-policy-range', 'priority-without-levels'],
  'KIND_GPU without GPU': ['no-gpu-here'],
  'gpus for device_ids': ['gpus-mean-device-ids', 'gpus-without-gpu-kind'],
  'count against cores': ['more-instances-than-cores', 'more-threads-than-cores', 'count-below-one', 'too-many-instances'],
  'a version that is not there': ['version-not-there', 'no-version-chosen', 'no-version-folder'],
  'unknown model of a step': ['ensemble-unknown-model'],
  'unmapped input': ['ensemble-input-unmapped', 'ensemble-unknown-tensor'],
  'type and shape along every edge': ['ensemble-type-differs', 'ensemble-shape-differs', 'ensemble-batch-size'],
  'a cycle': ['ensemble-cycle'],
  'step version left out': ['ensemble-step-version', 'ensemble-version-not-there'],
  'streams of decoupled models': ['ensemble-decoupled-inputs'],
  'an output of a step twice': ['ensemble-output-ambiguous'],
  'a fragment of an ensemble': ['ensemble-incomplete'],
  'warm-up shapes': ['warm-up-dims', 'warm-up-type-missing', 'warm-up-type-differs', 'warm-up-input-missing', 'warm-up-unknown-input', 'warm-up-batch-size', 'warm-up-file-missing', 'warm-up-file-short'],
  'several model files': ['several-model-files', 'model-file-missing'],
  'static_model with batching or a variable dim': ['static-model-with-batching', 'static-model-variable-dim'],
  'incomplete gears': ['gears-incomplete', 'gears-unreadable', 'gears-inputs', 'gears-values', 'gears-shape-differs', 'gears-node-type', 'gears-twice'],
  'number of gears': ['gears-count'],
  'gears that leave batch sizes out': ['gears-coverage'],
  'dims against the gears of an .om file': ['om-dims-fit-no-gear', 'om-batch-over-gears', 'om-dims-differ', 'om-tensor-not-in-model', 'om-tensor-type-differs'],
  'core limit over the chip': ['core-limit', 'core-limit-over-chip'],
  'both precision keys': ['precision-mode-twice'],
  'device that is not there': ['device-not-there', 'device-ids-format'],
  'unknown prefix of an option': ['npu-option-prefix', 'npu-unknown-option', 'npu-option-level', 'npu-option-value'],
  'backend that is not here': ['backend-not-installed', 'foreign-platform', 'not-executable-here'],
  'what a backend refuses': ['identity-tensor-name', 'identity-pairs', 'identity-type', 'identity-shape', 'parameter-not-a-number', 'bfloat16-tensor', 'repeat-config', 'lists-must-be-written'],
}

test.each(Object.entries(ROWS))('%s', (_row, codes) => {
  const known = new Set(ALL_RULES.flatMap((rule) => rule.codes))
  expect(codes.filter((code) => !known.has(code))).toEqual([])
})

/** Texts of sections 2, 6 and 8 and of the first part of 11; `~` stands for what differs. Section 11 against the models: `validate-ensemble-members.test.ts`. */
const TEXTS = [
  'Interpreting non ascii codepoint ~.', 'Expect a decimal number, got: ~', 'Integer out of range (~)', 'Expected integer or identifier, got: ~', 'Non-repeated field "~" is specified multiple times.',
  'Field "~" is specified along with field "~", another member of oneof "~".', 'Message type "~" has no field named "~".', 'Extension "~" is not defined or is not an extension of "~".', 'Expected ":", found "~".',
  'Expected "{", found "~".', 'Expected identifier, got: ~', 'Expected integer, got: ~', 'Expected double, got: ~', 'Expected string, got: ~', 'Unknown enumeration value of "~" for field "~".',
  'Invalid value for boolean field "~". Value: "~".', 'Expected ">", found ~', 'Unexpected end of string.', 'String literals cannot cross line boundaries.', 'Invalid escape sequence in string literal.',
  "model configuration must specify 'name'", "unexpected platform type '~' for ~", "Ensemble model '~' must have platform type 'ensemble' and empty backend type", "unexpected 'platform' and 'backend' pair, got:~, ~",
  "'max_batch_size' must be non-negative value for ~", "must specify 'version policy' for ~", "metric control must specify 'metric_identifier'", "metric identifier must specify non-empty 'family'",
  "metric control must specify 'histogram_options'", "histogram options must specify non-empty 'buckets'", 'Response Cache does not currently support model ~ with sequence batching scheduler. ~',
  "Response Cache does not currently support model ~ with 'decoupled' transaction policy. ~", 'dynamic batching preferred size must be positive for ~', 'dynamic batching preferred size must be <= max batch size for ~',
  'default priority level must be in range [1, ~] for ~', 'priority queue policy must have priority level in range [1, ~] for ~', "Only one priority level is allowed when 'preserve_ordering' is true for ~",
  "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for ~", 'sequence batching control tensor must have a name for ~',
  "sequence batching control tensor '~' is specified for multiple control kinds for ~", 'sequence batching specifies multiple CONTROL_SEQUENCE_START tensors for ~',
  "sequence batching must specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for ~ for ~", "sequence batching specifies more than one from 'int32_false_true', 'fp32_false_true' and 'bool_false_true' for ~ for ~",
  "sequence batching control 'int32_false_true' must have exactly 2 entries for ~ for ~",
  "sequence batching must not specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for CONTROL_SEQUENCE_CORRID for ~", 'unexpected data type for control CONTROL_SEQUENCE_CORRID for ~. ~',
  'sequence batching preferred batch size must be positive for ~', 'sequence batching preferred batch size must be <= max batch size for ~', 'sequence batching minimum slot utilization must be in range (0.0, 1.0] for ~',
  "initial_state field for state input '~' must contain exactly one or zero element. Found '~' elements.", "The data type used for 'initial_state' field of state '~' does not match the state data type.",
  "Field 'name' must be set when using initial_state for state input '~'.", "Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions for state input '~'. ~",
  "'initial_state' dim for input name '~' doesn't match 'state' dim description. ~", "State input name '~' specified more than once.", 'initial_state setting expects ~ bytes, but the data provided from ~only has ~ bytes.',
  "model input must specify 'name' for ~", "model input '~' must specify 'data_type' for ~", "model output '~' must specify 'dims' for ~",
  "model input '~' dimension must be integer >= 1, or -1 to indicate a variable-size dimension for ~", "model input '~' cannot have empty reshape for non-batching model as scalar tensors are not supported for ~",
  "model input '~' reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension for ~", "model input '~' has different size for dims and reshape for ~",
  "model input '~' has different number of variable-size dimensions for dims and reshape for ~", 'model input NHWC/NCHW require 3 dims for ~', 'shape tensors are only supported for TensorRT platform for ~',
  'Non-linear IO format is only supported for the TensorRT platform for ~', "batch input kind '~' expects 1 source input, got ~ for ~", 'batch input data type must be TYPE_INT32 or TYPE_FP32 for ~', "unknown source input name '~' for ~",
  "batch output kind '~' expects 1 source input, got ~ for ~", "unknown target output name '~' for ~", "target output name '~' can only be specified once for ~",
  "warmup setting expects all variable-size dimensions are specified for input '~'", 'warmup setting expects ~ bytes, but the data provided from ~only has ~ bytes', "warmup setting expects input '~' to have input_data_type set",
  'instance group ~ of model ~ has kind KIND_GPU but server does not support GPUs', 'instance group ~ of model ~ has kind KIND_GPU but no GPUs are available', 'instance group ~ of model ~ has kind KIND_CPU but specifies one or more GPUs',
  'instance group ~ of model ~ has kind KIND_MODEL but specifies one or more GPUs', 'instance group ~ of model ~ has unexpected kind KIND_AUTO',
  'instance group ~ of model ~ and platform ~specifies profile field which is only supported for TensorRT models', "ensemble scheduling cannot be set for model '~' whose platform is not ensemble",
  'ensemble scheduling must be set for ensemble ~ whose platform is ensemble', "instance group should not be specified for ensemble '~'", "optimization should not be specified for ensemble '~'",
  "model_warmup can not be specified for ensemble '~'", "must specify 'step' for ensemble '~'", "must specify 'model_name' in step ~ of ensemble '~'", "must specify 'input_map' in step ~ of ensemble '~'",
  "must specify 'output_map' in step ~ of ensemble '~'", "ensemble tensor '~' can appear in an output map only once for ensemble '~' step ~", "input '~' in model '~' is mapped to multiple ensemble tensors for ensemble '~' step ~",
  "ensemble input '~' for ensemble ~' is not used", "ensemble output '~' for ensemble ~' is not used", "output '~' for ensemble '~' is not written", "output '~' for ensemble '~' is not written: at least one of its depending tensors, '~', is not connected",
  "ensemble tensor '~' is unused in ensemble '~'",
]

test.each(TEXTS)('a rule, or a reason why not, for: %s', (text) => {
  const said = [...GRAMMAR_TEXTS.map((row) => row.text), ...VALIDATION_TEXTS.map((row) => row.text), ...TEXTS_OF_JUDGEMENT.map(([, one]) => one), ...UNREACHABLE_TEXTS.map(([one]) => one)]
  const pattern = new RegExp(`^${text.split('~').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`)
  expect(said.filter((one) => pattern.test(one)).length).toBeGreaterThan(0)
})
