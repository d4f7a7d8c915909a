import { access, chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { testInterpreter } from '../../../testing/python-models.ts'
import { findPythonInterpreters, type InterpreterSearch } from './python-interpreters.ts'

let root: string
beforeEach(async () => { root = await mkdtemp(join(tmpdir(), 'interpreters-')) })
afterEach(() => rm(root, { recursive: true }))

/** A program that says what it is told, in the place of an interpreter. */
async function program(path: string, script: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), `#!/bin/sh\n${script}\n`)
  await chmod(join(root, path), 0o755)
}
const answering = (answer: Readonly<Record<string, unknown>>) =>
  `echo '${JSON.stringify({ version: '3.10.1', prefix: '/p', executable: '/p/bin/python', numpy: '1.26.0', numpy_error: null, torch: null, torch_npu: null, ...answer })}'`
async function file(path: string, text = ''): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), text)
}
const search = (more: Partial<InterpreterSearch> = {}) => findPythonInterpreters({
  defaultInterpreter: 'python3', directories: [join(root, 'repository/m'), join(root, 'repository')], environment: { PATH: `${root}/bin` }, homeDirectory: join(root, 'home'), ...more,
})
const own = <T extends { readonly path: string }>(found: readonly T[]) => found.filter(({ path }) => path.startsWith(root)).map((one) => ({ ...one, path: one.path.slice(root.length + 1) }))

describe('the interpreters of a machine', () => {
  it('are environments beside models, those of conda and pyenv, and names of the path, usable and new ones first', async () => {
    await file('repository/m/env/pyvenv.cfg')
    await program('repository/m/env/bin/python3', answering({ version: '3.12.0', prefix: '/venv' }))
    await file('repository/.conda-env/conda-meta/history')
    await program('repository/.conda-env/bin/python', answering({ version: '3.9.1', prefix: '/conda', torch: '2.1.0', torch_npu: '2.1.0.post3' }))
    await file('repository/m/1/model.py')
    await file('home/.conda/environments.txt', `${root}/far\n/nowhere\n`)
    await file('far/conda-meta/history')
    await program('home/.pyenv/versions/3.8.18/bin/python3', answering({ version: '3.8.18', prefix: '/pyenv' }))
    await program('bin/python3', answering({ version: '3.10.1' }))
    await program('bin/python3.10', answering({ version: '3.10.1' }))
    await program('bin/python3.9', 'echo "no such version" >&2; exit 127')
    expect(own(await search())).toEqual([
      { path: 'bin/python3', kind: 'system', version: '3.10.1', numpyVersion: '1.26.0', torchVersion: null, torchNpuVersion: null, isDefault: true, problem: null },
      { path: 'repository/m/env', kind: 'venv', version: '3.12.0', numpyVersion: '1.26.0', torchVersion: null, torchNpuVersion: null, isDefault: false, problem: null },
      { path: 'repository/.conda-env', kind: 'conda', version: '3.9.1', numpyVersion: '1.26.0', torchVersion: '2.1.0', torchNpuVersion: '2.1.0.post3', isDefault: false, problem: null },
      { path: 'home/.pyenv/versions/3.8.18/bin/python3', kind: 'system', version: '3.8.18', numpyVersion: '1.26.0', torchVersion: null, torchNpuVersion: null, isDefault: false, problem: null },
      expect.objectContaining({ path: 'far', kind: 'conda', version: null, problem: { en: `${root}/far has no bin/python3`, 'zh-CN': `${root}/far 中没有 bin/python3` } }),
      expect.objectContaining({ path: 'bin/python3.9', problem: expect.objectContaining({ en: `${root}/bin/python3.9 does not run (exit code 127): no such version` }) as unknown }),
    ])
  })

  it('say why models cannot run with them', async () => {
    await program('bin/python3', answering({ version: '3.6.15', prefix: '/old' }))
    await program('bin/python3.8', answering({ version: '3.8.18', prefix: '/bare', numpy: null, numpy_error: 'No module named numpy' }))
    const found = own(await search())
    expect(found.map(({ path, problem }) => [path, problem?.en])).toEqual([
      ['bin/python3', 'Models need Python 3.8 or newer, and this is 3.6.15'],
      ['bin/python3.8', `It cannot import numpy (No module named numpy). Install it: ${root}/bin/python3.8 -m pip install numpy`],
    ])
  })

  it('are not started where they are not trusted', async () => {
    await file('repository/m/env/pyvenv.cfg')
    await program('repository/m/env/bin/python3', `: > ${root}/started`)
    const found = own(await search({ mayStart: (path) => !path.startsWith(`${root}/repository/`) }))
    expect(found).toMatchObject([{ path: 'repository/m/env', version: null, problem: { en: 'It lies in a folder that is not trusted yet, so it was not started' } }])
    await expect(access(join(root, 'started'))).rejects.toThrow('ENOENT')
  })

  it('are asked for real: version and packages, and an environment is told from the interpreter that it links to', async () => {
    const real = testInterpreter()
    const executable = real.includes('/') ? real : '/usr/bin/python3'
    await file('repository/env/pyvenv.cfg', `home = ${dirname(executable)}\ninclude-system-site-packages = false\nversion = 3.11.2\n`)
    await mkdir(join(root, 'repository/env/bin'))
    await symlink(executable, join(root, 'repository/env/bin/python3'))
    const found = await search({ defaultInterpreter: executable })
    expect(found[0]).toMatchObject({ isDefault: true, version: expect.stringMatching(/^3\.\d+\.\d+/) as string, numpyVersion: expect.stringMatching(/^\d+\.\d+/) as string, problem: null })
    const inside = found.find(({ path }) => path === join(root, 'repository/env'))
    expect(inside).toMatchObject({ kind: 'venv', version: found[0]?.version, numpyVersion: null, problem: { en: expect.stringContaining('It cannot import numpy') as string } })
  })
})
