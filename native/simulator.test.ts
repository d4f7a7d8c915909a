/** Builds the simulated CANN libraries (about a minute the first time) and runs their C++ tests; each is a process of its own. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'

const SIMULATOR = fileURLToPath(new URL('simulator', import.meta.url))
const BUILD = fileURLToPath(new URL('../build/native-simulator', import.meta.url))
const CANN = `${BUILD}/cann`
const MINUTES = 60_000

describe('simulated CANN', () => {
  beforeAll(() => {
    // The preset `default`, spelled out so that an older cmake says what it does not know.
    run('cmake', ['-S', SIMULATOR, '-B', BUILD, '-DCMAKE_BUILD_TYPE=Release', '-DCMAKE_CXX_FLAGS_RELEASE=-O1'])
    run('cmake', ['--build', BUILD, '--parallel', '2'])
  }, 15 * MINUTES)

  it('passes its C++ tests', () => {
    const report = `${BUILD}/junit.xml`
    rmSync(report, { force: true })
    const result = spawnSync('ctest', ['--test-dir', BUILD, '--parallel', '2', '--output-on-failure', '--output-junit', report], { encoding: 'utf8' })
    const cases = [...readFileSync(report, 'utf8').matchAll(/<testcase name="([^"]+)"[^>]* status="([^"]+)"/g)]
    const failed = cases.filter(([, , status]) => status !== 'run').map(([, name]) => name)
    expect(failed, result.stdout).toEqual([])
    expect(cases.length).toBeGreaterThan(70)
    expect(result.status).toBe(0)
  }, 10 * MINUTES)

  it('has the names of an installed CANN, in a folder that no loader looks into by itself', () => {
    for (const library of ['acl_rt', 'acl_mdl', 'ascendcl', 'ge_runner', 'ge_compiler', 'ge_common_base', 'graph', 'graph_base', 'fmk_onnx_parser',
      'fmk_parser', 'dcmi']) {
      expect(existsSync(`${CANN}/lib64/lib${library}.so`), library).toBe(true)
    }
    expect(CANN).toContain('/build/')
  })

  it('says what to do when it is started without settings', () => {
    const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== 'NPU_SIMULATOR_SETTINGS'))
    const result = spawnSync(`${CANN}/bin/npu-smi`, ['info'], { encoding: 'utf8', env: environment })
    expect(result.status).toBe(1)
    expect(result.stderr).toContain('[simulated] these are the simulated CANN libraries and NPU_SIMULATOR_SETTINGS does not name a settings file')
  })
})

function run(command: string, options: readonly string[]): void {
  const result = spawnSync(command, options, { encoding: 'utf8' })
  if (result.error !== undefined) throw new Error(`${command} cannot be started: install cmake and g++`, { cause: result.error })
  if (result.status !== 0) throw new Error(`${command} ${options.join(' ')} failed:\n${result.stdout}${result.stderr}`)
}
