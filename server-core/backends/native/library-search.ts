import { readdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { NATIVE_ADDON_PATH } from '../native-addon.ts'

/** The backends that come with the server: a folder each, beside the addon. */
export const DEFAULT_BACKEND_DIRECTORY = join(dirname(NATIVE_ADDON_PATH), 'backends')

/** Where a model lies, and the file that its config names as its backend's library (`runtime`; '' : none). */
export interface ModelPlace {
  readonly modelDirectory: string
  readonly versionDirectory: string
  readonly runtime: string
}

/** Where a library was found: beside the model, in `--backend-directory`, or among those that come with the server. */
export type LibraryOrigin = 'model' | 'backendDirectory' | 'server'

/** As the host looks for it (version folder, model folder, backend directories). Null: nowhere. */
export function findLibrary(backend: string, place: ModelPlace | null, backendDirectory: string): LibraryOrigin | null {
  const file = place === null || place.runtime === '' ? `libtriton_${backend}.so` : place.runtime
  // The host refuses such names with a sentence.
  if (file.includes('/') || backend.includes('/')) return null
  if (place !== null && (isFile(join(place.versionDirectory, file)) || isFile(join(place.modelDirectory, file)))) return 'model'
  if (backendDirectory !== '' && isFile(join(backendDirectory, backend, file))) return 'backendDirectory'
  return isFile(join(DEFAULT_BACKEND_DIRECTORY, backend, file)) ? 'server' : null
}

/** Name of a batching library that belongs to a model, or to a backend. */
const BATCHING_LIBRARY = 'batchstrategy.so'

/** Does a batching library lie beside the model? The host looks there first. */
export function hasBatchingLibrary({ modelDirectory, versionDirectory }: Pick<ModelPlace, 'modelDirectory' | 'versionDirectory'>): boolean {
  return isFile(join(versionDirectory, BATCHING_LIBRARY)) || isFile(join(modelDirectory, BATCHING_LIBRARY))
}

/** The folder of a backend written in Python, which lies in the backend directories as `<name>/model.py`; null: it is none. */
export function findPythonBased(backend: string, backendDirectory: string): string | null {
  if (backend === '' || backend.includes('/')) return null
  const directory = [backendDirectory, DEFAULT_BACKEND_DIRECTORY].find((one) => one !== '' && isFile(join(one, backend, 'model.py')))
  return directory === undefined ? null : resolve(directory, backend)
}

/** Names of the backends that have a library or a model.py in the directories; those in a model's own folder are not among them. */
export function installedBackends(backendDirectory: string): string[] {
  const directories = backendDirectory === '' ? [DEFAULT_BACKEND_DIRECTORY] : [backendDirectory, DEFAULT_BACKEND_DIRECTORY]
  return [...new Set(directories.flatMap((directory) => namesIn(directory).filter((name) => isFile(join(directory, name, `libtriton_${name}.so`)) || isFile(join(directory, name, 'model.py')))))]
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).sort()
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return []
    throw error
  }
}

function isFile(path: string): boolean { return statSync(path, { throwIfNoEntry: false })?.isFile() === true }
