import { existsSync, mkdirSync, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ConsoleEvents } from '../../contract/console-api.ts'
import { ASSETS_DIRECTORY } from '../../installed-paths.ts'
import { LogHub } from '../../logger.ts'
import { ImportFolder, OM_FILE, ONNX_FILE, onnxWithExternalData, PYTHON_FILE } from '../../testing/import-fixture.ts'
import { createTestServer } from '../../testing/test-server.ts'
import { importSourceArgument } from './command-arguments.ts'
import { RepositoryTrustFile, type RepositoryTrust } from '../../model-repository/repository-trust.ts'
import { ModelImports } from './model-imports.ts'

class Window {
  readonly closing = new AbortController()
  readonly progress: ConsoleEvents['import.progress'][] = []
  get closed(): AbortSignal { return this.closing.signal }
  sendEvent(name: string, value: unknown): void { if (name === 'import.progress') this.progress.push(value as ConsoleEvents['import.progress']) }
}

async function setUp(folder: ImportFolder, trust?: RepositoryTrust) {
  const test = createTestServer([folder.repository], {}, undefined, trust === undefined ? {} : { trust })
  await test.server.start()
  const imports = new ModelImports({ server: test.server, dataDirectory: join(folder.root, 'data'), backends: ['onnxruntime'], logs: test.logs, assetsDirectory: ASSETS_DIRECTORY })
  const window = new Window()
  const upload = async (files: Readonly<Record<string, Uint8Array>>, importId: string | null = null) => {
    const before = importId === null ? 0 : 1
    const opened = await imports.open(window, { kind: 'upload', files: Object.entries(files).map(([path, data]) => ({ path, byteSize: data.length })) }, importId)
    for (const [index, data] of Object.values(files).entries()) {
      for (let offset = 0; offset < data.length; offset += 50) await imports.chunk(opened.importId, before + index, offset, data.subarray(offset, offset + 50))
    }
    return opened.importId
  }
  return { imports, window, upload, server: test, [Symbol.asyncDispose]: () => test[Symbol.asyncDispose]() }
}

const target = { backend: 'onnxruntime', asVersion: false, link: false }

test('uploaded bytes become a model without a second copy, and nothing else stays', async () => {
  using folder = new ImportFolder()
  await using opened = await setUp(folder)
  const { imports, upload, window } = opened
  const importId = await upload({ 'net.onnx': ONNX_FILE })
  expect(await imports.review(importId, null)).toMatchObject({ modelName: 'net', isLocal: false, files: [{ path: '1/model.onnx', byteSize: ONNX_FILE.length }] })
  expect(readdirSync(folder.repository)).toEqual([])
  expect(await imports.create(window, { ...target, importId, modelName: 'net' })).toMatchObject({ model: { name: 'net' }, version: 1, method: 'move' })
  expect(folder.repositoryFiles()).toEqual(['net', 'net/1', 'net/1/model.onnx', 'net/config.pbtxt'])
  expect(window.progress.at(-1)).toEqual({ importId, bytesDone: ONNX_FILE.length, bytesTotal: ONNX_FILE.length })
  await expect(imports.review(importId, null)).rejects.toMatchObject({ kind: 'NOT_FOUND' })
})

test('a path of this machine is copied, and the source stays', async () => {
  using folder = new ImportFolder()
  const path = folder.write({ 'files/net.onnx': ONNX_FILE })
  await using opened = await setUp(folder)
  const { imports, window } = opened
  const { importId } = await imports.open(window, { kind: 'local', paths: [path] }, null)
  expect(await imports.review(importId, null)).toMatchObject({ isLocal: true })
  await imports.create(window, { ...target, importId, modelName: 'net' })
  expect(readdirSync(join(folder.root, 'files'))).toEqual(['net.onnx'])
  expect(folder.repositoryFiles()).toContain('net/1/model.onnx')
})

test('files that the model misses can be added', async () => {
  using folder = new ImportFolder()
  await using opened = await setUp(folder)
  const { imports, upload, window } = opened
  const importId = await upload({ 'net.onnx': onnxWithExternalData('w.bin') })
  expect((await imports.review(importId, null)).missingFiles).toEqual(['w.bin'])
  await upload({ 'w.bin': Buffer.from('weights') }, importId)
  expect((await imports.review(importId, null)).missingFiles).toEqual([])
  await imports.create(window, { ...target, importId, modelName: 'net' })
  expect(folder.repositoryFiles()).toEqual(['net', 'net/1', 'net/1/model.onnx', 'net/1/w.bin', 'net/config.pbtxt'])
})

test('a folder is uploaded with its layout, a version is added to a model', async () => {
  using folder = new ImportFolder()
  await using opened = await setUp(folder)
  const { imports, upload, window } = opened
  const first = await upload({ 'det/1/model.onnx': ONNX_FILE, 'det/config.pbtxt': Buffer.from('backend: "onnxruntime"'), 'det/labels.txt': new Uint8Array(0) })
  await imports.create(window, { ...target, importId: first, modelName: (await imports.review(first, null)).modelName })
  const second = await upload({ 'det.onnx': ONNX_FILE })
  expect(await imports.review(second, null)).toMatchObject({ modelName: 'det_2', existingModel: { name: 'det', nextVersion: 2 } })
  expect(await imports.create(window, { ...target, importId: second, modelName: 'det', asVersion: true })).toMatchObject({ version: 2 })
  expect(folder.repositoryFiles()).toEqual(['det', 'det/1', 'det/1/model.onnx', 'det/2', 'det/2/model.onnx', 'det/config.pbtxt', 'det/labels.txt'])
})

test.each(['closing the import', 'a window that goes away'])('%s removes what was uploaded', async (way) => {
  using folder = new ImportFolder()
  await using opened = await setUp(folder)
  const { imports, window } = opened
  const { importId } = await imports.open(window, { kind: 'upload', files: [{ path: 'net.onnx', byteSize: 100 }] }, null)
  await imports.chunk(importId, 0, 0, new Uint8Array(60))
  expect(folder.repositoryFiles()).toHaveLength(1)
  if (way === 'closing the import') await imports.close(importId)
  else window.closing.abort()
  await expect.poll(() => folder.repositoryFiles()).toEqual([])
  await expect(imports.chunk(importId, 0, 60, new Uint8Array(40))).rejects.toMatchObject({ kind: 'NOT_FOUND' })
})

test('a broken upload is refused with the reason and can be closed', async () => {
  using folder = new ImportFolder()
  await using opened = await setUp(folder)
  const { imports, upload } = opened
  const importId = await upload({ 'det.om': OM_FILE.subarray(1) })
  await expect(imports.review(importId, null)).rejects.toThrow('not an Ascend OM model')
  await imports.close(importId)
  expect(folder.repositoryFiles()).toEqual([])
})

test('what is wrong with an upload is said of the file as it was dropped', async () => {
  using folder = new ImportFolder()
  await using opened = await setUp(folder)
  const importId = await opened.upload({ 'cut.onnx': ONNX_FILE.subarray(0, 40) })
  await expect(opened.imports.review(importId, null)).rejects.toThrow(/^Cannot read the ONNX model 'cut\.onnx': /)
})

test('bytes out of turn are refused', async () => {
  using folder = new ImportFolder()
  await using opened = await setUp(folder)
  const { imports, window } = opened
  const { importId } = await imports.open(window, { kind: 'upload', files: [{ path: 'net.onnx', byteSize: 10 }] }, null)
  for (const [file, offset, size] of [[0, 1, 5], [1, 0, 5], [0, 0, 11], [0, 0, 0]] as const) {
    await expect(imports.chunk(importId, file, offset, new Uint8Array(size))).rejects.toThrow('out of turn')
  }
  await imports.chunk(importId, 0, 0, new Uint8Array(9))
  await expect(imports.review(importId, null)).rejects.toThrow('9 of 10 bytes')
})

test('an upload that no disk can take is refused before its first byte', async () => {
  using folder = new ImportFolder()
  await using opened = await setUp(folder)
  const { imports, window } = opened
  await expect(imports.open(window, { kind: 'upload', files: [{ path: 'net.onnx', byteSize: 1e17 }] }, null)).rejects.toThrow('Free some space')
  expect(folder.repositoryFiles()).toEqual([])
})

test.each(['../a', 'a/../../b', '/etc/x', 'a//b', 'a\\..\\b', '', '.'])('an upload cannot be put at %j', (path) => {
  expect(() => importSourceArgument({ kind: 'upload', files: [{ path, byteSize: 1 }] })).toThrow('a relative path')
})

test('without a repository the bytes wait in our own data folder', async () => {
  using folder = new ImportFolder()
  await using server = createTestServer([])
  const imports = new ModelImports({ server: server.server, dataDirectory: join(folder.root, 'data'), backends: [], logs: server.logs, assetsDirectory: ASSETS_DIRECTORY })
  const window = new Window()
  const { importId } = await imports.open(window, { kind: 'upload', files: [{ path: 'net.onnx', byteSize: ONNX_FILE.length }] }, null)
  await imports.chunk(importId, 0, 0, ONNX_FILE)
  expect(await imports.review(importId, null)).toMatchObject({ modelName: 'net' })
  await expect(imports.create(window, { ...target, importId, modelName: 'net' })).rejects.toMatchObject({ kind: 'UNAVAILABLE' })
  mkdirSync(join(folder.root, 'data', 'x'))
  await imports.close(importId)
  expect(readdirSync(join(folder.root, 'data'))).toEqual(['x'])
})

test('a model.py is not run for its config before the repository that it comes into is trusted', async () => {
  using folder = new ImportFolder()
  const trust = await RepositoryTrustFile.open(join(folder.root, 'data'), new LogHub().logger('trust'))
  await using opened = await setUp(folder, trust)
  const { imports, window } = opened
  const path = folder.write({ 'scorer/model.py': `open("ran", "a").close()\n${PYTHON_FILE}` })
  const { importId } = await imports.open(window, { kind: 'local', paths: [path] }, null)
  expect(await imports.review(importId, null)).toMatchObject({ signature: 'unknown', signatureReason: expect.stringContaining('is not trusted') as string, awaitsTrust: realpathSync(folder.repository) })
  expect(existsSync(join(folder.root, 'scorer', 'ran'))).toBe(false)
  await opened.server.server.trustRepository(realpathSync(folder.repository))
  expect(await imports.review(importId, null)).toMatchObject({ signature: 'complete', awaitsTrust: null })
})
