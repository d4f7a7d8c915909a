import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bytesField, onnxModel, valueInfo } from '../model-config/test-onnx.ts'
import { ImportFolder, OM_FILE, ONNX_FILE, onnxWithExternalData, PYTHON_FILE } from '../testing/import-fixture.ts'
import { planImport } from './import-plan.ts'

async function targetsOf(folder: ImportFolder, names: readonly string[], root: string | null = null) {
  const plan = await planImport(names.map((name) => join(folder.root, name)), root)
  return { ...plan, targets: plan.files.map(({ target }) => target).toSorted() }
}

test.each([
  ['My Net.onnx', ONNX_FILE, 'onnx', 'model.onnx', 'My Net'], ['det.OM', OM_FILE, 'om', 'model.om', 'det'], ['scorer.py', PYTHON_FILE, 'python', 'model.py', 'scorer'],
])('%s becomes the model file of a version', async (name, data, kind, target, nameSource) => {
  using folder = new ImportFolder()
  folder.write({ [name]: data })
  expect(await targetsOf(folder, [name])).toMatchObject({ layout: 'version', kind, targets: [target], nameSource, missing: [], leftOut: [], config: null })
})

test('a model.py or model.onnx is named after its folder, in a version folder after the model; uploads have no folder', async () => {
  using folder = new ImportFolder()
  folder.write({ 'scorer/model.py': PYTHON_FILE, 'det/3/model.onnx': ONNX_FILE, 'upload/model.py': PYTHON_FILE, 'upload/deep/2/model.py': PYTHON_FILE })
  expect(await targetsOf(folder, ['scorer/model.py'])).toMatchObject({ nameSource: 'scorer' })
  expect(await targetsOf(folder, ['det/3/model.onnx'])).toMatchObject({ nameSource: 'det' })
  expect(await targetsOf(folder, ['upload/model.py'], join(folder.root, 'upload'))).toMatchObject({ nameSource: 'model' })
  expect(await targetsOf(folder, ['upload/deep/2'], join(folder.root, 'upload'))).toMatchObject({ nameSource: 'deep' })
})

test.each([
  ['weights.pth', 'x', 'UNSUPPORTED', 'weights only'], ['model.plan', 'x', 'UNSUPPORTED', 'GPU build'], ['model.air', 'x', 'UNSUPPORTED', 'AIR'], ['notes.txt', 'x', 'UNSUPPORTED', 'it is not a model file'],
  ['noextension', 'x', 'UNSUPPORTED', 'Supported are ONNX models'], ['empty.onnx', '', 'INVALID_ARG', 'is empty'], ['empty.om', '', 'INVALID_ARG', 'is empty'], ['text.onnx', 'hello, this is no model', 'INVALID_ARG', 'Cannot read the ONNX model'],
  ['cut.onnx', ONNX_FILE.subarray(0, ONNX_FILE.length - 9), 'INVALID_ARG', 'Cannot read the ONNX model'], ['other.om', 'PK\u0003\u0004zip', 'INVALID_ARG', 'does not start with \'IMOD\''],
  ['short.om', 'IM', 'INVALID_ARG', 'not an Ascend OM model'], ['script.py', 'print(1)', 'INVALID_ARG', 'no class TritonPythonModel'],
  ['complex.onnx', onnxModel({ inputs: [valueInfo('c', 14, [1])], outputs: [] }), 'UNSUPPORTED', 'element type COMPLEX64'],
])('refuses %s', async (name, data, kind, text) => {
  using folder = new ImportFolder()
  folder.write({ [name]: data })
  await expect(targetsOf(folder, [name])).rejects.toMatchObject({ kind, message: expect.stringContaining(text) as string })
})

test('refuses what is not there, two models, and a folder among files', async () => {
  using folder = new ImportFolder()
  folder.write({ 'a.onnx': ONNX_FILE, 'b.om': OM_FILE, 'f/x.txt': '' })
  await expect(planImport([])).rejects.toThrow('There is no file to import')
  await expect(targetsOf(folder, ['none.onnx'])).rejects.toMatchObject({ kind: 'NOT_FOUND' })
  await expect(targetsOf(folder, ['a.onnx', 'b.om'])).rejects.toThrow('2 models: a.onnx, b.om')
  await expect(targetsOf(folder, ['a.onnx', 'f'])).rejects.toThrow('one folder')
  await expect(targetsOf(folder, ['f'])).rejects.toMatchObject({ kind: 'UNSUPPORTED' })
})

test('weights in other files come along, from beside the model or from among the dropped files; missing ones are named', async () => {
  using folder = new ImportFolder()
  folder.write({ 'beside/net.onnx': onnxWithExternalData('net.bin', 'more/w.bin'), 'beside/net.bin': 'weights', 'elsewhere/w.bin': 'w', 'elsewhere/readme.txt': '' })
  expect(await targetsOf(folder, ['beside/net.onnx'])).toMatchObject({ targets: ['model.onnx', 'net.bin'], missing: ['more/w.bin'] })
  expect(await targetsOf(folder, ['beside/net.onnx', 'elsewhere/w.bin', 'elsewhere/readme.txt']))
    .toMatchObject({ targets: ['model.onnx', 'more/w.bin', 'net.bin'], missing: [], leftOut: ['readme.txt'] })
})

test('weights that would have the model\'s own name leave it its name', async () => {
  using folder = new ImportFolder()
  folder.write({ 'net.onnx': onnxWithExternalData('model.onnx'), 'model.onnx': 'weights' })
  expect(await targetsOf(folder, ['net.onnx'])).toMatchObject({ targets: ['model.onnx', 'net.onnx'] })
})

test.each(['../secret', '/etc/passwd', 'a/../../b'])('weights in %j are refused: nothing outside the model\'s folder is read', async (location) => {
  using folder = new ImportFolder()
  folder.write({ 'm/net.onnx': onnxWithExternalData(location), secret: 'x', b: 'x' })
  await expect(targetsOf(folder, ['m/net.onnx'])).rejects.toMatchObject({ kind: 'UNSUPPORTED', message: expect.stringContaining('outside its own folder') as string })
})

test('a model.py takes the modules beside it that it imports, and no others', async () => {
  using folder = new ImportFolder()
  folder.write({
    's/model.py': `import os, text_tools\nfrom package.inner import x\n${PYTHON_FILE}`, 's/text_tools.py': 'import deeper\n', 's/deeper.py': '', 's/package/__init__.py': '', 's/package/inner.py': 'x = 1',
    's/package/__pycache__/inner.pyc': '', 's/unrelated.py': '', 's/holiday.jpg': '',
  })
  expect((await targetsOf(folder, ['s/model.py'])).targets).toEqual(['deeper.py', 'model.py', 'package/__init__.py', 'package/inner.py', 'text_tools.py'])
  expect((await targetsOf(folder, ['s/model.py', 's/holiday.jpg'])).targets).toContain('holiday.jpg')
})

test('of several Python files the model is the one that is model.py or has the class', async () => {
  using folder = new ImportFolder()
  folder.write({ 'a.py': 'x = 1', 'b.py': PYTHON_FILE, 'c/model.py': PYTHON_FILE, 'c/d.py': PYTHON_FILE })
  expect(await targetsOf(folder, ['a.py', 'b.py'])).toMatchObject({ fileName: 'b.py', targets: ['a.py', 'model.py'] })
  expect(await targetsOf(folder, ['c/d.py', 'c/model.py'])).toMatchObject({ fileName: 'model.py' })
})

test('a model folder keeps its layout and config; hidden files stay behind', async () => {
  using folder = new ImportFolder()
  folder.write({ 'det/config.pbtxt': 'backend: "onnxruntime"', 'det/1/model.onnx': ONNX_FILE, 'det/2/model.onnx': ONNX_FILE, 'det/labels.txt': 'a', 'det/.git/config': '' })
  expect(await targetsOf(folder, ['det'])).toMatchObject({
    layout: 'modelFolder', nameSource: 'det', kind: 'onnx', targets: ['1/model.onnx', '2/model.onnx', 'labels.txt'], config: { text: 'backend: "onnxruntime"' },
  })
})

test('a folder of one version, or with the config beside the model file, is a version', async () => {
  using folder = new ImportFolder()
  folder.write({ 'det/7/net.onnx': ONNX_FILE, 'det/7/vocabulary.txt': '', 'flat/config.pbtxt': '', 'flat/net.onnx': ONNX_FILE })
  expect(await targetsOf(folder, ['det/7'])).toMatchObject({ layout: 'version', nameSource: 'det', targets: ['model.onnx', 'vocabulary.txt'] })
  // Its config may name the file.
  expect(await targetsOf(folder, ['flat'])).toMatchObject({ layout: 'version', nameSource: 'flat', targets: ['net.onnx'] })
})

test('links to folders are not followed', async () => {
  using folder = new ImportFolder()
  folder.write({ 'det/1/model.onnx': ONNX_FILE })
  symlinkSync(folder.root, join(folder.root, 'det', 'up'))
  await expect(targetsOf(folder, ['det'])).rejects.toThrow('a link to a folder')
})

test('the tensor names and data of an ONNX file are read', async () => {
  using folder = new ImportFolder()
  folder.write({ 'a.onnx': onnxModel({ inputs: [valueInfo('x', 1, [1])], outputs: [], initializers: [Buffer.concat([bytesField(8, 'w')])] }) })
  expect((await targetsOf(folder, ['a.onnx'])).onnx?.inputs).toMatchObject([{ name: 'x', datatype: 'FP32' }])
})
