/** Several changes as one list of edits. */
import type { TextEdit } from '../../contract/config-language.ts'
import { applyEdits, smallestChange } from '../config-edit.ts'
import type { ConfigPath } from '../config-edit.ts'
import { parsePbtxt } from '../pbtxt-parser.ts'
import { viewEdits } from './rule.ts'
import type { ConfigView, ViewEdits } from './rule.ts'

/** Characters read again over all steps; beyond, no edits are made. */
const MOST_WORK = 50_000_000

export type EditStep = (edit: ViewEdits) => TextEdit[]

/**
 * Each step sees what the steps before it made: two changes side by side (a field added after a line that goes away) do not get in each
 * other's way. Where they do not touch, the result is their own small edits, made without parsing again.
 */
export function editsInTurn(view: Pick<ConfigView, 'text' | 'tree'>, steps: readonly EditStep[]): TextEdit[] {
  const edit = viewEdits(view.tree)
  const perStep = steps.map((step) => step(edit))
  const sideBySide = perStep.flat()
  if (perStep.filter((edits) => edits.length > 0).length <= 1 || areApart(sideBySide)) return sideBySide
  if (view.text.length * steps.length > MOST_WORK) return []
  let { text, tree } = view
  for (const step of steps) {
    const edits = step(viewEdits(tree))
    if (edits.length === 0) continue
    text = applyEdits(text, edits)
    tree = parsePbtxt(text).tree
  }
  return [smallestChange(view.text, text)]
}

/** Steps that give a list of numbers its new values: item by item where the length stays, so that only what differs is touched. */
export function listSteps(path: ConfigPath, before: readonly number[], after: readonly number[]): EditStep[] {
  if (before.length !== after.length || before.length === 0) return [(edit) => edit.setField(path, after)]
  return after.flatMap((value, index) => (value === before[index] ? [] : [(edit: ViewEdits) => edit.setField([...path, index], value)]))
}

function areApart(edits: readonly TextEdit[]): boolean {
  const sorted = edits.toSorted((a, b) => a.offset - b.offset)
  return sorted.every((edit, index) => {
    const before = sorted[index - 1]
    if (before === undefined) return true
    const gap = edit.offset - before.offset - before.length
    // Two removals may meet; what is added beside something depends on it.
    return gap > 0 || (gap === 0 && edit.length > 0 && before.length > 0)
  })
}
