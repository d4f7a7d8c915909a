import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { environmentEntries, writeArchive } from '../../testing/python-environments.ts'
import { PYTHON_CONFIG, pythonModel, testInterpreter } from '../../testing/python-models.ts'
import { TemporaryRepository } from '../../testing/temporary-repository.ts'
import { createTestServer, floatsOf, fp32, requestOf } from '../../testing/test-server.ts'

/** A backend that multiplies by what a file of the model says. */
const MULTIPLIER = pythonModel(`
@staticmethod
def auto_complete_config(config):
    config.set_dynamic_batching()
    return config
def initialize(self, args):
    self.args = args
    with open(os.path.join(pb_utils.get_model_dir(), "factor")) as file:
        self.factor = np.float32(file.read()) * helper.SCALE
    print("backend", __name__, os.environ.get("CONDA_PREFIX", "none") == sys.prefix)
def execute(self, requests):
    return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", request.inputs()[0].as_numpy() * self.factor)]) for request in requests]`, 'import helper')
const config = PYTHON_CONFIG.replace('"python"', '"multiplier"')

describe('a backend that is a model.py in the backend directory', () => {
  it('serves the models that name it, from their own folders, with its environment', async () => {
    await using backends = await TemporaryRepository.create({ 'multiplier/model.py': MULTIPLIER, 'multiplier/helper.py': 'SCALE = 10\n' })
    await using cache = await TemporaryRepository.create()
    await using repository = await TemporaryRepository.create({
      'a/config.pbtxt': config, 'a/1/factor': '2', 'b/config.pbtxt': `${config}runtime: "libtriton_python.so"`, 'b/1/factor': '3', 'b/triton_python_backend_stub': '',
      'c/config.pbtxt': config.replace('multiplier', 'nothing'), 'c/1/factor': '2',
    })
    await chmod(join(repository.path, 'b/triton_python_backend_stub'), 0o755)
    await using test = createTestServer([repository.path], {
      backendDirectory: backends.path, backendConfig: { python: { interpreter: testInterpreter(), 'thread-pool-size': '4', 'environment-cache-directory': join(cache.path, 'environments') } },
    })
    await test.server.start()
    const answer = async (model: string) => floatsOf((await test.server.infer(requestOf(model, [fp32('IN', [1, 2], [1, 2])]))).response.outputs[0])
    await test.server.loadModel('a')
    expect(await answer('a')).toEqual([20, 40])
    expect(test.server.modelConfig('a', '')).toMatchObject({ backend: 'multiplier', runtime: 'libtriton_python.so', dynamic_batching: {} })
    expect(test.registry.names).toContain('multiplier')
    writeArchive(join(backends.path, 'multiplier/pb_exec_env_model.py.tar.gz'), environmentEntries())
    await test.server.loadModel('b')
    expect(await answer('b')).toEqual([30, 60])
    const lines = test.logs.recent(10_000).map(({ message }) => message)
    expect(lines.filter((line) => line.startsWith('backend '))).toEqual(['backend multiplier.model False', 'backend multiplier.model True'])
    expect(lines.filter((line) => line.includes('has no effect'))).toEqual([
      '--backend-config=python,thread-pool-size has no effect: answers of models that are decoupled or ask other models are worked on as they come, without a pool of threads',
      "the model's own triton_python_backend_stub has no effect: no stub of this server is compiled for one Python. PYTHON_INTERPRETER or EXECUTION_ENV_PATH chooses the Python",
    ])
    await expect(test.server.loadModel('c')).rejects.toThrow("unable to find backend library for backend 'nothing'")
  }, 60_000)
})
