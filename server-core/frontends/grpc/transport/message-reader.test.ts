import { describe, expect, it } from 'vitest'
import { framed, framePrefix } from '../../../testing/raw-grpc-call.ts'
import { BufferPool } from '../../buffer-pool.ts'
import { MessageReader } from './message-reader.ts'

/** A reader with a limit of its own: that of calls takes gigabytes to reach. */
function readerWith(maxBytes: number) {
  const messages: Buffer[] = []
  return { messages, reader: new MessageReader(maxBytes, new BufferPool(1 << 20), (bytes) => { messages.push(Buffer.from(bytes)) }) }
}

describe('MessageReader', () => {
  it.each([10, 20_000, 20 << 20])('takes a message of its limit of %i bytes in any pieces, and the next', (limit) => {
    const { messages, reader } = readerWith(limit)
    const message = Buffer.alloc(limit, 'abc')
    const bytes = Buffer.concat([framed(message), framed(Buffer.from('next'))])
    for (let at = 0; at < bytes.length;) {
      const end = at < 12 ? at + 1 : at + 700_001
      reader.push(bytes.subarray(at, end))
      at = end
    }
    expect(messages.map((one) => one.length)).toEqual([limit, 4])
    expect(messages[0]?.equals(message)).toBe(true)
    expect(reader.isInside).toBe(false)
  })

  it.each([10, 20_000, 20 << 20])('refuses one byte more than %i as soon as it is announced', (limit) => {
    const { messages, reader } = readerWith(limit)
    expect(() => { reader.push(framePrefix(limit + 1)) }).toThrow(`Received message larger than max (${limit + 1} vs. ${limit})`)
    expect(messages).toEqual([])
  })
})
