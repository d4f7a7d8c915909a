/** Who holds the memory of tensors between this server and a backend library: inputs are lent to the backend, large outputs to JavaScript. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import type { Tensor } from '../../contract/inference.ts'
import { releaseOutputs } from '../../release-memory.ts'
import { collectGarbage } from '../../testing/collect-garbage.ts'
import { identityModel, slowModel } from '../../testing/onnx-fixture.ts'
import { TemporaryRepository } from '../../testing/temporary-repository.ts'
import { createTestServer, requestOf } from '../../testing/test-server.ts'

/** 64 KB: from there on an output is lent. */
const ELEMENTS = 16_384
const BATCH = 4
const NATIVE = { backendConfig: { onnxruntime: { implementation: 'native' } } }
const FILES = {
  'id/1/model.onnx': identityModel('FP32', ['batch', ELEMENTS]),
  'id/config.pbtxt': `max_batch_size: ${BATCH} dynamic_batching { preferred_batch_size: [ ${BATCH} ] max_queue_delay_microseconds: 10000000 } instance_group { count: 1 kind: KIND_CPU }`,
  'slow/1/model.onnx': slowModel(),
  'slow/config.pbtxt': `max_batch_size: 0 input { name: "X" data_type: TYPE_FP32 dims: [ -1, -1 ] } output { name: "Y" data_type: TYPE_FP32 dims: [ -1, -1 ] }
    instance_group { count: 1 kind: KIND_CPU } parameters { key: "intra_op_thread_count" value { string_value: "1" } }`,
}

function tensor(value: number): Tensor {
  return { name: 'INPUT', datatype: 'FP32', shape: [1, ELEMENTS], data: new Uint8Array(new Float32Array(ELEMENTS).fill(value).buffer) }
}

function square(size: number): Tensor {
  return { name: 'X', datatype: 'FP32', shape: [size, size], data: new Uint8Array(new Float32Array(size * size).fill(1 / size).buffer) }
}

describe('memory between this server and a backend library', () => {
  it('is not copied for large outputs, and stays theirs while somebody holds one', async () => {
    await using repository = await TemporaryRepository.create(FILES)
    await using test = createTestServer([repository.path], { ...NATIVE, loadModels: ['id'] })
    await test.server.start()
    const ask = async (first: number) => {
      const results = await Promise.all(Array.from({ length: BATCH }, (_unused, index) => test.server.infer(requestOf('id', [tensor(first + index)]))))
      expect(results.map((result) => result.timing.batchSize)).toEqual(Array(BATCH).fill(BATCH))
      return results.map((result) => result.response.outputs[0]!.data)
    }
    const valueOf = (data: Uint8Array | undefined) => new Float32Array(data!.buffer, data!.byteOffset, ELEMENTS)
    const before = test.registry.native.copies()
    const held = (await ask(100))[2]
    expect(test.registry.native.copies()).toMatchObject({ tensors: before.tensors, lentTensors: before.lentTensors + BATCH, lentBytes: before.lentBytes + BATCH * ELEMENTS * 4 })
    for (let round = 0; round < 20; round++) await ask(round)
    await collectGarbage()
    await ask(7)
    expect(valueOf(held).every((value) => value === 102)).toBe(true)
    await test.server.unloadModel('id')
    await test.server.stop(10)
    await collectGarbage()
    expect(valueOf(held).every((value) => value === 102)).toBe(true)
  })

  it('of an output can be given back at once, which leaves the others of its batch alone', async () => {
    await using repository = await TemporaryRepository.create(FILES)
    await using test = createTestServer([repository.path], { ...NATIVE, loadModels: ['id'] })
    await test.server.start()
    const results = await Promise.all(Array.from({ length: BATCH }, (_unused, index) => test.server.infer(requestOf('id', [tensor(index)]))))
    const outputs = results.map((result) => result.response.outputs[0]!)
    expect(outputs.map(({ isExclusive }) => isExclusive)).toEqual(Array(BATCH).fill(true))
    expect(results.map(({ inputsAreFree }) => inputsAreFree)).toEqual(Array(BATCH).fill(true))
    releaseOutputs([outputs[0]!, outputs[2]!])
    expect(outputs.map(({ data }) => data.byteLength)).toEqual([0, ELEMENTS * 4, 0, ELEMENTS * 4])
    // The host hears of it in a turn of its own.
    await collectGarbage()
    for (const index of [1, 3]) expect(new Float32Array(outputs[index]!.data.slice().buffer).every((value) => value === index)).toBe(true)
  })

  it('is the backend\'s as long as it runs, also for requests that were cancelled meanwhile', async () => {
    await using repository = await TemporaryRepository.create(FILES)
    await using test = createTestServer([repository.path], { ...NATIVE, loadModels: ['slow'] })
    await test.server.start()
    const cancelled = await Promise.all(Array.from({ length: 3 }, async () => {
      const controller = new AbortController()
      const answer = test.server.infer(requestOf('slow', [square(300)]), { signal: controller.signal }).then(() => 'answered', (error: unknown) => (error as { kind: string }).kind)
      // The first of them runs, the others wait.
      await new Promise((resolve) => { setTimeout(resolve, 5) })
      controller.abort()
      await collectGarbage()
      return answer
    }))
    expect(cancelled.every((end) => end === 'CANCELLED' || end === 'answered')).toBe(true)
    const { response } = await test.server.infer(requestOf('slow', [square(40)]))
    expect(new Float32Array(response.outputs[0]!.data.slice().buffer)[0]).toBeCloseTo(1 / 40, 5)
  })

  it('outlives a thread that ends with a batch under way and outputs in its hands', async () => {
    await using repository = await TemporaryRepository.create(FILES)
    const module = new URL('../../testing/test-server.ts', import.meta.url).href
    const worker = new Worker(`
      const { parentPort, workerData } = require('node:worker_threads')
      import(${JSON.stringify(module)}).then(async ({ createTestServer, requestOf }) => {
        const test = createTestServer([workerData.path], { ...workerData.options, loadModels: ['id', 'slow'] })
        await test.server.start()
        globalThis.held = await Promise.all(workerData.inputs.map((input) => test.server.infer(requestOf('id', [input]))))
        test.server.infer(requestOf('slow', [workerData.slow])).catch(() => {})
        setImmediate(() => { parentPort.postMessage(globalThis.held.map((result) => result.response.outputs[0].data[0])) })
      })`, { eval: true, workerData: { path: repository.path, options: NATIVE, inputs: Array.from({ length: BATCH }, (_unused, index) => tensor(index)), slow: square(200) } })
    await once(worker, 'message')
    await worker.terminate()
    await collectGarbage()
    await using test = createTestServer([repository.path], { ...NATIVE, loadModels: ['slow'] })
    await test.server.start()
    await expect(test.server.infer(requestOf('slow', [square(20)]))).resolves.toMatchObject({ response: { outputs: [{ name: 'Y', shape: [20, 20] }] } })
  })
})
