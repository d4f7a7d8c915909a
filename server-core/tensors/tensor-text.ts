/**
 * Tensor values as people type and read them: a JSON array, flat or nested, numbers kept exactly (64-bit integers never pass through a
 * double), plus NaN, Infinity and -Infinity, which JSON lacks and tensors have.
 */
import { INTEGER_RANGES, tensorReader, type TensorValue } from './tensor-codec.ts'
import type { DataType } from '../contract/inference.ts'

/** Where the text is wrong; the position is for people, counted from 1. */
export class TensorTextError extends Error {
  readonly line: number
  readonly column: number

  constructor(message: string, text: string, offset: number) {
    const before = text.slice(0, offset).split('\n')
    super(message)
    this.name = 'TensorTextError'
    this.line = before.length
    this.column = (before[before.length - 1] ?? '').length + 1
  }
}

const TOKEN = /\s*(?:([[\],])|"((?:[^"\\\n]|\\.)*)"|(-?Infinity|NaN|true|false|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?))/y

/**
 * The values of the text in row-major order. Nesting is not checked against a shape: the caller compares the counts.
 * @throws TensorTextError with the place, on what is not an array of values of this type
 */
export function parseTensorText(text: string, datatype: DataType): TensorValue[] {
  const values: TensorValue[] = []
  const end = text.trimEnd().length
  let depth = 0
  let position = 0
  let expectsValue = true
  let followsComma = false
  while (position < end) {
    TOKEN.lastIndex = position
    const match = TOKEN.exec(text)
    const start = position + (/^\s*/.exec(text.slice(position, position + 1000))?.[0].length ?? 0)
    if (!match) throw new TensorTextError(`unexpected ${JSON.stringify(text.slice(start, start + 1))}`, text, start)
    const [, mark, quoted, word] = match
    if (position > 0 && depth === 0) throw new TensorTextError('text after the closing bracket', text, start)
    position = TOKEN.lastIndex
    if (depth === 0 && mark !== '[') throw new TensorTextError('expected [ at the start', text, start)
    if (mark === ',') {
      if (expectsValue) throw new TensorTextError('unexpected ","', text, start)
      expectsValue = true
    } else if (mark === ']') {
      if (followsComma) throw new TensorTextError('expected a value after ","', text, start)
      depth--
      expectsValue = false
    } else {
      if (!expectsValue) throw new TensorTextError('expected "," between values', text, start)
      if (mark === '[') depth++
      else {
        values.push(readValue(quoted, word, datatype, text, start))
        expectsValue = false
      }
    }
    followsComma = mark === ','
  }
  if (depth > 0 || end === 0) throw new TensorTextError(end === 0 ? 'expected [ at the start' : 'a closing ] is missing', text, end)
  return values
}

function readValue(quoted: string | undefined, word: string | undefined, datatype: DataType, text: string, start: number): TensorValue {
  if (quoted !== undefined) {
    if (datatype !== 'BYTES') throw new TensorTextError(`text does not fit ${datatype}`, text, start)
    try {
      return new TextEncoder().encode(JSON.parse(`"${quoted}"`) as string)
    } catch {
      throw new TensorTextError('bad escape in the text', text, start)
    }
  }
  const token = word ?? ''
  if (datatype === 'BYTES') throw new TensorTextError('a BYTES element is text in double quotes', text, start)
  if (datatype === 'BOOL') {
    if (token === 'true' || token === '1') return true
    if (token === 'false' || token === '0') return false
    throw new TensorTextError(`${token} does not fit BOOL`, text, start)
  }
  if (token === 'true' || token === 'false') throw new TensorTextError(`${token} does not fit ${datatype}`, text, start)
  const range = INTEGER_RANGES[datatype]
  if (!range) return Number(token)
  if (!/^-?\d+$/.test(token)) throw new TensorTextError(`${token} does not fit ${datatype}: expected a whole number`, text, start)
  const integer = BigInt(token)
  if (integer < range[0] || integer > range[1]) throw new TensorTextError(`${token} does not fit ${datatype}: ${range[0]} to ${range[1]}`, text, start)
  return integer
}

/** One value as text: shortest digits that read back to the same FP16, BF16 or FP32 value; BYTES as a JSON string. */
export function formatTensorValue(value: TensorValue, datatype: DataType): string {
  if (value instanceof Uint8Array) return JSON.stringify(bytesAsText(value))
  if (typeof value !== 'number') return String(value)
  if (datatype === 'FP32') return shortest(value, 9)
  if (datatype === 'FP16') return shortest(value, 5)
  if (datatype === 'BF16') return shortest(value, 4)
  return String(value)
}

/** Text where the bytes are UTF-8, else base64 with a prefix that says so. */
export function bytesAsText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return `base64:${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}`
  }
}

function shortest(value: number, enough: number): string {
  if (!Number.isFinite(value)) return String(value)
  const same = enough === 9 ? (text: string) => Math.fround(Number(text)) === value : (text: string) => Math.abs(Number(text) - value) <= Math.abs(value) * (enough === 5 ? 2 ** -12 : 2 ** -9.01)
  for (let digits = 1; digits < enough; digits++) {
    const text = String(Number(value.toPrecision(digits)))
    if (same(text)) return text
  }
  return String(Number(value.toPrecision(enough)))
}

/** The first `limit` values as nested rows, one line per innermost row; says nothing about what it left out. */
export function tensorAsJson(datatype: DataType, shape: readonly number[], data: Uint8Array, limit: number): string {
  const reader = tensorReader(datatype, data)
  let next = 0
  const write = (axis: number, indent: string): string => {
    if (axis === shape.length) return formatTensorValue(reader.read(next++), datatype)
    const parts: string[] = []
    for (let index = 0; index < (shape[axis] ?? 0) && next < Math.min(limit, reader.count); index++) parts.push(write(axis + 1, `${indent}  `))
    if (axis === shape.length - 1) return `[${parts.join(', ')}]`
    return `[\n${parts.map((part) => `${indent}  ${part}`).join(',\n')}\n${indent}]`
  }
  return write(0, '')
}
