import type { Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ModelFile } from '../contract/repository.ts'
import type { Logger } from '../logger.ts'
import { ServerError } from '../server-error.ts'

export interface DirectoryEntry { readonly name: string; readonly isDirectory: boolean }

export interface VersionDirectory {
  readonly version: number
  readonly path: string
  /** What lies directly in it. */
  readonly entries: readonly DirectoryEntry[]
  /** All files below it; paths relative to the model directory. */
  readonly files: readonly ModelFile[]
  /** Changes whenever one of these files does. */
  readonly signature: string
}

/** One model as it lies on disk at one moment. */
export interface ModelDirectory {
  readonly name: string
  readonly repositoryPath: string
  /** Absolute. */
  readonly path: string
  /** Absolute path of config.pbtxt, or of the one that `--model-config-name` chose; null where there is none. */
  readonly configPath: string | null
  /** Ascending. */
  readonly versions: readonly VersionDirectory[]
  /** Changes whenever a file that matters to the model changes: paths, sizes and nanosecond times. */
  readonly signature: string
  /** The same for what lies beside config.pbtxt and the versions (label files and the like). */
  readonly otherSignature: string
}

/** Directories of a model that hold no version. */
const OTHER_DIRECTORIES = new Set(['warmup', 'initial_state', 'configs', 'samples'])
/** More files than any model has: a version directory that holds them leads to something else, by a link for instance. */
const MAXIMUM_VERSION_FILES = 10_000

/**
 * Reads a model directory. Directories that are no version are skipped, with the server's warnings for those that look like one.
 * @param configName `configs/<configName>.pbtxt` is used instead of config.pbtxt where it exists; '' : nothing is
 */
export async function readModelDirectory(repositoryPath: string, name: string, path: string, log?: Logger, configName = ''): Promise<ModelDirectory> {
  const entries = await listDirectory(path)
  const marks: string[] = []
  const versions: VersionDirectory[] = []
  let configMark = ''
  let configPath: string | null = null
  for (const entry of entries) {
    const entryPath = join(path, entry.name)
    if (!entry.isDirectory) {
      const file = await fileMark(entryPath, entry.name)
      if (file === null) continue
      if (entry.name === 'config.pbtxt') {
        configPath = entryPath
        configMark = file.mark
      } else {
        marks.push(file.mark)
      }
      continue
    }
    if (entry.name === 'config.pbtxt') {
      // Whoever reads it says that it has to be a file: passed over, the model would be served without its config.
      configPath = entryPath
      configMark = 'folder'
      continue
    }
    const version = versionOf(entry.name, log)
    if (version === null) continue
    const entries = await listDirectory(entryPath)
    const found: FoundFiles = { files: [], marks: [], directories: new Set() }
    await collectFiles(entryPath, entry.name, entries, found)
    versions.push({ version, path: entryPath, entries, files: found.files, signature: found.marks.join('\n') })
  }
  const chosen = configName === '' ? null : await namedConfig(path, configName)
  if (chosen !== null) ({ configPath, configMark } = chosen)
  versions.sort((a, b) => a.version - b.version)
  const otherSignature = marks.join('\n')
  // The number counts as well: a version directory may be empty.
  const signature = [configMark, otherSignature, ...versions.map((version) => `${version.version}/\n${version.signature}`)].join('\n')
  return { name, repositoryPath, path, configPath, versions, signature, otherSignature }
}

/** null: there is none of that name. */
async function namedConfig(modelDirectory: string, configName: string): Promise<{ configPath: string; configMark: string } | null> {
  const relative = join('configs', `${configName}.pbtxt`)
  const configPath = join(modelDirectory, relative)
  if ((await statOrNull(configPath))?.isFile() !== true) return null
  const file = await fileMark(configPath, relative)
  return file === null ? null : { configPath, configMark: file.mark }
}

/** Names in a directory, sorted; symbolic links count as what they lead to, dangling ones as files. */
export async function listDirectory(path: string): Promise<DirectoryEntry[]> {
  const entries = await readdir(path, { withFileTypes: true })
  const result = await Promise.all(entries.map(async (entry) => ({ name: entry.name, isDirectory: await leadsToDirectory(path, entry) })))
  return result.sort((a, b) => (a.name < b.name ? -1 : 1))
}

async function leadsToDirectory(path: string, entry: Dirent): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isDirectory()
  return (await statOrNull(join(path, entry.name)))?.isDirectory() ?? false
}

/** The version number a directory's name stands for, or null where it is none. */
function versionOf(name: string, log?: Logger): number | null {
  if (OTHER_DIRECTORIES.has(name)) return null
  if (!/^\d+$/.test(name) || !Number.isSafeInteger(Number(name))) {
    log?.warning(`ignore version directory '${name}' which fails to convert to integral number`)
    return null
  }
  if (name.length > 1 && name.startsWith('0')) {
    log?.warning(`ignore version directory '${name}' which contains leading zeros in its directory name`)
    return null
  }
  return Number(name)
}

interface FoundFiles {
  readonly files: ModelFile[]
  readonly marks: string[]
  /** Those that were read: links that lead to one of them again are not followed, or links in a circle would never end. */
  readonly directories: Set<string>
}

async function collectFiles(path: string, relativePath: string, entries: readonly DirectoryEntry[], found: FoundFiles): Promise<void> {
  const info = await statOrNull(path)
  const identity = `${info?.dev}:${info?.ino}`
  if (info === null || found.directories.has(identity)) return
  found.directories.add(identity)
  for (const entry of entries) {
    const entryPath = join(path, entry.name)
    const entryRelative = `${relativePath}/${entry.name}`
    if (entry.isDirectory) {
      await collectFiles(entryPath, entryRelative, await listDirectory(entryPath), found)
      continue
    }
    const file = await fileMark(entryPath, entryRelative)
    if (file === null) continue
    found.marks.push(file.mark)
    found.files.push({ path: entryRelative, byteSize: file.byteSize, modifiedAt: file.modifiedAt })
    if (found.files.length > MAXIMUM_VERSION_FILES) throw tooManyFiles(relativePath)
  }
}

function tooManyFiles(path: string): ServerError {
  return new ServerError('INVALID_ARG', `'${path}' is no version of a model: there are more than ${MAXIMUM_VERSION_FILES} files below it`)
}

async function fileMark(path: string, relativePath: string): Promise<{ mark: string; byteSize: number; modifiedAt: number } | null> {
  const info = await statOrNull(path)
  if (info === null) return null
  return { mark: `${relativePath}|${info.mtimeNs}|${info.size}`, byteSize: Number(info.size), modifiedAt: Number(info.mtimeMs) }
}

async function statOrNull(path: string) {
  try {
    return await stat(path, { bigint: true })
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ELOOP') return null
    throw error
  }
}
