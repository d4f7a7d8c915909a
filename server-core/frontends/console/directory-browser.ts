/** The folder browser of windows that have no dialog of their own (browser mode). Lists directories only. */
import { readdir, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import type { DirectoryListing } from '../../contract/console-api.ts'
import { ServerError } from '../../server-error.ts'

const MAXIMUM_ENTRIES = 2000

/** @param path absolute; '' = the home directory */
export async function browseDirectory(path: string): Promise<DirectoryListing> {
  const wanted = path === '' ? homedir() : path
  if (!isAbsolute(wanted)) throw new ServerError('INVALID_ARG', `'${wanted}' is not an absolute path`)
  const directory = await realpath(wanted).catch((error: NodeJS.ErrnoException) => { throw unreadable(wanted, error) })
  const entries = await readdir(directory, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => { throw unreadable(directory, error) })
  const names = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map((entry) => entry.name)
    .sort((a, b) => a.localeCompare(b)).slice(0, MAXIMUM_ENTRIES)
  const parent = dirname(directory)
  return {
    path: directory,
    parent: parent === directory ? null : parent,
    directories: await Promise.all(names.map(async (name) => ({
      name, path: join(directory, name), looksLikeRepository: await looksLikeRepository(join(directory, name)),
    }))),
  }
}

/** A sub-directory with a config.pbtxt or a numeric version directory makes a repository. Looks at 50 entries at most. */
async function looksLikeRepository(path: string): Promise<boolean> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => [])
  for (const entry of entries.slice(0, 50)) {
    if (!entry.isDirectory()) continue
    const inside = await readdir(join(path, entry.name), { withFileTypes: true }).catch(() => [])
    if (inside.some((item) => (item.isFile() ? item.name === 'config.pbtxt' : item.isDirectory() && /^\d+$/.test(item.name)))) return true
  }
  return false
}

function unreadable(path: string, error: NodeJS.ErrnoException): ServerError {
  if (error.code === 'ENOENT') return new ServerError('NOT_FOUND', `there is no directory '${path}'`, { cause: error })
  if (error.code === 'ENOTDIR') return new ServerError('INVALID_ARG', `'${path}' is not a directory`, { cause: error })
  return new ServerError('UNAVAILABLE', `'${path}' cannot be read: ${error.message}`, { cause: error })
}
