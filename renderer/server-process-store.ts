/** What the desktop shell says about the server process it supervises; null in a browser, where nobody supervises it. */
import { create } from 'zustand'
import type { ServerProcessState } from '../server-core/contract/console-api.ts'
import { consoleClient } from './console-client.ts'
import { desktopApi } from './lib/desktop-api.ts'

export const useServerProcess = create<{ readonly process: ServerProcessState | null }>()(() => ({ process: null }))

/** Follows the shell; a server that came back is connected to at once. */
export function followServerProcess(): void {
  desktopApi()?.onServerProcess((process) => {
    useServerProcess.setState({ process })
    if (process.kind === 'running') consoleClient.retryNow()
  })
}
