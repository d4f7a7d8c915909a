/** Shared memory over both transports: sections 5.9, 6.3, 6.4 and 9.2 of the protocol. */
import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { ConformanceCase } from '../conformance-case.ts'
import type { Conversation } from '../conversation.ts'
import { IDENTITY_PARAMETERS } from '../servers.ts'

const PAGE = 4096

/** A shared memory object of two pages that holds the floats 0, 1, 2, ...; it is gone after the case. */
async function withObject(use: (key: string, floats: () => Float32Array) => Promise<void>): Promise<void> {
  const key = `npu-console-conformance-${randomUUID()}`
  const path = `/dev/shm/${key}`
  writeFileSync(path, new Uint8Array(Float32Array.from({ length: 2 * PAGE / 4 }, (_, index) => index).buffer))
  try {
    await use(key, () => new Float32Array(new Uint8Array(readFileSync(path)).buffer))
  } finally {
    rmSync(path)
  }
}

const post = (c: Conversation, path: string, body?: object) => c.http({ method: 'POST', path, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
const register = (c: Conversation, region: string, body: object) => post(c, `/v2/systemsharedmemory/region/${region}/register`, body)
const unregister = (c: Conversation, region: string) => post(c, `/v2/systemsharedmemory/region/${region}/unregister`)
const place = (region: string, offset: number | bigint, byteSize: number | bigint) => `{"shared_memory_region":"${region}","shared_memory_offset":${offset},"shared_memory_byte_size":${byteSize}}`
const inferBody = (input: string, output = '{}') => `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,4],"parameters":${input}}],"outputs":[{"name":"OUTPUT0","parameters":${output}}]}`

/** A refusal of `register`: over HTTP, and the same over gRPC. */
const REFUSED: readonly (readonly [fact: ConformanceCase['facts'][number], name: string, body: (key: string) => { key: string; offset?: number; byte_size: number }, status: number])[] = [
  ['5.9/invalid-key', 'slashes alone', () => ({ key: '//', byte_size: 8 }), 400],
  ['5.9/reserved-key', 'the prefix of Python models', () => ({ key: '/triton_python_backend_shm_region_0', byte_size: 8 }), 400],
  ['5.9/open-fails', 'no such object', () => ({ key: '/npu-console-conformance-none', byte_size: 8 }), 500],
  ['5.9/open-fails', 'a path', () => ({ key: '../etc/hostname', byte_size: 8 }), 500],
  ['5.9/beyond-object', 'longer than the object', (key) => ({ key, offset: PAGE, byte_size: PAGE + 1 }), 400],
  ['5.9/not-page-aligned', 'an offset within a page', (key) => ({ key, offset: 8, byte_size: 8 }), 400],
  ['5.9/not-page-aligned', 'no byte', (key) => ({ key, byte_size: 0 }), 400],
]

export const SHARED_MEMORY_CASES: readonly ConformanceCase[] = [
  { facts: ['5.9/status'], name: 'nothing is registered, and nothing may be', transport: 'http', call: { path: '/v2/systemsharedmemory/status' }, status: 200, body: '[]' },
  { facts: ['5.9/status-unknown'], name: 'a region that is not there', transport: 'http', call: { path: '/v2/systemsharedmemory/region/none/status' }, status: 404, error: "Unable to find system shared memory region: 'none'" },
  { facts: ['5.9/status-unknown'], name: 'a region that is not there', transport: 'grpc', method: 'SystemSharedMemoryStatus', request: { name: 'none' }, error: ['NOT_FOUND', "Unable to find system shared memory region: 'none'"] },
  { facts: ['5.9/disabled'], name: 'register', transport: 'http', call: { path: '/v2/systemsharedmemory/region/r/register', body: '{"key":"k","byte_size":8}' }, status: 501, error: /^Client shared memory is disabled/ },
  { facts: ['5.9/disabled'], name: 'register', transport: 'grpc', method: 'SystemSharedMemoryRegister', request: { name: 'r', key: 'k', byte_size: 8 }, error: ['UNSUPPORTED', /^Client shared memory is disabled/] },
  { facts: ['5.9/disabled'], name: 'unregister', transport: 'http', call: { method: 'POST', path: '/v2/systemsharedmemory/unregister' }, status: 501, error: /^Client shared memory is disabled/ },
  { facts: ['5.9/cuda-status'], name: 'over HTTP', transport: 'http', call: { path: '/v2/cudasharedmemory/status' }, status: 200, body: '[]' },
  { facts: ['5.9/cuda-status'], name: 'over gRPC', transport: 'grpc', method: 'CudaSharedMemoryStatus', request: {}, reply: { regions: {} } },
  {
    facts: ['5.9/cuda-register'], name: 'over HTTP', transport: 'http', server: 'extensions', call: { path: '/v2/cudasharedmemory/region/c/register', body: '{"raw_handle":{"b64":"AAAA"},"device_id":0,"byte_size":8}' },
    status: 400, error: "failed to register CUDA shared memory region: 'c', GPUs not supported",
  },
  {
    facts: ['5.9/cuda-register'], name: 'over gRPC', transport: 'grpc', server: 'extensions', method: 'CudaSharedMemoryRegister', request: { name: 'c', raw_handle: Buffer.alloc(64), byte_size: 8 },
    error: ['INVALID_ARG', "failed to register CUDA shared memory region: 'c', GPUs not supported"],
  },
  { facts: ['5.9/cuda-unregister'], name: 'over HTTP', transport: 'http', server: 'extensions', call: { method: 'POST', path: '/v2/cudasharedmemory/unregister' }, status: 200, body: '' },
  { facts: ['5.9/cuda-unregister'], name: 'over gRPC', transport: 'grpc', server: 'extensions', method: 'CudaSharedMemoryUnregister', request: {}, reply: {} },
  { facts: ['5.9/no-region-name'], name: 'no region in the path', transport: 'http', server: 'extensions', call: { path: '/v2/systemsharedmemory/register', body: '{"key":"k","byte_size":8}' }, status: 400, error: "'region name' is necessary to register system shared memory region" },
  { facts: ['5.9/no-key'], name: 'no key', transport: 'http', server: 'extensions', call: { path: '/v2/systemsharedmemory/region/r/register', body: '{"byte_size":8}' }, status: 400, error: "Shared memory register request has no 'key' field" },
  { facts: ['5.9/no-byte-size'], name: 'no byte size', transport: 'http', server: 'extensions', call: { path: '/v2/systemsharedmemory/region/r/register', body: '{"key":"k"}' }, status: 400, error: "Shared memory register request has no 'byte_size' field" },
  {
    facts: ['5.9/register', '5.9/unregister', '5.9/already'], name: 'register twice, show, unregister twice', transport: 'both', server: 'extensions',
    run: (c) => withObject(async (key) => {
      expect((await register(c, 'both', { key: `/${key}`, byte_size: 64 })).status).toBe(200)
      expect((await register(c, 'both', { key, byte_size: 64 })).status).toBe(400)
      expect(await c.grpcFailure('SystemSharedMemoryRegister', { name: 'both', key, byte_size: 64 })).toMatchObject({ code: 6 })
      expect((await c.http({ path: '/v2/systemsharedmemory/region/both/status' })).text).toBe(`[{"name":"both","key":"/${key}","offset":0,"byte_size":64}]`)
      expect(await c.grpc('SystemSharedMemoryStatus', { name: 'both' })).toMatchObject({ regions: { both: { name: 'both', key: `/${key}`, offset: '0', byte_size: '64' } } })
      for (const _ of [1, 2]) expect((await unregister(c, 'both')).status).toBe(200)
      expect(await c.grpc('SystemSharedMemoryUnregister', { name: 'both' })).toEqual({})
      expect(await c.grpcFailure('SystemSharedMemoryStatus', { name: 'both' })).toMatchObject({ code: 5 })
    }),
  },
  {
    facts: ['5.9/empty-name-grpc'], name: 'register without a name', transport: 'grpc', server: 'extensions',
    run: (c) => withObject(async (key) => {
      expect(await c.grpc('SystemSharedMemoryRegister', { name: '', key, byte_size: 8 })).toEqual({})
      expect(await c.grpc('SystemSharedMemoryUnregister', { name: '' })).toEqual({})
    }),
  },
  {
    facts: ['5.9/unregister-in-use'], name: 'unregister while a request runs', transport: 'http', server: 'extensions',
    run: (c) => withObject(async (key, floats) => {
      await register(c, 'busy', { key, byte_size: 64 })
      const answer = c.inferJson('slow', inferBody(place('busy', 16, 16), place('busy', 0, 16)))
      // One that uses the region and waits behind the first: the region is in use when it is unregistered.
      const second = c.grpc('ModelInfer', { model_name: 'slow', inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 4], parameters: { shared_memory_region: { string_param: 'busy' }, shared_memory_byte_size: { int64_param: 16 } } }] })
      await expect.poll(async () => (await c.metrics({ path: '/metrics' })).text, { interval: 5, timeout: 10_000 }).toContain('nv_inference_pending_request_count{model="slow",version="1"} 1\n')
      expect(await c.grpc('SystemSharedMemoryUnregister', { name: 'busy' })).toEqual({})
      expect(await c.grpc('SystemSharedMemoryStatus', { name: 'busy' })).toMatchObject({ regions: { busy: { key } } })
      expect((await answer).status).toBe(200)
      await second
      expect([...floats().subarray(0, 4)]).toEqual([4, 5, 6, 7])
      expect((await c.http({ path: '/v2/systemsharedmemory/region/busy/status' })).status).toBe(404)
    }),
  },
  ...REFUSED.map(([fact, name, body, status]): ConformanceCase => ({
    facts: [fact], name, transport: 'both', server: 'extensions',
    run: (c) => withObject(async (key) => {
      const answer = await register(c, 'refused', body(key))
      expect(answer.status).toBe(status)
      const { error } = JSON.parse(answer.text) as { error: string }
      expect((await c.grpcFailure('SystemSharedMemoryRegister', { name: 'refused', ...body(key) })).details).toBe(error)
      expect((await c.http({ path: '/v2/systemsharedmemory/region/refused/status' })).status).toBe(404)
    }),
  })),
  {
    facts: ['6.3/shm-unknown'], name: 'an input in a region that is not there', transport: 'http', server: 'extensions', call: { path: '/v2/models/plain/infer', body: inferBody(place('none', 0, 16)) }, status: 404,
    error: "Unable to find shared memory region: 'none'",
  },
  {
    facts: ['6.3/shm-offset', '6.3/shm-offset-and-size', '6.3/shm-overflow', '6.4/shm-too-small', '6.3/output-shm-and-classification', '6.3/output-shm-and-binary'], name: 'ranges that do not fit', transport: 'both', server: 'extensions',
    run: (c) => withObject(async (key) => {
      await register(c, 'ranges', { key, byte_size: 64 })
      const refusals: readonly (readonly [body: string, status: number, text: string])[] = [
        [inferBody(place('ranges', 64, 16)), 400, "Invalid offset for shared memory region: 'ranges'"],
        [inferBody(place('ranges', 56, 16)), 400, "Invalid offset + byte size for shared memory region: 'ranges'"],
        [inferBody(place('ranges', 1, 2n ** 64n - 1n)), 400, "Integer overflow detected: byte_size (18446744073709551615) + offset (1) exceeds maximum value (18446744073709551615) for region 'ranges'"],
        [inferBody(place('ranges', 0, 16), place('ranges', 16, 15)), 500, "shared memory size specified with the request for output 'OUTPUT0' (15 bytes) should be at least 16 bytes to hold the results"],
        [inferBody(place('ranges', 0, 16), '{"shared_memory_region":"ranges","shared_memory_byte_size":16,"classification":1}'), 400, "Output can't set both 'shared_memory_region' and 'classification'"],
        [inferBody(place('ranges', 0, 16), '{"shared_memory_region":"ranges","shared_memory_byte_size":16,"binary_data":true}'), 400, "Output can't set both 'shared_memory_region' and 'binary_data'"],
      ]
      for (const [body, status, text] of refusals) {
        const answer = await c.inferJson('plain', body)
        expect([answer.status, answer.text]).toEqual([status, JSON.stringify({ error: text })])
      }
      const wire = (region: string, offset: number, byteSize: number) => ({ shared_memory_region: { string_param: region }, shared_memory_offset: { int64_param: offset }, shared_memory_byte_size: { int64_param: byteSize } })
      const failure = (parameters: object) => c.grpcFailure('ModelInfer', { model_name: 'plain', inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 4], parameters }] })
      expect(await failure(wire('ranges', 64, 16))).toEqual({ code: 3, details: "Invalid offset for shared memory region: 'ranges'" })
      expect(await failure(wire('ranges', 56, 16))).toEqual({ code: 3, details: "Invalid offset + byte size for shared memory region: 'ranges'" })
      await unregister(c, 'ranges')
    }),
  },
  {
    facts: ['6.4/shm-output', '9.2/shm-takes-no-raw'], name: 'inputs and outputs in a region', transport: 'both', server: 'extensions',
    run: (c) => withObject(async (key, floats) => {
      await register(c, 'inout', { key, offset: PAGE, byte_size: 64 })
      const answer = await c.inferJson('plain', inferBody(place('inout', 0, 16), place('inout', 32, 16)))
      expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { model_name: 'plain', model_version: '1', parameters: JSON.parse(`{${IDENTITY_PARAMETERS}}`) as unknown, outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: [1, 4] }] }])
      const first = PAGE / 4
      expect([...floats().subarray(first + 8, first + 12)]).toEqual([first, first + 1, first + 2, first + 3])
      const region = { shared_memory_region: { string_param: 'inout' }, shared_memory_byte_size: { int64_param: 8 } }
      const raw = new Uint8Array(Int32Array.of(7, 8).buffer)
      const reply = await c.grpc('ModelInfer', {
        model_name: 'pair', inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 2], parameters: region }, { name: 'INPUT1', datatype: 'INT32', shape: [1, 1, 2] }],
        outputs: [{ name: 'OUTPUT0' }, { name: 'OUTPUT1' }], raw_input_contents: [raw],
      })
      expect((reply['raw_output_contents'] as Buffer[]).map((bytes) => [...bytes])).toEqual([[...new Uint8Array(Float32Array.of(first, first + 1).buffer)], [...raw]])
      await unregister(c, 'inout')
    }),
  },
]
