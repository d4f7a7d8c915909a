import { act } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ModelImportReview } from '../../../server-core/contract/console-api.ts'
import { consoleClient } from '../../console-client.ts'
import { initialConsoleState, useConsole } from '../../console-store.ts'
import type { Language } from '../../preferences.ts'
import { importReview } from '../../testing/imports.ts'
import { modelSummary, serverStatus } from '../../testing/models.ts'
import { press, render } from '../../testing/render.tsx'
import type { Rendered } from '../../testing/render.tsx'
import { describeDropped } from './import-drop.ts'
import { ImportDialog } from './import-dialog.tsx'
import { closeImport, importFiles, useImport } from './import-store.ts'

const find = (testId: string) => document.querySelector<HTMLElement>(`[data-testid="${testId}"]`)
const dialog = () => find('import-dialog')?.textContent ?? ''

describe('import dialog', () => {
  let page: Rendered
  let answer = (_review: ModelImportReview) => {}
  const command = vi.spyOn(consoleClient, 'command')

  beforeEach(() => {
    command.mockReset()
    command.mockImplementation(((name: string) => {
      if (name === 'import.review') return new Promise((resolve) => { answer = resolve as typeof answer })
      return Promise.resolve(name === 'import.open' ? { importId: 'i' } : undefined)
    }) as typeof consoleClient.command)
    useConsole.setState({ ...initialConsoleState, connection: 'open', status: serverStatus(), models: [modelSummary('det')] }, true)
  })

  afterEach(async () => {
    await act(async () => closeImport())
    await page.unmount()
  })

  async function open(review: ModelImportReview | null, language: Language = 'en') {
    page = await render(<><button type="button">opener</button><ImportDialog /></>, language)
    await act(async () => page.container.querySelector<HTMLElement>('button')?.focus())
    await act(async () => { void describeDropped([new File([new Uint8Array([1, 2, 3])], review?.fileName ?? 'rec.onnx')]).then(importFiles) })
    await vi.waitFor(() => expect(command.mock.calls.some(([name]) => name === 'import.review')).toBe(true))
    if (review !== null) await act(async () => answer(review))
  }

  it('has the focus on the name when the review comes, and gives it back when it closes', async () => {
    await open(null)
    await vi.waitFor(() => expect(document.activeElement?.closest('[role="dialog"]')).not.toBeNull())
    await act(async () => answer(importReview()))
    await vi.waitFor(() => expect(document.activeElement?.getAttribute('data-testid')).toBe('import-name'))
    await press('Escape')
    await vi.waitFor(() => expect(document.activeElement?.textContent).toBe('opener'))
    expect(command.mock.calls.at(-1)).toEqual(['import.close', { importId: 'i' }])
  })

  it('shows name, version, backend and config; an ONNX file loads at once', async () => {
    await open(importReview())
    expect(find('import-name')?.getAttribute('value')).toBe('rec')
    expect(find('import-version')?.getAttribute('value')).toBe('1')
    expect((find('import-backend') as HTMLSelectElement).value).toBe('onnxruntime')
    expect(find('import-create')?.textContent).toBe('Create & load')
    expect(find('import-link')).toBeNull()
  })

  it.each([['en', 'only the Ascend runtime can read its tensors', 'no backend npu_om', 'Create without loading'], ['zh-CN', '只有昇腾运行时能读出它的张量', '没有后端 npu_om', '创建，不加载']] as const)('is honest about an .om file in %s', async (language, tensors, backend, button) => {
    await open(importReview({ kind: 'om', fileName: 'det.om', backend: 'npu_om', backends: [{ name: 'npu_om', isHere: false }], signature: 'unknown', inputs: [], opset: null }), language)
    expect(dialog()).toContain(tensors)
    expect(dialog()).toContain(backend)
    expect(find('import-create')?.textContent).toBe(button)
    expect(document.querySelector('.npu-import-signature')).toBeNull()
  })

  it('loads an .om file that CANN describes, and only creates one that it does not', async () => {
    await open(importReview({ kind: 'om', fileName: 'det.om', backend: 'npu_om', backends: [{ name: 'npu_om', isHere: true }], opset: null }))
    expect(find('import-create')?.textContent).toBe('Create & load')
    expect(dialog()).not.toContain('only the Ascend runtime can read its tensors')
  })

  it('shows why CANN does not describe an .om file', async () => {
    await open(importReview({ kind: 'om', fileName: 'det.om', backend: 'npu_om', backends: [{ name: 'npu_om', isHere: true }], signature: 'unknown', signatureReason: 'AscendCL (CANN) cannot be opened', inputs: [], opset: null }))
    expect(find('import-create')?.textContent).toBe('Create without loading')
    expect(dialog()).toContain('AscendCL (CANN) cannot be opened')
  })

  it('makes up no types for a model.py that only names its tensors', async () => {
    await open(importReview({ kind: 'python', fileName: 'model.py', backend: 'python', backends: [{ name: 'python', isHere: true }], signature: 'names', signatureReason: 'model.py has no auto_complete_config', opset: null }))
    expect(dialog()).toContain('names of its tensors only')
    expect(dialog()).toContain('model.py has no auto_complete_config')
    expect(document.querySelector('.npu-import-signature')?.textContent).not.toContain('FP32')
    expect(find('import-create')?.textContent).toBe('Create without loading')
  })

  it('writes nothing before missing weights are there', async () => {
    await open(importReview({ missingFiles: ['w.bin'] }))
    expect(dialog()).toContain('w.bin')
    expect(find('import-create')?.getAttribute('aria-disabled')).toBe('true')
    expect(find('import-add-files')).not.toBeNull()
  })

  it('offers a taken name as a further version of that model', async () => {
    await open(importReview({ modelName: 'det_2', existingModel: { name: 'det', nextVersion: 4 } }))
    expect(find('import-name')?.getAttribute('value')).toBe('det_2')
    await act(async () => document.querySelectorAll<HTMLElement>('[role="dialog"] input[type="radio"]')[1]?.click())
    expect(find('import-version')?.getAttribute('value')).toBe('4')
    expect(dialog()).toContain('The config.pbtxt of “det” stays as it is.')
    await act(async () => find('import-create')?.click())
    expect(command.mock.calls.find(([name]) => name === 'import.create')?.[1]).toMatchObject({ modelName: 'det', asVersion: true })
  })

  it('offers a hard link for a local file only on demand', async () => {
    await open(importReview({ isLocal: true }))
    await act(async () => find('import-create')?.click())
    expect(command.mock.calls.find(([name]) => name === 'import.create')?.[1]).toMatchObject({ link: false })
  })

  it.each([['en', '30.0 KB of 60.0 KB · 50 % · about 12 s left'], ['zh-CN', '30.0 KB / 60.0 KB · 50 % · 约剩 12 秒']] as const)('shows bytes, percent and time left in %s, and Escape cancels', async (language, text) => {
    await open(null, language)
    await act(async () => useImport.setState({ state: { kind: 'preparing', fileName: 'rec.onnx', progress: { bytesDone: 30 * 1024, bytesTotal: 60 * 1024, secondsLeft: 12 } } }))
    expect(find('import-progress')?.textContent).toContain(text)
    await vi.waitFor(() => expect(document.activeElement?.closest('[role="dialog"]')).not.toBeNull())
    await press('Escape')
    await vi.waitFor(() => expect(useImport.getState().state.kind).toBe('idle'))
    expect(command.mock.calls.at(-1)).toEqual(['import.close', { importId: 'i' }])
  })
})
