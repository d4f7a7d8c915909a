/** Starting the engine again with something different: asked for by a page, over when another engine has answered. */
import { create } from 'zustand'
import type { ServerRestart } from '../server-core/contract/console-api.ts'
import { ConsoleError, type ConsoleClient } from './console-client.ts'
import { useConsole } from './console-store.ts'

interface EngineRestart {
  /** `instanceId` of the engine that is to go; null: nothing goes on. */
  readonly leaving: string | null
  /** Why it did not; null: nothing failed. */
  readonly error: unknown
}

export const useEngineRestart = create<EngineRestart>()(() => ({ leaving: null, error: null }))

useConsole.subscribe(({ status }) => {
  const { leaving } = useEngineRestart.getState()
  if (leaving !== null && status !== null && status.instanceId !== leaving) useEngineRestart.setState({ leaving: null })
})

/** While one restart is under way another call does nothing. */
export async function restartEngine(client: Pick<ConsoleClient, 'command'>, change: ServerRestart): Promise<void> {
  const instanceId = useConsole.getState().status?.instanceId ?? null
  if (instanceId === null || useEngineRestart.getState().leaving !== null) return
  useEngineRestart.setState({ leaving: instanceId, error: null })
  try {
    await client.command('server.restart', change)
  } catch (error) {
    // The engine may be gone before its answer is here: that is what was asked for.
    if (!(error instanceof ConsoleError && error.isDisconnect)) useEngineRestart.setState({ leaving: null, error })
  }
}
