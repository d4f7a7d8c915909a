/** What each step costs: mean, share, last, and what waits and runs at its model now. */
import { useTranslation } from 'react-i18next'
import { Card } from '../../components/card.tsx'
import { formatCount, formatDecimal, formatMilliseconds, joinFigure, percentFigure, UNKNOWN } from '../../lib/format.ts'
import type { StepFigures } from './pipeline-figures.ts'
import { selectStep, usePipelinesView } from './pipelines-store.ts'

export function StepTimes({ figures }: { readonly figures: readonly StepFigures[] }) {
  const { t } = useTranslation('pipelines')
  const selected = usePipelinesView((state) => state.step)
  return (
    <Card title={t('times.title')} note={<Verdict figures={figures} />} isFlush>
      <div className="npu-pipelines-scroll"><table className="npu-table" data-testid="step-times">
        <thead><tr>
          <th scope="col">{t('times.step')}</th><th scope="col" className="npu-right">{t('times.mean')}</th><th scope="col" title={t('times.shareHint')}>{t('times.share')}</th><th scope="col" className="npu-right">{t('times.last')}</th>
          <th scope="col" className="npu-right" title={t('times.queueHint')}>{t('times.queue')}</th><th scope="col" className="npu-right" title={t('times.pendingHint')}>{t('times.pending')}</th>
          <th scope="col" className="npu-right" title={t('times.inFlightHint')}>{t('times.inFlight')}</th><th scope="col" className="npu-right">{t('times.runs')}</th><th scope="col" className="npu-right">{t('times.failed')}</th>
        </tr></thead>
        <tbody>{figures.map(({ step, mean, share, last, meanQueue, pending, inFlight, runs, failed }) => (
          <tr key={step.step} className={selected === step.step ? 'npu-pipelines-row-on' : undefined} data-step={step.step}>
            <td><button type="button" className="npu-link npu-pipelines-step-link" aria-pressed={selected === step.step} onClick={() => selectStep(selected === step.step ? null : step.step)}>{`${step.step + 1} ${step.modelName}`}</button></td>
            <td className="npu-right"><b>{formatMilliseconds(mean)}</b></td>
            <td><span className="npu-row"><span className="npu-pipelines-share" aria-hidden="true"><i style={{ width: `${(share ?? 0) * 100}%` }} /></span><span className="npu-pipelines-percent">{share === null ? UNKNOWN : joinFigure(percentFigure(share))}</span></span></td>
            <td className="npu-right">{formatMilliseconds(last)}</td><td className="npu-right">{formatMilliseconds(meanQueue)}</td><td className="npu-right">{formatCount(pending)}</td><td className="npu-right">{formatCount(inFlight)}</td>
            <td className="npu-right">{formatCount(runs)}</td><td className={`npu-right${failed > 0 ? ' npu-is-failed' : ''}`}>{formatCount(failed)}</td>
          </tr>
        ))}</tbody>
      </table></div>
    </Card>
  )
}

/** The conclusion, before the figures. */
function Verdict({ figures }: { readonly figures: readonly StepFigures[] }) {
  const { t } = useTranslation('pipelines')
  const [first, ...others] = figures.filter((entry) => entry.share !== null)
  if (first === undefined) return <>{t('times.none')}</>
  const longest = others.reduce((best, entry) => ((entry.share ?? 0) > (best.share ?? 0) ? entry : best), first)
  return <>{t('times.verdict', { step: longest.step.step + 1, model: longest.step.modelName, share: formatDecimal((longest.share ?? 0) * 100, 0) })}</>
}
