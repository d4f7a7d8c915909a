/** The Test tab: a viewer that knows the model's kind where there is one, the plain tensors always. */
import { Button } from '@fluentui/react-components'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelDetail } from '../../../../server-core/contract/console-api.ts'
import { EmptyState } from '../../../components/empty-state.tsx'
import { LoadIcon } from '../../../components/icons.tsx'
import { Segmented } from '../../../components/segmented.tsx'
import { LoadingState } from '../../../components/loading-state.tsx'
import { modelState } from '../../../lib/model-state.ts'
import { DetailActions } from '../../../components/detail-actions.tsx'
import { loadModels, useLoadAvailability } from '../models-store.ts'
import { viewerOf } from '../viewers/viewers.ts'
import { TextRecognitionTest } from '../viewers/text-recognition/text-recognition-test.tsx'
import { TensorTest } from './tensor-test.tsx'
import './test-tab.css'

export function TestTab({ detail }: { readonly detail: ModelDetail }) {
  const { t } = useTranslation('test-tab')
  const viewer = viewerOf(detail)
  const [choice, setChoice] = useState<'viewer' | 'tensors'>('viewer')
  const isLoaded = detail.metadata !== null
  const wasWaiting = useRef(false)
  useEffect(() => {
    // The button Load is gone with the wait: Run comes next.
    if (isLoaded && wasWaiting.current && document.activeElement === document.body) document.querySelector<HTMLElement>('.npu-run')?.focus()
    wasWaiting.current = !isLoaded
  }, [isLoaded])
  if (detail.metadata === null) return <NotLoaded detail={detail} />
  const isViewer = viewer !== null && choice === 'viewer'
  return (
    <>
      {viewer !== null && (
        <DetailActions>
          <Segmented label={t('viewer.choice')} value={choice} onChange={setChoice} options={[{ value: 'viewer', label: t(`viewer.${viewer.kind}`) }, { value: 'tensors', label: t('viewer.tensors') }]} />
        </DetailActions>
      )}
      {isViewer ? <TextRecognitionTest key={detail.summary.name} detail={detail} metadata={detail.metadata} viewer={viewer} /> : <TensorTest key={detail.summary.name} detail={detail} metadata={detail.metadata} />}
    </>
  )
}

function NotLoaded({ detail }: { readonly detail: ModelDetail }) {
  const { t } = useTranslation('test-tab')
  const availability = useLoadAvailability()
  const state = modelState(detail.summary)
  const { name } = detail.summary
  if (state === 'loading') return <div className="npu-card"><div className="npu-empty"><LoadingState name={name} stage={detail.summary.stage} /></div></div>
  return (
    <div className="npu-card">
      <EmptyState title={t('notLoaded.title', { model: name })}
        actions={<><Button appearance="primary" icon={<LoadIcon />} disabledFocusable={!availability.canChange} onClick={() => { if (availability.canChange) void loadModels([name]) }} data-testid="load-to-test">{t('notLoaded.load')}</Button>
          {!availability.canChange && <span className="npu-secondary">{t(`models:blocked.${availability.reason}`)}</span>}</>}>
        {t('notLoaded.hint')}
      </EmptyState>
    </div>
  )
}
