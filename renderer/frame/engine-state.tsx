/** The engine in one pill: what the connection, the server's own word, and the desktop's supervisor say together. */
import { useTranslation } from 'react-i18next'
import type { ServerProcessState, ServerStatus } from '../../server-core/contract/console-api.ts'
import { StatePill } from '../components/state-pill.tsx'
import type { StateKind } from '../components/state-pill.tsx'
import type { ConnectionState } from '../console-client.ts'
import { useConsole } from '../console-store.ts'
import { useServerProcess } from '../server-process-store.ts'

export type EngineWord = 'ready' | 'starting' | 'stopping' | 'connecting' | 'reconnecting' | 'restarting' | 'failed' | 'stopped'

/** The word for the engine's state; the supervisor knows best while there is no connection. */
export function engineWord(connection: ConnectionState, status: ServerStatus | null, process: ServerProcessState | null): EngineWord {
  if (connection === 'open') return status === null || status.state === 'READY' ? (status === null ? 'connecting' : 'ready') : status.state === 'STARTING' ? 'starting' : 'stopping'
  switch (process?.kind) {
    case 'failed': return 'failed'
    case 'stopped': return 'stopped'
    case 'restarting': return 'restarting'
    case 'starting': return 'starting'
    default: return connection
  }
}

const LOOK: Readonly<Record<EngineWord, StateKind>> = {
  ready: 'ready', starting: 'loading', connecting: 'loading', stopping: 'degraded', reconnecting: 'degraded', restarting: 'degraded', failed: 'failed', stopped: 'unloaded',
}

export function useEngineWord(): EngineWord {
  const connection = useConsole((state) => state.connection)
  const status = useConsole((state) => state.status)
  const process = useServerProcess((state) => state.process)
  return engineWord(connection, status, process)
}

export function EngineState({ isShort = false }: { readonly isShort?: boolean }) {
  const { t } = useTranslation()
  const word = useEngineWord()
  return <span data-testid={isShort ? undefined : 'engine-state'} data-engine={word}><StatePill kind={LOOK[word]} text={t(isShort ? `engine.short.${word}` : `engine.${word}`)} /></span>
}
