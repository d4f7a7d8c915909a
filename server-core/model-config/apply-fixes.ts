/** Applies everything that may be applied without asking. Pure. */
import type { ConfigContext, ConfigDiagnostic, TextEdit } from '../contract/config-language.ts'
import { checkConfig } from './check-config.ts'
import { applyEdits } from './config-edit.ts'

/** A repair may uncover the next problem; more rounds than this never helped. */
const MAX_ROUNDS = 50

/**
 * @returns the repaired text and what is left to say about it
 */
export function applyPreferredFixes(
  text: string, context: ConfigContext, options: { readonly syntaxOnly?: boolean } = {},
): { readonly text: string; readonly diagnostics: readonly ConfigDiagnostic[]; readonly applied: number } {
  const seen = new Set([text])
  let current = text
  let applied = 0
  for (let round = 0; ; round++) {
    const diagnostics = checkConfig(current, context, options)
    const chosen = chooseEdits(diagnostics)
    const next = applyEdits(current, chosen.edits)
    // Two fixes that undo each other would go round for ever.
    if (chosen.count === 0 || round >= MAX_ROUNDS || seen.has(next)) return { text: current, diagnostics, applied }
    seen.add(next)
    current = next
    applied += chosen.count
  }
}

/** The preferred fixes that do not touch each other, in the order of the text. */
function chooseEdits(diagnostics: readonly ConfigDiagnostic[]): { readonly edits: TextEdit[]; readonly count: number } {
  const edits: TextEdit[] = []
  let count = 0
  for (const { fixes } of diagnostics) {
    const fix = fixes.find(({ isPreferred }) => isPreferred)
    if (fix === undefined || fix.edits.length === 0 || fix.edits.some((edit) => edits.some((other) => touch(edit, other)))) continue
    edits.push(...fix.edits)
    count++
  }
  return { edits, count }
}

function touch(a: TextEdit, b: TextEdit): boolean {
  return a.offset <= b.offset + b.length && b.offset <= a.offset + a.length
}
