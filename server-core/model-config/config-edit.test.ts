import { describe, expect, test } from 'vitest'
import type { TextEdit } from '../contract/config-language.ts'
import { applyEdits, findField, insertItem, removeField, removeItem, removeMapEntry, renameMapKey, setField, setMapEntry } from './config-edit.ts'
import { formatConfig } from './format-config.ts'
import { parsePbtxt } from './pbtxt-parser.ts'
import type { PbtxtTree } from './pbtxt-tree.ts'

type Edit = (tree: PbtxtTree) => TextEdit[]

function edited(text: string, edit: Edit): string {
  return applyEdits(text, edit(parsePbtxt(text).tree))
}

const CASES: readonly (readonly [what: string, before: string, edit: Edit, after: string])[] = [
  ['keeps quotes, colon and comment of a string', 'name : \'a\' # the name\n', (tree) => setField(tree, ['name'], 'b'), 'name : \'b\' # the name\n'],
  ['adds a field behind the one declared before it', '# licence\nname: "m"\nmax_batch_size: 8\n', (tree) => setField(tree, ['backend'], 'python'), '# licence\nname: "m"\nbackend: "python"\nmax_batch_size: 8\n'],
  ['writes a message as the file writes others', 'input: { name: "x" }\n', (tree) => setField(tree, ['dynamic_batching', 'preserve_ordering'], true), 'input: { name: "x" }\ndynamic_batching: { preserve_ordering: true }\n'],
  ['keeps Windows line ends and the byte order mark', '\ufeffname: "m"\r\n', (tree) => setField(tree, ['max_batch_size'], 8), '\ufeffname: "m"\r\nmax_batch_size: 8\r\n'],
  ['changes one number of a list', 'input {\n  dims: [1, 2, # two\n    3]\n}\n', (tree) => setField(tree, ['input', 0, 'dims', 1], 7), 'input {\n  dims: [1, 7, # two\n    3]\n}\n'],
  ['keeps repeated form', 'input {\n\tdims: 1\n\tdims: 2\n}\n', (tree) => insertItem(tree, ['input', 0, 'dims'], 2, 3), 'input {\n\tdims: 1\n\tdims: 2\n\tdims: 3\n}\n'],
  ['keeps list form, with its comment', 'input [\n  { name: "A" } # first\n]\n', (tree) => insertItem(tree, ['input'], 1, { name: 'B' }), 'input [\n  { name: "A" }, # first\n  { name: "B" }\n]\n'],
  ['removes a list item with its comma', 'input [\n  { name: "A" },\n  { name: "B" }\n]\n', (tree) => removeItem(tree, ['input'], 1), 'input [\n  { name: "A" }\n]\n'],
  ['removes the list with its last item', 'name: "m"\ninput [ { name: "A" } ]\n', (tree) => removeItem(tree, ['input'], 0), 'name: "m"\n'],
  ['keeps the comment behind a removed field', 'name: "m" # why\nbackend: "b"\n', (tree) => removeField(tree, ['name']), '# why\nbackend: "b"\n'],
  ['sets a map entry in place', 'parameters: { key: "k", value: { string_value: "1" } }\n', (tree) => setMapEntry(tree, ['parameters'], 'k', { string_value: '2' }), 'parameters: { key: "k", value: { string_value: "2" } }\n'],
  ['adds a map entry like its neighbour', 'parameters { key: "a" value { string_value: "1" } }\n', (tree) => setMapEntry(tree, ['parameters'], 'b', { string_value: '2' }),
    'parameters { key: "a" value { string_value: "1" } }\nparameters { key: "b" value { string_value: "2" } }\n'],
  ['removes every entry of a key', 'metric_tags { key: "a" value: "1" }\nmetric_tags { key: "a" value: "2" }\n', (tree) => removeMapEntry(tree, ['metric_tags'], 'a'), ''],
  ['renames a key', 'metric_tags { key: "a" value: "1" }\n', (tree) => renameMapKey(tree, ['metric_tags'], 'a', 'b'), 'metric_tags { key: "b" value: "1" }\n'],
  ['puts out the other member of a oneof', 'dynamic_batching { }\n', (tree) => setField(tree, ['sequence_batching', 'direct'], {}), 'sequence_batching {\n  direct { }\n}\n'],
  ['fills an empty block', 'dynamic_batching { }\n', (tree) => setField(tree, ['dynamic_batching', 'preferred_batch_size'], [4]), 'dynamic_batching { preferred_batch_size: [ 4 ] }\n'],
  ['builds what is missing on the way', '', (tree) => setField(tree, ['parameters', { key: 'k' }, 'value', 'string_value'], 'v'), 'parameters {\n  key: "k"\n  value { string_value: "v" }\n}\n'],
  ['writes exact 64-bit integers', '', (tree) => setField(tree, ['dynamic_batching', 'max_queue_delay_microseconds'], 18446744073709551615n), 'dynamic_batching { max_queue_delay_microseconds: 18446744073709551615 }\n'],
]

describe('an edit', () => {
  test.each(CASES)('%s', (_what, before, edit, after) => {
    expect(edited(before, edit)).toBe(after)
  })

  test('of what is there already is none', () => {
    const { tree } = parsePbtxt('max_batch_size: 0x8 response_cache { enable: True } instance_group { kind: 2 }')
    expect([setField(tree, ['max_batch_size'], 8), setField(tree, ['response_cache', 'enable'], true), setField(tree, ['instance_group', 0, 'kind'], 'KIND_CPU')]).toEqual([[], [], []])
  })

  test('of an unknown field is refused', () => {
    expect(() => setField(parsePbtxt('').tree, ['nothing'], 1)).toThrow(TypeError)
    expect(() => setField(parsePbtxt('').tree, ['input', 0], { nothing: 1 })).toThrow(TypeError)
  })

  test('finds fields, items and entries', () => {
    const text = 'name: "m"\ninput [ { name: "A" } ]\nparameters { key: "k" value { } }\n'
    const { tree } = parsePbtxt(text)
    const found = [['name'], ['input', 0], ['input', 0, 'name'], ['parameters', { key: 'k' }], ['input', 1]].map((path) => findField(tree, path))
    expect(found.map((span) => (span === null ? null : text.slice(span.start, span.end)))).toEqual(['name: "m"', '{ name: "A" }', 'name: "A"', 'parameters { key: "k" value { } }', null])
  })
})

describe('formatting', () => {
  test.each([
    ['name:"m",max_batch_size :8\n', 'name: "m", max_batch_size: 8\n'],
    ['input[{\nname:"A"\n  dims:[1,2 ,-1]},\n{name:"B"}]', 'input [ {\n  name: "A"\n  dims: [ 1, 2, -1 ] },\n  { name: "B" } ]\n'],
    ['input {\n# about\n      name: "A"   # here\n}\n\n\n\nbackend: "b"  \n\n', 'input {\n  # about\n  name: "A"   # here\n}\n\nbackend: "b"\n'],
    ['a {\r\nb: 1\r\n}', 'a {\r\n  b: 1\r\n}\r\n'],
    ['', ''],
  ])('%j', (before, after) => {
    expect(applyEdits(before, formatConfig(before))).toBe(after)
  })
})
