// npm start: builds what is stale, then opens the desktop window where Electron's runtime can be had, else the console in a browser.
//   npm start                    desktop, or browser mode where that is impossible
//   npm start -- --browser       browser mode; opens a Chromium-family browser as an app window if there is a display
//   npm start -- --headless      browser mode, opens nothing
//   npm start -- [serve flags]   passed on to the server, e.g. --model-repository=DIR --http-port=0
import { spawn, spawnSync } from 'node:child_process'
import { createServer } from 'node:net'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fetchElectron, installedElectron } from './electron-runtime.mjs'
import { node24, projectDirectory } from './node-24.mjs'

const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'microsoft-edge', 'brave-browser', 'vivaldi']
const DEFAULT_PORTS = { '--http-port': 8000, '--grpc-port': 8001, '--metrics-port': 8002, '--console-port': 8600 }

const ownFlags = new Set(['--browser', '--headless', '--help'])
const args = process.argv.slice(2)
const serverArguments = args.filter((argument) => !ownFlags.has(argument))
const isHeadless = args.includes('--headless')
const hasDisplay = process.platform !== 'linux' || Boolean(process.env.DISPLAY || process.env.WAYLAND_DISPLAY)
const isRoot = process.getuid?.() === 0
const node = node24()

if (args.includes('--help')) {
  console.log('npm start [-- --browser | --headless] [flags of "npu-console serve"]')
  process.exit(0)
}

const build = spawnSync(node, [join(projectDirectory, 'scripts', 'build.mjs'), '--if-stale', '--native-optional'], { stdio: 'inherit', cwd: projectDirectory })
if (build.status !== 0) {
  console.error('npm start: the build failed (see above). After a change of dependencies run "npm ci" first.')
  process.exit(build.status ?? 1)
}

const electron = await chooseElectron()
if (electron === undefined) await startBrowserMode()
else startDesktop(electron)

/** Path of Electron's runtime, or undefined for browser mode; says why in one line. */
async function chooseElectron() {
  if (isHeadless || args.includes('--browser')) return undefined
  if (!hasDisplay) {
    console.log('npm start: no display found, so no desktop window; browser mode instead.')
    return undefined
  }
  const installed = installedElectron()
  if (installed !== undefined) return installed
  console.log('npm start: fetching Electron\'s runtime (once) ...')
  const fetched = await fetchElectron()
  if ('path' in fetched) return fetched.path
  console.log(`npm start: Electron's runtime cannot be had here (${fetched.reason}); browser mode instead.`)
  return undefined
}

function startDesktop(path) {
  const flags = []
  if (isRoot && process.platform === 'linux') {
    flags.push('--no-sandbox')
    console.log('npm start: running as root, so Electron gets --no-sandbox (Chromium refuses its sandbox for root).')
  }
  const child = spawn(path, [...flags, projectDirectory, ...serverArguments], { stdio: 'inherit', cwd: projectDirectory })
  follow(child, path)
}

async function startBrowserMode() {
  const flags = ['serve', '--console', ...serverArguments]
  if (!hasFlag('--model-control-mode')) flags.push('--model-control-mode=explicit')
  for (const [flag, port] of Object.entries(DEFAULT_PORTS)) {
    if (hasFlag(flag) || await isFree(port)) continue
    console.log(`npm start: port ${port} is in use; ${flag.slice(2)} takes a free one instead (choose one with ${flag}=N).`)
    flags.push(`${flag}=0`)
  }
  const child = spawn(node, [join(projectDirectory, 'dist', 'server', 'npu-console.mjs'), ...flags], { stdio: ['inherit', 'pipe', 'inherit'], cwd: projectDirectory })
  let isOpened = isHeadless || !hasDisplay
  child.stdout.setEncoding('utf8').on('data', (text) => {
    process.stdout.write(text)
    const url = /http:\/\/\S+\?token=\S+/.exec(text)?.[0]
    if (isOpened || url === undefined) return
    isOpened = true
    openBrowser(url)
  })
  follow(child, node)
}

function openBrowser(url) {
  const browser = BROWSERS.map((name) => findExecutable(name)).find((path) => path !== undefined)
  if (browser === undefined) {
    console.log(`npm start: no Chromium-family browser found (looked for ${BROWSERS.join(', ')}); open the link above yourself.`)
    return
  }
  const flags = [`--app=${url}`]
  if (isRoot && process.platform === 'linux') {
    flags.push('--no-sandbox')
    console.log('npm start: running as root, so the browser gets --no-sandbox.')
  }
  spawn(browser, flags, { stdio: 'ignore', detached: true }).on('error', (error) => { console.log(`npm start: ${browser} did not open (${error.message}); open the link above yourself.`) }).unref()
}

function follow(child, path) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => { console.error(`npm start: cannot start ${path}: ${error.message}`); process.exit(1) })
  child.on('exit', (code, signal) => { process.exit(code ?? (signal === null ? 1 : 0)) })
}

function hasFlag(name) {
  return serverArguments.some((argument) => argument === name || argument.startsWith(`${name}=`))
}

function isFree(port) {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => { resolve(false) })
    probe.listen(port, '127.0.0.1', () => { probe.close(() => { resolve(true) }) })
  })
}

function findExecutable(name) {
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(directory, name)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch { /* not here: look in the next directory */ }
  }
  return undefined
}
