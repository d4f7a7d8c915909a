/** The graph of one ensemble. It is read again when the model changes, and each second in which the ensemble had work, as the pushed samples tell. */
import { useEffect, useState } from 'react'
import type { EnsembleGraph } from '../../../server-core/contract/ensemble.ts'
import { command, ConsoleError } from '../../console-client.ts'
import { useConsole } from '../../console-store.ts'

export interface EnsembleGraphState {
  /** Null until it came, and while the ensemble does not serve. */
  readonly graph: EnsembleGraph | null
  readonly error: unknown
}

const NOTHING: EnsembleGraphState = { graph: null, error: null }

/** @param name null: nothing is shown */
export function useEnsembleGraph(name: string | null): EnsembleGraphState {
  const [state, setState] = useState<EnsembleGraphState & { readonly name: string | null }>({ name: null, ...NOTHING })
  const summary = useConsole((store) => store.models?.find((model) => model.name === name))
  const isOpen = useConsole((store) => store.connection === 'open')
  const lastWork = useConsole((store) => {
    const last = store.samples.at(-1)
    return last !== undefined && last.models.some((row) => row.model === name) ? last.time : 0
  })
  useEffect(() => {
    if (name === null || !isOpen || document.hidden) return
    let isCurrent = true
    command('model.ensembleGraph', { name }).then(
      (graph) => { if (isCurrent) setState({ name, graph, error: null }) },
      (error: unknown) => { if (isCurrent && !(error instanceof ConsoleError && error.isDisconnect)) setState({ name, graph: null, error }) },
    )
    return () => { isCurrent = false }
  }, [name, summary, isOpen, lastWork])
  return state.name === name ? state : NOTHING
}
