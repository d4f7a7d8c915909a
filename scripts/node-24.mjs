// The server runs on Node 24 (what Electron 45 embeds). npm brings that version along on Linux; elsewhere the machine's own must be new enough.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const projectDirectory = join(dirname(fileURLToPath(import.meta.url)), '..')

/** Path of a Node 24 or newer executable. Exits with a sentence that names the fix when there is none. */
export function node24() {
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath
  const bundled = join(projectDirectory, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node')
  if (existsSync(bundled)) return bundled
  console.error(`npu-console needs Node 24 and found ${process.versions.node}. On Linux x64 and arm64 "npm ci" brings it; on other systems install Node 24 and start again.`)
  process.exit(1)
}
