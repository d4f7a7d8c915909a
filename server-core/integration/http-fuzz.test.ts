/** Mutated requests at the HTTP front end: each gets an HTTP answer, and the server goes on serving. Seeded and bounded. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Frontend } from '../frontends/frontend.ts'
import { startHttpFrontend } from '../frontends/http/http-frontend.ts'
import { LogHub } from '../logger.ts'
import { HttpClient, RawConnection } from '../testing/http-client.ts'
import { InMemoryInferenceServer, inMemoryModel } from '../testing/in-memory-inference-server.ts'
import { noSimulation } from '../testing/test-devices.ts'

const ROUNDS = 2000
const hub = new LogHub()

/** mulberry32: the same numbers in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

interface Sketch {
  readonly method: string
  readonly path: string
  readonly headers: readonly string[]
  readonly body: Buffer
}

const JSON_HEADER = '{"id":"1","parameters":{"sequence_id":1,"k":1.5},"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}}],"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true,"classification":1}}]}'

const SKETCHES: readonly Sketch[] = [
  { method: 'GET', path: '/v2/models/fp32/versions/1/config', headers: [], body: Buffer.alloc(0) },
  { method: 'POST', path: '/v2/repository/index', headers: [], body: Buffer.from('{"ready":true}') },
  { method: 'POST', path: '/v2/repository/models/fp32/load', headers: [], body: Buffer.from('{"parameters":{"config":"{}","file:1/model.onnx":"AAAA"}}') },
  { method: 'POST', path: '/v2/models/fp32/infer', headers: ['Accept-Encoding: gzip'], body: Buffer.from('{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,3],"data":[[1,-2.5e3,NaN]]}]}') },
  { method: 'POST', path: '/v2/models/bytes/infer', headers: [], body: Buffer.from('{"inputs":[{"name":"INPUT0","datatype":"BYTES","shape":[2],"data":["a\\u00e9\\n",""]}]}') },
  { method: 'POST', path: '/v2/models/fp32/infer', headers: [`Inference-Header-Content-Length: ${JSON_HEADER.length}`], body: Buffer.concat([Buffer.from(JSON_HEADER), Buffer.alloc(8, 1)]) },
  { method: 'POST', path: '/v2/models/fp32/infer', headers: ['Inference-Header-Content-Length: 0'], body: Buffer.alloc(12) },
]

const INTERESTING = ['{', '}', '[', ']', '"', ',', ':', '\\', '\\u', '-', '1e999', '18446744073709551616', '-1', 'null', '\0', '\xff', '\r\n', '/', '%2e', '..', '__proto__']

let frontend: Frontend
let client: HttpClient

beforeAll(async () => {
  const server = new InMemoryInferenceServer([
    inMemoryModel('fp32', [{ name: 'INPUT0', datatype: 'FP32', dims: [-1] }], { maxBatchSize: 8 }),
    inMemoryModel('bytes', [{ name: 'INPUT0', datatype: 'BYTES', dims: [-1] }]),
  ])
  frontend = await startHttpFrontend({ server, address: '127.0.0.1', port: 0, allowRepositoryControl: true, simulation: noSimulation(), log: hub.logger('http'), idleTimeoutMilliseconds: 40 })
  client = new HttpClient(frontend.port)
})

afterAll(async () => {
  client.close()
  await frontend.stop(1)
})

function mutate(bytes: Buffer, random: () => number): Buffer {
  let result = bytes
  const times = 1 + Math.floor(random() * 3)
  for (let i = 0; i < times; i++) {
    const at = Math.floor(random() * (result.length + 1))
    const to = Math.min(result.length, at + Math.floor(random() * 12))
    const piece = Buffer.from(INTERESTING[Math.floor(random() * INTERESTING.length)] ?? '', 'latin1')
    switch (Math.floor(random() * 4)) {
      case 0: result = Buffer.concat([result.subarray(0, at), result.subarray(to)]); break
      case 1: result = Buffer.concat([result.subarray(0, at), piece, result.subarray(at)]); break
      case 2: result = Buffer.concat([result.subarray(0, to), result.subarray(at)]); break
      default: {
        const changed = Buffer.from(result)
        if (at < changed.length) changed[at] = Math.floor(random() * 256)
        result = changed
      }
    }
  }
  return result
}

/** The request with its body mutated (lengths stay true), or mutated anywhere. */
function request(sketch: Sketch, random: () => number): Buffer {
  const isWild = random() < 0.4
  const body = isWild ? sketch.body : mutate(sketch.body, random)
  const head = [`${sketch.method} ${sketch.path} HTTP/1.1`, 'Host: x', `Content-Length: ${body.length}`, ...sketch.headers, '', ''].join('\r\n')
  const whole = Buffer.concat([Buffer.from(head), body])
  return isWild ? mutate(whole, random) : whole
}

const LAST = 'GET /v2/health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

describe('the HTTP front end under mutated requests', () => {
  it(`answers ${ROUNDS} of them and stays alive`, async () => {
    const random = randomNumbers(20260911)
    const statuses = new Map<string, number>()
    const one = async () => {
      const sketch = SKETCHES[Math.floor(random() * SKETCHES.length)] as Sketch
      const bytes = request(sketch, random)
      const raw = new RawConnection(frontend.port)
      // The second request ends the connection, unless the first one already did.
      raw.write(Buffer.concat([bytes, Buffer.from(LAST)]))
      const answer = (await raw.untilClosed()).toString('latin1')
      const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]
      expect(status, JSON.stringify(bytes.toString('latin1'))).toBeDefined()
      statuses.set(status ?? '', (statuses.get(status ?? '') ?? 0) + 1)
    }
    for (let round = 0; round < ROUNDS; round += 10) await Promise.all(Array.from({ length: 10 }, one))
    expect((await client.send({ path: '/v2/health/ready' })).status).toBe(200)
    for (const expected of ['200', '400', '404', '500']) expect(statuses.get(expected) ?? 0, expected).toBeGreaterThan(0)
    const unexpected = hub.recent(100).filter((entry) => entry.level === 'error')
    expect(unexpected).toEqual([])
  })
})
