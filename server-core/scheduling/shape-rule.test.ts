import { expect, it } from 'vitest'
import type { Tensor } from '../contract/inference.ts'
import type { ModelConfig } from '../contract/model-config.ts'
import { readModelConfig } from '../model-config/read-config.ts'
import { InflightRequest } from './inflight-request.ts'
import { shapeRuleOf } from './shape-rule.ts'

const config = (text: string): ModelConfig => readModelConfig(text, 'config.pbtxt')
const tensor = (name: string, shape: readonly number[]): Tensor => ({ name, datatype: 'FP32', shape, data: new Uint8Array(0) })
const request = (...inputs: Tensor[]) => new InflightRequest({
  id: '', inputs, requestedOutputs: [], parameters: {}, batchSize: 1, requestStart: 0, queueStart: 0, timeoutMicroseconds: 0, onSettled: () => {},
})

it('has no rule where every dimension is fixed', () => {
  expect(shapeRuleOf(config('max_batch_size: 4 input { name: "A" data_type: TYPE_FP32 dims: [ 3 ] }'))).toBeNull()
})

it('compares variable inputs without the batch dimension', () => {
  const rule = shapeRuleOf(config('max_batch_size: 4 input { name: "A" data_type: TYPE_FP32 dims: [ -1 ] } input { name: "B" data_type: TYPE_FP32 dims: [ 2 ] }'))!
  expect(rule(request(tensor('A', [1, 5]), tensor('B', [1, 2])))).toBe(rule(request(tensor('B', [3, 2]), tensor('A', [3, 5]))))
  expect(rule(request(tensor('A', [1, 5]), tensor('B', [1, 2])))).not.toBe(rule(request(tensor('A', [1, 6]), tensor('B', [1, 2]))))
})

it('wants the same set of inputs where one is optional', () => {
  const rule = shapeRuleOf(config('max_batch_size: 4 input { name: "A" data_type: TYPE_FP32 dims: [ 2 ] } input { name: "B" data_type: TYPE_FP32 dims: [ 2 ] optional: true }'))!
  expect(rule(request(tensor('A', [1, 2])))).not.toBe(rule(request(tensor('A', [1, 2]), tensor('B', [1, 2]))))
})

it('compares the content of shape tensors', () => {
  const rule = shapeRuleOf(config('max_batch_size: 4 input { name: "A" data_type: TYPE_INT32 dims: [ 2 ] is_shape_tensor: true }'))!
  const sizes = (...values: number[]): Tensor => ({ name: 'A', datatype: 'INT32', shape: [1, 2], data: new Uint8Array(Int32Array.from(values).buffer) })
  expect(rule(request(sizes(2, 3)))).toBe(rule(request(sizes(2, 3))))
  expect(rule(request(sizes(2, 3)))).not.toBe(rule(request(sizes(3, 2))))
  expect(rule(request(sizes(2, 3)))).not.toBe(rule(request({ ...sizes(2, 3), shape: [1, 1, 2] })))
})

it('lets ragged inputs differ, but not others beside them', () => {
  const rule = shapeRuleOf(config('max_batch_size: 4 input { name: "A" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true } input { name: "B" data_type: TYPE_FP32 dims: [ -1 ] }'))!
  expect(rule(request(tensor('A', [1, 5]), tensor('B', [1, 2])))).toBe(rule(request(tensor('A', [1, 9]), tensor('B', [1, 2]))))
  expect(rule(request(tensor('A', [1, 5]), tensor('B', [1, 2])))).not.toBe(rule(request(tensor('A', [1, 5]), tensor('B', [1, 3]))))
  expect(shapeRuleOf(config('max_batch_size: 4 input { name: "A" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true }'))).toBeNull()
})

it('compares all dims where the model has no batch dimension', () => {
  const rule = shapeRuleOf(config('max_batch_size: 0 input { name: "A" data_type: TYPE_FP32 dims: [ -1, 2 ] }'))!
  expect(rule(request(tensor('A', [1, 2])))).not.toBe(rule(request(tensor('A', [2, 2]))))
})

it('does not take one input for another', () => {
  const rule = shapeRuleOf(config('max_batch_size: 4 input { name: "A" data_type: TYPE_FP32 dims: [ -1 ] optional: true } input { name: "B" data_type: TYPE_FP32 dims: [ -1 ] optional: true }'))!
  expect(rule(request(tensor('A', [1, 5])))).not.toBe(rule(request(tensor('B', [1, 5]))))
})
