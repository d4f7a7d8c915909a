/** Several changes as one list of edits. */
import type { TextEdit } from '../../contract/config-language.ts'
import { applyEdits, smallestChange } from '../config-edit.ts'
import { parsePbtxt } from '../pbtxt-parser.ts'
import { viewEdits } from './rule.ts'
import type { ConfigView, ViewEdits } from './rule.ts'

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
  let { text, tree } = view
  for (const step of steps) {
    const edits = step(viewEdits(tree))
    if (edits.length === 0) continue
    text = applyEdits(text, edits)
    tree = parsePbtxt(text).tree
  }
  return [smallestChange(view.text, text)]
}

function areApart(edits: readonly TextEdit[]): boolean {
  const sorted = edits.toSorted((a, b) => a.offset - b.offset)
  return sorted.every((edit, index) => index === 0 || (sorted[index - 1]?.offset ?? 0) + (sorted[index - 1]?.length ?? 0) < edit.offset)
}
