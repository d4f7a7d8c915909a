/** A model on each of two simulated cards, end to end: where they run, what they hold, and a card that is lost and comes back. */
import { describe, expect, it } from 'vitest'
import { ConsoleClient } from '../testing/console-client.ts'
import { HttpClient } from '../testing/http-client.ts'
import { addModel } from '../testing/onnx-fixture.ts'
import { startServerProcess } from '../testing/server-process.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'

const parameter = (key: string, value: string) => `parameters { key: "${key}" value { string_value: "${value}" } }`
const onCard = (card: string) => `backend: "npu_ge"\nmax_batch_size: 4\ninstance_group { kind: KIND_CPU count: 1 }\n${parameter('device_ids', card)}`
const FILES = { 'a/config.pbtxt': onCard('0'), 'a/1/model.onnx': addModel(), 'b/config.pbtxt': onCard('1'), 'b/1/model.onnx': addModel() }
const REQUEST = JSON.stringify({
  inputs: [{ name: 'A', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] }, { name: 'B', datatype: 'FP32', shape: [1, 4], data: [10, 20, 30, 40] }],
})

describe('npu_ge on two simulated cards', () => {
  it('says where models run and what they hold; a lost card costs its own model its requests, with the cause, and serves again when it is back', async () => {
    await using repository = await TemporaryRepository.create(FILES)
    await using server = await disposable([`--model-repository=${repository.path}`, '--model-control-mode=explicit', '--console', '--console-token=secret', '--npu=simulated', '--npu-simulated-time-scale=0'])
    const console = await ConsoleClient.open(Number(new URL(server.consoleUrl).port), 'secret')
    await expect.poll(async () => (await console.command('devices.report')).cards.length, { timeout: 30_000 }).toBe(2)
    for (const name of ['a', 'b']) await console.command('model.load', { name })
    const summaries = async () => (await console.command('repository.models')).map(({ name, state, runsOn, isSimulated, degraded }) => [name, state, runsOn, isSimulated, degraded])
    const serving = [['a', 'READY', 'NPU 0', true, null], ['b', 'READY', 'NPU 1', true, null]]
    expect(await summaries()).toEqual(serving)

    const http = new HttpClient(server.httpPort)
    const infer = (model: string) => http.send({ path: `/v2/models/${model}/infer`, method: 'POST', body: REQUEST })
    for (const model of ['a', 'b']) {
      const answer = await infer(model)
      expect(answer).toMatchObject({ status: 200 })
      expect((JSON.parse(answer.text) as { outputs: { data: number[] }[] }).outputs[0]?.data).toEqual([11, 22, 33, 44])
    }
    await expect.poll(async () => (await console.command('devices.report')).processes?.filter(({ isOurs }) => isOurs).map(({ card, models }) => [card, models]), { timeout: 30_000 })
      .toEqual([[0, ['a']], [1, ['b']]])
    await expect.poll(async () => (await console.command('devices.report')).memory.map(({ model, card }) => [model, card]).sort(), { timeout: 30_000 }).toEqual([['a', 0], ['b', 1]])

    await console.command('npu.setFaults', { faults: [{ kind: 'card-lost', device: 1, count: null, phase: null, needsReset: false }] })
    const failed = await infer('b')
    expect(failed.status).toBeGreaterThanOrEqual(400)
    expect(failed.text).toMatch(/507901|507033/)
    expect(await infer('a')).toMatchObject({ status: 200 })
    await console.command('npu.setFaults', { faults: [] })
    await expect.poll(async () => (await infer('b')).status, { timeout: 60_000, interval: 500 }).toBe(200)
    expect(await summaries()).toEqual(serving)
    console.close()
  }, 180_000)
})

async function disposable(flags: readonly string[]) {
  const server = await startServerProcess(flags)
  return { ...server, [Symbol.asyncDispose]: async () => { await server.stop() } }
}
