import { createConnection } from 'node:net'
import { constants } from 'node:http2'
import { deflateSync, gunzipSync, gzipSync } from 'node:zlib'
import { credentials, status } from '@grpc/grpc-js'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { InferenceRequest, InferenceResponse } from '../../../contract/inference.ts'
import { LogHub } from '../../../logger.ts'
import { GrpcClient, type GrpcClientOptions } from '../../../testing/grpc-client.ts'
import { InMemoryInferenceServer, inMemoryModel } from '../../../testing/in-memory-inference-server.ts'
import { decodedReply, encodedRequest, framed, framePrefix, RawGrpcConnection, replyOf } from '../../../testing/raw-grpc-call.ts'
import { TestCertificates } from '../../../testing/test-certificates.ts'
import type { Frontend } from '../../frontend.ts'
import { LinearPattern } from '../../linear-pattern.ts'
import { type GrpcFrontendOptions, startGrpcFrontend } from '../grpc-frontend.ts'
import { DEFAULT_GRPC_TRANSPORT_OPTIONS, type GrpcTransportOptions, readTlsFiles } from '../grpc-options.ts'
import { SHUTTING_DOWN } from './grpc-server.ts'

const cleanUps: (() => Promise<void> | void)[] = []
let seen: InferenceRequest | undefined
let waiting = Promise.withResolvers<AbortSignal | undefined>()
let answer = Promise.withResolvers<InferenceResponse>()

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function start(options: Partial<GrpcFrontendOptions> = {}): Promise<Frontend> {
  seen = undefined
  waiting = Promise.withResolvers()
  answer = Promise.withResolvers()
  const server = new InMemoryInferenceServer([
    inMemoryModel('echo', [{ name: 'INPUT0', datatype: 'FP32', dims: [-1] }], {
      respond: (request) => {
        seen = request
        return { modelName: 'echo', modelVersion: '1', id: request.id, parameters: {}, outputs: request.inputs.map((input) => ({ ...input, name: 'OUTPUT0' })) }
      },
    }),
    inMemoryModel('waiting', [], { respond: (_request, signal) => { waiting.resolve(signal); return answer.promise } }),
  ])
  const frontend = await startGrpcFrontend({ server, address: '127.0.0.1', port: 0, allowRepositoryControl: true, log: new LogHub().logger('grpc'), ...options })
  cleanUps.push(() => frontend.stop(0))
  return frontend
}

function connect(frontend: Frontend): RawGrpcConnection {
  const connection = new RawGrpcConnection(frontend.port)
  cleanUps.push(() => { connection.close() })
  return connection
}

function client(frontend: Frontend, options: GrpcClientOptions = {}): GrpcClient {
  const created = new GrpcClient(frontend.port, options)
  cleanUps.push(() => { created.close() })
  return created
}

const inferRequest = (byteLength = 4, fields: object = {}) => ({
  model_name: 'echo', id: 'x', inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [byteLength / 4] }], raw_input_contents: [Buffer.alloc(byteLength, 'a')], ...fields,
})
const inferBytes = (byteLength?: number) => encodedRequest('ModelInfer', inferRequest(byteLength))

describe('messages', () => {
  it.each([['gzip', gzipSync], ['deflate', deflateSync]] as const)('reads requests in %s', async (encoding, pack) => {
    const { body, code } = await connect(await start()).call('ModelInfer', framed(pack(inferBytes(400_000)), true), { 'grpc-encoding': encoding })
    expect(code).toBe(status.OK)
    // Not compared by the test library, which looks at every byte as a property.
    const [raw] = decodedReply('ModelInfer', body.subarray(5))['raw_output_contents'] as Buffer[]
    expect(raw?.equals(Buffer.alloc(400_000, 'a'))).toBe(true)
  })

  it.each<[string, Buffer, Record<string, string>, number, RegExp]>([
    ['an unknown encoding', framed(Buffer.from('x'), true), { 'grpc-encoding': 'snappy' }, status.UNIMPLEMENTED, /'snappy' is not supported; this server reads identity, deflate, gzip/],
    ['no encoding for what is compressed', framed(Buffer.from('x'), true), {}, status.INTERNAL, /grpc-encoding names no encoding/],
    ['what is no gzip', framed(Buffer.from('x'), true), { 'grpc-encoding': 'gzip' }, status.INTERNAL, /cannot decompress the message \(gzip\)/],
    ['what is no message', framed(Buffer.from([0x0a, 0xff])), {}, status.INTERNAL, /cannot parse the request of ModelInfer: the message ends/],
    ['a message that is cut off', framePrefix(10), {}, status.INTERNAL, /ended inside a message/],
    ['no message', Buffer.alloc(0), {}, status.INTERNAL, /takes one request message, and got none/],
    ['two messages', Buffer.concat([framed(inferBytes()), framed(inferBytes())]), {}, status.INTERNAL, /takes one request message, and got another/],
    ['more than 2 GiB - 1', framePrefix(2_147_483_648), {}, status.RESOURCE_EXHAUSTED, /Received message larger than max \(2147483648 vs. 2147483647\)/],
    ['a timeout that is none', framed(inferBytes()), { 'grpc-timeout': 'soon' }, status.INTERNAL, /invalid grpc-timeout value 'soon'/],
  ])('refuses %s', async (_what, body, headers, code, text) => {
    const reply = await connect(await start()).call('ModelInfer', body, headers)
    expect([reply.code, reply.details]).toEqual([code, expect.stringMatching(text)])
  })

  it('takes a request in any pieces', async () => {
    const stream = connect(await start()).open('ModelInfer')
    const body = framed(inferBytes(100_000))
    for (let at = 0; at < body.length; at += 7919) {
      stream.write(body.subarray(at, at + 7919))
      await new Promise((resolve) => { setImmediate(resolve) })
    }
    stream.end()
    expect((await replyOf(stream)).body.length).toBeGreaterThan(100_000)
  })

  it.each([['low', 'identity, deflate, gzip', 'gzip'], ['medium', 'identity,deflate,gzip', 'deflate'], ['high', 'deflate, gzip', 'deflate'], ['high', 'gzip', 'gzip'], ['high', 'identity', undefined], ['none', 'gzip', undefined]] as const)(
    'compresses answers at level %s for a client that reads %s', async (responseCompression, accepted, encoding) => {
      const { body, headers, code } = await connect(await start({ responseCompression })).call('ModelInfer', framed(inferBytes(200_000)), { 'grpc-accept-encoding': accepted })
      expect([code, headers['grpc-encoding'], body[0]]).toEqual([status.OK, encoding, encoding === undefined ? 0 : 1])
      expect(body.length < 10_000).toBe(encoding !== undefined)
      if (encoding === 'gzip') expect(decodedReply('ModelInfer', gunzipSync(body.subarray(5)))).toHaveProperty('id', 'x')
    })

  it('leaves an answer as it is where compressing makes it no smaller', async () => {
    const { body, code } = await connect(await start({ responseCompression: 'high' })).call('ModelInfer', framed(inferBytes(4)), { 'grpc-accept-encoding': 'gzip' })
    expect([code, body[0]]).toEqual([status.OK, 0])
  })

  it('answers other calls uncompressed, and streams compressed', async () => {
    const frontend = await start({ responseCompression: 'low' })
    const accepted = { 'grpc-accept-encoding': 'gzip' }
    expect((await connect(frontend).call('ServerMetadata', framed(Buffer.alloc(0)), accepted)).headers['grpc-encoding']).toBeUndefined()
    const { body } = await connect(frontend).call('ModelStreamInfer', framed(inferBytes(400_000)), accepted)
    expect([body[0], body.length < 10_000]).toEqual([1, true])
    expect((await client(frontend).call('ModelInfer', inferRequest(400_000)))['id']).toBe('x')
  })
})

describe('calls', () => {
  it('answers what is no gRPC with 415 and unknown methods with UNIMPLEMENTED', async () => {
    const connection = connect(await start())
    const plain = connection.session.request({ ':method': 'POST', ':path': '/', 'content-type': 'application/json' })
    expect((await replyOf(plain)).headers[':status']).toBe(415)
    for (const path of ['/grpc.health.v1.Health/Watch', '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo']) {
      const stream = connection.open('', {}, path)
      stream.end(framed(Buffer.alloc(0)))
      expect(await replyOf(stream)).toMatchObject({ code: status.UNIMPLEMENTED, details: `The server does not implement the method ${path}` })
    }
  })

  it('cancels the request when the deadline of the client passes', async () => {
    const { code, details } = await connect(await start()).call('ModelInfer', framed(encodedRequest('ModelInfer', { model_name: 'waiting' })), { 'grpc-timeout': '60m' })
    expect([code, details]).toEqual([status.DEADLINE_EXCEEDED, 'Deadline Exceeded'])
    expect((await waiting.promise)?.aborted).toBe(true)
  })

  it('ends a call whose client stops in the middle of a message', async () => {
    const stream = connect(await start({ stallMilliseconds: 80 })).open('ModelInfer')
    stream.write(framePrefix(1000))
    expect(await replyOf(stream)).toMatchObject({ code: status.DEADLINE_EXCEEDED, details: expect.stringContaining('no byte of the request arrived') as string })
  })

  it('forwards metadata that match as parameters, and refuses those that are reserved', async () => {
    const frontend = await start({ headerForwardPattern: new LinearPattern('MY-|time') })
    const connection = connect(frontend)
    expect(await connection.call('ModelInfer', framed(inferBytes()), { 'my-key': 'v', other: 'o' })).toMatchObject({ code: status.OK })
    expect({ ...seen?.parameters }).toEqual({ 'my-key': 'v' })
    await connection.call('ModelStreamInfer', framed(inferBytes()), { 'my-key': 'w' })
    expect({ ...seen?.parameters }).toEqual({ 'my-key': 'w' })
    for (const method of ['ModelInfer', 'ModelStreamInfer']) {
      expect(await connection.call(method, framed(inferBytes()), { timeout: '1' })).toMatchObject({ code: status.INVALID_ARGUMENT, details: "Header 'timeout' is reserved for Triton usage and cannot be forwarded." })
    }
  })

  it('refuses calls on a live connection while the server stops', async () => {
    const frontend = await start()
    const connection = connect(frontend)
    const pending = connection.call('ModelInfer', framed(encodedRequest('ModelInfer', { model_name: 'waiting' })))
    await waiting.promise
    const stopped = frontend.stop(30)
    expect(await connection.call('ServerLive', framed(Buffer.alloc(0)))).toMatchObject({ code: status.UNAVAILABLE, details: SHUTTING_DOWN })
    answer.resolve({ modelName: 'waiting', modelVersion: '1', id: '', parameters: {}, outputs: [] })
    expect(await pending).toMatchObject({ code: status.OK })
    await stopped
  })
})

describe('connections', () => {
  /** Code and data of the GOAWAY that ends the connection. */
  const goAway = (connection: RawGrpcConnection) => new Promise<[number, string]>((resolve) => {
    connection.session.once('goaway', (code, _last, data) => { resolve([code, data === undefined ? '' : Buffer.from(data as Uint8Array).toString()]) })
  })
  const ping = (connection: RawGrpcConnection) => new Promise<void>((resolve, reject) => {
    connection.session.ping((error) => { if (error === null) resolve(); else reject(error) })
  })
  const connected = async (options: Partial<GrpcFrontendOptions> = {}) => {
    const connection = connect(await start(options))
    await new Promise((resolve) => { connection.session.once('connect', resolve) })
    return connection
  }

  it('ends one that pings more often than it may', async () => {
    const connection = await connected()
    const ended = goAway(connection)
    for (let index = 0; index < 3; index++) await ping(connection)
    expect(connection.session.destroyed).toBe(false)
    await ping(connection).catch(() => {}) // The answer may not get out any more.
    expect(await ended).toEqual([constants.NGHTTP2_ENHANCE_YOUR_CALM, 'too_many_pings'])
  })

  it('forgives pings of a client whose message is still arriving', async () => {
    const connection = await connected()
    const message = framed(inferBytes(10_000))
    const stream = connection.open('ModelInfer')
    const reply = replyOf(stream)
    for (let from = 0; from < message.length; from += 1000) {
      await new Promise((resolve) => { stream.write(message.subarray(from, from + 1000), resolve) })
      await ping(connection)
    }
    stream.end()
    expect(await reply).toMatchObject({ code: status.OK })
  })

  it('forgives pings of a client that a large answer is still on its way to', async () => {
    const connection = await connected()
    const stream = connection.open('ModelInfer')
    const reply = replyOf(stream)
    stream.end(framed(inferBytes(4_000_000)))
    let pings = 0
    let isPinging = false
    // As gRPC's clients do, which measure the connection: with a part that arrives, and not before the last ping is answered.
    stream.on('data', () => {
      if (isPinging) return
      isPinging = true
      pings++
      ping(connection).then(() => { isPinging = false }, () => {})
    })
    expect(await reply).toMatchObject({ code: status.OK })
    expect(pings).toBeGreaterThan(4)
    expect(connection.session.destroyed).toBe(false)
  })

  it('lets pings pass where the rules are loose', async () => {
    const connection = await connected({ connection: { maxPingStrikes: 0 } })
    for (let index = 0; index < 10; index++) await ping(connection)
    expect(await connection.call('ServerLive', framed(Buffer.alloc(0)))).toMatchObject({ code: status.OK })
  })

  it('asks one to end when it is old, and lets its calls end', async () => {
    const connection = connect(await start({ connection: { maxAge: 50 } }))
    const ended = goAway(connection)
    const pending = connection.call('ModelInfer', framed(encodedRequest('ModelInfer', { model_name: 'waiting' })))
    await waiting.promise
    expect(await ended).toEqual([constants.NGHTTP2_NO_ERROR, 'max_age'])
    answer.resolve({ modelName: 'waiting', modelVersion: '1', id: '', parameters: {}, outputs: [] })
    expect(await pending).toMatchObject({ code: status.OK })
  })

  it('cuts an old one when the grace is over', async () => {
    const connection = connect(await start({ connection: { maxAge: 50, maxAgeGrace: 50 } }))
    const closed = new Promise((resolve) => { connection.session.once('close', resolve) })
    void connection.call('ModelInfer', framed(encodedRequest('ModelInfer', { model_name: 'waiting' })))
    expect((await waiting.promise)?.aborted).toBe(false)
    await closed
    await expect.poll(async () => (await waiting.promise)?.aborted).toBe(true)
  })

  it('pings a client that is silent, and gives one up that does not answer', async () => {
    const frontend = await start({ connection: { keepaliveTime: 30, keepaliveTimeout: 60, keepalivePermitWithoutCalls: true, maxPingsWithoutData: 0 } })
    const lively = connect(frontend)
    let pings = 0
    lively.session.on('ping', () => { pings++ })
    // The preface and empty SETTINGS, and nothing after that, not even acknowledgements.
    const dead = createConnection(frontend.port, '127.0.0.1')
    cleanUps.push(() => { dead.destroy() })
    dead.on('error', () => {})
    dead.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])]))
    dead.resume()
    await new Promise((resolve) => { dead.once('close', resolve) })
    await expect.poll(() => pings).toBeGreaterThan(1)
    expect(lively.session.destroyed).toBe(false)
  })
})

describe('TLS', () => {
  let certificates: TestCertificates
  beforeAll(() => { certificates = new TestCertificates() })
  afterAll(() => { certificates[Symbol.dispose]() })
  const read = (given: Partial<GrpcTransportOptions>) => readTlsFiles({
    ...DEFAULT_GRPC_TRANSPORT_OPTIONS, serverCert: certificates.path('server.crt'), serverKey: certificates.path('server.key'), rootCert: certificates.path('ca.crt'), ...given,
  })

  it('encrypts, and refuses who does not', async () => {
    const frontend = await start({ tls: await read({ useSsl: true }) })
    expect(await client(frontend, { credentials: credentials.createSsl(certificates.read('ca.crt')) }).call('ModelInfer', inferRequest(400_000))).toHaveProperty('id', 'x')
    expect(await client(frontend).failure('ServerLive', {})).toMatchObject({ code: status.UNAVAILABLE })
  })

  it.each([['client', status.OK], ['intruder', status.UNAVAILABLE], [null, status.UNAVAILABLE]])('mutual: %s', async (name, code) => {
    const frontend = await start({ tls: await read({ useSslMutual: true }) })
    const own = name === null ? {} : { key: certificates.read(`${name}.key`), certificate: certificates.read(`${name}.crt`) }
    const caller = client(frontend, { credentials: credentials.createSsl(certificates.read('ca.crt'), own.key, own.certificate) })
    if (code === status.OK) expect(await caller.call('ServerLive', {})).toEqual({ live: true })
    else expect(await caller.failure('ServerLive', {})).toMatchObject({ code })
  })

  it.each<[string, (path: (file: string) => string) => Partial<GrpcTransportOptions>, RegExp]>([
    ['no certificate', () => ({ useSsl: true, serverCert: '' }), /^--grpc-server-cert must be given with --grpc-use-ssl: the path of a PEM file$/],
    ['no root', () => ({ useSslMutual: true, rootCert: '' }), /^--grpc-root-cert must be given with --grpc-use-ssl-mutual/],
    ['a file that is not there', () => ({ useSsl: true, serverCert: '/nowhere.pem' }), /^--grpc-server-cert: '\/nowhere.pem' cannot be read/],
    ['a key as certificate', (path) => ({ useSsl: true, serverCert: path('server.key') }), /^--grpc-server-cert: '.*server.key' is no certificate in PEM form/],
    ['the key of another', (path) => ({ useSsl: true, serverKey: path('client.key') }), /^--grpc-server-key: '.*client.key' is not the key of the certificate '.*server.crt'/],
  ])('says what is wrong: %s', async (_what, options, text) => {
    await expect(read(options((file) => certificates.path(file)))).rejects.toThrow(text)
  })

  it('reads no files without --grpc-use-ssl', async () => { expect(await read({ serverCert: '/nowhere.pem' })).toBeNull() })
})
