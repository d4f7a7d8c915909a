import { describe, expect, it } from 'vitest'
import type { Tensor } from '../../contract/inference.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import { LogHub } from '../../logger.ts'
import { normalizeModelConfig } from '../../model-config/normalize.ts'
import { readModelConfig } from '../../model-config/read-config.ts'
import { InflightRequest, type RequestOutcome } from '../../scheduling/inflight-request.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import type { ExecutionTimes } from '../backend.ts'
import { createRepeatBackend } from './repeat-backend.ts'
import { repeatConfigProblems } from './repeat-config.ts'

const MILLISECOND = 1e6
const TENSORS = {
  IN: 'input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }', DELAY: 'input { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }',
  WAIT: 'input { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] }', OUT: 'output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }',
  IDX: 'output { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] }',
}
const DECOUPLED = 'model_transaction_policy { decoupled: true }'

function config(change: Partial<typeof TENSORS> = {}, rest = DECOUPLED): ModelConfig {
  const text = `backend: "repeat" ${Object.values({ ...TENSORS, ...change }).join(' ')} ${rest}`
  return normalizeModelConfig({ ...readModelConfig(text, 'r'), name: 'r' })
}

const integers = (name: string, datatype: 'INT32' | 'UINT32', values: readonly number[]): Tensor =>
  ({ name, datatype, shape: [values.length], data: new Uint8Array(Int32Array.from(values).buffer) })
const inputs = (values: readonly number[], delays: readonly number[], wait: number) =>
  [integers('IN', 'INT32', values), integers('DELAY', 'UINT32', delays), integers('WAIT', 'UINT32', [wait])]
const valueOf = (tensor: Tensor | undefined) => (tensor === undefined ? undefined : new Int32Array(tensor.data.slice().buffer)[0])
/** Everything that waits for promises only has gone on. */
const settled = () => new Promise((resolve) => { setImmediate(resolve) })

async function rig() {
  const clock = new FakeClock()
  const start = clock.now()
  const model = await createRepeatBackend(clock).initializeModel({
    backendConfig: {}, log: new LogHub().logger('test'), modelName: 'r', modelVersion: 1, modelDirectory: '', versionDirectory: '', config: config(), autoComplete: true,
  })
  const instance = await model.initializeInstance({ name: 'r_0', index: 0, kind: 'KIND_CPU', deviceId: 0 })
  const run = (given: readonly Tensor[], requestedOutputs: readonly string[] = ['OUT', 'IDX'], slow?: () => Promise<void>) => {
    const answers: { at: number; outputs: (readonly [string, number | undefined])[] }[] = []
    const result: { outcome: RequestOutcome | null; times: ExecutionTimes | null } = { outcome: null, times: null }
    const request = new InflightRequest({
      id: '', inputs: given, requestedOutputs, parameters: {}, batchSize: 1, requestStart: start, queueStart: start, timeoutMicroseconds: 0, isDecoupled: true,
      onPartial: (answer) => {
        if ('outputs' in answer) answers.push({ at: (clock.now() - start) / MILLISECOND, outputs: answer.outputs.map((output) => [output.name, valueOf(output)] as const) })
        return slow?.()
      },
      onSettled: (outcome) => { result.outcome = outcome },
    })
    request.markExecuting()
    void Promise.resolve(instance.execute([request])).then((times) => {
      result.times = times
      request.settleExecution(times, 1, null)
    })
    return { request, answers, result }
  }
  const advance = async (milliseconds: number) => {
    for (let step = 0; step < milliseconds; step++) {
      await settled()
      clock.advance(MILLISECOND)
    }
    await settled()
  }
  return { clock, run, advance }
}

describe('repeat backend', () => {
  it('answers once for each element, each after its own delay, and ends with FINAL alone', async () => {
    const { run, advance } = await rig()
    const { answers, result } = run(inputs([5, 6, 7], [0, 3, 2], 1))
    await advance(1)
    expect(result.times).not.toBeNull()
    expect(result.outcome).toBeNull()
    await advance(9)
    expect(answers).toEqual([
      { at: 0, outputs: [['OUT', 5], ['IDX', 0]] }, { at: 3, outputs: [['OUT', 6], ['IDX', 1]] }, { at: 5, outputs: [['OUT', 7], ['IDX', 2]] },
    ])
    expect(result.outcome).toMatchObject({ kind: 'response', outputs: null })
  })

  it('executes for as long as WAIT says, also when all responses are out', async () => {
    const { run, advance, clock } = await rig()
    const { answers, result } = run(inputs([1], [0], 4))
    await advance(3)
    expect([answers.length, result.times]).toEqual([1, null])
    await advance(1)
    expect(result.times?.executeEnd).toBe(clock.now())
    expect(result.outcome).toMatchObject({ kind: 'response', outputs: null })
  })

  it('gives no response for no element', async () => {
    const { run, advance } = await rig()
    const { answers, result } = run(inputs([], [], 0))
    await advance(1)
    expect([answers, result.outcome]).toMatchObject([[], { kind: 'response', outputs: null }])
  })

  it('gives only the outputs asked for', async () => {
    const { run, advance } = await rig()
    const { answers } = run(inputs([9], [0], 0), ['IDX'])
    await advance(1)
    expect(answers.map(({ outputs }) => outputs)).toEqual([[['IDX', 0]]])
  })

  it('stops at the next response when the client is gone', async () => {
    const { run, advance } = await rig()
    const { request, answers, result } = run(inputs([1, 2, 3], [0, 5, 5], 0))
    await advance(1)
    request.isCancelled = true
    await advance(10)
    expect(answers).toHaveLength(1)
    expect(result.outcome).toMatchObject({ kind: 'failure', error: { kind: 'CANCELLED' } })
  })

  it('waits for nothing once the client is gone, however long it was to wait', async () => {
    const { run, advance } = await rig()
    const { request, result } = run(inputs([1], [0xffff_ffff], 0xffff_ffff))
    await advance(1)
    request.isCancelled = true
    await advance(0)
    expect(result.times).not.toBeNull()
    expect(result.outcome).toMatchObject({ kind: 'failure', error: { kind: 'CANCELLED' } })
  })

  it('waits with the next response while whoever takes them asks for it', async () => {
    const { run, advance } = await rig()
    let goOn = () => {}
    const { answers } = run(inputs([1, 2], [0, 0], 0), ['OUT'], () => new Promise<void>((resolve) => { goOn = resolve }))
    await advance(3)
    expect(answers).toHaveLength(1)
    goOn()
    await advance(1)
    expect(answers).toHaveLength(2)
  })

  it('refuses a request whose IN and DELAY differ in length', async () => {
    const { run, advance } = await rig()
    const { result } = run(inputs([1, 2], [0], 0))
    await advance(1)
    expect(result.outcome).toMatchObject({ kind: 'failure', error: { kind: 'INVALID_ARG', message: 'expected IN and DELAY shape to match, got [2] and [1]' } })
  })
})

describe('config of the repeat backend', () => {
  it.each([
    ['repeat backend only supports models with max_batch_size == 0', {}, `max_batch_size: 4 ${DECOUPLED}`],
    ["model 'r' gives one response for each element of IN: the repeat backend needs model_transaction_policy { decoupled: true }", {}, ''],
    ['expected 3 inputs, got 2', { WAIT: '' }],
    ['expected 2 outputs, got 1', { IDX: '' }],
    ['expected first input tensor name to be IN, got X', { IN: 'input { name: "X" data_type: TYPE_INT32 dims: [ -1 ] }' }],
    ['expected second output tensor name to be IDX, got X', { IDX: 'output { name: "X" data_type: TYPE_UINT32 dims: [ 1 ] }' }],
    ['expected IN shape to have one dimension, got [-1,2]', { IN: 'input { name: "IN" data_type: TYPE_INT32 dims: [ -1, 2 ] }', DELAY: 'input { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1, 2 ] }' }],
    ['expected IN and DELAY shape to match, got [-1] and [4]', { DELAY: 'input { name: "DELAY" data_type: TYPE_UINT32 dims: [ 4 ] }' }],
    ['expected WAIT shape to be [1], got [2]', { WAIT: 'input { name: "WAIT" data_type: TYPE_UINT32 dims: [ 2 ] }' }],
    ['expected OUT shape to be [1], got [-1]', { OUT: 'output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }' }],
    ['expected IN datatype to have elements of one size, got TYPE_STRING', { IN: 'input { name: "IN" data_type: TYPE_STRING dims: [ -1 ] }', OUT: 'output { name: "OUT" data_type: TYPE_STRING dims: [ 1 ] }' }],
    ['expected IN and OUT datatype to match, got TYPE_INT32 and TYPE_FP32', { OUT: 'output { name: "OUT" data_type: TYPE_FP32 dims: [ 1 ] }' }],
    ['expected DELAY datatype to be UINT32, got TYPE_INT32', { DELAY: 'input { name: "DELAY" data_type: TYPE_INT32 dims: [ -1 ] }' }],
    ['expected IDX datatype to be UINT32, got TYPE_INT64', { IDX: 'output { name: "IDX" data_type: TYPE_INT64 dims: [ 1 ] }' }],
  ])('%s', (text, change, rest = DECOUPLED) => {
    expect([...repeatConfigProblems(config(change, rest))].map((problem) => problem.text)).toEqual([text])
  })

  it('takes tensors in any order, and any type whose elements have one size', () => {
    const { IN: _in, OUT: _out, IDX, ...others } = TENSORS
    const text = `backend: "repeat" ${Object.values(others).join(' ')} input { name: "IN" data_type: TYPE_FP64 dims: [ -1 ] } ${IDX} output { name: "OUT" data_type: TYPE_FP64 dims: [ 1 ] } ${DECOUPLED}`
    expect([...repeatConfigProblems(normalizeModelConfig({ ...readModelConfig(text, 'r'), name: 'r' }))]).toEqual([])
  })
})
