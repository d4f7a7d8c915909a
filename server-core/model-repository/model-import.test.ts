import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readModelConfig } from '../model-config/read-config.ts'
import { bytesField, onnxModel, valueInfo } from '../model-config/test-onnx.ts'
import { checkModelName, createImportedModel, proposeModelName, reviewModelImport } from './model-import.ts'

const MODEL = onnxModel({ inputs: [valueInfo('x', 1, ['batch', 3, null])], outputs: [valueInfo('y', 7, ['batch'])] })

describe('reviewModelImport', () => {
  test('shows name, size, opset, signature and the config that would be written', () => {
    expect(reviewModelImport({ fileName: 'C:\\models\\My Net.onnx', data: MODEL }, ['other'])).toEqual({
      modelName: 'My_Net', fileName: 'My Net.onnx', byteSize: MODEL.length, backend: 'onnxruntime', opset: 17,
      inputs: [{ name: 'x', datatype: 'FP32', shape: ['batch', 3, -1] }],
      outputs: [{ name: 'y', datatype: 'INT64', shape: ['batch'] }],
      configText: `# Made from My Net.onnx
backend: "onnxruntime"
max_batch_size: 4

input [
  {
    name: "x"
    data_type: TYPE_FP32
    dims: [ 3, -1 ]
  }
]

output [
  {
    name: "y"
    data_type: TYPE_INT64
    dims: [ 1 ]
    reshape { shape: [ ] }
  }
]

# Requests that arrive together run together, up to max_batch_size.
dynamic_batching { }
`,
    })
  })

  test('the config reads back, also with a file name full of line breaks', () => {
    const { configText } = reviewModelImport({ fileName: 'a\nname: "x" \u2028 \u0000.onnx', data: MODEL }, [])
    expect(readModelConfig(configText, '')).toMatchObject({ name: '', backend: 'onnxruntime', max_batch_size: 4 })
  })

  test.each([
    ['model.om', 'Ascend backend'], ['model.py', 'python backend'], ['model.plan', 'GPU build'], ['model.PT', 'export the model to ONNX'], ['model', 'not an ONNX file'],
    ['model.onnx.txt', 'not an ONNX file'], ['.onnx/', 'not an ONNX model'],
  ])('refuses %s: %s', (fileName, message) => {
    expect(() => reviewModelImport({ fileName, data: Buffer.from('text') }, [])).toThrow(message)
  })

  test('refuses what cannot be served, with the tensor or file in question', () => {
    const review = (data: Uint8Array) => () => reviewModelImport({ fileName: 'm.onnx', data }, [])
    expect(review(Buffer.alloc(0))).toThrow('it is empty')
    expect(review(onnxModel({ inputs: [valueInfo('c', 14, [1])], outputs: [] }))).toThrow('its tensor \'c\' has the element type COMPLEX64')
    const external = Buffer.concat([bytesField(8, 'w'), bytesField(13, bytesField(1, 'location'), bytesField(2, 'weights.bin'))])
    expect(review(onnxModel({ inputs: [], outputs: [], initializers: [external] }))).toThrow('weights.bin')
  })
})

describe('proposeModelName', () => {
  test.each([
    ['resnet50.onnx', 'resnet50'], ['ResNet-50 v1.5.onnx', 'ResNet-50_v1.5'], ['/a/b/net.onnx', 'net'], ['C:\\x\\net.onnx', 'net'], ['../../etc/passwd.onnx', 'passwd'],
    ['文字识别.onnx', '文字识别'], ['e\u0301te\u0301.onnx', 'été'], ['..onnx', 'model'], ['???.onnx', 'model'], ['', 'model'], ['.hidden.onnx', 'hidden'], ['con.onnx', 'model_con'],
    ['a\u0000b\nc.onnx', 'a_b_c'], ['👍.onnx', 'model'], ['trailing. .onnx', 'trailing'],
  ])('%j becomes %j', (fileName, name) => {
    expect(proposeModelName(fileName, [])).toBe(name)
    expect(() => { checkModelName(name) }).not.toThrow()
  })

  test('a taken name gets a number, whatever its case', () => {
    expect(proposeModelName('net.onnx', ['net'])).toBe('net-2')
    expect(proposeModelName('Net.onnx', ['net', 'NET-2'])).toBe('Net-3')
  })

  test.each([['a'.repeat(300)], ['识'.repeat(300)], ['😀a'.repeat(150)]])('a long name is cut to what a file system takes', (stem) => {
    const name = proposeModelName(`${stem}.onnx`, [])
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200)
    expect(name.isWellFormed()).toBe(true)
    expect(() => { checkModelName(proposeModelName(`${stem}.onnx`, [name])) }).not.toThrow()
  })
})

describe('checkModelName', () => {
  test.each(['', '.', '..', '.hidden', 'a/b', 'a\\b', '../x', '/abs', 'a\u0000', 'a\nb', ' a', 'a ', 'a.', 'x'.repeat(300), '识'.repeat(100)])('refuses %j', (name) => {
    expect(() => { checkModelName(name) }).toThrow(expect.objectContaining({ kind: 'INVALID_ARG' }) as Error)
  })

  test.each(['a', 'net.v2', 'net-2', 'x y', '文字'])('accepts %j', (name) => {
    expect(() => { checkModelName(name) }).not.toThrow()
  })
})

describe('createImportedModel', () => {
  let root = ''
  let repositoryPath = ''
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'model-import-'))
    repositoryPath = join(root, 'repository')
    mkdirSync(repositoryPath)
  })
  afterEach(() => { rmSync(root, { recursive: true }) })
  const create = (modelName: string, data: Uint8Array = MODEL, path = repositoryPath): Promise<void> =>
    createImportedModel({ repositoryPath: path, modelName, fileName: 'net.onnx', data })

  test('writes config and model, and leaves nothing else', async () => {
    await create('net')
    expect(readdirSync(root, { recursive: true }).map(String).toSorted())
      .toEqual(['repository', 'repository/net', 'repository/net/1', 'repository/net/1/model.onnx', 'repository/net/config.pbtxt'])
    expect(readFileSync(join(repositoryPath, 'net/1/model.onnx')).equals(MODEL)).toBe(true)
    expect(readFileSync(join(repositoryPath, 'net/config.pbtxt'), 'utf8')).toBe(reviewModelImport({ fileName: 'net.onnx', data: MODEL }, []).configText)
  })

  test.each(['folder', 'file'])('never overwrites a %s', async (kind) => {
    if (kind === 'folder') mkdirSync(join(repositoryPath, 'net'))
    else writeFileSync(join(repositoryPath, 'net'), 'mine')
    await expect(create('net')).rejects.toMatchObject({ kind: 'ALREADY_EXISTS' })
    expect(readdirSync(root)).toEqual(['repository'])
  })

  test('of two imports at the same time under one name one wins', async () => {
    const results = await Promise.allSettled([create('net'), create('net')])
    expect(results.map((result) => result.status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(results.find((result) => result.status === 'rejected')?.reason).toMatchObject({ kind: 'ALREADY_EXISTS' })
    expect(existsSync(join(repositoryPath, 'net/1/model.onnx'))).toBe(true)
    expect(readdirSync(root)).toEqual(['repository'])
  })

  test('a bad file or name leaves nothing behind', async () => {
    await expect(create('net', Buffer.from('text'))).rejects.toMatchObject({ kind: 'INVALID_ARG' })
    await expect(create('../escape')).rejects.toMatchObject({ kind: 'INVALID_ARG' })
    await expect(create('net', MODEL, join(root, 'nowhere'))).rejects.toMatchObject({ kind: 'NOT_FOUND', message: expect.stringContaining('nowhere') as string })
    expect(readdirSync(root, { recursive: true })).toEqual(['repository'])
  })

  test('a read-only parent of the repository does not matter', async () => {
    chmodSync(root, 0o555)
    try {
      await create('net')
      expect(readdirSync(repositoryPath)).toEqual(['net'])
    } finally {
      chmodSync(root, 0o755)
    }
  })
})
