import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readOrCreateSecret } from './console-secret.ts'
import { browseDirectory } from './directory-browser.ts'
import { listSamples, readModelDirectoryFile } from './model-directory-files.ts'
import { recentRepositories, rememberRepository } from './recent-repositories.ts'

let directory: string
beforeEach(() => { directory = mkdtempSync(join(tmpdir(), 'console-files-')) })
afterEach(() => { rmSync(directory, { recursive: true, force: true }) })

describe('console secret', () => {
  it('is written once, readable by the user only, and read again', async () => {
    const secret = await readOrCreateSecret(join(directory, 'data'))
    expect(secret.length).toBeGreaterThanOrEqual(32)
    expect(await readOrCreateSecret(join(directory, 'data'))).toBe(secret)
    expect(statSync(join(directory, 'data', 'console-secret')).mode & 0o777).toBe(0o600)
  })

  it('says so when the file is damaged', async () => {
    writeFileSync(join(directory, 'console-secret'), 'x')
    await expect(readOrCreateSecret(directory)).rejects.toThrow('is damaged: delete the file')
  })
})

describe('files of a model directory', () => {
  it('reads a file and refuses what lies outside, is too large, or is missing', async () => {
    const model = join(directory, 'model')
    mkdirSync(join(model, 'samples'), { recursive: true })
    writeFileSync(join(model, 'keys.txt'), 'abc')
    writeFileSync(join(directory, 'outside.txt'), 'secret')
    symlinkSync(join(directory, 'outside.txt'), join(model, 'link.txt'))
    expect(Buffer.from(await readModelDirectoryFile(model, 'keys.txt', 10)).toString()).toBe('abc')
    await expect(readModelDirectoryFile(model, '../outside.txt', 10)).rejects.toMatchObject({ kind: 'INVALID_ARG', message: "'../outside.txt' is outside the model directory" })
    await expect(readModelDirectoryFile(model, 'link.txt', 10)).rejects.toMatchObject({ kind: 'INVALID_ARG' })
    await expect(readModelDirectoryFile(model, 'keys.txt', 2)).rejects.toMatchObject({ kind: 'INVALID_ARG' })
    await expect(readModelDirectoryFile(model, 'samples', 10)).rejects.toMatchObject({ kind: 'INVALID_ARG', message: "'samples' is not a file" })
    await expect(readModelDirectoryFile(model, 'none', 10)).rejects.toMatchObject({ kind: 'NOT_FOUND' })
  })

  it('lists samples with their kind, by name; none without the folder', async () => {
    mkdirSync(join(directory, 'samples'))
    writeFileSync(join(directory, 'samples', 'b.wav'), '12')
    writeFileSync(join(directory, 'samples', 'a.PNG'), '1')
    expect(await listSamples(directory)).toEqual([
      { path: 'samples/a.PNG', byteSize: 1, mediaType: 'image/png' }, { path: 'samples/b.wav', byteSize: 2, mediaType: 'audio/wav' }])
    expect(await listSamples(join(directory, 'none'))).toEqual([])
  })
})

describe('folder browser', () => {
  it('lists folders by name, leaves hidden ones out, and marks model repositories', async () => {
    for (const path of ['b/m/1', 'a/plain', '.hidden']) mkdirSync(join(directory, path), { recursive: true })
    writeFileSync(join(directory, 'file'), '')
    const listing = await browseDirectory(directory)
    expect(listing.directories.map(({ name, looksLikeRepository }) => ({ name, looksLikeRepository }))).toEqual([
      { name: 'a', looksLikeRepository: false }, { name: 'b', looksLikeRepository: true }])
    expect(listing.parent).not.toBeNull()
    expect((await browseDirectory('/')).parent).toBeNull()
  })

  it('says what is wrong with a path', async () => {
    writeFileSync(join(directory, 'file'), '')
    await expect(browseDirectory(join(directory, 'none'))).rejects.toMatchObject({ kind: 'NOT_FOUND' })
    await expect(browseDirectory(join(directory, 'file'))).rejects.toMatchObject({ kind: 'INVALID_ARG' })
    await expect(browseDirectory('relative')).rejects.toMatchObject({ kind: 'INVALID_ARG' })
  })
})

describe('recent repositories', () => {
  it('keeps the last ten, last first, once each, and leaves out what is gone', async () => {
    const paths = Array.from({ length: 12 }, (_, i) => join(directory, `r${i}`))
    for (const path of paths) {
      mkdirSync(path)
      await rememberRepository(directory, path)
    }
    await rememberRepository(directory, paths[5] ?? '')
    rmSync(paths[11] ?? '', { recursive: true })
    expect(await recentRepositories(directory)).toEqual([5, 10, 9, 8, 7, 6, 4, 3, 2].map((i) => paths[i]))
  })

  it('treats a damaged list as empty', async () => {
    writeFileSync(join(directory, 'recent-repositories.json'), '{')
    chmodSync(join(directory, 'recent-repositories.json'), 0o600)
    expect(await recentRepositories(directory)).toEqual([])
    await rememberRepository(directory, directory)
    expect(JSON.parse(readFileSync(join(directory, 'recent-repositories.json'), 'utf8'))).toEqual([directory])
  })
})
