/** The application menu as a template; `main.ts` turns it into a menu whenever a text or the recent list changes. */
import type { MenuItemConstructorOptions } from 'electron'
import type { ShellTexts } from './texts.ts'

export interface MenuActions {
  openRepositoryDialog(): void
  openRepository(path: string): void
  navigate(page: string): void
  startServer(): void
  openDataFolder(): void
  openNotices(): void
  showAbout(): void
}

export interface MenuContext {
  readonly texts: ShellTexts
  readonly recentRepositories: readonly string[]
  /** After the supervisor gave up. */
  readonly canStartServer: boolean
  readonly hasDeveloperTools: boolean
}

/** Items that tests and other code look up carry an `id`. */
export function menuTemplate({ texts, recentRepositories, canStartServer, hasDeveloperTools }: MenuContext, actions: MenuActions): MenuItemConstructorOptions[] {
  const recent: MenuItemConstructorOptions[] = recentRepositories.length === 0
    ? [{ label: texts.noRecent, enabled: false }]
    : recentRepositories.map((path, index) => ({ id: `recent-${index}`, label: path.replaceAll('&', '&&'), click: () => { actions.openRepository(path) } }))
  const page = (id: string, label: string, digit: number): MenuItemConstructorOptions => ({
    id: `page-${id}`, label, accelerator: `CmdOrCtrl+${digit}`, click: () => { actions.navigate(id) },
  })
  return [
    {
      label: texts.file,
      submenu: [
        { id: 'open-repository', label: texts.openRepository, accelerator: 'CmdOrCtrl+Shift+O', click: () => { actions.openRepositoryDialog() } },
        { id: 'open-recent', label: texts.openRecent, submenu: recent },
        { type: 'separator' },
        { role: 'close', label: texts.closeWindow },
        { role: 'quit', label: texts.quit, accelerator: 'CmdOrCtrl+Q' },
      ],
    },
    {
      label: texts.edit,
      submenu: [
        { role: 'undo', label: texts.undo },
        { role: 'redo', label: texts.redo },
        { type: 'separator' },
        { role: 'cut', label: texts.cut },
        { role: 'copy', label: texts.copy },
        { role: 'paste', label: texts.paste },
        { role: 'selectAll', label: texts.selectAll },
      ],
    },
    {
      label: texts.view,
      submenu: [
        page('overview', texts.overview, 1),
        page('models', texts.models, 2),
        page('monitor', texts.monitor, 3),
        page('settings', texts.settings, 4),
        { type: 'separator' },
        { role: 'reload', label: texts.reload },
        ...(hasDeveloperTools ? [{ role: 'toggleDevTools', label: texts.developerTools } as const] : []),
        { type: 'separator' },
        { role: 'resetZoom', label: texts.actualSize },
        { role: 'zoomIn', label: texts.zoomIn },
        { role: 'zoomOut', label: texts.zoomOut },
        { role: 'togglefullscreen', label: texts.fullScreen },
      ],
    },
    {
      label: texts.engine,
      submenu: [{ id: 'start-server', label: texts.startEngine, enabled: canStartServer, click: () => { actions.startServer() } }],
    },
    {
      role: 'help',
      label: texts.help,
      submenu: [
        { id: 'data-folder', label: texts.dataFolder, click: () => { actions.openDataFolder() } },
        { id: 'notices', label: texts.notices, click: () => { actions.openNotices() } },
        { id: 'about', label: texts.about, click: () => { actions.showAbout() } },
      ],
    },
  ]
}
