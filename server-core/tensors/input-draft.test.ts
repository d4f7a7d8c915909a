import { describe, expect, it } from 'vitest'
import { decodeElements } from './tensor-codec.ts'
import { draftTensor, fitsFile, initialDraft, withDim, withFile, withGenerator, type InputDraft } from './input-draft.ts'

const floats = initialDraft({ name: 'x', datatype: 'FP32', shape: [-1, 3] })
const typed = (draft: InputDraft, text: string): InputDraft => ({ ...draft, source: { kind: 'text', text, generator: null } })
const tensorOf = (draft: InputDraft) => {
  const result = draftTensor(draft)
  if (!result.ok) throw new Error(JSON.stringify(result.problem))
  return result.tensor
}
const problemOf = (draft: InputDraft) => {
  const result = draftTensor(draft)
  return result.ok ? null : result.problem
}

describe('initialDraft', () => {
  it('can run as it is, for every kind of input', () => {
    expect(tensorOf(floats)).toMatchObject({ name: 'x', datatype: 'FP32', shape: [1, 3] })
    expect(tensorOf(initialDraft({ name: 'ids', datatype: 'INT64', shape: [-1, -1] }))).toMatchObject({ shape: [1, 8] })
    expect(tensorOf(initialDraft({ name: 't', datatype: 'BYTES', shape: [2] })).data.byteLength).toBe(8)
    expect(tensorOf(initialDraft({ name: 'image', datatype: 'FP32', shape: [-1, 3, -1, -1] })).data.byteLength).toBe(3 * 32 * 32 * 4)
  })

  it('writes small tensors as text and leaves large ones to the generator', () => {
    expect(floats.source.kind).toBe('text')
    expect(initialDraft({ name: 'image', datatype: 'FP32', shape: [-1, 3, -1, -1] }).source).toEqual({ kind: 'generated', generator: 'random' })
  })

  it('leaves out an optional input', () => {
    expect(initialDraft({ name: 'x', datatype: 'FP32', shape: [1] }, { isOptional: true })).toMatchObject({ isOptional: true, isSent: false })
  })
})

describe('initialDraft with a suggestion of the config', () => {
  it('takes JSON values or the name of a generator', () => {
    expect(decodeElements('INT64', tensorOf(initialDraft({ name: 'sr', datatype: 'INT64', shape: [1] }, { suggestion: '[16000]' })).data)).toEqual([16000n])
    expect(tensorOf(initialDraft({ name: 'state', datatype: 'FP32', shape: [2, -1, 128] }, { suggestion: 'zeros' }))).toMatchObject({ shape: [2, 1, 128], data: new Uint8Array(1024) })
  })
})

describe('withFile', () => {
  const sound = initialDraft({ name: 'input', datatype: 'FP32', shape: [-1, -1] })

  it('lets the last free dim follow the size of the file', () => {
    expect(tensorOf(withFile(sound, 'a.f32', new Uint8Array(2304))).shape).toEqual([1, 576])
    expect(tensorOf(withFile(floats, 'a.f32', new Uint8Array(24))).shape).toEqual([2, 3])
  })

  it('says when a file cannot be this input', () => {
    expect(problemOf(withFile(floats, 'a.f32', new Uint8Array(13)))?.key).toBe('bytes')
    expect([fitsFile(sound, 2304), fitsFile(floats, 13), fitsFile(floats, 24), fitsFile(initialDraft({ name: 't', datatype: 'BYTES', shape: [1] }), 5)]).toEqual([true, false, true, false])
  })
})

describe('withDim', () => {
  it('regenerates what a generator wrote', () => {
    expect(tensorOf(withDim(floats, 0, '4')).data.byteLength).toBe(48)
    expect(withDim(floats, 0, '4000').source.kind).toBe('generated')
  })

  it('keeps what was typed, and says what does not fit', () => {
    const draft = withDim(typed(floats, '[1, 2, 3]'), 0, '2')
    expect(draft.source).toMatchObject({ text: '[1, 2, 3]' })
    expect(problemOf(draft)).toEqual({ key: 'count', values: { expected: 6, found: 3 } })
  })
})

describe('draftTensor', () => {
  it('makes bytes of the text', () => {
    expect(decodeElements('FP32', tensorOf(typed(floats, '[[1, 2, 3]]')).data)).toEqual([1, 2, 3])
  })

  it('names the dim, the place in the text, and the size of a file that do not fit', () => {
    expect(problemOf(withDim(floats, 0, 'a'))).toEqual({ key: 'dim', values: { axis: 0, found: 'a' } })
    expect(problemOf(typed(floats, '[1, x]'))).toMatchObject({ key: 'text', values: { line: 1, column: 5 } })
    expect(problemOf({ ...floats, source: { kind: 'file', fileName: 'a.bin', data: new Uint8Array(10) } })).toEqual({ key: 'bytes', values: { expected: 12, found: 10 } })
  })

  it('takes the bytes of a file as they are, and counts BYTES elements in it', () => {
    const data = new Uint8Array([1, 0, 0, 0, 65])
    const text = initialDraft({ name: 't', datatype: 'BYTES', shape: [1] })
    expect(tensorOf({ ...text, source: { kind: 'file', fileName: 'a.bin', data } }).data).toBe(data)
    expect(problemOf({ ...text, source: { kind: 'file', fileName: 'a.bin', data: data.subarray(0, 4) } })?.key).toBe('text')
  })

  it('gives other random values for another seed', () => {
    expect(tensorOf(withGenerator(floats, 'random', 2)).data).not.toEqual(tensorOf(floats).data)
  })
})
