import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { ConfigContext } from '../contract/config-language.ts'
import { EMPTY_CONFIG_CONTEXT } from '../contract/config-language.ts'
import { checkConfig } from './check-config.ts'
import { applyEdits } from './config-edit.ts'
import { formatConfig } from './format-config.ts'
import { parsePbtxt } from './pbtxt-parser.ts'
import { randomMessage, randomNumbers, writeRandomly } from './test-random-config.ts'
import { MODEL_CONFIG_SCHEMA } from './config-schema.ts'

/** Applies preferred fixes (or first ones) until nothing is left that one repairs. */
function repaired(text: string, context: ConfigContext, isSyntaxOnly: boolean): string {
  let current = text
  for (let round = 0; round < 12; round++) {
    const errors = checkConfig(current, context, { syntaxOnly: isSyntaxOnly }).filter((diagnostic) => diagnostic.severity === 'error')
    const fixes = errors.flatMap((diagnostic) => diagnostic.fixes)
    const fix = fixes.find((candidate) => candidate.isPreferred) ?? fixes[0]
    if (fix === undefined) return current
    current = applyEdits(current, fix.edits)
  }
  return current
}

describe('wrong snippets in circulation', () => {
  const folder = new URL('fixtures/wrong/', import.meta.url)
  test.each(readdirSync(folder))('%s is readable after its fixes alone', (name) => {
    const text = repaired(readFileSync(new URL(name, folder), 'utf8'), EMPTY_CONFIG_CONTEXT, true)
    expect(parsePbtxt(text).errors).toEqual([])
  })
})

describe('texts that no one would write', () => {
  test('every text with an error of the parser has a finding, and no fix or format fails', () => {
    const random = randomNumbers(3)
    const pieces = ['{', '}', '[', ']', '<', '>', ':', ',', ';', '"', '\'', '“', '”', '：', '，', '\u00a0', '//', '/*', '*/', '#', '\n', ' ', '=', '-', '0x', '08', '1.5', 'true', 'TRUE', 'name',
      'input', 'dims', 'max_batch_size', 'KIND_CPU', '模', '\\', 'maxBatchSize', '[a.b]', '\u0000', '😀']
    for (let round = 0; round < 600; round++) {
      let text = writeRandomly(randomMessage(MODEL_CONFIG_SCHEMA, random), random).slice(0, 400)
      for (let turn = random(4); turn >= 0; turn--) {
        const at = random(text.length + 1)
        text = text.slice(0, at) + (pieces[random(pieces.length)] ?? '') + text.slice(at + random(3))
      }
      const found = checkConfig(text, EMPTY_CONFIG_CONTEXT)
      expect(found.some((diagnostic) => diagnostic.severity === 'error') || parsePbtxt(text).errors.length === 0, text).toBe(true)
      for (const diagnostic of found) {
        expect(diagnostic.offset >= 0 && diagnostic.offset + diagnostic.length <= text.length, `${diagnostic.code}\n${text}`).toBe(true)
        for (const fix of diagnostic.fixes) expect(() => applyEdits(text, fix.edits)).not.toThrow()
      }
      expect(() => formatConfig(text)).not.toThrow()
    }
  }, 60_000)

  test.each([
    'input { name: "a" dims: 0 }\n', 'preferred_batch_size: [ 4 ]\n', 'name: "a"\n', 'nam: "a"\n', 'metric_tags： { key: "a" }\n', 'runtime: "a\n', 'input [ { name: "a" }\n', '}', '// a\n', '/* a\n', '模',
    'name = "x" ', 'name: a-b-c ', 'runtime: "x” ', 'instance_group { kind: KIND_NPU }\n', 'a [ ', 'dynamic_batching { } sequence_batching { }\n',
  ])('10,000 times %j is checked and formatted', (piece) => {
    const text = piece.repeat(10_000)
    expect(checkConfig(text, EMPTY_CONFIG_CONTEXT).length).toBeGreaterThan(0)
    expect(() => formatConfig(text)).not.toThrow()
  }, 60_000)
})
