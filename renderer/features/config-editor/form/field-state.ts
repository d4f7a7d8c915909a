/** What the form knows of one field: written or not, changed or not, why it is locked, and what is wrong with it. */
import type { ConfigDiagnostic } from '../../../../server-core/contract/config-language.ts'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import { parsePbtxt } from '../../../../server-core/model-config/pbtxt-parser.ts'
import type { PbtxtTree, PbtxtValue } from '../../../../server-core/model-config/pbtxt-tree.ts'
import type { ConfigDocument } from '../config-document.ts'
import { useDocumentValue } from './document-value.ts'
import { isSamePath, isUnder, locksOf, meaningOf, messageAt, pathAt, schemaAt, valueAt, valuesOf } from './form-tree.ts'
import type { Lock } from './form-tree.ts'

export interface PlacedDiagnostic {
  readonly diagnostic: ConfigDiagnostic
  readonly path: ConfigPath
}

/** Remembers the last result: the same document is asked once per field. */
function lastOf<Inputs extends readonly unknown[], Result>(compute: (...inputs: Inputs) => Result): (...inputs: Inputs) => Result {
  let known: { readonly inputs: Inputs; readonly result: Result } | undefined
  return (...inputs) => {
    if (known === undefined || inputs.some((input, index) => input !== known?.inputs[index])) known = { inputs, result: compute(...inputs) }
    return known.result
  }
}

export const treeOfText = lastOf((text: string): PbtxtTree => parsePbtxt(text).tree)

export const placedDiagnostics = lastOf((tree: PbtxtTree, diagnostics: readonly ConfigDiagnostic[]): readonly PlacedDiagnostic[] =>
  diagnostics.map((diagnostic) => ({ diagnostic, path: pathAt(tree, diagnostic.offset) })))

export const documentLocks = lastOf(locksOf)

/** Values that a path stands for: all of a repeated field, else the one. */
export function valuesAtPath(tree: PbtxtTree, path: ConfigPath): readonly PbtxtValue[] {
  const last = path.at(-1)
  if (typeof last === 'string') {
    const parent = path.length === 1 ? tree.root : messageAt(tree, path.slice(0, -1))
    return valuesOf(parent, last)
  }
  const value = valueAt(tree, path)
  return value === null ? [] : [value]
}

export function isWritten(tree: PbtxtTree, path: ConfigPath): boolean {
  return valuesAtPath(tree, path).length > 0
}

/** Not as in the saved file. */
export function isChanged(document: Pick<ConfigDocument, 'tree' | 'savedText'>, path: ConfigPath): boolean {
  if (document.savedText === document.tree.text) return false
  return meaningOf(valuesAtPath(document.tree, path)) !== meaningOf(valuesAtPath(treeOfText(document.savedText ?? ''), path))
}

/** Top-level fields (and single parameters) that differ from the saved file. */
export function changedCount(document: Pick<ConfigDocument, 'tree' | 'savedText'>): number {
  const saved = treeOfText(document.savedText ?? '')
  const names = new Set([...document.tree.root.fields, ...saved.root.fields].map(({ name }) => name))
  let count = 0
  for (const name of names) {
    if (name !== 'parameters') {
      if (isChanged(document, [name])) count++
      continue
    }
    const keys = new Set([document.tree, saved].flatMap((tree) => valuesOf(tree.root, name).flatMap((entry) => (entry.kind === 'message' ? valuesOf(entry, 'key').flatMap((key) => (key.kind === 'scalar' ? [String(key.value)] : [])) : []))))
    for (const key of keys) if (isChanged(document, [name, { key }])) count++
  }
  return count
}

export interface FieldState {
  readonly isWritten: boolean
  readonly isChanged: boolean
  /** null: the form may change it. */
  readonly lock: Lock | null
  readonly diagnostics: readonly ConfigDiagnostic[]
}

/**
 * @param isGroup the field's parts have rows of their own, which take what is theirs; a group keeps what is about itself and about fields
 *   in it that the schema does not know
 */
export function fieldState(document: Pick<ConfigDocument, 'tree' | 'savedText' | 'parseErrors' | 'diagnostics'>, path: ConfigPath, isGroup: boolean): FieldState {
  const { tree } = document
  const isOwn = (other: ConfigPath) => (isGroup ? isSamePath(other, path) || (isUnder(other, path) && other.length === path.length + 1 && schemaAt(other) === null) : isUnder(other, path))
  return {
    isWritten: isWritten(tree, path),
    isChanged: isChanged(document, path),
    lock: documentLocks(tree, document.parseErrors).find((lock) => (isGroup ? isSamePath(lock.path, path) : isUnder(lock.path, path))) ?? null,
    diagnostics: placedDiagnostics(tree, document.diagnostics).filter((placed) => isOwn(placed.path)).map(({ diagnostic }) => diagnostic),
  }
}

export function useFieldState(path: ConfigPath, isGroup = false): FieldState {
  return useDocumentValue((document) => fieldState(document, path, isGroup))
}

/** Diagnostics at or below any of the paths, with the worst severity first. */
export function useFindings(paths: readonly ConfigPath[]): readonly ConfigDiagnostic[] {
  return useDocumentValue(({ tree, diagnostics }) => placedDiagnostics(tree, diagnostics).filter((placed) => paths.some((path) => isUnder(placed.path, path))).map(({ diagnostic }) => diagnostic))
}
