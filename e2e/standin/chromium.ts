/** Starts the Chromium that shows the pages, without a window of its own. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { DevtoolsConnection } from './devtools-connection.ts'

const EXECUTABLE_NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

const SWITCHES = [
  '--headless=new', '--no-startup-window', '--no-first-run', '--no-default-browser-check', '--disable-gpu', '--disable-extensions',
  '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-default-apps', '--disable-dev-shm-usage',
  '--disable-backgrounding-occluded-windows', '--disable-renderer-backgrounding', '--disable-background-timer-throttling',
  '--password-store=basic', '--use-mock-keychain', '--force-color-profile=srgb', '--metrics-recording-only',
  '--disable-popup-blocking',
  // Nothing leaves this machine, whatever a page or a closing popup tries.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost',
]

export interface Chromium {
  readonly connection: DevtoolsConnection
  /** Of the browser target. */
  readonly devtoolsUrl: string
  readonly processId: number
  close(): void
}

export async function startChromium(options: { readonly debuggingPort: string; readonly isSandboxed: boolean; readonly language: string }): Promise<Chromium> {
  const profile = mkdtempSync(join(tmpdir(), 'standin-profile-'))
  const child = spawn(findChromium(), [
    ...SWITCHES, `--remote-debugging-port=${options.debuggingPort}`, `--user-data-dir=${profile}`, `--lang=${options.language}`, `--accept-lang=${options.language}`, ...(options.isSandboxed ? [] : ['--no-sandbox']),
  ], { stdio: ['ignore', 'ignore', 'pipe'] })
  const close = () => {
    child.kill('SIGKILL')
    rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  }
  process.on('exit', close)
  child.once('exit', () => { process.exit(1) })
  const devtoolsUrl = await new Promise<string>((resolve, reject) => {
    child.once('error', reject)
    createInterface({ input: child.stderr }).on('line', (line) => {
      const url = /^DevTools listening on (ws:\/\/.*)$/.exec(line)?.[1]
      if (url !== undefined) resolve(url)
    })
  })
  return { connection: await DevtoolsConnection.open(devtoolsUrl), devtoolsUrl, processId: child.pid ?? 0, close }
}

function findChromium(): string {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    for (const name of EXECUTABLE_NAMES) if (existsSync(join(directory, name))) return join(directory, name)
  }
  throw new Error(`The stand-in needs a Chromium in PATH (${EXECUTABLE_NAMES.join(', ')}). On Debian: apt-get install -y chromium`)
}
