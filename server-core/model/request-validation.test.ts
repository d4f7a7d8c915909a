import { describe, expect, it } from 'vitest'
import type { Tensor } from '../contract/inference.ts'
import { readModelConfig } from '../model-config/read-config.ts'
import { fp32, requestOf } from '../testing/test-server.ts'
import { RequestValidator } from './request-validation.ts'

const BATCHING = `name: "m" max_batch_size: 4
input [ { name: "A" data_type: TYPE_FP32 dims: [ 2, -1 ] }, { name: "S" data_type: TYPE_STRING dims: [ 2 ] optional: true } ]
output [ { name: "X" data_type: TYPE_FP32 dims: [ 2 ] }, { name: "Y" data_type: TYPE_FP32 dims: [ 2 ] } ]`
const PLAIN = `name: "p" input [ { name: "A" data_type: TYPE_FP32 dims: [ 2 ] }, { name: "B" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "X" data_type: TYPE_FP32 dims: [ 2 ] } ]`

const ONE = 'name: "s" input { name: "A" data_type: TYPE_FP32 dims: [ 1 ] } output { name: "X" data_type: TYPE_FP32 dims: [ 1 ] }'
const validatorOf = (text: string) => new RequestValidator(readModelConfig(text, 'config.pbtxt'))
const zeros = (name: string, shape: readonly number[]) => fp32(name, shape, Array<number>(shape.reduce((a, b) => a * b, 1)).fill(0))

function strings(...elements: string[]): Uint8Array {
  return Buffer.concat(elements.flatMap((element) => {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(Buffer.byteLength(element))
    return [length, Buffer.from(element)]
  }))
}

function refusal(text: string, inputs: readonly Tensor[], more: { id?: string; requestedOutputs?: string[] } = {}): string {
  try {
    validatorOf(text).validate(requestOf('m', inputs, more))
  } catch (error) {
    expect(error).toMatchObject({ kind: 'INVALID_ARG' })
    return (error as Error).message
  }
  return 'accepted'
}

describe('RequestValidator', () => {
  it.each<[string, string, readonly Tensor[], { id?: string; requestedOutputs?: string[] }, string]>([
    ['unknown output', BATCHING, [zeros('A', [1, 2, 3])], { requestedOutputs: ['Z'] }, "unexpected inference output 'Z' for model 'm'"],
    ['missing input', PLAIN, [zeros('A', [2])], {}, "[request id: <id_unknown>] expected 2 inputs but got 1 inputs for model 'p'. Got input(s) ['A'], but missing required input(s) ['B']. Please provide all required input(s)."],
    ['too many inputs', BATCHING, [zeros('A', [1, 2, 3]), zeros('B', [1, 2]), zeros('C', [1, 2])], { id: '7' }, "[request id: 7] expected number of inputs between 1 and 2 but got 3 inputs for model 'm'. Got input(s) ['A','B','C'], but missing required input(s) ]. Please provide all required input(s)."],
    ['unknown input', PLAIN, [zeros('A', [2]), zeros('C', [2])], {}, "unexpected inference input 'C' for model 'p'"],
    ['no batch dimension', BATCHING, [zeros('A', [])], {}, "[request id: <id_unknown>] input 'A' has no shape but model requires batch dimension for 'm'"],
    ['different batch sizes', BATCHING, [zeros('A', [1, 2, 3]), { name: 'S', datatype: 'BYTES', shape: [2, 2], data: strings('', '', '', '') }], {}, "[request id: <id_unknown>] input 'S' batch size does not match other inputs for 'm'"],
    ['batch too large', BATCHING, [zeros('A', [5, 2, 3])], {}, "[request id: <id_unknown>] inference request batch-size must be <= 4 for 'm'"],
    ['wrong type', BATCHING, [{ name: 'A', datatype: 'INT32', shape: [1, 2, 3], data: new Uint8Array(24) }], {}, "[request id: <id_unknown>] inference input 'A' data-type is 'INT32', but model 'm' expects 'FP32'"],
    ['unspecified dimension', BATCHING, [{ ...zeros('A', [1, 2, 3]), shape: [1, 2, -1] }], {}, "[request id: <id_unknown>] All input dimensions should be specified for input 'A' for model 'm', got [1,2,-1]"],
    ['negative dimensions whose product is positive', BATCHING, [{ ...zeros('A', [1, 2, 3]), shape: [-1, 2, -3] }], {}, "[request id: <id_unknown>] All input dimensions should be specified for input 'A' for model 'm', got [-1,2,-3]"],
    ['negative batch', BATCHING, [{ ...zeros('A', [1, 2, 3]), shape: [-2, 2, 3] }], {}, "[request id: <id_unknown>] All input dimensions should be specified for input 'A' for model 'm', got [-2,2,3]"],
    ['a batch of none', BATCHING, [zeros('A', [0, 2, 3])], {}, "[request id: <id_unknown>] input byte size mismatch for input 'A' for model 'm'. Expected 24, got 0"],
    ['wrong shape without batch', PLAIN, [zeros('A', [3]), zeros('B', [2])], {}, "[request id: <id_unknown>] unexpected shape for input 'A' for model 'p'. Expected [2], got [3]. "],
    ['wrong byte size', BATCHING, [{ ...zeros('A', [1, 2, 3]), data: new Uint8Array(23) }], {}, "[request id: <id_unknown>] input byte size mismatch for input 'A' for model 'm'. Expected 24, got 23"],
  ])('refuses: %s', (_name, text, inputs, more, expected) => {
    expect(refusal(text, inputs, more)).toBe(expected)
  })

  it('adds the note about max_batch_size where the model batches', () => {
    const text = refusal(BATCHING, [zeros('A', [1, 3, 3])])
    expect(text).toMatch(/^\[request id: <id_unknown>\] unexpected shape for input 'A' for model 'm'\. Expected \[-1,2,-1\], got \[1,3,3\]\. NOTE: Setting a non-zero max_batch_size .* for more info on max_batch_size\.$/)
  })

  it.each<[string, Uint8Array, string]>([
    ['too few', strings('a'), "expected 2 string elements for inference input 'S' for model 'm', got 1"],
    ['too many', strings('a', 'b', 'c'), "unexpected number of string elements 3 for inference input 'S' for model 'm', expecting 2"],
    ['cut length', strings('a', 'b').subarray(0, 7), "incomplete string length indicator for inference input 'S' for model 'm', expecting 4 bytes but only 2 bytes available. Please make sure the string length indicator is in one buffer."],
    ['cut data', strings('a', 'bcd').subarray(0, 10), "incomplete string data for inference input 'S' for model 'm', expecting string of length 3 but only 1 bytes available."],
  ])('checks the elements of strings: %s', (_name, data, expected) => {
    expect(refusal(BATCHING, [zeros('A', [1, 2, 3]), { name: 'S', datatype: 'BYTES', shape: [1, 2], data }])).toBe(`[request id: <id_unknown>] ${expected}`)
  })

  it('accepts strings, missing optional inputs and zero-sized dimensions', () => {
    const validator = validatorOf(BATCHING)
    const valid = validator.validate(requestOf('m', [zeros('A', [2, 2, 0]), { name: 'S', datatype: 'BYTES', shape: [2, 2], data: strings('a', '', 'c', 'äö') }]))
    expect(valid).toMatchObject({ batchSize: 2, requestedOutputs: ['X', 'Y'] })
    expect(validator.validate(requestOf('m', [zeros('A', [1, 2, 3])], { requestedOutputs: ['Y'] })).requestedOutputs).toEqual(['Y'])
  })

  it('leaves nothing of the one item that a batch of none comes with', () => {
    const { inputs } = validatorOf(BATCHING).validate(requestOf('m', [{ ...zeros('A', [1, 2, 3]), shape: [0, 2, 3] }]))
    expect(inputs.map(({ shape, data }) => [shape, data.byteLength])).toEqual([[[0, 2, 3], 0]])
  })

  it('applies reshape with the variable dimensions carried over, and to nothing at all', () => {
    const validator = validatorOf(`name: "r" max_batch_size: 2 input [
      { name: "A" data_type: TYPE_FP32 dims: [ 2, -1 ] reshape { shape: [ -1, 2, 1 ] } }, { name: "N" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [ ] } } ]
      output { name: "X" data_type: TYPE_FP32 dims: [ 1 ] }`)
    const { inputs } = validator.validate(requestOf('r', [zeros('A', [2, 2, 5]), zeros('N', [2, 1])]))
    expect(inputs.map((input) => input.shape)).toEqual([[2, 5, 2, 1], [2]])
  })

  it.each([
    ['UINT64', 'five', "sequence batching control 'C' data-type is 'BYTES', but model 's' expects 'UINT64'"],
    ['UINT64', '', "sequence batching control 'C' data-type is 'BYTES', but model 's' expects 'UINT64'"],
    ['INT32', 'five', "sequence batching control 'C' data-type is 'BYTES', but model 's' expects 'INT32'"],
    ['STRING', 5n, "sequence batching control 'C' data-type is 'UINT64', but model 's' expects 'BYTES'"],
  ])('checks the kind of the correlation id: %s and %s', (type, sequenceId, text) => {
    const validator = validatorOf(`${ONE} sequence_batching { control_input { name: "C" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_${type} } } }`)
    expect(() => validator.validate(requestOf('s', [zeros('A', [1])], { id: 'q', sequenceId }))).toThrow(`[request id: q] ${text}`)
    const fitting = type === 'STRING' ? 'five' : 5n
    for (const good of [fitting, 0n]) validator.validate(requestOf('s', [zeros('A', [1])], { sequenceId: good }))
  })

  it('leaves correlation ids alone where the model does not look at them', () => {
    for (const more of ['', 'sequence_batching { }']) {
      for (const sequenceId of ['five', 5n, '']) validatorOf(`${ONE} ${more}`).validate(requestOf('s', [zeros('A', [1])], { sequenceId }))
    }
  })
})
