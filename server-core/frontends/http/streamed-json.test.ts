import { describe, expect, it } from 'vitest'
import type { DataType, InferenceRequest, ModelMetadata } from '../../contract/inference.ts'
import { collectGarbage } from '../../testing/collect-garbage.ts'
import { InMemoryInferenceServer, inMemoryModel } from '../../testing/in-memory-inference-server.ts'
import { randomNumbers } from '../../testing/random-numbers.ts'
import { defaultServices } from '../frontend-services.ts'
import { readGenerateBody } from './generate-request.ts'
import { readInferBody } from './infer-request.ts'
import { readDocument, StreamedJson } from './streamed-json.ts'

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

function flatOutcome(read: () => InferenceRequest): string {
  try {
    const { id, inputs, parameters } = read()
    return JSON.stringify([id, inputs.map((one) => [one.name, one.datatype, one.shape, Buffer.from(one.data).toString('hex')]), Object.entries(parameters).map(([key, value]) => [key, String(value)])])
  } catch (error) {
    return String(error)
  }
}

const whole = (body: Buffer) => outcome(() => readInferBody({ ...common(), json: body, binary: Buffer.alloc(0) }))

function streamed(body: Buffer, pieceLength: number, announced = body.length): string {
  const reader = new StreamedJson({ limit: 1 << 20, announced })
  for (let at = 0; at < body.length; at += pieceLength) reader.push(Buffer.from(body.subarray(at, at + pieceLength)))
  reader.finish()
  return outcome(() => readInferBody({ ...common(), json: reader.document, binary: Buffer.alloc(0), streamed: reader }))
}

const input = (datatype: string, shape: string, data: string) => `{"name":"IN","shape":${shape},"datatype":"${datatype}","data":${data}}`
/** The same members in an order of another client; those of the alphabet among them. */
const reordered = (document: string) => [
  document.replaceAll(/("shape":[^"]*),("datatype":"[^"]*"),("data":.*?)(\}[,\]]|$)/g, '$3,$2,$1$4'),
  document.replaceAll(/("shape":[^"]*),("datatype":"[^"]*"),("data":.*?)(\}[,\]]|$)/g, '$1,$3,$2$4'),
  document.replaceAll(/("shape":[^"]*),("datatype":"[^"]*"),("data":.*?)(\}[,\]]|$)/g, '$2,$3,$1$4'),
]
const body = (...inputs: readonly string[]) => `{"id":"a","inputs":[${inputs.join(',')}]}`

const IN_ORDER = [
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
  // Booleans.
  body(input('BOOL', '[3]', '[ true ,[false],[[ ]], true]')), body(input('BOOL', '[2]', '[true,truex]')), body(input('BOOL', '[2]', '[true,trux]')), body(input('BOOL', '[2]', '[true,1]')), body(input('BOOL', '[2]', '[true]')),
  body(input('BOOL', '[1]', '[true,false]')), body(input('BOOL', '[2]', '[false,null]')), body(input('BOOL', '[2]', '["true",false]')), body(input('INT8', '[2]', '[true,2]')), body(input('FP32', '[2]', '[1,true]')), body(input('BYTES', '[2]', '[true,"x"]')),
  // Strings.
  body(input('BYTES', '[4]', '["", ["\\u0000\\u00e9\\u4e2d","\\ud83d\\ude00\\n\\/\\\\"],"é中😀"]')), body(input('BYTES', '[2]', '["a","\\x"]')), body(input('BYTES', '[2]', '["a","b\\ud83dx"]')), body(input('BYTES', '[2]', '["a","b\\udc00"]')),
  body(input('BYTES', '[2]', '["a","b\\ud83d\\u0041"]')), body(input('BYTES', '[2]', '["a","b\\u00g0"]')), body(input('BYTES', '[2]', '["a","b\nc"]')), body(input('BYTES', '[2]', '["a","b\u0000c"]')), body(input('BYTES', '[2]', '["a",1]')), body(input('BYTES', '[2]', '[1,"a"]')),
  body(input('BYTES', '[2]', '["a" "b"]')), body(input('BYTES', '[2]', '["a",]')), body(input('BYTES', '[2]', '["a",null]')), body(input('BYTES', '[2]', '["a",{"b":"c"}]')), body(input('BYTES', '[9]', '["a"]')), body(input('BYTES', '[0]', '["a"]')), body(input('BYTES', '[1]', '[[],[]]')),
  body(input('BYTES', '[1]', '['.repeat(99) + '"x"' + ']'.repeat(99))), body(input('BYTES', '[1]', '['.repeat(100) + '"x"' + ']'.repeat(100))), body(input('BYTES', '[3]', '["a","x')), body(input('BYTES', '[3]', '["a","\\u12')), body(input('FP32', '[2]', '["1",2]')), body(input('INT64', '[1]', '["1"]')),
  // Integers and fractions of every width, together and in different order.
  ...['[1,-1,300,-40000,70000,-3000000000]', '[-1,255]', '[0,128,-128]', '[65535,1]', '[4294967295,1]', '[4294967296,-2]', '[-3000000000,9007199254740993,-9007199254740995]', '[9223372036854775807,1,18446744073709551615]', '[18446744073709551615,-1]',
    '[-1,18446744073709551615,2]', '[9223372036854775808,2.5]', '[18446744073709551616,1]', '[-9223372036854775809,1]', '[1,2.5,16777217]', '[16777217,2.5]', '[16777216,-0,1]', '[-0]', '[-0,5,0.1]', '[-0,9007199254740993,-1]', '[9007199254740993,-0]', '[9007199254740993,-0,0.5]', '[-0,5000000000]', '[0.1,1,300]', '[1e2,NaN,-Infinity,3]', '[1,2,-0.0]', '[3,1.0]', '[255,0.25,0.1,-7]',
  ].flatMap((data) => ['INT8', 'UINT8', 'INT16', 'UINT16', 'INT32', 'UINT32', 'INT64', 'UINT64', 'FP32', 'FP64'].map((datatype) => body(input(datatype, `[${data.split(',').length}]`, data)))),
  body(input('INT8', '[1]', '[1,2.5]')), body(input('INT8', '[2]', '[1,2.5,3]')), body(input('INT8', '[3]', '[1,2.5,"x"]')), body(input('UINT8', '[3]', '[1,"x",2.5]')), body(input('FP16', '[1]', '["x"]')), body(input('FP33', '[1]', '[1,]')), body(input('FP64', '[9]', '[[1],[],2]')),
  `{"inputs":[{"name":"IN","d\\u0061tatype":"INT8","datatype":"FP32","shape":[2],"data":[1.5,2]}]}`, `{"inputs":[{"name":"IN","\\u0073hape":[3],"datatype":"FP32","shape":[2],"data":[1,2,3]}]}`, `{"inputs":[{"name":"IN","datatype":"FP32","shape":[2],"d\\u0061ta":[1,2],"data":["x"]}]}`,
  `{"inputs":[{"data":[1,2],"data":["x"],"name":"IN","shape":[2],"datatype":"INT16","shape":[1]}]}`, '{"inputs":[{"data":[', '{"inputs":[{"data":[[ [', '{"inputs":[{"data":[,1]}]}', `{"inputs":[{"data":[${' '.repeat(5000)}1],"datatype":"INT8","shape":[1],"name":"IN"}]}`,
]
const DOCUMENTS = IN_ORDER.flatMap((document) => [...new Set([document, ...reordered(document)])])

describe('StreamedJson', () => {
  it.each([1, 2, 3, 7, 64, 1 << 20])('agrees with the reader of whole documents, in pieces of %i bytes', (pieceLength) => {
    const differing = DOCUMENTS.filter((document) => {
      const bytes = Buffer.from(document)
      if (bytes.length > 4096 && pieceLength < 64) return false
      const expected = whole(bytes)
      return streamed(bytes, pieceLength) !== expected || (pieceLength === 64 && streamed(bytes, pieceLength, 0) !== expected)
    })
    expect(differing.map((document) => [document, streamed(Buffer.from(document), pieceLength)])).toEqual(differing.map((document) => [document, whole(Buffer.from(document))]))
  })

  it('agrees on documents cut off, and with bytes replaced, anywhere', () => {
    const random = randomNumbers(3)
    const characters = '[]{}",:.-+eE019 NaInft\\u'
    for (const document of DOCUMENTS.filter(({ length }) => length < 400)) {
      for (let round = 0; round < 10; round++) {
        const bytes = Buffer.from(document)
        if (bytes.length === 0) continue
        if (random(3) > 0) bytes[random(bytes.length)] = characters.charCodeAt(random(characters.length))
        const cut = random(2) > 0 ? bytes : bytes.subarray(0, random(bytes.length))
        const pieceLength = 1 + random(20)
        const found = streamed(cut, pieceLength)
        const expected = whole(cut)
        if (found !== expected) expect([cut.toString(), pieceLength, found]).toEqual([cut.toString(), pieceLength, expected])
      }
    }
  })

  describe('with the flat body of generate', () => {
    const types: readonly DataType[] = ['FP32', 'INT8', 'UINT64', 'BOOL', 'BYTES', 'FP16']
    const metadata: ModelMetadata = { name: 'm', versions: ['1'], platform: '', inputs: types.map((datatype) => ({ name: datatype, datatype, shape: [-1] })), outputs: [] }
    const values = ['1', '[1,2.5,-3e-2]', '[300,-1]', '[18446744073709551615,9007199254740993]', '[]', '[[1]]', '[1,[2]]', '[1,{"a":"]"}]', '[1,"x"]', '[1,null]', '[1 2]', '[1,]', 'true', '[true,false]', '[true,1]', '[trux]', '"text"', '"a\\u4e2d\\ud83d\\ude00\\n\\"b"',
      '"a\\x"', '"a', '["a","b\\n"]', '["a",["b"]]', '["a",1]', '[[[["x"]]]]', '{"FP32":[1]}', `"${'long '.repeat(300)}"`, `[${'1,'.repeat(300)}1]`]
    const documents = types.flatMap((name) => values.flatMap((value) => [
      `{"id":"7","x":[1,{"FP32":[1]}],"${name}":${value},"k":1}`.replace('"x":[1,{"FP32":[1]}],', ''), `{"a":"FP32","parameters":{"b":{"${name}":${value}}}}`, `{"parameters":{"parameters":{"c":2,"${name}":${value}},"FP32":[7]},"INT8":[1,2],"k":true}`,
      `{"y":[{"${name}":${value}}],"${name}":${value}}`, `{"${name}":${value},"${name}":${value}}`,
    ]))
    const read = (json: Buffer, stream: StreamedJson | undefined) => flatOutcome(() => readGenerateBody({ document: readDocument(json, stream), streamed: stream, metadata, modelVersion: '', maxInputSize: 1000 }))
    const flat = (bytes: Buffer, pieceLength: number) => {
      const reader = new StreamedJson({ limit: 1000, announced: pieceLength % 2 === 0 ? 0 : bytes.length, inputs: new Map(metadata.inputs.map(({ name, datatype }) => [name, datatype])) })
      for (let at = 0; at < bytes.length; at += pieceLength) reader.push(Buffer.from(bytes.subarray(at, at + pieceLength)))
      reader.finish()
      return read(reader.document, reader)
    }

    it('agrees with the reader of whole documents, also of such with bytes replaced', () => {
      const random = randomNumbers(9)
      const characters = '[]{}",:.-+eE019 NaInft\\u'
      for (const document of documents) {
        for (let round = 0; round < 6; round++) {
          const bytes = Buffer.from(document)
          if (round > 2) bytes[random(bytes.length)] = characters.charCodeAt(random(characters.length))
          const pieceLength = 1 + random(30)
          const found = flat(bytes, pieceLength)
          const expected = read(bytes, undefined)
          if (found !== expected) expect([bytes.toString(), pieceLength, found]).toEqual([bytes.toString(), pieceLength, expected])
        }
      }
    })
  })

  it('takes no memory for a shape alone', async () => {
    await collectGarbage()
    const before = process.memoryUsage().arrayBuffers
    const readers = Array.from({ length: 20 }, () => {
      const reader = new StreamedJson({ limit: 64 << 20, announced: 64 << 20 })
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
    const reader = new StreamedJson({ limit: 1 << 30, announced: 64 << 20 })
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
    const found = [...reader.data.values()][0]?.elements
    const { byteLength } = found?.bytes(datatype, count) ?? new Uint8Array()
    expect(found?.count).toBe(count)
    expect(most).toBeLessThan(byteLength + (1 << 20))
  })
})
