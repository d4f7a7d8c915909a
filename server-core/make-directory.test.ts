import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeDirectory } from './make-directory.ts'

let directory: string
beforeEach(() => { directory = mkdtempSync(join(tmpdir(), 'make-directory-')) })
afterEach(() => { rmSync(directory, { recursive: true, force: true }) })

describe('makeDirectory', () => {
  it('makes what is missing, at once or from many sides', async () => {
    const path = join(directory, 'a', 'b', 'c')
    await Promise.all([1, 2, 3, 4].map(() => makeDirectory(path, 'data directory', 0o700)))
    await makeDirectory(path, 'data directory')
    expect(statSync(path).mode & 0o777).toBe(0o700)
  })

  it('says what stands in the way', async () => {
    const file = join(directory, 'file')
    writeFileSync(file, '')
    for (const path of [file, join(file, 'below')]) {
      await expect(makeDirectory(path, 'data directory')).rejects.toMatchObject({ kind: 'UNAVAILABLE', message: `the data directory '${path}' cannot be made: '${file}' is a file or lies below one` })
    }
  })

  it.runIf(process.platform === 'linux')('ends where the file system takes no directories', async () => {
    await expect(makeDirectory('/proc/npu-console/data', 'data directory')).rejects.toMatchObject({ kind: 'UNAVAILABLE', message: expect.stringContaining("'/proc/npu-console/data' cannot be made") as string })
  })
})
