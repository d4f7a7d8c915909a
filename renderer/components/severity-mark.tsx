/** Shape and colour of a problem's severity; the word is for screen readers, or beside it. */
import { useTranslation } from 'react-i18next'
import type { DiagnosticSeverity } from '../../server-core/contract/config-language.ts'
import { StateMark } from './state-pill.tsx'
import { InfoIcon } from './icons.tsx'

export function SeverityMark({ severity }: { readonly severity: DiagnosticSeverity }) {
  const { t } = useTranslation('config-editor')
  return (
    <span className="npu-severity" role="img" aria-label={t(`severity.${severity}`)}>
      {severity === 'error' ? <StateMark kind="failed" isDecoration /> : severity === 'warning' ? <StateMark kind="degraded" isDecoration /> : <InfoIcon />}
    </span>
  )
}
