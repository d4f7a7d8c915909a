/** The side pane of the models page: the error card of one model; while that is retried its progress, and then that it serves. */
import { Button } from '@fluentui/react-components'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelSummary } from '../../../server-core/contract/repository.ts'
import { CloseIcon, TestIcon } from '../../components/icons.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { LoadingState } from '../../components/loading-state.tsx'
import { StatePill } from '../../components/state-pill.tsx'
import { hasInstanceTrouble } from '../../lib/instance-state.ts'
import { modelState, readyVersions } from '../../lib/model-state.ts'
import { navigate } from '../../router.ts'
import { FailureCard } from './failure-card.tsx'
import { InstanceTrouble } from './instance-trouble.tsx'
import { focusCurrentRow } from './model-table.tsx'
import { closePane } from './models-store.ts'

export function ProblemPane({ model }: { readonly model: ModelSummary }) {
  const { t } = useTranslation('models')
  const pane = useRef<HTMLElement>(null)
  const state = modelState(model)
  const shown = useRef(state)
  useEffect(() => {
    if (shown.current === state) return
    shown.current = state
    // The button that was pressed is gone with the content it stood in: the focus stays in the pane.
    if (document.activeElement === document.body) pane.current?.focus()
  }, [state])
  useEffect(() => () => { if (document.activeElement === document.body) focusCurrentRow() }, [])
  return (
    <aside ref={pane} className="npu-card npu-models-pane" data-region="pane" tabIndex={-1} aria-label={t('pane.name', { name: model.name })}>
      <div className="npu-card-head npu-models-pane-head">
        <h2 className="npu-cut" title={model.name}>{model.name}</h2><StatePill kind={state} /><span className="npu-grow" />
        <IconButton icon={<CloseIcon />} label={t('common:close')} shortcut="Esc" onClick={closePane} />
      </div>
      <div className="npu-models-pane-body">
        {hasInstanceTrouble(model) ? <InstanceTrouble model={model} /> : state === 'failed' || state === 'degraded' ? <FailureCard key={model.name} model={model} />
          : state === 'ready' ? <Serves model={model} />
            : state === 'loading' ? <LoadingState name={model.name} stage={model.stage} /> : null}
      </div>
    </aside>
  )
}

function Serves({ model }: { readonly model: ModelSummary }) {
  const { t } = useTranslation('models')
  return (
    <div className="npu-column">
      <p>{t('pane.serves', { versions: readyVersions(model).join(', '), count: readyVersions(model).length })}</p>
      <div className="npu-row"><Button icon={<TestIcon />} onClick={() => navigate('models', model.name, 'test')}>{t('pane.test')}</Button></div>
    </div>
  )
}
