/**
 * Every rule of judgement: a config that it speaks about, what its fix makes of it, and a config that it leaves alone. The tables stand in
 * the order of the rules' files.
 */
import { describe, expect, test } from 'vitest'
import type { ConfigContext, ConfigDiagnostic, DiagnosticSeverity, FileTensor } from '../../contract/config-language.ts'
import { EMPTY_CONFIG_CONTEXT } from '../../contract/config-language.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import { checkConfig } from '../check-config.ts'
import { applyEdits } from '../config-edit.ts'
import { inferBackend } from '../infer-backend.ts'
import { normalizeModelConfig } from '../normalize.ts'
import { parsePbtxt } from '../pbtxt-parser.ts'
import { readModelConfig } from '../read-config.ts'
import { JUDGEMENT_RULES } from './judgement-rules.ts'

interface Case {
  readonly code: string
  readonly severity: DiagnosticSeverity
  readonly text: string
  readonly context?: Partial<ConfigContext>
  /** Position of the fix; null: there is none. */
  readonly fix?: number | null
  /** The fix is applied without asking, or not. */
  readonly isPreferred?: boolean
  /** What the fix makes of the text. */
  readonly fixed?: string
  /** Nothing to say here. */
  readonly good: string
  /** Context of `good` where it differs. */
  readonly goodContext?: Partial<ConfigContext>
  readonly serverText?: string
  readonly says?: string
}

function tensor(name: string, shape: readonly (number | string)[], datatype: string | null = 'FP32', elementType = 'FLOAT'): FileTensor {
  return { name, datatype, elementType, shape }
}

function file(inputs: readonly FileTensor[], outputs: readonly FileTensor[]): Partial<ConfigContext> {
  return { modelName: 'm', versions: [{ version: 1, files: ['model.onnx'], signature: { inputs, outputs } }], files: { 'config.pbtxt': 1 } }
}

function folder(files: readonly string[], others: Readonly<Record<string, number>> = {}, version = 1): Partial<ConfigContext> {
  return { modelName: 'm', versions: [{ version, files, signature: null }], files: { 'config.pbtxt': 1, ...others } }
}

function models(texts: Readonly<Record<string, string>>): Partial<ConfigContext> {
  const read = (name: string, text: string): ModelConfig => normalizeModelConfig(inferBackend({ ...readModelConfig(text, name), name }, name, []))
  return { modelName: 'e', models: Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, { config: read(name, text), versions: [1, 2] }])) }
}

const ADD = file([tensor('A', ['n', 3]), tensor('B', ['n', 3])], [tensor('SUM', ['n', 3])])
const GOOD_ADD = `backend: "onnxruntime"
max_batch_size: 8
input [ { name: "A" data_type: TYPE_FP32 dims: [ 3 ] }, { name: "B" data_type: TYPE_FP32 dims: [ 3 ] } ]
output [ { name: "SUM" data_type: TYPE_FP32 dims: [ 3 ] } ]
`
const INSTALLED = { backends: ['identity', 'onnxruntime'] }
const CPU_MACHINE = { machine: { cpuCount: 4, gpuCount: 0, npus: null } }

const FILES: readonly Case[] = [
  {
    code: 'name-differs-from-folder', severity: 'error', text: 'name: "other" # mine\nbackend: "identity"\n', context: { modelName: 'm' },
    fixed: 'name: "m" # mine\nbackend: "identity"\n', good: 'backend: "identity"',
    serverText: "unexpected directory name 'm' for model 'other', directory name must equal model name",
  },
  {
    code: 'name-differs-from-folder', severity: 'error', text: 'name: "other"\nbackend: "identity"\n', context: { modelName: 'm' }, fix: 1,
    fixed: 'backend: "identity"\n', good: 'name: "m" backend: "identity"',
  },
  {
    code: 'backend-not-installed', severity: 'error', text: 'platform: "tensorflow_savedmodel"\nmax_batch_size: 8\n', context: INSTALLED,
    fixed: 'backend: "onnxruntime"\nmax_batch_size: 8\n', good: 'platform: "onnxruntime_onnx"', says: "Installed: 'identity', 'onnxruntime'",
    serverText: "unable to find backend library for backend 'tensorflow', try specifying runtime on the model configuration.",
  },
  {
    code: 'backend-not-installed', severity: 'error', text: 'platform: "tensorflow_savedmodel"\nmax_batch_size: 8\n', context: { ...INSTALLED, ...folder(['model.onnx']) }, isPreferred: true,
    fixed: 'backend: "onnxruntime"\nmax_batch_size: 8\n', good: 'platform: "onnxruntime_onnx"',
  },
  {
    code: 'backend-not-installed', severity: 'error', text: 'platform: "tensorflow_savedmodel"\nmax_batch_size: 8\n', context: { backends: ['identity', 'npu_ge', 'npu_om', 'onnxruntime'], ...folder(['model.onnx']) }, isPreferred: true,
    fixed: 'backend: "onnxruntime"\nmax_batch_size: 8\n', good: 'platform: "onnxruntime_onnx"',
  },
  { code: 'backend-not-installed', severity: 'error', text: 'backend: "onnxruntme"', context: INSTALLED, fixed: 'backend: "onnxruntime"', good: 'backend: "identity"', says: "Did you mean 'onnxruntime'?" },
  { code: 'backend-not-installed', severity: 'warning', text: 'backend: "npu_ge"', context: INSTALLED, fix: null, good: 'platform: "ensemble"' },
  { code: 'foreign-platform', severity: 'info', text: 'platform: "onnxruntime_onnx"\nbackend: "npu_ge"\n', fixed: 'backend: "npu_ge"\n', good: 'platform: "onnxruntime_onnx"\nbackend: "onnxruntime"\n' },
  {
    code: 'version-not-there', severity: 'error', text: 'backend: "identity"\nversion_policy { specific { versions: [ 3, 4 ] } }', context: folder([], {}, 2),
    fixed: 'backend: "identity"\nversion_policy { specific { versions: [ 2 ] } }', good: 'backend: "identity" version_policy { specific { versions: 2 } }',
    serverText: "at least one version must be available under the version policy of model 'm'",
  },
  {
    code: 'version-not-there', severity: 'warning', text: 'backend: "identity"\nversion_policy { specific { versions: [ 1, 4 ] } }', context: folder([]),
    fixed: 'backend: "identity"\nversion_policy { specific { versions: [ 1 ] } }', good: 'backend: "identity" version_policy { all { } }',
  },
  { code: 'no-version-chosen', severity: 'error', text: 'backend: "identity"\nversion_policy { latest { } }', context: folder([]), good: 'backend: "identity" version_policy { }' },
  { code: 'no-version-chosen', severity: 'error', text: 'backend: "identity"\nversion_policy { specific { } }', context: folder([]), good: 'backend: "identity"' },
  { code: 'no-version-folder', severity: 'error', text: 'backend: "identity"', context: { modelName: 'm', files: { 'config.pbtxt': 1 } }, fix: null, good: 'backend: "identity"', goodContext: folder([]) },
  {
    code: 'model-file-missing', severity: 'error', text: 'backend: "onnxruntime"\n', context: folder(['resnet.onnx']), good: 'backend: "onnxruntime" default_model_filename: "resnet.onnx"',
    fixed: 'backend: "onnxruntime"\ndefault_model_filename: "resnet.onnx"\n', says: "It has 'resnet.onnx'",
  },
  { code: 'model-file-missing', severity: 'error', text: 'backend: "python"\n', context: folder([]), fix: null, good: 'backend: "python"', goodContext: folder(['model.py']) },
  {
    code: 'several-model-files', severity: 'warning', text: 'backend: "onnxruntime"\n', context: folder(['a.onnx', 'model.onnx']), fix: 1,
    fixed: 'backend: "onnxruntime"\ndefault_model_filename: "model.onnx"\n', good: 'backend: "onnxruntime"', goodContext: folder(['model.onnx', 'model.onnx.data']),
  },
  { code: 'several-model-files', severity: 'warning', text: 'backend: "npu_ge"\n', context: folder(['a.onnx', 'b.onnx']), good: 'backend: "npu_ge"', goodContext: folder(['a.onnx']) },
  {
    code: 'label-file-missing', severity: 'error', text: 'backend: "identity"\noutput { name: "OUTPUT0" data_type: TYPE_FP32 dims: 4 label_filename: "lables.txt" }',
    context: folder([], { 'labels.txt': 3 }), fixed: 'backend: "identity"\noutput { name: "OUTPUT0" data_type: TYPE_FP32 dims: 4 label_filename: "labels.txt" }',
    good: 'backend: "identity"\noutput { name: "OUTPUT0" data_type: TYPE_FP32 dims: 4 label_filename: "./labels.txt" }',
    serverText: "label file 'lables.txt' for output 'OUTPUT0' in model 'm' does not exist in the model directory",
  },
  {
    code: 'label-file-outside', severity: 'error', text: 'backend: "identity"\noutput { name: "O" data_type: TYPE_FP32 dims: 4 label_filename: "../labels.txt" }',
    context: folder([], { 'labels.txt': 3 }), good: 'backend: "identity"\noutput { name: "O" data_type: TYPE_FP32 dims: 4 label_filename: "x/../labels.txt" }',
    serverText: "label file path '../labels.txt' for output 'O' in model 'm' is outside model directory",
  },
]

const TENSORS: readonly Case[] = [
  {
    code: 'tensor-not-in-model', severity: 'error', text: GOOD_ADD.replace('"B"', '"b"'), context: ADD, fixed: GOOD_ADD, good: GOOD_ADD, says: "Did you mean 'B'?",
    serverText: "unexpected inference input 'b', allowed inputs are: A, B",
  },
  { code: 'tensor-not-in-model', severity: 'error', text: GOOD_ADD.replace('"SUM"', '"result"'), context: ADD, fixed: GOOD_ADD, good: GOOD_ADD, serverText: "unexpected inference output 'result', allowed outputs are: SUM" },
  {
    code: 'tensor-not-in-model', severity: 'error', text: GOOD_ADD.replace(' ]\noutput', ', { name: "C" data_type: TYPE_FP32 dims: [ 3 ] } ]\noutput'), context: ADD,
    fixed: GOOD_ADD, good: GOOD_ADD,
  },
  {
    code: 'tensor-type-differs', severity: 'error', text: GOOD_ADD.replace('TYPE_FP32', 'TYPE_INT32'), context: ADD, fixed: GOOD_ADD, good: GOOD_ADD,
    serverText: "unable to load model 'm', configuration expects datatype TYPE_INT32 for input 'A', model provides TYPE_FP32",
  },
  { code: 'tensor-type-differs', severity: 'error', text: GOOD_ADD.replace('TYPE_FP32', 'TYPE_INVALID'), context: ADD, fixed: GOOD_ADD, good: GOOD_ADD },
  {
    code: 'tensor-type-unsupported', severity: 'error', text: 'backend: "onnxruntime" input { name: "A" data_type: TYPE_FP32 dims: 3 } output { name: "B" data_type: TYPE_FP32 dims: 3 }',
    context: file([tensor('A', [3], null, 'COMPLEX64')], [tensor('B', [3])]), fix: null, good: GOOD_ADD, goodContext: ADD, says: 'COMPLEX64',
  },
  {
    code: 'tensor-missing', severity: 'error', text: GOOD_ADD.replace(', { name: "B" data_type: TYPE_FP32 dims: [ 3 ] }', ''), context: ADD, good: GOOD_ADD,
    serverText: "unable to load model 'm', configuration expects 1 inputs, model provides 2", says: "the input 'B' (FLOAT [ n, 3 ])",
  },
  {
    code: 'tensor-twice', severity: 'error', text: GOOD_ADD.replace(' ]\noutput', ', { name: "B" data_type: TYPE_FP32 dims: [ 3 ] } ]\noutput'), context: ADD, fixed: GOOD_ADD, good: GOOD_ADD,
    serverText: "unable to load model 'm', configuration expects 3 inputs, model provides 2",
  },
  {
    code: 'scheduled-input-not-in-model', severity: 'error', fix: null, context: ADD, good: GOOD_ADD,
    text: `${GOOD_ADD}sequence_batching { control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } } }`,
    serverText: "unable to load model 'm', configuration expects 3 inputs, model provides 2",
  },
  {
    code: 'dims-contain-batch', severity: 'error', text: GOOD_ADD.replace('dims: [ 3 ]', 'dims: [ -1, 3 ]'), context: ADD, fixed: GOOD_ADD, good: GOOD_ADD,
    serverText: "model 'm', tensor 'A': the model expects 2 dimensions (shape [-1,3]) but the model configuration specifies 3 dimensions (an initial batch dimension because "
      + 'max_batch_size > 0 followed by the explicit tensor shape, making complete shape [-1,-1,3])',
    says: 'Drop the leading -1?',
  },
  { code: 'dims-differ', severity: 'error', text: GOOD_ADD.replace('dims: [ 3 ]', 'dims: [ 4 ]'), context: ADD, fixed: GOOD_ADD, good: GOOD_ADD },
  { code: 'dims-differ', severity: 'error', text: GOOD_ADD.replace('dims: [ 3 ]', 'dims: [ 3 ] reshape { shape: [ 1, 3 ] }'), context: ADD, good: GOOD_ADD },
  {
    code: 'fixed-batch-dim', severity: 'error', context: file([tensor('A', [1, 3])], [tensor('S', [1, 3])]),
    text: 'backend: "onnxruntime"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: [ 3 ] }\noutput { name: "S" data_type: TYPE_FP32 dims: [ 3 ] }\ndynamic_batching { }\n',
    fixed: 'backend: "onnxruntime"\ninput { name: "A" data_type: TYPE_FP32 dims: [ 1, 3 ] }\noutput { name: "S" data_type: TYPE_FP32 dims: [ 1, 3 ] }\n',
    good: 'backend: "onnxruntime"\ninput { name: "A" data_type: TYPE_FP32 dims: [ 1, 3 ] }\noutput { name: "S" data_type: TYPE_FP32 dims: [ 1, 3 ] }\n',
    serverText: "model 'm', tensor 'A': for the model to support batching the shape should have at least 1 dimension and the first dimension must be -1; but shape expected by the model is [1,3]",
  },
  {
    code: 'model-cannot-batch', severity: 'error', text: 'backend: "onnxruntime"\nmax_batch_size: 4\n', context: file([tensor('A', [1, 3])], [tensor('S', [1, 3])]),
    fixed: 'backend: "onnxruntime"\n', good: 'backend: "onnxruntime"',
    serverText: "autofill failed for model 'm': model does not support batching while non-zero max_batch_size is specified",
  },
  { code: 'ragged-input-shape', severity: 'error', text: GOOD_ADD.replace('dims: [ 3 ] }', 'dims: [ 3 ] allow_ragged_batch: true }'), context: ADD, fixed: GOOD_ADD, good: GOOD_ADD },
  { code: 'optional-while-batching', severity: 'error', text: GOOD_ADD.replace('dims: [ 3 ] }', 'dims: [ 3 ] optional: true }'), context: ADD, fixed: GOOD_ADD, good: GOOD_ADD },
  {
    code: 'output-not-offered', severity: 'hint', text: GOOD_ADD, context: file([tensor('A', ['n', 3]), tensor('B', ['n', 3])], [tensor('SUM', ['n', 3]), tensor('MAX', ['n', 1])]),
    good: GOOD_ADD, goodContext: ADD,
  },
  {
    code: 'dims-may-contain-batch', severity: 'warning', text: GOOD_ADD.replaceAll('[ 3 ]', '[ -1, 3 ]').replace('onnxruntime', 'python'), good: GOOD_ADD.replace('onnxruntime', 'python'),
    says: 'The full shape would be [-1,-1,3]',
  },
]

const BATCHING: readonly Case[] = [
  {
    code: 'preferred-sizes-unsorted', severity: 'warning', text: 'backend: "identity"\nmax_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 8, 4, 8 ] }',
    fixed: 'backend: "identity"\nmax_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 4, 8 ] }', good: 'backend: "identity" max_batch_size: 8 dynamic_batching { preferred_batch_size: 4 }',
  },
  {
    code: 'batching-without-batch-size', severity: 'warning', text: 'backend: "identity"\nmax_batch_size: 1\ndynamic_batching { }',
    fixed: 'backend: "identity"\nmax_batch_size: 8\ndynamic_batching { }', good: 'backend: "onnxruntime" dynamic_batching { }',
  },
  {
    code: 'delay-without-batching', severity: 'warning', text: 'backend: "identity"\nmax_batch_size: 1\ndynamic_batching {\n  max_queue_delay_microseconds: 100\n}\n',
    good: 'backend: "identity" max_batch_size: 4 dynamic_batching { max_queue_delay_microseconds: 100 }', says: '100 µs',
  },
  {
    code: 'priority-without-levels', severity: 'warning', text: 'backend: "identity" max_batch_size: 4 dynamic_batching { default_priority_level: 2 }',
    good: 'backend: "identity" max_batch_size: 4 dynamic_batching { priority_levels: 3 default_priority_level: 2 }',
  },
]

const INSTANCES: readonly Case[] = [
  {
    code: 'no-gpu-here', severity: 'error', text: 'backend: "onnxruntime"\ninstance_group [ { count: 1 kind: KIND_GPU gpus: [ 0, 1 ] } ]', context: CPU_MACHINE,
    fixed: 'backend: "onnxruntime"\ninstance_group [ { count: 1 kind: KIND_CPU } ]', good: 'backend: "onnxruntime" instance_group { kind: KIND_AUTO }',
    says: 'No GPU found: use KIND_CPU',
  },
  { code: 'no-gpu-here', severity: 'error', text: 'backend: "onnxruntime"\ninstance_group { gpus: 0 }', context: CPU_MACHINE, good: 'backend: "onnxruntime" instance_group { kind: KIND_GPU }', goodContext: { machine: { cpuCount: 4, gpuCount: 1, npus: null } } },
  {
    code: 'gpus-mean-device-ids', severity: 'error', text: 'backend: "npu_ge"\ninstance_group { count: 1 kind: KIND_GPU gpus: [ 2, 3 ] }\n',
    good: 'backend: "npu_ge"\nparameters { key: "device_ids" value { string_value: "2,3" } }\n', says: 'device_ids: "2,3"',
  },
  {
    code: 'gpus-mean-device-ids', severity: 'error', text: 'backend: "python"\ninstance_group { kind: KIND_GPU gpus: [ 1 ] }\n', context: { machine: { cpuCount: 4, gpuCount: 0, npus: [{ card: 0, chip: 'Ascend310P3' }, { card: 1, chip: 'Ascend310P3' }] } },
    fixed: 'backend: "python"\ninstance_group { kind: KIND_CPU }\nparameters {\n  key: "device_ids"\n  value { string_value: "1" }\n}\n', good: 'backend: "python"\ninstance_group { kind: KIND_CPU }\n',
  },
  { code: 'gpus-mean-device-ids', severity: 'error', text: 'backend: "npu_om"\ninstance_group { kind: KIND_GPU }\n', fixed: 'backend: "npu_om"\ninstance_group { kind: KIND_CPU }\n', good: 'backend: "npu_om"\ninstance_group { kind: KIND_CPU }\n' },
  {
    code: 'more-instances-than-cores', severity: 'warning', text: 'backend: "onnxruntime" instance_group { count: 9 }', context: CPU_MACHINE,
    fixed: 'backend: "onnxruntime" instance_group { count: 4 }', good: 'backend: "onnxruntime" instance_group { count: 4 }',
  },
  {
    code: 'more-threads-than-cores', severity: 'info', context: CPU_MACHINE,
    text: 'backend: "onnxruntime" instance_group { count: 2 } parameters { key: "intra_op_thread_count" value { string_value: "4" } }',
    fixed: 'backend: "onnxruntime" instance_group { count: 2 } parameters { key: "intra_op_thread_count" value { string_value: "2" } }',
    good: 'backend: "onnxruntime" instance_group { count: 2 } parameters { key: "intra_op_thread_count" value { string_value: "1" } }',
  },
  { code: 'count-below-one', severity: 'warning', text: 'backend: "identity" instance_group { count: -2 }', fixed: 'backend: "identity" instance_group { count: 1 }', good: 'backend: "identity" instance_group { }' },
]

const STEP_MODELS = {
  pre: 'backend: "python" max_batch_size: 8 input { name: "RAW" data_type: TYPE_UINT8 dims: -1 } output { name: "OUT" data_type: TYPE_FP32 dims: [ 3, 4 ] }',
  net: 'backend: "onnxruntime" max_batch_size: 4 input { name: "X" data_type: TYPE_FP32 dims: [ 3, 4 ] } output { name: "Y" data_type: TYPE_FP32 dims: 10 }',
  two: 'backend: "onnxruntime" input [ { name: "A" data_type: TYPE_FP32 dims: 2 }, { name: "B" data_type: TYPE_FP32 dims: 2 optional: true } ] output { name: "Y" data_type: TYPE_FP32 dims: 2 }',
}
const ENSEMBLE_MODELS = models(STEP_MODELS)
const GOOD_ENSEMBLE = `platform: "ensemble"
max_batch_size: 4
input { name: "IMAGE" data_type: TYPE_UINT8 dims: [ -1 ] }
output { name: "CLASS" data_type: TYPE_FP32 dims: [ 10 ] }
ensemble_scheduling {
  step [
    {
      model_name: "pre"
      model_version: -1
      input_map { key: "RAW" value: "IMAGE" }
      output_map { key: "OUT" value: "MIDDLE" }
    },
    {
      model_name: "net"
      model_version: -1
      input_map { key: "X" value: "MIDDLE" }
      output_map { key: "Y" value: "CLASS" }
    }
  ]
}
`

const ENSEMBLES: readonly Case[] = [
  {
    code: 'ensemble-incomplete', severity: 'error', context: ENSEMBLE_MODELS, good: GOOD_ENSEMBLE, says: 'platform: "ensemble", input, output',
    text: GOOD_ENSEMBLE.replace('platform: "ensemble"\n', '').replace(/input \{ name.*\n/, '').replace(/output \{ name.*\n/, ''),
  },
  {
    code: 'ensemble-unknown-model', severity: 'error', context: ENSEMBLE_MODELS, text: GOOD_ENSEMBLE.replace('"net"', '"nett"'), fixed: GOOD_ENSEMBLE, good: GOOD_ENSEMBLE,
    serverText: 'ensemble e contains models that are not available or ambiguous: nett', says: "Did you mean 'net'?",
  },
  {
    code: 'ensemble-step-version', severity: 'error', context: ENSEMBLE_MODELS, text: GOOD_ENSEMBLE.replace('      model_version: -1\n', ''), good: GOOD_ENSEMBLE,
    serverText: "ensemble 'e' depends on 'pre' whose required version 0 is not loaded.",
  },
  {
    code: 'ensemble-version-not-there', severity: 'error', context: ENSEMBLE_MODELS, text: GOOD_ENSEMBLE.replace('model_version: -1', 'model_version: 7'), fixed: GOOD_ENSEMBLE,
    good: GOOD_ENSEMBLE.replace('model_version: -1', 'model_version: 2'), serverText: "ensemble 'e' depends on 'pre' whose required version 7 is not loaded.",
  },
  {
    code: 'ensemble-cycle', severity: 'error', text: 'platform: "ensemble" ensemble_scheduling { step { model_name: "f" model_version: -1 } }', fix: null, good: GOOD_ENSEMBLE, goodContext: ENSEMBLE_MODELS,
    context: models({ f: 'platform: "ensemble" ensemble_scheduling { step { model_name: "e" model_version: -1 } }' }), serverText: 'circular dependency between ensembles: e -> f -> e',
  },
  {
    code: 'ensemble-batch-size', severity: 'error', context: ENSEMBLE_MODELS, text: GOOD_ENSEMBLE.replace('max_batch_size: 4', 'max_batch_size: 16'), good: GOOD_ENSEMBLE,
    serverText: 'ensemble e allows maximum batch size 16, but it contains model pre which only allows maximum batch size to be 8',
  },
  {
    code: 'ensemble-unknown-tensor', severity: 'error', context: ENSEMBLE_MODELS, text: GOOD_ENSEMBLE.replace('"OUT"', '"OUTPUT"'), fixed: GOOD_ENSEMBLE, good: GOOD_ENSEMBLE,
    serverText: 'in ensemble e, ensemble tensor MIDDLE is mapped from non-existing output OUTPUT in model pre',
  },
  { code: 'ensemble-unknown-tensor', severity: 'error', context: ENSEMBLE_MODELS, text: GOOD_ENSEMBLE.replace('key: "X" value: "MIDDLE"', 'key: "MIDDLE" value: "X"'), good: GOOD_ENSEMBLE },
  {
    code: 'ensemble-input-unmapped', severity: 'error', context: ENSEMBLE_MODELS, good: GOOD_ENSEMBLE,
    text: 'platform: "ensemble"\ninput { name: "A" data_type: TYPE_FP32 dims: 2 }\noutput { name: "Y" data_type: TYPE_FP32 dims: 2 }\nensemble_scheduling { step { model_name: "two" model_version: -1 input_map { key: "B" value: "A" } output_map { key: "Y" value: "Y" } } }',
    serverText: 'in ensemble e, input A in model two is not mapped to any ensemble tensors',
  },
  {
    code: 'ensemble-type-differs', severity: 'error', context: ENSEMBLE_MODELS, text: GOOD_ENSEMBLE.replace('TYPE_UINT8', 'TYPE_INT8'), fixed: GOOD_ENSEMBLE, good: GOOD_ENSEMBLE,
    serverText: 'in ensemble e, ensemble tensor IMAGE: inconsistent data type: TYPE_INT8 is inferred from model e while TYPE_UINT8 is inferred from model pre',
  },
  {
    code: 'ensemble-type-differs', severity: 'error', fix: null, text: GOOD_ENSEMBLE, context: models({ ...STEP_MODELS, pre: STEP_MODELS.pre.replace('TYPE_FP32', 'TYPE_FP16') }), good: GOOD_ENSEMBLE,
    goodContext: ENSEMBLE_MODELS, says: "'MIDDLE' is TYPE_FP16 in 'pre' and TYPE_FP32 in 'net'",
  },
  {
    code: 'ensemble-shape-differs', severity: 'error', context: ENSEMBLE_MODELS, text: GOOD_ENSEMBLE.replace('[ 10 ]', '[ 11 ]'), fixed: GOOD_ENSEMBLE, good: GOOD_ENSEMBLE.replace('[ 10 ]', '[ -1 ]'),
    serverText: 'in ensemble e, ensemble tensor CLASS: inconsistent shape: [-1,11] is inferred from model e while [-1,10] is inferred from model net',
  },
  {
    code: 'ensemble-shape-differs', severity: 'error', context: ENSEMBLE_MODELS, text: GOOD_ENSEMBLE.replace('[ 10 ]', '[ 10 ] reshape { shape: [ 5, 2 ] }'), fixed: GOOD_ENSEMBLE,
    good: GOOD_ENSEMBLE.replace('[ 10 ]', '[ 5, 2 ] reshape { shape: [ 10 ] }'),
  },
  {
    code: 'ensemble-output-ambiguous', severity: 'error', fix: null, context: models({ ...STEP_MODELS, net: STEP_MODELS.net.replace(/output.*/, '$& $&') }), text: GOOD_ENSEMBLE,
    good: GOOD_ENSEMBLE, goodContext: ENSEMBLE_MODELS, serverText: 'in ensemble e, multiple outputs in model net are mapped to the same ensemble tensor CLASS',
  },
  {
    code: 'ensemble-decoupled-inputs', severity: 'error', fix: null, context: models({ ...STEP_MODELS, pre: `${STEP_MODELS.pre} model_transaction_policy { decoupled: true }` }),
    text: GOOD_ENSEMBLE.replace('output {', 'output { name: "IMAGE" data_type: TYPE_UINT8 dims: [ -1 ] }\noutput {'), good: GOOD_ENSEMBLE,
    serverText: 'in ensemble e, step of model \'e\' receives inputs originated from different decoupled models',
  },
]

const IO = 'input [ { name: "A" data_type: TYPE_FP32 dims: [ -1 ] }, { name: "B" data_type: TYPE_INT64 dims: [ 2 ] } ]\noutput { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }\n'
const SAMPLE_B = 'inputs { key: "B" value { data_type: TYPE_INT64 dims: [ 2 ] zero_data: true } }'
const warmUp = (a: string, rest = SAMPLE_B, batchSize = 1): string =>
  `backend: "python"\nmax_batch_size: 4\n${IO}model_warmup { name: "w" batch_size: ${batchSize} inputs { key: "A" value { ${a} } } ${rest} }\n`
const GOOD_WARM_UP = warmUp('data_type: TYPE_FP32 dims: [ 3 ] zero_data: true')

const WARM_UPS: readonly Case[] = [
  {
    code: 'warm-up-type-missing', severity: 'error', text: warmUp('dims: [ 3 ] zero_data: true'), good: GOOD_WARM_UP,
    serverText: "warmup setting expects all variable-size dimensions are specified for input 'A'",
  },
  {
    code: 'warm-up-type-differs', severity: 'error', text: warmUp('data_type: TYPE_FP16 dims: [ 3 ] zero_data: true'), fixed: GOOD_WARM_UP, good: GOOD_WARM_UP,
    serverText: "[request id: <id_unknown>] inference input 'A' data-type is 'FP16', but model 'model' expects 'FP32'",
  },
  {
    code: 'warm-up-dims', severity: 'error', text: warmUp('data_type: TYPE_FP32 dims: [ -1 ] zero_data: true'), fixed: warmUp('data_type: TYPE_FP32 dims: [ 1 ] zero_data: true'), good: GOOD_WARM_UP,
    serverText: "warmup setting expects all variable-size dimensions are specified for input 'A'",
  },
  { code: 'warm-up-dims', severity: 'error', text: GOOD_WARM_UP.replace('TYPE_INT64 dims: [ 2 ] zero', 'TYPE_INT64 dims: [ 1, 2 ] zero'), fixed: GOOD_WARM_UP, good: GOOD_WARM_UP },
  {
    code: 'warm-up-input-missing', severity: 'error', text: warmUp('data_type: TYPE_FP32 dims: [ 3 ] zero_data: true', ''), good: GOOD_WARM_UP, says: '(missing: B)',
    serverText: "[request id: <id_unknown>] expected 2 inputs but got 1 inputs for model 'model'. Got input(s) ['A'], but missing required input(s) ['B']. Please provide all required input(s).",
  },
  { code: 'warm-up-unknown-input', severity: 'error', text: GOOD_WARM_UP.replace('key: "B"', 'key: "b"'), fixed: GOOD_WARM_UP, good: GOOD_WARM_UP, serverText: "unexpected inference input 'b' for model 'model'" },
  { code: 'warm-up-batch-size', severity: 'warning', text: GOOD_WARM_UP.replace(' batch_size: 1', ''), good: GOOD_WARM_UP },
  { code: 'warm-up-batch-size', severity: 'error', serverText: "warmup sample 'w' of model 'model' has batch_size 9, max_batch_size is 4", text: GOOD_WARM_UP.replace(' batch_size: 1', ' batch_size: 9'), fixed: GOOD_WARM_UP.replace(' batch_size: 1', ' batch_size: 4'), good: GOOD_WARM_UP },
  {
    code: 'warm-up-file-missing', severity: 'error', text: warmUp('data_type: TYPE_FP32 dims: [ 3 ] input_data_file: "a.raw"'), context: folder(['model.py'], { 'warmup/A.raw': 12 }),
    fixed: warmUp('data_type: TYPE_FP32 dims: [ 3 ] input_data_file: "A.raw"'), good: warmUp('data_type: TYPE_FP32 dims: [ 3 ] input_data_file: "A.raw"'),
    serverText: "warmup data file 'warmup/a.raw' does not exist in the model directory",
  },
  {
    code: 'warm-up-file-short', severity: 'error', text: warmUp('data_type: TYPE_FP32 dims: [ 4 ] input_data_file: "A.raw"'), context: folder(['model.py'], { 'warmup/A.raw': 12 }), fix: null,
    good: warmUp('data_type: TYPE_FP32 dims: [ 3 ] input_data_file: "A.raw"'),
    serverText: '[request id: <id_unknown>] warmup setting expects 16 bytes, but the data provided from A.rawonly has 12 bytes',
  },
]

const REPEAT = `backend: "repeat"
input [ { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }, { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }, { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] } ]
model_transaction_policy { decoupled: true }
`
const PAIR = 'backend: "identity"\ninput { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] }\noutput { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] }\n'
const BRAIN = file([tensor('A', [3], 'BF16')], [tensor('B', [3], 'BF16')])

const LOADER: readonly Case[] = [
  {
    code: 'not-executable-here', severity: 'warning', fix: null, context: INSTALLED, text: 'backend: "identity"\nmodel_operations { op_library_filename: "a.so" }\n', good: 'backend: "identity"\n',
    serverText: "model 'model' sets model_operations.op_library_filename: this version cannot run custom operator libraries. Remove the field or serve the model with a version that can",
  },
  {
    code: 'lists-must-be-written', severity: 'error', fix: null, text: 'backend: "onnxruntime"\n', context: { ...ADD, isAutoCompleteOff: true }, good: GOOD_ADD,
    serverText: "model 'm' must list its inputs and outputs in config.pbtxt because the server runs with --disable-auto-complete-config",
  },
  { code: 'identity-tensor-name', severity: 'error', text: PAIR.replace('INPUT0', 'x'), fixed: PAIR, good: PAIR, serverText: "expected input name to follow INPUT<index> pattern, got 'x'" },
  { code: 'identity-tensor-name', severity: 'error', text: PAIR.replace('OUTPUT0', 'x'), fixed: PAIR, good: PAIR, serverText: "expected output name to follow OUTPUT<index> pattern, got 'x'" },
  { code: 'identity-pairs', severity: 'error', text: PAIR.replace(/output .*\n/, ''), good: PAIR, serverText: 'expected equal numbers of inputs and outputs, got 1 and 0' },
  { code: 'identity-pairs', severity: 'error', text: PAIR.replace('OUTPUT0', 'OUTPUT1'), good: PAIR, serverText: "expected an output 'OUTPUT0' for input 'INPUT0'" },
  { code: 'identity-type', severity: 'error', text: PAIR.replace('TYPE_FP32 dims: [ 4 ] }\no', 'TYPE_INT32 dims: [ 4 ] }\no'), fixed: PAIR.replaceAll('FP32', 'INT32'), good: PAIR, serverText: 'expected input and output datatype to match, got TYPE_INT32 and TYPE_FP32' },
  { code: 'identity-shape', severity: 'error', text: PAIR.replace('[ 4 ] }\no', '[ 5 ] }\no'), fixed: PAIR.replaceAll('[ 4 ]', '[ 5 ]'), good: PAIR, serverText: 'expected input and output shape to match, got [5] and [4]' },
  { code: 'repeat-config', severity: 'error', text: `max_batch_size: 2\n${REPEAT}`, fixed: REPEAT, good: REPEAT, serverText: 'repeat backend only supports models with max_batch_size == 0' },
  {
    code: 'repeat-config', severity: 'error', text: REPEAT.replace('model_transaction_policy { decoupled: true }\n', ''), good: REPEAT,
    serverText: "model 'model' gives one response for each element of IN: the repeat backend needs model_transaction_policy { decoupled: true }",
  },
  { code: 'repeat-config', severity: 'error', fix: null, text: REPEAT.replace('"IDX"', '"INDEX"'), good: REPEAT, serverText: 'expected second output tensor name to be IDX, got INDEX' },
  { code: 'bfloat16-tensor', severity: 'error', fix: null, text: 'backend: "onnxruntime"\n', context: BRAIN, good: 'backend: "onnxruntime"\n', goodContext: ADD },
  {
    code: 'parameter-not-a-number', severity: 'error', text: `${GOOD_ADD}parameters { key: "intra_op_thread_count" value { string_value: "many" } }\n`, context: ADD, fixed: GOOD_ADD, good: `${GOOD_ADD}parameters { key: "intra_op_thread_count" value { string_value: "2" } }\n`,
    serverText: "parameter 'intra_op_thread_count' of model 'm' must be a whole number >= 0, got 'many'",
  },
  {
    code: 'parameter-not-a-number', severity: 'error', text: `${PAIR}parameters { key: "execute_delay_ms" value { string_value: "-1" } }\n`, fixed: PAIR, good: PAIR,
    serverText: "parameter 'execute_delay_ms' of model 'model' must be a number >= 0, got '-1'",
  },
]

const parameter = (key: string, value: string): string => `parameters { key: "${key}" value { string_value: "${value}" } }\n`
const NPU_MACHINE = { machine: { cpuCount: 64, gpuCount: 0, npus: [{ card: 0, chip: 'Ascend910B3' }, { card: 1, chip: 'Ascend910B3' }] } }
const GE = 'backend: "npu_ge"\n'

const NPU: readonly Case[] = [
  { code: 'npu-unknown-option', severity: 'warning', text: GE + parameter('session.ge.exec.precision_mod_v2', 'fp16'), fixed: GE + parameter('session.ge.exec.precision_mode_v2', 'fp16'), good: GE + parameter('ge.exec.precision_mode_v2', 'fp16') },
  { code: 'npu-unknown-option', severity: 'info', text: GE + parameter('session.ge.somethingNobodyKnows', '1'), fix: null, good: GE + parameter('console.viewer', 'x') },
  { code: 'npu-unknown-option', severity: 'warning', text: GE + parameter('device_id', '0'), fixed: GE + parameter('device_ids', '0'), good: GE + parameter('my_own', '1') },
  { code: 'npu-option-prefix', severity: 'warning', text: GE + parameter('sesion.ge.exec.precision_mode_v2', 'fp16'), fixed: GE + parameter('session.ge.exec.precision_mode_v2', 'fp16'), good: GE + parameter('graph.ge.exec.precision_mode_v2', 'fp16') },
  { code: 'npu-option-prefix', severity: 'warning', text: GE + parameter('aicoreNum', '12|10'), fixed: GE + parameter('session.ge.aicoreNum', '12|10'), good: GE + parameter('ge.aicoreNum', '12|10') },
  { code: 'npu-option-prefix', severity: 'warning', text: GE + parameter('everything.ge.constLifecycle', 'session'), good: GE + parameter('global.ge.constLifecycle', 'session') },
  { code: 'npu-option-level', severity: 'warning', text: GE + parameter('graph.ge.aicoreNum', '12|10'), fixed: GE + parameter('ge.aicoreNum', '12|10'), good: GE + parameter('session.ge.aicoreNum', '12|10') },
  { code: 'npu-option-value', severity: 'warning', text: GE + parameter('session.ge.exec.precision_mode_v2', 'orign'), fixed: GE + parameter('session.ge.exec.precision_mode_v2', 'origin'), good: GE + parameter('session.ge.exec.precision_mode_v2', 'origin') },
  {
    code: 'static-model-with-batching', severity: 'error', text: `${GE}max_batch_size: 4\ninput { name: "x" data_type: TYPE_FP32 dims: [ 3 ] }\n${parameter('static_model', '1')}`,
    fixed: `${GE}input { name: "x" data_type: TYPE_FP32 dims: [ 1, 3 ] }\n${parameter('static_model', '1')}`, good: `${GE}input { name: "x" data_type: TYPE_FP32 dims: [ 1, 3 ] }\n${parameter('static_model', '1')}`,
  },
  { code: 'static-model-with-batching', severity: 'error', text: `${GE}dynamic_batching { }\n${parameter('static_model', '1')}`, fixed: GE + parameter('static_model', '1'), good: `${GE}max_batch_size: 4\ndynamic_batching { }\n${parameter('static_model', '0')}` },
  {
    code: 'static-model-variable-dim', severity: 'error', text: `${GE}input { name: "x" data_type: TYPE_FP32 dims: [ -1, 3 ] }\n${parameter('static_model', '1')}`,
    fixed: `${GE}input { name: "x" data_type: TYPE_FP32 dims: [ 1, 3 ] }\n${parameter('static_model', '1')}`, good: `${GE}input { name: "x" data_type: TYPE_FP32 dims: [ -1, 3 ] }\n`,
  },
  {
    code: 'static-model-variable-dim', severity: 'error', text: `${GE}input { name: "x" data_type: TYPE_FP32 dims: [ 1, -1 ] }\n${parameter('static_model', '1')}`,
    fixed: `${GE}input { name: "x" data_type: TYPE_FP32 dims: [ 1, -1 ] }\n`, good: `${GE}input { name: "x" data_type: TYPE_FP32 dims: [ 1, 16 ] }\n${parameter('static_model', '1')}`,
  },
  {
    code: 'precision-mode-twice', severity: 'error', text: GE + parameter('ge.exec.precision_mode', 'force_fp16') + parameter('session.ge.exec.precision_mode_v2', 'origin'),
    fixed: GE + parameter('session.ge.exec.precision_mode_v2', 'origin'), good: GE + parameter('ge.exec.precision_mode', 'force_fp16'),
  },
  { code: 'core-limit', severity: 'error', text: GE + parameter('ge.aicoreNum', '12,10'), fix: null, good: GE + parameter('ge.aicoreNum', '12|10') },
  { code: 'core-limit-over-chip', severity: 'error', text: GE + parameter('ge.aicoreNum', '24|48'), context: NPU_MACHINE, fixed: GE + parameter('ge.aicoreNum', '20|40'), good: GE + parameter('ge.aicoreNum', '20|40') },
  {
    code: 'core-limit-over-chip', severity: 'error', text: GE + parameter('ge.aicoreNum', '10') + parameter('ge.socVersion', 'Ascend310P3'), fixed: GE + parameter('ge.aicoreNum', '8') + parameter('ge.socVersion', 'Ascend310P3'),
    good: GE + parameter('ge.aicoreNum', '7|10') + parameter('ge.socVersion', 'Ascend310P3'),
  },
  { code: 'device-ids-format', severity: 'warning', text: GE + parameter('device_ids', '0，1'), fixed: GE + parameter('device_ids', '0,1'), good: GE + parameter('device_ids', '0,1') },
  { code: 'device-ids-format', severity: 'warning', text: `backend: "python"\n${parameter('device_ids', '0 1')}`, fixed: `backend: "python"\n${parameter('device_ids', '0,1')}`, good: `backend: "python"\n${parameter('device_ids', '0,1')}` },
  { code: 'device-ids-format', severity: 'error', text: GE + parameter('device_ids', 'all'), fix: null, good: GE },
  { code: 'device-not-there', severity: 'error', text: GE + parameter('device_ids', '1,5'), context: NPU_MACHINE, fixed: GE + parameter('device_ids', '1'), good: GE + parameter('device_ids', '0,1') },
  { code: 'streams-per-card', severity: 'warning', text: GE + parameter('device_exec_blocks', '12'), fixed: GE + parameter('device_exec_blocks', '8'), good: GE + parameter('device_exec_blocks', '8') },
  { code: 'streams-per-card', severity: 'warning', text: `${GE}instance_group { count: 20 }\n${parameter('device_ids', '0,1')}`, fix: null, good: `${GE}instance_group { count: 16 }\n${parameter('device_ids', '0,1')}` },
  { code: 'block-count', severity: 'error', text: GE + parameter('instance_exec_blocks', '0'), fixed: GE + parameter('instance_exec_blocks', '1'), good: GE + parameter('instance_exec_blocks', '2') },
  {
    code: 'no-online-engine', severity: 'error', text: GE, context: { machine: { cpuCount: 4, gpuCount: 0, npus: [{ card: 0, chip: 'Ascend310B4' }] } }, fix: null, good: GE, goodContext: NPU_MACHINE,
  },
]

const GEAR_IO = `${GE}max_batch_size: 4\ninput { name: "x" data_type: TYPE_FP32 dims: [ 3, 8 ] }\noutput { name: "y" data_type: TYPE_FP32 dims: [ 2 ] }\n`
const gears = (dims: string, shape = 'x:-1,3,8', type = '1'): string =>
  GEAR_IO + parameter('graph.ge.inputShape', shape) + parameter('graph.ge.dynamicDims', dims) + parameter('graph.ge.dynamicNodeType', type)
const GOOD_GEARS = gears('1;2;3;4')

const om = (batchSizes: readonly number[] | null, shape: readonly number[], shapes: readonly (readonly number[])[]): Partial<ConfigContext> => ({
  modelName: 'm', files: { 'config.pbtxt': 1 },
  versions: [{
    version: 1, files: ['model.om'], signature: null,
    om: { graph: shapes.length === 0 ? 'static' : 'gears', batchSizes, gears: shapes.map((dims) => ({ text: dims.join('x'), inputs: [dims] })), inputs: [tensor('x', shape)], outputs: [tensor('y', [shape[0] ?? 1, 2])] },
  }],
})
const omText = (batch: number, dims: string, name = 'x', type = 'TYPE_FP32'): string =>
  `backend: "npu_om"\nmax_batch_size: ${batch}\ninput { name: "${name}" data_type: ${type} dims: [ ${dims} ] }\noutput { name: "y" data_type: TYPE_FP32 dims: [ 2 ] }\n`
const BATCH_GEARS = om([1, 4], [-1, 8], [[1, 8], [4, 8]])
const SIZE_GEARS = om([1], [-1, -1], [[1, 16], [1, 32]])

const OM_FILES: readonly Case[] = [
  { code: 'om-tensor-not-in-model', severity: 'error', context: BATCH_GEARS, text: omText(4, '8', 'X'), fixed: omText(4, '8'), good: omText(4, '8'), says: "has no input 'X'" },
  { code: 'om-tensor-type-differs', severity: 'error', context: BATCH_GEARS, text: omText(4, '8', 'x', 'TYPE_FP16'), fixed: omText(4, '8'), good: omText(4, '8') },
  { code: 'om-dims-differ', severity: 'error', context: BATCH_GEARS, text: omText(4, '-1, 8'), fixed: omText(4, '8'), good: omText(4, '8') },
  { code: 'om-dims-fit-no-gear', severity: 'error', context: SIZE_GEARS, text: omText(1, '64'), isPreferred: false, fixed: omText(1, '-1'), good: omText(1, '20'), says: '1x16; 1x32' },
  { code: 'om-batch-over-gears', severity: 'error', context: BATCH_GEARS, text: omText(8, '8'), fixed: omText(4, '8'), good: omText(2, '8') },
  { code: 'om-batch-over-gears', severity: 'error', context: om(null, [2, 8], []), text: omText(3, '8'), fixed: omText(2, '8'), good: omText(2, '8') },
]

const GEARS: readonly Case[] = [
  {
    code: 'gears-incomplete', severity: 'error', text: GEAR_IO + parameter('graph.ge.inputShape', 'x:-1,3,8') + parameter('graph.ge.dynamicDims', '1;2;3;4'), fixed: GOOD_GEARS, good: GOOD_GEARS,
    says: 'missing: ge.dynamicNodeType',
  },
  { code: 'gears-incomplete', severity: 'error', text: GEAR_IO + parameter('session.ge.dynamicNodeType', '1'), good: GEAR_IO },
  { code: 'gears-unreadable', severity: 'error', text: gears('1；2；3；4'), fixed: GOOD_GEARS, good: GOOD_GEARS },
  { code: 'gears-unreadable', severity: 'error', text: gears('1;2;3;4', 'x'), fix: null, good: GOOD_GEARS },
  { code: 'gears-count', severity: 'error', text: gears('4'), fixed: GOOD_GEARS, good: GOOD_GEARS },
  {
    code: 'gears-count', severity: 'error', text: gears(Array.from({ length: 101 }, (_none, index) => index + 1).join(';')), fix: null,
    good: gears(Array.from({ length: 100 }, (_none, index) => index + 1).join(';')),
  },
  { code: 'gears-values', severity: 'error', text: gears('1,2,3,4'), fixed: GOOD_GEARS, good: GOOD_GEARS },
  { code: 'gears-twice', severity: 'warning', text: gears('1;2;2;3;4'), fixed: GOOD_GEARS, good: GOOD_GEARS },
  { code: 'gears-inputs', severity: 'error', text: gears('1;2;3;4', 'X:-1,3,8'), good: GOOD_GEARS },
  { code: 'gears-shape-differs', severity: 'error', text: gears('1;2;3;4', 'x:-1,3,9'), fixed: GOOD_GEARS, good: GOOD_GEARS },
  { code: 'gears-coverage', severity: 'error', text: gears('1;2'), fixed: GOOD_GEARS, good: GOOD_GEARS, says: 'Batches of 3 to 4 may form' },
  { code: 'gears-coverage', severity: 'error', text: gears('1;2'), fix: 1, fixed: gears('1;2').replace('max_batch_size: 4', 'max_batch_size: 2'), good: GOOD_GEARS },
  { code: 'gears-coverage', severity: 'warning', text: gears('1;2;4'), fixed: GOOD_GEARS, good: gears('1;2;3;4;8'), says: 'Batches of 3 may form' },
  { code: 'gears-node-type', severity: 'warning', text: gears('1;2;3;4', 'x:-1,3,8', '0'), fixed: GOOD_GEARS, good: GOOD_GEARS },
]

const ALL_CASES = [...FILES, ...TENSORS, ...BATCHING, ...INSTANCES, ...ENSEMBLES, ...WARM_UPS, ...LOADER, ...NPU, ...GEARS, ...OM_FILES]

function found(code: string, text: string, context: Partial<ConfigContext> = {}): ConfigDiagnostic[] {
  return checkConfig(text, { ...EMPTY_CONFIG_CONTEXT, ...context }).filter((diagnostic) => diagnostic.code === code)
}

describe('rules of judgement', () => {
  test.each(ALL_CASES.map((item, index) => [index, item.code, item] as const))('%i %s', (_index, code, item) => {
    const [diagnostic] = found(code, item.text, item.context)
    expect(diagnostic, JSON.stringify(checkConfig(item.text, { ...EMPTY_CONFIG_CONTEXT, ...item.context }).map((other) => [other.code, other.message.en]))).toBeDefined()
    if (diagnostic === undefined) return
    expect(diagnostic.severity).toBe(item.severity)
    if (item.serverText !== undefined) expect(diagnostic.serverText).toBe(item.serverText)
    if (item.says !== undefined) expect(diagnostic.message.en).toContain(item.says)
    expect(diagnostic.message['zh-CN']).toMatch(/[\u4e00-\u9fff]/)
    expect(diagnostic.fixes.filter(({ isPreferred }) => isPreferred).length).toBeLessThanOrEqual(1)

    if (item.fix === null) expect(diagnostic.fixes).toEqual([])
    else {
      const fix = diagnostic.fixes[item.fix ?? 0]
      expect(fix?.title['zh-CN']).toMatch(/[\u4e00-\u9fff]/)
      if (item.isPreferred !== undefined) expect(fix?.isPreferred).toBe(item.isPreferred)
      const repaired = applyEdits(item.text, fix?.edits ?? [])
      if (item.fixed !== undefined) expect(repaired).toBe(item.fixed)
      expect(parsePbtxt(repaired).errors).toEqual([])
      // Of several of one kind, one fix repairs one.
      expect(found(code, repaired, item.context).length).toBeLessThan(found(code, item.text, item.context).length)
    }
    expect(found(code, item.good, item.goodContext ?? item.context)).toEqual([])
  })

  test('each code has a case', () => {
    const codes = JUDGEMENT_RULES.flatMap((rule) => rule.codes)
    expect(codes.filter((code) => !ALL_CASES.some((item) => item.code === code))).toEqual([])
    expect(new Set(codes).size).toBe(codes.length)
    expect(ALL_CASES.filter((item) => !codes.includes(item.code))).toEqual([])
  })

  test('what npu_ge completes from the model file need not be written, also for a static graph', () => {
    const context = { ...EMPTY_CONFIG_CONTEXT, ...ADD }
    expect(checkConfig('backend: "npu_ge"\n', context).filter(({ severity }) => severity === 'error')).toEqual([])
    const [whole] = [file([tensor('A', [1, 3])], [tensor('SUM', [1, 3])])]
    expect(checkConfig('backend: "npu_ge"\nparameters { key: "static_model" value { string_value: "1" } }\n', { ...context, ...whole }).filter(({ severity }) => severity === 'error')).toEqual([])
    expect(checkConfig('backend: "npu_ge"\n', { ...context, isAutoCompleteOff: true }).filter(({ severity }) => severity === 'error').length).toBeGreaterThan(0)
  })

  test('nothing is said where nothing is known', () => {
    for (const text of [GOOD_ADD, GOOD_ENSEMBLE, GOOD_WARM_UP, GOOD_GEARS]) {
      expect(checkConfig(text, EMPTY_CONFIG_CONTEXT).map(({ code, message }) => [code, message.en])).toEqual([])
    }
  })
})
