/** Backend libraries in the real server: the fixtures of the C++ tests, which know nothing of it, loaded through the addon. */
import { beforeAll, describe, expect, it } from 'vitest'
import { BUILD_MILLISECONDS, buildPreset, FIXTURE_BACKENDS } from '../../native/test-build.ts'
import type { InferenceRequest, Tensor } from '../contract/inference.ts'
import type { InferenceResult } from '../inference-server.ts'
import type { ServerOptions } from '../options.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import { createTestServer, requestOf, type TestServer } from '../testing/test-server.ts'

beforeAll(() => buildPreset('test', 'fixture_backends'), BUILD_MILLISECONDS)

const tensors = (input: string, output: string) => `input { name: "${input}" data_type: TYPE_INT32 dims: [ -1 ] } output { name: "${output}" data_type: TYPE_INT32 dims: [ -1 ] }`
const group = 'instance_group { count: 1 kind: KIND_CPU }'

const CONFIGS = {
  minimal: `backend: "minimal" ${tensors('X', 'X')} ${group}`,
  batching: `backend: "batching" max_batch_size: 8 ${tensors('X', 'Y')} ${group} dynamic_batching { max_queue_delay_microseconds: 100000 preferred_batch_size: [ 4 ] }`,
  decoupled: `backend: "decoupled" ${tensors('COUNT', 'N')} ${group} model_transaction_policy { decoupled: true }`,
  bls: `backend: "bls" ${tensors('X', 'Y')} ${group}`,
  misbehaving: `backend: "misbehaving" ${tensors('X', 'X')} ${group}`,
} as const

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
    // It completes configs: max_batch_size 4.
    expect(test.server.modelConfig('minimal', '').max_batch_size).toBe(4)
    expect(test.logged('initialize minimal')[0]).toMatchObject({ level: 'info', source: 'backend-minimal', fields: { model: 'minimal' } })
    expect(test.logged('initialize minimal')[0]?.message).toContain(
      `{"cmdline":{"auto-complete-config":"true","backend-directory":"${FIXTURE_BACKENDS}","min-compute-capability":"6.000000","default-max-batch-size":"4","all":"1","own":"2"}}`)
  })

  it('unloads and loads again', async () => {
    await using test = await serve({ minimal: CONFIGS.minimal })
    await test.server.unloadModel('minimal')
    await expect.poll(() => test.logged('finalize model').length).toBe(1)
    await test.server.loadModel('minimal')
    expect(numbersOf(await test.infer('minimal', [int32('X', [7], [1, 1])]), 'X')).toEqual([7])
  })
})

