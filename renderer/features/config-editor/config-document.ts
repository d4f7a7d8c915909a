/**
 * The one document that the form and the text editor show: the text of a config.pbtxt, its tree, what is wrong with it, and one undo
 * history for all views. Views read the store and change it by `applyEdits`; nothing else holds a copy of the text.
 */
import { create } from 'zustand'
import type { ConfigContext, ConfigDiagnostic, TextEdit } from '../../../server-core/contract/config-language.ts'
import { EMPTY_CONFIG_CONTEXT } from '../../../server-core/contract/config-language.ts'
import type { ConfigPath } from '../../../server-core/model-config/config-path.ts'
import { parsePbtxt } from '../../../server-core/model-config/pbtxt-parser.ts'
import type { PbtxtError, PbtxtTree } from '../../../server-core/model-config/pbtxt-tree.ts'
import { applyTextEdits, carryDiagnostics, differenceAsEdits, invertEdits, preferredFixEdits } from '../../lib/text-edits.ts'

export type { ConfigPath }

/** Who changed the document: a view does not answer to its own changes. */
export type EditOrigin = 'text' | 'form' | 'fix' | 'format' | 'restore' | 'history'

/** One step of undo: what takes it back, and what makes it again. */
interface UndoStep {
  readonly undo: readonly TextEdit[]
  readonly redo: readonly TextEdit[]
  readonly origin: EditOrigin
  readonly time: number
}

export interface ConfigSelection {
  readonly path: ConfigPath
  readonly origin: 'text' | 'form' | 'problems'
}

/** The edits that led from the version before to this one; null: another document. */
export interface DocumentChange {
  readonly edits: readonly TextEdit[] | null
  readonly origin: EditOrigin | 'open'
}

export interface ConfigDocument {
  /** null: no document is open. */
  readonly modelName: string | null
  readonly text: string
  /** Rises with every change of the text, and never falls. */
  readonly version: number
  readonly lastChange: DocumentChange
  readonly tree: PbtxtTree
  /** What the parser says about this very text. */
  readonly parseErrors: readonly PbtxtError[]
  /** Of the last check; carried along by edits since, so that offsets and fixes always fit `text`. */
  readonly diagnostics: readonly ConfigDiagnostic[]
  /** The version that was checked; lower than `version`: a check is under way. */
  readonly checkedVersion: number
  readonly context: ConfigContext
  /** The text on disk as far as this window knows; null: there is no file. */
  readonly savedText: string | null
  /** Of the file on disk, as the server gave it. */
  readonly savedHash: string | null
  /** What the file became on disk while changes here are unsaved; null: nothing. */
  readonly diskChange: { readonly text: string | null; readonly hash: string | null } | null
  readonly selection: ConfigSelection | null
  readonly undoSteps: readonly UndoStep[]
  readonly redoSteps: readonly UndoStep[]
}

const KEPT_STEPS = 1000
/** Typing within this time is undone together. */
const MERGE_MILLISECONDS = 800

const EMPTY_TREE = parsePbtxt('')

export const CLOSED_DOCUMENT: ConfigDocument = {
  modelName: null, text: '', version: 0, lastChange: { edits: null, origin: 'open' }, tree: EMPTY_TREE.tree, parseErrors: [], diagnostics: [], checkedVersion: 0, context: EMPTY_CONFIG_CONTEXT,
  savedText: null, savedHash: null, diskChange: null, selection: null, undoSteps: [], redoSteps: [],
}

export const useConfigDocument = create<ConfigDocument>()(() => CLOSED_DOCUMENT)

/** Documents with unsaved changes that another model took the place of, by model. */
const parked = new Map<string, ConfigDocument>()

export function isModified(document: Pick<ConfigDocument, 'text' | 'savedText'>): boolean {
  return document.text !== (document.savedText ?? '')
}

/**
 * Shows the config of a model as the server answered it. Unsaved changes to another model are kept for when it is opened again; unsaved
 * changes to this one stay, with the file they began from, so that a save still finds out what changed on disk meanwhile.
 */
export function openDocument(file: { readonly modelName: string; readonly text: string | null; readonly hash: string | null; readonly context: ConfigContext }): void {
  const current = useConfigDocument.getState()
  if (current.modelName === file.modelName && isModified(current)) {
    useConfigDocument.setState({ context: file.context, checkedVersion: -1, ...besideDisk(current, file) })
    return
  }
  if (current.modelName !== null && current.modelName !== file.modelName && isModified(current)) parked.set(current.modelName, current)
  const version = current.version + 1
  const unsaved = parked.get(file.modelName)
  parked.delete(file.modelName)
  if (unsaved) {
    useConfigDocument.setState({ ...unsaved, ...besideDisk(unsaved, file), context: file.context, version, checkedVersion: -1, lastChange: { edits: null, origin: 'open' } }, true)
    return
  }
  if (current.modelName === file.modelName && current.text === (file.text ?? '')) {
    useConfigDocument.setState({ context: file.context, savedText: file.text, savedHash: file.hash, checkedVersion: -1 })
    return
  }
  const text = file.text ?? ''
  const { tree, errors } = parsePbtxt(text)
  useConfigDocument.setState({
    ...CLOSED_DOCUMENT, modelName: file.modelName, text, version, tree, parseErrors: errors, context: file.context, savedText: file.text, savedHash: file.hash, checkedVersion: -1,
  }, true)
}

/** Where the unsaved document stands to the file as it is on disk now. */
function besideDisk(document: ConfigDocument, { text, hash }: { readonly text: string | null; readonly hash: string | null }): Partial<ConfigDocument> {
  if (hash === document.savedHash) return { diskChange: null }
  // Somebody wrote the very same text.
  return text === document.text ? { savedText: text, savedHash: hash, diskChange: null } : { diskChange: { text, hash } }
}

/** Changes the text. Edits speak of the text as it is; they are one step of undo, or join the typing just before. */
export function applyEdits(edits: readonly TextEdit[], origin: EditOrigin, now = Date.now()): void {
  const before = useConfigDocument.getState()
  const real = edits.filter((edit) => before.text.slice(edit.offset, edit.offset + edit.length) !== edit.text)
  if (real.length === 0) return
  const step: UndoStep = { undo: invertEdits(before.text, real), redo: real, origin, time: now }
  const last = before.undoSteps.at(-1)
  const merged = last && before.redoSteps.length === 0 ? mergeTyping(last, step) : null
  const steps = merged ? [...before.undoSteps.slice(0, -1), merged] : [...before.undoSteps, step].slice(-KEPT_STEPS)
  change(real, origin, { undoSteps: steps, redoSteps: [] })
}

/** Replaces the whole text by the least edit that does so. */
export function setText(text: string, origin: EditOrigin): void {
  applyEdits(differenceAsEdits(useConfigDocument.getState().text, text), origin)
}

/** Returns false where there is nothing to undo. */
export function undo(): boolean {
  const { undoSteps, redoSteps } = useConfigDocument.getState()
  const step = undoSteps.at(-1)
  if (!step) return false
  change(step.undo, 'history', { undoSteps: undoSteps.slice(0, -1), redoSteps: [...redoSteps, step] })
  return true
}

export function redo(): boolean {
  const { undoSteps, redoSteps } = useConfigDocument.getState()
  const step = redoSteps.at(-1)
  if (!step) return false
  // Whatever is typed next is a step of its own.
  change(step.redo, 'history', { undoSteps: [...undoSteps, { ...step, time: 0 }], redoSteps: redoSteps.slice(0, -1) })
  return true
}

/** Takes all unsaved changes back, as one step that can be undone. */
export function revertToSaved(): void {
  setText(useConfigDocument.getState().savedText ?? '', 'restore')
}

/** The preferred fix of every problem, as one step. Returns how many edits that were. */
export function applyAllFixes(): number {
  const edits = preferredFixEdits(useConfigDocument.getState().diagnostics)
  applyEdits(edits, 'fix')
  return edits.length
}

/** The result of a check; dropped when the text changed since. */
export function setDiagnostics(version: number, diagnostics: readonly ConfigDiagnostic[]): void {
  if (useConfigDocument.getState().version === version) useConfigDocument.setState({ diagnostics, checkedVersion: version })
}

export function setSelection(path: ConfigPath, origin: ConfigSelection['origin']): void {
  const { selection } = useConfigDocument.getState()
  if (JSON.stringify(selection?.path) !== JSON.stringify(path) || selection?.origin !== origin) useConfigDocument.setState({ selection: { path, origin } })
}

/** The file of a model on disk is now this; the text of the document stays. The model may have been left meanwhile. */
export function setSaved(modelName: string, savedText: string | null, savedHash: string | null): void {
  const saved = { savedText, savedHash, diskChange: null }
  if (useConfigDocument.getState().modelName === modelName) useConfigDocument.setState(saved)
  const left = parked.get(modelName)
  if (left) parked.set(modelName, { ...left, ...saved })
}

function change(edits: readonly TextEdit[], origin: EditOrigin, history: Pick<ConfigDocument, 'undoSteps' | 'redoSteps'>): void {
  const before = useConfigDocument.getState()
  const text = applyTextEdits(before.text, edits)
  const { tree, errors } = parsePbtxt(text)
  useConfigDocument.setState({
    ...history, text, tree, parseErrors: errors, version: before.version + 1, lastChange: { edits, origin }, diagnostics: carryDiagnostics(before.diagnostics, edits, text),
  })
}

/** Letters typed one after another, or deleted one after another, are undone together; so is a slider that is dragged. */
function mergeTyping(last: UndoStep, step: UndoStep): UndoStep | null {
  const [before, ...others] = last.redo
  const [after, ...rest] = step.redo
  if (before === undefined || after === undefined || others.length > 0 || rest.length > 0) return null
  if (last.origin !== step.origin || (step.origin !== 'text' && step.origin !== 'form') || step.time - last.time > MERGE_MILLISECONDS) return null
  const removed = last.undo[0]?.text ?? ''
  // The same place written again: a number field or a slider of the form.
  if (after.offset === before.offset && after.length === before.text.length && after.length > 0 && step.origin === 'form') {
    return { ...step, undo: last.undo.map((edit) => ({ ...edit, length: after.text.length })), redo: [{ ...before, text: after.text }] }
  }
  if (step.origin !== 'text' || /[\r\n]/.test(after.text)) return null
  if (after.length === 0 && after.offset === before.offset + before.text.length && after.text.length === 1) {
    const text = before.text + after.text
    return { ...step, undo: [{ offset: before.offset, length: text.length, text: removed }], redo: [{ ...before, text }] }
  }
  // Backspace: what is deleted ends where the last deletion began.
  if (after.text === '' && before.text === '' && after.offset + after.length === before.offset && after.length === 1) {
    const text = (step.undo[0]?.text ?? '') + removed
    return { ...step, undo: [{ offset: after.offset, length: 0, text }], redo: [{ offset: after.offset, length: text.length, text: '' }] }
  }
  return null
}
