import { readFileSync, readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { EMPTY_CONFIG_CONTEXT } from '../contract/config-language.ts'
import { applyPreferredFixes } from './apply-fixes.ts'
import { parsePbtxt } from './pbtxt-parser.ts'

describe('applying every fix that needs no decision', () => {
  it('repairs one problem after another, and nothing else', () => {
    const { text, diagnostics, applied } = applyPreferredFixes('max_batch_size： 8 # 批次\ndynamic_batching { preferred_batch_size: [ 8, 4, ] }\nbackend: "identity"\n', EMPTY_CONFIG_CONTEXT)
    expect(text).toBe('max_batch_size: 8 # 批次\ndynamic_batching { preferred_batch_size: [ 4, 8 ] }\nbackend: "identity"\n')
    expect(diagnostics).toEqual([])
    expect(applied).toBe(3)
  })

  it('leaves a clean config alone', () => {
    expect(applyPreferredFixes('backend: "identity"', EMPTY_CONFIG_CONTEXT)).toEqual({ text: 'backend: "identity"', diagnostics: [], applied: 0 })
  })

  it('makes every wrong snippet readable', () => {
    const directory = new URL('fixtures/wrong/', import.meta.url)
    for (const name of readdirSync(directory)) {
      const { text } = applyPreferredFixes(readFileSync(new URL(name, directory), 'utf8'), EMPTY_CONFIG_CONTEXT)
      expect(parsePbtxt(text).errors, name).toEqual([])
    }
  })
})
