import { describe, expect, it } from 'vitest'
import { gearBatchPositions, parseDynamicDims, parseInputShape, printDynamicDims, printInputShape, rangesText, uncoveredBatchSizes } from './npu-gears.ts'

describe('gears', () => {
  it('reads and writes the shape of several inputs', () => {
    const inputs = parseInputShape('x:-1,3,224,224; scope:ids:-1,16')
    expect(inputs).toEqual([{ name: 'x', dims: [-1, 3, 224, 224] }, { name: 'scope:ids', dims: [-1, 16] }])
    expect(printInputShape(inputs ?? [])).toBe('x:-1,3,224,224;scope:ids:-1,16')
    for (const wrong of ['', 'x', 'x:', ':1', 'x:0', 'x:-2', 'x:a', 'x:1;']) expect(parseInputShape(wrong)).toBeNull()
  })

  it('reads and writes the values of gears', () => {
    expect(parseDynamicDims('1,16;2, 32')).toEqual([[1, 16], [2, 32]])
    expect(printDynamicDims([[1, 16], [2, 32]])).toBe('1,16;2,32')
    for (const wrong of ['', '1;', '0;1', '-1', '1.5', '1|2']) expect(parseDynamicDims(wrong)).toBeNull()
  })

  it('tells which batch sizes have no gear', () => {
    const image = [{ name: 'x', dims: [-1, 3, -1] }]
    expect(gearBatchPositions(image)).toEqual([true, false])
    expect(uncoveredBatchSizes(image, [[1, 16], [2, 16], [4, 32]], 6)).toEqual([3, 5, 6])
    expect(uncoveredBatchSizes([{ name: 'x', dims: [1, -1] }], [[16], [32]], 6)).toEqual([])
    expect(rangesText([3, 5, 6, 7], 'en')).toBe('3, 5 to 7')
    expect(rangesText([3, 5, 6], 'zh-CN')).toBe('3、5 到 6')
  })
})
