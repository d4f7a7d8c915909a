/**
 * Builds and runs the C++ tests: all of them under AddressSanitizer (with leaks and undefined behaviour), those of the Triton host under ThreadSanitizer.
 * The public workflow runs all of them under ThreadSanitizer too, and plain with each compiler: here that would take the tests over their half hour.
 */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BUILD_MILLISECONDS, buildDirectory, buildPreset, runProgram } from './test-build.ts'

interface SanitizedTests {
  readonly preset: string
  /** Targets to build. */
  readonly targets: string
  /** Which tests, as `ctest -R` takes them. */
  readonly tests: string
  /** What has to have run, by the beginning of its name: a group that silently vanished from the build fails. */
  readonly groups: readonly (readonly [prefix: string, atLeast: number])[]
}

const SANITIZED: readonly SanitizedTests[] = [
  { preset: 'asan', targets: 'all', tests: '.', groups: [['triton_host.', 9], ['simulator.', 75], ['ascend_test.', 25], ['npu_ge.', 13], ['npu_om.', 4], ['cards.', 4]] },
  { preset: 'tsan', targets: 'triton_host_test fixture_backends', tests: '^triton_host\\.', groups: [['triton_host.', 9]] },
]

describe.each(SANITIZED)('C++ tests, preset $preset', ({ preset, targets, tests, groups }) => {
  it('builds', { timeout: BUILD_MILLISECONDS }, () => buildPreset(preset, targets))

  it('passes', { timeout: 15 * 60_000 }, async () => {
    const report = join(buildDirectory(preset), 'tests.xml')
    rmSync(report, { force: true })
    const { output, failure } = await runProgram('ctest', ['--test-dir', buildDirectory(preset), '-R', tests, '--parallel', '2', '--output-on-failure', '--output-junit', report], preset === 'tsan' ? { TSAN_OPTIONS: `suppressions=${join(import.meta.dirname, 'test/tsan.supp')}` } : {})
    const cases = [...readFileSync(report, 'utf8').matchAll(/<testcase name="([^"]+)"[^>]* status="([^"]+)"/g)].map(([, name = '', status]) => ({ name, status }))
    expect(cases.filter(({ status }) => status !== 'run').map(({ name }) => name), output).toEqual([])
    expect(failure, output).toBeNull()
    for (const [prefix, atLeast] of groups) expect(cases.filter(({ name }) => name.startsWith(prefix)).length, prefix).toBeGreaterThanOrEqual(atLeast)
  })
})
