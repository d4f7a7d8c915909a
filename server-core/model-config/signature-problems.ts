/**
 * How a config's tensors differ from those of the ONNX file: the checks of Triton's onnxruntime backend in its order and with its texts.
 * The loader refuses with the first; the editor shows all. Pure.
 */
import { DATA_TYPES } from '../contract/inference.ts'
import type { DataType, DataTypeConfigName } from '../contract/inference.ts'
import type { ModelConfig, ModelInput, ModelOutput } from '../contract/model-config.ts'

/** What is compared of a tensor of the file. */
export interface SignatureTensor {
  readonly name: string
  /** Protocol name; null: the protocol has none. */
  readonly datatype: string | null
  /** ONNX name of the element type. */
  readonly elementType: string
  readonly dims: readonly (number | string)[]
  /** False: the file says nothing about the rank. */
  readonly hasShape: boolean
}

export interface TensorSignature {
  readonly inputs: readonly SignatureTensor[]
  readonly outputs: readonly SignatureTensor[]
}

export type TensorRole = 'input' | 'output'

export type SignatureProblem =
  | { readonly kind: 'cannot-batch'; readonly serverText: string }
  | { readonly kind: 'tensor-count'; readonly role: TensorRole; readonly serverText: string }
  | { readonly kind: 'optional-while-batching' | 'unknown-tensor'; readonly role: TensorRole; readonly index: number; readonly serverText: string }
  | {
    readonly kind: 'no-type' | 'type' | 'fixed-batch-dim' | 'shape' | 'ragged-shape'
    readonly role: TensorRole
    /** Position in the config's list. */
    readonly index: number
    readonly found: SignatureTensor
    readonly serverText: string
  }

/** TYPE_INVALID for an element type that the protocol does not know. */
export function configTypeOf(tensor: SignatureTensor): DataTypeConfigName {
  return tensor.datatype !== null && Object.hasOwn(DATA_TYPES, tensor.datatype) ? DATA_TYPES[tensor.datatype as DataType].configName : 'TYPE_INVALID'
}

/** Symbolic and unknown dims become -1. */
export function plainDims(tensor: SignatureTensor): number[] {
  return tensor.dims.map((dim) => (typeof dim === 'number' ? dim : -1))
}

export function supportsBatching({ inputs, outputs }: TensorSignature): boolean {
  return [...inputs, ...outputs].every((tensor) => plainDims(tensor)[0] === -1)
}

/** `dims` (and `reshape`) that say what the file says: without the batch dim where the model batches; `[ 1 ]` where nothing is left. */
export function configDimsOf(tensor: SignatureTensor, maxBatchSize: number): Pick<ModelInput, 'dims' | 'reshape'> {
  const dims = plainDims(tensor).slice(maxBatchSize > 0 ? 1 : 0)
  if (dims.length > 0) return { dims }
  return { dims: [1], ...(maxBatchSize > 0 ? { reshape: { shape: [] } } : {}) }
}

/** The one check before completion: a list is missing, and max_batch_size asks for what the file cannot do. */
export function* completionProblems(config: ModelConfig, signature: TensorSignature): Generator<SignatureProblem, void> {
  if (config.max_batch_size === 0 || (config.input.length > 0 && config.output.length > 0) || supportsBatching(signature)) return
  yield {
    kind: 'cannot-batch',
    serverText: `autofill failed for model '${config.name}': model does not support batching while non-zero max_batch_size is specified`,
  }
}

/** @param config after completion */
export function* signatureProblems(config: ModelConfig, signature: TensorSignature): Generator<SignatureProblem, void> {
  const expectedInputs = config.input.length + scheduledInputs(config).length
  if (signature.inputs.length !== expectedInputs) {
    yield {
      kind: 'tensor-count', role: 'input',
      serverText: `unable to load model '${config.name}', configuration expects ${expectedInputs} inputs, model provides ${signature.inputs.length}`,
    }
  }
  const inputs = provision(signature.inputs)
  for (const [index, input] of config.input.entries()) {
    if (input.optional && config.max_batch_size > 0) {
      yield {
        kind: 'optional-while-batching', role: 'input', index,
        serverText: `model '${config.name}', tensor '${input.name}': optional inputs are supported only if max_batch_size is 0`,
      }
    }
    yield* tensorProblems(config, input, index, inputs, 'input')
  }
  if (signature.outputs.length < config.output.length) {
    yield {
      kind: 'tensor-count', role: 'output',
      serverText: `unable to load model '${config.name}', configuration expects ${config.output.length} outputs, model provides ${signature.outputs.length}`,
    }
  }
  const outputs = provision(signature.outputs)
  for (const [index, output] of config.output.entries()) yield* tensorProblems(config, output, index, outputs, 'output')
}

/** Inputs of the model that are not in `input`: sequence controls and states, batch inputs. */
export function scheduledInputs(config: ModelConfig): string[] {
  const controls = (config.sequence_batching?.['control_input'] ?? []) as readonly { readonly name: string }[]
  const states = (config.sequence_batching?.['state'] ?? []) as readonly { readonly input_name: string }[]
  const batchInputs = config.batch_input as readonly { readonly target_name: readonly string[] }[]
  return [...controls.map(({ name }) => name), ...states.map((state) => state.input_name), ...batchInputs.flatMap((entry) => entry.target_name)]
}

interface Provision {
  readonly byName: ReadonlyMap<string, SignatureTensor>
  /** For a text. */
  readonly names: string
}

function provision(tensors: readonly SignatureTensor[]): Provision {
  return { byName: new Map(tensors.map((tensor) => [tensor.name, tensor])), names: tensors.map(({ name }) => name).toSorted().join(', ') }
}

function* tensorProblems(
  config: ModelConfig, tensor: ModelInput | ModelOutput, index: number, provided: Provision, role: TensorRole,
): Generator<SignatureProblem, void> {
  const found = provided.byName.get(tensor.name)
  if (found === undefined) {
    yield { kind: 'unknown-tensor', role, index, serverText: `unexpected inference ${role} '${tensor.name}', allowed ${role}s are: ${provided.names}` }
    return
  }
  const providedType = configTypeOf(found)
  if (tensor.data_type === 'TYPE_INVALID') {
    yield { kind: 'no-type', role, index, found, serverText: `unsupported datatype ${tensor.data_type} for ${role} '${tensor.name}' for model '${config.name}'` }
  } else if (tensor.data_type !== providedType) {
    yield {
      kind: 'type', role, index, found,
      serverText: `unable to load model '${config.name}', configuration expects datatype ${tensor.data_type} for ${role} '${tensor.name}', `
        + `model provides ${providedType === 'TYPE_INVALID' ? found.elementType : providedType}`,
    }
  }
  if (!found.hasShape) return
  if ('allow_ragged_batch' in tensor && tensor.allow_ragged_batch && config.max_batch_size > 0) {
    yield* raggedProblems(config, tensor, index, found)
    return
  }
  // What is scattered has the shape that the model likes.
  if (role === 'output' && config.batch_output.some((entry) => entry.target_name.includes(tensor.name))) return
  yield* shapeProblems(config, tensor, index, found, role)
}

/** A ragged batch is one flat tensor. */
function* raggedProblems(config: ModelConfig, tensor: ModelInput, index: number, found: SignatureTensor): Generator<SignatureProblem, void> {
  const modelShape = plainDims(found)
  if (modelShape.length === 1 && modelShape[0] === -1) return
  yield {
    kind: 'ragged-shape', role: 'input', index, found,
    serverText: `unable to load model '${config.name}', configuration expects model provides input with shape [-1] for ragged input '${tensor.name}', `
      + `model provides ${shapeText(modelShape)}`,
  }
}

function shapeText(shape: readonly number[]): string {
  return `[${shape.join(',')}]`
}

function* shapeProblems(
  config: ModelConfig, tensor: ModelInput | ModelOutput, index: number, found: SignatureTensor, role: TensorRole,
): Generator<SignatureProblem, void> {
  const modelShape = plainDims(found)
  const dims = tensor.reshape?.shape ?? tensor.dims
  const prefix = `model '${config.name}', tensor '${tensor.name}': `
  const isBatching = config.max_batch_size > 0
  if (isBatching && modelShape[0] !== -1) {
    yield {
      kind: 'fixed-batch-dim', role, index, found,
      serverText: `${prefix}for the model to support batching the shape should have at least 1 dimension and the first dimension must be -1; but shape `
        + `expected by the model is ${shapeText(modelShape)}`,
    }
    return
  }
  // A scalar of the model is written `dims: [ 1 ]`: a config cannot say rank 0.
  if (!isBatching && modelShape.length === 0 && dims.length === 1 && dims[0] === 1) return
  const complete = isBatching ? [-1, ...dims] : dims
  const isMatch = complete.length === modelShape.length && modelShape.every((dim, position) => dim === -1 || dim === complete[position])
  if (isMatch) return
  const configured = isBatching
    ? `an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape ${shapeText(complete)}`
    : `shape ${shapeText(complete)}`
  yield {
    kind: 'shape', role, index, found,
    serverText: `${prefix}the model expects ${modelShape.length} dimensions (shape ${shapeText(modelShape)}) but the model configuration specifies `
      + `${complete.length} dimensions (${configured})`,
  }
}
