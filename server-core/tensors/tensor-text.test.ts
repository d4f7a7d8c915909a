import { describe, expect, it } from 'vitest'
import { decodeElements, encodeElements, numberToBfloat, bfloatToNumber, halfToNumber } from './tensor-codec.ts'
import { TensorTextError, bytesAsText, formatTensorValue, parseTensorText, tensorAsJson } from './tensor-text.ts'

const errorOf = (text: string, datatype: Parameters<typeof parseTensorText>[1]) => {
  try {
    parseTensorText(text, datatype)
  } catch (error) {
    if (error instanceof TensorTextError) return `${error.line}:${error.column} ${error.message}`
    throw error
  }
  return 'no error'
}

describe('parseTensorText', () => {
  it('keeps 64-bit integers that a double cannot hold', () => {
    expect(parseTensorText('[9007199254740993, -9223372036854775808]', 'INT64')).toEqual([9007199254740993n, -9223372036854775808n])
  })

  it('reads nested rows in row-major order, and an empty array', () => {
    expect(parseTensorText('[[1, 2.5],\n [-3e2, NaN]]\n', 'FP32')).toEqual([1, 2.5, -300, Number.NaN])
    expect(parseTensorText('[]', 'FP32')).toEqual([])
  })

  it('reads booleans as words or digits, and text with escapes', () => {
    expect(parseTensorText('[true, 0]', 'BOOL')).toEqual([true, false])
    expect(parseTensorText('["\\u4f60好\\n"]', 'BYTES')).toEqual([new TextEncoder().encode('你好\n')])
  })

  it.each([
    ['[1,\n 2 3]', 'FP32', '2:4 expected "," between values'],
    ['[1, 300]', 'UINT8', '1:5 300 does not fit UINT8: 0 to 255'],
    ['[1.5]', 'INT32', '1:2 1.5 does not fit INT32: expected a whole number'],
    ['[1', 'FP32', '1:3 a closing ] is missing'],
    ['', 'FP32', '1:1 expected [ at the start'],
    ['1', 'FP32', '1:1 expected [ at the start'],
    ['[1,]', 'FP32', '1:4 expected a value after ","'],
    ['[,1]', 'FP32', '1:2 unexpected ","'],
    ['[1] [2]', 'FP32', '1:5 text after the closing bracket'],
    ['[abc]', 'FP32', '1:2 unexpected "a"'],
    ['["a"]', 'FP32', '1:2 text does not fit FP32'],
    ['[1]', 'BYTES', '1:2 a BYTES element is text in double quotes'],
    ['[2]', 'BOOL', '1:2 2 does not fit BOOL'],
  ] as const)('says where %j as %s is wrong', (text, datatype, expected) => {
    expect(errorOf(text, datatype)).toBe(expected)
  })

  it('reads a hundred thousand values', () => {
    const text = `[${Array.from({ length: 100_000 }, (_, index) => index).join(', ')}]`
    expect(parseTensorText(text, 'FP32')).toHaveLength(100_000)
  })
})

describe('formatTensorValue', () => {
  it('writes the shortest text that reads back to the same value', () => {
    for (const value of [0.1, 1 / 3, 16777217, 1e-40, 3.4e38]) {
      const single = Math.fround(value)
      expect(Math.fround(Number(formatTensorValue(single, 'FP32')))).toBe(single)
    }
    expect(formatTensorValue(Math.fround(0.1), 'FP32')).toBe('0.1')
    expect(formatTensorValue(Infinity, 'FP32')).toBe('Infinity')
  })

  it('reads every finite FP16 and BF16 value back from its text', () => {
    for (let bits = 0; bits < 0x7c00; bits += 7) {
      const value = halfToNumber(bits)
      expect(decodeElements('FP16', encodeElements('FP16', [Number(formatTensorValue(value, 'FP16'))]))).toEqual([value])
    }
    for (let bits = 0; bits < 0x7f80; bits += 7) expect(numberToBfloat(Number(formatTensorValue(bfloatToNumber(bits), 'BF16')))).toBe(bits)
  })

  it('writes bytes as text, and as base64 where they are not UTF-8', () => {
    expect(formatTensorValue(new TextEncoder().encode('a"b'), 'BYTES')).toBe('"a\\"b"')
    expect(bytesAsText(new Uint8Array([0xff, 0xfe]))).toBe('base64://4=')
  })
})

describe('tensorAsJson', () => {
  it('nests by shape, one line per innermost row', () => {
    expect(tensorAsJson('INT32', [2, 2], encodeElements('INT32', [1, 2, 3, 4]), 100)).toBe('[\n  [1, 2],\n  [3, 4]\n]')
    expect(tensorAsJson('INT32', [], encodeElements('INT32', [7]), 100)).toBe('7')
  })

  it('stops at the limit', () => {
    expect(tensorAsJson('INT32', [2, 3], encodeElements('INT32', [1, 2, 3, 4, 5, 6]), 4)).toBe('[\n  [1, 2, 3],\n  [4]\n]')
  })
})
