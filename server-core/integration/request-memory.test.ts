/**
 * What a request costs the server: its tensors and at most a MiB, whatever its text is. Measured from outside as the resident memory of a process that serves; the
 * bodies are some tens of MiB of text, so that a server that kept them, or a tensor twice, could not be overlooked.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { fileURLToPath } from 'node:url'
import { createGzip } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MeasuredServerMessage } from '../testing/measured-server.ts'

const MIB = 2 ** 20
/** Of a body's text. */
const TEXT_BYTES = 24 * MIB

let child: ChildProcess
let port = 0
/** Rejects when the server ends. */
let gone: Promise<never>

beforeAll(async () => {
  // A young generation of a MiB: the collector lets garbage lie until that is full, 16 MiB as node comes, which is no memory of a request.
  // The allocator gives large blocks back to the system always, not only until the first of their size was freed: what it keeps for the next request would hide what that costs.
  child = fork(fileURLToPath(new URL('../testing/measured-server.ts', import.meta.url)), { execArgv: ['--max-semi-space-size=1'], env: { ...process.env, MALLOC_MMAP_THRESHOLD_: '131072' } })
  gone = once(child, 'exit').then(([code]) => { throw new Error(`the measured server ended with code ${String(code)}; what it said is above`) })
  port = ((await said()) as { port: number }).port
})

afterAll(async () => {
  if (child.exitCode !== null) return
  child.disconnect()
  await once(child, 'exit')
})

async function said(): Promise<MeasuredServerMessage> {
  const [message] = (await Promise.race([once(child, 'message'), gone])) as [MeasuredServerMessage]
  return message
}

async function ask(question: 'mark' | 'peak'): Promise<number> {
  child.send(question)
  return ((await said()) as { bytes: number }).bytes
}

/** A body as it is written, so that the test need not hold it either. */
interface Body {
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly head: string
  readonly block: Buffer
  readonly blocks: number
  readonly tail: string | Buffer
  readonly isCompressed?: boolean
}

async function send({ path = '/v2/models/m/infer', headers = {}, head, block, blocks, tail, isCompressed = false }: Body): Promise<{ status: number; text: string }> {
  const length = Buffer.byteLength(head) + block.length * blocks + Buffer.byteLength(tail)
  const request = httpRequest({ host: '127.0.0.1', port, path, method: 'POST', headers: { ...headers, ...(isCompressed ? { 'content-encoding': 'gzip' } : { 'content-length': String(length) }) } })
  const answered = once(request, 'response')
  const sink = isCompressed ? createGzip({ level: 1 }) : request
  if (sink !== request) sink.pipe(request)
  sink.write(head)
  for (let i = 0; i < blocks; i++) if (!sink.write(block)) await once(sink, 'drain')
  sink.end(tail)
  const [response] = (await answered) as [AsyncIterable<Buffer> & { statusCode: number }]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  return { status: response.statusCode, text: Buffer.concat(chunks).toString() }
}

const PER_BLOCK = 8192
const elementsOf = (element: (index: number) => string) => Buffer.from(`${Array.from({ length: PER_BLOCK }, (_, index) => element(index)).join(',')},`)
const FLOATS = elementsOf((index) => String(Math.fround(1.5 + index / 7)))
const INTEGERS = elementsOf((index) => String(1_700_000_000_000 + index * 1_000_003))
const PIXELS = elementsOf((index) => String(100 + index % 156))
const FLAGS = elementsOf((index) => String(index % 3 === 0))
const WORDS = elementsOf((index) => JSON.stringify(`word ${index} \n ${'abcdefgh'.repeat(index % 9)} 中文`))
const WORD_BYTES = (JSON.parse(`[${WORDS.subarray(0, -1).toString()}]`) as string[]).reduce((sum, word) => sum + 4 + Buffer.byteLength(word), 0)

interface Sent { readonly datatype: string; readonly block: Buffer; /** Bytes of the tensor that the elements of a block make. */ readonly bytes: number; readonly last: string; readonly lastBytes: number }
const SENT: readonly [Sent, ...Sent[]] = [
  { datatype: 'FP32', block: FLOATS, bytes: PER_BLOCK * 4, last: '1.5', lastBytes: 4 },
  { datatype: 'INT64', block: INTEGERS, bytes: PER_BLOCK * 8, last: '1', lastBytes: 8 },
  { datatype: 'UINT8', block: PIXELS, bytes: PER_BLOCK, last: '1', lastBytes: 1 },
  { datatype: 'BOOL', block: FLAGS, bytes: PER_BLOCK, last: 'true', lastBytes: 1 },
  { datatype: 'BYTES', block: WORDS, bytes: WORD_BYTES, last: '""', lastBytes: 4 },
]

const blocksOf = ({ block }: Sent) => Math.floor(TEXT_BYTES / block.length)
const shapeOf = (sent: Sent) => `[${blocksOf(sent) * PER_BLOCK + 1}]`

/** `infer` has datatype and shape before the data, `alphabetical` behind them. */
const FORMS = {
  infer: (sent: Sent): Body => ({ head: `{"inputs":[{"name":"${sent.datatype}","datatype":"${sent.datatype}","shape":${shapeOf(sent)},"data":[`, block: sent.block, blocks: blocksOf(sent), tail: `${sent.last}]}]}` }),
  alphabetical: (sent: Sent): Body => ({ head: '{"inputs":[{"data":[', block: sent.block, blocks: blocksOf(sent), tail: `${sent.last}],"datatype":"${sent.datatype}","name":"${sent.datatype}","shape":${shapeOf(sent)}}]}` }),
  compressed: (sent: Sent): Body => ({ ...FORMS.infer(sent), isCompressed: true }),
  generate: (sent: Sent): Body => ({ path: '/v2/models/m/generate', head: `{"${sent.datatype}":[`, block: sent.block, blocks: blocksOf(sent), tail: `${sent.last}],"k":1}` }),
}

/**
 * Bytes that a request may cost beyond its tensors: the MiB, and three for what is no request's, code that is compiled while it runs and pages of the heap, which
 * come by the quarter of a MiB.
 */
const ALLOWANCE = 4 * MIB
const TRIES = 4

/**
 * The least of some tries, of which one within the allowance is enough: on a busy machine the collector's threads come late now and then, and garbage lies longer.
 * What a server keeps of a request it keeps in every try.
 */
async function leastOf(measure: () => Promise<number>): Promise<number> {
  let least = Infinity
  for (let tried = 0; tried < TRIES && least >= ALLOWANCE; tried++) least = Math.min(least, await measure())
  return least
}

const measured = (body: Body, tensorBytes: number) => leastOf(async () => {
  const before = await ask('mark')
  const { status, text } = await send(body)
  expect([status, text.slice(0, 300)]).toEqual([200, expect.stringContaining(`${tensorBytes}.0,`)])
  return await ask('peak') - before - tensorBytes
})

/** Of an answer's text so much is kept, rather than printed once for its length and once to write it. */
const KEPT_TEXT = 4 * MIB

describe('the memory of a request', () => {
  let idle = 0

  beforeAll(async () => {
    for (const { datatype, last } of SENT) {
      for (const isCompressed of [false, true]) await send({ head: '{"inputs":[{"data":[', block: Buffer.from(`${last},`), blocks: 10_000, tail: `${last}],"name":"${datatype}","shape":[10001],"datatype":"${datatype}"}]}`, isCompressed })
    }
    idle = await ask('mark')
  })

  it.each([
    ['infer', 'FP32'], ['infer', 'BOOL'], ['infer', 'BYTES'], ['alphabetical', 'FP32'], ['alphabetical', 'INT64'], ['alphabetical', 'UINT8'], ['alphabetical', 'BYTES'],
    ['compressed', 'INT64'], ['compressed', 'BYTES'], ['generate', 'FP32'], ['generate', 'BYTES'],
  ] as const)('is its tensor and little more: %s, %s', async (form, datatype) => {
    const sent = SENT.find((one) => one.datatype === datatype) as Sent
    expect(await measured(FORMS[form](sent), blocksOf(sent) * sent.bytes + sent.lastBytes)).toBeLessThan(ALLOWANCE)
  })

  const binary = (json: string, isCompressed: boolean, length: number): Body => ({
    headers: { 'inference-header-content-length': String(json.length) }, head: json, block: Buffer.alloc(65_536, 'binary'), blocks: length / 65_536, tail: '', isCompressed,
  })
  it.each([false, true])('is its binary tensor and little more, compressed: %s', async (isCompressed) => {
    const length = 24 * MIB
    expect(await measured(binary(`{"inputs":[{"name":"UINT8","datatype":"UINT8","shape":[${length}],"parameters":{"binary_data_size":${length}}}]}`, isCompressed, length), length)).toBeLessThan(ALLOWANCE)
  })

  it.each([false, true])('is its tensors and little more, one in the JSON part and one behind it, compressed: %s', async (isCompressed) => {
    const length = 20 * MIB
    const [sent] = SENT
    const blocks = Math.floor(blocksOf(sent) / 2)
    const json = `{"inputs":[{"name":"FP32","datatype":"FP32","shape":[${blocks * PER_BLOCK + 1}],"data":[`
    const end = `1]},{"name":"UINT8","datatype":"UINT8","shape":[${length}],"parameters":{"binary_data_size":${length}}}]}`
    const jsonLength = json.length + blocks * sent.block.length + end.length
    expect(await measured(
      { headers: { 'inference-header-content-length': String(jsonLength) }, head: json, block: sent.block, blocks, tail: Buffer.concat([Buffer.from(end), Buffer.alloc(length, 'x')]), isCompressed },
      blocks * sent.bytes + 4 + length)).toBeLessThan(ALLOWANCE)
  })

  it('ends with the request, also where the connection is kept', async () => {
    // The request before this one had more than 20 MiB of tensors. What all of them together had compiled, and the heap that came with it, is twice as much as for one.
    expect(await leastOf(async () => await ask('mark') - idle - ALLOWANCE)).toBeLessThan(ALLOWANCE)
  })

  it.each([
    ['infer', 'FP32_OF', false], ['infer', 'BYTES_OF', false], ['infer', 'FP32_OF', true], ['generate', 'FP32_OF', false], ['generate', 'STRING_OF', false], ['generate_stream', 'FP32_OF', false],
    ['generate_stream', 'BYTES_OF', false],
  ] as const)('holds no answer as text, also where the client does not read: %s, %s, compressed: %s', async (action, input, isCompressed) => {
    const byteSize = (input === 'FP32_OF' ? 6 : 24) * MIB
    expect(await leastOf(async () => {
      const before = await ask('mark')
      const request = httpRequest({ host: '127.0.0.1', port, path: `/v2/models/big/${action}`, method: 'POST', headers: isCompressed ? { 'accept-encoding': 'gzip' } : {} })
      request.end(action === 'infer' ? `{"inputs":[{"name":"${input}","datatype":"FP64","shape":[1],"data":[${byteSize}]}]}` : `{"${input}":${byteSize}}`)
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      // Nothing is read until then; what is compressed has to be there for its length to be known. What has no length is printed once.
      const text = action !== 'infer' ? 0 : isCompressed ? Number(response.headers['content-length']) : KEPT_TEXT
      const unread = await ask('peak')
      let length = 0
      for await (const chunk of response) length += (chunk as Buffer).length
      expect(response.statusCode).toBe(200)
      if (action === 'infer') expect(length).toBe(Number(response.headers['content-length']))
      expect(length).toBeGreaterThan(isCompressed ? 2 * MIB : 20 * MIB)
      return Math.max(unread, await ask('peak')) - before - byteSize - text
    })).toBeLessThan(ALLOWANCE)
  })
})
