import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { identityConfig, TemporaryRepository } from '../../testing/temporary-repository.ts'
import { idleDevices } from '../../testing/test-devices.ts'
import { createTestServer } from '../../testing/test-server.ts'
import type { TestServer } from '../../testing/test-server.ts'
import { configDrift, listConfigHistory, openConfig, readConfigHistory, saveConfig } from './config-files.ts'
import type { ConfigFilesContext } from './config-files.ts'

let repository: TemporaryRepository
let dataDirectory: string
let running: TestServer
let context: ConfigFilesContext
let path: string

beforeEach(async () => {
  repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig(), 'm/1/keep': '' })
  dataDirectory = await mkdtemp(join(tmpdir(), 'config-files-data-'))
  running = createTestServer([repository.path])
  await running.server.start()
  context = { server: running.server, dataDirectory, backends: ['identity'], devices: idleDevices(), now: () => 5000 }
  path = join(repository.path, 'm', 'config.pbtxt')
})

afterEach(async () => {
  await running[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
  await rm(dataDirectory, { recursive: true, force: true })
})

describe('config of the console', () => {
  it('opens the text with what it is judged against', async () => {
    const opened = await openConfig(context, 'm')
    expect(opened).toMatchObject({ path, text: identityConfig(), context: { modelName: 'm', backends: ['identity'], versions: [{ version: 1 }] } })
  })

  it('judges it against the cards by the ids that they have in this process', async () => {
    expect((await openConfig(context, 'm')).context.machine?.npus).toBeNull()
    const card = { chip: '910B3', slot: 0, chipIndex: 0, busId: null, deviceNode: null, aiCores: null, vectorCores: null }
    const report = { ...idleDevices().report(), cards: [{ ...card, card: 0, logicalId: 0, visibleId: null }, { ...card, card: 1, logicalId: 1, visibleId: 0 }] }
    expect((await openConfig({ ...context, devices: { report: () => report } }, 'm')).context.machine?.npus).toEqual([{ card: 0, chip: '910B3' }])
  })

  it('says that this server does not complete configs', async () => {
    expect((await openConfig(context, 'm')).context).not.toHaveProperty('isAutoCompleteOff')
    expect((await openConfig({ ...context, isAutoCompleteOff: true }, 'm')).context).toMatchObject({ isAutoCompleteOff: true })
  })

  it('saves, keeps permissions, and the next load uses it', async () => {
    await chmod(path, 0o600)
    const { hash } = await openConfig(context, 'm')
    const text = identityConfig('# more', 4)
    expect(await saveConfig(context, 'm', text, hash)).toMatchObject({ kind: 'saved' })
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await readdir(join(repository.path, 'm'))).toEqual(['1', 'config.pbtxt'])
    await running.server.loadModel('m')
    expect(running.server.modelConfig('m', '').max_batch_size).toBe(4)
  })

  it('refuses a file that changed, and remembers nothing of it', async () => {
    const { hash } = await openConfig(context, 'm')
    await writeFile(path, 'name: "m" # by hand\n')
    expect(await saveConfig(context, 'm', 'mine', hash)).toMatchObject({ kind: 'conflict', currentText: 'name: "m" # by hand\n' })
    expect(await readFile(path, 'utf8')).toBe('name: "m" # by hand\n')
    expect(await listConfigHistory(context, 'm')).toEqual([])
  })

  it('remembers each save and what the first one replaced; saving the same text again is no save', async () => {
    const first = await saveConfig(context, 'm', 'a: 1', (await openConfig(context, 'm')).hash)
    if (first.kind === 'saved') await saveConfig(context, 'm', 'a: 1', first.hash)
    const history = await listConfigHistory(context, 'm')
    expect(await Promise.all(history.map(({ id }) => readConfigHistory(context, 'm', id)))).toEqual([{ text: 'a: 1' }, { text: identityConfig() }])
    expect(await readdir(repository.path)).toEqual(['m'])
  })

  it('tells what runs from what is on disk and what a load would make of it', async () => {
    expect(await configDrift(context, 'm')).toMatchObject({ onDisk: identityConfig(), running: null, normaliseError: null })
    await running.server.loadModel('m')
    const loaded = await configDrift(context, 'm')
    expect(loaded.running).toBe(loaded.normalised)
    await writeFile(path, identityConfig('', 2))
    const edited = await configDrift(context, 'm')
    expect(edited.running).toBe(loaded.running)
    expect(edited.normalised).toContain('max_batch_size: 2')
    await writeFile(path, 'max_batch_szie: 2\n')
    expect(await configDrift(context, 'm')).toMatchObject({ normalised: null, normaliseError: expect.stringContaining('no field named "max_batch_szie"') as string })
  })
})
