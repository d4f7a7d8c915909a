import { act } from 'react'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { ModelImportReview } from '../../../server-core/contract/console-api.ts'
import { consoleClient } from '../../console-client.ts'
import { initialConsoleState, useConsole } from '../../console-store.ts'
import { modelSummary, serverStatus } from '../../testing/models.ts'
import { press, render } from '../../testing/render.tsx'
import type { Rendered } from '../../testing/render.tsx'
import { ImportDialog } from './import-dialog.tsx'
import { closeImport, reviewFile } from './import-store.ts'

const review: ModelImportReview = { modelName: 'rec', fileName: 'rec.onnx', byteSize: 3, backend: 'onnxruntime', opset: 14, inputs: [], outputs: [], configText: 'name: "rec"\n' }

describe('import dialog', () => {
  let page: Rendered

  afterEach(async () => {
    await act(async () => closeImport())
    await page.unmount()
    vi.restoreAllMocks()
  })

  it('has the focus on the name when the review comes, and gives it back when it closes', async () => {
    let answer = (_review: ModelImportReview) => {}
    vi.spyOn(consoleClient, 'command').mockImplementation((() => new Promise((resolve) => { answer = resolve as typeof answer })) as typeof consoleClient.command)
    useConsole.setState({ ...initialConsoleState, connection: 'open', status: serverStatus(), models: [modelSummary('det')] }, true)
    page = await render(<><button type="button">opener</button><ImportDialog /></>)
    await act(async () => page.container.querySelector<HTMLElement>('button')?.focus())
    await act(async () => { void reviewFile([new File([new Uint8Array([1, 2, 3])], 'rec.onnx')]) })
    await vi.waitFor(() => expect(document.activeElement?.closest('[role="dialog"]')).not.toBeNull())
    await act(async () => answer(review))
    await vi.waitFor(() => expect(document.activeElement?.getAttribute('data-testid')).toBe('import-name'))
    await press('Escape')
    await vi.waitFor(() => expect(document.activeElement?.textContent).toBe('opener'))
  })
})
