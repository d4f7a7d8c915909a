import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Logger } from '../logger.ts'
import { ServerError } from '../server-error.ts'
import { IMPORT_PREFIX } from './model-import.ts'
import { Semaphore } from './semaphore.ts'
import { listDirectory, readModelDirectory, type ModelDirectory } from './model-directory.ts'

/** What a scan says about one name: a model, the same name in several repositories, or a directory that cannot be used. */
export type RepositoryEntry =
  | { readonly kind: 'model'; readonly directory: ModelDirectory }
  | { readonly kind: 'duplicate'; readonly name: string; readonly repositoryPath: string }
  | { readonly kind: 'unusable'; readonly name: string; readonly repositoryPath: string; readonly reason: string }

/** Model directories that are read at the same time. */
const PARALLEL_READS = 16

export const DUPLICATE_REASON = 'model appears in two or more repositories'

/**
 * The model repositories on disk: every sub-directory is a model. A name is only ever looked up among the names that a repository's
 * own listing gives, so no name from a request can lead elsewhere. A symbolic link that the owner of the repository put there is followed,
 * as Triton does: many repositories are made of links into a model store.
 */
export class ModelRepository {
  readonly paths: readonly string[]
  readonly #log: Logger
  readonly #configName: string

  /** @param configName `--model-config-name`; '' : config.pbtxt of every model */
  constructor(paths: readonly string[], log: Logger, configName = '') {
    this.paths = paths.map((path) => resolve(path))
    this.#log = log
    this.#configName = configName
  }

  /** @throws ServerError INTERNAL when a repository is not a directory */
  async check(): Promise<void> {
    for (const path of this.paths) {
      const isDirectory = await stat(path).then((info) => info.isDirectory(), () => false)
      if (!isDirectory) throw new ServerError('INTERNAL', `failed to stat file ${path}: the model repository is not a directory. Check --model-repository`)
    }
  }

  /** Looks at the disk: every name once, sorted. */
  async scan(): Promise<RepositoryEntry[]> {
    const places = new Map<string, string[]>()
    for (const path of this.paths) {
      for (const name of await modelNames(path)) places.set(name, [...places.get(name) ?? [], path])
    }
    const names = [...places].sort(([a], [b]) => (a < b ? -1 : 1))
    const slots = new Semaphore(PARALLEL_READS)
    return Promise.all(names.map(([name, paths]) => slots.run(() => this.#entry(name, paths))))
  }

  /** One name; null when no repository lists it. */
  async find(name: string): Promise<RepositoryEntry | null> {
    const paths: string[] = []
    for (const path of this.paths) {
      if ((await modelNames(path)).includes(name)) paths.push(path)
    }
    return paths.length === 0 ? null : this.#entry(name, paths)
  }

  async #entry(name: string, paths: readonly string[]): Promise<RepositoryEntry> {
    const repositoryPath = paths[0] ?? ''
    if (paths.length > 1) return { kind: 'duplicate', name, repositoryPath }
    const path = join(repositoryPath, name)
    try {
      return { kind: 'model', directory: await readModelDirectory(repositoryPath, name, path, this.#log, this.#configName) }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      return { kind: 'unusable', name, repositoryPath, reason: `failed to read model directory '${name}': ${reason}` }
    }
  }
}

/** Every sub-directory is a model, hidden ones included, but for one in which an import is being built. */
async function modelNames(repositoryPath: string): Promise<string[]> {
  const entries = await listDirectory(repositoryPath)
  return entries.filter((entry) => entry.isDirectory && !entry.name.startsWith(IMPORT_PREFIX)).map((entry) => entry.name)
}
