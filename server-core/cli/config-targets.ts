/** The configs that paths of the command line mean: a file, a model's folder, or a whole repository. */
import { randomBytes } from 'node:crypto'
import { chmod, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { backendNames } from '../backends/backend-registry.ts'
import { EMPTY_CONFIG_CONTEXT } from '../contract/config-language.ts'
import type { ConfigContext } from '../contract/config-language.ts'
import { LogHub } from '../logger.ts'
import { readConfigContext, thisMachine } from '../model-config/config-context.ts'
import type { OmReader } from '../model-config/om-passport.ts'
import { CONFIG_FILE_NAME, readConfigFile, writeConfigFile } from '../model-repository/config-file.ts'
import { listDirectory } from '../model-repository/model-directory.ts'
import { ServerError, toServerError } from '../server-error.ts'

export interface ConfigTarget {
  /** As printed: what was given, and what was found below it. */
  readonly file: string
  /** Absolute. */
  readonly path: string
  /** '' where the model has no config.pbtxt. */
  readonly text: string
  readonly hash: string | null
  /** Absolute; null: a file by itself, in no model's folder. */
  readonly modelDirectory: string | null
}

/** A config that is there and cannot be read: not UTF-8, no permission, a folder. */
export interface UnreadableConfig {
  readonly file: string
  readonly path: string
  readonly error: ServerError
}

type FoundConfig = ConfigTarget | UnreadableConfig

export function isReadable(found: FoundConfig): found is ConfigTarget {
  return !('error' in found)
}

/** @throws ServerError NOT_FOUND for a path that is not there or holds no model */
export async function findConfigTargets(paths: readonly string[]): Promise<FoundConfig[]> {
  const targets: FoundConfig[] = []
  for (const path of paths) {
    const information = await stat(path).catch((cause: unknown) => { throw new ServerError('NOT_FOUND', `there is no '${path}'`, { cause }) })
    if (information.isDirectory()) targets.push(...await targetsBelow(path))
    else targets.push(await readTarget(path, basename(path) === CONFIG_FILE_NAME && await isModelDirectory(dirname(resolve(path)))))
  }
  // One config may be meant by several paths.
  return targets.filter((target, index) => targets.findIndex((other) => other.path === target.path) === index)
}

async function targetsBelow(directory: string): Promise<FoundConfig[]> {
  if (await isModelDirectory(resolve(directory), true)) return [await readTarget(join(directory, CONFIG_FILE_NAME), true)]
  const targets: FoundConfig[] = []
  for (const entry of await listDirectory(directory)) {
    const path = join(directory, entry.name)
    if (entry.isDirectory && !entry.name.startsWith('.') && await isModelDirectory(resolve(path), true)) targets.push(await readTarget(join(path, CONFIG_FILE_NAME), true))
  }
  if (targets.length === 0) throw new ServerError('NOT_FOUND', `'${directory}' is neither a model's folder nor a repository of models`)
  return targets
}

/** A folder with version folders; where one is asked for as such, one with a config is enough. */
async function isModelDirectory(path: string, isAsked = false): Promise<boolean> {
  const entries = await listDirectory(path)
  return entries.some((entry) => (entry.isDirectory ? /^\d+$/.test(entry.name) : isAsked && entry.name === CONFIG_FILE_NAME))
}

async function readTarget(file: string, isInModel: boolean): Promise<FoundConfig> {
  const path = resolve(file)
  try {
    const { text, hash } = await readConfigFile(path)
    return { file, path, text: text ?? '', hash, modelDirectory: isInModel ? dirname(path) : null }
  } catch (error) {
    return { file, path, error: toServerError(error) }
  }
}

/** What the config is judged against: its folder, this machine, and the backends of this server. */
export async function contextOf(target: ConfigTarget, options: { readonly isAutoCompleteOff: boolean; readonly readOm: OmReader }): Promise<ConfigContext> {
  const here = { ...options, machine: thisMachine(), backends: backendNames(new LogHub()) }
  return target.modelDirectory === null ? { ...EMPTY_CONFIG_CONTEXT, ...here } : await readConfigContext(target.modelDirectory, here)
}

/** Replaces the file all at once, permissions kept. @throws ServerError UNAVAILABLE when it changed since it was read, or cannot be written */
export async function writeTarget(target: ConfigTarget, text: string): Promise<void> {
  if (basename(target.path) === CONFIG_FILE_NAME) {
    const modelDirectory = dirname(target.path)
    const result = await writeConfigFile({ modelDirectory, repositoryPath: dirname(modelDirectory), text, baseHash: target.hash })
    if (result.kind === 'conflict') throw new ServerError('UNAVAILABLE', `'${target.file}' changed while it was looked at; run the command again`)
    return
  }
  const temporary = join(dirname(target.path), `.${basename(target.path)}.${randomBytes(6).toString('hex')}`)
  try {
    const { mode } = await stat(target.path)
    {
      await using handle = await open(temporary, 'wx')
      await handle.writeFile(text)
      await handle.sync()
    }
    await chmod(temporary, mode & 0o7777)
    await rename(temporary, target.path)
  } catch (cause) {
    await rm(temporary, { force: true })
    throw new ServerError('UNAVAILABLE', `'${target.file}' was not written: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}
