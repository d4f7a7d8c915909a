/** Fills a tensor without typing: zeros, a ramp, or random values that repeat for the same seed. */
import { DATA_TYPES, type DataType } from '../contract/inference.ts'
import { INTEGER_RANGES, encodeElements, writeElement, type TensorValue } from './tensor-codec.ts'

export type TensorGenerator = 'zeros' | 'random' | 'ramp'

/**
 * Tensor bytes for `count` elements. Random floats lie in [0, 1), random integers in 0 to 99 (within the type). A ramp counts 0, 1, 2 ...
 * and starts again where the type ends (FP16, BF16: at the last whole number they hold exactly). BYTES: empty text, or the number as text.
 */
export function generateTensor(datatype: DataType, count: number, generator: TensorGenerator, seed = 1): Uint8Array<ArrayBuffer> {
  const random = seededRandom(seed)
  const value = (index: number): number => (generator === 'zeros' ? 0 : generator === 'ramp' ? index % rampLength(datatype) : randomValue(datatype, random))
  if (datatype === 'BYTES') {
    const text = new TextEncoder()
    return encodeElements('BYTES', Array.from({ length: count }, (_, index): TensorValue => text.encode(generator === 'zeros' ? '' : String(value(index)))))
  }
  const size = DATA_TYPES[datatype].byteSize
  const data = new Uint8Array(count * size)
  if (generator === 'zeros') return data
  const view = new DataView(data.buffer)
  for (let index = 0; index < count; index++) writeElement(view, index * size, datatype, value(index))
  return data
}

function rampLength(datatype: DataType): number {
  if (datatype === 'BOOL') return 2
  if (datatype === 'FP16') return 2049
  if (datatype === 'BF16') return 257
  const range = INTEGER_RANGES[datatype]
  return range && range[1] < 2n ** 31n ? Number(range[1]) + 1 : Number.MAX_SAFE_INTEGER
}

function randomValue(datatype: DataType, random: () => number): number {
  if (datatype === 'BOOL') return random() < 0.5 ? 0 : 1
  return datatype === 'FP16' || datatype === 'BF16' || datatype === 'FP32' || datatype === 'FP64' ? random() : Math.floor(random() * 100)
}

/** mulberry32: small, fast, good enough for filler values. Returns numbers in [0, 1). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
