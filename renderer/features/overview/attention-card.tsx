/** What needs a person, each with the button that helps. */
import { Button } from '@fluentui/react-components'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { Card } from '../../components/card.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { FaultText } from '../../components/fault-text.tsx'
import { StateMark } from '../../components/state-pill.tsx'
import { useConsole } from '../../console-store.ts'
import { explainFailure, formatPlace } from '../../lib/failure-explanation.ts'
import { hasInstanceTrouble, instanceTally, type InstanceTally } from '../../lib/instance-state.ts'
import { compareByAttention, failureReason, modelState } from '../../lib/model-state.ts'
import { navigate, routeHash } from '../../router.ts'
import { failureSentence } from '../models/failure-sentence.ts'
import { loadModels, setCursor, setFilter, setText, useLoadAvailability } from '../models/models-store.ts'

const SHOWN = 4

export function AttentionCard() {
  const { t } = useTranslation('overview')
  const models = useConsole((state) => state.models)
  const problems = useMemo(() => (models ?? []).filter((model) => ['failed', 'degraded'].includes(modelState(model))).sort(compareByAttention), [models])
  const availability = useLoadAvailability()
  const open = (name: string) => {
    setText('')
    setFilter('all')
    setCursor(name)
    navigate('models')
  }
  return (
    <Card title={t('attention.title')} note={problems.length > 0 ? problems.length : undefined} actions={problems.length > 0 ? <a className="npu-link" href={routeHash('models')}>{t('attention.all')}</a> : undefined} isFlush>
      {problems.length === 0 && <EmptyState title={t('attention.nothing')}>{t('attention.nothingHint')}</EmptyState>}
      <ul>
        {problems.slice(0, SHOWN).map((model) => {
          const state = modelState(model)
          const tally = instanceTally(model)
          const reason = failureReason(model)
          const explanation = explainFailure(reason)
          const { cause, place } = explanation
          return (
            <li key={model.name} className="npu-attention">
              <StateMark kind={state} />
              <b className="npu-attention-title">{t(hasInstanceTrouble(model) ? 'attention.instances' : state === 'failed' ? 'attention.failed' : 'attention.degraded', { name: model.name })}</b>
              <div className="npu-attention-text npu-secondary">
                {hasInstanceTrouble(model) ? <InstanceReason tally={tally} /> : <p title={reason}>{cause === null ? reason : failureSentence(t, model, explanation)}</p>}
                {place !== null && <code className="npu-quiet">{formatPlace(place)}</code>}
              </div>
              <div className="npu-row npu-attention-actions">
                {availability.canChange && state === 'failed' && <Button size="small" className="npu-small" onClick={() => void loadModels([model.name])}>{t('common:retry')}</Button>}
                <Button size="small" className="npu-small" onClick={() => open(model.name)}>{t('attention.open')}</Button>
              </div>
            </li>
          )
        })}
      </ul>
    </Card>
  )
}

/** How many run, in the window's language, and what the first of the others says. */
function InstanceReason({ tally: { total, running, restarting, givenUp } }: { readonly tally: InstanceTally }) {
  const { t } = useTranslation('model-detail')
  const first = [...restarting, ...givenUp][0]
  return (
    <>
      <p>{running > 0 ? t('trouble.some', { running, count: total }) : t('trouble.none')}</p>
      {first !== undefined && <FaultText what="instance" text={first.instance.reason} isShort />}
    </>
  )
}
