import { realpath } from 'node:fs/promises'
import { isAbsolute, join, relative, sep } from 'node:path'

/** Does `path` lie in `directory` (or is it that directory)? Both absolute; symbolic links are not looked at. */
export function isInside(directory: string, path: string): boolean {
  const way = relative(directory, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

export type ContainedPath =
  | { readonly kind: 'inside'; readonly path: string }
  | { readonly kind: 'outside' }
  | { readonly kind: 'missing' }

/**
 * Where a path that came from a request or a config really leads, symbolic links followed.
 * @param path relative to `directory`
 */
export async function resolveInside(directory: string, path: string): Promise<ContainedPath> {
  if (path.includes('\0') || isAbsolute(path)) return { kind: 'outside' }
  const joined = join(directory, path)
  if (!isInside(directory, joined)) return { kind: 'outside' }
  try {
    const [realDirectory, real] = await Promise.all([realpath(directory), realpath(joined)])
    return isInside(realDirectory, real) ? { kind: 'inside', path: real } : { kind: 'outside' }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'missing' }
    throw error
  }
}
