/** Settings of V8's garbage collector for a process that serves tensors. */
import { setFlagsFromString } from 'node:v8'

/**
 * Buffers outside the heap count together with the heap. Without this every 32 MiB of them, some twenty requests of 600 KB, make V8 mark the whole heap, which
 * is half of the processor time of such requests; with it the marking comes when heap and buffers together have grown by a share, as newer V8 does by itself.
 * Not in Electron, whose V8 is another one.
 */
export function countBuffersWithHeap(): void {
  if (process.versions['electron'] === undefined) setFlagsFromString('--external-memory-accounted-in-global-limit')
}
