/** What a client reads over HTTP when a card fails: every kind of fault at once, each on a card of its own, while a model on another card goes on. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { FAULT_KINDS, type FaultKind, type FaultPhase } from '../contract/devices.ts'
import { HttpClient } from '../testing/http-client.ts'
import { addModel } from '../testing/onnx-fixture.ts'
import { startServerProcess, type ServerProcess } from '../testing/server-process.ts'
import { SimulatedOm } from '../testing/simulated-om.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'

const BACKENDS = ['npu_ge', 'npu_om'] as const
/** Each on a card of its own: where one backend resets a card, those of the other lose it too. */
const MODELS = BACKENDS.flatMap((backend) => FAULT_KINDS.map((kind) => ({ backend, kind, model: `${kind}-${backend}` }))).map((model, card) => ({ ...model, card }))
const HEALTHY_CARD = MODELS.length
const HEALTHY_MODELS = BACKENDS.map((backend) => ({ backend, model: `healthy-${backend}`, card: HEALTHY_CARD }))
const parameter = (key: string, value: string) => `parameters { key: "${key}" value { string_value: "${value}" } }`
const configOf = (backend: string, card: number) => `backend: "${backend}"\nmax_batch_size: 4\ninstance_group { kind: KIND_CPU count: 1 }\n${parameter('device_ids', String(card))}\n${parameter('execution_timeout_ms', '300')}`
const REQUEST = JSON.stringify({
  inputs: [{ name: 'A', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] }, { name: 'B', datatype: 'FP32', shape: [1, 4], data: [10, 20, 30, 40] }],
})

/** What the text has to say: CANN's code with its meaning in plain words, and what to do. */
const TEXTS: Readonly<Record<FaultKind, { readonly run: RegExp; readonly load: RegExp; readonly next: RegExp }>> = {
  'out-of-memory': { run: /207018 DEVICE_OOM: the card has not enough free memory/, load: /(245000|207001) \w+: the card has not enough free memory/, next: /unload a model of this card/ },
  'card-lost': { run: /507901 SOCKET_CLOSE: the link to the card is gone: the card is lost/, load: /507033 DEV_SETUP_ERROR: the card could not be started|507901/, next: /npu-smi info/ },
  ecc: { run: /507054 HBM_MULTI_BIT_ECC_ERROR: several bits of the card's memory were wrong/, load: /507054 HBM_MULTI_BIT_ECC_ERROR/, next: /restart the card/ },
  'task-timeout': { run: /507014 AICORE_TIMEOUT: an operator took too long/, load: /207020 TIMEOUT: the driver did not answer in time/, next: /npu-smi info|check the values of the inputs/ },
  'operator-exception': { run: /507015 AICORE_EXCEPTION: an operator failed/, load: /545001 LOAD_MODEL: the model could not be loaded/, next: /npu-console doctor/ },
  hang: { run: /507046 STREAM_SYNC_TIMEOUT: the card did not finish in the allowed time|does not answer: a call to run the graph did not return/, load: /507033|507010/, next: /npu-smi info/ },
  permission: { run: /207006 NO_PERMISSION: this user may not use the card/, load: /507033 DEV_SETUP_ERROR: .*not allowed for this user|207006/, next: /the group HwHiAiUser/ },
}

let repository: TemporaryRepository
let server: ServerProcess

beforeAll(async () => {
  await using om = await SimulatedOm.start(['910B3'])
  const file = readFileSync(await om.compile('add', addModel(), ['--input_shape=A:-1,4;B:-1,4', '--dynamic_batch_size=1,4', '--soc_version=Ascend910B3']))
  repository = await TemporaryRepository.create()
  for (const { backend, model, card } of [...MODELS, ...HEALTHY_MODELS]) {
    await repository.write({ [`${model}/config.pbtxt`]: configOf(backend, card), ...backend === 'npu_om' ? { [`${model}/1/model.om`]: file } : { [`${model}/1/model.onnx`]: addModel() } })
  }
  server = await startServerProcess([
    `--model-repository=${repository.path}`, '--model-control-mode=explicit', '--load-model=*', '--npu=simulated', '--npu-simulated-time-scale=0',
    `--npu-simulated-cards=${Array.from({ length: HEALTHY_CARD + 1 }, () => '910B3').join(',')}`,
  ])
}, 120_000)

afterAll(async () => {
  await server.stop()
  await repository[Symbol.asyncDispose]()
})

/** On a connection of its own: those of different models do not wait for each other. */
async function send(path: string, body: string): Promise<{ status: number; text: string }> {
  const client = new HttpClient(server.httpPort)
  try {
    const { status, text } = await client.send({ path, method: 'POST', body })
    return { status, text }
  } finally {
    client.close()
  }
}
const infer = (model: string) => send(`/v2/models/${model}/infer`, REQUEST)
const load = (model: string) => send(`/v2/repository/models/${model}/load`, '{}')
const unload = (model: string) => send(`/v2/repository/models/${model}/unload`, '{}')
const strike = (phase: FaultPhase | null) => send('/v2/npu/faults', JSON.stringify({ faults: phase === null ? [] : MODELS.map(({ kind, card }) => ({ kind, device: card, phase })) }))

async function expectHealthyCard(): Promise<void> {
  for (const { model } of HEALTHY_MODELS) expect(await infer(model)).toMatchObject({ status: 200 })
}

it('a run that fails is answered with cause, card and next step; models of the other card serve, and all are back by themselves', async () => {
  await strike('run')
  const answers = await Promise.all(MODELS.map(async ({ model }) => infer(model)))
  await expectHealthyCard()
  await strike(null)
  for (const [index, { kind, model, card }] of MODELS.entries()) {
    const { status, text } = answers[index]!
    expect({ model, text, status: status >= 500 }).toMatchObject({ model, text: expect.stringMatching(TEXTS[kind].run) as string, status: true })
    expect(text).toMatch(new RegExp(`device ${card}\\b`, 'i'))
    expect(text).toMatch(TEXTS[kind].next)
  }
  for (const { model } of MODELS) await expect.poll(async () => (await infer(model)).status, { timeout: 60_000, interval: 100 }).toBe(200)
})

it('a load that fails is answered likewise, and the next one works', async () => {
  await Promise.all(MODELS.map(({ model }) => unload(model)))
  await strike('load')
  const answers = await Promise.all(MODELS.map(async ({ model }) => load(model)))
  await expectHealthyCard()
  await strike(null)
  for (const [index, { kind, model, card }] of MODELS.entries()) {
    const { status, text } = answers[index]!
    expect({ model, text, status }).toMatchObject({ model, text: expect.stringMatching(TEXTS[kind].load) as string, status: 400 })
    expect(text).toContain(`load failed for model '${model}'`)
    expect(text).toMatch(new RegExp(`device ${card}\\b`, 'i'))
    expect(text).toMatch(TEXTS[kind].next)
  }
  expect((await Promise.all(MODELS.map(({ model }) => load(model)))).map(({ text }) => text)).toEqual(MODELS.map(() => ''))
  expect((await Promise.all(MODELS.map(({ model }) => infer(model)))).map(({ status }) => status)).toEqual(MODELS.map(() => 200))
})
