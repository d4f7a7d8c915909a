/** Unpacks the archives of environments (conda-pack, venv-pack): with the system's tar, and with an eye on what comes out. */
import { spawn, type ChildProcess } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { open, readdir, readlink, realpath, stat, statfs } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { Transform, type Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { ServerError } from '../../../server-error.ts'
import { isExecutable } from './environment-folder.ts'

type Format = 'tar' | 'gzip' | 'zstd' | 'xz' | 'bzip2'

/** What archives begin with, in bytes as hexadecimal digits. */
const SIGNATURES: readonly (readonly [start: string, format: Format])[] = [['1f8b', 'gzip'], ['28b52ffd', 'zstd'], ['fd377a585a00', 'xz'], ['425a68', 'bzip2']]
const TAR_SIGNATURE = { offset: 257, text: 'ustar' }
const CHUNK_BYTES = 1024 * 1024
/** What tar says then; the last is a write that stopped in the middle. */
const DISK_FULL = /No space left on device|Disk quota exceeded|Wrote only \d+ of \d+ bytes/

export interface UnpackOptions {
  /** Absolute. */
  readonly archive: string
  /** Exists, empty, and nobody else can write to it. What is there after a failure is to be removed. */
  readonly directory: string
  /** Most bytes that the archive may hold. */
  readonly byteSizeLimit: number
  /** How the limit is raised, for its error. */
  readonly limitSetting: string
}

/**
 * Unpacks it with the rights of this process, owners and set-user-id bits left out. No entry comes to lie outside the folder, and no link leads out of it but those of
 * a virtual environment to the interpreter that it was made with (`bin/python*`).
 * @throws ServerError INVALID_ARG: the archive is damaged, of no known kind, too large, or holds what an environment cannot (the entry is named); UNAVAILABLE: the disk is full, or a program is missing
 */
export async function unpackEnvironment({ archive, directory, byteSizeLimit, limitSetting }: UnpackOptions): Promise<void> {
  const format = await formatOf(archive)
  const archiveBytes = (await stat(archive)).size
  const freeBytes = await statfs(directory).then(({ bavail, bsize }) => bavail * bsize)
  // What is unpacked is hardly smaller.
  if (freeBytes < archiveBytes) throw full(archive, directory, `it has ${archiveBytes} bytes packed, and ${freeBytes} are free`)
  let byteCount = 0
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      byteCount += chunk.length
      done(byteCount <= byteSizeLimit ? null : new ServerError('INVALID_ARG', `the archive '${archive}' holds more than ${byteSizeLimit} bytes. Where that is right, raise ${limitSetting}`), chunk)
    },
  })
  const tar = start('tar', ['-x', '-o', '--no-same-permissions', '-f', '-', '-C', directory], archive)
  const source = createReadStream(archive, { highWaterMark: CHUNK_BYTES })
  const program = format === 'xz' || format === 'bzip2' ? start(format, ['-d', '-c'], archive) : null
  const pipes = program === null ? [pipeline([source, ...decompressors(format), counter, tar.input])] : [pipeline(source, program.input), pipeline(program.output, counter, tar.input)]
  try {
    const results = await Promise.allSettled([...(program === null ? [] : [program.ended]), ...pipes, tar.ended])
    const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
    // tar may leave what follows the end of the archive unread.
    if (results.at(-1)?.status === 'rejected' || !errors.every(isBrokenPipe)) throw explain(errors)
  } finally {
    for (const one of [tar, program]) one?.child.kill('SIGKILL')
  }
  await refuseForeignEntries(await realpath(directory), await realpath(directory), archive)

  /** Whichever of them fails first makes the others fail: pipes break, and archives end early. */
  function explain(errors: readonly unknown[]): ServerError {
    const said = errors.find((error) => error instanceof ServerError)
    if (said !== undefined) return said
    if (errors.some((error) => DISK_FULL.test(messageOf(error)))) return full(archive, directory, `${byteCount} bytes were unpacked`)
    const cause = errors.find((error) => !isBrokenPipe(error)) ?? errors[0]
    return new ServerError('INVALID_ARG', `the archive '${archive}' cannot be unpacked: ${messageOf(cause)}. Was it copied whole? Make it again (conda pack -o env.tar.gz)`, { cause })
  }
}

function isBrokenPipe(error: unknown): boolean {
  return ['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED'].includes((error as NodeJS.ErrnoException).code ?? '')
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function full(archive: string, directory: string, what: string): ServerError {
  return new ServerError('UNAVAILABLE', `the disk of '${dirname(directory)}' is too full for the Python environment '${archive}': ${what}. Make room, or name a folder of a larger disk with --backend-config=python,environment-cache-directory`)
}

/** By its first bytes: names lie. */
async function formatOf(archive: string): Promise<Format> {
  await using file = await open(archive)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(512), 0, 512, 0)
  const start = buffer.toString('hex', 0, 8)
  const compressed = SIGNATURES.find(([signature]) => start.startsWith(signature))
  if (compressed !== undefined) return compressed[1]
  if (bytesRead === 512 && buffer.toString('latin1', TAR_SIGNATURE.offset, TAR_SIGNATURE.offset + TAR_SIGNATURE.text.length) === TAR_SIGNATURE.text) return 'tar'
  throw new ServerError('INVALID_ARG', `'${archive}' is no archive of a Python environment: it is neither a .tar file nor one packed with gzip, zstd, xz or bzip2. Make it with conda-pack or venv-pack, or name the folder of an environment`)
}

function decompressors(format: Format): readonly Transform[] {
  if (format === 'gzip') return [createGunzip({ chunkSize: CHUNK_BYTES })]
  return format === 'zstd' ? [createZstdDecompress({ chunkSize: CHUNK_BYTES })] : []
}

interface Program {
  readonly child: ChildProcess
  readonly input: Writable
  readonly output: Readable
  /** Rejects with what the program said last where it fails. */
  readonly ended: Promise<void>
}

function start(command: string, args: readonly string[], archive: string): Program {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, LC_ALL: 'C' } })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => { said = (said + chunk.toString()).slice(-8192) })
  if (command === 'tar') child.stdout.resume()
  const ended = new Promise<void>((done, fail) => {
    child.once('error', (cause: NodeJS.ErrnoException) => {
      fail(cause.code === 'ENOENT' ? new ServerError('UNAVAILABLE', `the program ${command} is needed to unpack '${archive}' and is not there. Install it, or pack the environment as .tar.gz`, { cause }) : cause)
    })
    child.once('close', (code, signal) => {
      const lines = said.trim().split('\n').filter((line) => line !== '')
      if (code === 0) done()
      else fail(new Error(lines.find((line) => !/Exiting with failure status|Removing leading/.test(line)) ?? `${command} ended with ${signal ?? `code ${code ?? '-'}`}`))
    })
  })
  ended.catch(() => {})
  // A program that is not there has no one to write to; `ended` says so.
  child.stdin.on('error', () => {})
  return { child, input: child.stdin, output: child.stdout, ended }
}

/** @throws ServerError INVALID_ARG for the first entry that is neither file, folder nor a link that stays inside */
async function refuseForeignEntries(root: string, directory: string, archive: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    const name = relative(root, path)
    if (entry.isDirectory()) await refuseForeignEntries(root, path, archive)
    else if (entry.isSymbolicLink()) await refuseForeignLink(root, path, archive)
    else if (!entry.isFile()) throw new ServerError('INVALID_ARG', `the archive '${archive}' holds '${name}', which is a device, pipe or socket: no Python environment has such`)
  }
}

async function refuseForeignLink(root: string, path: string, archive: string): Promise<void> {
  const target = await readlink(path)
  const name = relative(root, path)
  if (!isAbsolute(target)) {
    // The words may stay inside and the folders on the way lead out: those are followed; the last part is looked at where it is a link itself. What leads nowhere is harmless.
    const last = basename(target) === '..' ? target : dirname(target)
    const end = await realpath(`${dirname(path)}/${last}`).catch(() => root)
    if (!leavesRoot(relative(root, resolve(dirname(path), target))) && !leavesRoot(relative(root, end))) return
  } else if (/^bin\/python[\d.]*$/.test(name)) {
    // A virtual environment is made of these.
    if (await isExecutable(target)) return
    throw new ServerError('INVALID_ARG', `the Python environment in '${archive}' wants the interpreter ${target}, which is not on this machine. Install it, or pack an environment of conda (conda pack), which brings its own`)
  }
  throw new ServerError('INVALID_ARG', `the archive '${archive}' holds the link '${name}', which leads out of the environment to '${target}'. Pack it again with the file in its place`)
}

function leavesRoot(path: string): boolean {
  return path === '..' || path.startsWith('../')
}
