import { describe, expect, it } from 'vitest'
import { DATA_TYPES, type DataType } from '../contract/inference.ts'
import { generateTensor } from './tensor-generate.ts'
import { readNpy, writeNpy } from './npy.ts'
import { decodeElements, encodeElements } from './tensor-codec.ts'

/** A file as NumPy writes it: magic, version, length of the header, header, values. */
function npy(version: number, header: string, values: Uint8Array): Uint8Array {
  const text = new TextEncoder().encode(header)
  const length = version === 1 ? [text.length & 0xff, text.length >> 8] : [text.length & 0xff, text.length >> 8, 0, 0]
  return Uint8Array.from([0x93, ...new TextEncoder().encode('NUMPY'), version, 0, ...length, ...text, ...values])
}
const describeArray = (descr: string, shape: string, fortran = false) => `{'descr': '${descr}', 'fortran_order': ${fortran ? 'True' : 'False'}, 'shape': ${shape}, }\n`
const text = (...elements: string[]) => encodeElements('BYTES', elements.map((element) => new TextEncoder().encode(element)))

describe('readNpy', () => {
  it.each([1, 2, 3])('reads format version %i', (version) => {
    const data = encodeElements('FP32', [1.5, -2, 3])
    expect(readNpy(npy(version, describeArray('<f4', '(3,)'), data))).toEqual({ datatype: 'FP32', shape: [3], data })
  })

  it('puts Fortran order and big-endian values right', () => {
    const columns = encodeElements('INT16', [1, 4, 2, 5, 3, 6])
    expect(decodeElements('INT16', readNpy(npy(1, describeArray('<i2', '(2, 3)', true), columns)).data)).toEqual([1, 2, 3, 4, 5, 6])
    const cube = encodeElements('UINT8', [0, 4, 2, 6, 1, 5, 3, 7])
    expect([...readNpy(npy(1, describeArray('|u1', '(2, 2, 2)', true), cube)).data]).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    expect(decodeElements('FP64', readNpy(npy(1, describeArray('>f8', '()'), encodeElements('FP64', [0.1]).reverse())).data)).toEqual([0.1])
  })

  it('reads text as BYTES, from bytes and from UTF-32 of either order', () => {
    expect(readNpy(npy(1, describeArray('|S3', '(2,)'), new TextEncoder().encode('a\0\0bcd')))).toEqual({ datatype: 'BYTES', shape: [2], data: text('a', 'bcd') })
    expect(readNpy(npy(1, describeArray('<U2', '(1, 1)'), encodeElements('UINT32', [0x94ed, 0x1f600])))).toEqual({ datatype: 'BYTES', shape: [1, 1], data: text('铭😀') })
    expect(readNpy(npy(1, describeArray('>U1', '(1,)'), Uint8Array.of(0, 0, 0x94, 0xed)))).toEqual({ datatype: 'BYTES', shape: [1], data: text('铭') })
  })

  it.each([
    ['another kind of file', new TextEncoder().encode('PK\x03\x04 an archive'), /no \.npy file/],
    ['a later version', npy(4, describeArray('<f4', '(1,)'), new Uint8Array(4)), /format version 4\.0; known are 1\.0 to 3\.0/],
    ['a header cut off', npy(1, describeArray('<f4', '(1,)'), new Uint8Array(4)).slice(0, 30), /ends inside its header/],
    ['Python objects', npy(1, describeArray('|O', '(1,)'), new Uint8Array(4)), /Python objects .* astype\('S'\)/],
    ['records', npy(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", new Uint8Array(4)), /records of several fields/],
    ['complex numbers', npy(1, describeArray('<c8', '(1,)'), new Uint8Array(8)), /dtype '<c8', for which there is no datatype/],
    ['too few values', npy(1, describeArray('<f4', '(2, 2)'), new Uint8Array(12)), /12 bytes of values, its shape \[2, 2\] takes 16/],
    ['another header', npy(1, "{'shape': (1,)}", new Uint8Array(4)), /header of the \.npy file cannot be read: \{'shape'/],
  ])('says what is wrong with %s', (_name, file, message) => {
    expect(() => readNpy(file)).toThrow(message)
  })
})

describe('writeNpy', () => {
  it.each(Object.keys(DATA_TYPES) as DataType[])('writes %s so that it reads back the same', (datatype) => {
    for (const shape of [[2, 3], [6], [], [0, 4]]) {
      const tensor = { datatype, shape, data: generateTensor(datatype, shape.reduce((product, dim) => product * dim, 1), 'ramp') }
      expect(readNpy(writeNpy(tensor))).toEqual(tensor)
    }
  })

  it('writes the bytes that NumPy writes', () => {
    const file = writeNpy({ datatype: 'FP32', shape: [3], data: encodeElements('FP32', [1, 2, 3]) })
    expect(file.byteLength).toBe(128 + 12)
    expect([...file.subarray(0, 10)]).toEqual([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 118, 0])
    expect(new TextDecoder().decode(file.subarray(10, 128))).toBe(`${"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }".padEnd(117)}\n`)
  })

  it('refuses text that would not come back', () => {
    expect(() => writeNpy({ datatype: 'BYTES', shape: [1], data: text('a\0') })).toThrow(/element 0 ends with a zero byte/)
  })
})
