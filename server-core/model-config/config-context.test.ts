import { describe, expect, it } from 'vitest'
import { addModel } from '../testing/onnx-fixture.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import { readConfigContext, thisMachine } from './config-context.ts'

describe('the context of a config', () => {
  it('holds versions with the signature of the model file, and files outside them', async () => {
    await using repository = await TemporaryRepository.create({
      'add/config.pbtxt': 'backend: "onnxruntime"', 'add/1/model.onnx': addModel(3), 'add/2/other.onnx': addModel(5), 'add/labels.txt': 'a\nb\n',
      'add/warmup/a.bin': 'xyz', 'add/warmup/config.pbtxt': '',
    })
    const context = await readConfigContext(`${repository.path}/add`)
    expect(context.modelName).toBe('add')
    expect(context.versions.map(({ version, files }) => [version, files])).toEqual([[1, ['model.onnx']], [2, ['other.onnx']]])
    expect(context.versions[0]?.signature?.inputs).toEqual([
      { name: 'A', datatype: 'FP32', elementType: 'FLOAT', shape: ['batch', 3] }, { name: 'B', datatype: 'FP32', elementType: 'FLOAT', shape: ['batch', 3] },
    ])
    expect(context.versions[1]?.signature?.outputs[0]?.shape).toEqual(['batch', 5])
    expect(context.files).toEqual({ 'config.pbtxt': 22, 'labels.txt': 4, 'warmup/a.bin': 3, 'warmup/config.pbtxt': 0 })
    expect(context).toMatchObject({ machine: null, backends: null, models: {} })
  })

  it('reads the model file that the config names, and none where it cannot tell', async () => {
    await using repository = await TemporaryRepository.create({
      'm/config.pbtxt': 'default_model_filename: "b.onnx"', 'm/1/a.onnx': addModel(3), 'm/1/b.onnx': addModel(7), 'n/1/a.onnx': addModel(3), 'n/1/b.onnx': addModel(7),
      'o/1/model.onnx': 'no model at all',
    })
    expect((await readConfigContext(`${repository.path}/m`)).versions[0]?.signature?.inputs[0]?.shape).toEqual(['batch', 7])
    expect((await readConfigContext(`${repository.path}/n`)).versions[0]?.signature).toBeNull()
    expect((await readConfigContext(`${repository.path}/o`)).versions[0]).toMatchObject({ files: ['model.onnx'], signature: null })
  })

  it('completes the other models, and keeps those it cannot read', async () => {
    await using repository = await TemporaryRepository.create({
      'ensemble/config.pbtxt': 'platform: "ensemble"', 'add/1/model.onnx': addModel(3), 'broken/config.pbtxt': 'input [', 'readme.txt': '', '.hidden/1/model.onnx': '',
    })
    const { models } = await readConfigContext(`${repository.path}/ensemble`, { machine: thisMachine(), backends: ['identity'] })
    expect(Object.keys(models)).toEqual(['add', 'broken'])
    expect(models['add']).toMatchObject({
      versions: [1], config: { name: 'add', backend: 'onnxruntime', max_batch_size: 4, input: [{ name: 'A', dims: [3] }, { name: 'B' }], output: [{ name: 'SUM' }] },
    })
    expect(models['broken']).toMatchObject({ versions: [], config: { input: [] } })
  })

  it('takes a folder alone, and refuses one that is not there', async () => {
    await using repository = await TemporaryRepository.create({ 'm/1/model.py': '' })
    const context = await readConfigContext(`${repository.path}/m`, { repositoryPath: `${repository.path}/none` })
    expect(context.models).toEqual({})
    await expect(readConfigContext(`${repository.path}/none`)).rejects.toThrow('ENOENT')
  })
})
