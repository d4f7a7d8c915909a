import type { LoadParameters } from '../inference-server.ts'
import { ServerError } from '../server-error.ts'
import { readModelDirectory, type ModelDirectory } from './model-directory.ts'
import type { RepositoryEntry } from './model-repository.ts'
import { createOverrideDirectory, type OverrideDirectory } from './override-directory.ts'

/** Where a load reads from, and what has to be freed when that is not needed any more. */
export interface LoadSource {
  readonly directory: ModelDirectory
  /** Of the repository's own directory; null: the model is in no repository. */
  readonly diskSignature: string | null
  readonly overrideDirectory: OverrideDirectory | null
}

/**
 * The directory that a load call means: that of the repository, or one made of the files of the call.
 * @param entry what the repositories have under this name; null: nothing
 * @throws ServerError that says why there is none
 */
export async function openLoadSource(name: string, entry: RepositoryEntry | null, parameters: LoadParameters): Promise<LoadSource> {
  const diskSignature = entry?.kind === 'model' ? entry.directory.signature : null
  if (parameters.files !== undefined && parameters.files.size > 0) {
    if (parameters.config === undefined) throw new ServerError('INVALID_ARG', 'a load request with files must give the model config as well')
    const overrideDirectory = await createOverrideDirectory(name, parameters.files)
    try {
      const directory = await readModelDirectory(overrideDirectory.path, name, overrideDirectory.path)
      return { directory, diskSignature, overrideDirectory }
    } catch (error) {
      await overrideDirectory.remove()
      throw error
    }
  }
  if (entry === null) throw new ServerError('NOT_FOUND', `no model repository has a directory '${name}'`)
  if (entry.kind === 'duplicate') throw new ServerError('INVALID_ARG', `failed to poll model '${name}': not unique across all model repositories`)
  if (entry.kind === 'unusable') throw new ServerError('INVALID_ARG', entry.reason)
  return { directory: entry.directory, diskSignature, overrideDirectory: null }
}
