import { describe, expect, it } from 'vitest'
import { BufferPool } from './buffer-pool.ts'

const MEGABYTE = 2 ** 20

describe('BufferPool', () => {
  it('lends a buffer again that was given back, to messages of about its size', () => {
    const pool = new BufferPool(10 * MEGABYTE)
    const first = pool.take(MEGABYTE)
    pool.giveBack(first.subarray(0, MEGABYTE - 7))
    expect(pool.freeBytes).toBe(MEGABYTE)
    expect(pool.take(MEGABYTE / 4).buffer).not.toBe(first.buffer)
    expect(pool.take(MEGABYTE - 100).buffer).toBe(first.buffer)
    expect(pool.freeBytes).toBe(0)
  })

  it('never lends one twice, whoever gives it back how often, and takes none that is not its own', () => {
    const pool = new BufferPool(10 * MEGABYTE)
    const first = pool.take(MEGABYTE)
    pool.giveBack(first)
    pool.giveBack(first)
    pool.giveBack(Buffer.alloc(MEGABYTE))
    expect(pool.freeBytes).toBe(MEGABYTE)
    expect(pool.take(MEGABYTE).buffer).not.toBe(pool.take(MEGABYTE).buffer)
  })

  it('keeps no more than it may, and lets go of what is not needed', () => {
    const pool = new BufferPool(2 * MEGABYTE)
    const buffers = [1, 2, 3].map(() => pool.take(MEGABYTE))
    for (const buffer of buffers) pool.giveBack(buffer)
    expect(pool.freeBytes).toBe(2 * MEGABYTE)
    pool.trim()
    pool.giveBack(pool.take(MEGABYTE))
    pool.trim()
    expect(pool.freeBytes).toBe(MEGABYTE)
    pool.trim()
    expect(pool.freeBytes).toBe(0)
  })
})
