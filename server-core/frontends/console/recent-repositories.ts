/** The repositories that were opened before, last first: one small JSON file in the user's data folder, written atomically. */
import { randomUUID } from 'node:crypto'
import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory } from '../../make-directory.ts'

const FILE_NAME = 'recent-repositories.json'
const MAXIMUM_ENTRIES = 10

/** Those that still exist. A damaged file counts as empty: it is a convenience, never the truth. */
export async function recentRepositories(dataDirectory: string): Promise<readonly string[]> {
  const paths = await readList(dataDirectory)
  const exists = await Promise.all(paths.map((path) => stat(path).then((information) => information.isDirectory(), () => false)))
  return paths.filter((_, index) => exists[index])
}

export async function rememberRepository(dataDirectory: string, path: string): Promise<void> {
  const paths = [path, ...(await readList(dataDirectory)).filter((other) => other !== path)].slice(0, MAXIMUM_ENTRIES)
  await makeDirectory(dataDirectory, 'data directory', 0o700)
  const temporary = join(dataDirectory, `${FILE_NAME}.${randomUUID()}`)
  await writeFile(temporary, JSON.stringify(paths, undefined, 2))
  await rename(temporary, join(dataDirectory, FILE_NAME))
}

async function readList(dataDirectory: string): Promise<readonly string[]> {
  try {
    const value: unknown = JSON.parse(await readFile(join(dataDirectory, FILE_NAME), 'utf8'))
    return Array.isArray(value) ? value.filter((path): path is string => typeof path === 'string') : []
  } catch {
    return []
  }
}
