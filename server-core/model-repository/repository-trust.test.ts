import { mkdir, mkdtemp, readFile, realpath, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LogHub } from '../logger.ts'
import { RepositoryTrustFile, TRUST_FILE_NAME, TRUSTS_ALL } from './repository-trust.ts'

describe('RepositoryTrustFile', () => {
  let work: string
  let logs: LogHub
  const data = () => join(work, 'data', 'npu-console')
  const open = () => RepositoryTrustFile.open(data(), logs.logger('trust'), () => 1000)
  const folder = async (name: string) => {
    await mkdir(join(work, name))
    return join(work, name)
  }

  beforeEach(async () => {
    work = await realpath(await mkdtemp(join(tmpdir(), 'npu-console-trust-')))
    logs = new LogHub()
  })
  afterEach(async () => { await rm(work, { recursive: true, force: true }) })

  it('trusts what was trusted, in other processes and later ones too, until that is taken back', async () => {
    const repository = await folder('repository')
    const trust = await open()
    expect(await trust.untrustedPath(repository)).toBe(repository)
    const other = await open()
    await trust.trust(repository)
    expect(trust.report).toEqual({ mode: 'ask', trusted: [{ path: repository, trustedAt: 1000 }] })
    for (const each of [trust, other, await open()]) expect(await each.untrustedPath(repository)).toBeNull()
    expect((await stat(join(data(), TRUST_FILE_NAME))).mode & 0o777).toBe(0o600)
    await other.revoke(repository)
    expect(await trust.untrustedPath(repository)).toBe(repository)
    expect(trust.report.trusted).toEqual([])
    await expect(trust.revoke(repository)).rejects.toMatchObject({ kind: 'NOT_FOUND' })
  })

  it('asks again about a link that leads elsewhere, and about a folder that was moved', async () => {
    const [first, second] = [await folder('first'), await folder('second')]
    const link = join(work, 'link')
    await symlink(first, link)
    const trust = await open()
    expect(await trust.untrustedPath(link)).toBe(first)
    await trust.trust(first)
    expect(await trust.untrustedPath(link)).toBeNull()
    await rm(link)
    await symlink(second, link)
    expect(await trust.untrustedPath(link)).toBe(second)
    await rename(first, join(work, 'moved'))
    expect(await trust.untrustedPath(join(work, 'moved'))).toBe(join(work, 'moved'))
    expect(await trust.untrustedPath(first)).toBe(first)
  })

  it('refuses what is not the folder that was looked at', async () => {
    const repository = await folder('repository')
    await symlink(repository, join(work, 'link'))
    await writeFile(join(work, 'file'), '')
    const trust = await open()
    await expect(trust.trust(join(work, 'link'))).rejects.toThrow(`leads to '${repository}' now`)
    await expect(trust.trust(join(work, 'file'))).rejects.toThrow('is a file')
    await expect(trust.trust(join(work, 'nothing'))).rejects.toThrow('is not there any more')
    await expect(trust.trust('repository')).rejects.toThrow('is not an absolute path')
    expect(trust.report.trusted).toEqual([])
  })

  it('keeps every change of those that come at the same time', async () => {
    const folders = await Promise.all(['a', 'b', 'c', 'd'].map(folder))
    const trust = await open()
    await Promise.all(folders.map((path) => trust.trust(path)))
    expect((await open()).report.trusted.map(({ path }) => path).sort()).toEqual(folders)
  })

  it('trusts nobody where the list is damaged, says so once, and keeps what was there beside the next one', async () => {
    const repository = await folder('repository')
    await mkdir(data(), { recursive: true })
    for (const text of ['[{"path": "', '{}', `[{"path": "relative", "trustedAt": 1}]`, `["${repository}"]`]) {
      await writeFile(join(data(), TRUST_FILE_NAME), text)
      const trust = await open()
      expect(await trust.untrustedPath(repository)).toBe(repository)
      expect(logs.recent(10).filter(({ level }) => level === 'error')).toHaveLength(1)
      await trust.trust(repository)
      expect(await trust.untrustedPath(repository)).toBeNull()
      expect(await readFile(join(data(), `${TRUST_FILE_NAME}.unreadable`), 'utf8')).toBe(text)
      logs = new LogHub()
    }
  })

  it('says why a trust cannot be kept', async () => {
    const repository = await folder('repository')
    await writeFile(join(work, 'data'), 'a file where the folder should be')
    const trust = await open()
    await expect(trust.trust(repository)).rejects.toMatchObject({ kind: 'UNAVAILABLE' })
    expect(await trust.untrustedPath(repository)).toBe(repository)
  })
})

describe('TRUSTS_ALL', () => {
  it('has nothing to trust', async () => {
    expect(await TRUSTS_ALL.untrustedPath('/anything')).toBeNull()
    expect(() => TRUSTS_ALL.trust('/anything')).toThrow('--repository-trust=ask')
  })
})
