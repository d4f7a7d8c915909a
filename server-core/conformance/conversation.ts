/** The clients that a case speaks through. They note every text the server said, so that the runner can check what the case claims. */
import { DATA_TYPES, type DataType, type Tensor } from '../contract/inference.ts'
import type { RunningServer } from '../start-server.ts'
import type { GrpcReply } from '../testing/grpc-client.ts'
import type { HttpAnswer, HttpCall, HttpClient } from '../testing/http-client.ts'
import type { ServedRepository } from '../testing/served-repository.ts'
import type { InferCall } from './conformance-case.ts'

export class Conversation {
  readonly served: ServedRepository
  /** Everything the server said to this case. */
  readonly heard: string[] = []

  constructor(served: ServedRepository) { this.served = served }

  get running(): RunningServer { return this.served.running }

  /** For texts that came another way than through this class. */
  hear(text: string): void { this.heard.push(text) }

  http(call: HttpCall): Promise<HttpAnswer> { return this.#send(this.served.http, call) }

  metrics(call: HttpCall): Promise<HttpAnswer> { return this.#send(this.served.metrics, call) }

  async grpc(method: string, request: object): Promise<GrpcReply> {
    const reply = await this.served.grpc.call(method, request)
    this.hear(JSON.stringify(reply))
    return reply
  }

  async grpcFailure(method: string, request: object): Promise<{ code: number; details: string }> {
    const failure = await this.served.grpc.failure(method, request)
    this.hear(failure.details)
    return failure
  }

  /** `POST .../infer` with this JSON document. */
  inferJson(model: string, document: object | string, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
    return this.http({ method: 'POST', path: `/v2/models/${model}/infer`, body: typeof document === 'string' ? document : JSON.stringify(document), headers })
  }

  inferHttp(call: InferCall): Promise<HttpAnswer> { return this.http(httpInferCall(call)) }

  inferGrpc(call: InferCall): Promise<GrpcReply> { return this.grpc('ModelInfer', grpcInferRequest(call)) }

  async #send(client: HttpClient, call: HttpCall): Promise<HttpAnswer> {
    const answer = await client.send(call)
    this.hear(answer.text)
    const message = errorOf(answer.text)
    if (message !== undefined) this.hear(message)
    return answer
  }
}

/** The message of `{"error":"..."}`; undefined: the text is none. */
export function errorOf(text: string): string | undefined {
  if (!text.startsWith('{"error":')) return undefined
  const { error } = JSON.parse(text) as { error: unknown }
  return typeof error === 'string' ? error : undefined
}

export function httpInferCall({ model, version, id, inputs, outputs = [], parameters = {} }: InferCall): HttpCall {
  const json = Buffer.from(JSON.stringify({
    ...(id === undefined ? {} : { id }), parameters: { binary_data_output: true, ...parameters },
    inputs: inputs.map(({ name, datatype, shape, data }) => ({ name, datatype, shape, parameters: { binary_data_size: data.length } })),
    outputs: outputs.map((name) => ({ name, parameters: { binary_data: true } })),
  }))
  return {
    path: `/v2/models/${model}${version === undefined ? '' : `/versions/${version}`}/infer`,
    body: Buffer.concat([json, ...inputs.map(({ data }) => data)]), headers: { 'inference-header-content-length': String(json.length) },
  }
}

export function grpcInferRequest({ model, version = '', id = '', inputs, outputs = [], parameters = {} }: InferCall): object {
  return {
    model_name: model, model_version: version, id, inputs: inputs.map(({ name, datatype, shape }) => ({ name, datatype, shape })),
    outputs: outputs.map((name) => ({ name })), raw_input_contents: inputs.map(({ data }) => data),
    parameters: Object.fromEntries(Object.entries(parameters).map(([key, value]) => [key, typeof value === 'string' ? { string_param: value } : { bool_param: value }])),
  }
}

interface JsonOutput { readonly name: string; readonly datatype: DataType; readonly shape: readonly number[]; readonly parameters?: { readonly binary_data_size: number } }

/** The outputs of a binary HTTP answer. */
export function httpOutputs(answer: HttpAnswer): Tensor[] {
  const jsonLength = Number(answer.headers['inference-header-content-length'] ?? answer.body.length)
  const { outputs } = JSON.parse(answer.body.toString('utf8', 0, jsonLength)) as { outputs: readonly JsonOutput[] }
  let at = jsonLength
  return outputs.map(({ name, datatype, shape, parameters }) => {
    const data = answer.body.subarray(at, at += parameters?.binary_data_size ?? 0)
    return tensor(name, datatype, shape, data)
  })
}

/** The outputs of a ModelInfer reply. */
export function grpcOutputs(reply: GrpcReply): Tensor[] {
  const outputs = reply['outputs'] as readonly { name: string; datatype: DataType; shape: readonly (string | number)[] }[]
  const contents = reply['raw_output_contents'] as readonly Buffer[]
  return outputs.map(({ name, datatype, shape }, index) => tensor(name, datatype, shape.map(Number), contents[index] ?? new Uint8Array()))
}

/** A tensor over these bytes; a number: so many zeros. */
export function tensor(name: string, datatype: DataType, shape: readonly number[], data: ArrayBufferView | number): Tensor {
  const bytes = typeof data === 'number' ? new Uint8Array(data) : new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice()
  return { name, datatype, shape, data: bytes }
}

/** A tensor of zeros of its full size. Not for BYTES. */
export function zeros(name: string, datatype: Exclude<DataType, 'BYTES'>, shape: readonly number[]): Tensor {
  return tensor(name, datatype, shape, shape.reduce((product, dim) => product * dim, DATA_TYPES[datatype].byteSize))
}

/** BYTES elements in their raw form. */
export function rawStrings(...elements: readonly (string | Uint8Array)[]): Uint8Array {
  return new Uint8Array(Buffer.concat(elements.flatMap((element) => {
    const bytes = Buffer.from(element)
    const length = Buffer.alloc(4)
    length.writeUInt32LE(bytes.length)
    return [length, bytes]
  })))
}
