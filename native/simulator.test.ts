/** What the simulated CANN of the built product looks like from outside; its C++ tests run with the others, from cpp.test.ts. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const CANN = join(import.meta.dirname, '../dist/native/simulated-cann')

describe('simulated CANN', () => {
  it('has the names of an installed CANN', () => {
    for (const library of ['acl_rt', 'acl_mdl', 'ascendcl', 'ge_runner', 'ge_compiler', 'ge_common_base', 'graph', 'graph_base', 'fmk_onnx_parser',
      'fmk_parser', 'dcmi']) {
      expect(existsSync(`${CANN}/lib64/lib${library}.so`), library).toBe(true)
    }
  })

  it('says what to do when it is started without settings', () => {
    const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== 'NPU_SIMULATOR_SETTINGS'))
    const result = spawnSync(`${CANN}/bin/npu-smi`, ['info'], { encoding: 'utf8', env: environment })
    expect(result.status).toBe(1)
    expect(result.stderr).toContain('[simulated] these are the simulated CANN libraries and NPU_SIMULATOR_SETTINGS does not name a settings file')
  })
})
