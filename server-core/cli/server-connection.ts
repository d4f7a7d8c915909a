/** Commands that speak to a running server: this one or any other that knows Triton's HTTP protocol. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { buffer as readAll } from 'node:stream/consumers'
import { stringify } from 'lossless-json'
import { DATA_TYPES, type DataType, type InferenceRequest, type InferenceResponse, type ParameterValue, type Tensor } from '../contract/inference.ts'
import { ServerError } from '../server-error.ts'

/** Where servers listen unless told otherwise. */
export const DEFAULT_SERVER = 'http://127.0.0.1:8000'

export class ServerConnection {
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>

  /**
   * @param address `http://host:port` with any path before `/v2`, or `host:port`
   * @param headers sent with every call, as `Name:Value`: for APIs that the server restricts
   * @throws ServerError INVALID_ARG
   */
  constructor(address: string, headers: readonly string[] = []) {
    const url = URL.parse(/^https?:\/\//.test(address) ? address : `http://${address}`)
    if (url === null || url.search !== '' || url.hash !== '') throw new ServerError('INVALID_ARG', `--server expects an address like ${DEFAULT_SERVER}, got: ${address}`)
    this.#base = url.href.replace(/\/+$/, '')
    this.#headers = Object.fromEntries(headers.map((header) => {
      const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(header) ?? []
      if (name === undefined || value === undefined) throw new ServerError('INVALID_ARG', `--header expects Name:Value, got: ${header}`)
      return [name, value]
    }))
  }

  /**
   * @param path from `/v2` on
   * @returns the JSON document that the server answers with, null where the answer is empty
   * @throws ServerError with the server's own text, or that says why there is none
   */
  async call(method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> {
    const { status, content } = await this.#send(method, path, body === undefined ? undefined : Buffer.from(JSON.stringify(body)), 'application/json')
    return this.#document(path, status, content)
  }

  /**
   * One inference over HTTP with the binary tensor extension both ways, so that no value passes through text.
   * @throws ServerError as `call`, and where the answer is none
   */
  async infer(request: InferenceRequest): Promise<InferenceResponse> {
    const { modelName, modelVersion, id, inputs, requestedOutputs, parameters, sequenceId, sequenceStart, sequenceEnd } = request
    const header = Buffer.from(stringify({
      ...(id === '' ? {} : { id }),
      parameters: {
        ...parameters, binary_data_output: true,
        ...(sequenceId === undefined ? {} : { sequence_id: sequenceId, sequence_start: sequenceStart === true, sequence_end: sequenceEnd === true }),
      },
      inputs: inputs.map(({ name, datatype, shape, data }) => ({ name, datatype, shape, parameters: { binary_data_size: data.byteLength } })),
      ...(requestedOutputs.length === 0 ? {} : { outputs: requestedOutputs.map((name) => ({ name, parameters: { binary_data: true } })) }),
    }) ?? '')
    const path = `/v2/models/${encodeURIComponent(modelName)}${modelVersion === '' ? '' : `/versions/${encodeURIComponent(modelVersion)}`}/infer`
    const body = Buffer.concat([header, ...inputs.map(({ data }) => data)])
    const { status, content, headerLength } = await this.#send('POST', path, body, 'application/octet-stream', { 'inference-header-content-length': String(header.length) })
    const document = this.#document(path, status, content.subarray(0, headerLength ?? content.length))
    return inferenceResponse(document, headerLength === null ? Buffer.alloc(0) : content.subarray(headerLength), `${this.#base}${path}`)
  }

  /** @throws ServerError with the server's own text, or that says why there is none */
  #document(path: string, status: number, content: Buffer): unknown {
    const document = documentIn(content.toString())
    if (status >= 200 && status < 300) {
      if (document === undefined) throw new ServerError('INTERNAL', `${this.#base}${path} answered with something else than JSON: is a Triton-compatible server there?`)
      return document
    }
    const said = typeof document === 'object' && document !== null && 'error' in document && typeof document.error === 'string' ? document.error : null
    if (said === null) throw new ServerError('UNAVAILABLE', `${this.#base}${path} answered with status ${status}: is a Triton-compatible server there?`)
    throw new ServerError(status === 404 ? 'NOT_FOUND' : status < 500 ? 'INVALID_ARG' : 'UNAVAILABLE', said)
  }

  /** Without a limit in time: loads take minutes, and fetch gives up after five. */
  async #send(method: string, path: string, content: Buffer | undefined, contentType: string, more: Readonly<Record<string, string>> = {}): Promise<Answer> {
    try {
      const send = this.#base.startsWith('https:') ? httpsRequest : httpRequest
      const request = send(`${this.#base}${path}`, {
        method, headers: { ...this.#headers, ...(content === undefined ? {} : { 'content-type': contentType, 'content-length': content.length, ...more }) },
      })
      request.end(content)
      const [response] = await once(request, 'response') as [IncomingMessage]
      const headerLength = response.headers['inference-header-content-length']
      return { status: response.statusCode ?? 0, content: await readAll(response), headerLength: typeof headerLength === 'string' ? Number(headerLength) : null }
    } catch (cause) {
      throw new ServerError('UNAVAILABLE', `no answer from ${this.#base} (${reasonOf(cause)}): start a server with npu-console serve, or name it with --server=http://HOST:PORT`, { cause })
    }
  }
}

interface Answer {
  readonly status: number
  readonly content: Buffer
  /** Bytes of the JSON before binary tensors; null: all is JSON. */
  readonly headerLength: number | null
}

/** The answer to an inference whose outputs were asked for as bytes. @throws ServerError INTERNAL where it is something else */
function inferenceResponse(document: unknown, binary: Buffer, from: string): InferenceResponse {
  const { model_name = '', model_version = '', id = '', parameters = {}, outputs } = (document ?? {}) as {
    readonly model_name?: string; readonly model_version?: string; readonly id?: string; readonly parameters?: Readonly<Record<string, ParameterValue>>
    readonly outputs?: readonly { readonly name: string; readonly datatype: DataType; readonly shape: readonly number[]; readonly parameters?: { readonly binary_data_size?: number } }[]
  }
  if (!Array.isArray(outputs)) throw new ServerError('INTERNAL', `${from} answered without outputs: is a Triton-compatible server there?`)
  let offset = 0
  const tensors = outputs.map(({ name, datatype, shape, parameters: own }): Tensor => {
    const size = own?.binary_data_size
    if (size === undefined || !(datatype in DATA_TYPES)) throw new ServerError('UNSUPPORTED', `output '${name}' (${datatype}) came without binary data, which was asked for: the server lacks the extension binary_tensor_data`)
    if (offset + size > binary.length) throw new ServerError('INTERNAL', `output '${name}' has ${size} bytes, ${binary.length - offset} came`)
    offset += size
    return { name, datatype, shape, data: binary.subarray(offset - size, offset) }
  })
  return { modelName: model_name, modelVersion: model_version, id, parameters, outputs: tensors }
}

/** @returns undefined where the text is no JSON, null where there is none */
function documentIn(text: string): unknown {
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function reasonOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'ECONNREFUSED') return 'nothing listens there'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'there is no host of this name'
  return error instanceof Error && error.message !== '' ? error.message : String(code)
}
