/** Checks of `input`, `output`, `batch_input` and `batch_output`, with Triton's texts. */
import type { ModelConfig, ModelInput, ModelOutput } from '../contract/model-config.ts'
import { ServerError } from '../server-error.ts'

const VARIABLE = -1

/** @throws ServerError INVALID_ARG, every text ends in ` for <model>` */
export function validateInputsAndOutputs(config: ModelConfig): void {
  const check = (message: string | undefined): void => {
    if (message !== undefined) throw new ServerError('INVALID_ARG', `${message} for ${config.name}`)
  }
  for (const input of config.input) {
    check(tensorProblem(input, config.max_batch_size, 'model input '))
    check(inputProblem(input, config.platform))
  }
  for (const output of config.output) {
    check(tensorProblem(output, config.max_batch_size, 'model output '))
    check(platformProblem(output, config.platform))
  }
  check(batchTensorProblem(config))
}

function tensorProblem(tensor: ModelInput | ModelOutput, maxBatchSize: number, prefix: string): string | undefined {
  if (tensor.name === '') return `${prefix}must specify 'name'`
  const named = `${prefix}'${tensor.name}' `
  if (tensor.data_type === 'TYPE_INVALID') return `${named}must specify 'data_type'`
  if (tensor.dims.length === 0) return `${named}must specify 'dims'`
  if (tensor.reshape?.shape.length === 0 && maxBatchSize === 0) {
    return `${named}cannot have empty reshape for non-batching model as scalar tensors are not supported`
  }
  if (!tensor.dims.every(isDimension)) return `${named}dimension must be integer >= 1, or -1 to indicate a variable-size dimension`
  if (tensor.reshape === undefined) return undefined
  if (!tensor.reshape.shape.every(isDimension)) {
    return `${named}reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension`
  }
  const difference = reshapeProblem(tensor.dims, tensor.reshape.shape)
  return difference === undefined ? undefined : `${named}${difference}`
}

function isDimension(dim: number): boolean {
  return dim >= 1 || dim === VARIABLE
}

/** Each run of fixed dims between the variable ones must hold the same number of elements. */
function reshapeProblem(dims: readonly number[], shape: readonly number[]): string | undefined {
  const dimsRuns = fixedRuns(dims)
  const shapeRuns = fixedRuns(shape)
  const bothVariable = dimsRuns.length > 1 && shapeRuns.length > 1
  if (dimsRuns.length !== shapeRuns.length) {
    return bothVariable ? 'has different number of variable-size dimensions for dims and reshape' : 'has different size for dims and reshape'
  }
  return dimsRuns.every((count, index) => count === shapeRuns[index]) ? undefined : 'has different size for dims and reshape'
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

function inputProblem(input: ModelInput, platform: string): string | undefined {
  if (input.format !== 'FORMAT_NONE' && input.dims.length !== 3) return 'model input NHWC/NCHW require 3 dims'
  return platformProblem(input, platform)
}

function platformProblem(tensor: ModelInput | ModelOutput, platform: string): string | undefined {
  if (platform === 'tensorrt_plan') return undefined
  if (tensor.is_shape_tensor) return 'shape tensors are only supported for TensorRT platform'
  return tensor.is_non_linear_format_io ? 'Non-linear IO format is only supported for the TensorRT platform' : undefined
}

interface BatchTensor {
  readonly kind: string | number
  readonly target_name: readonly string[]
  readonly source_input: readonly string[]
  readonly data_type?: string
}

function batchTensorProblem(config: ModelConfig): string | undefined {
  const inputNames = new Set(config.input.map((input) => input.name))
  const outputNames = new Set(config.output.map((output) => output.name))
  const unknownSource = ({ source_input: sources }: BatchTensor): string | undefined => {
    const unknown = sources.find((source) => !inputNames.has(source))
    return unknown === undefined ? undefined : `unknown source input name '${unknown}'`
  }

  for (const entry of config.batch_input as readonly BatchTensor[]) {
    if (entry.source_input.length !== 1) return `batch input kind '${entry.kind}' expects 1 source input, got ${entry.source_input.length}`
    if (entry.data_type !== 'TYPE_INT32' && entry.data_type !== 'TYPE_FP32') return 'batch input data type must be TYPE_INT32 or TYPE_FP32'
    const problem = unknownSource(entry)
    if (problem !== undefined) return problem
  }
  for (const entry of config.batch_output as readonly BatchTensor[]) {
    if (entry.source_input.length !== 1) return `batch output kind '${entry.kind}' expects 1 source input, got ${entry.source_input.length}`
    const problem = unknownSource(entry)
    if (problem !== undefined) return problem
    const targets = new Set<string>()
    for (const target of entry.target_name) {
      if (!outputNames.has(target)) return `unknown target output name '${target}'`
      if (targets.has(target)) return `target output name '${target}' can only be specified once`
      targets.add(target)
    }
  }
  return undefined
}
