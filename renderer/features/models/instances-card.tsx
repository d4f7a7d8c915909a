/** The running copies of the serving versions, and what is wrong with them. */
import { useTranslation } from 'react-i18next'
import type { ModelInstanceState, ModelInstanceSummary, ModelSummary } from '../../../server-core/contract/repository.ts'
import { Card } from '../../components/card.tsx'
import { RestartPill } from '../../components/restart-pill.tsx'
import { StatePill, type StateKind } from '../../components/state-pill.tsx'
import { instanceTally } from '../../lib/instance-state.ts'

const STATES: Readonly<Record<ModelInstanceState, StateKind>> = { STARTING: 'loading', READY: 'ready', RESTARTING: 'degraded', FAILED: 'failed', STOPPED: 'unloading' }

export function InstancesCard({ model }: { readonly model: ModelSummary }) {
  const { t } = useTranslation('model-detail')
  const rows = model.versions.flatMap(({ version, instances }) => instances.map((instance) => ({ version, instance })))
  const { total, running } = instanceTally(model)
  if (rows.length === 0) return null
  const note = [t('instances.running', { running, count: total }), ...(rows.length > total ? [t('instances.passiveCount', { count: rows.length - total })] : [])].join(' · ')
  return (
    <Card title={t('instances.title')} note={note} isFlush>
      <div className="npu-scroll-x"><table className="npu-table" data-testid="instances">
        <thead><tr><th scope="col">{t('instances.name')}</th><th scope="col">{t('instances.version')}</th><th scope="col">{t('instances.kind')}</th><th scope="col">{t('instances.state')}</th><th scope="col" className="npu-grow-cell">{t('instances.reason')}</th></tr></thead>
        <tbody>{rows.map(({ version, instance }, index) => (
          <tr key={`${version}/${index}`}>
            <td className="npu-mono">{instance.name}</td><td>{version}</td><td className="npu-mono">{instance.kind.replace('KIND_', '')}</td>
            <td><InstanceState instance={instance} /></td><td className="npu-detail-reason">{instance.reason}</td>
          </tr>
        ))}</tbody>
      </table></div>
    </Card>
  )
}

export function InstanceState({ instance }: { readonly instance: ModelInstanceSummary }) {
  const { t } = useTranslation('model-detail')
  if (instance.restart !== null) return <RestartPill restart={instance.restart} />
  return <StatePill kind={STATES[instance.state]} text={t(instance.isPassive && instance.state === 'READY' ? 'instances.passive' : `instances.of.${instance.state}`)} isPlain />
}
