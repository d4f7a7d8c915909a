/** Section 6 of the protocol: HTTP inference. */
import { once } from 'node:events'
import { deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib'
import { expect } from 'vitest'
import { RawConnection } from '../../testing/http-client.ts'
import type { ConformanceCase, HttpCase } from '../conformance-case.ts'
import { httpInferCall, httpOutputs, rawStrings, tensor, zeros } from '../conversation.ts'
import { IDENTITY_PARAMETERS, inputOf } from '../servers.ts'

const INPUT = '{"name":"INPUT0","datatype":"FP32","shape":[1],"data":[1]}'
const wrap = (input: string, rest = '') => `{"inputs":[${input}]${rest}}`
const vector = (data: string, shape = '[1]', datatype = 'FP32', name = 'INPUT0') => `{"name":"${name}","datatype":"${datatype}","shape":${shape},"data":${data}}`
const binary = (size: number, shape = '[1]', datatype = 'FP32') => `{"name":"INPUT0","datatype":"${datatype}","shape":${shape},"parameters":{"binary_data_size":${size}}}`

interface Options { readonly model?: string; readonly headers?: Readonly<Record<string, string>>; readonly server?: HttpCase['server'] }

function call(body: string | Uint8Array, { model = 'vector', headers = {} }: Options = {}): HttpCase['call'] {
  return { path: `/v2/models/${model}/infer`, method: 'POST', body, headers }
}

function refused(facts: HttpCase['facts'], name: string, body: string | Uint8Array, status: number, error: string | RegExp, options: Options = {}): HttpCase {
  return { facts, name, transport: 'http', call: call(body, options), status, error, ...(options.server === undefined ? {} : { server: options.server }) }
}

function answered(facts: HttpCase['facts'], name: string, body: string | Uint8Array, outputs: object, options: Options = {}): HttpCase {
  return { facts, name, transport: 'http', call: call(body, options), status: 200, json: { outputs }, ...(options.server === undefined ? {} : { server: options.server }) }
}

/** JSON, then bytes; the header says where the JSON ends unless `length` says otherwise. */
function withBinary(facts: HttpCase['facts'], name: string, json: string, data: Uint8Array, result: { readonly status: number; readonly error: string | RegExp; readonly model?: string }, length = String(json.length)): HttpCase {
  return refused(facts, name, Buffer.concat([Buffer.from(json), data]), result.status, result.error, { model: result.model ?? 'vector', headers: { 'inference-header-content-length': length } })
}

const ONE_SOURCE = "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'."
const LIMIT = 'Use --http-max-input-size to increase the limit.'
const floats = (...values: readonly number[]) => Buffer.from(Float32Array.from(values).buffer)
const RAW = { 'inference-header-content-length': '0' }
const classes = (k: number, more = '') => `,"outputs":[{"name":"OUTPUT0","parameters":{"classification":${k}${more}}}]`
const RANGE = 'value is out of range [ -2147483648, 2147483647 ], got:'

export const SECTION_6_CASES: readonly ConformanceCase[] = [
  refused(['6.1/decoupled'], 'infer of repeat', '{}', 501, "HTTP end point doesn't support models with decoupled transaction policy", { model: 'repeat' }),
  refused(['6.1/order'], 'the lookup before the encoding', '', 404, /unknown model/, { model: 'nope', headers: { 'content-encoding': 'br' } }),
  refused(['6.1/order'], 'the encoding before the lengths', '', 501, 'Unsupported compression type', { headers: { 'content-encoding': 'br', 'inference-header-content-length': 'x' } }),
  refused(['6.1/order'], 'the JSON before the id, the id before the parameters', '{"id":1,"parameters":1,"inputs":1}', 500, /'id'/),
  refused(['6.1/order'], 'inputs before outputs', '{"inputs":1,"outputs":1}', 500, /'inputs'/),
  { ...withBinary(['6.1/order'], 'leftover bytes before outputs', '{"inputs":[],"outputs":1}', floats(1), { status: 400, error: /unexpected additional input data/ }) },
  answered(['6.2/json-only', '6.3/outputs-absent'], 'JSON alone', wrap(INPUT), [{ name: 'OUTPUT0', datatype: 'FP32', shape: [1], data: [1] }]),
  {
    facts: ['6.2/binary-section'], name: 'two inputs', transport: 'http',
    async run(conversation) {
      const inputs = [tensor('INPUT0', 'FP32', [1, 2], Float32Array.of(1, 2)), tensor('INPUT1', 'INT32', [1, 1, 2], Int32Array.of(3, 4))]
      expect(httpOutputs(await conversation.inferHttp({ model: 'pair', inputs }))).toEqual(inputs.map((input) => ({ ...input, name: input.name.replace('IN', 'OUT') })))
    },
  },
  withBinary(['6.2/header-length-range'], 'beyond the body', wrap(INPUT), new Uint8Array(), { status: 400, error: `inference header size should be in range (0, ${wrap(INPUT).length}), got: 1000` }, '1000'),
  withBinary(['6.2/header-length-range'], 'negative', wrap(INPUT), new Uint8Array(), { status: 400, error: `inference header size should be in range (0, ${wrap(INPUT).length}), got: -1` }, '-1'),
  withBinary(['6.2/header-length-text'], 'letters', wrap(INPUT), new Uint8Array(), { status: 400, error: 'Unable to parse Inference-Header-Content-Length, got: abc' }, 'abc'),
  answered(['6.2/header-length-prefix'], 'letters after digits', wrap(INPUT), [{ data: [1] }], { headers: { 'inference-header-content-length': `${wrap(INPUT).length}abc` } }),
  withBinary(['6.2/header-length-overflow'], 'eleven digits', wrap(INPUT), new Uint8Array(), { status: 400, error: `Unable to parse Inference-Header-Content-Length, ${RANGE} 99999999999` }, '99999999999'),
  {
    facts: ['6.2/content-length-overflow'], name: 'three billion', transport: 'http',
    async run(conversation) {
      const connection = new RawConnection(conversation.running.addresses.http?.port ?? 0)
      connection.write('POST /v2/models/vector/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000000\r\n\r\n')
      const text = (await connection.until((received) => received.includes('}'))).toString()
      connection.close()
      conversation.hear(text)
      expect(text).toMatch(/^HTTP\/1.1 400 /)
    },
  },
  answered(['6.2/lengths-decompressed', '6.7/request-gzip'], 'gzip of JSON and bytes', gzipSync(Buffer.concat([Buffer.from(wrap(binary(4))), floats(5)])), [{ data: [5] }],
    { headers: { 'content-encoding': 'gzip', 'inference-header-content-length': String(wrap(binary(4)).length) } }),
  answered(['6.3/unknown-members'], 'on every level', wrap('{"x":1,"name":"INPUT0","datatype":"FP32","shape":[1],"data":[1],"parameters":{"y":{}}}', ',"z":[]'), [{ data: [1] }]),
  refused(['6.3/invalid-datatype'], 'FP33', wrap(vector('[1]', '[1]', 'FP33')), 400, 'invalid datatype for input INPUT0'),
  withBinary(['6.3/invalid-datatype-binary'], 'FP33', wrap(binary(4, '[1]', 'FP33')), floats(1), { status: 400, error: "[request id: <id_unknown>] inference input 'INPUT0' data-type is 'INVALID', but model 'vector' expects 'FP32'" }),
  refused(['6.3/no-source', '6.3/source-first'], 'an empty input', wrap('{}'), 400, `${ONE_SOURCE} But no field is set`),
  refused(['6.3/two-sources'], 'data and binary', wrap('{"data":[1],"parameters":{"binary_data_size":4}}'), 400, `${ONE_SOURCE} But set 'data' 'binary_data_size'`),
  refused(['6.3/three-sources'], 'all of them', wrap('{"data":[1],"parameters":{"shared_memory_region":"r","binary_data_size":4}}'), 400, `${ONE_SOURCE} But set 'data' 'binary_data_size' 'shared_memory_region'`),
  answered(['6.3/data-nested'], 'in any way', wrap(vector('[[1],[[2,3]],4]', '[4]')), [{ data: [1, 2, 3, 4] }]),
  refused(['6.3/data-count-too-large'], 'two for one', wrap(vector('[1,2]')), 500, "Unable to parse 'data': Shape does not match true shape of 'data' field"),
  refused(['6.3/data-count-too-small'], 'one for two', wrap(vector('[1]', '[2]')), 500, "Failed to parse 'data' field: shape does not match true shape"),
  refused(['6.3/data-no-array'], 'a number', wrap(vector('1')), 500, "Unable to parse 'data': attempt to access JSON non-array as array"),
  answered(['6.3/data-zero-elements'], 'shape [0]', wrap(vector('[1,"x"]', '[0]')), [{ shape: [0], data: [] }]),
  refused(['6.3/fp16'], 'FP16', wrap(vector('[1]', '[1]', 'FP16')), 400, 'receiving FP16 data via JSON is not supported. Please use the binary data format for input INPUT0', { model: 'half' }),
  refused(['6.3/bf16'], 'BF16', wrap(vector('[1]', '[1]', 'BF16', inputOf('BF16'))), 400, `receiving BF16 data via JSON is not supported. Please use the binary data format for input ${inputOf('BF16')}`, { model: 'types' }),
  refused(['6.3/tensor-too-large'], 'above 1024 bytes', wrap(vector('[]', '[257]')), 400, `JSON input 'INPUT0' has a byte_size (1028 bytes) that exceeds the maximum allowed value of 1024 bytes. ${LIMIT}`, { server: 'small' }),
  refused(['6.3/tensor-too-large'], 'empty strings, whose lengths count', wrap(vector(`[""${',""'.repeat(299)}]`, '[300]', 'BYTES')), 400, `JSON input 'INPUT0' has a byte_size (1200 bytes) that exceeds the maximum allowed value of 1024 bytes. ${LIMIT}`, { server: 'small', model: 'text' }),
  refused(['6.3/element-count-overflow'], 'two large dims', wrap(vector('[]', '[4294967296,4294967296]')), 400, "invalid shape for input 'INPUT0': shape [4294967296,4294967296] causes total element count to exceed maximum size of 9223372036854775807"),
  refused(['6.3/byte-size-overflow'], 'one large dim', wrap(vector('[]', '[9223372036854775807]')), 400, "byte size overflow for input 'INPUT0': element count (9223372036854775807) * data type size (4) exceeds maximum allowed size (9223372036854775807)"),
  refused(['6.3/invalid-dimensions'], 'a dim beyond int64', wrap(vector('[]', '[9223372036854775808]')), 400, "invalid shape for input 'INPUT0': shape [9223372036854775808] contains one or more invalid dimensions"),
  withBinary(['6.3/binary-too-short'], 'three of four bytes', wrap(binary(4)), new Uint8Array(3), { status: 400, error: "unexpected size for input 'INPUT0', expecting 1 additional bytes for model 'vector'" }),
  withBinary(['6.3/binary-left-over'], 'five for four', wrap(binary(4)), new Uint8Array(5), { status: 400, error: "unexpected additional input data for model 'vector'" }),
  { facts: ['6.3/binary-zero'], name: 'no bytes', transport: 'both', infer: { model: 'vector', inputs: [zeros('INPUT0', 'FP32', [0])] }, outputs: [zeros('OUTPUT0', 'FP32', [0])] },
  refused(['6.3/json-too-large'], 'above 1024 bytes', wrap(vector('[1]') + ' '.repeat(1000)), 400, `request JSON size of ${wrap(vector('[1]')).length + 1000} bytes exceeds the maximum allowed input size of 1024 bytes. ${LIMIT}`, { server: 'small' }),
  {
    facts: ['6.3/sequence-id'], name: 'an integer with flags', transport: 'http',
    async run(conversation) {
      const step = async (value: number, flags: object) => {
        const answer = await conversation.inferJson('sequence', { inputs: [{ name: 'INPUT', datatype: 'INT32', shape: [1, 1], data: [value] }], parameters: { sequence_id: 4711, ...flags } })
        return (JSON.parse(answer.text) as { outputs: { name: string; data: number[] }[] }).outputs.find(({ name }) => name === 'OUTPUT')?.data
      }
      expect([await step(1, { sequence_start: true }), await step(2, {}), await step(3, { sequence_end: true })]).toEqual([[1], [3], [6]])
    },
  },
  answered(['6.3/sequence-id'], 'a string, where nobody looks', wrap(INPUT, ',"parameters":{"sequence_id":"a","sequence_start":true,"sequence_end":true}'), [{ data: [1] }]),
  answered(['6.3/priority-timeout'], 'both', wrap('{"name":"INPUT0","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}', ',"parameters":{"priority":0,"timeout":60000000}'), [{ data: [1, 2, 3, 4] }], { model: 'batched' }),
  {
    facts: ['6.3/binary-data-output'], name: 'all, and one that is listed', transport: 'http',
    async run(conversation) {
      const all = await conversation.inferJson('vector', wrap(INPUT, ',"parameters":{"binary_data_output":true}'))
      const listed = await conversation.inferJson('vector', wrap(INPUT, ',"parameters":{"binary_data_output":true},"outputs":[{"name":"OUTPUT0"}]'))
      expect([all.headers['content-type'], listed.headers['content-type']]).toEqual(['application/octet-stream', 'application/json'])
    },
  },
  refused(['6.3/triton-reserved'], 'triton_x', wrap(INPUT, ',"parameters":{"triton_x":1}'), 400, "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified."),
  refused(['6.3/parameter-kind'], 'null', wrap(INPUT, ',"parameters":{"k":null}'), 400, "parameter 'k' has invalid type. It should be either 'int', 'bool', or 'string'."),
  refused(['6.3/output-shm-and-classification'], 'both', wrap(INPUT, classes(1, ',"shared_memory_region":"r"')), 400, "Output can't set both 'shared_memory_region' and 'classification'"),
  refused(['6.3/output-shm-and-binary'], 'both', wrap(INPUT, ',"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true,"shared_memory_region":"r"}}]'), 400, "Output can't set both 'shared_memory_region' and 'binary_data'"),
  refused(['6.3/output-twice'], 'the same name', wrap(INPUT, ',"outputs":[{"name":"OUTPUT0"},{"name":"OUTPUT0"}]'), 400, "[request id: <id_unknown>] output 'OUTPUT0' already exists in request"),
  refused(['6.3/input-twice'], 'the same name', wrap(`${INPUT},${INPUT}`), 400, "[request id: <id_unknown>] input 'INPUT0' already exists in request"),
  answered(['6.3/outputs-absent'], 'an empty list', wrap(INPUT, ',"outputs":[]'), [{ name: 'OUTPUT0' }]),
  answered(['6.3/classification-zero'], 'zero', wrap(INPUT, classes(0)), [{ datatype: 'FP32', data: [1] }]),
  { facts: ['6.4/members', '6.4/numbers'], name: 'with an id', transport: 'http', call: call(`{"id":"x","inputs":[${vector('[[1,-0.0],[0.1,1e30]]', '[4]')}]}`), status: 200, body: `{"id":"x","model_name":"vector","model_version":"1","parameters":{${IDENTITY_PARAMETERS}},"outputs":[{"name":"OUTPUT0","datatype":"FP32","shape":[4],"data":[1.0,-0.0,0.10000000149011612,1.0000000150474662e30]}]}` },
  { facts: ['6.4/members', '6.4/identity-parameters'], name: 'without an id', transport: 'http', call: call(`{"id":"","inputs":[${INPUT}]}`), status: 200, body: `{"model_name":"vector","model_version":"1","parameters":{${IDENTITY_PARAMETERS}},"outputs":[{"name":"OUTPUT0","datatype":"FP32","shape":[1],"data":[1.0]}]}` },
  { facts: ['6.4/ensemble-parameters', '6.4/members'], name: 'without a sequence', transport: 'http', call: call(wrap(vector('[1,2,3,4]', '[1,4]').replace('INPUT0', 'X')), { model: 'chain' }), status: 200, body: '{"model_name":"chain","model_version":"1","parameters":{"sequence_id":0,"sequence_start":false,"sequence_end":false},"outputs":[{"name":"Y","datatype":"FP32","shape":[1,4],"data":[1.0,2.0,3.0,4.0]}]}' },
  {
    facts: ['6.4/binary'], name: 'one of two', transport: 'http',
    async run(conversation) {
      const answer = await conversation.http(call(wrap(`${vector('[1,2]', '[1,2]')},{"name":"INPUT1","datatype":"INT32","shape":[1,1,2],"data":[3,4]}`, ',"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}},{"name":"OUTPUT1"}]'), { model: 'pair' }))
      const jsonLength = Number(answer.headers['inference-header-content-length'])
      expect(answer.headers['content-type']).toBe('application/octet-stream')
      expect(JSON.parse(answer.body.toString('utf8', 0, jsonLength))).toMatchObject({ outputs: [{ name: 'OUTPUT0', parameters: { binary_data_size: 8 } }, { name: 'OUTPUT1', data: [3, 4] }] })
      expect(answer.body.subarray(jsonLength)).toEqual(floats(1, 2))
    },
  },
  { facts: ['6.4/binary-empty'], name: 'an empty output', transport: 'http', call: httpInferCall({ model: 'vector', inputs: [zeros('INPUT0', 'FP32', [0])] }), status: 200, headers: { 'content-type': 'application/json', 'inference-header-content-length': undefined } },
  withBinary(['6.4/fp16'], 'FP16', wrap(binary(2, '[1]', 'FP16')), new Uint8Array(2), { status: 400, error: 'sending FP16 data via JSON is not supported. Please use the binary data format for output', model: 'half' }),
  withBinary(['6.4/bf16'], 'BF16', wrap(binary(2, '[1]', 'BF16').replace('INPUT0', inputOf('BF16'))), new Uint8Array(2), { status: 400, error: 'sending BF16 data via JSON is not supported. Please use the binary data format for output', model: 'types' }),
  { facts: ['6.4/int64', '6.4/truncation'], name: 'all digits; what is too large is cut', transport: 'http', call: call(wrap([vector('[9223372036854775807,-9223372036854775808]', '[2]', 'INT64', inputOf('INT64')), vector('[18446744073709551615]', '[1]', 'UINT64', inputOf('UINT64')), vector('[300,-129]', '[2]', 'INT8', inputOf('INT8'))].join(',')), { model: 'types' }), status: 200, body: /"data":\[9223372036854775807,-9223372036854775808\].*"data":\[18446744073709551615\].*"data":\[44,127\]/ },
  { facts: ['6.4/nan'], name: 'words', transport: 'http', call: call(wrap(vector('[NaN,Infinity,-Infinity,Inf,-Inf]', '[5]'))), status: 200, body: /"data":\[NaN,Infinity,-Infinity,Infinity,-Infinity\]/ },
  { facts: ['6.4/bytes'], name: 'NUL, quotes, no UTF-8', transport: 'both', infer: { model: 'text', inputs: [tensor('INPUT0', 'BYTES', [3], rawStrings('', 'a\0"', Uint8Array.of(255, 254)))] }, outputs: [tensor('OUTPUT0', 'BYTES', [3], rawStrings('', 'a\0"', Uint8Array.of(255, 254)))] },
  { facts: ['6.4/bytes'], name: 'escapes in JSON', transport: 'http', call: call(wrap(vector('["a\\u0000\\"\\u00e9"]', '[1]', 'BYTES')), { model: 'text' }), status: 200, body: /"data":\["a\\u0000\\"é"\]/ },
  answered(['6.5/shape', '6.5/strings', '6.5/labels'], 'two rows with labels', wrap(vector('[1,4,3,2,0.5,0.5,0,0]', '[2,4]'), classes(2)), [{ datatype: 'BYTES', shape: [2, 2], data: ['4.000000:1:dog', '3.000000:2', '0.500000:0:cat', '0.500000:1:dog'] }], { model: 'labelled' }),
  answered(['6.5/shape', '6.5/strings'], 'integers, more asked than there are', wrap(vector('[5,-7]', '[1,2]', 'INT32'), classes(9)), [{ shape: [2], data: ['5:0', '-7:1'] }], { model: 'rows' }),
  withBinary(['6.5/unsupported'], 'FP16', wrap(binary(2, '[1]', 'FP16'), classes(1)), new Uint8Array(2), { status: 400, error: "class result not available for output due to unsupported type 'FP16'", model: 'half' }),
  { facts: ['6.5/too-large'], name: 'a million and one classes', transport: 'http', call: call(Buffer.concat([Buffer.from(wrap(binary(4_000_004, '[1000001]'), classes(1_000_001))), new Uint8Array(4_000_004)]), { headers: { 'inference-header-content-length': String(wrap(binary(4_000_004, '[1000001]'), classes(1_000_001)).length) } }), status: 400, error: 'classification output tensor too large' },
  { facts: ['6.5/binary'], name: 'binary_data', transport: 'http', call: call(wrap(INPUT, classes(1, ',"binary_data":true'))), status: 200, body: /"datatype":"BYTES","shape":\[1\],"parameters":\{"binary_data_size":14\}.*1\.000000:0$/s, headers: { 'content-type': 'application/octet-stream' } },
  {
    facts: ['6.6/shape', '6.6/binary-outputs'], name: 'one -1, with and without batching', transport: 'http',
    async run(conversation) {
      const raw = async (model: string, body: Uint8Array) => httpOutputs(await conversation.http(call(body, { model, headers: RAW })))
      expect(await raw('vector', floats(1, 2, 3))).toEqual([tensor('OUTPUT0', 'FP32', [3], floats(1, 2, 3))])
      expect(await raw('plain', floats(1, 2, 3, 4))).toEqual([tensor('OUTPUT0', 'FP32', [1, 4], floats(1, 2, 3, 4))])
      expect(await raw('rows', new Uint8Array(16))).toEqual([zeros('OUTPUT0', 'INT32', [2, 2])])
    },
  },
  {
    facts: ['6.6/bytes'], name: 'the whole body', transport: 'http',
    async run(conversation) {
      expect(httpOutputs(await conversation.http(call('hello', { model: 'word', headers: RAW })))).toEqual([tensor('OUTPUT0', 'BYTES', [1], rawStrings('hello'))])
    },
  },
  refused(['6.6/no-multiple'], 'three bytes', 'abc', 400, "[request id: <id_unknown>] input byte size mismatch for input 'raw_input' for model 'vector'. Expected 0, got 3", { headers: RAW }),
  answered(['6.6/empty'], 'no bytes', '', [{ shape: [0] }], { headers: RAW }),
  refused(['6.6/inputs'], 'two inputs', 'x', 400, "[request id: <id_unknown>] Raw request must only have 1 input (found 1) to be deduced but got 2 inputs in 'pair' model configuration", { model: 'pair', headers: RAW }),
  refused(['6.6/variable-dims'], 'two of them', 'xxxx', 400, "[request id: <id_unknown>] The shape of the raw input 'INPUT0' can not be deduced because there are more than one variable-sized dimension", { model: 'square', headers: RAW }),
  refused(['6.6/bytes-shape'], 'two strings', 'x', 400, "[request id: <id_unknown>] For BYTE datatype raw input 'INPUT0', the model must have input shape [1]", { model: 'words', headers: RAW }),
  refused(['6.6/too-large'], 'above 1024 bytes', new Uint8Array(1028), 400, `Raw input has a byte_size (1028 bytes) that exceeds the maximum allowed value of 1024 bytes. ${LIMIT}`, { headers: RAW, server: 'small' }),
  answered(['6.7/request-gzip'], 'gzip', gzipSync(wrap(INPUT)), [{ data: [1] }], { headers: { 'content-encoding': 'gzip' } }),
  answered(['6.7/request-deflate'], 'deflate', deflateSync(wrap(INPUT)), [{ data: [1] }], { headers: { 'content-encoding': 'deflate' } }),
  answered(['6.7/request-identity'], 'identity', wrap(INPUT), [{ data: [1] }], { headers: { 'content-encoding': 'identity' } }),
  answered(['6.7/request-identity'], 'empty', wrap(INPUT), [{ data: [1] }], { headers: { 'content-encoding': '' } }),
  { ...refused(['6.7/request-other', '6.7/request-other-header'], 'br', wrap(INPUT), 501, 'Unsupported compression type', { headers: { 'content-encoding': 'br' } }), headers: { 'accept-encoding': 'gzip, deflate' } },
  refused(['6.7/decompressed-too-large'], 'zeros', gzipSync(new Uint8Array(2000)), 400, `Decompressed data size exceeds the maximum allowed value of 1024 bytes. ${LIMIT}`, { headers: { 'content-encoding': 'gzip' }, server: 'small' }),
  {
    facts: ['6.7/response', '6.7/response-header-length'], name: 'by weight', transport: 'http',
    async run(conversation) {
      const answer = async (accepted: string) => conversation.http(call(wrap(INPUT, ',"parameters":{"binary_data_output":true}'), { headers: { 'accept-encoding': accepted } }))
      for (const [accepted, encoding] of [['gzip', 'gzip'], ['deflate, gzip', 'deflate'], ['gzip;q=0.5, deflate;q=0.7', 'deflate'], ['br, identity;q=0.9, gzip;q=0.1', undefined], ['br', undefined]] as const) {
        const { headers, body } = await answer(accepted)
        expect([accepted, headers['content-encoding']]).toEqual([accepted, encoding])
        const plain = encoding === 'gzip' ? gunzipSync(body) : encoding === 'deflate' ? inflateSync(body) : body
        expect(plain.subarray(Number(headers['inference-header-content-length']))).toEqual(floats(1))
      }
    },
  },
  refused(['6.8/reserved', '6.8/case-insensitive'], 'a header that the pattern reaches', wrap(INPUT), 400, "Header 'timeout' is reserved for Triton usage and cannot be forwarded.", { server: 'forwarding', headers: { timeout: '1' } }),
  answered(['6.8/reserved-case'], 'Timeout, in that case', wrap(INPUT), [{ data: [1] }], { server: 'forwarding', headers: { Timeout: '1', 'X-My': 'a' } }),
  { facts: ['6.8/content-type-unchecked'], name: 'an image', transport: 'http', call: call(wrap(INPUT), { headers: { 'content-type': 'image/png' } }), status: 200, headers: { 'content-type': 'application/json' } },
  {
    facts: ['6.8/disconnect'], name: 'a request that waits', transport: 'http',
    async run(conversation) {
      const { running } = conversation
      const cancelled = () => running.server.modelMetrics().find(({ model }) => model === 'slow')?.requestFailure.CANCELED ?? 0
      const pending = () => running.server.modelMetrics().find(({ model }) => model === 'slow')?.pendingRequestCount ?? 0
      const inputs = [zeros('INPUT0', 'FP32', [1, 4])]
      // The one instance is busy with the first; the second waits for it.
      const first = conversation.inferHttp({ model: 'slow', inputs })
      const second = conversation.inferGrpc({ model: 'slow', inputs })
      await expect.poll(pending).toBe(1)
      const connection = new RawConnection(running.addresses.http?.port ?? 0)
      connection.write(`POST /v2/models/slow/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 16\r\nInference-Header-Content-Length: 0\r\n\r\n${'\0'.repeat(16)}`)
      await expect.poll(pending).toBe(2)
      const closed = once(connection.socket, 'close')
      connection.close()
      await closed
      await expect.poll(cancelled).toBe(1)
      await Promise.all([first, second])
    },
  },
]
