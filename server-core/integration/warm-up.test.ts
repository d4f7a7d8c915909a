import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { FakeClock } from '../testing/fake-clock.ts'
import { createScriptedServer, scriptedConfig } from '../testing/scripted-backend.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import { createTestServer } from '../testing/test-server.ts'

const sample = (name: string, more: string, inputs = 'inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: [ 1 ] zero_data: true } }') => `model_warmup { name: "${name}" ${more} ${inputs} }`

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn()
}

describe('warm-up', () => {
  it('runs every sample in order on each instance before the model is ready, leaves out batch_size 0, and takes count 0 for 1', async () => {
    await using repository = await TemporaryRepository.create({
      'm/config.pbtxt': scriptedConfig(`instance_group { count: 2 kind: KIND_CPU } ${sample('a', 'batch_size: 1 count: 2')} ${sample('none', 'batch_size: 0 count: 5')} ${sample('b', 'batch_size: 1')}`), 'm/1/x': '',
    })
    const test = createScriptedServer([repository.path], new FakeClock())
    await test.server.start()
    test.backend.held.add('execute')
    const load = test.server.loadModel('m')
    for (let run = 0; run < 6; run++) {
      await until(() => test.backend.waiting.length === 1)
      expect(test.server.isReady()).toBe(false)
      expect(test.server.modelSummaries()[0]?.stage).toMatchObject({ kind: 'warmingUp', instance: run < 3 ? 1 : 2 })
      test.backend.waiting[0]?.proceed()
    }
    await load
    expect(test.server.modelStatistics('m', '')[0]).toMatchObject({ execution_count: 6, inference_count: 6 })
    expect(test.server.isReady()).toBe(true)
    await test.server.stop(1)
  })

  it('fails the load with the name of the sample, frees what was made and leaves the old version serving', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': scriptedConfig(), 'm/1/x': '' })
    const test = createScriptedServer([repository.path], new FakeClock(), { loadModels: ['m'] })
    await test.server.start()
    await repository.write({ 'm/config.pbtxt': scriptedConfig(`instance_group { count: 2 kind: KIND_CPU } ${sample('fine', 'batch_size: 1')} ${sample('heavy', 'batch_size: 1')}`) })
    test.backend.held.add('execute')
    const load = test.server.loadModel('m').then(() => 'done', (error: unknown) => (error as Error).message)
    await until(() => test.backend.waiting.length === 1)
    test.backend.waiting[0]?.proceed()
    await until(() => test.backend.waiting.length === 1)
    test.backend.waiting[0]?.fail('out of memory')
    expect(await load).toBe("load failed for model 'm': version 1 is at READY state: Internal: failed to run warmup sample 'heavy': out of memory; ;\n")
    expect(test.backend.leaked()).toEqual(['model m/1', 'instance m_0 of model m/1'])
    await test.server.stop(1)
    expect(test.backend.leaked()).toEqual([])
    expect(test.backend.mistakes).toEqual([])
  })

  it('waits for the last response of a decoupled model', async () => {
    const tensor = (name: string, type: string, dims: string) => `{ name: "${name}" data_type: ${type} dims: [ ${dims} ] }`
    const config = `backend: "repeat" model_transaction_policy { decoupled: true }
input [ ${tensor('IN', 'TYPE_INT32', '-1')}, ${tensor('DELAY', 'TYPE_UINT32', '-1')}, ${tensor('WAIT', 'TYPE_UINT32', '1')} ]
output [ ${tensor('OUT', 'TYPE_INT32', '1')}, ${tensor('IDX', 'TYPE_UINT32', '1')} ]
${sample('r', 'batch_size: 1 count: 2', `inputs { key: "IN" value { data_type: TYPE_INT32 dims: [ 3 ] zero_data: true } }
  inputs { key: "DELAY" value { data_type: TYPE_UINT32 dims: [ 3 ] input_data_file: "delays" } } inputs { key: "WAIT" value { data_type: TYPE_UINT32 dims: [ 1 ] zero_data: true } }`)}`
    await using repository = await TemporaryRepository.create({ 'r/config.pbtxt': config, 'r/1/x': '', 'r/warmup/delays': new Uint8Array(Uint32Array.of(1, 1, 1).buffer) })
    await using test = createTestServer([repository.path])
    await test.server.start()
    await test.server.loadModel('r')
    expect(test.server.modelStatistics('r', '')[0]).toMatchObject({ execution_count: 2, inference_stats: { success: { count: 2 }, fail: { count: 0 } } })
  })
})
