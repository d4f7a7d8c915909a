/** The place of the parser in the tokens, and the errors it has reported there. */
import type { PbtxtError, PbtxtErrorCode, PbtxtSpan, PbtxtToken } from './pbtxt-tree.ts'

export interface ReportedError extends PbtxtError {
  /** Index of the significant token at which protobuf would report it. */
  readonly at: number
}

export class PbtxtCursor {
  readonly #tokens: readonly PbtxtToken[]
  readonly errors: ReportedError[] = []
  readonly #end: PbtxtToken
  #position = 0

  /** @param tokens without trivia; the last is the 'end' token */
  constructor(tokens: readonly PbtxtToken[]) {
    const end = tokens[tokens.length - 1]
    if (end === undefined) throw new Error('The tokenizer always ends with an end token.')
    this.#tokens = tokens
    this.#end = end
  }

  get current(): PbtxtToken {
    return this.#tokens[this.#position] ?? this.#end
  }

  /** Increases with every token taken. */
  get position(): number {
    return this.#position
  }

  /** Takes the current token; stays at the end of the file. */
  next(): PbtxtToken {
    const token = this.current
    if (token.kind !== 'end') this.#position++
    return token
  }

  /** Gives back the token taken last. */
  back(): void {
    this.#position--
  }

  /** Is the current token this symbol, or its full-width twin (which carries its own error)? */
  looksLike(symbol: string): boolean {
    return isSymbol(this.current, symbol)
  }

  take(symbol: string): PbtxtToken | null {
    return this.looksLike(symbol) ? this.next() : null
  }

  startsMessage(): boolean {
    return this.looksLike('{') || this.looksLike('<')
  }

  /** An identifier followed by what only a field name is followed by. */
  startsField(): boolean {
    if (this.current.kind !== 'identifier') return false
    const after = this.#tokens[this.#position + 1] ?? this.#end
    return [':', '{', '<', '['].some((symbol) => isSymbol(after, symbol))
  }

  startsLiteral(): boolean {
    const { kind } = this.current
    return kind === 'integer' || kind === 'float' || kind === 'string' || kind === 'identifier'
  }

  /** Where the last token taken ends. */
  get takenEnd(): number {
    const previous = this.#tokens[this.#position - 1]
    return previous === undefined ? 0 : previous.offset + previous.text.length
  }

  /** Reports at the current token; silent where the tokenizer already complained about it, and only once at the end of the file. */
  report(code: PbtxtErrorCode, message: string, culprit: PbtxtSpan = spanOf(this.current)): void {
    const { isBroken, line, column, kind } = this.current
    if (isBroken) return
    const last = this.errors[this.errors.length - 1]
    if (kind === 'end' && last !== undefined && last.at === this.#position && last.code.startsWith('expected')) return
    this.errors.push({ code, message, line, column, offset: culprit.start, length: culprit.end - culprit.start, at: this.#position })
  }

  expected(symbol: string): void {
    this.report('expected-token', `Expected "${symbol}", found "${this.current.text}".`)
  }
}

function isSymbol(token: PbtxtToken, symbol: string): boolean {
  return token.text === symbol || token.meant === symbol
}

/** From the first token to the last of `more`. */
export function spanOf(first: PbtxtToken, more: readonly PbtxtToken[] = []): PbtxtSpan {
  const last = more[more.length - 1] ?? first
  return { start: first.offset, end: last.offset + last.text.length }
}
