import { describe, expect, it } from 'vitest'
import { readModelConfig } from '../model-config/read-config.ts'
import { batchInputs, raggedInputs, scatteredShapes } from './batch-inputs.ts'

function configOf(text: string, maxBatchSize = 8) { return readModelConfig(`name: "m" max_batch_size: ${maxBatchSize} ${text}`, 'config.pbtxt') }

const requestsOf = (...shapes: number[][]) => shapes.map((shape) => ({ inputs: [{ name: 'OTHER', shape: [1] }, { name: 'IN', shape }], batchSize: shape[0] ?? 1 }))

function computed(kind: string, shapes: number[][], { type = 'TYPE_INT32', maxBatchSize = 8 } = {}) {
  const config = configOf(`batch_input { kind: ${kind} target_name: "T" data_type: ${type} source_input: "IN" }`, maxBatchSize)
  return batchInputs(config, requestsOf(...shapes)).map(({ name, datatype, dims, data }) => (
    [name, datatype, dims, [...(datatype === 'FP32' ? new Float32Array(data) : new Int32Array(data))]]
  ))
}

describe('batch_input', () => {
  it.each<[string, number[][], number[], number[]]>([
    ['BATCH_ELEMENT_COUNT', [[1, 3]], [1], [3]],
    ['BATCH_ELEMENT_COUNT', [[1, 3], [1, 5], [2, 2]], [3], [3, 5, 4]],
    ['BATCH_ELEMENT_COUNT', [[1, 0], [1, 2, 3]], [2], [0, 6]],
    ['BATCH_ACCUMULATED_ELEMENT_COUNT', [[1, 3], [1, 5], [2, 2]], [3], [3, 8, 12]],
    ['BATCH_ACCUMULATED_ELEMENT_COUNT', [[1, 3]], [1], [3]],
    ['BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO', [[1, 3], [1, 5], [2, 2]], [4], [0, 3, 8, 12]],
    ['BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO', [[1, 3]], [2], [0, 3]],
    ['BATCH_MAX_ELEMENT_COUNT_AS_SHAPE', [[1, 3], [1, 5], [2, 2]], [5], [0, 0, 0, 0, 0]],
    // The example of the proto: a batch of two with [3, 1] and a batch of one with [2, 2].
    ['BATCH_ITEM_SHAPE', [[2, 3, 1], [1, 2, 2]], [3, 2], [3, 1, 3, 1, 2, 2]],
    ['BATCH_ITEM_SHAPE', [[1, 4]], [1, 1], [4]],
    ['BATCH_ITEM_SHAPE', [[0, 4, 2]], [0, 2], []],
    ['BATCH_ITEM_SHAPE_FLATTEN', [[2, 3, 1], [1, 2, 2]], [6], [3, 1, 3, 1, 2, 2]],
    ['BATCH_ITEM_SHAPE_FLATTEN', [[1, 4]], [1], [4]],
  ])('%s of %j', (kind, shapes, dims, values) => {
    expect(computed(kind, shapes)).toEqual([['T', 'INT32', dims, values]])
    expect(computed(kind, shapes, { type: 'TYPE_FP32' })).toEqual([['T', 'FP32', dims, values]])
  })

  it('takes the whole shape as the item where the model has no batch dimension', () => {
    expect(computed('BATCH_ITEM_SHAPE', [[2, 3]], { maxBatchSize: 0 })).toEqual([['T', 'INT32', [1, 2], [2, 3]]])
    expect(computed('BATCH_ELEMENT_COUNT', [[2, 3]], { maxBatchSize: 0 })).toEqual([['T', 'INT32', [1], [6]]])
  })

  it('gives every target name its own tensor', () => {
    const config = configOf('batch_input { kind: BATCH_ELEMENT_COUNT target_name: [ "T", "U" ] data_type: TYPE_INT32 source_input: "IN" }')
    const [first, second] = batchInputs(config, requestsOf([1, 2]))
    expect([first?.name, second?.name]).toEqual(['T', 'U'])
    expect(first?.data).not.toBe(second?.data)
  })

  it('names the input that a request lacks', () => {
    const config = configOf('batch_input { kind: BATCH_ELEMENT_COUNT target_name: "T" data_type: TYPE_INT32 source_input: "NONE" }')
    expect(() => batchInputs(config, requestsOf([1, 2]))).toThrow("lacks input 'NONE'")
  })
})

describe('batch_output', () => {
  const scatter = (dims: string, maxBatchSize: number, ...shapes: number[][]) => scatteredShapes(configOf(`
    output { name: "OUT" data_type: TYPE_FP32 dims: [ ${dims} ] } output { name: "PLAIN" data_type: TYPE_FP32 dims: [ 1 ] }
    batch_output { target_name: "OUT" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "IN" }`, maxBatchSize), 'OUT', requestsOf(...shapes))

  it.each<[string, number, number[][], number[][]]>([
    ['-1', 8, [[1, 3], [2, 5]], [[1, 3], [2, 5]]],
    ['-1, 4', 8, [[1, 3, 9], [1, 5, 9]], [[1, 3, 4], [1, 5, 4]]],
    ['2, -1', 8, [[1, 7, 3]], [[1, 2, 3]]],
    ['-1', 0, [[3]], [[3]]],
  ])('dims [ %s ] with max_batch_size %i', (dims, maxBatchSize, shapes, expected) => {
    expect(scatter(dims, maxBatchSize, ...shapes)).toEqual(expected)
  })

  it('leaves other outputs alone', () => {
    expect(scatteredShapes(configOf('output { name: "PLAIN" data_type: TYPE_FP32 dims: [ 1 ] }'), 'PLAIN', requestsOf([1, 2]))).toBeNull()
  })
})

describe('allow_ragged_batch', () => {
  const inputs = 'input { name: "A" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true } input { name: "B" data_type: TYPE_FP32 dims: [ 1 ] }'

  it('counts while the model batches', () => {
    expect([...raggedInputs(configOf(inputs))]).toEqual(['A'])
    expect([...raggedInputs(configOf(inputs, 0))]).toEqual([])
  })
})
