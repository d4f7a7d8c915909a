import { describe, expect, test } from 'vitest'
import { normalizeInstanceGroups, normalizeModelConfig } from './normalize.ts'
import { readModelConfig } from './read-config.ts'

function normalized(text: string): ReturnType<typeof normalizeModelConfig> {
  return normalizeModelConfig(readModelConfig(text, ''))
}

function groups(text: string, gpuCount = 0): [string, string, number, readonly number[]][] {
  return normalizeInstanceGroups(readModelConfig(`name: "m" ${text}`, ''), { gpuCount }).instance_group.map(({ name, kind, count, gpus }) => [name, kind, count, gpus])
}

describe('normalizeModelConfig', () => {
  test('version policy: latest one unless chosen', () => {
    expect(normalized('').version_policy).toEqual({ latest: { num_versions: 1 } })
    expect(normalized('version_policy { }').version_policy).toEqual({ latest: { num_versions: 1 } })
    expect(normalized('version_policy { latest { } }').version_policy).toEqual({ latest: { num_versions: 0 } })
    expect(normalized('version_policy { specific { versions: 3 } }').version_policy).toEqual({ specific: { versions: [3] } })
    expect(normalized('version_policy { all { } }').version_policy).toEqual({ all: {} })
  })

  test('preferred batch size: the maximum, where there is one and none was given', () => {
    expect(normalized('max_batch_size: 8 dynamic_batching { }').dynamic_batching?.preferred_batch_size).toEqual([8])
    expect(normalized('max_batch_size: 8 dynamic_batching { preferred_batch_size: 2 }').dynamic_batching?.preferred_batch_size).toEqual([2])
    expect(normalized('dynamic_batching { }').dynamic_batching?.preferred_batch_size).toEqual([])
  })

  test('sequence batching: idle time and the sizes of oldest', () => {
    expect(normalized('max_batch_size: 4 sequence_batching { oldest { } }').sequence_batching)
      .toMatchObject({ max_sequence_idle_microseconds: 1_000_000, oldest: { preferred_batch_size: [4] } })
    expect(normalized('sequence_batching { max_sequence_idle_microseconds: 5 direct { } }').sequence_batching).toMatchObject({ max_sequence_idle_microseconds: 5 })
  })

  test('pinned memory is on unless switched off', () => {
    expect(normalized('optimization { input_pinned_memory { } }').optimization)
      .toMatchObject({ input_pinned_memory: { enable: false }, output_pinned_memory: { enable: true }, priority: 'PRIORITY_DEFAULT' })
  })

  test('an ensemble gets a transaction policy and no optimization', () => {
    const ensemble = normalized('platform: "ensemble" ensemble_scheduling { }')
    expect(ensemble.model_transaction_policy).toEqual({ decoupled: false })
    expect(ensemble.optimization).toBeUndefined()
    expect(normalizeInstanceGroups(ensemble, { gpuCount: 0 }).instance_group).toEqual([])
  })

  test('does not change its argument', () => {
    const config = readModelConfig('max_batch_size: 8 dynamic_batching { } instance_group { }', '')
    const before = structuredClone(config)
    normalizeInstanceGroups(normalizeModelConfig(config), { gpuCount: 0 })
    expect(config).toEqual(before)
  })
})

describe('normalizeInstanceGroups', () => {
  test.each<[string, ReturnType<typeof groups>]>([
    ['backend: "python"', [['m', 'KIND_CPU', 1, []]]],
    ['backend: "onnxruntime"', [['m', 'KIND_CPU', 2, []]]],
    ['backend: "tensorflow" instance_group { }', [['m_0', 'KIND_CPU', 2, []]]],
    ['backend: "onnxruntime" instance_group { count: 1 kind: KIND_CPU }', [['m_0', 'KIND_CPU', 1, []]]],
    ['backend: "onnxruntime" instance_group { kind: KIND_MODEL }', [['m_0', 'KIND_MODEL', 1, []]]],
    ['instance_group [ { name: "g" count: 3 }, { count: -2 } ]', [['g', 'KIND_CPU', 3, []], ['m_1', 'KIND_CPU', 1, []]]],
  ])('without GPUs: %s', (text, expected) => {
    expect(groups(text)).toEqual(expected)
  })

  test.each<[string, ReturnType<typeof groups>]>([
    ['backend: "onnxruntime"', [['m', 'KIND_GPU', 1, [0, 1]]]],
    ['instance_group { gpus: 1 }', [['m_0', 'KIND_GPU', 1, [1]]]],
    ['instance_group { kind: KIND_CPU }', [['m_0', 'KIND_CPU', 1, []]]],
  ])('with two GPUs: %s', (text, expected) => {
    expect(groups(text, 2)).toEqual(expected)
  })

  test.each([
    ['instance_group { kind: KIND_GPU }', 0, 'INVALID_ARG', 'instance group m_0 of model m has kind KIND_GPU but server does not support GPUs'],
    ['instance_group { kind: KIND_CPU gpus: 0 }', 0, 'INVALID_ARG', 'instance group m_0 of model m has kind KIND_CPU but specifies one or more GPUs'],
    ['instance_group { gpus: 0 }', 0, 'INVALID_ARG', 'instance group m_0 of model m has kind KIND_CPU but specifies one or more GPUs'],
    ['instance_group { name: "g" kind: KIND_MODEL gpus: 0 }', 0, 'INVALID_ARG', 'instance group g of model m has kind KIND_MODEL but specifies one or more GPUs'],
    ['instance_group { kind: KIND_GPU gpus: 5 }', 2, 'INVALID_ARG', 'instance group m_0 of model m specifies invalid or unsupported gpu id 5. GPUs with at least the '
      + 'minimum required CUDA compute compatibility of 6.000000 are: 0, 1'],
    ['platform: "p" instance_group { profile: "0" }', 0, 'INVALID_ARG', 'instance group m_0 of model m and platform pspecifies profile field which is only supported for '
      + 'TensorRT models'],
    ['instance_group [ { count: 1000 }, { count: 2147483647 } ]', 0, 'INVALID_ARG', 'instance groups of model m ask for 2147484647 instances, at most 1024 are possible'],
    ['instance_group { kind: 9 }', 0, 'INTERNAL', 'instance group m_0 of model m has unexpected kind KIND_AUTO'],
  ])('refuses %s with %i GPUs', (text, gpuCount, kind, message) => {
    expect(() => groups(text, gpuCount)).toThrow(expect.objectContaining({ kind, message }) as Error)
  })
})
