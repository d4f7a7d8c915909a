/** Asks once whether the code of a repository may run: which folder, which models, what that means. */
import { Button } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import type { ModelSummary } from '../../../server-core/contract/repository.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { CheckIcon } from '../../components/icons.tsx'
import { StateMark } from '../../components/state-pill.tsx'
import { useConsole } from '../../console-store.ts'
import { changeTrust, putOffTrust, untrustedRepositories, useTrust } from './trust-store.ts'
import type { UntrustedRepository } from './trust-store.ts'
import './trust-notice.css'

/** Above the table: every repository that models wait for, until it is put off. */
export function TrustNotices({ models }: { readonly models: readonly ModelSummary[] }) {
  const putOff = useTrust((state) => state.putOff)
  return untrustedRepositories(models).filter(({ path }) => !putOff.has(path)).map((repository) => <TrustNotice key={repository.path} repository={repository} onPutOff={() => { putOffTrust(repository.path) }} />)
}

/** On a model's page, where it cannot be put off: nothing else can be done there. */
export function ModelTrustNotice({ model }: { readonly model: ModelSummary }) {
  return model.awaitsTrust === null ? null : <TrustNotice repository={{ path: model.awaitsTrust, models: [model.name], isPython: model.backend === 'python' }} />
}

function TrustNotice({ repository, onPutOff }: { readonly repository: UntrustedRepository; readonly onPutOff?: () => void }) {
  const { t } = useTranslation('models')
  const { path, models, isPython } = repository
  const names = models.slice(0, SHOWN_NAMES).join(', ')
  const more = models.length - SHOWN_NAMES
  const title = t(isPython ? 'trust.title' : 'trust.titleLibrary')
  const failure = useTrust((state) => state.failure)
  return (
    <section className="npu-notice npu-trust" aria-label={title} data-testid="trust-notice">
      <StateMark kind="degraded" isDecoration />
      <div>
        <h2 className="npu-notice-sentence">{title}</h2>
        <p className="npu-mono" data-testid="trust-path">{path}</p>
        <p className="npu-secondary">{t('trust.text', { count: models.length, models: more > 0 ? t('trust.more', { models: names, count: more }) : names })}</p>
        <div className="npu-row npu-trust-buttons">
          <TrustButton path={path} />
          {onPutOff !== undefined && <Button onClick={onPutOff} data-testid="trust-later">{t('trust.later')}</Button>}
        </div>
        {failure?.action === 'trust' && failure.path === path && <ErrorNotice sentence={t('trust.failed')} error={failure.error} />}
      </div>
    </section>
  )
}

const SHOWN_NAMES = 5

/** Also the fix in the error card of a load that was refused, and in the review of an import. @param onTrusted what comes next, where the server does not push it */
export function TrustButton({ path, onTrusted }: { readonly path: string; readonly onTrusted?: () => void }) {
  const { t } = useTranslation('models')
  const isOpen = useConsole((state) => state.connection === 'open')
  const busy = useTrust((state) => state.busy)
  return <Button appearance="primary" icon={<CheckIcon />} disabledFocusable={!isOpen || busy !== null} onClick={() => { if (isOpen) void changeTrust('trust', path).then((isChanged) => { if (isChanged) onTrusted?.() }) }} data-testid="trust-repository">{t('trust.button')}</Button>
}
