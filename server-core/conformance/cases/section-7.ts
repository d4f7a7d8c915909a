/** Section 7 of the protocol: generate and generate_stream, over HTTP. */
import { once } from 'node:events'
import { expect } from 'vitest'
import { RawConnection } from '../../testing/http-client.ts'
import type { ConformanceCase, HttpCase } from '../conformance-case.ts'
import { errorOf } from '../conversation.ts'
import { IDENTITY_PARAMETERS } from '../servers.ts'

interface Call { readonly model: string; readonly body: object | string; readonly headers?: Readonly<Record<string, string>>; readonly action?: string }

function call({ model, body, headers, action = 'generate' }: Call): HttpCase['call'] {
  return { path: `/v2/models/${model}/${action}`, method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), ...(headers === undefined ? {} : { headers }) }
}

function answered(facts: HttpCase['facts'], name: string, given: Call, body: string, more: Partial<HttpCase> = {}): HttpCase {
  return { facts, name, transport: 'http', call: call(given), status: 200, body, ...more }
}

function refused(facts: HttpCase['facts'], name: string, given: Call, status: number, error: string | RegExp, more: Partial<HttpCase> = {}): HttpCase {
  return { facts, name, transport: 'http', call: call(given), status, error, ...more }
}

const values = (count: number) => ({ IN: Array.from({ length: count }, (_, index) => index + 0.5), DELAY: new Array<number>(count).fill(0), WAIT: 0 })
const NOT_ONE = 'generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses'
const schema = (input: string) => `The schema can not convert input '${input}' to tensor with proper shape`

export const SECTION_7_CASES: readonly ConformanceCase[] = [
  answered(['7/input', '7/response', '7/generate-chunked', '7/id'], 'a vector', { model: 'vector', body: { id: 'r1', INPUT0: [1, 2.5] } },
    `{"OUTPUT0":[1.0,2.5],"id":"r1","model_name":"vector","model_version":"1",${IDENTITY_PARAMETERS}}`, { headers: { 'transfer-encoding': 'chunked', 'content-length': undefined, 'content-type': 'application/json' } }),
  answered(['7/input', '7/response'], 'a scalar in, a scalar out', { model: 'vector', body: { INPUT0: 1 } }, `{"OUTPUT0":1.0,"model_name":"vector","model_version":"1",${IDENTITY_PARAMETERS}}`),
  answered(['7/input', '7/response'], 'a string with escapes', { model: 'text', body: { INPUT0: 'a"\n\u0000' } }, `{"OUTPUT0":"a\\"\\n\\u0000","model_name":"text","model_version":"1",${IDENTITY_PARAMETERS}}`),
  answered(['7/input'], 'a version in the path, strings in an array', { model: 'text/versions/1', body: { INPUT0: ['a', ''] } }, `{"OUTPUT0":["a",""],"model_name":"text","model_version":"1",${IDENTITY_PARAMETERS}}`),
  answered(['7/input-shape'], 'a batch is what is left', { model: 'plain', body: { INPUT0: [1, 2, 3, 4, 5, 6, 7, 8] } }, `{"OUTPUT0":[1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0],"model_name":"plain","model_version":"3",${IDENTITY_PARAMETERS}}`),
  answered(['7/input-shape'], 'the innermost variable dim takes all', { model: 'square', body: { INPUT0: [1, 2, 3] } }, `{"OUTPUT0":[1.0,2.0,3.0],"model_name":"square","model_version":"1",${IDENTITY_PARAMETERS}}`),
  refused(['7/input-shape-mismatch'], 'five values for fours', { model: 'plain', body: { INPUT0: [1, 2, 3, 4, 5] } }, 400, schema('INPUT0')),
  refused(['7/input-shape-mismatch'], 'two words for one', { model: 'word', body: { INPUT0: ['a', 'b'] } }, 400, schema('INPUT0')),
  refused(['7/input-nested'], 'an array of arrays', { model: 'vector', body: { INPUT0: [[1]] } }, 400, schema('INPUT0')),
  refused(['7/input-fp16'], 'FP16', { model: 'half', body: { INPUT0: [1] } }, 400, 'receiving FP16 data via JSON is not supported. Please use the binary data format for input INPUT0'),
  refused(['7/input-empty', '8/7-shape'], 'an empty array has the shape []', { model: 'vector', body: { INPUT0: [] } }, 400, "[request id: <id_unknown>] unexpected shape for input 'INPUT0' for model 'vector'. Expected [-1], got []. "),
  refused(['7/input'], 'a string for a number', { model: 'vector', body: { INPUT0: 'x' } }, 500, "Unable to parse 'data': attempt to access JSON non-number as double"),
  refused(['7/input'], 'a number for a string', { model: 'text', body: { INPUT0: 1 } }, 500, 'Unable to parse JSON bytes array: attempt to access JSON non-string as string'),
  answered(['7/custom-parameter'], 'keys that infer reserves', { model: 'vector', body: { INPUT0: 1, sequence_id: -1, priority: 'x', timeout: true, triton_x: 1.5 } }, `{"OUTPUT0":1.0,"model_name":"vector","model_version":"1",${IDENTITY_PARAMETERS}}`),
  refused(['7/parameter-kind'], 'null', { model: 'vector', body: { INPUT0: 1, k: null } }, 400, "parameter 'k' has invalid type. It should be either 'int', 'bool', or 'string'."),
  answered(['7/nested-parameters'], 'an input among the parameters', { model: 'vector', body: { parameters: { INPUT0: 1, stream: false } } }, `{"OUTPUT0":1.0,"model_name":"vector","model_version":"1",${IDENTITY_PARAMETERS}}`),
  refused(['7/parameters-no-object', '3.3/non-object'], 'parameters that are a number', { model: 'vector', body: { parameters: 1 } }, 500, "Expected JSON object for keyword: 'parameters': attempt to access JSON non-object as object"),
  refused(['7/parameters-error'], 'a fault among the parameters', { model: 'vector', body: { parameters: { k: [] } } }, 400, "Converting keyword: 'parameters': parameter 'k' has invalid type. It should be either 'int', 'bool', or 'string'."),
  refused(['7/parameters-is-input'], 'a model with an input of that name', { model: 'keyword', body: { parameters: {} } }, 400, "Keyword 'parameters' for nested schema also given as input tensor name"),
  refused(['7/input-twice'], 'the same input twice', { model: 'vector', body: '{"INPUT0":1,"INPUT0":2}' }, 400, "[request id: <id_unknown>] input 'INPUT0' already exists in request"),
  refused(['7/too-large'], 'two inputs above the limit together', { model: 'types', body: { INPUT11: new Array<number>(100).fill(0), INPUT8: new Array<number>(29).fill(0) } }, 400,
    "request size of 1032 bytes with input 'INPUT8' of size 232 bytes exceeds the maximum allowed input size of 1024. Use --http-max-input-size to increase the limit.", { server: 'small' }),
  answered(['7/decoupled'], 'one answer of a decoupled model', { model: 'repeat', body: values(1) }, '{"IDX":0,"OUT":0.5,"model_name":"repeat","model_version":"1"}'),
  refused(['7/restricted', '4/restricted-http'], 'the category inference', { model: 'plain', body: {} }, 403, "This API is restricted, expecting header 'key'", { server: 'restricted' }),
  refused(['7/generate-one', '7/generate-one-status'], 'two answers', { model: 'repeat', body: values(2) }, 200, NOT_ONE),
  {
    facts: ['7/stream', '7/response'], name: 'three events', transport: 'http', call: call({ model: 'repeat', body: { ...values(3), id: 'x' }, action: 'generate_stream' }), status: 200,
    body: [0, 1, 2].map((index) => `data: {"IDX":${index},"OUT":${index}.5,"id":"x","model_name":"repeat","model_version":"1"}\n\n`).join(''),
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'transfer-encoding': 'chunked', 'content-length': undefined },
  },
  { facts: ['7/stream'], name: 'a model that is not decoupled', transport: 'http', call: call({ model: 'vector', body: { INPUT0: 1 }, action: 'generate_stream' }), status: 200, body: `data: {"OUTPUT0":1.0,"model_name":"vector","model_version":"1",${IDENTITY_PARAMETERS}}\n\n` },
  refused(['7/error-before', '7/stream'], 'an unknown model', { model: 'nope', body: {}, action: 'generate_stream' }, 404, "Request for unknown model: 'nope' is not found", { headers: { 'content-type': 'application/json' } }),
  refused(['7/error-before', '7/root'], 'a root that is no object', { model: 'vector', body: '[]', action: 'generate_stream' }, 500, 'attempt to get members for non-object'),
  refused(['7/error-before', '3.3/document-empty'], 'no body', { model: 'vector', body: '' }, 500, 'failed to parse the request JSON buffer: The document is empty. at 0'),
  refused(['7/error-first'], 'a failing execution', { model: 'gather', body: { ROWS: [1, 2], INDEX: 7 } }, 400, /Gather/),
  {
    facts: ['7/error-first'], name: 'a failing execution as an event', transport: 'http', call: call({ model: 'gather', body: { ROWS: [1, 2], INDEX: 7 }, action: 'generate_stream' }), status: 400,
    body: /^data: \{"error":".*Gather.*"\}\n\n$/s, headers: { 'content-type': 'text/event-stream; charset=utf-8' },
  },
  refused(['7/encoding'], 'gzip', { model: 'vector', body: {}, headers: { 'content-encoding': 'gzip' } }, 400, "Unsupported content-encoding, only 'identity' is supported."),
  answered(['7/orca'], 'identity, and a wish for load metrics', { model: 'vector', body: { INPUT0: 1 }, headers: { 'content-encoding': 'identity', 'endpoint-load-metrics-format': 'json' } },
    `{"OUTPUT0":1.0,"model_name":"vector","model_version":"1",${IDENTITY_PARAMETERS}}`, { headers: { 'endpoint-load-metrics': undefined } }),
  {
    facts: ['7/disconnect'], name: 'the stream ends with its client', transport: 'http',
    async run(conversation) {
      const { running } = conversation
      const failures = () => Object.values(running.server.modelMetrics().find(({ model }) => model === 'repeat')?.requestFailure ?? {}).reduce((sum, count) => sum + count, 0)
      const before = failures()
      const connection = new RawConnection(running.addresses.http?.port ?? 0)
      const body = JSON.stringify({ IN: new Array<number>(1000).fill(1), DELAY: new Array<number>(1000).fill(20), WAIT: 0 })
      connection.write(`POST /v2/models/repeat/generate_stream HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
      await connection.until((received) => received.includes('data: '))
      const closed = once(connection.socket, 'close')
      connection.close()
      await closed
      // The model would answer for twenty seconds and succeed; cancelled, it ends the request before that.
      await expect.poll(failures, { timeout: 10_000 }).toBe(before + 1)
    },
  },
  {
    facts: ['7/generate-one-status'], name: 'the error of an execution and its status', transport: 'http',
    async run(conversation) {
      const answer = await conversation.http(call({ model: 'repeat', body: { IN: [1, 2], DELAY: [0], WAIT: 0 } }))
      expect([answer.status, errorOf(answer.text)]).toEqual([400, 'expected IN and DELAY shape to match, got [2] and [1]'])
    },
  },
]
