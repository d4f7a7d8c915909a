import { describe, expect, it } from 'vitest'
import { decodeConsoleMessage, encodeConsoleMessage } from './console-codec.ts'

describe('console codec', () => {
  it('sends a message without bytes as text', () => {
    const frame = encodeConsoleMessage({ type: 'command', id: 1, name: 'server.status' })
    expect(typeof frame).toBe('string')
    expect(decodeConsoleMessage(frame)).toEqual({ type: 'command', id: 1, name: 'server.status' })
  })

  it('carries bytes and 64-bit integers exactly, in any place of the message', () => {
    const message = { a: new Uint8Array([1, 2, 3]), list: [{ b: new Uint8Array([]) }, { c: new Uint8Array([255]) }], big: 2n ** 63n - 1n, none: null }
    expect(decodeConsoleMessage(encodeConsoleMessage(message))).toEqual(message)
  })

  it('reads a frame that starts anywhere in its buffer', () => {
    const frame = encodeConsoleMessage({ data: new Uint8Array([7, 8]) }) as Uint8Array
    const shifted = new Uint8Array(frame.byteLength + 3)
    shifted.set(frame, 3)
    expect(decodeConsoleMessage(shifted.subarray(3))).toEqual({ data: new Uint8Array([7, 8]) })
  })

  it('refuses frames that are shorter than they say', () => {
    const frame = encodeConsoleMessage({ data: new Uint8Array([7, 8]) }) as Uint8Array
    expect(() => decodeConsoleMessage(frame.subarray(0, 3))).toThrow('shorter than its length field')
    expect(() => decodeConsoleMessage(frame.subarray(0, 8))).toThrow('shorter than its JSON part')
    expect(() => decodeConsoleMessage(frame.subarray(0, frame.byteLength - 1))).toThrow('names bytes that it does not hold')
    expect(() => decodeConsoleMessage('{"$bytes":[-1,2]}')).toThrow('names bytes that it does not hold')
  })

  it('carries bytes of any kind as bytes, those that know how to print themselves included', () => {
    class Printable extends Uint8Array<ArrayBuffer> {
      toJSON(): string { return 'printed' }
    }
    const decoded = decodeConsoleMessage(encodeConsoleMessage({ list: [new Printable(Uint8Array.of(1, 2).buffer), { data: new Printable(Uint8Array.of(3).buffer) }] }) as Uint8Array)
    expect(decoded).toEqual({ list: [new Uint8Array([1, 2]), { data: new Uint8Array([3]) }] })
  })
})
