import { expect, it } from 'vitest'
import { EMPTY_CONFIG_CONTEXT } from '../../../server-core/contract/config-language.ts'
import { CLOSED_DOCUMENT, openDocument, useConfigDocument } from './config-document.ts'
import { useEditorView } from './editor-view-store.ts'

it('begins another config at its beginning', () => {
  useConfigDocument.setState(CLOSED_DOCUMENT, true)
  openDocument({ modelName: 'long', text: 'a\nb\nc\n', hash: 'h', context: EMPTY_CONFIG_CONTEXT })
  useEditorView.setState({ cursor: { line: 3, column: 2 } })
  openDocument({ modelName: 'long', text: 'a\nb\nc\n', hash: 'h', context: EMPTY_CONFIG_CONTEXT })
  expect(useEditorView.getState().cursor).toEqual({ line: 3, column: 2 })
  openDocument({ modelName: 'short', text: 'a', hash: 'h', context: EMPTY_CONFIG_CONTEXT })
  expect(useEditorView.getState().cursor).toEqual({ line: 1, column: 1 })
})
