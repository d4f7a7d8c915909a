/**
 * The only loader of the native addon. Where it is not there everything else works, and the reason says what to do next. Each thread that
 * asks loads it for itself.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { NpuGauges } from '../contract/statistics.ts'
import type { TritonHostConstructor } from './native/host-events.ts'

/** One chip as DCMI tells of it, in the units of the names; null: not told. */
export interface DcmiChipValues extends NpuGauges {
  readonly card: number
  /** Place on the card. */
  readonly chip: number
  readonly logicalId: number | null
  readonly name: string | null
  readonly busId: string | null
  /** 0 in order, 1 minor, 2 major, 3 critical. */
  readonly health: number | null
  readonly powerWatts: number | null
  readonly temperatureCelsius: number | null
  readonly aiCorePercent: number | null
  readonly vectorCorePercent: number | null
  readonly cubeCorePercent: number | null
  readonly memoryUsedBytes: number | null
  readonly memoryTotalBytes: number | null
  readonly errorCodes: readonly number[] | null
  readonly processes: readonly { readonly processId: number; readonly memoryBytes: number }[] | null
}

export interface DcmiValues {
  /** '' : not told. */
  readonly driverVersion: string
  readonly isSimulated: boolean
  /** In the driver's order. */
  readonly chips: readonly DcmiChipValues[]
}

export type DcmiCallback = (...result: [error: Error & { readonly dcmiCode: number }, values: null] | [error: null, values: DcmiValues]) => void

/**
 * Memory of a file in shared memory that is open, mapped as far as `map` said. Offsets and lengths are bytes; what lies beyond is a RangeError. The file must
 * not become shorter meanwhile: whoever touches memory that is gone gets a signal.
 */
export interface SharedMapping {
  /** Makes the file as long as that, with its pages claimed: using them never fails. @throws Error with `errno` where memory is exhausted */
  claim(offset: number, byteLength: number): void
  /** From now on the first `byteLength` bytes. What was lent keeps its memory. @throws Error with `errno` */
  map(byteLength: number): void
  write(offset: number, bytes: Uint8Array): void
  /** Fills `target`. */
  read(offset: number, target: Uint8Array): void
  /**
   * The bytes where they are, mapped as long as the buffer is there; null where the engine allows no such buffers. `takeFreed` gives its token once the buffer
   * was collected, or given back with `releaseMemory`.
   */
  lend(offset: number, byteLength: number, token: number): Buffer | null
  /** Tokens of lent buffers that are gone since the last call; null: none. */
  takeFreed(): number[] | null
  /** Lets go of the memory; lent buffers keep it. */
  close(): void
}

export interface NativeAddon {
  /** Names the calling thread as `top -H` shows it; the kernel keeps 15 bytes, longer names are cut. */
  nameCurrentThread(name: string): void
  /** Processor time the calling thread has used so far. */
  currentThreadCpuNanoseconds(): number
  /** Ends the process without waiting for its threads. */
  exitAtOnce(code: number): void
  /**
   * Asks all chips on a thread of its own, and opens libdcmi.so for that (`directory` '' : where the loader and the driver's installer have it). Calls back
   * once, or never where a card hangs. Not to be called again before.
   */
  readDcmi(directory: string, callback: DcmiCallback): void
  /**
   * The FP32 (`isSingle`) or FP64 elements of a tensor as JSON numbers with commas between them, in RapidJSON's notation: what `jsonDouble` says of each.
   * ASCII. What is left over of the bytes is ignored.
   */
  jsonNumbers(elements: Uint8Array, isSingle: boolean): Buffer
  /** Maps a file by its descriptor, which has to stay open as long as `claim` and `map` are called. */
  readonly SharedMapping: new (descriptor: number) => SharedMapping
  /** Loads backend libraries. */
  readonly TritonHost: TritonHostConstructor
  /** Metrics that backends made, of all hosts of the process, in Prometheus' text format. */
  tritonMetricsText(): string
}

export type NativeAddonResult =
  | { readonly ok: true; readonly addon: NativeAddon }
  | { readonly ok: false; readonly reason: string }

/** `dist/native/addon.node`, seen from the sources and from the bundles in `dist/server`. */
export const NATIVE_ADDON_PATH = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/native/addon.node' : '../native/addon.node', import.meta.url),
)

const MEMBERS = Object.keys({
  nameCurrentThread: 0, currentThreadCpuNanoseconds: 0, exitAtOnce: 0, readDcmi: 0, jsonNumbers: 0, SharedMapping: 0, TritonHost: 0, tritonMetricsText: 0,
} satisfies Record<keyof NativeAddon, 0>) as readonly (keyof NativeAddon)[]

let loaded: NativeAddonResult | undefined

/** The addon, or why there is none. Looks at the disk once per thread. */
export function nativeAddon(): NativeAddonResult {
  loaded ??= loadNativeAddon(NATIVE_ADDON_PATH)
  return loaded
}

/** Loads the addon from a path; does not remember it. */
export function loadNativeAddon(path: string): NativeAddonResult {
  if (!existsSync(path)) {
    return { ok: false, reason: `The native addon is not built (${path} is not there): install g++, cmake and make, then run: npm run build` }
  }
  try {
    const addon = createRequire(import.meta.url)(path) as NativeAddon
    const lacks = MEMBERS.filter((name) => typeof (addon as Partial<NativeAddon>)[name] !== 'function')
    if (lacks.length === 0) return { ok: true, addon }
    return { ok: false, reason: `The native addon ${path} is of another version than this server (it has no ${lacks.join(', ')}). Build both: npm run build` }
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error)
    return { ok: false, reason: `The native addon ${path} cannot be loaded: ${cause}. Build it again on this machine: npm run build` }
  }
}

/** Gives the calling thread a name for system tools; without the addon it keeps its own. */
export function nameCurrentThread(name: string): void {
  const result = nativeAddon()
  if (result.ok) result.addon.nameCurrentThread(name)
}

/**
 * Ends the process now. `process.exit` waits for worker threads: one inside a native call may take for ever, and it aborts the process
 * when that call comes back. Without the addon that is what is left.
 */
export function exitAtOnce(code: number): never {
  const result = nativeAddon()
  if (result.ok) result.addon.exitAtOnce(code)
  process.exit(code)
}

/** Processor time of the calling thread; null: unknown, since there is no addon. */
export function currentThreadCpuNanoseconds(): number | null {
  const result = nativeAddon()
  return result.ok ? result.addon.currentThreadCpuNanoseconds() : null
}
