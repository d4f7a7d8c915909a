/** generate and generate_stream where the model does what no built-in one does: fails late, answers nothing, or more than is read. */
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { InferenceRequest, InferenceResponse, Tensor } from '../../contract/inference.ts'
import type { InferenceCall, InferenceStreamHandlers } from '../../inference-server.ts'
import { LogHub } from '../../logger.ts'
import { ServerError } from '../../server-error.ts'
import { HttpClient } from '../../testing/http-client.ts'
import { InMemoryInferenceServer, inMemoryModel } from '../../testing/in-memory-inference-server.ts'
import { noSimulation } from '../../testing/test-devices.ts'
import type { Frontend } from '../frontend.ts'
import { headerForwardPattern } from '../header-forwarding.ts'
import { startHttpFrontend } from './http-frontend.ts'
import { jsonDouble } from './json-writer.ts'

type Script = (request: InferenceRequest, handlers: InferenceStreamHandlers) => void

/** Answers streams as the test says. */
class ScriptedServer extends InMemoryInferenceServer {
  script: Script = (_request, handlers) => { handlers.onDone(null) }
  cancelled = 0

  override inferStream(request: InferenceRequest, handlers: InferenceStreamHandlers): InferenceCall {
    this.script(request, handlers)
    return { cancel: () => { this.cancelled++ } }
  }
}

const response = (text: string): InferenceResponse => {
  const bytes = Buffer.from(text)
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytes.length)
  return { modelName: 'm', modelVersion: '1', id: '', parameters: {}, outputs: [{ name: 'OUT', datatype: 'BYTES', shape: [1], data: Buffer.concat([length, bytes]) }] }
}
/** Two tensors, and a string, of which each is printed in parts. */
const LONG_STRING = `"\\\n\u0001中文é${'x"'.repeat(80_000)}`
const NUMBERS = Float32Array.from({ length: 30_000 }, (_, index) => 1 + index / 7)
const large = (name: string): InferenceResponse => ({
  ...response(''),
  outputs: [
    { name, datatype: 'FP32', shape: [NUMBERS.length], data: new Uint8Array(NUMBERS.slice().buffer), isExclusive: true },
    { name: 'A', datatype: 'BYTES', shape: [1], data: (response(LONG_STRING).outputs[0] as Tensor).data }, { name: 'z', datatype: 'INT8', shape: [40_000], data: new Uint8Array(40_000).fill(255) },
  ],
})
const smallText = (text: string) => `{"OUT":"${text}","model_name":"m","model_version":"1"}`
const largeText = (name: string) => `{"A":${LONG_STRING_TEXT},"${name}":[${Array.from(NUMBERS, jsonDouble).join(',')}],"model_name":"m","model_version":"1","z":[${Array(40_000).fill('-1').join(',')}]}`
const LONG_STRING_TEXT = `"\\"\\\\\\n\\u0001中文é${'x\\"'.repeat(80_000)}"`
const half: InferenceResponse = { ...response(''), outputs: [{ name: 'OUT', datatype: 'FP16', shape: [1], data: new Uint8Array(2) }] }

let server: ScriptedServer
let frontend: Frontend
let log: LogHub
let client: HttpClient

beforeEach(async () => {
  server = new ScriptedServer([inMemoryModel('m', [{ name: 'IN', datatype: 'FP32', dims: [-1] }])])
  log = new LogHub()
  frontend = await startHttpFrontend({
    server, address: '127.0.0.1', port: 0, allowRepositoryControl: true, simulation: noSimulation(), log: log.logger('http'), headerForwardPattern: headerForwardPattern('x-', '--http-header-forward-pattern'),
  })
  client = new HttpClient(frontend.port)
})

afterEach(async () => {
  client.close()
  await frontend.stop(0)
})

/** A client that asks for a stream and reads nothing of it. */
function sendWithoutReading(): Socket {
  const socket = connect(frontend.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write('POST /v2/models/m/generate_stream HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n{"IN":1}')
  return socket
}

const generate = (action: 'generate' | 'generate_stream', body = '{"IN":1}', headers: Record<string, string> = {}) => client.send({ path: `/v2/models/m/${action}`, method: 'POST', body, headers })

describe('generate', () => {
  it.each<[string, Script, number, string]>([
    ['no answer', (_request, { onDone }) => { onDone(null) }, 200, '{"error":"generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses"}'],
    ['an answer before the end', (_request, { onResponse, onDone }) => { void onResponse(response('a')); onDone(null) }, 200, '{"OUT":"a","model_name":"m","model_version":"1"}'],
    ['an error and an answer', (_request, { onResponse, onError, onDone }) => { onError(new ServerError('NOT_FOUND', 'x')); void onResponse(response('a')); onDone(null) }, 400, '{"error":"generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses"}'],
    ['an error', (_request, { onDone }) => { onDone(new ServerError('UNAVAILABLE', 'busy')) }, 400, '{"error":"busy"}'],
    ['FP16', (_request, { onResponse, onDone }) => { void onResponse(half); onDone(null) }, 400, '{"error":"sending FP16 data via JSON is not supported. Please use the binary data format for output"}'],
    ['large tensors', (_request, { onResponse, onDone }) => { void onResponse(large('L')); onDone(null) }, 200, largeText('L')],
    ['two answers, large ones', (_request, { onResponse, onDone }) => { void onResponse(large('L')); void onResponse(large('L')); onDone(null) }, 200, '{"error":"generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses"}'],
    ['a refusal at the door', () => { throw new ServerError('UNAVAILABLE', 'full') }, 503, '{"error":"full"}'],
  ])('%s', async (_name, script, status, body) => {
    server.script = script
    const answer = await generate('generate')
    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([status, body, 'application/json'])
  })
})

describe('generate_stream', () => {
  it.each<[string, Script, number, string]>([
    ['no answer', (_request, { onDone }) => { onDone(null) }, 200, ''],
    ['an error after an answer', (_request, { onResponse, onDone }) => { void onResponse(response('a')); onDone(new ServerError('INTERNAL', 'late')) }, 200, 'data: {"OUT":"a","model_name":"m","model_version":"1"}\n\ndata: {"error":"late"}\n\n'],
    ['large answers and small ones, none waited for, and an error', (_request, { onResponse, onDone }) => {
      for (const each of [response('a'), large('B'), response('c'), large('D'), large('E')]) void onResponse(each)
      onDone(new ServerError('INTERNAL', 'late'))
    }, 200, [smallText('a'), largeText('B'), smallText('c'), largeText('D'), largeText('E'), '{"error":"late"}'].map((text) => `data: ${text}\n\n`).join('')],
    ['an error before a large answer', (_request, { onResponse, onError, onDone }) => { onError(new ServerError('INTERNAL', 'early')); void onResponse(large('B')); onDone(null) }, 400, `data: {"error":"early"}\n\ndata: ${largeText('B')}\n\n`],
    ['an error first', (_request, { onResponse, onError, onDone }) => { onError(new ServerError('INTERNAL', 'early')); void onResponse(response('a')); onDone(null) }, 400, 'data: {"error":"early"}\n\ndata: {"OUT":"a","model_name":"m","model_version":"1"}\n\n'],
  ])('%s', async (_name, script, status, body) => {
    server.script = script
    const answer = await generate('generate_stream')
    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([status, body, 'text/event-stream; charset=utf-8'])
  })

  it('makes the model wait for a client that does not read, and go on when it does', async () => {
    const piece = response('x'.repeat(1 << 20))
    let waits = 0
    const done = Promise.withResolvers<void>()
    server.script = (_request, handlers) => {
      const run = async () => {
        for (let i = 0; i < 32; i++) {
          const wait = handlers.onResponse(piece)
          if (wait !== undefined) waits++
          await wait
        }
        handlers.onDone(null)
        done.resolve()
      }
      void run()
    }
    const socket = sendWithoutReading()
    await expect.poll(() => waits).toBeGreaterThan(0)
    const isHeld = await Promise.race([done.promise.then(() => false), new Promise<boolean>((resolve) => { setTimeout(() => { resolve(true) }, 100) })])
    expect(isHeld).toBe(true)
    let received = 0
    socket.on('data', (chunk: Buffer) => { received += chunk.length })
    await done.promise
    await expect.poll(() => received, { timeout: 10_000 }).toBeGreaterThan(32 << 20)
    socket.destroy()
  })

  it('cuts off a client that does not read where the model does not wait', async () => {
    const piece = response('x'.repeat(1 << 20))
    let sent = 0
    server.script = (_request, handlers) => {
      const timer = setInterval(() => {
        sent++
        void handlers.onResponse(piece)
        if (server.cancelled > 0 || sent > 1000) { clearInterval(timer); handlers.onDone(new ServerError('CANCELLED', '')) }
      }, 0)
    }
    const socket = sendWithoutReading()
    await expect.poll(() => server.cancelled, { timeout: 10_000 }).toBe(1)
    expect(sent).toBeLessThan(200)
    socket.destroy()
  })

  it('sends an answer of more than may wait, as long as nothing waits behind it', async () => {
    const length = 65 << 20
    server.script = (_request, { onResponse, onDone }) => { void onResponse(response('x'.repeat(length))); onDone(null) }
    const { status, body } = await generate('generate_stream')
    expect([status, body.length]).toEqual([200, `data: ${smallText('')}\n\n`.length + length])
  })
})

describe('an answer that cannot be printed to its end', () => {
  it.each(['generate', 'generate_stream'] as const)('breaks off, and the log says why: %s', async (action) => {
    server.script = (_request, { onResponse, onDone }) => {
      const made = large('L')
      void onResponse(made)
      // As if somebody had given back what was not theirs.
      for (const { data } of made.outputs) (data.buffer as ArrayBuffer).transfer(0)
      onDone(null)
    }
    await expect(generate(action)).rejects.toThrow()
    expect(log.recent(10).filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual(['unexpected error while answering a request'])
    server.script = (_request, { onResponse, onDone }) => { void onResponse(response('a')); onDone(null) }
    expect((await generate('generate')).text).toBe(smallText('a'))
  })
})

describe('header forwarding', () => {
  it('hands matching headers on as string parameters under the names they were sent with', async () => {
    let seen: InferenceRequest['parameters'] = {}
    server.script = ({ parameters }, { onDone }) => { seen = parameters; onDone({ response: response('a'), timing: { queueNanoseconds: 0, computeInputNanoseconds: 0, computeInferNanoseconds: 0, computeOutputNanoseconds: 0, totalNanoseconds: 0, batchSize: 1 } }) }
    await generate('generate', '{"IN":1,"k":2}', { 'X-Trace': 'a', Other: 'b', 'x-n': '1' })
    expect({ ...seen }).toEqual({ 'X-Trace': 'a', 'x-n': '1', k: 2n })
  })
})
