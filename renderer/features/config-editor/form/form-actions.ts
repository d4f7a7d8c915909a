/** What the form's controls do: edits of the one document, each a single step of undo that touches only what it is about. */
import type { TextEdit } from '../../../../server-core/contract/config-language.ts'
import { insertItem, removeField, removeItem, removeMapEntry, setField, setMapEntry } from '../../../../server-core/model-config/config-edit.ts'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import type { ConfigValue } from '../../../../server-core/model-config/config-style.ts'
import { parsePbtxt } from '../../../../server-core/model-config/pbtxt-parser.ts'
import type { PbtxtTree } from '../../../../server-core/model-config/pbtxt-tree.ts'
import { applyEdits, setSelection, useConfigDocument } from '../config-document.ts'
import { applyTextEdits, differenceAsEdits } from '../../../lib/text-edits.ts'
import { valueAt } from './form-tree.ts'

/** Makes edits of a tree; of a list of steps, each sees the text that the ones before it made. */
export type EditStep = (tree: PbtxtTree) => readonly TextEdit[]

export function edit(...steps: readonly EditStep[]): void {
  const { text, tree } = useConfigDocument.getState()
  const [only] = steps
  if (steps.length === 1 && only) {
    applyEdits(only(tree), 'form')
    return
  }
  let current = tree
  for (const step of steps) {
    const edits = step(current)
    if (edits.length > 0) current = parsePbtxt(applyTextEdits(current.text, edits)).tree
  }
  applyEdits(differenceAsEdits(text, current.text), 'form')
}

export const setting = (path: ConfigPath, value: ConfigValue): EditStep => (tree) => setField(tree, path, value)
/** Nothing where it is not written. */
export const removing = (path: ConfigPath): EditStep => (tree) => (valueAt(tree, path) === null ? [] : removeField(tree, path))
export const inserting = (path: ConfigPath, index: number, value: ConfigValue): EditStep => (tree) => insertItem(tree, path, index, value)
export const removingItem = (path: ConfigPath, index: number): EditStep => (tree) => removeItem(tree, path, index)
export const settingEntry = (path: ConfigPath, key: string, value: ConfigValue): EditStep => (tree) => setMapEntry(tree, path, key, value)
export const removingEntry = (path: ConfigPath, key: string): EditStep => (tree) => removeMapEntry(tree, path, key)

/** Sets an entry of `parameters`, or takes it out (null). */
export function settingParameter(key: string, value: string | null): EditStep {
  return (tree) => {
    const isThere = valueAt(tree, ['parameters', { key }]) !== null
    if (value === null) return isThere ? removeMapEntry(tree, ['parameters'], key) : []
    return isThere ? setField(tree, ['parameters', { key }, 'value', 'string_value'], value) : setMapEntry(tree, ['parameters'], key, { string_value: value })
  }
}

/** The focus is on this field: the text view follows. */
export function select(path: ConfigPath): void {
  setSelection(path, 'form')
}
