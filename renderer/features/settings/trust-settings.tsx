/** The repositories whose code runs, and the way to take that back. Nothing is shown for a server that trusts what it is pointed at. */
import { Button } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import { Age } from '../../components/age.tsx'
import { Card } from '../../components/card.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { CloseIcon } from '../../components/icons.tsx'
import { useConsole } from '../../console-store.ts'
import { changeTrust, useTrust } from '../models/trust-store.ts'

export function TrustSettings() {
  const { t } = useTranslation('settings')
  const trust = useConsole((state) => state.status?.repositoryTrust)
  const isOpen = useConsole((state) => state.connection === 'open')
  const busy = useTrust((state) => state.busy)
  const failure = useTrust((state) => state.failure)
  if (trust === undefined || trust.mode === 'all') return null
  return (
    <Card title={t('trust.title')}>
      <p className="npu-secondary">{t('trust.hint')}</p>
      {trust.trusted.length === 0 ? <p className="npu-quiet" data-testid="trust-none">{t('trust.none')}</p> : (
        <ul className="npu-setting-trusted" data-testid="trusted-repositories">{trust.trusted.map(({ path, trustedAt }) => (
          <li key={path} className="npu-row">
            <span className="npu-mono">{path}</span>
            <span className="npu-grow" />
            <span className="npu-quiet npu-small-text"><Age time={trustedAt} /></span>
            <Button size="small" className="npu-small" icon={<CloseIcon />} aria-label={t('trust.revokeName', { path })} disabledFocusable={!isOpen || busy !== null} onClick={() => { if (isOpen) void changeTrust('revoke', path) }}>{t('trust.revoke')}</Button>
          </li>
        ))}</ul>
      )}
      {failure?.action === 'revoke' && <ErrorNotice sentence={t('trust.failed')} error={failure.error} />}
    </Card>
  )
}
