import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { MAX_NESTING, parsePbtxt } from './pbtxt-parser.ts'
import { fieldsNamed } from './pbtxt-tree.ts'
import type { PbtxtField, PbtxtMessage, PbtxtValue } from './pbtxt-tree.ts'

function joined(text: string): string {
  return parsePbtxt(text).tree.tokens.map((token) => token.text).join('')
}

function messages(text: string): string[] {
  return parsePbtxt(text).errors.map(({ line, column, message }) => `${line}:${column}: ${message}`)
}

function field(text: string, name: string): PbtxtField {
  const found = fieldsNamed(parsePbtxt(text).tree.root, name)[0]
  if (found === undefined) throw new Error(`no field ${name}`)
  return found
}

/** Does every node lie inside its parent, siblings in order? */
function spansNest(message: PbtxtMessage): boolean {
  let end = message.start
  return message.fields.every((child) => {
    const isInOrder = child.start >= end && child.end >= child.start && child.end <= message.end
    end = child.end
    return isInOrder && child.values.every((value: PbtxtValue) =>
      value.start >= child.start && value.end <= child.end && (value.kind === 'scalar' || spansNest(value)))
  })
}

const SAMPLE = readFileSync(new URL('../../assets/sample-repository/ppocr_rec/config.pbtxt', import.meta.url), 'utf8')

describe('the tree', () => {
  test.each([
    ['', 'nothing'], ['\ufeffname: "x"\r\n', 'byte order mark and CRLF'], ['# only a comment', 'a comment without a line break'], [SAMPLE, 'a real config'],
    ['name: "x" \t\v\f\n\n,; } ] “ \u0000 \u00a0', 'rubbish'], ['\ud800 name', 'half a surrogate pair'],
  ])('gives the text back: %j (%s)', (text) => {
    expect(joined(text)).toBe(text)
  })

  test('accepts a byte order mark and counts columns behind it', () => {
    expect(messages('\ufeffname: "x"')).toEqual([])
    expect(messages('\ufeffname 1')[0]).toBe('1:6: Expected ":", found "1".')
  })

  test('keeps form: list and repeated, colon and none, brackets, separators', () => {
    const list = field('dims_: 1 input: [ { name: "a" }, < name: "b" > ],', 'input')
    expect([list.colon?.text, list.list?.commas.length, list.values.length, list.separator?.text]).toEqual([':', 1, 2, ','])
    expect(list.values.map((value) => (value.kind === 'message' ? value.open?.text : null))).toEqual(['{', '<'])
    const plain = field('input { name: "a" }', 'input')
    expect([plain.colon, plain.list, plain.separator]).toEqual([null, null, null])
  })

  test('spans of nodes hold exactly their text', () => {
    const text = 'name: "a" \'b\' # c\ninput { dims: [ - 1, 2 ] };\n'
    const { root } = parsePbtxt(text).tree
    expect(root.fields.map((child) => text.slice(child.start, child.end))).toEqual(['name: "a" \'b\'', 'input { dims: [ - 1, 2 ] };'])
    const [input] = fieldsNamed(root, 'input')[0]?.values ?? []
    const dims = input?.kind === 'message' ? fieldsNamed(input, 'dims')[0] : undefined
    expect(dims?.values.map((value) => text.slice(value.start, value.end))).toEqual(['- 1', '2'])
    expect(spansNest(root)).toBe(true)
  })

  test('typed values stand in the tree', () => {
    const text = 'model_warmup { count: 0x1F inputs { key: "k" value { zero_data: t dims: [ -9223372036854775808, 017 ] data_type: 11 } } }'
    expect(JSON.stringify(parsePbtxt(text).tree.root, (key, value: unknown) => (key === 'value' && typeof value !== 'object' ? String(value as string) : key === 'schema' || key === 'tokens' ? undefined : value)))
      .toMatch(/"value":"31".*"value":"k".*"value":"true".*"value":"-9223372036854775808".*"value":"15".*"value":"TYPE_FP32"/)
  })
})

describe('positions', () => {
  test('a tab moves to the next multiple of eight, a character counts its UTF-8 bytes', () => {
    expect(messages('\tfoo: 1')).toEqual(['1:12: Message type "inference.ModelConfig" has no field named "foo".'])
    expect(messages('name: "é" foo: 3')[0]).toBe('1:15: Message type "inference.ModelConfig" has no field named "foo".')
  })

  test('offset and length cover what is wrong, in UTF-16 units', () => {
    const text = 'name: "é"\nfoo: 3'
    const [error] = parsePbtxt(text).errors
    expect(text.slice(error?.offset, (error?.offset ?? 0) + (error?.length ?? 0))).toBe('foo')
  })
})

describe('recovery', () => {
  test('an unclosed list ends where the next field begins', () => {
    const text = 'instance_group [ { count: 2 }\nmax_batch_size: 8\noutput [ { name: "o" } ]'
    expect(messages(text)).toEqual(['2:1: Expected ",", found "max_batch_size".'])
    expect(parsePbtxt(text).tree.root.fields.map((child) => child.name)).toEqual(['instance_group', 'max_batch_size', 'output'])
    expect(field(text, 'instance_group').list?.close).toBeNull()
  })

  test('an unclosed message ends where its list is closed', () => {
    const text = 'input [ { name: "a" ]\nmax_batch_size: 8'
    expect(messages(text)).toEqual(['1:21: Expected identifier, got: ]'])
    expect(field(text, 'max_batch_size').values[0]).toMatchObject({ value: 8 })
  })

  test('several errors of one file are all found', () => {
    expect(messages('name: 5\nmax_batch_size: eight\ninput { data_type: FP32 dims: [ 1 2, ] }\nbackend "x"')).toEqual([
      '1:7: Expected string, got: 5',
      '2:17: Expected integer, got: eight',
      '3:25: Unknown enumeration value of "FP32" for field "data_type".',
      '3:35: Expected ",", found "2".',
      '3:38: Expected integer, got: ]',
      '4:9: Expected ":", found ""x"".',
    ])
  })

  test('full-width punctuation is one error each and read as what it stands for', () => {
    const text = 'name： “x”\nbackend: "y"，\ninput [ { name: "a" }， { name: "b" } ］'
    expect(parsePbtxt(text).errors.map((error) => text.slice(error.offset, error.offset + error.length))).toEqual(['：', '“', '，', '，', '］'])
    expect(field(text, 'name').values[0]).toMatchObject({ value: 'x' })
    expect(field(text, 'input').values).toHaveLength(2)
  })

  test('a // comment is one error, whatever it says', () => {
    const text = '// name: "x" { [\nmax_batch_size: 8'
    expect(messages(text)).toEqual(['1:1: Expected identifier, got: /'])
    expect(parsePbtxt(text).tree.root.fields).toHaveLength(1)
  })

  test('a field without a value leaves the next field alone', () => {
    const text = 'backend:\nplatform: "x"'
    expect(messages(text)).toEqual(['2:1: Expected string, got: platform'])
    expect(field(text, 'platform').values[0]).toMatchObject({ value: 'x' })
  })

  test('an unknown field keeps its content as a tree', () => {
    const unknown = field('foo { bar: 1 baz [ { x: 1 }, 3 ] } name: "x"', 'foo')
    expect(unknown.schema).toBeNull()
    expect(unknown.values[0]?.kind === 'message' ? unknown.values[0].fields.map((child) => child.name) : []).toEqual(['bar', 'baz'])
  })

  test('more brackets than allowed is an error of its own', () => {
    const text = `${'foo {'.repeat(MAX_NESTING + 50)}${'}'.repeat(MAX_NESTING + 50)} name: "x"`
    expect(parsePbtxt(text).errors.map((error) => error.code)).toEqual(['unknown-field', 'too-deep'])
    expect(field(text, 'name').values[0]).toMatchObject({ value: 'x' })
  })

  test.each(['a{', 'a[', 'a:[[[', 'input[{', '{', '[', '"', '“', '//', '-', 'name: "\\q', 'foo <'])('30,000 times %j gives errors, not an exception', (part) => {
    expect(parsePbtxt(part.repeat(30_000)).errors.length).toBeGreaterThan(0)
  })
})

test('a file of 100,000 lines is read whole', () => {
  const tensor = (index: number): string => `  {\n    name: "tensor_${index}" # comment\n    data_type: TYPE_FP32\n    dims: [ 1, 2, -1 ]\n  }`
  const text = `input [\n${Array.from({ length: 20_000 }, (_none, index) => tensor(index)).join(',\n')}\n]\n`
  const { tree, errors } = parsePbtxt(text)
  expect([errors.length, tree.root.fields[0]?.values.length]).toEqual([0, 20_000])
})

/** Numerical Recipes' generator: the same mutations on every run. */
function randomNumbers(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

test('no mutation of a config makes it throw, lose text or misplace an error', () => {
  const random = randomNumbers(20_261_129)
  const pieces = ['{', '}', '[', ']', '<', '>', ':', ',', ';', '"', '\'', '-', '.', '#', '//', '\n', '\r\n', '\t', '0x', '1e', 'inf', 'name', 'dims: [', 'input {',
    'parameters', 'value', '：', '“', '”', '\u00a0', '\ufeff', 'é', '😀', '\ud83d', '\\q', '\\u12', '\\', '\u0001', '\u0000', 'KIND_CPU', 'true', '[a.b]', '12345678901234567890']
  for (let round = 0; round < 2_000; round++) {
    let text = SAMPLE
    for (let change = random(6); change >= 0; change--) {
      const at = random(text.length + 1)
      text = text.slice(0, at) + (pieces[random(pieces.length)] ?? '') + text.slice(at + random(4) * random(12))
    }
    const { tree, errors } = parsePbtxt(text)
    expect(tree.tokens.map((token) => token.text).join('')).toBe(text)
    expect(errors.every((error) => error.offset + error.length <= text.length)).toBe(true)
    expect(spansNest(tree.root), text).toBe(true)
  }
}, 60_000)
