import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { GrpcClient, type GrpcCallOptions, type GrpcStreamReply } from '../../testing/grpc-client.ts'
import { encodedRequest, framed, RawGrpcConnection, replyOf } from '../../testing/raw-grpc-call.ts'
import { TemporaryRepository } from '../../testing/temporary-repository.ts'
import { createTestServer, type TestServer } from '../../testing/test-server.ts'
import type { Frontend } from '../frontend.ts'
import { type GrpcFrontendOptions, startGrpcFrontend } from './grpc-frontend.ts'

const IDENTITY = 'backend: "identity"\ninput { name: "INPUT0" data_type: TYPE_INT32 dims: [ -1 ] }\noutput { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ -1 ] }\n'
const REPEAT = `backend: "repeat" model_transaction_policy { decoupled: true }
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
input { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }
input { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] }
`
const BYTES = 'backend: "identity"\ninput { name: "INPUT0" data_type: TYPE_STRING dims: [ 1 ] }\noutput { name: "OUTPUT0" data_type: TYPE_STRING dims: [ 1 ] }\n'
const slow = (milliseconds: number) => `${IDENTITY}parameters { key: "execute_delay_ms" value { string_value: "${milliseconds}" } }\n`

let repository: TemporaryRepository
let test: TestServer
let frontend: Frontend
let client: GrpcClient

async function start(options: Partial<GrpcFrontendOptions> = {}): Promise<void> {
  frontend = await startGrpcFrontend({ server: test.server, address: '127.0.0.1', port: 0, allowRepositoryControl: true, log: test.logs.logger('grpc'), ...options })
  client = new GrpcClient(frontend.port)
}

beforeEach(async () => {
  repository = await TemporaryRepository.create({
    'id/config.pbtxt': IDENTITY, 'id/1/x': '', 'slow/config.pbtxt': slow(60), 'slow/1/x': '', 'stuck/config.pbtxt': slow(3_600_000), 'stuck/1/x': '',
    'repeat/config.pbtxt': REPEAT, 'repeat/1/x': '', 'words/config.pbtxt': BYTES, 'words/1/x': '',
  })
  test = createTestServer([repository.path], { modelControlMode: 'none', exitTimeoutSeconds: 1 })
  await test.server.start()
  await start()
})

afterEach(async () => {
  client.close()
  await frontend.stop(0)
  await test.server.stop(0).catch(() => {})
  await repository[Symbol.asyncDispose]()
})

const words = (values: readonly number[]) => Buffer.from(Int32Array.from(values).buffer)
const identity = (model: string, id: string, values: readonly number[] = [1], fields: object = {}) =>
  ({ model_name: model, id, inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [values.length] }], raw_input_contents: [words(values)], ...fields })
const repeat = (id: string, values: readonly number[], delays: readonly number[] = values.map(() => 0), fields: object = {}) => ({
  model_name: 'repeat', id, raw_input_contents: [words(values), words(delays), words([0])], ...fields,
  inputs: [{ name: 'IN', datatype: 'INT32', shape: [values.length] }, { name: 'DELAY', datatype: 'UINT32', shape: [delays.length] }, { name: 'WAIT', datatype: 'UINT32', shape: [1] }],
})
const FINAL = (isFinal: boolean) => ({ triton_final_response: { bool_param: isFinal, parameter_choice: 'bool_param' } })
/** Id, first value and final flag of each answer. */
const brief = (replies: readonly GrpcStreamReply[]) => replies.map(({ error_message, infer_response }) => {
  const raw = (infer_response?.['raw_output_contents'] as Buffer[] | undefined)?.[0]
  const final = (infer_response?.['parameters'] as Record<string, { bool_param: boolean }> | undefined)?.['triton_final_response']?.bool_param
  return [infer_response?.['id'], error_message === '' ? raw?.readInt32LE(0) : error_message, final]
})

/** What a growing number comes to when nothing moves any more. */
async function settledValue(read: () => number): Promise<number> {
  let last = -1
  await expect.poll(() => {
    const before = last
    last = read()
    return last > 0 && last === before
  }, { interval: 500, timeout: 20_000 }).toBe(true)
  return last
}

describe('ModelStreamInfer', () => {
  it('answers requests to several models and ends with OK once the client has half-closed', async () => {
    const stream = client.stream().send(identity('id', 'a', [7]), repeat('b', [1, 2])).halfClose()
    const replies = brief(await stream.rest())
    expect(replies).toHaveLength(3)
    expect(replies).toEqual(expect.arrayContaining([['a', 7, true], ['b', 1, false], ['b', 2, false]]))
    expect(await stream.status).toMatchObject({ code: status.OK })
  })

  it('writes the answers of models that answer once in the order of the requests', async () => {
    const stream = client.stream().send(identity('slow', '1'), identity('id', '2'), identity('nope', '3'), identity('id', '4')).halfClose()
    expect(brief(await stream.rest())).toEqual([['1', 1, true], ['2', 1, true], ['3', "Request for unknown model: 'nope' is not found", undefined], ['4', 1, true]])
  })

  it('does not hold answers of decoupled models behind others', async () => {
    const stream = client.stream().send(identity('slow', 'slow'), repeat('b', [5]))
    expect(brief(await stream.take(1))).toEqual([['b', 5, false]])
    expect(brief(await stream.take(1))).toEqual([['slow', 1, true]])
  })

  it('tells the end of a decoupled request only where that was asked for', async () => {
    const asked = repeat('b', [5], [0], { model_version: '1', parameters: { triton_enable_empty_final_response: { bool_param: true } } })
    const stream = client.stream().send(asked, repeat('c', [])).halfClose()
    const replies = await stream.rest()
    expect(brief(replies)).toEqual([['b', 5, false], ['b', undefined, true]])
    expect(replies[1]).toEqual({ error_message: '', infer_response: { model_name: 'repeat', model_version: '1', id: 'b', parameters: FINAL(true), outputs: [], raw_output_contents: [] } })
  })

  it('keeps the stream open after errors, with the id alone where the request was refused', async () => {
    const stream = client.stream().send(identity('id', 'x', [1], { inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1] }] }), identity('id', 'y', [2]))
    const [refused, answered] = await stream.take(2)
    expect(refused).toEqual({
      error_message: "[request id: x] inference input 'INPUT0' data-type is 'FP32', but model 'id' expects 'INT32'",
      infer_response: { model_name: '', model_version: '', id: 'x', parameters: {}, outputs: [], raw_output_contents: [] },
    })
    expect(brief([answered as GrpcStreamReply])).toEqual([['y', 2, true]])
  })

  it.each<[string, GrpcCallOptions]>([['as a message', {}], ['as the status of the stream, with triton_grpc_error', { metadata: { triton_grpc_error: 'true' } }]])('tells an error of the execution %s', async (_how, options) => {
    const text = "class result not available for output due to unsupported type 'BYTES'"
    const outputs = [{ name: 'OUTPUT0', parameters: { classification: { int64_param: 1 } } }]
    const request = { model_name: 'words', id: 'e', outputs, inputs: [{ name: 'INPUT0', datatype: 'BYTES', shape: [1] }], raw_input_contents: [words([0])] }
    const stream = client.stream(options).send(request)
    if (options.metadata === undefined) {
      expect(await stream.take(1)).toEqual([{
        error_message: text, infer_response: { model_name: 'words', model_version: '', id: 'e', parameters: FINAL(true), outputs: [], raw_output_contents: [] },
      }])
    } else {
      expect(await stream.rest()).toEqual([])
      expect(await stream.status).toEqual({ code: status.INVALID_ARGUMENT, details: text })
    }
  })

  it('leaves errors of lookup and validation messages, also with triton_grpc_error', async () => {
    const stream = client.stream({ metadata: { triton_grpc_error: 'true' } }).send(identity('nope', 'a'), identity('id', 'b'))
    expect(brief(await stream.take(2))).toEqual([['a', "Request for unknown model: 'nope' is not found", undefined], ['b', 1, true]])
  })

  it('cancels what is under way when the client cancels', async () => {
    const stream = client.stream().send(identity('stuck', 'runs'), identity('stuck', 'waits'), identity('id', 'there'))
    await expect.poll(() => test.server.modelMetrics().find(({ model }) => model === 'stuck')?.pendingRequestCount).toBe(1)
    stream.cancel()
    expect(await stream.status).toMatchObject({ code: status.CANCELLED })
    await expect.poll(() => test.server.modelMetrics().find(({ model }) => model === 'stuck')?.pendingRequestCount).toBe(0)
  })

  it('reads no more requests while the client does not read', async () => {
    const values = Array.from({ length: 100_000 }, (_, index) => index)
    const connection = new RawGrpcConnection(frontend.port)
    const stream = connection.open('ModelStreamInfer')
    // Far more than windows and limits hold: 400 requests, and answers, of 400 KB.
    for (let index = 0; index < 400; index++) stream.write(framed(encodedRequest('ModelStreamInfer', identity('id', String(index), values))))
    stream.end()
    const executed = await settledValue(() => test.server.modelStatistics('id', '')[0]?.inference_count ?? 0)
    expect(executed).toBeLessThan(60)
    const { body, code } = await replyOf(stream)
    connection.close()
    expect(code).toBe(status.OK)
    expect(body.length).toBeGreaterThan(400 * 400_000)
  })

  it('makes a decoupled model wait while the client does not read', async () => {
    const values = Array.from({ length: 60_000 }, (_, index) => index)
    const connection = new RawGrpcConnection(frontend.port)
    const stream = connection.open('ModelStreamInfer')
    stream.end(framed(encodedRequest('ModelStreamInfer', repeat('r', values))))
    const answered = await settledValue(() => Object.keys(test.server.modelStatistics('repeat', '')[0]?.response_stats ?? {}).length)
    expect(answered).toBeLessThan(values.length)
    const { body, code } = await replyOf(stream)
    connection.close()
    expect(code).toBe(status.OK)
    expect(body.length).toBeGreaterThan(values.length * 20)
  })

  it('ends with INTERNAL when a message cannot be parsed', async () => {
    const connection = new RawGrpcConnection(frontend.port)
    const { code, details } = await connection.call('ModelStreamInfer', framed(Buffer.from([0x0a, 0x05, 0x61])))
    connection.close()
    expect([code, details]).toEqual([status.INTERNAL, expect.stringContaining('cannot parse the request of ModelStreamInfer: the message ends at byte 3')])
  })

  it('tells requests on an open stream that the server stops, and ends it when all are answered', async () => {
    const submitted = new Promise<void>((resolve) => {
      const { server } = test
      const inferStream = server.inferStream.bind(server)
      server.inferStream = (request, handlers) => { resolve(); return inferStream(request, handlers) }
    })
    const stream = client.stream().send(identity('slow', 'a'))
    const first = stream.take(2)
    // Its request is there: only then does the server have something to wait for.
    await submitted
    const stopped = frontend.stop(30)
    stream.send(identity('id', 'late'))
    expect(brief(await first)).toEqual([['a', 1, true], ['late', 'GRPC server is shutting down and has stopped accepting new requests.', undefined]])
    expect(await stream.status).toEqual({ code: status.UNAVAILABLE, details: 'GRPC server is shutting down and has stopped accepting new requests.' })
    await stopped
  })
})

describe('memory of messages', () => {
  it('is used again without mixing up tensors, in unary calls and in streams', async () => {
    let value = 0
    const values = () => Array.from({ length: 50_000 }, () => value)
    const worker = async () => {
      for (let round = 0; round < 8; round++) {
        const mine = ++value
        const reply = await client.call('ModelInfer', identity('id', String(mine), values()))
        const [raw] = reply['raw_output_contents'] as Buffer[]
        expect([reply['id'], new Set(new Int32Array(raw?.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length) ?? new ArrayBuffer(0)))]).toEqual([String(mine), new Set([mine])])
      }
    }
    const stream = client.stream()
    const streamed = stream.take(30)
    for (let index = 0; index < 30; index++) {
      value++
      stream.send(identity('id', String(value), values()))
    }
    await Promise.all([worker(), worker(), worker(), worker()])
    for (const { infer_response: reply } of await streamed) {
      const [raw] = reply?.['raw_output_contents'] as Buffer[]
      expect(new Set(new Int32Array(raw?.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length) ?? new ArrayBuffer(0)))).toEqual(new Set([Number(reply?.['id'])]))
    }
  })
})
