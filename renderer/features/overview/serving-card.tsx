/** What serves now: one line a model, with its traffic. */
import { Button } from '@fluentui/react-components'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { Card } from '../../components/card.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { LatencyFigure } from '../../components/latency-figure.tsx'
import { LoadingState } from '../../components/loading-state.tsx'
import { RunsOnBadge } from '../../components/runs-on-badge.tsx'
import { StateMark, StatePill } from '../../components/state-pill.tsx'
import { useConsole } from '../../console-store.ts'
import { formatCount, formatRate, UNKNOWN } from '../../lib/format.ts'
import { modelState, readyVersions } from '../../lib/model-state.ts'
import type { ModelStateKind } from '../../lib/model-state.ts'
import { traffic } from '../../lib/sample-figures.ts'
import { navigate, routeHash } from '../../router.ts'

/** Lines shown here; the models page has them all. */
const SHOWN = 100
const ACTIVE: readonly ModelStateKind[] = ['ready', 'degraded', 'loading', 'unloading']

export function ServingCard() {
  const { t } = useTranslation('overview')
  const models = useConsole((state) => state.models)
  const samples = useConsole((state) => state.samples)
  const figures = useMemo(() => traffic(samples), [samples])
  const active = useMemo(() => (models ?? []).filter((model) => ACTIVE.includes(modelState(model))).sort((a, b) => Number(modelState(a) === 'loading') - Number(modelState(b) === 'loading') || (a.name < b.name ? -1 : 1)), [models])
  const loading = active.filter((model) => modelState(model) === 'loading').length
  const note = [t('serving.note', { count: active.length - loading }), ...(loading > 0 ? [t('serving.loading', { count: loading })] : [])].join(' · ')
  return (
    <Card title={t('serving.title')} note={note} actions={<a className="npu-link" href={routeHash('models')}>{t('serving.open')}</a>} isFlush isGrowing className="npu-serving">
      {active.length === 0 ? <EmptyState title={t('serving.nothing')} actions={<Button onClick={() => navigate('models')}>{t('serving.open')}</Button>}>{t('serving.nothingHint')}</EmptyState> : (
        <div className="npu-serving-scroll" tabIndex={0} role="group" aria-label={t('serving.title')}>
          <table className="npu-table">
            <thead><tr>
              <th scope="col">{t('serving.model')}</th><th scope="col">{t('serving.version')}</th><th scope="col">{t('serving.runsOn')}</th><th scope="col" className="npu-right">{t('serving.instances')}</th>
              <th scope="col" className="npu-right">{t('serving.queue')}</th><th scope="col" className="npu-right">{t('serving.rate')}</th><th scope="col" className="npu-right">{t('serving.p95')}</th>
            </tr></thead>
            <tbody>{active.slice(0, SHOWN).map((model) => {
              const state = modelState(model)
              const isUp = state === 'ready' || state === 'degraded'
              const row = figures.of(model.name)
              return (
                <tr key={model.name}>
                  <td><span className="npu-row npu-serving-name"><StateMark kind={state} /><a className="npu-cut" href={routeHash('models', model.name)} title={model.name}>{model.name}</a></span></td>
                  <td className="npu-secondary">{readyVersions(model).join(', ') || UNKNOWN}</td>
                  <td><RunsOnBadge model={model} /></td>
                  <td className="npu-right">{formatCount(model.instanceCount)}</td>
                  <td className="npu-right">{formatCount(isUp ? row.pending : null)}</td>
                  <td className="npu-right">{formatRate(isUp ? row.requestsPerSecond : null)}</td>
                  <td className="npu-right">{isUp ? <LatencyFigure milliseconds={row.p95Milliseconds} isSimulated={model.isSimulated} /> : state === 'loading' ? <LoadingState name={model.name} stage={model.stage} /> : <StatePill kind={state} isPlain />}</td>
                </tr>
              )
            })}</tbody>
          </table>
          {active.length > SHOWN && <p className="npu-serving-more npu-secondary">{t('serving.more', { count: active.length - SHOWN })}</p>}
        </div>
      )}
    </Card>
  )
}
