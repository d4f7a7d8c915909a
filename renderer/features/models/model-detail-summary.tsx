/** A model at a glance: what is wrong, its versions and their traffic, its instances and loads, what it takes and gives, and how it is served, in words. */
import { useTranslation } from 'react-i18next'
import type { ModelDetail } from '../../../server-core/contract/console-api.ts'
import type { ModelConfig } from '../../../server-core/contract/model-config.ts'
import type { ModelSummary } from '../../../server-core/contract/repository.ts'
import type { TensorMetadata } from '../../../server-core/contract/inference.ts'
import { Card } from '../../components/card.tsx'
import { FaultText } from '../../components/fault-text.tsx'
import { RunsOnBadge } from '../../components/runs-on-badge.tsx'
import { formatCount, formatShape, UNKNOWN } from '../../lib/format.ts'
import { hasInstanceTrouble } from '../../lib/instance-state.ts'
import { failureReason, modelState } from '../../lib/model-state.ts'
import { FailureCard } from './failure-card.tsx'
import { InstanceTrouble } from './instance-trouble.tsx'
import { InstancesCard } from './instances-card.tsx'
import { InterpreterCard } from './interpreter-card.tsx'
import { LoadCard } from './load-card.tsx'
import { TrafficCard } from './traffic-card.tsx'
import { VersionsCard } from './versions-card.tsx'

export function ModelDetailSummary({ detail }: { readonly detail: ModelDetail }) {
  const { t } = useTranslation('model-detail')
  const { summary } = detail
  const hasFailed = failureReason(summary) !== '' && ['failed', 'degraded'].includes(modelState(summary))
  return (
    <div className="npu-detail-grid">
      <div className="npu-column npu-detail-stack">
        {hasInstanceTrouble(summary) ? <InstanceTrouble model={summary} isCard /> : hasFailed && <Card title={t('failure')}><FailureCard model={summary} /></Card>}
        <VersionsCard model={summary} />
        <TrafficCard model={summary} />
        <InstancesCard model={summary} />
        <SignatureCard detail={detail} />
      </div>
      <div className="npu-column npu-detail-stack">
        {summary.backend === 'python' && <InterpreterCard detail={detail} />}
        <LoadCard model={summary} />
        <ServingCard detail={detail} />
      </div>
    </div>
  )
}

function SignatureCard({ detail }: { readonly detail: ModelDetail }) {
  const { t } = useTranslation('model-detail')
  const { metadata, config } = detail
  const rows = (way: 'input' | 'output', tensors: readonly TensorMetadata[]) => tensors.map((tensor) => (
    <tr key={`${way}/${tensor.name}`}>
      <td className="npu-quiet">{t(`signature.${way}`)}</td><td className="npu-mono"><b>{tensor.name}</b></td><td className="npu-mono">{tensor.datatype}</td><td className="npu-mono">{formatShape(tensor.shape)}</td>
      <td className="npu-quiet">{way === 'input' && config?.input.find((entry) => entry.name === tensor.name)?.optional ? t('signature.optional') : ''}</td>
    </tr>
  ))
  return (
    <Card title={t('signature.title')} note={metadata ? t('signature.note') : undefined} isFlush>
      {metadata ? (
        <div className="npu-scroll-x"><table className="npu-table">
          <thead><tr><th scope="col">{t('signature.way')}</th><th scope="col">{t('signature.name')}</th><th scope="col">{t('signature.datatype')}</th><th scope="col">{t('signature.shape')}</th><td aria-hidden="true" className="npu-grow-cell" /></tr></thead>
          <tbody>{rows('input', metadata.inputs)}{rows('output', metadata.outputs)}</tbody>
        </table></div>
      ) : <p className="npu-card-body npu-quiet">{t('signature.unknown')}</p>}
    </Card>
  )
}

function ServingCard({ detail }: { readonly detail: ModelDetail }) {
  const { t } = useTranslation('model-detail')
  const { summary, config } = detail
  const parameters = Object.entries(config?.parameters ?? {})
  // Backends choose their cards by parameters: the kind of their groups stays KIND_CPU, which is no place.
  const isOnCard = summary.runsOn?.includes('NPU') === true
  return (
    <Card title={t('serving.title')}>
      <dl className="npu-facts">
        <Fact name={t('facts.backend')}><span className="npu-mono">{summary.backend || summary.platform || UNKNOWN}</span></Fact>
        <Fact name={t('facts.runsOn')}><RunsOnBadge model={summary} />{summary.degraded !== null && <FallbackReason model={summary} />}</Fact>
        <Fact name={t('facts.instances')}>{config ? config.instance_group.map((group) => t(isOnCard ? 'facts.groupOnCard' : 'facts.group', { count: group.count, instances: formatCount(group.count), kind: group.kind.replace('KIND_', '') })).join(' + ') : UNKNOWN}</Fact>
        <Fact name={t('facts.batching')}>{config ? <Batching config={config} /> : UNKNOWN}</Fact>
        <Fact name={t('facts.versions')}>{config ? <VersionPolicy config={config} /> : UNKNOWN}</Fact>
        <Fact name={t('facts.folder')}><span className="npu-mono npu-break">{`${summary.repositoryPath}/${summary.name}`}</span></Fact>
        {parameters.map(([key, value]) => <Fact key={key} name={<span className="npu-mono">{key}</span>}><span className="npu-mono npu-break">{value.string_value}</span></Fact>)}
      </dl>
    </Card>
  )
}

function Fact({ name, children }: { readonly name: React.ReactNode; readonly children: React.ReactNode }) {
  return <div><dt>{name}</dt><dd>{children}</dd></div>
}

/** Why it runs on the CPU though a card was asked for. */
function FallbackReason({ model }: { readonly model: ModelSummary }) {
  return model.degraded === null ? null : <FaultText what="fallback" text={model.degraded.reason} />
}

/** The batching settings as a sentence. */
function Batching({ config }: { readonly config: ModelConfig }) {
  const { t } = useTranslation('model-detail')
  const size = config.max_batch_size
  if (size === 0) return <>{t('batching.none')}</>
  const dynamic = config.dynamic_batching
  if (!dynamic) return <>{t('batching.client', { size })}</>
  const preferred = dynamic.preferred_batch_size.length > 0 ? t('batching.preferred', { sizes: dynamic.preferred_batch_size.join(', ') }) : ''
  const delay = dynamic.max_queue_delay_microseconds > 0 ? t('batching.delay', { delay: formatCount(dynamic.max_queue_delay_microseconds) }) : t('batching.noDelay')
  return <>{t('batching.dynamic', { size })}{preferred}{delay}</>
}

function VersionPolicy({ config }: { readonly config: ModelConfig }) {
  const { t } = useTranslation('model-detail')
  const policy = config.version_policy
  if (policy?.all) return <>{t('policy.all')}</>
  if (policy?.specific) return <>{t('policy.specific', { versions: policy.specific.versions.join(', ') })}</>
  return <>{t('policy.latest', { count: policy?.latest?.num_versions ?? 1 })}</>
}
