/** Stands in for the Electron executable: starts a Chromium, then runs the application's main script with `require('electron')` answered. */
import inspector from 'node:inspector'
import { createRequire, Module } from 'node:module'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Application } from './application.ts'
import { browserWindowClass, closeAll } from './browser-window.ts'
import { startChromium } from './chromium.ts'
import { readCommandLine } from './command-line.ts'
import { defaultSession, dialog, nativeTheme, recordedCalls, screen, shell, Tray } from './desktop-parts.ts'
import { IpcMain } from './ipc-main.ts'
import { Menu, MenuItem, roleActions } from './menu.ts'
import { SchemeServer } from './scheme-server.ts'
import { strict } from './strict.ts'
import { UtilityProcess, utilityProcess } from './utility-process.ts'
import type { PageEnvironment } from './web-contents.ts'

const commandLine = readCommandLine(process.argv.slice(2), process.cwd())
// What the application sees is what Electron would have been started with.
process.argv = [fileURLToPath(new URL('./electron', import.meta.url)), ...process.argv.slice(2)]
process.execArgv.length = 0
const inspectPort = commandLine.switches.get('inspect')
// Prints the line `Debugger listening on ws://...` that Playwright waits for.
if (inspectPort !== undefined) inspector.open(Number(inspectPort === '' ? '0' : inspectPort), '127.0.0.1')

const app = new Application(commandLine)
const ipcMain = new IpcMain()
const schemes = new SchemeServer()
const debuggingPort = commandLine.switches.get('remote-debugging-port')

const environment: PageEnvironment = {
  get connection() { return connection },
  ipcMain,
  schemes,
  created: (contents) => { app.emit('web-contents-created', {}, contents) },
}
const BrowserWindow = browserWindowClass(environment, () => {
  if (!app.isClosingForQuit && !app.emit('window-all-closed')) app.quit()
})
app.closeAllWindows = () => closeAll(BrowserWindow.getAllWindows())
roleActions.set('quit', () => { app.quit() })
roleActions.set('close', () => { BrowserWindow.getFocusedWindow()?.close() })
roleActions.set('reload', () => { BrowserWindow.getFocusedWindow()?.webContents.reload() })

const electron = strict('electron', {
  app: strict('app', app),
  BrowserWindow,
  dialog: strict('dialog', dialog),
  ipcMain: strict('ipcMain', ipcMain),
  Menu: strict('Menu', Menu),
  MenuItem,
  nativeTheme: strict('nativeTheme', nativeTheme),
  protocol: strict('protocol', schemes),
  screen: strict('screen', screen),
  session: strict('session', { defaultSession: strict('session.defaultSession', defaultSession) }),
  shell: strict('shell', shell),
  Tray,
  UtilityProcess,
  utilityProcess: strict('utilityProcess', utilityProcess),
  webContents: strict('webContents', {
    fromDevToolsTargetId: (targetId: string) => BrowserWindow.getAllWindows().find((window) => window.webContents.targetId === targetId)?.webContents,
    getAllWebContents: () => BrowserWindow.getAllWindows().map((window) => window.webContents),
  }),
  /** Only here: what would have been shown on a desktop, for tests. */
  standin: { recordedCalls },
})

const loader = Module as unknown as { _load(request: string, ...rest: unknown[]): unknown }
const loadModule = loader._load.bind(Module)
loader._load = (request, ...rest) => (request === 'electron' ? electron : loadModule(request, ...rest))
createRequire(import.meta.url)(join(app.getAppPath(), app.manifest.main))

// A second start quits in its main script: it needs no browser.
await setImmediate()
const chromium = await startChromium({ debuggingPort: debuggingPort ?? '0', isSandboxed: !commandLine.switches.has('no-sandbox'), language: app.getLocale() })
const connection = chromium.connection
app.closeBrowser = () => chromium.close()
await connection.send('Target.setDiscoverTargets', { discover: true })
await schemes.listen()
if (debuggingPort !== undefined) process.stderr.write(`DevTools listening on ${chromium.devtoolsUrl}\n`)
app.announceReady()
