/** Everything the server knows about one model, fetched again whenever the model changes or the connection comes back. */
import { useEffect, useState } from 'react'
import type { ModelDetail } from '../../../server-core/contract/console-api.ts'
import { command, ConsoleError } from '../../console-client.ts'
import { useConsole } from '../../console-store.ts'

export interface ModelDetailState {
  /** Of this model, or null until it came. Stays while it is fetched again. */
  readonly detail: ModelDetail | null
  readonly error: unknown
}

export function useModelDetail(name: string): ModelDetailState {
  const [state, setState] = useState<ModelDetailState & { readonly name: string }>({ name, detail: null, error: null })
  // The pushed summary is a new object with every change of the model.
  const summary = useConsole((store) => store.models?.find((model) => model.name === name))
  const isOpen = useConsole((store) => store.connection === 'open')
  useEffect(() => {
    if (!isOpen) return
    let isCurrent = true
    command('model.detail', { name }).then(
      (detail) => { if (isCurrent) setState({ name, detail, error: null }) },
      (error: unknown) => { if (isCurrent && !(error instanceof ConsoleError && error.isDisconnect)) setState({ name, detail: null, error }) },
    )
    return () => { isCurrent = false }
  }, [name, summary, isOpen])
  if (state.name !== name) return { detail: null, error: null }
  // The state word must not lag behind the list while the rest is on its way.
  return summary && state.detail ? { detail: { ...state.detail, summary }, error: state.error } : state
}
