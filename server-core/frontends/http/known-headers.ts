/**
 * JSON headers of inference requests that were read before, by their bytes. A client that asks a model the same again and again sends the same header with
 * other tensors after it, and reading the header costs more than all the rest of a small request.
 */
import type { DataType, InferenceRequest } from '../../contract/inference.ts'
import type { InferCall } from './infer-request.ts'

/** A longer one is read each time. Bytes. */
const MAX_HEADER_BYTES = 2048
const MAX_HEADERS = 256

interface KnownInput {
  readonly name: string
  readonly datatype: DataType
  readonly shape: readonly number[]
  readonly byteSize: number
}

interface KnownHeader extends Pick<InferCall, 'outputForms' | 'defaultForm'> {
  readonly request: Omit<InferenceRequest, 'modelName' | 'modelVersion' | 'inputs'>
  readonly inputs: readonly KnownInput[]
  /** Sum of the inputs. */
  readonly binaryLength: number
}

export class KnownHeaders {
  /** In the order in which they were added: the first ones go when there are too many. */
  readonly #headers = new Map<string, KnownHeader>()

  get size(): number { return this.#headers.size }

  /** The name of a header here; null: it is too long for that, or nothing binary follows it. */
  keyOf(header: Buffer, binary: Buffer): string | null {
    return header.length > MAX_HEADER_BYTES || binary.length === 0 ? null : header.toString('latin1')
  }

  /** What reading a body with this binary part gives; undefined: the header is not known, or the binary part has another length than it says. */
  callOf(key: string, binary: Buffer, modelName: string, modelVersion: string): InferCall | undefined {
    const known = this.#headers.get(key)
    if (known === undefined || known.binaryLength !== binary.length) return undefined
    let at = 0
    const inputs = known.inputs.map(({ name, datatype, shape, byteSize }) => {
      const data = binary.subarray(at, at + byteSize)
      at += byteSize
      return { name, datatype, shape, data }
    })
    const { request, outputForms, defaultForm } = known
    // Headers of HTTP are added to the parameters of one request.
    const parameters = Object.assign(Object.create(null) as InferenceRequest['parameters'], request.parameters)
    return { request: { ...request, modelName, modelVersion, inputs, parameters }, outputForms, defaultForm }
  }

  /** Keeps what was read without an error, and nothing of the body. Only for headers whose inputs all follow as binary data and whose outputs are all sent back. */
  add(key: string, { request, outputForms, defaultForm }: InferCall): void {
    const { modelName: _name, modelVersion: _version, inputs, ...rest } = request
    let binaryLength = 0
    for (const { data } of inputs) binaryLength += data.byteLength
    if (this.#headers.size >= MAX_HEADERS) {
      for (const oldest of this.#headers.keys()) { this.#headers.delete(oldest); break }
    }
    this.#headers.set(key, {
      request: { ...rest, parameters: { ...rest.parameters } }, binaryLength, outputForms, defaultForm,
      inputs: inputs.map(({ name, datatype, shape, data }) => ({ name, datatype, shape, byteSize: data.byteLength })),
    })
  }
}
