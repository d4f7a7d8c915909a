/**
 * Importing a model file: read it, let the server review it, create and load it. The dropped bytes stay until the end, so that an error
 * loses nothing and can be tried again.
 */
import { create } from 'zustand'
import type { ModelImportReview } from '../../../server-core/contract/console-api.ts'
import { command } from '../../console-client.ts'
import { navigate } from '../../router.ts'

export interface ImportFile {
  readonly name: string
  readonly data: Uint8Array
}

export type ImportState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'reading'; readonly fileName: string }
  /** Not a file that can be imported now, or more than one. */
  | { readonly kind: 'refused'; readonly fileName: string; readonly reason: 'om' | 'python' | 'several' | 'folder' | 'other' }
  | { readonly kind: 'reviewFailed'; readonly fileName: string; readonly file: ImportFile | null; readonly error: unknown }
  | { readonly kind: 'review'; readonly file: ImportFile; readonly review: ModelImportReview; readonly step: 'ask' | 'creating' | 'loading'; readonly error: ImportError | null }

export interface ImportError {
  /** 'load': the model is in the repository but did not load. */
  readonly step: 'create' | 'load'
  readonly error: unknown
}

export const useImport = create<{ readonly state: ImportState }>()(() => ({ state: { kind: 'idle' } }))

const set = (state: ImportState) => useImport.setState({ state })

/** What a file is, by its name: only ONNX files can be imported now. */
export function refusalOf(fileName: string): 'om' | 'python' | 'other' | null {
  const name = fileName.toLowerCase()
  if (name.endsWith('.onnx')) return null
  if (name.endsWith('.om')) return 'om'
  return name.endsWith('.py') ? 'python' : 'other'
}

/** Step one: takes what was dropped or chosen and has it reviewed. */
export async function reviewFile(files: readonly File[]): Promise<void> {
  const file = files[0]
  if (file === undefined) {
    set({ kind: 'refused', fileName: '', reason: 'folder' })
    return
  }
  if (files.length > 1) {
    set({ kind: 'refused', fileName: file.name, reason: 'several' })
    return
  }
  const refusal = refusalOf(file.name)
  if (refusal !== null) {
    set({ kind: 'refused', fileName: file.name, reason: refusal })
    return
  }
  set({ kind: 'reading', fileName: file.name })
  try {
    await reviewBytes({ name: file.name, data: new Uint8Array(await file.arrayBuffer()) })
  } catch (error) {
    set({ kind: 'reviewFailed', fileName: file.name, file: null, error })
  }
}

/** Has the bytes reviewed (again). */
export async function reviewBytes(file: ImportFile): Promise<void> {
  set({ kind: 'reading', fileName: file.name })
  try {
    const review = await command('model.importReview', { fileName: file.name, data: file.data })
    set({ kind: 'review', file, review, step: 'ask', error: null })
  } catch (error) {
    set({ kind: 'reviewFailed', fileName: file.name, file, error })
  }
}

/** Step two: writes the model into the repository under this name, loads it where the server allows it, and shows it. */
export async function createModel(modelName: string, canLoad: boolean): Promise<void> {
  const { state } = useImport.getState()
  if (state.kind !== 'review') return
  const hasFiles = state.error?.step === 'load'
  try {
    if (!hasFiles) {
      set({ ...state, step: 'creating', error: null })
      await command('model.importCreate', { fileName: state.file.name, data: state.file.data, modelName })
    }
  } catch (error) {
    set({ ...state, step: 'ask', error: { step: 'create', error } })
    return
  }
  try {
    set({ ...state, step: 'loading', error: null })
    if (canLoad) await command('model.load', { name: modelName })
    set({ kind: 'idle' })
    navigate('models', modelName, 'test')
  } catch (error) {
    set({ ...state, step: 'ask', error: { step: 'load', error } })
  }
}

export function closeImport(): void {
  set({ kind: 'idle' })
}

/** Opens the file chooser (Ctrl+O). */
export function chooseModelFile(): void {
  const input = document.createElement('input')
  input.type = 'file'
  input.accept = '.onnx'
  input.addEventListener('change', () => void reviewFile([...(input.files ?? [])]))
  input.click()
}
