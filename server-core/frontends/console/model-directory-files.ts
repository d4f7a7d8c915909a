/** Reads files out of a model directory for the console; a request can never reach outside it. */
import { open, readdir, realpath } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import type { SampleInput } from '../../contract/console-api.ts'
import { ServerError } from '../../server-error.ts'

const SAMPLE_DIRECTORY = 'samples'

const SAMPLE_MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.png': 'image/png', '.jpg': 'image/jpeg', '.jpeg': 'image/jpeg', '.webp': 'image/webp', '.bmp': 'image/bmp',
  '.wav': 'audio/wav', '.json': 'application/json', '.txt': 'text/plain', '.raw': 'application/octet-stream', '.bin': 'application/octet-stream',
}

/**
 * @param path relative to the model directory, with `/`
 * @param maximumBytes larger files are refused
 * @throws ServerError NOT_FOUND, INVALID_ARG
 */
export async function readModelDirectoryFile(modelDirectory: string, path: string, maximumBytes: number): Promise<Uint8Array> {
  const root = await realpath(modelDirectory)
  const file = await realpath(join(root, path)).catch(() => undefined)
  if (file === undefined) throw new ServerError('NOT_FOUND', `no file '${path}' in the model directory`)
  if (!file.startsWith(root + sep)) throw new ServerError('INVALID_ARG', `'${path}' is outside the model directory`)
  const handle = await open(file, 'r')
  try {
    const information = await handle.stat()
    if (!information.isFile()) throw new ServerError('INVALID_ARG', `'${path}' is not a file`)
    if (information.size > maximumBytes) {
      throw new ServerError('INVALID_ARG', `'${path}' has ${information.size} bytes; at most ${maximumBytes} are shown here. Open it in an editor.`)
    }
    return new Uint8Array(await handle.readFile())
  } finally {
    await handle.close()
  }
}

/** The files of `samples/` that the Test tab can offer, by name. */
export async function listSamples(modelDirectory: string): Promise<readonly SampleInput[]> {
  const directory = join(modelDirectory, SAMPLE_DIRECTORY)
  const entries = await readdir(directory, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
    throw error
  })
  const samples: SampleInput[] = []
  for (const entry of entries) {
    if (!entry.isFile()) continue
    const handle = await open(join(directory, entry.name), 'r')
    try {
      samples.push({ path: `${SAMPLE_DIRECTORY}/${entry.name}`, byteSize: (await handle.stat()).size, mediaType: sampleMediaType(entry.name) })
    } finally {
      await handle.close()
    }
  }
  return samples.sort((a, b) => (a.path < b.path ? -1 : 1))
}

export function sampleMediaType(path: string): string {
  return SAMPLE_MEDIA_TYPES[extname(path).toLowerCase()] ?? 'application/octet-stream'
}
