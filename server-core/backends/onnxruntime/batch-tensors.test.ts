import { describe, expect, it } from 'vitest'
import type { BackendModelInstance } from '../backend.ts'
import type { Tensor } from '../../contract/inference.ts'
import { LogHub } from '../../logger.ts'
import { normalizeModelConfig } from '../../model-config/normalize.ts'
import { readModelConfig } from '../../model-config/read-config.ts'
import { InflightRequest, type RequestOutcome } from '../../scheduling/inflight-request.ts'
import { onnxModel } from '../../testing/onnx-fixture.ts'
import { TemporaryRepository } from '../../testing/temporary-repository.ts'
import { createTestServer, floatsOf, fp32, requestOf } from '../../testing/test-server.ts'
import { createOnnxRuntimeBackend } from './onnxruntime-backend.ts'

const GROUP = 'instance_group { count: 1 kind: KIND_CPU }'

/** OUT = −IN over a flat IN; COUNT and SHAPES are the batch inputs themselves. */
const RAGGED_MODEL = onnxModel({
  inputs: [{ name: 'IN', type: 'FP32', shape: ['n'] }, { name: 'COUNTS', type: 'INT32', shape: ['b'] }, { name: 'ITEMS', type: 'FP32', shape: ['b', 1] }],
  outputs: [{ name: 'OUT', type: 'FP32', shape: ['n'] }, { name: 'COUNT', type: 'INT32', shape: ['b'] }, { name: 'SHAPES', type: 'FP32', shape: ['b', 1] }],
  nodes: [
    { operator: 'Neg', inputs: ['IN'], outputs: ['OUT'] }, { operator: 'Identity', inputs: ['COUNTS'], outputs: ['COUNT'] },
    { operator: 'Identity', inputs: ['ITEMS'], outputs: ['SHAPES'] },
  ],
})

const RAGGED_CONFIG = `max_batch_size: 8 ${GROUP}
  input { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true }
  output [ { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] }, { name: "COUNT" data_type: TYPE_INT32 dims: [ 1 ] reshape { shape: [ ] } }, { name: "SHAPES" data_type: TYPE_FP32 dims: [ 1 ] } ]
  batch_input [
    { kind: BATCH_ELEMENT_COUNT target_name: "COUNTS" data_type: TYPE_INT32 source_input: "IN" },
    { kind: BATCH_ITEM_SHAPE target_name: "ITEMS" data_type: TYPE_FP32 source_input: "IN" }
  ]
  batch_output { target_name: "OUT" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "IN" }
  dynamic_batching { preferred_batch_size: [ 3 ] max_queue_delay_microseconds: 5000000 }`

describe.each(['worker', 'native'])('a ragged batch in ONNX Runtime, implementation=%s', (implementation) => {
  const backendConfig = { onnxruntime: { implementation } }

  it('is one flat tensor with the computed inputs beside it, and comes back in the shapes of the requests', async () => {
    await using repository = await TemporaryRepository.create({ 'ragged/1/model.onnx': RAGGED_MODEL, 'ragged/config.pbtxt': RAGGED_CONFIG })
    await using test = createTestServer([repository.path], { loadModels: ['ragged'], backendConfig })
    await test.server.start()
    const rows = [[1, 2], [3, 4, 5], [6]]
    const results = await Promise.all(rows.map((row) => test.server.infer(requestOf('ragged', [fp32('IN', [1, row.length], row)]))))
    results.forEach(({ response: { outputs }, timing }, index) => {
      const row = rows[index]!
      expect(timing.batchSize).toBe(3)
      expect(outputs.map(({ name, shape }) => [name, shape])).toEqual([['OUT', [1, row.length]], ['COUNT', [1, 1]], ['SHAPES', [1, 1]]])
      expect(floatsOf(outputs[0])).toEqual(row.map((value) => -value))
      expect([...new Int32Array(outputs[1]!.data.slice().buffer)]).toEqual([row.length])
      expect(floatsOf(outputs[2])).toEqual([row.length])
    })
    expect(test.server.modelStatistics('ragged', '')[0]).toMatchObject({ inference_count: 3, execution_count: 1 })
  })

  it('fails with the reason when the model gives another number of elements than is to be scattered', async () => {
    const model = onnxModel({
      inputs: [{ name: 'IN', type: 'FP32', shape: ['n'] }], outputs: [{ name: 'OUT', type: 'FP32', shape: ['m'] }],
      nodes: [{ operator: 'Concat', inputs: ['IN', 'IN'], outputs: ['OUT'], attributes: { axis: 0 } }],
    })
    await using repository = await TemporaryRepository.create({
      'twice/1/model.onnx': model,
      'twice/config.pbtxt': `max_batch_size: 8 ${GROUP} input { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true } output { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] }
        batch_output { target_name: "OUT" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "IN" }`,
    })
    await using test = createTestServer([repository.path], { loadModels: ['twice'], backendConfig })
    await test.server.start()
    await expect(test.server.infer(requestOf('twice', [fp32('IN', [1, 2], [1, 2])]))).rejects.toMatchObject({
      kind: 'INTERNAL', message: "output 'OUT' of model 'twice' has shape [4], which is 4 elements; scattered with the shapes of its source input it is to have 2. Check batch_output and the dims of the output",
    })
  })
})

describe('batch tensors', () => {
  it.each<[string, string, RegExp]>([
    ['a ragged input that the model does not take flat', `backend: "onnxruntime" max_batch_size: 4 input { name: "IN" data_type: TYPE_FP32 dims: [ 2 ] allow_ragged_batch: true } output { name: "OUT" data_type: TYPE_FP32 dims: [ 2 ] }`,
      /unable to load model 'm', configuration expects model provides input with shape \[-1\] for ragged input 'IN', model provides \[-1,2\]/],
    ['a kind that is none', 'backend: "onnxruntime" input { name: "IN" data_type: TYPE_FP32 dims: [ 2, 2 ] } output { name: "OUT" data_type: TYPE_FP32 dims: [ 2, 2 ] } batch_input { kind: 17 target_name: "T" data_type: TYPE_FP32 source_input: "IN" }',
      /batch_input\.kind: this version cannot run batch tensors of an unknown kind/],
    ['a backend that computes none', 'backend: "identity" input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2 ] } output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2 ] } batch_input { kind: BATCH_ELEMENT_COUNT target_name: "T" data_type: TYPE_FP32 source_input: "INPUT0" }',
      /sets batch_input: this version cannot run batch tensors with this backend/],
  ])('is refused at load: %s', async (_name, config, message) => {
    const model = onnxModel({
      inputs: [{ name: 'IN', type: 'FP32', shape: ['b', 2] }], outputs: [{ name: 'OUT', type: 'FP32', shape: ['b', 2] }], nodes: [{ operator: 'Neg', inputs: ['IN'], outputs: ['OUT'] }],
    })
    await using repository = await TemporaryRepository.create({ 'm/1/model.onnx': model, 'm/config.pbtxt': config })
    await using test = createTestServer([repository.path])
    await test.server.start()
    await expect(test.server.loadModel('m')).rejects.toThrow(message)
  })
})

/** SUM = IN + STATE_IN; the new state is the sum, too. */
const ACCUMULATOR = onnxModel({
  inputs: [{ name: 'IN', type: 'FP32', shape: ['b', 2] }, { name: 'STATE_IN', type: 'FP32', shape: ['b', 2] }],
  outputs: [{ name: 'SUM', type: 'FP32', shape: ['b', 2] }, { name: 'STATE_OUT', type: 'FP32', shape: ['b', 2] }],
  nodes: [{ operator: 'Add', inputs: ['IN', 'STATE_IN'], outputs: ['SUM'] }, { operator: 'Identity', inputs: ['SUM'], outputs: ['STATE_OUT'] }],
})

async function accumulator(repository: TemporaryRepository, more = ''): Promise<BackendModelInstance> {
  const config = normalizeModelConfig(readModelConfig(`name: "sum" backend: "onnxruntime" max_batch_size: 4 input { name: "IN" data_type: TYPE_FP32 dims: [ 2 ] }
    output { name: "SUM" data_type: TYPE_FP32 dims: [ 2 ] } ${more}
    sequence_batching { state { input_name: "STATE_IN" output_name: "STATE_OUT" data_type: TYPE_FP32 dims: [ 2 ] } }`, 'config.pbtxt'))
  const backend = createOnnxRuntimeBackend({ isVerbose: () => false })
  const model = await backend.initializeModel({
    backendConfig: {}, log: new LogHub().logger('test'), modelName: 'sum', modelVersion: 1, modelDirectory: `${repository.path}/sum`, versionDirectory: `${repository.path}/sum/1`,
    config, autoComplete: true,
  })
  return model.initializeInstance({ name: 'sum_0', index: 0, kind: 'KIND_CPU', deviceId: 0 })
}

function rowOf(inputs: readonly Tensor[], { isNull = false, requestedOutputs = ['SUM'] } = {}) {
  const states: Tensor[] = []
  const outcomes: RequestOutcome[] = []
  const request = new InflightRequest({
    id: '', inputs, requestedOutputs, parameters: {}, batchSize: 1, requestStart: 0, queueStart: 0, timeoutMicroseconds: 0, isNull, onSettled: (outcome) => { outcomes.push(outcome) },
  })
  request.sequenceHooks = { updateState: (state) => { states.push(state) }, reschedule: null }
  request.markExecuting()
  const outputs = () => (outcomes[0]?.kind === 'response' ? outcomes[0].outputs ?? [] : [])
  return { request, states, outputs }
}

describe('implicit states in ONNX Runtime', () => {
  it('go from output to the next request of the row, not to the client; a row without a request is zeros', async () => {
    await using repository = await TemporaryRepository.create({ 'sum/1/model.onnx': ACCUMULATOR })
    const instance = await accumulator(repository)
    const rows = [rowOf([fp32('IN', [1, 2], [1, 2]), fp32('STATE_IN', [1, 2], [10, 20])]), rowOf([], { isNull: true }), rowOf([fp32('IN', [1, 2], [3, 4]), fp32('STATE_IN', [1, 2], [30, 40])])]
    const times = await instance.execute(rows.map(({ request }) => request))
    for (const { request } of rows) request.settleExecution(times, 3, null)
    await instance.finalize()
    expect(rows.map(({ states }) => states.map((state) => [state.name, state.shape, floatsOf(state)]))).toEqual([[['STATE_OUT', [1, 2], [11, 22]]], [], [['STATE_OUT', [1, 2], [33, 44]]]])
    expect([rows[0], rows[2]].map((row) => row!.outputs().map((output) => [output.name, floatsOf(output)]))).toEqual([[['SUM', [11, 22]]], [['SUM', [33, 44]]]])
    // Not a view that keeps the whole batch alive.
    expect(rows[0]!.states[0]!.data.buffer.byteLength).toBe(8)
  })

  it('are answered too where the state is an output of the config and was asked for', async () => {
    await using repository = await TemporaryRepository.create({ 'sum/1/model.onnx': ACCUMULATOR })
    const instance = await accumulator(repository, 'output { name: "STATE_OUT" data_type: TYPE_FP32 dims: [ 2 ] }')
    const row = rowOf([fp32('IN', [1, 2], [1, 2]), fp32('STATE_IN', [1, 2], [10, 20])], { requestedOutputs: ['STATE_OUT'] })
    row.request.settleExecution(await instance.execute([row.request]), 1, null)
    await instance.finalize()
    expect(row.outputs().map((output) => [output.name, floatsOf(output)])).toEqual([['STATE_OUT', [11, 22]]])
    expect(row.states.map(floatsOf)).toEqual([[11, 22]])
  })
})
