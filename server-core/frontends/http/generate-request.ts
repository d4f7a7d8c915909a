/**
 * Reads the flat body of `generate` and `generate_stream` (protocol section 7): members named like an input become tensors, an object
 * `parameters` is read like the root, everything else is a custom parameter. Nothing is reserved here.
 */
import { DATA_TYPES, type InferenceRequest, type ModelMetadata, type ParameterValue, type Tensor, type TensorMetadata } from '../../contract/inference.ts'
import { customParameter } from './infer-parameters.ts'
import type { JsonDocument } from './json-document.ts'
import { internal, invalid, within } from './parse-errors.ts'
import type { StreamedData, StreamedJson } from './streamed-json.ts'
import { bytesFromElements, bytesFromStream, numbersFromElements, numbersFromStream } from './tensor-from-json.ts'

const NESTED = 'parameters'

export interface GenerateBody {
  readonly document: JsonDocument
  /** `document` is what was kept of text that was read as it came. */
  readonly streamed?: StreamedJson | undefined
  readonly metadata: ModelMetadata
  /** As the path names it; '' where it names none. */
  readonly modelVersion: string
  /** Bytes that all inputs together may have. */
  readonly maxInputSize: number
}

/** @throws ServerError with the protocol's texts */
export function readGenerateBody({ document, streamed, metadata, modelVersion, maxInputSize }: GenerateBody): InferenceRequest {
  if (document.kind(document.root) !== 'object') throw internal('attempt to get members for non-object')
  const idAt = document.find(document.root, 'id')
  const id = idAt < 0 ? '' : within("Unable to parse 'id': ", () => document.asString(idAt))
  const reader = new GenerateReader(document, streamed, metadata, maxInputSize)
  reader.readMembers(document.root)
  return { modelName: metadata.name, modelVersion, id, inputs: reader.inputs, requestedOutputs: [], parameters: reader.parameters }
}

class GenerateReader {
  readonly inputs: Tensor[] = []
  /** Without a prototype, so that no key of the request can reach one. */
  readonly parameters = Object.create(null) as Record<string, ParameterValue>
  readonly #document: JsonDocument
  readonly #streamed: StreamedJson | undefined
  readonly #metadata: ReadonlyMap<string, TensorMetadata>
  readonly #maxInputSize: number
  readonly #names = new Set<string>()
  #byteSize = 0

  constructor(document: JsonDocument, streamed: StreamedJson | undefined, metadata: ModelMetadata, maxInputSize: number) {
    this.#document = document
    this.#streamed = streamed
    this.#metadata = new Map(metadata.inputs.map((input) => [input.name, input]))
    this.#maxInputSize = maxInputSize
  }

  readMembers(objectAt: number): void {
    const document = this.#document
    for (let nameAt = document.first(objectAt); nameAt >= 0;) {
      const valueAt = document.memberValue(nameAt)
      this.#readMember(document.text(nameAt), valueAt)
      nameAt = document.next(valueAt)
    }
  }

  #readMember(key: string, at: number): void {
    const document = this.#document
    const input = this.#metadata.get(key)
    if (key === NESTED) {
      if (input !== undefined) throw invalid(`Keyword '${NESTED}' for nested schema also given as input tensor name`)
      if (document.kind(at) !== 'object') throw internal(`Expected JSON object for keyword: '${NESTED}': attempt to access JSON non-object as object`)
      within(`Converting keyword: '${NESTED}': `, () => { this.readMembers(at) })
    } else if (input !== undefined) this.#addInput(input, at)
    else this.parameters[key] = customParameter(document, key, at)
  }

  #addInput(input: TensorMetadata, at: number): void {
    const { name, datatype } = input
    if (this.#names.has(name)) throw invalid(`[request id: <id_unknown>] input '${name}' already exists in request`)
    this.#names.add(name)
    const document = this.#document
    const streamed = this.#streamed?.data.get(at)
    const count = this.#elementCount(input, at, streamed)
    if (count === 0) {
      this.inputs.push({ name, datatype, shape: [], data: new Uint8Array(0) })
      return
    }
    const shape = fittingShape(input, count)
    if (datatype === 'FP16' || datatype === 'BF16') {
      throw invalid(`receiving ${datatype} data via JSON is not supported. Please use the binary data format for input ${name}`)
    }
    const tooLarge = (byteSize: number) => invalid(
      `request size of ${this.#byteSize + byteSize} bytes with input '${name}' of size ${byteSize} bytes exceeds the maximum allowed input size of ${this.#maxInputSize}. Use --http-max-input-size to increase the limit.`)
    const remaining = this.#maxInputSize - this.#byteSize
    if (count * DATA_TYPES[datatype].byteSize > remaining) throw tooLarge(count * DATA_TYPES[datatype].byteSize)
    const data = streamed === undefined
      ? datatype === 'BYTES' ? bytesFromElements(document, at, remaining, tooLarge) : numbersFromElements(document, at, datatype, count)
      : datatype === 'BYTES' ? bytesFromStream(document, at, remaining, tooLarge, streamed) : numbersFromStream(document, at, datatype, count, streamed)
    this.#byteSize += data.byteLength
    this.inputs.push({ name, datatype, shape, data })
  }

  /** One for a scalar. */
  #elementCount(input: TensorMetadata, at: number, streamed: StreamedData | undefined): number {
    const document = this.#document
    if (streamed?.elements.isNested === true) throw badShape(input.name)
    if (streamed?.isPartial === false) return streamed.elements.count
    if (document.kind(at) !== 'array') {
      if (document.kind(at) === 'object') throw badShape(input.name)
      return 1
    }
    let count = 0
    for (let elementAt = document.first(at); elementAt >= 0; elementAt = document.next(elementAt)) {
      const kind = document.kind(elementAt)
      if (kind === 'array' || kind === 'object') throw badShape(input.name)
      count++
    }
    return streamed === undefined ? count : streamed.elements.count + count - streamed.placeholders
  }
}

/** Fixed dims are divided out from the right, the innermost variable one takes what is left, the others become 1. */
function fittingShape({ name, shape }: TensorMetadata, count: number): number[] {
  let rest = count
  for (const dim of shape) {
    if (dim < 0) continue
    if (dim === 0 || rest % dim !== 0) throw badShape(name)
    rest /= dim
  }
  const innermost = shape.findLastIndex((dim) => dim < 0)
  if (innermost < 0 && rest !== 1) throw badShape(name)
  return shape.map((dim, index) => (dim >= 0 ? dim : index === innermost ? rest : 1))
}

function badShape(input: string): Error {
  return invalid(`The schema can not convert input '${input}' to tensor with proper shape`)
}
