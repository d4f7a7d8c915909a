import { readdirSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isCpuList, processorsOf, resolveHostPolicy } from '../model/host-policy.ts'
import { addModel } from '../testing/onnx-fixture.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import { createTestServer, fp32, requestOf } from '../testing/test-server.ts'
import { allowedProcessors, bindCurrentThread } from './thread-affinity.ts'

describe('a list of processors', () => {
  it.each([['0', [0]], ['0-3', [0, 1, 2, 3]], ['0-1,8', [0, 1, 8]], ['2,2-3', [2, 3]]])('%s', (text, expected) => {
    expect(isCpuList(text)).toBe(true)
    expect([...processorsOf(text)]).toEqual(expected)
  })

  it.each(['', 'a', '3-1', '0-', '0,', '0 1', '-1'])('is not: "%s"', (text) => { expect(isCpuList(text)).toBe(false) })
})

describe('a host policy', () => {
  it('asks for nothing where the command line says nothing', async () => {
    expect(await resolveHostPolicy('cpu', {})).toEqual({ name: 'cpu', cpuList: null, cpuCount: 0 })
    expect(await resolveHostPolicy('constructor', {})).toMatchObject({ cpuList: null })
  })

  it('takes the processors of the memory node, unless it names its own', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'npu-console-nodes-'))
    await mkdir(join(directory, 'node1'))
    await writeFile(join(directory, 'node1/cpulist'), '4-7\n')
    expect(await resolveHostPolicy('p', { p: { 'numa-node': '1' } }, 'linux', directory)).toEqual({ name: 'p', cpuList: '4-7', cpuCount: 4 })
    expect(await resolveHostPolicy('p', { p: { 'numa-node': '1', 'cpu-cores': '5' } }, 'linux', directory)).toEqual({ name: 'p', cpuList: '5', cpuCount: 1 })
    await expect(resolveHostPolicy('p', { p: { 'numa-node': '2' } }, 'linux', directory)).rejects.toMatchObject({
      kind: 'INVALID_ARG', message: expect.stringContaining("host policy 'p' names numa-node 2, which this machine does not have") as string,
    })
    await rm(directory, { recursive: true })
  })

  it('is refused where threads cannot be bound', async () => {
    await expect(resolveHostPolicy('p', { p: { 'cpu-cores': '0' } }, 'darwin')).rejects.toMatchObject({ kind: 'UNSUPPORTED', message: expect.stringContaining('on Linux only') as string })
  })
})

/** Lists of the threads that came since `before`. */
function newThreads(before: ReadonlySet<string>): string[] {
  return readdirSync('/proc/self/task').filter((thread) => !before.has(thread)).map(allowedProcessors)
}

const lastProcessor = () => String([...processorsOf(allowedProcessors(String(process.pid)))].at(-1))
const config = (groups: string) => `max_batch_size: 4 ${groups} parameters { key: "intra_op_thread_count" value { string_value: "3" } }`

describe.runIf(process.platform === 'linux').each(['worker', 'native'])('threads of a model instance, implementation=%s', (implementation) => {
  const backendConfig = { onnxruntime: { implementation } }

  it('run on the processors of their policy only, those of ONNX Runtime too', async () => {
    const processor = lastProcessor()
    await using repository = await TemporaryRepository.create({
      'add/1/model.onnx': addModel(2),
      'add/config.pbtxt': config('instance_group [ { count: 1 kind: KIND_CPU host_policy: "mine" } ]'),
    })
    await using test = createTestServer([repository.path], { backendConfig, hostPolicies: { mine: { 'cpu-cores': processor } } })
    await test.server.start()
    const before = new Set(readdirSync('/proc/self/task'))
    await test.server.loadModel('add')
    await test.server.infer(requestOf('add', [fp32('A', [1, 2], [1, 2]), fp32('B', [1, 2], [3, 4])]))
    // That of the instance and the two threads that its session adds.
    expect(newThreads(before).filter((list) => list === processor).length).toBeGreaterThanOrEqual(3)
  })

  it('follow the policy of their kind where the group names none, and nothing where there is none', async () => {
    const processor = lastProcessor()
    const everything = allowedProcessors(String(process.pid))
    await using repository = await TemporaryRepository.create({
      'on_cpu/1/model.onnx': addModel(2), 'on_cpu/config.pbtxt': config('instance_group { count: 1 kind: KIND_CPU }'),
      'on_model/1/model.onnx': addModel(2), 'on_model/config.pbtxt': config('instance_group { count: 1 kind: KIND_MODEL }'),
    })
    await using test = createTestServer([repository.path], { backendConfig, hostPolicies: { model: { 'cpu-cores': processor } } })
    await test.server.start()
    const before = new Set(readdirSync('/proc/self/task'))
    await test.server.loadModel('on_cpu')
    const free = newThreads(before)
    expect(free.length).toBeGreaterThanOrEqual(3)
    expect(new Set(free)).toEqual(new Set([everything]))
    const between = new Set(readdirSync('/proc/self/task'))
    await test.server.loadModel('on_model')
    expect(newThreads(between).filter((list) => list === processor).length).toBeGreaterThanOrEqual(3)
  })

  it('cannot be where the machine has no such processor: the load says so', async () => {
    await using repository = await TemporaryRepository.create({ 'add/1/model.onnx': addModel(2), 'add/config.pbtxt': config('instance_group { count: 1 kind: KIND_CPU }') })
    await using test = createTestServer([repository.path], { backendConfig, hostPolicies: { cpu: { 'cpu-cores': '0-8191' } } })
    await test.server.start()
    await expect(test.server.loadModel('add')).rejects.toThrow(/Invalid argument: host policy 'cpu' cannot bind a thread to the processors 0-8191: .*Change --host-policy/)
  })

  it('cannot be bound without taskset', () => {
    expect(() => { bindCurrentThread({ name: 'cpu', cpuList: '0' }, 'no-such-taskset') }).toThrow(
      "host policy 'cpu' cannot bind a thread to the processors 0: no-such-taskset is not installed. Install the package util-linux, or start the server without --host-policy=cpu,...")
  })

  it('are not there in the identity backend: a warning says so', async () => {
    const text = 'backend: "identity" input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 1 ] } output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 1 ] }'
    await using repository = await TemporaryRepository.create({ 'same/1/x': '', 'same/config.pbtxt': text })
    await using test = createTestServer([repository.path], { backendConfig, hostPolicies: { cpu: { 'cpu-cores': lastProcessor() } } })
    const warnings: unknown[] = []
    test.logs.addSink((entry) => { if (entry.level === 'warning') warnings.push(entry) })
    await test.server.start()
    await test.server.loadModel('same')
    expect(warnings).toMatchObject([{ message: 'a host policy has no effect: the backend has no threads of its own', fields: { instance: 'same_0', policy: 'cpu' } }])
  })
})
