import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { identityConfig } from '../../testing/temporary-repository.ts'
import { answering, PYTHON_CONFIG, pythonModel, pythonServer, RUNNER, RUNNER_CONFIG, runPython, type PythonServer } from '../../testing/python-models.ts'
import { fp32, requestOf } from '../../testing/test-server.ts'

describe('what a Python model asks of the server', () => {
  let test: PythonServer
  beforeAll(async () => {
    test = await pythonServer({
      double: { code: answering('x * 2') },
      runner: { code: RUNNER, config: RUNNER_CONFIG },
      other: { code: RUNNER, config: RUNNER_CONFIG },
      stream: {
        config: `${PYTHON_CONFIG} model_transaction_policy { decoupled: true }`,
        code: pythonModel(`
def execute(self, requests):
    for request in requests:
        sender = request.get_response_sender()
        for index in range(int(request.inputs()[0].as_numpy().flat[0])):
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[index]], np.float32))]))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)`),
      },
      endless: {
        config: `${PYTHON_CONFIG} model_transaction_policy { decoupled: true }`,
        code: pythonModel(`
def execute(self, requests):
    sender = requests[0].get_response_sender()
    while not sender.is_cancelled():
        sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.zeros((1, 1), np.float32))]))
        time.sleep(0.002)
    sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("was cancelled", pb_utils.TritonError.CANCELLED)), pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)`),
      },
      initializing: { code: pythonModel('def initialize(self, args):\n    assert pb_utils.is_model_ready("double")') },
      slow: { code: 'unused', config: `${PYTHON_CONFIG.replace('"python"', '"identity"').replace('IN"', 'INPUT0"').replace('OUT"', 'OUTPUT0"')} parameters { key: "execute_delay_ms" value { string_value: "300" } }
dynamic_batching { default_queue_policy { timeout_action: REJECT default_timeout_microseconds: 60000000 allow_timeout_override: true } }` },
    }, { load: ['double', 'runner', 'other', 'stream', 'endless', 'slow'] })
    await test.repository.write({ 'later/config.pbtxt': identityConfig(), 'later/1/x': '' })
    await test.server.rescan()
  }, 180_000)
  afterAll(async () => { await test[Symbol.asyncDispose]() })

  const run = (code: string, model = 'runner') => runPython(test, model, code)

  it('inference, which comes back with outputs or an error', async () => {
    expect(await run('result = told(ask().exec())')).toEqual([[[6]]])
    expect(await run('result = [told(ask(value=v).exec())[0] for v in range(50)]')).toEqual(Array.from({ length: 50 }, (_none, value) => [[value * 2]]))
    expect(await run('result = told(ask("nobody").exec())')).toEqual([2, "Model nobody - Error when running inference: Request for unknown model: 'nobody' is not found"])
    expect(await run('result = told(ask(names=["NOT"]).exec())')).toEqual([3, expect.stringContaining('Model double - Error when running inference: ')])
    expect(await run('result = told(ask("stream").exec())')).toEqual([5, "Model stream - Error when running inference: Model stream is using the decoupled. The current BLS request call doesn't support models using the "
      + "decoupled transaction policy. Please use 'decoupled=True' argument to the 'exec' or 'async_exec' calls for decoupled models.'"])
    expect(await run('result = self.in_initialize')).toBe("BLS is only supported during the 'execute' function.")
  })

  it('inference with large tensors, whose memory is free again', async () => {
    const code = `
from pb_stub.session import current
for _ in range(4):
    response = pb_utils.InferenceRequest(model_name="double", requested_output_names=["OUT"], inputs=[pb_utils.Tensor("IN", np.ones((1, 600000), np.float32))]).exec()
    assert response.output_tensors()[0].as_numpy().sum() == 1200000
    del response
result = current()._own_memory._size`
    const size = await run(code) as number
    expect(await run(code)).toBe(size)
  })

  it('inference in parallel, for await', async () => {
    expect(await run(`
async def all():
    return await asyncio.gather(*[ask(value=v).async_exec() for v in range(8)])
result = [told(response) for response in asyncio.run(all())]`)).toEqual(Array.from({ length: 8 }, (_none, value) => [[[value * 2]]]))
  })

  it('streams of decoupled models, also for await, and can give them up', async () => {
    expect(await run('result = [told(response) for response in ask("stream", 3).exec(decoupled=True)]')).toEqual([[[[0]]], [[[1]]], [[[2]]], []])
    expect(await run('result = [told(response) for response in ask().exec(decoupled=True)]')).toEqual([[[[6]]]])
    expect(await run(`
async def all():
    return [told(response) for response in await ask("stream", 2).async_exec(decoupled=True)]
result = asyncio.run(all())`)).toEqual([[[[0]]], [[[1]]], []])
    expect(await run(`
responses = ask("endless").exec(decoupled=True)
count, last = 0, None
for response in responses:
    count += 1
    if count == 3:
        responses.cancel()
    last = told(response)
result = [count >= 3, last]`)).toEqual([true, [7, 'was cancelled']])
  })

  it('inference with a time limit in the queue', async () => {
    expect(await run(`
async def all():
    request = lambda **more: pb_utils.InferenceRequest(model_name="slow", requested_output_names=["OUTPUT0"], inputs=[pb_utils.Tensor("INPUT0", np.zeros((8, 1), np.float32))], **more)
    first = [request().async_exec() for _ in range(3)]
    last = request(timeout=1000).async_exec()
    answer = await last
    await asyncio.gather(*first)
    return answer
result = told(asyncio.run(all()))`)).toEqual([4, 'Request timeout expired'])
  })

  it('loads, unloads and readiness', async () => {
    expect(await run('result = self.double_is_ready')).toBe(true)
    expect(await run('pb_utils.load_model("later")\nresult = pb_utils.is_model_ready("later")')).toBe(true)
    expect(await run('result = pb_utils.is_model_ready("later", "1")')).toBe(true)
    const changed = JSON.stringify(JSON.stringify({ backend: 'identity', max_batch_size: 3, input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [1] }], output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: [1] }] }))
    expect(await run(`pb_utils.load_model("later", config=${changed})`)).toBeNull()
    expect(test.server.modelConfig('later', '').max_batch_size).toBe(3)
    await run(`pb_utils.load_model("later", config=${changed}, files={"file:1/y": b"z" * 3000000})`)
    expect(await run('pb_utils.unload_model("later")')).toBeNull()
    await expect.poll(() => test.server.repositoryIndex(false).find(({ name }) => name === 'later')?.state).toBe('UNAVAILABLE')
    const failures = await run(`
result = []
for call in (lambda: pb_utils.load_model("none"), lambda: pb_utils.is_model_ready("none"), lambda: pb_utils.load_model("later", files=[1]), lambda: pb_utils.load_model("later", config="{")):
    try:
        call()
    except pb_utils.TritonModelException as error:
        result.append(str(error))`) as string[]
    expect(failures).toEqual([
      expect.stringMatching(/^Failed to load model: Failed to process the request for model 'runner_0', message: .*'none'/),
      expect.stringMatching(/^Failed to check model readiness: Failed to process the request for model 'runner_0', message: Request for unknown model: 'none' is not found$/),
      "failed to load model 'later', files should be a dictionary of file paths and file contents",
      expect.stringMatching(/^Failed to load model: /),
    ])
  })

  it('loads and readiness while it initializes, also when all that a process says arrives at once', async () => {
    // The server looks at its sockets three times a second only, so that the start and the first question come together.
    const sleeper = new Int32Array(new SharedArrayBuffer(4))
    const timer = setInterval(() => { Atomics.wait(sleeper, 0, 0, 300) }, 1)
    try {
      await test.server.loadModel('initializing')
    } finally {
      clearInterval(timer)
    }
    expect(test.server.isModelReady('initializing', '')).toBe(true)
  })

  it('lines in the log, with level, place and model', async () => {
    await run('pb_utils.Logger.log_info("an info")\npb_utils.Logger.log_warn("a warning")\npb_utils.Logger.log_error("an error")\npb_utils.Logger.log("as warning", pb_utils.Logger.WARNING)\npb_utils.Logger.log("plain")')
    const entries = test.logs.recent(1000, 'runner').filter(({ fields }) => fields['file'] === '<string>').map(({ level, message }) => [level, message])
    expect(entries).toEqual([['info', 'an info'], ['warning', 'a warning'], ['error', 'an error'], ['warning', 'as warning'], ['info', 'plain']])
    expect(test.logs.recent(1000, 'runner').find(({ message }) => message === 'an info')?.fields).toMatchObject({ instance: 'runner_0', version: '1', line: 9 })
  })

  it('its own place', async () => {
    expect(await run('result = [pb_utils.get_model_dir(), {key: value for key, value in self.args.items() if key != "model_config"}, json.loads(self.args["model_config"])["name"]]')).toEqual([
      `${test.repository.path}/runner/1`,
      {
        model_instance_kind: 'CPU', model_instance_name: 'runner_0', model_instance_device_id: '0', model_repository: `${test.repository.path}/runner`, model_version: '1', model_name: 'runner',
      },
      'runner',
    ])
  })

  it('metrics, which models share by name and labels', async () => {
    const code = `
self.counter = pb_utils.MetricFamily(name="requests_total", description="All \\\\ requests", kind=pb_utils.MetricFamily.COUNTER).Metric(labels={"model": "a\\"b"})
self.counter.increment(1.5)
self.gauge = pb_utils.MetricFamily("level", "Level", pb_utils.MetricFamily.GAUGE).Metric()
self.gauge.set(4)
self.gauge.increment(-1)
self.histogram = pb_utils.MetricFamily("sizes", "Sizes", pb_utils.MetricFamily.HISTOGRAM).Metric(labels={}, buckets=[1, 2.5])
for value in (0.5, 1, 2, 7):
    self.histogram.observe(value)
result = [self.counter.value(), self.gauge.value()]`
    expect(await run(code)).toEqual([1.5, 3])
    expect(await run(code, 'other')).toEqual([3, 3])
    expect(test.registry.metricsText()).toContain(`# HELP requests_total All \\\\ requests
# TYPE requests_total counter
requests_total{model="a\\"b"} 3
# HELP level Level
# TYPE level gauge
level 3
# HELP sizes Sizes
# TYPE sizes histogram
sizes_count 8
sizes_sum 21
sizes_bucket{le="1"} 4
sizes_bucket{le="2.5"} 6
sizes_bucket{le="+Inf"} 8
`)
    const failures = await run(`
result = []
C, G, H = pb_utils.MetricFamily.COUNTER, pb_utils.MetricFamily.GAUGE, pb_utils.MetricFamily.HISTOGRAM
family = pb_utils.MetricFamily("h", "h", H)
for call in (lambda: self.counter.increment(-1), lambda: self.counter.set(1), lambda: self.gauge.observe(1), lambda: self.histogram.value(), lambda: pb_utils.MetricFamily("level", "x", C),
             lambda: family.Metric(), lambda: family.Metric(buckets=3), lambda: family.Metric(labels=[1], buckets=[1]), lambda: pb_utils.MetricFamily("g", "g", G).Metric(buckets=[1]), lambda: family.Metric(buckets=[2, 1])):
    try:
        call()
        result.append("no error")
    except pb_utils.TritonModelException as error:
        result.append(str(error))`) as string[]
    const wrapped = (what: string, text: string) => `${what}: Failed to process the request for model 'runner_0', message: ${text}`
    expect(failures).toEqual([
      wrapped('Failed to increment metric value', 'TRITONSERVER_METRIC_KIND_COUNTER can only be incremented monotonically by non-negative values.'),
      wrapped('Failed to set metric value', 'TRITONSERVER_METRIC_KIND_COUNTER does not support Set'),
      wrapped('Failed to observe metric value', 'TRITONSERVER_METRIC_KIND_GAUGE does not support Observe'),
      wrapped('Failed to get metric value', 'TRITONSERVER_METRIC_KIND_HISTOGRAM does not support Value'),
      wrapped('Error when creating MetricFamily', 'Family name already exists with different type'),
      'Failed to create metric. Missing required buckets.', 'Failed to create metric. Buckets must be a list.', 'Failed to create metric. Labels must be a dictionary.',
      'Failed to create metric. Unexpected buckets found.', wrapped('Failed to create metric', "The buckets of metric family 'h' must be ascending numbers"),
    ])
    // Each model holds its own; the last one that lets go takes it off the page.
    await run('self.gauge = None')
    await expect.poll(() => test.registry.metricsText()).toContain('level 3\n')
    await test.server.unloadModel('other')
    await expect.poll(() => test.registry.metricsText(), { timeout: 15_000 }).not.toContain('level 3\n')
    expect(test.registry.metricsText()).toContain('requests_total{model="a\\"b"} 3\n')
  })

  it('frees the memory of inputs once a request is answered', async () => {
    const code = 'from pb_stub.session import current\nresult = current()._own_memory.used_blocks'
    for (let round = 0; round < 20; round++) await test.server.infer(requestOf('double', [fp32('IN', [1, 1], [round])]))
    // Its own answer before this one is given back with the request that asks.
    expect(await run(code)).toBe(0)
  })
})
