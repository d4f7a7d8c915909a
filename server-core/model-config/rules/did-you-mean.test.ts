import { describe, expect, it } from 'vitest'
import { didYouMean } from './did-you-mean.ts'

describe('did you mean', () => {
  it.each([
    ['INPUT_0', ['INPUT0', 'OUTPUT0'], 'INPUT0'], ['onnxruntme', ['onnxruntime'], 'onnxruntime'], ['precision_mdoe', ['precision_mode', 'precision'], 'precision_mode'],
    ['a', ['A', 'B'], 'A'], ['A', ['B'], undefined], ['image', ['score'], undefined], ['same', ['same'], undefined], ['x'.repeat(500), ['x'.repeat(499)], undefined],
    ['max_queue_delay_us', ['max_queue_delay_microseconds', 'preserve_ordering'], 'max_queue_delay_microseconds'],
    ['tokens', ['token', 'tokens_length'], 'token'],
  ])('%s among %j: %s', (name, candidates, expected) => {
    expect(didYouMean(name, candidates)).toBe(expected)
  })
})
