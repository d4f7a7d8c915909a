/** A tensor of the config beside the model file's: the loader's own checks (`signature-problems.ts`), one tensor at a time. */
import type { FileTensor } from '../../../../server-core/contract/config-language.ts'
import type { DataTypeConfigName } from '../../../../server-core/contract/inference.ts'
import type { ModelConfig, ModelInput } from '../../../../server-core/contract/model-config.ts'
import { emptyMessage } from '../../../../server-core/model-config/config-message.ts'
import { MODEL_CONFIG_SCHEMA } from '../../../../server-core/model-config/config-schema.ts'
import { configDimsOf, configTypeOf, signatureProblems } from '../../../../server-core/model-config/signature-problems.ts'
import type { SignatureTensor } from '../../../../server-core/model-config/signature-problems.ts'

export interface ConfigTensor {
  readonly name: string
  /** `TYPE_FP32`; '' where it is left out. */
  readonly dataType: string
  readonly dims: readonly number[]
  /** `reshape.shape`, which is what the file is compared with; null: no reshape. */
  readonly reshape: readonly number[] | null
}

/** 'batch-axis-twice': the batch axis stands in `dims` although max_batch_size adds it. */
export type TensorDifference = 'datatype' | 'shape' | 'batch-axis-fixed' | 'batch-axis-twice'

export type TensorComparison =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'missing'; readonly suggestion: string | null }
  | { readonly kind: 'match'; readonly file: FileTensor }
  | { readonly kind: 'differs'; readonly file: FileTensor; readonly differences: readonly TensorDifference[]; readonly serverText: string }

/** @param fileTensors of the same side of the model; null: the file cannot be read offline */
export function compareTensor(tensor: ConfigTensor, fileTensors: readonly FileTensor[] | null, maxBatchSize: number): TensorComparison {
  if (fileTensors === null) return { kind: 'unknown' }
  const file = fileTensors.find(({ name }) => name === tensor.name)
  if (file === undefined) return { kind: 'missing', suggestion: nearest(tensor.name, fileTensors.map(({ name }) => name)) }
  const config: ModelConfig = { ...(emptyMessage(MODEL_CONFIG_SCHEMA) as unknown as ModelConfig), name: 'model', max_batch_size: maxBatchSize, input: [asInput(tensor)] }
  const problems = [...signatureProblems(config, { inputs: [signatureTensor(file)], outputs: [] })]
  const differences = problems.flatMap(({ kind }): TensorDifference[] => {
    switch (kind) {
      case 'type': case 'no-type': return ['datatype']
      case 'fixed-batch-dim': return ['batch-axis-fixed']
      case 'shape': return [maxBatchSize > 0 && tensor.dims.length === file.shape.length && tensor.dims[0] === -1 ? 'batch-axis-twice' : 'shape']
      default: return []
    }
  })
  return differences.length === 0 ? { kind: 'match', file } : { kind: 'differs', file, differences, serverText: problems[0]?.serverText ?? '' }
}

function asInput({ name, dataType, dims, reshape }: ConfigTensor): ModelInput {
  return {
    name, data_type: (dataType === '' ? 'TYPE_INVALID' : dataType) as DataTypeConfigName, format: 'FORMAT_NONE', dims: [...dims],
    ...(reshape === null ? {} : { reshape: { shape: [...reshape] } }), is_shape_tensor: false, allow_ragged_batch: false, optional: false, is_non_linear_format_io: false,
  }
}

function signatureTensor({ name, datatype, shape }: FileTensor): SignatureTensor {
  return { name, datatype, elementType: datatype ?? '?', dims: shape, hasShape: true }
}

/** What a config says to agree with the file: type, dims without the batch axis, and `reshape` for a tensor that has no other axis. */
export function entryFor(file: FileTensor, maxBatchSize: number): { readonly data_type: string; readonly dims: readonly number[]; readonly reshape?: { readonly shape: readonly number[] } } {
  const tensor = signatureTensor(file)
  return { data_type: configTypeOf(tensor), ...configDimsOf(tensor, maxBatchSize) }
}

/** Tensors of the file that the config does not list. */
export function unlisted(names: readonly string[], fileTensors: readonly FileTensor[] | null): readonly FileTensor[] {
  return (fileTensors ?? []).filter(({ name }) => !names.includes(name))
}

/** Longer names of axes are an exporter's, not a person's. */
const NAME_SHOWN = 12

/** `[batch, 3, 224, 224]`; an axis that the file does not name is `?`. */
export function shapeText(shape: readonly (number | string)[]): string {
  return `[${shape.map((dim) => (dim === -1 || (typeof dim === 'string' && dim.length > NAME_SHOWN) ? '?' : dim)).join(', ')}]`
}

/** The name most like `name`, or null where none is like it. */
export function nearest(name: string, candidates: readonly string[]): string | null {
  const [best] = candidates.map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) })).sort((left, right) => left.distance - right.distance)
  return best !== undefined && best.distance <= Math.max(2, name.length / 3) ? best.candidate : null
}

function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let i = 1; i <= left.length; i++) {
    const next = [i]
    for (let j = 1; j <= right.length; j++) next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1)))
    row = next
  }
  return row[right.length] ?? 0
}
