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

const CLOSE_MILLISECONDS = 3000

export interface Chromium {
  readonly connection: DevtoolsConnection
  /** Of the browser target. */
  readonly devtoolsUrl: string
  /** Ends it and removes its profile. */
  close(): Promise<void>
}

export async function startChromium(options: { readonly debuggingPort: string; readonly isSandboxed: boolean; readonly language: string }): Promise<Chromium> {
  const profile = mkdtempSync(join(tmpdir(), 'standin-profile-'))
  const child = spawn(findChromium(), [
    ...SWITCHES, `--remote-debugging-port=${options.debuggingPort}`, `--user-data-dir=${profile}`, `--lang=${options.language}`, `--accept-lang=${options.language}`, ...(options.isSandboxed ? [] : ['--no-sandbox']),
  ], { stdio: ['ignore', 'ignore', 'pipe'] })
  const removeProfile = () => { rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }) }
  let isClosing = false
  process.on('exit', () => {
    child.kill('SIGKILL')
    removeProfile()
  })
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => {
      resolve()
      if (!isClosing) process.exit(1)
    })
  })
  const devtoolsUrl = await new Promise<string>((resolve, reject) => {
    child.once('error', reject)
    createInterface({ input: child.stderr }).on('line', (line) => {
      const url = /^DevTools listening on (ws:\/\/.*)$/.exec(line)?.[1]
      if (url !== undefined) resolve(url)
    })
  })
  const connection = await DevtoolsConnection.open(devtoolsUrl)
  const close = async () => {
    isClosing = true
    // Asked politely it ends its helper processes first, which would otherwise still write into the profile.
    const tooLong = setTimeout(() => { child.kill('SIGKILL') }, CLOSE_MILLISECONDS)
    connection.send('Browser.close').catch(() => undefined)
    await exited
    clearTimeout(tooLong)
    removeProfile()
  }
  return { connection, devtoolsUrl, close }
}

function findChromium(): string {
  const named = process.env['CHROMIUM_PATH'] ?? ''
  if (named !== '') return named
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    for (const name of EXECUTABLE_NAMES) if (existsSync(join(directory, name))) return join(directory, name)
  }
  throw new Error(`The stand-in needs a Chromium in PATH or CHROMIUM_PATH (${EXECUTABLE_NAMES.join(', ')}). On Debian: apt-get install -y chromium`)
}
