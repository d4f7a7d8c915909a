/** A config for an .om file, and what the file says in the form that configs are compared with. Pure. */
import type { ModelConfig } from '../contract/model-config.ts'
import type { FileTensor, OmFile } from '../contract/config-language.ts'
import { ServerError } from '../server-error.ts'
import { configInput, configOutput, DEFAULT_MAX_BATCH_SIZE, emptyDynamicBatching } from './auto-complete.ts'
import { printNewConfig } from './generate-config.ts'
import type { OmPassport, OmTensor } from './om-passport.ts'
import { emptyModelConfig } from './read-config.ts'
import { toSignature } from './rules/file-signature.ts'

/**
 * The file's tensors with -1 where requests may differ.
 *
 * Outputs follow the gears in a way that is known only of a loaded model: where more than the batch varies, all their dims are open here.
 */
export function omFile(passport: OmPassport): OmFile {
  const { graph, gears, inputs, outputs } = passport
  const batchSizes = gearBatchSizes(passport)
  const onlyBatchVaries = batchSizes !== null && inputs.every(({ dims }) => !dims.slice(1).includes(-1))
  const openOutput = (tensor: OmTensor): FileTensor => fileTensor(tensor, graph !== 'gears' ? tensor.dims : tensor.dims.map((dim, axis) => (onlyBatchVaries && axis > 0 ? dim : -1)))
  return { graph, gears: gears.map(({ text, inputs: shapes }) => ({ text, inputs: shapes })), batchSizes, inputs: inputs.map((tensor) => fileTensor(tensor, tensor.dims)), outputs: outputs.map(openOutput) }
}

function fileTensor({ name, datatype, aclDatatype }: OmTensor, shape: readonly number[]): FileTensor {
  return { name, datatype: datatype === '' ? null : datatype, elementType: `ACL data type ${aclDatatype}`, shape }
}

/** Ascending; null: the gears do not differ in a first dimension that all inputs share and all outputs have. */
function gearBatchSizes({ gears, inputs, outputs }: OmPassport): readonly number[] | null {
  if (gears.length === 0 || inputs.some(({ dims }) => dims[0] !== -1)) return null
  const sizes = gears.map(({ inputs: shapes }) => (shapes.every((dims) => dims[0] === shapes[0]?.[0]) ? shapes[0]?.[0] ?? 0 : 0))
  const largest = Math.max(...sizes)
  if (sizes.includes(0) || outputs.some(({ dims }) => dims[0] !== largest && dims[0] !== -1)) return null
  return [...new Set(sizes)].toSorted((a, b) => a - b)
}

/**
 * @param path named in errors only
 * @throws ServerError UNSUPPORTED for a tensor type that the protocol does not know
 */
export function generateOmConfig(passport: OmPassport, path: string, defaultModelFilename: string): string {
  const file = omFile(passport)
  const unserved = [...file.inputs, ...file.outputs].find(({ datatype }) => datatype === null)
  if (unserved !== undefined) throw new ServerError('UNSUPPORTED', `'${path}' cannot be served: its tensor '${unserved.name}' has the ${unserved.elementType}, which the protocol does not know.`)
  const { inputs, outputs } = toSignature(file)
  const isFree = file.graph === 'dynamic' && [...inputs, ...outputs].every(({ dims }) => dims[0] === -1)
  const maxBatchSize = file.batchSizes?.at(-1) ?? (isFree ? DEFAULT_MAX_BATCH_SIZE : 0)
  const config: ModelConfig = {
    ...emptyModelConfig(), backend: 'npu_om', default_model_filename: defaultModelFilename, max_batch_size: maxBatchSize,
    input: inputs.map((tensor) => configInput(tensor, maxBatchSize)), output: outputs.map((tensor) => configOutput(tensor, maxBatchSize)),
    ...(maxBatchSize > 1 ? { dynamic_batching: { ...emptyDynamicBatching(), preferred_batch_size: (file.batchSizes ?? []).filter((size) => size > 1) } } : {}),
  }
  return printNewConfig(config, { tensors: comments(passport, file) })
}

/** Gears in a comment; the rest is counted. */
const MOST_GEARS_SHOWN = 12

function comments({ chips, isSimulated, gears }: OmPassport, file: OmFile): string[] {
  const compiled = chips.length === 0 ? '' : ` for ${chips.join(', ')}`
  const rest = gears.length - MOST_GEARS_SHOWN
  const shown = gears.slice(0, MOST_GEARS_SHOWN).map(({ text }) => text).join('; ')
  const isOpen = gears.length > 0 && file.outputs.some(({ shape }) => shape.slice(file.batchSizes === null ? 0 : 1).includes(-1))
  return [
    ...(compiled === '' ? [] : [`Compiled${compiled}${isSimulated ? ' by the simulated atc: only simulated cards run it' : ''}.`]),
    ...(gears.length === 0 ? [] : [`Gears: ${shown}${rest > 0 ? ` and ${rest} more` : ''}.`]),
    ...(isOpen ? ['How the outputs follow the gears is known only of the loaded model: put in what is fixed of their dims.'] : []),
  ]
}
