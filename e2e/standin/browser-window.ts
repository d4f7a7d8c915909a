/** `BrowserWindow`: a page with a place on a screen that is only remembered. */
import { EventEmitter } from 'node:events'
import { PreventableEvent } from './application.ts'
import { strict } from './strict.ts'
import { WebContents } from './web-contents.ts'
import type { PageEnvironment } from './web-contents.ts'

interface Bounds { x: number; y: number; width: number; height: number }

interface WindowOptions extends Partial<Bounds> {
  readonly show?: boolean
  readonly title?: string
  readonly webPreferences?: { readonly preload?: string; readonly sandbox?: boolean; readonly contextIsolation?: boolean; readonly nodeIntegration?: boolean }
}

/** Makes the class for one process: Electron's constructor takes nothing but options. */
export function browserWindowClass(environment: PageEnvironment, lastWindowClosed: () => void) {
  const windows = new Set<BrowserWindow>()

  class BrowserWindow extends EventEmitter {
    readonly webContents: WebContents
    readonly options: WindowOptions
    private bounds: Bounds
    private title: string
    private readonly state = { isMaximized: false, isMinimized: false, isVisible: true, isFocused: true }

    constructor(options: WindowOptions = {}) {
      super()
      const { webPreferences = {} } = options
      if (webPreferences.sandbox === false || webPreferences.contextIsolation === false || webPreferences.nodeIntegration === true) {
        throw new Error('The stand-in has sandboxed, isolated windows without Node only.')
      }
      this.options = options
      this.bounds = { x: options.x ?? 0, y: options.y ?? 0, width: options.width ?? 800, height: options.height ?? 600 }
      this.title = options.title ?? ''
      this.state.isVisible = options.show ?? true
      this.webContents = strict('WebContents', new WebContents(environment, webPreferences.preload, { width: this.bounds.width, height: this.bounds.height }))
      this.webContents.once('did-finish-load', () => { this.emit('ready-to-show') })
      this.webContents.on('-close-requested', () => { this.close() })
      this.webContents.once('destroyed', () => { this.closed() })
      const window = strict('BrowserWindow', this)
      windows.add(window)
      return window
    }

    static getAllWindows(): BrowserWindow[] { return [...windows] }
    static getFocusedWindow(): BrowserWindow | null { return [...windows].find((window) => window.state.isFocused) ?? null }
    static fromWebContents(contents: WebContents): BrowserWindow | null { return [...windows].find((window) => window.webContents.id === contents.id) ?? null }

    loadURL(url: string): Promise<void> { return this.webContents.loadURL(url) }
    isDestroyed(): boolean { return this.webContents.isDestroyed() }
    setTitle(title: string): void { this.title = title }
    getTitle(): string { return this.title }

    getBounds(): Bounds { return { ...this.bounds } }
    getNormalBounds(): Bounds { return { ...this.bounds } }
    setBounds(bounds: Partial<Bounds>): void {
      this.bounds = { ...this.bounds, ...bounds }
      void this.webContents.setSize(this.bounds.width, this.bounds.height)
    }

    maximize(): void { this.state.isMaximized = true }
    unmaximize(): void { this.state.isMaximized = false }
    isMaximized(): boolean { return this.state.isMaximized }
    minimize(): void { this.state.isMinimized = true }
    isMinimized(): boolean { return this.state.isMinimized }
    restore(): void { this.state.isMinimized = false }
    show(): void { this.state.isVisible = true }
    hide(): void { this.state.isVisible = false }
    isVisible(): boolean { return this.state.isVisible }
    focus(): void { this.state.isFocused = true }
    isFocused(): boolean { return this.state.isFocused }

    close(): void {
      const event = new PreventableEvent()
      this.emit('close', event)
      if (!event.defaultPrevented) void this.webContents.destroyPage()
    }

    destroy(): void { void this.webContents.destroyPage() }

    private closed(): void {
      for (const window of windows) if (window.webContents.id === this.webContents.id) windows.delete(window)
      this.emit('closed')
      if (windows.size === 0) lastWindowClosed()
    }
  }

  return BrowserWindow
}

/** For `app.quit()`: asks every window; false when one refused. */
export async function closeAll(windows: readonly InstanceType<ReturnType<typeof browserWindowClass>>[]): Promise<boolean> {
  const results = await Promise.all(windows.map((window) => new Promise<boolean>((resolve) => {
    const refused = (event: PreventableEvent) => { if (event.defaultPrevented) resolve(false) }
    // Added last, so it sees what the application's own listeners decided.
    window.once('close', refused)
    window.once('closed', () => { resolve(true) })
    window.close()
    window.off('close', refused)
  })))
  return results.every((isClosed) => isClosed)
}
