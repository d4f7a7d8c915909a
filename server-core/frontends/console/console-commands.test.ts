import { chmodSync, existsSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { LogHub } from '../../logger.ts'
import { RepositoryTrustFile } from '../../model-repository/repository-trust.ts'
import { addModel } from '../../testing/onnx-fixture.ts'
import { identityConfig, TemporaryRepository } from '../../testing/temporary-repository.ts'
import { createTestServer, type TestServer } from '../../testing/test-server.ts'
import { idleDevices, noSimulation } from '../../testing/test-devices.ts'
import { previewNormalisedConfig } from '../../model-repository/preview-normalised-config.ts'
import { consoleCommandHandlers } from './console-commands.ts'
import type { ConsoleCaller } from './console-commands.ts'

function handlersOf({ server, logs }: TestServer) {
  return consoleCommandHandlers({ server, logs, status: () => { throw new Error('not asked for here') }, dataDirectory: join(tmpdir(), 'nowhere'), assetsDirectory: '', backends: [], devices: idleDevices(), simulation: noSimulation(), restart: null })
}

const NO_WINDOW: ConsoleCaller = { closed: new AbortController().signal, sendEvent: () => {} }

describe('model.detail', () => {
  it('tells the state at its end, not that before it read the disk', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig(), 'm/1/x': '' })
    await using test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    const detail = handlersOf(test)['model.detail']({ name: 'm' }, NO_WINDOW)
    const unloaded = test.server.unloadModel('m')
    expect((await detail).summary.state).not.toBe('READY')
    await unloaded
  })
})

describe('model.traffic', () => {
  it('splits the traffic, ends that, and checks what a window sends', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig('version_policy { all { } }'), 'm/1/x': '', 'm/2/x': '' })
    await using test = createTestServer([repository.path], { loadModels: ['m'] })
    await test.server.start()
    const traffic = (args: unknown) => handlersOf(test)['model.traffic'](args, NO_WINDOW)
    await traffic({ name: 'm', split: { version: '2', percent: 20 } })
    expect(test.server.modelSummaries()[0]?.traffic).toMatchObject({ version: '2', percent: 20, baseVersion: '1' })
    for (const split of [undefined, 'all', { version: 2, percent: 20 }, { version: '2' }, { version: '2', percent: 120 }]) {
      expect(() => traffic({ name: 'm', split })).toThrow(expect.objectContaining({ kind: 'INVALID_ARG' }) as Error)
    }
    await traffic({ name: 'm', split: null })
    expect(test.server.modelSummaries()[0]?.traffic).toBeNull()
  })
})

describe('python.interpreters', () => {
  it('tells which interpreter models run with, and what a window may not ask', async () => {
    // Those of the system alone: a machine of developers may have many.
    for (const [name, value] of Object.entries({ PATH: '/usr/bin:/bin', PYENV_ROOT: '/nowhere' })) vi.stubEnv(name, value)
    onTestFinished(() => { vi.unstubAllEnvs() })
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig(), 'm/1/x': '', 'm/env/pyvenv.cfg': '' })
    await using test = createTestServer([repository.path])
    await test.server.start()
    const ask = async (args: unknown) => handlersOf(test)['python.interpreters'](args, NO_WINDOW)
    const found = await ask({ model: 'm' })
    expect(found.filter(({ isDefault }) => isDefault)).toMatchObject([{ version: expect.stringMatching(/^3\./) as string }])
    expect(found).toContainEqual(expect.objectContaining({ path: join(repository.path, 'm/env'), kind: 'venv', problem: expect.objectContaining({ en: `${repository.path}/m/env has no bin/python3` }) as unknown }))
    await expect(ask({})).rejects.toMatchObject({ kind: 'INVALID_ARG' })
    await expect(ask({ model: 'none' })).rejects.toMatchObject({ kind: 'NOT_FOUND' })
  }, 60_000)

  it('starts nothing that lies in a repository which is not trusted', async () => {
    for (const [name, value] of Object.entries({ PATH: '/usr/bin:/bin', PYENV_ROOT: '/nowhere' })) vi.stubEnv(name, value)
    onTestFinished(() => { vi.unstubAllEnvs() })
    await using repository = await TemporaryRepository.create({
      'models/m/config.pbtxt': identityConfig(), 'models/m/1/x': '', ...Object.fromEntries(['models/m/env', 'models/env', 'env'].flatMap((folder) => [[`${folder}/pyvenv.cfg`, ''], [`${folder}/bin/python3`, `#!/bin/sh\ntouch "$0-ran"\n`]])),
    })
    for (const folder of ['models/m/env', 'models/env', 'env']) chmodSync(join(repository.path, folder, 'bin/python3'), 0o755)
    const trust = await RepositoryTrustFile.open(join(repository.path, 'data'), new LogHub().logger('trust'))
    await using test = createTestServer([join(repository.path, 'models')], {}, undefined, { trust })
    await test.server.start()
    const ask = async () => handlersOf(test)['python.interpreters']({ model: 'm' }, NO_WINDOW)
    const ran = () => ['models/m/env', 'models/env', 'env'].filter((folder) => existsSync(join(repository.path, folder, 'bin/python3-ran')))
    expect(await ask()).toContainEqual(expect.objectContaining({ path: join(repository.path, 'models/m/env'), problem: expect.objectContaining({ en: expect.stringContaining('not trusted') as unknown }) as unknown }))
    expect(ran()).toEqual([])
    await test.server.trustRepository(realpathSync(join(repository.path, 'models')))
    await ask()
    expect(ran()).toEqual(['models/m/env', 'models/env', 'env'])
  }, 60_000)
})

describe('the normalised config', () => {
  it('is not completed from a file outside the version', async () => {
    await using repository = await TemporaryRepository.create({ 'm/1/x': '', 'secret.onnx': addModel(2) })
    const preview = await previewNormalisedConfig({
      text: 'backend: "onnxruntime" default_model_filename: "../../secret.onnx"', path: 'config.pbtxt', modelName: 'm', modelDirectory: join(repository.path, 'm'), repositoryPath: repository.path,
    })
    expect(preview.normalised).not.toContain('SUM')
  })
})
