import { describe, expect, test } from 'vitest'
import { ServerError } from '../server-error.ts'
import { printModelConfigJson } from './json-config.ts'
import { printModelConfig } from './print-config.ts'
import { emptyModelConfig, readModelConfig } from './read-config.ts'

function read(text: string): ReturnType<typeof readModelConfig> {
  return readModelConfig(text, 'config.pbtxt')
}

describe('readModelConfig', () => {
  test('an empty file is an empty config', () => {
    expect(read('')).toEqual(emptyModelConfig())
    expect(emptyModelConfig()).toMatchObject({ name: '', max_batch_size: 0, input: [], parameters: {}, model_warmup: [] })
    expect(emptyModelConfig()).not.toHaveProperty('dynamic_batching')
  })

  test('repeated forms accumulate', () => {
    expect(read('input { name: "a" } input: [ { name: "b" }, < name: "c" > ] input [ ] input: { name: "d" dims: 1 dims: [ 2, 3 ] }').input.map(({ name, dims }) => [name, dims]))
      .toEqual([['a', []], ['b', []], ['c', []], ['d', [1, 2, 3]]])
  })

  test('of a repeated map key the last one wins; missing keys and values are defaults', () => {
    const { parameters, metric_tags: tags } = read(
      'parameters { key: "a" value { string_value: "1" } } parameters [ { value: { string_value: "2" } key: "a" }, { key: "b" }, { } ] metric_tags { value: "v" }')
    expect(parameters).toEqual({ a: { string_value: '2' }, b: { string_value: '' }, '': { string_value: '' } })
    expect(tags).toEqual({ '': 'v' })
  })

  test('the map key __proto__ is a key like any other', () => {
    const { metric_tags: tags } = read('metric_tags { key: "__proto__" value: "v" }')
    expect(Object.entries(tags)).toEqual([['__proto__', 'v']])
    expect(printModelConfig(read('metric_tags { key: "__proto__" value: "v" }'))).toContain('key: "__proto__"')
  })

  test.each([
    ['t', true], ['True', true], ['true', true], ['1', true], ['f', false], ['False', false], ['false', false], ['0', false],
  ])('boolean %s', (text, value) => {
    expect(read(`input { optional: ${text} }`).input[0]?.optional).toBe(value)
  })

  test.each([
    [String.raw`"abc" 'def'`, 'abcdef'], [String.raw`"\a\b\f\n\r\t\v\\\'\"\?"`, '\u0007\b\f\n\r\t\v\\\'"?'], [String.raw`"\101\60\0"`, 'A0\0'],
    [String.raw`"\x41\x4"`, 'A\u0004'], [String.raw`"\u00e9\u4f60"`, 'é你'], [String.raw`"\U0001F600"`, '😀'], [String.raw`"\ud83d\ude00"`, '😀'],
    [String.raw`"\345\245\275"`, '好'], ['"昇腾"', '昇腾'], [String.raw`'it"s'`, 'it"s'],
  ])('string %s', (literal, value) => {
    expect(read(`name: ${literal}`).name).toBe(value)
  })

  test.each([['1', 1], ['1.5', 1.5], ['.5', 0.5], ['1e-3', 0.001], ['1.5f', 1.5], ['inf', Infinity], ['-Infinity', -Infinity], ['NaN', NaN], ['- 2', -2]])('double %s', (text, value) => {
    expect(read(`model_metrics { metric_control { histogram_options { buckets: ${text} } } }`).model_metrics)
      .toEqual({ metric_control: [{ histogram_options: { buckets: [value] } }] })
  })

  test('a member of a oneof is there when it was written, default or not', () => {
    expect(read('model_warmup { inputs { key: "a" value { zero_data: false } } }').model_warmup)
      .toEqual([{ name: '', batch_size: 0, inputs: { a: { data_type: 'TYPE_INVALID', dims: [], zero_data: false } }, count: 0 }])
  })

  test('an unknown enum number is kept', () => {
    expect(read('instance_group { kind: 9 }').instance_group[0]?.kind).toBe(9)
    expect(read('instance_group { kind: 2 }').instance_group[0]?.kind).toBe('KIND_CPU')
  })

  test('fails with Triton\'s status and the parser\'s line as cause', () => {
    try {
      read('max_batch_size: 8\ndims: 3')
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(ServerError)
      expect(error).toMatchObject({
        kind: 'INTERNAL',
        message: 'failed to read text proto from config.pbtxt',
        cause: { message: 'Error parsing text-format inference.ModelConfig: 2:5: Message type "inference.ModelConfig" has no field named "dims".' },
      })
    }
  })
})

describe('64-bit values beyond 2^53', () => {
  const text = 'input { name: "a" dims: [ 9007199254740993, 4, -9223372036854775808 ] }\n'
    + 'sequence_batching { max_sequence_idle_microseconds: 18446744073709551615 }'

  test('are numbers in the config and keep every digit in print', () => {
    const config = read(text)
    expect(config.input[0]?.dims).toEqual([2 ** 53, 4, -(2 ** 63)])
    expect(printModelConfigJson(config)).toContain('"dims":[9007199254740993,4,-9223372036854775808]')
    expect(printModelConfigJson(config)).toContain('"max_sequence_idle_microseconds":18446744073709551615')
    expect(printModelConfig(config)).toContain('dims: 9007199254740993\n  dims: 4\n  dims: -9223372036854775808\n')
  })

  test('survive a copy of their message, and give way to a new number', () => {
    const config = read(text)
    const copy = { ...config, sequence_batching: { ...config.sequence_batching!, iterative_sequence: true } }
    expect(printModelConfigJson(copy)).toContain('18446744073709551615')
    const changed = { ...config, sequence_batching: { ...config.sequence_batching!, max_sequence_idle_microseconds: 5 } }
    expect(printModelConfigJson(changed)).toContain('"max_sequence_idle_microseconds":5')
  })
})
