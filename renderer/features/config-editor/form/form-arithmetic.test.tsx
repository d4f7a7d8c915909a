import { describe, expect, it } from 'vitest'
import { findAscendChip } from '../../../../server-core/model-config/ascend-chips.ts'
import { exampleBatches } from './batching-example.ts'
import { formatCoreLimit, parseCoreLimit } from './core-limit.ts'
import { batchGears, coverage, coverageRuns, formatDynamicDims, formatInputShape, isBatchOnly, parseDynamicDims, parseGears, parseInputShape, powersOfTwo, rowForBatch, shapedInputs } from './gears.ts'
import { formatList, readBooleanList, readNumber, readNumberList } from './list-text.ts'
import { kindFor, newGroup, parseCards, formatCards, placementOf } from './placement.ts'
import { compareTensor, entryFor, nearest, shapeText, unlisted } from './tensor-comparison.ts'

describe('gears', () => {
  it('read and write the texts of the options', () => {
    expect(parseInputShape('x:-1,3,224,224; ns:y:-1,8')).toEqual([{ name: 'x', dims: [-1, 3, 224, 224] }, { name: 'ns:y', dims: [-1, 8] }])
    expect(formatInputShape([{ name: 'x', dims: [-1, 3] }, { name: 'y', dims: [8] }])).toBe('x:-1,3;y:8')
    expect(parseDynamicDims('1,224;8, 448;')).toEqual([[1, 224], [8, 448]])
    expect(formatDynamicDims([[1, 224], [8, 448]])).toBe('1,224;8,448')
    expect(parseInputShape('x=1')).toBeNull()
    expect(parseDynamicDims('1;a')).toBeNull()
  })

  it('know which columns are the batch', () => {
    const gears = parseGears('x:-1,3,-1;y:-1,8', '1,32,1;4,64,4')
    expect(gears?.columns).toEqual([{ input: 'x', axis: 0 }, { input: 'x', axis: 2 }, { input: 'y', axis: 0 }])
    expect(gears && batchGears(gears)).toEqual([1, 4])
    expect(gears && isBatchOnly(gears)).toBe(false)
    expect(gears && rowForBatch(gears, 8)).toEqual([8, 32, 8])
    const batchOnly = parseGears('x:-1,3;y:-1,8', '1,1;4,4')
    expect(batchOnly && isBatchOnly(batchOnly)).toBe(true)
  })

  it('cover each size by the least gear that holds it, and count what padding costs', () => {
    const { cells, uncovered, paddedShare } = coverage([4, 1, 2, 8], 8)
    expect(cells.map(({ gear }) => gear)).toEqual([1, 2, 4, 4, 8, 8, 8, 8])
    expect(uncovered).toEqual([])
    // 3→4, 5, 6, 7→8: 1 + 3 + 2 + 1 rows of 1 + 2 + 4 + 4 + 4 × 8 computed.
    expect(paddedShare).toBeCloseTo(7 / 43)
  })

  it('say which sizes have no gear', () => {
    expect(coverage([1, 4], 6).uncovered).toEqual([5, 6])
    expect(coverage([], 2)).toMatchObject({ uncovered: [1, 2], paddedShare: 0 })
    expect(coverageRuns(coverage([1, 16], 20).cells)).toEqual([{ from: 1, to: 1, gear: 1 }, { from: 2, to: 16, gear: 16 }, { from: 17, to: 20, gear: null }])
  })

  it('begin from the config', () => {
    expect(powersOfTwo(8)).toEqual([1, 2, 4, 8])
    expect(powersOfTwo(6)).toEqual([1, 2, 4, 6])
    expect(powersOfTwo(1)).toEqual([1])
    expect(shapedInputs([{ name: 'x', dims: [3, -1] }], 4)).toEqual([{ name: 'x', dims: [-1, 3, -1] }])
  })
})

describe('core limits', () => {
  const a2 = findAscendChip('Ascend910B3')
  const inference = findAscendChip('310P3')

  it('read one or two numbers', () => {
    expect(parseCoreLimit('12|10')).toEqual({ cube: 12, vector: 10 })
    expect(parseCoreLimit('8|')).toEqual({ cube: 8, vector: null })
    expect(parseCoreLimit('')).toEqual({ cube: null, vector: null })
    expect(parseCoreLimit('twelve')).toBeNull()
  })

  it('are written as the chip takes them', () => {
    expect(a2 && formatCoreLimit({ cube: 12, vector: null }, a2)).toBe('12|40')
    expect(a2 && formatCoreLimit({ cube: null, vector: null }, a2)).toBeNull()
    expect(inference && formatCoreLimit({ cube: 6, vector: 3 }, inference)).toBe('6')
  })
})

describe('lists in one line', () => {
  it('read what a config writes, and what people paste', () => {
    expect(readNumberList('[ 3, 48, -1 ]', 'int64')).toEqual({ values: [3, 48, -1] })
    expect(readNumberList('3，48 224', 'int64')).toEqual({ values: [3, 48, 224] })
    expect(readNumberList('', 'int64')).toEqual({ values: [] })
    expect(readBooleanList('[ false, true ]')).toEqual({ values: [false, true] })
    expect(formatList([3, -1])).toBe('[ 3, -1 ]')
  })

  it('say what cannot be read', () => {
    expect(readNumberList('[ 3, x ]', 'int64')).toEqual({ problem: 'not-a-number', part: 'x' })
    expect(readNumberList('1.5', 'int32')).toEqual({ problem: 'not-whole', part: '1.5' })
    expect(readNumber('2147483648', 'int32')).toEqual({ problem: 'out-of-range', part: '2147483648' })
    expect(readNumber('-1', 'uint64')).toEqual({ problem: 'out-of-range', part: '-1' })
    expect(readBooleanList('1')).toEqual({ problem: 'not-a-bool', part: '1' })
  })

  it('keep integers beyond 2^53', () => {
    expect(readNumber('9223372036854775807', 'int64')).toEqual({ values: [9223372036854775807n] })
  })
})

describe('tensors beside the model file', () => {
  const file = [{ name: 'x', datatype: 'FP32', shape: ['batch', 3, 224, 224] }]
  const tensor = (part: object) => ({ name: 'x', dataType: 'TYPE_FP32', dims: [3, 224, 224], reshape: null, ...part })

  it('agree where the loader would accept them', () => {
    expect(compareTensor(tensor({}), file, 8).kind).toBe('match')
    expect(compareTensor(tensor({ dims: [1, 3, 224, 224] }), file, 0).kind).toBe('match')
  })

  it('differ by type, shape and batch axis', () => {
    expect(compareTensor(tensor({ dataType: 'TYPE_FP16' }), file, 8)).toMatchObject({ kind: 'differs', differences: ['datatype'] })
    expect(compareTensor(tensor({ dims: [3, 112, 224] }), file, 8)).toMatchObject({ kind: 'differs', differences: ['shape'] })
    expect(compareTensor(tensor({ dims: [-1, 3, 224, 224] }), file, 8)).toMatchObject({ differences: ['batch-axis-twice'] })
    expect(compareTensor(tensor({}), [{ name: 'x', datatype: 'FP32', shape: [1, 3, 224, 224] }], 8)).toMatchObject({ differences: ['batch-axis-fixed'] })
  })

  it('suggest a name, and stay silent without a file', () => {
    expect(compareTensor(tensor({ name: 'pixel_value' }), [{ name: 'pixel_values', datatype: 'FP32', shape: [] }], 0)).toEqual({ kind: 'missing', suggestion: 'pixel_values' })
    expect(compareTensor(tensor({}), null, 8)).toEqual({ kind: 'unknown' })
    expect(nearest('zzzzzz', ['pixel_values'])).toBeNull()
  })

  it('take the file over with the batch axis left out', () => {
    expect(entryFor({ name: 'x', datatype: 'FP32', shape: ['batch', 3, 'w'] }, 4)).toEqual({ data_type: 'TYPE_FP32', dims: [3, -1] })
    expect(entryFor({ name: 's', datatype: 'INT64', shape: ['batch'] }, 4)).toEqual({ data_type: 'TYPE_INT64', dims: [1], reshape: { shape: [] } })
    expect(unlisted(['x'], [...file, { name: 'y', datatype: 'FP32', shape: [] }]).map(({ name }) => name)).toEqual(['y'])
    expect(shapeText(['batch', 3, -1, 'p2o.DynamicDimension.1'])).toBe('[batch, 3, ?, ?]')
  })
})

describe('placement', () => {
  it('is written as the backend understands it', () => {
    expect(kindFor('onnxruntime', 'cpu')).toBe('KIND_CPU')
    expect(kindFor('onnxruntime', 'npu')).toBeNull()
    expect(kindFor('npu_ge', 'npu')).toBe('none')
    expect(kindFor('npu_ge', 'cpu')).toBeNull()
    expect(placementOf('npu_om', 'KIND_GPU')).toBe('npu')
    expect(placementOf('onnxruntime', '')).toBe('auto')
    expect(newGroup('npu_ge', 2)).toEqual({ count: 2 })
  })

  it('reads and writes card lists', () => {
    expect(parseCards('2,3')).toEqual([2, 3])
    expect(parseCards('a')).toBeNull()
    expect(formatCards([3, 1, 3])).toBe('1,3')
  })
})

describe('the batching example', () => {
  const batches = (delay: number, preferred: readonly number[], arrivals: readonly number[]) => exampleBatches({ delay, preferred, maxBatchSize: 8 }, arrivals).map(({ size, sentAt, reason }) => [size, sentAt, reason])

  it('sends at once without a delay', () => {
    expect(batches(0, [], [0, 1])).toEqual([[1, 0, 'delay'], [1, 1, 'delay']])
  })

  it('sends when the oldest has waited long enough', () => {
    expect(batches(10, [], [0, 4, 30])).toEqual([[2, 10, 'delay'], [1, 40, 'delay']])
  })

  it('sends as soon as the largest preferred size is reached', () => {
    expect(batches(100, [2, 4], [0, 1, 2, 3, 4])).toEqual([[4, 3, 'size'], [1, 104, 'delay']])
  })
})
