/** Where ONNX Runtime's own library lies, for native code that opens it by itself. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const FILE_NAMES: Readonly<Partial<Record<NodeJS.Platform, string>>> = { linux: 'libonnxruntime.so.1', darwin: 'libonnxruntime.1.dylib', win32: 'onnxruntime.dll' }

/** `ORT_DYLIB_PATH` where it is set, else the one that onnxruntime-node brings. @returns an absolute path that exists; null: there is none */
export function findOnnxRuntimeLibrary(environment: NodeJS.ProcessEnv): string | null {
  const given = environment['ORT_DYLIB_PATH'] ?? ''
  const path = given === '' ? packagedLibrary() : given
  return path !== null && existsSync(path) ? path : null
}

function packagedLibrary(): string | null {
  const fileName = FILE_NAMES[process.platform]
  if (fileName === undefined) return null
  try {
    const home = dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json'))
    return join(home, 'bin/napi-v6', process.platform, process.arch, fileName)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null
    throw error
  }
}
