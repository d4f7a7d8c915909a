import { describe, expect, it } from 'vitest'
import { addModel } from '../testing/onnx-fixture.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import { createTestServer, floatsOf, fp32, requestOf } from '../testing/test-server.ts'

const parameter = (key: string, value: string) => `parameters { key: "${key}" value { string_value: "${value}" } }`
/** No test of this file has a card: the process has neither a driver nor CANN, and no simulated cards were asked for. */
const onCard = (more = '') => ({ 'm/config.pbtxt': `backend: "npu_ge"\nmax_batch_size: 0\n${parameter('device_ids', '1')}\n${more}`, 'm/1/model.onnx': addModel() })

describe('a model that asks for an NPU where there is none', () => {
  it('fails with the cause and with what would let it run', async () => {
    await using repository = await TemporaryRepository.create(onCard())
    await using test = createTestServer([repository.path])
    await test.server.start()
    await expect(test.server.loadModel('m')).rejects.toThrow(/--npu-fallback=allow, or the parameter npu_fallback of the model/)
    expect(test.server.modelSummaries()[0]).toMatchObject({ state: 'UNAVAILABLE', runsOn: null, degraded: null })
  })

  it.each([['the flag', '', 'allow'], ['its parameter', parameter('npu_fallback', 'allow'), 'fail']] as const)('runs on the CPU where %s allows it, says so, and tries the NPU again with the next load', async (_what, more, npuFallback) => {
    await using repository = await TemporaryRepository.create(onCard(more))
    await using test = createTestServer([repository.path], { npuFallback })
    await test.server.start()
    await test.server.loadModel('m')
    const summary = test.server.modelSummaries()[0]
    expect(summary).toMatchObject({ state: 'READY', runsOn: 'CPU', isSimulated: false, degraded: { wanted: 'NPU 1' } })
    expect(summary?.degraded?.reason).not.toBe('')
    expect(summary?.versions[0]?.instances[0]?.report).toMatchObject({ runs_on: 'cpu', device: 1, fallback_reason: summary?.degraded?.reason })
    const { response } = await test.server.infer(requestOf('m', [fp32('A', [1, 4], [1, 2, 3, 4]), fp32('B', [1, 4], [10, 20, 30, 40])]))
    expect(floatsOf(response.outputs[0])).toEqual([11, 22, 33, 44])
    await test.server.loadModel('m')
    expect(test.logs.recent(1000, 'm').filter(({ message }) => message.includes('runs on the CPU'))).toHaveLength(2)
  })

  it('fails in spite of the flag where its parameter says so', async () => {
    await using repository = await TemporaryRepository.create(onCard(parameter('npu_fallback', 'fail')))
    await using test = createTestServer([repository.path], { npuFallback: 'allow' })
    await test.server.start()
    await expect(test.server.loadModel('m')).rejects.toThrow()
    expect(test.server.modelSummaries()[0]?.state).toBe('UNAVAILABLE')
  })

  it('says that the cards are switched off', async () => {
    await using repository = await TemporaryRepository.create(onCard())
    await using test = createTestServer([repository.path], { npu: 'off' })
    await test.server.start()
    await expect(test.server.loadModel('m')).rejects.toThrow("model 'm' asks for an NPU, and this server runs with --npu=off")
  })

  it('moves groups on devices to the CPU too, and else fails in the words of Triton', async () => {
    const files = { 'm/config.pbtxt': 'backend: "onnxruntime" instance_group { kind: KIND_GPU gpus: 0 count: 1 }', 'm/1/model.onnx': addModel() }
    await using repository = await TemporaryRepository.create(files)
    await using strict = createTestServer([repository.path])
    await strict.server.start()
    await expect(strict.server.loadModel('m')).rejects.toThrow(/kind KIND_GPU but server does not support GPUs;\n$/)
    await repository.write({ 'z/config.pbtxt': 'backend: "npu_ge" instance_group { kind: KIND_GPU gpus: 1 count: 1 }', 'z/1/model.onnx': addModel() })
    await expect(strict.server.loadModel('z')).rejects.toThrow(/does not support GPUs\nCards of NPUs are named with the parameter device_ids/)
    await using lenient = createTestServer([repository.path], { npuFallback: 'allow' })
    await lenient.server.start()
    await lenient.server.loadModel('m')
    expect(lenient.server.modelSummaries()[0]).toMatchObject({ state: 'READY', degraded: { wanted: 'NPU 0', reason: expect.stringContaining('does not support GPUs') as string } })
  })
})
