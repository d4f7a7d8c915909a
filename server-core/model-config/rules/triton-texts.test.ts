import { describe, expect, test } from 'vitest'
import type { ConfigContext, ConfigDiagnostic } from '../../contract/config-language.ts'
import { EMPTY_CONFIG_CONTEXT } from '../../contract/config-language.ts'
import { ALL_RULES, checkConfig } from '../check-config.ts'
import { applyEdits } from '../config-edit.ts'
import { ADVICE } from './triton-advice.ts'
import { GRAMMAR_RULES } from './grammar-rules.ts'
import { SCHEMA_RULES } from './schema-rules.ts'
import { GRAMMAR_TEXTS, TEXTS_OF_JUDGEMENT, UNREACHABLE_TEXTS, VALIDATION_TEXTS } from './triton-texts.fixture.ts'
import type { TritonText } from './triton-texts.fixture.ts'

const CONTEXT: ConfigContext = { ...EMPTY_CONFIG_CONTEXT, modelName: 'm', files: { 'initial_state/short.bin': 4 } }

function check({ config }: Pick<TritonText, 'config'>, isSyntax: boolean): readonly ConfigDiagnostic[] {
  return checkConfig(config, CONTEXT, { syntaxOnly: isSyntax })
}

function firstFix(found: ConfigDiagnostic | undefined): ConfigDiagnostic['fixes'][number] | undefined {
  return found?.fixes.find((fix) => fix.isPreferred) ?? found?.fixes[0]
}

describe.each([['grammar and schema', GRAMMAR_TEXTS, true], ['validation', VALIDATION_TEXTS, false]] as const)('%s', (_name, rows, isSyntax) => {
  test.each(rows)('$code: $text', (row) => {
    const found = check(row, isSyntax).filter((diagnostic) => diagnostic.code === row.code && (diagnostic.serverText ?? '').endsWith(row.text))
    expect(found.map((diagnostic) => diagnostic.code), JSON.stringify(check(row, isSyntax), null, 1)).toContain(row.code)
    const [diagnostic] = found
    expect(diagnostic?.severity).toBe('error')
    expect(diagnostic?.message.en).not.toMatch(/\{\w+\}/)
    expect(diagnostic?.message['zh-CN']).not.toMatch(/\{\w+\}/)
    expect(diagnostic?.message['zh-CN']).toMatch(/[\u4e00-\u9fff]/)
    const fix = firstFix(diagnostic)
    expect(fix === undefined ? null : applyEdits(row.config, fix.edits)).toBe(row.repaired)
    if (row.repaired !== null) {
      const left = check({ config: row.repaired }, isSyntax).filter((other) => other.code === row.code && other.serverText === diagnostic?.serverText)
      expect(left).toEqual([])
    }
  })
})

describe('every rule', () => {
  const codes = new Set([...GRAMMAR_TEXTS, ...VALIDATION_TEXTS].map((row) => row.code))
  const unreachable = ['name-missing', 'version-policy-missing', 'unknown-gpu']
  const apart = ['byte-order-mark', 'too-deep']

  test('of grammar and schema has a text', () => {
    const all = [...GRAMMAR_RULES, ...SCHEMA_RULES].flatMap((rule) => [...rule.codes])
    expect([...new Set(all)].filter((code) => !codes.has(code) && !apart.includes(code))).toEqual([])
  })

  test('of validation has a text, or cannot be reached by a file', () => {
    expect(Object.keys(ADVICE).filter((code) => !codes.has(code) && !unreachable.includes(code))).toEqual([])
  })

  test('that judges says the texts left to it', () => {
    const judged = new Set(ALL_RULES.flatMap((rule) => [...rule.codes]))
    expect(TEXTS_OF_JUDGEMENT.filter(([code]) => !judged.has(code))).toEqual([])
    expect(UNREACHABLE_TEXTS.every(([, why]) => why !== '')).toBe(true)
  })
})

const CLEAN: readonly string[] = [
  '', '# only a comment\n', 'backend: "onnxruntime"\n', 'backend: "python" max_batch_size: 0x10, runtime: \'a\' "b";',
  'backend: "c"\ninput [ { name: "x" data_type: TYPE_FP32 dims: [ -1, 3 ] }, { name: "y" data_type: 13 dims: 1 dims: 2 } ]\n',
  'backend: "c" max_batch_size: 8 dynamic_batching < preferred_batch_size: 4 > # done',
  'backend: "c" parameters: [ {key: "a", value: {string_value: "，：“”"}} ]',
  'backend: "c"\r\nresponse_cache: { enable: t }\r\n',
]

test.each(CLEAN)('finds no error in %j', (text) => {
  expect(checkConfig(text, EMPTY_CONFIG_CONTEXT).filter((diagnostic) => diagnostic.severity === 'error')).toEqual([])
})

test('a byte order mark is accepted with a warning, and removed by its fix', () => {
  const [found] = checkConfig('\ufeffname: "m"\n', EMPTY_CONFIG_CONTEXT, { syntaxOnly: true })
  expect(found).toMatchObject({ code: 'byte-order-mark', severity: 'warning', line: 1, column: 1 })
  expect(applyEdits('\ufeffname: "m"\n', firstFix(found)?.edits ?? [])).toBe('name: "m"\n')
})

test('nesting beyond 100 is an error of its own', () => {
  const found = checkConfig('a { '.repeat(5_000), EMPTY_CONFIG_CONTEXT, { syntaxOnly: true })
  expect(found.map((diagnostic) => diagnostic.code)).toContain('too-deep')
})

test('one fix replaces all full-width characters of the file', () => {
  const text = 'name： “模型”，max_batch_size：８\n'
  const all = checkConfig(text, EMPTY_CONFIG_CONTEXT)[0]?.fixes.find((fix) => fix.title.en.startsWith('Replace all'))
  expect(applyEdits(text, all?.edits ?? [])).toBe('name: "模型",max_batch_size:8\n')
})

test('lines and columns count from 1, in UTF-16 units', () => {
  const [found] = checkConfig('name: "😀" bogus: 1\n', EMPTY_CONFIG_CONTEXT)
  expect(found).toMatchObject({ line: 1, column: 12, endLine: 1, endColumn: 17, offset: 11, length: 5 })
})
