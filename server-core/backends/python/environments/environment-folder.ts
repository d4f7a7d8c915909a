import { access, stat } from 'node:fs/promises'
import { constants } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** A folder that holds an interpreter with packages of its own. */
export interface EnvironmentFolder {
  /** Absolute. */
  readonly directory: string
  readonly kind: 'venv' | 'conda'
  /** Its interpreter; null: it has none. */
  readonly interpreter: string | null
}

/** @returns null: it is neither a virtual environment nor one of conda */
export async function readEnvironmentFolder(directory: string): Promise<EnvironmentFolder | null> {
  const [isVenv, isConda] = await Promise.all(['pyvenv.cfg', 'conda-meta'].map((name) => isThere(join(directory, name))))
  if (isVenv !== true && isConda !== true) return null
  return { directory, kind: isVenv === true ? 'venv' : 'conda', interpreter: await interpreterOf(directory) }
}

/** The environment that the file of an interpreter belongs to (`<folder>/bin/python3`); null: to none. Links are not followed: those of a virtual environment leave it. */
export async function environmentOfInterpreter(path: string): Promise<EnvironmentFolder | null> {
  const bin = dirname(path)
  return basename(bin) === 'bin' ? readEnvironmentFolder(dirname(bin)) : null
}

/** @returns null: there is none that can be started */
export async function interpreterOf(directory: string): Promise<string | null> {
  for (const name of ['python3', 'python']) {
    const path = join(directory, 'bin', name)
    if (await isExecutable(path)) return path
  }
  return null
}

/** Is there a file that this process may start? */
export async function isExecutable(path: string): Promise<boolean> {
  return await access(path, constants.X_OK).then(() => true, () => false) && await stat(path).then((info) => info.isFile(), () => false)
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false)
}
