import type { ModelConfig, ModelOutput } from '../contract/model-config.ts'
import { reshapeDims } from '../model/request-validation.ts'

/** The shape of an output as a client sees it, from the model's: the config's `reshape` undone. */
export function clientShapeOf(config: ModelConfig, name: string, shape: readonly number[]): readonly number[] {
  const output = config.output.find((candidate) => candidate.name === name)
  // A scattered output has the config's dims already.
  if (output === undefined || config.batch_output.some((entry) => entry.target_name.includes(name))) return shape
  return config.max_batch_size > 0 ? [shape[0] ?? 0, ...clientShape(output, shape.slice(1))] : clientShape(output, shape)
}

/** A scalar, which a config cannot say, has the one dimension that the config gives it. */
function clientShape(output: ModelOutput, dims: readonly number[]): readonly number[] {
  if (output.reshape !== undefined) return reshapeDims(output.reshape.shape, dims, output.dims)
  return dims.length === 0 && output.dims.length === 1 ? [1] : dims
}
