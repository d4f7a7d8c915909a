import { describe, expect, it } from 'vitest'
import { loadNativeAddon, NATIVE_ADDON_PATH, type NativeAddonResult } from '../../backends/native-addon.ts'
import type { DataType } from '../../contract/inference.ts'
import { randomNumbers } from '../../testing/random-numbers.ts'
import { addTensorData, jsonDouble, jsonParameters, jsonString, JsonWriter, printed } from './json-writer.ts'

function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
}

function written(datatype: DataType, data: Uint8Array, count: number, native?: () => NativeAddonResult): string {
  const writer = new JsonWriter()
  addTensorData(writer, 'OUT', datatype, data, count, native)
  return writer.finishJoined().toString('latin1')
}

describe('jsonDouble', () => {
  it.each([
    [1, '1.0'], [-0, '-0.0'], [0, '0.0'], [Math.fround(0.1), '0.10000000149011612'], [0.00001, '0.00001'], [1e10, '10000000000.0'],
    [1e21, '1e21'], [Math.fround(1e30), '1.0000000150474662e30'], [Math.fround(1e-7), '1.0000000116860974e-7'], [1e20, '100000000000000000000.0'],
    [NaN, 'NaN'], [Infinity, 'Infinity'], [-Infinity, '-Infinity'], [-2.5, '-2.5'],
  ])('%d', (value, text) => {
    expect(jsonDouble(value)).toBe(text)
  })
})

describe('addTensorData', () => {
  it.each<[DataType, ArrayBufferView, number, string]>([
    ['INT64', BigInt64Array.of(9007199254740993n, -1n), 2, '[9007199254740993,-1]'],
    ['UINT64', BigUint64Array.of(18446744073709551615n), 1, '[18446744073709551615]'],
    ['BOOL', Uint8Array.of(0, 1, 2), 3, '[false,true,true]'],
    ['INT8', Int8Array.of(-1, 2), 2, '[-1,2]'],
    ['UINT16', Uint16Array.of(65535), 1, '[65535]'],
    ['FP32', Float32Array.of(1.5, NaN), 2, '[1.5,NaN]'],
    ['FP32', new Float32Array(0), 0, '[]'],
  ])('%s', (datatype, data, count, text) => {
    expect(written(datatype, bytesOf(data), count)).toBe(text)
  })

  it('copies BYTES untouched but for escapes', () => {
    const data = Buffer.from([3, 0, 0, 0, 0x61, 0xff, 0x22, 1, 0, 0, 0, 0x1f, 0, 0, 0, 0])
    expect(written('BYTES', data, 3)).toBe('["a\xff\\"","\\u001F",""]')
  })

  it('refuses BYTES that do not match the shape', () => {
    expect(() => written('BYTES', Buffer.from([9, 0, 0, 0, 1]), 1)).toThrow("output tensor shape does not match size of output for 'OUT'")
    expect(() => written('BYTES', Buffer.from([0, 0, 0, 0]), 2)).toThrow("output tensor shape does not match size of output for 'OUT'")
  })

  it.each(['FP16', 'BF16'] as const)('refuses %s', (datatype) => {
    expect(() => written(datatype, new Uint8Array(2), 1)).toThrow(`sending ${datatype} data via JSON is not supported. Please use the binary data format for output`)
  })

  const addon = loadNativeAddon(NATIVE_ADDON_PATH)
  const printers: readonly (readonly [string, () => NativeAddonResult])[] = [['the engine', () => ({ ok: false, reason: 'not asked' })], ['the addon', () => addon]]

  it('finds the addon that these tests compare with', () => { expect(addon).toMatchObject({ ok: true }) })

  describe.each(printers)('by %s', (_name, native) => {
    it.each(['FP32', 'FP64'] as const)('prints numbers together as it prints each: %s', (datatype) => {
      const random = randomNumbers(5)
      const special = [0, -0, NaN, Infinity, -Infinity, 1, -2, 1e21, 1e30, 1e-7, 123456789]
      for (const share of [0, 20, 2]) {
        const values = Array.from({ length: 9000 }, () => (share > 0 && random(share) === 0 ? special[random(special.length)] as number : random(1 << 30) / 2 ** random(60) + 0.1))
        const tensor = datatype === 'FP32' ? Float32Array.from(values) : Float64Array.from(values)
        expect(written(datatype, bytesOf(tensor), tensor.length, native)).toBe(`[${Array.from(tensor, jsonDouble).join(',')}]`)
      }
    })

    it.each(['FP32', 'FP64'] as const)('prints any bits, and what lies around powers of ten: %s', (datatype) => {
      const random = randomNumbers(7)
      const bits = Uint32Array.from({ length: 20_000 }, () => random(2 ** 32))
      const powers = Array.from({ length: 640 }, (_, i) => Number(`1e${i - 323}`)).flatMap((power) => [power, power * (1 + 2 ** -52), power * (1 - 2 ** -53), -3 * power])
      for (const tensor of datatype === 'FP32' ? [new Float32Array(bits.buffer), Float32Array.from(powers)] : [new Float64Array(bits.buffer), Float64Array.from(powers)]) {
        expect(written(datatype, bytesOf(tensor), tensor.length, native)).toBe(`[${Array.from(tensor, jsonDouble).join(',')}]`)
      }
    })
  })

  it('writes long data whole', () => {
    const values = Float32Array.from({ length: 50_000 }, (_, i) => i + 0.5)
    expect(JSON.parse(written('FP32', bytesOf(values), values.length))).toEqual([...values])
  })
})

describe('a large tensor', () => {
  const byteStrings = (strings: readonly string[]) => Buffer.concat(strings.flatMap((text) => {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(Buffer.byteLength(text))
    return [length, Buffer.from(text)]
  }))
  const pieces = (datatype: DataType, data: Uint8Array, count: number) => {
    const writer = new JsonWriter()
    addTensorData(writer, 'OUT', datatype, data, count)
    return writer.finish()
  }

  it.each<[DataType, ArrayBufferView & { readonly length: number }]>([
    ['INT64', BigInt64Array.from({ length: 40_000 }, (_, i) => 9007199254740993n - BigInt(i))], ['FP64', Float64Array.from({ length: 40_000 }, (_, i) => i / 7)],
    ['UINT8', Uint8Array.from({ length: 40_000 }, (_, i) => i)], ['BOOL', Uint8Array.from({ length: 40_000 }, (_, i) => i % 2)],
  ])('is printed in parts when they are needed, each time the same: %s', (datatype, view) => {
    const parts = pieces(datatype, bytesOf(view), view.length)
    const text = Buffer.concat(parts.map(printed)).toString()
    const size = view.byteLength / view.length
    const whole = Array.from({ length: view.length }, (_, i) => written(datatype, bytesOf(view).subarray(i * size, (i + 1) * size), 1).slice(1, -1))
    expect(text).toBe(`[${whole.join(',')}]`)
    expect(Buffer.concat(parts.map(printed)).toString()).toBe(text)
    expect(parts.filter((part) => typeof part === 'function').length).toBe(5)
    expect(Math.max(...parts.map((part) => printed(part).length))).toBeLessThan(16_384 * 26)
  })

  it('of strings is printed in parts, long strings too', () => {
    const strings = ['', 'a"b', 'x\n'.repeat(100_000), '中文', ...Array.from({ length: 20_000 }, (_, i) => `word ${i}`), 'y'.repeat(70_000), 'z']
    const parts = pieces('BYTES', byteStrings(strings), strings.length)
    expect(JSON.parse(Buffer.concat(parts.map(printed)).toString())).toEqual(strings)
    expect(Math.max(...parts.map((part) => printed(part).length))).toBeLessThan(400_000)
    expect(JSON.parse(Buffer.concat(pieces('BYTES', byteStrings(['q'.repeat(100_000)]), 1).map(printed)).toString())).toEqual(['q'.repeat(100_000)])
  })

  it('is refused before anything is printed', () => {
    expect(() => pieces('FP16', new Uint8Array(80_000), 40_000)).toThrow('sending FP16 data via JSON is not supported')
    expect(() => pieces('BYTES', Buffer.concat([byteStrings(['q'.repeat(100_000)]), Buffer.from([9, 0, 0, 0])]), 2)).toThrow("output tensor shape does not match size of output for 'OUT'")
  })
})

describe('jsonString and jsonParameters', () => {
  it('escapes as RapidJSON does', () => {
    expect(jsonString('a"b\\c\n\u0001é😀')).toBe('"a\\"b\\\\c\\n\\u0001é😀"')
  })

  it('keeps the kind of parameters', () => {
    expect(jsonParameters({ whole: 1n, double: 1, text: 'x', flag: true })).toBe('{"whole":1,"double":1.0,"text":"x","flag":true}')
  })
})
