import { describe, expect, it } from 'vitest'
import { randomNumbers } from '../testing/random-numbers.ts'
import { LinearPattern } from './linear-pattern.ts'

describe('LinearPattern', () => {
  it.each([
    'my_.*', '^x-', 'x-(trace|user)-id$', '[a-c]+-?[^0-9]', 'a{2,3}b', 'a{2}$', '(?:ab)*c', '', '^$', '.', '\\d+\\.\\w', 'a|', 'x{0}y', 'a{2,}', '[]a]', '[a-]', '(?i)X-A', 'a+?b', '(a|b)(c|d){1,2}$', 'a{x',
  ])('agrees with RegExp: %s', (pattern) => {
    const ours = new LinearPattern(pattern)
    const theirs = new RegExp(pattern.replace('(?i)', '').replace('[]a]', '[\\]a]'), 'i')
    const random = randomNumbers(1)
    const texts = ['', 'a', 'aa', 'aab', 'aaab', 'X-Trace-Id', 'x-user-id', 'x-user-id2', 'my_header', 'MY_', 'bcd', 'abcd', 'a-', ']', 'y', '1.a', 'a{x', 'x-a']
    for (let i = 0; i < 300; i++) texts.push(Array.from({ length: random(8) }, () => 'abcdx-_1.]{'[random(11)]).join(''))
    for (const text of texts) expect([text, ours.matches(text)]).toEqual([text, theirs.test(text)])
  })

  it('takes time in proportion to the text where RegExp does not end', () => {
    expect(new LinearPattern('(a+)+(a|aa)*(a*)*$b').matches('a'.repeat(20_000))).toBe(false)
  })

  it.each([
    ['(', 'missing closing ): `(`'], [')', 'unexpected ): `)`'], ['[a', 'missing closing ]: `[a`'], ['*a', 'missing argument to repetition operator: `*`'],
    ['(?=a)', 'invalid or unsupported Perl syntax: `(?=`'], ['\\1', 'invalid escape sequence: `\\1`'], ['a\\', 'trailing backslash at end of expression'],
    ['a{3,2}', 'invalid repeat count: `{3,2}`'], ['[b-a]', 'invalid character class range: `b-a`'], ['((a{1000}){1000}){1000}', 'invalid repeat count'],
  ])('refuses %s', (pattern, text) => {
    expect(() => new LinearPattern(pattern)).toThrow(text)
  })
})
