/** Holds libtritonserver.so and the fixture backends against the list of the functions of Triton's headers. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { BUILD_MILLISECONDS, buildDirectory, buildPreset, runProgram } from './test-build.ts'

const native = import.meta.dirname
/** Without OnnxLibrary, which wants a process where ONNX Runtime was not found yet. */
const GROUPS = ['Api', 'Batching', 'Bls', 'Containment', 'Kit', 'Lifecycle', 'Onnx', 'Request']
const FIXTURES = ['minimal', 'batching', 'decoupled', 'bls']

/** Every function of the headers with the tier of real backends that need it. */
const functions = readFileSync(join(native, 'test/server-functions.txt'), 'utf8').split('\n').filter((line) => /^\d /.test(line))
  .map((line) => ({ tier: Number(line.slice(0, 1)), name: line.slice(2) }))

describe('libtritonserver.so', () => {
  beforeAll(() => buildPreset('test', `fixture_backends triton_host_test${process.arch === 'x64' ? ' count_calls' : ''}`), BUILD_MILLISECONDS)

  it('exports the 283 functions of the headers under its plain name, beside them only those of host.h', () => {
    const library = join(buildDirectory('test'), 'triton/libtritonserver.so')
    expect(functions).toHaveLength(283)
    const exported = symbols(library, '--defined-only')
    expect(exported.filter((name) => !name.startsWith('tritonhost_'))).toEqual(functions.map(({ name }) => name).sort())
    const header = readFileSync(join(native, 'triton/host/host.h'), 'utf8')
    const declared = [...header.matchAll(/TRITONHOST_EXPORT [^;(]*?\b(tritonhost_\w+)\(/g)].map(([, name]) => name).sort()
    expect(exported.filter((name) => name.startsWith('tritonhost_'))).toEqual(declared)
    expect(execFileSync('readelf', ['-d', library], { encoding: 'utf8' })).toMatch(/SONAME\).*\[libtritonserver\.so\]/)
  })

  it('is what the fixture backends ask for, and each function of the first three tiers is asked for by one of them', () => {
    const imported = new Set(FIXTURES.flatMap((name) => symbols(join(buildDirectory('test'), `test/backends/${name}/libtriton_${name}.so`), '--undefined-only')))
    expect(functions.filter(({ tier, name }) => tier <= 3 && !imported.has(name)).map(({ name }) => name)).toEqual([])
    const needed = execFileSync('readelf', ['-d', join(buildDirectory('test'), 'test/backends/minimal/libtriton_minimal.so')], { encoding: 'utf8' })
    expect(needed).toMatch(/NEEDED.*\[libtritonserver\.so\]/)
  })

  // The jumps that count are written for x86-64; the test above holds the same list on any processor.
  it.runIf(process.arch === 'x64')('has each function of the first three tiers called while the tests of the fixtures run', { timeout: 300_000 }, async () => {
    const temporary = mkdtempSync(join(tmpdir(), 'count-calls-'))
    try {
      const file = join(temporary, 'counts')
      const { output, failure } = await runProgram(join(buildDirectory('test'), 'test/triton_host_test'), GROUPS.filter((group) => group !== 'Api'), {
        LD_PRELOAD: join(buildDirectory('test'), 'test/libcount_calls.so'), COUNT_CALLS_FILE: file,
      })
      expect({ output, failure }).toMatchObject({ failure: null })
      const calls = new Map(readFileSync(file, 'utf8').trim().split('\n').map((line) => line.split(' ') as [string, string]))
      expect(functions.filter(({ tier, name }) => tier <= 3 && !(Number(calls.get(name)) > 0)).map(({ name }) => name)).toEqual([])
    } finally {
      rmSync(temporary, { recursive: true, force: true })
    }
  })
})

/** Dynamic symbols of a library that are functions of Triton's or of the host's. */
function symbols(library: string, which: string): string[] {
  return execFileSync('nm', ['-D', which, library], { encoding: 'utf8' }).trim().split('\n')
    .map((line) => line.trim().split(/\s+/).at(-1) ?? '')
    .filter((name) => which === '--defined-only' || /^TRITON/.test(name)).sort()
}
