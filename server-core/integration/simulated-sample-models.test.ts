/** The OCR and VAD models on two simulated cards through every backend that runs them: the answers are those of ONNX Runtime. Build first: node scripts/build.mjs --only native */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ModelSummary } from '../contract/repository.ts'
import type { ModelStatisticsEntry } from '../contract/statistics.ts'
import { ConsoleClient } from '../testing/console-client.ts'
import { HttpClient } from '../testing/http-client.ts'
import { inferOverHttp, ocrFile, picture, runDirectly, sileroFile, sound, type SampleInput, type SampleOutput } from '../testing/sample-model-runs.ts'
import { startServerProcess, type ServerProcess } from '../testing/server-process.ts'
import { SimulatedOm } from '../testing/simulated-om.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'

const FILES = {
  det: ocrFile('ch_PP-OCRv4_det_infer.onnx'), rec: ocrFile('ch_PP-OCRv4_rec_infer.onnx'), cls: ocrFile('ch_ppocr_mobile_v2.0_cls_infer.onnx'),
  vad: sileroFile('silero_vad_16k_op15.onnx'), half: sileroFile('silero_vad_half.onnx'),
}
type Sample = keyof typeof FILES

/** What atc is told: an image size, batches, a width, and fixed shapes. */
const ATC: Readonly<Record<Exclude<Sample, 'half'>, readonly string[]>> = {
  det: ['--input_shape=x:1,3,-1,-1', '--input_format=NCHW', '--dynamic_image_size=64,64;96,128'],
  cls: ['--input_shape=x:-1,3,48,192', '--dynamic_batch_size=1,2,4'],
  rec: ['--input_shape=x:1,3,48,-1', '--input_format=ND', '--dynamic_dims=64;96'],
  vad: ['--input_shape=input:1,576;state:2,1,128'],
}
const BACKENDS = ['npu_ge', 'npu_om', 'onnxruntime'] as const
const parameter = (key: string, value: string) => `parameters { key: "${key}" value { string_value: "${value}" } }`
const tensor = (kind: 'input' | 'output', name: string, dims: string, type = 'FP32') => `${kind} { name: "${name}" data_type: TYPE_${type} dims: [ ${dims} ] }`
/** Two instances: one on each card through npu_om, both on both cards through npu_ge. */
const COMMON = `instance_group { count: 2 kind: KIND_CPU }\n${parameter('device_ids', '0,1')}\n${parameter('intra_op_thread_count', '1')}`

const VAD_IO = [tensor('input', 'input', '-1, -1'), tensor('input', 'sr', '1', 'INT64'), tensor('output', 'output', '-1, 1')].join('\n')
const SHAPES: Readonly<Record<Sample, string>> = {
  det: [tensor('input', 'x', '1, 3, -1, -1'), tensor('output', 'sigmoid_0.tmp_0', '1, 1, -1, -1')].join('\n'),
  cls: `max_batch_size: 4\n${[tensor('input', 'x', '3, 48, 192'), tensor('output', 'softmax_0.tmp_0', '2')].join('\n')}`,
  rec: [tensor('input', 'x', '1, 3, 48, -1'), tensor('output', 'softmax_11.tmp_0', '1, -1, 6625')].join('\n'),
  vad: [VAD_IO, tensor('input', 'state', '2, -1, 128'), tensor('output', 'stateN', '2, -1, 128')].join('\n'),
  half: [tensor('input', 'input', '-1, -1'), tensor('input', 'state', '2, -1, 128'), tensor('output', 'output', '-1, 1'), tensor('output', 'stateN', '2, -1, 128')].join('\n'),
}
/** The server keeps the state: a client sends pieces of sound only. */
const SEQUENCES = `sequence_batching { state { input_name: "state" output_name: "stateN" data_type: TYPE_FP32 dims: [ 2, 1, 128 ] } }`

let om: SimulatedOm
let repository: TemporaryRepository
let server: ServerProcess
let http: HttpClient
let console: ConsoleClient

beforeAll(async () => {
  om = await SimulatedOm.start()
  const compiled = Object.fromEntries(await Promise.all(Object.entries(ATC).map(async ([name, options]) => [name, readFileSync(await om.compile(name, readFileSync(FILES[name as Sample]), options))] as const)))
  repository = await TemporaryRepository.create()
  const add = (name: string, backend: string, config: string, sample: Sample) => repository.write({
    [`${name}/config.pbtxt`]: `backend: "${backend}"\n${config}\n${COMMON}`,
    ...backend === 'npu_om' ? { [`${name}/1/model.om`]: compiled[sample]! } : { [`${name}/1/model.onnx`]: readFileSync(FILES[sample]) },
  })
  for (const backend of BACKENDS) {
    for (const sample of ['det', 'cls', 'rec', 'vad'] as const) await add(`${sample}_${backend}`, backend, SHAPES[sample], sample)
    await add(`sequence_${backend}`, backend, `${VAD_IO}\n${SEQUENCES}`, 'vad')
  }
  const other = readFileSync(await om.compile('other', readFileSync(FILES.cls), ['--input_shape=x:1,3,48,192', '--soc_version=Ascend910B3']))
  for (const [name, file] of Object.entries({ other_chip: other, cut_off: compiled['cls']!.subarray(0, 200_000), no_om: Buffer.from('hello') })) {
    await repository.write({ [`${name}/config.pbtxt`]: 'backend: "npu_om"', [`${name}/1/model.om`]: file })
  }
  await add('half_npu_ge', 'npu_ge', SHAPES.half, 'half')
  await add('stray_npu_ge', 'npu_ge', `${VAD_IO}\n${SEQUENCES.replace('stateN', 'lost')}`, 'vad')
  await add('stray_npu_om', 'npu_om', `${VAD_IO}\n${SEQUENCES.replace('stateN', 'lost')}`, 'vad')
  server = await startServerProcess([
    `--model-repository=${repository.path}`, '--model-control-mode=explicit', '--console', '--console-token=secret', '--npu=simulated', '--npu-simulated-time-scale=0',
    '--backend-config=onnxruntime,implementation=native',
  ])
  http = new HttpClient(server.httpPort)
  console = await ConsoleClient.open(Number(new URL(server.consoleUrl).port), 'secret')
}, 120_000)

afterAll(async () => {
  console.close()
  http.close()
  await server.stop()
  await repository[Symbol.asyncDispose]()
  await om[Symbol.asyncDispose]()
})

/** Each run once: all backends are held against it. */
const directRuns = new Map<SampleInput[], Promise<SampleOutput[]>>()
function directly(sample: Sample, inputs: SampleInput[]): Promise<SampleOutput[]> {
  const run = directRuns.get(inputs) ?? runDirectly(FILES[sample], inputs)
  directRuns.set(inputs, run)
  return run
}

const load = (name: string) => console.command('model.load', { name })
const unload = (name: string) => console.command('model.unload', { name })
const summaryOf = async (name: string): Promise<ModelSummary> => (await console.command('repository.models')).find((model) => model.name === name)!

function expectEqual(answers: readonly SampleOutput[], direct: readonly SampleOutput[]): void {
  expect(answers.map(({ name, shape }) => [name, shape])).toEqual(direct.map(({ name, shape }) => [name, shape]))
  expect(answers.map(({ data }, index) => Buffer.compare(data, direct[index]!.data))).toEqual(direct.map(() => 0))
}

const INPUTS: Readonly<Record<Exclude<Sample, 'half'>, readonly SampleInput[][]>> = {
  det: [[picture(1, 1, 3, 64, 64)], [picture(2, 1, 3, 96, 128)]],
  cls: [[picture(3, 1, 3, 48, 192)], [picture(4, 4, 3, 48, 192)]],
  rec: [[picture(5, 1, 3, 48, 64)], [picture(6, 1, 3, 48, 96)]],
  vad: [sound(7), sound(8)],
}

/** Pieces of two sequences in turn, with what each gives when the client carries the state. */
async function sequence() {
  const zeros: SampleInput = { name: 'state', datatype: 'FP32', shape: [2, 1, 128], data: new Uint8Array(2 * 128 * 4) }
  const states = new Map([[1, zeros], [2, zeros]])
  const steps: { id: number; pieces: SampleInput[]; direct: SampleOutput; isStart: boolean; isEnd: boolean }[] = []
  for (const [step, id] of [1, 2, 1, 2, 1].entries()) {
    const [input, , sr] = sound(step) as [SampleInput, SampleInput, SampleInput]
    const [direct, next] = await runDirectly(FILES.vad, [input, states.get(id)!, sr])
    states.set(id, { ...zeros, data: next!.data })
    steps.push({ id, pieces: [input, sr], direct: direct!, isStart: step < 2, isEnd: step > 2 })
  }
  return steps
}
let steps: ReturnType<typeof sequence> | undefined

// First of all: what is loaded at the same time shares its figures.
it('the memory ledger has what a model took on each card, and that it gave it back', async () => {
  const entries = async () => (await console.command('devices.report')).memory.filter(({ model }) => model === 'rec_npu_om').toSorted((a, b) => a.card - b.card)
  await expect.poll(async () => (await console.command('devices.report')).cards.length, { timeout: 30_000 }).toBe(2)
  await load('rec_npu_om')
  await expect.poll(async () => (await entries()).map(({ card, loadedBytes }) => [card, loadedBytes !== null]), { timeout: 30_000 }).toEqual([[0, true], [1, true]])
  await unload('rec_npu_om')
  await expect.poll(async () => (await entries()).map(({ afterUnloadBytes }) => afterUnloadBytes !== null), { timeout: 30_000 }).toEqual([true, true])
  for (const { beforeBytes, loadedBytes, afterUnloadBytes, reportedBytes, isShared } of await entries()) {
    expect(isShared).toBe(false)
    expect(loadedBytes! - beforeBytes!).toBeGreaterThanOrEqual(reportedBytes!)
    expect(reportedBytes).toBeGreaterThan(1e6)
    expect(afterUnloadBytes).toBe(beforeBytes)
  }
})

describe.each(BACKENDS)('OCR and VAD through %s', (backend) => {
  it.each(['det', 'cls', 'rec', 'vad'] as const)('%s answers as ONNX Runtime does, bit for bit', async (sample) => {
    const name = `${sample}_${backend}`
    await load(name)
    expect(await summaryOf(name)).toMatchObject(backend === 'onnxruntime' ? { state: 'READY', runsOn: 'CPU', isSimulated: false } : { state: 'READY', runsOn: 'NPU 0, 1', isSimulated: true, degraded: null })
    for (const inputs of INPUTS[sample]) expectEqual(await inferOverHttp(http, name, '', inputs), await directly(sample, inputs))
    await unload(name)
  })

  it('keeps the state of a sequence between requests, and those of two sequences apart', async () => {
    const name = `sequence_${backend}`
    await load(name)
    for (const { id, pieces, direct, isStart, isEnd } of await (steps ??= sequence())) {
      expectEqual(await inferOverHttp(http, name, '', pieces, { sequence_id: id, sequence_start: isStart, sequence_end: isEnd }), [direct])
    }
    await unload(name)
  })
})

describe('on the cards', () => {
  it('a padded batch of npu_om gives what its rows give in the gear, and both cards share the work of either backend', async () => {
    for (const name of ['cls_npu_om', 'cls_npu_ge']) await load(name)
    const three = picture(9, 3, 3, 48, 192)
    const padded: SampleInput = { ...three, shape: [4, 3, 48, 192], data: Buffer.concat([three.data, Buffer.alloc(three.data.length / 3)]) }
    const [direct] = await runDirectly(FILES.cls, [padded])
    expectEqual(await inferOverHttp(http, 'cls_npu_om', '', [three]), [{ ...direct!, shape: [3, 2], data: direct!.data.subarray(0, 3 * 2 * 4) }])

    let isOver = false
    const image = picture(10, 1, 3, 48, 192)
    const clients = ['cls_npu_om', 'cls_npu_om', 'cls_npu_ge', 'cls_npu_ge'].map(async (name) => {
      const client = new HttpClient(server.httpPort)
      while (!isOver) await inferOverHttp(client, name, '', [image])
      client.close()
    })
    const metrics = new HttpClient(server.metricsPort)
    const busy = async () => [...(await metrics.send({ path: '/metrics' })).text.matchAll(/^npu_chip_info_utilization\{id="(\d)".* (\d+)$/gm)].filter(([, , percent]) => Number(percent) > 0).map(([, id]) => id)
    try {
      await expect.poll(busy, { timeout: 30_000 }).toEqual(['0', '1'])
    } finally {
      isOver = true
      await Promise.all(clients)
      metrics.close()
    }
    const { model_stats: statistics } = JSON.parse((await http.send({ path: '/v2/models/stats' })).text) as { model_stats: ModelStatisticsEntry[] }
    for (const name of ['cls_npu_om', 'cls_npu_ge']) {
      const entry = statistics.find((model) => model.name === name)
      expect([entry?.inference_stats.fail.count, (entry?.execution_count ?? 0) > 1]).toEqual([0, true])
    }
    const instances = (await summaryOf('cls_npu_om')).versions.flatMap((version) => version.instances.map(({ report }) => report))
    expect(instances.map((report) => [report?.device, report?.graph, report?.gears]).toSorted()).toEqual([[0, 'gears', ['1', '2', '4']], [1, 'gears', ['1', '2', '4']]])
    for (const name of ['cls_npu_om', 'cls_npu_ge']) await unload(name)
  })

  it('weights in half precision stay within 0.02 of the probability that full precision gives', async () => {
    await load('half_npu_ge')
    const [input, state] = sound(11) as [SampleInput, SampleInput]
    const answers = await inferOverHttp(http, 'half_npu_ge', '', [input, state])
    expectEqual(answers, await runDirectly(FILES.half, [input, state]))
    const [full] = await runDirectly(FILES.vad, sound(11))
    expect(Math.abs(answers[0]!.data.readFloatLE() - full!.data.readFloatLE())).toBeLessThan(0.02)
    await unload('half_npu_ge')
  })

  it.each(['npu_ge', 'npu_om'])('%s refuses a state that no output of the file gives, rather than never to change it', async (backend) => {
    await expect(load(`stray_${backend}`)).rejects.toThrow(/'state'.* is to come from output 'lost'.*output.*stateN/s)
  })
})

describe('an .om file', () => {
  it('is imported by the console with the config that its gears ask for, and serves batches up to the largest', async () => {
    const { importId } = await console.command('import.open', { source: { kind: 'local', paths: [join(om.directory, 'cls.om')] }, importId: null })
    const review = await console.command('import.review', { importId, backend: null })
    expect(review).toMatchObject({ kind: 'om', backend: 'npu_om', signature: 'complete', inputs: [{ name: 'x', datatype: 'FP32', shape: [3, 48, 192] }] })
    for (const part of ['max_batch_size: 4', '# Gears: 1; 2; 4.', 'preferred_batch_size: [ 2, 4 ]']) expect(review.configText).toContain(part)
    await console.command('import.create', { importId, modelName: 'imported', asVersion: false, backend: review.backend, link: false })
    await load('imported')
    expect(await summaryOf('imported')).toMatchObject({ state: 'READY', backend: 'npu_om', runsOn: 'NPU 0', isSimulated: true })
    const [inputs] = INPUTS.cls.slice(1) as [SampleInput[]]
    expectEqual(await inferOverHttp(http, 'imported', '', inputs), await directly('cls', inputs))
    await unload('imported')
  })

  it.each([
    ['other_chip', /other_chip.*was compiled for Ascend910B3, this machine's card is Ascend310P3: compile it again with atc --soc_version=Ascend310P3/],
    ['cut_off', /100015 MODEL_SIZE_INVALID: the \.om file is shorter or longer than its header says\. Next: copy the file again/],
    ['no_om', /no_om.*model\.om is no \.om file: it does not begin with IMOD\. Compile the model with atc/],
  ])('%s is refused with the cause and what to do, and nothing of CANN that is not about it', async (name, text) => {
    const { status, text: said } = await http.send({ path: `/v2/repository/models/${name}/load`, method: 'POST', body: '{}' })
    expect({ status, said }).toMatchObject({ status: 400, said: expect.stringMatching(text) as string })
    expect(said).not.toContain('aclInit')
  })
})
