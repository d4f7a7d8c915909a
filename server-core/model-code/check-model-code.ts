/** Everything that is likely wrong with a model.py. Wrong Python is the interpreter's to tell, at the load. */
import type { ConfigDiagnostic, DiagnosticSeverity, TextEdit } from '../contract/config-language.ts'
import type { CodeContext } from '../contract/model-code.ts'
import { applyEdits } from '../model-config/config-edit.ts'
import { PythonSource } from './python-source.ts'
import { CARD_RULES } from './rules/card-rules.ts'
import type { CodeFinding, CodeRule } from './rules/code-rule.ts'
import { FINALIZE_RULES } from './rules/finalize-rules.ts'
import { PATH_RULES } from './rules/path-rules.ts'
import { RESPONSE_RULES } from './rules/response-rules.ts'
import { SHAPE_RULES } from './rules/shape-rules.ts'

export { EMPTY_CODE_CONTEXT } from './rules/code-rule.ts'

/** Every rule there is, for tests and documentation. */
export const ALL_CODE_RULES: readonly CodeRule[] = [...SHAPE_RULES, ...CARD_RULES, ...PATH_RULES, ...RESPONSE_RULES, ...FINALIZE_RULES]

const SEVERITY_ORDER: readonly DiagnosticSeverity[] = ['error', 'warning', 'info', 'hint']
/** A repair may uncover the next problem; more rounds than this never helped. */
const MAX_ROUNDS = 20

/** @returns sorted by place, at one place the worst first */
export function checkModelCode(text: string, context: CodeContext): readonly ConfigDiagnostic[] {
  const source = new PythonSource(text)
  const findings = ALL_CODE_RULES.flatMap((rule) => [...rule.check(source, context)])
  return findings.map((finding) => toDiagnostic(source, finding)).sort((a, b) => a.offset - b.offset || SEVERITY_ORDER.indexOf(a.severity) - SEVERITY_ORDER.indexOf(b.severity))
}

/** Applies everything that may be applied without asking. @returns the repaired text and what is left to say about it */
export function applyPreferredCodeFixes(text: string, context: CodeContext): { readonly text: string; readonly diagnostics: readonly ConfigDiagnostic[]; readonly applied: number } {
  const seen = new Set([text])
  let current = text
  let applied = 0
  for (let round = 0; ; round++) {
    const diagnostics = checkModelCode(current, context)
    const { edits, count } = preferredEdits(diagnostics)
    const next = applyEdits(current, edits)
    // Two fixes that undo each other would go round for ever.
    if (count === 0 || round >= MAX_ROUNDS || seen.has(next)) return { text: current, diagnostics, applied }
    seen.add(next)
    current = next
    applied += count
  }
}

/** The preferred fixes that do not touch each other, in the order of the text. The same edit asked for twice (an import) is made once. */
export function preferredEdits(diagnostics: readonly ConfigDiagnostic[]): { readonly edits: TextEdit[]; readonly count: number } {
  const edits: TextEdit[] = []
  let count = 0
  for (const { fixes } of diagnostics) {
    const fix = fixes.find(({ isPreferred }) => isPreferred)
    const fresh = fix?.edits.filter((edit) => !edits.some((other) => other.offset === edit.offset && other.length === edit.length && other.text === edit.text)) ?? []
    if (fresh.length === 0 || fresh.some((edit) => edits.some((other) => touch(edit, other)))) continue
    edits.push(...fresh)
    count++
  }
  return { edits, count }
}

function touch(a: TextEdit, b: TextEdit): boolean {
  return a.offset <= b.offset + b.length && b.offset <= a.offset + a.length
}

function toDiagnostic(source: PythonSource, { code, severity, start, end, message, serverText, fixes = [] }: CodeFinding): ConfigDiagnostic {
  const from = place(source.text, start)
  const to = place(source.text, end)
  return {
    code, severity, message, ...(serverText === undefined ? {} : { serverText }), offset: start, length: end - start,
    line: from.line, column: from.column, endLine: to.line, endColumn: to.column, fixes,
  }
}

/** 1-based; a byte order mark takes no column. */
function place(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(text.startsWith('\uFEFF') ? 1 : 0, offset).split(/\r\n|\n|\r/)
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 }
}
