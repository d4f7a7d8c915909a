import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { ServerError } from '../server-error.ts'
import { isInside } from './contained-path.ts'

/** A model directory made of the files of a load call; it is removed when the model is unloaded. */
export interface OverrideDirectory {
  readonly path: string
  remove(): Promise<void>
}

/** @throws ServerError INVALID_ARG when a file's path leads outside the directory */
export async function createOverrideDirectory(model: string, files: ReadonlyMap<string, Uint8Array>): Promise<OverrideDirectory> {
  const root = await mkdtemp(join(tmpdir(), 'npu-console-model-'))
  const path = join(root, model)
  const remove = () => rm(root, { recursive: true, force: true })
  try {
    await mkdir(path)
    for (const [name, data] of files) {
      const target = join(path, name)
      if (name === '' || isAbsolute(name) || name.includes('\0') || !isInside(path, target) || target === path) {
        throw new ServerError('INVALID_ARG', `file '${name}' of the load request leads outside the model directory`)
      }
      await mkdir(dirname(target), { recursive: true })
      await writeFile(target, data)
    }
    return { path, remove }
  } catch (error) {
    await remove()
    throw error
  }
}
