/** Every version with its state, since when, and why; what it serves now; what lies on disk. */
import { Fragment, useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelSummary, ModelVersionSummary } from '../../../server-core/contract/repository.ts'
import { Age } from '../../components/age.tsx'
import { Card } from '../../components/card.tsx'
import { LatencyFigure } from '../../components/latency-figure.tsx'
import { StatePill } from '../../components/state-pill.tsx'
import { useConsole } from '../../console-store.ts'
import { formatBytes, formatCount, formatDate, formatRate, UNKNOWN } from '../../lib/format.ts'
import { versionState } from '../../lib/model-state.ts'
import { traffic } from '../../lib/sample-figures.ts'
import type { TrafficFigures } from '../../lib/sample-figures.ts'

const COLUMNS = 9

export function VersionsCard({ model }: { readonly model: ModelSummary }) {
  const { t } = useTranslation('model-detail')
  const samples = useConsole((state) => state.samples)
  const figures = useMemo(() => traffic(samples), [samples])
  const versions = [...model.versions].sort((a, b) => Number(b.version) - Number(a.version))
  return (
    <Card title={t('versions.title')} note={formatCount(versions.length)} isFlush>
      <div className="npu-scroll-x"><table className="npu-table" data-testid="versions">
        <thead><tr>
          <th scope="col">{t('versions.version')}</th><th scope="col">{t('versions.state')}</th><th scope="col">{t('versions.since')}</th>
          <th scope="col" className="npu-right" title={t('models:table.rateHint')}>{t('versions.rate')}</th><th scope="col" className="npu-right" title={t('models:table.p95Hint')}>p95</th>
          <th scope="col" className="npu-right" title={t('models:table.pendingHint')}>{t('versions.pending')}</th><th scope="col" className="npu-right" title={t('models:table.inFlightHint')}>{t('versions.inFlight')}</th>
          <th scope="col" className="npu-right">{t('versions.size')}</th><th scope="col" className="npu-right">{t('versions.changed')}</th>
        </tr></thead>
        <tbody>{versions.map((version) => <VersionRows key={version.version} version={version} isSimulated={model.isSimulated} figures={figures.ofVersion(model.name, version.version)} />)}</tbody>
      </table></div>
    </Card>
  )
}

function VersionRows({ version, isSimulated, figures }: { readonly version: ModelVersionSummary; readonly isSimulated: boolean; readonly figures: TrafficFigures }) {
  const state = versionState(version)
  const isServing = version.state === 'READY'
  const hasFiles = version.files.length > 0
  const hasReason = version.reason !== '' && version.reason !== 'unloaded'
  return (
    <Fragment>
      <tr data-version={version.version} className={hasReason ? 'npu-detail-with-reason' : undefined}>
        <td><b>{version.version}</b></td><td><StatePill kind={state} isPlain /></td><td className="npu-quiet"><Age time={version.changedAt} /></td>
        <td className="npu-right" data-cell="rate">{formatRate(isServing ? figures.requestsPerSecond : null)}</td><td className="npu-right"><LatencyFigure milliseconds={isServing ? figures.p95Milliseconds : null} isSimulated={isSimulated} /></td>
        <td className="npu-right">{formatCount(isServing ? figures.pending : null)}</td><td className="npu-right">{formatCount(isServing ? figures.inFlight : null)}</td>
        <td className="npu-right">{hasFiles ? formatBytes(version.files.reduce((sum, file) => sum + file.byteSize, 0)) : UNKNOWN}</td>
        <td className="npu-right">{hasFiles ? formatDate(Math.max(...version.files.map((file) => file.modifiedAt))) : UNKNOWN}</td>
      </tr>
      {hasReason && <tr><td colSpan={COLUMNS} className="npu-detail-reason npu-secondary">{version.reason}</td></tr>}
    </Fragment>
  )
}
