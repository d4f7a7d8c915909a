/** Marks of processes in files that several of them see: who works on something or uses it, and whether that process still lives. */
import { randomUUID } from 'node:crypto'
import { link, readFile, readlink, rename, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { ServerError } from '../../../server-error.ts'

/** A process, told from later ones with the same number. */
interface ProcessMark {
  readonly host: string
  /** Numbers mean something in one namespace only: containers may share the folder and the host's name. */
  readonly namespace: string
  readonly processId: number
  /** As the kernel counts it; '' where it does not say. */
  readonly startTime: string
}

/** After this long a mark of another machine or container, whose processes cannot be seen from here, counts for nothing. */
const FOREIGN_MILLISECONDS = 24 * 3600 * 1000

/** Writes the mark of this process to a new file, whole at once. @returns false: the file is there already */
export async function writeMark(path: string): Promise<boolean> {
  const temporary = `${path}.${randomUUID()}`
  await writeFile(temporary, JSON.stringify({ ...await ownMark(), id: randomUUID() }), { flag: 'wx', mode: 0o600 })
  try {
    await link(temporary, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(temporary, { force: true })
  }
}

/** Does the process live that wrote the mark? False where there is no mark; files that are none count for nothing. */
export async function isMarkAlive(path: string): Promise<boolean> {
  const text = await readMark(path)
  return text !== null && isAlive(text, path)
}

/** @param path where the text was read */
async function isAlive(text: string, path: string): Promise<boolean> {
  const [mark, own] = [parseMark(text), await ownMark()]
  if (mark === null) return false
  if (mark.host === own.host && mark.namespace === own.namespace) return await startTimeOf(mark.processId) === mark.startTime
  return Date.now() - await stat(path).then(({ mtimeMs }) => mtimeMs, () => 0) < FOREIGN_MILLISECONDS
}

/** null: there is none. */
function readMark(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}

export interface LockOptions {
  /** Absolute; its folder exists. */
  readonly path: string
  /** How often somebody looks who waits. */
  readonly pollMilliseconds: number
  /** Called once when somebody else holds it. */
  readonly onWait?: (processId: number) => void
  /** True: what the lock is for has been done meanwhile. */
  readonly isDone?: () => Promise<boolean>
}

/**
 * Takes a lock that one process holds at a time; one whose holder is gone is taken over. Two that take the same one over at the same instant may both have it, so what it guards must
 * be right without it: it saves work.
 * @returns the function that lets it go; null: `isDone` said that there is nothing left to do
 * @throws ServerError UNAVAILABLE where the folder cannot be written to
 */
export async function takeLock({ path, pollMilliseconds, onWait, isDone }: LockOptions): Promise<(() => Promise<void>) | null> {
  for (let isFirst = true; ; isFirst = false) {
    if (await isDone?.() === true) return null
    const isTaken = await writeMark(path).catch((cause: unknown) => { throw new ServerError('UNAVAILABLE', `'${path}' cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`, { cause }) })
    if (isTaken) return () => rm(path, { force: true })
    const holder = await readMark(path)
    if (holder === null) continue
    if (!await isAlive(holder, path)) {
      await takeAway(path, holder)
      continue
    }
    if (isFirst) onWait?.(parseMark(holder)?.processId ?? 0)
    await new Promise((resolve) => { setTimeout(resolve, pollMilliseconds) })
  }
}

/** Removes the lock of a process that is gone, and no other that took its place meanwhile. */
async function takeAway(path: string, holder: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`
  try {
    await rename(path, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  // Back with it, unless somebody has one there by now.
  if (await readMark(aside) !== holder) await link(aside, path).catch((error: NodeJS.ErrnoException) => { if (error.code !== 'EEXIST') throw error })
  await rm(aside, { force: true })
}

let own: Promise<ProcessMark> | null = null

function ownMark(): Promise<ProcessMark> {
  own ??= (async () => ({ host: hostname(), namespace: await readlink('/proc/self/ns/pid').catch(() => ''), processId: process.pid, startTime: await startTimeOf(process.pid) ?? '' }))()
  return own
}

function parseMark(text: string): ProcessMark | null {
  try {
    const mark = JSON.parse(text) as Partial<ProcessMark> | null
    return typeof mark?.processId === 'number' && typeof mark.host === 'string' ? { host: mark.host, namespace: mark.namespace ?? '', processId: mark.processId, startTime: mark.startTime ?? '' } : null
  } catch {
    return null
  }
}

/** null: there is no such process (a zombie is none). */
async function startTimeOf(processId: number): Promise<string | null> {
  const text = await readFile(`/proc/${processId}/stat`, 'utf8').catch(() => null)
  if (text === null) return null
  // The name in parentheses may hold anything; field 3 is the state, field 22 the start.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? null : fields[19] ?? null
}
