/**
 * JSON as protobuf's parser takes it for a config override: single quotes and a trailing comma pass, comments do not. Numbers keep
 * their text, so that 64-bit integers lose nothing.
 */

export class JsonNumber {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Entries in order, as a key may stand twice. */
export class JsonObject {
  readonly entries: readonly (readonly [string, LenientJson])[]
  constructor(entries: readonly (readonly [string, LenientJson])[]) {
    this.entries = entries
  }
}

export type LenientJson = null | boolean | string | JsonNumber | JsonObject | readonly LenientJson[]

const MAX_DEPTH = 100
const SIMPLE_ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): LenientJson {
    const value = this.#value(0)
    this.#space()
    if (this.#at < this.#text.length) this.#fail('Parsing terminated before end of input.')
    return value
  }

  #fail(message: string): never {
    const before = this.#text.slice(0, this.#at)
    const line = before.split('\n').length
    throw new SyntaxError(`${message} (line ${line}, column ${this.#at - before.lastIndexOf('\n')})`)
  }

  #space(): void {
    while (' \t\r\n\ufeff'.includes(this.#text.charAt(this.#at)) && this.#at < this.#text.length) this.#at++
  }

  #value(depth: number): LenientJson {
    this.#space()
    if (depth > MAX_DEPTH) this.#fail('Message too deep. Max recursion depth reached.')
    const character = this.#text.charAt(this.#at)
    if (character === '{') return this.#object(depth)
    if (character === '[') return this.#list(depth)
    if (character === '"' || character === '\'') return this.#string(character)
    const word = /-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|true|false|null/y
    word.lastIndex = this.#at
    const found = word.exec(this.#text)?.[0]
    if (found === undefined) return this.#fail('Expected a value.')
    this.#at += found.length
    if (/[A-Za-z0-9_]/.test(this.#text.charAt(this.#at))) this.#fail('Unable to parse number.')
    if (found === 'null') return null
    return found === 'true' || found === 'false' ? found === 'true' : new JsonNumber(found)
  }

  #object(depth: number): JsonObject {
    const entries: [string, LenientJson][] = []
    this.#at++
    for (;;) {
      this.#space()
      const character = this.#text.charAt(this.#at)
      if (character === '}') break
      let name: string
      if (character === '"' || character === '\'') name = this.#string(character)
      else {
        const bare = /[A-Za-z_$][A-Za-z0-9_$]*/y
        bare.lastIndex = this.#at
        name = bare.exec(this.#text)?.[0] ?? this.#fail('Expected an object key or }.')
        this.#at += name.length
      }
      this.#space()
      if (this.#text.charAt(this.#at) !== ':') this.#fail('Expected : between key:value pair.')
      this.#at++
      entries.push([name, this.#value(depth + 1)])
      if (!this.#comma('}', 'Expected , or } after key:value pair.')) break
    }
    this.#at++
    return new JsonObject(entries)
  }

  #list(depth: number): LenientJson {
    const elements: LenientJson[] = []
    this.#at++
    for (;;) {
      this.#space()
      if (this.#text.charAt(this.#at) === ']') break
      elements.push(this.#value(depth + 1))
      if (!this.#comma(']', 'Expected , or ] after array value.')) break
    }
    this.#at++
    return elements
  }

  /** Takes a comma, or stands at the closer. */
  #comma(closer: string, message: string): boolean {
    this.#space()
    const character = this.#text.charAt(this.#at)
    if (character === ',') { this.#at++; return true }
    if (character !== closer) this.#fail(message)
    return false
  }

  #string(quote: string): string {
    let value = ''
    this.#at++
    for (;;) {
      if (this.#at >= this.#text.length) this.#fail('Closing quote expected in string.')
      const character = this.#text.charAt(this.#at++)
      if (character === quote) return value
      if (character !== '\\') { value += character; continue }
      const escape = this.#text.charAt(this.#at++)
      if (escape !== 'u') { value += SIMPLE_ESCAPES[escape] ?? escape; continue }
      const digits = /^[0-9a-fA-F]{4}/.exec(this.#text.slice(this.#at, this.#at + 4))?.[0] ?? this.#fail('Invalid escape sequence.')
      value += String.fromCharCode(Number.parseInt(digits, 16))
      this.#at += 4
    }
  }
}

/** @throws SyntaxError with line and column */
export function parseLenientJson(text: string): LenientJson {
  return new Reader(text).document()
}
