/** Arithmetic of text edits: what takes them back, where a span of the text stands after them. Offsets are UTF-16 units. */
import type { ConfigDiagnostic, TextEdit } from '../../server-core/contract/config-language.ts'
import { LineIndex } from './line-index.ts'

function inOrder(edits: readonly TextEdit[]): TextEdit[] {
  return edits.toSorted((a, b) => a.offset - b.offset)
}

/** The text with the edits made; they do not overlap and all speak of `text`. */
export function applyTextEdits(text: string, edits: readonly TextEdit[]): string {
  let result = ''
  let taken = 0
  for (const edit of inOrder(edits)) {
    result += text.slice(taken, edit.offset) + edit.text
    taken = edit.offset + edit.length
  }
  return result + text.slice(taken)
}

/** Edits on the text after `edits` that lead back to `text`. */
export function invertEdits(text: string, edits: readonly TextEdit[]): TextEdit[] {
  let shift = 0
  return inOrder(edits).map((edit) => {
    const inverse = { offset: edit.offset + shift, length: edit.text.length, text: text.slice(edit.offset, edit.offset + edit.length) }
    shift += edit.text.length - edit.length
    return inverse
  })
}

/** The one edit that makes `after` of `before`: everything between their common start and common end. None where they are equal. */
export function differenceAsEdits(before: string, after: string): TextEdit[] {
  if (before === after) return []
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && before.charCodeAt(start) === after.charCodeAt(start)) start++
  let end = 0
  while (end < shorter - start && before.charCodeAt(before.length - 1 - end) === after.charCodeAt(after.length - 1 - end)) end++
  return [{ offset: start, length: before.length - start - end, text: after.slice(start, after.length - end) }]
}

/** Whether an edit touches the span: typing at either end of it counts, since that changes the word that the span is about. */
function touches(edit: TextEdit, offset: number, length: number): boolean {
  return edit.offset <= offset + length && edit.offset + edit.length >= offset
}

/** Whether two edits of the same text can be applied together. */
function collide(a: TextEdit, b: TextEdit): boolean {
  if (a.offset === b.offset) return true
  return a.offset < b.offset ? a.offset + a.length > b.offset : b.offset + b.length > a.offset
}

function shiftAt(edits: readonly TextEdit[], offset: number): number {
  return edits.reduce((shift, edit) => (edit.offset + edit.length <= offset ? shift + edit.text.length - edit.length : shift), 0)
}

/**
 * Diagnostics of the text before `edits`, as far as they still hold after them: moved along, gone where the edits touch what they are
 * about, without the fixes whose own places were touched. So a fix that is still offered can be applied as it is.
 */
export function carryDiagnostics(diagnostics: readonly ConfigDiagnostic[], edits: readonly TextEdit[], textAfter: string): ConfigDiagnostic[] {
  if (diagnostics.length === 0) return []
  const lines = new LineIndex(textAfter)
  return diagnostics.filter(({ offset, length }) => !edits.some((edit) => touches(edit, offset, length))).map((diagnostic) => {
    const offset = diagnostic.offset + shiftAt(edits, diagnostic.offset)
    const start = lines.positionAt(offset)
    const end = lines.positionAt(offset + diagnostic.length)
    return {
      ...diagnostic, offset, line: start.line, column: start.column, endLine: end.line, endColumn: end.column,
      fixes: diagnostic.fixes.filter((fix) => !fix.edits.some((own) => edits.some((edit) => touches(edit, own.offset, own.length))))
        .map((fix) => ({ ...fix, edits: fix.edits.map((own) => ({ ...own, offset: own.offset + shiftAt(edits, own.offset) })) })),
    }
  })
}

/** The preferred fixes of all diagnostics as one list of edits; a fix that would collide with an earlier one waits for the next round. */
export function preferredFixEdits(diagnostics: readonly ConfigDiagnostic[]): TextEdit[] {
  const taken: TextEdit[] = []
  for (const { fixes } of diagnostics) {
    const fix = fixes.find(({ isPreferred }) => isPreferred)
    // The same edit offered by two diagnostics is applied once.
    const fresh = fix?.edits.filter((edit) => !taken.some((other) => other.offset === edit.offset && other.length === edit.length && other.text === edit.text)) ?? []
    if (!fresh.some((edit) => taken.some((other) => collide(edit, other)))) taken.push(...fresh)
  }
  return inOrder(taken)
}
