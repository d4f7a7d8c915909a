/** Section 8 of the protocol: what the core checks of a request, over both transports. */
import type { ConformanceCase, InferCase } from '../conformance-case.ts'
import { rawStrings, tensor, zeros } from '../conversation.ts'
import { inputOf } from '../servers.ts'

const four = (name = 'INPUT0', batch = 1) => zeros(name, 'FP32', [batch, 4])
const NOTE = 'NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. See the model configuration docs for more info on max_batch_size.'

function refused(facts: InferCase['facts'], name: string, infer: InferCase['infer'], text: string | RegExp): InferCase {
  return { facts, name, transport: 'both', infer, error: ['INVALID_ARG', text] }
}

export const SECTION_8_CASES: readonly ConformanceCase[] = [
  refused(['8/1-unknown-output'], 'an output the model has not', { model: 'plain', inputs: [four()], outputs: ['NOPE'] }, "unexpected inference output 'NOPE' for model 'plain'"),
  refused(['8/2-input-count-none', '3.2/request-id-prefix'], 'no input', { model: 'plain', id: 'r1', inputs: [] },
    "[request id: r1] expected 1 inputs but got 0 inputs for model 'plain'. Got input(s) [], but missing required input(s) ['INPUT0']. Please provide all required input(s)."),
  refused(['8/2-input-count', '3.2/request-id-unknown'], 'one of two inputs', { model: 'pair', inputs: [zeros('INPUT1', 'INT32', [1, 1, 2])] },
    "[request id: <id_unknown>] expected 2 inputs but got 1 inputs for model 'pair'. Got input(s) ['INPUT1'], but missing required input(s) ['INPUT0']. Please provide all required input(s)."),
  refused(['8/2-optional'], 'the required one is missing', { model: 'optional', inputs: [] }, /^\[request id: <id_unknown>\] expected number of inputs between 1 and 2 but got 0 inputs for model 'optional'/),
  refused(['8/2-too-many'], 'more inputs than there are', { model: 'plain', inputs: [four(), four('INPUT1')] },
    "[request id: <id_unknown>] expected 1 inputs but got 2 inputs for model 'plain'. Got input(s) ['INPUT0','INPUT1'], but missing required input(s) ]. Please provide all required input(s)."),
  refused(['8/3-unknown-input'], 'an input the model has not', { model: 'plain', inputs: [four('X')] }, "unexpected inference input 'X' for model 'plain'"),
  refused(['8/4-no-batch-dimension'], 'shape []', { model: 'plain', inputs: [tensor('INPUT0', 'FP32', [], 16)] }, "[request id: <id_unknown>] input 'INPUT0' has no shape but model requires batch dimension for 'plain'"),
  refused(['8/4-batch-sizes'], 'two batch sizes', { model: 'pair', inputs: [zeros('INPUT0', 'FP32', [1, 2]), zeros('INPUT1', 'INT32', [2, 1, 2])] },
    /^\[request id: <id_unknown>\] input 'INPUT[01]' batch size does not match other inputs for 'pair'$/),
  refused(['8/4-batch-too-large'], 'batch of nine', { model: 'plain', inputs: [four('INPUT0', 9)] }, "[request id: <id_unknown>] inference request batch-size must be <= 8 for 'plain'"),
  refused(['8/4-batch-zero'], 'a batch of none wants one item', { model: 'plain', inputs: [zeros('INPUT0', 'FP32', [0, 4])] }, "[request id: <id_unknown>] input byte size mismatch for input 'INPUT0' for model 'plain'. Expected 16, got 0"),
  refused(['8/5-data-type'], 'INT32 for FP32', { model: 'plain', inputs: [zeros('INPUT0', 'INT32', [1, 4])] }, "[request id: <id_unknown>] inference input 'INPUT0' data-type is 'INT32', but model 'plain' expects 'FP32'"),
  refused(['8/7-shape', '8/7-note'], 'five for four', { model: 'plain', id: 'a', inputs: [zeros('INPUT0', 'FP32', [1, 5])] },
    `[request id: a] unexpected shape for input 'INPUT0' for model 'plain'. Expected [-1,4], got [1,5]. ${NOTE}`),
  refused(['8/7-shape'], 'without batching there is no note', { model: 'text', inputs: [tensor('INPUT0', 'BYTES', [1, 1], rawStrings(''))] },
    "[request id: <id_unknown>] unexpected shape for input 'INPUT0' for model 'text'. Expected [-1], got [1,1]. "),
  refused(['8/9-byte-size'], '12 bytes for 16', { model: 'plain', inputs: [tensor('INPUT0', 'FP32', [1, 4], 12)] }, "[request id: <id_unknown>] input byte size mismatch for input 'INPUT0' for model 'plain'. Expected 16, got 12"),
  refused(['8/9-strings-too-many'], 'two strings for one', { model: 'text', inputs: [tensor('INPUT0', 'BYTES', [1], 8)] },
    "[request id: <id_unknown>] unexpected number of string elements 2 for inference input 'INPUT0' for model 'text', expecting 1"),
  refused(['8/9-strings-too-few'], 'one string for two', { model: 'text', inputs: [tensor('INPUT0', 'BYTES', [2], 4)] },
    "[request id: <id_unknown>] expected 2 string elements for inference input 'INPUT0' for model 'text', got 1"),
  refused(['8/9-string-length-cut'], 'three bytes of a length', { model: 'text', inputs: [tensor('INPUT0', 'BYTES', [1], 3)] },
    "[request id: <id_unknown>] incomplete string length indicator for inference input 'INPUT0' for model 'text', expecting 4 bytes but only 3 bytes available. Please make sure the string length indicator is in one buffer."),
  {
    facts: ['8/6-variable-dim'], name: 'a dim of -1', transport: 'grpc', method: 'ModelInfer',
    request: { model_name: 'vector', inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [-1] }], raw_input_contents: [Buffer.alloc(4)] },
    error: ['INVALID_ARG', "[request id: <id_unknown>] All input dimensions should be specified for input 'INPUT0' for model 'vector', got [-1]"],
  },
  {
    facts: ['8/8-reshape'], name: 'the variable dim comes first again', transport: 'both', infer: { model: 'reshaped', inputs: [zeros('INPUT0', 'FP32', [3, 4])] },
    outputs: [zeros('OUTPUT0', 'FP32', [3, 4])],
  },
  {
    facts: ['8/10-correlation-id'], name: 'a string for UINT64', transport: 'both',
    infer: { model: 'sequence', inputs: [zeros('INPUT', 'INT32', [1, 1])], parameters: { sequence_id: 'abc', sequence_start: true } },
    error: ['INVALID_ARG', /sequence batching control '.*' data-type is 'BYTES', but model 'sequence' expects 'UINT64'/],
  },
  {
    facts: ['6.4/types'], name: 'every type in binary form', transport: 'both',
    infer: {
      model: 'types',
      inputs: [
        tensor(inputOf('BOOL'), 'BOOL', [2], Uint8Array.of(0, 1)), tensor(inputOf('UINT8'), 'UINT8', [1], Uint8Array.of(255)), tensor(inputOf('UINT16'), 'UINT16', [1], Uint16Array.of(65535)),
        tensor(inputOf('UINT64'), 'UINT64', [1], BigUint64Array.of(2n ** 64n - 1n)), tensor(inputOf('FP16'), 'FP16', [1], Uint16Array.of(0x3c00)), tensor(inputOf('BF16'), 'BF16', [1], Uint16Array.of(0x3f80)),
        tensor(inputOf('BYTES'), 'BYTES', [2], rawStrings('', 'a\0b')),
      ],
    },
    outputs: [
      tensor('OUTPUT0', 'BOOL', [2], Uint8Array.of(0, 1)), tensor('OUTPUT1', 'UINT8', [1], Uint8Array.of(255)), tensor('OUTPUT2', 'UINT16', [1], Uint16Array.of(65535)),
      tensor('OUTPUT4', 'UINT64', [1], BigUint64Array.of(2n ** 64n - 1n)), tensor('OUTPUT9', 'FP16', [1], Uint16Array.of(0x3c00)), tensor('OUTPUT13', 'BF16', [1], Uint16Array.of(0x3f80)),
      tensor('OUTPUT12', 'BYTES', [2], rawStrings('', 'a\0b')),
    ],
  },
]
