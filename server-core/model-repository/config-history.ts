/**
 * The last saves of each model's config.pbtxt, kept in the user's data folder, never in the repository. One file an entry; its name says
 * when it was made and how, so there is no index that could disagree with it.
 */
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConfigHistoryEntry } from '../contract/console-api.ts'
import { ServerError } from '../server-error.ts'

const DIRECTORY_NAME = 'config-history'
export const KEPT_CONFIG_SAVES = 50
/** `<milliseconds>-<counter>-<origin>.pbtxt`; the counter keeps entries of one millisecond in order. */
const ENTRY_NAME = /^(\d{15})-(\d{4})-(saved|found)\.pbtxt$/

export interface HistoryPlace {
  readonly dataDirectory: string
  /** Absolute. The same name in another repository is another model. */
  readonly repositoryPath: string
  readonly modelName: string
}

/** Newest first. */
export async function configHistory(place: HistoryPlace): Promise<readonly ConfigHistoryEntry[]> {
  const directory = directoryOf(place)
  const names = await entryNames(directory)
  return await Promise.all(names.toReversed().map(async (name) => {
    const [, time, , origin] = ENTRY_NAME.exec(name) ?? []
    return { id: name, time: Number(time), byteSize: (await stat(join(directory, name))).size, origin: origin as ConfigHistoryEntry['origin'] }
  }))
}

/** @throws ServerError NOT_FOUND */
export async function configHistoryText(place: HistoryPlace, id: string): Promise<string> {
  const missing = () => new ServerError('NOT_FOUND', `there is no such entry in the history of '${place.modelName}': only the last ${KEPT_CONFIG_SAVES} saves are kept`)
  if (!ENTRY_NAME.test(id)) throw missing()
  return await readFile(join(directoryOf(place), id), 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw cause.code === 'ENOENT' ? missing() : cause
  })
}

/**
 * Keeps what a save wrote, and first what it replaced where that is not the newest entry already (a file that came from elsewhere).
 * @param replaced null: there was no file
 */
export async function rememberConfigSave(place: HistoryPlace, save: {
  readonly replaced: { readonly text: string; readonly modifiedAt: number } | null
  /** null: the file was removed. */
  readonly text: string | null
  readonly time: number
}): Promise<void> {
  const directory = directoryOf(place)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const newest = (await entryNames(directory)).at(-1)
  const newestText = newest === undefined ? null : await readFile(join(directory, newest), 'utf8')
  if (save.replaced !== null && save.replaced.text !== newestText) await add(directory, save.replaced.text, save.replaced.modifiedAt, 'found')
  if (save.text !== null) await add(directory, save.text, save.time, 'saved')
  const names = await entryNames(directory)
  for (const name of names.slice(0, Math.max(0, names.length - KEPT_CONFIG_SAVES))) await rm(join(directory, name), { force: true })
}

/** Never sorts before an entry that is there, whatever the clock says. */
async function add(directory: string, text: string, time: number, origin: ConfigHistoryEntry['origin']): Promise<void> {
  const newest = ENTRY_NAME.exec((await entryNames(directory)).at(-1) ?? '')
  const newestTime = Number(newest?.[1] ?? 0)
  const at = Math.max(Math.floor(time), newestTime)
  const counter = at === newestTime && newest ? Number(newest[2]) + 1 : 0
  const name = `${String(at).padStart(15, '0')}-${String(counter).padStart(4, '0')}-${origin}.pbtxt`
  const temporary = join(directory, `.${randomBytes(8).toString('hex')}`)
  try {
    await writeFile(temporary, text, { mode: 0o600, flush: true })
    await rename(temporary, join(directory, name))
  } finally {
    await rm(temporary, { force: true })
  }
}

async function entryNames(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names.filter((name) => ENTRY_NAME.test(name)).sort()
}

/** A readable start, and a hash that tells models of the same name apart. */
function directoryOf({ dataDirectory, repositoryPath, modelName }: HistoryPlace): string {
  const readable = modelName.replace(/[^\w.-]/g, '_').slice(0, 40)
  const hash = createHash('sha256').update(JSON.stringify([repositoryPath, modelName])).digest('hex').slice(0, 16)
  return join(dataDirectory, DIRECTORY_NAME, `${readable}-${hash}`)
}
