/**
 * Walks protobuf wire format by position, over bytes in memory or a file read in parts. A walk is a generator that yields the range it
 * needs next; so one algorithm serves both, and what a walk passes over is never read.
 */
import type { FileHandle } from 'node:fs/promises'
import { ServerError } from '../server-error.ts'

export interface WireField {
  readonly number: number
  readonly wireType: number
  /** Payload of a length-delimited field: `start` up to `end`. */
  readonly start: number
  readonly end: number
  /** Value of a varint field (unsigned 64 bit); 0n for others. */
  readonly value: bigint
}

interface NeededRange {
  readonly position: number
  readonly length: number
}

export type Walk<T> = Generator<NeededRange, T, void>

const WINDOW_BYTES = 64 * 1024
/** A tag and a length: two varints of at most 10 bytes. */
const HEADER_BYTES = 20
const MAX_TEXT_BYTES = 1024 * 1024

export class ProtobufWalker {
  readonly size: number
  #window: Uint8Array = new Uint8Array(0)
  #windowStart = 0
  /** End of the varint read last. */
  #next = 0

  constructor(size: number) {
    this.size = size
  }

  /** For the driver of the walk: the bytes from `position` on. */
  setWindow(position: number, bytes: Uint8Array): void {
    this.#windowStart = position
    this.#window = bytes
  }

  /** Calls `visit` for each field between two positions; payloads that `visit` does not read are passed over. */
  * fields(start: number, end: number, visit: (field: WireField) => Walk<void>): Walk<void> {
    let position = start
    while (position < end) {
      const field = yield* this.#field(position, end)
      position = field.end
      yield* visit(field)
    }
  }

  /** @throws ServerError INVALID_ARG for a field that is no text */
  * text(field: WireField): Walk<string> {
    if (field.wireType !== 2) broken(`text expected at byte ${field.start}`)
    const length = field.end - field.start
    if (length > MAX_TEXT_BYTES) broken(`a name of ${length} bytes at byte ${field.start}`)
    yield* this.#need(field.start, length)
    const from = field.start - this.#windowStart
    return new TextDecoder().decode(this.#window.subarray(from, from + length))
  }

  * #field(position: number, end: number): Walk<WireField> {
    yield* this.#need(position, Math.min(HEADER_BYTES, end - position))
    const tag = this.#varint(position, end)
    const number = Number(tag >> 3n)
    const wireType = Number(tag & 7n)
    const start = this.#next
    if (number === 0) broken(`field number 0 at byte ${position}`)
    const finish = (from: number, to: number, value = 0n): WireField => {
      if (to > end) broken(`it is cut off: byte ${to} is needed, ${this.size} are there`)
      return { number, wireType, start: from, end: to, value }
    }
    switch (wireType) {
      case 0: {
        const value = this.#varint(start, end)
        return finish(start, this.#next, value)
      }
      case 1: return finish(start, start + 8)
      case 2: {
        const length = Number(this.#varint(start, end))
        return finish(this.#next, this.#next + length)
      }
      case 5: return finish(start, start + 4)
      default: return broken(`wire type ${wireType} at byte ${position}`)
    }
  }

  #varint(position: number, end: number): bigint {
    let value = 0n
    for (let index = 0; index < 10; index++) {
      if (position + index >= end) broken(`it is cut off at byte ${end}`)
      const byte = this.#window[position + index - this.#windowStart]
      if (byte === undefined) return broken(`it is cut off at byte ${position + index}`)
      value |= BigInt(byte & 0x7f) << BigInt(7 * index)
      if (byte < 0x80) {
        this.#next = position + index + 1
        return BigInt.asUintN(64, value)
      }
    }
    return broken(`a number without end at byte ${position}`)
  }

  * #need(position: number, length: number): Walk<void> {
    const isInWindow = position >= this.#windowStart && position + length <= this.#windowStart + this.#window.length
    if (!isInWindow) yield { position, length }
  }
}

function broken(what: string): never {
  throw new ServerError('INVALID_ARG', `The file is not an ONNX model: ${what}.`)
}

/** Runs a walk over bytes in memory. */
export function readFromMemory<T>(data: Uint8Array, walk: (walker: ProtobufWalker) => Walk<T>): T {
  const walker = new ProtobufWalker(data.length)
  walker.setWindow(0, data)
  const step = walk(walker).next()
  // All bytes are in the window: a range asked for lies outside the data.
  return step.done === true ? step.value : broken('it is cut off')
}

/** Runs a walk over an open file, reading at most a window (64 KiB, or one long name) at a time. */
export async function readFileInParts<T>(file: FileHandle, walk: (walker: ProtobufWalker) => Walk<T>): Promise<T> {
  const { size } = await file.stat()
  const walker = new ProtobufWalker(size)
  const steps = walk(walker)
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value
    const { position, length } = step.value
    const wanted = Math.min(Math.max(length, WINDOW_BYTES), size - position)
    const buffer = new Uint8Array(wanted)
    let filled = 0
    while (filled < wanted) {
      const { bytesRead } = await file.read(buffer, filled, wanted - filled, position + filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    if (filled < length) broken(`it is cut off at byte ${position + filled}`)
    walker.setWindow(position, buffer.subarray(0, filled))
  }
}
