import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'

const directory = mkdtempSync(join(tmpdir(), 'npu-console-test-clients-'))
afterAll(() => { rmSync(directory, { recursive: true, force: true }) })

function run(python: string) {
  return spawnSync(process.execPath, [join(import.meta.dirname, 'test-clients.mjs')], { encoding: 'utf8', env: { ...process.env, PYTHON: python } })
}

it('says how to get the client where Python cannot import it', () => {
  const python = join(directory, 'python-without-client')
  writeFileSync(python, '#!/bin/sh\necho "ModuleNotFoundError: No module named \'tritonclient\'" >&2\nexit 1\n')
  chmodSync(python, 0o755)
  const { status, stderr } = run(python)
  expect(status).toBe(1)
  expect(stderr).toContain(`${python} cannot import Triton's client (ModuleNotFoundError: No module named 'tritonclient'). Install it with "pip install tritonclient[all]"`)
})

it('says so where there is no such Python', () => {
  const { status, stderr } = run(join(directory, 'nothing'))
  expect(status).toBe(1)
  expect(stderr).toContain('pip install tritonclient[all]')
})
