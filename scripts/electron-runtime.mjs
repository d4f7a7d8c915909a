// Electron's runtime is fetched by its npm package on first use. That is impossible on some machines: wait while it makes progress, give up
// after 20 s without any, say in one line what happened, and never fail because of it.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectDirectory } from './node-24.mjs'

const packageDirectory = join(projectDirectory, 'node_modules', 'electron')
const STALL_MILLISECONDS = 20_000

/** Path of the runtime if it is here, else undefined. */
export function installedElectron() {
  try {
    const executable = readFileSync(join(packageDirectory, 'path.txt'), 'utf8')
    const path = join(process.env.ELECTRON_OVERRIDE_DIST_PATH ?? join(packageDirectory, 'dist'), executable)
    return existsSync(path) ? path : undefined
  } catch {
    const path = join(process.env.ELECTRON_OVERRIDE_DIST_PATH ?? '', 'electron')
    return process.env.ELECTRON_OVERRIDE_DIST_PATH !== undefined && existsSync(path) ? path : undefined
  }
}

/**
 * Fetches the runtime.
 * @returns {Promise<{ path: string } | { reason: string }>}
 */
export async function fetchElectron({ stallMilliseconds = STALL_MILLISECONDS, installer = join(packageDirectory, 'install.js') } = {}) {
  if (!existsSync(installer)) return { reason: 'the electron package is not installed' }
  const download = mkdtempSync(join(tmpdir(), 'npu-console-electron-'))
  const child = spawn(process.execPath, [installer], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, TMPDIR: download } })
  let stderr = ''
  let lastSize = -1
  let lastProgress = Date.now()
  let isStalled = false
  const noteProgress = () => { lastProgress = Date.now() }
  child.stdout.on('data', noteProgress)
  child.stderr.on('data', (chunk) => { stderr += chunk })
  const watch = setInterval(() => {
    const size = directorySize(download) + directorySize(join(packageDirectory, 'dist'))
    if (size !== lastSize) { lastSize = size; noteProgress() }
    if (Date.now() - lastProgress > stallMilliseconds) { isStalled = true; child.kill('SIGKILL') }
  }, Math.min(500, stallMilliseconds))
  const code = await new Promise((resolve) => { child.on('exit', resolve); child.on('error', () => resolve(1)) })
  clearInterval(watch)
  rmSync(download, { recursive: true, force: true })
  const path = installedElectron()
  if (code === 0 && path !== undefined) return { path }
  if (isStalled) return { reason: `its download made no progress for ${Math.round(stallMilliseconds / 1000)} s` }
  return { reason: firstCause(stderr) }
}

/** The innermost cause that Node printed, in one line. */
function firstCause(stderr) {
  const lines = stderr.split('\n').map((line) => line.trim())
  const cause = lines.findLast((line) => /^(\[cause\]: )?\w*Error: /.test(line)) ?? lines.find((line) => line !== '') ?? 'the download failed'
  return cause.replace(/^\[cause\]: /, '').replace(/\s*\{$/, '').slice(0, 200)
}

function directorySize(directory) {
  let total = 0
  let entries
  try {
    entries = readdirSync(directory, { withFileTypes: true, recursive: true })
  } catch {
    return 0
  }
  for (const entry of entries) {
    if (!entry.isFile()) continue
    try { total += statSync(join(entry.parentPath, entry.name)).size } catch { /* removed meanwhile: counts as nothing */ }
  }
  return total
}
