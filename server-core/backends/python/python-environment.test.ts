import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { addModel } from '../../testing/onnx-fixture.ts'
import { PYTHON_CONFIG, pythonModel, pythonServer, testInterpreter } from '../../testing/python-models.ts'
import { serveRepository } from '../../testing/served-repository.ts'
import { SimulatedOm } from '../../testing/simulated-om.ts'
import { floatsOf, fp32, requestOf } from '../../testing/test-server.ts'

const environment = (path: string) => `${PYTHON_CONFIG} parameters { key: "EXECUTION_ENV_PATH" value { string_value: "${path}" } }`
const textOf = (promise: Promise<unknown>) => promise.then(() => 'no error', (error: unknown) => (error as Error).message)
const TELLING = pythonModel(`
def execute(self, requests):
    prefix = os.environ.get("VIRTUAL_ENV", "")
    told = [sys.prefix == prefix, os.environ["CONDA_PREFIX"] == prefix, os.environ["PATH"].startswith(prefix + "/bin:"), prefix == os.path.join(os.path.dirname(pb_utils.get_model_dir()), "env")]
    return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([told], np.float32))]) for _ in requests]`)

describe('the environment of a Python model', () => {
  it('is the folder that EXECUTION_ENV_PATH names', async () => {
    await using test = await pythonServer({
      m: { code: TELLING, config: environment('$$TRITON_MODEL_DIRECTORY/env') },
      bare: { code: TELLING, config: environment('$$TRITON_MODEL_DIRECTORY/1') },
      archive: { code: TELLING, config: environment('$$TRITON_MODEL_DIRECTORY/env.tar.gz'), files: { 'env.tar.gz': 'x' } },
      both: { code: TELLING, config: `${environment('/x')} parameters { key: "PYTHON_INTERPRETER" value { string_value: "python3" } }` },
    }, { load: [] })
    const folder = join(test.repository.path, 'm/env')
    expect(spawnSync(testInterpreter(), ['-m', 'venv', '--without-pip', '--system-site-packages', folder], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
    await test.server.loadModel('m')
    expect(floatsOf((await test.server.infer(requestOf('m', [fp32('IN', [1, 1], [1])]))).response.outputs[0])).toEqual([1, 1, 1, 1])
    expect(await textOf(test.server.loadModel('bare'))).toContain(`Internal: Path ${test.repository.path}/bare/1/bin/activate does not exist. The Python environment should contain an 'activate' script.`)
    expect(await textOf(test.server.loadModel('archive'))).toContain(`is the file ${test.repository.path}/archive/env.tar.gz: this server does not unpack archives yet. Unpack it`)
    expect(await textOf(test.server.loadModel('both'))).toContain('has both parameters EXECUTION_ENV_PATH and PYTHON_INTERPRETER')
  }, 60_000)

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
  }, 60_000)
})
