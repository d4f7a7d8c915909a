import { describe, expect, it } from 'vitest'
import type { Tensor } from './contract/inference.ts'
import { releaseMemory, releaseOutputs, shared } from './release-memory.ts'

const tensor = (data: Uint8Array, more: Partial<Tensor> = {}): Tensor => ({ name: 'Y', datatype: 'UINT8', shape: [data.byteLength], data, ...more })

describe('memory that is given back', () => {
  it('is that of a buffer which has it for itself', () => {
    const whole = Buffer.allocUnsafeSlow(100_000)
    releaseMemory(whole)
    expect([whole.byteLength, whole.buffer.byteLength]).toEqual([0, 0])
  })

  it('is not that of a part: others have the rest', () => {
    const memory = new Uint8Array(10)
    releaseMemory(memory.subarray(2, 10))
    releaseMemory(new Uint8Array(0))
    expect(memory.byteLength).toBe(10)
  })

  it('is, of the outputs of a response, that of the exclusive ones; a shared tensor is none', () => {
    const [mine, ours, passedOn] = [tensor(new Uint8Array(8), { isExclusive: true }), tensor(new Uint8Array(8)), tensor(new Uint8Array(8), { isExclusive: true })]
    releaseOutputs([mine, ours, shared(passedOn)])
    expect([mine, ours, passedOn].map(({ data }) => data.byteLength)).toEqual([0, 8, 8])
    expect(shared(ours)).toBe(ours)
  })
})
