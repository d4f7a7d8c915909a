/** ModelInfer messages to and from the server's request and response (protocol 9.2 to 9.4). Raw contents are passed on uncopied. */
import { DATA_TYPES, type DataType, type InferenceRequest, type InferenceResponse, type ParameterValue, type Tensor } from '../../contract/inference.ts'
import type { InferenceServer } from '../../inference-server.ts'
import { ServerError } from '../../server-error.ts'
import { readSharedMemory, type SharedMemoryRange, type SharedMemoryUse } from '../../shared-memory/shared-memory-regions.ts'
import { classify, type OutputClasses } from '../classification.ts'
import { writeOutputToSharedMemory } from '../shared-memory-output.ts'
import { rawFromContents } from './wire/typed-contents.ts'
import type { WireInferRequest, WireInferResponse, WireInput, WireParameter, WireParameters, WireRequestedOutput } from './wire/wire-types.ts'

/** What stands for an output that is elsewhere. */
const NOTHING = new Uint8Array(0)

export interface GrpcInferCall {
  readonly request: InferenceRequest
  /** Outputs to be sent as top-k class strings. */
  readonly classifications: ReadonlyMap<string, number>
  /** Outputs to be written there and not sent. */
  readonly sharedMemoryOutputs: ReadonlyMap<string, SharedMemoryRange>
  /** `triton_enable_empty_final_response`: the end of a decoupled request is told also where no response is left for it. */
  readonly isEmptyFinalWanted: boolean
}

/** @param modelVersion normalised @param sharedMemory to be released when the request is over @throws ServerError INVALID_ARG with the protocol's texts */
export function readInferRequest(server: InferenceServer, wire: WireInferRequest, modelVersion: string, sharedMemory: SharedMemoryUse): GrpcInferCall {
  const modelName = wire.model_name
  const parameters: Record<string, ParameterValue> = Object.create(null) as Record<string, ParameterValue>
  const { isEmptyFinalWanted = false, ...fields } = readParameters(wire.parameters, parameters)
  const classifications = new Map<string, number>()
  const sharedMemoryOutputs = new Map<string, SharedMemoryRange>()
  const requestedOutputs = wire.outputs.map((output) => readOutput(output, classifications, sharedMemory, sharedMemoryOutputs))
  const duplicate = requestedOutputs.find((name, index) => requestedOutputs.indexOf(name) < index)
  if (duplicate !== undefined) throw invalid(`[request id: ${shownId(wire.id)}] output '${duplicate}' already exists in request`)
  const inputs = readInputs(server, wire, modelVersion, sharedMemory)
  return { request: { modelName, modelVersion, id: wire.id, inputs, requestedOutputs, parameters, ...fields }, classifications, sharedMemoryOutputs, isEmptyFinalWanted }
}

export function writeInferResponse(call: GrpcInferCall, classes: ReadonlyMap<string, OutputClasses>, response: InferenceResponse): WireInferResponse {
  const outputs = response.outputs.map((output) => {
    const topK = call.classifications.get(output.name)
    const own = classes.get(output.name)
    return topK === undefined || own === undefined ? output : classify(output, { topK, ...own })
  })
  for (const [name, range] of call.sharedMemoryOutputs) {
    const output = outputs.find((candidate) => candidate.name === name)
    if (output !== undefined) writeOutputToSharedMemory(output, range)
  }
  const parameters = Object.create(null) as Record<string, WireParameter>
  for (const [key, value] of Object.entries(response.parameters)) parameters[key] = wireParameter(value)
  return {
    model_name: response.modelName,
    model_version: response.modelVersion,
    id: response.id,
    parameters,
    outputs: outputs.map(({ name, datatype, shape }) => ({ name, datatype, shape })),
    raw_output_contents: outputs.map(({ name, data }) => (call.sharedMemoryOutputs.has(name) ? NOTHING : data)),
  }
}

/** Raw entries are matched in order to the inputs that have no data of their own; surplus ones are ignored. */
function readInputs(server: InferenceServer, wire: WireInferRequest, modelVersion: string, sharedMemory: SharedMemoryUse): Tensor[] {
  const names = new Set<string>()
  let rawIndex = 0
  return wire.inputs.map((input) => {
    if (names.has(input.name)) throw invalid(`[request id: ${shownId(wire.id)}] input '${input.name}' already exists in request`)
    names.add(input.name)
    const range = sharedMemoryRange(input.parameters, input.name, sharedMemory, () => {
      if (input.contents !== null) throw invalid(`unexpected 'content' provided when using shared memory for input tensor '${input.name}' for model '${wire.model_name}'`)
    })
    const datatype = knownDatatype(server, wire, modelVersion, input)
    const { shape } = input
    if (range !== undefined) return { name: input.name, datatype, shape, data: readSharedMemory(range) }
    if (input.contents !== null) {
      if (wire.raw_input_contents.length > 0) {
        throw invalid(`contents field must not be specified when using raw_input_contents for '${input.name}' for model '${wire.model_name}'`)
      }
      return { name: input.name, datatype, shape, data: rawFromContents(input.contents, datatype, input.name, wire.model_name) }
    }
    const data = wire.raw_input_contents[rawIndex++]
    if (data === undefined) throw invalid(`unable to find data for input tensor '${input.name}' for model '${wire.model_name}' in request.`)
    return { name: input.name, datatype, shape, data }
  })
}

/** @throws ServerError INVALID_ARG: the mismatch text of the core's check, for a name that is no datatype */
function knownDatatype(server: InferenceServer, wire: WireInferRequest, modelVersion: string, input: WireInput): DataType {
  if (Object.hasOwn(DATA_TYPES, input.datatype)) return input.datatype as DataType
  const expected = server.modelMetadata(wire.model_name, modelVersion).inputs.find((known) => known.name === input.name)
  throw invalid(expected === undefined
    ? `unexpected inference input '${input.name}' for model '${wire.model_name}'`
    : `[request id: ${shownId(wire.id)}] inference input '${input.name}' data-type is 'INVALID', but model '${wire.model_name}' expects '${expected.datatype}'`)
}

/** The range that a tensor names; undefined: none. @throws ServerError: wrong kinds and orphans are refused first, as in the protocol */
function sharedMemoryRange(parameters: WireParameters, tensor: string, sharedMemory: SharedMemoryUse, beforeLookup: () => void): SharedMemoryRange | undefined {
  const region = parameters['shared_memory_region']
  for (const key of ['shared_memory_offset', 'shared_memory_byte_size']) {
    const parameter = parameters[key]
    if (parameter === undefined) continue
    if (region === undefined) throw invalid(`'${key}' can not be specified without 'shared_memory_region' parameter for tensor '${tensor}'`)
    if (parameter.parameter_choice !== 'int64_param') throw invalid(`invalid value type for '${key}' parameter for tensor '${tensor}', expected int64_param.`)
  }
  if (region === undefined) return undefined
  if (region.parameter_choice !== 'string_param') throw invalid(`invalid value type for 'shared_memory_region' parameter for tensor '${tensor}', expected string_param.`)
  const byteSize = parameters['shared_memory_byte_size']
  if (byteSize === undefined) {
    throw invalid(`'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor '${tensor}'`)
  }
  beforeLookup()
  return sharedMemory.range(region.string_param ?? '', unsigned(parameters['shared_memory_offset']), unsigned(byteSize))
}

/** A negative one wraps to uint64, as with a sequence id. */
function unsigned(parameter: WireParameter | undefined): bigint { return BigInt.asUintN(64, BigInt(parameter?.int64_param ?? '0')) }

function readOutput(
  output: WireRequestedOutput, classifications: Map<string, number>, sharedMemory: SharedMemoryUse, sharedMemoryOutputs: Map<string, SharedMemoryRange>,
): string {
  const classification = output.parameters['classification']
  if (classification !== undefined) {
    if (classification.parameter_choice !== 'int64_param') throw invalid("invalid value type for 'classification' parameter, expected int64_param")
    const topK = Number(classification.int64_param)
    if (topK <= 0) throw invalid("invalid value for 'classification' parameter, expected >= 0")
    classifications.set(output.name, topK)
  }
  const range = sharedMemoryRange(output.parameters, output.name, sharedMemory, () => {
    if (classification !== undefined) throw invalid("output can't set both 'shared_memory_region' and 'classification'")
  })
  if (range !== undefined) sharedMemoryOutputs.set(output.name, range)
  return output.name
}

interface RequestFields {
  isEmptyFinalWanted?: boolean
  sequenceId?: bigint | string
  sequenceStart?: boolean
  sequenceEnd?: boolean
  priority?: bigint
  timeoutMicroseconds?: number
}

/** Reserved keys become fields, the others go to `custom`. */
function readParameters(parameters: WireParameters, custom: Record<string, ParameterValue>): RequestFields {
  const fields: RequestFields = {}
  for (const [key, value] of Object.entries(parameters)) {
    switch (key) {
      case 'sequence_id': fields.sequenceId = sequenceId(value); break
      case 'sequence_start': fields.sequenceStart = flag(key, value); break
      case 'sequence_end': fields.sequenceEnd = flag(key, value); break
      case 'priority': fields.priority = priority(value); break
      case 'timeout':
        if (value.parameter_choice !== 'int64_param') throw wrongKind(key, 'int64_param')
        // A negative one wraps to uint64, which is longer than any default.
        fields.timeoutMicroseconds = Number(BigInt.asUintN(64, BigInt(value.int64_param ?? '0')))
        break
      case 'triton_enable_empty_final_response': fields.isEmptyFinalWanted = flag(key, value); break
      default:
        if (key.startsWith('triton_')) {
          throw invalid("parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: triton_enable_empty_final_response")
        }
        custom[key] = customParameter(key, value)
    }
  }
  return fields
}

function sequenceId(value: WireParameter): bigint | string {
  switch (value.parameter_choice) {
    case 'int64_param': return BigInt.asUintN(64, BigInt(value.int64_param ?? '0'))
    case 'string_param': return value.string_param ?? ''
    default: throw wrongKind('sequence_id', 'int64_param or string_param')
  }
}

function flag(key: string, value: WireParameter): boolean {
  if (value.parameter_choice !== 'bool_param') throw wrongKind(key, 'bool_param')
  return value.bool_param ?? false
}

function priority(value: WireParameter): bigint {
  switch (value.parameter_choice) {
    case 'uint64_param': return BigInt(value.uint64_param ?? '0')
    case 'int64_param': {
      const given = BigInt(value.int64_param ?? '0')
      if (given < 0n) throw invalid("invalid value for 'priority', expected value >= 0.")
      return given
    }
    default: throw wrongKind('priority', 'int64_param or uint64_param')
  }
}

function customParameter(key: string, value: WireParameter): ParameterValue {
  switch (value.parameter_choice) {
    case 'bool_param': return value.bool_param ?? false
    case 'int64_param': return BigInt(value.int64_param ?? '0')
    case 'string_param': return value.string_param ?? ''
    case 'double_param': return value.double_param ?? 0
    default: throw wrongKind(key, 'int64_param, bool_param, or string_param')
  }
}

function wireParameter(value: ParameterValue): WireParameter {
  switch (typeof value) {
    case 'string': return { string_param: value }
    case 'boolean': return { bool_param: value }
    case 'bigint': return { int64_param: value.toString() }
    default: return { double_param: value }
  }
}

function shownId(id: string): string {
  return id === '' ? '<id_unknown>' : id
}

function wrongKind(key: string, expected: string): ServerError {
  return invalid(`invalid value type for '${key}' parameter, expected ${expected}.`)
}

function invalid(text: string): ServerError {
  return new ServerError('INVALID_ARG', text)
}
