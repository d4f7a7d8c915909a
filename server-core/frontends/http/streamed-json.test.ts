import { describe, expect, it } from 'vitest'
import type { DataType } from '../../contract/inference.ts'
import { collectGarbage } from '../../testing/collect-garbage.ts'
import { InMemoryInferenceServer, inMemoryModel } from '../../testing/in-memory-inference-server.ts'
import { randomNumbers } from '../../testing/random-numbers.ts'
import { defaultServices } from '../frontend-services.ts'
import { readInferBody } from './infer-request.ts'
import { StreamedJson } from './streamed-json.ts'

const server = new InMemoryInferenceServer([inMemoryModel('m', [{ name: 'IN', datatype: 'FP32', dims: [-1] }])])
const common = () => ({ server, modelName: 'm', modelVersion: '', maxInputSize: 1 << 20, sharedMemory: defaultServices().sharedMemory.use() })

/** Inputs or the error text, as text that can be compared. */
function outcome(read: () => ReturnType<typeof readInferBody>): string {
  try {
    const { request } = read()
    return JSON.stringify([request.id, request.inputs.map((input) => [input.name, input.datatype, input.shape, Buffer.from(input.data).toString('hex')])])
  } catch (error) {
    return String(error)
  }
}

const whole = (body: Buffer) => outcome(() => readInferBody({ ...common(), body, headerLength: body.length }))

function streamed(body: Buffer, pieceLength: number, announced = body.length): string {
  const reader = new StreamedJson(1 << 20, announced)
  for (let at = 0; at < body.length; at += pieceLength) reader.push(Buffer.from(body.subarray(at, at + pieceLength)))
  reader.finish()
  return outcome(() => readInferBody({ ...common(), body: reader.document, headerLength: reader.document.length, streamed: reader }))
}

const input = (datatype: string, shape: string, data: string) => `{"name":"IN","shape":${shape},"datatype":"${datatype}","data":${data}}`
const body = (...inputs: readonly string[]) => `{"id":"a","inputs":[${inputs.join(',')}]}`

const DOCUMENTS = [
  body(input('FP32', '[3]', '[1, 2.5,-3e-2]')), body(input('FP32', '[2,2]', '[[1,2],[ 0.1 ,NaN]]')), body(input('FP32', '[5]', '[NaN,-Infinity,Inf,-Inf,-0.0]')),
  body(input('FP32', '[3]', '[0.10000000149011612,123456789012345678901234567890,1e38]')), body(input('FP64', '[2]', '[0.1234567890123456789,5e-324]')),
  body(input('FP32', '[1]', '[1e999]')), body(input('FP32', '[1]', '[-]')), body(input('FP32', '[1]', '[01]')), body(input('FP32', '[1]', '[1.]')), body(input('FP32', '[1]', '[1e]')), body(input('FP32', '[1]', '[.5]')),
  body(input('FP32', '[2]', '[1 2]')), body(input('FP32', '[2]', '[1,]')), body(input('FP32', '[2]', '[,1]')), body(input('FP32', '[2]', '[1}')), body(input('FP32', '[2]', '[1,"x"]')), body(input('FP32', '[2]', '["x",1]')),
  body(input('FP32', '[2]', '[1,null]')), body(input('FP32', '[2]', '[1,{"a":[1]}]')), body(input('FP32', '[2]', '[1,2,3]')), body(input('FP32', '[3]', '[1,2]')), body(input('FP32', '[2]', '[1,2,"x"]')), body(input('FP32', '[2]', '[1,[],2]')),
  body(input('FP32', '[2]', '[]')), body(input('FP32', '[0]', '[1,"x"]')), body(input('FP32', '[2]', '{}')), body(input('FP32', '[-1]', '[1]')), body(input('FP33', '[1]', '[1]')), body(input('FP16', '[1]', '[1]')),
  body(input('INT8', '[3]', '[300,-1,127]')), body(input('INT32', '[3]', '[4294967295,-2147483648,99999999999999999]')), body(input('INT32', '[1]', '[1.0]')), body(input('INT32', '[1]', '[1e2]')),
  body(input('UINT8', '[2]', '[256,-0]')), body(input('UINT32', '[1]', '[-1]')), body(input('INT64', '[3]', '[9223372036854775807,-9223372036854775808,12]')), body(input('INT64', '[1]', '[9223372036854775808]')),
  body(input('UINT64', '[2]', '[18446744073709551615,0]')), body(input('UINT64', '[1]', '[18446744073709551616]')), body(input('UINT64', '[1]', '[-1]')), body(input('BOOL', '[2]', '[true,false]')), body(input('BYTES', '[2]', '["a]","\\"["]')),
  body(input('FP32', '[1]', '['.repeat(99) + '7' + ']'.repeat(99))), body(input('FP32', '[1]', '['.repeat(100) + '7' + ']'.repeat(100))), body(input('FP32', '[2]', '[1,2'), '{}'),
  body(input('FP32', '[2]', '[1,2]'), input('INT32', '[1]', '[5]').replace('IN', 'B')), body(input('FP32', '[2]', '[1,2]'), input('FP32', '[2]', '[3,4]')),
  `{"inputs":[{"data":[1,2],"datatype":"FP32","shape":[2],"name":"IN"}]}`, `{"inputs":[{"name":"IN","datatype":"FP32","shape":[2],"data":[1,2],"data":[3]}]}`,
  `{"inputs":[{"datatype":"FP32","shape":[2],"data":[1,2],"name":"IN","datatype":"INT8"}],"x":{"inputs":[{"datatype":"FP32","shape":[1],"data":["y"]}]}}`,
  `{"a":[{"b":{"datatype":"FP32","shape":[2],"data":[1,2]}}],"inputs":[{"name":"IN","datatype":"FP32","shape" : [ 2 ] , "data" : [ 1 , 2 ] } ] } `,
  `{"inputs":[{"name":"I\\"N","datatype":"FP32","shape":[1],"parameters":{"data":[1]},"data":[1]}]}`, body(input('FP32', '[2]', '[1,2]')) + 'x', body(input('FP32', '[2]', '[1,2]')).slice(0, -3), '{"inputs":[{]', '[[{"data":[', '}}}]]', '',
  `{"x"1,${body(input('FP32', '[2]', '[1,2,x')).slice(1)}`, `{"inputs":{"a":{"datatype":"FP32","shape":[1],"data":[1]}}}`,
  body(input('FP32', '[2]', `[1,0.${'1'.repeat(5000)}]`)), body(input('FP64', '[3]', `[1,[2,0.${'1'.repeat(5000)}]]`)),
]

describe('StreamedJson', () => {
  it.each([1, 2, 3, 7, 64, 1 << 20])('agrees with the reader of whole documents, in pieces of %i bytes', (pieceLength) => {
    for (const document of DOCUMENTS) {
      const bytes = Buffer.from(document)
      if (bytes.length > 4096 && pieceLength < 64) continue
      expect([document, streamed(bytes, pieceLength)]).toEqual([document, whole(bytes)])
      expect([document, streamed(bytes, pieceLength, 0)]).toEqual([document, whole(bytes)])
    }
  })

  it('agrees on documents cut off, and with bytes replaced, anywhere', () => {
    const random = randomNumbers(3)
    const characters = '[]{}",:.-+eE019 NaInft\\'
    for (const document of DOCUMENTS.filter(({ length }) => length < 400)) {
      for (let round = 0; round < 40; round++) {
        const bytes = Buffer.from(document)
        if (bytes.length === 0) continue
        if (random(3) > 0) bytes[random(bytes.length)] = characters.charCodeAt(random(characters.length))
        const cut = random(2) > 0 ? bytes : bytes.subarray(0, random(bytes.length))
        expect([cut.toString(), streamed(cut, 1 + random(20))]).toEqual([cut.toString(), whole(cut)])
      }
    }
  })

  it('takes no memory for a shape alone', async () => {
    await collectGarbage()
    const before = process.memoryUsage().arrayBuffers
    const readers = Array.from({ length: 20 }, () => {
      const reader = new StreamedJson(64 << 20, 64 << 20)
      reader.push(Buffer.from('{"inputs":[{"name":"IN","datatype":"FP32","shape":[16000000],"data":[1,2,'))
      return reader
    })
    await collectGarbage()
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(readers.length * (2 << 20))
  })

  it('grows to the whole tensor', () => {
    for (const datatype of ['INT64', 'FP32', 'UINT8']) {
      const values = Array.from({ length: 20_000 }, (_, index) => index % 200)
      const bytes = Buffer.from(body(input(datatype, '[20000]', JSON.stringify(values))))
      expect(streamed(bytes, 1000)).toBe(whole(bytes))
    }
  })

  it.each<[DataType, (index: number) => string]>([['FP32', (index) => String(Math.fround(index / 7))], ['INT64', (index) => String(index * 1_000_003)]])('holds the tensor and less than a MiB more of a body of 64 MiB: %s', { timeout: 120_000 }, async (datatype, element) => {
    const elements = Array.from({ length: 4096 }, (_, index) => element(index)).join(',')
    const count = 4096 * Math.floor((64 << 20) / (elements.length + 1))
    const head = `{"inputs":[{"name":"IN","datatype":"${datatype}","shape":[${count}],"data":[`
    await collectGarbage()
    const before = process.memoryUsage()
    const reader = new StreamedJson(1 << 30, 64 << 20)
    let received = 0
    const push = (text: string) => { received += text.length; reader.push(Buffer.from(text)) }
    push(head)
    let most = 0
    for (let done = 0; done < count; done += 4096) {
      push(`${done === 0 ? '' : ','}${elements}`)
      if (done % (4096 * 256) !== 0) continue
      await collectGarbage()
      const { external, heapUsed } = process.memoryUsage()
      most = Math.max(most, external + heapUsed - before.external - before.heapUsed)
    }
    push(']}]}')
    reader.finish()
    expect(received).toBeGreaterThan(60 << 20)
    const { bytes, count: found } = [...reader.data.values()][0] ?? { bytes: new Uint8Array(), count: 0 }
    expect(found).toBe(count)
    expect(most).toBeLessThan(bytes.byteLength + (1 << 20))
  })
})
