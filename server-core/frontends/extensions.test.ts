/** Shared memory, trace settings and log settings over both transports, on one server. */
import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LogHub } from '../logger.ts'
import { SharedMemoryRegions } from '../shared-memory/shared-memory-regions.ts'
import { DEFAULT_TRACE_CONFIG } from '../tracing/trace-settings.ts'
import { Tracer } from '../tracing/tracer.ts'
import { GrpcClient } from '../testing/grpc-client.ts'
import { HttpClient } from '../testing/http-client.ts'
import { InMemoryInferenceServer, inMemoryModel } from '../testing/in-memory-inference-server.ts'
import { noSimulation } from '../testing/test-devices.ts'
import type { Frontend } from './frontend.ts'
import { startGrpcFrontend } from './grpc/grpc-frontend.ts'
import { startHttpFrontend } from './http/http-frontend.ts'

let logs: LogHub
let frontends: Frontend[]
let http: HttpClient
let grpc: GrpcClient
let key: string
let path: string

beforeEach(async () => {
  logs = new LogHub()
  key = `npu-console-test-${randomUUID()}`
  path = `/dev/shm/${key}`
  writeFileSync(path, new Uint8Array(new Float32Array([1, 2, 3, 4, 0, 0, 0, 0]).buffer))
  const server = new InMemoryInferenceServer([inMemoryModel('fp32', [{ name: 'INPUT0', datatype: 'FP32', dims: [-1] }]), inMemoryModel('bytes', [{ name: 'INPUT0', datatype: 'BYTES', dims: [1] }])])
  const services = { logs, sharedMemory: new SharedMemoryRegions({ isAllowed: true }), tracer: new Tracer({ ...DEFAULT_TRACE_CONFIG, file: '/nowhere' }, logs.logger('tracer')) }
  const common = { server, services, address: '127.0.0.1', port: 0, allowRepositoryControl: true, log: logs.logger('test') }
  frontends = [await startHttpFrontend({ ...common, simulation: noSimulation() }), await startGrpcFrontend(common)]
  http = new HttpClient(frontends[0]!.port)
  grpc = new GrpcClient(frontends[1]!.port)
})

afterEach(async () => {
  http.close()
  grpc.close()
  for (const frontend of frontends) await frontend.stop(0)
  rmSync(path)
})

const floats = () => [...new Float32Array(new Uint8Array(readFileSync(path)).buffer)]
const post = async (target: string, body: unknown) => {
  const { status: code, text } = await http.send({ method: 'POST', path: target, body: typeof body === 'string' ? body : JSON.stringify(body) })
  return [code, text] as const
}
const registerBody = () => ({ key: `/${key}`, byte_size: 32 })
const shm = (offset: number, byteSize: number, region = 'r') => ({ shared_memory_region: region, shared_memory_offset: offset, shared_memory_byte_size: byteSize })
const httpRequest = (input: object, output: object, count = 4) => ({
  inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [count], parameters: input }], outputs: [{ name: 'OUTPUT0', parameters: output }],
})
const wire = (parameters: Record<string, string | number>) => Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, typeof value === 'string' ? { string_param: value } : { int64_param: value }]))
const grpcRequest = (input: Record<string, string | number>, output: Record<string, string | number>) => ({
  model_name: 'fp32', inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [4], parameters: wire(input) }], outputs: [{ name: 'OUTPUT0', parameters: wire(output) }],
})

describe('shared memory over HTTP', () => {
  it('registers, reads inputs, writes outputs and unregisters', async () => {
    expect(await post('/v2/systemsharedmemory/region/r/register', registerBody())).toEqual([200, ''])
    expect((await http.send({ path: '/v2/systemsharedmemory/region/r/status' })).text).toBe(`[{"name":"r","key":"/${key}","offset":0,"byte_size":32}]`)
    expect(await post('/v2/models/fp32/infer', httpRequest(shm(0, 16), { ...shm(16, 16), binary_data: false }))).toEqual([200, '{"model_name":"fp32","model_version":"1","outputs":[{"name":"OUTPUT0","datatype":"FP32","shape":[4]}]}'])
    expect(floats()).toEqual([1, 2, 3, 4, 1, 2, 3, 4])
    expect(await post('/v2/systemsharedmemory/region/r/unregister', '')).toEqual([200, ''])
    expect((await http.send({ path: '/v2/systemsharedmemory/status' })).text).toBe('[]')
    expect(await post('/v2/cudasharedmemory/unregister', '')).toEqual([200, ''])
  })

  it.each<[string, string, unknown, number, string]>([
    ['no region', '/v2/systemsharedmemory/register', {}, 400, "'region name' is necessary to register system shared memory region"],
    ['no key', '/v2/systemsharedmemory/region/r/register', { byte_size: 1 }, 400, "Shared memory register request has no 'key' field"],
    ['no byte size', '/v2/systemsharedmemory/region/r/register', { key: 'k' }, 400, "Shared memory register request has no 'byte_size' field"],
    ['no body', '/v2/systemsharedmemory/region/r/register', '', 500, 'failed to parse the request JSON buffer: The document is empty. at 0'],
    ['a key that is no text', '/v2/systemsharedmemory/region/r/register', { key: 1, byte_size: 1 }, 500, 'attempt to access JSON non-string as string'],
    ['a path as key', '/v2/systemsharedmemory/region/r/register', { key: '../../etc/passwd', byte_size: 1 }, 500, "Unable to open shared memory region: '../../etc/passwd'"],
    ['no such region', '/v2/models/fp32/infer', httpRequest(shm(0, 16, 'x'), {}), 404, "Unable to find shared memory region: 'x'"],
    ['an input beyond the region', '/v2/models/fp32/infer', httpRequest(shm(20, 16), {}), 400, "Invalid offset + byte size for shared memory region: 'r'"],
    ['an output that does not fit', '/v2/models/fp32/infer', httpRequest(shm(0, 16), shm(16, 8)), 500,
      "shared memory size specified with the request for output 'OUTPUT0' (8 bytes) should be at least 16 bytes to hold the results"],
    ['region and binary', '/v2/models/fp32/infer', httpRequest(shm(0, 16), { ...shm(16, 16), binary_data: true }), 400, "Output can't set both 'shared_memory_region' and 'binary_data'"],
  ])('refuses %s', async (_name, target, body, code, text) => {
    if (target.endsWith('infer')) await post('/v2/systemsharedmemory/region/r/register', registerBody())
    expect(await post(target, body)).toEqual([code, JSON.stringify({ error: text })])
  })

  it('survives the owner truncating the object', async () => {
    await post('/v2/systemsharedmemory/region/r/register', registerBody())
    truncateSync(path, 4)
    expect((await post('/v2/models/fp32/infer', httpRequest(shm(0, 16), {})))[0]).toBe(400)
    expect((await http.send({ path: '/v2/health/live' })).status).toBe(200)
  })
})

describe('shared memory over gRPC', () => {
  it('registers, reads inputs, writes outputs and unregisters', async () => {
    expect(await grpc.call('SystemSharedMemoryRegister', { name: 'r', key, byte_size: 32 })).toEqual({})
    expect(await grpc.call('SystemSharedMemoryStatus', {})).toEqual({ regions: { r: { name: 'r', key, offset: '0', byte_size: '32' } } })
    const reply = await grpc.call('ModelInfer', grpcRequest(shm(0, 16), shm(16, 16)))
    expect(reply).toMatchObject({ outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: ['4'] }], raw_output_contents: [Buffer.alloc(0)] })
    expect(floats()).toEqual([1, 2, 3, 4, 1, 2, 3, 4])
    expect(await grpc.call('SystemSharedMemoryUnregister', { name: '' })).toEqual({})
    expect(await grpc.failure('SystemSharedMemoryStatus', { name: 'r' })).toEqual({ code: status.NOT_FOUND, details: "Unable to find system shared memory region: 'r'" })
    expect(await grpc.failure('CudaSharedMemoryRegister', { name: 'c' })).toEqual({ code: status.INVALID_ARGUMENT, details: "failed to register CUDA shared memory region: 'c', GPUs not supported" })
    expect(await grpc.call('CudaSharedMemoryUnregister', {})).toEqual({})
  })

  it('refuses an output that does not fit, and a range beyond the region', async () => {
    await grpc.call('SystemSharedMemoryRegister', { name: 'r', key, byte_size: 32 })
    expect(await grpc.failure('ModelInfer', grpcRequest(shm(0, 16), shm(16, 8)))).toEqual({
      code: status.INTERNAL, details: "shared memory size specified with the request for output 'OUTPUT0' (8 bytes) should be at least 16 bytes to hold the results",
    })
    expect(await grpc.failure('ModelInfer', grpcRequest(shm(-1, 16), {}))).toEqual({ code: status.INVALID_ARGUMENT, details: "Invalid offset for shared memory region: 'r'" })
  })
})

describe('log settings', () => {
  const settings = { log_file: '', log_info: true, log_warning: true, log_error: true, log_verbose_level: 0, log_format: 'default' }

  it('shows and changes them over HTTP, at once', async () => {
    expect((await http.send({ path: '/v2/logging' })).text).toBe(JSON.stringify(settings))
    const [code, text] = await post('/v2/logging', { log_info: false, log_verbose_level: 2, log_format: 'ISO8601', log_error: null, unknown: [] })
    expect([code, JSON.parse(text)]).toEqual([200, { ...settings, log_info: false, log_verbose_level: 2, log_format: 'ISO8601' }])
    const before = logs.recent(100).length
    logs.logger('here').info('not wanted')
    logs.logger('here').verbose(2, 'wanted')
    expect(logs.recent(100).slice(before).map(({ message }) => message)).toEqual(['wanted'])
  })

  it.each<[string, unknown, number, string]>([
    ['the file', { log_file: 'x' }, 501, 'log file location can not be updated through network protocol'],
    ['a format that there is not', { log_info: false, log_format: 'xml' }, 503, 'invalid argument for --log_format, got: xml'],
    ['a flag that is none', { log_info: 1 }, 500, 'attempt to access JSON non-boolean as boolean'],
    ['a negative level', { log_verbose_level: -1 }, 500, 'attempt to access JSON non-unsigned-integer as unsigned-integer'],
    ['no body', '', 500, 'failed to parse the request JSON buffer: The document is empty. at 0'],
  ])('refuses %s over HTTP and changes nothing', async (_name, body, code, text) => {
    expect(await post('/v2/logging', body)).toEqual([code, JSON.stringify({ error: text })])
    expect((await http.send({ path: '/v2/logging' })).text).toBe(JSON.stringify(settings))
  })

  it('shows and changes them over gRPC', async () => {
    const wireSettings = (more: object) => ({
      settings: {
        log_file: { string_param: '', parameter_choice: 'string_param' }, log_info: { bool_param: true, parameter_choice: 'bool_param' }, log_warning: { bool_param: true, parameter_choice: 'bool_param' },
        log_error: { bool_param: true, parameter_choice: 'bool_param' }, log_verbose_level: { uint32_param: 0, parameter_choice: 'uint32_param' }, log_format: { string_param: 'default', parameter_choice: 'string_param' }, ...more,
      },
    })
    expect(await grpc.call('LogSettings', {})).toEqual(wireSettings({}))
    expect(await grpc.call('LogSettings', { settings: { log_warning: { bool_param: false } } })).toEqual(wireSettings({ log_warning: { bool_param: false, parameter_choice: 'bool_param' } }))
    expect(logs.settings.isWarningOn).toBe(false)
  })

  it.each<[string, object, number, string]>([
    ['the file', { log_file: { string_param: 'x' } }, status.UNIMPLEMENTED, 'log file location can not be updated through network protocol'],
    ['a flag that is none', { log_info: { string_param: 'x' } }, status.INVALID_ARGUMENT, "expect boolean for 'log_info'"],
    ['a level that is none', { log_verbose_level: { bool_param: true } }, status.INVALID_ARGUMENT, "expect int32 for 'log_verbose_level'"],
    ['a format that is no text', { log_format: { bool_param: true } }, status.INVALID_ARGUMENT, "expect string for 'log_format'"],
    ['a format that there is not', { log_format: { string_param: 'xml' } }, status.INVALID_ARGUMENT, 'invalid argument for log_format, got: xml'],
  ])('refuses %s over gRPC', async (_name, settingsSent, code, details) => {
    expect(await grpc.failure('LogSettings', { settings: settingsSent })).toEqual({ code, details })
  })
})

describe('trace settings', () => {
  const settings = { trace_level: ['OFF'], trace_rate: '1000', trace_count: '-1', log_frequency: '0', trace_file: '/nowhere', trace_mode: 'triton' }
  const get = async (target: string) => JSON.parse((await http.send({ path: target })).text) as unknown

  it('shows and changes them over HTTP, globally and for a model', async () => {
    expect((await http.send({ path: '/v2/trace/setting' })).text).toBe(JSON.stringify(settings))
    const own = { ...settings, trace_level: ['TIMESTAMPS', 'TENSORS'], trace_rate: '1' }
    const [code, text] = await post('/v2/models/fp32/trace/setting', { trace_level: ['TENSORS', 'TIMESTAMPS'], trace_rate: '1' })
    expect([code, JSON.parse(text)]).toEqual([200, own])
    expect(await get('/v2/trace/setting')).toEqual(settings)
    await post('/v2/trace/setting', { trace_count: '5', log_frequency: '3', trace_rate: '7' })
    expect(await get('/v2/models/fp32/trace/setting')).toEqual({ ...own, trace_count: '5', log_frequency: '3' })
    await post('/v2/models/fp32/trace/setting', { trace_level: null, trace_rate: null })
    expect(await get('/v2/models/fp32/trace/setting')).toEqual({ ...settings, trace_count: '5', log_frequency: '3', trace_rate: '7' })
    await post('/v2/trace/setting', { trace_count: null, log_frequency: null, trace_rate: null })
    expect(await get('/v2/trace/setting')).toEqual(settings)
  })

  it.each<[string, string, unknown, number, string]>([
    ['the file', '/v2/trace/setting', { trace_file: 'x' }, 501, 'trace file location can not be updated through network protocol'],
    ['OFF with others', '/v2/trace/setting', { trace_level: ['OFF', 'TENSORS'] }, 400, "Expect only one trace level 'OFF' is specified"],
    ['a level that there is not', '/v2/trace/setting', { trace_level: ['ALL'] }, 400, "unknown trace level 'ALL': expected OFF, or any of TIMESTAMPS, TENSORS"],
    ['a rate that is no number', '/v2/trace/setting', { trace_rate: 'x' }, 400, "Unable to parse 'trace_rate', got: x"],
    ['a rate beyond 32 bits', '/v2/trace/setting', { trace_rate: '4294967296' }, 400, "Unable to parse 'trace_rate', value is out of range [ 0, 4294967295 ], got: 4294967296"],
    ['a negative count', '/v2/trace/setting', { trace_count: '-2' }, 400, "Unable to parse 'trace_count'. Expecting value >= -1, got:-2"],
    ['a number that is no text', '/v2/trace/setting', { log_frequency: 1 }, 500, 'attempt to access JSON non-string as string'],
    ['no body', '/v2/trace/setting', '', 500, 'failed to parse the request JSON buffer: The document is empty. at 0'],
    ['an unknown model', '/v2/models/nope/trace/setting', {}, 404, "Request for unknown model: 'nope' is not found"],
  ])('refuses %s over HTTP and changes nothing', async (_name, target, body, code, text) => {
    expect(await post(target, body)).toEqual([code, JSON.stringify({ error: text })])
    expect(await get('/v2/trace/setting')).toEqual(settings)
  })

  it('shows and changes them over gRPC, and refuses what is wrong', async () => {
    const reply = (more: Record<string, string[]> = {}) => ({
      settings: Object.fromEntries(Object.entries({ trace_level: ['OFF'], trace_rate: ['1000'], trace_count: ['-1'], log_frequency: ['0'], trace_file: ['/nowhere'], trace_mode: ['triton'], ...more }).map(([name, value]) => [name, { value }])),
    })
    expect(await grpc.call('TraceSetting', {})).toEqual(reply())
    expect(await grpc.call('TraceSetting', { model_name: 'fp32', settings: { trace_level: { value: ['TIMESTAMPS', 'TENSORS'] }, trace_count: { value: ['2'] } } })).toEqual(reply({ trace_level: ['TIMESTAMPS', 'TENSORS'], trace_count: ['2'] }))
    expect(await grpc.call('TraceSetting', { model_name: 'fp32', settings: { trace_level: {} } })).toEqual(reply({ trace_count: ['2'] }))
    const refused = (change: object) => grpc.failure('TraceSetting', { settings: change })
    expect(await refused({ trace_rate: { value: ['1', '2'] } })).toEqual({ code: status.INVALID_ARGUMENT, details: "expect only 1 value for 'trace_rate'" })
    expect(await refused({ trace_count: { value: ['-2'] } })).toEqual({ code: status.INVALID_ARGUMENT, details: "Unable to parse 'trace_count'. Expecting value >= -1, got: -2" })
    expect(await refused({ trace_file: { value: ['x'] } })).toEqual({ code: status.UNIMPLEMENTED, details: 'trace file location can not be updated through network protocol' })
    expect(await grpc.failure('TraceSetting', { model_name: 'nope' })).toEqual({ code: status.NOT_FOUND, details: "Request for unknown model: 'nope' is not found" })
  })
})
