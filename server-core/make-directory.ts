import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { ServerError } from './server-error.ts'

/**
 * Makes a directory and the missing ones above it, one at a time: Node's own recursive mkdir never ends where the file system answers
 * ENOENT below a directory that exists, as /proc does.
 * @param what the noun of the error, such as `data directory`
 * @throws ServerError UNAVAILABLE that names the directory and the reason
 */
export async function makeDirectory(path: string, what: string, mode?: number): Promise<void> {
  const missing: string[] = []
  for (let directory = resolve(path); !(await isDirectory(directory)); directory = dirname(directory)) {
    missing.unshift(directory)
    if (dirname(directory) === directory) break
  }
  for (const directory of missing) {
    try {
      await mkdir(directory, { mode })
    } catch (error) {
      // Another process may have made it meanwhile.
      if (await isDirectory(directory)) continue
      throw new ServerError('UNAVAILABLE', `the ${what} '${resolve(path)}' cannot be made: ${reasonOf(error, directory)}`, { cause: error })
    }
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return await stat(path).then((information) => information.isDirectory(), () => false)
}

function reasonOf(error: unknown, directory: string): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EEXIST': case 'ENOTDIR': return `'${directory}' is a file or lies below one`
    case 'EACCES': case 'EPERM': return `no permission to write to '${dirname(directory)}'`
    case 'ENOENT': return `'${dirname(directory)}' takes no new directories`
    case 'EROFS': return `'${dirname(directory)}' is on a read-only file system`
    case 'ENOSPC': return 'the disk is full'
    default: return error instanceof Error ? error.message : String(error)
  }
}
