import { describe, expect, it } from 'vitest'
import { flattenConfig } from './flatten-config.ts'
import { readModelConfig } from './read-config.ts'

describe('a config as a flat list', () => {
  it('names every value that is set', () => {
    const config = readModelConfig(`max_batch_size: 8 input { name: "A" data_type: TYPE_FP32 dims: [ 3, -1 ] } instance_group { count: 2 } instance_group { }
      parameters { key: "k" value { string_value: "v" } } version_policy { latest { num_versions: 0 } } dynamic_batching { } model_warmup { inputs { key: "A" value { zero_data: true } } }`, '')
    expect(flattenConfig(config).map(({ place, value }) => `${place}: ${value}`)).toEqual([
      'version_policy.latest: { }', 'max_batch_size: 8', 'input["A"].data_type: TYPE_FP32', 'input["A"].dims: [ 3, -1 ]', 'dynamic_batching: { }',
      'instance_group[0].count: 2', 'instance_group[1]: { }', 'parameters["k"].string_value: "v"', 'model_warmup[0].inputs["A"].zero_data: true',
    ])
  })
})
