/**
 * Regular expressions as Triton's (RE2's syntax), in time linear in the text: patterns are an operator's, texts are anybody's, and for some
 * pairs of the two JavaScript's own RegExp takes forever.
 */
import { RE2JS } from 're2js'

/** Letters match in either case. Back-references and look-around are refused, as RE2 refuses them. */
export class LinearPattern {
  readonly #pattern: RE2JS

  /** @throws SyntaxError that says what is wrong */
  constructor(source: string) {
    try {
      this.#pattern = RE2JS.compile(source, RE2JS.CASE_INSENSITIVE)
    } catch (error) {
      // The library puts the flag before the pattern, and its own words before the error.
      throw new SyntaxError((error as Error).message.replace(/^error parsing regexp: /, '').replace('`(?i)', '`'), { cause: error })
    }
  }

  /** Does the pattern match anywhere in the text? */
  matches(text: string): boolean { return this.#pattern.test(text) }
}
