/** How the config is being looked at: which views, where the cursor is, which problem is open. */
import { create } from 'zustand'
import type { ConfigDiagnostic, LocalizedText } from '../../../server-core/contract/config-language.ts'
import type { ConfigPath } from '../../../server-core/model-config/config-path.ts'
import type { TensorRole } from '../../../server-core/model-config/ensemble-graph.ts'
import { navigate } from '../../router.ts'
import { setSelection, useConfigDocument } from './config-document.ts'

export type EditorViewName = 'form' | 'split' | 'text'
export type ConfigDialogName = 'save' | 'saveAndLoad' | 'review' | 'history' | 'drift'

export interface ModelTensor {
  readonly role: TensorRole
  readonly name: string
}

/** What going to a tensor or renaming it left to say. `version`: of the text that it speaks of; it is gone with the next edit, or when it is closed. */
export type TensorNotice = { readonly modelName: string; readonly version: number } & (
  | { readonly kind: 'refused' | 'renamed'; readonly texts: readonly LocalizedText[] }
  /** The config leaves the tensor to the model file. */
  | { readonly kind: 'notWritten'; readonly tensor: string })

export interface EditorView {
  readonly view: EditorViewName
  readonly dialog: ConfigDialogName | null
  readonly cursor: { readonly line: number; readonly column: number }
  /** A place of the text to go to, in offsets; a new object each time. */
  readonly target: { readonly start: number; readonly end: number } | null
  /** Where to go in another model's config once that is open; tensor null: its beginning. */
  readonly wanted: { readonly modelName: string; readonly tensor: ModelTensor | null } | null
  readonly notice: TensorNotice | null
}

export const useEditorView = create<EditorView>()(() => ({ view: 'split', dialog: null, cursor: { line: 1, column: 1 }, target: null, wanted: null, notice: null }))

const FIRST_PLACE = { line: 1, column: 1 }

// The cursor of the config before means nothing in this one.
useConfigDocument.subscribe((state, before) => {
  if (state.modelName !== before.modelName) useEditorView.setState({ cursor: FIRST_PLACE })
})

export function setView(view: EditorViewName): void {
  useEditorView.setState({ view })
}

export function openDialog(dialog: ConfigDialogName | null): void {
  useEditorView.setState({ dialog })
}

/** Shows a place in the text and puts the cursor there, whatever view is open. */
export function goToText(start: number, end: number): void {
  useEditorView.setState((state) => ({ target: { start, end }, view: state.view === 'form' ? 'split' : state.view }))
}

/** Opens the Config tab of a model at a tensor. */
export function openTensor(modelName: string, tensor: ModelTensor | null): void {
  useEditorView.setState({ wanted: { modelName, tensor } })
  navigate('models', modelName, 'config')
}

export function setNotice(notice: TensorNotice | null): void {
  useEditorView.setState({ notice })
}

/** Leads from a field of the form to where it is written. */
export function showPathInText(path: ConfigPath): void {
  setSelection(path, 'form')
  useEditorView.setState((state) => ({ view: state.view === 'form' ? 'split' : state.view }))
}

/** The next or previous problem from the cursor on; returns it, or null where there is none. */
export function goToProblem(direction: 1 | -1): ConfigDiagnostic | null {
  const { diagnostics } = useConfigDocument.getState()
  const { cursor } = useEditorView.getState()
  const problems = diagnostics.filter(({ severity }) => severity !== 'hint')
  const isAfter = ({ line, column }: ConfigDiagnostic) => line > cursor.line || (line === cursor.line && column > cursor.column)
  const isBefore = ({ line, column }: ConfigDiagnostic) => line < cursor.line || (line === cursor.line && column < cursor.column)
  const next = direction === 1 ? problems.find(isAfter) ?? problems[0] : problems.findLast(isBefore) ?? problems.at(-1)
  if (next === undefined) return null
  goToText(next.offset, next.offset)
  return next
}
