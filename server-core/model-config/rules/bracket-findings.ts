/** Brackets that are never closed and commas that are missing or too many, from the shape of the recovered tree. */
import type { TextEdit } from '../../contract/config-language.ts'
import { indentAt, restOfLine, startsLine } from '../config-style.ts'
import { removal } from '../config-edit.ts'
import type { PbtxtField, PbtxtList, PbtxtMessage, PbtxtToken, PbtxtTree } from '../pbtxt-tree.ts'
import { preferredFix, say } from './rule.ts'
import type { Finding } from './rule.ts'

/** A finding and the places of the parser's errors that it explains. */
export interface StructuralFinding {
  readonly finding: Finding
  readonly explains: readonly number[]
}

interface Unclosed {
  readonly open: PbtxtToken
  readonly closer: string
  /** Behind what the closing bracket belongs. */
  readonly end: number
  readonly explains: readonly number[]
}

class Walk {
  readonly #tree: PbtxtTree
  readonly #tooDeep: ReadonlySet<number>
  readonly unclosed: Unclosed[] = []
  readonly found: StructuralFinding[] = []

  constructor(tree: PbtxtTree, tooDeep: ReadonlySet<number>) {
    this.#tree = tree
    this.#tooDeep = tooDeep
  }

  /** @returns where the message ends, what escaped from it left out */
  message(message: PbtxtMessage, around: readonly PbtxtMessage[]): number {
    const escaped = message.open !== null && message.close === null ? escapedField(this.#tree.text, message, around) : message.fields.length
    let end = message.open === null ? 0 : message.open.offset + 1
    const inside = [message, ...around]
    for (const [index, field] of message.fields.entries()) {
      const fieldEnd = this.#field(field, inside)
      if (index < escaped) end = fieldEnd
    }
    if (message.open === null || message.close !== null || this.#tooDeep.has(message.open.offset)) return message.close === null ? end : message.end
    const escapees = message.fields.slice(escaped).flatMap((field) => (field.schema === null ? [field.start] : []))
    this.unclosed.push({ open: message.open, closer: symbol(message.open) === '<' ? '>' : '}', end, explains: [...escapees, this.#nextOffset(message.end)] })
    return end
  }

  #field(field: PbtxtField, around: readonly PbtxtMessage[]): number {
    let last = field.start
    for (const value of field.values) last = value.kind === 'message' ? this.message(value, around) : value.end
    if (field.list !== null) {
      this.#commas(field.list, field)
      if (field.list.close === null && !this.#tooDeep.has(field.list.open.offset)) {
        const comma = field.list.commas[field.list.commas.length - 1]
        const end = Math.max(field.values.length === 0 ? field.list.open.offset + 1 : last, comma !== undefined && comma.offset > last ? comma.offset + 1 : 0)
        const parsedEnd = Math.max(end, field.values[field.values.length - 1]?.end ?? 0)
        this.unclosed.push({ open: field.list.open, closer: ']', end, explains: [this.#nextOffset(parsedEnd)] })
        return end
      }
    }
    return field.list === null && field.values.length > 0 && field.separator === null ? last : field.end
  }

  #commas(list: PbtxtList, field: PbtxtField): void {
    let comma = 0
    for (const [index, value] of field.values.entries()) {
      let between = 0
      while ((list.commas[comma]?.offset ?? Infinity) < value.start) {
        const token = list.commas[comma]
        if (token !== undefined && (index === 0 || between > 0)) this.#extraComma(token, [token.offset])
        between++
        comma++
      }
      const previous = field.values[index - 1]
      if (previous !== undefined && between === 0) this.#missingComma(previous.end, value.start)
    }
    const rest = list.commas.slice(comma)
    if (list.close === null) return
    for (const [index, token] of rest.entries()) {
      const next = rest[index + 1]
      this.#extraComma(token, [next?.offset ?? list.close.offset], true)
    }
  }

  #missingComma(end: number, nextStart: number): void {
    this.found.push({
      finding: {
        code: 'missing-comma', severity: 'error', span: { start: Math.max(0, end - 1), end },
        message: say('A comma is missing between the elements of this list.', '列表元素之间缺少逗号。'),
        fixes: [preferredFix('Insert ,', '插入“,”', [{ offset: end, length: 0, text: ',' }])],
      },
      explains: [nextStart],
    })
  }

  #extraComma(token: PbtxtToken, explains: readonly number[], isTrailing = false): void {
    this.found.push({
      finding: {
        code: isTrailing ? 'trailing-comma' : 'extra-comma', severity: 'error', span: { start: token.offset, end: token.offset + 1 },
        message: isTrailing ? say('No comma may stand behind the last element of a list.', '列表最后一个元素之后不能有逗号。') : say('A comma too many.', '多余的逗号。'),
        fixes: [preferredFix('Remove the comma', '删除逗号', [{ offset: token.offset, length: 1, text: '' }])],
      },
      explains,
    })
  }

  /** Of the next token that is no trivia. */
  #nextOffset(end: number): number {
    const { tokens } = this.#tree
    let low = 0
    let high = tokens.length - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if ((tokens[middle]?.offset ?? 0) < end) low = middle + 1
      else high = middle
    }
    let token = tokens[low]
    while (token !== undefined && (token.kind === 'space' || token.kind === 'comment' || token.kind === 'bom' || token.kind === 'stray')) token = tokens[++low]
    return token?.offset ?? this.#tree.text.length
  }
}

function symbol(token: PbtxtToken): string {
  return token.meant ?? token.text
}

/** Index of the first field that belongs outside: unknown in the message but known around it, or not indented below its opening line. */
function escapedField(text: string, message: PbtxtMessage, around: readonly PbtxtMessage[]): number {
  const openIndent = indentAt(text, message.start).length
  const index = message.fields.findIndex((field, position) => {
    if (field.schema === null && around.some((outer) => outer.schema?.byName.has(field.name) === true)) return true
    const before = message.fields[position - 1]?.start ?? 0
    return position > 0 && startsLine(text, field.start) && startsLine(text, before)
      && indentAt(text, field.start).length <= openIndent && indentAt(text, before).length > openIndent
  })
  return index < 0 ? message.fields.length : index
}

export function bracketFindings(tree: PbtxtTree, tooDeep: ReadonlySet<number>): StructuralFinding[] {
  const walk = new Walk(tree, tooDeep)
  walk.message(tree.root, [])
  const byEnd = new Map<number, Unclosed[]>()
  for (const unclosed of walk.unclosed) {
    const group = byEnd.get(unclosed.end)
    if (group === undefined) byEnd.set(unclosed.end, [unclosed])
    else group.push(unclosed)
  }
  const eol = tree.text.includes('\r\n') ? '\r\n' : '\n'
  return [...walk.found, ...[...byEnd.values()].map((group) => unclosedFinding(tree, group, eol))]
}

/** Deeper nesting than the schema has is no mistake of one bracket. */
const MOST_CLOSED_AT_ONCE = 16

/** Brackets that belong closed at one place, innermost first. */
function unclosedFinding(tree: PbtxtTree, group: readonly Unclosed[], eol: string): StructuralFinding {
  const sorted = group.toSorted((a, b) => b.open.offset - a.open.offset)
  const [inner] = sorted
  if (inner === undefined) throw new Error('a group has a member')
  const isDeep = sorted.length > MOST_CLOSED_AT_ONCE
  const brackets = isDeep ? String(sorted.length) : sorted.map((unclosed) => symbol(unclosed.open)).join(' ')
  const closers = isDeep ? '...' : sorted.map((unclosed) => unclosed.closer).join(' ')
  const where = { en: `line ${inner.open.line}`, zh: `第 ${inner.open.line} 行` }
  return {
    finding: {
      code: 'unclosed-bracket', severity: 'error', span: { start: inner.open.offset, end: inner.open.offset + 1 },
      message: sorted.length === 1
        ? say(`"${brackets}" of ${where.en} is never closed: a "${closers}" is missing.`, `${where.zh}的“${brackets}”没有闭合：缺少“${closers}”。`)
        : say(`"${brackets}" of ${where.en} and around it are never closed: "${closers}" is missing.`, `${where.zh}及其外层的“${brackets}”没有闭合：缺少“${closers}”。`),
      fixes: isDeep ? [] : [preferredFix(`Insert ${closers}`, `插入“${closers}”`, [closingEdit(tree.text, sorted, eol)])],
    },
    explains: sorted.flatMap((unclosed) => [...unclosed.explains]),
  }
}

/** Each bracket on a line of its own where its content has lines of its own. */
function closingEdit(text: string, innermostFirst: readonly Unclosed[], eol: string): TextEdit {
  const end = innermostFirst[0]?.end ?? 0
  const rest = restOfLine(text, end)
  let inserted = ''
  let hasBrokenLine = false
  for (const { open, closer } of innermostFirst) {
    const isMultiLine = rest !== null && (rest.hasComment || text.slice(open.offset, end).includes('\n'))
    inserted += isMultiLine ? `${eol}${indentAt(text, open.offset)}${closer}` : ` ${closer}`
    hasBrokenLine ||= isMultiLine
  }
  const glue = !hasBrokenLine && rest === null && !/\s/.test(text.charAt(end)) ? ' ' : ''
  return { offset: hasBrokenLine && rest !== null ? rest.end : end, length: 0, text: inserted + glue }
}

/** Brackets and separators that stand where nothing was opened. */
export function skippedFindings(tree: PbtxtTree): StructuralFinding[] {
  const found: StructuralFinding[] = []
  const visit = (message: PbtxtMessage): void => {
    for (const token of message.skipped) {
      const text = symbol(token)
      const isBracket = text.length === 1 && '{}[]<>'.includes(text)
      const isSeparator = text === ',' || text === ';'
      if (!isBracket && !isSeparator) continue
      found.push({
        finding: {
          code: isBracket ? 'unmatched-bracket' : 'extra-separator', severity: 'error', span: { start: token.offset, end: token.offset + 1 },
          message: isBracket ? say(`This "${text}" closes nothing that is open here.`, `此处的“${text}”没有与之对应的括号。`) : say(`A "${text}" too many.`, `多余的“${text}”。`),
          fixes: [preferredFix(`Remove ${text}`, `删除“${text}”`, [removal(tree.text, token.offset, token.offset + 1)])],
        },
        explains: [token.offset],
      })
    }
    for (const field of message.fields) for (const value of field.values) if (value.kind === 'message') visit(value)
  }
  visit(tree.root)
  return found
}
