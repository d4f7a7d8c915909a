/** Sequences of real ONNX models with implicit state over HTTP and gRPC: an accumulator that also shows the controls it was given. */
import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ModelStatisticsEntry } from '../contract/statistics.ts'
import { serverOptions } from '../options.ts'
import { type RunningServer, startServer } from '../start-server.ts'
import { GrpcClient } from '../testing/grpc-client.ts'
import { HttpClient } from '../testing/http-client.ts'
import { onnxModel, type OnnxElementType } from '../testing/onnx-fixture.ts'
import { identityConfig, TemporaryRepository } from '../testing/temporary-repository.ts'

/** OUTPUT = SUM_OUT = INPUT + SUM_IN; the controls come back as SAW_<name>. */
function accumulator(idType: OnnxElementType): Uint8Array {
  const tensor = (name: string, type: OnnxElementType = 'INT32') => ({ name, type, shape: ['batch', 1] })
  return onnxModel({
    inputs: [tensor('INPUT'), tensor('SUM_IN'), tensor('START'), tensor('END'), tensor('READY', 'BOOL'), tensor('ID', idType)],
    outputs: [tensor('OUTPUT'), tensor('SUM_OUT'), tensor('SAW_START'), tensor('SAW_END'), tensor('SAW_READY', 'BOOL'), tensor('SAW_ID', idType)],
    nodes: [
      { operator: 'Add', inputs: ['INPUT', 'SUM_IN'], outputs: ['OUTPUT'] },
      { operator: 'Identity', inputs: ['OUTPUT'], outputs: ['SUM_OUT'] },
      ...['START', 'END', 'READY', 'ID'].map((name) => ({ operator: 'Identity', inputs: [name], outputs: [`SAW_${name}`] })),
    ],
  })
}

const CONTROLS = (idType: string) => `
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }
  control_input { name: "END" control { kind: CONTROL_SEQUENCE_END int32_false_true: [ 0, 1 ] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY bool_false_true: [ false, true ] } }
  control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: ${idType} } }`

const INITIAL = 'initial_state { name: "begin" data_type: TYPE_INT32 dims: [ 1 ] data_file: "begin.bin" }'

interface ConfigParts { readonly strategy?: string; readonly idType?: string; readonly initial?: string; readonly count?: number; readonly more?: string; readonly maxBatchSize?: number }

function configOf({ strategy = 'direct { }', idType = 'TYPE_INT64', initial = '', count = 1, more = '', maxBatchSize = 4 }: ConfigParts = {}): string {
  const output = (name: string, type: string) => `{ name: "${name}" data_type: ${type} dims: [ 1 ] }`
  return `backend: "onnxruntime" max_batch_size: ${maxBatchSize}
input [ { name: "INPUT" data_type: TYPE_INT32 dims: [ 1 ] } ]
output [ ${output('OUTPUT', 'TYPE_INT32')}, ${output('SAW_START', 'TYPE_INT32')}, ${output('SAW_END', 'TYPE_INT32')}, ${output('SAW_READY', 'TYPE_BOOL')}, ${output('SAW_ID', idType)} ]
sequence_batching { ${strategy} max_sequence_idle_microseconds: 60000000 ${CONTROLS(idType)}
  state [ { input_name: "SUM_IN" output_name: "SUM_OUT" data_type: TYPE_INT32 dims: [ 1 ] ${initial} } ] }
instance_group { count: ${count} kind: KIND_CPU }
parameters { key: "intra_op_thread_count" value { string_value: "1" } }
${more}`
}

const WARM_UP = (inputs: string) => `model_warmup { name: "w" batch_size: 2 inputs { key: "INPUT" value { data_type: TYPE_INT32 dims: [ 1 ] zero_data: true } } ${inputs} }`
const WARM_CONTROLS = ['START', 'END'].map((name) => `inputs { key: "${name}" value { data_type: TYPE_INT32 dims: [ 1 ] zero_data: true } }`).join(' ')
  + ' inputs { key: "READY" value { data_type: TYPE_BOOL dims: [ 1 ] zero_data: true } } inputs { key: "ID" value { data_type: TYPE_INT64 dims: [ 1 ] zero_data: true } }'

let repository: TemporaryRepository
let running: RunningServer
let http: HttpClient
let grpc: GrpcClient

interface Answer { readonly outputs: readonly { readonly name: string; readonly data: readonly (number | boolean | string)[] }[]; readonly error?: string }

/** `flags`: any of S and E. */
async function send(model: string, sequenceId: number | string, flags: string, values: number | readonly number[] = 1, client = http): Promise<{ status: number; answer: Answer }> {
  const data = typeof values === 'number' ? [values] : values
  const parameters = { sequence_id: sequenceId, ...(flags.includes('S') ? { sequence_start: true } : {}), ...(flags.includes('E') ? { sequence_end: true } : {}) }
  const { status, text } = await client.send({
    path: `/v2/models/${model}/infer`, body: JSON.stringify({ parameters, inputs: [{ name: 'INPUT', datatype: 'INT32', shape: [data.length, 1], data }] }),
  })
  return { status, answer: JSON.parse(text) as Answer }
}

async function outputs(model: string, sequenceId: number | string, flags: string, value = 1, client = http): Promise<Record<string, number | boolean | string | undefined>> {
  const { status, answer } = await send(model, sequenceId, flags, value, client)
  expect([status, answer.error]).toEqual([200, undefined])
  return Object.fromEntries(answer.outputs.map((output) => [output.name, output.data[0]]))
}

const sum = async (model: string, sequenceId: number | string, flags: string, value: number, client = http) => (await outputs(model, sequenceId, flags, value, client))['OUTPUT']
const statistics = (model: string): ModelStatisticsEntry => running.server.modelStatistics(model, '')[0]!
const START_TEXT = (id: string, model: string) => `inference request for sequence ${id} to model '${model}' must specify the START flag on the first request of the sequence`

describe.each(['native', 'worker'])('onnxruntime, implementation=%s', (implementation) => {
  beforeAll(async () => {
    const [numbered, named] = [accumulator('INT64'), accumulator('BYTES')]
    const model = (name: string, config: string, file = numbered) => ({ [`${name}/config.pbtxt`]: config, [`${name}/1/model.onnx`]: file })
    const begin = new Uint8Array(Int32Array.of(1000).buffer)
    repository = await TemporaryRepository.create({
      ...model('direct', configOf({ initial: INITIAL })), 'direct/initial_state/begin.bin': begin,
      ...model('oldest', configOf({ strategy: 'oldest { max_candidate_sequences: 8 }' })),
      ...model('named', configOf({ idType: 'TYPE_STRING' }), named),
      ...model('shrinking', configOf({ count: 2 })),
      ...model('ending', configOf({ count: 2 })),
      ...model('mortal', configOf({ maxBatchSize: 1 })),
      ...model('warm', configOf({ more: WARM_UP(WARM_CONTROLS) })),
      ...model('cold', configOf({ more: WARM_UP('') })),
      ...model('short', configOf({ initial: INITIAL })), 'short/initial_state/begin.bin': begin.subarray(0, 3),
      ...model('lacking', configOf({ initial: INITIAL })),
      ...model('outside', configOf({ initial: INITIAL.replace('begin.bin', '../../direct/config.pbtxt') })),
      ...model('variable', configOf({ initial: INITIAL }).replace('data_type: TYPE_INT32 dims: [ 1 ] initial_state', 'data_type: TYPE_INT32 dims: [ -1 ] initial_state').replace('dims: [ 1 ] data_file', 'dims: [ -1 ] data_file')),
      'narrow/config.pbtxt': identityConfig('sequence_batching { max_sequence_idle_microseconds: 60000000 }', 1), 'narrow/1/.keep': '',
    })
    running = await startServer(serverOptions({
      modelRepositories: [repository.path], modelControlMode: 'explicit', loadModels: ['direct', 'oldest', 'named', 'shrinking', 'warm', 'narrow'],
      httpPort: 0, grpcPort: 0, metricsPort: 0, console: false, backendConfig: { onnxruntime: { implementation } },
    }))
    http = new HttpClient(running.addresses.http?.port ?? 0)
    grpc = new GrpcClient(running.addresses.grpc?.port ?? 0)
  })

  afterAll(async () => {
    http.close()
    grpc.close()
    await running.stop()
    await repository[Symbol.asyncDispose]()
  })

  describe('sequences over HTTP', () => {
    it('keep their sums apart, from the initial state to the end', async () => {
      expect(await sum('direct', 1, 'S', 1)).toBe(1001)
      expect(await sum('direct', 2, 'S', 50)).toBe(1050)
      expect(await sum('direct', 1, '', 2)).toBe(1003)
      expect(await sum('direct', 2, 'E', 5)).toBe(1055)
      expect(await sum('direct', 1, 'S', 3)).toBe(1003)
      expect(await sum('direct', 1, 'E', 4)).toBe(1007)
      expect((await send('direct', 1, '')).answer.error).toBe(START_TEXT('1', 'direct'))
    })

    it('see their controls, and the state only as a state', async () => {
      const seen = []
      for (const flags of ['S', '', 'E', 'SE']) seen.push(await outputs('direct', 77, flags, 0))
      expect(seen.map((output) => [output['SAW_START'], output['SAW_END'], output['SAW_READY'], output['SAW_ID']])).toEqual([
        [1, 0, true, 77], [0, 0, true, 77], [0, 1, true, 77], [1, 1, true, 77],
      ])
      expect(Object.keys(seen[0]!)).toEqual(['OUTPUT', 'SAW_START', 'SAW_END', 'SAW_READY', 'SAW_ID'])
    })

    it.each(['direct', 'oldest'])('many at once add up right (%s)', async (model) => {
      const first = model === 'direct' ? 1000 : 0
      await Promise.all(Array.from({ length: 12 }, async (_unused, index) => {
        let expected = first
        // A connection of its own: those in the backlog hold theirs.
        const client = new HttpClient(running.addresses.http?.port ?? 0)
        for (let step = 0; step < 8; step++) {
          expected += index * 10 + step
          expect(await sum(model, 100 + index, step === 0 ? 'S' : step === 7 ? 'E' : '', index * 10 + step, client)).toBe(expected)
        }
        client.close()
      }))
    })

    it('may have names where the model takes names', async () => {
      expect(await outputs('named', 'séquence', 'S', 5)).toMatchObject({ OUTPUT: 5, SAW_ID: 'séquence' })
      expect(await outputs('named', 'séquence', 'E', 5)).toMatchObject({ OUTPUT: 10, SAW_ID: 'séquence' })
    })

    it('count null rows in the batch, not in the inferences', async () => {
      const before = statistics('direct')
      await sum('direct', 11, 'S', 1)
      await sum('direct', 12, 'S', 1)
      await sum('direct', 12, 'E', 1)
      await sum('direct', 11, 'E', 1)
      const after = statistics('direct')
      const ofSize = (entry: ModelStatisticsEntry, size: number) => entry.batch_stats.find((batch) => batch.batch_size === size)?.compute_infer.count ?? 0
      expect(after.inference_count - before.inference_count).toBe(4)
      expect(after.execution_count - before.execution_count).toBe(4)
      expect([1, 2].map((size) => ofSize(after, size) - ofSize(before, size))).toEqual([2, 2])
    })

    it.each([
      ['no id', () => send('direct', 0, 'S'), 400, "inference request to model 'direct' must specify a non-zero or non-empty correlation ID"],
      ['a batch', () => send('direct', 5, 'S', [1, 2]), 400, "inference request to model 'direct' must specify batch-size 1 due to requirements of sequence batcher"],
      ['no START', () => send('oldest', 5, 'E'), 400, START_TEXT('5', 'oldest')],
      ['a name for a number', () => send('direct', 'five', 'S'), 400, "[request id: <id_unknown>] sequence batching control 'ID' data-type is 'BYTES', but model 'direct' expects 'INT64'"],
      ['an empty name', () => send('direct', '', 'S'), 400, "[request id: <id_unknown>] sequence batching control 'ID' data-type is 'BYTES', but model 'direct' expects 'INT64'"],
      ['a number for a name', () => send('named', 5, 'S'), 400, "[request id: <id_unknown>] sequence batching control 'ID' data-type is 'UINT64', but model 'named' expects 'BYTES'"],
    ])('are refused with %s', async (_what, call, status, text) => {
      const { status: given, answer } = await call()
      expect([given, answer.error]).toEqual([status, text])
    })

    it('expire in the backlog with 503', async () => {
      const start = (id: number, parameters: object = {}) => http.send({
        path: '/v2/models/narrow/infer',
        body: JSON.stringify({ parameters: { sequence_id: id, sequence_start: true, ...parameters }, inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] }] }),
      })
      expect((await start(1)).status).toBe(200)
      const late = await start(2, { timeout: 1000 })
      expect([late.status, late.text]).toEqual([503, '{"error":"timeout of the corresponding sequence has been expired"}'])
      expect(running.server.modelMetrics().find((entry) => entry.model === 'narrow')).toMatchObject({ requestFailure: { REJECTED: 1 }, pendingRequestCount: 0 })
    })
  })

  describe('sequences over both protocols', () => {
    it('go on over gRPC where they began over HTTP', async () => {
      expect(await sum('oldest', 900, 'S', 4)).toBe(4)
      const reply = await grpc.call('ModelInfer', {
        model_name: 'oldest', parameters: { sequence_id: { int64_param: '900' }, sequence_end: { bool_param: true } }, outputs: [{ name: 'OUTPUT' }],
        inputs: [{ name: 'INPUT', datatype: 'INT32', shape: [1, 1] }], raw_input_contents: [Buffer.from(Int32Array.of(6).buffer)],
      })
      expect((reply['raw_output_contents'] as Buffer[])[0]!.readInt32LE()).toBe(10)
      expect(await grpc.failure('ModelInfer', {
        model_name: 'oldest', parameters: { sequence_id: { int64_param: '900' } },
        inputs: [{ name: 'INPUT', datatype: 'INT32', shape: [1, 1] }], raw_input_contents: [Buffer.from(Int32Array.of(6).buffer)],
      })).toMatchObject({ details: START_TEXT('900', 'oldest') })
    })
  })

  describe('instances of sequence models', () => {
    it('that an update takes away keep their sequences', async () => {
      for (const id of [1, 2]) expect(await sum('shrinking', id, 'S', id)).toBe(id)
      await running.server.loadModel('shrinking', { config: JSON.stringify({ ...running.server.modelConfig('shrinking', ''), instance_group: [{ count: 1, kind: 'KIND_CPU' }] }) })
      expect(running.server.modelSummaries().find((summary) => summary.name === 'shrinking')?.instanceCount).toBe(1)
      for (const id of [1, 2]) expect(await sum('shrinking', id, '', 10)).toBe(id + 10)
      for (const id of [1, 2]) expect(await sum('shrinking', id, 'E', 10)).toBe(id + 20)
      expect(await sum('shrinking', 3, 'SE', 3)).toBe(3)
    })

    it('are warmed up with the controls of the sample', () => {
      expect(statistics('warm')).toMatchObject({ inference_count: 2, execution_count: 1, batch_stats: [{ batch_size: 2 }] })
    })
  })

  // A thread that is a worker can be counted, and ended from outside.
  if (implementation === 'worker') describe('instances of sequence models on worker threads', () => {
    it('that an update takes away end with the model, whatever sequences they have', async () => {
      const living = new Set<Worker>()
      const collect = (worker: Worker) => {
        living.add(worker)
        worker.once('exit', () => { living.delete(worker) })
      }
      process.on('worker', collect)
      await running.server.loadModel('ending')
      process.off('worker', collect)
      for (const id of [1, 2]) expect(await sum('ending', id, 'S', id)).toBe(id)
      await running.server.loadModel('ending', { config: JSON.stringify({ ...running.server.modelConfig('ending', ''), instance_group: [{ count: 1, kind: 'KIND_CPU' }] }) })
      expect(living.size).toBe(2)
      await running.server.unloadModel('ending')
      await expect.poll(() => running.server.repositoryIndex(false).find((entry) => entry.name === 'ending'), { timeout: 10_000 }).toMatchObject({ state: 'UNAVAILABLE', reason: 'unloaded' })
      expect(living.size).toBe(0)
    })

    it('that crash end their sequences; they start again on the one that replaces it', async () => {
      const workers: Worker[] = []
      const collect = (worker: Worker) => { workers.push(worker) }
      process.on('worker', collect)
      await running.server.loadModel('mortal')
      process.off('worker', collect)
      expect(await sum('mortal', 1, 'S', 5)).toBe(5)
      const [worker] = workers
      const ended = once(worker!, 'exit')
      await worker!.terminate()
      await ended
      expect((await send('mortal', 1, '')).answer.error).toBe(START_TEXT('1', 'mortal'))
      expect(await sum('mortal', 1, 'S', 7)).toBe(7)
      expect(await sum('mortal', 1, 'E', 1)).toBe(8)
    })
  })

  describe('a load is refused', () => {
    it.each([
      ['cold', "missing required input(s) ['START','END','READY','ID']"],
      ['short', 'initial_state setting expects 4 bytes, but the data provided from begin.binonly has 3 bytes.'],
      ['lacking', "initial state file 'initial_state/begin.bin' does not exist in the model directory"],
      ['outside', "initial state file 'initial_state/../../direct/config.pbtxt' is outside the model directory"],
      ['variable', "'initial_state' field for state input name 'SUM_IN' contains variable dimensions."],
    ])('%s', async (model, text) => {
      await expect(running.server.loadModel(model)).rejects.toThrow(text)
    })
  })
})
