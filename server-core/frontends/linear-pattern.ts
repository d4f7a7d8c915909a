/**
 * Regular expressions in time linear in the text, as RE2 has them, for patterns that an operator writes and text that anybody sends: the
 * engine's own RegExp takes forever for some pairs of the two. Bytes of ASCII only; letters match in either case.
 *
 * Known: literals, `.`, classes, `\d \w \s` and their opposites, groups, `|`, `* + ? {n} {n,} {n,m}` (also lazy), `^ $`. Not known, and
 * refused as in RE2: back-references and look-around.
 */

/** Repetitions of a part count as often as they are written out. */
const MAX_STATES = 10_000

type Node =
  | { readonly kind: 'set'; readonly members: Uint8Array }
  | { readonly kind: 'start' } | { readonly kind: 'end' }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly Node[] }
  | { readonly kind: 'repeat'; readonly part: Node; readonly least: number; readonly most: number }

type State =
  | { readonly kind: 'set'; readonly members: Uint8Array; readonly next: number }
  | { readonly kind: 'start' | 'end'; readonly next: number }
  | { readonly kind: 'split'; next: number; other: number }
  | { readonly kind: 'match' }

export class LinearPattern {
  readonly #states: State[] = [{ kind: 'match' }]
  readonly #entry: number

  /** @throws SyntaxError that says what is wrong and where */
  constructor(source: string) {
    this.#entry = this.#compile(new PatternParser(source).parse(), 0)
  }

  /** Does the pattern match anywhere in the text? */
  matches(text: string): boolean {
    const states = this.#states
    let current: number[] = []
    for (let at = 0; at <= text.length; at++) {
      const seen = new Uint8Array(states.length)
      const reached: number[] = []
      if (this.#follow([...current, this.#entry], at, text.length, seen, reached)) return true
      const code = text.charCodeAt(at)
      current = []
      for (const index of reached) {
        const state = states[index] as State
        if (state.kind === 'set' && code < 128 && state.members[code] === 1) current.push(state.next)
      }
    }
    return false
  }

  /** Adds the states that need a character. @returns whether the end is reached without one */
  #follow(pending: number[], at: number, length: number, seen: Uint8Array, reached: number[]): boolean {
    for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
      if (seen[index] === 1) continue
      seen[index] = 1
      const state = this.#states[index] as State
      switch (state.kind) {
        case 'match': return true
        case 'set': reached.push(index); break
        case 'start': if (at === 0) pending.push(state.next); break
        case 'end': if (at === length) pending.push(state.next); break
        case 'split': pending.push(state.next, state.other)
      }
    }
    return false
  }

  /** @returns the state where the node begins; it goes on at `next` */
  #compile(node: Node, next: number): number {
    switch (node.kind) {
      case 'set': return this.#add({ kind: 'set', members: node.members, next })
      case 'start': case 'end': return this.#add({ kind: node.kind, next })
      case 'sequence': return node.parts.reduceRight((after, part) => this.#compile(part, after), next)
      case 'choice': return node.parts.map((part) => this.#compile(part, next)).reduceRight((other, entry) => this.#add({ kind: 'split', next: entry, other }))
      case 'repeat': return this.#compileRepeat(node, next)
    }
  }

  #compileRepeat({ part, least, most }: Extract<Node, { kind: 'repeat' }>, next: number): number {
    let entry = next
    if (most === Infinity) {
      const loop: State = { kind: 'split', next, other: next }
      entry = this.#add(loop)
      loop.other = this.#compile(part, entry)
    } else {
      for (let count = least; count < most; count++) entry = this.#add({ kind: 'split', next, other: this.#compile(part, entry) })
    }
    for (let count = 0; count < least; count++) entry = this.#compile(part, entry)
    return entry
  }

  #add(state: State): number {
    if (this.#states.length >= MAX_STATES) throw new SyntaxError('the pattern is too large')
    return this.#states.push(state) - 1
  }
}

class PatternParser {
  readonly #source: string
  #at = 0
  #depth = 0

  constructor(source: string) { this.#source = source.startsWith('(?i)') ? source.slice('(?i)'.length) : source }

  parse(): Node {
    const node = this.#choice()
    if (this.#at < this.#source.length) throw this.#error("unexpected ')'")
    return node
  }

  #choice(): Node {
    if (++this.#depth > 100) throw this.#error('groups are nested too deeply')
    const parts = [this.#sequence()]
    while (this.#take('|')) parts.push(this.#sequence())
    this.#depth--
    return { kind: 'choice', parts }
  }

  #sequence(): Node {
    const parts: Node[] = []
    for (;;) {
      const next = this.#source[this.#at]
      if (next === undefined || next === '|' || next === ')') return { kind: 'sequence', parts }
      parts.push(this.#repeated(this.#one()))
    }
  }

  #repeated(part: Node): Node {
    let node = part
    for (;;) {
      const bounds = this.#bounds()
      if (bounds === undefined) return node
      // Lazy or not, the same texts match.
      this.#take('?')
      node = { kind: 'repeat', part: node, ...bounds }
    }
  }

  #bounds(): { least: number; most: number } | undefined {
    if (this.#take('*')) return { least: 0, most: Infinity }
    if (this.#take('+')) return { least: 1, most: Infinity }
    if (this.#take('?')) return { least: 0, most: 1 }
    const counted = /^\{(\d{1,4})(,(\d{1,4})?)?\}/.exec(this.#source.slice(this.#at, this.#at + 12))
    if (counted === null) return undefined
    this.#at += counted[0].length
    const least = Number(counted[1])
    const most = counted[2] === undefined ? least : counted[3] === undefined ? Infinity : Number(counted[3])
    if (most < least) throw this.#error('a repetition ends before it begins')
    return { least, most }
  }

  #one(): Node {
    const character = this.#source[this.#at++] as string
    switch (character) {
      case '^': return { kind: 'start' }
      case '$': return { kind: 'end' }
      case '.': return { kind: 'set', members: setWhere((code) => code !== 0x0a) }
      case '[': return this.#class()
      case '\\': return { kind: 'set', members: this.#escape() }
      case '*': case '+': case '?': throw this.#error(`nothing to repeat before '${character}'`)
      case '(': {
        if (this.#take('?') && !this.#take(':')) throw this.#error('look-around and named groups are not supported')
        const inside = this.#choice()
        if (!this.#take(')')) throw this.#error("missing ')'")
        return inside
      }
      default: return { kind: 'set', members: bothCases([character.charCodeAt(0)]) }
    }
  }

  #escape(): Uint8Array {
    const character = this.#source[this.#at++]
    if (character === undefined) throw this.#error("'\\' at the end")
    const known = ESCAPES[character.toLowerCase()]
    if (known !== undefined) return setWhere((code) => known(code) === (character === character.toLowerCase()))
    if (/[a-zA-Z0-9]/.test(character)) throw this.#error(`'\\${character}' is not supported`)
    return bothCases([character.charCodeAt(0)])
  }

  #class(): Node {
    const isNegated = this.#take('^')
    const members = new Uint8Array(128)
    const add = (codes: Uint8Array) => { codes.forEach((isMember, code) => { if (isMember === 1) members[code] = 1 }) }
    for (let isFirst = true; isFirst || this.#source[this.#at] !== ']'; isFirst = false) {
      const from = this.#source[this.#at++]
      if (from === undefined) throw this.#error("missing ']'")
      if (from === '\\') { add(this.#escape()); continue }
      const hasRange = this.#source[this.#at] === '-' && this.#source[this.#at + 1] !== ']' && this.#source[this.#at + 1] !== undefined
      const to = hasRange ? (this.#source[this.#at + 1] as string) : from
      if (hasRange) this.#at += 2
      if (to < from) throw this.#error(`the range ${from}-${to} is empty`)
      const codes: number[] = []
      for (let code = from.charCodeAt(0); code <= Math.min(to.charCodeAt(0), 127); code++) codes.push(code)
      add(bothCases(codes))
    }
    this.#at++
    return { kind: 'set', members: isNegated ? members.map((isMember) => 1 - isMember) : members }
  }

  #take(character: string): boolean {
    const isThere = this.#source[this.#at] === character
    if (isThere) this.#at++
    return isThere
  }

  #error(text: string): SyntaxError { return new SyntaxError(`${text} (at character ${this.#at})`) }
}

const ESCAPES: Readonly<Record<string, ((code: number) => boolean) | undefined>> = {
  d: (code) => code >= 0x30 && code <= 0x39,
  w: (code) => /\w/.test(String.fromCharCode(code)),
  s: (code) => /\s/.test(String.fromCharCode(code)),
}

function setWhere(isMember: (code: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) => (isMember(code) ? 1 : 0))
}

function bothCases(codes: readonly number[]): Uint8Array {
  const members = new Uint8Array(128)
  for (const code of codes) {
    const letter = String.fromCharCode(code)
    for (const either of [letter.toLowerCase(), letter.toUpperCase()]) {
      if (either.charCodeAt(0) < 128) members[either.charCodeAt(0)] = 1
    }
  }
  return members
}
