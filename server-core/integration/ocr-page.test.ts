import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { turnTelemetryOff } from '../backends/onnxruntime/onnxruntime-backend.ts'
import { startServer, serverOptions, type RunningServer } from '../index.ts'
import { ASSETS_DIRECTORY } from '../installed-paths.ts'
import { createSampleRepository } from '../model-repository/sample-repository.ts'
import { readPng, type TestImage } from '../model-repository/test-png.ts'
import { HttpClient } from '../testing/http-client.ts'
import { testInterpreter } from '../testing/python-models.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'

/** The OCR pipeline: a page goes through Python, ONNX Runtime, and Python that asks ONNX Runtime, and its text comes out. */

interface Line {
  readonly text: string
  readonly box: readonly number[]
  readonly score: number
}

let running: RunningServer
let work: TemporaryRepository
let repository: string

beforeAll(async () => {
  turnTelemetryOff()
  work = await TemporaryRepository.create()
  repository = await createSampleRepository(work.path, {
    assetsDirectory: join(ASSETS_DIRECTORY, 'sample-repository'), pythonAssetsDirectory: join(ASSETS_DIRECTORY, 'sample-repository-python'),
  })
  running = await startServer(serverOptions({
    modelRepositories: [repository], modelControlMode: 'explicit', loadModels: ['ppocr_rec', 'ppocr_page'], httpPort: 0, allowGrpc: false, allowMetrics: false,
    backendConfig: { python: { interpreter: testInterpreter() } },
  }))
}, 180_000)
afterAll(async () => {
  await running.stop()
  await work[Symbol.asyncDispose]()
})

/** Pixels, red first. */
async function read({ width, height, rgb }: TestImage): Promise<Line[]> {
  const head = Buffer.from(JSON.stringify({
    inputs: [{ name: 'image', shape: [1, height, width, 3], datatype: 'UINT8', parameters: { binary_data_size: rgb.byteLength } }],
  }))
  const response = await new HttpClient(running.addresses.http?.port ?? 0).send({
    path: '/v2/models/ppocr_page/infer', headers: { 'Inference-Header-Content-Length': String(head.length) }, body: Buffer.concat([head, rgb]),
  })
  const answer = JSON.parse(response.text) as { error?: string; outputs: { name: string; shape: number[]; data: unknown[] }[] }
  if (answer.error !== undefined) throw new Error(answer.error)
  const output = (name: string) => answer.outputs.find((candidate) => candidate.name === name) ?? { shape: [], data: [] }
  const [text, box, score] = [output('text'), output('box'), output('score')]
  expect([text.shape, box.shape, score.shape]).toEqual([[1, text.data.length], [1, text.data.length, 4], [1, text.data.length]])
  return text.data.map((line, index) => ({ text: line as string, box: box.data.slice(4 * index, 4 * index + 4) as number[], score: score.data[index] as number }))
}

const picture = (path: string) => readPng(readFileSync(join(repository, path)))
/** A picture on a white page. */
function onPage(image: TestImage, page: { width: number; height: number; left: number; top: number }): TestImage {
  const rgb = new Uint8Array(page.width * page.height * 3).fill(255)
  for (let y = 0; y < image.height; y++) rgb.set(image.rgb.subarray(y * image.width * 3, (y + 1) * image.width * 3), ((page.top + y) * page.width + page.left) * 3)
  return { width: page.width, height: page.height, rgb }
}

describe('ppocr_page', () => {
  it('reads the sample page, line by line', async () => {
    const { 'page.png': { lines } } = JSON.parse(readFileSync(join(repository, 'ppocr_page/samples/expected.json'), 'utf8')) as { 'page.png': { lines: string[] } }
    const found = await read(picture('ppocr_page/samples/page.png'))
    expect(found.map(({ text }) => text)).toEqual(lines)
    expect(Math.min(...found.map(({ score }) => score))).toBeGreaterThan(0.9)
    // Where the first line stands in the picture.
    const [left = 0, top = 0, right = 0, bottom = 0] = found[0]?.box ?? []
    expect([left < 50, top < 55, right > 325 && right < 345, bottom > 85 && bottom < 105]).toEqual([true, true, true, true])
  })

  it('reads lines on a page that is larger than what the detector looks at', async () => {
    const expected = JSON.parse(readFileSync(join(repository, 'ppocr_rec/samples/expected.json'), 'utf8')) as Record<string, { text: string }>
    for (const [name, { text }] of Object.entries(expected)) {
      const found = await read(onPage(picture(`ppocr_rec/samples/${name}`), { width: 640, height: 1000, left: 100, top: 800 }))
      expect(found.map((line) => line.text)).toEqual([text])
      expect(found[0]?.box[0]).toBeGreaterThan(80)
      expect(found[0]?.box[1]).toBeGreaterThan(780)
    }
  })

  it('finds nothing on an empty page, and says what it cannot take', async () => {
    expect(await read({ width: 100, height: 60, rgb: new Uint8Array(100 * 60 * 3).fill(255) })).toEqual([])
    await expect(read({ width: 0, height: 10, rgb: new Uint8Array(0) })).rejects.toThrow('the image has no pixels: its shape is (10, 0, 3)')
  })

  it('says so where the recogniser is not there', async () => {
    const page = onPage(picture('ppocr_rec/samples/line-zh.png'), { width: 512, height: 96, left: 20, top: 20 })
    await running.server.unloadModel('ppocr_rec')
    await expect(read(page)).rejects.toThrow("Model ppocr_rec - Error when running inference: Request for unknown model: 'ppocr_rec' has no available versions")
    await running.server.loadModel('ppocr_rec')
    expect(await read(page)).toHaveLength(1)
  })
})
