import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type * as OnnxRuntime from 'onnxruntime-node'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { completeFromOnnx } from '../model-config/auto-complete.ts'
import { inferBackend } from '../model-config/infer-backend.ts'
import { normalizeInstanceGroups, normalizeModelConfig } from '../model-config/normalize.ts'
import { readOnnxSignature } from '../model-config/onnx-signature.ts'
import { readModelConfig } from '../model-config/read-config.ts'
import { validateModelConfig } from '../model-config/validate.ts'
import { createSampleRepository, PACKAGED_FILES } from './sample-repository.ts'
import { readPng } from './test-png.ts'
import type { TestImage } from './test-png.ts'

const assetsDirectory = fileURLToPath(new URL('../../assets/sample-repository', import.meta.url))
const MODELS = ['ppocr_cls', 'ppocr_det', 'ppocr_rec', 'silero_vad']

describe('createSampleRepository', () => {
  let data = ''
  beforeEach(() => { data = mkdtempSync(join(tmpdir(), 'sample-repository-')) })
  afterEach(() => { rmSync(data, { recursive: true }) })
  const create = (): Promise<string> => createSampleRepository(join(data, 'new', 'folder'), { assetsDirectory })

  test('puts our files and the packages\' models together, and leaves nothing beside them', async () => {
    const repository = await create()
    expect(repository).toBe(join(data, 'new', 'folder', 'sample-repository'))
    expect(readdirSync(join(data, 'new', 'folder'))).toEqual(['sample-repository'])
    expect(readdirSync(repository).toSorted()).toEqual(['README.md', ...[...MODELS, 'ppocr_line'].toSorted()])
    for (const { target } of PACKAGED_FILES) expect(statSync(join(repository, target)).size).toBeGreaterThan(1000)
    for (const model of MODELS) expect(existsSync(join(repository, model, 'samples', 'expected.json'))).toBe(true)
  })

  test('a second time keeps edits and puts back what is missing', async () => {
    const repository = await create()
    const config = join(repository, 'ppocr_rec/config.pbtxt')
    writeFileSync(config, 'mine')
    rmSync(join(repository, 'ppocr_rec/1'), { recursive: true })
    rmSync(join(repository, 'silero_vad'), { recursive: true })
    await create()
    expect(readFileSync(config, 'utf8')).toBe('mine')
    expect(existsSync(join(repository, 'ppocr_rec/1/model.onnx'))).toBe(true)
    expect(readdirSync(join(repository, 'silero_vad')).toSorted()).toEqual(['1', '2', '3', 'config.pbtxt', 'samples'])
    expect(readdirSync(join(data, 'new', 'folder'))).toEqual(['sample-repository'])
  })

  test('two at the same time agree', async () => {
    const [first, second] = await Promise.all([create(), create()])
    expect(first).toBe(second)
    expect(readdirSync(join(data, 'new', 'folder'))).toEqual(['sample-repository'])
  })

  test('says what is missing when the assets are not installed', async () => {
    await expect(createSampleRepository(data, { assetsDirectory: join(data, 'none') }))
      .rejects.toMatchObject({ kind: 'NOT_FOUND', message: expect.stringContaining(join(data, 'none')) as string })
    expect(readdirSync(data)).toEqual([])
  })
})

describe('the sample models', () => {
  let data = ''
  let repository = ''
  let runtime: typeof OnnxRuntime
  beforeAll(async () => {
    process.env['ORT_DISABLE_TELEMETRY'] = '1'
    runtime = await import('onnxruntime-node')
    data = mkdtempSync(join(tmpdir(), 'sample-models-'))
    repository = await createSampleRepository(data, { assetsDirectory })
  })
  afterAll(() => { rmSync(data, { recursive: true }) })

  const versions = MODELS.flatMap((model) => (model === 'silero_vad' ? ['1', '2', '3'] : ['1']).map((version): [string, string] => [model, version]))

  test.each(versions)('the config of %s fits version %s', async (model, version) => {
    const text = readFileSync(join(repository, model, 'config.pbtxt'), 'utf8')
    const named = inferBackend(readModelConfig(text, model), model, [])
    const signature = await readOnnxSignature(join(repository, model, version, 'model.onnx'))
    const completed = completeFromOnnx(named, signature, { defaultMaxBatchSize: 4 })
    expect(completed).toEqual(named) // says everything itself
    const config = normalizeInstanceGroups(normalizeModelConfig(completed), { gpuCount: 0 })
    expect(() => { validateModelConfig(config, { checkInputsAndOutputs: true }) }).not.toThrow()
    expect(config.instance_group.map(({ kind, count }) => [kind, count])).toEqual([['KIND_CPU', 1]])
  })

  function expected<T>(model: string): [string, T][] {
    return Object.entries(JSON.parse(readFileSync(join(repository, model, 'samples/expected.json'), 'utf8')) as Record<string, T>)
  }

  async function withSession<T>(model: string, version: string, use: (session: OnnxRuntime.InferenceSession) => Promise<T>): Promise<T> {
    const session = await runtime.InferenceSession.create(join(repository, model, version, 'model.onnx'), { logSeverityLevel: 4, intraOpNumThreads: 1 })
    try {
      return await use(session)
    } finally {
      await session.release()
    }
  }

  /** Channels first, blue first, (value / 255 - mean) / deviation. The samples have the model's height already. */
  function tensorOf(image: TestImage, mean: readonly number[], deviation: readonly number[]): OnnxRuntime.Tensor {
    const { width, height, rgb } = image
    const values = new Float32Array(3 * width * height)
    for (let channel = 0; channel < 3; channel++) {
      for (let pixel = 0; pixel < width * height; pixel++) {
        values[channel * width * height + pixel] = (rgb[pixel * 3 + 2 - channel]! / 255 - mean[channel]!) / deviation[channel]!
      }
    }
    return new runtime.Tensor('float32', values, [1, 3, height, width])
  }

  const image = (model: string, name: string): TestImage => readPng(readFileSync(join(repository, model, 'samples', name)))
  const HALVES = [0.5, 0.5, 0.5]

  test('the recogniser reads exactly the expected text', async () => {
    const characters = readFileSync(join(repository, 'ppocr_rec/ppocr_keys_v1.txt'), 'utf8').split('\n').filter((line) => line !== '')
    await withSession('ppocr_rec', '1', async (session) => {
      for (const [name, { text }] of expected<{ text: string }>('ppocr_rec')) {
        const { 'softmax_11.tmp_0': output } = await session.run({ x: tensorOf(image('ppocr_rec', name), HALVES, HALVES) })
        const [, steps, classes] = output!.dims as [number, number, number]
        expect(characters.length + 2).toBe(classes)
        const probabilities = output!.data as Float32Array
        let read = ''
        let previous = 0
        for (let step = 0; step < steps; step++) {
          const row = probabilities.subarray(step * classes, (step + 1) * classes)
          const best = row.indexOf(Math.max(...row))
          if (best !== 0 && best !== previous) {
            read += best === classes - 1 ? ' ' : characters[best - 1]
            expect(row[best]).toBeGreaterThan(0.95)
          }
          previous = best
        }
        expect(read).toBe(text)
      }
    })
  })

  test('the classifier tells upside-down lines', async () => {
    await withSession('ppocr_cls', '1', async (session) => {
      for (const [name, { degrees }] of expected<{ degrees: number }>('ppocr_cls')) {
        const { 'softmax_0.tmp_0': output } = await session.run({ x: tensorOf(image('ppocr_cls', name), HALVES, HALVES) })
        expect((output!.data as Float32Array)[degrees === 0 ? 0 : 1]).toBeGreaterThan(0.9)
      }
    })
  })

  test('the detector finds the lines of the page', async () => {
    await withSession('ppocr_det', '1', async (session) => {
      for (const [name, { lines }] of expected<{ lines: number }>('ppocr_det')) {
        const page = image('ppocr_det', name)
        const { 'sigmoid_0.tmp_0': output } = await session.run({ x: tensorOf(page, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]) })
        const map = output!.data as Float32Array
        // The lines lie below each other: count the runs of rows that have text in them.
        const hasText = Array.from({ length: page.height }, (_none, y) => map.subarray(y * page.width, (y + 1) * page.width).some((value) => value > 0.3))
        expect(hasText.filter((row, y) => row && hasText[y - 1] !== true)).toHaveLength(lines)
      }
    })
  })

  test.each(['1', '2', '3'])('the voice detector, version %s, hears the vowel and not the silence', async (version) => {
    await withSession('silero_vad', version, async (session) => {
      for (const [name, { speech }] of expected<{ speech: boolean }>('silero_vad')) {
        const bytes = readFileSync(join(repository, 'silero_vad/samples', name))
        const sound = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
        const { output, stateN } = await session.run({
          input: new runtime.Tensor('float32', sound, [1, sound.length]),
          state: new runtime.Tensor('float32', new Float32Array(256), [2, 1, 128]),
          sr: new runtime.Tensor('int64', [16_000n], [1]),
        })
        expect(stateN!.dims).toEqual([2, 1, 128])
        const probability = (output!.data as Float32Array)[0]!
        if (speech) expect(probability).toBeGreaterThan(0.8)
        else expect(probability).toBeLessThan(0.1)
      }
    })
  })
})
