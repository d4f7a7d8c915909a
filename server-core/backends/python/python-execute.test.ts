import { describe, expect, it } from 'vitest'
import type { InferenceRequest, Tensor } from '../../contract/inference.ts'
import { answering, PYTHON_CONFIG, pythonModel, pythonServer } from '../../testing/python-models.ts'
import { floatsOf, fp32, requestOf, type TestServer } from '../../testing/test-server.ts'

const ask = (test: TestServer, model: string, values: readonly number[], more: Partial<InferenceRequest> = {}) =>
  test.server.infer(requestOf(model, [fp32('IN', [1, values.length], values)], more)).then(({ response }) => response)
const textOf = (promise: Promise<unknown>) => promise.then(() => 'no error', (error: unknown) => (error as Error).message)
const stringsOf = (tensor: Tensor | undefined) => {
  const data = Buffer.from(tensor?.data ?? [])
  const strings: string[] = []
  for (let position = 0; position < data.length;) {
    const length = data.readUInt32LE(position)
    strings.push(data.toString('utf8', position + 4, position + 4 + length))
    position += 4 + length
  }
  return strings
}
/** A model whose execute is this. */
const executing = (body: string) => pythonModel(`def execute(self, requests):\n${body.trim().split('\n').map((line) => `    ${line}`).join('\n')}`)
const failing = (instance: string, text: string) => `Failed to process the request(s) for model '${instance}', message: ${text}`

describe('a Python model', () => {
  it('answers batches with what it computes, as long as one input or many are', async () => {
    await using test = await pythonServer({ m: { code: answering('x * 2'), config: `${PYTHON_CONFIG} dynamic_batching { max_queue_delay_microseconds: 20000 }` } })
    const answers = await Promise.all([1, 2, 3].map((value) => ask(test, 'm', [value, 10 * value])))
    expect(answers.map(({ outputs }) => floatsOf(outputs[0]))).toEqual([[2, 20], [4, 40], [6, 60]])
    expect(answers[0]?.outputs[0]).toMatchObject({ name: 'OUT', datatype: 'FP32', shape: [1, 2] })
    // More than the regions have at first.
    const long = Array.from({ length: 700_000 }, (_none, index) => index)
    for (let round = 0; round < 3; round++) expect(floatsOf((await ask(test, 'm', long)).outputs[0]).at(-1)).toBe(2 * 699_999)
    expect(test.server.modelStatistics('m', '')[0]).toMatchObject({ inference_count: 6, inference_stats: { success: { count: 6 }, fail: { count: 0 } } })
  })

  it('gives an input back as output without a copy in Python', async () => {
    const code = executing(`
request = requests[0]
from pb_stub.session import current
x = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
before = current()._own_memory.used_blocks
response = pb_utils.InferenceResponse([pb_utils.Tensor("OUT", x)])
described = response._described(current())
assert described["outputs"][0][3] == 0 and current()._own_memory.used_blocks == before, described
return [response]`)
    await using test = await pythonServer({ m: { code } })
    expect(floatsOf((await ask(test, 'm', [1, 2, 3])).outputs[0])).toEqual([1, 2, 3])
  })

  it('gets every datatype, and gives it back', async () => {
    const types = { BOOL: 1, UINT8: 1, UINT16: 2, UINT32: 4, UINT64: 8, INT8: 1, INT16: 2, INT32: 4, INT64: 8, FP16: 2, FP32: 4, FP64: 8, BF16: 2 } as const
    const names = [...Object.keys(types), 'BYTES'] as (keyof typeof types | 'BYTES')[]
    const configName = (type: string) => `TYPE_${type === 'BYTES' ? 'STRING' : type}`
    const config = `backend: "python" max_batch_size: 0 ${names.map((type) => `input { name: "I${type}" data_type: ${configName(type)} dims: [ 2 ] } output { name: "O${type}" data_type: ${configName(type)} dims: [ 2 ] }`).join(' ')}`
    const code = executing(`
outputs = []
for tensor in requests[0].inputs():
    if tensor.name() == "IBF16":
        outputs.append(pb_utils.Tensor.from_dlpack("OBF16", tensor.to_dlpack()))
    elif tensor.name() == "IBYTES":
        outputs.append(pb_utils.Tensor("OBYTES", np.array([item.decode() + "!" for item in tensor.as_numpy()], dtype=object)))
    else:
        outputs.append(pb_utils.Tensor("O" + tensor.name()[1:], np.array(tensor.as_numpy())))
return [pb_utils.InferenceResponse(outputs)]`)
    await using test = await pythonServer({ m: { code, config } })
    const bytes = Buffer.from([1, 0, 0, 0, 97, 2, 0, 0, 0, 0xc3, 0xa9])
    const inputs = names.map((type): Tensor => ({ name: `I${type}`, datatype: type, shape: [2], data: type === 'BYTES' ? bytes : Uint8Array.from({ length: 2 * types[type] }, (_none, index) => (type === 'BOOL' ? index % 2 : index)) }))
    const { response } = await test.server.infer(requestOf('m', inputs))
    for (const input of inputs) {
      const output = response.outputs.find(({ name }) => name === `O${input.datatype}`)
      expect([output?.datatype, output?.shape]).toEqual([input.datatype, [2]])
      if (input.datatype === 'BYTES') expect(stringsOf(output)).toEqual(['a!', 'é!'])
      else expect([...output?.data ?? []]).toEqual([...input.data])
    }
  })

  it('reads everything about a request, and answers with parameters', async () => {
    const config = `backend: "python" max_batch_size: 0 input { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] } output { name: "TEXT" data_type: TYPE_STRING dims: [ 1 ] } output { name: "OTHER" data_type: TYPE_FP32 dims: [ 1 ] }
sequence_batching { max_sequence_idle_microseconds: 5000000 }`
    const code = executing(`
request = requests[0]
told = [request.request_id(), request.correlation_id(), request.flags(), request.timeout(), request.parameters(), sorted(request.requested_output_names()), request.is_cancelled(), request.trace().get_context()]
assert type(request.requested_output_names()) is set
return [pb_utils.InferenceResponse([pb_utils.Tensor("TEXT", np.array([json.dumps(told)], dtype=object)), pb_utils.Tensor("OTHER", np.zeros(1, np.float32)), pb_utils.Tensor("NOT_IN_CONFIG", np.zeros(1))], parameters={"big": 1 << 60, "yes": True, "text": "é"})]`)
    await using test = await pythonServer({ m: { code, config } })
    const request = requestOf('m', [fp32('IN', [1], [1])], {
      id: 'r1', sequenceId: 18_446_744_073_709_551_615n, sequenceStart: true, sequenceEnd: true, timeoutMicroseconds: 1_000_000, requestedOutputs: ['TEXT'],
      parameters: { i: 9_007_199_254_740_993n, d: 2, s: 'x"y', b: false },
    })
    const { response } = await test.server.infer(request)
    expect(response.outputs.map(({ name }) => name)).toEqual(['TEXT'])
    expect(stringsOf(response.outputs[0])[0]).toBe(
      '["r1", 18446744073709551615, 3, 1000000, "{\\"i\\":9007199254740993,\\"d\\":2.0,\\"s\\":\\"x\\\\\\"y\\",\\"b\\":false}", ["TEXT"], false, null]')
    expect(response.parameters).toEqual({ big: 1n << 60n, yes: true, text: 'é' })
    const text = await test.server.infer({ ...request, sequenceId: 'name' })
    expect([JSON.parse(stringsOf(text.response.outputs[0])[0] ?? '')].flat()[1]).toBe('name')
    expect(text.response.outputs).toHaveLength(1)
    const all = await test.server.infer({ ...request, requestedOutputs: [] })
    expect(all.response.outputs.map(({ name }) => name)).toEqual(['TEXT', 'OTHER'])
  })

  it('answers single requests with errors of any code, others of the batch with outputs', async () => {
    const code = executing(`
responses = []
for request in requests:
    value = int(request.inputs()[0].as_numpy().flat[0])
    if value < 8:
        responses.append(pb_utils.InferenceResponse(output_tensors=[], error=pb_utils.TritonError("no %d" % value, value)))
    else:
        responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", request.inputs()[0].as_numpy())]))
return responses`)
    await using test = await pythonServer({ m: { code, config: `${PYTHON_CONFIG} dynamic_batching { max_queue_delay_microseconds: 20000 }` } })
    const kinds = ['UNKNOWN', 'INTERNAL', 'NOT_FOUND', 'INVALID_ARG', 'UNAVAILABLE', 'UNSUPPORTED', 'ALREADY_EXISTS', 'CANCELLED']
    const ends = await Promise.allSettled(Array.from({ length: 9 }, (_none, value) => ask(test, 'm', [value])))
    expect(ends.slice(0, 8).map((end) => (end.status === 'rejected' ? [(end.reason as { kind: string }).kind, (end.reason as Error).message] : end)))
      .toEqual(kinds.map((kind, value) => [kind, `no ${value}`]))
    expect(ends[8]?.status).toBe('fulfilled')
    expect(test.server.modelStatistics('m', '')[0]).toMatchObject({ inference_stats: { success: { count: 1 }, fail: { count: 8 } } })
  })

  const WRONG_RETURNS: readonly (readonly [what: string, body: string, text: string])[] = [
    ['no list', 'return {}', "Expected a list in the execute return, found type '<class 'dict'>'."],
    ['too many', 'return [pb_utils.InferenceResponse()] * 2', 'Number of InferenceResponse objects do not match the number of InferenceRequest objects. InferenceRequest(s) size is:1, and InferenceResponse(s) size is:2\n'],
    ['no responses', 'return [5]', "Expected an 'InferenceResponse' object in the execute function return list, found type '<class 'int'>'."],
    ['nothing', 'return None', "Expected an 'InferenceResponse' object in the execute function return list, found type '<class 'NoneType'>'. execute may return None only for requests that it put back or that a response sender answers."],
    ['a response for what was put back', 'requests[0].set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)\nreturn [pb_utils.InferenceResponse()]',
      "Expected a None object in the execute function return list for reschduled request, found type '<class 'pb_stub.response.InferenceResponse'>'."],
    ['two answers', 'requests[0].get_response_sender().send(pb_utils.InferenceResponse([]), 1)\nreturn [pb_utils.InferenceResponse()]', 'no error'],
  ]
  it('hears what is wrong with what it returned', async () => {
    await using test = await pythonServer(Object.fromEntries(WRONG_RETURNS.map(([, body], index) => [`m${index}`, { code: executing(body) }])))
    for (const [index, [, , text]] of WRONG_RETURNS.entries()) {
      expect(await textOf(ask(test, `m${index}`, [1]))).toBe(text === 'no error' ? text : failing(`m${index}_0`, text))
    }
  }, 120_000)

  it('fails the whole batch with an exception, its class, text and places, and runs on', async () => {
    const code = pythonModel(`
def execute(self, requests):
    if requests[0].inputs()[0].as_numpy().flat[0] == 0:
        return self.inner()
    return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", requests[0].inputs()[0].as_numpy())])]
def inner(self):
    raise ValueError("bad value")`)
    await using test = await pythonServer({ m: { code } })
    const path = `${test.repository.path}/m/1/model.py`
    expect(await textOf(ask(test, 'm', [0]))).toBe(failing('m_0', `ValueError: bad value\n\nAt:\n  ${path}(12): inner\n  ${path}(9): execute\n`))
    expect(floatsOf((await ask(test, 'm', [4])).outputs[0])).toEqual([4])
    await expect.poll(() => test.logs.recent(100, 'm').some(({ message }) => message === 'ValueError: bad value')).toBe(true)
  })

  it('says so where it has no execute', async () => {
    await using test = await pythonServer({ m: { code: pythonModel('def initialize(self, args):\n    pass') } })
    expect(await textOf(ask(test, 'm', [0]))).toBe(failing('m_0', `Python model ${test.repository.path}/m/1/model.py does not implement \`execute\` method.`))
  })

  it('may be a coroutine, whose tasks go on after it and whose loop is that of the next one', async () => {
    const code = pythonModel(`
async def execute(self, requests):
    await asyncio.sleep(0.001)
    loop = asyncio.get_running_loop()
    assert getattr(self, "loop", loop) is loop
    self.loop = loop
    x = np.array(requests[0].inputs()[0].as_numpy())
    if x.flat[0] == 0:
        self.task = asyncio.create_task(self.later(requests[0].get_response_sender(), x))
        return None
    return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", x + 1)])]
async def later(self, sender, x):
    await asyncio.sleep(0.01)
    sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", x - 1)]), pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)`)
    await using test = await pythonServer({ m: { code } })
    for (const [value, answer] of [[1, 2], [0, -1], [2, 3], [0, -1]] as const) expect(floatsOf((await ask(test, 'm', [value])).outputs[0])).toEqual([answer])
  })

  it('hears of cancellations', async () => {
    const code = executing(`
sender = requests[0].get_response_sender()
while not requests[0].is_cancelled():
    time.sleep(0.005)
return [pb_utils.InferenceResponse(error=pb_utils.TritonError("cancelled: %s" % sender.is_cancelled(), pb_utils.TritonError.CANCELLED))]`)
    await using test = await pythonServer({ m: { code } })
    const controller = new AbortController()
    const answer = textOf(test.server.infer(requestOf('m', [fp32('IN', [1, 1], [1])]), { signal: controller.signal }))
    await expect.poll(() => test.server.modelMetrics()[0]?.pendingRequestCount).toBe(0)
    controller.abort()
    expect(await answer).toBe('cancelled: True')
  })

  it('puts requests of iterative sequences back', async () => {
    const config = `backend: "python" max_batch_size: 8 input { name: "IN" data_type: TYPE_FP32 dims: [ 1 ] } output { name: "OUT" data_type: TYPE_FP32 dims: [ 1 ] }
sequence_batching { iterative_sequence: true }`
    const code = pythonModel(`
def initialize(self, args):
    self.rounds = 0
def execute(self, requests):
    self.rounds += 1
    if self.rounds % 4 != 0:
        for request in requests:
            request.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
        return [None for _ in requests]
    return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[self.rounds]], np.float32))]) for _ in requests]`)
    await using test = await pythonServer({ m: { code, config }, plain: { code } })
    expect(floatsOf((await test.server.infer(requestOf('m', [fp32('IN', [1, 1], [1])]))).response.outputs[0])).toEqual([4])
    expect(await textOf(ask(test, 'plain', [1]))).toBe('Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag.')
  })
})
