/** What `--input NAME=VALUE` says, as the tensors of a request. */
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { ModelMetadata, Tensor, TensorMetadata } from '../contract/inference.ts'
import { GENERATORS, initialDraft, draftTensor } from '../tensors/input-draft.ts'
import { readNpy } from '../tensors/npy.ts'
import { countElements, elementCount, encodeElements } from '../tensors/tensor-codec.ts'
import { generateTensor, type TensorGenerator } from '../tensors/tensor-generate.ts'
import { parseTensorText, TensorTextError } from '../tensors/tensor-text.ts'
import { UsageError } from './usage-error.ts'

export interface GivenInputs {
  /** NAME=VALUE each. */
  readonly inputs: readonly string[]
  /** NAME=DIM,DIM,... each. */
  readonly shapes: readonly string[]
}

/** The tensors to send, and for each that was not given a sentence on what stands in for it. @throws UsageError */
export async function readInputs(metadata: ModelMetadata, given: GivenInputs): Promise<{ readonly tensors: readonly Tensor[]; readonly notes: readonly string[] }> {
  const values = byName('--input', given.inputs, metadata)
  const shapes = new Map([...byName('--shape', given.shapes, metadata)].map(([name, text]) => [name, shapeIn(name, text)]))
  const notes: string[] = []
  const tensors: Tensor[] = []
  for (const input of metadata.inputs) {
    const value = values.get(input.name)
    const shape = shapes.get(input.name) ?? null
    if (value === undefined) {
      const tensor = standIn(input, shape)
      notes.push(`input '${input.name}' is not given: ${['FP16', 'BF16', 'FP32', 'FP64'].includes(input.datatype) ? 'random values' : 'zeros'} of shape [${tensor.shape.join(', ')}]`)
      tensors.push(tensor)
    } else tensors.push(await readInput(input, value, shape))
  }
  return { tensors, notes }
}

function byName(flag: string, given: readonly string[], metadata: ModelMetadata): Map<string, string> {
  const result = new Map<string, string>()
  for (const text of given) {
    const at = text.indexOf('=')
    const name = text.slice(0, at)
    if (at <= 0) throw new UsageError(`${flag} expects NAME=VALUE, got: ${text}`)
    if (!metadata.inputs.some((input) => input.name === name)) throw new UsageError(`${flag}: model '${metadata.name}' has no input '${name}'; it has ${metadata.inputs.map((input) => input.name).join(', ')}`)
    if (result.has(name)) throw new UsageError(`${flag} names '${name}' twice`)
    result.set(name, text.slice(at + 1))
  }
  return result
}

function shapeIn(name: string, text: string): readonly number[] {
  const dims = text.trim() === '' ? [] : text.split(/[,x]/).map((dim) => (/^\s*\d+\s*$/.test(dim) ? Number(dim) : Number.NaN))
  if (Number.isNaN(elementCount(dims))) throw new UsageError(`--shape: '${name}' expects whole numbers like 1,3,224,224, got: ${text}`)
  return dims
}

/** As the window fills it at first. */
function standIn(input: TensorMetadata, shape: readonly number[] | null): Tensor {
  const result = draftTensor(initialDraft(shape === null ? input : { ...input, shape }))
  if (!result.ok) throw new UsageError(`input '${input.name}' cannot be made up: give it with --input`)
  return result.tensor
}

/** @param value a JSON array, a generator's name, or a file: .npy, .json, .bin or .raw (the protocol's bytes); any other file is one element of BYTES, or the bytes of the tensor */
async function readInput(input: TensorMetadata, value: string, shape: readonly number[] | null): Promise<Tensor> {
  const { name, datatype } = input
  const generator = GENERATORS.find((known): known is TensorGenerator => known === value)
  if (generator !== undefined) {
    const dims = shape ?? standIn(input, null).shape
    return { name, datatype, shape: dims, data: generateTensor(datatype, elementCount(dims), generator) }
  }
  if (value.trimStart().startsWith('[')) return fromText(input, value, shape, 'the list')
  const file = await readFile(value).catch((cause: unknown) => {
    throw new UsageError(`--input: '${value}' for '${name}' is neither a JSON array, one of ${GENERATORS.join(', ')}, nor a file that can be read (${(cause as Error).message})`, { cause })
  })
  const extension = extname(value).toLowerCase()
  if (extension === '.npy') return fromNpy(input, value, file, shape)
  if (extension === '.json') return fromText(input, file.toString(), shape, value)
  const data = datatype === 'BYTES' && extension !== '.bin' && extension !== '.raw' ? encodeElements('BYTES', [file]) : file
  return { name, datatype, data, shape: fittingShape(input, countIn(input, data, value), shape, value) }
}

function fromText(input: TensorMetadata, text: string, shape: readonly number[] | null, what: string): Tensor {
  try {
    const values = parseTensorText(text, input.datatype)
    return { name: input.name, datatype: input.datatype, shape: fittingShape(input, values.length, shape, what), data: encodeElements(input.datatype, values) }
  } catch (error) {
    if (error instanceof TensorTextError) throw new UsageError(`--input: ${what} for '${input.name}', line ${error.line}, column ${error.column}: ${error.message}`, { cause: error })
    throw error
  }
}

function fromNpy(input: TensorMetadata, path: string, file: Uint8Array, shape: readonly number[] | null): Tensor {
  let array
  try {
    array = readNpy(file)
  } catch (cause) {
    throw new UsageError(`--input: ${path}: ${(cause as Error).message}`, { cause })
  }
  if (array.datatype !== input.datatype) throw new UsageError(`--input: ${path} holds ${array.datatype}, input '${input.name}' takes ${input.datatype}: convert it with astype before it is saved`)
  const isUnbatched = array.shape.length + 1 === input.shape.length && input.shape[0] === -1
  const own = isUnbatched ? [1, ...array.shape] : array.shape
  return { name: input.name, datatype: array.datatype, data: array.data, shape: shape === null ? own : fittingShape(input, elementCount(own), shape, path) }
}

function countIn(input: TensorMetadata, data: Uint8Array, path: string): number {
  try {
    return countElements(input.datatype, data)
  } catch (cause) {
    throw new UsageError(`--input: ${path} for '${input.name}': ${(cause as Error).message}`, { cause })
  }
}

/** The given shape, or the model's with its one free dim worked out; of several free ones the first is a batch of 1. @throws UsageError */
function fittingShape(input: TensorMetadata, count: number, given: readonly number[] | null, what: string): readonly number[] {
  const wanted = given ?? (input.shape.filter((dim) => dim < 0).length > 1 && (input.shape[0] ?? 0) < 0 ? [1, ...input.shape.slice(1)] : input.shape)
  const free = wanted.flatMap((dim, axis) => (dim < 0 ? [axis] : []))
  if (free.length > 1) throw new UsageError(`input '${input.name}' has the shape [${input.shape.join(', ')}], of which ${what} does not say the free dims: add --shape='${input.name}=DIM,DIM,...'`)
  const rest = wanted.reduce((product, dim) => (dim < 0 ? product : product * dim), 1)
  const shape = wanted.map((dim) => (dim < 0 ? count / rest : dim))
  if (elementCount(shape) !== count) throw new UsageError(`input '${input.name}' of shape [${wanted.join(', ')}] takes ${free.length === 1 ? `a multiple of ${rest}` : rest} elements, ${what} has ${count}`)
  return shape
}
