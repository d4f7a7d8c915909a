import { spawnSync } from 'node:child_process'
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type ArchiveEntry, environmentEntries, testInterpreterFile, writeArchive } from '../../../testing/python-environments.ts'
import { unpackEnvironment } from './environment-archive.ts'

let root: string
let target: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'archive-'))
  target = join(root, 'cache/env')
  mkdirSync(target, { recursive: true })
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(root, { recursive: true })
})
const unpack = (archive: string, byteSizeLimit = 1e9) => unpackEnvironment({ archive: join(root, archive), directory: target, byteSizeLimit, limitSetting: '--limit' })
const written = (entries: Readonly<Record<string, ArchiveEntry>>) => {
  rmSync(target, { recursive: true })
  mkdirSync(target)
  writeArchive(join(root, 'a.tar.gz'), { 'bin/activate': { text: '' }, ...entries })
  return unpack('a.tar.gz')
}

describe('an archive of an environment', { timeout: 60_000 }, () => {
  it('is unpacked whatever packs it, and whatever its name says', async () => {
    const entries = environmentEntries({ 'bin/tool': { text: '#!/bin/sh\n', mode: 0o4755 } })
    for (const compression of ['', 'gz', 'xz', 'bz2'] as const) writeArchive(join(root, `${compression}.archive`), entries, compression)
    expect(spawnSync('zstd', ['-q', join(root, '.archive'), '-o', join(root, 'zst.archive')]).error?.message ?? '').toMatch(/^$|ENOENT/)
    const isZstdHere = spawnSync('zstd', ['--version']).status === 0
    for (const name of ['', 'gz', 'xz', 'bz2', ...(isZstdHere ? ['zst'] : [])]) {
      rmSync(target, { recursive: true })
      mkdirSync(target)
      await unpack(`${name}.archive`)
      expect(readFileSync(join(target, 'lib64/a'), 'utf8')).toBe('a')
      expect(readlinkSync(join(target, 'bin/python3'))).toBe(testInterpreterFile())
      const { mode, uid } = statSync(join(target, 'bin/tool'))
      expect([mode & 0o7000, mode & 0o100, uid]).toEqual([0, 0o100, process.getuid?.()])
    }
  })

  it('leaves nothing outside its folder', async () => {
    await expect(written({ '../outside': { text: 'x' } })).rejects.toThrow(/cannot be unpacked: .*'\.\.'/)
    await expect(written({ 'lib/link': { link: '../..' }, 'lib/link/outside': { text: 'x' } })).rejects.toThrow('cannot be unpacked: tar: lib/link/outside: Cannot open')
    await written({ [join(root, 'outside')]: { text: 'x' } })
    expect(() => lstatSync(join(root, 'outside'))).toThrow('ENOENT')
    expect(() => lstatSync(join(root, 'cache/outside'))).toThrow('ENOENT')
  })

  it('has no links that lead out, also not through one another, and nothing that is no file', async () => {
    await expect(written({ 'etc/passwd': { link: '/etc/passwd' } })).rejects.toThrow("holds the link 'etc/passwd', which leads out of the environment to '/etc/passwd'")
    await expect(written({ 'p/q/root': { link: '../..' }, far: { link: 'p/q/root/..' } })).rejects.toThrow("holds the link 'far', which leads out")
    await expect(written({ secret: { hardLink: '/etc/hostname' } })).rejects.toThrow('cannot be unpacked')
    await expect(written({ pipe: { kind: 'pipe' } })).rejects.toThrow("holds 'pipe', which is a device, pipe or socket")
    await expect(written({ 'dev/null': { kind: 'device' } })).rejects.toThrow(/dev\/null/)
    await expect(written({ 'bin/python3': { link: '/opt/nowhere/python3' } })).rejects.toThrow('wants the interpreter /opt/nowhere/python3, which is not on this machine')
  })

  it('is refused when it is damaged, of another kind, or too large', async () => {
    writeArchive(join(root, 'a.tar.gz'), { 'bin/activate': { text: 'x'.repeat(100_000) } })
    const bytes = readFileSync(join(root, 'a.tar.gz'))
    writeFileSync(join(root, 'cut.tar.gz'), bytes.subarray(0, bytes.length - 20))
    await expect(unpack('cut.tar.gz')).rejects.toMatchObject({ kind: 'INVALID_ARG', message: expect.stringContaining(`the archive '${root}/cut.tar.gz' cannot be unpacked: unexpected end of file. Was it copied whole?`) as string })
    writeArchive(join(root, 'a.tar.xz'), { 'bin/activate': { text: 'x'.repeat(100_000) } }, 'xz')
    writeFileSync(join(root, 'cut.tar.xz'), readFileSync(join(root, 'a.tar.xz')).subarray(0, 100))
    await expect(unpack('cut.tar.xz')).rejects.toThrow('cannot be unpacked: xz: (stdin): Unexpected end of input')
    writeFileSync(join(root, 'env.tar.gz'), 'PK')
    await expect(unpack('env.tar.gz')).rejects.toThrow(`'${root}/env.tar.gz' is no archive of a Python environment: it is neither a .tar file nor one packed with`)
    await expect(unpack('a.tar.gz', 50_000)).rejects.toThrow(`the archive '${root}/a.tar.gz' holds more than 50000 bytes. Where that is right, raise --limit`)
  })

  it('says that the disk is full, before and while it unpacks', async () => {
    writeArchive(join(root, 'a.tar.gz'), { 'bin/activate': { text: '' } })
    writeFileSync(join(root, 'large.tar.gz'), readFileSync(join(root, 'a.tar.gz')))
    truncateSync(join(root, 'large.tar.gz'), 8 * 1024 ** 4)
    await expect(unpack('large.tar.gz')).rejects.toMatchObject({ kind: 'UNAVAILABLE', message: expect.stringMatching(/^the disk of '.*\/cache' is too full for .*: it has 8796093022208 bytes packed, and \d+ are free\. Make room, or name a folder .*environment-cache-directory$/) as string })
    // tar's own words, from a program in its place.
    mkdirSync(join(root, 'bin'))
    for (const words of ['Cannot write: No space left on device', 'Wrote only 1024 of 10240 bytes']) {
      writeFileSync(join(root, 'bin/tar'), `#!/bin/sh\necho "tar: lib/a: ${words}" >&2\necho "tar: Exiting with failure status due to previous errors" >&2\nexit 2\n`, { mode: 0o755 })
      vi.stubEnv('PATH', join(root, 'bin'))
      await expect(unpack('a.tar.gz')).rejects.toMatchObject({ kind: 'UNAVAILABLE', message: expect.stringMatching(/is too full for the Python environment .*: \d+ bytes were unpacked\. Make room/) as string })
    }
  })

  it('says which program is missing', async () => {
    writeArchive(join(root, 'a.tar.xz'), { 'bin/activate': { text: '' } }, 'xz')
    vi.stubEnv('PATH', '/nowhere')
    await expect(unpack('a.tar.xz')).rejects.toMatchObject({ kind: 'UNAVAILABLE', message: `the program xz is needed to unpack '${root}/a.tar.xz' and is not there. Install it, or pack the environment as .tar.gz` })
  })
})
