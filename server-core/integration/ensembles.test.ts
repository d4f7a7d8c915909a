/** Ensembles over real ONNX models and the decoupled repeat backend, through the front ends and the server. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { InferenceResponse, Tensor } from '../contract/inference.ts'
import type { EnsembleGraph } from '../contract/ensemble.ts'
import { consoleCommandHandlers, type ConsoleCaller } from '../frontends/console/console-commands.ts'
import type { InferenceResult } from '../inference-server.ts'
import { LogHub } from '../logger.ts'
import { ServerError } from '../server-error.ts'
import type { RunningServer } from '../start-server.ts'
import { idleDevices, noSimulation } from '../testing/test-devices.ts'
import type { GrpcClient } from '../testing/grpc-client.ts'
import type { HttpClient } from '../testing/http-client.ts'
import { onnxModel, type OnnxNodeSpec, type OnnxTensorSpec } from '../testing/onnx-fixture.ts'
import { serveRepository, type ServedRepository } from '../testing/served-repository.ts'
import { identityConfig } from '../testing/temporary-repository.ts'
import { floatsOf, fp32, requestOf } from '../testing/test-server.ts'
import { DEFAULT_TRACE_CONFIG } from '../tracing/trace-settings.ts'
import { Tracer } from '../tracing/tracer.ts'

const rows = (name: string, type: OnnxTensorSpec['type'] = 'FP32'): OnnxTensorSpec => ({ name, type, shape: ['batch', 2] })
const one = (operator: string, inputs: readonly string[]): OnnxNodeSpec => ({ operator, inputs, outputs: ['O'] })

/** A batching ONNX model with one operator. */
function operator(name: string, node: OnnxNodeSpec, inputs: readonly OnnxTensorSpec[]): Record<string, string | Uint8Array> {
  return { [`${name}/config.pbtxt`]: 'max_batch_size: 8', [`${name}/1/model.onnx`]: onnxModel({ inputs, outputs: [rows('O')], nodes: [node] }) }
}

const step = (model: string, inputs: Record<string, string>, outputs: Record<string, string>) => `step { model_name: "${model}" model_version: -1
  ${Object.entries(inputs).map(([key, value]) => `input_map { key: "${key}" value: "${value}" }`).join(' ')}
  ${Object.entries(outputs).map(([key, value]) => `output_map { key: "${key}" value: "${value}" }`).join(' ')} }`

function ensemble(name: string, head: string, steps: string): Record<string, string> {
  return { [`${name}/config.pbtxt`]: `platform: "ensemble" ${head} ensemble_scheduling { ${steps} }`, [`${name}/1/keep`]: '' }
}

const X = '{ name: "X" data_type: TYPE_FP32 dims: [ 2 ] }'
const ROWS = '{ name: "X" data_type: TYPE_FP32 dims: [ -1, 2 ] }'
const Y = '{ name: "Y" data_type: TYPE_FP32 dims: [ 2 ] }'
const SINGLE = '{ name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }'
const VALUES = '{ name: "VALUES" data_type: TYPE_FP32 dims: [ -1 ] }'
const DELAYS = '{ name: "DELAYS" data_type: TYPE_UINT32 dims: [ -1 ] }'
const WAIT = '{ name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] }'

const FILES = {
  ...operator('double', one('Add', ['I', 'I']), [rows('I')]),
  ...operator('square', one('Mul', ['I', 'I']), [rows('I')]),
  ...operator('sum', one('Add', ['I', 'J']), [rows('I'), rows('J')]),
  // Takes rows by their numbers: a number beyond the batch fails in the runtime.
  'gather/config.pbtxt': '',
  'gather/1/model.onnx': onnxModel({
    inputs: [rows('I'), { name: 'J', type: 'INT64', shape: ['count'] }], outputs: [rows('O')], nodes: [one('Gather', ['I', 'J'])],
  }),
  ...ensemble('branches', `max_batch_size: 8 input [ ${X} ] output [ ${Y}, { name: "D" data_type: TYPE_FP32 dims: [ 2 ] } ]`,
    step('double', { I: 'X' }, { O: 'D' }) + step('square', { I: 'X' }, { O: 'S' }) + step('sum', { I: 'D', J: 'S' }, { O: 'Y' })),
  // Batching and non-batching models in one: the batch dimension is an ordinary one in between.
  ...ensemble('failing', `input [ ${ROWS}, { name: "ROW" data_type: TYPE_INT64 dims: [ -1 ] } ] output [ ${ROWS.replace('X', 'Y')} ]`,
    step('double', { I: 'X' }, { O: 'D' }) + step('gather', { I: 'D', J: 'ROW' }, { O: 'Y' })),
  'optional/config.pbtxt': `backend: "identity" max_batch_size: 8
    input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2 ] }, { name: "INPUT1" data_type: TYPE_FP32 dims: [ 2 ] optional: true } ]
    output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2 ] }, { name: "OUTPUT1" data_type: TYPE_FP32 dims: [ 2 ] } ]`,
  'optional/1/keep': '',
  ...ensemble('maybe', `max_batch_size: 8 input [ ${X}, { name: "M" data_type: TYPE_FP32 dims: [ 2 ] optional: true } ] output [ ${Y}, { name: "N" data_type: TYPE_FP32 dims: [ 2 ] } ]`,
    step('optional', { INPUT0: 'X', INPUT1: 'M' }, { OUTPUT0: 'Y', OUTPUT1: 'N' })),
  'slow/config.pbtxt': identityConfig('dynamic_batching { default_queue_policy { max_queue_size: 1 } } parameters { key: "execute_delay_ms" value: { string_value: "200" } }'),
  'slow/1/keep': '',
  ...ensemble('queued', 'max_batch_size: 8 input [ { name: "X" data_type: TYPE_FP32 dims: [ 4 ] } ] output [ { name: "Y" data_type: TYPE_FP32 dims: [ 4 ] } ]', step('slow', { INPUT0: 'X' }, { OUTPUT0: 'Y' })),
  'repeat/config.pbtxt': `backend: "repeat" model_transaction_policy { decoupled: true }
    input [ { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] }, { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }, { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] } ]
    output [ { name: "OUT" data_type: TYPE_FP32 dims: [ 1 ] }, { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] } ]`,
  'repeat/1/keep': '',
  'double_one/config.pbtxt': 'max_batch_size: 8 instance_group { count: 2 kind: KIND_CPU }',
  'double_one/1/model.onnx': onnxModel({
    inputs: [{ name: 'I', type: 'FP32', shape: ['batch', 1] }], outputs: [{ name: 'O', type: 'FP32', shape: ['batch', 1] }], nodes: [one('Add', ['I', 'I'])],
  }),
  ...ensemble('stream', `input [ ${VALUES}, ${DELAYS}, ${WAIT} ] output [ ${SINGLE} ]`,
    `max_inflight_requests: 2 ${step('repeat', { IN: 'VALUES', DELAY: 'DELAYS', WAIT: 'WAIT' }, { OUT: 'V' })}${step('double_one', { I: 'V' }, { O: 'Y' })}`),
}

let served: ServedRepository
let running: RunningServer
let http: HttpClient
let metrics: HttpClient
let grpc: GrpcClient

beforeAll(async () => {
  served = await serveRepository(FILES)
  ;({ running, http, metrics, grpc } = served)
})

afterAll(() => served[Symbol.asyncDispose]())

const infer = async (model: string, inputs: readonly object[], more: object = {}) => {
  const { status, text } = await http.send({ path: `/v2/models/${model}/infer`, body: JSON.stringify({ inputs, ...more }) })
  return { status, body: JSON.parse(text) as Record<string, unknown> }
}
const json = (name: string, shape: readonly number[], data: readonly number[], datatype = 'FP32') => ({ name, datatype, shape, data })
const statisticsOf = (model: string) => running.server.modelStatistics(model, '')[0]

function uint32(name: string, values: readonly number[]): Tensor {
  return { name, datatype: 'UINT32', shape: [values.length], data: new Uint8Array(Uint32Array.from(values).buffer) }
}

/** All answers of a request, and how it ended. */
function stream(model: string, inputs: readonly Tensor[], onResponse: (response: InferenceResponse) => void = () => {}) {
  const responses: InferenceResponse[] = []
  let cancel = () => {}
  const end = new Promise<InferenceResult | null | ServerError>((resolve) => {
    const call = running.server.inferStream(requestOf(model, inputs), {
      onResponse: (response) => { responses.push(response); onResponse(response) },
      onError: () => {},
      onDone: (last) => {
        if (last !== null && !(last instanceof ServerError)) responses.push(last.response)
        resolve(last)
      },
    })
    cancel = () => { call.cancel() }
  })
  return { responses, end, cancel: () => { cancel() } }
}

describe('over HTTP', () => {
  it('runs parallel branches and joins them', async () => {
    const answer = await infer('branches', [json('X', [2, 2], [1, 2, 3, 4])], { id: 'r' })
    expect(answer).toEqual({ status: 200, body: {
      id: 'r', model_name: 'branches', model_version: '1', parameters: { sequence_id: 0, sequence_start: false, sequence_end: false },
      outputs: [{ name: 'Y', datatype: 'FP32', shape: [2, 2], data: [3, 8, 15, 24] }, { name: 'D', datatype: 'FP32', shape: [2, 2], data: [2, 4, 6, 8] }],
    } })
    expect(statisticsOf('branches')).toMatchObject({
      inference_count: 2, execution_count: 1, batch_stats: [{ batch_size: 2, compute_infer: { count: 1 } }],
      inference_stats: { success: { count: 1 }, fail: { count: 0 }, queue: { count: 1 } },
    })
    const members = ['double', 'square', 'sum'].map((name) => statisticsOf(name))
    expect(members.map((entry) => entry?.execution_count)).toEqual([1, 1, 1])
    // What the ensemble computed is what its members computed together.
    expect(statisticsOf('branches')?.inference_stats.compute_infer.ns).toBe(members.reduce((sum, entry) => sum + (entry?.inference_stats.compute_infer.ns ?? NaN), 0))
  })

  it('runs only what the outputs asked for need', async () => {
    const before = statisticsOf('square')?.execution_count
    const { body } = await infer('branches', [json('X', [1, 2], [1, 2])], { outputs: [{ name: 'D' }] })
    expect(body['outputs']).toEqual([{ name: 'D', datatype: 'FP32', shape: [1, 2], data: [2, 4] }])
    expect(statisticsOf('square')?.execution_count).toBe(before)
  })

  it('fails with the text of the step that failed, counted twice', async () => {
    const good = await infer('failing', [json('X', [1, 2], [1, 2]), json('ROW', [1], [0], 'INT64')])
    expect(good.body['outputs']).toMatchObject([{ data: [2, 4] }])
    const { status, body } = await infer('failing', [json('X', [1, 2], [1, 2]), json('ROW', [1], [7], 'INT64')], { id: 'bad' })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(body['error']).toMatch(/^in ensemble 'failing', .*(indices|out of data bounds|Gather)/s)
    expect(statisticsOf('failing')).toMatchObject({ inference_stats: { success: { count: 1 }, fail: { count: 2 } }, execution_count: 1 })
    expect((await metrics.send({ path: '/metrics' })).text).toContain('nv_inference_request_failure{model="failing",reason="OTHER",version="1"} 2')
    const [execution] = running.server.ensembleGraph('failing', '').executions.slice(-1)
    expect(execution).toMatchObject({ id: 'bad', outcome: 'failure', error: body['error'], steps: [{ step: 0, error: null }, { step: 1, error: expect.stringMatching(/bounds|Gather/) as string }] })
  })

  it('keeps the step\'s own request-id prefix', async () => {
    const request = () => infer('queued', [json('X', [1, 4], [1, 2, 3, 4])], { id: 'q' })
    // The client has one connection; the server is asked directly for the others. One runs, one waits, the third is too many.
    const others = [1, 2].map(() => running.server.infer(requestOf('queued', [fp32('X', [1, 4], [1, 2, 3, 4])])))
    expect(await request()).toEqual({ status: 503, body: { error: "in ensemble 'queued', [request id: q] Exceeds maximum queue size" } })
    await Promise.all(others)
  })

  it('ends the trace of a step that its queue refuses', async () => {
    const file = join(served.repository.path, 'trace.json')
    const tracer = new Tracer({ ...DEFAULT_TRACE_CONFIG, levels: ['TIMESTAMPS'], rate: 1, file }, new LogHub().logger('tracer'))
    const trace = tracer.sample('queued')
    const inputs = [fp32('X', [1, 4], [1, 2, 3, 4])]
    const others = [1, 2].map(() => running.server.infer(requestOf('queued', inputs)))
    const ended = new Promise((resolve) => { running.server.inferStream({ ...requestOf('queued', inputs), ...(trace === undefined ? {} : { trace }) }, { onResponse: () => {}, onError: () => {}, onDone: resolve }) })
    expect(await ended).toMatchObject({ message: expect.stringContaining('Exceeds maximum queue size') as string })
    trace?.end()
    tracer.close()
    const entries = JSON.parse(readFileSync(file, 'utf8')) as { id: number; model_name?: string; parent_id?: number; timestamps?: { name: string }[] }[]
    expect(entries).toContainEqual({ id: 2, model_name: 'slow', model_version: 1, parent_id: 1 })
    expect(entries.flatMap(({ id, timestamps = [] }) => (id === 2 ? timestamps.map(({ name }) => name) : []))).toEqual(['REQUEST_START', 'INFER_RESPONSE_COMPLETE', 'REQUEST_END'])
    await Promise.all(others)
  })

  it('runs without an optional input', async () => {
    const without = await infer('maybe', [json('X', [1, 2], [1, 2])])
    expect(without.body['outputs']).toEqual([{ name: 'Y', datatype: 'FP32', shape: [1, 2], data: [1, 2] }])
    const { body } = await infer('maybe', [json('X', [1, 2], [1, 2]), json('M', [1, 2], [5, 6])])
    expect(body['outputs']).toMatchObject([{ name: 'Y', data: [1, 2] }, { name: 'N', data: [5, 6] }])
  })
})

describe('decoupled models', () => {
  const inputs = (values: readonly number[], delays = values.map(() => 0), wait = 0) => [fp32('IN', [values.length], values), uint32('DELAY', delays), uint32('WAIT', [wait])]

  it('are refused where one response is expected', async () => {
    const body = [json('IN', [1], [1]), json('DELAY', [1], [0], 'UINT32'), json('WAIT', [1], [0], 'UINT32')]
    for (const model of ['repeat', 'stream']) {
      expect(await infer(model, body)).toEqual({ status: 501, body: { error: "HTTP end point doesn't support models with decoupled transaction policy" } })
      expect(await grpc.failure('ModelInfer', { model_name: model })).toEqual({ code: 12, details: "ModelInfer RPC doesn't support models with decoupled transaction policy" })
    }
  })

  it('are refused with what to do by the call for one response, which the console uses', async () => {
    await expect(running.server.infer(requestOf('repeat', inputs([1])))).rejects.toMatchObject({ kind: 'UNSUPPORTED', message: expect.stringMatching(/^model 'repeat' is decoupled.*Ask it through a stream$/) as string })
  })

  it('answer once for each element and end with FINAL alone', async () => {
    const { responses, end } = stream('repeat', inputs([1.5, 2.5, 3.5], [0, 5, 0]))
    expect(await end).toBeNull()
    expect(responses.map(({ outputs }) => [floatsOf(outputs[0])[0], outputs[1]?.data[0]])).toEqual([[1.5, 0], [2.5, 1], [3.5, 2]])
    expect(statisticsOf('repeat')).toMatchObject({ inference_stats: { success: { count: 1 } }, execution_count: 1 })
  })

  const ensembleInputs = (values: readonly number[], delays = values.map(() => 0)) => [fp32('VALUES', [values.length], values), uint32('DELAYS', delays), uint32('WAIT', [0])]

  it('make an ensemble decoupled: its answers come in order, through the steps behind', async () => {
    expect(running.server.isDecoupled('stream', '')).toBe(true)
    expect(running.server.modelConfig('stream', '').model_transaction_policy).toEqual({ decoupled: true })
    const values = Array.from({ length: 50 }, (_unused, index) => index)
    const { responses, end } = stream('stream', ensembleInputs(values))
    expect(await end).not.toBeInstanceOf(ServerError)
    expect(responses.map(({ outputs }) => floatsOf(outputs[0])[0])).toEqual(values.map((value) => 2 * value))
    expect(responses[0]).toMatchObject({ modelName: 'stream', outputs: [{ name: 'Y', shape: [1] }] })
    expect(statisticsOf('stream')).toMatchObject({ execution_count: 1, inference_stats: { success: { count: 1 } } })
  })

  it('stop when the client is gone', async () => {
    const call = stream('stream', ensembleInputs([1, 2, 3, 4], [0, 20, 20, 20]), () => { call.cancel() })
    expect(await call.end).toMatchObject({ kind: 'CANCELLED' })
    expect(call.responses).toHaveLength(1)
  })
})

describe('the graph for the console', () => {
  const caller: ConsoleCaller = { closed: new AbortController().signal, sendEvent: () => {} }
  const graphOf = (name: string) => consoleCommandHandlers({
    server: running.server, logs: running.logs, status: running.status, dataDirectory: '', assetsDirectory: '', backends: [], devices: idleDevices(), simulation: noSimulation(), restart: null,
  })['model.ensembleGraph']({ name }, caller) as EnsembleGraph

  it('shows steps, edges, sums and the last requests', async () => {
    await infer('branches', [json('X', [1, 2], [1, 2])], { id: 'traced' })
    const graph = graphOf('branches')
    expect(graph).toMatchObject({
      name: 'branches', version: '1', isDecoupled: false,
      steps: [{ step: 0, modelName: 'double', servedVersion: '1' }, { step: 1, modelName: 'square' }, { step: 2, modelName: 'sum' }],
    })
    const place = (end: EnsembleGraph['edges'][number]['from' | 'to']) => (end.kind === 'step' ? end.step : end.kind)
    expect(graph.edges.map(({ tensor, from, to, shape }) => `${place(from)} -${tensor}[${shape.join()}]-> ${place(to)}`)).toEqual([
      'request -X[-1,2]-> 0', 'request -X[-1,2]-> 1', '0 -D[-1,2]-> 2', '0 -D[-1,2]-> response', '1 -S[-1,2]-> 2', '2 -Y[-1,2]-> response',
    ])
    const execution = graph.executions.at(-1)
    expect(execution).toMatchObject({ id: 'traced', outcome: 'success', error: null, omittedStepRuns: 0 })
    const [first, second, third] = execution?.steps ?? []
    expect([first?.step, second?.step, third?.step]).toEqual([0, 1, 2])
    expect(second?.startNanoseconds).toBeLessThan(first?.endNanoseconds ?? 0)
    expect(third?.startNanoseconds).toBeGreaterThanOrEqual(Math.max(first?.endNanoseconds ?? NaN, second?.endNanoseconds ?? NaN))
    expect(third?.computeInferNanoseconds).toBeGreaterThan(0)
    expect(execution?.totalNanoseconds).toBeGreaterThanOrEqual(third?.endNanoseconds ?? NaN)
    expect(graph.statistics[2]?.totalNanoseconds).toBeGreaterThan(0)
  })

  it('is refused for other models', () => {
    expect(() => graphOf('double')).toThrow("model 'double' is not an ensemble: it has no steps")
    expect(() => graphOf('nope')).toThrow("Request for unknown model: 'nope' is not found")
  })
})
