import { act } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ModelDetail } from '../../../../server-core/contract/console-api.ts'
import type { InferenceRequest, ModelMetadata, Tensor } from '../../../../server-core/contract/inference.ts'
import { consoleClient, ConsoleError } from '../../../console-client.ts'
import { decodeElements, encodeElements } from '../../../../server-core/tensors/tensor-codec.ts'
import { modelSummary } from '../../../testing/models.ts'
import { render, type Rendered } from '../../../testing/render.tsx'
import { DetailActionsContext } from '../../../components/detail-actions.tsx'
import { TensorTest } from './tensor-test.tsx'
import { useTestRuns } from './test-run-store.ts'

const metadata: ModelMetadata = { name: 'm', versions: ['1'], platform: '', inputs: [{ name: 'IDS', datatype: 'INT64', shape: [-1, 2] }], outputs: [] }
const detail: ModelDetail = { summary: modelSummary('m', { state: 'READY' }), metadata, config: null, configText: null, effectiveConfigText: null, samples: [], log: [] }
const timing = { queueNanoseconds: 1e6, computeInputNanoseconds: 1e6, computeInferNanoseconds: 7e6, computeOutputNanoseconds: 1e6, totalNanoseconds: 10e6, batchSize: 3 }

describe('TensorTest', () => {
  let page: Rendered
  let sent: InferenceRequest | null = null
  let answer: () => Promise<readonly Tensor[]>
  const actions = document.createElement('div')
  const text = () => page.container.querySelector('textarea')
  const runButton = () => actions.querySelector<HTMLButtonElement>('[data-testid="run"]')

  const type = async (field: HTMLInputElement | HTMLTextAreaElement | null, value: string) => {
    await act(async () => {
      Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value')?.set?.call(field, value)
      field?.dispatchEvent(new Event('input', { bubbles: true }))
    })
  }
  const run = async () => act(async () => { window.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true })) })

  beforeEach(async () => {
    sent = null
    answer = async () => [{ name: 'OUT', datatype: 'INT64', shape: [2], data: encodeElements('INT64', [9007199254740993n, -1n]) }]
    useTestRuns.setState({ runs: {}, drafts: {} })
    document.body.append(actions)
    vi.spyOn(consoleClient, 'command').mockImplementation((async (_name: string, args: { request: InferenceRequest }) => {
      sent = args.request
      return { response: { modelName: 'm', modelVersion: '1', id: '', parameters: {}, outputs: await answer() }, timing }
    }) as never)
    page = await render(<DetailActionsContext value={actions}><TensorTest detail={detail} metadata={metadata} /></DetailActionsContext>)
  })

  afterEach(async () => {
    await page.unmount()
    actions.remove()
    vi.restoreAllMocks()
  })

  it('runs at once with what the metadata suggests', async () => {
    await run()
    expect(sent?.inputs[0]).toMatchObject({ name: 'IDS', datatype: 'INT64', shape: [1, 2] })
    expect(page.container.querySelector('[data-testid="output"]')?.textContent).toContain('9007199254740993')
    expect(page.container.textContent).toContain('inference')
  })

  it('does not run behind a dialog', async () => {
    const dialog = document.createElement('div')
    dialog.setAttribute('role', 'dialog')
    dialog.setAttribute('aria-modal', 'true')
    document.body.append(dialog)
    await run()
    expect(sent).toBeNull()
    dialog.remove()
    await run()
    expect(sent).not.toBeNull()
  })

  it('takes the suggested values of the config and the sample that lies beside the model', async () => {
    await page.unmount()
    useTestRuns.setState({ runs: {}, drafts: {} })
    const sound: ModelMetadata = { ...metadata, inputs: [{ name: 'input', datatype: 'FP32', shape: [-1, -1] }, { name: 'sr', datatype: 'INT64', shape: [1] }] }
    const config = { input: [], parameters: { 'console.default.sr': { string_value: '[16000]' } } } as unknown as ModelDetail['config']
    vi.spyOn(consoleClient, 'command').mockImplementation((async (name: string, args: { request: InferenceRequest }) => {
      if (name === 'model.sample') return { data: new Uint8Array(2304), mediaType: 'application/octet-stream' }
      sent = args.request
      return { response: { modelName: 'm', modelVersion: '1', id: '', parameters: {}, outputs: [] }, timing }
    }) as never)
    const samples = [{ path: 'samples/other.bin', byteSize: 3, mediaType: 'application/octet-stream' }, { path: 'samples/vowel.f32', byteSize: 2304, mediaType: 'application/octet-stream' }]
    page = await render(<DetailActionsContext value={actions}><TensorTest detail={{ ...detail, config, samples }} metadata={sound} /></DetailActionsContext>)
    await run()
    expect(sent?.inputs[0]).toMatchObject({ name: 'input', shape: [1, 576], data: new Uint8Array(2304) })
    expect(decodeElements('INT64', sent?.inputs[1]?.data ?? new Uint8Array())).toEqual([16000n])
  })

  it('sends typed 64-bit integers exactly, in the typed shape', async () => {
    await type(page.container.querySelector('input.fui-Input__input'), '2')
    await type(text(), '[[9007199254740993, 2], [3, 4]]')
    await run()
    expect(sent?.inputs[0]?.shape).toEqual([2, 2])
    expect(decodeElements('INT64', sent?.inputs[0]?.data ?? new Uint8Array())).toEqual([9007199254740993n, 2n, 3n, 4n])
  })

  it('says what does not fit and does not send it', async () => {
    await type(text(), '[1, 2, 3]')
    expect(page.container.textContent).toContain('The shape needs 2 elements, found 3.')
    expect(runButton()?.getAttribute('aria-disabled')).toBe('true')
    await run()
    expect(sent).toBeNull()
  })

  it('shows the server text of a failed run, and keeps what was typed', async () => {
    answer = () => Promise.reject(new ConsoleError('INVALID_ARG', "unexpected shape for input 'IDS'"))
    await type(text(), '[5, 6]')
    await run()
    expect(page.container.querySelector('[role="alert"]')?.textContent).toContain("unexpected shape for input 'IDS'")
    expect(text()?.value).toBe('[5, 6]')
  })

  it('counts what it leaves out of a large output', async () => {
    answer = async () => [{ name: 'OUT', datatype: 'FP32', shape: [1, 250], data: encodeElements('FP32', Array.from({ length: 250 }, (_, index) => index)) }]
    await run()
    const output = page.container.querySelector('[data-testid="output"]')
    expect(output?.querySelectorAll('tbody tr')).toHaveLength(100)
    expect(output?.textContent).toContain('The first 100 of 250 values.')
    expect(output?.textContent).toContain('argmax[0, 249]')
  })
})
