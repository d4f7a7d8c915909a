/** The raw binary request (`Inference-Header-Content-Length: 0`): the whole body is the model's only input (protocol 6.6). */
import type { ModelConfig, ModelInput } from '../../contract/model-config.ts'
import { DATA_TYPES, type DataType, type Tensor } from '../../contract/inference.ts'
import { ServerError } from '../../server-error.ts'
import { BINARY_FORM, type InferBody, type InferCall } from './infer-request.ts'

/** @throws ServerError INVALID_ARG when shape or size cannot be deduced, with the protocol's texts. */
export function readRawBody(input: InferBody): InferCall {
  const { binary: body, modelName, modelVersion, maxInputSize, server } = input
  if (body.length > maxInputSize) {
    throw new ServerError('INVALID_ARG', `Raw input has a byte_size (${body.length} bytes) that exceeds the maximum allowed value of ${maxInputSize} bytes. Use --http-max-input-size to increase the limit.`)
  }
  const config = server.modelConfig(modelName, modelVersion)
  const only = config.input[0]
  if (only === undefined || config.input.length !== 1) {
    throw invalid(`Raw request must only have 1 input (found 1) to be deduced but got ${config.input.length} inputs in '${modelName}' model configuration`)
  }
  const tensor = deduceTensor(config, only, body)
  return {
    request: { modelName, modelVersion, id: '', inputs: [tensor], requestedOutputs: [], parameters: {} },
    outputForms: new Map(),
    defaultForm: BINARY_FORM,
  }
}

function deduceTensor(config: ModelConfig, input: ModelInput, body: Buffer): Tensor {
  const datatype = input.data_type === 'TYPE_STRING' ? 'BYTES' : (input.data_type.slice('TYPE_'.length) as DataType)
  const variable = input.dims.filter((dim) => dim < 0).length
  if (variable > 1) throw invalid(`The shape of the raw input '${input.name}' can not be deduced because there are more than one variable-sized dimension`)
  const batch = config.max_batch_size > 0 ? [1] : []
  const fixed = input.dims.reduce((product, dim) => (dim < 0 ? product : product * dim), 1)
  if (datatype === 'BYTES') {
    if (fixed !== 1) throw invalid(`For BYTE datatype raw input '${input.name}', the model must have input shape [1]`)
    const data = Buffer.allocUnsafe(body.length + 4)
    data.writeUInt32LE(body.length, 0)
    data.set(body, 4)
    return { name: input.name, datatype, shape: [...batch, ...input.dims.map((dim) => Math.abs(dim))], data }
  }
  const unit = fixed * DATA_TYPES[datatype].byteSize
  const deduced = variable === 0 ? 1 : unit === 0 ? 0 : Math.floor(body.length / unit)
  const expected = deduced * unit
  if (expected !== body.length && body.length > 0) {
    throw invalid(`input byte size mismatch for input 'raw_input' for model '${config.name}'. Expected ${expected}, got ${body.length}`)
  }
  return { name: input.name, datatype, shape: [...batch, ...input.dims.map((dim) => (dim < 0 ? deduced : dim))], data: body }
}

function invalid(text: string): ServerError {
  return new ServerError('INVALID_ARG', `[request id: <id_unknown>] ${text}`)
}
