/** Section 11 of the protocol: trace and log settings. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { formatLogEntry } from '../../log-format.ts'
import { serveRepository, type ServedRepository } from '../../testing/served-repository.ts'
import { identityConfig } from '../../testing/temporary-repository.ts'
import { DEFAULT_TRACE_CONFIG, type TraceConfig } from '../../tracing/trace-settings.ts'
import type { ConformanceCase, HttpCase } from '../conformance-case.ts'
import type { Conversation } from '../conversation.ts'

const TRACE_SETTINGS = { trace_level: ['OFF'], trace_rate: '1000', trace_count: '-1', log_frequency: '0', trace_file: '', trace_mode: 'triton' }
const LOG_SETTINGS = { log_file: '', log_info: true, log_warning: true, log_error: true, log_verbose_level: 0, log_format: 'default' }

async function change(c: Conversation, path: string, body: object): Promise<object> {
  const answer = await c.http({ method: 'POST', path, body: JSON.stringify(body) })
  expect([path, answer.status]).toEqual([path, 200])
  return JSON.parse(answer.text) as object
}

function refusedTrace(fact: HttpCase['facts'][number], name: string, body: string, status: number, error: string | RegExp, path = '/v2/trace/setting'): HttpCase {
  return { facts: [fact], name, transport: 'http', call: { method: 'POST', path, body }, status, error }
}

const CHAIN = `platform: "ensemble" max_batch_size: 8 input [ { name: "X" data_type: TYPE_FP32 dims: [ 4 ] } ] output [ { name: "Y" data_type: TYPE_FP32 dims: [ 4 ] } ]
  ensemble_scheduling { step { model_name: "plain" model_version: -1 input_map { key: "INPUT0" value: "X" } output_map { key: "OUTPUT0" value: "Y" } } }`

/** A server of its own that traces every request, and what its trace files hold, by name. */
async function traced(config: Partial<TraceConfig>, use: (served: ServedRepository, files: () => Readonly<Record<string, readonly object[]>>) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'npu-console-conformance-'))
  const served = await serveRepository({ 'plain/config.pbtxt': identityConfig(), 'plain/1/.keep': '', 'chain/config.pbtxt': CHAIN, 'chain/1/.keep': '' }, { traceConfig: { ...DEFAULT_TRACE_CONFIG, levels: ['TIMESTAMPS'], rate: 1, file: join(directory, 'trace.json'), ...config } })
  try {
    await use(served, () => Object.fromEntries(readdirSync(directory).map((name) => [name, JSON.parse(readFileSync(join(directory, name), 'utf8')) as readonly object[]])))
  } finally {
    await served[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true })
  }
}

const INFER = { method: 'POST', path: '/v2/models/plain/infer', body: JSON.stringify({ id: 'r1', inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] }] }) }

interface Stamp { readonly timestamps?: readonly { readonly name: string; readonly ns: number }[] }

export const SECTION_11_CASES: readonly ConformanceCase[] = [
  { facts: ['11.1/settings'], name: 'at start', transport: 'http', call: { path: '/v2/trace/setting' }, status: 200, body: JSON.stringify(TRACE_SETTINGS) },
  {
    facts: ['11.1/settings'], name: 'at start', transport: 'grpc', method: 'TraceSetting', request: {},
    reply: { settings: Object.fromEntries(Object.entries(TRACE_SETTINGS).map(([key, value]) => [key, { value: typeof value === 'string' ? [value] : value }])) },
  },
  {
    facts: ['11.1/update', '11.1/model', '11.1/clear-global'], name: 'globally, for a model, and back', transport: 'http', server: 'extensions',
    run: async (c) => {
      expect(await change(c, '/v2/trace/setting', { trace_level: ['TIMESTAMPS', 'TENSORS'], trace_rate: '5', trace_count: '7', log_frequency: '2' })).toMatchObject({ trace_level: ['TIMESTAMPS', 'TENSORS'], trace_rate: '5', trace_count: '7', log_frequency: '2' })
      expect(await change(c, '/v2/models/plain/trace/setting', { trace_rate: '9' })).toMatchObject({ trace_rate: '9', trace_count: '7' })
      expect(await change(c, '/v2/models/plain/trace/setting', { trace_rate: null })).toMatchObject({ trace_rate: '5' })
      expect(await change(c, '/v2/trace/setting', { trace_level: null, trace_rate: null, trace_count: null, log_frequency: null })).toEqual(TRACE_SETTINGS)
    },
  },
  refusedTrace('11.1/file', 'over HTTP', '{"trace_file":"x"}', 501, 'trace file location can not be updated through network protocol'),
  { facts: ['11.1/file'], name: 'over gRPC', transport: 'grpc', method: 'TraceSetting', request: { settings: { trace_file: { value: ['x'] } } }, error: ['UNSUPPORTED', 'trace file location can not be updated through network protocol'] },
  refusedTrace('11.1/off-alone', 'over HTTP', '{"trace_level":["OFF","TIMESTAMPS"]}', 400, "Expect only one trace level 'OFF' is specified"),
  { facts: ['11.1/off-alone'], name: 'over gRPC', transport: 'grpc', method: 'TraceSetting', request: { settings: { trace_level: { value: ['OFF', 'TENSORS'] } } }, error: ['INVALID_ARG', "Expect only one trace level 'OFF' is specified"] },
  refusedTrace('11.1/rate-text', 'no number', '{"trace_rate":"often"}', 400, "Unable to parse 'trace_rate', got: often"),
  refusedTrace('11.1/rate-range', 'beyond 32 bits', '{"trace_rate":"4294967296"}', 400, "Unable to parse 'trace_rate', value is out of range [ 0, 4294967295 ], got: 4294967296"),
  refusedTrace('11.1/count', 'over HTTP', '{"trace_count":"-2"}', 400, "Unable to parse 'trace_count'. Expecting value >= -1, got:-2"),
  { facts: ['11.1/count'], name: 'over gRPC', transport: 'grpc', method: 'TraceSetting', request: { settings: { trace_count: { value: ['-2'] } } }, error: ['INVALID_ARG', "Unable to parse 'trace_count'. Expecting value >= -1, got: -2"] },
  refusedTrace('11.1/body', 'none', '', 500, /^failed to parse the request JSON buffer: The document is empty\. at 0$/),
  refusedTrace('11.1/unknown-model', 'over HTTP', '{}', 404, "Request for unknown model: 'nope' is not found", '/v2/models/nope/trace/setting'),
  { facts: ['11.1/unknown-model'], name: 'over gRPC', transport: 'grpc', method: 'TraceSetting', request: { model_name: 'nope' }, error: ['NOT_FOUND', "Request for unknown model: 'nope' is not found"] },
  { facts: ['11.1/one-value-grpc'], name: 'two rates', transport: 'grpc', method: 'TraceSetting', request: { settings: { trace_rate: { value: ['1', '2'] } } }, error: ['INVALID_ARG', "expect only 1 value for 'trace_rate'"] },
  {
    facts: ['11.1/trace-file'], name: 'a request each', transport: 'both',
    run: () => traced({}, async ({ http, grpc }, files) => {
      await http.send(INFER)
      await expect.poll(() => Object.keys(files()), { interval: 5, timeout: 10_000 }).toEqual(['trace.json'])
      const [head, ...entries] = files()['trace.json'] ?? []
      expect(head).toEqual({ id: 1, model_name: 'plain', model_version: 1, request_id: 'r1' })
      const stamps = (entries as Stamp[]).flatMap(({ timestamps }) => timestamps ?? [])
      expect(stamps.map(({ name }) => name).sort()).toEqual([
        'COMPUTE_END', 'COMPUTE_INPUT_END', 'COMPUTE_OUTPUT_START', 'COMPUTE_START', 'HTTP_RECV_END', 'HTTP_RECV_START', 'HTTP_SEND_END', 'HTTP_SEND_START', 'INFER_RESPONSE_COMPLETE', 'QUEUE_START',
        'REQUEST_END', 'REQUEST_START',
      ])
      const at = (name: string) => stamps.find((stamp) => stamp.name === name)?.ns ?? NaN
      const order = ['HTTP_RECV_START', 'HTTP_RECV_END', 'REQUEST_START', 'QUEUE_START', 'COMPUTE_START', 'COMPUTE_INPUT_END', 'COMPUTE_OUTPUT_START', 'COMPUTE_END', 'REQUEST_END', 'HTTP_SEND_START', 'HTTP_SEND_END'].map(at)
      expect(order).toEqual([...order].sort((a, b) => a - b))
      await grpc.call('ModelInfer', { model_name: 'plain', inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 4] }], raw_input_contents: [Buffer.alloc(16)] })
      await expect.poll(() => JSON.stringify(files()['trace.json']), { interval: 5, timeout: 10_000 }).toMatch(/"id":2,.*GRPC_SEND_END/)
      const stream = grpc.stream()
      stream.send({ model_name: 'plain', id: 's', inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 4] }], raw_input_contents: [Buffer.alloc(16)] })
      await stream.take(1)
      stream.halfClose()
      await expect.poll(() => JSON.stringify(files()['trace.json']), { interval: 5, timeout: 10_000 }).toMatch(/"id":3,"model_name":"plain","model_version":1,"request_id":"s".*GRPC_WAITREAD_END.*REQUEST_END.*GRPC_SEND_START.*GRPC_SEND_END/)
    }),
  },
  {
    facts: ['11.1/trace-file'], name: 'a stream of events, and an ensemble with its step', transport: 'http',
    run: () => traced({}, async ({ http }, files) => {
      const written = () => JSON.stringify(files()['trace.json'] ?? [])
      await http.send({ method: 'POST', path: '/v2/models/plain/generate_stream', body: '{"INPUT0":[1,2,3,4]}' })
      await expect.poll(written, { interval: 5, timeout: 10_000 }).toMatch(/^\[\{"id":1,"model_name":"plain".*HTTP_RECV_START.*REQUEST_END.*HTTP_SEND_START.*HTTP_SEND_END/)
      await http.send({ method: 'POST', path: '/v2/models/chain/infer', body: JSON.stringify({ inputs: [{ name: 'X', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] }] }) })
      await expect.poll(written, { interval: 5, timeout: 10_000 }).toContain('{"id":2,"model_name":"chain","model_version":1}')
      expect(written()).toContain('{"id":3,"model_name":"plain","model_version":1,"parent_id":2}')
      expect(written()).toMatch(/"id":3,"timestamps":\[\{"name":"COMPUTE_START"/)
    }),
  },
  {
    facts: ['11.1/trace-tensors'], name: 'inputs and outputs', transport: 'http',
    run: () => traced({ levels: ['TENSORS'] }, async ({ http }, files) => {
      await http.send(INFER)
      await expect.poll(() => files()['trace.json'], { interval: 5, timeout: 10_000 }).toEqual([
        { id: 1, model_name: 'plain', model_version: 1, request_id: 'r1' },
        { id: 1, activity: 'TENSOR_QUEUE_INPUT', tensor: { name: 'INPUT0', data: '1,2,3,4', shape: '1,4', dtype: 'FP32' } },
        { id: 1, activity: 'TENSOR_BACKEND_OUTPUT', tensor: { name: 'OUTPUT0', data: '1,2,3,4', shape: '1,4', dtype: 'FP32' } },
      ])
    }),
  },
  {
    facts: ['11.1/trace-frequency'], name: 'one trace a file', transport: 'http',
    run: () => traced({ logFrequency: 1, count: 2 }, async ({ http }, files) => {
      for (const _ of [1, 2, 3]) await http.send(INFER)
      await expect.poll(() => Object.keys(files()), { interval: 5, timeout: 10_000 }).toEqual(['trace.json.0', 'trace.json.1'])
    }),
  },
  { facts: ['11.2/settings'], name: 'at start', transport: 'http', call: { path: '/v2/logging' }, status: 200, body: JSON.stringify(LOG_SETTINGS) },
  {
    facts: ['11.2/settings'], name: 'at start', transport: 'grpc', method: 'LogSettings', request: {},
    reply: { settings: { log_file: { string_param: '' }, log_info: { bool_param: true }, log_warning: { bool_param: true }, log_error: { bool_param: true }, log_verbose_level: { uint32_param: 0 }, log_format: { string_param: 'default' } } },
  },
  {
    facts: ['11.2/update'], name: 'some, and what is no setting', transport: 'both', server: 'extensions',
    run: async (c) => {
      expect(await change(c, '/v2/logging', { log_info: false, log_error: null, log_verbose_level: 1, log_format: 'ISO8601', other: {} })).toEqual({ ...LOG_SETTINGS, log_info: false, log_verbose_level: 1, log_format: 'ISO8601' })
      expect(await c.grpc('LogSettings', { settings: { log_info: { bool_param: true }, log_verbose_level: { uint32_param: 0 }, log_format: { string_param: 'default' } } })).toMatchObject({ settings: { log_info: { bool_param: true } } })
      expect(JSON.parse((await c.http({ path: '/v2/logging' })).text)).toEqual(LOG_SETTINGS)
    },
  },
  { facts: ['11.2/kinds'], name: 'a number for a flag', transport: 'http', call: { path: '/v2/logging', body: '{"log_info":1}' }, status: 500, error: 'attempt to access JSON non-boolean as boolean' },
  { facts: ['11.2/kinds'], name: 'text for a level', transport: 'http', call: { path: '/v2/logging', body: '{"log_verbose_level":"1"}' }, status: 500, error: 'attempt to access JSON non-unsigned-integer as unsigned-integer' },
  { facts: ['11.2/file'], name: 'over HTTP', transport: 'http', call: { path: '/v2/logging', body: '{"log_file":"x"}' }, status: 501, error: 'log file location can not be updated through network protocol' },
  { facts: ['11.2/file'], name: 'over gRPC', transport: 'grpc', method: 'LogSettings', request: { settings: { log_file: { string_param: 'x' } } }, error: ['UNSUPPORTED', 'log file location can not be updated through network protocol'] },
  { facts: ['11.2/format-http'], name: 'xml', transport: 'http', call: { path: '/v2/logging', body: '{"log_format":"xml"}' }, status: 503, error: 'invalid argument for --log_format, got: xml' },
  { facts: ['11.2/format-grpc'], name: 'xml', transport: 'grpc', method: 'LogSettings', request: { settings: { log_format: { string_param: 'xml' } } }, error: ['INVALID_ARG', 'invalid argument for log_format, got: xml'] },
  { facts: ['11.2/bool-grpc'], name: 'text for a flag', transport: 'grpc', method: 'LogSettings', request: { settings: { log_info: { string_param: 'true' } } }, error: ['INVALID_ARG', "expect boolean for 'log_info'"] },
  { facts: ['11.2/int-grpc'], name: 'a flag for a level', transport: 'grpc', method: 'LogSettings', request: { settings: { log_verbose_level: { bool_param: true } } }, error: ['INVALID_ARG', "expect int32 for 'log_verbose_level'"] },
  { facts: ['11.2/string-grpc'], name: 'a flag for a format', transport: 'grpc', method: 'LogSettings', request: { settings: { log_format: { bool_param: true } } }, error: ['INVALID_ARG', "expect string for 'log_format'"] },
  {
    facts: ['11.2/lines', '11.2/started'], name: 'what operators wait for', transport: 'both',
    run: (c) => {
      const { logs, addresses } = c.running
      const lines = (format: 'default' | 'ISO8601') => logs.recent(10_000).map((entry) => formatLogEntry(entry, 42, format))
      const place = (name: 'grpc' | 'http' | 'metrics') => `127.0.0.1:${addresses[name]?.port}`
      for (const said of [`Started GRPCInferenceService at ${place('grpc')}`, `Started HTTPService at ${place('http')}`, `Started Metrics Service at ${place('metrics')}`]) {
        expect(lines('default').filter((line) => /^I\d{4} \d\d:\d\d:\d\d\.\d{6} 42 /.test(line) && line.endsWith(`] "${said}"`))).toHaveLength(1)
        expect(lines('ISO8601').filter((line) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ I 42 /.test(line) && line.endsWith(`] "${said}"`))).toHaveLength(1)
      }
      expect(lines('default').join('\n')).toMatch(/\n\| Model +\| Version +\| Status +\|\n[^]*\n\| plain +\| 3 +\| READY +\|\n/)
      return Promise.resolve()
    },
  },
]
