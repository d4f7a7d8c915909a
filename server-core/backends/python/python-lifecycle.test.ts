import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { answering, PYTHON_CONFIG, pythonModel, pythonServer, testInterpreter, type PythonServer } from '../../testing/python-models.ts'
import { startServerProcess } from '../../testing/server-process.ts'
import { TemporaryRepository } from '../../testing/temporary-repository.ts'
import { floatsOf, fp32, requestOf } from '../../testing/test-server.ts'

const textOf = (promise: Promise<unknown>) => promise.then(() => 'no error', (error: unknown) => (error as Error).message)
const ask = async (test: PythonServer, model: string, value = 1) => floatsOf((await test.server.infer(requestOf(model, [fp32('IN', [1, 1], [value])]))).response.outputs[0])
const stateOf = (test: PythonServer, model: string) => test.server.modelSummaries().find(({ name }) => name === model)?.versions[0]?.instances.map(({ state }) => state)
const reasonOf = (test: PythonServer, model: string) => test.server.repositoryIndex(false).find(({ name }) => name === model)?.reason ?? ''
const isAlive = (processId: number) => existsSync(`/proc/${processId}`) && !readFileSync(`/proc/${processId}/stat`, 'utf8').includes(') Z ')
const sharedFiles = () => readdirSync('/dev/shm').filter((name) => name.startsWith('triton_python_backend_shm_region_'))
/** Answers with its process id and that of a process that it started; with 1 as input it does something else. */
const telling = (otherwise: string) => pythonModel(`
def initialize(self, args):
    import subprocess
    self.child = subprocess.Popen(["sleep", "1000"])
def execute(self, requests):
    value = float(requests[0].inputs()[0].as_numpy().flat[0])
    if value == 1:
        ${otherwise}
    return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[os.getpid(), self.child.pid]], np.float32))])]`)

describe('the process of a Python model instance', () => {
  it('that crashes fails what it runs, is replaced, and its reason stands in the index', async () => {
    await using test = await pythonServer({ m: { code: telling('sys.stderr.write("out of luck\\n"); sys.stderr.flush(); os._exit(3)') } })
    const [stub = 0, child = 0] = await ask(test, 'm', 0)
    expect([isAlive(stub), isAlive(child)]).toEqual([true, true])
    expect(await textOf(ask(test, 'm', 1))).toBe("Failed to process the request(s) for model instance 'm_0', message: Stub process 'm_0' is not healthy.")
    expect(reasonOf(test, 'm')).toBe("1 of 1 instances start again: Stub process 'm_0' is not healthy. It ended with exit code 3. Its last lines:\nout of luck")
    expect([test.server.isModelReady('m', ''), stateOf(test, 'm')]).toEqual([false, ['RESTARTING']])
    expect([isAlive(stub), isAlive(child)]).toEqual([false, false])
    // Waits for the next process.
    const [second = 0] = await ask(test, 'm', 0)
    expect(second).not.toBe(stub)
    expect([test.server.isModelReady('m', ''), reasonOf(test, 'm')]).toEqual([true, ''])
    process.kill(second, 'SIGKILL')
    await expect.poll(() => reasonOf(test, 'm'), { timeout: 10_000 }).toContain('It was killed by SIGKILL.')
    const processOf = () => test.server.modelSummaries()[0]?.versions[0]?.instances[0]?.process
    const python = { interpreter: expect.stringMatching(/^\/.*python/) as string, version: expect.stringMatching(/^3\.\d+\.\d+$/) as string, numpyVersion: expect.stringMatching(/^\d+\.\d+/) as string }
    expect(processOf()).toEqual({ processId: null, deaths: 2, lastDeath: { at: expect.any(Number) as number, reason: expect.stringContaining('It was killed by SIGKILL.') as string }, python })
    const [third = 0] = await ask(test, 'm', 0)
    expect(processOf()).toMatchObject({ processId: third, deaths: 2, python })
    await test.server.unloadModel('m')
    await expect.poll(() => reasonOf(test, 'm'), { timeout: 20_000 }).toBe('unloaded')
    expect(sharedFiles()).toEqual([])
  })

  it('that crashes in native code leaves its Python stack in the log', async () => {
    await using test = await pythonServer({ m: { code: telling('import ctypes; ctypes.string_at(0)') } })
    expect(await textOf(ask(test, 'm', 1))).toContain("Stub process 'm_0' is not healthy.")
    expect(reasonOf(test, 'm')).toMatch(/It was killed by SIGSEGV\. Its last lines:\n[^]*File ".*model\.py", line \d+ in execute/)
  })

  it('that is stopped makes the model not ready, and is replaced after the time limit', async () => {
    await using test = await pythonServer({ m: { code: telling('pass') } }, { backendConfig: { 'stub-timeout-seconds': '8' } })
    const [stub = 0] = await ask(test, 'm', 0)
    process.kill(stub, 'SIGSTOP')
    await expect.poll(() => test.server.isModelReady('m', ''), { timeout: 10_000 }).toBe(false)
    expect(stateOf(test, 'm')).toEqual(['READY'])
    process.kill(stub, 'SIGCONT')
    await expect.poll(() => test.server.isModelReady('m', ''), { timeout: 10_000 }).toBe(true)
    process.kill(stub, 'SIGSTOP')
    await expect.poll(() => stateOf(test, 'm'), { timeout: 20_000 }).toEqual(['RESTARTING'])
    expect(isAlive(stub)).toBe(false)
    expect((await ask(test, 'm', 0))[0]).not.toBe(stub)
  }, 60_000)

  it('that keeps the interpreter busy in native code is not ready, is ended, and tells where it hung', async () => {
    // Holds the interpreter's lock while it sleeps; a signal wakes it up, and it goes on sleeping.
    await using test = await pythonServer({ m: { code: telling('import ctypes; [ctypes.PyDLL(None).sleep(1000) for _ in range(9)]') } }, { backendConfig: { 'stub-timeout-seconds': '5' } })
    const answer = textOf(ask(test, 'm', 1))
    await expect.poll(() => test.server.isModelReady('m', ''), { timeout: 10_000 }).toBe(false)
    expect(await answer).toContain("Stub process 'm_0' is not healthy.")
    await expect.poll(() => test.logs.recent(1000, 'm').some(({ message }) => /model\.py", line \d+ in execute/.test(message))).toBe(true)
    expect((await ask(test, 'm', 0)).length).toBe(2)
  }, 60_000)

  it('answers health checks while its model computes', async () => {
    await using test = await pythonServer({ m: { code: telling('time.sleep(6.5)') } }, { backendConfig: { 'stub-timeout-seconds': '5' } })
    const answer = ask(test, 'm', 1)
    let wasReady = true
    const timer = setInterval(() => { wasReady &&= test.server.isModelReady('m', '') }, 100)
    expect((await answer).length).toBe(2)
    clearInterval(timer)
    expect(wasReady).toBe(true)
  })

  it('that does not finalize in time is ended with what it started', async () => {
    await using test = await pythonServer({ m: { code: telling('pass') + '    def finalize(self):\n        time.sleep(1000)\n' } }, { backendConfig: { 'stub-timeout-seconds': '2' } })
    const processes = await ask(test, 'm', 0)
    await test.server.unloadModel('m')
    await expect.poll(() => reasonOf(test, 'm'), { timeout: 20_000 }).toBe('unloaded')
    expect(processes.map(isAlive)).toEqual([false, false])
  })

  it('finalizes its model, and ends with threads that the model left', async () => {
    const code = answering('x') + `    def initialize(self, args):
        threading.Thread(target=lambda: time.sleep(1000)).start()
    def finalize(self):
        print("finalized")
`
    await using test = await pythonServer({ m: { code } })
    await ask(test, 'm')
    await test.server.unloadModel('m')
    await expect.poll(() => reasonOf(test, 'm'), { timeout: 20_000 }).toBe('unloaded')
    expect(test.logs.recent(100, 'm').find(({ message }) => message === 'finalized')).toMatchObject({ level: 'info', fields: { model: 'm', instance: 'm_0', stream: 'stdout' } })
  })

  it('that prints a million lines neither stops nor fills the log, and stays quick', async () => {
    await using test = await pythonServer({ m: { code: telling('sys.stdout.write("line\\n" * 1000000); sys.stdout.flush()') } })
    await ask(test, 'm', 1)
    const count = () => test.logs.recent(100_000, 'm').filter(({ message }) => message === 'line').length
    await expect.poll(() => test.logs.recent(100_000, 'm').some(({ message }) => message.startsWith('lines of a model were left out')) || count() > 0).toBe(true)
    expect((await ask(test, 'm', 0)).length).toBe(2)
    await test.server.unloadModel('m')
    await expect.poll(() => reasonOf(test, 'm'), { timeout: 20_000 }).toBe('unloaded')
    const leftOut = test.logs.recent(100_000, 'm').flatMap(({ fields }) => (typeof fields['count'] === 'number' ? [fields['count']] : [])).reduce((sum, number) => sum + number, 0)
    expect(count() + leftOut).toBe(1_000_000)
    expect(leftOut).toBeGreaterThan(900_000)
  })

  it('needs no more shared memory for a model that keeps its requests', async () => {
    const code = pythonModel(`
def initialize(self, args):
    self.kept = []
def execute(self, requests):
    self.kept.append(requests)
    return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[os.fstat(4).st_size]], np.float32))]) for request in requests]`)
    await using test = await pythonServer({ m: { code } })
    const long = fp32('IN', [1, 100_000], Array.from({ length: 100_000 }, () => 1))
    for (let round = 0; round < 30; round++) {
      const { response } = await test.server.infer(requestOf('m', [long]))
      expect(floatsOf(response.outputs[0])).toEqual([2 ** 20])
    }
  })
})

describe('a load', () => {
  const failure = async (code: string, options: { config?: string; backendConfig?: Record<string, string> } = {}) => {
    await using test = await pythonServer({ m: { code, ...(options.config === undefined ? {} : { config: options.config }) } }, { load: [], backendConfig: options.backendConfig ?? {} })
    return (await textOf(test.server.loadModel('m'))).replaceAll(test.repository.path, '<repository>')
  }
  const failed = (text: string) => `load failed for model 'm': version 1 is at UNAVAILABLE state: ${text};\n`

  it('fails with the text of what the import raised, and says which module is missing', async () => {
    expect((await failure('import no_such_module\n'))).toMatch(
      /^load failed for model 'm': version 1 is at UNAVAILABLE state: Internal: ModuleNotFoundError: No module named 'no_such_module'\n\nAt:\n {2}<repository>\/m\/1\/model\.py\(1\): <module>\n\nThe model runs with .*python.* \(Python 3\.\d+, numpy \S+\), which cannot import 'no_such_module'\. Install it there \(.*python\S* -m pip install no-such-module\), or choose another interpreter with the parameter PYTHON_INTERPRETER/)
    expect((await failure('this is no python\n'))).toBe(failed('Internal: SyntaxError: invalid syntax (model.py, line 1)'))
    expect((await failure('x = 1\n'))).toBe(failed("Internal: AttributeError: module '1.model' has no attribute 'TritonPythonModel'"))
  })

  it('fails with what initialize raised, and with the end of a process', async () => {
    expect((await failure(pythonModel('def initialize(self, args):\n    raise RuntimeError("no weights")')))).toBe(
      failed('Internal: RuntimeError: no weights\n\nAt:\n  <repository>/m/1/model.py(8): initialize\n'))
    expect((await failure(pythonModel('def initialize(self, args):\n    print("dying", file=sys.stderr)\n    sys.stderr.flush()\n    os.abort()')))).toMatch(
      /Internal: Stub process 'm_0' is not healthy\. It was killed by SIGABRT\. Its last lines:\ndying/)
    expect((await failure('import os\nos._exit(7)\n'))).toContain("Stub process 'm' is not healthy. It ended with exit code 7.")
  })

  it('fails where there is no file, interpreter, numpy or memory, and where a setting is wrong', async () => {
    expect((await failure('', { config: `${PYTHON_CONFIG} default_model_filename: "other.py"` }))).toContain("Python model 'm' has no file '<repository>/m/1/other.py' (ENOENT)")
    expect((await failure('', { config: `${PYTHON_CONFIG} default_model_filename: "model.txt"` }))).toContain('must be the name of a file in the version directory that ends in .py')
    expect((await failure('', { backendConfig: { interpreter: '/nowhere/python3' } }))).toContain("the Python interpreter '/nowhere/python3' (--backend-config=python,interpreter) cannot be used: it is not there. Install python3 and numpy there, or choose another")
    expect((await failure('', { config: `${PYTHON_CONFIG} parameters { key: "PYTHON_INTERPRETER" value { string_value: "no-such-python" } }` }))).toContain("the Python interpreter 'no-such-python' cannot be started: there is none of that name. Install python3 and numpy, or")
    expect((await failure('', { backendConfig: { interpreter: '/bin/false' } }))).toContain("Stub process 'm' is not healthy. It ended with exit code 1.")
    expect((await failure('', { backendConfig: { 'shm-default-byte-size': String(2 ** 50) } }))).toMatch(
      /Unavailable: Failed to increase the shared memory pool by 1125899906842624 bytes to 1125899906842624: \/dev\/shm has \d+ bytes left\. Give \/dev\/shm more memory/)
    expect((await failure('', { backendConfig: { 'shm-default-byte-size': '4096' } }))).toContain("shm-default-byte-size can't be smaller than 4 MiBs")
    expect((await failure('', { backendConfig: { 'stub-timeout-seconds': 'soon' } }))).toContain("stub-timeout-seconds must be a whole number of seconds from 1 on, got 'soon'")
    expect((await failure('', { config: `${PYTHON_CONFIG} parameters { key: "EXECUTION_ENV_PATH" value { string_value: "/nowhere/env" } }` }))).toContain('Internal: Failed to get the canonical path for /nowhere/env.')
  })

  it('takes the config that the model completes, unless that is off', async () => {
    const code = pythonModel(`
@staticmethod
def auto_complete_config(config):
    config.set_max_batch_size(4)
    config.set_dynamic_batching()
    config.add_input({"name": "IN", "data_type": "TYPE_FP32", "dims": [-1]})
    config.add_output({"name": "OUT", "data_type": "TYPE_FP32", "dims": [-1]})
    return config
def execute(self, requests):
    return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", request.inputs()[0].as_numpy())]) for request in requests]`)
    await using test = await pythonServer({ m: { code, config: '' } })
    expect(test.server.modelConfig('m', '')).toMatchObject({ backend: 'python', max_batch_size: 4, dynamic_batching: {}, input: [{ name: 'IN' }], output: [{ name: 'OUT' }], instance_group: [{ kind: 'KIND_CPU' }] })
    expect(await ask(test, 'm', 5)).toEqual([5])
    expect((await failure(pythonModel('@staticmethod\ndef auto_complete_config(config):\n    return None')))).toContain(
      "auto_complete_config function in model 'm' must return a valid pb.ModelConfig object.")
    expect((await failure(code, { config: `${PYTHON_CONFIG.replace('8', '16')}` }))).toContain(
      "ValueError: configuration specified max_batch_size 16, but in auto-complete-config function for model 'm' specified max_batch_size 4")
  })
})

describe('memory that is full', () => {
  it('fails the request and nothing else', async () => {
    await using test = await pythonServer({ m: { code: answering('np.zeros((1, int(x.flat[0])), np.float32)') } }, { backendConfig: { 'shm-growth-byte-size': String(2 ** 50) } })
    expect(await textOf(ask(test, 'm', 1_000_000))).toMatch(/^Failed to process the request\(s\) for model 'm_0', message: TritonModelException: Failed to increase the shared memory pool by /)
    const long = fp32('IN', [1, 1_000_000], Array.from({ length: 1_000_000 }, () => 1))
    expect(await textOf(test.server.infer(requestOf('m', [long])))).toMatch(/^Failed to process the request\(s\) for model instance 'm_0', message: Failed to increase the shared memory pool by /)
    expect(await ask(test, 'm', 2)).toEqual([0, 0])
  })
})

describe('a server that is killed', () => {
  it('leaves no process and no memory behind, even where a model holds the interpreter', async () => {
    const busy = pythonModel(`
def initialize(self, args):
    import subprocess, ctypes
    child = subprocess.Popen(["sleep", "1000"])
    with open(os.path.join(args["model_repository"], "pids"), "w") as file:
        file.write("%d %d" % (os.getpid(), child.pid))
def execute(self, requests):
    import ctypes
    open(os.path.join(pb_utils.get_model_dir(), "hanging"), "w").close()
    ctypes.PyDLL(None).sleep(1000)`)
    await using repository = await TemporaryRepository.create({ 'm/1/model.py': busy, 'm/config.pbtxt': PYTHON_CONFIG })
    const server = await startServerProcess([`--model-repository=${repository.path}`, `--backend-config=python,interpreter=${testInterpreter()}`])
    const processes = readFileSync(join(repository.path, 'm/pids'), 'utf8').split(' ').map(Number)
    expect(processes.map(isAlive)).toEqual([true, true])
    const body = JSON.stringify({ inputs: [{ name: 'IN', datatype: 'FP32', shape: [1, 1], data: [1] }] })
    void fetch(`http://127.0.0.1:${server.httpPort}/v2/models/m/infer`, { method: 'POST', body }).catch(() => {})
    await expect.poll(() => existsSync(join(repository.path, 'm/1/hanging')), { timeout: 10_000 }).toBe(true)
    server.kill('SIGKILL')
    await server.exited
    await expect.poll(() => processes.map(isAlive), { timeout: 10_000 }).toEqual([false, false])
    expect(sharedFiles()).toEqual([])
  }, 60_000)
})
