/**
 * Reads the body of `POST .../infer`: JSON with `data`, or a JSON header and the binary tensors after it (protocol 6.2, 6.3). Binary
 * tensors are views of the body: no byte of them is copied or looked at. Checks come in the protocol's order with its texts.
 */
import { DATA_TYPES, type DataType, type InferenceRequest, type ParameterValue, type Tensor } from '../../contract/inference.ts'
import type { InferenceServer } from '../../inference-server.ts'
import type { ServerError } from '../../server-error.ts'
import { readSharedMemory, type SharedMemoryRange, type SharedMemoryUse } from '../../shared-memory/shared-memory-regions.ts'
import { type Draft, readParameters } from './infer-parameters.ts'
import type { JsonDocument } from './json-document.ts'
import type { KnownHeaders } from './known-headers.ts'
import { internal, invalid, within } from './parse-errors.ts'
import { readDocument, type StreamedJson } from './streamed-json.ts'
import { bytesFromJson, bytesFromStream, numbersFromJson, numbersFromStream } from './tensor-from-json.ts'

/** How one output is to be sent back. */
export interface OutputForm {
  readonly isBinary: boolean
  /** Top-k class strings instead of the tensor; 0: off. */
  readonly classification: number
  /** Where the tensor is written to instead. */
  readonly sharedMemory?: SharedMemoryRange
}

export interface InferCall {
  readonly request: InferenceRequest
  /** Outputs the request listed; those not listed have `defaultForm`. */
  readonly outputForms: ReadonlyMap<string, OutputForm>
  readonly defaultForm: OutputForm
}

export const JSON_FORM: OutputForm = { isBinary: false, classification: 0 }
export const BINARY_FORM: OutputForm = { isBinary: true, classification: 0 }

const ROOT_MEMBERS = ['id', 'parameters', 'inputs', 'outputs']
const INPUT_MEMBERS = ['name', 'datatype', 'shape', 'parameters', 'data']
const SHARED_MEMORY_PARAMETERS = ['shared_memory_region', 'shared_memory_offset', 'shared_memory_byte_size']
const INPUT_PARAMETERS = ['binary_data_size', ...SHARED_MEMORY_PARAMETERS]
const OUTPUT_MEMBERS = ['name', 'parameters']
const OUTPUT_PARAMETERS = ['binary_data', 'classification', ...SHARED_MEMORY_PARAMETERS]

const INT64_MAX = 0x7fff_ffff_ffff_ffffn

export interface InferBody {
  readonly server: InferenceServer
  readonly modelName: string
  readonly modelVersion: string
  /** The JSON part, decompressed. */
  readonly json: Buffer
  /** The binary tensors; the body of a raw request. */
  readonly binary: Buffer
  /** `json` is what was kept of text that was read as it came. */
  readonly streamed?: StreamedJson | undefined
  readonly maxInputSize: number
  /** What this request uses of the registered regions. */
  readonly sharedMemory: SharedMemoryUse
  /** Absent: the header is read in any case. */
  readonly knownHeaders?: KnownHeaders
}

/** @throws ServerError with the protocol's texts: INTERNAL for JSON errors, INVALID_ARG for the rest. */
export function readInferBody(input: InferBody): InferCall {
  const { json, binary, modelName } = input
  const { knownHeaders } = input
  const key = input.streamed === undefined ? knownHeaders?.keyOf(json, binary) ?? null : null
  const known = key === null ? undefined : knownHeaders?.callOf(key, binary, modelName, input.modelVersion)
  if (known !== undefined) return known
  const document = readDocument(json, input.streamed)
  const [idAt = -1, parametersAt = -1, inputsAt = -1, outputsAt = -1] = document.findAll(document.root, ROOT_MEMBERS)
  const id = idAt < 0 ? '' : within("Unable to parse 'id': ", () => document.asString(idAt))
  const draft: Draft = { isBinaryOutput: false, parameters: Object.create(null) as Record<string, ParameterValue> }
  if (parametersAt >= 0) readParameters(document, parametersAt, draft)
  const reader = new InputReader(document, input, id)
  const inputs = reader.readAll(arrayMember(document, inputsAt, 'inputs'))
  if (reader.binaryOffset !== binary.length) throw invalid(`unexpected additional input data for model '${modelName}'`)
  const outputForms = readOutputs(document, outputsAt, input.sharedMemory)
  const { isBinaryOutput, parameters, ...fields } = draft
  const call: InferCall = {
    request: {
      modelName, modelVersion: input.modelVersion, id, inputs, parameters, ...fields,
      requestedOutputs: outputForms.size === 0 ? [] : [...outputForms.keys()],
    },
    outputForms,
    defaultForm: isBinaryOutput ? BINARY_FORM : JSON_FORM,
  }
  if (key !== null && reader.isAllBinary && !usesSharedMemory(outputForms)) knownHeaders?.add(key, call)
  return call
}

function usesSharedMemory(outputForms: ReadonlyMap<string, OutputForm>): boolean {
  for (const { sharedMemory } of outputForms.values()) if (sharedMemory !== undefined) return true
  return false
}

/** Reads the elements of `inputs` in order and hands out the binary section from its start. */
class InputReader {
  readonly #document: JsonDocument
  readonly #input: InferBody
  readonly #id: string
  binaryOffset = 0
  /** Every input was taken from the binary section. */
  isAllBinary = true

  constructor(document: JsonDocument, input: InferBody, id: string) {
    this.#document = document
    this.#input = input
    this.#id = id
  }

  readAll(arrayAt: number): Tensor[] {
    const document = this.#document
    const tensors: Tensor[] = []
    const names = new Set<string>()
    for (let at = document.first(arrayAt); at >= 0; at = document.next(at)) {
      const tensor = this.#readOne(at, names)
      tensors.push(tensor)
    }
    return tensors
  }

  #readOne(at: number, names: Set<string>): Tensor {
    const document = this.#document
    const [nameAt = -1, datatypeAt = -1, shapeAt = -1, parametersAt = -1, dataAt = -1] = document.findAll(at, INPUT_MEMBERS)
    const [binarySizeAt = -1, regionAt = -1, offsetAt = -1, byteSizeAt = -1] = document.findAll(parametersAt, INPUT_PARAMETERS)
    checkOneSource(dataAt, binarySizeAt, regionAt)
    const name = stringMember(document, nameAt, 'name')
    const datatypeText = stringMember(document, datatypeAt, 'datatype')
    const dims = readShape(document, shapeAt)
    if (names.has(name)) throw invalid(`[request id: <id_unknown>] input '${name}' already exists in request`)
    names.add(name)
    const datatype = Object.hasOwn(DATA_TYPES, datatypeText) ? (datatypeText as DataType) : undefined
    if (binarySizeAt < 0) this.isAllBinary = false
    const data = regionAt >= 0 ? readSharedMemory(sharedMemoryRange(document, this.#input.sharedMemory, regionAt, offsetAt, byteSizeAt))
      : binarySizeAt >= 0 ? this.#takeBinary(name, Number(within("Unable to parse 'binary_data_size': ", () => document.asUnsigned(binarySizeAt))))
      : this.#readData(name, datatype, dims, dataAt)
    if (datatype === undefined) throw this.#invalidDatatype(name)
    return { name, datatype, shape: dims.map(Number), data }
  }

  #takeBinary(name: string, byteSize: number): Buffer {
    const { binary, modelName } = this.#input
    const end = this.binaryOffset + byteSize
    if (end > binary.length) throw invalid(`unexpected size for input '${name}', expecting ${end - binary.length} additional bytes for model '${modelName}'`)
    const data = binary.subarray(this.binaryOffset, end)
    this.binaryOffset = end
    return data
  }

  #readData(name: string, datatype: DataType | undefined, dims: readonly bigint[], dataAt: number): Uint8Array {
    const document = this.#document
    const { maxInputSize } = this.#input
    if (datatype === 'FP16' || datatype === 'BF16') {
      throw invalid(`receiving ${datatype} data via JSON is not supported. Please use the binary data format for input ${name}`)
    }
    if (document.kind(dataAt) !== 'array') throw internal("Unable to parse 'data': attempt to access JSON non-array as array")
    const count = elementCount(name, dims)
    if (datatype === undefined) throw invalid(`invalid datatype for input ${name}`)
    if (count === 0n) return new Uint8Array(0)
    const streamed = this.#input.streamed?.data.get(dataAt)
    if (datatype === 'BYTES') {
      const tooLong = (byteSize: number) => tooLarge(name, byteSize, maxInputSize)
      return streamed === undefined ? bytesFromJson(document, dataAt, maxInputSize, tooLong) : bytesFromStream(document, dataAt, maxInputSize, tooLong, streamed)
    }
    const elementSize = DATA_TYPES[datatype].byteSize
    const byteSize = count * BigInt(elementSize)
    if (byteSize > INT64_MAX) {
      throw invalid(`byte size overflow for input '${name}': element count (${count}) * data type size (${elementSize}) exceeds maximum allowed size (${INT64_MAX})`)
    }
    if (byteSize > BigInt(maxInputSize)) throw tooLarge(name, byteSize, maxInputSize)
    return streamed === undefined ? numbersFromJson(document, dataAt, datatype, Number(count)) : numbersFromStream(document, dataAt, datatype, Number(count), streamed)
  }

  /** An unknown datatype in binary form: the mismatch text of the core's check (protocol 8.5). */
  #invalidDatatype(name: string): ServerError {
    const { server, modelName, modelVersion } = this.#input
    const expected = server.modelMetadata(modelName, modelVersion).inputs.find((input) => input.name === name)
    const prefix = `[request id: ${this.#id === '' ? '<id_unknown>' : this.#id}] `
    return expected === undefined
      ? invalid(`unexpected inference input '${name}' for model '${modelName}'`)
      : invalid(`${prefix}inference input '${name}' data-type is 'INVALID', but model '${modelName}' expects '${expected.datatype}'`)
  }
}

function checkOneSource(dataAt: number, binarySizeAt: number, regionAt: number): void {
  const count = (dataAt >= 0 ? 1 : 0) + (binarySizeAt >= 0 ? 1 : 0) + (regionAt >= 0 ? 1 : 0)
  if (count === 1) return
  const found = [dataAt >= 0 ? "'data'" : '', binarySizeAt >= 0 ? "'binary_data_size'" : '', regionAt >= 0 ? "'shared_memory_region'" : '']
  const verdict = count === 0 ? 'But no field is set' : `But set ${found.filter((field) => field !== '').join(' ')}`
  throw invalid(`Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'. ${verdict}`)
}

function readShape(document: JsonDocument, at: number): bigint[] {
  const shapeAt = arrayMember(document, at, 'shape')
  const dims: bigint[] = []
  for (let dimAt = document.first(shapeAt); dimAt >= 0; dimAt = document.next(dimAt)) {
    const elementAt = dimAt
    dims.push(within("Unable to parse 'shape': ", () => document.asUnsigned(elementAt)))
  }
  return dims
}

/** Product of the dims. @throws ServerError INVALID_ARG when it or a dim does not fit int64. */
function elementCount(name: string, dims: readonly bigint[]): bigint {
  let count = 1n
  for (const dim of dims) {
    if (dim > INT64_MAX) throw invalid(`invalid shape for input '${name}': shape [${dims.join(',')}] contains one or more invalid dimensions`)
    count *= dim
    if (count > INT64_MAX) {
      throw invalid(`invalid shape for input '${name}': shape [${dims.join(',')}] causes total element count to exceed maximum size of ${INT64_MAX}`)
    }
  }
  return count
}

/** A byte size that is missing is 0 over HTTP. @throws ServerError NOT_FOUND, INVALID_ARG */
function sharedMemoryRange(document: JsonDocument, sharedMemory: SharedMemoryUse, regionAt: number, offsetAt: number, byteSizeAt: number): SharedMemoryRange {
  const region = within("Unable to parse 'shared_memory_region': ", () => document.asString(regionAt))
  const offset = offsetAt < 0 ? 0n : within("Unable to parse 'shared_memory_offset': ", () => document.asUnsigned(offsetAt))
  const byteSize = byteSizeAt < 0 ? 0n : within("Unable to parse 'shared_memory_byte_size': ", () => document.asUnsigned(byteSizeAt))
  return sharedMemory.range(region, offset, byteSize)
}

function readOutputs(document: JsonDocument, outputsAt: number, sharedMemory: SharedMemoryUse): ReadonlyMap<string, OutputForm> {
  const forms = new Map<string, OutputForm>()
  if (outputsAt < 0) return forms
  arrayMember(document, outputsAt, 'outputs')
  for (let at = document.first(outputsAt); at >= 0; at = document.next(at)) {
    const [nameAt = -1, parametersAt = -1] = document.findAll(at, OUTPUT_MEMBERS)
    const name = stringMember(document, nameAt, 'name')
    if (forms.has(name)) throw invalid(`[request id: <id_unknown>] output '${name}' already exists in request`)
    forms.set(name, readOutputForm(document, parametersAt, sharedMemory))
  }
  return forms
}

function readOutputForm(document: JsonDocument, parametersAt: number, sharedMemory: SharedMemoryUse): OutputForm {
  const [binaryAt = -1, classificationAt = -1, regionAt = -1, offsetAt = -1, byteSizeAt = -1] = document.findAll(parametersAt, OUTPUT_PARAMETERS)
  const classification = classificationAt < 0 ? 0 : Number(within("Unable to set 'classification': ", () => document.asUnsigned(classificationAt)))
  const isBinary = binaryAt >= 0 && within("Unable to parse 'binary_data': ", () => document.asBoolean(binaryAt))
  if (regionAt >= 0) {
    if (classification > 0) throw invalid("Output can't set both 'shared_memory_region' and 'classification'")
    // Triton's own client sends `binary_data: false` with each output in a region.
    if (isBinary) throw invalid("Output can't set both 'shared_memory_region' and 'binary_data'")
    return { isBinary: false, classification: 0, sharedMemory: sharedMemoryRange(document, sharedMemory, regionAt, offsetAt, byteSizeAt) }
  }
  if (classification === 0) return isBinary ? BINARY_FORM : JSON_FORM
  return { isBinary, classification }
}

/** Checks a required array member found at `at` (-1: missing) and hands its offset back. */
function arrayMember(document: JsonDocument, at: number, name: string): number {
  if (at < 0) throw missingMember(name)
  if (document.kind(at) !== 'array') throw internal(`Unable to parse '${name}': attempt to access JSON non-array as array`)
  return at
}

/** The text of a required string member found at `at` (-1: missing). */
function stringMember(document: JsonDocument, at: number, name: string): string {
  if (at < 0) throw missingMember(name)
  return within(`Unable to parse '${name}': `, () => document.asString(at))
}

function missingMember(name: string): ServerError {
  return internal(`Unable to parse '${name}': attempt to access non-existing object member '${name}'`)
}

function tooLarge(name: string, byteSize: number | bigint, limit: number): ServerError {
  return invalid(`JSON input '${name}' has a byte_size (${byteSize} bytes) that exceeds the maximum allowed value of ${limit} bytes. Use --http-max-input-size to increase the limit.`)
}
