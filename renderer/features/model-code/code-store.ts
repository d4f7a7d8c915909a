/**
 * The model.py that is being edited: its text, what is wrong with it, and how opening, saving and loading ended. The editor changes the text by
 * `applyCodeEdits`; unsaved changes of other files are kept until they are opened again.
 */
import { create } from 'zustand'
import type { ConfigDiagnostic, TextEdit } from '../../../server-core/contract/config-language.ts'
import type { CodeFile } from '../../../server-core/contract/model-code.ts'
import { errorText } from '../../components/error-notice.tsx'
import { announce } from '../../components/live-region.tsx'
import { command } from '../../console-client.ts'
import { setCodeProblems } from '../../lib/code-problems.ts'
import { applyTextEdits, carryDiagnostics } from '../../lib/text-edits.ts'

/** The file as it became on disk while changes here are unsaved; text null: it is gone. */
export interface DiskChange {
  readonly text: string | null
  readonly hash: string | null
}

export interface CodeDocument extends Omit<CodeFile, 'hash' | 'text'> {
  readonly modelName: string
  readonly text: string
  /** Rises with every change of the text, over all documents. */
  readonly revision: number
  readonly savedText: string
  /** Of the file on disk, as the server gave it. */
  readonly savedHash: string
  /** Of the last check, carried along by edits since. */
  readonly diagnostics: readonly ConfigDiagnostic[]
  /** The revision that was checked. */
  readonly checkedRevision: number
  readonly diskChange: DiskChange | null
}

export type CodeOutcome =
  | { readonly kind: 'idle' | 'saving' | 'loading' }
  | { readonly kind: 'saveFailed' | 'loadFailed'; readonly error: unknown }

export interface CodeStore {
  /** The model and version that were asked for last. */
  readonly wanted: { readonly modelName: string; readonly version: number | null } | null
  readonly document: CodeDocument | null
  readonly openError: unknown
  readonly outcome: CodeOutcome
}

const IDLE: CodeOutcome = { kind: 'idle' }
const CLOSED: CodeStore = { wanted: null, document: null, openError: null, outcome: IDLE }

export const useCode = create<CodeStore>()(() => CLOSED)

let revisions = 0
/** Documents with unsaved changes that another took the place of, by path. */
const parked = new Map<string, CodeDocument>()

export function isCodeModified(document: Pick<CodeDocument, 'text' | 'savedText'>): boolean {
  return document.text !== document.savedText
}

/** Forgets everything. */
export function closeCode(): void {
  parked.clear()
  useCode.setState(CLOSED, true)
}

/** Reads the model.py of a version (null: the newest); unsaved changes to it stay. */
export async function openCode(modelName: string, version: number | null): Promise<void> {
  const { wanted, document } = useCode.getState()
  if (wanted?.modelName !== modelName || wanted.version !== version) useCode.setState({ wanted: { modelName, version }, openError: null, outcome: IDLE })
  // The version that is open stays open where none is named.
  const asked = version ?? (document?.modelName === modelName ? document.version : null)
  const isWanted = () => {
    const { wanted: now } = useCode.getState()
    return now?.modelName === modelName && now.version === version
  }
  try {
    const file = await command('code.open', { name: modelName, version: asked })
    if (isWanted()) show(modelName, file)
  } catch (error) {
    if (isWanted()) useCode.setState({ openError: error })
  }
}

function show(modelName: string, { text, hash, ...facts }: CodeFile): void {
  const { document } = useCode.getState()
  if (document !== null && document.path !== facts.path && isCodeModified(document)) parked.set(document.path, document)
  const known = document?.path === facts.path ? document : parked.get(facts.path)
  parked.delete(facts.path)
  const openError = null
  if (known === undefined || !isCodeModified(known)) {
    // The same text as before keeps its revision, so that the editor keeps the cursor.
    const isSame = known === document && known?.text === text
    useCode.setState({
      openError,
      document: { ...facts, modelName, text, savedText: text, savedHash: hash, diskChange: null, diagnostics: isSame ? known?.diagnostics ?? [] : [], revision: isSame ? known?.revision ?? 0 : ++revisions, checkedRevision: -1 },
    })
    return
  }
  const disk: Partial<CodeDocument> = hash === known.savedHash ? { diskChange: null } : text === known.text ? { savedText: text, savedHash: hash, diskChange: null } : { diskChange: { text, hash } }
  useCode.setState({ openError, document: { ...known, ...facts, modelName, revision: known === document ? known.revision : ++revisions, checkedRevision: -1, ...disk } })
}

/** Changes the text. Edits speak of the text as it is. */
export function applyCodeEdits(edits: readonly TextEdit[]): void {
  change((document) => {
    const text = applyTextEdits(document.text, edits)
    return { text, revision: ++revisions, diagnostics: carryDiagnostics(document.diagnostics, edits, text) }
  })
}

/** The result of a check; dropped when the text changed since. */
export function setCodeDiagnostics(revision: number, diagnostics: readonly ConfigDiagnostic[]): void {
  const { document } = useCode.getState()
  if (document?.revision !== revision) return
  change(() => ({ diagnostics, checkedRevision: revision }))
  const count = (severity: ConfigDiagnostic['severity']) => diagnostics.filter((diagnostic) => diagnostic.severity === severity).length
  setCodeProblems({ modelName: document.modelName, file: document.name, errors: count('error'), warnings: count('warning') })
}

/** Takes the text on disk and drops what was changed here; or keeps the text here, and the next save writes over the file. */
export function settleDiskChange(choice: 'theirs' | 'mine'): void {
  change(({ diskChange, savedHash, savedText }) => {
    if (diskChange === null) return {}
    const known = { savedText: diskChange.text ?? savedText, savedHash: diskChange.hash ?? savedHash, diskChange: null }
    return choice === 'mine' || diskChange.text === null ? known : { ...known, text: diskChange.text, revision: ++revisions, diagnostics: [], checkedRevision: -1 }
  })
}

export function dismissCodeOutcome(): void {
  useCode.setState({ outcome: IDLE })
}

/** Writes the text as it is now, then loads the model if asked. How it ended is in the store. */
export async function saveCode(wantsLoad: boolean, said: { readonly saved: string; readonly loaded: string }): Promise<void> {
  const { document } = useCode.getState()
  if (document === null) return
  const { modelName, version, path, text, savedHash } = document
  if (isCodeModified(document)) {
    useCode.setState({ outcome: { kind: 'saving' } })
    try {
      const result = await command('code.save', { name: modelName, version, text, baseHash: savedHash })
      if (result.kind === 'conflict') {
        changeOf(path, () => ({ diskChange: { text: result.currentText, hash: result.currentHash } }))
        return end(path, IDLE)
      }
      changeOf(path, () => ({ savedText: text, savedHash: result.hash, diskChange: null }))
      announce(said.saved)
    } catch (error) {
      announce(errorText(error), 'assertive')
      return end(path, { kind: 'saveFailed', error })
    }
  }
  if (!wantsLoad) return end(path, IDLE)
  end(path, { kind: 'loading' })
  try {
    await command('model.load', { name: modelName })
    announce(said.loaded)
    end(path, IDLE)
  } catch (error) {
    announce(errorText(error), 'assertive')
    end(path, { kind: 'loadFailed', error })
  }
}

function change(how: (document: CodeDocument) => Partial<CodeDocument>): void {
  useCode.setState(({ document }) => ({ document: document === null ? null : { ...document, ...how(document) } }))
}

/** Of a document that may have been left meanwhile. */
function changeOf(path: string, how: (document: CodeDocument) => Partial<CodeDocument>): void {
  if (useCode.getState().document?.path === path) return change(how)
  const left = parked.get(path)
  if (left !== undefined) parked.set(path, { ...left, ...how(left) })
}

function end(path: string, outcome: CodeOutcome): void {
  if (useCode.getState().document?.path === path) useCode.setState({ outcome })
}
