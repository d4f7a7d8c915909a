/**
 * Importing a model: bring the files to the server (or tell it where they lie), let it review them, create and load. What was dropped is kept
 * until the end, so that an error loses nothing and can be tried again. Whatever way it ends, the server is told and keeps nothing.
 */
import { create } from 'zustand'
import type { ModelImportReview } from '../../../server-core/contract/console-api.ts'
import { command, consoleClient } from '../../console-client.ts'
import { navigate } from '../../router.ts'
import { describeDropped } from './import-drop.ts'
import type { Dropped } from './import-drop.ts'

export interface TransferProgress {
  readonly bytesDone: number
  readonly bytesTotal: number
  /** null: not to be told yet. */
  readonly secondsLeft: number | null
}

export type ImportState =
  | { readonly kind: 'idle' }
  /** Nothing in it that can be a model. */
  | { readonly kind: 'refused'; readonly fileName: string; readonly reason: 'other' | 'nothing' }
  /** Bytes are on their way (`progress`), then the server reads them (null). */
  | { readonly kind: 'preparing'; readonly fileName: string; readonly progress: TransferProgress | null }
  | { readonly kind: 'failed'; readonly dropped: readonly Dropped[]; readonly error: unknown }
  | ImportReviewState

export interface ImportReviewState {
  readonly kind: 'review'
  /** All that was dropped for it, in order. */
  readonly dropped: readonly Dropped[]
  /** null: a failed attempt used it up; the files are brought again before the next one. */
  readonly importId: string | null
  readonly review: ModelImportReview
  readonly step: 'ask' | 'creating' | 'loading'
  readonly progress: TransferProgress | null
  readonly error: ImportError | null
}

export interface ImportError {
  /** 'review': the files added, or the backend chosen, could not be read. 'load': the model is in the repository but did not load. */
  readonly step: 'review' | 'create' | 'load'
  readonly error: unknown
}

export interface ImportChoice {
  readonly modelName: string
  readonly asVersion: boolean
  readonly link: boolean
  readonly shouldLoad: boolean
}

export const useImport = create<{ readonly state: ImportState }>()(() => ({ state: { kind: 'idle' } }))

const set = (state: ImportState) => useImport.setState({ state })

/** Rises with everything that replaces what was going on; whatever belongs to an older turn is dropped. */
let turn = 0
/** The import that the server holds for this window. */
let openId: string | null = null

const CHUNK_BYTES = 4 * 1024 * 1024
const MODEL_FILE = /\.(?:onnx|om|py)$/i

/** What is left of a transfer at the mean speed so far; null before a second has passed, when that says nothing. */
export function secondsLeft(startedAt: number, now: number, bytesDone: number, bytesTotal: number): number | null {
  const seconds = (now - startedAt) / 1000
  return bytesDone === 0 || seconds < 1 ? null : Math.ceil(seconds * (bytesTotal - bytesDone) / bytesDone)
}

/** Step one: takes what was dropped or chosen and has it reviewed. Files that a review asks for are added to it. */
export async function importFiles(dropped: Dropped): Promise<void> {
  const { state } = useImport.getState()
  if (state.kind === 'review' && state.step !== 'ask') return
  if (state.kind === 'review' && state.review.missingFiles.length > 0 && !dropped.hasFolder && !dropped.names.some((name) => MODEL_FILE.test(name))) {
    await addFiles(state, dropped)
    return
  }
  const isEmpty = dropped.source.kind === 'local' ? dropped.source.paths.length === 0 : dropped.source.kind === 'upload' && dropped.source.files.length === 0
  if (isEmpty || (!dropped.hasFolder && dropped.source.kind === 'upload' && !dropped.names.some((name) => MODEL_FILE.test(name)))) {
    abandon()
    set({ kind: 'refused', fileName: dropped.fileName, reason: isEmpty ? 'nothing' : 'other' })
    return
  }
  await prepare([dropped])
}

/** Brings the files and has them reviewed (again). */
export async function prepare(dropped: readonly Dropped[]): Promise<void> {
  abandon()
  const mine = turn
  const fileName = dropped[0]?.fileName ?? ''
  const show = (progress: TransferProgress | null) => { if (mine === turn) set({ kind: 'preparing', fileName, progress }) }
  show(null)
  try {
    const importId = await bring(dropped, mine, show)
    show(null)
    const review = await command('import.review', { importId, backend: null })
    if (mine === turn) set({ kind: 'review', dropped, importId, review, step: 'ask', progress: null, error: null })
  } catch (error) {
    if (mine !== turn) return
    abandon()
    set({ kind: 'failed', dropped, error })
  }
}

async function addFiles(state: ImportReviewState, added: Dropped): Promise<void> {
  const mine = turn
  const dropped = [...state.dropped, added]
  try {
    const existing = state.importId === null ? null : { importId: state.importId, fileCount: uploadCount(state.dropped) }
    const importId = await bring(existing === null ? dropped : [added], mine, (progress) => { if (mine === turn) set({ ...state, progress }) }, existing)
    const review = await command('import.review', { importId, backend: state.review.backend })
    if (mine === turn) set({ ...state, dropped, importId, review, progress: null, error: null })
  } catch (error) {
    if (mine === turn) set({ ...state, progress: null, error: { step: 'review', error } })
  }
}

/** Has the config made for another backend. */
export async function chooseBackend(backend: string): Promise<void> {
  const { state } = useImport.getState()
  if (state.kind !== 'review' || state.step !== 'ask') return
  const mine = turn
  try {
    const importId = state.importId ?? await bring(state.dropped, mine, () => {})
    const review = await command('import.review', { importId, backend })
    if (mine === turn) set({ ...state, importId, review: { ...review, modelName: state.review.modelName }, error: null })
  } catch (error) {
    if (mine === turn) set({ ...state, error: { step: 'review', error } })
  }
}

/** @returns the id of the import that now has these files */
async function bring(dropped: readonly Dropped[], mine: number, show: (progress: TransferProgress) => void, existing: { readonly importId: string; readonly fileCount: number } | null = null): Promise<string> {
  let importId = existing?.importId ?? null
  let first = existing?.fileCount ?? 0
  for (const { source } of dropped) {
    const files = source.kind === 'upload' ? source.files.map(({ path, file }) => ({ path, byteSize: file.size })) : []
    const opened: { readonly importId: string } = await command('import.open', { source: source.kind === 'upload' ? { kind: 'upload', files } : source, importId })
    importId = opened.importId
    if (mine !== turn) {
      // Cancelled before it had a name.
      await command('import.close', { importId })
      return importId
    }
    openId = importId
    if (source.kind === 'upload') await upload(importId, first, source.files.map(({ file }) => file), mine, show)
    first += files.length
  }
  return importId ?? ''
}

/** Files of an import are counted from 0 over all that were added. */
function uploadCount(dropped: readonly Dropped[]): number {
  return dropped.reduce((sum, { source }) => sum + (source.kind === 'upload' ? source.files.length : 0), 0)
}

async function upload(importId: string, first: number, files: readonly File[], mine: number, show: (progress: TransferProgress) => void): Promise<void> {
  const bytesTotal = files.reduce((sum, file) => sum + file.size, 0)
  const startedAt = performance.now()
  let bytesDone = 0
  for (const [index, file] of files.entries()) {
    for (let offset = 0; offset < file.size && mine === turn; offset += CHUNK_BYTES) {
      const data = new Uint8Array(await file.slice(offset, offset + CHUNK_BYTES).arrayBuffer())
      if (mine !== turn) return
      await command('import.chunk', { importId, file: first + index, offset, data })
      bytesDone += data.length
      show({ bytesDone, bytesTotal, secondsLeft: secondsLeft(startedAt, performance.now(), bytesDone, bytesTotal) })
    }
  }
}

/** Step two: writes the model or version, loads it where that can succeed, and shows it. */
export async function createModel(choice: ImportChoice): Promise<void> {
  const { state } = useImport.getState()
  if (state.kind !== 'review' || state.step !== 'ask') return
  const mine = turn
  const isWritten = state.error?.step === 'load'
  const { modelName, asVersion, link, shouldLoad } = choice
  let current: ImportReviewState = { ...state, step: isWritten ? 'loading' : 'creating', progress: null, error: null }
  const show = (change: Partial<ImportReviewState>) => {
    current = { ...current, ...change }
    if (mine === turn) set(current)
  }
  show({})
  if (!isWritten) {
    try {
      const importId = state.importId ?? await bring(state.dropped, mine, (progress) => { show({ progress }) })
      if (mine !== turn) return
      await whileFollowing(importId, (progress) => { show({ progress }) }, () => command('import.create', { importId, backend: state.review.backend, modelName, asVersion, link }))
    } catch (error) {
      if (mine !== turn) return
      closeOnServer()
      show({ step: 'ask', importId: null, progress: null, error: { step: 'create', error } })
      return
    }
    openId = null
  }
  if (mine !== turn) return
  try {
    show({ step: 'loading', progress: null })
    if (shouldLoad) await command('model.load', { name: modelName })
    if (mine !== turn) return
    set({ kind: 'idle' })
    navigate('models', modelName, state.review.signature === 'complete' || shouldLoad ? 'test' : 'config')
  } catch (error) {
    show({ step: 'ask', importId: null, error: { step: 'load', error } })
  }
}

async function whileFollowing(importId: string, show: (progress: TransferProgress) => void, work: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now()
  const stop = consoleClient.on('import.progress', (progress) => {
    if (progress.importId !== importId) return
    const { bytesDone, bytesTotal } = progress
    show({ bytesDone, bytesTotal, secondsLeft: secondsLeft(startedAt, performance.now(), bytesDone, bytesTotal) })
  })
  try {
    await work()
  } finally {
    stop()
  }
}

/** Calls off whatever is going on and closes the card. A load that has begun goes on; its model is in the list. */
export function closeImport(): void {
  abandon()
  set({ kind: 'idle' })
}

function abandon(): void {
  turn++
  closeOnServer()
}

function closeOnServer(): void {
  const importId = openId
  openId = null
  if (importId === null) return
  // Without a connection the server has closed it already.
  command('import.close', { importId }).catch(() => {})
}

/** A Python model to begin with, reviewed like files that were dropped. */
export async function importTemplate(name: string): Promise<void> {
  await prepare([{ fileName: name, hasFolder: true, names: [], source: { kind: 'template', name } }])
}

/** Opens the file chooser (Ctrl+O). */
export function chooseModelFile(): void {
  chooseFiles('.onnx,.om,.py')
}

/** Chooser for the files that a review asks for: they may have any name. */
export function chooseMissingFiles(): void {
  chooseFiles('')
}

function chooseFiles(accept: string): void {
  const input = document.createElement('input')
  input.type = 'file'
  input.multiple = true
  input.accept = accept
  input.addEventListener('change', () => void describeDropped([...(input.files ?? [])]).then(importFiles))
  input.click()
}
