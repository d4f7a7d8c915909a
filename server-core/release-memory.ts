/**
 * Memory of buffers, given back before the garbage collector would. V8 counts what lies outside its heap against the limit of a heap that is small here: left to it, ten
 * megabytes of bodies and outputs have it mark everything anew, which costs a request of 600 KB more than all else. docs/benchmarks.md has the figures.
 */
import type { Tensor } from './contract/inference.ts'

/**
 * Gives the memory of a buffer back at once, where the buffer has it for itself: the buffer is empty afterwards. One that is a part of something larger stays as it is.
 * Only for whoever knows that nobody reads it any more, no thread of a backend either.
 */
export function releaseMemory(data: Uint8Array): void {
  const memory = data.buffer
  if (hasOwnMemory(data) && memory instanceof ArrayBuffer) memory.transfer(0)
}

/** Is there nothing in the buffer's memory but its own bytes? */
export function hasOwnMemory(data: Uint8Array): boolean { return data.byteLength > 0 && data.byteLength === data.buffer.byteLength }

/** Less the collector gets rid of by the way. */
const SMALLEST_RELEASED = 64 << 10

/** Is the buffer in memory of its own, and large enough that giving it back is cheaper than leaving it? */
export function isWorthReleasing(data: Uint8Array): boolean { return data.byteLength >= SMALLEST_RELEASED && hasOwnMemory(data) }

/** For who got a response as the only one, when it is written: the memory of outputs that are nobody else's. */
export function releaseOutputs(outputs: readonly Tensor[]): void {
  for (const { isExclusive, data } of outputs) if (isExclusive === true) releaseMemory(data)
}

/** A tensor that several will hold from now on. */
export function shared(tensor: Tensor): Tensor {
  if (tensor.isExclusive !== true) return tensor
  const { name, datatype, shape, data } = tensor
  return { name, datatype, shape, data }
}
