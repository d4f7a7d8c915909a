/** One mutated HTTP request after another: bodies, heads, chunking, compression, event streams, shared memory parameters, connections cut off. */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { deflateSync, gzipSync } from 'node:zlib'
import { DELAYED_MILLISECONDS, type FuzzTarget } from './protocol-fuzz.ts'
import { cut, mutateBytes } from './mutate-bytes.ts'

interface Sketch {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: readonly string[]
  readonly body?: Buffer
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value))
const BINARY_HEADER = '{"id":"1","parameters":{"sequence_id":1,"k":1.5,"timeout":100},"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,4],"parameters":{"binary_data_size":16}}],"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true,"classification":1}}]}'
const FLOATS = { name: 'INPUT0', datatype: 'FP32', shape: [1, 4] }

/** @param key of a shared memory object of ours */
function sketches(key: string): readonly Sketch[] {
  const region = (size: number, offset: number) => ({ shared_memory_region: 'fuzz', shared_memory_byte_size: size, shared_memory_offset: offset })
  return [
    { method: 'GET', path: '/v2/models/identity/versions/1/config' },
    { method: 'GET', path: '/v2/models/identity/stats' },
    { method: 'GET', path: '/v2/systemsharedmemory/region/fuzz/status' },
    { method: 'POST', path: '/v2/repository/index', body: json({ ready: true }) },
    { method: 'POST', path: '/v2/repository/models/spare/load', body: json({ parameters: { config: '{"backend":"identity"}', 'file:1/model.onnx': 'AAAA' } }) },
    { method: 'POST', path: '/v2/repository/models/spare/unload', body: json({ parameters: { unload_dependents: true } }) },
    { method: 'POST', path: '/v2/models/identity/infer', headers: ['Accept-Encoding: gzip'], body: Buffer.from('{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,4],"data":[[1,-2.5e3,NaN,0.1]]}]}') },
    { method: 'POST', path: '/v2/models/bytes/infer', headers: ['Accept-Encoding: deflate'], body: Buffer.from('{"inputs":[{"name":"INPUT0","datatype":"BYTES","shape":[1,2],"data":["a\\u00e9\\n",""]}]}') },
    { method: 'POST', path: '/v2/models/identity/infer', headers: [`Inference-Header-Content-Length: ${BINARY_HEADER.length}`], body: Buffer.concat([Buffer.from(BINARY_HEADER), Buffer.alloc(16, 1)]) },
    { method: 'POST', path: '/v2/models/identity/infer', headers: ['Inference-Header-Content-Length: 0'], body: Buffer.alloc(16) },
    { method: 'POST', path: '/v2/models/bytes/generate', body: json({ INPUT0: 'text', parameters: { a: 1 } }) },
    { method: 'POST', path: '/v2/models/repeat/generate_stream', body: json({ IN: [1, 2, 3], DELAY: [0, 1, 0], WAIT: 0 }) },
    { method: 'POST', path: '/v2/models/repeat/generate_stream', body: json({ id: 'x', IN: [1, 2, 3, 4, 5, 6, 7, 8], DELAY: [5, 5, 5, 5, 5, 5, 5, 5], WAIT: [1] }) },
    { method: 'POST', path: '/v2/systemsharedmemory/region/fuzz/register', body: json({ key, offset: 0, byte_size: 64 }) },
    { method: 'POST', path: '/v2/systemsharedmemory/region/fuzz/unregister' },
    { method: 'POST', path: '/v2/models/identity/infer', body: json({ inputs: [{ ...FLOATS, parameters: region(16, 0) }], outputs: [{ name: 'OUTPUT0', parameters: region(16, 16) }] }) },
    { method: 'POST', path: '/v2/trace/setting', body: json({ trace_rate: '10', trace_level: ['OFF'], trace_count: '-1', log_frequency: '0' }) },
    { method: 'POST', path: '/v2/models/identity/trace/setting', body: json({ trace_rate: null }) },
    { method: 'POST', path: '/v2/logging', body: json({ log_info: true, log_verbose_level: 0, log_format: 'default' }) },
  ]
}

/** How a request is spoilt beyond its body. */
const WAYS = ['body', 'body', 'body', 'chunked', 'gzip', 'deflate', 'spoiltGzip', 'spoiltHead', 'spoiltAll', 'aborted', 'garbage'] as const

/**
 * Sends one request. @returns its ending: the status, 'closed' (without an answer), or what the client did
 * @throws Error when a well-formed request is not answered
 */
export async function fuzzHttp(target: FuzzTarget, random: (limit: number) => number): Promise<string> {
  const all = sketches(target.sharedMemoryKey)
  const sketch = all[random(all.length)] as Sketch
  const way = WAYS[random(WAYS.length)] ?? 'body'
  const { pieces, isWhole } = requestOf(sketch, way, random)
  const socket = connect(target.httpPort, '127.0.0.1')
  try {
    return await exchange(socket, pieces, { isWhole, abortAfter: way === 'aborted' ? random(pieces.length + 2) : undefined, readsTo: random(6) === 0 ? random(200) : Infinity, isDelayed: sketch.path.includes('/repeat/'), target })
  } finally {
    socket.destroy()
  }
}

function requestOf(sketch: Sketch, way: typeof WAYS[number], random: (limit: number) => number): { pieces: Buffer[]; isWhole: boolean } {
  if (way === 'garbage') return { pieces: [Buffer.from(Array.from({ length: 1 + random(400) }, () => random(256)))], isWhole: false }
  const isSpoilt = way === 'spoiltHead' || way === 'spoiltAll'
  let body = sketch.body ?? Buffer.alloc(0)
  if (!isSpoilt && random(4) > 0) body = mutateBytes(body, random)
  const headers = ['Host: x', 'Connection: close', ...sketch.headers ?? []]
  if (way === 'gzip') body = gzipSync(body)
  if (way === 'deflate') body = deflateSync(body)
  if (way === 'spoiltGzip') body = mutateBytes(gzipSync(body), random)
  if (way === 'gzip' || way === 'spoiltGzip') headers.push('Content-Encoding: gzip')
  if (way === 'deflate') headers.push('Content-Encoding: deflate')
  const bodies = way === 'chunked'
    ? [...cut(body, 20, random).map((piece) => Buffer.concat([Buffer.from(`${piece.length.toString(16)}${random(4) === 0 ? ';x=y' : ''}\r\n`), piece, Buffer.from('\r\n')])), Buffer.from('0\r\n\r\n')]
    : cut(body, 6, random)
  headers.push(way === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`)
  const head = Buffer.from([`${sketch.method} ${sketch.path} HTTP/1.1`, ...headers, '', ''].join('\r\n'))
  if (way === 'spoiltHead') return { pieces: [mutateBytes(head, random), ...bodies], isWhole: false }
  if (way === 'spoiltAll') return { pieces: cut(mutateBytes(Buffer.concat([head, ...bodies]), random), 4, random), isWhole: false }
  return { pieces: [head, ...bodies], isWhole: way !== 'aborted' }
}

/** How long a client waits for the answer to what may not even be a request. */
const PATIENCE_MILLISECONDS = 60

async function exchange(socket: Socket, pieces: readonly Buffer[], { isWhole, abortAfter, readsTo, isDelayed, target }: {
  readonly isWhole: boolean; readonly isDelayed: boolean; readonly abortAfter: number | undefined; readonly readsTo: number; readonly target: FuzzTarget
}): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  const closed = new Promise<'closed'>((resolve) => {
    socket.on('error', () => { resolve('closed') })
    socket.on('close', () => { resolve('closed') })
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      size += chunk.length
      if (size > readsTo) resolve('closed')
    })
  })
  socket.setNoDelay(true)
  for (const [index, piece] of pieces.entries()) {
    if (index === abortAfter) return 'aborted'
    socket.write(piece)
    if (pieces.length > 1 && index < 3) await sleep(0)
  }
  if (abortAfter !== undefined) {
    await sleep(abortAfter)
    return 'aborted'
  }
  const ending = await Promise.race([closed, sleep(isDelayed ? DELAYED_MILLISECONDS : isWhole ? target.lostMilliseconds : PATIENCE_MILLISECONDS, 'late' as const, { ref: false })])
  const answer = Buffer.concat(chunks).toString('latin1')
  target.examine(answer, () => Buffer.concat(pieces).toString('latin1'))
  if (ending === 'late' && isDelayed) return 'delayed'
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]
  if (isWhole && (ending === 'late' || (status === undefined && readsTo === Infinity))) {
    throw new Error(`${ending === 'late' ? 'no complete answer in time' : 'the connection was closed without an answer'} to ${JSON.stringify(Buffer.concat(pieces).toString('latin1'))}; came: ${JSON.stringify(answer.slice(0, 500))}`)
  }
  return status ?? (ending === 'late' ? 'waiting' : 'closed')
}
