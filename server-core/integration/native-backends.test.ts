/** Backend libraries in the real server: the fixtures of the C++ tests, which know nothing of it, loaded through the addon. */
import { copyFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { BUILD_MILLISECONDS, buildPreset, FIXTURE_BACKENDS, VOLUME_LIBRARY } from '../../native/test-build.ts'
import type { InferenceRequest, Tensor } from '../contract/inference.ts'
import type { InferenceResult } from '../inference-server.ts'
import type { ServerOptions } from '../options.ts'
import { onnxModel } from '../testing/onnx-fixture.ts'
import { startServerProcess } from '../testing/server-process.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import { createTestServer, requestOf, type TestServer } from '../testing/test-server.ts'
import { DEFAULT_TRACE_CONFIG } from '../tracing/trace-settings.ts'
import { Tracer } from '../tracing/tracer.ts'

beforeAll(() => buildPreset('test', 'fixture_backends'), BUILD_MILLISECONDS)

const tensors = (input: string, output: string) => `input { name: "${input}" data_type: TYPE_INT32 dims: [ -1 ] } output { name: "${output}" data_type: TYPE_INT32 dims: [ -1 ] }`
const group = 'instance_group { count: 1 kind: KIND_CPU }'

const parameter = (key: string, value: string) => `parameters { key: "${key}" value { string_value: "${value}" } }`

const CONFIGS = {
  minimal: `backend: "minimal" ${tensors('X', 'X')} ${group}`,
  batching: `backend: "batching" max_batch_size: 8 ${tensors('X', 'Y')} ${group} dynamic_batching { max_queue_delay_microseconds: 100000 preferred_batch_size: [ 4 ] }`,
  decoupled: `backend: "decoupled" ${tensors('COUNT', 'N')} ${group} model_transaction_policy { decoupled: true }`,
  bls: `backend: "bls" ${tensors('X', 'Y')} ${group}`,
  misbehaving: `backend: "misbehaving" ${tensors('X', 'X')} ${group}`,
} as const

const doubled = `backend: "batching" max_batch_size: 0 ${tensors('X', 'Y')} ${group}`

function int32(name: string, values: readonly number[], shape: readonly number[] = [values.length]): Tensor {
  return { name, datatype: 'INT32', shape, data: new Uint8Array(Int32Array.from(values).buffer) }
}

function numbersOf({ response }: InferenceResult, name: string): number[] {
  const data = response.outputs.find((output) => output.name === name)?.data ?? new Uint8Array(0)
  return [...new Int32Array(data.slice().buffer)]
}

/** A server with these models of the fixture backends loaded. Ends both. */
async function serve(models: Readonly<Record<string, string>>, options: Partial<ServerOptions> = {}, files: Readonly<Record<string, string | Uint8Array>> = {}) {
  const repository = await TemporaryRepository.create({
    ...Object.fromEntries(Object.entries(models).flatMap(([name, config]) => [[`${name}/config.pbtxt`, config], [`${name}/1/x`, '']])), ...files,
  })
  const test: TestServer = createTestServer([repository.path], { backendDirectory: FIXTURE_BACKENDS, ...options })
  await test.server.start()
  for (const name of Object.keys(models)) await test.server.loadModel(name)
  return {
    ...test, repository,
    infer: (model: string, inputs: readonly Tensor[], more: Partial<InferenceRequest> = {}) => test.server.infer(requestOf(model, inputs, more)),
    logged: (text: string) => test.logs.recent(1000).filter(({ message }) => message.includes(text)),
    async [Symbol.asyncDispose]() {
      await test[Symbol.asyncDispose]()
      await repository[Symbol.asyncDispose]()
    },
  }
}

describe('a backend library', () => {
  it('serves a model: config, instance, request and answer are what its C API says', async () => {
    await using test = await serve({ minimal: CONFIGS.minimal }, { backendConfig: { '': { all: '1' }, minimal: { own: '2' } } })
    const result = await test.infer('minimal', [int32('X', [1, 2, 3, 4], [2, 2])], {
      id: 'r1', sequenceId: 0n, timeoutMicroseconds: 1_500_000, parameters: { color: 'red', number: -3n },
    })
    expect(numbersOf(result, 'X')).toEqual([1, 2, 3, 4])
    expect(result.response.outputs[0]).toMatchObject({ name: 'X', datatype: 'INT32', shape: [2, 2] })
    expect(result.response.parameters).toMatchObject({
      id: 'r1', correlation: 0n, flags: 0n, timeout_s: 1.5, is_cancelled: false, outputs: 'X', color: 'red', number: -3n,
      instance: expect.stringMatching(/^minimal_0_0 CPU 0 \{"cpu":\{\}\}$/) as string,
    })
    // The longest timeout of the protocols, 2^64 - 1, as JavaScript has it.
    const longest = await test.infer('minimal', [int32('X', [1], [1, 1])], { timeoutMicroseconds: 2 ** 64 })
    expect(longest.response.parameters['timeout_s']).toBeCloseTo(2 ** 64 / 1e6, -3)
    // It completes configs: max_batch_size 4.
    expect(test.server.modelConfig('minimal', '').max_batch_size).toBe(4)
    expect(test.logged('initialize minimal')[0]).toMatchObject({ level: 'info', source: 'backend-minimal', fields: { model: 'minimal' } })
    expect(test.logged('initialize minimal')[0]?.message).toContain(
      `{"cmdline":{"auto-complete-config":"true","backend-directory":"${FIXTURE_BACKENDS}","min-compute-capability":"6.000000","default-max-batch-size":"4","all":"1","own":"2"}}`)
  })

  it('unloads and loads again; what it says at the very end of the server is in the log', async () => {
    const test = await serve({ minimal: CONFIGS.minimal })
    await test.server.unloadModel('minimal')
    await expect.poll(() => test.logged('finalize model').length).toBe(1)
    await test.server.loadModel('minimal')
    expect(numbersOf(await test.infer('minimal', [int32('X', [7], [1, 1])]), 'X')).toEqual([7])
    await test[Symbol.asyncDispose]()
    expect(test.logged('finalize minimal')).toMatchObject([{ level: 'info', source: 'native-backend' }])
  })
})

describe('a traced request to a backend library', () => {
  /** Runs the request with a trace. @returns what the trace file holds, tensors without their shape and type */
  async function traced(test: Awaited<ReturnType<typeof serve>>, model: string, inputs: readonly Tensor[], more: Partial<InferenceRequest> = {}) {
    const file = join(test.repository.path, 'trace.json')
    const tracer = new Tracer({ ...DEFAULT_TRACE_CONFIG, levels: ['TIMESTAMPS', 'TENSORS'], rate: 1, file }, test.logs.logger('tracer'))
    const trace = tracer.sample(model)
    if (trace === undefined) throw new Error('the request is not traced')
    const over = Promise.withResolvers<unknown>()
    test.server.inferStream({ ...requestOf(model, inputs, more), trace }, { onResponse: () => {}, onError: () => {}, onDone: over.resolve })
    expect(await over.promise).not.toBeInstanceOf(Error)
    trace.end()
    tracer.close()
    return JSON.parse(await readFile(file, 'utf8')) as {
      id: number; model_name?: string; parent_id?: number; request_id?: string; timestamps?: { name: string; ns: number }[]; activity?: string; tensor?: { name: string; data: string }
    }[]
  }

  it('has the moments that the backend names', async () => {
    await using test = await serve({ minimal: CONFIGS.minimal })
    const entries = await traced(test, 'minimal', [int32('X', [1], [1, 1])])
    expect(entries.flatMap(({ timestamps = [] }) => timestamps)).toContainEqual({ name: 'minimal', ns: 1234 })
  })

  it('has the requests that the backend makes as its children, and not one that it traces for itself', async () => {
    await using test = await serve({ bls: CONFIGS.bls, doubled })
    const entries = await traced(test, 'bls', [int32('X', [1, 2])], { id: 'r1', parameters: { do: 'infer', target: 'doubled' } })
    expect(entries).toContainEqual({ id: 1, model_name: 'bls', model_version: 1, request_id: 'r1' })
    expect(entries).toContainEqual({ id: 2, model_name: 'doubled', model_version: 1, request_id: 'from bls', parent_id: 1 })
    const ofChild = entries.filter(({ id }) => id === 2)
    expect(ofChild.flatMap(({ timestamps = [] }) => timestamps.map(({ name }) => name))).toEqual(expect.arrayContaining(['REQUEST_START', 'COMPUTE_START', 'REQUEST_END']))
    expect(ofChild.flatMap(({ activity, tensor }) => (activity === undefined ? [] : [[activity, tensor?.data]]))).toEqual([['TENSOR_QUEUE_INPUT', '1,2'], ['TENSOR_BACKEND_OUTPUT', '2,4']])
    const own = await traced(test, 'bls', [int32('X', [1])], { parameters: { do: 'infer', target: 'doubled', trace: 'own' } })
    expect([...new Set(own.map(({ id }) => id))]).toEqual([1])
  })

  it('has the tensors of every answer of a decoupled model', async () => {
    await using test = await serve({ decoupled: CONFIGS.decoupled })
    const entries = await traced(test, 'decoupled', [int32('COUNT', [3])])
    expect(entries.flatMap(({ activity, tensor }) => (activity === 'TENSOR_BACKEND_OUTPUT' ? [tensor?.data] : []))).toEqual(['0', '1', '2'])
  })
})

describe('a batching library', () => {
  const limited = (limit: number) => `${CONFIGS.batching} ${parameter('max_volume', String(limit))}`
  const given = `${limited(4)} ${parameter('TRITON_BATCH_STRATEGY_PATH', VOLUME_LIBRARY)}`
  type Served = Awaited<ReturnType<typeof serve>>
  /** What runs together, by the numbers of the requests. */
  const inferAll = (test: Served, more: Partial<InferenceRequest> = {}) => Promise.all(
    [1, 2, 3, 4].map(async (number) => numbersOf(await test.infer('batching', [int32('X', [number, 10 * number], [1, 2])], { id: `r${number}`, ...more }), 'Y')[0]),
  )

  it('that the config names says which requests run together', async () => {
    await using test = await serve({ batching: given })
    expect(await inferAll(test)).toEqual([2, 4, 6, 8])
    expect(test.server.modelStatistics('batching', '')[0]).toMatchObject({ execution_count: 2, batch_stats: [{ batch_size: 2, compute_infer: { count: 2 } }] })
    expect(test.logged('batch of 4 from ').map(({ message }) => message)).toEqual(['batch of 4 from r1', 'batch of 4 from r3'])
    await test.server.unloadModel('batching')
    await expect.poll(() => test.logged('finalize batcher').length).toBe(1)
  })

  it('is found in the folder of the model, and keeps nothing from running that it fails at', async () => {
    await using repository = await TemporaryRepository.create({ 'batching/config.pbtxt': limited(100), 'batching/1/x': '' })
    await copyFile(VOLUME_LIBRARY, join(repository.path, 'batching/batchstrategy.so'))
    await using test = createTestServer([repository.path], { backendDirectory: FIXTURE_BACKENDS })
    await test.server.start()
    await test.server.loadModel('batching')
    const infer = (number: number) => test.server.infer(requestOf('batching', [int32('X', [number, 0], [1, 2])], { parameters: { batch: 'throw' } }))
    const answers = await Promise.all([1, 2, 3].map(infer))
    expect(answers.map((answer) => numbersOf(answer, 'Y')[0])).toEqual([2, 4, 6])
    expect(test.server.modelStatistics('batching', '')[0]).toMatchObject({ execution_count: 3, batch_stats: [{ batch_size: 1 }] })
    const failures = test.logs.recent(1000).filter(({ message }) => message.startsWith('a batching library failed'))
    expect(failures).toMatchObject([{ level: 'error', source: 'backend-batching' }])
    expect(failures[0]?.fields['error']).toContain("batchstrategy.so' threw an exception out of TRITONBACKEND_ModelBatchIncludeRequest: out of order")
  })

  it('of a model that cannot have one is warned of', async () => {
    const wanted = parameter('TRITON_BATCH_STRATEGY_PATH', VOLUME_LIBRARY)
    await using test = await serve({ plain: `backend: "identity" max_batch_size: 4 ${tensors('INPUT0', 'OUTPUT0')} dynamic_batching {} ${wanted}` })
    expect(test.logged("model 'plain' has the parameter TRITON_BATCH_STRATEGY_PATH to no effect")).toMatchObject([{ level: 'warning' }])
  })
})

describe('requests to a backend library', () => {
  it('come as one batch, gathered from several buffers, and its own metrics are on the page', async () => {
    await using test = await serve({ batching: CONFIGS.batching })
    const answers = await Promise.all([1, 2, 3, 4].map((number) => test.infer('batching', [int32('X', [number, 10 * number], [1, 2])])))
    expect(answers.map((answer) => numbersOf(answer, 'Y'))).toEqual([[2, 20], [4, 40], [6, 60], [8, 80]])
    const [entry] = test.server.modelStatistics('batching', '')
    expect(entry).toMatchObject({ inference_count: 4, execution_count: 1, batch_stats: [{ batch_size: 4 }], inference_stats: { success: { count: 4 } } })
    expect(test.registry.native.metricsText()).toContain('batching_last{model="batching"} 4')
  })

  it('are charged the times that the backend reports, and its memory is in the statistics', async () => {
    await using test = await serve({ minimal: CONFIGS.minimal })
    await test.infer('minimal', [int32('X', [1], [1, 1])])
    const [entry] = test.server.modelStatistics('minimal', '')
    // The fixture says: one nanosecond each.
    expect(entry?.inference_stats).toMatchObject({ compute_input: { count: 1, ns: 1 }, compute_infer: { count: 1, ns: 1 } })
    expect(entry).toMatchObject({ execution_count: 1, batch_stats: [{ batch_size: 1, compute_infer: { count: 1, ns: 1 } }] })
    expect(entry?.memory_usage).toContainEqual({ type: 'CPU_PINNED', id: 2, byte_size: 1000 })
  })

  it('get any number of answers from a decoupled model, also after they were released, and can be cancelled', async () => {
    await using test = await serve({ decoupled: CONFIGS.decoupled })
    const stream = (count: number, onNumber: (cancel: () => void) => void = () => {}) => new Promise<{ numbers: number[]; end: unknown }>((resolve) => {
      const numbers: number[] = []
      const call = test.server.inferStream(requestOf('decoupled', [int32('COUNT', [count])]), {
        onResponse: ({ outputs }) => {
          numbers.push(...new Int32Array(outputs[0]?.data.slice().buffer ?? new ArrayBuffer(0)))
          onNumber(() => { call.cancel() })
        },
        onError: () => {},
        onDone: (end) => { resolve({ numbers, end }) },
      })
    })
    expect(await stream(3)).toEqual({ numbers: [0, 1, 2], end: null })
    expect(await stream(0)).toEqual({ numbers: [], end: null })
    const { numbers, end } = await stream(-1, (cancel) => { cancel() })
    expect(end).toMatchObject({ kind: 'CANCELLED' })
    expect(numbers[0]).toBe(0)
  })

  it('keep the states of a sequence', async () => {
    const state = 'sequence_batching { state [ { input_name: "STATE_IN" output_name: "STATE_OUT" data_type: TYPE_INT32 dims: [ 1 ] initial_state { name: "zero" data_type: TYPE_INT32 dims: [ 1 ] zero_data: true } } ] }'
    const config = `backend: "minimal" input { name: "VALUE" data_type: TYPE_INT32 dims: [ 1 ] } output { name: "SUM" data_type: TYPE_INT32 dims: [ 1 ] } ${group} ${state}`
    await using test = await serve({ minimal: config }, { disableAutoCompleteConfig: true })
    const sums = []
    for (const [index, value] of [5, 7, 1].entries()) {
      const result = await test.infer('minimal', [int32('VALUE', [value])], { sequenceId: 'talk', sequenceStart: index === 0, sequenceEnd: index === 2, parameters: { do: 'accumulate' } })
      sums.push(numbersOf(result, 'SUM')[0])
      expect(result.response.parameters['correlation']).toBe('talk')
    }
    expect(sums).toEqual([5, 12, 13])
  })

  it('may be answered after the execution is over', async () => {
    await using test = await serve({ misbehaving: CONFIGS.misbehaving })
    const answers = await Promise.all([1, 2].map(() => test.infer('misbehaving', [int32('X', [1])], { parameters: { do: 'late' } })))
    expect(answers.map(({ response }) => response.parameters['error'])).toEqual(['none', 'none'])
    expect(test.server.modelStatistics('misbehaving', '')[0]).toMatchObject({ inference_stats: { success: { count: 2 } } })
  })
})

describe('a backend that calls other models', () => {
  it('gets their answers, whatever serves them', async () => {
    await using test = await serve({ bls: CONFIGS.bls, doubled })
    const result = await test.infer('bls', [int32('X', [1, 2, 3])], { parameters: { do: 'infer', target: 'doubled' } })
    expect(numbersOf(result, 'Y')).toEqual([2, 4, 6])
    expect(test.server.modelStatistics('doubled', '')[0]).toMatchObject({ inference_count: 1 })
  })

  it('is told why one cannot answer, and asks what there is', async () => {
    await using test = await serve({ bls: CONFIGS.bls, doubled, decoupled: CONFIGS.decoupled })
    const ask = (what: string, target: string) => test.infer('bls', [int32('X', [1])], { parameters: { do: what, target } })
    await expect(ask('infer', 'nobody')).rejects.toMatchObject({ kind: 'INTERNAL', message: expect.stringContaining("Not found: Request for unknown model: 'nobody' is not found") as string })
    const said = async (what: string, target: string) => (await ask(what, target)).response.parameters['said']
    expect(await said('ready', 'doubled')).toBe('ready')
    expect(await said('transaction', 'doubled')).toBe('one to one')
    expect(await said('transaction', 'decoupled')).toBe('decoupled')
    expect(await said('unload', 'doubled')).toBe('unloaded')
    await expect(ask('infer', 'doubled')).rejects.toThrow("Request for unknown model: 'doubled' has no available versions")
  })

  it('calls an ONNX model of the server', async () => {
    const tensor = (name: string) => ({ name, type: 'INT32', shape: [3] }) as const
    const negative = onnxModel({ inputs: [tensor('X')], outputs: [tensor('Y')], nodes: [{ operator: 'Neg', inputs: ['X'], outputs: ['Y'] }] })
    await using test = await serve({ bls: CONFIGS.bls, negative: group }, {}, { 'negative/1/model.onnx': negative })
    const result = await test.infer('bls', [int32('X', [1, 2, 3])], { parameters: { do: 'infer', target: 'negative' } })
    expect(numbersOf(result, 'Y')).toEqual([-1, -2, -3])
  })
})

describe('what a backend library does wrong', () => {
  it('fails its requests and costs nothing else', async () => {
    await using test = await serve({ misbehaving: CONFIGS.misbehaving })
    const told = (what: string) => test.infer('misbehaving', [int32('X', [1])], { parameters: { do: what } })
    await expect(told('throw')).rejects.toMatchObject({
      kind: 'INTERNAL', message: "backend 'misbehaving' threw an exception out of TRITONBACKEND_ModelInstanceExecute: out of everything",
    })
    await expect(told('no_answer')).rejects.toThrow("backend 'misbehaving' released request")
    await told('error_after_release')
    await expect.poll(() => test.logged('an error may be returned only before any release').length).toBe(1)
    expect((await told('release_twice')).response.parameters['error']).toContain('was already released')
    await expect(told('not_final')).rejects.toThrow('without a final response')
    expect(numbersOf(await told('late'), 'X')).toEqual([])
  })

  it('is asked about after a failure: an instance that is not ready dies and is made again', async () => {
    await using test = await serve({ misbehaving: CONFIGS.misbehaving })
    const instance = () => test.server.modelSummaries()[0]?.versions[0]?.instances[0]
    expect(instance()?.report).toEqual({ runs_on: 'npu', simulated: true, device: 1, streams: 2 })
    expect(test.server.modelSummaries()[0]?.runsOn).toBe('NPU 1')
    await expect(test.infer('misbehaving', [int32('X', [1])], { parameters: { do: 'lose_card' } })).rejects.toThrow('the card went away during the batch')
    await expect.poll(() => instance()?.state).toBe('RESTARTING')
    expect(instance()?.reason).toBe('the card is lost')
    await expect.poll(() => instance()?.state, { timeout: 10_000 }).toBe('READY')
    await test.infer('misbehaving', [int32('X', [1])], { parameters: { do: 'late' } })
  })

  it('does not keep the server from its end: the exit timeout names the model', async () => {
    await using repository = await TemporaryRepository.create({ 'misbehaving/config.pbtxt': CONFIGS.misbehaving, 'misbehaving/1/x': '' })
    const server = await startServerProcess([`--model-repository=${repository.path}`, `--backend-directory=${FIXTURE_BACKENDS}`, '--exit-timeout-secs=1'])
    const body = { inputs: [{ name: 'X', datatype: 'INT32', shape: [1], data: [1] }], parameters: { do: 'keep' } }
    const answer = fetch(`http://127.0.0.1:${server.httpPort}/v2/models/misbehaving/infer`, { method: 'POST', body: JSON.stringify(body) }).catch((error: unknown) => error)
    await expect.poll(async () => (await fetch(`http://127.0.0.1:${server.metricsPort}/metrics`)).text()).toMatch(/nv_inference_pending_request_count\{model="misbehaving",version="1"\} 0/)
    expect(await server.stop()).toBe(1)
    expect(server.output()).toContain("Model 'misbehaving' (version 1) has 1 in-flight inferences")
    expect(server.output()).toContain('Exit timeout expired')
    await answer
  })
})

describe('a library that cannot serve', () => {
  const load = async (config: string, prepare: (repository: string) => Promise<void> = async () => {}) => {
    const repository = await TemporaryRepository.create({ 'm/config.pbtxt': config, 'm/1/x': '' })
    await prepare(repository.path)
    const test = createTestServer([repository.path], { backendDirectory: FIXTURE_BACKENDS })
    try {
      await test.server.start()
      await test.server.loadModel('m')
      return { message: 'loaded', repository: repository.path }
    } catch (error) {
      return { message: (error as Error).message, repository: repository.path }
    } finally {
      await test[Symbol.asyncDispose]()
      await repository[Symbol.asyncDispose]()
    }
  }
  const configOf = (backend: string, more = '') => `backend: "${backend}" ${tensors('X', 'X')} ${group} ${more}`

  it('says where it was looked for', async () => {
    const { message, repository } = await load(configOf('nowhere'))
    expect(message).toContain("Invalid argument: unable to find backend library for backend 'nowhere', try specifying runtime on the model configuration. Searched: "
      + `${repository}/m/1/libtriton_nowhere.so, ${repository}/m/libtriton_nowhere.so, ${FIXTURE_BACKENDS}/nowhere/libtriton_nowhere.so, `)
  })

  it('says what is wrong with it', async () => {
    expect((await load(configOf('newer'))).message).toContain('Unsupported: Triton backend API version does not support this backend')
    expect((await load(configOf('without_execute'))).message).toContain("unable to find required entrypoint 'TRITONBACKEND_ModelInstanceExecute' in shared library: ")
    expect((await load(configOf('unresolved'))).message).toContain('unable to load shared library: ')
    expect((await load(configOf('minimal', 'runtime: "../x.so"'))).message).toContain('check model config runtime field')
    expect((await load(configOf('batching', `max_batch_size: 4 dynamic_batching {} ${parameter('TRITON_BATCH_STRATEGY_PATH', '/nowhere/volume.so')}`))).message)
      .toContain("batching library '/nowhere/volume.so' of model 'm' is not there: parameter TRITON_BATCH_STRATEGY_PATH must be the path of a file on the server")
  })

  it('is taken from the folder of the model, under the name that the config gives, before all others', async () => {
    const copy = async (repository: string) => {
      await mkdir(join(repository, 'm/1'), { recursive: true })
      await copyFile(join(FIXTURE_BACKENDS, 'minimal/libtriton_minimal.so'), join(repository, 'm/1/libtriton_identity.so'))
    }
    // The server's own identity backend has no such tensors.
    expect((await load(configOf('identity'))).message).toContain("'X'")
    expect((await load(configOf('identity'), copy)).message).toBe('loaded')
    expect((await load(configOf('other', 'runtime: "libtriton_identity.so"'), copy)).message).toBe('loaded')
  })
})
