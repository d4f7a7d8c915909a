import { describe, expect, test } from 'vitest'
import { modelConfigToJson, printModelConfigJson, readModelConfigJson } from './json-config.ts'
import { normalizeInstanceGroups, normalizeModelConfig } from './normalize.ts'
import { inferBackend } from './infer-backend.ts'
import { emptyModelConfig, readModelConfig } from './read-config.ts'

describe('readModelConfigJson', () => {
  test.each([
    ['snake_case', '{"max_batch_size": 4}', { max_batch_size: 4 }],
    ['lowerCamelCase', '{"maxBatchSize": 4, "versionPolicy": {"latest": {"numVersions": 2}}}', { max_batch_size: 4, version_policy: { latest: { num_versions: 2 } } }],
    ['a 64-bit integer as string', '{"version_policy": {"specific": {"versions": ["1", 2]}}}', { version_policy: { specific: { versions: [1, 2] } } }],
    ['an enum by name in any case', '{"instance_group": [{"kind": "kind_cpu"}]}', { instance_group: [{ kind: 'KIND_CPU' }] }],
    ['an enum by number', '{"instance_group": [{"kind": 2}]}', { instance_group: [{ kind: 'KIND_CPU' }] }],
    ['an unknown enum number', '{"instance_group": [{"kind": 9}]}', { instance_group: [{ kind: 9 }] }],
    ['single quotes', '{\'name\': \'it is "x"\'}', { name: 'it is "x"' }],
    ['a trailing comma', '{"name": "x", "input": [{"dims": [1, 2,],},],}', { name: 'x', input: [{ dims: [1, 2] }] }],
    ['4.0 for an integer', '{"max_batch_size": 4.0}', { max_batch_size: 4 }],
    ['null for not set', '{"max_batch_size": null, "dynamic_batching": null, "input": null}', { max_batch_size: 0, input: [] }],
    ['maps', '{"parameters": {"a": {"string_value": "1"}}, "metric_tags": {"k": "v"}}', { parameters: { a: { string_value: '1' } }, metric_tags: { k: 'v' } }],
    ['escapes', String.raw`{"name": "\u6607\n\/\ud83d\ude00"}`, { name: '昇\n/😀' }],
    ['white space', ' \n{ } \t', {}],
  ])('accepts %s', (_what, json, expected) => {
    expect(readModelConfigJson(json)).toMatchObject(expected)
  })

  test('null leaves a message unset', () => {
    expect(readModelConfigJson('{"dynamic_batching": null}')).toEqual(emptyModelConfig())
  })

  test.each([
    ['{"maxx": 1}', 'maxx: Cannot find field.'],
    ['{"input": [{"maxx": 1}]}', '(input[0]) maxx: Cannot find field.'],
    ['{"max_batch_size": 4.5}', '(max_batch_size): invalid value 4.5 for type TYPE_INT32'],
    ['{"max_batch_size": "x"}', '(max_batch_size): invalid value "x" for type TYPE_INT32'],
    ['{"max_batch_size": 3000000000}', '(max_batch_size): invalid value 3000000000 for type TYPE_INT32'],
    ['{"max_batch_size": true}', '(max_batch_size): invalid value true for type TYPE_INT32'],
    ['{"name": 5}', '(name): invalid value 5 for type TYPE_STRING'],
    ['{"input": [{"optional": 1}]}', '(input[0].optional): invalid value 1 for type TYPE_BOOL'],
    ['{"input": [{"dims": [1, "a"]}]}', '(input[0].dims[1]): invalid value "a" for type TYPE_INT64'],
    ['{"instance_group": [{"kind": "KIND_NPU"}]}', '(instance_group[0].kind): invalid value "KIND_NPU" for type TYPE_ENUM'],
    ['{"dynamic_batching": {}, "sequence_batching": {}}', ': invalid value oneof field \'scheduling_choice\' is already set. Cannot set \'sequence_batching\' for type oneof'],
    ['[]', ': invalid value a list for type inference.ModelConfig'],
    ['', 'Expected a value. (line 1, column 1)'],
    ['{"name": "x"', 'Expected , or } after key:value pair. (line 1, column 13)'],
    ['{"name" "x"}', 'Expected : between key:value pair. (line 1, column 9)'],
    ['{"name": "x"} 1', 'Parsing terminated before end of input. (line 1, column 15)'],
    ['{"name": "x', 'Closing quote expected in string. (line 1, column 12)'],
    ['{ // comment\n"name": "x"}', 'Expected an object key or }. (line 1, column 3)'],
    ['{"name": /* c */ "x"}', 'Expected a value. (line 1, column 10)'],
    ['{"a": '.repeat(200), 'Message too deep. Max recursion depth reached. (line 1, column 607)'],
  ])('refuses %s', (json, message) => {
    expect(() => readModelConfigJson(json)).toThrow(expect.objectContaining({ kind: 'INVALID_ARG', message: `Invalid config override: ${message}` }) as Error)
  })

  test('what /config prints can be sent back', () => {
    const config = readModelConfig('name: "m" max_batch_size: 8 input [ { name: "A" data_type: TYPE_FP32 dims: [ 3 ] } ] dynamic_batching { }', '')
    expect(readModelConfigJson(printModelConfigJson(config))).toEqual(config)
    expect(readModelConfigJson(JSON.stringify(modelConfigToJson(config)))).toEqual(config)
  })
})

describe('printModelConfigJson', () => {
  test('is Triton\'s document, byte for byte', () => {
    const read = readModelConfig('input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ] output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]', '')
    const config = normalizeInstanceGroups(normalizeModelConfig(inferBackend(read, 'add_sub', [{ name: 'model.py', isDirectory: false }])), { gpuCount: 0 })
    expect(printModelConfigJson(config)).toBe('{"name":"add_sub","platform":"","backend":"python","runtime":"","version_policy":{"latest":{"num_versions":1}},"max_batch_size":0,'
      + '"input":[{"name":"INPUT0","data_type":"TYPE_FP32","format":"FORMAT_NONE","dims":[4],"is_shape_tensor":false,"allow_ragged_batch":false,'
      + '"optional":false,"is_non_linear_format_io":false}],"output":[{"name":"OUTPUT0","data_type":"TYPE_FP32","dims":[4],"label_filename":"",'
      + '"is_shape_tensor":false,"is_non_linear_format_io":false}],"batch_input":[],"batch_output":[],"optimization":{"priority":"PRIORITY_DEFAULT",'
      + '"input_pinned_memory":{"enable":true},"output_pinned_memory":{"enable":true},"gather_kernel_buffer_threshold":0,"eager_batching":false},'
      + '"instance_group":[{"name":"add_sub","kind":"KIND_CPU","count":1,"gpus":[],"secondary_devices":[],"profile":[],"passive":false,"host_policy":""}],'
      + '"default_model_filename":"model.py","cc_model_filenames":{},"metric_tags":{},"parameters":{},"model_warmup":[]}')
  })

  test('dynamic batching sits behind optimization', () => {
    const config = normalizeModelConfig(readModelConfig('max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 100 }', ''))
    expect(printModelConfigJson(config)).toContain('"eager_batching":false},"dynamic_batching":{"preferred_batch_size":[8],"max_queue_delay_microseconds":100,'
      + '"preserve_ordering":false,"priority_levels":0,"default_priority_level":0,"priority_queue_policy":{}},"instance_group":')
  })

  test('a config that lacks fields is printed with their defaults', () => {
    expect(JSON.parse(printModelConfigJson({ name: 'm' } as ReturnType<typeof emptyModelConfig>))).toEqual(modelConfigToJson({ ...emptyModelConfig(), name: 'm' }))
  })
})
