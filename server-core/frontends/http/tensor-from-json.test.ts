import { describe, expect, it } from 'vitest'
import type { DataType } from '../../contract/inference.ts'
import { ServerError } from '../../server-error.ts'
import { JsonDocument } from './json-document.ts'
import { bytesFromJson, numbersFromJson } from './tensor-from-json.ts'

function numbers(text: string, datatype: DataType, count: number): Uint8Array {
  const document = new JsonDocument(Buffer.from(text))
  return numbersFromJson(document, document.root, datatype, count)
}

function strings(text: string | Buffer, limit = 1000): Uint8Array {
  const document = new JsonDocument(Buffer.from(text))
  return bytesFromJson(document, document.root, limit, (size) => new ServerError('INVALID_ARG', `too large: ${size}`))
}

describe('numbersFromJson', () => {
  it.each<[string, DataType, number, ArrayBufferView]>([
    ['[1,[2,[-3]],4]', 'INT32', 4, Int32Array.of(1, 2, -3, 4)],
    ['[300,-1,128]', 'INT8', 3, Int8Array.of(44, -1, -128)],
    ['[65537, 4294967296]', 'UINT16', 2, Uint16Array.of(1, 0)],
    ['[4294967297]', 'UINT32', 1, Uint32Array.of(1)],
    ['[9223372036854775807]', 'INT32', 1, Int32Array.of(-1)],
    ['[9223372036854775807,-9223372036854775808,-1,4294967296]', 'INT64', 4,
      BigInt64Array.of(9223372036854775807n, -9223372036854775808n, -1n, 4294967296n)],
    ['[18446744073709551615,9007199254740993]', 'UINT64', 2, BigUint64Array.of(18446744073709551615n, 9007199254740993n)],
    ['[true,false]', 'BOOL', 2, Uint8Array.of(1, 0)],
    ['[0.1,1,-2.5e-3,NaN,Infinity,-Inf,1e39]', 'FP32', 7, Float32Array.of(0.1, 1, -2.5e-3, NaN, Infinity, -Infinity, Infinity)],
    ['[0.1,1e22,5e-324,123456789012345678]', 'FP64', 4, Float64Array.of(0.1, 1e22, 5e-324, 123456789012345678)],
  ])('%s as %s', (text, datatype, count, expected) => {
    expect(numbers(text, datatype, count)).toEqual(new Uint8Array(expected.buffer, expected.byteOffset, expected.byteLength))
  })

  it('rounds every literal as the engine does', () => {
    let seed = 12345
    const next = () => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed / 2147483648 }
    const literals = Array.from({ length: 20_000 }, (_, i) => {
      const value = (next() - 0.5) * 10 ** Math.floor(next() * 40 - 20)
      return i % 3 === 0 ? String(Math.fround(value)) : i % 3 === 1 ? value.toPrecision(1 + Math.floor(next() * 21)) : String(value)
    })
    const text = `[${literals.join(',')}]`
    const doubles = new Float64Array(numbers(text, 'FP64', literals.length).buffer)
    const singles = new Float32Array(numbers(text, 'FP32', literals.length).buffer)
    expect([...doubles]).toEqual(literals.map(Number))
    expect([...singles]).toEqual(literals.map((literal) => Math.fround(Number(literal))))
  })

  it.each<[string, DataType, number, string, string]>([
    ['[1,2,3]', 'INT32', 2, 'INTERNAL', "Unable to parse 'data': Shape does not match true shape of 'data' field"],
    ['[1]', 'INT32', 2, 'INTERNAL', "Failed to parse 'data' field: shape does not match true shape"],
    ['[1.0]', 'INT32', 1, 'INTERNAL', "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer"],
    ['[1e2]', 'INT64', 1, 'INTERNAL', "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer"],
    ['[true]', 'INT8', 1, 'INTERNAL', "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer"],
    ['[9223372036854775808]', 'INT64', 1, 'INTERNAL', "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer"],
    ['[-1]', 'UINT8', 1, 'INTERNAL', "Unable to parse 'data': attempt to access JSON non-unsigned-integer as unsigned-integer"],
    ['[18446744073709551616]', 'UINT64', 1, 'INTERNAL', "Unable to parse 'data': attempt to access JSON non-unsigned-integer as unsigned-integer"],
    ['[1]', 'BOOL', 1, 'INTERNAL', "Unable to parse 'data': attempt to access JSON non-boolean as boolean"],
    ['["Inf,x"]', 'FP32', 1, 'INTERNAL', "Unable to parse 'data': attempt to access JSON non-number as double"],
    ['[null]', 'FP64', 1, 'INTERNAL', "Unable to parse 'data': attempt to access JSON non-number as double"],
    ['[{"a":1}]', 'FP32', 1, 'INTERNAL', "Unable to parse 'data': attempt to access JSON non-number as double"],
    [`${'['.repeat(100)}1${']'.repeat(100)}`, 'FP32', 1, 'INVALID_ARG', "Unable to parse 'data': JSON nesting depth exceeds maximum allowed limit (100)"],
  ])('refuses %s as %s', (text, datatype, count, kind, message) => {
    expect(() => numbers(text, datatype, count)).toThrow(expect.objectContaining({ kind, message }))
  })

  it('reads 99 levels of nesting', () => {
    expect(numbers(`${'['.repeat(99)}7${']'.repeat(99)}`, 'UINT8', 1)).toEqual(Uint8Array.of(7))
  })
})

describe('bytesFromJson', () => {
  it('prefixes each element with its length and resolves escapes', () => {
    const raw = strings('["ab",["","\\u0000\\u00e9"],"c\\n"]')
    expect([...raw]).toEqual([2, 0, 0, 0, 0x61, 0x62, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0xc3, 0xa9, 2, 0, 0, 0, 0x63, 0x0a])
  })

  it('keeps bytes that are not UTF-8', () => {
    const raw = strings(Buffer.from([0x5b, 0x22, 0xff, 0x80, 0x22, 0x5d]))
    expect([...raw]).toEqual([2, 0, 0, 0, 0xff, 0x80])
  })

  it('counts escaped bytes at their real length against the limit', () => {
    expect(strings('["\\u0041\\u0041"]', 6)).toHaveLength(6)
    expect(() => strings('["\\u0041\\u0041"]', 5)).toThrow('too large: 6')
  })

  it('refuses what is no string', () => {
    expect(() => strings('[1]')).toThrow(expect.objectContaining({
      kind: 'INTERNAL', message: 'Unable to parse JSON bytes array: attempt to access JSON non-string as string',
    }))
  })
})
