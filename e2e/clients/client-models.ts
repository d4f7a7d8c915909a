/**
 * The model repository that client programs made for Triton are run against: the models that its own example programs ask for by name, with
 * the same tensors and the same arithmetic, and a few more for the calls that those leave out.
 */
import { onnxModel, type OnnxElementType, type OnnxNodeSpec, type OnnxTensorSpec } from '../../server-core/testing/onnx-fixture.ts'

type Files = Record<string, string | Uint8Array>

const ONNX_INT32 = 6
const ONNX_STRING = 8
/** Pixels of a side and classes of `image_mean`. */
const IMAGE = { side: 32, classes: 3 }

/** Names of the models that are loaded at the start; `on_demand` is in the repository, too, for calls that load and unload. */
export const CLIENT_MODELS = [
  'simple', 'simple_int8', 'simple_string', 'simple_identity', 'simple_sequence', 'simple_dyna_sequence', 'simple_string_dyna_sequence', 'repeat_int32', 'custom_identity_int32',
  'image_mean', 'every_type', 'classes', 'slow', 'shifted',
] as const

/** Paths to contents. */
export function clientModels(): Files {
  return {
    ...sumAndDifference('simple', 'INT32'),
    ...sumAndDifference('simple_int8', 'INT8'),
    ...sumAndDifference('simple_string', 'BYTES'),
    'simple_identity/config.pbtxt': identity('TYPE_STRING', [-1]), 'simple_identity/1/.keep': '',
    'custom_identity_int32/config.pbtxt': identity('TYPE_INT32', [-1]), 'custom_identity_int32/1/.keep': '',
    'on_demand/config.pbtxt': identity('TYPE_FP32', [4]), 'on_demand/1/.keep': '',
    'slow/config.pbtxt': `${identity('TYPE_FP32', [4])}parameters { key: "execute_delay_ms" value { string_value: "400" } }\n`, 'slow/1/.keep': '',
    'every_type/config.pbtxt': everyType(), 'every_type/1/.keep': '',
    'classes/config.pbtxt': 'backend: "identity"\nmax_batch_size: 4\ninput { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] }\noutput { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] label_filename: "labels.txt" }\n',
    'classes/labels.txt': 'ant\nbee\ncat\ndog\n', 'classes/1/.keep': '',
    'repeat_int32/config.pbtxt': REPEAT, 'repeat_int32/1/.keep': '',
    'simple_sequence/config.pbtxt': sequence({ withCorrelationId: false }), 'simple_sequence/1/model.onnx': startAdder(),
    'simple_dyna_sequence/config.pbtxt': sequence({ withCorrelationId: true }), 'simple_dyna_sequence/1/model.onnx': endAdder('INT32'),
    'simple_string_dyna_sequence/config.pbtxt': sequence({ withCorrelationId: true, isText: true }), 'simple_string_dyna_sequence/1/model.onnx': endAdder('BYTES'),
    'image_mean/config.pbtxt': image(), 'image_mean/1/model.onnx': imageMean(), 'image_mean/labels.txt': 'red\ngreen\nblue\n',
    'shifted/config.pbtxt': 'backend: "onnxruntime"\nmax_batch_size: 0\n', 'shifted/1/model.onnx': arithmetic('Add'), 'shifted/2/model.onnx': arithmetic('Sub'),
  }
}

/** One model file with `OUTPUT = INPUT0 <operator> INPUT1` over FP32, for calls that bring a model along. */
export function arithmetic(operator: 'Add' | 'Sub'): Uint8Array {
  const tensor = (name: string): OnnxTensorSpec => ({ name, type: 'FP32', shape: [4] })
  return onnxModel({ inputs: [tensor('INPUT0'), tensor('INPUT1')], outputs: [tensor('OUTPUT')], nodes: [{ operator, inputs: ['INPUT0', 'INPUT1'], outputs: ['OUTPUT'] }] })
}

function identity(type: string, dims: readonly number[]): string {
  return `backend: "identity"\nmax_batch_size: 8\ninput { name: "INPUT0" data_type: ${type} dims: [ ${dims.join(', ')} ] }\noutput { name: "OUTPUT0" data_type: ${type} dims: [ ${dims.join(', ')} ] }\n`
}

/** OUTPUT0 = INPUT0 + INPUT1 and OUTPUT1 = INPUT0 - INPUT1, over 16 elements; BYTES hold decimal integers. */
function sumAndDifference(name: string, type: OnnxElementType): Files {
  const tensor = (label: string): OnnxTensorSpec => ({ name: label, type, shape: ['batch', 16] })
  const isInt32 = type === 'INT32'
  const cast = (from: string, to: string, element: number): OnnxNodeSpec => ({ operator: 'Cast', inputs: [from], outputs: [to], attributes: { to: element } })
  const element = type === 'BYTES' ? ONNX_STRING : 3
  const nodes: OnnxNodeSpec[] = isInt32
    ? [{ operator: 'Add', inputs: ['INPUT0', 'INPUT1'], outputs: ['OUTPUT0'] }, { operator: 'Sub', inputs: ['INPUT0', 'INPUT1'], outputs: ['OUTPUT1'] }]
    : [cast('INPUT0', 'a', ONNX_INT32), cast('INPUT1', 'b', ONNX_INT32), { operator: 'Add', inputs: ['a', 'b'], outputs: ['s'] }, { operator: 'Sub', inputs: ['a', 'b'], outputs: ['d'] }, cast('s', 'OUTPUT0', element), cast('d', 'OUTPUT1', element)]
  const configType = type === 'BYTES' ? 'TYPE_STRING' : `TYPE_${type}`
  const entry = (label: string) => `{ name: "${label}" data_type: ${configType} dims: [ 16 ] }`
  return {
    [`${name}/config.pbtxt`]: `backend: "onnxruntime"\nmax_batch_size: 8\ninput [ ${entry('INPUT0')}, ${entry('INPUT1')} ]\noutput [ ${entry('OUTPUT0')}, ${entry('OUTPUT1')} ]\n`,
    [`${name}/1/model.onnx`]: onnxModel({ inputs: [tensor('INPUT0'), tensor('INPUT1')], outputs: [tensor('OUTPUT0'), tensor('OUTPUT1')], nodes }),
  }
}

const TYPES = ['BOOL', 'UINT8', 'UINT16', 'UINT32', 'UINT64', 'INT8', 'INT16', 'INT32', 'INT64', 'FP16', 'FP32', 'FP64', 'STRING', 'BF16']

/** INPUT0 to INPUT13: one of each type, without a batch dimension. */
function everyType(): string {
  const entries = (kind: string) => TYPES.map((type, index) => `{ name: "${kind}${index}" data_type: TYPE_${type} dims: [ -1 ] }`).join(', ')
  return `backend: "identity"\nmax_batch_size: 0\ninput [ ${entries('INPUT')} ]\noutput [ ${entries('OUTPUT')} ]\n`
}

const REPEAT = `backend: "repeat"
input [ { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }, { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }, { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] } ]
model_transaction_policy { decoupled: true }
`

/** OUTPUT = INPUT + START. */
function startAdder(): Uint8Array {
  const tensor = (name: string): OnnxTensorSpec => ({ name, type: 'INT32', shape: ['batch', 1] })
  return onnxModel({ inputs: [tensor('INPUT'), tensor('START')], outputs: [tensor('OUTPUT')], nodes: [{ operator: 'Add', inputs: ['INPUT', 'START'], outputs: ['OUTPUT'] }] })
}

/**
 * With correlation ids that are numbers OUTPUT = INPUT + START + END * id; with ids that are texts OUTPUT = SUM_OUT = INPUT + SUM_IN + END * id:
 * what the two examples with and without accumulation want.
 */
function endAdder(idType: 'INT32' | 'BYTES'): Uint8Array {
  const tensor = (name: string, type: OnnxElementType = 'INT32'): OnnxTensorSpec => ({ name, type, shape: ['batch', 1] })
  const isText = idType === 'BYTES'
  return onnxModel({
    inputs: [tensor('INPUT'), tensor('START'), tensor('END'), tensor('CORRID', idType), ...(isText ? [tensor('SUM_IN')] : [])],
    outputs: [tensor('OUTPUT'), ...(isText ? [tensor('SUM_OUT')] : [])],
    nodes: [
      { operator: 'Cast', inputs: ['CORRID'], outputs: ['id'], attributes: { to: ONNX_INT32 } },
      { operator: 'Mul', inputs: ['END', 'id'], outputs: ['last'] },
      { operator: 'Add', inputs: ['INPUT', isText ? 'SUM_IN' : 'START'], outputs: ['sum'] },
      { operator: 'Add', inputs: ['sum', 'last'], outputs: ['OUTPUT'] },
      ...(isText ? [{ operator: 'Identity', inputs: ['sum'], outputs: ['SUM_OUT'] }] : []),
    ],
  })
}

function sequence({ withCorrelationId, isText = false }: { withCorrelationId: boolean; isText?: boolean }): string {
  const flag = (name: string) => `control_input { name: "${name}" control { kind: CONTROL_SEQUENCE_${name} int32_false_true: [ 0, 1 ] } }`
  const id = `control_input { name: "CORRID" control { kind: CONTROL_SEQUENCE_CORRID data_type: ${isText ? 'TYPE_STRING' : 'TYPE_INT32'} } }`
  const state = 'state { input_name: "SUM_IN" output_name: "SUM_OUT" data_type: TYPE_INT32 dims: [ 1 ] initial_state { name: "zero" data_type: TYPE_INT32 dims: [ 1 ] zero_data: true } }'
  return `backend: "onnxruntime"
max_batch_size: 8
input { name: "INPUT" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "OUTPUT" data_type: TYPE_INT32 dims: [ 1 ] }
sequence_batching { max_sequence_idle_microseconds: 60000000 ${flag('START')} ${withCorrelationId ? `${flag('END')} ${id}` : ''} ${isText ? state : ''} }
instance_group { count: 1 kind: KIND_CPU }
`
}

/** The mean of each colour of a picture, with a label for each. */
function imageMean(): Uint8Array {
  return onnxModel({
    inputs: [{ name: 'INPUT', type: 'FP32', shape: ['batch', IMAGE.classes, IMAGE.side, IMAGE.side] }], outputs: [{ name: 'OUTPUT', type: 'FP32', shape: ['batch', IMAGE.classes] }],
    nodes: [{ operator: 'GlobalAveragePool', inputs: ['INPUT'], outputs: ['pooled'] }, { operator: 'Flatten', inputs: ['pooled'], outputs: ['OUTPUT'] }],
  })
}

function image(): string {
  return `backend: "onnxruntime"
max_batch_size: 8
input { name: "INPUT" data_type: TYPE_FP32 format: FORMAT_NCHW dims: [ ${IMAGE.classes}, ${IMAGE.side}, ${IMAGE.side} ] }
output { name: "OUTPUT" data_type: TYPE_FP32 dims: [ ${IMAGE.classes} ] label_filename: "labels.txt" }
`
}
