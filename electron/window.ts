/** The console's window: its options, what its page may do, and its place on the screen. */
import { BrowserWindow, nativeTheme, screen, session, shell } from 'electron'
import type { App, Session } from 'electron'
import { APP_ENTRY } from './app-protocol.ts'
import { isExternalLinkAllowed, isNavigationAllowed, isPermissionGranted } from './security-policy.ts'
import type { SettingsStore } from './settings-store.ts'
import { MINIMUM_HEIGHT, MINIMUM_WIDTH, placeWindow } from './window-state.ts'

const PAGE_CRASHES_TOLERATED = 3
const PAGE_CRASH_WINDOW_MILLISECONDS = 60_000

export interface ConsoleWindowPorts {
  readonly settings: SettingsStore
  readonly preloadPath: string
  readonly iconPath: string
  readonly title: () => string
  /** Asked before a close by the user; the window closes when it resolves true. */
  mayClose(): Promise<boolean>
  /** Another page is there now (first load, reload, after a crash): it has not said yet what it listens to. */
  pageReplaced(): void
  /** The page crashed again and again; the window is left as it is. */
  pageFailed(reason: string): void
}

export class ConsoleWindow {
  readonly #ports: ConsoleWindowPorts
  #window: BrowserWindow | null = null
  #mayCloseNow = false
  /** The question about closing is on the screen: a second press on close asks nothing more. */
  #isAsking = false

  constructor(ports: ConsoleWindowPorts) {
    this.#ports = ports
  }

  get isOpen(): boolean { return this.#window !== null }

  get browserWindow(): BrowserWindow | null { return this.#window }

  /** Opens the window, or raises the one that is there. */
  show(): void {
    if (this.#window === null) {
      this.#open()
      return
    }
    if (this.#window.isMinimized()) this.#window.restore()
    this.#window.show()
    this.#window.focus()
  }

  send(channel: string, value: unknown): void {
    this.#window?.webContents.send(channel, value)
  }

  /** The close that follows is not asked about: the application quits. */
  allowClose(): void {
    this.#mayCloseNow = true
  }

  #open(): void {
    const { settings, preloadPath, iconPath, title } = this.#ports
    const primary = screen.getPrimaryDisplay()
    const others = screen.getAllDisplays().filter((display) => display.id !== primary.id)
    const { bounds, isMaximized } = placeWindow(settings.get().window, [primary, ...others].map((display) => display.workArea))
    const window = new BrowserWindow({
      ...bounds,
      minWidth: MINIMUM_WIDTH,
      minHeight: MINIMUM_HEIGHT,
      show: false,
      title: title(),
      icon: iconPath,
      backgroundColor: nativeTheme.shouldUseDarkColors ? '#1f1f1f' : '#fafafa',
      webPreferences: {
        preload: preloadPath,
        sandbox: true,
        contextIsolation: true,
        nodeIntegration: false,
        nodeIntegrationInWorker: false,
        nodeIntegrationInSubFrames: false,
        webviewTag: false,
        spellcheck: false,
      },
    })
    this.#window = window
    this.#mayCloseNow = false
    if (isMaximized) window.maximize()
    window.once('ready-to-show', () => { window.show() })
    window.on('close', (event) => { this.#closing(window, event) })
    window.on('closed', () => { this.#window = null })
    window.webContents.on('did-navigate', () => { this.#ports.pageReplaced() })
    this.#reloadAfterCrash(window)
    void window.loadURL(APP_ENTRY)
  }

  #closing(window: BrowserWindow, event: { preventDefault(): void }): void {
    this.#ports.settings.change({ window: { bounds: window.getNormalBounds(), isMaximized: window.isMaximized() } })
    if (this.#mayCloseNow) return
    event.preventDefault()
    if (this.#isAsking) return
    this.#isAsking = true
    void this.#ports.mayClose().finally(() => { this.#isAsking = false }).then((mayClose) => {
      if (!mayClose || window.isDestroyed()) return
      this.#mayCloseNow = true
      window.close()
    })
  }

  #reloadAfterCrash(window: BrowserWindow): void {
    let crashes: number[] = []
    window.webContents.on('render-process-gone', (_event, details) => {
      if (details.reason === 'clean-exit' || details.reason === 'killed' && this.#mayCloseNow) return
      const now = Date.now()
      crashes = [...crashes.filter((time) => now - time < PAGE_CRASH_WINDOW_MILLISECONDS), now]
      if (crashes.length > PAGE_CRASHES_TOLERATED) this.#ports.pageFailed(details.reason)
      else window.webContents.reload()
    })
  }
}

/** New windows and navigation are denied for every page, permissions for all but the few that the console needs. */
export function setupNavigationPolicy(app: App): void {
  app.on('web-contents-created', (_event, contents) => {
    contents.setWindowOpenHandler(({ url }) => {
      if (isExternalLinkAllowed(url)) void shell.openExternal(url)
      return { action: 'deny' }
    })
    contents.on('will-navigate', (details) => { if (!isNavigationAllowed(details.url)) details.preventDefault() })
    contents.on('will-redirect', (details) => { if (!isNavigationAllowed(details.url)) details.preventDefault() })
    contents.on('will-frame-navigate', (details) => { if (!isNavigationAllowed(details.url)) details.preventDefault() })
    contents.on('will-attach-webview', (event) => { event.preventDefault() })
  })
}

export function setupPermissions(target: Session = session.defaultSession): void {
  target.setPermissionCheckHandler((_contents, permission, origin) => isPermissionGranted(permission, origin))
  target.setPermissionRequestHandler((_contents, permission, callback, details) => { callback(isPermissionGranted(permission, originOf(details.requestingUrl))) })
  target.setDevicePermissionHandler(() => false)
}

function originOf(url: string): string {
  return url.split('/').slice(0, 3).join('/')
}
