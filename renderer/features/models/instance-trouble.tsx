/** A model that loaded and lost instances since: how many still run, what each that does not run says and when it comes back, and what to do about those given up. */
import { Button } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import type { ModelSummary } from '../../../server-core/contract/repository.ts'
import { Card } from '../../components/card.tsx'
import { FaultText } from '../../components/fault-text.tsx'
import { RetryIcon } from '../../components/icons.tsx'
import { instanceTally } from '../../lib/instance-state.ts'
import { readPythonFailure } from '../../lib/python-failure.ts'
import { InstanceState } from './instances-card.tsx'
import { PythonFailureDetails } from './python-failure-details.tsx'
import { loadModels, useLoadAvailability } from './models-store.ts'
import './instance-trouble.css'

export function InstanceTrouble({ model, isCard = false }: { readonly model: ModelSummary; readonly isCard?: boolean }) {
  const { t } = useTranslation('model-detail')
  return isCard ? <Card title={t('trouble.title')}><Trouble model={model} /></Card> : <Trouble model={model} />
}

function Trouble({ model }: { readonly model: ModelSummary }) {
  const { t } = useTranslation('model-detail')
  const availability = useLoadAvailability()
  const { total, running, restarting, givenUp } = instanceTally(model)
  const comesBack = restarting.length === 0 ? '' : t(restarting.some(({ instance }) => instance.restart?.limit === null) ? 'trouble.comesBackWithCard' : 'trouble.comesBack')
  const reload = () => { if (availability.canChange) void loadModels([model.name]) }
  return (
    <div className="npu-detail-trouble" data-testid="instance-trouble">
      <h3>{running > 0 ? t('trouble.some', { running, count: total }) : t('trouble.none')}</h3>
      <p className="npu-secondary">{[comesBack, givenUp.length > 0 ? t('trouble.givenUp', { count: givenUp.length }) : ''].filter((text) => text !== '').join(' ')}</p>
      <ul>{[...restarting, ...givenUp].map(({ version, instance }) => (
        <li key={`${version}/${instance.name}`}>
          <div className="npu-row"><span className="npu-mono">{instance.name}</span><InstanceState instance={instance} /></div>
          {readPythonFailure(instance.reason) === null ? <FaultText what="instance" text={instance.reason} /> : <PythonFailureDetails model={model} text={instance.reason} />}
        </li>
      ))}</ul>
      {givenUp.length > 0 && (
        <div className="npu-row npu-detail-trouble-actions">
          <Button appearance="primary" icon={<RetryIcon />} disabledFocusable={!availability.canChange} onClick={reload} data-testid="trouble-reload">{t('trouble.reload')}</Button>
          {!availability.canChange && <span className="npu-secondary">{t(`models:blocked.${availability.reason}`)}</span>}
        </div>
      )}
    </div>
  )
}
