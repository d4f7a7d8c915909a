import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ServerError } from '../../server-error.ts'
import { PYTHON_CONFIG, pythonModel, pythonServer, type PythonServer } from '../../testing/python-models.ts'
import { floatsOf, fp32, requestOf } from '../../testing/test-server.ts'

const DECOUPLED = `${PYTHON_CONFIG} model_transaction_policy { decoupled: true }`
const FINAL = 'pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL'
/** Answers a request from a function of its value and its sender. */
const streaming = (body: string) => pythonModel(`
def execute(self, requests):
    for request in requests:
        self.answer(request, request.get_response_sender(), int(request.inputs()[0].as_numpy().flat[0]))
    return None
def out(self, value):
    return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[value]], np.float32))], parameters={"n": value})
def answer(self, request, sender, value):
${body.trim().split('\n').map((line) => `    ${line}`).join('\n')}`)

const MODELS = {
  count: { config: DECOUPLED, code: streaming(`
for index in range(value):
    sender.send(self.out(index))
sender.send(flags=${FINAL})`) },
  later: { config: DECOUPLED, code: streaming(`
def work():
    time.sleep(0.02)
    sender.send(self.out(value))
    sender.send(self.out(value + 1), ${FINAL})
threading.Thread(target=work).start()`) },
  errors: { config: DECOUPLED, code: streaming(`
sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("first", pb_utils.TritonError.NOT_FOUND)))
sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("last", pb_utils.TritonError.UNAVAILABLE)), ${FINAL})`) },
  misuse: { config: DECOUPLED, code: streaming(`
told = []
def attempt(*args):
    try:
        sender.send(*args)
    except pb_utils.TritonModelException as error:
        told.append(str(error))
attempt(self.out(1), 5)
attempt(None, 0)
sender.send(flags=${FINAL})
attempt(self.out(1), 0)
pb_utils.Logger.log_info("|".join(told))`) },
  list: { config: DECOUPLED, code: pythonModel('def execute(self, requests):\n    return []') },
  raises: { config: DECOUPLED, code: streaming('sender.send(self.out(1))\nraise RuntimeError("too bad")') },
  drops: { config: DECOUPLED, code: streaming('sender.send(self.out(1))') },
  cancelled: { config: DECOUPLED, code: streaming(`
def work():
    while not sender.is_cancelled():
        time.sleep(0.005)
    sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("stopped", pb_utils.TritonError.CANCELLED)), ${FINAL})
threading.Thread(target=work).start()`) },
  endless: { config: DECOUPLED, code: streaming(`
while not sender.is_cancelled():
    sender.send(self.out(value))
    time.sleep(0.002)
sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("stopped", pb_utils.TritonError.CANCELLED)), ${FINAL})`) },
  coroutine: { config: DECOUPLED, code: pythonModel(`
async def execute(self, requests):
    for request in requests:
        sender = request.get_response_sender()
        value = float(request.inputs()[0].as_numpy().flat[0])
        if value < 0:
            raise ValueError("negative")
        for index in range(3):
            await asyncio.sleep(0.001)
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[value + index]], np.float32))]))
        sender.send(flags=${FINAL})`) },
  single: { config: PYTHON_CONFIG, code: pythonModel(`
def execute(self, requests):
    told = []
    def attempt(*args):
        try:
            sender.send(*args)
        except pb_utils.TritonModelException as error:
            told.append(str(error))
    sender = requests[0].get_response_sender()
    response = pb_utils.InferenceResponse([pb_utils.Tensor("OUT", requests[0].inputs()[0].as_numpy())])
    attempt(None, ${FINAL})
    sender.send(response)
    attempt(response, 0)
    sender.send(flags=${FINAL})
    attempt(None, ${FINAL})
    pb_utils.Logger.log_info("|".join(told))
    return None`) },
  singleLater: { config: PYTHON_CONFIG, code: pythonModel(`
def execute(self, requests):
    for request in requests:
        def work(sender=request.get_response_sender(), x=np.array(request.inputs()[0].as_numpy())):
            time.sleep(0.02)
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", x)]), ${FINAL})
        threading.Thread(target=work).start()
    return None`) },
}

describe('a decoupled Python model', () => {
  let test: PythonServer
  beforeAll(async () => { test = await pythonServer(MODELS) }, 180_000)
  afterAll(async () => { await test[Symbol.asyncDispose]() })

  /** All answers to one request: values, texts of errors, and last `null` for an end without outputs. */
  function stream(model: string, value: number, onAnswer?: (cancel: () => void) => void): Promise<(number | string | null)[]> {
    return new Promise((resolve) => {
      const answers: (number | string | null)[] = []
      const call = test.server.inferStream(requestOf(model, [fp32('IN', [1, 1], [value])]), {
        onResponse: ({ outputs }) => { answers.push(floatsOf(outputs[0])[0] ?? NaN) },
        onError: (error) => { answers.push(`${error.kind}: ${error.message}`) },
        onDone: (end) => { resolve([...answers, end === null ? null : 'kind' in end ? `${(end as ServerError).kind}: ${(end as ServerError).message}` : floatsOf(end.response.outputs[0])[0] ?? NaN]) },
      })
      onAnswer?.(() => { call.cancel() })
    })
  }
  const logged = (model: string, message: string) => expect.poll(() => test.logs.recent(1000, model).map((entry) => entry.message)).toContain(message)

  it('answers any number of times', async () => {
    expect(await stream('count', 0)).toEqual([null])
    expect(await stream('count', 3)).toEqual([0, 1, 2, null])
    const many = await stream('count', 500)
    expect(many).toEqual([...Array.from({ length: 500 }, (_none, index) => index), null])
  })

  it('answers after execute is over, with outputs in the last answer', async () => {
    expect(await Promise.all([stream('later', 5), stream('later', 7)])).toEqual([[5, 6], [7, 8]])
  })

  it('answers with errors', async () => { expect(await stream('errors', 1)).toEqual(['NOT_FOUND: first', 'UNAVAILABLE: last']) })

  it('hears of wrong sends', async () => {
    expect(await stream('misuse', 1)).toEqual([null])
    await logged('misuse', 'Unable to send response. Unsupported flag provided.|Inference Response object must be provided when the response flags is set to zero.|'
      + 'Unable to send response. Response sender has been closed.')
  })

  it('must return None', async () => {
    expect(await stream('list', 1)).toEqual(["INTERNAL: Failed to process the request(s) for model 'list_0', message: Python model 'list_0' is using the decoupled mode and the execute function must return None."])
  })

  it('fails requests with what it raises, and with what it lets go of', async () => {
    const [first, last] = await stream('raises', 1)
    expect([first, last]).toEqual([1, expect.stringMatching(/^INTERNAL: Failed to process the request\(s\) for model 'raises_0', message: RuntimeError: too bad\n\nAt:\n {2}.*model\.py\(\d+\): answer\n/)])
    expect(await stream('drops', 1)).toEqual([1, expect.stringContaining("model instance 'drops_0', message: the model let go of a request without a last answer to it")])
  })

  it('hears of cancellations', async () => {
    expect(await stream('cancelled', 1, (cancel) => { setTimeout(cancel, 50) })).toEqual(['CANCELLED: stopped'])
  })

  it('waits for whoever takes its answers', async () => {
    const { promise: wait, resolve: goOn } = Promise.withResolvers<undefined>()
    const { promise: over, resolve: end } = Promise.withResolvers<unknown>()
    let taken = 0
    const call = test.server.inferStream(requestOf('endless', [fp32('IN', [1, 1], [1])]), {
      onResponse: () => (++taken === 1 ? wait : undefined), onError: () => {}, onDone: end,
    })
    await expect.poll(() => taken).toBeGreaterThan(0)
    // It sends every few milliseconds unless it waits.
    let before = -1
    await expect.poll(() => { const stands = taken === before; before = taken; return stands }, { interval: 500, timeout: 10_000 }).toBe(true)
    goOn(undefined)
    await expect.poll(() => taken).toBeGreaterThan(before + 5)
    call.cancel()
    expect(await over).toMatchObject({ kind: 'CANCELLED', message: 'stopped' })
  })

  it('may be a coroutine, which goes on while others start', async () => {
    expect(await Promise.all([stream('coroutine', 10), stream('coroutine', 20)])).toEqual([[10, 11, 12, null], [20, 21, 22, null]])
    expect(await stream('coroutine', -1)).toEqual([expect.stringMatching(/message: ValueError: negative\n/)])
  })

  it('that is not decoupled may answer once through a sender, also later', async () => {
    expect(await stream('single', 4)).toEqual([4])
    await logged('single', 'Unable to send response. Non-decoupled model cannot send complete final before sending a response.|'
      + 'Unable to send response. Non-decoupled model cannot send more than one response.|Unable to send response. Response sender has been closed.')
    expect(await Promise.all([stream('singleLater', 1), stream('singleLater', 2)])).toEqual([[1], [2]])
  })
})
