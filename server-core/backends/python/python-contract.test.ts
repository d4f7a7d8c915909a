import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LogHub } from '../../logger.ts'
import { answering, PYTHON_CONFIG, pythonModel, pythonServer, RUNNER, RUNNER_CONFIG, runPython, type PythonServer } from '../../testing/python-models.ts'
import { floatsOf, fp32, requestOf } from '../../testing/test-server.ts'
import { DEFAULT_TRACE_CONFIG } from '../../tracing/trace-settings.ts'
import { Tracer } from '../../tracing/tracer.ts'

/** Tells what it reads of its requests. */
const TELLER_CONFIG = `backend: "python"
input [ { name: "IN" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "TEXT" data_type: TYPE_STRING dims: [ 1 ] } ]
sequence_batching { max_sequence_idle_microseconds: 60000000 }
`
const TELLER = pythonModel(`
def execute(self, requests):
    responses = []
    for request in requests:
        told = [request.request_id(), request.correlation_id(), request.flags(), request.timeout(), json.loads(request.parameters()), sorted(request.requested_output_names())]
        responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("TEXT", np.array([json.dumps(told)], dtype=object))], parameters={"number": 3, "text": "é", "yes": True}))
    return responses`)
const STREAM_CONFIG = `${PYTHON_CONFIG} model_transaction_policy { decoupled: true }`
/** As many answers as its input says, from a thread; each asks another model first. */
const STREAM = pythonModel(`
def execute(self, requests):
    for request in requests:
        sender, count = request.get_response_sender(), int(request.inputs()[0].as_numpy().flat[0])
        threading.Thread(target=self.answer, args=(sender, count)).start()
def answer(self, sender, count):
    for index in range(count):
        asked = pb_utils.InferenceRequest(model_name="double", requested_output_names=["OUT"], inputs=[pb_utils.Tensor("IN", np.array([[index]], np.float32))]).exec()
        sender.send(pb_utils.InferenceResponse([pb_utils.get_output_tensor_by_name(asked, "OUT")]))
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)`)

describe('triton_python_backend_utils in a model', () => {
  let test: PythonServer
  beforeAll(async () => {
    test = await pythonServer({
      double: { code: answering('x * 2') },
      inPlace: { code: answering('np.multiply(x, 3, out=x)') },
      runner: { code: RUNNER, config: RUNNER_CONFIG },
      teller: { code: TELLER, config: TELLER_CONFIG },
      stream: { code: STREAM, config: STREAM_CONFIG },
    })
  }, 180_000)
  afterAll(async () => { await test[Symbol.asyncDispose]() })
  const run = (code: string) => runPython(test, 'runner', code)

  it('takes names that came out of a tensor, as bytes', async () => {
    expect(await run(`
name = np.array([b"double"], dtype=object)[0]
result = told(pb_utils.InferenceRequest(model_name=name, requested_output_names=[b"OUT"], inputs=[pb_utils.Tensor(b"IN", np.ones((1, 1), np.float32))]).exec())`)).toEqual([[[2]]])
    expect(await run('result = [pb_utils.is_model_ready(b"double"), pb_utils.is_model_ready("double", b"1"), pb_utils.is_model_ready("double", 1)]')).toEqual([true, true, true])
  })

  it('hands a request on as it was made: id, correlation id, flags, timeout, parameters, outputs', async () => {
    const asked = (more: string) => `
request = pb_utils.InferenceRequest(model_name="teller", requested_output_names=["TEXT"], inputs=[pb_utils.Tensor("IN", np.ones(1, np.float32))], ${more})`
    expect(await run(`${asked('request_id="r7", correlation_id=2**63 + 5, flags=pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START, timeout=60000000, parameters={"a": 2**60, "b": "x", "c": False}, '
      + 'preferred_memory=pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU, 0), model_version=1')}
first = request.exec()
request.set_flags(pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END)
last = request.exec()
result = [json.loads(response.output_tensors()[0].as_numpy()[0]) for response in (first, last)] + [json.loads(first.parameters()), last.has_error(), last.error()]`)).toEqual([
      ['r7', 2 ** 63, 1, 60_000_000, { a: 2 ** 60, b: 'x', c: false }, ['TEXT']], ['r7', 2 ** 63, 2, 60_000_000, { a: 2 ** 60, b: 'x', c: false }, ['TEXT']],
      { number: 3, text: 'é', yes: true }, false, null,
    ])
    expect(await run(`${asked('correlation_id="name", flags=3')}
result = json.loads(request.exec().output_tensors()[0].as_numpy()[0])[:3]`)).toEqual(['', 'name', 3])
  })

  it('gives streams as iterators that can be asked for the next, and gone through again', async () => {
    expect(await run(`
responses = ask("stream", 3).exec(decoupled=True)
result = [told(next(responses))]
result.append([told(response) for response in responses])
result.append([told(response) for response in responses])
try:
    next(responses)
except StopIteration:
    result.append("over")`)).toEqual([[[[0]]], [[[[2]]], [[[4]]], []], [[[[0]]], [[[2]]], [[[4]]], []], 'over'])
  })

  it('refuses the server to processes that the model forks, which may log', async () => {
    expect(await run(`
def forked(function):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        text = "no error"
        try:
            function()
        except BaseException as error:
            text = "%s: %s" % (type(error).__name__, error)
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    text = os.read(reading, 1000).decode()
    os.close(reading)
    os.waitpid(child, 0)
    return text
sender = request.get_response_sender()
result = [forked(function) for function in (
    lambda: ask().exec(), lambda: sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("RESULT", np.zeros(1))])), lambda: pb_utils.is_model_ready("double"), lambda: pb_utils.Logger.log_info("from a fork"))]
result.append(told(ask().exec()))`)).toEqual([...Array.from({ length: 3 }, () => expect.stringMatching(/^TritonModelException: A process that was forked from the model's own cannot use the server: /) as string), 'no error', [[[6]]]])
    await expect.poll(() => test.logs.recent(1000, 'runner').some(({ message }) => message === 'from a fork')).toBe(true)
  })

  it('asks with tensors without elements, and answers so', async () => {
    expect(await run(`
request = pb_utils.InferenceRequest(model_name="double", requested_output_names=["OUT"], inputs=[pb_utils.Tensor("IN", np.zeros((1, 0), np.float32))])
result = [told(request.exec()), [told(response) for response in request.exec(decoupled=True)]]`)).toEqual([[[[]]], [[[[]]]]])
    const { response } = await test.server.infer(requestOf('inPlace', [fp32('IN', [1, 0], [])]))
    expect([response.outputs[0]?.shape, response.outputs[0]?.data.byteLength]).toEqual([[1, 0], 0])
  })

  it('gives inputs that the model may write to', async () => {
    const { response } = await test.server.infer(requestOf('inPlace', [fp32('IN', [1, 2], [1, 2])]))
    expect(floatsOf(response.outputs[0])).toEqual([3, 6])
  })

  it('writes lines that are only for the curious when the log is verbose', async () => {
    const lines = () => test.logs.recent(1000, 'runner').filter(({ fields }) => fields['file'] === '<string>').map(({ level, message }) => [level, message])
    await run('pb_utils.Logger.log_verbose("unheard")\npb_utils.Logger.log("unheard", pb_utils.Logger.LogLevel.VERBOSE)')
    expect(lines()).toEqual([])
    test.logs.change({ verboseLevel: 1 })
    try {
      await run('pb_utils.Logger.log_verbose("heard")\npb_utils.Logger.log("heard too", pb_utils.Logger.VERBOSE)\npb_utils.Logger.log_info(b"as bytes")')
    } finally {
      test.logs.change({ verboseLevel: 0 })
    }
    expect(lines().map(([, message]) => message)).toEqual(['heard', 'heard too', 'as bytes'])
  })

  it('carries the trace of a request on to those that the model makes with it', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'python-trace-'))
    try {
      const tracer = new Tracer({ ...DEFAULT_TRACE_CONFIG, levels: ['TIMESTAMPS'], rate: 1, file: join(directory, 'trace.json') }, new LogHub().logger('tracer'))
      const trace = tracer.sample('runner')
      if (trace === undefined) throw new Error('the request is not traced')
      expect(await runPython(test, 'runner', `
assert request.trace().get_context() is None
told(ask().exec())
result = told(ask(trace=request.trace()).exec())`, { trace })).toEqual([[[6]]])
      trace.end()
      tracer.close()
      const entries = JSON.parse(readFileSync(join(directory, 'trace.json'), 'utf8')) as { model_name?: string; parent_id?: number }[]
      expect(entries.flatMap(({ model_name: name, parent_id: parent }) => (name === undefined ? [] : [[name, parent]])).toSorted()).toEqual([['double', 1], ['runner', undefined]])
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})

describe('modules of a model', () => {
  it('lie beside model.py or in the model\'s folder, and do not take the place of the standard library\'s', async () => {
    const code = pythonModel(`
def execute(self, requests):
    import beside, above, queue
    assert queue.SimpleQueue, queue
    return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[beside.value, above.value]], np.float32))])]`)
    await using test = await pythonServer({ m: { code, files: { '1/beside.py': 'value = 1', 'above.py': 'value = 2', '1/queue.py': 'raise ImportError("mine")', 'queue.py': 'raise ImportError("mine")' } } })
    expect(floatsOf((await test.server.infer(requestOf('m', [fp32('IN', [1, 1], [1])]))).response.outputs[0])).toEqual([1, 2])
  })
})
