/** The channels between preload and main. Values are JSON-safe; errors travel as values, since Electron passes on only a message. */
import type { DesktopApi } from '../server-core/contract/console-api.ts'

/** Methods of the desktop API that ask main something. */
export type DesktopRequestName = 'connection' | 'chooseRepository' | 'recentRepositories' | 'settings' | 'changeSettings' | 'startServer'

export type DesktopRequestHandlers = { readonly [K in DesktopRequestName]: (...args: Parameters<DesktopApi[K]>) => ReturnType<DesktopApi[K]> }

export type DesktopReply = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly message: string }

export const REQUEST_CHANNEL = 'desktop:request'
/** Main to page: a `ServerProcessState`. */
export const SERVER_PROCESS_CHANNEL = 'desktop:server-process'
/** Main to page: a `MenuAction`. */
export const MENU_ACTION_CHANNEL = 'desktop:menu-action'
/** Page to main: the page listens now; main answers with the current state and the actions that waited for it. */
export const LISTENING_CHANNEL = 'desktop:listening'
