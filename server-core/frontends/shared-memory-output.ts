import type { Tensor } from '../contract/inference.ts'
import { ServerError } from '../server-error.ts'
import { type SharedMemoryRange, writeSharedMemory } from '../shared-memory/shared-memory-regions.ts'

/** @throws ServerError INTERNAL with the protocol's text (6.4) where the range is too small for the output */
export function writeOutputToSharedMemory({ name, data }: Tensor, range: SharedMemoryRange): void {
  if (data.byteLength > range.byteSize) {
    throw new ServerError('INTERNAL', `shared memory size specified with the request for output '${name}' (${range.byteSize} bytes) should be at least ${data.byteLength} bytes to hold the results`)
  }
  writeSharedMemory(range, data)
}
