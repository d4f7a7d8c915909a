import { describe, expect, it } from 'vitest'
import type { DataType } from '../contract/inference.ts'
import { classify } from './classification.ts'

function strings(datatype: DataType, view: ArrayBufferView, shape: number[], topK: number, hasBatchDimension = false): string[] {
  const data = new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
  const result = classify({ name: 'OUT', datatype, shape, data }, { topK, hasBatchDimension, labels: undefined })
  const bytes = Buffer.from(result.data)
  const found: string[] = []
  for (let at = 0; at < bytes.length;) {
    const length = bytes.readUInt32LE(at)
    found.push(bytes.toString('utf8', at + 4, at + 4 + length))
    at += 4 + length
  }
  expect(result.shape).toEqual(hasBatchDimension ? [shape[0], found.length / (shape[0] ?? 1)] : [found.length])
  return found
}

describe('classify', () => {
  it.each<[DataType, ArrayBufferView, string[]]>([
    ['FP32', Float32Array.of(0.5, 0.0078125, 0.0234375), ['0.500000:0', '0.023438:2', '0.007812:1']],
    ['FP64', Float64Array.of(1e22, -1, 3), ['10000000000000000000000.000000:0', '3.000000:2', '-1.000000:1']],
    ['INT64', BigInt64Array.of(9007199254740993n, 9007199254740992n), ['9007199254740993:0', '9007199254740992:1']],
    ['UINT8', Uint8Array.of(3, 200, 3), ['200:1', '3:0', '3:2']],
  ])('prints %s as C does, best first', (datatype, view, expected) => {
    expect(strings(datatype, view, [expected.length], 10)).toEqual(expected)
  })

  it('ranks each row of a batch on its own, over the product of the other dims', () => {
    expect(strings('INT8', Int8Array.of(1, 2, 3, 4, 8, 7, 6, 5), [2, 2, 2], 1, true)).toEqual(['4:3', '8:0'])
  })

  it('refuses types without an order', () => {
    expect(() => strings('BOOL', Uint8Array.of(1), [1], 1)).toThrow("class result not available for output due to unsupported type 'BOOL'")
  })
})
