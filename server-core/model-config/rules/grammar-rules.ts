/** What is no text format: wrong characters, brackets, commas, comments, colons, strings and numbers. */
import { removal } from '../config-edit.ts'
import type { PbtxtError } from '../pbtxt-tree.ts'
import { otherFix, preferredFix, say } from './rule.ts'
import type { ConfigRule, ConfigView, Finding } from './rule.ts'
import { loggedText, syntaxOf } from './syntax-analysis.ts'

const CHARACTERS_AND_BRACKETS: ConfigRule = {
  codes: [
    'full-width-character', 'no-break-space', 'non-ascii-text', 'control-character', 'byte-order-mark', 'slash-comment', 'equals-sign',
    'unclosed-string', 'unclosed-bracket', 'unmatched-bracket', 'missing-comma', 'trailing-comma', 'extra-comma', 'extra-separator',
  ],
  check: (view) => syntaxOf(view).findings,
}

type Report = (view: ConfigView, error: PbtxtError) => Finding | null

const REPORTS: Readonly<Partial<Record<PbtxtError['code'], Report>>> = {
  'bad-string': badString,
  'bad-number': badNumber,
  'expected-token': expectedToken,
  'expected-identifier': unexpectedText,
  'invalid-character': unexpectedText,
  'too-deep': (_view, error) => ({
    code: 'too-deep', severity: 'error', span: spanOf(error), serverText: loggedText(error),
    message: say('Brackets are nested more than 100 deep.', '括号嵌套超过 100 层。'),
  }),
}

const REMAINING: ConfigRule = {
  codes: ['bad-escape', 'bad-number', 'missing-colon', 'mismatched-bracket', 'unexpected-text', 'too-deep'],
  *check(view) {
    const { tree, errors } = syntaxOf(view)
    let coveredTo = -1
    for (const error of errors) {
      const report = REPORTS[error.code]
      if (report === undefined || error.offset < coveredTo) continue
      const finding = report(view, error)
      if (finding === null) continue
      // One word or number out of place is one finding, however many tokens it has.
      if (finding.code === 'unexpected-text') coveredTo = Math.max(coveredTo, finding.span?.end ?? 0)
      if (tree.text.length > 0) yield finding
    }
  },
}

function spanOf(error: PbtxtError): { start: number; end: number } {
  return { start: error.offset, end: error.offset + error.length }
}

function badString(view: ConfigView, error: PbtxtError): Finding | null {
  const { tree } = syntaxOf(view)
  const serverText = loggedText(error)
  // Of an unclosed string there is a finding already.
  if (error.message.startsWith('Unexpected end') || error.message.startsWith('String literals cannot')) return null
  const backslash = tree.text.lastIndexOf('\\', error.offset)
  return {
    code: 'bad-escape', severity: 'error', span: { start: Math.max(0, backslash), end: error.offset + error.length }, serverText,
    message: say('No such escape in a string. A backslash itself is written \\\\.', '字符串中没有这种转义。反斜杠本身应写成 \\\\。'),
    fixes: backslash < 0 ? [] : [preferredFix('Write \\\\', '写成 \\\\', [{ offset: backslash, length: 0, text: '\\' }])],
  }
}

function badNumber(view: ConfigView, error: PbtxtError): Finding {
  const { text } = syntaxOf(view).tree
  let start = error.offset
  while (/[0-9A-Za-z_.]/.test(text.charAt(start - 1))) start--
  const literal = /^[0-9A-Za-z_.]*/.exec(text.slice(start, start + 80))?.[0] ?? ''
  const decimal = /^0+[0-9]+$/.test(literal) ? literal.replace(/^0+(?=\d)/, '') : null
  return {
    code: 'bad-number', severity: 'error', span: { start, end: start + Math.max(1, literal.length) }, serverText: loggedText(error),
    message: decimal === null ? say(`"${literal}" is no number.`, `“${literal}”不是数字。`)
      : say(`A number that begins with 0 is octal; "${literal}" is none.`, `以 0 开头的数为八进制，“${literal}”不是。`),
    fixes: decimal === null ? [] : [preferredFix(`Write ${decimal}`, `写成 ${decimal}`, [{ offset: start, length: literal.length, text: decimal }])],
  }
}

function expectedToken(view: ConfigView, error: PbtxtError): Finding | null {
  const { tree, fieldsByStart } = syntaxOf(view)
  const wanted = /^Expected "(.)"/.exec(error.message)?.[1] ?? ''
  const serverText = loggedText(error)
  if (wanted === '}' || wanted === '>') {
    return {
      code: 'mismatched-bracket', severity: 'error', span: spanOf(error), serverText,
      message: say(`"${wanted}" is needed here: a message closes with the bracket it was opened with.`, `此处应为“${wanted}”：消息须用与开头配对的括号闭合。`),
      fixes: [preferredFix(`Write ${wanted}`, `写成 ${wanted}`, [{ offset: error.offset, length: error.length, text: wanted }])],
    }
  }
  if (wanted !== ':') return null // a message is wanted: a matter of the schema
  const field = fieldBefore(fieldsByStart, tree.text, error.offset)
  if (field === null) return null
  return {
    code: 'missing-colon', severity: 'error', span: { start: field.start, end: field.end }, serverText,
    message: say(`":" is missing behind ${field.name}.`, `${field.name} 后缺少“:”。`),
    fixes: [preferredFix('Insert :', '插入“:”', [{ offset: field.end, length: 0, text: ':' }])],
  }
}

/** The name that ends before `offset`. */
function fieldBefore(fields: ReadonlyMap<number, { readonly field: { readonly name: string } }>, text: string, offset: number): { name: string; start: number; end: number } | null {
  let end = offset
  while (end > 0 && /\s/.test(text.charAt(end - 1))) end--
  let start = end
  while (start > 0 && /[A-Za-z0-9_]/.test(text.charAt(start - 1))) start--
  const name = fields.get(start)?.field.name
  return name === undefined ? null : { name, start, end }
}

function unexpectedText(view: ConfigView, error: PbtxtError): Finding {
  const { text } = syntaxOf(view).tree
  const length = Math.max(error.length, /^[^\s,;{}[\]#]*/.exec(text.slice(error.offset, error.offset + 200))?.[0].length ?? 0)
  const end = Math.min(text.length, error.offset + length)
  const words = text.slice(error.offset, end)
  return {
    code: 'unexpected-text', severity: 'error', span: { start: error.offset, end }, serverText: loggedText(error),
    message: words === '' ? say('Something is missing here.', '此处缺少内容。') : say(`"${words}" does not belong here: the name of a field is expected.`, `此处不应有“${words}”：应为字段名。`),
    fixes: words === '' ? [] : [otherFix('Remove it', '删除', [removal(text, error.offset, end)])],
  }
}

export const GRAMMAR_RULES: readonly ConfigRule[] = [CHARACTERS_AND_BRACKETS, REMAINING]
