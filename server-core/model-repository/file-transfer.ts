/**
 * Brings one file to another place: the cheapest way that leaves two independent files. A reflink where the file system can share blocks
 * until one side is changed; a hard link only where the user asked for it, because a later edit of the source would change the served model
 * too; else a copy, with progress, that can be cancelled at any moment. Whoever calls removes a target that was begun.
 */
import { constants } from 'node:fs'
import { copyFile, link, open, rename, statfs } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ServerError } from '../server-error.ts'

/** `move`: the source is ours and may go. `link`: the user accepts that both names are one file. */
export type TransferMode = 'copy' | 'link' | 'move'
/** What was done in the end. */
export type TransferMethod = 'reflink' | 'link' | 'move' | 'copy'

export interface TransferOptions {
  readonly mode: TransferMode
  readonly signal: AbortSignal
  /** Told how many further bytes have arrived. */
  readonly onBytes: (count: number) => void
}

/** The system calls that decide which way is taken; tests put failures in their place. */
export interface TransferSystem {
  readonly reflink: (source: string, target: string) => Promise<void>
  readonly link: (source: string, target: string) => Promise<void>
  readonly rename: (source: string, target: string) => Promise<void>
  readonly write: (file: FileHandle, data: Uint8Array) => Promise<void>
  readonly freeBytes: (directory: string) => Promise<number>
}

export const TRANSFER_SYSTEM: TransferSystem = {
  reflink: (source, target) => copyFile(source, target, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL),
  link,
  rename,
  write: async (file, data) => {
    for (let written = 0; written < data.length;) written += (await file.write(data, written, data.length - written)).bytesWritten
  },
  freeBytes: async (directory) => {
    const { bavail, bsize } = await statfs(directory)
    return bavail * bsize
  },
}

const COPY_CHUNK_BYTES = 4 * 1024 * 1024
/** The file system, or this pair of them, has no such operation: the next way is tried. Everything else is a failure. */
const NOT_POSSIBLE = new Set(['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'ENOTTY', 'EINVAL', 'EXDEV', 'EPERM', 'EMLINK', 'ETXTBSY'])

/**
 * @throws ServerError CANCELLED, NOT_FOUND for a source that is gone, UNAVAILABLE for a full disk, no permission, or a source that changed
 *   while it was read
 */
export async function transferFile(source: string, target: string, options: TransferOptions, system: TransferSystem = TRANSFER_SYSTEM): Promise<TransferMethod> {
  const { mode, signal, onBytes } = options
  throwIfCancelled(signal)
  try {
    await using file = await open(source, 'r')
    const { size } = await file.stat()
    const direct: [TransferMethod, (source: string, target: string) => Promise<void>][] = [
      ...(mode === 'move' ? [['move', system.rename] as [TransferMethod, TransferSystem['rename']]] : []),
      ['reflink', system.reflink],
      ...(mode === 'link' ? [['link', system.link] as [TransferMethod, TransferSystem['link']]] : []),
    ]
    for (const [method, bring] of direct) {
      const isDone = await bring(source, target).then(() => true, (error: NodeJS.ErrnoException) => {
        if (NOT_POSSIBLE.has(error.code ?? '')) return false
        throw error
      })
      if (!isDone) continue
      onBytes(size)
      return method
    }
    await copyBytes(file, source, target, options, system)
    return 'copy'
  } catch (error) {
    throw transferError(error, source, target)
  }
}

async function copyBytes(from: FileHandle, source: string, target: string, { signal, onBytes }: TransferOptions, system: TransferSystem): Promise<void> {
  const before = await from.stat()
  const free = await system.freeBytes(dirname(target))
  if (free < before.size) {
    throw new ServerError('UNAVAILABLE', `The disk of '${dirname(target)}' has ${free} bytes free, and '${source}' needs ${before.size}. Free some space, or use a repository on another disk.`)
  }
  await using to = await open(target, 'wx', before.mode & 0o777)
  const buffer = new Uint8Array(COPY_CHUNK_BYTES)
  let copied = 0
  for (;;) {
    throwIfCancelled(signal)
    const { bytesRead } = await from.read(buffer, 0, buffer.length, copied)
    if (bytesRead === 0) break
    await system.write(to, buffer.subarray(0, bytesRead))
    copied += bytesRead
    onBytes(bytesRead)
  }
  const after = await from.stat()
  if (copied !== before.size || after.size !== before.size || after.mtimeMs !== before.mtimeMs) {
    throw new ServerError('UNAVAILABLE', `'${source}' changed while it was copied. Wait until whoever writes it has finished, then import it again.`)
  }
  await to.sync()
}

/** @throws ServerError CANCELLED */
export function throwIfCancelled(signal: AbortSignal): void {
  if (signal.aborted) throw new ServerError('CANCELLED', 'The import was cancelled. Nothing was written to the repository.')
}

/** A failure of the file system in words: what is in the way, and what to do. */
export function transferError(error: unknown, source: string, target: string): unknown {
  const { code, path, syscall } = error as NodeJS.ErrnoException
  const fail = (text: string, kind: 'UNAVAILABLE' | 'NOT_FOUND' = 'UNAVAILABLE') => new ServerError(kind, text, { cause: error })
  switch (code) {
    case 'ENOENT': return path === target ? fail(`The folder of '${target}' is not there any more.`) : fail(`'${source}' is not there any more.`, 'NOT_FOUND')
    case 'ENOSPC': return fail(`The disk of '${dirname(target)}' is full. Free some space, or use a repository on another disk.`)
    case 'EDQUOT': return fail(`Your disk quota for '${dirname(target)}' is used up. Free some space, or use a repository on another disk.`)
    case 'EFBIG': return fail(`'${source}' is larger than a file may be on the disk of '${dirname(target)}'.`)
    case 'EROFS': return fail(`'${dirname(target)}' is on a disk that is mounted read-only.`)
    case 'EACCES': case 'EPERM':
      return fail(path === source && syscall === 'open' ? `There is no permission to read '${source}'.` : `There is no permission to write in '${dirname(target)}'.`)
    case 'EIO': return fail(`The disk reported an error while '${source}' was copied (EIO).`)
    default: return error
  }
}
