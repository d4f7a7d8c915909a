/**
 * Builds and runs all C++ tests under AddressSanitizer (with leaks and undefined behaviour) and under ThreadSanitizer. Without a sanitizer the public
 * workflow runs them, with each compiler: here that would only be a third of the same minutes.
 */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BUILD_MILLISECONDS, buildDirectory, buildPreset, runProgram } from './test-build.ts'

/** What each preset has to have run, by the beginning of its name: a group that silently vanished from the build fails. */
const GROUPS: readonly (readonly [prefix: string, atLeast: number])[] = [['triton_host.', 8], ['simulator.', 75], ['ascend_test.', 25], ['npu_ge.', 6], ['npu_om.', 4], ['cards.', 2]]

describe.each(['asan', 'tsan'])('C++ tests, preset %s', (preset) => {
  it('builds', { timeout: BUILD_MILLISECONDS }, () => buildPreset(preset))

  it('passes', { timeout: 15 * 60_000 }, async () => {
    const report = join(buildDirectory(preset), 'tests.xml')
    rmSync(report, { force: true })
    const { output, failure } = await runProgram('ctest', ['--test-dir', buildDirectory(preset), '--parallel', '2', '--output-on-failure', '--output-junit', report], preset === 'tsan' ? { TSAN_OPTIONS: `suppressions=${join(import.meta.dirname, 'test/tsan.supp')}` } : {})
    const cases = [...readFileSync(report, 'utf8').matchAll(/<testcase name="([^"]+)"[^>]* status="([^"]+)"/g)].map(([, name = '', status]) => ({ name, status }))
    expect(cases.filter(({ status }) => status !== 'run').map(({ name }) => name), output).toEqual([])
    expect(failure, output).toBeNull()
    for (const [prefix, atLeast] of GROUPS) expect(cases.filter(({ name }) => name.startsWith(prefix)).length, prefix).toBeGreaterThanOrEqual(atLeast)
  })
})
