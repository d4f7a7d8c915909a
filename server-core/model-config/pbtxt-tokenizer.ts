/**
 * Cuts a config.pbtxt into tokens the way protobuf's C++ tokenizer does for text format, keeping trivia. Never throws.
 * Texts and positions of errors are protobuf's; where protobuf would go on byte by byte, one error stands for one wrong character.
 */
import type { PbtxtErrorCode, PbtxtToken, PbtxtTokenKind } from './pbtxt-tree.ts'

export interface TokenizerError {
  readonly code: PbtxtErrorCode
  readonly message: string
  readonly line: number
  readonly column: number
  readonly offset: number
  readonly length: number
  /** Index among the significant tokens of the token that was being read. */
  readonly significantIndex: number
}

export interface TokenizerResult {
  readonly tokens: readonly PbtxtToken[]
  /** Tokens without trivia; the last is 'end'. */
  readonly significant: readonly PbtxtToken[]
  readonly errors: readonly TokenizerError[]
}

const TAB_WIDTH = 8

/** Punctuation pasted from Chinese input methods and web pages, and the ASCII it stands for. */
export const CONFUSABLE_PUNCTUATION: ReadonlyMap<string, string> = new Map([
  ['：', ':'], ['，', ','], ['；', ';'], ['｛', '{'], ['｝', '}'], ['［', '['], ['］', ']'], ['【', '['], ['】', ']'], ['（', '('], ['）', ')'],
  ['＜', '<'], ['＞', '>'], ['－', '-'], ['．', '.'], ['＃', '#'], ['“', '"'], ['”', '"'], ['＂', '"'], ['‘', '\''], ['’', '\''], ['＇', '\''],
])
/** Look like a space, are none for protobuf: no-break, narrow no-break, figure, ideographic, zero-width spaces. */
const FALSE_SPACES = new Set(['\u00a0', '\u202f', '\u2007', '\u3000', '\u200b', '\u2060', '\ufeff', '\u2002', '\u2003', '\u2009'])
/** The rest of a string after its opening quote, on one line; a second opener ends the search, so that it stays linear. */
const CURLY_CLOSERS: Readonly<Record<string, RegExp>> = { '“': /[^\n“”"]*[”"]/y, '‘': /[^\n‘’']*[’']/y, '＂': /[^\n＂"]*[＂"]/y }

const SPACE = /[ \t\r\v\f\n]+/y
const COMMENT = /#[^\n]*/y
const IDENTIFIER = /[A-Za-z_][A-Za-z0-9_]*/y
 
const CONTROL = /[\u0000-\u0008\u000e-\u001f]+/y

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13)
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95
}

/** First byte of a character's UTF-8 form. */
function firstByte(codePoint: number): number {
  if (codePoint < 0x80) return codePoint
  if (codePoint < 0x800) return 0xc0 | (codePoint >> 6)
  return codePoint < 0x10000 ? 0xe0 | (codePoint >> 12) : 0xf0 | (codePoint >> 18)
}

class Tokenizer {
  readonly #text: string
  readonly tokens: PbtxtToken[] = []
  readonly significant: PbtxtToken[] = []
  readonly errors: TokenizerError[] = []
  /** Of the next token. */
  #offset = 0
  #line = 1
  #column = 1
  /** Of the place counted last. */
  #placeOffset = 0
  #placeLine = 1
  #placeColumn = 1

  constructor(text: string) {
    this.#text = text
  }

  run(): void {
    const text = this.#text
    if (text.startsWith('\ufeff')) {
      this.#add('bom', 1)
      this.#column = 1 // a byte order mark takes no column: positions are those an editor shows
      this.#placeOffset = 1
      this.#placeColumn = 1
    }
    while (this.#offset < text.length) this.#token(text.charCodeAt(this.#offset))
    this.#add('end', this.#offset)
  }

  #token(code: number): void {
    if (isSpace(code)) this.#add('space', this.#endOf(SPACE))
    else if (isLetter(code)) this.#addPlain('identifier', this.#endOf(IDENTIFIER))
    else if (isDigit(code)) this.#number()
    else if (code === 35) this.#add('comment', this.#endOf(COMMENT))
    else if (code === 34 || code === 39) this.#string(code)
    else if (code === 46 && isDigit(this.#text.charCodeAt(this.#offset + 1))) this.#number()
    else if (code < 32) {
      const end = this.#endOf(CONTROL)
      this.#error('invalid-character', 'Invalid control characters encountered in text.', this.#offset, end - this.#offset)
      this.#add('stray', end, true)
    } else if (code >= 0x80) this.#nonAscii()
    else this.#addPlain('symbol', this.#offset + 1)
  }

  /** Where a pattern that matches here ends. */
  #endOf(pattern: RegExp): number {
    pattern.lastIndex = this.#offset
    return pattern.test(this.#text) ? pattern.lastIndex : this.#offset + 1
  }

  #add(kind: PbtxtTokenKind, end: number, isBroken = false, meant?: string): void {
    this.#push(kind, end, isBroken, meant)
    const place = this.#placeAt(end)
    this.#line = place.line
    this.#column = place.column
    this.#offset = end
  }

  /** A token of ASCII characters without tabs and line breaks: one column each. */
  #addPlain(kind: PbtxtTokenKind, end: number, isBroken = false): void {
    this.#push(kind, end, isBroken, undefined)
    this.#column += end - this.#offset
    this.#offset = end
    this.#placeOffset = end
    this.#placeLine = this.#line
    this.#placeColumn = this.#column
  }

  #push(kind: PbtxtTokenKind, end: number, isBroken: boolean, meant: string | undefined): void {
    const text = this.#text.slice(this.#offset, end)
    const token: PbtxtToken = {
      kind, text, offset: this.#offset, index: this.tokens.length, line: this.#line, column: this.#column, isBroken, meant,
    }
    this.tokens.push(token)
    if (kind !== 'space' && kind !== 'comment' && kind !== 'bom' && kind !== 'stray') this.significant.push(token)
  }

  /** Line and column of an offset, counted on from the last one asked for: offsets only grow. */
  #placeAt(end: number): { line: number; column: number } {
    let line = this.#placeLine
    let column = this.#placeColumn
    for (let at = this.#placeOffset; at < end; at++) {
      const code = this.#text.charCodeAt(at)
      if (code === 10) { line++; column = 1 }
      else if (code === 9) column += TAB_WIDTH - ((column - 1) % TAB_WIDTH)
      else if (code < 0x80) column++
      else if (code < 0x800) column += 2
      else if (code >= 0xd800 && code < 0xe000) column += 2 // half of a four-byte character
      else column += 3
    }
    this.#placeOffset = end
    this.#placeLine = line
    this.#placeColumn = column
    return { line, column }
  }

  #error(code: PbtxtErrorCode, message: string, at: number, length = 1): void {
    this.errors.push({ code, message, ...this.#placeAt(at), offset: at, length, significantIndex: this.significant.length })
  }

  #nonAscii(): void {
    const codePoint = this.#text.codePointAt(this.#offset) ?? 0
    const character = String.fromCodePoint(codePoint)
    const end = this.#offset + character.length
    this.#error('invalid-character', `Interpreting non ascii codepoint ${firstByte(codePoint)}.`, this.#offset, character.length)
    if (FALSE_SPACES.has(character)) { this.#add('stray', end, true); return }
    const closer = CURLY_CLOSERS[character]
    if (closer !== undefined) {
      closer.lastIndex = end
      if (closer.test(this.#text)) { this.#add('string', closer.lastIndex, true); return }
    }
    this.#add('symbol', end, true, CONFUSABLE_PUNCTUATION.get(character))
  }

  /** A string literal; the token ends before a line break that it must not cross. */
  #string(quote: number): void {
    const text = this.#text
    const errorsBefore = this.errors.length
    const bad = (message: string, at: number): void => { this.#error('bad-string', message, at, Math.max(1, Math.min(2, text.length - at))) }
    let at = this.#offset + 1
    for (;;) {
      const code = at < text.length ? text.charCodeAt(at) : 0
      if (code === 0) { this.#error('bad-string', 'Unexpected end of string.', at, 0); break }
      if (code === 10) { this.#error('bad-string', 'String literals cannot cross line boundaries.', at, 0); break }
      at++
      if (code === quote) break
      if (code !== 92) continue
      const escape = text.charAt(at)
      if (escape !== '' && 'abfnrtv\\?\'"01234567'.includes(escape)) { at++; continue }
      if (escape === 'x') {
        at++
        if (/[0-9a-fA-F]/.test(text.charAt(at))) at++
        else bad('Expected hex digits for escape sequence.', at)
      } else if (escape === 'u') {
        const digits = /^[0-9a-fA-F]{0,4}/.exec(text.slice(at + 1, at + 5))?.[0].length ?? 0
        at += 1 + digits
        if (digits < 4) bad('Expected four hex digits for \\u escape sequence.', at)
      } else if (escape === 'U') {
        const digits = /^(?:0(?:0(?:[01][0-9a-fA-F]{0,5})?)?)?/.exec(text.slice(at + 1, at + 9))?.[0].length ?? 0
        at += 1 + digits
        if (digits < 8) bad('Expected eight hex digits up to 10ffff for \\U escape sequence', at)
      } else bad('Invalid escape sequence in string literal.', at)
    }
    this.#add('string', at, this.errors.length > errorsBefore)
  }

  #number(): void {
    const text = this.#text
    const errorsBefore = this.errors.length
    let at = this.#offset
    const digits = (pattern: RegExp): boolean => {
      const before = at
      pattern.lastIndex = at
      if (pattern.test(text)) at = pattern.lastIndex
      return at > before
    }
    let isFloat = false
    const first = text.charAt(at)
    const second = text.charAt(at + 1)
    if (first === '.') {
      const previous = this.tokens[this.tokens.length - 1]
      if (previous?.kind === 'identifier') this.#error('bad-number', 'Need space between identifier and decimal point.', at, 1)
    }
    if (first === '0' && (second === 'x' || second === 'X')) {
      at += 2
      if (!digits(/[0-9a-fA-F]+/y)) this.#error('bad-number', '"0x" must be followed by hex digits.', at, 0)
    } else if (first === '0' && second >= '0' && second <= '9') {
      at++
      digits(/[0-7]+/y)
      if (/[0-9]/.test(text.charAt(at))) {
        this.#error('bad-number', 'Numbers starting with leading zero must be in octal.', at)
        digits(/[0-9]+/y)
      }
    } else {
      digits(/[0-9]+/y)
      if (text.charAt(at) === '.') { isFloat = true; at++; digits(/[0-9]+/y) }
      if (text.charAt(at) === 'e' || text.charAt(at) === 'E') {
        isFloat = true
        at++
        if (text.charAt(at) === '-' || text.charAt(at) === '+') at++
        if (!digits(/[0-9]+/y)) this.#error('bad-number', '"e" must be followed by exponent.', at, 0)
      }
      if (text.charAt(at) === 'f' || text.charAt(at) === 'F') { isFloat = true; at++ }
    }
    if (/[A-Za-z_]/.test(text.charAt(at))) this.#error('bad-number', 'Need space between number and identifier.', at)
    else if (text.charAt(at) === '.') {
      this.#error('bad-number', isFloat
        ? 'Already saw decimal point or exponent; can\'t have another one.'
        : 'Hex and octal numbers must be integers.', at)
    }
    this.#addPlain(isFloat ? 'float' : 'integer', at, this.errors.length > errorsBefore)
  }
}

export function tokenizePbtxt(text: string): TokenizerResult {
  const tokenizer = new Tokenizer(text)
  tokenizer.run()
  return tokenizer
}
