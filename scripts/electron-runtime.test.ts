import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
// @ts-expect-error a plain script without types
import { fetchElectron } from './electron-runtime.mjs'

type Fetch = (options: { stallMilliseconds: number; installer: string }) => Promise<{ path: string } | { reason: string }>

let directory: string
beforeEach(() => { directory = mkdtempSync(join(tmpdir(), 'electron-runtime-')) })
afterEach(() => { rmSync(directory, { recursive: true, force: true }) })

/** Runs this code in place of Electron's own installer. */
function fetchWith(code: string, stallMilliseconds: number) {
  const installer = join(directory, 'install.cjs')
  writeFileSync(installer, code)
  return (fetchElectron as Fetch)({ stallMilliseconds, installer })
}

describe("fetching Electron's runtime", () => {
  it('gives up when the download makes no progress, and ends it', async () => {
    expect(await fetchWith('setInterval(() => {}, 1000)', 1000)).toEqual({ reason: 'its download made no progress for 1 s' })
  })

  it('says in one line why the download failed', async () => {
    const answer = await fetchWith("console.error('TypeError: fetch failed\\n    at somewhere'); process.exit(1)", 5000)
    expect(answer).toEqual({ reason: 'TypeError: fetch failed' })
  })

  it('says so when the package is not there', async () => {
    expect(await (fetchElectron as Fetch)({ stallMilliseconds: 1000, installer: join(directory, 'none') })).toEqual({ reason: 'the electron package is not installed' })
  })
})
