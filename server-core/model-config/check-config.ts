/** Everything that is wrong, or likely wrong, with a config.pbtxt. */
import type { ConfigContext, ConfigDiagnostic, DiagnosticSeverity } from '../contract/config-language.ts'
import { createConfigView } from './config-view.ts'
import type { PbtxtError } from './pbtxt-tree.ts'
import { GRAMMAR_RULES } from './rules/grammar-rules.ts'
import { JUDGEMENT_RULES } from './rules/judgement-rules.ts'
import type { ConfigRule, ConfigView, Finding } from './rules/rule.ts'
import { SCHEMA_RULES } from './rules/schema-rules.ts'
import { loggedText } from './rules/syntax-analysis.ts'
import { TRITON_RULES } from './rules/triton-rules.ts'

const SYNTAX_RULES: readonly ConfigRule[] = [...GRAMMAR_RULES, ...SCHEMA_RULES]
/** Every rule there is, for tests and documentation. */
export const ALL_RULES: readonly ConfigRule[] = [...SYNTAX_RULES, ...TRITON_RULES, ...JUDGEMENT_RULES]

const SEVERITY_ORDER: readonly DiagnosticSeverity[] = ['error', 'warning', 'info', 'hint']

/**
 * @param options.syntaxOnly grammar and schema only
 * @returns sorted by place, at one place the worst first
 */
export function checkConfig(text: string, context: ConfigContext, options: { readonly syntaxOnly?: boolean } = {}): readonly ConfigDiagnostic[] {
  const view = createConfigView(text, context)
  const rules = options.syntaxOnly === true ? SYNTAX_RULES : ALL_RULES
  const findings = rules.flatMap((rule) => [...rule.check(view)])
  const [unexplained] = view.errors
  if (unexplained !== undefined && !findings.some((finding) => finding.severity === 'error')) findings.push(plainFinding(unexplained))
  return toDiagnostics(view, findings)
}

/** No rule knows better: the parser's own words. */
function plainFinding(error: PbtxtError): Finding {
  return {
    code: 'syntax-error', severity: 'error', span: { start: error.offset, end: error.offset + error.length },
    message: { en: error.message, 'zh-CN': `语法错误：${error.message}` }, serverText: loggedText(error),
  }
}

function toDiagnostics(view: ConfigView, findings: readonly Finding[]): ConfigDiagnostic[] {
  const lineStarts = startsOfLines(view.text)
  const seen = new Set<string>()
  const diagnostics: ConfigDiagnostic[] = []
  for (const finding of findings) {
    const { start, end } = finding.span ?? view.spanOf(finding.path ?? [])
    // Two rules may find the same thing; the first says it.
    const identity = `${finding.code}\0${start}\0${finding.message.en}`
    if (seen.has(identity)) continue
    seen.add(identity)
    const from = place(lineStarts, start)
    const to = place(lineStarts, end)
    diagnostics.push({
      code: finding.code,
      severity: finding.severity,
      message: finding.message,
      ...(finding.serverText === undefined ? {} : { serverText: finding.serverText }),
      offset: start,
      length: end - start,
      line: from.line,
      column: from.column,
      endLine: to.line,
      endColumn: to.column,
      fixes: finding.fixes ?? [],
    })
  }
  return diagnostics.sort((a, b) => a.offset - b.offset || SEVERITY_ORDER.indexOf(a.severity) - SEVERITY_ORDER.indexOf(b.severity))
}

function startsOfLines(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

function place(lineStarts: readonly number[], offset: number): { readonly line: number; readonly column: number } {
  let low = 0
  let high = lineStarts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((lineStarts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return { line: low + 1, column: offset - (lineStarts[low] ?? 0) + 1 }
}
