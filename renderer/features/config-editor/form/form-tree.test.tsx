import { describe, expect, it } from 'vitest'
import { MODEL_CONFIG_SCHEMA } from '../../../../server-core/model-config/config-schema.ts'
import type { FieldSchema, MessageSchema } from '../../../../server-core/model-config/config-schema.ts'
import { parsePbtxt } from '../../../../server-core/model-config/pbtxt-parser.ts'
import { countAt, locksOf, mapEntries, meaningOf, numbersAt, parameterAt, pathAt, pathKey, schemaAt, textAt, unknownFields, valueAt } from './form-tree.ts'
import { valuesAtPath } from './field-state.ts'
import { controlKind, FIRST_SECTIONS, GENERATED_SECTIONS } from './control-kind.ts'

const tree = (text: string) => parsePbtxt(text).tree

describe('reading along a path', () => {
  const written = tree('input { name: "a" dims: 1 dims: [ 2, 3 ] }\ninput [ { name: "b" } ]\nparameters { key: "k" value { string_value: "v" } }')

  it('counts items however they are written', () => {
    expect(countAt(written, ['input'])).toBe(2)
    expect(textAt(written, ['input', 1, 'name'])).toBe('b')
    expect(numbersAt(written, ['input', 0, 'dims'])).toEqual([1, 2, 3])
    expect(valueAt(written, ['input', 2])).toBeNull()
  })

  it('finds entries of maps by key, the last where it is repeated', () => {
    expect(parameterAt(written, 'k')).toBe('v')
    expect(parameterAt(written, 'other')).toBeNull()
    const twice = tree('parameters { key: "k" value { string_value: "1" } } parameters { key: "k" value { string_value: "2" } }')
    expect(parameterAt(twice, 'k')).toBe('2')
    expect(mapEntries(twice.root, 'parameters')).toHaveLength(2)
  })

  it('goes through the fields of a file a few times, however many parameters it has', () => {
    const { root, ...rest } = tree(Array.from({ length: 300 }, (_none, index) => `parameters { key: "k${index}" value { string_value: "v" } }`).join('\n'))
    let looks = 0
    const counted = { ...rest, root: new Proxy(root, { get: (message, name): unknown => { if (name === 'fields') looks++; return Reflect.get(message, name) } }) }
    expect(unknownFields(counted)).toEqual([])
    expect(locksOf(counted, [])).toEqual([])
    for (let index = 0; index < 300; index++) expect(parameterAt(counted, `k${index}`)).toBe('v')
    expect(looks).toBeLessThan(10)
  })

  it('names the deepest field at an offset', () => {
    const at = (word: string) => pathKey(pathAt(written, written.text.indexOf(word)))
    expect(at('"b"')).toBe('input.1.name')
    expect(at('3 ]')).toBe('input.0.dims.2')
    expect(at('"v"')).toBe('parameters.{k}.value.string_value')
    expect(at('input [')).toBe('input')
    expect(at('parameters {')).toBe('parameters.{k}')
    expect(pathKey(pathAt(written, 0))).toBe('input.0')
  })

  it('compares meanings, not styles', () => {
    const meaning = (text: string) => meaningOf(valuesAtPath(tree(text), ['input']))
    expect(meaning('input [ { name: "a", dims: [ 1, 2 ] } ]')).toBe(meaning('input { dims: 1 dims: 2 name: \'a\' } # same'))
    expect(meaning('input { dims: [ 1, 2 ] }')).not.toBe(meaning('input { dims: [ 2, 1 ] }'))
  })
})

describe('locks', () => {
  const locks = (text: string) => {
    const { tree: parsed, errors } = parsePbtxt(text)
    return locksOf(parsed, errors).map(({ path }) => pathKey(path))
  }

  it('lock the field that cannot be read, and no other', () => {
    expect(locks('max_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 4, x ] }')).toEqual(['dynamic_batching.preferred_batch_size.1'])
    expect(locks('max_batch_size: 8')).toEqual([])
  })

  it('lock a message whose bracket is never closed', () => {
    expect(locks('name: "m"\ninstance_group [ { count: 1 }')).toEqual(['instance_group'])
    expect(locks('dynamic_batching { preferred_batch_size: [ 4 ]\n')).toEqual(['dynamic_batching'])
    expect(locks('input [ { name: "a" }\noutput [ { name: "b" } ]\nmax_batch_size: 8')).toEqual(['input'])
    expect(locks('input [ { name: "a" dims: [ 3 \n } ]\nmax_batch_size: 8')).toEqual(['input.0.dims'])
  })

  it('leave the fields around an unknown one free and list it', () => {
    const text = 'optimization { foo: 1 graph { level: 2 } }\nbar { x: 1 }'
    expect(locks(text)).toEqual([])
    expect(unknownFields(tree(text)).map(({ path }) => pathKey(path))).toEqual(['optimization.foo', 'bar'])
  })
})

describe('controls', () => {
  function walk(schema: MessageSchema, path: readonly string[], visit: (field: FieldSchema, path: readonly string[]) => void): void {
    for (const field of schema.fields) {
      visit(field, [...path, field.name])
      if (field.type.kind === 'message') walk(field.type.message, [...path, field.name], visit)
    }
  }

  it('are typed for every field of the schema', () => {
    const kinds = new Map<string, number>()
    walk(MODEL_CONFIG_SCHEMA, [], (field) => kinds.set(controlKind(field), (kinds.get(controlKind(field)) ?? 0) + 1))
    expect([...kinds.keys()].toSorted()).toEqual(['boolean-list', 'choice', 'group', 'group-list', 'message-map', 'number', 'number-list', 'switch', 'text', 'text-list', 'text-map'])
    expect([...kinds.values()].reduce((sum, count) => sum + count)).toBeGreaterThan(150)
  })

  it('stand in exactly one section', () => {
    const names: readonly string[] = [...FIRST_SECTIONS, ...GENERATED_SECTIONS].flatMap(({ fields }): readonly string[] => fields)
    expect([...names, 'parameters'].toSorted()).toEqual(MODEL_CONFIG_SCHEMA.fields.map(({ name }) => name).toSorted())
  })

  it('know the schema of a path through lists and maps', () => {
    expect(schemaAt(['model_warmup', 0, 'inputs', { key: 'x' }, 'value', 'dims'])?.name).toBe('dims')
    expect(schemaAt(['dynamic_batching', 'max_batch_size'])).toBeNull()
  })
})
