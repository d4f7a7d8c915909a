import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { OmReader } from '../model-config/om-passport.ts'
import { readModelConfig } from '../model-config/read-config.ts'
import { addModel } from '../testing/onnx-fixture.ts'
import { ImportFolder, OM_FILE, ONNX_FILE, onnxWithExternalData, PYTHON_FILE } from '../testing/import-fixture.ts'
import { SimulatedOm } from '../testing/simulated-om.ts'
import { TRANSFER_SYSTEM } from './file-transfer.ts'
import type { TransferSystem } from './file-transfer.ts'
import { planImport } from './import-plan.ts'
import { createImportedModel, IMPORT_PREFIX, removeStaleImports, reviewModelImport } from './model-import.ts'
import type { CreateOptions } from './model-import.ts'

const NO_REFLINK: TransferSystem = { ...TRANSFER_SYSTEM, reflink: () => Promise.reject(Object.assign(new Error(), { code: 'ENOTSUP' })) }

async function review(folder: ImportFolder, names: readonly string[], options: { existingNames?: string[]; backends?: string[]; backend?: string; readOm?: OmReader } = {}) {
  const destination = { repositoryPath: folder.repository, existingNames: options.existingNames ?? readdirSync(folder.repository), backends: options.backends ?? ['onnxruntime'], ...(options.readOm === undefined ? {} : { readOm: options.readOm }) }
  return reviewModelImport(await planImport(names.map((name) => join(folder.root, name))), destination, options.backend ?? null)
}

async function create(folder: ImportFolder, names: readonly string[], options: Partial<CreateOptions> = {}, system: TransferSystem = TRANSFER_SYSTEM) {
  return createImportedModel(await planImport(names.map((name) => join(folder.root, name))), {
    repositoryPath: folder.repository, modelName: 'net', version: null, backend: null, mode: 'copy', signal: new AbortController().signal, onProgress: () => {}, ...options,
  }, system)
}

describe('reviewModelImport', () => {
  test('shows name, size, opset, signature and the config that would be written', async () => {
    using folder = new ImportFolder()
    folder.write({ 'My Net.onnx': ONNX_FILE })
    expect(await review(folder, ['My Net.onnx'])).toEqual({
      kind: 'onnx', modelName: 'My_Net', fileName: 'My Net.onnx', byteSize: ONNX_FILE.length, backend: 'onnxruntime', opset: 17,
      backends: [{ name: 'onnxruntime', isHere: true }, { name: 'npu_ge', isHere: false }],
      inputs: [{ name: 'x', datatype: 'FP32', shape: ['batch', 3, -1] }],
      outputs: [{ name: 'y', datatype: 'INT64', shape: ['batch'] }],
      signature: 'complete', signatureReason: null, isConfigGenerated: true, files: [{ path: '1/model.onnx', byteSize: ONNX_FILE.length }], leftOut: [], missingFiles: [],
      existingModel: null, isLocal: true, awaitsTrust: null,
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

  test('the config reads back, also with a file name full of line breaks', async () => {
    using folder = new ImportFolder()
    folder.write({ 'a\nname: "x" \u2028.onnx': ONNX_FILE })
    const { configText } = await review(folder, ['a\nname: "x" \u2028.onnx'])
    expect(readModelConfig(configText, '')).toMatchObject({ name: '', backend: 'onnxruntime', max_batch_size: 4 })
  })

  test('an ONNX file can be made for another backend that takes it, and for no other', async () => {
    using folder = new ImportFolder()
    folder.write({ 'a.onnx': ONNX_FILE })
    expect((await review(folder, ['a.onnx'], { backend: 'npu_ge' })).configText).toContain('backend: "npu_ge"')
    await expect(review(folder, ['a.onnx'], { backend: 'python' })).rejects.toThrow('Possible: onnxruntime, npu_ge.')
  })

  test('makes up no tensors for an .om file', async () => {
    using folder = new ImportFolder()
    folder.write({ 'det.om': OM_FILE })
    const reviewed = await review(folder, ['det.om'])
    expect(reviewed).toMatchObject({ kind: 'om', modelName: 'det', backend: 'npu_om', backends: [{ name: 'npu_om', isHere: false }], signature: 'unknown', inputs: [], outputs: [] })
    expect(readModelConfig(reviewed.configText, '')).toMatchObject({ backend: 'npu_om', max_batch_size: 0, input: [], output: [] })
  })

  test('has CANN describe an .om file where it can, and says why it cannot', async () => {
    await using simulated = await SimulatedOm.start()
    using folder = new ImportFolder()
    const path = await simulated.compile('add', addModel(3), ['--input_shape=A:-1,3;B:-1,3', '--dynamic_batch_size=1,4'])
    folder.write({ 'add.om': readFileSync(path), 'det.om': OM_FILE })
    expect(await review(folder, ['add.om'], { readOm: simulated.readOm })).toMatchObject({
      kind: 'om', signature: 'complete', signatureReason: null, inputs: [{ name: 'A', datatype: 'FP32', shape: [3] }, { name: 'B' }], outputs: [{ name: 'SUM' }],
      configText: expect.stringContaining('max_batch_size: 4') as string,
    })
    expect(await review(folder, ['det.om'], { readOm: simulated.readOm })).toMatchObject({ signature: 'unknown', inputs: [], signatureReason: expect.stringContaining('det.om') as string })
  })

  test('asks a model.py for its tensors', async () => {
    using folder = new ImportFolder()
    folder.write({ 'scorer/model.py': PYTHON_FILE })
    expect(await review(folder, ['scorer/model.py'])).toMatchObject({
      kind: 'python', modelName: 'scorer', backend: 'python', signature: 'complete', inputs: [{ name: 'TEXT', datatype: 'STRING', shape: [1] }], outputs: [{ name: 'SCORE', datatype: 'FP32', shape: [2] }],
    })
  })

  test('runs no line of a model.py where its code is not trusted, neither for the review nor for the model', async () => {
    using folder = new ImportFolder()
    folder.write({ 'spy/model.py': `open("ran", "w").close()\n${PYTHON_FILE}    def execute(self, requests):\n        pb_utils.get_input_tensor_by_name(requests[0], "IN")\n` })
    const plan = await planImport([join(folder.root, 'spy')])
    const asked = await reviewModelImport(plan, { repositoryPath: folder.repository, existingNames: [], backends: ['python'], runsCode: false })
    expect(asked).toMatchObject({ signature: 'names', inputs: [{ name: 'IN' }], signatureReason: expect.stringContaining('is not trusted') as string })
    await create(folder, ['spy'], { modelName: 'spy', runsCode: false })
    expect(folder.repositoryFiles()).toContain('spy/1/model.py')
    expect(existsSync(join(folder.root, 'spy', 'ran'))).toBe(false)
    await reviewModelImport(plan, { repositoryPath: folder.repository, existingNames: [], backends: ['python'] })
    expect(existsSync(join(folder.root, 'spy', 'ran'))).toBe(true)
  })

  test('says what a model.py leaves open', async () => {
    using folder = new ImportFolder()
    folder.write({
      'names.py': 'class TritonPythonModel:\n  def execute(self, requests):\n    pb_utils.get_input_tensor_by_name(requests[0], "IN")\n', 'nothing.py': 'class TritonPythonModel:\n  pass\n',
      'raises.py': 'open("/no/such/file")\nclass TritonPythonModel:\n  pass\n',
    })
    expect(await review(folder, ['names.py'])).toMatchObject({ signature: 'names', inputs: [{ name: 'IN' }], signatureReason: expect.stringContaining('no auto_complete_config') as string })
    expect(await review(folder, ['nothing.py'])).toMatchObject({ signature: 'unknown', inputs: [], configText: expect.stringContaining('backend: "python"') as string })
    expect(await review(folder, ['raises.py'])).toMatchObject({ signature: 'unknown', signatureReason: expect.stringContaining('FileNotFoundError') as string })
  })

  test.each([['syntax.py', 'class TritonPythonModel:\n  def (:\n', 'SyntaxError'], ['comment.py', '# TritonPythonModel\n', 'no attribute \'TritonPythonModel\'']])('refuses %s', async (name, text, reason) => {
    using folder = new ImportFolder()
    folder.write({ [name]: text })
    await expect(review(folder, [name])).rejects.toMatchObject({ kind: 'INVALID_ARG', message: expect.stringContaining(reason) as string })
    expect(folder.repositoryFiles()).toEqual([])
  })

  test('a taken name gets a number, and the model of that name is offered where the file could be its next version', async () => {
    using folder = new ImportFolder()
    folder.write({ 'net.onnx': ONNX_FILE, 'repository/net/1/model.onnx': ONNX_FILE, 'repository/net/4/model.onnx': ONNX_FILE, 'net.om': OM_FILE })
    expect(await review(folder, ['net.onnx'])).toMatchObject({ modelName: 'net_2', existingModel: { name: 'net', nextVersion: 5 } })
    expect(await review(folder, ['net.om'])).toMatchObject({ modelName: 'net_2', existingModel: null })
    expect(await review(folder, ['net.onnx'], { existingNames: ['net', 'NET_2'] })).toMatchObject({ modelName: 'net_3' })
  })

  test('keeps the config and the name of a model folder', async () => {
    using folder = new ImportFolder()
    folder.write({ 'copy of det/config.pbtxt': 'name: "det" backend: "onnxruntime"\ninput [ { name: "x" data_type: TYPE_FP32 dims: [ 3, -1 ] } ]', 'copy of det/1/model.onnx': ONNX_FILE })
    expect(await review(folder, ['copy of det'])).toMatchObject({
      modelName: 'det', isConfigGenerated: false, backend: 'onnxruntime', configText: expect.stringContaining('name: "det"') as string, files: [{ path: '1/model.onnx', byteSize: ONNX_FILE.length }],
    })
    folder.write({ 'copy of det/config.pbtxt': 'backend: "onnx' })
    await expect(review(folder, ['copy of det'])).rejects.toMatchObject({ kind: 'INVALID_ARG', message: expect.stringContaining('The config.pbtxt in \'copy of det\' cannot be read') as string })
  })
})

describe('createImportedModel', () => {
  test('writes config and model, and leaves nothing else', async () => {
    using folder = new ImportFolder()
    folder.write({ 'net.onnx': ONNX_FILE })
    const progress: string[] = []
    expect(await create(folder, ['net.onnx'], { onProgress: (done, total) => { progress.push(`${done}/${total}`) } })).toMatchObject({ modelName: 'net', version: 1 })
    expect(folder.repositoryFiles()).toEqual(['net', 'net/1', 'net/1/model.onnx', 'net/config.pbtxt'])
    expect(readFileSync(join(folder.repository, 'net/1/model.onnx')).equals(ONNX_FILE)).toBe(true)
    expect(readFileSync(join(folder.repository, 'net/config.pbtxt'), 'utf8')).toBe((await review(folder, ['net.onnx'])).configText)
    expect(progress).toEqual([`0/${ONNX_FILE.length}`, `${ONNX_FILE.length}/${ONNX_FILE.length}`])
  })

  test('external data lies beside the model as the model says', async () => {
    using folder = new ImportFolder()
    folder.write({ 'a/net.onnx': onnxWithExternalData('data/w.bin'), 'a/data/w.bin': 'weights' })
    await create(folder, ['a/net.onnx'])
    expect(folder.repositoryFiles()).toContain('net/1/data/w.bin')
  })

  test('writes nothing while data files are missing', async () => {
    using folder = new ImportFolder()
    folder.write({ 'net.onnx': onnxWithExternalData('w.bin') })
    expect(await review(folder, ['net.onnx'])).toMatchObject({ missingFiles: ['w.bin'] })
    await expect(create(folder, ['net.onnx'])).rejects.toThrow('not here: w.bin')
    expect(folder.repositoryFiles()).toEqual([])
  })

  test('adds a version under the file name that the model\'s config asks for', async () => {
    using folder = new ImportFolder()
    folder.write({ 'new.onnx': ONNX_FILE, 'repository/net/config.pbtxt': 'backend: "onnxruntime" default_model_filename: "det.onnx"', 'repository/net/2/det.onnx': 'old' })
    expect(await create(folder, ['new.onnx'], { version: 'next' })).toMatchObject({ version: 3 })
    expect(folder.repositoryFiles()).toEqual(['net', 'net/2', 'net/2/det.onnx', 'net/3', 'net/3/det.onnx', 'net/config.pbtxt'])
    expect(readFileSync(join(folder.repository, 'net/2/det.onnx'), 'utf8')).toBe('old')
    await expect(create(folder, ['new.onnx'], { version: 2 })).rejects.toMatchObject({ kind: 'ALREADY_EXISTS', message: expect.stringContaining('next free one is 4') as string })
    await expect(create(folder, ['new.onnx'], { version: 'next', modelName: 'other' })).rejects.toMatchObject({ kind: 'NOT_FOUND' })
  })

  test('a file of another backend is no version of a model', async () => {
    using folder = new ImportFolder()
    folder.write({ 'new.om': OM_FILE, 'repository/net/1/model.onnx': ONNX_FILE })
    await expect(create(folder, ['new.om'], { version: 'next' })).rejects.toThrow('served by \'onnxruntime\'')
    expect(folder.repositoryFiles()).toEqual(['net', 'net/1', 'net/1/model.onnx'])
  })

  test('a model folder comes whole; a name in its config that would not fit goes, and nothing else of it', async () => {
    using folder = new ImportFolder()
    folder.write({ 'det/config.pbtxt': '# mine\nname: "det"\nbackend: "onnxruntime" # here\n', 'det/1/model.onnx': ONNX_FILE, 'det/3/model.onnx': ONNX_FILE, 'det/labels.txt': 'a' })
    await create(folder, ['det'], { modelName: 'det_2' })
    expect(folder.repositoryFiles()).toEqual(['det_2', 'det_2/1', 'det_2/1/model.onnx', 'det_2/3', 'det_2/3/model.onnx', 'det_2/config.pbtxt', 'det_2/labels.txt'])
    expect(readFileSync(join(folder.repository, 'det_2/config.pbtxt'), 'utf8')).toBe('# mine\nbackend: "onnxruntime" # here\n')
    await create(folder, ['det'], { modelName: 'det' })
    expect(readFileSync(join(folder.repository, 'det/config.pbtxt'), 'utf8')).toContain('name: "det"')
  })

  test.each(['folder', 'file'])('never overwrites a %s', async (kind) => {
    using folder = new ImportFolder()
    folder.write({ 'net.onnx': ONNX_FILE })
    if (kind === 'folder') mkdirSync(join(folder.repository, 'net'))
    else writeFileSync(join(folder.repository, 'net'), 'mine')
    await expect(create(folder, ['net.onnx'])).rejects.toMatchObject({ kind: 'ALREADY_EXISTS' })
    expect(folder.repositoryFiles()).toEqual(['net'])
  })

  test('of two imports at the same time under one name one wins', async () => {
    using folder = new ImportFolder()
    folder.write({ 'net.onnx': ONNX_FILE })
    const results = await Promise.allSettled([create(folder, ['net.onnx']), create(folder, ['net.onnx'])])
    expect(results.map((result) => result.status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(results.find((result) => result.status === 'rejected')?.reason).toMatchObject({ kind: 'ALREADY_EXISTS' })
    expect(folder.repositoryFiles()).toEqual(['net', 'net/1', 'net/1/model.onnx', 'net/config.pbtxt'])
  })

  describe('leaves nothing behind', () => {
    const ways: Readonly<Record<string, { system: TransferSystem; kind: string; options?: Partial<CreateOptions> }>> = {
      'a full disk': { system: { ...NO_REFLINK, write: async (file, data) => { await file.write(data.subarray(0, 3)); throw Object.assign(new Error(), { code: 'ENOSPC' }) } }, kind: 'UNAVAILABLE' },
      'no permission': { system: { ...NO_REFLINK, write: () => Promise.reject(Object.assign(new Error(), { code: 'EACCES' })) }, kind: 'UNAVAILABLE' },
      'too little room': { system: { ...NO_REFLINK, freeBytes: () => Promise.resolve(1) }, kind: 'UNAVAILABLE' },
      'a bad name': { system: TRANSFER_SYSTEM, kind: 'INVALID_ARG', options: { modelName: '../escape' } },
      'a repository that is gone': { system: TRANSFER_SYSTEM, kind: 'NOT_FOUND', options: { repositoryPath: '/nowhere/at/all' } },
    }
    test.each(Object.entries(ways))('%s', async (_name, { system, kind, options }) => {
      using folder = new ImportFolder()
      folder.write({ 'net.onnx': onnxWithExternalData('w.bin'), 'w.bin': 'weights' })
      await expect(create(folder, ['net.onnx'], options, system)).rejects.toMatchObject({ kind })
      expect(folder.repositoryFiles()).toEqual([])
    })

    test('a cancel in the middle of a copy', async () => {
      using folder = new ImportFolder()
      folder.write({ 'net.onnx': onnxWithExternalData('w.bin'), 'w.bin': Buffer.alloc(9 * 1024 * 1024) })
      const cancel = new AbortController()
      let last = 0
      const onProgress = (done: number) => { last = done; if (done > 0) cancel.abort() }
      await expect(create(folder, ['net.onnx'], { signal: cancel.signal, onProgress }, NO_REFLINK)).rejects.toMatchObject({ kind: 'CANCELLED' })
      expect(last).toBe(4 * 1024 * 1024)
      expect(folder.repositoryFiles()).toEqual([])
    })

    test('a cancel of a version', async () => {
      using folder = new ImportFolder()
      folder.write({ 'net.onnx': ONNX_FILE, 'repository/net/1/model.onnx': ONNX_FILE })
      const cancel = new AbortController()
      await expect(create(folder, ['net.onnx'], { version: 'next', signal: cancel.signal, onProgress: () => { cancel.abort() } }, NO_REFLINK)).rejects.toMatchObject({ kind: 'CANCELLED' })
      expect(folder.repositoryFiles()).toEqual(['net', 'net/1', 'net/1/model.onnx'])
    })

    test('a source that vanishes after the review', async () => {
      using folder = new ImportFolder()
      folder.write({ 'net.onnx': onnxWithExternalData('w.bin'), 'w.bin': 'weights' })
      const plan = await planImport([join(folder.root, 'net.onnx')])
      rmSync(join(folder.root, 'w.bin'))
      await expect(createImportedModel(plan, { repositoryPath: folder.repository, modelName: 'net', version: null, backend: null, mode: 'copy', signal: new AbortController().signal, onProgress: () => {} }))
        .rejects.toMatchObject({ kind: 'NOT_FOUND', message: expect.stringContaining('w.bin\' is not there any more') as string })
      expect(folder.repositoryFiles()).toEqual([])
    })
  })

  test('a hard link is one file with its source, and only on demand', async () => {
    using folder = new ImportFolder()
    const source = folder.write({ 'net.onnx': ONNX_FILE })
    expect((await create(folder, ['net.onnx'], { mode: 'link' }, NO_REFLINK)).method).toBe('link')
    expect(statSync(join(folder.repository, 'net/1/model.onnx')).ino).toBe(statSync(source).ino)
    await create(folder, ['net.onnx'], { modelName: 'other' }, NO_REFLINK)
    expect(statSync(join(folder.repository, 'other/1/model.onnx')).ino).not.toBe(statSync(source).ino)
  })

  test('a read-only parent of the repository does not matter', async () => {
    using folder = new ImportFolder()
    folder.write({ 'net.onnx': ONNX_FILE })
    chmodSync(folder.root, 0o555)
    try {
      await create(folder, ['net.onnx'])
      expect(readdirSync(folder.repository)).toEqual(['net'])
    } finally {
      chmodSync(folder.root, 0o755)
    }
  })
})

test('what a killed process left is removed a day later, and nothing that is in use', async () => {
  using folder = new ImportFolder()
  const old = new Date(Date.now() - 25 * 3600 * 1000)
  const names = { dead: `${IMPORT_PREFIX}4194999-a`, alive: `${IMPORT_PREFIX}${process.pid}-b`, young: `${IMPORT_PREFIX}4194999-c`, unrelated: '.cache' }
  for (const name of Object.values(names)) folder.write({ [`${name}/model.onnx`]: 'x' })
  for (const name of [names.dead, names.alive, names.unrelated]) utimesSync(join(folder.root, name), old, old)
  await removeStaleImports(folder.root)
  expect(Object.values(names).map((name) => existsSync(join(folder.root, name)))).toEqual([false, true, true, true])
})
