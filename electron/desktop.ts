/** The composition root of the desktop: builds every part by hand and connects them. What each part does is in the file of its name. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { app, dialog, ipcMain, Menu, nativeTheme, protocol, shell } from 'electron'
import type { DesktopSettings, MenuAction, ServerProcessState, ServerRestart } from '../server-core/contract/console-api.ts'
import { answerAppRequest, APP_SCHEME } from './app-protocol.ts'
import { decideClose } from './close-decision.ts'
import type { CloseAnswer } from './close-decision.ts'
import { engineCommandLine, isDirectory, repositoryArgument, repositoryFlags } from './command-line.ts'
import { registerDesktopApi } from './desktop-api.ts'
import { forkServer } from './fork-server.ts'
import { MENU_ACTION_CHANNEL, SERVER_PROCESS_CHANNEL } from './ipc-channels.ts'
import { menuTemplate } from './menu.ts'
import { PageInbox } from './page-inbox.ts'
import { withRecentRepositories } from './recent-repositories.ts'
import type { ServerStartArguments } from './server-messages.ts'
import { serverEnvironment } from './server-environment.ts'
import { ServerProcess } from './server-process.ts'
import { desktopSettings, readSettingsChange, SettingsStore } from './settings-store.ts'
import { shellLanguage, shellTexts } from './texts.ts'
import type { ShellTexts } from './texts.ts'
import { ServingTray } from './tray.ts'
import { ConsoleWindow, setupNavigationPolicy, setupPermissions } from './window.ts'

/** One per process, made when Electron is ready. */
export class Desktop {
  /** In a packaged application the server and its native parts lie beside the archive, not in it. */
  readonly #installed = app.isPackaged ? app.getAppPath().replace(/app\.asar$/, 'app.asar.unpacked') : app.getAppPath()
  readonly #rendererDirectory = join(this.#installed, 'dist/renderer')
  readonly #iconPath = join(app.getAppPath(), 'assets/icons/128x128.png')
  readonly #consoleToken = randomBytes(32).toString('base64url')
  /** What the command line names, absolute. */
  readonly #givenRepositories: readonly string[]
  readonly #settings: SettingsStore
  readonly #inbox: PageInbox
  readonly #server: ServerProcess
  readonly #window: ConsoleWindow
  readonly #tray: ServingTray
  /** Of the server process. */
  #serverEnvironment: NodeJS.ProcessEnv
  /** What the window chose since the application was started: it overrules the command line. */
  #chosen: ServerRestart = {}
  /** To load at the next start of the server. */
  #loadModels: readonly string[] = []
  /** The window was closed with the wish that serving goes on. */
  #keepsServing = false

  /** Reads the settings, and CANN's environment where they or the command line say so. */
  static async create(): Promise<Desktop> {
    const settings = new SettingsStore(join(app.getPath('userData'), 'settings.json'), (message) => { process.stderr.write(`${message}\n`) })
    return new Desktop(settings, await serverEnvironment(engineCommandLine(process.argv, settings.get().engine, {})))
  }

  private constructor(settings: SettingsStore, serverEnvironment: NodeJS.ProcessEnv) {
    const argument = repositoryArgument(process.argv, process.cwd(), app.getAppPath())
    this.#givenRepositories = [...repositoryFlags(process.argv, process.cwd()), ...(argument === null ? [] : [argument])]
    this.#settings = settings
    this.#serverEnvironment = serverEnvironment
    this.#inbox = new PageInbox((channel, value) => { this.#window.send(channel, value) })
    this.#server = new ServerProcess({
      startChild: (events) => forkServer(join(this.#installed, 'dist/server/server-entry.mjs'), events, this.#serverEnvironment),
      startArguments: () => this.#startArguments(),
      clock: { setTimeout, clearTimeout: (handle) => { clearTimeout(handle as NodeJS.Timeout) } },
      stateChanged: (state) => { this.#serverChanged(state) },
      statusChanged: (status) => { this.#rememberRepositories(status.repositoryPaths) },
      restartAsked: (change, readyModels) => { void this.#restartServer(change, readyModels) },
    })
    this.#window = new ConsoleWindow({
      settings: this.#settings,
      preloadPath: join(app.getAppPath(), 'dist/electron/preload.cjs'),
      iconPath: this.#iconPath,
      title: () => this.#texts().appName,
      mayClose: () => this.#mayClose(),
      pageReplaced: () => { this.#inbox.pageReplaced() },
      pageFailed: (reason) => {
        const { pageFailed, pageFailedDetail } = this.#texts()
        void dialog.showMessageBox({ type: 'error', message: pageFailed, detail: pageFailedDetail(reason) })
      },
    })
    this.#tray = new ServingTray(this.#iconPath, { showWindow: () => { this.#showWindow() }, quit: () => { app.quit() } })
  }

  start(): void {
    protocol.handle(APP_SCHEME, (request) => answerAppRequest(request, this.#rendererDirectory))
    setupNavigationPolicy(app)
    setupPermissions()
    this.#setupDesktopApi()
    this.#setupAppearance()
    this.#setupLaterStarts()
    this.#setupClosing()
    this.#setupQuit()
    this.#server.start()
    this.#showWindow()
  }

  #setupDesktopApi(): void {
    this.#inbox.listen(ipcMain)
    registerDesktopApi(ipcMain, {
      connection: async () => ({ url: `ws://127.0.0.1:${(await this.#server.running()).ports.console}/console`, token: this.#consoleToken }),
      chooseRepository: () => this.#chooseRepository(),
      recentRepositories: () => Promise.resolve(this.#settings.get().recentRepositories),
      settings: () => Promise.resolve(desktopSettings(this.#settings.get())),
      changeSettings: (change) => Promise.resolve(this.#changeSettings(change)),
      startServer: () => {
        this.#server.start()
        return Promise.resolve()
      },
    })
  }

  /** A second start raises the window and hands over its folder. */
  #setupLaterStarts(): void {
    app.on('second-instance', (_event, argv, workingDirectory) => {
      this.#showWindow()
      const path = repositoryArgument(argv, workingDirectory, app.getAppPath())
      if (path !== null) this.#openRepository(path)
    })
    app.on('activate', () => { this.#showWindow() })
    app.on('open-file', (event, path) => {
      event.preventDefault()
      if (isDirectory(path)) this.#openRepository(path)
    })
  }

  #setupClosing(): void {
    app.on('window-all-closed', () => {
      this.#inbox.pageReplaced()
      if (this.#keepsServing) this.#tray.show(this.#texts())
      else app.quit()
    })
  }

  /** The window closes without a question, the server drains, then the application is gone. */
  #setupQuit(): void {
    let isStopped = false
    app.on('before-quit', () => { this.#window.allowClose() })
    app.on('will-quit', (event) => {
      if (isStopped) return
      event.preventDefault()
      this.#tray.hide()
      void this.#server.stop().then(() => {
        isStopped = true
        app.quit()
      })
    })
    process.on('exit', () => { this.#server.kill() })
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => { app.quit() })
  }

  #startArguments(): ServerStartArguments {
    return {
      repositoryPaths: this.#currentRepositories(),
      ports: this.#settings.get().ports,
      commandLine: this.#commandLine(),
      loadModels: this.#loadModels,
      consoleToken: this.#consoleToken,
      rendererDirectory: this.#rendererDirectory,
      dataDirectory: app.getPath('userData'),
    }
  }

  #commandLine(): readonly string[] { return engineCommandLine(process.argv, this.#settings.get().engine, this.#chosen) }

  /** Another start, as the window asks for it; kept for the next start of the application too. */
  async #restartServer(change: ServerRestart, readyModels: readonly string[]): Promise<void> {
    this.#chosen = { ...this.#chosen, ...change }
    this.#settings.change({ engine: { ...this.#settings.get().engine, ...change } })
    this.#loadModels = readyModels
    this.#serverEnvironment = await serverEnvironment(this.#commandLine())
    await this.#server.restart()
  }

  /** What to serve at a start: what is open now, else what the command line names, else what was open last, else nothing. */
  #currentRepositories(): readonly string[] {
    const open = this.#server.status.repositoryPaths
    if (open.length > 0) return open
    if (this.#givenRepositories.length > 0) return this.#givenRepositories
    return this.#settings.get().recentRepositories.filter(isDirectory).slice(0, 1)
  }

  #serverChanged(state: ServerProcessState): void {
    if (state.kind === 'running') this.#loadModels = []
    this.#inbox.setLatest(SERVER_PROCESS_CHANNEL, state)
    this.#updateMenu()
  }

  #rememberRepositories(paths: readonly string[]): void {
    const recent = withRecentRepositories(this.#settings.get().recentRepositories, paths)
    if (recent === this.#settings.get().recentRepositories) return
    this.#settings.change({ recentRepositories: recent })
    for (const path of paths) app.addRecentDocument(path)
    this.#updateMenu()
  }

  #showWindow(): void {
    this.#tray.hide()
    this.#keepsServing = false
    this.#window.show()
  }

  #sendMenuAction(action: MenuAction): void {
    this.#showWindow()
    this.#inbox.post(MENU_ACTION_CHANNEL, action)
  }

  #openRepository(path: string): void {
    this.#sendMenuAction({ kind: 'openRepository', path })
  }

  async #chooseRepository(): Promise<string | null> {
    const options = { title: this.#texts().openRepositoryTitle, properties: ['openDirectory', 'createDirectory'] as ('openDirectory' | 'createDirectory')[] }
    const parent = this.#window.browserWindow
    const { canceled, filePaths } = await (parent === null ? dialog.showOpenDialog(options) : dialog.showOpenDialog(parent, options))
    return canceled ? null : filePaths[0] ?? null
  }

  async #mayClose(): Promise<boolean> {
    const { readyModels } = this.#server.status
    const { decision, remember } = await decideClose(readyModels.length, this.#settings.get().keepServingOnClose, (count) => this.#askAboutClose(count))
    if (decision === 'stay') return false
    this.#keepsServing = decision === 'keepServing'
    if (remember) this.#settings.change({ keepServingOnClose: this.#keepsServing })
    return true
  }

  async #askAboutClose(readyModelCount: number): Promise<CloseAnswer> {
    const texts = this.#texts()
    const options = {
      type: 'question' as const,
      title: texts.appName,
      message: texts.closeQuestion(readyModelCount),
      detail: texts.closeDetail,
      buttons: [texts.closeKeep, texts.closeStop, texts.closeStay],
      defaultId: 0,
      cancelId: 2,
      checkboxLabel: texts.closeRemember,
      checkboxChecked: true,
    }
    const parent = this.#window.browserWindow
    const { response, checkboxChecked } = await (parent === null ? dialog.showMessageBox(options) : dialog.showMessageBox(parent, options))
    const decision = (['keepServing', 'stop', 'stay'] as const)[response] ?? 'stay'
    return { decision, remember: checkboxChecked }
  }

  #changeSettings(change: unknown): DesktopSettings {
    const changed = desktopSettings(this.#settings.change(readSettingsChange(change)))
    this.#setupAppearance()
    return changed
  }

  /** Theme of native parts, and every text that is on the screen. */
  #setupAppearance(): void {
    const { theme } = this.#settings.get()
    nativeTheme.themeSource = theme === 'contrast' ? 'dark' : theme
    this.#window.browserWindow?.setTitle(this.#texts().appName)
    app.setAboutPanelOptions({ applicationName: this.#texts().appName, applicationVersion: app.getVersion(), iconPath: this.#iconPath })
    this.#updateMenu()
  }

  #updateMenu(): void {
    const template = menuTemplate({
      texts: this.#texts(),
      recentRepositories: this.#settings.get().recentRepositories,
      canStartServer: this.#server.state.kind === 'failed',
      hasDeveloperTools: !app.isPackaged,
    }, {
      openRepositoryDialog: () => { void this.#chooseRepository().then((path) => { if (path !== null) this.#openRepository(path) }) },
      openRepository: (path) => { this.#openRepository(path) },
      navigate: (page) => { this.#sendMenuAction({ kind: 'navigate', page }) },
      startServer: () => { this.#server.start() },
      openDataFolder: () => { void shell.openPath(app.getPath('userData')) },
      openNotices: () => { void shell.openPath(join(this.#installed, 'dist/THIRD-PARTY-NOTICES.txt')) },
      showAbout: () => { app.showAboutPanel() },
    })
    Menu.setApplicationMenu(Menu.buildFromTemplate(template))
  }

  #texts(): ShellTexts {
    return shellTexts(shellLanguage(this.#settings.get().language, app.getLocale()))
  }
}
