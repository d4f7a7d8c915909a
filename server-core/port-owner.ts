import { readdir, readFile, readlink } from 'node:fs/promises'

export interface PortOwner { readonly processId: number; readonly command: string }

/** State of a listening socket in /proc/net/tcp. */
const LISTEN = '0A'

/**
 * The process that listens on a TCP port, as far as this user may see it. Linux only: null elsewhere, for other users' processes, and
 * when nobody listens.
 */
export async function findPortOwner(port: number): Promise<PortOwner | null> {
  if (process.platform !== 'linux') return null
  const inodes = await listeningInodes(port)
  if (inodes.size === 0) return null
  for (const processId of (await listOrEmpty('/proc')).filter((name) => /^\d+$/.test(name))) {
    for (const descriptor of await listOrEmpty(`/proc/${processId}/fd`)) {
      const target = await readlink(`/proc/${processId}/fd/${descriptor}`).catch(() => '')
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1]
      if (inode !== undefined && inodes.has(inode)) return { processId: Number(processId), command: await commandOf(processId) }
    }
  }
  return null
}

async function listeningInodes(port: number): Promise<Set<string>> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const inodes = new Set<string>()
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const text = await readFile(table, 'utf8').catch(() => '')
    for (const line of text.split('\n').slice(1)) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/)
      if (local?.endsWith(suffix) === true && state === LISTEN && inode !== undefined) inodes.add(inode)
    }
  }
  return inodes
}

async function commandOf(processId: string): Promise<string> {
  const line = await readFile(`/proc/${processId}/cmdline`, 'utf8').catch(() => '')
  const words = line.replaceAll(/[\0\s]+/g, ' ').trim()
  return words.length > 120 ? `${words.slice(0, 117)}...` : words
}

/** Processes end while they are looked at, and other users' are closed: both read as empty. */
async function listOrEmpty(path: string): Promise<string[]> {
  return readdir(path).catch(() => [])
}
