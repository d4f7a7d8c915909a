import { describe, expect, it } from 'vitest'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PYTHON_CONFIG, pythonModel, pythonServer, type PythonServer } from '../../testing/python-models.ts'
import { floatsOf, fp32, requestOf } from '../../testing/test-server.ts'
import { CallWatch } from './call-watch.ts'

const textOf = (promise: Promise<unknown>) => promise.then(() => 'no error', (error: unknown) => (error as Error).message)
const infer = (test: PythonServer, model: string, value: number, signal?: AbortSignal) => test.server.infer(requestOf(model, [fp32('IN', [1, 1], [value])]), signal === undefined ? {} : { signal })
const processOf = async (test: PythonServer, model: string) => floatsOf((await infer(test, model, 0)).response.outputs[0])[0] ?? 0
const isAlive = (processId: number) => existsSync(`/proc/${processId}`) && !readFileSync(`/proc/${processId}/stat`, 'utf8').includes(') Z ')
const reasonOf = (test: PythonServer, model: string) => test.server.repositoryIndex(false).find(({ name }) => name === model)?.reason ?? ''
const said = (test: PythonServer, model: string, text: string) => test.logs.recent(1000, model).filter(({ message }) => message.startsWith(text)).map(({ message }) => message)
const PATIENCE = { timeout: 60_000 }
const parameter = (name: string, value: string) => `${PYTHON_CONFIG} parameters { key: "${name}" value { string_value: "${value}" } }`

/** Leaves its process id beside its config, then calls a function that never returns and never keeps the interpreter. */
const HANG = `
def hang(directory):
    with open(os.path.join(directory, "pid.new"), "w") as file:
        file.write(str(os.getpid()))
    os.rename(os.path.join(directory, "pid.new"), os.path.join(directory, "pid"))
    threading.Event().wait()
`
const hangsIn = (methods: string) => pythonModel(methods, HANG)
const EXECUTE_HANGS = hangsIn(`
def execute(self, requests):
    if float(requests[0].inputs()[0].as_numpy().flat[0]) == 1:
        hang(os.path.dirname(pb_utils.get_model_dir()))
    return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[os.getpid()]], np.float32))]) for _ in requests]`)
const pidOf = async (test: PythonServer, model: string) => {
  const path = join(test.repository.path, model, 'pid')
  await expect.poll(() => existsSync(path), PATIENCE).toBe(true)
  return Number(readFileSync(path, 'utf8'))
}

describe('execute that never returns', () => {
  it('tells where it hangs, is healthy without a limit, and is ended with one', async () => {
    await using test = await pythonServer({ m: { code: EXECUTE_HANGS, config: parameter('EXECUTE_TIMEOUT_SECONDS', '5') } }, { backendConfig: { 'slow-call-seconds': '1', 'execute-timeout-seconds': '0' } })
    const answer = textOf(infer(test, 'm', 1))
    const hanging = await pidOf(test, 'm')
    await expect.poll(() => said(test, 'm', 'execute of a Python model has been running for 1 seconds:\n'), PATIENCE).toHaveLength(1)
    expect(said(test, 'm', 'execute of')[0]).toMatch(/^execute of .*:\n {2}File ".*model\.py", line \d+, in execute\n[^]*in hang\n[^]*threading\.py/)
    expect(test.server.isModelReady('m', '')).toBe(true)
    expect(await answer).toBe("Failed to process the request(s) for model instance 'm_0', message: Stub process 'm_0' is not healthy.")
    expect(isAlive(hanging)).toBe(false)
    expect(said(test, 'm', 'the process of a Python model is ended: execute did not return within 5 seconds. The stacks of')).toHaveLength(1)
    // Another process takes its place.
    expect(await processOf(test, 'm')).not.toBe(hanging)
  }, 120_000)

  it('does not hold up the end of its model once nobody waits for it', async () => {
    await using test = await pythonServer({ m: { code: EXECUTE_HANGS } }, { backendConfig: { 'stub-timeout-seconds': '10' } })
    const client = new AbortController()
    const answer = textOf(infer(test, 'm', 1, client.signal))
    const hanging = await pidOf(test, 'm')
    client.abort()
    await test.server.unloadModel('m')
    await expect.poll(() => reasonOf(test, 'm'), PATIENCE).toBe('unloaded')
    expect([isAlive(hanging), await answer]).toEqual([false, "Failed to process the request(s) for model instance 'm_0', message: Stub process 'm_0' is not healthy."])
    expect(said(test, 'm', 'the process of a Python model is ended: the model is unloaded, and what it runs did not return within 10 seconds')).toHaveLength(1)
  }, 120_000)
})

describe('a load that never ends', () => {
  const initialize = hangsIn('def initialize(self, args):\n    hang(args["model_repository"])')
  const complete = hangsIn('@staticmethod\ndef auto_complete_config(config):\n    hang(os.path.dirname(pb_utils.get_model_dir()))')

  it('tells where, and ends when the model is unloaded or the limit is over', async () => {
    const models = {
      initialize: { code: initialize }, complete: { code: complete },
      initialize_limit: { code: initialize, config: parameter('INITIALIZE_TIMEOUT_SECONDS', '1') }, complete_limit: { code: complete, config: parameter('INITIALIZE_TIMEOUT_SECONDS', '1') },
    }
    await using test = await pythonServer(models, { load: [], backendConfig: { 'slow-call-seconds': '1' } })
    const loads = { initialize: textOf(test.server.loadModel('initialize')), complete: textOf(test.server.loadModel('complete')) }
    for (const [model, call] of [['initialize', 'initialize'], ['complete', 'auto_complete_config']] as const) {
      const hanging = await pidOf(test, model)
      await expect.poll(() => said(test, model, `${call} of a Python model has been running for 1 seconds:\n`)[0] ?? '', PATIENCE).toMatch(/in hang\n/)
      await test.server.unloadModel(model)
      expect(await loads[model]).not.toBe('no error')
      await expect.poll(() => isAlive(hanging), PATIENCE).toBe(false)
    }
    const [initialized, completed] = await Promise.all(['initialize_limit', 'complete_limit'].map((model) => textOf(test.server.loadModel(model))))
    expect(initialized).toContain("Stub process 'initialize_limit_0' is not healthy. It was ended: initialize did not return within 1 seconds.")
    expect(completed).toContain("Stub process 'complete_limit' is not healthy. It was ended: auto_complete_config did not return within 1 seconds.")
  }, 120_000)

  it('is refused where its limit is no number', async () => {
    await using test = await pythonServer({ m: { code: EXECUTE_HANGS, config: parameter('EXECUTE_TIMEOUT_SECONDS', 'soon') } }, { load: [] })
    expect(await textOf(test.server.loadModel('m'))).toContain("parameter EXECUTE_TIMEOUT_SECONDS of model 'm' must be a whole number of seconds, 0 for none, got 'soon'")
  })
})

describe('CallWatch', () => {
  function watch(slowSeconds: number) {
    const told: string[] = []
    const log = (message: string) => { told.push(message) }
    const made = new CallWatch({
      log: { info: log, warning: log, error: log, verbose: log } as never, logFields: {}, slowSeconds,
      askStack: () => { told.push('asked') }, onLimit: (call, seconds) => { told.push(`${call} ${seconds}`) },
    })
    return { told, watch: made, tick: (count: number) => { for (let second = 0; second < count; second++) made.tick() } }
  }

  it('warns again when a call has run twice as long, also where nothing says where it is', () => {
    const { told, watch: made, tick } = watch(2)
    made.begin('execute')
    tick(2)
    made.tell('  File "model.py"\n')
    made.tell('late')
    tick(2)
    tick(1)
    expect(told).toEqual([
      'asked', 'execute of a Python model has been running for 2 seconds:\n  File "model.py"\n',
      'asked', 'execute of a Python model has been running for 4 seconds:\nit does not say where, so native code keeps the interpreter or the process is stopped',
    ])
    made.end()
    tick(10)
    expect(told).toHaveLength(4)
  })

  it('says once that a call is over its limit, and counts each call from its beginning', () => {
    const { told, watch: made, tick } = watch(0)
    made.begin('initialize', 3)
    tick(3)
    made.begin('execute', 3)
    tick(3)
    expect(told).toEqual([])
    tick(5)
    expect(told).toEqual(['execute 3'])
  })
})
