/** Formats a config.pbtxt: indent, blanks and blank lines. Which form a field is written in, what shares a line, and comments stay. */
import type { TextEdit } from '../contract/config-language.ts'
import { tokenizePbtxt } from './pbtxt-tokenizer.ts'
import type { PbtxtToken } from './pbtxt-tree.ts'

const INDENT = '  '
const OPENERS = '{[<'
const CLOSERS = '}]>'

interface Level {
  readonly depth: number
  readonly line: number
  /** Its first bracket inside stood on its own line's end: brackets inside make no level more. */
  sharesDepth: boolean | null
}

/** @returns nothing for a text that is formatted; white space only, whatever errors the text has */
export function formatConfig(text: string): TextEdit[] {
  const tokens = tokenizePbtxt(text).tokens
  const eol = /\r\n/.test(text) ? '\r\n' : '\n'
  const edits: TextEdit[] = []
  const levels: Level[] = []
  let previous: PbtxtToken | null = null
  let space: PbtxtToken | null = null
  let line = 1
  for (const token of tokens) {
    if (token.kind === 'space') { space = token; continue }
    if (token.kind === 'bom') continue
    const breaks = space === null ? 0 : countBreaks(space.text)
    if (breaks > 0) line++
    const depth = depthOf(levels, token)
    const wanted = between(previous, token, breaks, depth, eol, space?.text ?? '')
    const offset = space?.offset ?? token.offset
    if (wanted !== (space?.text ?? '')) edits.push({ offset, length: token.offset - offset, text: wanted })
    follow(levels, token, line)
    previous = token
    space = null
  }
  return edits
}

function countBreaks(space: string): number {
  let count = 0
  for (const character of space) if (character === '\n') count++
  return count
}

function symbolOf(token: PbtxtToken | null): string {
  return token?.kind === 'symbol' ? (token.meant ?? token.text) : ''
}

/** Brackets opened on one line make one level. */
function follow(levels: Level[], token: PbtxtToken, line: number): void {
  const symbol = symbolOf(token)
  if (symbol === '') return
  const top = levels[levels.length - 1]
  if (OPENERS.includes(symbol)) {
    if (top !== undefined) top.sharesDepth ??= top.line === line
    levels.push({ depth: top === undefined ? 1 : top.sharesDepth === true ? top.depth : top.depth + 1, line, sharesDepth: null })
  }
  else if (CLOSERS.includes(symbol)) levels.pop()
}

/** Indent level of a line that begins with `token`. */
function depthOf(levels: readonly Level[], token: PbtxtToken): number {
  const symbol = symbolOf(token)
  const top = levels[levels.length - 1]
  if (top === undefined) return 0
  return symbol !== '' && CLOSERS.includes(symbol) ? top.depth - 1 : top.depth
}

function between(previous: PbtxtToken | null, token: PbtxtToken, breaks: number, depth: number, eol: string, space: string): string {
  if (token.kind === 'end') return previous === null ? '' : eol
  if (previous === null) return ''
  if (breaks > 0) return eol.repeat(Math.min(breaks, 2)) + INDENT.repeat(depth)
  if (previous.kind === 'comment') return eol + INDENT.repeat(depth)
  // Comments behind fields may stand in a column.
  if (token.kind === 'comment') return space === '' ? ' ' : space.replace(/\t/g, INDENT)
  return blank(previous, token)
}

function blank(previous: PbtxtToken, token: PbtxtToken): string {
  const before = symbolOf(previous)
  const after = symbolOf(token)
  if (after === ':' || after === ',' || after === ';') return ''
  if (before === '-' || (before === '/' && (after === '/' || after === '*'))) return ''
  if (before === '.' || after === '.' || before === '/' || after === '/' || after === '-') return before === ':' || before === '[' || before === ',' ? ' ' : gluedOrApart(previous, token)
  return ' '
}

/** Pieces of what is no valid config anyway (a name without quotes, say) stay as they are. */
function gluedOrApart(previous: PbtxtToken, token: PbtxtToken): string {
  return previous.offset + previous.text.length === token.offset ? '' : ' '
}
