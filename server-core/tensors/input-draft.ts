/** What a person is filling in for one model input, and the tensor it comes to. */
import { DATA_TYPES, type DataType, type Tensor, type TensorMetadata } from '../contract/inference.ts'
import { countElements, decodeElements, elementCount, encodeElements, tensorByteSize } from './tensor-codec.ts'
import { generateTensor, type TensorGenerator } from './tensor-generate.ts'
import { formatTensorValue, parseTensorText, TensorTextError } from './tensor-text.ts'

/** Tensors of up to this many elements are edited as text; larger ones come from a generator or a file. */
export const TEXT_ELEMENTS = 2000

export type InputSource =
  | { readonly kind: 'text'; readonly text: string; /** The generator that wrote the text; null once it was edited. */ readonly generator: TensorGenerator | null }
  | { readonly kind: 'generated'; readonly generator: TensorGenerator }
  | { readonly kind: 'file'; readonly fileName: string; readonly data: Uint8Array }

export interface InputDraft {
  readonly name: string
  readonly datatype: DataType
  /** As the model says: -1 where any size goes. */
  readonly modelShape: readonly number[]
  /** One entry per dim, as typed. */
  readonly shapeText: readonly string[]
  readonly source: InputSource
  readonly seed: number
  readonly isOptional: boolean
  readonly isSent: boolean
}

/** Why a draft is no tensor yet. `values` are for the wording. */
export interface DraftProblem {
  readonly key: 'dim' | 'text' | 'count' | 'bytes'
  readonly values: Readonly<Record<string, string | number>>
}

export type DraftResult = { readonly ok: true; readonly tensor: Tensor } | { readonly ok: false; readonly problem: DraftProblem }

export interface DraftDefaults {
  readonly isOptional?: boolean
  /** What the model's config suggests: JSON values, or the name of a generator. */
  readonly suggestion?: string | undefined
}

/** A draft that can run as it is: the config's suggestion, else random floats and zeros for the rest, in the smallest sensible shape. */
export function initialDraft(input: TensorMetadata, { isOptional = false, suggestion }: DraftDefaults = {}): InputDraft {
  const rank = input.shape.length
  // Pictures ([N, C, H, W]) and sequences ([N, length]) want a little size; any other free dim is most often another batch.
  const freeDim = (axis: number) => (axis === 0 ? 1 : rank === 2 ? 8 : rank === 4 && axis >= 2 ? 32 : 1)
  const shapeText = input.shape.map((dim, axis) => String(dim >= 0 ? dim : freeDim(axis)))
  const generator = GENERATORS.find((name) => name === suggestion) ?? (['FP16', 'BF16', 'FP32', 'FP64'].includes(input.datatype) ? 'random' : 'zeros')
  const draft: InputDraft = { name: input.name, datatype: input.datatype, modelShape: input.shape, shapeText, seed: 1, isOptional, isSent: !isOptional, source: { kind: 'generated', generator } }
  if (suggestion !== undefined && suggestion !== generator) return { ...draft, source: { kind: 'text', text: suggestion, generator: null } }
  return withGenerator(draft, generator)
}

export const GENERATORS: readonly TensorGenerator[] = ['zeros', 'random', 'ramp']

/** Takes a file's bytes as they are; where the model leaves a dim free, the last such dim follows the number of elements. */
export function withFile(draft: InputDraft, fileName: string, data: Uint8Array): InputDraft {
  return { ...draft, shapeText: shapeOfFile(draft, data.byteLength), source: { kind: 'file', fileName, data } }
}

/** Would a file of this size make a tensor of this input? */
export function fitsFile(draft: InputDraft, byteSize: number): boolean {
  return byteSize > 0 && tensorByteSize(draft.datatype, draftShape({ ...draft, shapeText: shapeOfFile(draft, byteSize) })) === byteSize
}

function shapeOfFile(draft: InputDraft, byteSize: number): readonly string[] {
  const axis = draft.modelShape.findLastIndex((dim) => dim < 0)
  const rest = draftShape(draft).reduce((product, dim, index) => (index === axis ? product : product * dim), DATA_TYPES[draft.datatype].byteSize)
  const dim = byteSize / rest
  return axis >= 0 && Number.isInteger(dim) ? draft.shapeText.map((text, index) => (index === axis ? String(dim) : text)) : draft.shapeText
}

/** The dims as numbers; NaN where a dim is not a whole number of 0 or more. */
export function draftShape(draft: InputDraft): number[] {
  return draft.shapeText.map((text) => (/^\d+$/.test(text.trim()) ? Number(text) : Number.NaN))
}

/** Fills by a generator: as text while it can be edited as text. */
export function withGenerator(draft: InputDraft, generator: TensorGenerator, seed = draft.seed): InputDraft {
  const count = elementCount(draftShape(draft))
  if (!(count <= TEXT_ELEMENTS)) return { ...draft, seed, source: { kind: 'generated', generator } }
  const values = decodeElements(draft.datatype, generateTensor(draft.datatype, count, generator, seed))
  const text = `[${values.map((value) => formatTensorValue(value, draft.datatype)).join(', ')}]`
  return { ...draft, seed, source: { kind: 'text', text, generator } }
}

/** Changes one dim; what a generator wrote follows the new shape, what was typed or chosen stays. */
export function withDim(draft: InputDraft, axis: number, text: string): InputDraft {
  const next = { ...draft, shapeText: draft.shapeText.map((old, index) => (index === axis ? text : old)) }
  const generator = draft.source.kind === 'file' ? null : draft.source.generator
  return generator === null || Number.isNaN(elementCount(draftShape(next))) ? next : withGenerator(next, generator)
}

/** The tensor, or the first reason why there is none. */
export function draftTensor(draft: InputDraft): DraftResult {
  const shape = draftShape(draft)
  const badAxis = shape.findIndex((dim) => Number.isNaN(dim))
  if (badAxis >= 0) return problem('dim', { axis: badAxis, found: draft.shapeText[badAxis] ?? '' })
  const { source, datatype, name } = draft
  const expected = elementCount(shape)
  const tensor = (data: Uint8Array): DraftResult => ({ ok: true, tensor: { name, datatype, shape, data } })
  if (source.kind === 'generated') return tensor(generateTensor(datatype, expected, source.generator, draft.seed))
  if (source.kind === 'file') {
    const size = tensorByteSize(datatype, shape)
    if (size !== null) return size === source.data.byteLength ? tensor(source.data) : problem('bytes', { expected: size, found: source.data.byteLength })
    try {
      const found = countElements(datatype, source.data)
      return found === expected ? tensor(source.data) : problem('count', { expected, found })
    } catch (error) {
      return problem('text', { message: error instanceof Error ? error.message : String(error), line: 1, column: 1 })
    }
  }
  try {
    const values = parseTensorText(source.text, datatype)
    return values.length === expected ? tensor(encodeElements(datatype, values)) : problem('count', { expected, found: values.length })
  } catch (error) {
    if (error instanceof TensorTextError) return problem('text', { message: error.message, line: error.line, column: error.column })
    throw error
  }
}

function problem(key: DraftProblem['key'], values: DraftProblem['values']): DraftResult {
  return { ok: false, problem: { key, values } }
}
