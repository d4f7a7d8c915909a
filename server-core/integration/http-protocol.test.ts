/** The whole server over its protocols: real repository, real life cycle, real scheduler, one table for HTTP and gRPC where both apply. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ERROR_KINDS, type ErrorKind } from '../contract/errors.ts'
import type { Tensor } from '../contract/inference.ts'
import type { RunningServer } from '../start-server.ts'
import type { GrpcClient } from '../testing/grpc-client.ts'
import type { HttpAnswer, HttpClient } from '../testing/http-client.ts'
import { serveRepository, type ServedRepository } from '../testing/served-repository.ts'
import { identityConfig } from '../testing/temporary-repository.ts'

const tensors = (kind: 'input' | 'output', list: string) => `${kind} [ ${list} ]`

function modelOf(pairs: readonly (readonly [type: string, dims: string, more?: string])[], more = '', maxBatchSize = 0): string {
  const inputs = pairs.map(([type, dims, extra = '']) => `data_type: ${type} dims: ${dims} ${extra}`)
  const outputs = pairs.map(([type, dims]) => `data_type: ${type} dims: ${dims}`)
  return `backend: "identity"\nmax_batch_size: ${maxBatchSize}\n` +
    `${tensors('input', inputs.map((text, i) => `{ name: "INPUT${i}" ${text} }`).join(', '))}\n` +
    `${tensors('output', outputs.map((text, i) => `{ name: "OUTPUT${i}" ${text} }`).join(', '))}\n${more}\n`
}

let served: ServedRepository
let running: RunningServer
let http: HttpClient
let metrics: HttpClient
let grpc: GrpcClient

beforeAll(async () => {
  served = await serveRepository({
    'plain/config.pbtxt': identityConfig(), 'plain/1/.keep': '', 'plain/3/.keep': '',
    'batched/config.pbtxt': identityConfig('dynamic_batching { max_queue_delay_microseconds: 100 default_queue_policy { default_timeout_microseconds: 18446744073709551615 } }\nmetric_tags { key: "team" value: "ocr" }'), 'batched/1/.keep': '',
    'pair/config.pbtxt': modelOf([['TYPE_FP32', '[ 2 ]'], ['TYPE_INT32', '[ -1, 2 ]']], '', 4), 'pair/1/.keep': '',
    'optional/config.pbtxt': modelOf([['TYPE_FP32', '[ 1 ]'], ['TYPE_FP32', '[ 1 ]', 'optional: true']]), 'optional/1/.keep': '',
    'text/config.pbtxt': modelOf([['TYPE_STRING', '[ -1 ]']]), 'text/1/.keep': '',
    'wide/config.pbtxt': modelOf([['TYPE_INT64', '[ -1 ]'], ['TYPE_UINT64', '[ -1 ]'], ['TYPE_FP16', '[ -1 ]']]), 'wide/1/.keep': '',
    'leaving/config.pbtxt': identityConfig('parameters { key: "execute_delay_ms" value { string_value: "1000" } }\ninstance_group { count: 2 kind: KIND_CPU }'), 'leaving/1/.keep': '',
    'later/config.pbtxt': identityConfig(), 'later/1/.keep': '',
    'bad/config.pbtxt': 'backend: "identity"\ninput [ { name: "X" data_type: TYPE_FP32 dims: [ 1 ] } ]\noutput [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 1 ] } ]\n', 'bad/1/.keep': '',
  }, { modelControlMode: 'explicit', loadModels: ['plain', 'batched', 'pair', 'optional', 'text', 'wide'] })
  ;({ running, http, metrics, grpc } = served)
})

afterAll(() => served[Symbol.asyncDispose]())

interface Call {
  readonly model: string
  readonly version?: string
  readonly id?: string
  readonly inputs: readonly Tensor[]
  readonly outputs?: readonly string[]
}

function tensor(name: string, datatype: Tensor['datatype'], shape: readonly number[], data: ArrayBufferView | number): Tensor {
  const bytes = typeof data === 'number' ? new Uint8Array(data) : new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
  return { name, datatype, shape, data: bytes }
}

function inferHttp({ model, version, id, inputs, outputs = [] }: Call): Promise<HttpAnswer> {
  const json = Buffer.from(JSON.stringify({
    ...(id === undefined ? {} : { id }), parameters: { binary_data_output: true },
    inputs: inputs.map(({ name, datatype, shape, data }) => ({ name, datatype, shape, parameters: { binary_data_size: data.length } })),
    outputs: outputs.map((name) => ({ name, parameters: { binary_data: true } })),
  }))
  const path = `/v2/models/${model}${version === undefined ? '' : `/versions/${version}`}/infer`
  return http.send({ path, body: Buffer.concat([json, ...inputs.map(({ data }) => data)]), headers: { 'inference-header-content-length': String(json.length) } })
}

function grpcRequest({ model, version = '', id = '', inputs, outputs = [] }: Call): object {
  return {
    model_name: model, model_version: version, id, inputs: inputs.map(({ name, datatype, shape }) => ({ name, datatype, shape })),
    outputs: outputs.map((name) => ({ name })), raw_input_contents: inputs.map(({ data }) => data),
  }
}

const four = (name = 'INPUT0', batch = 1) => tensor(name, 'FP32', [batch, 4], 16 * batch)
const NOTE = 'NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. See the model configuration docs for more info on max_batch_size.'

describe('inference errors over both protocols', () => {
  const cases: readonly (readonly [name: string, call: Call, kind: ErrorKind, text: string | RegExp])[] = [
    ['unknown model', { model: 'nope', inputs: [] }, 'NOT_FOUND', "Request for unknown model: 'nope' is not found"],
    ['unknown version', { model: 'plain', version: '2', inputs: [] }, 'NOT_FOUND', "Request for unknown model: 'plain' version 2 is not found"],
    ['unknown output', { model: 'plain', inputs: [four()], outputs: ['NOPE'] }, 'INVALID_ARG', "unexpected inference output 'NOPE' for model 'plain'"],
    ['no inputs', { model: 'plain', id: 'r1', inputs: [] }, 'INVALID_ARG', "[request id: r1] expected 1 inputs but got 0 inputs for model 'plain'. Got input(s) [], but missing required input(s) ['INPUT0']. Please provide all required input(s)."],
    ['missing optional bounds', { model: 'optional', inputs: [] }, 'INVALID_ARG', /^\[request id: <id_unknown>\] expected number of inputs between 1 and 2 but got 0 inputs for model 'optional'/],
    ['unknown input', { model: 'plain', inputs: [four('X')] }, 'INVALID_ARG', "unexpected inference input 'X' for model 'plain'"],
    ['no shape', { model: 'plain', inputs: [tensor('INPUT0', 'FP32', [], 16)] }, 'INVALID_ARG', "[request id: <id_unknown>] input 'INPUT0' has no shape but model requires batch dimension for 'plain'"],
    ['different batches', { model: 'pair', inputs: [tensor('INPUT0', 'FP32', [1, 2], 8), tensor('INPUT1', 'INT32', [2, 1, 2], 16)] }, 'INVALID_ARG', /^\[request id: <id_unknown>\] input 'INPUT[01]' batch size does not match other inputs for 'pair'$/],
    ['batch too large', { model: 'plain', inputs: [four('INPUT0', 9)] }, 'INVALID_ARG', "[request id: <id_unknown>] inference request batch-size must be <= 8 for 'plain'"],
    ['data type', { model: 'plain', inputs: [tensor('INPUT0', 'INT32', [1, 4], 16)] }, 'INVALID_ARG', "[request id: <id_unknown>] inference input 'INPUT0' data-type is 'INT32', but model 'plain' expects 'FP32'"],
    ['shape', { model: 'plain', id: 'a', inputs: [tensor('INPUT0', 'FP32', [1, 5], 20)] }, 'INVALID_ARG', `[request id: a] unexpected shape for input 'INPUT0' for model 'plain'. Expected [-1,4], got [1,5]. ${NOTE}`],
    ['rank without batching', { model: 'text', inputs: [tensor('INPUT0', 'BYTES', [1, 1], Uint8Array.of(0, 0, 0, 0))] }, 'INVALID_ARG', "[request id: <id_unknown>] unexpected shape for input 'INPUT0' for model 'text'. Expected [-1], got [1,1]. "],
    ['byte size', { model: 'plain', inputs: [tensor('INPUT0', 'FP32', [1, 4], 12)] }, 'INVALID_ARG', "[request id: <id_unknown>] input byte size mismatch for input 'INPUT0' for model 'plain'. Expected 16, got 12"],
    ['too many strings', { model: 'text', inputs: [tensor('INPUT0', 'BYTES', [1], 8)] }, 'INVALID_ARG', "[request id: <id_unknown>] unexpected number of string elements 2 for inference input 'INPUT0' for model 'text', expecting 1"],
    ['too few strings', { model: 'text', inputs: [tensor('INPUT0', 'BYTES', [2], 4)] }, 'INVALID_ARG', "[request id: <id_unknown>] expected 2 string elements for inference input 'INPUT0' for model 'text', got 1"],
    ['cut string length', { model: 'text', inputs: [tensor('INPUT0', 'BYTES', [1], 3)] }, 'INVALID_ARG', "[request id: <id_unknown>] incomplete string length indicator for inference input 'INPUT0' for model 'text', expecting 4 bytes but only 3 bytes available. Please make sure the string length indicator is in one buffer."],
  ]

  it.each(cases)('%s', async (_name, call, kind, text) => {
    const answer = await inferHttp(call)
    const matching = typeof text === 'string' ? text : expect.stringMatching(text)
    expect([answer.status, JSON.parse(answer.text)]).toEqual([ERROR_KINDS[kind].httpStatus, { error: matching }])
    expect(await grpc.failure('ModelInfer', grpcRequest(call))).toEqual({ code: ERROR_KINDS[kind].grpcStatus, details: matching })
  })
})

describe('inference over both protocols', () => {
  it('answers each of many large requests with its own numbers, while memory of bodies is used again', async () => {
    const rows = 40_000
    const ask = async (value: number) => {
      const numbers = new Int32Array(2 * rows).fill(value)
      const call: Call = { model: 'pair', inputs: [tensor('INPUT0', 'FP32', [1, 2], Float32Array.of(value, value)), tensor('INPUT1', 'INT32', [1, rows, 2], numbers)], outputs: ['OUTPUT1'] }
      const { body } = await inferHttp(call)
      const reply = await grpc.call('ModelInfer', grpcRequest(call))
      const expected = Buffer.from(numbers.buffer)
      return body.subarray(-expected.length).equals(expected) && (reply['raw_output_contents'] as Buffer[])[0]?.equals(expected) === true
    }
    const results: boolean[] = []
    await Promise.all([0, 1, 2, 3].map(async (lane) => { for (let round = 0; round < 6; round++) results.push(await ask(lane * 1000 + round)) }))
    expect(results).toEqual(new Array<boolean>(24).fill(true))
  })

  it('answers with classes after the model was unloaded', async () => {
    const data = Buffer.from(Float32Array.of(1, 4, 3, 2).buffer)
    await running.server.loadModel('leaving')
    const answers = Promise.all([
      http.send({ path: '/v2/models/leaving/infer', body: JSON.stringify({
        inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 4], data: [1, 4, 3, 2] }], outputs: [{ name: 'OUTPUT0', parameters: { classification: 1 } }],
      }) }),
      grpc.call('ModelInfer', {
        model_name: 'leaving', inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 4] }], raw_input_contents: [data],
        outputs: [{ name: 'OUTPUT0', parameters: { classification: { int64_param: 1 } } }],
      }),
    ])
    // Both run for a second, and both were handed over well before that.
    await new Promise((resolve) => { setTimeout(resolve, 300) })
    await running.server.unloadModel('leaving')
    const [overHttp, overGrpc] = await answers
    expect(JSON.parse(overHttp.text)).toMatchObject({ outputs: [{ datatype: 'BYTES', data: ['4.000000:1'] }] })
    expect(overGrpc).toMatchObject({ outputs: [{ datatype: 'BYTES', shape: ['1', '1'] }] })
  })

  const cases: readonly (readonly [name: string, call: Call])[] = [
    ['one row', { model: 'plain', id: '7', inputs: [tensor('INPUT0', 'FP32', [1, 4], Float32Array.of(1, -0, NaN, 4))] }],
    ['a full batch', { model: 'batched', inputs: [tensor('INPUT0', 'FP32', [8, 4], Float32Array.from({ length: 32 }, (_, i) => i / 7))] }],
    ['a version', { model: 'plain', version: '3', inputs: [four()] }],
    ['strings', { model: 'text', inputs: [tensor('INPUT0', 'BYTES', [2], Uint8Array.of(1, 0, 0, 0, 0xff, 0, 0, 0, 0))] }],
    ['no strings', { model: 'text', inputs: [tensor('INPUT0', 'BYTES', [0], 0)] }],
    ['64 and 16 bits', { model: 'wide', inputs: [
      tensor('INPUT0', 'INT64', [1], BigInt64Array.of(-9007199254740993n)), tensor('INPUT1', 'UINT64', [1], BigUint64Array.of(18446744073709551615n)),
      tensor('INPUT2', 'FP16', [2], Uint16Array.of(0x3c00, 0x7e00))] }],
    ['without the optional input', { model: 'optional', inputs: [tensor('INPUT0', 'FP32', [1], 4)] }],
  ]
  it.each(cases)('echoes %s bit for bit', async (_name, call) => {
    const answer = await inferHttp(call)
    expect(answer.status, answer.text).toBe(200)
    const length = Number(answer.headers['inference-header-content-length'] ?? answer.body.length)
    const document = JSON.parse(answer.body.subarray(0, length).toString()) as { id?: string; model_version: string; outputs: { name: string; shape: number[] }[] }
    expect(document.id).toBe(call.id)
    expect(document.outputs.map(({ name, shape }) => [name, shape])).toEqual(call.inputs.map(({ name, shape }) => [name.replace('INPUT', 'OUTPUT'), shape]))
    expect(answer.body.subarray(length)).toEqual(Buffer.concat(call.inputs.map(({ data }) => data)))
    const reply = await grpc.call('ModelInfer', grpcRequest(call))
    expect(reply['raw_output_contents']).toEqual(call.inputs.map(({ data }) => Buffer.from(data)))
    expect(reply['model_version']).toBe(document.model_version)
  })

  it('answers 64-bit integers in JSON exactly', async () => {
    const answer = await http.send({
      path: '/v2/models/wide/infer',
      body: '{"inputs":[{"name":"INPUT0","datatype":"INT64","shape":[1],"data":[-9007199254740993]},{"name":"INPUT1","datatype":"UINT64","shape":[1],"data":[18446744073709551615]},{"name":"INPUT2","datatype":"FP16","shape":[0],"parameters":{"binary_data_size":0}}],"outputs":[{"name":"OUTPUT0"},{"name":"OUTPUT1"}]}',
    })
    expect(answer.text).toContain('"data":[-9007199254740993]')
    expect(answer.text).toContain('"data":[18446744073709551615]')
  })
})

describe('metadata, configuration, statistics', () => {
  it('serves the highest ready version unless one is asked for', async () => {
    const all = JSON.parse((await http.send({ path: '/v2/models/plain' })).text) as object
    expect(all).toEqual({
      name: 'plain', versions: ['3'], platform: 'identity', inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [-1, 4] }],
      outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: [-1, 4] }],
    })
  })

  it('prints the same configuration over both protocols', async () => {
    const answer = await http.send({ path: '/v2/models/batched/config' })
    expect(answer.text.slice(0, 190)).toBe('{"name":"batched","platform":"","backend":"identity","runtime":"","version_policy":{"latest":{"num_versions":1}},"max_batch_size":8,"input":[{"name":"INPUT0","data_type":"TYPE_FP32","format"')
    expect(answer.text).toContain('"default_timeout_microseconds":18446744073709551615')
    const { config } = await grpc.call('ModelConfig', { name: 'batched' })
    expect(config).toMatchObject({ name: 'batched', max_batch_size: 8, dynamic_batching: {
      max_queue_delay_microseconds: '100', preferred_batch_size: [8], default_queue_policy: { default_timeout_microseconds: '18446744073709551615' },
    } })
  })

  it('counts a request once, in statistics and metrics alike', async () => {
    const before = await counted('optional')
    await inferHttp({ model: 'optional', inputs: [tensor('INPUT0', 'FP32', [1], 4)] })
    await inferHttp({ model: 'optional', inputs: [tensor('INPUT0', 'FP32', [2], 8)] })
    const after = await counted('optional')
    expect(after.success - before.success).toBe(1)
    expect(after.page).toContain(`nv_inference_request_success{model="optional",version="1"} ${after.success}\n`)
    expect(after.page).toContain(`nv_inference_count{model="optional",version="1"} ${after.success}\n`)
  })

  it('names wrong models and versions in statistics', async () => {
    expect(await http.send({ path: '/v2/models/nope/stats' })).toMatchObject({ status: 400, text: `{"error":"requested model 'nope' is not available"}` })
    expect(await http.send({ path: '/v2/models/plain/versions/9/stats' })).toMatchObject({ status: 400, text: `{"error":"requested model version is not available for model 'plain'"}` })
  })

  async function counted(model: string): Promise<{ success: number; page: string }> {
    const stats = JSON.parse((await http.send({ path: `/v2/models/${model}/stats` })).text) as { model_stats: { inference_stats: { success: { count: number } } }[] }
    return { success: stats.model_stats[0]?.inference_stats.success.count ?? -1, page: (await metrics.send({ path: '/metrics' })).text }
  }
})

describe('repository control', () => {
  const control = (model: string, action: string, body?: string) =>
    http.send({ method: 'POST', path: `/v2/repository/models/${model}/${action}`, ...(body === undefined ? {} : { body }) })

  async function index(ready = false): Promise<{ name: string; state?: string; reason?: string }[]> {
    return JSON.parse((await http.send({ path: '/v2/repository/index', body: JSON.stringify({ ready }) })).text) as { name: string; state?: string; reason?: string }[]
  }

  it('lists what was never loaded by name only', async () => {
    expect(await index()).toContainEqual({ name: 'later' })
    expect((await index(true)).map(({ name }) => name)).not.toContain('later')
  })

  it('loads, serves, unloads, and says so', async () => {
    expect(await control('later', 'load')).toMatchObject({ status: 200, text: '' })
    expect((await http.send({ path: '/v2/models/later/ready' })).status).toBe(200)
    expect(await index()).toContainEqual({ name: 'later', version: '1', state: 'READY' })
    expect((await metrics.send({ path: '/metrics' })).text).toContain('nv_inference_count{model="later",version="1"} 0\n')
    expect(await control('later', 'unload')).toMatchObject({ status: 200, text: '' })
    await expect.poll(index).toContainEqual({ name: 'later', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' })
    expect(await http.send({ path: '/v2/models/later/ready' })).toMatchObject({ status: 404, text: `{"error":"Request for unknown model: 'later' has no available versions"}` })
    expect((await http.send({ path: '/v2/health/ready' })).status).toBe(200)
  })

  it('loads over gRPC with a configuration of its own', async () => {
    await grpc.call('RepositoryModelLoad', { model_name: 'later', parameters: { config: { string_param: JSON.stringify({ backend: 'identity', max_batch_size: 2, input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [4] }], output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: ['4'] }] }) } } })
    expect(await grpc.call('ModelConfig', { name: 'later' })).toMatchObject({ config: { max_batch_size: 2 } })
    await grpc.call('RepositoryModelUnload', { model_name: 'later' })
  })

  it('says why a load failed, over both protocols, and keeps the reason', async () => {
    const expected = "load failed for model 'bad': version 1 is at UNAVAILABLE state: Invalid argument: expected input name to follow INPUT<index> pattern, got 'X';\n"
    const answer = await control('bad', 'load')
    expect([answer.status, JSON.parse(answer.text)]).toEqual([400, { error: expected }])
    expect(await grpc.failure('RepositoryModelLoad', { model_name: 'bad' })).toEqual({ code: 3, details: expected })
    expect(await index()).toContainEqual({ name: 'bad', version: '1', state: 'UNAVAILABLE', reason: "Invalid argument: expected input name to follow INPUT<index> pattern, got 'X'" })
  })

  it.each([
    ['nope', 500, "failed to load 'nope', failed to poll from model repository"],
    ['..', 400, "invalid model name '..', model name must not contain path traversal characters"],
  ])('refuses to load %s', async (model, status, error) => {
    const answer = await control(model, 'load')
    expect([answer.status, JSON.parse(answer.text)]).toEqual([status, { error }])
  })

  it('takes unloading an unknown model for done', async () => {
    expect(await control('nope', 'unload')).toMatchObject({ status: 200, text: '' })
  })

  it('refuses a directory outside the repository', async () => {
    expect(await control('..%2f..', 'load')).toMatchObject({ status: 500 })
    expect((await grpc.failure('RepositoryModelLoad', { model_name: '../x' })).details).toBe("invalid model name '../x', model name must not contain path traversal characters")
    expect((await grpc.failure('RepositoryModelLoad', { model_name: ' ' })).details).toBe('Model name cannot be empty. Please enter a valid name to deploy.')
  })
})

describe('metrics page', () => {
  it('has the exact type, and labels in order', async () => {
    const answer = await metrics.send({ path: '/metrics' })
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8'])
    expect(answer.text).toContain('nv_inference_request_failure{_team="ocr",model="batched",reason="REJECTED",version="1"} 0\n')
    expect(answer.text).toMatch(/^nv_model_load_duration_secs\{model="plain",version="3"\} [0-9.e-]+$/m)
    expect(answer.text).toMatch(/^nv_cpu_memory_total_bytes \d+$/m)
  })

  it('answers other paths with 200 and nothing, other methods with 405', async () => {
    expect(await metrics.send({ path: '/other' })).toMatchObject({ status: 200, text: '' })
    expect(await metrics.send({ path: '/metrics', body: 'x' })).toMatchObject({ status: 405 })
  })
})
