/** `WebContents`: one page of the Chromium, driven over its own DevTools session. */
import { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import { PreventableEvent } from './application.ts'
import type { DevtoolsConnection } from './devtools-connection.ts'
import type { IpcEvent, IpcMain } from './ipc-main.ts'
import { BINDING, ISOLATED_WORLD, isolatedWorldScript, mainWorldScript, RECEIVER } from './page-scripts.ts'
import type { MessageFromMain, MessageToMain } from './page-scripts.ts'
import type { SchemeServer } from './scheme-server.ts'

/** What every page needs of the process it lives in. */
export interface PageEnvironment {
  readonly connection: DevtoolsConnection
  readonly ipcMain: IpcMain
  readonly schemes: SchemeServer
  /** Tells `app` about a new page: `web-contents-created`. */
  created(contents: WebContents): void
}

type WindowOpenHandler = (details: { url: string }) => { action: 'deny' | 'allow' }

let nextId = 1

export class WebContents extends EventEmitter {
  readonly id = nextId++
  readonly mainFrame: { readonly url: string; readonly parent: null }
  /** Emits 'destroyed' when it is gone. */
  targetId = ''
  private readonly environment: PageEnvironment
  private readonly sessionId: Promise<string>
  private worldContext: string | null = null
  private url = ''
  private isGone = false
  private loadsOfMain = 0
  private windowOpenHandler: WindowOpenHandler = () => ({ action: 'deny' })

  constructor(environment: PageEnvironment, preloadPath: string | undefined, size: { width: number; height: number }) {
    super()
    this.environment = environment
    const contents = { urlNow: () => this.url }
    this.mainFrame = { get url() { return contents.urlNow() }, parent: null }
    environment.created(this)
    this.sessionId = this.createPage(preloadPath, size)
  }

  getURL(): string { return this.url }
  isDestroyed(): boolean { return this.isGone }
  setWindowOpenHandler(handler: WindowOpenHandler): void { this.windowOpenHandler = handler }

  async loadURL(url: string): Promise<void> {
    this.loadsOfMain++
    await this.command('Page.navigate', { url: this.environment.schemes.toShown(url) })
  }

  reload(): void { void this.command('Page.reload') }

  /** The page's process ends at once; the command itself is never answered. */
  forcefullyCrashRenderer(): void { void this.command('Page.crash').catch(() => undefined) }

  send(channel: string, ...args: unknown[]): void {
    this.post({ kind: 'event', channel, args })
  }

  /** As Electron's: no question, unless `waitForBeforeUnload` is asked for, which the window's close event stands for. */
  close(): void {
    this.emit('-close-requested')
  }

  /** Closes the page for good. */
  async destroyPage(): Promise<void> {
    await this.sessionId
    await this.environment.connection.send('Target.closeTarget', { targetId: this.targetId }).catch(() => undefined)
    this.gone()
  }

  async setSize(width: number, height: number): Promise<void> {
    await this.sessionId
    const { windowId } = await this.environment.connection.send('Browser.getWindowForTarget', { targetId: this.targetId })
    await this.environment.connection.send('Browser.setWindowBounds', { windowId, bounds: { width, height } })
  }

  private async createPage(preloadPath: string | undefined, size: { width: number; height: number }): Promise<string> {
    const { connection } = this.environment
    const { targetId } = await connection.send('Target.createTarget', { url: 'about:blank', ...size })
    this.targetId = targetId as string
    const { sessionId } = await connection.send('Target.attachToTarget', { targetId, flatten: true })
    const session = sessionId as string
    this.listen(session)
    const send = (method: string, params = {}) => connection.send(method, params, session)
    await Promise.all([
      send('Page.enable'),
      send('Runtime.enable'),
      send('Inspector.enable'),
      // Main-frame documents only: each is a navigation that main may refuse.
      send('Fetch.enable', { patterns: [{ urlPattern: '*', resourceType: 'Document' }] }),
      send('Runtime.addBinding', { name: BINDING, executionContextName: ISOLATED_WORLD }),
      ...(preloadPath === undefined ? [] : [
        send('Page.addScriptToEvaluateOnNewDocument', { source: mainWorldScript() }),
        send('Page.addScriptToEvaluateOnNewDocument', { source: isolatedWorldScript(readFileSync(preloadPath, 'utf8')), worldName: ISOLATED_WORLD }),
      ]),
    ])
    return session
  }

  private listen(session: string): void {
    const on = (method: string, listener: (parameters: Record<string, unknown>) => void) => { this.environment.connection.on(method, session, listener) }
    on('Page.frameNavigated', ({ frame }) => {
      const { url, parentId } = frame as { url: string; parentId?: string }
      if (parentId !== undefined) return
      this.url = this.environment.schemes.fromShown(url)
      if (url !== 'about:blank') this.emit('did-navigate', {}, this.url, 200, 'OK')
    })
    on('Page.loadEventFired', () => { if (this.url !== 'about:blank' && this.url !== '') this.emit('did-finish-load', {}) })
    // A link with a target: Chromium opens a window, which is closed at once. window.open() itself never gets here, see page-scripts.ts.
    on('Page.windowOpen', ({ url }) => { this.openWindow(url as string) })
    this.environment.connection.on('Target.targetCreated', undefined, ({ targetInfo }) => {
      const { targetId, openerId } = targetInfo as { targetId: string; openerId?: string }
      if (openerId === this.targetId) void this.environment.connection.send('Target.closeTarget', { targetId }).catch(() => undefined)
    })
    on('Fetch.requestPaused', (request) => { void this.navigationPaused(request as unknown as { requestId: string; request: { url: string } }) })
    on('Runtime.executionContextCreated', ({ context }) => {
      const { name, uniqueId } = context as { name: string; uniqueId: string }
      if (name === ISOLATED_WORLD) this.worldContext = uniqueId
    })
    on('Runtime.bindingCalled', ({ name, payload }) => { if (name === BINDING) void this.receivedFromPage(JSON.parse(payload as string) as MessageToMain) })
    on('Inspector.targetCrashed', () => { this.emit('render-process-gone', {}, { reason: 'crashed', exitCode: 11 }) })
    this.environment.connection.on('Target.targetDestroyed', undefined, ({ targetId }) => { if (targetId === this.targetId) this.gone() })
  }

  /** What main loads by itself goes on; what the page wants is asked about. */
  private async navigationPaused({ requestId, request }: { requestId: string; request: { url: string } }): Promise<void> {
    const url = this.environment.schemes.fromShown(request.url)
    const event = Object.assign(new PreventableEvent(), { url })
    if (this.loadsOfMain > 0) this.loadsOfMain--
    else this.emit('will-navigate', event, url)
    const answer = event.defaultPrevented ? this.command('Fetch.failRequest', { requestId, errorReason: 'Aborted' }) : this.command('Fetch.continueRequest', { requestId })
    await answer.catch(() => undefined)
  }

  private async receivedFromPage(message: MessageToMain): Promise<void> {
    const event: IpcEvent = { sender: this, senderFrame: { url: this.url, parent: null } }
    if (message.kind === 'open') {
      this.openWindow(message.url)
      return
    }
    if (message.kind === 'send') {
      this.environment.ipcMain.emit(message.channel, event, ...message.args)
      return
    }
    try {
      this.post({ kind: 'reply', id: message.id, value: await this.environment.ipcMain.invoke(message.channel, event, message.args) })
    } catch (error) {
      this.post({ kind: 'reply', id: message.id, error: (error as Error).message })
    }
  }

  private openWindow(url: string): void {
    if (this.windowOpenHandler({ url: this.environment.schemes.fromShown(url) }).action !== 'deny') throw new Error('The stand-in cannot open windows for a page.')
  }

  /** To the isolated world; lost where there is none now, as Electron loses messages to a page that goes. */
  private post(message: MessageFromMain): void {
    void this.sessionId.then(async () => {
      if (this.worldContext === null) return
      await this.command('Runtime.evaluate', {
        expression: `globalThis[${JSON.stringify(RECEIVER)}]?.(${JSON.stringify(JSON.stringify(message))})`,
        uniqueContextId: this.worldContext,
      }).catch(() => undefined)
    })
  }

  private async command(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<Record<string, unknown>> {
    return this.environment.connection.send(method, params, await this.sessionId)
  }

  private gone(): void {
    if (this.isGone) return
    this.isGone = true
    this.emit('destroyed')
  }
}
