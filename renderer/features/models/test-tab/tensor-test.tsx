/** The Test tab for any model: inputs made from the metadata on the left, outputs on the right, timing below. */
import { useCallback, useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelDetail } from '../../../../server-core/contract/console-api.ts'
import type { ModelMetadata } from '../../../../server-core/contract/inference.ts'
import { Card } from '../../../components/card.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { ErrorNotice } from '../../../components/error-notice.tsx'
import { draftTensor, initialDraft, type InputDraft } from '../../../lib/input-draft.ts'
import { InputEditor } from './input-editor.tsx'
import { OutputView } from './output-view.tsx'
import { RunButton } from './run-button.tsx'
import { runModel, setDrafts, useModelRun, useTestRuns } from './test-run-store.ts'
import { TimingWaterfall } from './timing-waterfall.tsx'

export function TensorTest({ detail, metadata }: { readonly detail: ModelDetail; readonly metadata: ModelMetadata }) {
  const { t } = useTranslation('test-tab')
  const model = detail.summary.name
  const kept = useTestRuns((state) => state.drafts[model])
  const run = useModelRun(model)
  const drafts = kept && fits(kept, metadata) ? kept : metadata.inputs.map((input) => initialDraft(input, detail.config?.input.find((entry) => entry.name === input.name)?.optional === true))
  useEffect(() => { if (drafts !== kept) setDrafts(model, drafts) }, [drafts, kept, model])
  const isReady = drafts.every((draft) => !draft.isSent || draftTensor(draft).ok)
  const start = useCallback(() => {
    const inputs = drafts.filter((draft) => draft.isSent).map(draftTensor)
    const tensors = inputs.flatMap((result) => (result.ok ? [result.tensor] : []))
    if (tensors.length === inputs.length) void runModel({ modelName: model, inputs: tensors })
  }, [drafts, model])
  return (
    <div className="npu-test">
      <RunButton isRunning={run.isRunning} disabledReason={isReady ? undefined : t('run.fixInputs')} onRun={start} />
      <div className="npu-test-columns">
        <Card title={t('input.title')} note={t('input.note')}>
          <div className="npu-inputs">{drafts.map((draft, index) => <InputEditor key={draft.name} draft={draft} onChange={(next) => setDrafts(model, drafts.map((old, position) => (position === index ? next : old)))} />)}</div>
        </Card>
        <Card title={t('output.title')}>
          {run.error !== null && <ErrorNotice sentence={t('run.failed', { model })} error={run.error} />}
          {run.outcome === null && run.error === null && <EmptyState title={t('output.none')}>{t('output.noneHint')}</EmptyState>}
          {run.outcome !== null && <div className="npu-outputs">{run.outcome.response.outputs.map((tensor) => <OutputView key={tensor.name} tensor={tensor} />)}</div>}
        </Card>
      </div>
      {run.outcome !== null && <TimingWaterfall outcome={run.outcome} />}
    </div>
  )
}

/** Do kept drafts still belong to these inputs? A reload may have changed the signature. */
function fits(drafts: readonly InputDraft[], metadata: ModelMetadata): boolean {
  return drafts.length === metadata.inputs.length && drafts.every((draft, index) => {
    const input = metadata.inputs[index]
    return input !== undefined && input.name === draft.name && input.datatype === draft.datatype && String(input.shape) === String(draft.modelShape)
  })
}
