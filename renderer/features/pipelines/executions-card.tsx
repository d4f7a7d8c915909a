/** The last requests of the ensemble, and where the time of one of them went: a bar a step on one time axis, so that steps side by side are seen to be. */
import { Button } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import type { EnsembleExecution, EnsembleGraph } from '../../../server-core/contract/ensemble.ts'
import { Card } from '../../components/card.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { FixIcon } from '../../components/icons.tsx'
import { StateMark } from '../../components/state-pill.tsx'
import { valueScale } from '../../lib/chart-scale.ts'
import { formatClockMilliseconds, formatDecimal, formatMilliseconds } from '../../lib/format.ts'
import { longestRun, RUN_PARTS, runBars, runMilliseconds, stepsSideBySide } from './pipeline-figures.ts'
import type { RunPart } from './pipeline-figures.ts'
import { selectExecution, usePipelinesView } from './pipelines-store.ts'

const COLORS: Readonly<Record<RunPart, string>> = { held: 'var(--c5)', queue: 'var(--c2)', computeInput: 'var(--c3)', computeInfer: 'var(--c1)', computeOutput: 'var(--c8)', other: 'var(--c7)' }
const OUTCOMES = { success: 'ready', failure: 'failed', cancelled: 'unloaded' } as const

/** A request has no number of its own; these three do not come together twice. */
const keyOf = ({ finishedAt, id, totalNanoseconds }: EnsembleExecution) => `${finishedAt}/${totalNanoseconds}/${id}`

export function ExecutionsCard({ graph }: { readonly graph: EnsembleGraph }) {
  const { t } = useTranslation('pipelines')
  const chosen = usePipelinesView((state) => state.execution)
  const newestFirst = graph.executions.toReversed()
  const shown = chosen ?? newestFirst[0]
  if (shown === undefined) return <Card title={t('requests.title')} isFlush><EmptyState title={t('requests.none')}>{t('requests.noneHint')}</EmptyState></Card>
  return (
    <Card title={t('requests.title')} note={t('requests.note', { count: newestFirst.length })} isFlush
      actions={chosen === null ? <span className="npu-quiet npu-small-text">{t('requests.following')}</span> : <Button size="small" className="npu-small" onClick={() => selectExecution(null)}>{t('requests.follow')}</Button>}>
      <div className="npu-pipelines-requests">
        <ul className="npu-pipelines-request-list" aria-label={t('requests.title')} data-testid="pipeline-requests">
          {newestFirst.map((execution) => (
            <li key={keyOf(execution)}>
              <button type="button" className={keyOf(execution) === keyOf(shown) ? 'npu-pipelines-request npu-pipelines-request-on' : 'npu-pipelines-request'} aria-pressed={keyOf(execution) === keyOf(shown)} onClick={() => selectExecution(execution)}>
                <StateMark kind={OUTCOMES[execution.outcome]} isDecoration /><span className="npu-visually-hidden">{t(`requests.outcome.${execution.outcome}`)}</span>
                <span>{formatClockMilliseconds(execution.finishedAt)}</span><span className="npu-quiet npu-cut" title={execution.id}>{execution.id}</span><span className="npu-grow" /><b>{formatMilliseconds(execution.totalNanoseconds / 1e6)}</b>
              </button>
            </li>
          ))}
        </ul>
        <Waterfall execution={shown} graph={graph} />
      </div>
    </Card>
  )
}

function Waterfall({ execution, graph }: { readonly execution: EnsembleExecution; readonly graph: EnsembleGraph }) {
  const { t } = useTranslation('pipelines')
  const nameOf = (step: number) => `${step + 1} ${graph.steps.find((entry) => entry.step === step)?.modelName ?? ''}`
  const hasSlots = graph.maxInflightRequests > 0
  const { top, ticks } = valueScale(execution.totalNanoseconds / 1e6)
  const at = (milliseconds: number) => `${Math.max(0, Math.min(100, (milliseconds / top) * 100))}%`
  const used = new Set(execution.steps.flatMap((run) => runBars(run, execution, hasSlots).map(({ part }) => part)))
  return (
    <div className="npu-pipelines-waterfall" data-testid="pipeline-waterfall">
      <Sentence execution={execution} nameOf={nameOf} />
      {execution.error !== null && <pre className="npu-server-text">{execution.error}</pre>}
      <div className="npu-pipelines-scroll npu-pipelines-waterfall-rows" tabIndex={0} role="group" aria-label={t('requests.waterfall')}>
        <table>
          <thead><tr><td /><td aria-hidden="true"><div className="npu-pipelines-axis">{ticks.map((tick, index) => <span key={tick} style={{ left: at(tick) }}>{index === ticks.length - 1 ? `${tick} ms` : tick}</span>)}</div></td><td /></tr></thead>
          <tbody>{execution.steps.map((run, index) => {
            const bars = runBars(run, execution, hasSlots)
            const took = formatMilliseconds(runMilliseconds(run, execution))
            return (
              <tr key={index} data-step={run.step}>
                <th scope="row"><span className="npu-cut" title={nameOf(run.step)}>{nameOf(run.step)}{run.iteration > 0 && <span className="npu-quiet">{` #${run.iteration}`}</span>}</span></th>
                <td aria-hidden="true"><div className="npu-pipelines-track">
                  {ticks.map((tick) => <i key={tick} className="npu-pipelines-rule" style={{ left: at(tick) }} />)}
                  {bars.map((bar) => <i key={bar.part} className={`npu-pipelines-bar${run.error === null ? '' : ' npu-pipelines-bar-failed'}`} title={`${t(`part.${bar.part}`)}: ${formatMilliseconds(bar.duration)}`} style={{ left: at(bar.start), width: at(bar.duration), background: COLORS[bar.part] }} />)}
                </div></td>
                <td className="npu-right"><span className="npu-visually-hidden">{bars.map((bar) => `${t(`part.${bar.part}`)} ${formatMilliseconds(bar.duration)}`).join(', ')}; </span>
                  {run.error !== null ? <span className="npu-is-failed" title={run.error}>{t('requests.failed')}</span> : run.endNanoseconds === null ? <span className="npu-quiet">{t('requests.open')}</span> : took}</td>
              </tr>
            )
          })}</tbody>
        </table>
      </div>
      {execution.omittedStepRuns > 0 && <p className="npu-secondary">{t('requests.omitted', { count: execution.omittedStepRuns })}</p>}
      <ul className="npu-pipelines-legend">{RUN_PARTS.filter((part) => used.has(part)).map((part) => <li key={part}><i style={{ background: COLORS[part] }} aria-hidden="true" />{t(`part.${part}`)}</li>)}</ul>
    </div>
  )
}

/** What the waterfall shows, before it: which step decides, and which ran side by side. */
function Sentence({ execution, nameOf }: { readonly execution: EnsembleExecution; readonly nameOf: (step: number) => string }) {
  const { t } = useTranslation('pipelines')
  const longest = longestRun(execution)
  if (longest === null) return <p className="npu-pipelines-sentence">{t('requests.noStep')}</p>
  const together = stepsSideBySide(execution)
  return (
    <p className="npu-pipelines-sentence"><FixIcon aria-hidden="true" />
      <b>{t('requests.longest', { step: nameOf(longest.run.step), share: formatDecimal(longest.share * 100, 0), total: formatMilliseconds(execution.totalNanoseconds / 1e6) })}</b>
      {together.length > 0 && <span data-testid="side-by-side">{t('requests.together', { steps: together.map((step) => step + 1).join(', ') })}</span>}
    </p>
  )
}
