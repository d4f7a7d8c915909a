/** Fields and values that the schema does not allow: unknown, misplaced, of the wrong type, out of range, given twice. */
import { removal } from '../config-edit.ts'
import type { PbtxtError, PbtxtField, PbtxtMessage, PbtxtTree } from '../pbtxt-tree.ts'
import { otherFix, preferredFix, say } from './rule.ts'
import type { ConfigRule, Finding } from './rule.ts'
import { loggedText, syntaxOf, tokenIndexAt } from './syntax-analysis.ts'
import type { FieldPlace, SyntaxAnalysis } from './syntax-analysis.ts'
import { unknownField } from './unknown-field.ts'
import { outOfRange, wrongValue } from './value-findings.ts'

const SCHEMA: ConfigRule = {
  codes: [
    'unknown-field', 'misplaced-field', 'camel-case-field', 'wrong-case', 'unknown-extension', 'unknown-enum-value', 'invalid-boolean', 'quoted-number',
    'quoted-enum', 'quoted-boolean', 'unquoted-string', 'wrong-type', 'expected-message', 'list-not-allowed', 'number-out-of-range', 'missing-value',
    'duplicate-field', 'oneof-conflict',
  ],
  *check(view) {
    const analysis = syntaxOf(view)
    for (const error of analysis.errors) {
      const finding = findingOf(analysis, error)
      if (finding !== null) yield finding
    }
  },
}

function findingOf(analysis: SyntaxAnalysis, error: PbtxtError): Finding | null {
  const { tree } = analysis
  switch (error.code) {
    case 'unknown-field': {
      const place = analysis.fieldsByStart.get(error.offset)
      return place === undefined ? null : unknownField(analysis, error, place)
    }
    case 'unknown-extension': {
      const place = analysis.fieldsByStart.get(error.offset)
      return {
        code: 'unknown-extension', severity: 'error', span: { start: error.offset, end: error.offset + error.length }, serverText: loggedText(error),
        message: say('A config has no extensions: names in brackets are not allowed.', '配置没有扩展字段：不允许方括号里的名称。'),
        fixes: place === undefined ? [] : [otherFix('Remove the field', '删除该字段', [removal(tree.text, place.field.start, place.field.end)])],
      }
    }
    case 'expected-value':
    case 'unknown-enum-value':
    case 'invalid-boolean': {
      const place = fieldAround(analysis, error.offset)
      return place === null ? null : wrongValue(tree, error, place)
    }
    case 'out-of-range': {
      const place = fieldAround(analysis, error.offset)
      return place === null ? null : outOfRange(tree, error, place)
    }
    case 'expected-token': {
      if (!error.message.startsWith('Expected "{"')) return null
      const place = fieldAround(analysis, error.offset)
      return place === null ? null : wrongValue(tree, error, place)
    }
    case 'duplicate-field':
    case 'oneof-conflict': {
      const place = analysis.fieldsByStart.get(error.offset)
      return place === undefined ? null : givenTwice(tree, error, place)
    }
    default: return null
  }
}

/** The innermost field whose value stands at `offset`, or that should have one there. */
function fieldAround({ valuesByStart, fieldsByStart, tree }: SyntaxAnalysis, offset: number): FieldPlace | null {
  const exact = valuesByStart.get(offset)
  if (exact !== undefined) return exact
  // Behind the sign, or where the value is missing: the last field that begins before.
  for (let index = tokenIndexAt(tree, offset) - 1, looked = 0; index >= 0 && looked < 400; index--, looked++) {
    const token = tree.tokens[index]
    const place = token === undefined ? undefined : fieldsByStart.get(token.offset)
    if (place !== undefined) return place
  }
  return null
}

interface FirstFields {
  readonly byName: ReadonlyMap<string, PbtxtField>
  /** The first field of each name that is a member. */
  readonly byOneof: ReadonlyMap<string, readonly PbtxtField[]>
}

const firstFieldsOf = new WeakMap<PbtxtMessage, FirstFields>()

function firstFields(message: PbtxtMessage): FirstFields {
  const known = firstFieldsOf.get(message)
  if (known !== undefined) return known
  const byName = new Map<string, PbtxtField>()
  const byOneof = new Map<string, PbtxtField[]>()
  for (const field of message.fields) {
    if (byName.has(field.name)) continue
    byName.set(field.name, field)
    const oneof = field.schema?.oneof
    if (oneof !== undefined) byOneof.set(oneof, [...(byOneof.get(oneof) ?? []), field])
  }
  const first = { byName, byOneof }
  firstFieldsOf.set(message, first)
  return first
}

function givenTwice(tree: PbtxtTree, error: PbtxtError, { field, message }: FieldPlace): Finding {
  const span = { start: error.offset, end: error.offset + error.length }
  const serverText = loggedText(error)
  const first = firstFields(message)
  if (error.code === 'duplicate-field') {
    const earlier = first.byName.get(field.name)
    const line = earlier?.nameTokens[0]?.line ?? 0
    return {
      code: 'duplicate-field', severity: 'error', span, serverText,
      message: say(`${field.name} is given twice: first on line ${line}.`, `${field.name} 给出了两次：首次在第 ${line} 行。`),
      fixes: [
        preferredFix('Remove this one', '删除这一个', [removal(tree.text, field.start, field.end)]),
        ...(earlier === undefined ? [] : [otherFix('Remove the first one', '删除前一个', [removal(tree.text, earlier.start, earlier.end)])]),
      ],
    }
  }
  const oneof = field.schema?.oneof
  const rival = (first.byOneof.get(oneof ?? '') ?? []).find((candidate) => candidate.name !== field.name)
  return {
    code: 'oneof-conflict', severity: 'error', span, serverText,
    message: say(`${field.name} excludes ${rival?.name ?? ''}: only one of them may be set.`, `${field.name} 与 ${rival?.name ?? ''} 互斥：只能设置其中一个。`),
    fixes: [
      otherFix(`Remove ${field.name}`, `删除 ${field.name}`, [removal(tree.text, field.start, field.end)]),
      ...(rival === undefined ? [] : [otherFix(`Remove ${rival.name}`, `删除 ${rival.name}`, [removal(tree.text, rival.start, rival.end)])]),
    ],
  }
}

export const SCHEMA_RULES: readonly ConfigRule[] = [SCHEMA]
