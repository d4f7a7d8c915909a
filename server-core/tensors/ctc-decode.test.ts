import { describe, expect, it } from 'vitest'
import { characterClasses, decodeCtc } from './ctc-decode.ts'

const characters = characterClasses('a\nb\n')

/** One row of scores per step: the named class gets `score`, the others 0.01. */
const scoresOf = (steps: readonly [string, number][]) => Float32Array.from(steps.flatMap(([character, score]) => characters.map((candidate) => (candidate === character ? score : 0.01))))

describe('characterClasses', () => {
  it('puts the blank first and the space last, whatever the line ends', () => {
    expect(characters).toEqual(['', 'a', 'b', ' '])
    expect(characterClasses('\uFEFFa\r\nb')).toEqual(['', 'a', 'b', ' '])
  })

  it('keeps a line that is a wide space or empty in the middle', () => {
    expect(characterClasses('a\n\u3000\n\nb\n')).toEqual(['', 'a', '\u3000', '', 'b', ' '])
  })
})

describe('decodeCtc', () => {
  it('collapses repeats, and keeps a letter doubled across a blank', () => {
    const decoded = decodeCtc(scoresOf([['a', 0.5], ['a', 0.9], ['', 0.9], ['a', 0.75], [' ', 0.5], ['b', 0.25]]), 6, characters)
    expect(decoded.text).toBe('aa b')
    expect(decoded.characters.map(({ character, step }) => [character, step])).toEqual([['a', 0], ['a', 3], [' ', 4], ['b', 5]])
    expect(decoded.meanConfidence).toBe(0.5)
  })

  it('reads nothing from blanks, with an unknown confidence', () => {
    expect(decodeCtc(scoresOf([['', 0.9], ['', 0.9]]), 2, characters)).toEqual({ text: '', characters: [], meanConfidence: null })
  })

  it('refuses scores that do not fit the list', () => {
    expect(() => decodeCtc(new Float32Array(7), 2, characters)).toThrow('expected 2 steps of 4 classes')
  })
})
