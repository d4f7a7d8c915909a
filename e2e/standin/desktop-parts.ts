/** Parts that would show something on a desktop: they answer as if nobody were there, and remember that they were asked. */
import { EventEmitter } from 'node:events'
import type { Menu } from './menu.ts'

export interface RecordedCall {
  readonly name: string
  readonly args: readonly unknown[]
}

/** In order, for tests: `app.evaluate` cannot see a screen. */
export const recordedCalls: RecordedCall[] = []

function record(name: string, ...args: unknown[]): void {
  recordedCalls.push({ name, args })
}

/** Every dialog is cancelled at once; tests replace these functions. */
export const dialog = {
  showOpenDialog: (...args: unknown[]) => {
    record('dialog.showOpenDialog', ...args)
    return Promise.resolve({ canceled: true, filePaths: [] as string[] })
  },
  showMessageBox: (...args: unknown[]) => {
    record('dialog.showMessageBox', ...args)
    const options = args.at(-1) as { cancelId?: number; checkboxChecked?: boolean }
    return Promise.resolve({ response: options.cancelId ?? 0, checkboxChecked: options.checkboxChecked ?? false })
  },
}

export const shell = {
  openExternal: (url: string) => {
    record('shell.openExternal', url)
    return Promise.resolve()
  },
  openPath: (path: string) => {
    record('shell.openPath', path)
    return Promise.resolve('')
  },
}

class NativeTheme extends EventEmitter {
  themeSource = 'system'
  get shouldUseDarkColors(): boolean { return this.themeSource === 'dark' }
}

export const nativeTheme = new NativeTheme()

const DISPLAY = {
  id: 1,
  bounds: { x: 0, y: 0, width: 1920, height: 1080 },
  workArea: { x: 0, y: 0, width: 1920, height: 1040 },
  scaleFactor: 1,
}

export const screen = {
  getPrimaryDisplay: () => DISPLAY,
  getAllDisplays: () => [DISPLAY],
}

type Permission = (contents: unknown, permission: string, origin: string) => boolean

/** Handlers are kept and never asked: Chromium decides by itself here. */
export const defaultSession = {
  permissionCheckHandler: null as Permission | null,
  setPermissionCheckHandler: (handler: Permission | null) => { defaultSession.permissionCheckHandler = handler },
  setPermissionRequestHandler: (handler: unknown) => { record('session.setPermissionRequestHandler', handler) },
  setDevicePermissionHandler: (handler: unknown) => { record('session.setDevicePermissionHandler', handler) },
}

export class Tray extends EventEmitter {
  /** Trays that are there now. */
  static readonly shown = new Set<Tray>()
  readonly iconPath: string
  toolTip = ''
  contextMenu: Menu | null = null

  constructor(iconPath: string) {
    super()
    this.iconPath = iconPath
    Tray.shown.add(this)
  }

  setToolTip(toolTip: string): void { this.toolTip = toolTip }
  setContextMenu(menu: Menu | null): void { this.contextMenu = menu }
  destroy(): void { Tray.shown.delete(this) }
}
