/** The desktop application: builds every part by hand and connects them. What each part does is in the file of its name. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { app, dialog, ipcMain, Menu, nativeTheme, protocol, shell } from 'electron'
import type { MenuAction } from '../server-core/contract/console-api.ts'
import { answerAppRequest, APP_SCHEME, APP_SCHEME_PRIVILEGES } from './app-protocol.ts'
import { decideClose } from './close-decision.ts'
import type { CloseAnswer } from './close-decision.ts'
import { isDirectory, repositoryArgument, repositoryFlags } from './command-line.ts'
import { registerDesktopApi } from './desktop-api.ts'
import { forkServer } from './fork-server.ts'
import { MENU_ACTION_CHANNEL, SERVER_PROCESS_CHANNEL } from './ipc-channels.ts'
import { menuTemplate } from './menu.ts'
import { PageInbox } from './page-inbox.ts'
import { withRecentRepositories } from './recent-repositories.ts'
import { ServerProcess } from './server-process.ts'
import { desktopSettings, readSettingsChange, SettingsStore } from './settings-store.ts'
import { shellLanguage, shellTexts } from './texts.ts'
import { ServingTray } from './tray.ts'
import { setupUserDataDirectory } from './user-data.ts'
import { ConsoleWindow, setupNavigationPolicy, setupPermissions } from './window.ts'

setupUserDataDirectory()
protocol.registerSchemesAsPrivileged([APP_SCHEME_PRIVILEGES])
if (app.requestSingleInstanceLock()) void app.whenReady().then(runDesktop)
else app.quit()

function runDesktop(): void {
  // In a packaged application the server and its native parts lie beside the archive, not in it.
  const installed = app.isPackaged ? app.getAppPath().replace(/app\.asar$/, 'app.asar.unpacked') : app.getAppPath()
  const rendererDirectory = join(installed, 'dist/renderer')
  const iconPath = join(app.getAppPath(), 'assets/icons/128x128.png')
  const consoleToken = randomBytes(32).toString('base64url')

  const settings = new SettingsStore(join(app.getPath('userData'), 'settings.json'), (message) => { process.stderr.write(`${message}\n`) })
  const texts = () => shellTexts(shellLanguage(settings.get().language, app.getLocale()))
  const inbox = new PageInbox((channel, value) => { window.send(channel, value) })

  const server = new ServerProcess({
    startChild: (events) => forkServer(join(installed, 'dist/server/server-entry.mjs'), events),
    startArguments: () => ({
      repositoryPaths: currentRepositories(),
      ports: settings.get().ports,
      commandLine: process.argv,
      consoleToken,
      rendererDirectory,
      dataDirectory: app.getPath('userData'),
    }),
    clock: { setTimeout, clearTimeout: (handle) => { clearTimeout(handle as NodeJS.Timeout) } },
    stateChanged: (state) => {
      inbox.setLatest(SERVER_PROCESS_CHANNEL, state)
      updateMenu()
    },
    statusChanged: (status) => { rememberRepositories(status.repositoryPaths) },
  })

  const window = new ConsoleWindow({
    settings,
    preloadPath: join(app.getAppPath(), 'dist/electron/preload.cjs'),
    iconPath,
    title: () => texts().appName,
    mayClose,
    pageReplaced: () => { inbox.pageReplaced() },
    pageFailed: (reason) => { void dialog.showMessageBox({ type: 'error', message: texts().pageFailed, detail: texts().pageFailedDetail(reason) }) },
  })
  const tray = new ServingTray(iconPath, { showWindow, quit: () => { app.quit() } })
  const argument = repositoryArgument(process.argv, process.cwd(), app.getAppPath())
  const givenRepositories = [...repositoryFlags(process.argv, process.cwd()), ...(argument === null ? [] : [argument])]
  let keepsServing = false

  protocol.handle(APP_SCHEME, (request) => answerAppRequest(request, rendererDirectory))
  setupNavigationPolicy(app)
  setupPermissions()
  setupAbout()
  registerDesktopApi(ipcMain, {
    connection: async () => ({ url: `ws://127.0.0.1:${(await server.running()).ports.console}/console`, token: consoleToken }),
    chooseRepository,
    recentRepositories: () => Promise.resolve(settings.get().recentRepositories),
    settings: () => Promise.resolve(desktopSettings(settings.get())),
    changeSettings: (change) => {
      const changed = desktopSettings(settings.change(readSettingsChange(change)))
      applyAppearance()
      return Promise.resolve(changed)
    },
    startServer: () => {
      server.start()
      return Promise.resolve()
    },
  })
  inbox.listen(ipcMain)
  applyAppearance()

  app.on('second-instance', (_event, argv, workingDirectory) => {
    showWindow()
    const path = repositoryArgument(argv, workingDirectory, app.getAppPath())
    if (path !== null) openRepository(path)
  })
  app.on('activate', showWindow)
  app.on('open-file', (event, path) => {
    event.preventDefault()
    if (isDirectory(path)) openRepository(path)
  })
  app.on('window-all-closed', () => {
    inbox.pageReplaced()
    if (keepsServing) tray.show(texts())
    else app.quit()
  })
  setupQuit()

  server.start()
  showWindow()

  /** What to serve at a start: what is open now, else what the command line names, else what was open last, else nothing. */
  function currentRepositories(): readonly string[] {
    if (server.status.repositoryPaths.length > 0) return server.status.repositoryPaths
    if (givenRepositories.length > 0) return givenRepositories
    return settings.get().recentRepositories.filter(isDirectory).slice(0, 1)
  }

  function rememberRepositories(paths: readonly string[]): void {
    const recent = withRecentRepositories(settings.get().recentRepositories, paths)
    if (recent === settings.get().recentRepositories) return
    settings.change({ recentRepositories: recent })
    for (const path of paths) app.addRecentDocument(path)
    updateMenu()
  }

  function showWindow(): void {
    tray.hide()
    keepsServing = false
    window.show()
  }

  function sendMenuAction(action: MenuAction): void {
    showWindow()
    inbox.post(MENU_ACTION_CHANNEL, action)
  }

  function openRepository(path: string): void {
    sendMenuAction({ kind: 'openRepository', path })
  }

  async function chooseRepository(): Promise<string | null> {
    const options = { title: texts().openRepositoryTitle, properties: ['openDirectory', 'createDirectory'] as ('openDirectory' | 'createDirectory')[] }
    const parent = window.browserWindow
    const { canceled, filePaths } = await (parent === null ? dialog.showOpenDialog(options) : dialog.showOpenDialog(parent, options))
    return canceled ? null : filePaths[0] ?? null
  }

  async function mayClose(): Promise<boolean> {
    const { decision, remember } = await decideClose(server.status.readyModels.length, settings.get().keepServingOnClose, askAboutClose)
    if (decision === 'stay') return false
    keepsServing = decision === 'keepServing'
    if (remember) settings.change({ keepServingOnClose: keepsServing })
    return true
  }

  async function askAboutClose(readyModelCount: number): Promise<CloseAnswer> {
    const said = texts()
    const options = {
      type: 'question' as const,
      title: said.appName,
      message: said.closeQuestion(readyModelCount),
      detail: said.closeDetail,
      buttons: [said.closeKeep, said.closeStop, said.closeStay],
      defaultId: 0,
      cancelId: 2,
      checkboxLabel: said.closeRemember,
      checkboxChecked: true,
    }
    const parent = window.browserWindow
    const { response, checkboxChecked } = await (parent === null ? dialog.showMessageBox(options) : dialog.showMessageBox(parent, options))
    const decision = (['keepServing', 'stop', 'stay'] as const)[response] ?? 'stay'
    return { decision, remember: checkboxChecked }
  }

  /** Theme of native parts, and every text that is already on the screen. */
  function applyAppearance(): void {
    const { theme } = settings.get()
    nativeTheme.themeSource = theme === 'contrast' ? 'dark' : theme
    window.browserWindow?.setTitle(texts().appName)
    updateMenu()
  }

  function updateMenu(): void {
    const context = {
      texts: texts(),
      recentRepositories: settings.get().recentRepositories,
      canStartServer: server.state.kind === 'failed',
      hasDeveloperTools: !app.isPackaged,
    }
    Menu.setApplicationMenu(Menu.buildFromTemplate(menuTemplate(context, {
      openRepositoryDialog: () => { void chooseRepository().then((path) => { if (path !== null) openRepository(path) }) },
      openRepository,
      navigate: (page) => { sendMenuAction({ kind: 'navigate', page }) },
      startServer: () => { server.start() },
      openDataFolder: () => { void shell.openPath(app.getPath('userData')) },
      showAbout: () => { app.showAboutPanel() },
    })))
  }

  function setupAbout(): void {
    app.setAboutPanelOptions({ applicationName: texts().appName, applicationVersion: app.getVersion(), iconPath })
  }

  /** The windows close without a question, the server drains, then the application is gone. */
  function setupQuit(): void {
    let isStopped = false
    app.on('before-quit', () => { window.allowClose() })
    app.on('will-quit', (event) => {
      if (isStopped) return
      event.preventDefault()
      tray.hide()
      void server.stop().then(() => {
        isStopped = true
        app.quit()
      })
    })
    process.on('exit', () => { server.kill() })
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => { app.quit() })
  }
}
