/** What the schedulers promise, as a gRPC client sees it: the order of answers, and what becomes of calls that it cancels. */
import type { ClientHttp2Stream } from 'node:http2'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { encodedRequest, framed, RawGrpcConnection, replyOf } from '../../testing/raw-grpc-call.ts'
import { identityConfig, TemporaryRepository } from '../../testing/temporary-repository.ts'
import { createTestServer, type TestServer } from '../../testing/test-server.ts'
import type { Frontend } from '../frontend.ts'
import { startGrpcFrontend } from './grpc-frontend.ts'

/** The second instance takes twenty times as long as the first. */
const UNEVEN = 'instance_group { count: 2 kind: KIND_CPU } parameters { key: "execute_delay_ms" value { string_value: "20" } } parameters { key: "instance_wise_delay_multiplier" value { string_value: "20" } }'
const HOURS = 'parameters { key: "execute_delay_ms" value { string_value: "7200000" } }'
const REPEAT = `backend: "repeat" model_transaction_policy { decoupled: true } instance_group { count: 1 kind: KIND_CPU }
input [ { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }, { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }, { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] } ]`

let repository: TemporaryRepository
let test: TestServer
let frontend: Frontend
let connection: RawGrpcConnection

beforeAll(async () => {
  repository = await TemporaryRepository.create({
    'ordered/config.pbtxt': identityConfig(`${UNEVEN} dynamic_batching { preserve_ordering: true }`, 1), 'ordered/1/x': '',
    'unordered/config.pbtxt': identityConfig(`${UNEVEN} dynamic_batching { }`, 1), 'unordered/1/x': '',
    'stuck/config.pbtxt': identityConfig(`instance_group { count: 1 kind: KIND_CPU } ${HOURS} dynamic_batching { default_queue_policy { max_queue_size: 1 } }`, 1), 'stuck/1/x': '',
    'repeat/config.pbtxt': REPEAT, 'repeat/1/x': '',
  })
  test = createTestServer([repository.path], { modelControlMode: 'none', exitTimeoutSeconds: 1 })
  await test.server.start()
  frontend = await startGrpcFrontend({ server: test.server, address: '127.0.0.1', port: 0, allowRepositoryControl: true, log: test.logs.logger('grpc') })
  connection = new RawGrpcConnection(frontend.port)
})

afterAll(async () => {
  connection.close()
  await frontend.stop(0)
  // The stuck model does not come to an end.
  await test.server.stop(0).catch(() => {})
  await repository[Symbol.asyncDispose]()
})

function send(method: string, request: object): ClientHttp2Stream {
  const stream = connection.open(method)
  stream.end(framed(encodedRequest(method, request)))
  return stream
}

const infer = (model: string): ClientHttp2Stream => send('ModelInfer', { model_name: model, inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 4] }], raw_input_contents: [Buffer.alloc(16)] })
const pendingOf = (model: string) => test.server.modelMetrics().find((metrics) => metrics.model === model)?.pendingRequestCount
const words = (...values: number[]) => Buffer.from(Uint32Array.from(values).buffer)

describe('calls to a model with several instances', () => {
  /** Numbers of the calls, in the order of their answers. */
  async function orderOf(model: string): Promise<number[]> {
    const order: number[] = []
    await Promise.all(Array.from({ length: 6 }, async (_unused, index) => {
      expect((await replyOf(infer(model))).code).toBe(0)
      order.push(index)
    }))
    return order
  }

  it('are answered in their order with preserve_ordering, which without it they are not', async () => {
    expect(await orderOf('unordered')).not.toEqual([0, 1, 2, 3, 4, 5])
    expect(await orderOf('ordered')).toEqual([0, 1, 2, 3, 4, 5])
  })
})

describe('a call that the client cancels', () => {
  it('frees its place in the queue', async () => {
    infer('stuck')
    const waiting = infer('stuck')
    await expect.poll(() => pendingOf('stuck'), { timeout: 60_000 }).toBe(1)
    expect(await replyOf(infer('stuck'))).toMatchObject({ code: 14, details: expect.stringContaining('Exceeds maximum queue size') as string })
    waiting.close(8)
    await expect.poll(() => pendingOf('stuck'), { timeout: 60_000 }).toBe(0)
    const next = infer('stuck')
    await expect.poll(() => pendingOf('stuck'), { timeout: 60_000 }).toBe(1)
    next.close(8)
  })

  it('stops work that can be stopped: the instance is free for the next', async () => {
    const ask = (wait: number) => send('ModelStreamInfer', {
      model_name: 'repeat', raw_input_contents: [words(7), words(0), words(wait)],
      inputs: [{ name: 'IN', datatype: 'INT32', shape: [1] }, { name: 'DELAY', datatype: 'UINT32', shape: [1] }, { name: 'WAIT', datatype: 'UINT32', shape: [1] }],
    })
    const endless = ask(0xffff_ffff)
    const next = replyOf(ask(0))
    await expect.poll(() => pendingOf('repeat'), { timeout: 60_000 }).toBe(1)
    endless.close(8)
    expect((await next).code).toBe(0)
  })
})
