import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { turnTelemetryOff } from '../backends/onnxruntime/onnxruntime-backend.ts'
import { startServer, serverOptions, type RunningServer } from '../index.ts'
import { ASSETS_DIRECTORY } from '../installed-paths.ts'
import { createSampleRepository } from '../model-repository/sample-repository.ts'
import { HttpClient } from '../testing/http-client.ts'
import { inferOverHttp, ocrFile, picture, runDirectly, sileroFile, sound, type SampleInput, type SampleOutput } from '../testing/sample-model-runs.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'

/** Answers of every sample model through HTTP, in binary form, equal a direct run of the same model on the same bytes, bit for bit. */

const MODELS: readonly { name: string; version: string; path: string; inputs: (seed: number) => SampleInput[] }[] = [
  { name: 'ppocr_rec', version: '1', path: ocrFile('ch_PP-OCRv4_rec_infer.onnx'), inputs: (seed) => [picture(seed, 1, 3, 48, 160)] },
  { name: 'ppocr_det', version: '1', path: ocrFile('ch_PP-OCRv4_det_infer.onnx'), inputs: (seed) => [picture(seed, 1, 3, 96, 128)] },
  { name: 'ppocr_cls', version: '1', path: ocrFile('ch_ppocr_mobile_v2.0_cls_infer.onnx'), inputs: (seed) => [picture(seed, 1, 3, 48, 192)] },
  { name: 'silero_vad', version: '1', path: sileroFile('silero_vad_16k_op15.onnx'), inputs: sound },
  { name: 'silero_vad', version: '2', path: sileroFile('silero_vad.onnx'), inputs: sound },
  { name: 'silero_vad', version: '3', path: sileroFile('silero_vad_op18_ifless.onnx'), inputs: sound },
]

let running: RunningServer
let work: TemporaryRepository
const client = () => new HttpClient(running.addresses.http?.port ?? 0)

describe.each(['native', 'worker'])('onnxruntime, implementation=%s', (implementation) => {
  beforeAll(async () => {
    turnTelemetryOff()
    work = await TemporaryRepository.create()
    const repository = await createSampleRepository(work.path, { assetsDirectory: join(ASSETS_DIRECTORY, 'sample-repository') })
    running = await startServer(serverOptions({
      modelRepositories: [repository], modelControlMode: 'explicit', loadModels: ['*'], httpPort: 0, allowGrpc: false, allowMetrics: false,
      backendConfig: { onnxruntime: { implementation } },
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
        const direct = (await runDirectly(ocrFile(file), inputs))[0]!
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
      const sent: Promise<SampleOutput[]>[] = []
      for (const request of requests) {
        sent.push(inferOverHttp(client(), name, version, [request]))
        if (sent.length < batchSize) await expect.poll(pending, { interval: 5, timeout: 10_000 }).toBe(sent.length)
      }
      const answers = await Promise.all(sent)
      const statistics = running.server.modelStatistics(name, version)[0]
      expect(statistics).toMatchObject({ inference_count: batchSize, execution_count: 1, batch_stats: [{ batch_size: batchSize }] })
      const first = requests[0]!
      const batch: SampleInput = { ...first, shape: [batchSize, ...first.shape.slice(1)], data: Buffer.concat(requests.map((request) => request.data)) }
      const direct = (await runDirectly(path, [batch]))[0]!
      const share = direct.data.byteLength / batchSize
      answers.forEach((outputs, index) => {
        expect(outputs[0]!.shape).toEqual([1, ...direct.shape.slice(1)])
        expect(Buffer.compare(outputs[0]!.data, direct.data.subarray(index * share, (index + 1) * share))).toBe(0)
      })
    })
  })
})
