import { once } from 'node:events'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Tensor } from '../../contract/inference.ts'
import { LogHub } from '../../logger.ts'
import { InMemoryInferenceServer, inMemoryModel } from '../../testing/in-memory-inference-server.ts'
import { encodedRequest, framed, RawGrpcConnection, replyOf } from '../../testing/raw-grpc-call.ts'
import type { Frontend } from '../frontend.ts'
import { startGrpcFrontend } from './grpc-frontend.ts'

/** More than the buffers of a connection take at once. */
const BYTES = 16 << 20
const METHODS = ['ModelInfer', 'ModelStreamInfer'] as const

let output: Tensor
const server = new InMemoryInferenceServer([
  inMemoryModel('big', [{ name: 'INPUT0', datatype: 'UINT8', dims: [-1] }], { respond: () => ({ modelName: 'big', modelVersion: '1', id: '', parameters: {}, outputs: [output] }) }),
])
const request = framed(encodedRequest('ModelInfer', { model_name: 'big', inputs: [{ name: 'INPUT0', datatype: 'UINT8', shape: [1] }], raw_input_contents: [Buffer.from([1])] }))
let frontend: Frontend
let connection: RawGrpcConnection

beforeAll(async () => { frontend = await startGrpcFrontend({ server, address: '127.0.0.1', port: 0, allowRepositoryControl: true, log: new LogHub().logger('grpc') }) })
afterAll(async () => {
  connection.close()
  await frontend.stop(0)
})
beforeEach(() => {
  connection = new RawGrpcConnection(frontend.port)
  output = { name: 'OUTPUT0', datatype: 'UINT8', shape: [BYTES], data: new Uint8Array(BYTES).map((_value, index) => index % 251), isExclusive: true }
})

describe('the memory of outputs over gRPC', () => {
  it.each(METHODS.flatMap((method) => [{ method, isExclusive: true, left: 0 }, { method, isExclusive: false, left: BYTES }]))('is given back once all of it is written, where nobody else has it: %j', async ({ method, isExclusive, left }) => {
    const { data } = output
    const expected = Buffer.from(data)
    if (!isExclusive) output = { name: 'OUTPUT0', datatype: 'UINT8', shape: [BYTES], data }
    const stream = connection.open(method)
    stream.end(request)
    // A client that lets the server wait before it takes anything.
    await once(stream, 'response')
    expect(data.byteLength).toBe(BYTES)
    const { body, code } = await replyOf(stream)
    expect([code, body.subarray(body.length - BYTES).equals(expected)]).toEqual([0, true])
    await expect.poll(() => data.byteLength).toBe(left)
  })

  it.each(METHODS)('is left alone where the client goes away in the middle: %s', async (method) => {
    const { data } = output
    const stream = connection.open(method)
    stream.end(request)
    await once(stream, 'readable')
    connection.close()
    const other = new RawGrpcConnection(frontend.port)
    try {
      expect((await other.call('ServerLive', framed(Buffer.alloc(0)))).code).toBe(0)
      expect(data.byteLength).toBe(BYTES)
    } finally {
      other.close()
    }
  })
})
