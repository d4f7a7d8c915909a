/** Has the model.py that is shown checked in a worker, the newest text first: while one is under way, those in between are skipped. */
import type { ConfigDiagnostic } from '../../../server-core/contract/config-language.ts'
import type { CodeContext } from '../../../server-core/contract/model-code.ts'
import { setCodeDiagnostics, useCode } from './code-store.ts'

export interface CodeLintRequest {
  readonly revision: number
  readonly text: string
  readonly context: CodeContext
}

export interface CodeLintResponse {
  readonly revision: number
  readonly diagnostics: readonly ConfigDiagnostic[]
}

/** What is used of a Worker. */
export type CodeLintWorker = Pick<Worker, 'postMessage' | 'terminate' | 'addEventListener'>

/** Follows the document until the returned function is called. `onFailure`: why nothing is checked any more. */
export function startCodeLint(createWorker: () => CodeLintWorker, onFailure: (reason: string) => void): () => void {
  const worker = createWorker()
  let isBusy = false
  const send = () => {
    const { document } = useCode.getState()
    if (isBusy || document === null || document.checkedRevision === document.revision) return
    isBusy = true
    const { revision, text, context } = document
    worker.postMessage({ revision, text, context } satisfies CodeLintRequest)
  }
  worker.addEventListener('message', ({ data }: MessageEvent<CodeLintResponse>) => {
    isBusy = false
    setCodeDiagnostics(data.revision, data.diagnostics)
    send()
  })
  worker.addEventListener('error', (event: ErrorEvent) => {
    isBusy = true
    onFailure(event.message)
  })
  const unsubscribe = useCode.subscribe(send)
  send()
  return () => {
    unsubscribe()
    worker.terminate()
  }
}
