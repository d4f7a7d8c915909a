import { PassThrough } from 'node:stream'
import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { BufferPool } from '../buffer-pool.ts'
import { AbortedUploadError, BodyCollector, type CollectedBody } from './request-body.ts'

/** Chunks as the HTTP parser hands them on: each in memory of its own, but for the last, which is a part of something. */
function chunksOf(sizes: readonly number[]): Buffer[] {
  return sizes.map((size, index) => (index === sizes.length - 1 ? Buffer.alloc(size + 8).subarray(4, size + 4) : Buffer.alloc(size)).fill(index + 1))
}

function collect(stream: PassThrough, announced: number, pool: BufferPool): Promise<CollectedBody> {
  return new Promise((resolve, reject) => {
    new BodyCollector(1 << 20, announced, pool).collect(stream as unknown as IncomingMessage, (end) => {
      if (end instanceof Error) reject(end)
      else resolve(end)
    })
  })
}

describe('a body', () => {
  it('of many chunks is one buffer, and the memory of each chunk is given back as soon as it was copied', async () => {
    const sizes = [1000, 65_536, 65_536, 65_536, 2000]
    const chunks = chunksOf(sizes)
    const expected = Buffer.concat(chunks)
    const stream = new PassThrough()
    const collected = collect(stream, expected.byteLength, new BufferPool(0))
    for (const chunk of chunks) stream.write(chunk)
    stream.end()
    const { body, byteLength } = await collected
    expect([byteLength, body.equals(expected)]).toEqual([expected.byteLength, true])
    expect(chunks.map((chunk) => chunk.byteLength)).toEqual([0, 0, 0, 0, 2000])
  })

  it('has its memory from the pool, and leaves it there where the client goes away', async () => {
    const pool = new BufferPool(1 << 20)
    const first = pool.take(200_000)
    pool.giveBack(first)
    const free = pool.freeBytes
    const stream = new PassThrough()
    const collected = collect(stream, 200_000, pool)
    stream.write(Buffer.alloc(65_536))
    await new Promise((resolve) => { setImmediate(resolve) })
    expect(pool.freeBytes).toBe(0)
    stream.destroy()
    await expect(collected).rejects.toThrow(AbortedUploadError)
    expect(pool.freeBytes).toBe(free)
  })

  it('of one chunk is that chunk', async () => {
    const chunk = Buffer.alloc(100_000, 7)
    const stream = new PassThrough()
    const collected = collect(stream, chunk.byteLength, new BufferPool(0))
    stream.end(chunk)
    expect((await collected).body).toBe(chunk)
    expect(chunk.byteLength).toBe(100_000)
  })
})
