/** Has every version of the document checked in a worker, the newest first: while one is under way, those in between are skipped. */
import { create } from 'zustand'
import type { ConfigContext, ConfigDiagnostic } from '../../../server-core/contract/config-language.ts'
import { setDiagnostics, useConfigDocument } from './config-document.ts'
import type { ConfigDocument } from './config-document.ts'

export interface LintRequest {
  readonly version: number
  readonly text: string
  /** Only where it is another one than with the request before. */
  readonly context?: ConfigContext
}

export interface LintResponse {
  readonly version: number
  readonly diagnostics: readonly ConfigDiagnostic[]
}

/** What is used of a Worker. */
export type LintWorker = Pick<Worker, 'postMessage' | 'terminate' | 'addEventListener'>

/** A pause that no one notices, so that a burst of keys is checked once. */
const QUIET_MILLISECONDS = 30

/** Why nothing is checked any more; null: all is well. */
export const useLintFailure = create<{ readonly reason: string | null }>()(() => ({ reason: null }))

/** Follows the document until the returned function is called. */
export function startLint(createWorker: () => LintWorker): () => void {
  const worker = createWorker()
  let isBusy = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let sentContext: ConfigContext | null = null
  useLintFailure.setState({ reason: null })

  const send = () => {
    timer = undefined
    const { modelName, version, checkedVersion, text, context } = useConfigDocument.getState()
    if (isBusy || modelName === null || checkedVersion === version) return
    isBusy = true
    const request: LintRequest = { version, text, ...(context === sentContext ? {} : { context }) }
    sentContext = context
    worker.postMessage(request)
  }
  const schedule = (state: ConfigDocument) => {
    if (state.checkedVersion === state.version) return
    clearTimeout(timer)
    timer = setTimeout(send, QUIET_MILLISECONDS)
  }

  worker.addEventListener('message', ({ data }: MessageEvent<LintResponse>) => {
    isBusy = false
    setDiagnostics(data.version, data.diagnostics)
    const state = useConfigDocument.getState()
    // The text went on meanwhile, or another context came with the same text.
    if (state.checkedVersion !== state.version && timer === undefined) send()
  })
  worker.addEventListener('error', (event: ErrorEvent) => {
    isBusy = true
    useLintFailure.setState({ reason: event.message })
  })
  const unsubscribe = useConfigDocument.subscribe((state, before) => {
    if (state.version !== before.version || state.context !== before.context || state.checkedVersion === -1) schedule(state)
  })
  schedule(useConfigDocument.getState())
  return () => {
    unsubscribe()
    clearTimeout(timer)
    worker.terminate()
  }
}
