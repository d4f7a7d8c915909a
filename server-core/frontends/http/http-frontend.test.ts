import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync, gzipSync, inflateSync, deflateSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { InferenceResponse, Tensor } from '../../contract/inference.ts'
import { LogHub } from '../../logger.ts'
import { ServerError } from '../../server-error.ts'
import { type HttpAnswer, type HttpCall, HttpClient, RawConnection } from '../../testing/http-client.ts'
import { InMemoryInferenceServer, inMemoryModel } from '../../testing/in-memory-inference-server.ts'
import { noSimulation } from '../../testing/test-devices.ts'
import type { Frontend } from '../frontend.ts'
import { headerForwardPattern } from '../header-forwarding.ts'
import { type HttpFrontendOptions, startHttpFrontend } from './http-frontend.ts'

const log = new LogHub().logger('http')
let server: InMemoryInferenceServer
let frontend: Frontend
let client: HttpClient

async function start(options: Partial<HttpFrontendOptions> = {}): Promise<void> {
  frontend = await startHttpFrontend({ server, address: '127.0.0.1', port: 0, allowRepositoryControl: true, simulation: noSimulation(), log, ...options })
  client = new HttpClient(frontend.port)
}

/** Fails its first request once it is told to, and answers nothing before. */
function waitingModel() {
  const started = Promise.withResolvers<AbortSignal | undefined>()
  const answer = Promise.withResolvers<InferenceResponse>()
  const model = inMemoryModel('waiting', [{ name: 'INPUT0', datatype: 'FP32', dims: [1] }], {
    respond: (_request, signal) => { started.resolve(signal); return answer.promise },
  })
  const response: InferenceResponse = { modelName: 'waiting', modelVersion: '1', id: '', parameters: {}, outputs: [] }
  return { model, started: started.promise, finish: () => { answer.resolve(response) } }
}

const waiting = { current: waitingModel() }
/** What the model 'big' answers. */
const big: { current: Tensor | null } = { current: null }

beforeEach(async () => {
  waiting.current = waitingModel()
  server = new InMemoryInferenceServer([
    inMemoryModel('fp32', [{ name: 'INPUT0', datatype: 'FP32', dims: [-1] }], { maxBatchSize: 8 }),
    inMemoryModel('int64', [{ name: 'INPUT0', datatype: 'INT64', dims: [-1] }]),
    inMemoryModel('bytes', [{ name: 'INPUT0', datatype: 'BYTES', dims: [1] }]),
    inMemoryModel('half', [{ name: 'INPUT0', datatype: 'FP16', dims: [-1] }]),
    inMemoryModel('two', [{ name: 'INPUT0', datatype: 'FP32', dims: [-1] }, { name: 'INPUT1', datatype: 'FP32', dims: [-1] }]),
    inMemoryModel('square', [{ name: 'INPUT0', datatype: 'FP32', dims: [-1, -1] }]),
    inMemoryModel('decoupled', [], { isDecoupled: true }),
    inMemoryModel('labelled', [{ name: 'INPUT0', datatype: 'FP32', dims: [4] }], { maxBatchSize: 2, labels: ['cat', 'dog', '', 'bird'] }),
    inMemoryModel('failing', [{ name: 'INPUT0', datatype: 'FP32', dims: [-1] }], {
      respond: () => { throw new ServerError('UNAVAILABLE', '[request id: <id_unknown>] Exceeds maximum queue size') },
    }),
    inMemoryModel('broken', [{ name: 'INPUT0', datatype: 'FP32', dims: [-1] }], { respond: () => { throw new TypeError('boom') } }),
    inMemoryModel('big', [{ name: 'INPUT0', datatype: 'UINT8', dims: [-1] }], {
      respond: () => ({ modelName: 'big', modelVersion: '1', id: '', parameters: {}, outputs: big.current === null ? [] : [big.current] }),
    }),
    waiting.current.model,
  ])
  await start()
})

afterEach(async () => {
  client.close()
  await frontend.stop(0)
})

function infer(model: string, body: string | Uint8Array, headers: Record<string, string> = {}): Promise<HttpAnswer> {
  return client.send({ method: 'POST', path: `/v2/models/${model}/infer`, body, headers })
}

const ONE = '{"name":"INPUT0","datatype":"FP32","shape":[1],"data":[1]}'

describe('the memory of outputs', () => {
  /** More than the buffers of a socket take at once. */
  const BYTES = 16 << 20
  const output = (more: { readonly isExclusive?: true } = {}): Tensor => ({ name: 'OUTPUT0', datatype: 'UINT8', shape: [BYTES], data: new Uint8Array(BYTES).map((_value, index) => index % 251), ...more })
  const call = { path: '/v2/models/big/infer', method: 'POST', body: '{"inputs":[{"name":"INPUT0","datatype":"UINT8","shape":[1],"data":[1]}],"parameters":{"binary_data_output":true}}' }

  it.each([{ isExclusive: true as const, left: 0 }, { left: BYTES }])('is given back once all of it is written, where nobody else has it: %j', async ({ left, ...more }) => {
    const made = output(more)
    const expected = Buffer.from(made.data)
    big.current = made
    // A client that lets the server wait before it takes anything.
    const answer = await slowAnswer(frontend.port, call)
    expect(answer.subarray(answer.byteLength - BYTES).equals(expected)).toBe(true)
    await expect.poll(() => made.data.byteLength).toBe(left)
  })

  it('is left alone where the client goes away in the middle', async () => {
    const made = output({ isExclusive: true })
    big.current = made
    const socket = connect(frontend.port, '127.0.0.1')
    socket.write(`POST ${call.path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${call.body.length}\r\n\r\n${call.body}`)
    await once(socket, 'readable')
    socket.destroy()
    await client.send({ path: '/v2/health/live' })
    expect(made.data.byteLength).toBe(BYTES)
  })
})

describe('an answer that cannot be printed to its end', () => {
  it('breaks off, so that its client does not wait for the rest', async () => {
    const values = new Float32Array(3_000_000).map((_value, index) => 1 + index / 7)
    big.current = { name: 'OUTPUT0', datatype: 'FP32', shape: [values.length], data: new Uint8Array(values.buffer) }
    const { port } = frontend
    const body = '{"inputs":[{"name":"INPUT0","datatype":"UINT8","shape":[1],"data":[1]}]}'
    const ending = new Promise<string>((resolve, reject) => {
      const request = httpRequest({ host: '127.0.0.1', port, path: '/v2/models/big/infer', method: 'POST' }, (response) => {
        // As if somebody had given back what was not theirs, while the client has read nothing yet.
        values.buffer.transfer(0)
        response.on('error', (error: NodeJS.ErrnoException) => { resolve(error.code ?? error.message) })
        response.on('end', () => { resolve('whole') })
        response.resume()
      })
      request.on('error', reject)
      request.end(body)
    })
    expect(await ending).toBe('ECONNRESET')
    expect((await client.send({ path: '/v2/health/live' })).status).toBe(200)
  })
})

/** All bytes of an answer, of which nothing is read for a while. */
async function slowAnswer(port: number, { path, method, body }: { readonly path: string; readonly method: string; readonly body: string }): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  await once(socket, 'readable')
  await sleep(50)
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

describe('endpoints', () => {
  const cases: readonly (readonly [call: HttpCall, status: number, body: string])[] = [
    [{ path: '/v2/health/live' }, 200, ''],
    [{ path: '/v2/health/ready' }, 200, ''],
    [{ path: '/v2/models/fp32/ready' }, 200, ''],
    [{ path: '/v2/models/fp32/versions/1/ready' }, 200, ''],
    [{ path: '/v2/models/fp32/versions/2/ready' }, 404, `{"error":"Request for unknown model: 'fp32' version 2 is not found"}`],
    [{ path: '/v2/models/nope/ready' }, 404, `{"error":"Request for unknown model: 'nope' is not found"}`],
    [{ path: '/v2/models/fp32/versions/99999999999999999999' }, 400, `{"error":"failed to get model version from specified version string '99999999999999999999' (details: stol), version should be an integral value > 0"}`],
    [{ path: '/v2/models/bytes' }, 200, '{"name":"bytes","versions":["1"],"platform":"identity","inputs":[{"name":"INPUT0","datatype":"BYTES","shape":[1]}],"outputs":[{"name":"OUTPUT0","datatype":"BYTES","shape":[1]}]}'],
    [{ path: '/v2/models/nope/stats' }, 400, `{"error":"requested model 'nope' is not available"}`],
    [{ path: '/v2/nope' }, 404, '{"error":"Not Found"}'],
    [{ path: '/v2/', method: 'POST', body: '{}' }, 404, '{"error":"Not Found"}'],
    [{ path: '/v2', method: 'DELETE' }, 405, '{"error":"Method Not Allowed"}'],
    [{ path: '/v2/models/fp32/infer' }, 405, '{"error":"Method Not Allowed"}'],
    [{ path: '/v2/health/live', method: 'OPTIONS' }, 405, '{"error":"Method Not Allowed"}'],
    [{ path: '/v2/repository/index', body: '{"ready":1}' }, 400, `{"error":"Invalid value for 'ready': expected a boolean"}`],
    [{ path: '/v2/repository/index', body: '{' }, 500, '{"error":"failed to parse the request JSON buffer: Missing a name for object member. at 1"}'],
    [{ path: '/v2/repository/models/fp32/load', method: 'POST' }, 200, ''],
    [{ path: '/v2/repository/models/fp32/load', body: '{}' }, 200, ''],
    [{ path: '/v2/repository/models/nope/load', method: 'POST' }, 500, `{"error":"failed to load 'nope', failed to poll from model repository"}`],
    [{ path: '/v2/repository/models/fp32/load', body: '[]' }, 500, '{"error":"attempt to get members for non-object"}'],
    [{ path: '/v2/repository/models/fp32/load', body: '{"parameters":{"x":"y"}}' }, 500, '{"error":"unexpected error on creating Triton parameter"}'],
    [{ path: '/v2/repository/models/fp32/load', body: '{"parameters":{"config":1}}' }, 500, '{"error":"attempt to access JSON non-string as string"}'],
    [{ path: '/v2/repository/r/models/fp32/load', method: 'POST' }, 501, `{"error":"'repository_name' specification is not supported"}`],
    [{ path: '/v2/repository/models/fp32/unload', method: 'POST' }, 200, ''],
    [{ path: '/v2/repository/models/fp32/unload', body: '{"parameters":{"unload_dependents":"x"},"other":1}' }, 200, ''],
    [{ path: '/v2/systemsharedmemory/status' }, 200, '[]'],
    [{ path: '/v2/systemsharedmemory/region/r/status' }, 404, `{"error":"Unable to find system shared memory region: 'r'"}`],
    [{ path: '/v2/cudasharedmemory/region/r/register', body: '{}' }, 400, `{"error":"failed to register CUDA shared memory region: 'r', GPUs not supported"}`],
  ]
  it.each(cases)('%j', async (call, status, body) => {
    const answer = await client.send(call)
    expect([answer.status, answer.text]).toEqual([status, body])
  })

  it('answers everything on one connection', async () => {
    for (const [call] of cases) await client.send(call)
    expect(client.localPorts.size).toBe(1)
  })

  it('prints index, config and statistics as documents', async () => {
    const index = await client.send({ path: '/v2/repository/index', body: '{"ready":true}' })
    expect(JSON.parse(index.text)).toContainEqual({ name: 'fp32', version: '1', state: 'READY' })
    const config = await client.send({ path: '/v2/models/fp32/config' })
    expect(JSON.parse(config.text)).toMatchObject({ name: 'fp32', max_batch_size: 8 })
    await infer('fp32', `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,1],"data":[1]}]}`)
    const stats = await client.send({ path: '/v2/models/fp32/versions/1/stats' })
    expect(JSON.parse(stats.text)).toMatchObject({ model_stats: [{ name: 'fp32', version: '1', inference_count: 1 }] })
  })

  it('hands config and files of a load on, files as bytes', async () => {
    const body = JSON.stringify({ parameters: { config: '{"max_batch_size":4}', 'file:1/model.onnx': Buffer.from([0, 255]).toString('base64') } })
    await client.send({ path: '/v2/repository/models/fp32/load', body })
    const parameters = server.controlCalls[0]?.parameters
    expect(parameters?.config).toBe('{"max_batch_size":4}')
    expect([...(parameters?.files?.get('1/model.onnx') ?? [])]).toEqual([0, 255])
  })

  it('says 400 for health while the server is not ready', async () => {
    server.state = 'STARTING'
    expect((await client.send({ path: '/v2/health/live' })).status).toBe(400)
    expect((await client.send({ path: '/v2/health/ready' })).status).toBe(400)
  })
})

describe('headers as parameters', () => {
  beforeEach(async () => {
    client.close()
    await frontend.stop(0)
    await start({ headerForwardPattern: headerForwardPattern('x-|prior|^timeout', '--http-header-forward-pattern') })
  })

  it('forwards those that match, as they were sent', async () => {
    const answer = await infer('fp32', `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,1],"data":[1]}],"parameters":{"k":1}}`, { 'X-Trace': 'a', Priority: 'b', other: 'c' })
    expect(JSON.parse(answer.text)).toMatchObject({ parameters: { k: 1, 'X-Trace': 'a', Priority: 'b' } })
    expect(answer.text).not.toContain('other')
  })

  it.each(['priority', 'timeout'])('refuses %s, which is reserved', async (name) => {
    const answer = await infer('fp32', `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,1],"data":[1]}]}`, { [name]: '1' })
    expect([answer.status, answer.text]).toEqual([400, `{"error":"Header '${name}' is reserved for Triton usage and cannot be forwarded."}`])
  })
})

describe('infer errors', () => {
  const wrap = (input: string, rest = '') => `{"inputs":[${input}]${rest}}`
  const cases: readonly (readonly [name: string, model: string, body: string, status: number, error: string])[] = [
    ['unknown model', 'nope', '{}', 404, "Request for unknown model: 'nope' is not found"],
    ['decoupled model', 'decoupled', '{}', 501, "HTTP end point doesn't support models with decoupled transaction policy"],
    ['broken JSON', 'fp32', '{"inputs":[', 500, 'failed to parse the request JSON buffer: Invalid value. at 11'],
    ['no object', 'fp32', '[]', 500, "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'"],
    ['no inputs', 'fp32', '{}', 500, "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'"],
    ['inputs no array', 'fp32', '{"inputs":1}', 500, "Unable to parse 'inputs': attempt to access JSON non-array as array"],
    ['id no string', 'fp32', '{"id":1,"inputs":[]}', 500, "Unable to parse 'id': attempt to access JSON non-string as string"],
    ['no data', 'fp32', wrap('{}'), 400, "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'. But no field is set"],
    ['two sources', 'fp32', wrap('{"data":[1],"parameters":{"binary_data_size":4}}'), 400, "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'. But set 'data' 'binary_data_size'"],
    ['no name', 'fp32', wrap('{"data":[1]}'), 500, "Unable to parse 'name': attempt to access non-existing object member 'name'"],
    ['negative dim', 'fp32', wrap('{"name":"INPUT0","datatype":"FP32","shape":[-1],"data":[1]}'), 500, "Unable to parse 'shape': attempt to access JSON non-unsigned-integer as unsigned-integer"],
    ['unknown datatype', 'fp32', wrap('{"name":"INPUT0","datatype":"FP33","shape":[1],"data":[1]}'), 400, 'invalid datatype for input INPUT0'],
    ['datatype from the prototype', 'fp32', wrap('{"name":"INPUT0","datatype":"constructor","shape":[1],"data":[1]}'), 400, 'invalid datatype for input INPUT0'],
    ['FP16 as JSON', 'half', wrap('{"name":"INPUT0","datatype":"FP16","shape":[1],"data":[1]}'), 400, 'receiving FP16 data via JSON is not supported. Please use the binary data format for input INPUT0'],
    ['data no array', 'fp32', wrap('{"name":"INPUT0","datatype":"FP32","shape":[1],"data":1}'), 500, "Unable to parse 'data': attempt to access JSON non-array as array"],
    ['too many elements', 'fp32', wrap('{"name":"INPUT0","datatype":"FP32","shape":[1],"data":[1,2]}'), 500, "Unable to parse 'data': Shape does not match true shape of 'data' field"],
    ['too few elements', 'fp32', wrap('{"name":"INPUT0","datatype":"FP32","shape":[3],"data":[1,2]}'), 500, "Failed to parse 'data' field: shape does not match true shape"],
    ['overflowing count', 'fp32', wrap('{"name":"INPUT0","datatype":"FP32","shape":[4294967296,4294967296],"data":[]}'), 400, "invalid shape for input 'INPUT0': shape [4294967296,4294967296] causes total element count to exceed maximum size of 9223372036854775807"],
    ['overflowing bytes', 'fp32', wrap('{"name":"INPUT0","datatype":"FP32","shape":[9223372036854775807],"data":[]}'), 400, "byte size overflow for input 'INPUT0': element count (9223372036854775807) * data type size (4) exceeds maximum allowed size (9223372036854775807)"],
    ['dim beyond int64', 'fp32', wrap('{"name":"INPUT0","datatype":"FP32","shape":[9223372036854775808],"data":[]}'), 400, "invalid shape for input 'INPUT0': shape [9223372036854775808] contains one or more invalid dimensions"],
    ['large tensor', 'fp32', wrap('{"name":"INPUT0","datatype":"FP32","shape":[16777217],"data":[]}'), 400, "JSON input 'INPUT0' has a byte_size (67108868 bytes) that exceeds the maximum allowed value of 67108864 bytes. Use --http-max-input-size to increase the limit."],
    ['duplicate input', 'fp32', wrap(`${ONE},${ONE}`), 400, "[request id: <id_unknown>] input 'INPUT0' already exists in request"],
    ['duplicate output', 'fp32', wrap(ONE, ',"outputs":[{"name":"O"},{"name":"O"}]'), 400, "[request id: <id_unknown>] output 'O' already exists in request"],
    ['missing binary data', 'fp32', wrap('{"name":"INPUT0","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}}'), 400, "unexpected size for input 'INPUT0', expecting 4 additional bytes for model 'fp32'"],
    ['binary_data_size no number', 'fp32', wrap('{"name":"INPUT0","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":"4"}}'), 500, "Unable to parse 'binary_data_size': attempt to access JSON non-unsigned-integer as unsigned-integer"],
    ['shared memory', 'fp32', wrap('{"name":"INPUT0","datatype":"FP32","shape":[1],"parameters":{"shared_memory_region":"r"}}'), 404, "Unable to find shared memory region: 'r'"],
    ['parameters no object', 'fp32', wrap(ONE, ',"parameters":[]'), 500, 'failed to get request params.: attempt to get members for non-object'],
    ['reserved parameter', 'fp32', wrap(ONE, ',"parameters":{"triton_x":1}'), 400, "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified."],
    ['parameter kind', 'fp32', wrap(ONE, ',"parameters":{"k":null}'), 400, "parameter 'k' has invalid type. It should be either 'int', 'bool', or 'string'."],
    ['negative sequence id', 'fp32', wrap(ONE, ',"parameters":{"sequence_id":-1}'), 500, "Unable to parse 'sequence_id': attempt to access JSON non-string as string"],
    ['priority kind', 'fp32', wrap(ONE, ',"parameters":{"priority":-1}'), 500, "Unable to parse 'priority': attempt to access JSON non-unsigned-integer as unsigned-integer"],
    ['binary_data_output kind', 'fp32', wrap(ONE, ',"parameters":{"binary_data_output":1}'), 500, "Unable to parse 'binary_data_output': attempt to access JSON non-boolean as boolean"],
    ['classification kind', 'fp32', wrap(ONE, ',"outputs":[{"name":"OUTPUT0","parameters":{"classification":-1}}]'), 500, "Unable to set 'classification': attempt to access JSON non-unsigned-integer as unsigned-integer"],
    ['output region and class', 'fp32', wrap(ONE, ',"outputs":[{"name":"OUTPUT0","parameters":{"classification":1,"shared_memory_region":"r"}}]'), 400, "Output can't set both 'shared_memory_region' and 'classification'"],
    ['unknown output', 'fp32', wrap(ONE, ',"outputs":[{"name":"NOPE"}]'), 400, "unexpected inference output 'NOPE' for model 'fp32'"],
    ['full queue', 'failing', wrap(ONE), 503, '[request id: <id_unknown>] Exceeds maximum queue size'],
    ['unexpected error', 'broken', wrap(ONE), 500, 'boom'],
    ['class of BYTES', 'bytes', '{"inputs":[{"name":"INPUT0","datatype":"BYTES","shape":[1],"data":["a"]}],"outputs":[{"name":"OUTPUT0","parameters":{"classification":1}}]}', 400, "class result not available for output due to unsupported type 'BYTES'"],
  ]
  it.each(cases)('%s', async (_name, model, body, status, error) => {
    const answer = await infer(model, body)
    expect([answer.status, JSON.parse(answer.text)]).toEqual([status, { error }])
    expect((await client.send({ path: '/v2/health/live' })).status).toBe(200)
    expect(client.localPorts.size).toBe(1)
  })

  it.each([
    ['-1', 'inference header size should be in range (0, 2), got: -1'],
    ['3', 'inference header size should be in range (0, 2), got: 3'],
    ['abc', 'Unable to parse Inference-Header-Content-Length, got: abc'],
    ['99999999999', 'Unable to parse Inference-Header-Content-Length, value is out of range [ -2147483648, 2147483647 ], got: 99999999999'],
  ])('Inference-Header-Content-Length %s', async (value, error) => {
    const answer = await infer('fp32', '{}', { 'inference-header-content-length': value })
    expect([answer.status, JSON.parse(answer.text)]).toEqual([400, { error }])
  })

  it('refuses an FP16 output as JSON', async () => {
    const json = Buffer.from('{"inputs":[{"name":"INPUT0","datatype":"FP16","shape":[1],"parameters":{"binary_data_size":2}}]}')
    const answer = await infer('half', Buffer.concat([json, Buffer.from([0, 60])]), { 'inference-header-content-length': String(json.length) })
    expect([answer.status, JSON.parse(answer.text)]).toEqual([400, { error: 'sending FP16 data via JSON is not supported. Please use the binary data format for output' }])
  })

  it('refuses bytes left over after the last input', async () => {
    const json = Buffer.from(`{"inputs":[${ONE}]}`)
    const answer = await infer('fp32', Buffer.concat([json, Buffer.from([1])]), { 'inference-header-content-length': String(json.length) })
    expect([answer.status, JSON.parse(answer.text)]).toEqual([400, { error: "unexpected additional input data for model 'fp32'" }])
  })
})

describe('infer', () => {
  it('answers JSON with id, parameters and exact numbers', async () => {
    const answer = await infer('int64', '{"id":"7","parameters":{"a":1,"b":1.5,"c":"x","d":true,"__proto__":"p"},"inputs":[{"name":"INPUT0","datatype":"INT64","shape":[2],"data":[9007199254740993,-1]}]}')
    expect(answer.headers['content-type']).toBe('application/json')
    expect(answer.text).toBe('{"id":"7","model_name":"int64","model_version":"1","parameters":{"a":1,"b":1.5,"c":"x","d":true,"__proto__":"p"},"outputs":[{"name":"OUTPUT0","datatype":"INT64","shape":[2],"data":[9007199254740993,-1]}]}')
    expect(({} as Record<string, unknown>)['p']).toBeUndefined()
  })

  it('passes binary tensors both ways, in the order of the inputs', async () => {
    const json = Buffer.from('{"inputs":[{"name":"INPUT1","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}},{"name":"INPUT0","datatype":"FP32","shape":[2],"parameters":{"binary_data_size":8}}],"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}},{"name":"OUTPUT1"}]}')
    const body = Buffer.concat([json, Buffer.from(Float32Array.of(1, 2, 3).buffer)])
    const answer = await infer('two', body, { 'inference-header-content-length': String(json.length) })
    expect(answer.headers['content-type']).toBe('application/octet-stream')
    const length = Number(answer.headers['inference-header-content-length'])
    expect(JSON.parse(answer.body.subarray(0, length).toString())).toEqual({
      model_name: 'two', model_version: '1', outputs: [
        { name: 'OUTPUT1', datatype: 'FP32', shape: [1], data: [1] },
        { name: 'OUTPUT0', datatype: 'FP32', shape: [2], parameters: { binary_data_size: 8 } },
      ],
    })
    expect([...answer.body.subarray(length)]).toEqual([...new Uint8Array(Float32Array.of(2, 3).buffer)])
  })

  it('takes binary_data_output for outputs that are not listed, JSON for those that are', async () => {
    const unlisted = await infer('fp32', `{"parameters":{"binary_data_output":true},"inputs":[${ONE}]}`)
    expect(unlisted.headers['content-type']).toBe('application/octet-stream')
    const listed = await infer('fp32', `{"parameters":{"binary_data_output":true},"inputs":[${ONE}],"outputs":[{"name":"OUTPUT0"}]}`)
    expect(JSON.parse(listed.text)).toMatchObject({ outputs: [{ data: [1] }] })
  })

  it('sends an empty binary output as plain JSON', async () => {
    const answer = await infer('fp32', '{"parameters":{"binary_data_output":true},"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,0],"data":[]}]}')
    expect(answer.headers['content-type']).toBe('application/json')
    expect(answer.headers['inference-header-content-length']).toBeUndefined()
    expect(JSON.parse(answer.text)).toMatchObject({ outputs: [{ shape: [1, 0], parameters: { binary_data_size: 0 } }] })
  })

  it('does not copy a body that arrived in one piece', async () => {
    let seen: { byteOffset: number; buffer: unknown } | undefined
    const own = inMemoryModel('fp32', [{ name: 'INPUT0', datatype: 'FP32', dims: [-1] }], {
      respond: (request) => {
        const [first, second] = request.inputs
        seen = { byteOffset: (second?.data.byteOffset ?? 0) - (first?.data.byteOffset ?? 0), buffer: first?.data.buffer === second?.data.buffer }
        return { modelName: 'fp32', modelVersion: '1', id: '', parameters: {}, outputs: [] }
      },
    })
    await frontend.stop(0)
    server = new InMemoryInferenceServer([own])
    await start()
    const json = Buffer.from('{"inputs":[{"name":"A","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}},{"name":"B","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}}]}')
    await infer('fp32', Buffer.concat([json, Buffer.alloc(8)]), { 'inference-header-content-length': String(json.length) })
    expect(seen).toEqual({ byteOffset: 4, buffer: true })
  })

  it('keeps every digit of a priority', async () => {
    let priority: bigint | undefined
    const inputs = [{ name: 'INPUT0', datatype: 'FP32' as const, dims: [-1] }]
    await frontend.stop(0)
    server = new InMemoryInferenceServer([inMemoryModel('urgent', inputs, {
      maxBatchSize: 8,
      respond: (request) => {
        priority = request.priority
        return { modelName: 'urgent', modelVersion: '1', id: '', parameters: {}, outputs: [] }
      },
    })])
    await start()
    await infer('urgent', `{"inputs":[${ONE}],"parameters":{"priority":18446744073709551615}}`)
    expect(priority).toBe(18446744073709551615n)
  })

  it('classifies with labels, best first, equal values by index', async () => {
    const answer = await infer('labelled', '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[2,4],"data":[0.25,0.5,0.5,0,-1,-2,-3,-4]}],"outputs":[{"name":"OUTPUT0","parameters":{"classification":3}}]}')
    expect(JSON.parse(answer.text)).toMatchObject({
      outputs: [{ datatype: 'BYTES', shape: [2, 3], data: ['0.500000:1:dog', '0.500000:2', '0.250000:0:cat', '-1.000000:0:cat', '-2.000000:1:dog', '-3.000000:2'] }],
    })
  })

  it('takes a body in many pieces', async () => {
    const values = Float32Array.from({ length: 500_000 }, (_, i) => i)
    const json = Buffer.from(`{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,${values.length}],"parameters":{"binary_data_size":${values.byteLength}}}],"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]}`)
    const answer = await infer('fp32', Buffer.concat([json, Buffer.from(values.buffer)]), { 'inference-header-content-length': String(json.length) })
    const length = Number(answer.headers['inference-header-content-length'])
    expect(answer.body.subarray(length).equals(Buffer.from(values.buffer))).toBe(true)
  })
})

describe('raw binary requests', () => {
  const RAW = { 'inference-header-content-length': '0' }

  it('deduces the shape and answers in binary', async () => {
    const answer = await infer('fp32', Buffer.from(Float32Array.of(1, 2, 3).buffer), RAW)
    const length = Number(answer.headers['inference-header-content-length'])
    expect(JSON.parse(answer.body.subarray(0, length).toString())).toMatchObject({ outputs: [{ shape: [1, 3], parameters: { binary_data_size: 12 } }] })
  })

  it('takes the whole body as the one BYTES element', async () => {
    const answer = await infer('bytes', 'hello', RAW)
    const length = Number(answer.headers['inference-header-content-length'])
    expect(answer.body.subarray(length).toString('latin1')).toBe('\x05\0\0\0hello')
  })

  it('takes an empty body as an empty tensor', async () => {
    const answer = await infer('fp32', '')
    expect(JSON.parse(answer.text)).toMatchObject({ outputs: [{ shape: [1, 0] }] })
  })

  it.each([
    ['two', 'abcd', "[request id: <id_unknown>] Raw request must only have 1 input (found 1) to be deduced but got 2 inputs in 'two' model configuration"],
    ['square', 'abcd', "[request id: <id_unknown>] The shape of the raw input 'INPUT0' can not be deduced because there are more than one variable-sized dimension"],
    ['fp32', 'abc', "[request id: <id_unknown>] input byte size mismatch for input 'raw_input' for model 'fp32'. Expected 0, got 3"],
  ])('%s refuses %s', async (model, body, error) => {
    const answer = await infer(model, body, RAW)
    expect([answer.status, JSON.parse(answer.text)]).toEqual([400, { error }])
  })
})

describe('compression', () => {
  const json = `{"inputs":[${ONE}]}`
  const data = Buffer.from(json)

  it.each([['gzip', gzipSync(data)], ['deflate', deflateSync(data)], ['identity', data]])('reads %s', async (encoding, body) => {
    const answer = await infer('fp32', body, { 'content-encoding': encoding })
    expect(JSON.parse(answer.text)).toMatchObject({ outputs: [{ data: [1] }] })
  })

  it.each([
    ['gzip', 'gzip'], ['deflate;q=0.5, gzip;q=0.1', 'deflate'], ['br, gzip', 'gzip'], ['identity, gzip', undefined], ['gzip;q=0', undefined],
  ])('answers Accept-Encoding %s with %s', async (accept, encoding) => {
    const answer = await infer('fp32', json, { 'accept-encoding': accept })
    expect(answer.headers['content-encoding']).toBe(encoding)
    const body = encoding === 'gzip' ? gunzipSync(answer.body) : encoding === 'deflate' ? inflateSync(answer.body) : answer.body
    expect(JSON.parse(body.toString())).toMatchObject({ outputs: [{ data: [1] }] })
  })

  it('refuses other encodings and says which it knows', async () => {
    const answer = await infer('fp32', json, { 'content-encoding': 'br' })
    expect([answer.status, answer.text, answer.headers['accept-encoding']]).toEqual([501, '{"error":"Unsupported compression type"}', 'gzip, deflate'])
  })

  it('takes a broken stream for an empty body', async () => {
    const answer = await infer('fp32', 'not gzip', { 'content-encoding': 'gzip' })
    expect(JSON.parse(answer.text)).toMatchObject({ outputs: [{ shape: [1, 0] }] })
  })

  it('stops a body that grows beyond the limit', async () => {
    await frontend.stop(0)
    await start({ maxInputSize: 1000 })
    const answer = await infer('fp32', gzipSync(Buffer.alloc(2000)), { 'content-encoding': 'gzip' })
    expect([answer.status, answer.text]).toEqual([400, '{"error":"Decompressed data size exceeds the maximum allowed value of 1000 bytes. Use --http-max-input-size to increase the limit."}'])
  })
})

describe('limits and access', () => {
  it('refuses JSON over the limit and keeps the connection', async () => {
    await frontend.stop(0)
    await start({ maxInputSize: 1000 })
    const body = `{"inputs":[${ONE}],"x":"${'y'.repeat(2000)}"}`
    const text = `{"error":"request JSON size of ${body.length} bytes exceeds the maximum allowed input size of 1000 bytes. Use --http-max-input-size to increase the limit."}`
    expect(await infer('fp32', body)).toMatchObject({ status: 400, text })
    expect(await client.send({ path: '/v2/repository/index', body })).toMatchObject({ status: 400, text })
    const raw = await infer('fp32', Buffer.alloc(2000), { 'inference-header-content-length': '0' })
    expect(raw).toMatchObject({ status: 400, text: '{"error":"Raw input has a byte_size (2000 bytes) that exceeds the maximum allowed value of 1000 bytes. Use --http-max-input-size to increase the limit."}' })
    expect(client.localPorts.size).toBe(1)
  })

  it('asks restricted categories for their header, before the method', async () => {
    await frontend.stop(0)
    await start({ restrictedApis: [{ categories: ['model-repository', 'statistics'], header: 'X-Key', value: 'secret' }], allowRepositoryControl: false })
    const refused = { status: 403, text: `{"error":"This API is restricted, expecting header 'X-Key'"}` }
    expect(await client.send({ path: '/v2/repository/models/fp32/load', method: 'DELETE' })).toMatchObject(refused)
    expect(await client.send({ path: '/v2/models/stats', headers: { 'x-key': 'wrong' } })).toMatchObject(refused)
    expect((await client.send({ path: '/v2/models/stats', headers: { 'x-key': 'secret' } })).status).toBe(200)
    expect((await client.send({ path: '/v2/repository/models/fp32/load', method: 'POST', headers: { 'x-key': 'secret' } })).status).toBe(200)
    expect((await client.send({ path: '/v2' })).status).toBe(200)
  })

  it('refuses load and unload where repository control is closed, naming the flags', async () => {
    await frontend.stop(0)
    await start({ allowRepositoryControl: false })
    for (const action of ['load', 'unload']) {
      const answer = await client.send({ path: `/v2/repository/models/fp32/${action}`, method: 'POST' })
      expect(answer.status).toBe(403)
      expect(answer.text).toMatch(/--http-restricted-api.*--allow-remote-control/)
    }
    expect((await client.send({ path: '/v2/repository/index', method: 'POST' })).status).toBe(200)
    expect(server.controlCalls).toEqual([])
  })

  it('refuses load and unload to web pages, which cannot hide their Origin', async () => {
    for (const action of ['load', 'unload']) {
      const answer = await client.send({ path: `/v2/repository/models/fp32/${action}`, method: 'POST', headers: { origin: 'http://example.org' } })
      expect(answer.status).toBe(403)
      expect(answer.text).toContain('Origin: http://example.org')
    }
    expect(server.controlCalls).toEqual([])
  })

  it('names port and flag when the port is taken', async () => {
    await expect(startHttpFrontend({ server, address: '127.0.0.1', port: frontend.port, allowRepositoryControl: true, simulation: noSimulation(), log }))
      .rejects.toThrow(new RegExp(`--http-port: port ${frontend.port} on 127.0.0.1 is in use`))
  })
})

describe('connections', () => {
  const post = (path: string, body: string, extra = '') => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n${extra}\r\n${body}`

  it('answers Expect: 100-continue and reads chunked bodies', async () => {
    const raw = new RawConnection(frontend.port)
    raw.write('POST /v2/models/fp32/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n')
    await raw.until((data) => data.includes('100 Continue'))
    const json = `{"inputs":[${ONE}]}`
    for (const part of [json.slice(0, 10), json.slice(10)]) raw.write(`${part.length.toString(16)}\r\n${part}\r\n`)
    raw.write('0\r\n\r\n')
    expect((await raw.until((data) => data.includes('"data":[1.0]}]}'))).toString()).toContain('HTTP/1.1 200 OK')
    raw.close()
  })

  it('answers pipelined requests in order', async () => {
    const raw = new RawConnection(frontend.port)
    raw.write(post('/v2/models/nope/infer', '{}') + post('/v2/models/fp32/infer', `{"id":"second","inputs":[${ONE}]}`) + 'GET /v2/health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    const text = (await raw.untilClosed()).toString()
    expect([...text.matchAll(/HTTP\/1.1 (\d+)/g)].map((match) => match[1])).toEqual(['404', '200', '200'])
    expect(text).toContain('"id":"second"')
  })

  it('answers what is no HTTP with 400 and closes', async () => {
    const raw = new RawConnection(frontend.port)
    raw.write('this is not http\r\n\r\n')
    expect((await raw.untilClosed()).toString()).toMatch(/^HTTP\/1.1 400 Bad Request/)
  })

  it('answers what arrived whole before it refuses what follows', async () => {
    const raw = new RawConnection(frontend.port)
    raw.write(`${post('/v2/models/waiting/infer', `{"inputs":[${ONE}]}`)}garbage\r\n\r\n`)
    await waiting.current.started
    waiting.current.finish()
    const text = (await raw.untilClosed()).toString()
    expect([...text.matchAll(/HTTP\/1.1 (\d+)/g)].map((match) => match[1])).toEqual(['200', '400'])
  })

  it.each([
    ['conflicting lengths', 'Content-Length: 2\r\nContent-Length: 3\r\n'],
    ['equal lengths', 'Content-Length: 2\r\nContent-Length: 2\r\n'],
    ['a list of lengths', 'Content-Length: 2, 2\r\n'],
    ['a length with a sign', 'Content-Length: +2\r\n'],
    ['a hexadecimal length', 'Content-Length: 0x2\r\n'],
    ['length and chunked', 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n'],
    ['chunked that is not last', 'Transfer-Encoding: chunked, gzip\r\n'],
    ['a space before the colon', 'Content-Length : 2\r\n'],
    ['a folded header', 'Content-Length: 2\r\nX-A: b\r\n c\r\n'],
    ['two lengths of the JSON', 'Connection: close\r\nContent-Length: 2\r\nInference-Header-Content-Length: 2\r\nInference-Header-Content-Length: 0\r\n'],
  ])('refuses %s with 400', async (_name, headers) => {
    const raw = new RawConnection(frontend.port)
    raw.write(`POST /v2/models/fp32/infer HTTP/1.1\r\nHost: x\r\n${headers}\r\n{}`)
    expect((await raw.untilClosed()).toString()).toMatch(/^HTTP\/1.1 400 /)
  })

  it('refuses a request line beyond the limit with 431', async () => {
    const raw = new RawConnection(frontend.port)
    raw.write(`GET /v2/${'a'.repeat(40_000)} HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect((await raw.untilClosed()).toString()).toMatch(/^HTTP\/1.1 431 /)
  })

  it('refuses headers beyond the limit with 431', async () => {
    const raw = new RawConnection(frontend.port)
    raw.write(`GET /v2 HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(40_000)}\r\n\r\n`)
    expect((await raw.untilClosed()).toString()).toMatch(/^HTTP\/1.1 431 /)
  })

  it('refuses a length beyond int32 at once', async () => {
    const raw = new RawConnection(frontend.port)
    raw.write('POST /v2/models/fp32/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000000\r\n\r\n')
    const text = (await raw.untilClosed()).toString()
    expect(text).toMatch(/^HTTP\/1.1 400 /)
    expect(text).toContain('Unable to parse Content-Length, value is out of range [ -2147483648, 2147483647 ], got: 3000000000')
  })

  it('accepts 65536 chunks and refuses one more', async () => {
    const chunks = (count: number) => `POST /v2/models/fp32/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(count)}`
    const accepted = new RawConnection(frontend.port)
    accepted.write(`${chunks(65_536)}0\r\n\r\n`)
    expect((await accepted.until((data) => data.includes('}'))).toString()).toContain('The document is empty. at 65536')
    accepted.close()
    const refused = new RawConnection(frontend.port)
    refused.write(`${chunks(65_537)}0\r\n\r\n`)
    expect((await refused.untilClosed()).toString()).toContain('Chunked request body exceeds maximum of 65536 non-empty chunks. Send fewer or larger HTTP chunks.')
  })

  it('survives an upload that is broken off', async () => {
    const raw = new RawConnection(frontend.port)
    raw.write('POST /v2/models/fp32/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"inputs"')
    raw.close()
    expect((await client.send({ path: '/v2/health/live' })).status).toBe(200)
  })

  it('ends an upload that stops arriving with 408', async () => {
    await frontend.stop(0)
    await start({ idleTimeoutMilliseconds: 80 })
    const raw = new RawConnection(frontend.port)
    raw.write('POST /v2/models/fp32/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"inputs"')
    expect((await raw.untilClosed()).toString()).toMatch(/^HTTP\/1.1 408 /)
  })

  it('ends a connection whose body stops arriving after it was answered early', async () => {
    await frontend.stop(0)
    await start({ idleTimeoutMilliseconds: 80 })
    const raw = new RawConnection(frontend.port)
    raw.write('POST /v2/models/nope/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"inputs"')
    expect((await raw.untilClosed()).toString()).toMatch(/^HTTP\/1.1 404 /)
  })

  it('lets a client that still sends its body have the answer that came before it', async () => {
    const raw = new RawConnection(frontend.port)
    raw.socket.pause()
    raw.write('POST /v2/nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 60\r\n\r\n')
    // Long after the server has answered: an answer in the client's buffer is lost when the connection is reset.
    for (let sent = 0; sent < 60; sent++) {
      raw.write('x')
      await sleep(2)
    }
    raw.socket.resume()
    expect((await raw.untilClosed()).toString()).toMatch(/^HTTP\/1.1 404 /)
  })

  it('ends a connection whose client stops reading its answer', async () => {
    await frontend.stop(0)
    server = new InMemoryInferenceServer([inMemoryModel('large', [{ name: 'INPUT0', datatype: 'FP32', dims: [-1] }], {
      respond: () => ({
        modelName: 'large', modelVersion: '1', id: '', parameters: {},
        outputs: [{ name: 'OUTPUT0', datatype: 'UINT8', shape: [64_000_000], data: new Uint8Array(64_000_000) }],
      }),
    })])
    await start({ idleTimeoutMilliseconds: 80 })
    const raw = new RawConnection(frontend.port)
    raw.write(post('/v2/models/large/infer', `{"parameters":{"binary_data_output":true},"inputs":[${ONE}]}`))
    await raw.until((data) => data.length > 0)
    raw.socket.pause()
    // A draining front end is done once the stalled connection was cut; nothing else ends it before the 30 seconds.
    const startedAt = performance.now()
    await frontend.stop(30)
    expect(performance.now() - startedAt).toBeLessThan(15_000)
    raw.close()
  })

  it('waits for a request in flight under an exit timeout longer than any timer', async () => {
    const answer = infer('waiting', `{"inputs":[${ONE}]}`)
    await waiting.current.started
    const stopped = frontend.stop(1e9)
    // A timer of more than 31 bits of milliseconds is over before this one.
    await new Promise((resolve) => { setTimeout(resolve, 20) })
    waiting.current.finish()
    expect((await answer).status).toBe(200)
    client.close()
    await stopped
  })

  it('cancels the request of a client that goes away', async () => {
    const raw = new RawConnection(frontend.port)
    raw.write(post('/v2/models/waiting/infer', `{"inputs":[${ONE}]}`))
    const signal = await waiting.current.started
    const aborted = new Promise((resolve) => { signal?.addEventListener('abort', resolve) })
    raw.close()
    await aborted
    expect(signal?.aborted).toBe(true)
    waiting.current.finish()
  })

  it('survives clients that ask for a tunnel and reset their connection, and closes those that keep theirs open', async () => {
    for (let index = 0; index < 60; index++) {
      const raw = new RawConnection(frontend.port)
      await new Promise((resolve) => { raw.socket.once('connect', resolve) })
      raw.write('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n')
      if (index % 2 === 0) await new Promise((resolve) => { setTimeout(resolve, 1) })
      raw.socket.resetAndDestroy()
    }
    const raw = new RawConnection(frontend.port)
    raw.socket.allowHalfOpen = true
    raw.write('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n')
    await new Promise((resolve) => { raw.socket.once('end', resolve) })
    expect(raw.received.toString()).toMatch(/^HTTP\/1\.1 405 /)
    const isClosed = new Promise((resolve) => { raw.socket.once('error', resolve) })
    const write = setInterval(() => { raw.write('x') }, 20)
    await isClosed
    clearInterval(write)
  })

  it('drains: answers what is in flight, closes idle connections, accepts nothing new', async () => {
    const idle = new RawConnection(frontend.port)
    idle.write('GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n')
    await idle.until((data) => data.includes('\r\n\r\n'))
    const busy = new RawConnection(frontend.port)
    busy.write(post('/v2/models/waiting/infer', `{"inputs":[${ONE}]}`))
    await waiting.current.started
    const stopped = frontend.stop(30)
    await idle.untilClosed()
    const late = new RawConnection(frontend.port)
    expect((await late.untilClosed()).length).toBe(0)
    waiting.current.finish()
    expect((await busy.untilClosed()).toString()).toContain('HTTP/1.1 200 OK')
    await stopped
  })

  it('cuts what is still in flight when the time is over', async () => {
    const busy = new RawConnection(frontend.port)
    busy.write(post('/v2/models/waiting/infer', `{"inputs":[${ONE}]}`))
    await waiting.current.started
    await frontend.stop(0.05)
    expect((await busy.untilClosed()).length).toBe(0)
  })
})
