import { readFileSync } from 'node:fs'
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { InferenceRequest, InferenceResponse } from '../../contract/inference.ts'
import { LogHub } from '../../logger.ts'
import { InMemoryInferenceServer, inMemoryModel } from '../../testing/in-memory-inference-server.ts'
import type { Frontend } from '../frontend.ts'
import { type GrpcFrontendOptions, startGrpcFrontend } from './grpc-frontend.ts'
import { loadProtoServices } from './proto-services.ts'

const hub = new LogHub()
const log = hub.logger('grpc')
const services = loadProtoServices()
const HUGE = new Uint8Array(800_000_000)
const LIMITS = { 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 }

let server: InMemoryInferenceServer
let frontend: Frontend
let client: Client
let seen: InferenceRequest | undefined
let seenSignal: AbortSignal | undefined
let started = Promise.withResolvers<void>()
/** The answer of the model that waits. */
let ended = Promise.withResolvers<InferenceResponse>()

async function start(options: Partial<GrpcFrontendOptions> = {}): Promise<void> {
  frontend = await startGrpcFrontend({ server, address: '127.0.0.1', port: 0, allowRepositoryControl: true, log, ...options })
  client = new Client(`127.0.0.1:${frontend.port}`, credentials.createInsecure(), LIMITS)
}

beforeEach(async () => {
  seen = undefined
  started = Promise.withResolvers<void>()
  ended = Promise.withResolvers<InferenceResponse>()
  server = new InMemoryInferenceServer([
    inMemoryModel('fp32', [{ name: 'INPUT0', datatype: 'FP32', dims: [-1] }], { maxBatchSize: 8, labels: ['cat', 'dog'] }),
    inMemoryModel('any', [{ name: 'INPUT0', datatype: 'INT32', dims: [-1] }], {
      respond: (request) => {
        seen = request
        return {
          modelName: 'any', modelVersion: '1', id: request.id, parameters: { whole: 9007199254740993n, double: 0.5, text: 't', flag: true },
          outputs: request.inputs.map((input) => ({ ...input, name: input.name.replace('INPUT', 'OUTPUT') })),
        }
      },
    }),
    // Three times the same bytes, which nobody ever looks at: the system gives them no memory.
    inMemoryModel('huge', [], {
      respond: () => ({ modelName: 'huge', modelVersion: '1', id: '', parameters: {}, outputs: ['A', 'B', 'C'].map((name) => ({ name, datatype: 'UINT8', shape: [HUGE.byteLength], data: HUGE })) }),
    }),
    inMemoryModel('decoupled', [], { isDecoupled: true }),
    inMemoryModel('waiting', [], { respond: (_request, signal) => { seenSignal = signal; started.resolve(); return ended.promise } }),
  ])
  await start()
})

afterEach(async () => {
  client.close()
  await frontend.stop(0)
})

/** The reply as proto-loader decodes it: any shape, compared in tests. */
type Reply = Record<string, unknown>

function call(method: string, request: object, metadata = new Metadata()): Promise<Reply> {
  const definition = (services.inference[method] ?? services.health[method])
  if (definition === undefined) throw new Error(`no method ${method}`)
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(definition.path, definition.requestSerialize, definition.responseDeserialize, request, metadata,
      (error, reply) => { if (error === null) resolve(reply as Reply); else reject(error) })
  })
}

async function failure(method: string, request: object, metadata?: Metadata): Promise<[number, string]> {
  try {
    await call(method, request, metadata)
  } catch (error) {
    const { code, details } = error as ServiceError
    return [code, details]
  }
  throw new Error(`${method} did not fail`)
}

const raw = (...values: number[]) => Buffer.from(Float32Array.from(values).buffer)
const input = (fields: object = {}) => ({ name: 'INPUT0', datatype: 'FP32', shape: [1, 1], ...fields })

describe('unary calls', () => {
  it.each<[string, object, object]>([
    ['ServerLive', {}, { live: true }],
    ['ServerReady', {}, { ready: true }],
    ['ModelReady', { name: 'fp32' }, { ready: true }],
    ['ServerMetadata', {}, { name: 'triton', version: '2.73.0', extensions: ['classification', 'sequence', 'binary_tensor_data', 'statistics'] }],
    ['ModelMetadata', { name: 'fp32', version: '1' }, {
      name: 'fp32', versions: ['1'], platform: 'identity', inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: ['-1', '-1'] }],
      outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: ['-1', '-1'] }],
    }],
    ['RepositoryIndex', { ready: true }, { models: expect.arrayContaining([{ name: 'fp32', version: '1', state: 'READY', reason: '' }]) }],
    ['RepositoryModelLoad', { model_name: 'fp32' }, {}],
    ['RepositoryModelUnload', { model_name: 'fp32', parameters: { unload_dependents: { bool_param: true } } }, {}],
    ['SystemSharedMemoryStatus', {}, { regions: {} }],
    ['CudaSharedMemoryStatus', {}, { regions: {} }],
    ['Check', {}, { status: 'SERVING' }],
    ['Check', { service: 'anything' }, { status: 'SERVING' }],
  ])('%s %j', async (method, request, reply) => {
    expect(await call(method, request)).toEqual(reply)
  })

  it('sends the config and statistics as messages', async () => {
    const { config } = await call('ModelConfig', { name: 'fp32' })
    expect(config).toMatchObject({
      name: 'fp32', max_batch_size: 8, version_policy: { latest: { num_versions: 1 } }, parameters: { execute_delay_ms: { string_value: '0' } },
      input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: ['-1'] }], instance_group: [{ kind: 'KIND_CPU', count: 1 }],
    })
    await call('ModelInfer', { model_name: 'fp32', inputs: [input()], raw_input_contents: [raw(1)] })
    expect(await call('ModelStatistics', { name: 'fp32' })).toMatchObject({ model_stats: [{ name: 'fp32', inference_count: '1', inference_stats: { success: { count: '1' } } }] })
  })

  it('hands config and files of a load on', async () => {
    await call('RepositoryModelLoad', { model_name: 'fp32', parameters: { config: { string_param: '{}' }, 'file:1/a': { bytes_param: Buffer.from([0, 255]) } } })
    const parameters = server.controlCalls[0]?.parameters
    expect([parameters?.config, [...(parameters?.files?.get('1/a') ?? [])]]).toEqual(['{}', [0, 255]])
  })

  it('is not serving while the server is not ready', async () => {
    server.state = 'EXITING'
    expect(await call('Check', {})).toEqual({ status: 'NOT_SERVING' })
  })
})

describe('ModelInfer', () => {
  it('matches raw contents to the inputs in order and answers raw', async () => {
    const reply = await call('ModelInfer', { model_name: 'any', id: 'x', inputs: [input(), input({ name: 'INPUT1' })], raw_input_contents: [raw(1), raw(2), raw(3)] })
    expect(reply).toMatchObject({
      model_name: 'any', model_version: '1', id: 'x',
      outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: ['1', '1'], contents: null }, { name: 'OUTPUT1' }],
      raw_output_contents: [raw(1), raw(2)],
      parameters: { whole: { int64_param: '9007199254740993' }, double: { double_param: 0.5 }, text: { string_param: 't' }, flag: { bool_param: true } },
    })
  })

  it.each<[string, object, ArrayBufferView]>([
    ['BOOL', { bool_contents: [true, false] }, Uint8Array.of(1, 0)],
    ['INT8', { int_contents: [-1, 300] }, Int8Array.of(-1, 44)],
    ['INT16', { int_contents: [-2] }, Int16Array.of(-2)],
    ['INT32', { int_contents: [-2147483648] }, Int32Array.of(-2147483648)],
    ['INT64', { int64_contents: ['-9223372036854775808', '9007199254740993'] }, BigInt64Array.of(-9223372036854775808n, 9007199254740993n)],
    ['UINT8', { uint_contents: [255] }, Uint8Array.of(255)],
    ['UINT16', { uint_contents: [65537] }, Uint16Array.of(1)],
    ['UINT32', { uint_contents: [4294967295] }, Uint32Array.of(4294967295)],
    ['UINT64', { uint64_contents: ['18446744073709551615'] }, BigUint64Array.of(18446744073709551615n)],
    ['FP32', { fp32_contents: [0.5, NaN] }, Float32Array.of(0.5, NaN)],
    ['FP64', { fp64_contents: [0.1] }, Float64Array.of(0.1)],
    ['BYTES', { bytes_contents: [Buffer.from('ab'), Buffer.alloc(0)] }, Uint8Array.of(2, 0, 0, 0, 0x61, 0x62, 0, 0, 0, 0)],
    ['FP32', {}, new Uint8Array(0)],
  ])('takes typed contents of %s', async (datatype, contents, expected) => {
    await call('ModelInfer', { model_name: 'any', inputs: [input({ datatype, contents })] })
    expect(Buffer.from(seen?.inputs[0]?.data ?? [])).toEqual(Buffer.from(expected.buffer, expected.byteOffset, expected.byteLength))
  })

  it('reads reserved and custom parameters', async () => {
    await call('ModelInfer', {
      model_name: 'any', inputs: [], parameters: {
        sequence_id: { int64_param: '-1' }, sequence_start: { bool_param: true }, priority: { uint64_param: '18446744073709551615' }, timeout: { int64_param: '9' },
        k: { int64_param: '9007199254740993' }, s: { string_param: 'v' }, d: { double_param: 1 }, b: { bool_param: false },
      },
    })
    expect(seen).toMatchObject({
      sequenceId: 18446744073709551615n, sequenceStart: true, priority: 18446744073709551615n, timeoutMicroseconds: 9,
      parameters: { k: 9007199254740993n, s: 'v', d: 1, b: false },
    })
  })

  it('wraps a negative timeout to uint64, which is no shorter than any default', async () => {
    await call('ModelInfer', { model_name: 'any', inputs: [], parameters: { timeout: { int64_param: '-5' } } })
    expect(seen?.timeoutMicroseconds).toBe(2 ** 64)
  })

  it('classifies', async () => {
    const reply = await call('ModelInfer', {
      model_name: 'fp32', inputs: [input({ shape: [1, 2] })], raw_input_contents: [raw(1, 2)],
      outputs: [{ name: 'OUTPUT0', parameters: { classification: { int64_param: '1' } } }],
    })
    expect(reply).toMatchObject({ outputs: [{ datatype: 'BYTES', shape: ['1', '1'] }], raw_output_contents: [Buffer.from('\x0e\0\0\x002.000000:1:dog')] })
  })

  it('passes messages beyond the 4 MiB that gRPC starts with', async () => {
    const data = Buffer.alloc(6_000_000, 7)
    const reply = await call('ModelInfer', { model_name: 'fp32', inputs: [input({ shape: [1, 1_500_000] })], raw_input_contents: [data] })
    expect((reply['raw_output_contents'] as Buffer[])[0]?.equals(data)).toBe(true)
  })

  it('refuses an answer of more than 2 GiB - 1, and goes on', async () => {
    expect(await failure('ModelInfer', { model_name: 'huge' })).toEqual([status.RESOURCE_EXHAUSTED, expect.stringMatching(/^Sent message larger than max \(24\d{8} vs\. 2147483647\)$/)])
    expect(await call('ServerLive', {})).toEqual({ live: true })
  })

  it('tells the request when the client cancels', async () => {
    const definition = services.inference['ModelInfer']
    if (definition === undefined) throw new Error('no ModelInfer')
    const pending = client.makeUnaryRequest(definition.path, definition.requestSerialize, definition.responseDeserialize,
      { model_name: 'waiting', inputs: [] }, () => undefined)
    await started.promise
    const aborted = new Promise((resolve) => { seenSignal?.addEventListener('abort', resolve) })
    pending.cancel()
    await aborted
    expect(seenSignal?.aborted).toBe(true)
  })
})

describe('errors', () => {
  const infer = (fields: object) => ({ model_name: 'any', ...fields })
  it.each<[string, string, object, number, string]>([
    ['unknown model', 'ModelReady', { name: 'nope' }, status.NOT_FOUND, "Request for unknown model: 'nope' is not found"],
    ['version no number', 'ModelReady', { name: 'any', version: 'x1' }, status.INVALID_ARGUMENT, "failed to get model version from specified version string 'x1' (details: stol), version should be an integral value > 0"],
    ['negative version', 'ModelMetadata', { name: 'any', version: '-1' }, status.INVALID_ARGUMENT, "invalid model version specified '-1' , version should be an integral value > 0"],
    ['decoupled', 'ModelInfer', { model_name: 'decoupled' }, status.UNIMPLEMENTED, "ModelInfer RPC doesn't support models with decoupled transaction policy"],
    ['no data', 'ModelInfer', infer({ inputs: [input()] }), status.INVALID_ARGUMENT, "unable to find data for input tensor 'INPUT0' for model 'any' in request."],
    ['typed and raw', 'ModelInfer', infer({ inputs: [input({ contents: { fp32_contents: [1] } })], raw_input_contents: [raw(1)] }), status.INVALID_ARGUMENT, "contents field must not be specified when using raw_input_contents for 'INPUT0' for model 'any'"],
    ['wrong field', 'ModelInfer', infer({ inputs: [input({ contents: { int_contents: [1] } })] }), status.INVALID_ARGUMENT, "unexpected explicit tensor data for input tensor 'INPUT0' for model 'any' of type 'INT32', expected datatype 'FP32'"],
    ['two fields', 'ModelInfer', infer({ inputs: [input({ contents: { int_contents: [1], fp32_contents: [1] } })] }), status.INVALID_ARGUMENT, "unexpected explicit tensor data for input tensor 'INPUT0' for model 'any', binary data was already supplied."],
    ['datatype', 'ModelInfer', infer({ inputs: [input({ datatype: 'FP33' })], raw_input_contents: [raw(1)] }), status.INVALID_ARGUMENT, "[request id: <id_unknown>] inference input 'INPUT0' data-type is 'INVALID', but model 'any' expects 'INT32'"],
    ['region without size', 'ModelInfer', infer({ inputs: [input({ parameters: { shared_memory_region: { string_param: 'r' } } })] }), status.INVALID_ARGUMENT, "'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor 'INPUT0'"],
    ['size without region', 'ModelInfer', infer({ inputs: [input({ parameters: { shared_memory_byte_size: { int64_param: 4 } } })] }), status.INVALID_ARGUMENT, "'shared_memory_byte_size' can not be specified without 'shared_memory_region' parameter for tensor 'INPUT0'"],
    ['region', 'ModelInfer', infer({ inputs: [input({ parameters: { shared_memory_region: { string_param: 'r' }, shared_memory_byte_size: { int64_param: 4 } } })] }), status.NOT_FOUND, "Unable to find shared memory region: 'r'"],
    ['sequence_id kind', 'ModelInfer', infer({ parameters: { sequence_id: { bool_param: true } } }), status.INVALID_ARGUMENT, "invalid value type for 'sequence_id' parameter, expected int64_param or string_param."],
    ['sequence_start kind', 'ModelInfer', infer({ parameters: { sequence_start: { int64_param: 1 } } }), status.INVALID_ARGUMENT, "invalid value type for 'sequence_start' parameter, expected bool_param."],
    ['priority kind', 'ModelInfer', infer({ parameters: { priority: { bool_param: true } } }), status.INVALID_ARGUMENT, "invalid value type for 'priority' parameter, expected int64_param or uint64_param."],
    ['negative priority', 'ModelInfer', infer({ parameters: { priority: { int64_param: -1 } } }), status.INVALID_ARGUMENT, "invalid value for 'priority', expected value >= 0."],
    ['timeout kind', 'ModelInfer', infer({ parameters: { timeout: { uint64_param: 1 } } }), status.INVALID_ARGUMENT, "invalid value type for 'timeout' parameter, expected int64_param."],
    ['reserved key', 'ModelInfer', infer({ parameters: { triton_x: { bool_param: true } } }), status.INVALID_ARGUMENT, "parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: triton_enable_empty_final_response"],
    ['uint64 parameter', 'ModelInfer', infer({ parameters: { k: { uint64_param: 1 } } }), status.INVALID_ARGUMENT, "invalid value type for 'k' parameter, expected int64_param, bool_param, or string_param."],
    ['classification kind', 'ModelInfer', infer({ outputs: [{ name: 'O', parameters: { classification: { bool_param: true } } }] }), status.INVALID_ARGUMENT, "invalid value type for 'classification' parameter, expected int64_param"],
    ['config kind', 'RepositoryModelLoad', { model_name: 'fp32', parameters: { config: { bool_param: true } } }, status.INVALID_ARGUMENT, "invalid value type for load parameter 'config', expected string_param."],
    ['load key', 'RepositoryModelLoad', { model_name: 'fp32', parameters: { x: { bool_param: true } } }, status.INVALID_ARGUMENT, "unrecognized load parameter 'x'."],
    ['repository name', 'RepositoryModelLoad', { model_name: 'fp32', repository_name: 'r' }, status.UNIMPLEMENTED, "'repository_name' specification is not supported"],
    ['unload kind', 'RepositoryModelUnload', { model_name: 'fp32', parameters: { unload_dependents: { string_param: 'x' } } }, status.INVALID_ARGUMENT, "invalid value type for 'unload_dependents' parameter, expected bool_param."],
  ])('%s', async (_name, method, request, code, details) => {
    expect(await failure(method, request)).toEqual([code, details])
  })

  it.each<[string, string, string, string]>([
    ['is cut off', 'RepositoryModelUnload', '42056161', 'index out of range: 2 + 5 > 4'],
    ['has a map entry without value', 'RepositoryModelUnload', '1201781a030a016b', 'an entry of a map has no value'],
    ['is cut off and has tensors', 'ModelInfer', '0a0973', 'the message ends at byte 3, inside a field that began before byte 2'],
  ])('answers a message that %s with INTERNAL, and logs no error of its own', async (_name, method, hex, reason) => {
    const raw = new Client(`127.0.0.1:${frontend.port}`, credentials.createInsecure())
    const error = await new Promise<ServiceError | null>((resolve) => {
      raw.makeUnaryRequest(`/inference.GRPCInferenceService/${method}`, (bytes: Buffer) => bytes, (bytes) => bytes, Buffer.from(hex, 'hex'), resolve)
    })
    raw.close()
    expect([error?.code, error?.details]).toEqual([status.INTERNAL, `cannot parse the request of ${method}: ${reason}`])
    expect(hub.recent(10).filter(({ level }) => level === 'error')).toEqual([])
  })

  it('asks restricted protocols for their header', async () => {
    client.close()
    await frontend.stop(0)
    await start({ restrictedApis: [{ categories: ['statistics'], header: 'key', value: 'secret' }] })
    expect(await failure('ModelStatistics', {})).toEqual([status.UNAVAILABLE, "This protocol is restricted, expecting header 'triton-grpc-protocol-key'"])
    const metadata = new Metadata()
    metadata.set('triton-grpc-protocol-key', 'secret')
    expect(await call('ModelStatistics', { name: 'fp32' }, metadata)).toMatchObject({ model_stats: [{ name: 'fp32' }] })
    expect(await call('ServerLive', {})).toEqual({ live: true })
  })

  it('refuses load and unload where repository control is closed, naming the flags', async () => {
    client.close()
    await frontend.stop(0)
    await start({ allowRepositoryControl: false })
    const [code, details] = await failure('RepositoryModelLoad', { model_name: 'fp32' })
    expect(code).toBe(status.PERMISSION_DENIED)
    expect(details).toMatch(/--grpc-restricted-protocol.*--allow-remote-control/)
  })

  it('names port and flag when the port is taken', async () => {
    await expect(startGrpcFrontend({ server, address: '127.0.0.1', port: frontend.port, allowRepositoryControl: true, log }))
      .rejects.toThrow(new RegExp(`--grpc-port: port ${frontend.port} on 127.0.0.1 is in use`))
  })

  it('says which folder lacks the protocol files', () => {
    expect(() => loadProtoServices('/nonexistent')).toThrow(/the gRPC protocol files cannot be read from '\/nonexistent'/)
  })
})

describe('stopping', () => {
  it('does not wait for clients that are connected and idle', async () => {
    await call('ServerLive', {})
    const startedAt = performance.now()
    await frontend.stop(30)
    expect(performance.now() - startedAt).toBeLessThan(15_000)
  })

  it('waits for calls in flight under an exit timeout longer than any timer', async () => {
    const answer = call('ModelInfer', { model_name: 'waiting' })
    await started.promise
    const stopped = frontend.stop(1e9)
    // A timer of more than 31 bits of milliseconds is over before this one.
    await new Promise((resolve) => { setTimeout(resolve, 20) })
    ended.resolve({ modelName: 'waiting', modelVersion: '1', id: 'late', parameters: {}, outputs: [] })
    expect(await answer).toMatchObject({ id: 'late' })
    client.close()
    await stopped
  })

  it('cuts calls that are still in flight when the time is over', async () => {
    const failed = failure('ModelInfer', { model_name: 'waiting' })
    await started.promise
    await frontend.stop(0.05)
    expect(await failed).toEqual([expect.any(Number), expect.any(String)])
  })
})

describe('the protocol on the wire', () => {
  it('encodes ModelInferRequest with the numbers of the protocol', () => {
    const message = services.inference['ModelInfer']?.requestSerialize({
      model_name: 'm', model_version: '1', id: 'i', parameters: { p: { uint64_param: '5' } },
      inputs: [{ name: 'a', datatype: 'FP32', shape: ['1'], contents: { fp32_contents: [1] } }], outputs: [{ name: 'o' }], raw_input_contents: [Buffer.from([9])],
    })
    expect(message?.toString('hex')).toBe([
      '0a016d', '120131', '1a0169', '2207', '0a0170', '12022805', // model_name=1 model_version=2 id=3 parameters=4{key=1 value=2{uint64_param=5}}
      '2a14', '0a0161', '120446503332', '1a0101', '2a06', '3204', '0000803f', // inputs=5{name=1 datatype=2 shape=3 contents=5{fp32_contents=6}}
      '3203', '0a016f', '3a0109', // outputs=6{name=1} raw_input_contents=7
    ].join(''))
  })

  it('has every call of the protocol', () => {
    expect(Object.keys(services.inference).sort()).toEqual([
      'CudaSharedMemoryRegister', 'CudaSharedMemoryStatus', 'CudaSharedMemoryUnregister', 'LogSettings', 'ModelConfig', 'ModelInfer', 'ModelMetadata',
      'ModelReady', 'ModelStatistics', 'ModelStreamInfer', 'RepositoryIndex', 'RepositoryModelLoad', 'RepositoryModelUnload', 'ServerLive',
      'ServerMetadata', 'ServerReady', 'SystemSharedMemoryRegister', 'SystemSharedMemoryStatus', 'SystemSharedMemoryUnregister', 'TraceSetting',
    ])
    expect(services.inference['ModelInfer']?.path).toBe('/inference.GRPCInferenceService/ModelInfer')
  })

  it('keeps every field number of the inference messages unique', () => {
    const text = readFileSync(new URL('./proto/grpc_service.proto', import.meta.url), 'utf8')
    for (const block of text.split(/^message /m).slice(1)) {
      const own = block.split('\n').filter((line) => /^ {2}[^ ].* = \d+;/.test(line)).map((line) => /= (\d+);/.exec(line)?.[1])
      expect(new Set(own).size, block.split('\n')[0]).toBe(own.length)
    }
  })
})
