import { DATA_TYPES, type Tensor } from '../contract/inference.ts'

/** A tensor as an entry of a trace has it: `{"name","data":"1,2,3","shape":"1,3","dtype":"INT32"}`. BYTES are read as UTF-8. */
export function tensorDocument({ name, datatype, shape, data }: Tensor): string {
  return JSON.stringify({ name, data: valuesOf(datatype, data).join(','), shape: shape.join(','), dtype: datatype })
}

/** What lies behind the last whole element is left out: a backend may have answered anything. */
function valuesOf(datatype: Tensor['datatype'], data: Uint8Array): readonly (string | number | bigint)[] {
  const size = Math.max(1, DATA_TYPES[datatype].byteSize)
  const { buffer } = new Uint8Array(data.subarray(0, data.byteLength - data.byteLength % size))
  switch (datatype) {
    case 'BOOL': case 'UINT8': return [...data]
    case 'INT8': return [...new Int8Array(buffer)]
    case 'UINT16': return [...new Uint16Array(buffer)]
    case 'INT16': return [...new Int16Array(buffer)]
    case 'UINT32': return [...new Uint32Array(buffer)]
    case 'INT32': return [...new Int32Array(buffer)]
    case 'UINT64': return [...new BigUint64Array(buffer)]
    case 'INT64': return [...new BigInt64Array(buffer)]
    case 'FP16': return Array.from(new Uint16Array(buffer), halfValue)
    // The upper half of an FP32.
    case 'BF16': return [...new Float32Array(Uint32Array.from(new Uint16Array(buffer), (bits) => bits << 16).buffer)]
    case 'FP32': return [...new Float32Array(buffer)]
    case 'FP64': return [...new Float64Array(buffer)]
    case 'BYTES': return strings(data)
  }
}

/** IEEE 754 binary16. */
function halfValue(bits: number): number {
  const sign = (bits & 0x8000) === 0 ? 1 : -1
  const exponent = (bits >> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

function strings(data: Uint8Array): string[] {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  const found: string[] = []
  for (let at = 0; at + 4 <= bytes.length;) {
    const end = at + 4 + bytes.readUInt32LE(at)
    found.push(bytes.toString('utf8', at + 4, end))
    at = end
  }
  return found
}
