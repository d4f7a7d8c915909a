import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { addModel } from '../../testing/onnx-fixture.ts'
import { environmentEntries, testInterpreterFile, writeArchive } from '../../testing/python-environments.ts'
import { PYTHON_CONFIG, pythonModel, pythonServer, testInterpreter } from '../../testing/python-models.ts'
import { serveRepository } from '../../testing/served-repository.ts'
import { SimulatedOm } from '../../testing/simulated-om.ts'
import { TemporaryRepository } from '../../testing/temporary-repository.ts'
import { floatsOf, fp32, requestOf, type TestServer } from '../../testing/test-server.ts'

const environment = (path: string) => `${PYTHON_CONFIG} parameters { key: "EXECUTION_ENV_PATH" value { string_value: "${path}" } }`
const textOf = (promise: Promise<unknown>) => promise.then(() => 'no error', (error: unknown) => (error as Error).message)
/** Does the process run in the environment of that folder, and with its variables? */
const TELLING = pythonModel(`
def execute(self, requests):
    folder = os.environ.get("CONDA_PREFIX") or os.environ.get("VIRTUAL_ENV", "")
    told = [sys.prefix == folder, os.environ["PATH"].startswith(folder + "/bin:"), os.environ.get("FROM_ACTIVATE") == 'with "quotes" and\\nlines', "TO_BE_UNSET" in os.environ,
            os.environ.get("LD_LIBRARY_PATH", "").startswith(folder + "/lib"), "PYTHONHOME" in os.environ]
    print("prefix", sys.prefix)
    return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([told], np.float32))]) for _ in requests]`)
const told = async (test: TestServer, name: string) => floatsOf((await test.server.infer(requestOf(name, [fp32('IN', [1, 1], [1])]))).response.outputs[0])
const chosen = (path: string) => `${PYTHON_CONFIG} parameters { key: "PYTHON_INTERPRETER" value { string_value: "${path}" } }`
/** A virtual environment with the packages of the interpreter that it was made with. */
const makeVenv = (folder: string) => {
  mkdirSync(join(folder, 'bin'), { recursive: true })
  writeFileSync(join(folder, 'pyvenv.cfg'), `home = ${dirname(testInterpreterFile())}\ninclude-system-site-packages = true\n`)
  symlinkSync(testInterpreterFile(), join(folder, 'bin/python3'))
}

describe('the environment of a Python model', { timeout: 60_000 }, () => {
  it('is the folder or the archive that EXECUTION_ENV_PATH names, activated', async () => {
    vi.stubEnv('TO_BE_UNSET', 'yes')
    onTestFinished(() => { vi.unstubAllEnvs() })
    await using cache = await TemporaryRepository.create()
    await using test = await pythonServer({
      folder: { code: TELLING, config: environment('$$TRITON_MODEL_DIRECTORY/env') },
      a: { code: TELLING, config: `${environment('$$TRITON_MODEL_DIRECTORY/../env.tar.gz')} instance_group [ { count: 2 } ]` },
      b: { code: TELLING, config: environment('$$TRITON_MODEL_DIRECTORY/../env.tar.gz') },
      bare: { code: TELLING, config: environment('$$TRITON_MODEL_DIRECTORY/1') },
      none: { code: TELLING, config: environment('/nowhere/env.tar.gz') },
      failing: { code: TELLING, config: environment('$$TRITON_MODEL_DIRECTORY/env'), files: { 'env/bin/activate': 'echo "no such compiler" >&2; return 3' } },
      both: { code: TELLING, config: `${environment('/x')} parameters { key: "PYTHON_INTERPRETER" value { string_value: "python3" } }` },
    }, { load: [], backendConfig: { 'environment-cache-directory': join(cache.path, 'environments') } })
    const archive = join(test.repository.path, 'env.tar.gz')
    writeArchive(archive, environmentEntries())
    mkdirSync(join(test.repository.path, 'folder/env'))
    expect(spawnSync('tar', ['-xf', archive, '-C', join(test.repository.path, 'folder/env')]).status).toBe(0)
    await test.server.loadModel('folder')
    expect(await told(test, 'folder')).toEqual([1, 1, 1, 0, 1, 0])
    await Promise.all([test.server.loadModel('a'), test.server.loadModel('b')])
    for (const name of ['a', 'b']) expect(await told(test, name)).toEqual([1, 1, 1, 0, 1, 0])
    const lines = test.logs.recent(10_000)
    expect(lines.filter(({ message }) => message.startsWith('unpacking '))).toHaveLength(1)
    const [folder = ''] = readdirSync(join(cache.path, 'environments')).filter((name) => name.startsWith('env-'))
    const unpacked = readdirSync(join(cache.path, 'environments', folder)).find((name) => name.startsWith('env-')) ?? ''
    expect(new Set(lines.filter(({ message, fields }) => message.startsWith('prefix ') && fields['model'] !== 'folder').map(({ message }) => message))).toEqual(new Set([`prefix ${join(cache.path, 'environments', folder, unpacked)}`]))

    const { path } = test.repository
    mkdirSync(join(path, 'failing/env/bin'), { recursive: true })
    symlinkSync(testInterpreterFile(), join(path, 'failing/env/bin/python3'))
    expect(await textOf(test.server.loadModel('bare'))).toContain(`Internal: Path ${path}/bare/1/bin/activate does not exist. The Python environment should contain an 'activate' script.`)
    expect(await textOf(test.server.loadModel('none'))).toContain('Internal: Failed to get the canonical path for /nowhere/env.tar.gz.')
    expect(await textOf(test.server.loadModel('failing'))).toContain(`the Python environment cannot be activated: ${path}/failing/env/bin/activate ended with code 3: no such compiler`)
    expect(await textOf(test.server.loadModel('both'))).toContain('has both parameters EXECUTION_ENV_PATH and PYTHON_INTERPRETER')

    // Out of date, and not used any more: gone.
    writeArchive(archive, environmentEntries({ more: { text: '' } }))
    await test.server.unloadModel('a')
    expect(readdirSync(join(cache.path, 'environments'))).toContain(folder)
    await test.server.unloadModel('b')
    await expect.poll(() => readdirSync(join(cache.path, 'environments')).filter((name) => name !== 'lock'), { timeout: 60_000 }).toEqual([])
  })

  it('is that of the interpreter that PYTHON_INTERPRETER names: a virtual environment, one of conda, or a file in one', async () => {
    vi.stubEnv('PYTHONHOME', '')
    onTestFinished(() => { vi.unstubAllEnvs() })
    await using test = await pythonServer({
      venv: { code: TELLING, config: chosen('$$TRITON_MODEL_DIRECTORY/env') },
      file: { code: TELLING, config: chosen('$$TRITON_MODEL_DIRECTORY/../venv/env/bin/python3') },
      conda: { code: TELLING, config: chosen('$$TRITON_MODEL_DIRECTORY/env'), files: { 'env/conda-meta/history': '', 'env/etc/conda/activate.d/a.sh': "export FROM_ACTIVATE='with \"quotes\" and\nlines'" } },
      relative: { code: TELLING, config: chosen('env/bin/python3') },
      none: { code: TELLING, config: chosen('/nowhere/env') },
      folder: { code: TELLING, config: chosen('$$TRITON_MODEL_DIRECTORY/1') },
      empty: { code: TELLING, config: chosen('$$TRITON_MODEL_DIRECTORY/env'), files: { 'env/pyvenv.cfg': '' } },
    }, { load: [] })
    const { path } = test.repository
    makeVenv(join(path, 'venv/env'))
    makeVenv(join(path, 'conda/env'))
    rmSync(join(path, 'conda/env/pyvenv.cfg'))
    // Python itself takes the folder for an environment only where this lies beside its file.
    writeFileSync(join(path, 'conda/env/bin/pyvenv.cfg'), `home = ${dirname(testInterpreterFile())}\ninclude-system-site-packages = true\n`)
    for (const [name, answer] of [['venv', [1, 1, 0, 0, 0, 0]], ['file', [1, 1, 0, 0, 0, 0]], ['conda', [1, 1, 1, 0, 0, 0]]] as const) {
      await test.server.loadModel(name)
      expect([name, await told(test, name)]).toEqual([name, answer])
    }
    expect(await textOf(test.server.loadModel('relative'))).toContain("parameter PYTHON_INTERPRETER of model 'relative' is the relative path 'env/bin/python3': give the absolute path")
    expect(await textOf(test.server.loadModel('none'))).toContain("the Python interpreter '/nowhere/env' (parameter PYTHON_INTERPRETER of model 'none') cannot be used: it is not there. Install python3 and numpy there, or choose another")
    expect(await textOf(test.server.loadModel('folder'))).toContain(`the folder '${path}/folder/1' (parameter PYTHON_INTERPRETER of model 'folder') is no Python environment: it has neither pyvenv.cfg`)
    expect(await textOf(test.server.loadModel('empty'))).toContain(`the Python environment '${path}/empty/env' (parameter PYTHON_INTERPRETER of model 'empty') has no bin/python3 that can be started`)
  })

  it('is that of the whole server where no model chooses', async () => {
    await using folder = await TemporaryRepository.create()
    makeVenv(join(folder.path, 'env'))
    await using test = await pythonServer({ m: { code: TELLING } }, { backendConfig: { interpreter: join(folder.path, 'env') } })
    expect(await told(test, 'm')).toEqual([1, 1, 0, 0, 0, 0])
  })

  it('has ais_bench, which runs an .om file on simulated cards', async () => {
    await using om = await SimulatedOm.start()
    const path = await om.compile('add', addModel(2), ['--input_shape=A:1,2;B:1,2'])
    const code = pythonModel(`
def initialize(self, args):
    from ais_bench.infer.interface import InferSession
    self.session = InferSession(0, os.path.join(pb_utils.get_model_dir(), "add.om"))
def execute(self, requests):
    return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.asarray(self.session.infer([x, x])[0], np.float32))]) for x in (np.array(request.inputs()[0].as_numpy()) for request in requests)]
def finalize(self):
    self.session.free_resource()`)
    await using served = await serveRepository({ 'm/1/x': '', 'm/config.pbtxt': PYTHON_CONFIG }, {
      modelControlMode: 'explicit', npu: 'simulated', npuSimulatedTimeScale: 0, backendConfig: { python: { interpreter: testInterpreter() } },
    })
    mkdirSync(join(served.repository.path, 'm/1'), { recursive: true })
    cpSync(path, join(served.repository.path, 'm/1/add.om'))
    await served.repository.write({ 'm/1/model.py': code })
    await served.running.server.loadModel('m')
    const { response } = await served.running.server.infer(requestOf('m', [fp32('IN', [1, 2], [1.5, 4])]))
    expect(floatsOf(response.outputs[0])).toEqual([3, 8])
  })
})
