/** Section 9 of the protocol: gRPC. Transport in detail (bytes, pings, certificates): frontends/grpc/transport. */
import { type ChannelCredentials, credentials } from '@grpc/grpc-js'
import { expect } from 'vitest'
import type { ServerOptions } from '../../options.ts'
import { DEFAULT_GRPC_TRANSPORT_OPTIONS, type GrpcTransportOptions } from '../../frontends/grpc/grpc-options.ts'
import { GrpcClient, type GrpcStreamReply } from '../../testing/grpc-client.ts'
import { encodedRequest, framed, RawGrpcConnection, replyOf } from '../../testing/raw-grpc-call.ts'
import { serveRepository, type ServedRepository } from '../../testing/served-repository.ts'
import { identityConfig } from '../../testing/temporary-repository.ts'
import { TestCertificates } from '../../testing/test-certificates.ts'
import type { ConformanceCase, GrpcCase, ProgramCase } from '../conformance-case.ts'
import type { Conversation } from '../conversation.ts'

const FLOATS = Buffer.from(Float32Array.of(1, 2, 3, 4).buffer)
const INPUT = { name: 'INPUT0', datatype: 'FP32', shape: [1, 4] }

/** A ModelInfer request to `plain`, changed so. */
const plain = (change: object = {}) => ({ model_name: 'plain', inputs: [INPUT], raw_input_contents: [FLOATS], ...change })
const withInput = (change: object, more: object = {}) => plain({ inputs: [{ ...INPUT, ...change }], raw_input_contents: [], ...more })
const withParameter = (key: string, value: object) => plain({ parameters: { [key]: value } })
const withOutput = (parameters: object) => plain({ outputs: [{ name: 'OUTPUT0', parameters }] })
const repeat = (id: string, values: readonly number[], more: object = {}) => ({
  model_name: 'repeat', id,
  inputs: [{ name: 'IN', datatype: 'FP32', shape: [values.length] }, { name: 'DELAY', datatype: 'UINT32', shape: [values.length] }, { name: 'WAIT', datatype: 'UINT32', shape: [1] }],
  raw_input_contents: [Buffer.from(Float32Array.from(values).buffer), Buffer.alloc(4 * values.length), Buffer.alloc(4)], ...more,
})

function call(facts: GrpcCase['facts'], method: string, request: object, reply: object, name = method): GrpcCase { return { facts, name, transport: 'grpc', method, request, reply } }

function refused(facts: GrpcCase['facts'], name: string, request: object, text: string, method = 'ModelInfer'): GrpcCase {
  return { facts, name, transport: 'grpc', method, request, error: ['INVALID_ARG', text] }
}

function program(facts: ProgramCase['facts'], name: string, run: (conversation: Conversation) => Promise<void>): ProgramCase { return { facts, name, transport: 'grpc', run } }

/** A case about a server whose transport is set so. */
function onServer(facts: ProgramCase['facts'], name: string, transport: Partial<GrpcTransportOptions>, run: (served: ServedRepository, conversation: Conversation) => Promise<void>): ProgramCase {
  return program(facts, name, async (conversation) => {
    const options: Partial<ServerOptions> = { grpcTransport: { ...DEFAULT_GRPC_TRANSPORT_OPTIONS, ...transport } }
    await using served = await serveRepository({ 'plain/config.pbtxt': identityConfig(), 'plain/1/.keep': '' }, options)
    await run(served, conversation)
  })
}

async function raw<T>(port: number, run: (connection: RawGrpcConnection) => Promise<T>): Promise<T> {
  const connection = new RawGrpcConnection(port)
  try {
    return await run(connection)
  } finally {
    connection.close()
  }
}

const portOf = (conversation: Conversation) => conversation.running.addresses.grpc?.port ?? 0

/** What matters of the answers of a stream: id, error or first number, final flag. */
function brief(replies: readonly GrpcStreamReply[]): unknown[] {
  return replies.map(({ error_message, infer_response }) => {
    const [first] = infer_response?.['raw_output_contents'] as Buffer[]
    const parameters = infer_response?.['parameters'] as Record<string, { bool_param: boolean }>
    return [infer_response?.['id'], error_message === '' ? first?.readFloatLE(0) : error_message, parameters['triton_final_response']?.bool_param]
  })
}

const OUTPUT = { outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: ['1', '4'], contents: null }], raw_output_contents: [FLOATS] }
const region = (more: object = {}) => ({ parameters: { shared_memory_region: { string_param: 'r' }, shared_memory_byte_size: { int64_param: 16 }, ...more } })

export const SECTION_9_CASES: readonly ConformanceCase[] = [
  call(['9.1/live'], 'ServerLive', {}, { live: true }),
  call(['9.1/ready'], 'ServerReady', {}, { ready: true }),
  call(['9.1/model-ready'], 'ModelReady', { name: 'plain' }, { ready: true }),
  { facts: ['9.1/model-ready'], name: 'an unknown model', transport: 'grpc', method: 'ModelReady', request: { name: 'nope' }, error: ['NOT_FOUND', "Request for unknown model: 'nope' is not found"] },
  call(['9.1/server-metadata'], 'ServerMetadata', {}, { name: 'triton', extensions: expect.arrayContaining(['binary_tensor_data', 'statistics']) as unknown }),
  call(['9.1/model-metadata'], 'ModelMetadata', { name: 'plain' }, { name: 'plain', platform: 'identity', inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: ['-1', '4'] }], outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: ['-1', '4'] }] }),
  call(['9.1/model-config'], 'ModelConfig', { name: 'plain' }, { config: { name: 'plain', max_batch_size: 8, input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: ['4'] }] } }),
  call(['9.1/statistics'], 'ModelStatistics', { name: 'plain', version: '3' }, { model_stats: [{ name: 'plain' }] }),
  call(['9.6/statistics-of-all'], 'ModelStatistics', {}, { model_stats: expect.arrayContaining([expect.objectContaining({ name: 'plain' }), expect.objectContaining({ name: 'repeat' })]) as unknown }),
  call(['9.1/index'], 'RepositoryIndex', { ready: true }, { models: expect.arrayContaining([expect.objectContaining({ name: 'vector', version: '1', state: 'READY' })]) as unknown }),
  call(['9.1/health-check'], 'Check', {}, { status: 'SERVING' }),
  call(['9.1/health-check'], 'Check', { service: 'anything' }, { status: 'SERVING' }, 'of any service'),
  program(['9.1/health-watch', '9.1/no-reflection'], 'UNIMPLEMENTED', async (c) => {
    for (const path of ['/grpc.health.v1.Health/Watch', '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo', '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo']) {
      const { code } = await raw(portOf(c), (connection) => {
        const stream = connection.open('', {}, path)
        stream.end(framed(Buffer.alloc(0)))
        return replyOf(stream)
      })
      expect([path, code]).toEqual([path, 12])
    }
  }),
  program(['9.1/field-numbers'], 'a request and its answer byte by byte', async (c) => {
    // model_name=1 'vector', id=3 'i', inputs=5 {name=1 'INPUT0', datatype=2 'FP32', shape=3 [1]}, raw_input_contents=7 (4 bytes)
    const request = Buffer.from('0a06766563746f72' + '1a0169' + '2a11' + '0a06494e50555430' + '120446503332' + '1a0101' + '3a040000803f', 'hex')
    const { body } = await raw(portOf(c), (connection) => connection.call('ModelInfer', framed(request)))
    // parameters=4 {key=1, value=2 {string_param=3}}, {int64_param=2 42}, {bool_param=1 false}, {double_param=4 123.123}
    const parameter = (index: number, value: string) => `0a06706172616d3${index}12${value}`
    const parameters = '2227' + parameter(0, '1d1a1b' + Buffer.from('an example string parameter').toString('hex')) + '220c' + parameter(1, '02102a') + '220c' + parameter(2, '020800') + '2213' + parameter(3, '09211d5a643bdfc75e40')
    // model_name=1, model_version=2 '1', id=3, parameters, outputs=5 {name=1 'OUTPUT0', datatype=2 'FP32', shape=3 [1]}, raw_output_contents=6
    expect(body.subarray(5).toString('hex')).toBe('0a06766563746f72' + '120131' + '1a0169' + parameters + '2a12' + '0a074f555450555430' + '120446503332' + '1a0101' + '32040000803f')
  }),

  refused(['9.2/shm-and-contents'], 'both', withInput({ ...region(), contents: { fp32_contents: [1] } }), "unexpected 'content' provided when using shared memory for input tensor 'INPUT0' for model 'plain'"),
  refused(['9.2/contents-and-raw'], 'both', plain({ inputs: [{ ...INPUT, contents: { fp32_contents: [1, 2, 3, 4] } }] }), "contents field must not be specified when using raw_input_contents for 'INPUT0' for model 'plain'"),
  refused(['9.2/no-data'], 'none', withInput({}), "unable to find data for input tensor 'INPUT0' for model 'plain' in request."),
  refused(['9.2/wrong-field'], 'integers', withInput({ contents: { int_contents: [1, 2, 3, 4] } }), "unexpected explicit tensor data for input tensor 'INPUT0' for model 'plain' of type 'INT32', expected datatype 'FP32'"),
  refused(['9.2/two-fields'], 'two', withInput({ contents: { int_contents: [1], fp32_contents: [1] } }), "unexpected explicit tensor data for input tensor 'INPUT0' for model 'plain', binary data was already supplied."),
  call(['9.2/contents-empty'], 'ModelInfer', { model_name: 'vector', inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [0], contents: {} }] }, { outputs: [{ shape: ['0'] }], raw_output_contents: [Buffer.alloc(0)] }),
  call(['9.2/raw'], 'ModelInfer', { model_name: 'optional', inputs: [{ ...INPUT, name: 'INPUT1', shape: [1] }, { ...INPUT, shape: [1] }], raw_input_contents: [FLOATS.subarray(0, 4), FLOATS.subarray(4, 8), FLOATS] },
    { outputs: expect.arrayContaining([]) as unknown, raw_output_contents: expect.arrayContaining([FLOATS.subarray(0, 4), FLOATS.subarray(4, 8)]) as unknown }, 'one entry too many'),
  ...([
    ['BOOL', { bool_contents: [true, false] }, [1, 0]], ['INT8', { int_contents: [-1, 300] }, [255, 44]], ['INT16', { int_contents: [-2] }, [254, 255]], ['INT32', { int_contents: [-2147483648] }, [0, 0, 0, 128]],
    ['INT64', { int64_contents: ['-2'] }, [254, 255, 255, 255, 255, 255, 255, 255]], ['UINT8', { uint_contents: [255] }, [255]], ['UINT16', { uint_contents: [65_537] }, [1, 0]], ['UINT32', { uint_contents: [4_294_967_295] }, [255, 255, 255, 255]],
    ['UINT64', { uint64_contents: ['18446744073709551615'] }, [255, 255, 255, 255, 255, 255, 255, 255]], ['FP32', { fp32_contents: [1] }, [0, 0, 128, 63]], ['FP64', { fp64_contents: [1] }, [0, 0, 0, 0, 0, 0, 240, 63]],
    ['BYTES', { bytes_contents: [Buffer.from('ab'), Buffer.alloc(0)] }, [2, 0, 0, 0, 97, 98, 0, 0, 0, 0]],
  ] as const).map(([datatype, contents, bytes]) => {
    const [values] = Object.values(contents) as readonly unknown[][]
    const names = ['BOOL', 'UINT8', 'UINT16', 'UINT32', 'UINT64', 'INT8', 'INT16', 'INT32', 'INT64', 'FP16', 'FP32', 'FP64', 'BYTES', 'BF16']
    const request = { model_name: 'types', inputs: [{ name: `INPUT${names.indexOf(datatype)}`, datatype, shape: [values?.length ?? 0], contents }] }
    return call(['9.2/typed'], 'ModelInfer', request, { raw_output_contents: [Buffer.from(bytes)] }, datatype)
  }),
  refused(['9.2/shm-region-kind'], 'a number', withInput({ parameters: { shared_memory_region: { int64_param: 1 } } }), "invalid value type for 'shared_memory_region' parameter for tensor 'INPUT0', expected string_param."),
  refused(['9.2/shm-offset-kind'], 'a text', withInput(region({ shared_memory_offset: { string_param: '0' } })), "invalid value type for 'shared_memory_offset' parameter for tensor 'INPUT0', expected int64_param."),
  refused(['9.2/shm-byte-size-kind'], 'a text', withInput(region({ shared_memory_byte_size: { string_param: '0' } })), "invalid value type for 'shared_memory_byte_size' parameter for tensor 'INPUT0', expected int64_param."),
  refused(['9.2/shm-offset-alone'], 'alone', withInput({ parameters: { shared_memory_offset: { int64_param: 1 } } }), "'shared_memory_offset' can not be specified without 'shared_memory_region' parameter for tensor 'INPUT0'"),
  refused(['9.2/shm-byte-size-alone'], 'alone', withInput({ parameters: { shared_memory_byte_size: { int64_param: 1 } } }), "'shared_memory_byte_size' can not be specified without 'shared_memory_region' parameter for tensor 'INPUT0'"),
  refused(['9.2/shm-byte-size-missing'], 'missing', withInput({ parameters: { shared_memory_region: { string_param: 'r' } } }), "'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor 'INPUT0'"),

  refused(['9.3/sequence-id-kind'], 'bool', withParameter('sequence_id', { bool_param: true }), "invalid value type for 'sequence_id' parameter, expected int64_param or string_param."),
  refused(['9.3/sequence-start-kind'], 'int64', withParameter('sequence_start', { int64_param: 1 }), "invalid value type for 'sequence_start' parameter, expected bool_param."),
  refused(['9.3/sequence-end-kind'], 'int64', withParameter('sequence_end', { int64_param: 1 }), "invalid value type for 'sequence_end' parameter, expected bool_param."),
  refused(['9.3/priority-kind'], 'bool', withParameter('priority', { bool_param: true }), "invalid value type for 'priority' parameter, expected int64_param or uint64_param."),
  refused(['9.3/priority-negative'], 'below 0', withParameter('priority', { int64_param: -1 }), "invalid value for 'priority', expected value >= 0."),
  refused(['9.3/timeout-kind'], 'uint64', withParameter('timeout', { uint64_param: 1 }), "invalid value type for 'timeout' parameter, expected int64_param."),
  refused(['9.3/triton-reserved'], 'reserved', withParameter('triton_x', { bool_param: true }),
    "parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: triton_enable_empty_final_response"),
  refused(['9.3/uint64'], 'uint64', withParameter('k', { uint64_param: 1 }), "invalid value type for 'k' parameter, expected int64_param, bool_param, or string_param."),
  refused(['9.3/classification-kind'], 'bool', withOutput({ classification: { bool_param: true } }), "invalid value type for 'classification' parameter, expected int64_param"),
  refused(['9.3/classification-value'], 'none', withOutput({ classification: { int64_param: 0 } }), "invalid value for 'classification' parameter, expected >= 0"),
  refused(['9.3/output-shm-and-classification'], 'both', withOutput({ classification: { int64_param: 1 }, ...region().parameters }), "output can't set both 'shared_memory_region' and 'classification'"),
  call(['9.3/custom', '9.4/raw-answer'], 'ModelInfer', plain({ id: 'i', parameters: { i: { int64_param: 1 }, b: { bool_param: true }, s: { string_param: 's' }, d: { double_param: 0.5 } } }), { id: 'i', model_version: '3', ...OUTPUT }, 'every kind'),
  call(['9.3/sequence-id'], 'ModelInfer', {
    model_name: 'sequence', inputs: [{ name: 'INPUT', datatype: 'INT32', shape: [1, 1] }], outputs: [{ name: 'SAW_ID' }], raw_input_contents: [Buffer.alloc(4)],
    parameters: { sequence_id: { int64_param: -1 }, sequence_start: { bool_param: true }, sequence_end: { bool_param: true } },
  }, { raw_output_contents: [Buffer.alloc(8, 255)] }, 'a negative one wraps'),
  onServer(['9.3/header-forward', '9.3/header-reserved'], 'metadata as parameters', { headerForwardPattern: 'priority|my-' }, async ({ grpc }, c) => {
    expect(await grpc.call('ModelInfer', plain(), { metadata: { 'my-key': 'v' } })).toMatchObject(OUTPUT)
    const { code, details } = await grpc.failure('ModelInfer', plain(), { metadata: { priority: '1' } })
    c.hear(details)
    expect([code, details]).toEqual([3, "Header 'priority' is reserved for Triton usage and cannot be forwarded."])
  }),

  call(['9.4/classification'], 'ModelInfer', { model_name: 'labelled', inputs: [INPUT], raw_input_contents: [FLOATS], outputs: [{ name: 'OUTPUT0', parameters: { classification: { int64_param: 1 } } }] },
    { outputs: [{ datatype: 'BYTES', shape: ['1', '1'] }], raw_output_contents: [Buffer.from('\x0f\0\0\x004.000000:3:bird')] }),
  call(['9.4/parameters'], 'ModelInfer', { model_name: 'chain', inputs: [{ ...INPUT, name: 'X' }], raw_input_contents: [FLOATS] },
    { parameters: { sequence_id: { int64_param: '0' }, sequence_start: { bool_param: false }, sequence_end: { bool_param: false } } }, 'those of an ensemble'),
  { facts: ['9.4/decoupled'], name: 'a decoupled model', transport: 'grpc', method: 'ModelInfer', request: repeat('', [1]), error: ['UNSUPPORTED', "ModelInfer RPC doesn't support models with decoupled transaction policy"] },
  program(['9.4/cancel'], 'a deadline that passes', async (c) => {
    expect(await c.served.grpc.failure('ModelInfer', plain({ model_name: 'slow' }), { timeout: 30 })).toMatchObject({ code: 4 })
  }),
  onServer(['9.4/compression'], 'gzip for who reads it', { responseCompression: 'low' }, async ({ running }) => {
    const { headers } = await raw(running.addresses.grpc?.port ?? 0, (connection) => connection.call('ModelInfer', framed(encodedRequest('ModelInfer', plain())), { 'grpc-accept-encoding': 'identity, gzip' }))
    expect(headers['grpc-encoding']).toBe('gzip')
  }),

  program(['9.5/any-model', '9.5/decoupled', '9.5/final-flag', '9.5/final-only'], 'two models on one stream', async (c) => {
    const stream = c.served.grpc.stream().send(plain({ id: 'a' }), repeat('b', [5, 6])).halfClose()
    const replies = brief(await stream.rest()) as unknown[][]
    expect(replies.filter(([id]) => id === 'a')).toEqual([['a', 1, true]])
    expect(replies.filter(([id]) => id === 'b')).toEqual([['b', 5, false], ['b', 6, false]])
    expect(await stream.status).toMatchObject({ code: 0 })
  }),
  program(['9.5/order', '9.5/error-message'], 'a slow model, an unknown one and a quick one', async (c) => {
    const stream = c.served.grpc.stream().send(plain({ model_name: 'slow', id: '1' }), plain({ model_name: 'nope', id: '2' }), plain({ id: '3' })).halfClose()
    expect(brief(await stream.rest())).toEqual([['1', 1, true], ['2', "Request for unknown model: 'nope' is not found", undefined], ['3', 1, true]])
  }),
  program(['9.5/empty-final'], 'asked for', async (c) => {
    const stream = c.served.grpc.stream().send(repeat('b', [5], { parameters: { triton_enable_empty_final_response: { bool_param: true } } })).halfClose()
    expect(brief(await stream.rest())).toEqual([['b', 5, false], ['b', undefined, true]])
  }),
  program(['9.5/grpc-error'], 'an index beyond the rows', async (c) => {
    const request = { model_name: 'gather', id: 'g', inputs: [{ name: 'ROWS', datatype: 'FP32', shape: [1, 2] }, { name: 'INDEX', datatype: 'INT64', shape: [1, 1] }], raw_input_contents: [Buffer.alloc(8), Buffer.from(BigInt64Array.of(9n).buffer)] }
    const message = c.served.grpc.stream().send(request).halfClose()
    expect(brief(await message.rest())).toEqual([['g', expect.stringMatching(/./), true]])
    const status = c.served.grpc.stream({ metadata: { triton_grpc_error: 'true' } }).send(request)
    expect(brief(await status.rest())).toEqual([])
    expect((await status.status).code).not.toBe(0)
  }),
  program(['9.5/shutting-down'], 'a call on a live connection', async (c) => {
    const delay = identityConfig('parameters { key: "execute_delay_ms" value { string_value: "1500" } }')
    await using served = await serveRepository({ 'plain/config.pbtxt': delay, 'plain/1/.keep': '' })
    const inFlight = served.grpc.call('ModelInfer', plain())
    await served.grpc.call('ServerLive', {})
    const stopped = served.running.stop()
    // The front ends stop one after the other: until then calls are answered.
    let refusal: { code: number; details: string } | undefined
    while (refusal === undefined) {
      await served.grpc.call('ServerLive', {}).catch((error: unknown) => { refusal = error as { code: number; details: string } })
    }
    c.hear(refusal.details)
    expect(refusal.code).toBe(14)
    expect(await inFlight).toMatchObject(OUTPUT)
    await stopped
  }),
  program(['9.5/cancel'], 'by the client', async (c) => {
    const stream = c.served.grpc.stream().send(plain({ model_name: 'slow', id: '1' }))
    stream.cancel()
    expect(await stream.status).toMatchObject({ code: 1 })
  }),

  ...(['config', 'file:1/x'] as const).map((key) => refused([key === 'config' ? '9.6/load-config-kind' : '9.6/load-file-kind'], key, { model_name: 'later', parameters: { [key]: { bool_param: true } } },
    `invalid value type for load parameter '${key}', expected ${key === 'config' ? 'string_param' : 'bytes_param'}.`, 'RepositoryModelLoad')),
  refused(['9.6/load-unknown-key'], 'unknown', { model_name: 'later', parameters: { x: { bool_param: true } } }, "unrecognized load parameter 'x'.", 'RepositoryModelLoad'),
  refused(['9.6/unload-kind'], 'a text', { model_name: 'later', parameters: { unload_dependents: { string_param: 'x' } } }, "invalid value type for 'unload_dependents' parameter, expected bool_param.", 'RepositoryModelUnload'),
  {
    ...program(['9.6/load-file'], 'labels that the disk has not', async (c) => {
      const config = JSON.stringify({
        backend: 'identity', max_batch_size: 8, input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [4] }],
        output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: [4], label_filename: 'labels.txt' }],
      })
      const files = { 'file:1/weights.bin': { bytes_param: Buffer.from([0, 255, 10]) }, 'file:labels.txt': { bytes_param: Buffer.from('a\nb\nc\nd\n') } }
      await c.grpc('RepositoryModelLoad', { model_name: 'sent', parameters: { config: { string_param: config }, ...files } })
      const reply = await c.grpc('ModelInfer', plain({ model_name: 'sent', outputs: [{ name: 'OUTPUT0', parameters: { classification: { int64_param: 1 } } }] }))
      expect((reply['raw_output_contents'] as Buffer[])[0]?.toString('latin1', 4)).toBe('4.000000:3:d')
      await c.grpc('RepositoryModelUnload', { model_name: 'sent' })
    }),
    server: 'control',
  },
  {
    ...program(['9.6/load-does-not-block'], 'a call while a model loads for a second', async (c) => {
      const done: string[] = []
      const load = c.grpc('RepositoryModelLoad', { model_name: 'creeping' }).then(() => { done.push('load') })
      await c.grpc('ModelInfer', plain())
      done.push('inference')
      await load
      expect(done).toEqual(['inference', 'load'])
      await c.grpc('RepositoryModelUnload', { model_name: 'creeping' })
    }),
    server: 'readiness',
  },
  program(['9.7/message-size'], '6 MB both ways', async (c) => {
    const data = Buffer.alloc(6_000_000, 1)
    const reply = await c.served.grpc.call('ModelInfer', { model_name: 'vector', inputs: [{ ...INPUT, shape: [1_500_000] }], raw_input_contents: [data] })
    expect((reply['raw_output_contents'] as Buffer[])[0]?.equals(data)).toBe(true)
  }),
  onServer(['9.7/ping-strikes'], 'four pings', {}, async ({ running }) => {
    const ended = await raw(running.addresses.grpc?.port ?? 0, async ({ session }) => {
      const goAway = new Promise((resolve) => { session.once('goaway', (code, _last, data) => { resolve([code, Buffer.from(data as Uint8Array).toString()]) }) })
      await new Promise((resolve) => { session.once('connect', resolve) })
      for (let index = 0; index < 4; index++) session.ping(() => {})
      return goAway
    })
    expect(ended).toEqual([11, 'too_many_pings'])
  }),
  onServer(['9.7/connection-age', '9.7/keepalive'], 'an old connection, pinged before', { connection: { ...DEFAULT_GRPC_TRANSPORT_OPTIONS.connection, maxAge: 400, keepaliveTime: 40, keepalivePermitWithoutCalls: true } }, async ({ running }) => {
    const seen = await raw(running.addresses.grpc?.port ?? 0, async ({ session }) => {
      let pings = 0
      session.on('ping', () => { pings++ })
      const code = await new Promise((resolve) => { session.once('goaway', (given) => { resolve(given) }) })
      return { code, isPinged: pings > 0 }
    })
    expect(seen).toEqual({ code: 0, isPinged: true })
  }),
  program(['9.1/health-not-serving'], 'a model that does not load', async () => {
    await using served = await serveRepository({ 'bad/config.pbtxt': identityConfig().replace('"INPUT0"', '"X"'), 'bad/1/.keep': '' }, { exitOnError: false })
    expect(await served.grpc.call('Check', {})).toEqual({ status: 'NOT_SERVING' })
  }),
  program(['9.7/tls', '9.7/mutual-tls'], 'clients with and without a certificate', async () => {
    using certificates = new TestCertificates()
    const root = certificates.read('ca.crt')
    for (const change of [{ useSsl: true }, { useSslMutual: true }]) {
      const files = { serverCert: certificates.path('server.crt'), serverKey: certificates.path('server.key'), rootCert: certificates.path('ca.crt') }
      await using served = await serveRepository({ 'plain/config.pbtxt': identityConfig(), 'plain/1/.keep': '' }, { grpcTransport: { ...DEFAULT_GRPC_TRANSPORT_OPTIONS, ...files, ...change } })
      const live = async (given?: ChannelCredentials) => {
        const client = new GrpcClient(served.running.addresses.grpc?.port ?? 0, given === undefined ? {} : { credentials: given })
        try {
          return await client.call('ServerLive', {}).then(() => 'live', () => 'refused')
        } finally {
          client.close()
        }
      }
      expect([await live(), await live(credentials.createSsl(root)), await live(credentials.createSsl(root, certificates.read('client.key'), certificates.read('client.crt')))])
        .toEqual(['refused', 'useSsl' in change ? 'live' : 'refused', 'live'])
    }
  }),
]
