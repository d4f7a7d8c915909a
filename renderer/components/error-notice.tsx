/** A failed action, said in place: what did not happen, the server's words, and a way on. */
import { useTranslation } from 'react-i18next'
import type { ReactNode } from 'react'
import { ConsoleError } from '../console-client.ts'
import { explainNpuFault } from '../../server-core/contract/npu-fault.ts'
import { StateMark } from './state-pill.tsx'

interface ErrorNoticeProps {
  /** What did not happen, in the user's nouns. */
  readonly sentence: string
  readonly error: unknown
  /** Next step in words. */
  readonly nextStep?: string
  readonly actions?: ReactNode
  /** More about it, below the server's words. */
  readonly details?: ReactNode
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

export function ErrorNotice({ sentence, error, nextStep, actions, details }: ErrorNoticeProps) {
  const { t } = useTranslation()
  const kind = error instanceof ConsoleError ? error.kind : 'UNKNOWN'
  const npu = explainNpuFault(errorText(error))
  const advice = npu !== null ? `${t(`failure:sentence.${npu.fault}`, { what: t('failure:what.request') })} ${t(`failure:cause.${npu.fault}`, { code: npu.code })}` : nextStep ?? (error instanceof ConsoleError && error.isDisconnect ? t('error.disconnected') : t(`error.${kind}`))
  return (
    <div className="npu-notice npu-notice-failed" role="alert">
      <StateMark kind="failed" isDecoration />
      <div>
        <p className="npu-notice-sentence">{sentence}</p>
        <p className="npu-secondary">{advice}</p>
        <pre className="npu-server-text">{errorText(error)}</pre>
        {details}
        {actions !== undefined && <div className="npu-row">{actions}</div>}
      </div>
    </div>
  )
}
