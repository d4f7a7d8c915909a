/** Answers what the page asks main through the preload: only the console's own page, only known names. */
import type { IpcMain, WebFrameMain } from 'electron'
import { isAppUrl } from './app-protocol.ts'
import { REQUEST_CHANNEL } from './ipc-channels.ts'
import type { DesktopReply, DesktopRequestHandlers } from './ipc-channels.ts'

/** The part of an IPC event that says who sent it. */
export interface IpcSender {
  readonly senderFrame: Pick<WebFrameMain, 'url' | 'parent'> | null
}

/** The top frame of the console's own page; a frame that is gone already has no say. */
export function isTrustedSender({ senderFrame }: IpcSender): boolean {
  return senderFrame !== null && senderFrame.parent === null && isAppUrl(senderFrame.url)
}

/** One request as a value: a wrong name, wrong arguments or a failure come back as a message. */
export async function answerDesktopRequest(handlers: DesktopRequestHandlers, sender: IpcSender, name: unknown, args: unknown): Promise<DesktopReply> {
  if (!isTrustedSender(sender)) return { ok: false, message: 'Only the console page may ask the desktop.' }
  if (typeof name !== 'string' || !Object.hasOwn(handlers, name)) return { ok: false, message: `The desktop knows no '${String(name)}'.` }
  if (!Array.isArray(args)) return { ok: false, message: `The arguments of '${name}' are not a list.` }
  try {
    const handler = handlers[name as keyof DesktopRequestHandlers] as (...args: unknown[]) => Promise<unknown>
    return { ok: true, value: await handler(...args as unknown[]) }
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error) }
  }
}

export function registerDesktopApi(ipcMain: IpcMain, handlers: DesktopRequestHandlers): void {
  ipcMain.handle(REQUEST_CHANNEL, (event, name: unknown, args: unknown) => answerDesktopRequest(handlers, event, name, args))
}
