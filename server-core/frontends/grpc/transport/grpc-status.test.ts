import { describe, expect, it } from 'vitest'
import { statusTrailers } from './grpc-status.ts'

describe('statusTrailers', () => {
  it.each([
    ['plain text', 'plain text'],
    ['100 %', '100 %25'],
    ['模型\n', '%E6%A8%A1%E5%9E%8B%0A'],
    // One of Triton's texts ends with a blank, which a header value cannot.
    ['Expected [-1], got [1,1]. ', 'Expected [-1], got [1,1].%20'],
  ])('encodes %j', (details, encoded) => {
    expect(statusTrailers({ code: 3, details })).toEqual({ 'grpc-status': '3', 'grpc-message': encoded })
  })

  it('cuts a text that clients would not take', () => {
    expect(statusTrailers({ code: 13, details: '模'.repeat(100_000) })['grpc-message']?.length).toBeLessThan(8192)
  })

  it('leaves out a text that is empty', () => { expect(statusTrailers({ code: 0, details: '' })).toEqual({ 'grpc-status': '0' }) })
})
