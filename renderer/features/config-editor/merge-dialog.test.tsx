import { act } from 'react'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EMPTY_CONFIG_CONTEXT } from '../../../server-core/contract/config-language.ts'
import { render } from '../../testing/render.tsx'
import type { Rendered } from '../../testing/render.tsx'
import { applyEdits, CLOSED_DOCUMENT, openDocument, useConfigDocument } from './config-document.ts'
import { useEditorView } from './editor-view-store.ts'
import { MergeDialog } from './merge-dialog.tsx'
import { useSave } from './save-store.ts'

let rendered: Rendered | undefined

/** A file that was edited here and removed on disk. */
async function showRemoved(): Promise<void> {
  const conflict = { kind: 'conflict', base: 'backend: "identity"\n', theirs: { text: null, hash: null }, wantsLoad: false } as const
  openDocument({ modelName: 'm', text: conflict.base, hash: 'h', context: EMPTY_CONFIG_CONTEXT })
  applyEdits([{ offset: 0, length: 0, text: '# mine\n' }], 'text')
  useSave.setState({ modelName: 'm', state: conflict })
  rendered = await render(<MergeDialog conflict={conflict} />)
}

async function press(testId: string): Promise<void> {
  await act(async () => { document.querySelector<HTMLElement>(`[data-testid="${testId}"]`)?.click() })
}

beforeEach(() => {
  useConfigDocument.setState(CLOSED_DOCUMENT, true)
  useEditorView.setState({ dialog: null })
})

afterEach(async () => {
  await rendered?.unmount()
  rendered = undefined
})

describe('the dialog for a file that was removed on disk', () => {
  it('offers to write the text again, without lines to choose from', async () => {
    await showRemoved()
    expect(document.querySelector('[role="dialog"] [role="radiogroup"]')).toBeNull()
    await press('config-merge-use')
    expect(useConfigDocument.getState()).toMatchObject({ text: '# mine\nbackend: "identity"\n', savedText: null, savedHash: null })
    expect(useEditorView.getState().dialog).toBe('save')
  })

  it('takes the removal without saving an empty file; undo brings the text back', async () => {
    await showRemoved()
    await press('config-merge-theirs')
    expect(useConfigDocument.getState()).toMatchObject({ text: '', savedText: null })
    expect(useEditorView.getState().dialog).toBeNull()
    expect(useConfigDocument.getState().undoSteps.at(-1)?.undo[0]?.text).toBe('# mine\nbackend: "identity"\n')
  })
})
