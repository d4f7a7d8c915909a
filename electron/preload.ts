/** Exposes `window.desktopApi`. Runs sandboxed, bundled to one file; passes values on and decides nothing. */
import { contextBridge, ipcRenderer, webUtils } from 'electron'
import type { DesktopApi, MenuAction, ServerProcessState } from '../server-core/contract/console-api.ts'
import { LISTENING_CHANNEL, MENU_ACTION_CHANNEL, REQUEST_CHANNEL, SERVER_PROCESS_CHANNEL } from './ipc-channels.ts'
import type { DesktopReply, DesktopRequestName } from './ipc-channels.ts'

async function ask(name: DesktopRequestName, ...args: unknown[]): Promise<unknown> {
  const reply = await ipcRenderer.invoke(REQUEST_CHANNEL, name, args) as DesktopReply
  if (!reply.ok) throw new Error(reply.message)
  return reply.value
}

function subscribe<T>(channel: string, listener: (value: T) => void): () => void {
  const forward = (_event: unknown, value: T) => { listener(value) }
  ipcRenderer.on(channel, forward)
  ipcRenderer.send(LISTENING_CHANNEL, channel)
  return () => { ipcRenderer.removeListener(channel, forward) }
}

const desktopApi = {
  connection: () => ask('connection') as ReturnType<DesktopApi['connection']>,
  chooseRepository: () => ask('chooseRepository') as ReturnType<DesktopApi['chooseRepository']>,
  recentRepositories: () => ask('recentRepositories') as ReturnType<DesktopApi['recentRepositories']>,
  settings: () => ask('settings') as ReturnType<DesktopApi['settings']>,
  changeSettings: (change) => ask('changeSettings', change) as ReturnType<DesktopApi['changeSettings']>,
  startServer: () => ask('startServer') as ReturnType<DesktopApi['startServer']>,
  onServerProcess: (listener) => subscribe<ServerProcessState>(SERVER_PROCESS_CHANNEL, listener),
  onMenuAction: (listener) => subscribe<MenuAction>(MENU_ACTION_CHANNEL, listener),
  pathForFile: (file) => webUtils.getPathForFile(file),
} satisfies DesktopApi

contextBridge.exposeInMainWorld('desktopApi', desktopApi)
