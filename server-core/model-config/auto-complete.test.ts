import { describe, expect, test } from 'vitest'
import type { ModelConfig } from '../contract/model-config.ts'
import { completeFromOnnx } from './auto-complete.ts'
import type { OnnxSignature } from './onnx-signature.ts'
import { readOnnxSignatureFromBytes } from './onnx-signature.ts'
import { readModelConfig } from './read-config.ts'
import { onnxModel, valueInfo } from './test-onnx.ts'

const [FLOAT, INT64, COMPLEX] = [1, 7, 14]
type Dims = readonly (number | string | null)[]

function signature(inputs: Readonly<Record<string, Dims | [number, Dims]>>, outputs: Readonly<Record<string, Dims>> = { Y: ['n', 4] }): OnnxSignature {
  const info = (name: string, dims: Dims | [number, Dims]): Uint8Array =>
    (Array.isArray(dims[1]) ? valueInfo(name, dims[0] as number, dims[1] as Dims) : valueInfo(name, FLOAT, dims as Dims))
  return readOnnxSignatureFromBytes(onnxModel({
    inputs: Object.entries(inputs).map(([name, dims]) => info(name, dims)), outputs: Object.entries(outputs).map(([name, dims]) => info(name, dims)),
  }))
}

function complete(text: string, onnx: OnnxSignature, defaultMaxBatchSize = 4): ModelConfig {
  return completeFromOnnx(readModelConfig(`name: "m" ${text}`, ''), onnx, { defaultMaxBatchSize })
}

const BATCHING = signature({ B: ['n', 16], A: ['n', 3, null] })
const X = (dims: string, rest = ''): string => `input { name: "X" data_type: TYPE_FP32 dims: ${dims} ${rest} }`
const Y = 'output { name: "Y" data_type: TYPE_FP32 dims: 4 }'

describe('completing', () => {
  test('a model that can batch gets max_batch_size 4, dynamic batching and its tensors in graph order without the batch dim', () => {
    const config = complete('', BATCHING)
    expect(config.max_batch_size).toBe(4)
    expect(config.dynamic_batching).toEqual({
      preferred_batch_size: [], max_queue_delay_microseconds: 0, preserve_ordering: false, priority_levels: 0, default_priority_level: 0, priority_queue_policy: {},
    })
    expect(config.input.map(({ name, data_type: type, dims }) => [name, type, dims])).toEqual([['B', 'TYPE_FP32', [16]], ['A', 'TYPE_FP32', [3, -1]]])
    expect(config.output.map(({ name, dims }) => [name, dims])).toEqual([['Y', [4]]])
  })

  test('the default size is the caller\'s; 0 leaves batching off, 1 adds no scheduler', () => {
    const off = complete('', BATCHING, 0)
    expect([off.max_batch_size, off.dynamic_batching, off.input[0]?.dims]).toEqual([0, undefined, [-1, 16]])
    const one = complete('', BATCHING, 1)
    expect([one.max_batch_size, one.dynamic_batching]).toEqual([1, undefined])
  })

  test('a size or a scheduler that was given stays', () => {
    expect(complete('max_batch_size: 32', BATCHING)).toMatchObject({ max_batch_size: 32, dynamic_batching: { preferred_batch_size: [] } })
    expect(complete('max_batch_size: 32 dynamic_batching { preferred_batch_size: 8 }', BATCHING).dynamic_batching?.preferred_batch_size).toEqual([8])
    expect(complete('sequence_batching { }', BATCHING).dynamic_batching).toBeUndefined()
  })

  test('controls and states of sequences do not become inputs', () => {
    const completed = complete('sequence_batching { control_input { name: "C" } state { input_name: "S" } }', signature({ X: ['n', 3], C: ['n', 1], S: ['n', 1] }))
    expect(completed.input.map((input) => input.name)).toEqual(['X'])
  })

  test('a model that cannot batch keeps its full shapes', () => {
    const fixed = complete('', signature({ X: [1, 3] }, { Y: ['n', 4] }))
    expect([fixed.max_batch_size, fixed.dynamic_batching, fixed.input[0]?.dims, fixed.output[0]?.dims]).toEqual([0, undefined, [1, 3], [-1, 4]])
    expect(complete('', signature({ X: ['n'], S: [INT64, []] })).max_batch_size).toBe(0)
  })

  test('a tensor without dims is one element; reshaped away where the model batches', () => {
    const batching = complete('', signature({ X: ['n'] }))
    expect(batching.input[0]).toMatchObject({ dims: [1], reshape: { shape: [] } })
    const scalar = complete('', signature({ X: ['n', 2], S: [INT64, []] }))
    expect(scalar.input[1]).toMatchObject({ name: 'S', data_type: 'TYPE_INT64', dims: [1] })
    expect(scalar.input[1]).not.toHaveProperty('reshape')
  })

  test('only the missing list is filled', () => {
    const config = complete('output { name: "Y" data_type: TYPE_FP32 dims: -1 label_filename: "l.txt" }', signature({ X: ['n', 3] }, { Y: ['n', 'k'] }))
    expect(config.output[0]?.label_filename).toBe('l.txt')
    expect(config.input[0]?.dims).toEqual([3])
  })

  test('with both lists nothing is completed', () => {
    const config = complete(`${X('[ -1, 3 ]')} output { name: "Y" data_type: TYPE_FP32 dims: [ -1, 4 ] }`, signature({ X: ['n', 3] }))
    expect([config.max_batch_size, config.dynamic_batching]).toEqual([0, undefined])
  })
})

describe('checking', () => {
  const three = signature({ X: ['n', 3] })

  test.each<[string, OnnxSignature]>([
    [`max_batch_size: 8 ${X('3')} ${Y}`, three],
    [`max_batch_size: 8 ${X('[ 1, 3 ]', 'reshape { shape: 3 }')} ${Y}`, three],
    [`max_batch_size: 8 ${X('16')} ${Y}`, signature({ X: ['n', null] })],
    [`max_batch_size: 8 ${X('3')} ${Y}`, signature({ X: ['n', 3] }, { Y: ['n', 4], Z: ['n'] })],
    [`max_batch_size: 8 ${X('3')} ${Y} sequence_batching { control_input { name: "C" } state { input_name: "S" } }`, signature({ X: ['n', 3], C: ['n', 1], S: ['n', 1] })],
    [`max_batch_size: 8 ${X('3')} ${Y} batch_input { target_name: "C" }`, signature({ X: ['n', 3], C: ['n'] })],
    [`${X('1')} output { name: "Y" data_type: TYPE_FP32 dims: [ -1, 4 ] }`, signature({ X: [] })],
    [`${X('[ -1, 3 ]', 'optional: true')} output { name: "Y" data_type: TYPE_FP32 dims: [ -1, 4 ] }`, three],
  ])('accepts %s', (text, onnx) => {
    expect(() => complete(text, onnx)).not.toThrow()
  })

  test.each<[string, OnnxSignature, string]>([
    ['max_batch_size: 8', signature({ X: [1, 3] }), 'autofill failed for model \'m\': model does not support batching while non-zero max_batch_size is specified'],
    [`max_batch_size: 8 ${X('3')} ${Y}`, signature({ X: ['n', 3], W: ['n'] }), 'unable to load model \'m\', configuration expects 1 inputs, model provides 2'],
    [`max_batch_size: 8 input { name: "Q" data_type: TYPE_FP32 dims: 3 } input { name: "A" data_type: TYPE_FP32 dims: 3 } ${Y}`, BATCHING,
      'unexpected inference input \'Q\', allowed inputs are: A, B'],
    [`max_batch_size: 8 ${X('3')} output { name: "Q" data_type: TYPE_FP32 dims: 3 }`, signature({ X: ['n', 3] }, { Z: ['n'], Y: ['n'] }),
      'unexpected inference output \'Q\', allowed outputs are: Y, Z'],
    [`max_batch_size: 8 ${X('3')} ${Y} output { name: "Z" data_type: TYPE_FP32 dims: 4 }`, three, 'unable to load model \'m\', configuration expects 2 outputs, model provides 1'],
    [`max_batch_size: 8 input { name: "X" data_type: TYPE_INT32 dims: 3 } ${Y}`, three,
      'unable to load model \'m\', configuration expects datatype TYPE_INT32 for input \'X\', model provides TYPE_FP32'],
    ['', signature({ X: [COMPLEX, ['n', 3]] }), 'unsupported datatype TYPE_INVALID for input \'X\' for model \'m\''],
    [`max_batch_size: 8 ${X('[ 16, 1 ]')} ${Y}`, signature({ X: ['n', 16] }),
      'model \'m\', tensor \'X\': the model expects 2 dimensions (shape [-1,16]) but the model configuration specifies 3 dimensions (an initial batch dimension because '
      + 'max_batch_size > 0 followed by the explicit tensor shape, making complete shape [-1,16,1])'],
    [`max_batch_size: 8 ${X('5')} ${Y}`, three,
      'model \'m\', tensor \'X\': the model expects 2 dimensions (shape [-1,3]) but the model configuration specifies 2 dimensions (an initial batch dimension because '
      + 'max_batch_size > 0 followed by the explicit tensor shape, making complete shape [-1,5])'],
    [`${X('[ 1, 16 ]')} output { name: "Y" data_type: TYPE_FP32 dims: [ -1, 4 ] }`, three,
      'model \'m\', tensor \'X\': the model expects 2 dimensions (shape [-1,3]) but the model configuration specifies 2 dimensions (shape [1,16])'],
    [`max_batch_size: 8 ${X('3')} ${Y}`, signature({ X: [1, 3] }),
      'model \'m\', tensor \'X\': for the model to support batching the shape should have at least 1 dimension and the first dimension must be -1; but shape expected by '
      + 'the model is [1,3]'],
    [`max_batch_size: 8 ${X('3', 'optional: true')} ${Y}`, three, 'model \'m\', tensor \'X\': optional inputs are supported only if max_batch_size is 0'],
  ])('refuses %s', (text, onnx, message) => {
    expect(() => complete(text, onnx)).toThrow(expect.objectContaining({ kind: 'INVALID_ARG', message }) as Error)
  })
})
