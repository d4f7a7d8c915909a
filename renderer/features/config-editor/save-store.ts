/** Opening, saving and loading of the config being edited, and how the last of these ended. */
import { create } from 'zustand'
import { announce } from '../../components/live-region.tsx'
import { errorText } from '../../components/error-notice.tsx'
import { command } from '../../console-client.ts'
import type { ConfigDiagnostic } from '../../../server-core/contract/config-language.ts'
import { openDocument, setSaved, setText, useConfigDocument } from './config-document.ts'

/** A text and the file it is or was; hash null: no file. */
interface FileState {
  readonly text: string | null
  readonly hash: string | null
}

export type SaveState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'saving' | 'loading' | 'restoring' }
  | { readonly kind: 'saveFailed'; readonly error: unknown }
  /** The file on disk is not the one that the text began from. */
  | { readonly kind: 'conflict'; readonly base: string; readonly theirs: FileState; readonly wantsLoad: boolean }
  /** The file was saved, the load failed. `previous`: what stood there before. */
  | { readonly kind: 'loadFailed'; readonly reason: string; readonly previous: FileState | null; readonly isRestored: boolean }

export interface SaveStore {
  readonly modelName: string | null
  readonly state: SaveState
  readonly openError: unknown
}

export const useSave = create<SaveStore>()(() => ({ modelName: null, state: { kind: 'idle' }, openError: null }))

/** How the last save or load of each model ended; it is there again when the model is. */
const outcomes = new Map<string, SaveState>()

/** Reads the config of a model; unsaved changes stay. */
export async function openConfig(modelName: string): Promise<void> {
  if (useSave.getState().modelName !== modelName) useSave.setState({ modelName, state: outcomes.get(modelName) ?? { kind: 'idle' }, openError: null })
  try {
    const { text, hash, context } = await command('config.open', { name: modelName })
    if (useSave.getState().modelName !== modelName) return
    openDocument({ modelName, text, hash, context })
    useSave.setState({ openError: null })
  } catch (error) {
    if (useSave.getState().modelName === modelName) useSave.setState({ openError: error })
  }
}

function end(modelName: string, state: SaveState): void {
  if (state.kind === 'idle') outcomes.delete(modelName)
  else outcomes.set(modelName, state)
  if (useSave.getState().modelName === modelName) useSave.setState({ state })
}

export function dismissOutcome(): void {
  const { modelName } = useSave.getState()
  if (modelName !== null) end(modelName, { kind: 'idle' })
}

/** Writes the text as it is now, then loads the model if asked. Outcomes are in the store. */
export async function save(wantsLoad: boolean, said: { readonly saved: string; readonly loaded: string }): Promise<void> {
  const { modelName, text, savedText, savedHash } = useConfigDocument.getState()
  if (modelName === null) return
  let previous: FileState | null = null
  if (text !== savedText) {
    end(modelName, { kind: 'saving' })
    try {
      const result = await command('config.save', { name: modelName, text, baseHash: savedHash })
      if (result.kind === 'conflict') {
        end(modelName, { kind: 'conflict', base: savedText ?? '', theirs: { text: result.currentText, hash: result.currentHash }, wantsLoad })
        return
      }
      previous = { text: savedText, hash: result.hash }
      setSaved(modelName, text, result.hash)
      announce(said.saved)
    } catch (error) {
      announce(errorText(error), 'assertive')
      end(modelName, { kind: 'saveFailed', error })
      return
    }
  }
  if (!wantsLoad) return end(modelName, { kind: 'idle' })
  end(modelName, { kind: 'loading' })
  try {
    await command('model.load', { name: modelName })
    announce(said.loaded)
    end(modelName, { kind: 'idle' })
  } catch (error) {
    announce(errorText(error), 'assertive')
    end(modelName, { kind: 'loadFailed', reason: errorText(error), previous, isRestored: false })
  }
}

/** Writes back what stood on disk before the save whose load failed, and loads that. The text of the editor follows, as an edit. */
export async function restorePrevious(previous: FileState): Promise<void> {
  const { modelName } = useConfigDocument.getState()
  if (modelName === null) return
  end(modelName, { kind: 'restoring' })
  let isWritten = false
  try {
    const result = await command('config.save', { name: modelName, text: previous.text, baseHash: previous.hash })
    if (result.kind === 'conflict') {
      end(modelName, { kind: 'conflict', base: useConfigDocument.getState().savedText ?? '', theirs: { text: result.currentText, hash: result.currentHash }, wantsLoad: true })
      return
    }
    isWritten = true
    if (useConfigDocument.getState().modelName === modelName) setText(previous.text ?? '', 'restore')
    setSaved(modelName, previous.text, result.hash)
    await command('model.load', { name: modelName })
    end(modelName, { kind: 'idle' })
  } catch (error) {
    announce(errorText(error), 'assertive')
    end(modelName, isWritten ? { kind: 'loadFailed', reason: errorText(error), previous: null, isRestored: true } : { kind: 'saveFailed', error })
  }
}

/** Takes the result of a merge into the editor, and the file on disk as what it began from. */
export function takeMerge(theirs: FileState, text: string): void {
  const { modelName } = useConfigDocument.getState()
  if (modelName === null) return
  setText(text, 'restore')
  setSaved(modelName, theirs.text, theirs.hash)
  end(modelName, { kind: 'idle' })
}

/** Opens the merge of what the file became on disk meanwhile. */
export function mergeDiskChange(): void {
  const { modelName, savedText, diskChange } = useConfigDocument.getState()
  if (modelName !== null && diskChange !== null) end(modelName, { kind: 'conflict', base: savedText ?? '', theirs: diskChange, wantsLoad: false })
}

/** The diagnostic that foretold a failed load: its server text is part of the reason. */
export function diagnosticOf(reason: string, diagnostics: readonly ConfigDiagnostic[]): ConfigDiagnostic | undefined {
  return diagnostics.find(({ serverText }) => serverText !== undefined && serverText !== '' && reason.includes(serverText))
}
