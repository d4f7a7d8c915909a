/** Checks of `input`, `output`, `batch_input` and `batch_output`, with Triton's texts. */
import type { ModelConfig, ModelInput, ModelOutput } from '../contract/model-config.ts'
import type { ConfigPath } from './config-path.ts'
import type { ConfigProblem } from './config-problem.ts'

const VARIABLE = -1


/** Every text ends in ` for <model>`. */
export function* tensorProblems(config: ModelConfig): Generator<ConfigProblem> {
  for (const problem of namelessProblems(config)) yield { ...problem, text: `${problem.text} for ${config.name}` }
}

function* namelessProblems(config: ModelConfig): Generator<ConfigProblem> {
  for (const [index, input] of config.input.entries()) {
    const path = ['input', index]
    yield* oneTensorProblems(input, config.max_batch_size, path)
    if (input.format !== 'FORMAT_NONE' && input.dims.length !== 3) {
      yield { code: 'image-format-dims', path: [...path, 'format'], text: 'model input NHWC/NCHW require 3 dims', facts: { tensor: input.name, format: input.format, rank: input.dims.length } }
    }
    yield* platformProblems(input, config.platform, path)
  }
  for (const [index, output] of config.output.entries()) {
    const path = ['output', index]
    yield* oneTensorProblems(output, config.max_batch_size, path)
    yield* platformProblems(output, config.platform, path)
  }
  yield* batchTensorProblems(config)
}

function* oneTensorProblems(tensor: ModelInput | ModelOutput, maxBatchSize: number, path: ConfigPath): Generator<ConfigProblem> {
  const prefix = `model ${String(path[0])} `
  const facts = { tensor: tensor.name, role: String(path[0]) }
  if (tensor.name === '') { yield { code: 'tensor-without-name', path, text: `${prefix}must specify 'name'`, facts }; return }
  const named = `${prefix}'${tensor.name}' `
  if (tensor.data_type === 'TYPE_INVALID') yield { code: 'tensor-without-type', path, text: `${named}must specify 'data_type'`, facts }
  if (tensor.dims.length === 0) { yield { code: 'tensor-without-dims', path, text: `${named}must specify 'dims'`, facts }; return }
  if (tensor.reshape?.shape.length === 0 && maxBatchSize === 0) {
    yield {
      code: 'empty-reshape-without-batching', path: [...path, 'reshape'], facts,
      text: `${named}cannot have empty reshape for non-batching model as scalar tensors are not supported`,
    }
  }
  const wrong = tensor.dims.findIndex((dim) => !isDimension(dim))
  if (wrong >= 0) {
    yield {
      code: 'bad-dimension', path: [...path, 'dims', wrong], facts: { ...facts, dim: tensor.dims[wrong] ?? 0 },
      text: `${named}dimension must be integer >= 1, or -1 to indicate a variable-size dimension`,
    }
  }
  if (tensor.reshape !== undefined) yield* reshapeProblems(tensor.dims, tensor.reshape.shape, named, path, facts)
}

function isDimension(dim: number): boolean {
  return dim >= 1 || dim === VARIABLE
}

function* reshapeProblems(
  dims: readonly number[], shape: readonly number[], named: string, tensorPath: ConfigPath, facts: { readonly tensor: string },
): Generator<ConfigProblem> {
  const path = [...tensorPath, 'reshape', 'shape']
  const wrong = shape.findIndex((dim) => !isDimension(dim))
  if (wrong >= 0) {
    yield {
      code: 'bad-reshape-dimension', path: [...path, wrong], facts: { ...facts, dim: shape[wrong] ?? 0 },
      text: `${named}reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension`,
    }
  }
  if (wrong >= 0 || !dims.every(isDimension)) return
  const difference = reshapeDifference(dims, shape)
  if (difference === undefined) return
  const shapes = { ...facts, dims: `[ ${dims.join(', ')} ]`, shape: `[ ${shape.join(', ')} ]` }
  yield difference === 'size'
    ? { code: 'reshape-size', path, text: `${named}has different size for dims and reshape`, facts: shapes }
    : { code: 'reshape-variable-dims', path, text: `${named}has different number of variable-size dimensions for dims and reshape`, facts: shapes }
}

/** Each run of fixed dims between the variable ones must hold the same number of elements. */
function reshapeDifference(dims: readonly number[], shape: readonly number[]): 'size' | 'variable dims' | undefined {
  const dimsRuns = fixedRuns(dims)
  const shapeRuns = fixedRuns(shape)
  const bothVariable = dimsRuns.length > 1 && shapeRuns.length > 1
  if (dimsRuns.length !== shapeRuns.length) return bothVariable ? 'variable dims' : 'size'
  return dimsRuns.every((count, index) => count === shapeRuns[index]) ? undefined : 'size'
}

/** Element counts of the runs that variable dims separate; an empty shape is one element. */
function fixedRuns(dims: readonly number[]): bigint[] {
  const runs = [1n]
  for (const dim of dims) {
    if (dim === VARIABLE) runs.push(1n)
    else runs[runs.length - 1] = (runs[runs.length - 1] ?? 1n) * BigInt(dim)
  }
  return runs
}

function* platformProblems(tensor: ModelInput | ModelOutput, platform: string, path: ConfigPath): Generator<ConfigProblem> {
  if (platform === 'tensorrt_plan') return
  const facts = { tensor: tensor.name }
  if (tensor.is_shape_tensor) yield { code: 'shape-tensor', path: [...path, 'is_shape_tensor'], text: 'shape tensors are only supported for TensorRT platform', facts }
  if (tensor.is_non_linear_format_io) {
    yield { code: 'non-linear-format', path: [...path, 'is_non_linear_format_io'], text: 'Non-linear IO format is only supported for the TensorRT platform', facts }
  }
}

interface BatchTensor {
  readonly kind: string | number
  readonly target_name: readonly string[]
  readonly source_input: readonly string[]
  readonly data_type?: string
}

function* batchTensorProblems(config: ModelConfig): Generator<ConfigProblem> {
  const inputNames = new Set(config.input.map((input) => input.name))
  const outputNames = new Set(config.output.map((output) => output.name))
  for (const [index, entry] of (config.batch_input as readonly BatchTensor[]).entries()) {
    const path = ['batch_input', index]
    yield* sourceCountProblems(entry, 'input', path)
    if (entry.data_type !== 'TYPE_INT32' && entry.data_type !== 'TYPE_FP32') {
      yield { code: 'batch-input-type', path: [...path, 'data_type'], text: 'batch input data type must be TYPE_INT32 or TYPE_FP32' }
    }
    yield* unknownSources(entry, inputNames, path)
  }
  for (const [index, entry] of (config.batch_output as readonly BatchTensor[]).entries()) {
    const path = ['batch_output', index]
    yield* sourceCountProblems(entry, 'output', path)
    yield* unknownSources(entry, inputNames, path)
    const targets = new Set<string>()
    for (const [position, target] of entry.target_name.entries()) {
      const targetPath = [...path, 'target_name', position]
      if (!outputNames.has(target)) yield { code: 'unknown-target-output', path: targetPath, text: `unknown target output name '${target}'`, facts: { target } }
      else if (targets.has(target)) {
        yield { code: 'target-output-twice', path: targetPath, text: `target output name '${target}' can only be specified once`, facts: { target } }
      }
      targets.add(target)
    }
  }
}

function* sourceCountProblems(entry: BatchTensor, role: 'input' | 'output', path: ConfigPath): Generator<ConfigProblem> {
  if (entry.source_input.length === 1) return
  yield {
    code: `batch-${role}-sources`, path: entry.source_input.length === 0 ? path : [...path, 'source_input'],
    text: `batch ${role} kind '${entry.kind}' expects 1 source input, got ${entry.source_input.length}`, facts: { count: entry.source_input.length },
  }
}

function* unknownSources({ source_input: sources }: BatchTensor, inputNames: ReadonlySet<string>, path: ConfigPath): Generator<ConfigProblem> {
  for (const [position, source] of sources.entries()) {
    if (inputNames.has(source)) continue
    yield { code: 'unknown-source-input', path: [...path, 'source_input', position], text: `unknown source input name '${source}'`, facts: { source } }
  }
}
