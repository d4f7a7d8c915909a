/**
 * Environments that were unpacked from archives, each once for all models and servers of a user. One folder an archive, named after its path, size and time of change:
 *   archive.json       what it was made from
 *   env-<id>/          the environment; was unpacked where it stays, since conda writes that path into its files
 *   current            link to it: exists once all of it is there
 *   lock               somebody unpacks
 *   user-<id>          a process uses it (process-marks.ts)
 *   used               its time: when it was last asked for or let go
 */
import { createHash, randomUUID } from 'node:crypto'
import { lstat, mkdir, readdir, readFile, readlink, realpath, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, isAbsolute, join } from 'node:path'
import type { Logger } from '../../../logger.ts'
import { makeDirectory } from '../../../make-directory.ts'
import { ServerError } from '../../../server-error.ts'
import { runTool } from '../../../telemetry/run-tool.ts'
import { unpackEnvironment } from './environment-archive.ts'
import { interpreterOf } from './environment-folder.ts'
import { isMarkAlive, takeLock, writeMark } from './process-marks.ts'

export interface EnvironmentCacheOptions {
  /** Absolute. */
  readonly directory: string
  /** Most bytes that one archive may hold. */
  readonly byteSizeLimit: number
  readonly log: Logger
  /** Milliseconds since the epoch. */
  readonly now?: () => number
}

/** An environment that stays where it is until it is let go. */
export interface HeldEnvironment {
  readonly directory: string
  release(): Promise<void>
}

export const CACHE_DIRECTORY_SETTING = 'environment-cache-directory'
export const BYTE_SIZE_LIMIT_SETTING = 'environment-byte-size-limit'

/** One that nobody asked for as long as this is removed; sooner where its archive has changed (at once) or is gone. */
export const UNUSED_DAYS = 30
export const ARCHIVE_GONE_DAYS = 1
const DAY_MILLISECONDS = 24 * 3600 * 1000
/** conda-unpack writes the new path into some hundred files. */
const CONDA_UNPACK_TIMEOUT_MILLISECONDS = 600_000
const REMOVED = 'removed-'

/** `$XDG_CACHE_HOME/npu-console/python-environments`, else below `~/.cache` (XDG base directories: relative values are ignored). */
export function defaultEnvironmentCacheDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  const base = environment['XDG_CACHE_HOME']
  return join(base !== undefined && isAbsolute(base) ? base : join(homedir(), '.cache'), 'npu-console', 'python-environments')
}

interface ArchiveRecord {
  readonly path: string
  readonly byteSize: number
  /** Nanoseconds since the epoch, in digits. */
  readonly changed: string
}

export class EnvironmentCache {
  readonly #directory: string
  readonly #byteSizeLimit: number
  readonly #log: Logger
  readonly #now: () => number

  constructor({ directory, byteSizeLimit, log, now = Date.now }: EnvironmentCacheOptions) {
    this.#directory = directory
    this.#byteSizeLimit = byteSizeLimit
    this.#log = log
    this.#now = now
  }

  /**
   * The environment of an archive, unpacked unless it is there already; waits while another instance or another server unpacks it.
   * @param archive absolute, links resolved
   * @throws ServerError as `unpackEnvironment`; INTERNAL: it has no bin/activate, or conda-unpack fails; UNAVAILABLE, INVALID_ARG: the folder cannot be used
   */
  async acquire(archive: string): Promise<HeldEnvironment> {
    await this.#prepareDirectory()
    const record = await readRecord(archive)
    const folder = join(this.#directory, folderName(record))
    const mark = join(folder, `user-${randomUUID()}`)
    await this.#withLock(async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await this.#noteUse(folder)
      await writeMark(mark)
    })
    const release = async () => {
      await this.#noteUse(folder)
      await rm(mark, { force: true })
      await this.sweep()
    }
    try {
      const directory = await this.#unpacked(folder, record)
      await this.sweep()
      return { directory, release }
    } catch (error) {
      await release()
      throw error
    }
  }

  /** Removes what nobody uses and nobody will. Problems are warnings in the log: no model waits for this. */
  async sweep(): Promise<void> {
    try {
      const removed = await this.#withLock(async () => {
        const names = await readdir(this.#directory)
        const old: string[] = names.filter((name) => name.startsWith(REMOVED))
        for (const name of names) {
          const folder = join(this.#directory, name)
          if (name.startsWith(REMOVED) || !(await lstat(folder)).isDirectory() || !await this.#isUnwanted(folder)) continue
          const wasWhole = await currentOf(folder) !== null
          const aside = `${REMOVED}${randomUUID()}`
          await rename(folder, join(this.#directory, aside))
          if (wasWhole) this.#log.info('removed the unpacked Python environment of an archive: it is out of date, or was not used for long', { environment: name })
          old.push(aside)
        }
        return old
      })
      for (const name of removed) await rm(join(this.#directory, name), { recursive: true, force: true })
    } catch (error) {
      this.#log.warning('unpacked Python environments that are not used could not be removed', { directory: this.#directory, error: error instanceof Error ? error.message : String(error) })
    }
  }

  async #unpacked(folder: string, record: ArchiveRecord): Promise<string> {
    for (;;) {
      const unlock = await takeLock({
        path: join(folder, 'lock'), pollMilliseconds: 200, isDone: async () => await currentOf(folder) !== null,
        onWait: (processId) => { this.#log.info('waiting for the process that unpacks this Python environment', { archive: record.path, process: processId }) },
      })
      try {
        const current = await currentOf(folder)
        if (current !== null) return current
        if (unlock !== null) return await this.#unpack(folder, record)
      } finally {
        await unlock?.()
      }
    }
  }

  async #unpack(folder: string, record: ArchiveRecord): Promise<string> {
    // What a process left that ended in the middle, or somebody deleted half of.
    for (const name of await readdir(folder)) if (name === 'current' || name.startsWith('env-')) await rm(join(folder, name), { recursive: true, force: true })
    const directory = join(folder, `env-${randomUUID()}`)
    const started = this.#now()
    this.#log.info('unpacking the Python environment of a model, once', { archive: record.path, directory })
    try {
      await mkdir(directory, { mode: 0o700 })
      await unpackEnvironment({ archive: record.path, directory, byteSizeLimit: this.#byteSizeLimit, limitSetting: `--backend-config=python,${BYTE_SIZE_LIMIT_SETTING}` })
      await requireActivate(directory)
      await fixPrefixes(directory, record.path)
      const after = await readRecord(record.path)
      if (folderName(after) !== folderName(record)) throw new ServerError('UNAVAILABLE', `the archive '${record.path}' changed while it was unpacked. Load the model again when it is whole`)
      await writeFile(join(folder, 'archive.json'), JSON.stringify(record))
      await symlink(basename(directory), join(folder, 'current')).catch(ignoring('EEXIST'))
    } catch (error) {
      await rm(directory, { recursive: true, force: true })
      throw error
    }
    const published = await currentOf(folder)
    if (published === null) throw new ServerError('INTERNAL', `the Python environment in '${folder}' is gone as soon as it was unpacked: something deletes files there`)
    // Two that took the lock from a process that is gone.
    if (published !== await realpath(directory)) await rm(directory, { recursive: true, force: true })
    this.#log.info('unpacked the Python environment of a model', { archive: record.path, directory: published, milliseconds: this.#now() - started })
    return published
  }

  async #isUnwanted(folder: string): Promise<boolean> {
    const names = await readdir(folder)
    for (const name of names) if ((name.startsWith('user-') || name === 'lock') && await isMarkAlive(join(folder, name))) return false
    const record = await readFile(join(folder, 'archive.json'), 'utf8').then((text) => JSON.parse(text) as ArchiveRecord, () => null)
    if (record === null) return true
    const unusedDays = (this.#now() - await stat(join(folder, 'used')).then(({ mtimeMs }) => mtimeMs, () => 0)) / DAY_MILLISECONDS
    const archive = await readRecord(record.path).catch(() => null)
    if (archive === null) return unusedDays > ARCHIVE_GONE_DAYS
    return folderName(archive) !== folderName(record) || unusedDays > UNUSED_DAYS
  }

  async #noteUse(folder: string): Promise<void> {
    await writeFile(join(folder, 'used'), '')
  }

  /** Its own, for what lies in it is run. */
  async #prepareDirectory(): Promise<void> {
    await makeDirectory(this.#directory, 'cache of Python environments', 0o700)
    const { uid, mode } = await stat(this.#directory)
    const own = process.getuid?.() ?? uid
    if (uid !== own || (mode & 0o022) !== 0) {
      throw new ServerError('INVALID_ARG', `'${this.#directory}' cannot hold Python environments, since others than this user can write to it (owner ${uid}, mode ${(mode & 0o777).toString(8)}): chmod 700 it, or name another folder with --backend-config=python,${CACHE_DIRECTORY_SETTING}`)
    }
  }

  /** For moments: who uses what does not change while somebody decides what to remove. */
  async #withLock<T>(work: () => Promise<T>): Promise<T> {
    const unlock = await takeLock({ path: join(this.#directory, 'lock'), pollMilliseconds: 10 })
    try {
      return await work()
    } finally {
      await unlock?.()
    }
  }
}

/** @throws ServerError INTERNAL with Triton's text */
export async function requireActivate(directory: string): Promise<void> {
  const script = join(directory, 'bin', 'activate')
  if (await stat(script).then(() => false, () => true)) {
    throw new ServerError('INTERNAL', `Path ${script} does not exist. The Python environment should contain an 'activate' script.`)
  }
}

/** What conda-pack leaves to whoever unpacks: paths in files become those of this place. */
async function fixPrefixes(directory: string, archive: string): Promise<void> {
  const script = join(directory, 'bin', 'conda-unpack')
  if (await stat(script).then(() => false, () => true)) return
  const interpreter = await interpreterOf(directory)
  if (interpreter === null) throw new ServerError('INVALID_ARG', `the Python environment in '${archive}' has bin/conda-unpack and no bin/python that can be started: it was packed for another system`)
  const result = await runTool({ command: interpreter, args: ['-I', script], environment: process.env, timeoutMilliseconds: CONDA_UNPACK_TIMEOUT_MILLISECONDS })
  if (result.exitCode === 0) return
  const said = result.stderr.trim().split('\n').at(-1) ?? ''
  throw new ServerError('INTERNAL', `conda-unpack of the Python environment in '${archive}' failed (${result.isTimedOut ? 'it took too long' : `exit code ${result.exitCode ?? '-'}`})${said === '' ? '' : `: ${said}`}`)
}

async function readRecord(path: string): Promise<ArchiveRecord> {
  const { size, mtimeNs } = await stat(path, { bigint: true })
  return { path, byteSize: Number(size), changed: String(mtimeNs) }
}

function folderName({ path, byteSize, changed }: ArchiveRecord): string {
  const name = basename(path).replace(/\.(?:tar|tgz|gz|xz|zst|bz2)/g, '').replace(/[^\w-]/g, '_').slice(0, 40)
  return `${name}-${createHash('sha256').update(`${path}\0${byteSize}\0${changed}`).digest('hex').slice(0, 24)}`
}

/** null: nothing that is whole. */
async function currentOf(folder: string): Promise<string | null> {
  const name = await readlink(join(folder, 'current')).catch(() => null)
  if (name === null) return null
  const directory = await realpath(join(folder, name)).catch(() => null)
  if (directory === null) return null
  return stat(join(directory, 'bin', 'activate')).then(() => directory, () => null)
}

function ignoring(code: string): (error: NodeJS.ErrnoException) => void {
  return (error) => { if (error.code !== code) throw error }
}
