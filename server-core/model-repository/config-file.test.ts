import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readConfigFile, writeConfigFile } from './config-file.ts'

let parent: string
let repositoryPath: string
let modelDirectory: string
let path: string

beforeEach(async () => {
  parent = await realpath(await mkdtemp(join(tmpdir(), 'config-file-')))
  repositoryPath = join(parent, 'models')
  modelDirectory = join(repositoryPath, 'm')
  path = join(modelDirectory, 'config.pbtxt')
  await mkdir(modelDirectory, { recursive: true })
})
afterEach(async () => { await rm(parent, { recursive: true, force: true }) })

const write = (text: string | null, baseHash: string | null) => writeConfigFile({ modelDirectory, repositoryPath, text, baseHash })
const hashNow = async () => (await readConfigFile(path)).hash
/** Everything below the parent, so that nothing left behind goes unseen. */
const everything = async () => (await readdir(parent, { recursive: true })).toSorted()

describe('config file', () => {
  it('is read and written byte for byte, byte order mark and mixed line ends included', async () => {
    const text = '\uFEFFname: "模型"\r\nmax_batch_size: 8\n# end\r'
    expect(await write(text, null)).toMatchObject({ kind: 'saved' })
    expect(await readFile(path)).toEqual(Buffer.from(text))
    expect((await readConfigFile(path)).text).toBe(text)
  })

  it('keeps its mode and leaves nothing else behind', async () => {
    await writeFile(path, 'a')
    await chmod(path, 0o640)
    await write('b', await hashNow())
    expect(await readFile(path, 'utf8')).toBe('b')
    expect((await stat(path)).mode & 0o7777).toBe(0o640)
    expect(await everything()).toEqual(['models', 'models/m', 'models/m/config.pbtxt'])
  })

  it.runIf(process.getuid?.() === 0)('keeps its owner', async () => {
    await writeFile(path, 'a')
    const { chown } = await import('node:fs/promises')
    await chown(path, 1234, 1235)
    await write('b', await hashNow())
    expect(await stat(path)).toMatchObject({ uid: 1234, gid: 1235 })
  })

  it('refuses to write over a file that changed, appeared or vanished, and says what is there', async () => {
    await writeFile(path, 'theirs')
    expect(await write('mine', null)).toMatchObject({ kind: 'conflict', current: { text: 'theirs' } })
    expect(await write('mine', 'the hash of another text')).toMatchObject({ kind: 'conflict', current: { text: 'theirs', hash: await hashNow() } })
    const hash = await hashNow()
    await rm(path)
    expect(await write('mine', hash)).toMatchObject({ kind: 'conflict', current: { text: null, hash: null } })
    expect(await everything()).toEqual(['models', 'models/m'])
  })

  it('lets one of two saves at the same moment through', async () => {
    await writeFile(path, 'base')
    const hash = await hashNow()
    const results = await Promise.all([write('one', hash), write('two', hash)])
    expect(results.map((result) => result.kind)).toEqual(['saved', 'conflict'])
    expect(await readFile(path, 'utf8')).toBe('one')
  })

  it('removes the file where the text is null', async () => {
    await writeFile(path, 'a')
    expect(await write(null, await hashNow())).toMatchObject({ kind: 'saved', hash: null, before: { text: 'a' } })
    expect(await everything()).toEqual(['models', 'models/m'])
  })

  it('writes through a link inside the model directory and refuses one that leads out', async () => {
    await mkdir(join(modelDirectory, 'configs'))
    await writeFile(join(modelDirectory, 'configs', 'real.pbtxt'), 'a')
    await symlink(join('configs', 'real.pbtxt'), path)
    await write('b', await hashNow())
    expect(await readFile(join(modelDirectory, 'configs', 'real.pbtxt'), 'utf8')).toBe('b')
    await rm(path)
    await writeFile(join(parent, 'elsewhere'), 'secret')
    await symlink(join(parent, 'elsewhere'), path)
    await expect(write('b', await hashNow())).rejects.toMatchObject({ kind: 'INVALID_ARG' })
    expect(await readFile(join(parent, 'elsewhere'), 'utf8')).toBe('secret')
  })

  it('refuses a file that is no UTF-8 text instead of damaging it', async () => {
    await writeFile(path, Buffer.from([0xc4, 0xa3, 0xd0, 0xcd]))
    await expect(readConfigFile(path)).rejects.toMatchObject({ kind: 'INVALID_ARG', message: `${path} is not UTF-8 text: convert it first (iconv -f GB18030 -t UTF-8), or it would be damaged by a save` })
  })

  it.each([['little', [0xFF, 0xFE, 0x23, 0x00]], ['big', [0xFE, 0xFF, 0x00, 0x23]]])('names UTF-16 as what to convert from where the file says so (%s endian)', async (_order, bytes) => {
    await writeFile(path, Buffer.from(bytes))
    await expect(readConfigFile(path)).rejects.toMatchObject({ kind: 'INVALID_ARG', message: `${path} is not UTF-8 text: convert it first (iconv -f UTF-16 -t UTF-8), or it would be damaged by a save` })
  })

  it('leaves nothing behind when the folder is gone', async () => {
    await rm(modelDirectory, { recursive: true })
    await expect(write('b', null)).rejects.toMatchObject({ kind: 'UNAVAILABLE' })
    expect(await everything()).toEqual(['models'])
  })
})
