/**
 * Two implementations of the onnxruntime backend: `native` is `libtriton_onnxruntime.so` on a thread of the backend host, `worker` is onnxruntime-node on a
 * worker thread and needs no compiled part of ours. Both serve the same models with the same answers; docs/adr/0005 says which is the default and why.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ServerError } from '../../server-error.ts'
import { NATIVE_ADDON_PATH, nativeAddon } from '../native-addon.ts'
import { findOnnxRuntimeLibrary } from './onnxruntime-library.ts'

export type OnnxRuntimeImplementation = 'native' | 'worker'

export const DEFAULT_IMPLEMENTATION: OnnxRuntimeImplementation = 'native'

/** ONNX Runtime's own library for the native implementation, or why that cannot run and what to do. */
export type NativeParts = { readonly ok: true; readonly onnxRuntimeLibrary: string } | { readonly ok: false; readonly reason: string }

export interface ImplementationChoice {
  readonly implementation: OnnxRuntimeImplementation
  /** Why it is not the default; null: it is, or somebody asked for it. */
  readonly fallbackReason: string | null
}

/**
 * @param setting `--backend-config=onnxruntime,implementation=...`
 * @throws ServerError INVALID_ARG for another word, UNSUPPORTED where native is asked for and cannot run
 */
export function chooseOnnxRuntime(setting: string | undefined, parts: NativeParts): ImplementationChoice {
  if (setting !== undefined && setting !== 'native' && setting !== 'worker') {
    throw new ServerError('INVALID_ARG', `--backend-config=onnxruntime,implementation must be native or worker, got '${setting}'`)
  }
  const implementation = setting ?? DEFAULT_IMPLEMENTATION
  if (implementation === 'worker' || parts.ok) return { implementation, fallbackReason: null }
  if (setting === 'native') {
    throw new ServerError('UNSUPPORTED', `--backend-config=onnxruntime,implementation=native cannot be had: ${parts.reason}. Leave the setting out to run models on worker threads`)
  }
  return { implementation: 'worker', fallbackReason: parts.reason }
}

/** What of the native implementation is on this machine. */
export function findNativeParts(): NativeParts {
  const addon = nativeAddon()
  if (!addon.ok) return { ok: false, reason: addon.reason }
  const library = join(dirname(NATIVE_ADDON_PATH), 'backends/onnxruntime/libtriton_onnxruntime.so')
  if (!existsSync(library)) return { ok: false, reason: `${library} is not there: node scripts/build.mjs --only native makes it` }
  const onnxRuntimeLibrary = findOnnxRuntimeLibrary(process.env)
  if (onnxRuntimeLibrary === null) return { ok: false, reason: 'the library of ONNX Runtime was not found: install the npm package onnxruntime-node, or set ORT_DYLIB_PATH to it' }
  return { ok: true, onnxRuntimeLibrary }
}
