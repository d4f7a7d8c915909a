/** The running copies of the serving versions, and what is wrong with them. */
import { Fragment } from 'react'
import { useTranslation } from 'react-i18next'
import { devicesOf, type InstanceProcess, type ModelInstanceReport, type ModelInstanceState, type ModelInstanceSummary, type ModelSummary } from '../../../server-core/contract/repository.ts'
import { Age } from '../../components/age.tsx'
import { Card } from '../../components/card.tsx'
import { RestartPill } from '../../components/restart-pill.tsx'
import { StatePill, type StateKind } from '../../components/state-pill.tsx'
import { formatBytes, UNKNOWN } from '../../lib/format.ts'
import { instanceTally } from '../../lib/instance-state.ts'
import { readPythonFailure } from '../../lib/python-failure.ts'

const COLUMNS = { withReports: 6, withKind: 5 } as const
const STATES: Readonly<Record<ModelInstanceState, StateKind>> = { STARTING: 'loading', READY: 'ready', RESTARTING: 'degraded', FAILED: 'failed', STOPPED: 'unloading' }

export function InstancesCard({ model }: { readonly model: ModelSummary }) {
  const { t } = useTranslation('model-detail')
  const rows = model.versions.flatMap(({ version, instances }) => instances.map((instance) => ({ version, instance })))
  const { total, running } = instanceTally(model)
  if (rows.length === 0) return null
  // The kind of the group would only contradict what backends say: they choose cards themselves and leave it at KIND_CPU.
  const hasReports = rows.some(({ instance }) => instance.report !== undefined)
  const columns = hasReports ? COLUMNS.withReports : COLUMNS.withKind
  const note = [t('instances.running', { running, count: total }), ...(rows.length > total ? [t('instances.passiveCount', { count: rows.length - total })] : [])].join(' · ')
  return (
    <Card title={t('instances.title')} note={note} isFlush>
      <div className="npu-scroll-x" role="region" tabIndex={0} aria-label={t('instances.title')}><table className="npu-table" data-testid="instances">
        <thead><tr><th scope="col">{t('instances.name')}</th><th scope="col">{t('instances.version')}</th>{hasReports ? <><th scope="col">{t('instances.runsOn')}</th><th scope="col">{t('instances.how')}</th><th scope="col" className="npu-right">{t('instances.memory')}</th></> : <th scope="col">{t('instances.kind')}</th>}<th scope="col">{t('instances.state')}</th>{!hasReports && <th scope="col" className="npu-grow-cell">{t('instances.reason')}</th>}</tr></thead>
        <tbody>{rows.map(({ version, instance }, index) => (
          <Fragment key={`${version}/${index}`}><tr className={(hasReports && instance.reason !== '') || instance.process !== undefined ? 'npu-detail-with-reason' : undefined}>
            <td className="npu-mono" title={instance.kind}>{instance.name}</td><td>{version}</td>{hasReports ? <ReportCells report={instance.report} /> : <td className="npu-mono">{instance.kind.replace('KIND_', '')}</td>}
            <td><InstanceState instance={instance} /></td>{!hasReports && <td className="npu-detail-reason">{firstLine(instance.reason)}</td>}
          </tr>
          {instance.process !== undefined && <tr><td colSpan={columns} className="npu-detail-reason npu-secondary" data-testid="instance-process"><Process process={instance.process} /></td></tr>}
          {/* Beside what the backend says there is no width left for sentences. */}
          {hasReports && instance.reason !== '' && <tr><td colSpan={columns} className="npu-detail-reason npu-secondary">{instance.reason}</td></tr>}</Fragment>
        ))}</tbody>
      </table></div>
    </Card>
  )
}

/** What the backend says of an instance; what it does not say is left out, and nothing at all is an em dash. */
function ReportCells({ report }: { readonly report: ModelInstanceReport | undefined }) {
  const { t } = useTranslation('model-detail')
  if (report === undefined) return <><td className="npu-quiet">{UNKNOWN}</td><td className="npu-quiet">{UNKNOWN}</td><td className="npu-right npu-quiet">{UNKNOWN}</td></>
  const how = [
    report.precision, report.graph === undefined ? undefined : t(`instances.graph.${report.graph}`), report.gears === undefined || report.gears.length === 0 ? undefined : t('instances.gears', { count: report.gears.length }),
    report.streams === undefined ? undefined : t('instances.streams', { count: report.streams }),
  ].filter((fact) => fact !== undefined)
  const hints = [...(report.gears ?? []), ...(report.notes ?? [])].join('\n')
  const bytes = report.weight_bytes === undefined && report.workspace_bytes === undefined ? null : (report.weight_bytes ?? 0) + (report.workspace_bytes ?? 0)
  const parts = [report.weight_bytes === undefined ? '' : t('instances.weights', { size: formatBytes(report.weight_bytes) }), report.workspace_bytes === undefined ? '' : t('instances.workspace', { size: formatBytes(report.workspace_bytes) })]
  const devices = devicesOf(report)
  return (
    <>
      <td>{devices.length > 0 ? t('common:runsOn.cards', { cards: devices.join(', ') }) : report.runs_on?.toUpperCase() ?? UNKNOWN}{report.chip !== undefined && <span className="npu-quiet"> {report.chip}</span>}{report.simulated === true && <> <StatePill kind="simulated" isPlain /></>}</td>
      <td title={hints}>{how.length === 0 ? UNKNOWN : how.join(' · ')}</td>
      <td className="npu-right" title={parts.filter((part) => part !== '').join('\n')}>{formatBytes(bytes)}</td>
    </>
  )
}

/** The rest stands in the card of the trouble. */
function firstLine(text: string): string { return text.split('\n')[0] ?? '' }

/** Which process, with what, and how often it had to be replaced. */
function Process({ process: { processId, python, deaths, lastDeath } }: { readonly process: InstanceProcess }) {
  const { t } = useTranslation('model-detail')
  return (
    <div className="npu-detail-process">
      <span>{processId === null ? t('process.none') : t('process.running', { id: processId })}</span>
      <span className="npu-mono" title={python.interpreter}>{t('process.python', { version: python.version, numpy: python.numpyVersion })}</span>
      <span>{deaths === 0 ? t('process.noDeath') : t('process.deaths', { count: deaths })}</span>
      {lastDeath !== null && <span>{t('process.last')} <Age time={lastDeath.at} />: <span className="npu-mono">{lastWords(lastDeath.reason)}</span></span>}
    </div>
  )
}

/** How it ended, without which process that was. */
function lastWords(reason: string): string {
  const failure = readPythonFailure(reason)
  return failure === null || failure.summary === '' ? firstLine(reason) : failure.summary
}

export function InstanceState({ instance }: { readonly instance: ModelInstanceSummary }) {
  const { t } = useTranslation('model-detail')
  if (instance.restart !== null) return <RestartPill restart={instance.restart} />
  return <StatePill kind={STATES[instance.state]} text={t(instance.isPassive && instance.state === 'READY' ? 'instances.passive' : `instances.of.${instance.state}`)} isPlain />
}
