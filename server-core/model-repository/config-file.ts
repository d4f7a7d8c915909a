/**
 * The config.pbtxt of a model as an editor needs it, and its model.py: read without losing a byte, written all at once or not at all, and never over
 * a file that somebody else changed meanwhile.
 */
import { createHash, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, lstat, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { ServerError } from '../server-error.ts'
import { isInside } from './contained-path.ts'
import { Semaphore } from './semaphore.ts'

export const CONFIG_FILE_NAME = 'config.pbtxt'
/** Start of the name of a file that becomes a config; no model, whoever scans. */
export const CONFIG_TEMPORARY_PREFIX = '.npu-console-config-'

const MAXIMUM_CONFIG_BYTES = 16 * 1024 * 1024
const NEW_FILE_MODE = 0o644

export interface ReadConfigFile {
  /** Byte order mark and line ends included; null: there is no file. */
  readonly text: string | null
  /** SHA-256 of the bytes; null: no file. */
  readonly hash: string | null
  /** Milliseconds since the epoch; null: no file. */
  readonly modifiedAt: number | null
}

export type WriteConfigResult =
  | { readonly kind: 'saved'; readonly hash: string | null; readonly before: ReadConfigFile }
  | { readonly kind: 'conflict'; readonly current: ReadConfigFile }

/** One write at a time: between looking at the file and putting the new one in its place no other save may come. */
const writes = new Semaphore(1)

/** @throws ServerError INVALID_ARG for a file that is no UTF-8 text, too large or no file; UNAVAILABLE when it cannot be read */
export async function readConfigFile(path: string): Promise<ReadConfigFile> {
  let data: Buffer
  let modifiedAt: number
  try {
    const information = await stat(path)
    if (!information.isFile()) throw notAFile(path, information.isDirectory() ? 'a folder' : 'no regular file')
    if (information.size > MAXIMUM_CONFIG_BYTES) throw new ServerError('INVALID_ARG', `${path} has ${information.size} bytes; at most ${MAXIMUM_CONFIG_BYTES} can be edited here`)
    modifiedAt = information.mtimeMs
    data = await readFile(path)
  } catch (error) {
    if (error instanceof ServerError) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { text: null, hash: null, modifiedAt: null }
    throw new ServerError('UNAVAILABLE', `${path} cannot be read: ${(error as Error).message}`, { cause: error })
  }
  return { text: decode(data, path), hash: hashOf(data), modifiedAt }
}

/** What a load reads. @throws ServerError INVALID_ARG where there is a folder of that name; the system's error otherwise */
export async function readConfigText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => { throw error.code === 'EISDIR' ? notAFile(path, 'a folder', error) : error })
}

function notAFile(path: string, what: string, cause?: Error): ServerError {
  if (basename(path) !== CONFIG_FILE_NAME) return new ServerError('INVALID_ARG', `${path} is ${what}, and has to be a text file. Move it away, and put the file there`, { cause })
  return new ServerError('INVALID_ARG', `${path} is ${what}, and the config of a model has to be a text file of that name. Move it away; then put the config there, or nothing where the model describes itself`, { cause })
}

/**
 * Writes the file through a temporary one (outside the repository where that is the same file system) that is synced and renamed over it;
 * keeps mode and owner; follows a link that stays in the model directory or the repository.
 *
 * @param fileName relative to the model's directory; default: config.pbtxt
 * @param text null removes the file
 * @param baseHash of the file that was read; another one on disk is a conflict
 * @throws ServerError INVALID_ARG for a link that leads out; UNAVAILABLE for a file or folder that must not be written
 */
export async function writeConfigFile(target: {
  readonly modelDirectory: string
  readonly repositoryPath: string
  readonly fileName?: string
  readonly text: string | null
  readonly baseHash: string | null
}): Promise<WriteConfigResult> {
  return await writes.run(async () => {
    const path = await resolveTarget(target.modelDirectory, target.repositoryPath, target.fileName ?? CONFIG_FILE_NAME)
    const before = await readConfigFile(path)
    if (before.hash !== target.baseHash) return { kind: 'conflict', current: before }
    if (before.hash !== null) await checkWritable(path)
    try {
      if (target.text === null) {
        await rm(path, { force: true })
        await syncDirectory(dirname(path))
        return { kind: 'saved', hash: null, before }
      }
      const data = Buffer.from(target.text, 'utf8')
      const conflict = await replaceFile(path, target.repositoryPath, data, before)
      return conflict ?? { kind: 'saved', hash: hashOf(data), before }
    } catch (error) {
      if (error instanceof ServerError) throw error
      throw new ServerError('UNAVAILABLE', `${path} was not written: ${(error as Error).message}`, { cause: error })
    }
  })
}

async function replaceFile(path: string, repositoryPath: string, data: Buffer, before: ReadConfigFile): Promise<WriteConfigResult | null> {
  const directory = dirname(path)
  const temporary = join(await temporaryDirectory(directory, repositoryPath), `${CONFIG_TEMPORARY_PREFIX}${randomBytes(8).toString('hex')}`)
  try {
    {
      await using file = await open(temporary, 'wx', NEW_FILE_MODE)
      await file.writeFile(data)
      if (before.hash !== null) await keepPermissions(file, path)
      await file.sync()
    }
    // Writing took time: what was checked before is checked again at the last moment.
    const current = await readConfigFile(path)
    if (current.hash !== before.hash) return { kind: 'conflict', current }
    await rename(temporary, path)
  } finally {
    await rm(temporary, { force: true })
  }
  await syncDirectory(directory)
  return null
}

/** Mode always; owner and group where the system lets us (it refuses to give a file away). */
async function keepPermissions(file: FileHandle, path: string): Promise<void> {
  const information = await stat(path)
  const own = await file.stat()
  if (own.uid !== information.uid || own.gid !== information.gid) {
    await file.chown(information.uid, information.gid).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPERM') throw error
    })
  }
  // After chown, which clears set-id bits.
  await file.chmod(information.mode & 0o7777)
}

/** Beside the repository, so that nobody who watches it sees the temporary file; else the repository, else the folder of the file itself. */
async function temporaryDirectory(directory: string, repositoryPath: string): Promise<string> {
  const device = (await stat(directory)).dev
  for (const candidate of [dirname(repositoryPath), repositoryPath]) {
    const isUsable = await stat(candidate).then((information) => information.isDirectory() && information.dev === device, () => false)
      && await access(candidate, constants.W_OK).then(() => true, () => false)
    if (isUsable) return candidate
  }
  return directory
}

async function resolveTarget(modelDirectory: string, repositoryPath: string, fileName: string): Promise<string> {
  const path = join(modelDirectory, fileName)
  const information = await lstat(path).catch(() => undefined)
  // A version's folder may be a link too.
  if (!information?.isSymbolicLink() && fileName === CONFIG_FILE_NAME) return path
  if (information === undefined) return path
  const real = await realpath(path).catch((cause: unknown) => {
    throw new ServerError('INVALID_ARG', `${path} is a link that leads nowhere: remove it first`, { cause })
  })
  const roots = await Promise.all([realpath(modelDirectory), realpath(repositoryPath)])
  if (!roots.some((root) => isInside(root, real))) throw new ServerError('INVALID_ARG', `${path} is a link to ${real}, outside the model repository: edit that file where it belongs`)
  return real
}

async function checkWritable(path: string): Promise<void> {
  await access(path, constants.W_OK).catch((cause: unknown) => {
    throw new ServerError('UNAVAILABLE', `${path} is read-only for the engine: change its permissions, or save from an account that may write it`, { cause })
  })
}

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, 'r')
  await directory.sync()
}

function decode(data: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data)
  } catch (cause) {
    // Windows' Notepad writes UTF-16 with its mark; what has none is most likely of a Chinese code page.
    const isUtf16 = (data[0] === 0xFF && data[1] === 0xFE) || (data[0] === 0xFE && data[1] === 0xFF)
    throw new ServerError('INVALID_ARG', `${path} is not UTF-8 text: convert it first (iconv -f ${isUtf16 ? 'UTF-16' : 'GB18030'} -t UTF-8), or it would be damaged by a save`, { cause })
  }
}

function hashOf(data: Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}
