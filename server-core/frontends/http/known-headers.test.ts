import { describe, expect, it } from 'vitest'
import { InMemoryInferenceServer, inMemoryModel } from '../../testing/in-memory-inference-server.ts'
import { defaultServices } from '../frontend-services.ts'
import { type InferCall, readInferBody } from './infer-request.ts'
import { KnownHeaders } from './known-headers.ts'

const server = new InMemoryInferenceServer([inMemoryModel('m', [{ name: 'IN', datatype: 'FP32', dims: [-1] }])])

function bodyOf(header: string, binary: Uint8Array): { readonly json: Buffer; readonly binary: Buffer } {
  return { json: Buffer.from(header), binary: Buffer.from(binary) }
}

function read(header: string, binary: Uint8Array, knownHeaders?: KnownHeaders): InferCall {
  return readInferBody({
    server, modelName: 'm', modelVersion: '1', maxInputSize: 1 << 20, sharedMemory: defaultServices().sharedMemory.use(), ...bodyOf(header, binary),
    ...(knownHeaders === undefined ? {} : { knownHeaders }),
  })
}

function outcome(header: string, binary: Uint8Array, knownHeaders?: KnownHeaders): unknown {
  try {
    const { request, outputForms, defaultForm } = read(header, binary, knownHeaders)
    return { request: { ...request, parameters: Object.entries(request.parameters) }, outputForms: [...outputForms], defaultForm }
  } catch (error) {
    return String(error)
  }
}

const input = (name: string, byteSize: number) => `{"name":"${name}","shape":[1,${byteSize}],"datatype":"UINT8","parameters":{"binary_data_size":${byteSize}}}`
const HEADERS = [
  `{"inputs":[${input('IN', 4)}]}`, `{"id":"x","inputs":[${input('IN', 4)}],"parameters":{"binary_data_output":true,"sequence_id":7,"sequence_start":true,"priority":2,"timeout":9}}`,
  `{"inputs":[${input('A', 1)},${input('B', 3)}],"outputs":[{"name":"OUT","parameters":{"binary_data":true}},{"name":"TOP","parameters":{"classification":3}}]}`,
  `{"inputs":[${input('IN', 4)}],"parameters":{"__proto__":"p","constructor":1,"d":1.5}}`, `{"id":"\u00e9\u4e2d","inputs":[${input('\u00e9', 4)}]}`,
  `{"inputs":[${input('IN', 5)}]}`, `{"inputs":[${input('IN', 3)}]}`, `{"inputs":[${input('IN', 2)},${input('IN', 2)}]}`, '{"inputs":[]}', '{"inputs":[{]}', `{"inputs":[${input('IN', 4).replace('UINT8', 'UINT9')}]}`,
  `{"inputs":[${input('IN', 4)},{"name":"J","shape":[1],"datatype":"FP32","data":[1]}]}`, `{"inputs":[{"name":"IN","shape":[4],"datatype":"UINT8","parameters":{"shared_memory_region":"r","shared_memory_byte_size":4}}]}`,
]

describe('a header that was read before', () => {
  it('gives the same request with the tensors that follow it now, and the same errors', () => {
    const known = new KnownHeaders()
    for (let round = 0; round < 3; round++) {
      for (const header of HEADERS) {
        for (const binary of [Uint8Array.of(1, 2, 3, round), Uint8Array.of(9, 8, 7), Uint8Array.of(9, 8, 7, 6, round)]) {
          expect([header, outcome(header, binary, known)]).toEqual([header, outcome(header, binary)])
        }
      }
    }
    // Those that could be read with one of these tensors, all of them binary.
    expect(known.size).toBe(7)
  })

  it('is the same for the next request, whatever happens to the parameters of this one', () => {
    const known = new KnownHeaders()
    for (let round = 0; round < 3; round++) {
      const { parameters } = read(`{"inputs":[${input('IN', 4)}],"parameters":{"a":"b"}}`, new Uint8Array(4), known).request
      expect([Object.getPrototypeOf(parameters), { ...parameters }]).toEqual([null, { a: 'b' }])
      Object.assign(parameters, { added: 'x', a: 'changed' })
    }
  })

  it('holds no body, and only so many', () => {
    const known = new KnownHeaders()
    for (let id = 0; id < 1000; id++) read(`{"id":"${id}","inputs":[${input('IN', 4)}]}`, new Uint8Array(4), known)
    expect(known.size).toBe(256)
    const recalled = (id: number) => {
      const { json, binary } = bodyOf(`{"id":"${id}","inputs":[${input('IN', 4)}]}`, Uint8Array.of(5, 6, 7, 8))
      return known.callOf(known.keyOf(json, binary) ?? '', binary, 'other', '2')
    }
    expect(recalled(999)?.request).toMatchObject({ modelName: 'other', modelVersion: '2', id: '999', inputs: [{ data: Buffer.of(5, 6, 7, 8) }] })
    expect(recalled(0)).toBeUndefined()
  })

  it('is not looked for where it is long, or where nothing binary follows', () => {
    const known = new KnownHeaders()
    const header = (id: string) => `{"id":"${id}","inputs":[${input('IN', 4)}]}`
    expect(known.keyOf(Buffer.from(header('x'.repeat(2048))), Buffer.alloc(4))).toBeNull()
    expect(known.keyOf(Buffer.from(header('x')), Buffer.alloc(0))).toBeNull()
  })
})
