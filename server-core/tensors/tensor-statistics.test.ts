import { describe, expect, it } from 'vitest'
import { decodeElements, encodeElements } from './tensor-codec.ts'
import { generateTensor } from './tensor-generate.ts'
import { tensorStatistics, unravelIndex } from './tensor-statistics.ts'
import { DATA_TYPES, type DataType } from '../contract/inference.ts'

const ALL = Object.keys(DATA_TYPES) as DataType[]

describe('generateTensor', () => {
  it.each(ALL)('fills %s in every way with the count asked for', (datatype) => {
    for (const generator of ['zeros', 'random', 'ramp'] as const) expect(decodeElements(datatype, generateTensor(datatype, 300, generator))).toHaveLength(300)
  })

  it('repeats for the same seed and differs for another', () => {
    expect(generateTensor('FP32', 8, 'random', 3)).toEqual(generateTensor('FP32', 8, 'random', 3))
    expect(generateTensor('FP32', 8, 'random', 3)).not.toEqual(generateTensor('FP32', 8, 'random', 4))
  })

  it('starts a ramp again where the type ends', () => {
    expect(decodeElements('INT8', generateTensor('INT8', 130, 'ramp')).slice(126)).toEqual([126, 127, 0, 1])
    expect(decodeElements('BOOL', generateTensor('BOOL', 3, 'ramp'))).toEqual([false, true, false])
    expect(decodeElements('BYTES', generateTensor('BYTES', 2, 'ramp'))).toEqual([new Uint8Array([48]), new Uint8Array([49])])
  })
})

describe('tensorStatistics', () => {
  it('finds the ends, the mean and the first greatest element', () => {
    expect(tensorStatistics('FP32', encodeElements('FP32', [1, 5, -2, 5, Number.NaN]))).toEqual({ count: 5, nanCount: 1, min: -2, max: 5, mean: 2.25, argmax: 1 })
  })

  it('keeps 64-bit integers exact', () => {
    const { min, max } = tensorStatistics('INT64', encodeElements('INT64', [9007199254740993n, 9007199254740992n]))
    expect([min, max]).toEqual([9007199254740992n, 9007199254740993n])
  })

  it('has no numbers where there is nothing to compare, and no mean across infinity', () => {
    expect(tensorStatistics('BYTES', encodeElements('BYTES', [new Uint8Array(1)]))).toEqual({ count: 1, nanCount: 0, min: null, max: null, mean: null, argmax: null })
    expect(tensorStatistics('FP32', new Uint8Array(0)).mean).toBeNull()
    expect(tensorStatistics('FP32', encodeElements('FP32', [Infinity, 1])).mean).toBeNull()
  })
})

describe('unravelIndex', () => {
  it('turns a flat index into one per axis', () => {
    expect(unravelIndex(7, [2, 5])).toEqual([1, 2])
    expect(unravelIndex(0, [])).toEqual([])
  })
})
