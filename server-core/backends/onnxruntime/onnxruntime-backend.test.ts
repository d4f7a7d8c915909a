import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { DATA_TYPES, type DataType, type Tensor } from '../../contract/inference.ts'
import type { ServerOptions } from '../../options.ts'
import { addModel, identityModel, onnxModel, type OnnxElementType } from '../../testing/onnx-fixture.ts'
import { TemporaryRepository } from '../../testing/temporary-repository.ts'
import { createTestServer, floatsOf, fp32, requestOf } from '../../testing/test-server.ts'

const NUMERIC_TYPES = (Object.keys(DATA_TYPES) as DataType[]).filter((type) => type !== 'BYTES' && type !== 'BF16')

const ONE_INSTANCE = 'instance_group { count: 1 kind: KIND_CPU }'

/** Bytes that are different everywhere and no NaN in any floating type. */
function patternOf(type: DataType, elements: number): Uint8Array {
  const size = DATA_TYPES[type].byteSize
  return Uint8Array.from({ length: elements * size }, (_unused, index) => (type === 'BOOL' ? index % 2 : (index * 7 + 1) % 0x3b))
}

function strings(...elements: string[]): Uint8Array {
  return Buffer.concat(elements.flatMap((element) => [Buffer.from(Uint32Array.of(Buffer.byteLength(element)).buffer), Buffer.from(element)]))
}

describe.each(['worker', 'native'])('onnxruntime backend, implementation=%s', (implementation) => {
  const createServer = (repositories: readonly string[], options: Partial<ServerOptions> = {}) => (
    createTestServer(repositories, { backendConfig: { onnxruntime: { implementation } }, ...options })
  )

  it('passes every numeric data type through unchanged', async () => {
    const files = Object.fromEntries(NUMERIC_TYPES.flatMap((type): [string, string | Uint8Array][] => [
      [`id_${type.toLowerCase()}/1/model.onnx`, identityModel(type as OnnxElementType)], [`id_${type.toLowerCase()}/config.pbtxt`, ONE_INSTANCE],
    ]))
    await using repository = await TemporaryRepository.create(files)
    await using test = createServer([repository.path], { loadModels: ['*'] })
    await test.server.start()
    for (const type of NUMERIC_TYPES) {
      const input: Tensor = { name: 'INPUT', datatype: type, shape: [2, 3], data: patternOf(type, 6) }
      const { response } = await test.server.infer(requestOf(`id_${type.toLowerCase()}`, [input]))
      expect(response.outputs).toEqual([{ name: 'OUTPUT', datatype: type, shape: [2, 3], data: input.data }])
    }
  })

  it('passes strings, empty ones and all of Unicode, and splits them per request', async () => {
    await using repository = await TemporaryRepository.create({ 'text/1/model.onnx': identityModel('BYTES', ['batch', 2]), 'text/config.pbtxt': ONE_INSTANCE })
    await using test = createServer([repository.path], { loadModels: ['text'] })
    await test.server.start()
    const inputs = [strings('a', ''), strings('文字', '😀'), strings('x'.repeat(300), 'z')]
    const results = await Promise.all(inputs.map((data) => test.server.infer(requestOf('text', [{ name: 'INPUT', datatype: 'BYTES', shape: [1, 2], data }]))))
    expect(results.map((result) => Buffer.from(result.response.outputs[0]!.data))).toEqual(inputs.map((data) => Buffer.from(data)))
  })

  it('serves a model whose runtime names a file that is not there', async () => {
    await using repository = await TemporaryRepository.create({ 'adds/1/model.onnx': addModel(), 'adds/config.pbtxt': `runtime: "libtriton_other.so"\n${ONE_INSTANCE}` })
    await using test = createServer([repository.path], { loadModels: ['adds'] })
    await test.server.start()
    expect(test.server.isModelReady('adds', '')).toBe(true)
  })

  it('refuses BF16 with the reason', async () => {
    await using repository = await TemporaryRepository.create({ 'brain/1/model.onnx': identityModel('BF16') })
    await using test = createServer([repository.path])
    await test.server.start()
    await expect(test.server.loadModel('brain')).rejects.toThrow(/Unsupported: tensor 'INPUT' of model 'brain' is TYPE_BF16/)
  })

  it('assembles a batch and gives each request its own share', async () => {
    await using repository = await TemporaryRepository.create({
      'add/1/model.onnx': addModel(2),
      'add/config.pbtxt': 'max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 6 ] max_queue_delay_microseconds: 5000000 } instance_group { count: 1 kind: KIND_CPU }',
    })
    await using test = createServer([repository.path], { loadModels: ['add'] })
    await test.server.start()
    const sizes = [1, 2, 3]
    const results = await Promise.all(sizes.map((size, index) => {
      const values = Array.from({ length: size * 2 }, (_unused, position) => index * 100 + position)
      return test.server.infer(requestOf('add', [fp32('A', [size, 2], values), fp32('B', [size, 2], values)]))
    }))
    results.forEach((result, index) => {
      expect(result.timing.batchSize).toBe(6)
      expect(result.response.outputs[0]!.shape).toEqual([sizes[index], 2])
      expect(floatsOf(result.response.outputs[0])).toEqual(Array.from({ length: sizes[index]! * 2 }, (_unused, position) => 2 * (index * 100 + position)))
    })
    expect(test.server.modelStatistics('add', '')[0]).toMatchObject({ inference_count: 6, execution_count: 1 })
  })

  it('answers a request with a batch of none, and those that run with it', async () => {
    await using repository = await TemporaryRepository.create({
      'add/1/model.onnx': addModel(2),
      'add/config.pbtxt': 'max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 8 ] max_queue_delay_microseconds: 200000 } instance_group { count: 1 kind: KIND_CPU }',
    })
    await using test = createServer([repository.path], { loadModels: ['add'] })
    await test.server.start()
    const add = (rows: number, values: readonly number[]) => test.server.infer(requestOf('add', [fp32('A', [rows, 2], values), fp32('B', [rows, 2], values)]))
    // Validation wants the bytes of one item there, as Triton does; the item is no part of the batch.
    await expect(add(0, [])).rejects.toThrow("[request id: <id_unknown>] input byte size mismatch for input 'A' for model 'add'. Expected 8, got 0")
    const [empty, full] = await Promise.all([add(0, [7, 8]), add(3, [1, 2, 3, 4, 5, 6])])
    expect(empty.response.outputs[0]).toMatchObject({ shape: [0, 2], data: new Uint8Array(0) })
    expect(floatsOf(full.response.outputs[0])).toEqual([2, 4, 6, 8, 10, 12])
    expect((await add(0, [7, 8])).response.outputs[0]).toMatchObject({ shape: [0, 2] })
  })

  it('gives each request only the outputs it asked for', async () => {
    const tensor = (name: string) => ({ name, type: 'FP32' as const, shape: ['n', 2] })
    await using repository = await TemporaryRepository.create({
      'two/1/model.onnx': onnxModel({
        inputs: [tensor('A')], outputs: [tensor('NEG'), tensor('ABS')],
        nodes: [{ operator: 'Neg', inputs: ['A'], outputs: ['NEG'] }, { operator: 'Abs', inputs: ['A'], outputs: ['ABS'] }],
      }),
      'two/config.pbtxt': 'max_batch_size: 4 dynamic_batching { preferred_batch_size: [ 3 ] max_queue_delay_microseconds: 5000000 } instance_group { count: 1 kind: KIND_CPU }',
    })
    await using test = createServer([repository.path], { loadModels: ['two'] })
    await test.server.start()
    const ask = (...requestedOutputs: string[]) => test.server.infer(requestOf('two', [fp32('A', [1, 2], [1, -2])], { requestedOutputs }))
    const results = await Promise.all([ask('ABS'), ask('NEG'), ask()])
    expect(results.map((result) => Object.fromEntries(result.response.outputs.map((output) => [output.name, floatsOf(output)])))).toEqual([
      { ABS: [1, 2] }, { NEG: [-1, 2] }, { NEG: [-1, 2], ABS: [1, 2] },
    ])
  })

  it('carries scalars of rank 0 as one dimension of 1, both ways', async () => {
    const scalar = (name: string) => ({ name, type: 'FP32' as const, shape: [] })
    await using repository = await TemporaryRepository.create({
      'scalar/1/model.onnx': onnxModel({ inputs: [scalar('A')], outputs: [scalar('X')], nodes: [{ operator: 'Neg', inputs: ['A'], outputs: ['X'] }] }),
    })
    await using test = createServer([repository.path], { loadModels: ['scalar'] })
    await test.server.start()
    const { response } = await test.server.infer(requestOf('scalar', [fp32('A', [1], [4])]))
    expect(response.outputs).toMatchObject([{ shape: [1] }])
    expect(floatsOf(response.outputs[0])).toEqual([-4])
  })

  it('carries zero-sized tensors', async () => {
    await using repository = await TemporaryRepository.create({ 'empty/1/model.onnx': identityModel('FP32', ['n', 'm']), 'empty/config.pbtxt': ONE_INSTANCE })
    await using test = createServer([repository.path], { loadModels: ['empty'] })
    await test.server.start()
    const { response } = await test.server.infer(requestOf('empty', [fp32('INPUT', [2, 0], [])]))
    expect(response.outputs[0]).toMatchObject({ shape: [2, 0], data: new Uint8Array(0) })
  })

  it('fails a request with the reason of ONNX Runtime and serves the next one', async () => {
    await using repository = await TemporaryRepository.create({
      'reshape/1/model.onnx': onnxModel({
        inputs: [{ name: 'A', type: 'FP32', shape: ['n'] }, { name: 'S', type: 'INT64', shape: ['r'] }], outputs: [{ name: 'X', type: 'FP32', shape: ['a', 'b'] }],
        nodes: [{ operator: 'Reshape', inputs: ['A', 'S'], outputs: ['X'] }],
      }),
      'reshape/config.pbtxt': `input [ { name: "A" data_type: TYPE_FP32 dims: [ -1 ] }, { name: "S" data_type: TYPE_INT64 dims: [ -1 ] } ]
        output [ { name: "X" data_type: TYPE_FP32 dims: [ -1, -1 ] } ] instance_group { count: 1 kind: KIND_CPU }`,
    })
    await using test = createServer([repository.path], { loadModels: ['reshape'] })
    await test.server.start()
    const ask = (...shape: bigint[]) => test.server.infer(requestOf('reshape', [
      fp32('A', [4], [1, 2, 3, 4]), { name: 'S', datatype: 'INT64', shape: [2], data: new Uint8Array(BigInt64Array.from(shape).buffer) },
    ]))
    await expect(ask(3n, 3n)).rejects.toMatchObject({ kind: 'INTERNAL', message: expect.stringMatching(/^onnx runtime error: .*Reshape/) as string })
    expect((await ask(2n, 2n)).response.outputs[0]).toMatchObject({ shape: [2, 2] })
    expect(test.server.modelMetrics()[0]).toMatchObject({ requestFailure: { BACKEND: 1 }, requestSuccess: 1 })
  })

  it('fails the load of a file that is no model, with its reason in the index', async () => {
    await using repository = await TemporaryRepository.create({
      'broken/1/model.onnx': 'this is not a model',
      'broken/config.pbtxt': 'backend: "onnxruntime" input { name: "A" data_type: TYPE_FP32 dims: [ 1 ] } output { name: "X" data_type: TYPE_FP32 dims: [ 1 ] }',
    })
    await using test = createServer([repository.path])
    await test.server.start()
    await expect(test.server.loadModel('broken')).rejects.toMatchObject({ kind: 'INVALID_ARG' })
    expect(test.server.repositoryIndex(false)).toMatchObject([{ name: 'broken', version: '1', state: 'UNAVAILABLE', reason: expect.stringContaining(':') as string }])
  })
})

describe('worker threads of the onnxruntime backend', () => {
  it('fails the requests of a thread that dies, and serves again with a new one', async () => {
    await using repository = await TemporaryRepository.create({
      'add/1/model.onnx': addModel(2), 'add/config.pbtxt': 'max_batch_size: 4 instance_group { count: 1 kind: KIND_CPU }',
    })
    await using test = createTestServer([repository.path], { backendConfig: { onnxruntime: { implementation: 'worker' } } })
    await test.server.start()
    const created = new Promise<Worker>((resolve) => { process.once('worker', resolve) })
    await test.server.loadModel('add')
    const worker = await created
    const ask = () => test.server.infer(requestOf('add', [fp32('A', [1, 2], [1, 2]), fp32('B', [1, 2], [3, 4])]))
    await ask()
    const ended = once(worker, 'exit')
    const restarted = new Promise<Worker>((resolve) => { process.once('worker', resolve) })
    void worker.terminate()
    const failed = ask()
    await expect(failed).rejects.toMatchObject({ kind: 'INTERNAL', message: expect.stringContaining("the worker thread of model instance 'add_0_0' stopped") as string })
    await ended
    expect(test.server.isModelReady('add', '')).toBe(false)
    expect(test.server.modelSummaries()[0]).toMatchObject({ state: 'READY', instanceCount: 0, reason: expect.stringContaining('1 of 1 instances start again: the worker thread') as string })
    const waiting = ask()
    await restarted
    expect(floatsOf((await waiting).response.outputs[0])).toEqual([4, 6])
    expect(test.server.isModelReady('add', '')).toBe(true)
  })

  it('is loaded anew, not left alone, when an instance is dead', async () => {
    await using repository = await TemporaryRepository.create({
      'add/1/model.onnx': addModel(2), 'add/config.pbtxt': 'max_batch_size: 4 instance_group { count: 1 kind: KIND_CPU }',
    })
    await using test = createTestServer([repository.path], { backendConfig: { onnxruntime: { implementation: 'worker' } } })
    await test.server.start()
    const created = new Promise<Worker>((resolve) => { process.once('worker', resolve) })
    await test.server.loadModel('add')
    await (await created).terminate()
    await expect.poll(() => test.server.modelSummaries()[0]?.instanceCount).toBe(0)
    await test.server.loadModel('add')
    expect(test.server.modelSummaries()[0]).toMatchObject({ state: 'READY', instanceCount: 1, reason: '' })
  })
})
