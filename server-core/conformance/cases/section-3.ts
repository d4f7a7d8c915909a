/** Section 3 of the protocol: the error model, mostly what JSON can have wrong with it. */
import { expect } from 'vitest'
import type { ConformanceCase, HttpCase } from '../conformance-case.ts'
import { zeros } from '../conversation.ts'

const JSON_PREFIX = 'failed to parse the request JSON buffer:'
const INPUT = '{"name":"INPUT0","datatype":"FP32","shape":[1],"data":[1]}'

/** An inference with this body fails so. */
function infer(facts: HttpCase['facts'], name: string, body: string, status: number, error: string | RegExp, model = 'vector'): HttpCase {
  return { facts, name, transport: 'http', call: { path: `/v2/models/${model}/infer`, method: 'POST', body }, status, error }
}

function syntax(fact: HttpCase['facts'][number], body: string, reason: string, offset: number): HttpCase {
  return infer([fact, '3.1/internal'], `in ${body}`, body, 500, `${JSON_PREFIX} ${reason} at ${offset}`)
}

const wrap = (input: string, rest = '') => `{"inputs":[${input}]${rest}}`
const input = (more: string) => `{"name":"INPUT0","datatype":"FP32","shape":[1],${more}}`
const nested = (levels: number) => `${'['.repeat(levels)}7${']'.repeat(levels)}`

/** A parameter, of the request or of an output, that is of the wrong kind. */
function parameter(fact: HttpCase['facts'][number], name: string, value: string, kind: string): HttpCase {
  return infer([fact], `${name} is ${value}`, wrap(INPUT, `,"parameters":{"${name}":${value}}`), 500, `Unable to parse '${name}': attempt to access JSON non-${kind} as ${kind}`)
}

export const SECTION_3_CASES: readonly ConformanceCase[] = [
  { facts: ['3.1/not-found'], name: 'an unknown model', transport: 'both', infer: { model: 'nope', inputs: [] }, error: ['NOT_FOUND', "Request for unknown model: 'nope' is not found"] },
  { facts: ['3.1/invalid-arg'], name: 'a wrong data type', transport: 'both', infer: { model: 'vector', inputs: [zeros('INPUT0', 'INT32', [1])] }, error: ['INVALID_ARG', /data-type is 'INT32'/] },
  { facts: ['3.1/unavailable'], name: 'control where there is none', server: 'fixed', transport: 'grpc', method: 'RepositoryModelLoad', request: { model_name: 'plain' }, error: ['UNAVAILABLE', /explicit model load/] },
  { facts: ['3.1/unavailable'], name: 'control where there is none', server: 'fixed', transport: 'http', call: { path: '/v2/repository/models/plain/load', method: 'POST' }, status: 503, error: /explicit model load/ },
  { facts: ['3.1/unsupported'], name: 'a repository name', server: 'control', transport: 'http', call: { path: '/v2/repository/r/models/plain/load', method: 'POST' }, status: 501, error: "'repository_name' specification is not supported" },
  { facts: ['3.1/unsupported'], name: 'a repository name', server: 'control', transport: 'grpc', method: 'RepositoryModelLoad', request: { model_name: 'plain', repository_name: 'r' }, error: ['UNSUPPORTED', "'repository_name' specification is not supported"] },
  { facts: ['3.1/error-body'], name: 'one compact member', transport: 'http', call: { path: '/v2/models/nope' }, status: 404, body: `{"error":"Request for unknown model: 'nope' is not found"}` },
  { facts: ['3.1/error-content-type'], name: 'a path that is none', transport: 'http', call: { path: '/v2/nope' }, status: 404, headers: { 'content-type': 'text/plain' } },
  { facts: ['3.1/error-content-type'], name: 'metadata', transport: 'http', call: { path: '/v2/models/nope' }, status: 404, headers: { 'content-type': 'application/json' } },
  { facts: ['3.1/error-content-type'], name: 'infer before its request exists', transport: 'http', call: { path: '/v2/models/nope/infer', method: 'POST', body: '{}' }, status: 404, headers: { 'content-type': 'text/plain' } },
  { facts: ['3.2/no-prefix-from-front-ends'], name: 'in spite of an id', transport: 'http', call: { path: '/v2/models/vector/infer', method: 'POST', body: '{"id":"a","inputs":[{}]}' }, status: 400, error: /^Input must set/ },
  {
    facts: ['3.2/queue-limit-has-prefix'], name: 'a third request where one runs and one waits', transport: 'http',
    async run(conversation) {
      const call = { model: 'queue', inputs: [zeros('INPUT0', 'FP32', [1, 4])] }
      const answers = await Promise.all(Array.from({ length: 8 }, () => conversation.inferGrpc(call).then(() => '', (error: unknown) => String((error as { details?: string }).details))))
      const refusal = answers.find((text) => text !== '') ?? ''
      conversation.hear(refusal)
      expect(answers).toContain("[request id: <id_unknown>] Exceeds maximum queue size")
    },
  },
  { facts: ['3.3/document-empty'], name: 'an empty body of generate', transport: 'http', call: { path: '/v2/models/vector/generate', method: 'POST', body: '' }, status: 500, error: `${JSON_PREFIX} The document is empty. at 0` },
  syntax('3.3/invalid-value', '{"inputs":[', 'Invalid value.', 11),
  syntax('3.3/missing-comma-object', '{"a":1 "b":2}', 'Missing a comma or } after an object member.', 7),
  syntax('3.3/missing-comma-array', '{"a":[1 2]}', 'Missing a comma or ] after an array element.', 8),
  syntax('3.3/missing-name', '{1:2}', 'Missing a name for object member.', 1),
  syntax('3.3/missing-quote', '{"a":"b', 'Missing a closing quotation mark in string.', 7),
  syntax('3.3/invalid-escape', '{"a":"\\x"}', 'Invalid escape character in string.', 6),
  syntax('3.3/missing-colon', '{"a" 1}', 'Missing a colon after a name of object member.', 5),
  syntax('3.3/root-followed', '{} 1', 'The document root must not be followed by other values.', 3),
  syntax('3.3/number-too-big', '{"a":1e999}', 'Number too big to be stored in double.', 5),
  { facts: ['3.3/empty-infer-is-raw'], name: 'an empty body', transport: 'http', call: { path: '/v2/models/vector/infer', method: 'POST', body: '' }, status: 200, json: { outputs: [{ name: 'OUTPUT0', shape: [0] }] } },
  { facts: ['3.3/empty-infer-is-raw'], name: 'a stream that is not gzip', transport: 'http', call: { path: '/v2/models/vector/infer', method: 'POST', body: 'nonsense', headers: { 'content-encoding': 'gzip' } }, status: 200, json: { outputs: [{ name: 'OUTPUT0', shape: [0] }] } },
  infer(['3.3/root-no-object-infer', '3.3/missing-member'], 'an array', '[]', 500, "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'"),
  { facts: ['3.3/root-no-object'], name: 'load', server: 'control', transport: 'http', call: { path: '/v2/repository/models/plain/load', body: '[]' }, status: 500, error: 'attempt to get members for non-object' },
  infer(['3.3/parameters-no-object'], 'an array', wrap(INPUT, ',"parameters":[]'), 500, 'failed to get request params.: attempt to get members for non-object'),
  infer(['3.3/prefix-inputs', '3.3/non-array'], 'a number', '{"inputs":1}', 500, "Unable to parse 'inputs': attempt to access JSON non-array as array"),
  infer(['3.3/prefix-id', '3.3/non-string'], 'a number', '{"id":1,"inputs":[]}', 500, "Unable to parse 'id': attempt to access JSON non-string as string"),
  infer(['3.3/prefix-name', '3.3/missing-member'], 'none', wrap('{"data":[1]}'), 500, "Unable to parse 'name': attempt to access non-existing object member 'name'"),
  infer(['3.3/prefix-datatype'], 'a number', wrap('{"name":"INPUT0","datatype":1,"shape":[1],"data":[1]}'), 500, "Unable to parse 'datatype': attempt to access JSON non-string as string"),
  infer(['3.3/prefix-shape', '3.3/non-unsigned-integer'], 'a negative dim', wrap('{"name":"INPUT0","datatype":"FP32","shape":[-1],"data":[1]}'), 500, "Unable to parse 'shape': attempt to access JSON non-unsigned-integer as unsigned-integer"),
  infer(['3.3/prefix-data', '3.3/non-number'], 'a string', wrap(input('"data":["x"]')), 500, "Unable to parse 'data': attempt to access JSON non-number as double"),
  infer(['3.3/non-signed-integer'], 'a fraction', wrap('{"name":"INPUT0","datatype":"INT32","shape":[1,2],"data":[1.0,2]}'), 500, "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer", 'rows'),
  infer(['3.3/non-boolean'], 'a number for BOOL', wrap('{"name":"INPUT0","datatype":"BOOL","shape":[1],"data":[1]}'), 500, "Unable to parse 'data': attempt to access JSON non-boolean as boolean", 'types'),
  infer(['3.3/prefix-outputs'], 'a string', wrap(INPUT, ',"outputs":"x"'), 500, "Unable to parse 'outputs': attempt to access JSON non-array as array"),
  infer(['3.3/prefix-sequence-id'], 'negative', wrap(INPUT, ',"parameters":{"sequence_id":-1}'), 500, "Unable to parse 'sequence_id': attempt to access JSON non-string as string"),
  parameter('3.3/prefix-sequence-start', 'sequence_start', '1', 'boolean'),
  parameter('3.3/prefix-sequence-end', 'sequence_end', '"x"', 'boolean'),
  parameter('3.3/prefix-priority', 'priority', '-1', 'unsigned-integer'),
  parameter('3.3/prefix-timeout', 'timeout', '1.5', 'unsigned-integer'),
  parameter('3.3/prefix-binary-data-output', 'binary_data_output', '1', 'boolean'),
  infer(['3.3/prefix-binary-data-size'], 'a string', wrap(input('"parameters":{"binary_data_size":"4"}')), 500, "Unable to parse 'binary_data_size': attempt to access JSON non-unsigned-integer as unsigned-integer"),
  infer(['3.3/prefix-binary-data'], 'a number', wrap(INPUT, ',"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":1}}]'), 500, "Unable to parse 'binary_data': attempt to access JSON non-boolean as boolean"),
  infer(['3.3/prefix-shared-memory-region'], 'a number', wrap(input('"parameters":{"shared_memory_region":1}')), 500, "Unable to parse 'shared_memory_region': attempt to access JSON non-string as string"),
  infer(['3.3/prefix-shared-memory-offset'], 'a string', wrap(input('"parameters":{"shared_memory_region":"r","shared_memory_byte_size":4,"shared_memory_offset":"x"}')), 500, /^Unable to parse 'shared_memory_offset': /),
  infer(['3.3/prefix-shared-memory-byte-size'], 'a string', wrap(input('"parameters":{"shared_memory_region":"r","shared_memory_byte_size":"x"}')), 500, /^Unable to parse 'shared_memory_byte_size': /),
  infer(['3.3/prefix-classification'], 'negative', wrap(INPUT, ',"outputs":[{"name":"OUTPUT0","parameters":{"classification":-1}}]'), 500, "Unable to set 'classification': attempt to access JSON non-unsigned-integer as unsigned-integer"),
  infer(['3.3/prefix-bytes-elements'], 'a number', wrap('{"name":"INPUT0","datatype":"BYTES","shape":[1],"data":[1]}'), 500, 'Unable to parse JSON bytes array: attempt to access JSON non-string as string', 'text'),
  { facts: ['3.3/no-prefix-elsewhere'], name: 'load', server: 'control', transport: 'http', call: { path: '/v2/repository/models/plain/load', body: '{"parameters":{"config":1}}' }, status: 500, error: 'attempt to access JSON non-string as string' },
  infer(['3.3/nesting-numbers'], 'a hundred levels', wrap(input(`"data":${nested(100)}`)), 400, "Unable to parse 'data': JSON nesting depth exceeds maximum allowed limit (100)"),
  infer(['3.3/nesting-bytes'], 'a hundred levels', wrap(`{"name":"INPUT0","datatype":"BYTES","shape":[1],"data":${nested(100).replace('7', '"a"')}}`), 400, 'JSON nesting depth exceeds maximum allowed limit (100)', 'text'),
  { facts: ['3.3/nesting-99-passes'], name: 'numbers', transport: 'http', call: { path: '/v2/models/vector/infer', method: 'POST', body: wrap(input(`"data":${nested(99)}`)) }, status: 200, json: { outputs: [{ data: [7] }] } },
]
