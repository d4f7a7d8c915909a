import { DATA_TYPES, type DataType, type DataTypeConfigName, type InferenceRequest, type Tensor } from '../contract/inference.ts'
import type { ModelConfig, ModelInput } from '../contract/model-config.ts'
import { requestIdPrefix } from '../scheduling/refusals.ts'
import { correlationControl } from '../scheduling/sequence-controls.ts'
import { ServerError } from '../server-error.ts'

/** A request that fits its model: inputs in the shapes the backend sees (reshape applied), outputs named. */
export interface ValidatedRequest {
  readonly inputs: readonly Tensor[]
  readonly requestedOutputs: readonly string[]
  /** First dimension of the inputs where the model batches, else 1. */
  readonly batchSize: number
}

const NO_BYTES = new Uint8Array(0)
const BATCH_NOTE = 'NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. '
  + 'If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. '
  + 'See the model configuration docs for more info on max_batch_size.'

const PROTOCOL_NAMES = new Map<DataTypeConfigName, DataType>(
  (Object.keys(DATA_TYPES) as DataType[]).map((name) => [DATA_TYPES[name].configName, name]),
)

/** `TYPE_FP32` to `FP32`. @throws ServerError for TYPE_INVALID */
export function protocolDataType(configName: DataTypeConfigName): DataType {
  const name = PROTOCOL_NAMES.get(configName)
  if (name === undefined) throw new ServerError('INTERNAL', `data type ${configName} has no protocol name`)
  return name
}

/** Checks requests against one model's config, in the order and with the texts of the protocol (Triton protocol, section 8). */
export class RequestValidator {
  readonly #model: string
  readonly #maxBatchSize: number
  readonly #inputs: ReadonlyMap<string, { readonly config: ModelInput; readonly datatype: DataType }>
  readonly #required: readonly string[]
  readonly #outputNames: readonly string[]
  readonly #outputSet: ReadonlySet<string>
  /** Null: no sequence model, or one that does not look at the id. */
  readonly #correlation: { readonly name: string; readonly datatype: DataType } | null

  constructor(config: ModelConfig) {
    this.#model = config.name
    this.#maxBatchSize = config.max_batch_size
    this.#inputs = new Map(config.input.map((input) => [input.name, { config: input, datatype: protocolDataType(input.data_type) }]))
    this.#required = config.input.filter((input) => !input.optional).map((input) => input.name)
    this.#outputNames = config.output.map((output) => output.name)
    this.#outputSet = new Set(this.#outputNames)
    this.#correlation = config.sequence_batching === undefined ? null : correlationControl(config.sequence_batching)
  }

  /** @throws ServerError INVALID_ARG */
  validate(request: InferenceRequest): ValidatedRequest {
    const refuse = (text: string): never => { throw new ServerError('INVALID_ARG', requestIdPrefix(request.id) + text) }
    for (const output of request.requestedOutputs) {
      if (!this.#outputSet.has(output)) throw new ServerError('INVALID_ARG', `unexpected inference output '${output}' for model '${this.#model}'`)
    }
    if (!this.#hasEveryInputOnce(request.inputs)) this.#checkInputNames(request, refuse)
    const batchSize = this.#maxBatchSize > 0 ? this.#checkBatch(request.inputs, refuse) : 1
    let { inputs } = request
    for (let i = 0; i < inputs.length; i++) {
      const input = inputs[i] as Tensor
      const checked = this.#checkInput(input, batchSize, refuse)
      if (checked !== input) inputs = inputs.with(i, checked)
    }
    this.#checkCorrelationId(request.sequenceId ?? 0n, refuse)
    return {
      inputs,
      requestedOutputs: request.requestedOutputs.length > 0 ? request.requestedOutputs : this.#outputNames,
      batchSize,
    }
  }

  /** Nothing is wrong with the names of the inputs, and none is left out. False says nothing. */
  #hasEveryInputOnce(inputs: readonly Tensor[]): boolean {
    if (inputs.length !== this.#inputs.size) return false
    for (let i = 0; i < inputs.length; i++) {
      const { name } = inputs[i] as Tensor
      if (!this.#inputs.has(name)) return false
      for (let other = 0; other < i; other++) if (inputs[other]?.name === name) return false
    }
    return true
  }

  #checkInputNames(request: InferenceRequest, refuse: (text: string) => never): void {
    const names = request.inputs.map((input) => input.name)
    const count = names.length
    const total = this.#inputs.size
    if (count > total || count < this.#required.length) {
      const expected = this.#required.length === total ? `expected ${total} inputs` : `expected number of inputs between ${this.#required.length} and ${total}`
      const given = new Set(names)
      const missing = this.#required.filter((name) => !given.has(name))
      const missingText = missing.length === 0 && count > total ? ']' : quotedList(missing)
      refuse(`${expected} but got ${count} inputs for model '${this.#model}'. Got input(s) ${quotedList(names)}, but missing required input(s) `
        + `${missingText}. Please provide all required input(s).`)
    }
    for (const name of names) {
      if (!this.#inputs.has(name)) throw new ServerError('INVALID_ARG', `unexpected inference input '${name}' for model '${this.#model}'`)
    }
    if (new Set(names).size < count) {
      const twice = names.find((name, index) => names.indexOf(name) < index) ?? ''
      refuse(`input '${twice}' already exists in request`)
    }
    const given = new Set(names)
    const missing = this.#required.filter((name) => !given.has(name))
    if (missing.length > 0) {
      refuse(`expected number of inputs between ${this.#required.length} and ${total} but got ${count} inputs for model '${this.#model}'. `
        + `Got input(s) ${quotedList(names)}, but missing required input(s) ${quotedList(missing)}. Please provide all required input(s).`)
    }
  }

  #checkBatch(inputs: readonly Tensor[], refuse: (text: string) => never): number {
    let batchSize: number | null = null
    for (const input of inputs) {
      const first = input.shape[0]
      if (first === undefined) return refuse(`input '${input.name}' has no shape but model requires batch dimension for '${this.#model}'`)
      if (batchSize === null) batchSize = first
      else if (batchSize !== first) return refuse(`input '${input.name}' batch size does not match other inputs for '${this.#model}'`)
    }
    if (batchSize !== null && batchSize > this.#maxBatchSize) refuse(`inference request batch-size must be <= ${this.#maxBatchSize} for '${this.#model}'`)
    return batchSize ?? 1
  }

  #checkInput(tensor: Tensor, batchSize: number, refuse: (text: string) => never): Tensor {
    const known = this.#inputs.get(tensor.name)
    if (known === undefined) return refuse(`unexpected inference input '${tensor.name}' for model '${this.#model}'`)
    const { config, datatype } = known
    if (tensor.datatype !== datatype) {
      refuse(`inference input '${tensor.name}' data-type is '${tensor.datatype}', but model '${this.#model}' expects '${datatype}'`)
    }
    const { shape } = tensor
    const isBatching = this.#maxBatchSize > 0
    const first = isBatching ? 1 : 0
    // A first dim of 0 is compared with one full item, as Triton does: only an input without elements passes.
    let elements = isBatching && batchSize > 0 ? batchSize : 1
    let isFitting = shape.length - first === config.dims.length
    for (let i = 0; i < shape.length; i++) {
      const dim = shape[i] as number
      if (dim < 0) refuse(`All input dimensions should be specified for input '${tensor.name}' for model '${this.#model}', got [${shape.join(',')}]`)
      if (i < first) continue
      const expected = config.dims[i - first]
      if (expected !== -1 && expected !== dim) isFitting = false
      elements *= dim
    }
    if (!isFitting) {
      const expected = isBatching ? [-1, ...config.dims] : config.dims
      refuse(`unexpected shape for input '${tensor.name}' for model '${this.#model}'. Expected [${expected.join(',')}], got [${shape.join(',')}]. `
        + (isBatching ? BATCH_NOTE : ''))
    }
    if (datatype === 'BYTES') this.#checkStrings(tensor, elements, refuse)
    else {
      const expected = elements * DATA_TYPES[datatype].byteSize
      if (tensor.data.byteLength !== expected) {
        refuse(`input byte size mismatch for input '${tensor.name}' for model '${this.#model}'. Expected ${expected}, got ${tensor.data.byteLength}`)
      }
    }
    // That item is no part of the batch: its bytes would shift those of the requests it runs with.
    const checked = isBatching && batchSize === 0 ? { ...tensor, data: NO_BYTES } : tensor
    if (config.reshape === undefined) return checked
    const reshaped = reshapeDims(config.dims, shape.slice(first), config.reshape.shape)
    return { ...checked, shape: isBatching ? [batchSize, ...reshaped] : reshaped }
  }

  /** No id at all is for the sequence batcher to refuse; an empty one is text. */
  #checkCorrelationId(id: bigint | string, refuse: (text: string) => never): void {
    if (this.#correlation === null || id === 0n) return
    const { name, datatype } = this.#correlation
    const isText = typeof id === 'string'
    if (isText !== (datatype === 'BYTES')) {
      refuse(`sequence batching control '${name}' data-type is '${isText ? 'BYTES' : 'UINT64'}', but model '${this.#model}' expects '${datatype}'`)
    }
  }

  #checkStrings(tensor: Tensor, expected: number, refuse: (text: string) => never): void {
    const where = `for inference input '${tensor.name}' for model '${this.#model}'`
    const view = new DataView(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength)
    let position = 0
    let count = 0
    while (position < view.byteLength) {
      if (count >= expected) refuse(`unexpected number of string elements ${count + 1} ${where}, expecting ${expected}`)
      const remaining = view.byteLength - position
      if (remaining < 4) {
        refuse(`incomplete string length indicator ${where}, expecting 4 bytes but only ${remaining} bytes available. `
          + 'Please make sure the string length indicator is in one buffer.')
      }
      const length = view.getUint32(position, true)
      if (length > remaining - 4) refuse(`incomplete string data ${where}, expecting string of length ${length} but only ${remaining - 4} bytes available.`)
      position += 4 + length
      count++
    }
    if (count !== expected) refuse(`expected ${expected} string elements ${where}, got ${count}`)
  }
}

/**
 * The dims of a tensor after `reshape`, the batch dimension aside: variable dims are carried over in order.
 * @param from config dims of the given shape (−1 = variable) @param actual the shape itself @param to config dims of the wanted shape
 */
export function reshapeDims(from: readonly number[], actual: readonly number[], to: readonly number[]): number[] {
  const variable = actual.filter((_dim, index) => from[index] === -1)
  let next = 0
  return to.map((dim) => (dim === -1 ? variable[next++] ?? 1 : dim))
}

function quotedList(names: readonly string[]): string {
  return `[${names.map((name) => `'${name}'`).join(',')}]`
}
