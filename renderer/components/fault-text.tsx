/**
 * What a text of the server about a card means: what happened, the likely cause with the next step, the way to the card, and folded the server's own
 * words. A text about anything else is shown as it is.
 */
import { useTranslation } from 'react-i18next'
import { explainNpuFault } from '../../server-core/contract/npu-fault.ts'
import { routeHash } from '../router.ts'
import { Disclosure } from './disclosure.tsx'

interface FaultTextProps {
  readonly text: string
  /** What did not happen: an instance does not run, a request failed, a card could not be had. */
  readonly what: 'instance' | 'request' | 'fallback'
  /** The sentence alone: for places that repeat what is explained elsewhere. */
  readonly isShort?: boolean
}

export function FaultText({ text, what, isShort = false }: FaultTextProps) {
  const { t } = useTranslation('failure')
  const explanation = explainNpuFault(text)
  if (explanation === null) return isShort ? <p className="npu-secondary npu-server-line">{text}</p> : <pre className="npu-server-text">{text}</pre>
  const { fault, code, card } = explanation
  const sentence = t(`sentence.${fault}`, { what: t(`what.${what}`) })
  if (isShort) return <p className="npu-secondary">{sentence}</p>
  return (
    <div className="npu-column" data-testid="npu-fault" data-fault={fault}>
      <p><b>{sentence}</b></p>
      {card !== null && <p className="npu-secondary">{t('where')} <a className="npu-link" href={routeHash('devices')}>{t('common:npu.card', { card })}</a></p>}
      <p className="npu-secondary">{t(`cause.${fault}`, { code })}</p>
      <Disclosure title={t('serverText')}><pre className="npu-server-text" tabIndex={0} aria-label={t('serverText')}>{text}</pre></Disclosure>
    </div>
  )
}
