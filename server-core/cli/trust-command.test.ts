import { realpath, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LogHub } from '../logger.ts'
import { RepositoryTrustFile } from '../model-repository/repository-trust.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import { trustCommand } from './trust-command.ts'

async function run(...args: string[]): Promise<{ code: number; out: string; error: string }> {
  const out: string[] = []
  const error: string[] = []
  const code = await trustCommand(args, {}, { print: (text) => out.push(text), printError: (text) => error.push(text) })
  return { code, out: out.join('\n'), error: error.join('\n') }
}

describe('npu-console trust', () => {
  it('trusts, lists and revokes in the file that a server reads, by the real path', async () => {
    await using folder = await TemporaryRepository.create({ 'models/a/1/model.py': '' })
    const data = `--data-directory=${join(folder.path, 'data')}`
    const server = await RepositoryTrustFile.open(join(folder.path, 'data'), new LogHub().logger('trust'))
    const models = await realpath(join(folder.path, 'models'))
    await symlink(models, join(folder.path, 'link'))
    expect(await server.untrustedPath(models)).toBe(models)
    expect(await run(join(folder.path, 'link'), data)).toMatchObject({ code: 0, error: '', out: expect.stringContaining(`trusted: ${models}`) as string })
    expect(await server.untrustedPath(models)).toBeNull()
    expect(await run('--list', data)).toEqual({ code: 0, error: '', out: models })
    expect(await run('--revoke', join(folder.path, 'link'), data)).toMatchObject({ code: 0, error: '' })
    expect(await server.untrustedPath(models)).toBe(models)
    expect(await run('--list', data)).toEqual({ code: 0, error: '', out: '' })
  })

  it('means the desktop unless a data directory is named', async () => {
    await using folder = await TemporaryRepository.create({ 'models/a/1/model.py': '' })
    const models = await realpath(join(folder.path, 'models'))
    const output = { print: () => {}, printError: () => {} }
    expect(await trustCommand([models], { XDG_CONFIG_HOME: folder.path }, output)).toBe(0)
    const desktop = await RepositoryTrustFile.open(join(folder.path, 'npu-console'), new LogHub().logger('trust'))
    expect(await desktop.untrustedPath(models)).toBeNull()
  })

  it('revokes a repository whose folder is gone', async () => {
    await using folder = await TemporaryRepository.create({ 'models/a/1/model.py': '' })
    const data = `--data-directory=${join(folder.path, 'data')}`
    const models = await realpath(join(folder.path, 'models'))
    await run(models, data)
    await rm(models, { recursive: true })
    expect(await run('--revoke', models, data)).toMatchObject({ code: 0, error: '' })
    expect(await run('--list', data)).toEqual({ code: 0, error: '', out: '' })
  })

  it('says what cannot be done, what is wrong with the command line and that the list is damaged', async () => {
    await using folder = await TemporaryRepository.create({ 'file': '', 'data/trusted-repositories.json': '{' })
    const data = `--data-directory=${join(folder.path, 'data')}`
    expect(await run('--list', data)).toMatchObject({ code: 0, out: '', error: expect.stringContaining('cannot be read') as string })
    expect(await run(join(folder.path, 'nowhere'), data)).toMatchObject({ code: 1, error: expect.stringContaining('there is no') as string })
    expect(await run(join(folder.path, 'file'), data)).toMatchObject({ code: 1, error: expect.stringContaining('is a file') as string })
    expect(await run('--revoke', folder.path, data)).toMatchObject({ code: 1, error: expect.stringContaining('is not among the trusted') as string })
    for (const wrong of [[], ['--list', 'a'], ['--list', '--revoke'], ['a', 'b'], ['--revoke'], ['--what']]) expect((await run(...wrong, data)).code).toBe(2)
  })
})
