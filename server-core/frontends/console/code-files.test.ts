import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PYTHON_CONFIG } from '../../testing/python-models.ts'
import { TemporaryRepository } from '../../testing/temporary-repository.ts'
import { createTestServer } from '../../testing/test-server.ts'
import type { TestServer } from '../../testing/test-server.ts'
import { openCode, saveCode } from './code-files.ts'

const CODE = '\uFEFFimport os\r\n# 注释\nx = 1'
let repository: TemporaryRepository
let running: TestServer

beforeEach(async () => {
  repository = await TemporaryRepository.create({ 'm/config.pbtxt': PYTHON_CONFIG, 'm/1/model.py': CODE, 'm/10/model.py': 'ten', 'm/10/keys.txt': '', 'm/2/other.py': '', 'onnx/config.pbtxt': 'backend: "onnxruntime"', 'onnx/1/x': '' })
  running = createTestServer([repository.path])
  await running.server.start()
})

afterEach(async () => {
  await running[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
})

describe('code of the console', () => {
  it('opens the newest version or the one asked for, with what it is judged against', async () => {
    expect(await openCode(running.server, 'm', null)).toEqual({
      path: join(repository.path, 'm/10/model.py'), name: '10/model.py', version: 10, versions: [1, 10], text: 'ten', hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      context: { versionFiles: ['keys.txt', 'model.py'], modelFiles: ['1', '10', '2', 'config.pbtxt'], isDecoupled: false },
    })
    expect((await openCode(running.server, 'm', 1)).text).toBe(CODE)
    await expect(openCode(running.server, 'm', 2)).rejects.toThrow("model 'm' has no model.py in version 2")
    await expect(openCode(running.server, 'onnx', null)).rejects.toThrow("model 'onnx' has no model.py in any version")
  })

  it('goes by the config: the name of the file, and decoupled', async () => {
    await writeFile(join(repository.path, 'm/config.pbtxt'), 'backend: "python"\ndefault_model_filename: "other.py"\nmodel_transaction_policy { decoupled: true }\n')
    expect(await openCode(running.server, 'm', null)).toMatchObject({ name: '2/other.py', versions: [2], context: { isDecoupled: true } })
  })

  it('saves every byte, and not over a file that another program changed', async () => {
    const { hash } = await openCode(running.server, 'm', 1)
    const saved = await saveCode(running.server, 'm', 1, `${CODE}\r\ny = 2`, hash)
    expect(saved.kind).toBe('saved')
    expect(await readFile(join(repository.path, 'm/1/model.py'), 'utf8')).toBe(`${CODE}\r\ny = 2`)
    await writeFile(join(repository.path, 'm/1/model.py'), 'theirs')
    expect(await saveCode(running.server, 'm', 1, 'mine', saved.kind === 'saved' ? saved.hash : '')).toMatchObject({ kind: 'conflict', currentText: 'theirs' })
    expect(await readFile(join(repository.path, 'm/1/model.py'), 'utf8')).toBe('theirs')
    await rm(join(repository.path, 'm/1/model.py'))
    await expect(saveCode(running.server, 'm', 1, 'mine', hash)).rejects.toThrow('has no model.py in version 1')
  })
})
