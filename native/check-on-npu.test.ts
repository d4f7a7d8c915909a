/** The check of a machine with a card, run on a simulated one, and what it says where it cannot run. Build first: node scripts/build.mjs --only native */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const SCRIPT = join(import.meta.dirname, 'tools/check-on-npu.sh')

let directory: string
beforeAll(() => { directory = mkdtempSync(join(tmpdir(), 'check-on-npu-')) })
afterAll(() => { rmSync(directory, { recursive: true, force: true }) })

function check(flags: readonly string[], more: NodeJS.ProcessEnv = {}) {
  const { ASCEND_HOME_PATH: _cann, ...environment } = process.env
  return spawnSync(SCRIPT, flags, { encoding: 'utf8', cwd: directory, timeout: 150_000, env: { ...environment, HOME: directory, ...more } })
}

describe('check-on-npu.sh', () => {
  it('runs a model in every way on a simulated card, and says in its report that it is simulated', { timeout: 160_000 }, () => {
    const report = join(directory, 'report.txt')
    const { status, stdout } = check(['--simulated', '--no-build', `--report=${report}`])
    const text = readFileSync(report, 'utf8')
    expect({ status, text: text.includes('FAIL') ? text : '' }).toEqual({ status: 0, text: '' })
    expect(text).toContain('SIMULATED cards: says nothing about a real one')
    for (const step of ['the chip, by AscendCL', 'atc compiles a model', 'om-passport describes it', 'npu_ge on card 0', 'npu_om on card 0', 'ais_bench on card 0', 'the server ends']) expect(text).toContain(`PASS ${step}`)
    expect(text).toMatch(/npu_om on card 0 \(.*\): differs from ONNX Runtime by 0\n/)
    expect(text).toMatch(/== Result\nall passed\n/)
    expect(stdout).toContain(`Report: ${report}`)
  })

  it('says what to do without CANN, and with a flag that it does not know', () => {
    const without = check(['--no-build', `--report=${join(directory, 'none.txt')}`])
    expect(without).toMatchObject({ status: 2, stderr: expect.stringContaining('no CANN was found. Name its set_env.sh') as string })
    expect(check(['--help'])).toMatchObject({ status: 2, stderr: expect.stringContaining('--cann-set-env=PATH') as string })
    expect(check(['--no-build', '--report=/no/such/folder/x']).status).toBe(2)
  })

  it('stops where set_env.sh fails, and its exit code is that of the self-test', { timeout: 160_000 }, () => {
    const broken = check(['--no-build', `--cann-set-env=${join(directory, 'not-there.sh')}`, `--report=${join(directory, 'broken.txt')}`])
    expect(broken).toMatchObject({ status: 2, stderr: expect.stringContaining('not-there.sh failed') as string })
    const failing = join(directory, 'failing.txt')
    expect(check(['--simulated', '--no-build', `--report=${failing}`], { ORT_DYLIB_PATH: '/no/such/library.so' }).status).toBe(1)
    expect(readFileSync(failing, 'utf8')).toMatch(/simulated cards compute through ONNX Runtime[^]*== Result\nfailed: self-test\n/)
  })
})
