/**
 * Tensors as NumPy's .npy files (format versions 1.0 to 3.0, https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html) and back.
 * Read: little- and big-endian, C and Fortran order, BYTES from `S` and `U`. Written: version 1.0, little-endian, C order.
 */
import type { DataType, Tensor } from '../contract/inference.ts'
import { elementCount, encodeElements, tensorReader } from './tensor-codec.ts'

/** A tensor without its name, which the file does not hold. */
export type NpyTensor = Pick<Tensor, 'datatype' | 'shape' | 'data'>

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]

/** NumPy's kind and item size. bfloat16 is not one of NumPy's own: the package ml_dtypes writes it as two opaque bytes. */
const TYPE_CODES: Readonly<Record<string, DataType>> = {
  b1: 'BOOL', u1: 'UINT8', u2: 'UINT16', u4: 'UINT32', u8: 'UINT64', i1: 'INT8', i2: 'INT16', i4: 'INT32', i8: 'INT64', f2: 'FP16', f4: 'FP32', f8: 'FP64', V2: 'BF16',
}

/** @throws Error that says what the file is instead, or what of it cannot be a tensor */
export function readNpy(file: Uint8Array): NpyTensor {
  const { descr, isFortranOrder, shape, dataStart } = readHeader(file)
  const count = elementCount(shape)
  const [, order = '', kind = '', sizeText = ''] = /^([<>|=])([a-zA-Z])(\d+)$/.exec(descr) ?? []
  const size = Number(sizeText)
  if (kind === 'S' || kind === 'U') return readText(file.subarray(dataStart), { kind, order, size, count, shape, isFortranOrder })
  const datatype = TYPE_CODES[kind + sizeText]
  if (datatype === undefined) throw new Error(unknownType(descr))
  const data = items(file.subarray(dataStart), count, size, shape, isFortranOrder)
  return { datatype, shape, data: order === '>' ? swapped(data, size) : data }
}

/** @throws Error for BYTES that end with a zero byte: NumPy would drop it */
export function writeNpy({ datatype, shape, data }: NpyTensor): Uint8Array<ArrayBuffer> {
  if (datatype === 'BYTES') return writeText(shape, data)
  const code = Object.entries(TYPE_CODES).find(([, type]) => type === datatype)?.[0] ?? ''
  return join(header(`${code.endsWith('1') ? '|' : '<'}${code}`, shape), data)
}

interface Header {
  readonly descr: string
  readonly isFortranOrder: boolean
  readonly shape: readonly number[]
  readonly dataStart: number
}

function readHeader(file: Uint8Array): Header {
  if (file.byteLength < 10 || MAGIC.some((byte, index) => file[index] !== byte)) throw new Error('no .npy file: it does not begin with \\x93NUMPY (an .npz archive has to be unpacked first)')
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  const version = file[6] ?? 0
  if (version < 1 || version > 3) throw new Error(`the .npy file has format version ${version}.${file[7] ?? 0}; known are 1.0 to 3.0`)
  const lengthSize = version === 1 ? 2 : 4
  if (file.byteLength < 8 + lengthSize) throw new Error('the .npy file ends inside its header')
  const headerStart = 8 + lengthSize
  const dataStart = headerStart + (version === 1 ? view.getUint16(8, true) : view.getUint32(8, true))
  if (dataStart > file.byteLength) throw new Error('the .npy file ends inside its header')
  const text = new TextDecoder(version === 3 ? 'utf-8' : 'latin1').decode(file.subarray(headerStart, dataStart))
  if (/'descr'\s*:\s*\[/.test(text)) throw new Error('the .npy file holds records of several fields: save each field as an array of its own')
  const descr = /'descr'\s*:\s*'([^']*)'/.exec(text)?.[1]
  const order = /'fortran_order'\s*:\s*(True|False)/.exec(text)?.[1]
  const shapeText = /'shape'\s*:\s*\(([\d\sL,]*)\)/.exec(text)?.[1]
  if (descr === undefined || order === undefined || shapeText === undefined) throw new Error(`the header of the .npy file cannot be read: ${text.trim().slice(0, 200)}`)
  const shape = shapeText.split(',').map((dim) => dim.replace('L', '').trim()).filter((dim) => dim !== '').map(Number)
  return { descr, isFortranOrder: order === 'True', shape, dataStart }
}

function unknownType(descr: string): string {
  if (descr.endsWith('O')) return "the .npy file holds Python objects (dtype 'object'), which only Python can read: save text with astype('S') or astype('U')"
  return `the .npy file has dtype '${descr}', for which there is no datatype of the protocol: convert it with astype`
}

/** The items in C order. @throws Error when there are more or fewer bytes */
function items(data: Uint8Array, count: number, size: number, shape: readonly number[], isFortranOrder: boolean): Uint8Array {
  if (data.byteLength !== count * size) throw new Error(`the .npy file has ${data.byteLength} bytes of values, its shape [${shape.join(', ')}] takes ${count * size}`)
  return isFortranOrder && shape.length > 1 ? transposed(data, size, shape) : data
}

/** Fortran order has the first axis run fastest, C order the last. */
function transposed(data: Uint8Array, size: number, shape: readonly number[]): Uint8Array {
  const result = new Uint8Array(data.byteLength)
  const strides: number[] = []
  let stride = 1
  for (const dim of shape) {
    strides.push(stride)
    stride *= dim
  }
  const index = shape.map(() => 0)
  let from = 0
  for (let target = 0; target < result.byteLength; target += size) {
    for (let byte = 0; byte < size; byte++) result[target + byte] = data[from * size + byte] ?? 0
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      index[axis] = (index[axis] ?? 0) + 1
      from += strides[axis] ?? 0
      if ((index[axis] ?? 0) < (shape[axis] ?? 0)) break
      from -= (strides[axis] ?? 0) * (shape[axis] ?? 0)
      index[axis] = 0
    }
  }
  return result
}

function swapped(data: Uint8Array, size: number): Uint8Array {
  const result = new Uint8Array(data.byteLength)
  for (let offset = 0; offset < data.byteLength; offset += size) {
    for (let byte = 0; byte < size; byte++) result[offset + byte] = data[offset + size - 1 - byte] ?? 0
  }
  return result
}

interface TextItems { readonly kind: 'S' | 'U'; readonly order: string; readonly size: number; readonly count: number; readonly shape: readonly number[]; readonly isFortranOrder: boolean }

/** `S`: bytes; `U`: UTF-32, which becomes UTF-8. NumPy fills up with zeros, and drops them when it reads. */
function readText(data: Uint8Array, { kind, order, size, count, shape, isFortranOrder }: TextItems): NpyTensor {
  const itemSize = kind === 'U' ? size * 4 : size
  const rows = items(data, count, itemSize, shape, isFortranOrder)
  const view = new DataView(rows.buffer, rows.byteOffset, rows.byteLength)
  const elements = Array.from({ length: count }, (_, index) => {
    if (kind === 'S') return withoutZeros(rows.subarray(index * itemSize, (index + 1) * itemSize))
    const points = Array.from({ length: size }, (_item, at) => view.getUint32(index * itemSize + at * 4, order !== '>'))
    while (points[points.length - 1] === 0) points.pop()
    if (points.some((point) => point > 0x10ffff)) throw new Error(`element ${index} of the .npy file is no Unicode text`)
    return new TextEncoder().encode(points.map((point) => String.fromCodePoint(point)).join(''))
  })
  return { datatype: 'BYTES', shape, data: encodeElements('BYTES', elements) }
}

function withoutZeros(item: Uint8Array): Uint8Array {
  let end = item.byteLength
  while (end > 0 && item[end - 1] === 0) end--
  return item.subarray(0, end)
}

function writeText(shape: readonly number[], data: Uint8Array): Uint8Array<ArrayBuffer> {
  const reader = tensorReader('BYTES', data)
  const elements = Array.from({ length: reader.count }, (_, index) => reader.read(index) as Uint8Array)
  const zero = elements.findIndex((element) => element[element.byteLength - 1] === 0)
  if (zero >= 0) throw new Error(`element ${zero} ends with a zero byte, which a .npy file does not keep: save it as JSON or raw bytes`)
  const size = Math.max(1, ...elements.map((element) => element.byteLength))
  const body = new Uint8Array(elements.length * size)
  elements.forEach((element, index) => { body.set(element, index * size) })
  return join(header(`|S${size}`, shape), body)
}

/** Filled up so that the values begin at a multiple of 64 bytes, as NumPy writes it. */
function header(descr: string, shape: readonly number[]): Uint8Array {
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape.join(', ')}${shape.length === 1 ? ',' : ''}), }`
  const length = Math.ceil((10 + text.length + 1) / 64) * 64 - 10
  return Uint8Array.from([...MAGIC, 1, 0, length & 0xff, length >> 8, ...new TextEncoder().encode(`${text.padEnd(length - 1)}\n`)])
}

function join(start: Uint8Array, rest: Uint8Array): Uint8Array<ArrayBuffer> {
  const result = new Uint8Array(start.byteLength + rest.byteLength)
  result.set(start)
  result.set(rest, start.byteLength)
  return result
}
