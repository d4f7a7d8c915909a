/** The load that goes on, with its stage and how long that takes, and how long each part of the last one took. */
import { Button } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import type { LoadStage, ModelLoadReport, ModelSummary } from '../../../server-core/contract/repository.ts'
import { Age } from '../../components/age.tsx'
import { Card } from '../../components/card.tsx'
import { CloseIcon } from '../../components/icons.tsx'
import { useStageWord } from '../../components/loading-state.tsx'
import { StatePill } from '../../components/state-pill.tsx'
import { useConsole } from '../../console-store.ts'
import { formatMilliseconds } from '../../lib/format.ts'
import { modelState } from '../../lib/model-state.ts'
import { useNow } from '../../lib/use-now.ts'
import { cancelLoad, useLoadAvailability } from './models-store.ts'

export function LoadCard({ model }: { readonly model: ModelSummary }) {
  const { t } = useTranslation('model-detail')
  const { stage, lastLoad } = model
  if (stage === null && lastLoad === null) return null
  return (
    <Card title={t(stage === null ? 'loadRun.last' : 'loadRun.running')} note={stage === null && lastLoad !== null ? <Age time={lastLoad.endedAt} /> : undefined}>
      {stage !== null ? <Running model={model} stage={stage} /> : lastLoad !== null && <Report report={lastLoad} />}
    </Card>
  )
}

function Running({ model, stage }: { readonly model: ModelSummary; readonly stage: LoadStage }) {
  const { t } = useTranslation('model-detail')
  const word = useStageWord(stage)
  const now = useNow()
  const startedAt = useConsole((state) => state.loadStartedAt[model.name]) ?? stage.startedAt
  const availability = useLoadAvailability()
  const seconds = (since: number) => t('loadRun.seconds', { count: Math.max(0, Math.floor((now - since) / 1000)) })
  // Where a version serves, unload would take that too.
  const canCancel = modelState(model) === 'loading'
  return (
    <div className="npu-column" data-testid="running-load">
      <div className="npu-row"><StatePill kind="loading" text={word} isPlain />{stage.version !== '' && <span className="npu-quiet">{t('loadRun.version', { version: stage.version })}</span>}<span className="npu-grow" /><b data-testid="stage-time">{seconds(stage.startedAt)}</b></div>
      <p className="npu-secondary">{t('loadRun.whole', { time: seconds(startedAt) })}</p>
      {canCancel && <div className="npu-row"><Button icon={<CloseIcon />} disabledFocusable={!availability.canChange} onClick={() => { if (availability.canChange) void cancelLoad(model.name) }} data-testid="cancel-load">{t('loadRun.cancel')}</Button></div>}
    </div>
  )
}

const OUTCOMES = { loaded: 'ready', failed: 'failed', outdated: 'unloaded' } as const

function Report({ report }: { readonly report: ModelLoadReport }) {
  const { t } = useTranslation('model-detail')
  const total = Math.max(1, report.endedAt - report.startedAt)
  return (
    <div className="npu-column" data-testid="last-load">
      <div className="npu-row"><StatePill kind={OUTCOMES[report.outcome]} text={t(`loadRun.outcome.${report.outcome}`)} isPlain /><span className="npu-grow" /><b>{formatMilliseconds(report.endedAt - report.startedAt)}</b></div>
      <table className="npu-detail-stages"><tbody>{report.stages.map((stage) => (
        <tr key={`${stage.version}/${stage.kind}`}>
          <th scope="row">{t(`common:stage.${stage.kind}`)}{stage.version !== '' && <span className="npu-quiet">{` · ${t('loadRun.version', { version: stage.version })}`}</span>}</th>
          <td aria-hidden="true"><span className="npu-detail-stage-track"><i style={{ left: `${Math.min(99, Math.max(0, ((stage.startedAt - report.startedAt) / total) * 100))}%`, width: `${Math.min(100, (stage.milliseconds / total) * 100)}%` }} /></span></td>
          <td className="npu-right">{formatMilliseconds(stage.milliseconds)}</td>
        </tr>
      ))}</tbody></table>
    </div>
  )
}
