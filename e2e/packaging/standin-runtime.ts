/**
 * A folder that electron-builder takes for an unpacked Electron runtime, so that packaging is testable where the real one cannot be had.
 * The executable is a script that holds the fuse wire, which electron-builder flips as in a real binary.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Marks the fuse wire inside an Electron executable. */
const FUSE_SENTINEL = 'dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX'
const FUSE_COUNT = 9

const EMPTY_FILES = [
  'chrome-sandbox', 'chrome_crashpad_handler', 'LICENSE', 'LICENSES.chromium.html', 'resources.pak', 'icudtl.dat', 'locales/en-US.pak', 'libffmpeg.so',
]

export function writeStandinRuntime(directory: string, electronVersion: string): void {
  mkdirSync(join(directory, 'resources'), { recursive: true })
  mkdirSync(join(directory, 'locales'))
  for (const file of EMPTY_FILES) writeFileSync(join(directory, file), '')
  writeFileSync(join(directory, 'version'), `v${electronVersion}`)
  const wire = Buffer.concat([Buffer.from(FUSE_SENTINEL), Buffer.from([1, FUSE_COUNT]), Buffer.from('0'.repeat(FUSE_COUNT))])
  writeFileSync(join(directory, 'electron'), Buffer.concat([Buffer.from('#!/bin/sh\nexit 0\n'), wire]), { mode: 0o755 })
}

/** The fuses of an executable in their order: true where one is on. */
export function readFuses(executable: Buffer): boolean[] {
  const start = executable.indexOf(FUSE_SENTINEL)
  if (start === -1) throw new Error('The executable holds no fuse wire.')
  const wire = executable.subarray(start + FUSE_SENTINEL.length + 2, start + FUSE_SENTINEL.length + 2 + FUSE_COUNT)
  return [...wire.toString('latin1')].map((state) => state === '1')
}
