import { describe, expect, it } from 'vitest'
import { bfloatToNumber, countElements, decodeElements, elementCount, encodeElements, halfToNumber, numberToBfloat, numberToHalf, tensorByteSize } from './tensor-codec.ts'
import type { DataType } from '../contract/inference.ts'
import type { TensorValue } from './tensor-codec.ts'

const EXTREMES: [DataType, TensorValue[]][] = [
  ['BOOL', [true, false]], ['UINT8', [0, 255]], ['INT8', [-128, 127]], ['UINT16', [0, 65535]], ['INT16', [-32768, 32767]],
  ['UINT32', [0, 4294967295]], ['INT32', [-2147483648, 2147483647]],
  ['UINT64', [0n, 18446744073709551615n]], ['INT64', [-9223372036854775808n, 9007199254740993n]],
  ['FP16', [65504, -0.5, 2 ** -24, Infinity]], ['BF16', [1, -2.5, 2 ** 127, -Infinity]], ['FP32', [0.5, -1.25, Infinity]], ['FP64', [0.1, -1e300]],
  ['BYTES', [new Uint8Array([0xff, 0]), new Uint8Array(0)]],
]

describe('encodeElements and decodeElements', () => {
  it.each(EXTREMES)('keeps the extremes of %s', (datatype, values) => {
    expect(decodeElements(datatype, encodeElements(datatype, values))).toEqual(values)
  })

  it.each([
    ['UINT8', 256], ['INT8', -129], ['UINT64', -1n], ['INT64', 2n ** 63n], ['INT32', 1.5], ['INT32', Number.NaN], ['BOOL', 2], ['FP32', true], ['FP32', new Uint8Array(1)], ['BYTES', 1],
  ] as [DataType, TensorValue][])('refuses for %s the value %s', (datatype, value) => {
    expect(() => encodeElements(datatype, [value])).toThrow(RangeError)
  })

  it('writes little-endian, and a length before each BYTES element', () => {
    expect([...encodeElements('INT32', [1])]).toEqual([1, 0, 0, 0])
    expect([...encodeElements('BYTES', [new TextEncoder().encode('hi')])]).toEqual([2, 0, 0, 0, 104, 105])
  })

  it('reads a slice out of a view that does not start at an aligned byte', () => {
    const frame = new Uint8Array(3 + 12)
    frame.set(encodeElements('FP32', [1, 2, 3]), 3)
    expect(decodeElements('FP32', frame.subarray(3), 1, 1)).toEqual([2])
  })

  it('refuses bytes that are not whole elements', () => {
    expect(() => countElements('FP32', new Uint8Array(6))).toThrow('6 bytes are not whole FP32 elements')
    expect(() => countElements('BYTES', new Uint8Array([9, 0, 0, 0, 1]))).toThrow('claims 9 bytes, 1 are left')
    expect(() => countElements('BYTES', new Uint8Array([1, 0]))).toThrow('length field')
  })
})

describe('FP16', () => {
  it('gives every one of the 65536 patterns back, NaN apart', () => {
    for (let bits = 0; bits < 0x10000; bits++) {
      const value = halfToNumber(bits)
      if (Number.isNaN(value)) expect(numberToHalf(value)).toBe(0x7e00)
      else expect(numberToHalf(value)).toBe(bits)
    }
  })

  it('rounds ties to even and overflows to infinity', () => {
    expect(numberToHalf(1 + 2 ** -11)).toBe(0x3c00)
    expect(numberToHalf(1 + 3 * 2 ** -11)).toBe(0x3c02)
    expect(numberToHalf(65519.99)).toBe(0x7bff)
    expect(numberToHalf(65520)).toBe(0x7c00)
    expect(numberToHalf(2 ** -25)).toBe(0)
  })
})

describe('BF16', () => {
  it('gives every pattern back, NaN apart', () => {
    for (let bits = 0; bits < 0x10000; bits++) {
      const value = bfloatToNumber(bits)
      if (!Number.isNaN(value)) expect(numberToBfloat(value)).toBe(bits)
    }
    expect(bfloatToNumber(numberToBfloat(Number.NaN))).toBeNaN()
  })

  it('rounds ties to even', () => {
    expect(numberToBfloat(1 + 2 ** -8)).toBe(0x3f80)
    expect(numberToBfloat(1 + 3 * 2 ** -8)).toBe(0x3f82)
  })
})

describe('sizes', () => {
  it('counts elements, and calls a variable shape unknown', () => {
    expect(elementCount([2, 3])).toBe(6)
    expect(elementCount([])).toBe(1)
    expect(elementCount([1, -1])).toBeNaN()
  })

  it('knows the bytes of a shape, except for BYTES', () => {
    expect(tensorByteSize('FP16', [2, 3])).toBe(12)
    expect(tensorByteSize('BYTES', [2])).toBeNull()
  })
})
