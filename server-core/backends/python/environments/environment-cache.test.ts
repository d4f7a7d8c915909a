import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LogHub } from '../../../logger.ts'
import { environmentEntries, writeArchive } from '../../../testing/python-environments.ts'
import { EnvironmentCache, UNUSED_DAYS } from './environment-cache.ts'

const DAY = 24 * 3600 * 1000
let root: string
let logs: LogHub
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'environments-'))
  logs = new LogHub()
  writeArchive(join(root, 'a.tar.gz'), environmentEntries())
})
afterEach(() => { rmSync(root, { recursive: true }) })
const cache = (now?: () => number) => new EnvironmentCache({ directory: join(root, 'cache'), byteSizeLimit: 1e9, log: logs.logger('python'), ...(now === undefined ? {} : { now }) })
const unpackCount = () => logs.recent(1000).filter(({ message }) => message.startsWith('unpacking ')).length
/** Folders of archives. */
const folders = () => readdirSync(join(root, 'cache')).filter((name) => name !== 'lock').sort()

describe('environments from archives', { timeout: 60_000 }, () => {
  it('are unpacked once, fixed where they stay, and used again', async () => {
    const held = await Promise.all([cache(), cache(), cache()].map((one) => one.acquire(join(root, 'a.tar.gz'))))
    const [{ directory } = { directory: '' }] = held
    expect(new Set(held.map((one) => one.directory))).toEqual(new Set([directory]))
    expect(readFileSync(join(directory, 'unpacked-at'), 'utf8')).toBe(`${directory}\n`)
    for (const one of held) await one.release()
    await (await cache().acquire(join(root, 'a.tar.gz'))).release()
    expect(unpackCount()).toBe(1)
  })

  it('are unpacked once by processes that start at the same time', async () => {
    const code = `
      import { EnvironmentCache } from ${JSON.stringify(join(import.meta.dirname, 'environment-cache.ts'))}
      const said = (message) => { if (message.startsWith('unpacking ')) process.stdout.write('unpacking ') }
      const log = { error: said, warning: said, info: said, verbose: said }
      const held = await new EnvironmentCache({ directory: process.argv[1] + '/cache', byteSizeLimit: 1e9, log }).acquire(process.argv[1] + '/a.tar.gz')
      process.stdout.write(held.directory)
      await held.release()`
    const outputs = await Promise.all([1, 2].map(async () => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', code, root], { stdio: ['ignore', 'pipe', 'inherit'] })
      const [output, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')])
      expect(status).toBe(0)
      return output
    }))
    expect(outputs.map((output) => output.startsWith('unpacking ')).sort()).toEqual([false, true])
    expect(new Set(outputs.map((output) => output.replace('unpacking ', ''))).size).toBe(1)
  })

  it('are unpacked again after a process ended in the middle, and after somebody deleted half', async () => {
    const first = await cache().acquire(join(root, 'a.tar.gz'))
    await first.release()
    const folder = dirname(first.directory)
    rmSync(join(folder, 'current'))
    writeFileSync(join(folder, 'lock'), JSON.stringify({ host: 'x', processId: 1 }))
    utimesSync(join(folder, 'lock'), 0, 0)
    const second = await cache().acquire(join(root, 'a.tar.gz'))
    expect([existsSync(first.directory), existsSync(join(second.directory, 'bin/activate')), existsSync(join(folder, 'lock'))]).toEqual([false, true, false])
    await second.release()
    rmSync(join(second.directory, 'bin/activate'))
    const third = await cache().acquire(join(root, 'a.tar.gz'))
    expect(existsSync(join(third.directory, 'bin/activate'))).toBe(true)
    await third.release()
    expect(unpackCount()).toBe(3)
  })

  it('leave nothing when they cannot be made, and say why', async () => {
    writeArchive(join(root, 'bare.tar.gz'), { 'bin/python3': { text: '' } })
    await expect(cache().acquire(join(root, 'bare.tar.gz'))).rejects.toThrow(/^Path .*\/bin\/activate does not exist\. The Python environment should contain an 'activate' script\.$/)
    writeArchive(join(root, 'failing.tar.gz'), environmentEntries({ 'bin/conda-unpack': { text: 'raise ValueError("no prefix")' } }))
    await expect(cache().acquire(join(root, 'failing.tar.gz'))).rejects.toThrow(`conda-unpack of the Python environment in '${root}/failing.tar.gz' failed (exit code 1): ValueError: no prefix`)
    expect(folders()).toEqual([])
  })

  it('go when their archive has changed and no process uses them, and when nobody asked for them for long', async () => {
    let now = Date.now()
    const used = cache(() => now)
    const old = await used.acquire(join(root, 'a.tar.gz'))
    writeArchive(join(root, 'a.tar.gz'), environmentEntries({ more: { text: 'more' } }))
    writeArchive(join(root, 'b.tar.gz'), environmentEntries())
    const next = await used.acquire(join(root, 'a.tar.gz'))
    expect([existsSync(old.directory), existsSync(join(next.directory, 'more'))]).toEqual([true, true])
    await old.release()
    expect(existsSync(old.directory)).toBe(false)
    await (await used.acquire(join(root, 'b.tar.gz'))).release()
    expect(folders()).toHaveLength(2)
    now += (UNUSED_DAYS - 1) * DAY
    await used.sweep()
    expect(folders()).toHaveLength(2)
    // b: unused for long; a: used, however long that lasts.
    now += 2 * DAY
    await used.sweep()
    expect(folders()).toEqual([dirname(next.directory).slice(join(root, 'cache').length + 1)])
    rmSync(join(root, 'a.tar.gz'))
    await next.release()
    expect(folders()).toEqual([])
    expect(logs.recent(1000).filter(({ level }) => level === 'warning' || level === 'error')).toEqual([])
  })

  it('are not put where others can write', async () => {
    mkdirSync(join(root, 'cache'))
    chmodSync(join(root, 'cache'), 0o777)
    await expect(cache().acquire(join(root, 'a.tar.gz'))).rejects.toThrow(/cannot hold Python environments, since others than this user can write to it \(owner \d+, mode 777\): chmod 700 it, or name another folder/)
  })
})
