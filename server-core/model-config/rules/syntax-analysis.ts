/** What is wrong with a text as text, worked out once and shared by the rules of grammar and schema. */
import { parsePbtxt } from '../pbtxt-parser.ts'
import type { PbtxtError, PbtxtField, PbtxtMessage, PbtxtTree, PbtxtValue } from '../pbtxt-tree.ts'
import { bracketFindings, skippedFindings } from './bracket-findings.ts'
import type { ConfigView, Finding } from './rule.ts'
import { cleanText } from './syntax-cleaning.ts'

/** A field where it stands. */
export interface FieldPlace {
  readonly field: PbtxtField
  readonly message: PbtxtMessage
  /** Messages around `message`, the innermost first; the last is the file. */
  readonly around: readonly PbtxtMessage[]
}

export interface ValuePlace extends FieldPlace {
  readonly value: PbtxtValue
}

export interface SyntaxAnalysis {
  /** Of the text with look-alike characters replaced; offsets are those of the text itself. */
  readonly tree: PbtxtTree
  /** Nothing was replaced: the tree is of the text itself. */
  readonly isClean: boolean
  /** About characters and brackets. */
  readonly findings: readonly Finding[]
  /** Errors that no finding explains yet. */
  readonly errors: readonly PbtxtError[]
  readonly fieldsByStart: ReadonlyMap<number, FieldPlace>
  readonly valuesByStart: ReadonlyMap<number, ValuePlace>
}

const analyses = new WeakMap<ConfigView, SyntaxAnalysis>()

export function syntaxOf(view: ConfigView): SyntaxAnalysis {
  const known = analyses.get(view)
  if (known !== undefined) return known
  const analysis = analyse(view)
  analyses.set(view, analysis)
  return analysis
}

/** What a server logs for an error. */
export function loggedText(error: PbtxtError): string {
  return `Error parsing text-format inference.ModelConfig: ${error.line}:${error.column}: ${error.message}`
}

function analyse(view: ConfigView): SyntaxAnalysis {
  const cleaned = cleanedTree(view)
  const { tree } = cleaned
  const errors = withoutRestsOfWords(tree, cleaned.errors)
  const isClean = tree.text === view.text
  const firstTexts = new Map<number, PbtxtError>()
  for (const error of [...view.errors, ...errors]) if (!firstTexts.has(error.offset)) firstTexts.set(error.offset, error)
  const stringErrors = view.errors.filter((error) => error.code === 'bad-string')
  const errorFor = (finding: Finding): PbtxtError | undefined => (finding.code !== 'unclosed-string' ? firstTexts.get(finding.span?.start ?? -1)
    : errorBehind(stringErrors, finding.span?.end ?? 0))
  if (errors.length === 0) {
    return { tree, errors, isClean, findings: cleaned.findings.map((finding) => withServerText(finding, errorFor(finding))), fieldsByStart: new Map(), valuesByStart: new Map() }
  }
  const tooDeep = new Set(errors.filter((error) => error.code === 'too-deep').map((error) => error.offset))
  const explained = new Set<number>()
  const findings = cleaned.findings.map((finding) => withServerText(finding, errorFor(finding)))
  for (const { finding, explains } of [...bracketFindings(tree, tooDeep), ...skippedFindings(tree)]) {
    for (const offset of explains) explained.add(offset)
    findings.push(withServerText(finding, explains.map((offset) => firstTexts.get(offset)).find((error) => error !== undefined)))
  }
  return { tree, findings, isClean, errors: errors.filter((error) => !explained.has(error.offset) || !EXPLAINED.has(error.code)), ...places(tree) }
}

/** One character replaced may bring others to light: behind a curly quote, say. */
const MOST_PASSES = 4

function cleanedTree(view: ConfigView): { readonly tree: PbtxtTree; readonly errors: readonly PbtxtError[]; readonly findings: readonly Finding[] } {
  let current: { readonly tree: PbtxtTree; readonly errors: readonly PbtxtError[] } = view
  const findings: Finding[] = []
  for (let pass = 0; pass < MOST_PASSES; pass++) {
    const cleaned = cleanText(current.tree)
    findings.push(...cleaned.findings.filter((finding) => pass === 0 || finding.code !== 'byte-order-mark'))
    if (cleaned.text === current.tree.text) break
    current = parsePbtxt(cleaned.text)
  }
  return { ...current, findings }
}

/** `my-model` without quotes is one mistake, not one for each of its pieces. */
function withoutRestsOfWords(tree: PbtxtTree, errors: readonly PbtxtError[]): readonly PbtxtError[] {
  let coveredTo = -1
  return errors.filter((error) => {
    if (error.offset < coveredTo) return false
    if (error.message.startsWith('Expected string, got: ')) {
      coveredTo = error.offset + (/^[^\s,;{}[\]#"'<>]+/.exec(tree.text.slice(error.offset, error.offset + 10_000))?.[0].length ?? 0)
    }
    return true
  })
}

/** What a missing bracket or comma leads to. */
const EXPLAINED: ReadonlySet<PbtxtError['code']> = new Set(['expected-token', 'expected-identifier', 'expected-value', 'unknown-field', 'unknown-enum-value', 'invalid-boolean'])

/** The first at or behind `offset`; errors are in order of the text. */
function errorBehind(errors: readonly PbtxtError[], offset: number): PbtxtError | undefined {
  let low = 0
  let high = errors.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((errors[middle]?.offset ?? 0) < offset) low = middle + 1
    else high = middle
  }
  return errors[low]
}

function withServerText(finding: Finding, error: PbtxtError | undefined): Finding {
  return error === undefined ? finding : { ...finding, serverText: loggedText(error) }
}

function places(tree: PbtxtTree): Pick<SyntaxAnalysis, 'fieldsByStart' | 'valuesByStart'> {
  const fieldsByStart = new Map<number, FieldPlace>()
  const valuesByStart = new Map<number, ValuePlace>()
  const visit = (message: PbtxtMessage, around: readonly PbtxtMessage[]): void => {
    const inside = [message, ...around]
    for (const field of message.fields) {
      fieldsByStart.set(field.start, { field, message, around })
      for (const value of field.values) {
        valuesByStart.set(value.start, { field, message, around, value })
        if (value.kind === 'message') visit(value, inside)
      }
    }
  }
  visit(tree.root, [])
  return { fieldsByStart, valuesByStart }
}

/** Index of the first token at or behind `offset`. */
export function tokenIndexAt(tree: PbtxtTree, offset: number): number {
  let low = 0
  let high = tree.tokens.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((tree.tokens[middle]?.offset ?? 0) < offset) low = middle + 1
    else high = middle
  }
  return low
}
