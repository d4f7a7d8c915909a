/**
 * A stand-in for the driver's command npu-smi, for tests: a shell script of that name that prints what lies beside it. What it prints can be
 * changed while it is used. Its output is written by us after the layouts that the driver has.
 */
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface FakeNpuSmi {
  /** To be put on the PATH. */
  readonly directory: string
  /** What `npu-smi info [-t TYPE]` prints: `info`, `ids`, `usages`, `health`. Null: that call fails as an unsupported one does. */
  set(what: 'info' | 'ids' | 'usages' | 'health', text: string | null): void
  /** Every further call prints this and ends with the exit code 1; null: no more. */
  fail(text: string | null): void
  /** The arguments of each call so far. */
  calls(): readonly string[]
}

const SCRIPT = `#!/bin/sh
# A stand-in for tests, not the driver's npu-smi.
here=$(dirname "$0")
echo "$*" >> "$here/calls"
if [ -f "$here/failure" ]; then cat "$here/failure"; exit 1; fi
case "$*" in
  "info") file=info ;;
  "info -m") file=ids ;;
  "info -t usages"*) file=usages ;;
  "info -t health"*) file=health ;;
  *) file=unknown ;;
esac
if [ ! -f "$here/$file.txt" ]; then echo "This device does not support querying $2 $3"; exit 1; fi
cat "$here/$file.txt"
`

const FIXTURES = new URL('../telemetry/fixtures/', import.meta.url)

/** One of our own outputs: `info-910b`. */
export function npuSmiOutput(name: string): string {
  return readFileSync(new URL(`${name}.txt`, FIXTURES), 'utf8')
}

export function createFakeNpuSmi(directory: string): FakeNpuSmi {
  mkdirSync(directory, { recursive: true })
  const path = join(directory, 'npu-smi')
  writeFileSync(path, SCRIPT)
  chmodSync(path, 0o755)
  writeFileSync(join(directory, 'calls'), '')
  const put = (file: string, text: string | null) => {
    if (text === null) rmSync(join(directory, file), { force: true })
    else writeFileSync(join(directory, file), text)
  }
  return {
    directory,
    set: (what, text) => { put(`${what}.txt`, text) },
    fail: (text) => { put('failure', text) },
    calls: () => readFileSync(join(directory, 'calls'), 'utf8').split('\n').filter((line) => line !== ''),
  }
}
