/** Lines of a text and positions in it. Lines end with LF, CRLF or a lone CR, as an editor shows them; a byte order mark takes no column. */

export interface TextPosition {
  /** 1-based. */
  readonly line: number
  /** 1-based, in UTF-16 units. */
  readonly column: number
}

export class LineIndex {
  readonly #starts: number[]
  readonly #length: number

  constructor(text: string) {
    this.#length = text.length
    this.#starts = [text.startsWith('\uFEFF') ? 1 : 0]
    for (const { index, 0: end } of text.matchAll(/\r\n|\n|\r/g)) this.#starts.push(index + end.length)
  }

  get lineCount(): number {
    return this.#starts.length
  }

  positionAt(offset: number): TextPosition {
    let low = 0
    let high = this.#starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#starts[middle] ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: Math.max(0, offset - (this.#starts[low] ?? 0)) + 1 }
  }

  offsetAt({ line, column }: TextPosition): number {
    return Math.min(this.#length, (this.#starts[line - 1] ?? this.#length) + column - 1)
  }
}

/** The line end that a text uses most; LF where it has one line only. */
export function lineEndOf(text: string): '\n' | '\r\n' {
  const crlf = text.split('\r\n').length - 1
  return crlf * 2 > text.split('\n').length - 1 ? '\r\n' : '\n'
}
