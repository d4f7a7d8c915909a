import { describe, expect, it } from 'vitest'
import type { ConfigContext } from '../../../server-core/contract/config-language.ts'
import { EMPTY_CONFIG_CONTEXT } from '../../../server-core/contract/config-language.ts'
import { parsePbtxt } from '../../../server-core/model-config/pbtxt-parser.ts'
import { completionsAt } from './completion.ts'
import { positionInConfig } from './position-in-config.ts'

const context: ConfigContext = {
  ...EMPTY_CONFIG_CONTEXT, modelName: 'clip', backends: ['onnxruntime'],
  versions: [{ version: 1, files: ['model.onnx'], signature: { inputs: [{ name: 'pixels', datatype: 'FP32', shape: ['batch', 3, 224, 224] }], outputs: [{ name: 'features', datatype: 'FP16', shape: ['batch', 512] }] } }],
}

/** Completions where `|` stands in the text. */
function at(marked: string) {
  const offset = marked.indexOf('|')
  const text = marked.replace('|', '')
  const completion = completionsAt(parsePbtxt(text).tree, offset, context)
  return { ...completion, labels: completion.entries.map((entry) => entry.label), replaced: text.slice(completion.start, completion.end), snippetOf: (label: string) => completion.entries.find((entry) => entry.label === label)?.snippet }
}

describe('completion', () => {
  it('offers the fields of the message, without those that are written', () => {
    expect(at('name: "a"\n|').labels).toContain('max_batch_size')
    expect(at('name: "a"\n|').labels).not.toContain('name')
    expect(at('dynamic_batching { | }').labels).toEqual(['preferred_batch_size', 'max_queue_delay_microseconds', 'preserve_ordering', 'priority_levels', 'default_priority_level', 'default_queue_policy', 'priority_queue_policy'])
    expect(at('input [ { name: "x" | } ]').labels).toContain('dims')
  })

  it('leaves out the other members of a oneof', () => {
    expect(at('dynamic_batching { }\n|').labels).not.toContain('sequence_batching')
    expect(at('|').labels).toContain('sequence_batching')
  })

  it('replaces the word under the cursor, and keeps what follows a name', () => {
    expect(at('max_b|').replaced).toBe('max_b')
    expect(at('max_b|').snippetOf('max_batch_size')).toBe('max_batch_size: $0')
    expect(at('max_b|: 8').snippetOf('max_batch_size')).toBe('max_batch_size')
    expect(at('|').snippetOf('parameters')).toBe('parameters {\n  key: "$1"\n  value { string_value: "$2" }\n}')
  })

  it('offers enum values and booleans, the type of the model file first', () => {
    const types = at('input [ { name: "pixels" data_type: TY| } ]')
    expect(types.replaced).toBe('TY')
    expect(types.entries.find((entry) => entry.isLikely)?.label).toBe('TYPE_FP32')
    expect(types.labels).not.toContain('TYPE_INVALID')
    expect(at('response_cache { enable: | }').labels).toEqual(['true', 'false'])
    expect(at('instance_group [ { kind: | } ]').labels).toContain('KIND_CPU')
  })

  it('offers tensor names, in quotes where there are none', () => {
    expect(at('input [ { name: | } ]').snippetOf('pixels')).toBe('"pixels"')
    const quoted = at('output [ { name: "fea|" } ]')
    expect([quoted.labels, quoted.replaced]).toEqual([['features'], '"fea"'])
    expect(at('input [ { name: "pixels" dims: | } ]').labels).toEqual(['[ -1, 3, 224, 224 ]', '[ 3, 224, 224 ]'])
  })

  it('offers the parameters of the backend and their values', () => {
    expect(at('backend: "npu_ge"\nparameters { key: "|" }').labels).toContain('device_ids')
    expect(at('backend: "onnxruntime"\nparameters { key: "|" }').labels).not.toContain('device_ids')
    expect(at('backend: "npu_ge"\nparameters { key: "static_model" value { string_value: "|" } }').labels).toEqual(['0', '1'])
  })

  it('stays silent in comments and behind a finished string', () => {
    expect(at('# max_|').labels).toEqual([])
    expect(at('name: "a"|').labels).toEqual([])
  })
})

describe('position in a config', () => {
  const pathAt = (marked: string) => positionInConfig(parsePbtxt(marked.replace('|', '')).tree, marked.indexOf('|')).path

  it('counts elements through every place a field is written, and names map entries by key', () => {
    expect(pathAt('input { name: "a" }\ninput [ { name: "b" }, { na|me: "c" } ]')).toEqual(['input', 2, 'name'])
    expect(pathAt('parameters { key: "k" value { string_value: "|v" } }')).toEqual(['parameters', { key: 'k' }, 'value', 'string_value'])
    expect(pathAt('input [ { dims: [ 3, 2|24 ] } ]')).toEqual(['input', 0, 'dims', 1])
  })
})
