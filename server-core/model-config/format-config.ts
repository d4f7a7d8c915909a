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

/**
 * White space only. A text with a broken token (a string that is not closed) is left alone: nobody knows what is inside it.
 * @returns nothing for a text that is formatted
 */
export function formatConfig(text: string): TextEdit[] {
  const tokens = tokenizePbtxt(text).tokens
  if (tokens.some((token) => token.isBroken)) return []
  const eol = lineEnd(text)
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

/** What most lines end with. */
function lineEnd(text: string): string {
  const returns = text.match(/\r\n/g)?.length ?? 0
  return returns * 2 > (text.match(/\n/g)?.length ?? 0) ? '\r\n' : '\n'
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
  if (previous === null) return ''
  // A comment reaches to the line feed, so that it holds the carriage return before it.
  const firstBreak = previous.kind === 'comment' && previous.text.endsWith('\r') ? '\n' : eol
  if (token.kind === 'end') return firstBreak
  if (breaks > 0) return firstBreak + (breaks > 1 ? eol : '') + INDENT.repeat(depth)
  if (previous.kind === 'comment') return firstBreak + INDENT.repeat(depth)
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
