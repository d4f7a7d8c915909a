/** The tray icon that stands for the console while models serve and no window is open. */
import { Menu, Tray } from 'electron'
import type { ShellTexts } from './texts.ts'

export interface TrayActions {
  showWindow(): void
  quit(): void
}

export class ServingTray {
  readonly #iconPath: string
  readonly #actions: TrayActions
  #tray: Tray | null = null

  constructor(iconPath: string, actions: TrayActions) {
    this.#iconPath = iconPath
    this.#actions = actions
  }

  show(texts: ShellTexts): void {
    if (this.#tray === null) {
      this.#tray = new Tray(this.#iconPath)
      this.#tray.on('click', () => { this.#actions.showWindow() })
    }
    this.#tray.setToolTip(texts.trayTooltip)
    this.#tray.setContextMenu(Menu.buildFromTemplate([
      { label: texts.trayShow, click: () => { this.#actions.showWindow() } },
      { type: 'separator' },
      { label: texts.trayQuit, click: () => { this.#actions.quit() } },
    ]))
  }

  hide(): void {
    this.#tray?.destroy()
    this.#tray = null
  }
}
