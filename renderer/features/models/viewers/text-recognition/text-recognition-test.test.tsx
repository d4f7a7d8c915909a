import { act } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ModelDetail } from '../../../../../server-core/contract/console-api.ts'
import type { InferenceRequest, ModelMetadata } from '../../../../../server-core/contract/inference.ts'
import { consoleClient } from '../../../../console-client.ts'
import { encodeElements } from '../../../../../server-core/tensors/tensor-codec.ts'
import { modelSummary } from '../../../../testing/models.ts'
import { render, type Rendered } from '../../../../testing/render.tsx'
import { DetailActionsContext } from '../../../../components/detail-actions.tsx'
import { useTestRuns } from '../../test-tab/test-run-store.ts'
import { viewerOf } from '../viewers.ts'
import { useRecognition } from './recognition-store.ts'
import { TextRecognitionTest } from './text-recognition-test.tsx'

// jsdom decodes no pictures: this one is 96 x 24 and black.
vi.mock('./picture-decode.ts', () => ({ decodePicture: async () => ({ width: 96, height: 24, data: new Uint8ClampedArray(96 * 24 * 4).fill(0).map((_, index) => (index % 4 === 3 ? 255 : 0)) }) }))

const metadata: ModelMetadata = { name: 'rec', versions: ['1'], platform: '', inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 3, 48, -1] }], outputs: [{ name: 'y', datatype: 'FP32', shape: [-1, -1, 4] }] }
const detail: ModelDetail = {
  summary: modelSummary('rec', { state: 'READY' }), metadata, configText: null, effectiveConfigText: null, log: [],
  config: { parameters: { 'console.viewer': { string_value: 'text_recognition' }, 'console.characters': { string_value: 'keys.txt' } } } as unknown as ModelDetail['config'],
  samples: [{ path: 'samples/expected.json', byteSize: 2, mediaType: 'application/json' }, { path: 'samples/line.png', byteSize: 2, mediaType: 'image/png' }],
}
/** Scores for "a", blank, "b" with 4 classes. */
const scores = encodeElements('FP32', [0, 0.9, 0.05, 0.05, 0.9, 0, 0.1, 0, 0, 0, 0.7, 0.3])

describe('TextRecognitionTest', () => {
  let page: Rendered
  let sent: InferenceRequest | null = null
  let keys = 'a\nb\n'
  const actions = document.createElement('div')
  const viewer = viewerOf(detail)
  const show = async () => {
    if (!viewer) throw new Error('no viewer')
    page = await render(<DetailActionsContext value={actions}><TextRecognitionTest detail={detail} metadata={metadata} viewer={viewer} /></DetailActionsContext>)
  }
  const run = async () => act(async () => { actions.querySelector<HTMLButtonElement>('[data-testid="run"]')?.click() })

  beforeEach(() => {
    vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null)
    sent = null
    keys = 'a\nb\n'
    useTestRuns.setState({ runs: {}, drafts: {} })
    useRecognition.setState({ models: {} })
    document.body.append(actions)
    vi.spyOn(consoleClient, 'command').mockImplementation((async (name: string, args: { request: InferenceRequest }) => {
      if (name === 'model.sample') return { data: new Uint8Array(2), mediaType: 'image/png' }
      if (name === 'model.file') return { data: new TextEncoder().encode(keys) }
      sent = args.request
      const timing = { queueNanoseconds: 0, computeInputNanoseconds: 0, computeInferNanoseconds: 5e6, computeOutputNanoseconds: 0, totalNanoseconds: 5e6, batchSize: 1 }
      return { response: { modelName: 'rec', modelVersion: '1', id: '', parameters: {}, outputs: [{ name: 'y', datatype: 'FP32', shape: [1, 3, 4], data: scores }] }, timing }
    }) as never)
  })

  afterEach(async () => {
    await page.unmount()
    actions.remove()
    vi.restoreAllMocks()
  })

  it('has the sample picture prepared, so that one press reads it', async () => {
    await show()
    expect(page.container.textContent).toContain('resize to 192 × 48 (× 2.000)')
    expect(page.container.textContent).toContain('fill to width 320 with 0')
    await run()
    expect(sent?.inputs[0]).toMatchObject({ name: 'x', datatype: 'FP32', shape: [1, 3, 48, 320] })
    expect(new Float32Array(sent?.inputs[0]?.data.slice().buffer ?? new ArrayBuffer(0)).slice(190, 194)).toEqual(Float32Array.of(-1, -1, 0, 0))
    expect(page.container.querySelector('[data-testid="recognised-text"]')?.textContent).toBe('ab')
    expect(page.container.querySelector('[data-testid="mean-confidence"]')?.textContent).toBe('80.0 %')
    expect(page.container.textContent).toContain('doubtful')
  })

  it('says when the character list does not belong to the model', async () => {
    keys = 'a\nb\nc\n'
    await show()
    await run()
    expect(page.container.querySelector('[role="alert"]')?.textContent).toContain('expected 3 steps of 5 classes')
    expect(page.container.querySelector('[data-testid="recognised-text"]')).toBeNull()
  })
})
