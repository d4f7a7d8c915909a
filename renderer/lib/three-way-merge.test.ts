import { describe, expect, it } from 'vitest'
import { diffLines, splitLines } from './line-diff.ts'
import { mergedText, mergeTexts } from './three-way-merge.ts'

/** A small seeded generator, so that a failure can be repeated. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function mutate(text: string, random: (below: number) => number): string {
  const lines = splitLines(text)
  for (let count = random(4); count > 0; count--) lines.splice(random(lines.length + 1), random(3), ...Array.from({ length: random(3) }, () => `${'abc'[random(3)] ?? ''}\n`))
  return lines.join('')
}

describe('line difference', () => {
  it('leads from one text to the other, through the least number of lines', () => {
    const random = randomNumbers(7)
    for (let round = 0; round < 500; round++) {
      const a = splitLines(mutate('a\nb\nc\na\nb\nc\n', random))
      const b = splitLines(mutate(a.join(''), random))
      const rebuilt: string[] = []
      let at = 0
      for (const change of diffLines(a, b)) {
        rebuilt.push(...a.slice(at, change.aStart), ...b.slice(change.bStart, change.bEnd))
        at = change.aEnd
      }
      expect([...rebuilt, ...a.slice(at)]).toEqual(b)
    }
  })

  it('finds single lines', () => {
    expect(diffLines(['a', 'b', 'c', 'd'], ['a', 'x', 'c', 'y', 'd'])).toEqual([{ aStart: 1, aEnd: 2, bStart: 1, bEnd: 2 }, { aStart: 3, aEnd: 3, bStart: 3, bEnd: 4 }])
    expect(diffLines([], ['a'])).toEqual([{ aStart: 0, aEnd: 0, bStart: 0, bEnd: 1 }])
    expect(diffLines(['a'], ['a'])).toEqual([])
  })

  it('answers soon for texts that share nothing', () => {
    const lines = (prefix: string) => Array.from({ length: 20_000 }, (_, index) => `${prefix}${index}`)
    expect(diffLines(lines('a'), lines('b'))).toEqual([{ aStart: 0, aEnd: 20_000, bStart: 0, bEnd: 20_000 }])
  })
})

describe('three-way merge', () => {
  it('takes what only one side changed', () => {
    const chunks = mergeTexts('a\nb\nc\nd\ne\n', 'A\nb\nc\nd\ne\n', 'a\nb\nc\nd\nE\n')
    expect(chunks.map((chunk) => chunk.kind)).toEqual(['theirs', 'unchanged', 'mine'])
    expect(mergedText(chunks, {})).toBe('A\nb\nc\nd\nE\n')
  })

  it('asks where both changed the same lines, and lets each answer win', () => {
    const chunks = mergeTexts('a\nb\nc\n', 'a\nT\nc\n', 'a\nM\nc\n')
    expect(chunks.map((chunk) => chunk.kind)).toEqual(['unchanged', 'conflict', 'unchanged'])
    expect(mergedText(chunks, { 1: 'theirs' })).toBe('a\nT\nc\n')
    expect(mergedText(chunks, { 1: 'theirsThenMine' })).toBe('a\nT\nM\nc\n')
    expect(mergedText(chunks, {})).toBe('a\nM\nc\n')
  })

  it('asks once for changes that touch, and not for the same change', () => {
    expect(mergeTexts('a\nb\nc\n', 'x\nb\nc\n', 'a\ny\nc\n').map((chunk) => chunk.kind)).toEqual(['conflict', 'unchanged'])
    expect(mergeTexts('a\nb\n', 'a\nB\n', 'a\nB\n').map((chunk) => chunk.kind)).toEqual(['unchanged', 'both'])
    expect(mergeTexts('', 'a\n', 'b\n').map((chunk) => chunk.kind)).toEqual(['conflict'])
  })

  it('keeps every line of every side, whatever they did', () => {
    const random = randomNumbers(11)
    for (let round = 0; round < 500; round++) {
      const base = mutate('a\nb\nc\nd\ne\nf\n', random)
      const [theirs, mine] = [mutate(base, random), mutate(base, random)]
      const chunks = mergeTexts(base, theirs, mine)
      for (const [side, text] of [['base', base], ['theirs', theirs], ['mine', mine]] as const) expect(chunks.map((chunk) => chunk[side]).join('')).toBe(text)
      expect(mergedText(mergeTexts(base, base, mine), {})).toBe(mine)
      expect(mergedText(mergeTexts(base, theirs, base), {})).toBe(theirs)
    }
  })
})
