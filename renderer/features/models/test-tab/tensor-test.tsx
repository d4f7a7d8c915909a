/** The Test tab for any model: inputs made from the metadata on the left, outputs on the right, timing below. */
import { useCallback, useEffect, useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelDetail } from '../../../../server-core/contract/console-api.ts'
import type { ModelMetadata } from '../../../../server-core/contract/inference.ts'
import { Card } from '../../../components/card.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { ErrorNotice, errorText } from '../../../components/error-notice.tsx'
import { command } from '../../../console-client.ts'
import { draftTensor, fitsFile, initialDraft, withFile, type InputDraft } from '../../../../server-core/tensors/input-draft.ts'
import { PythonFailureDetails } from '../python-failure-details.tsx'
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
  const samples = useMemo(() => detail.samples.filter((sample) => sample.mediaType === 'application/octet-stream'), [detail.samples])
  const isKept = kept !== undefined && fits(kept, metadata)
  const first = useMemo(() => firstDrafts(detail, metadata), [detail, metadata])
  const drafts = isKept ? kept : first
  const takeSample = useCallback(async (name: string, path: string) => {
    const { data } = await command('model.sample', { name: model, path })
    const current = useTestRuns.getState().drafts[model] ?? []
    setDrafts(model, current.map((draft) => (draft.name === name ? withFile(draft, path, data) : draft)))
  }, [model])
  useEffect(() => {
    if (isKept) return
    setDrafts(model, first)
    // As with pictures: the first sample is chosen from the start, for the first input that it fits.
    const target = first.find((draft) => samples.some((sample) => fitsFile(draft, sample.byteSize)))
    const sample = target && samples.find((candidate) => fitsFile(target, candidate.byteSize))
    if (target && sample) void takeSample(target.name, sample.path)
  }, [isKept, first, model, samples, takeSample])
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
          <div className="npu-inputs">{drafts.map((draft, index) => <InputEditor key={draft.name} draft={draft} samples={samples} onSample={(path) => void takeSample(draft.name, path)} onChange={(next) => setDrafts(model, drafts.map((old, position) => (position === index ? next : old)))} />)}</div>
        </Card>
        <Card title={t('output.title')}>
          {run.error !== null && <ErrorNotice sentence={t('run.failed', { model })} error={run.error} details={<PythonFailureDetails model={detail.summary} text={errorText(run.error)} log={detail.log} />} />}
          {run.outcome === null && run.error === null && <EmptyState title={t('output.none')}>{t('output.noneHint')}</EmptyState>}
          {run.outcome !== null && <div className="npu-outputs">{run.outcome.response.outputs.map((tensor) => <OutputView key={tensor.name} tensor={tensor} />)}</div>}
        </Card>
      </div>
      {run.outcome !== null && <TimingWaterfall outcome={run.outcome} />}
    </div>
  )
}

/** The config may suggest values: `parameters { key: "console.default.<input>" ... }` holds JSON, or the name of a generator. */
function firstDrafts(detail: ModelDetail, metadata: ModelMetadata): readonly InputDraft[] {
  return metadata.inputs.map((input) => initialDraft(input, {
    isOptional: detail.config?.input.find((entry) => entry.name === input.name)?.optional === true,
    suggestion: detail.config?.parameters[`console.default.${input.name}`]?.string_value,
  }))
}

/** Do kept drafts still belong to these inputs? A reload may have changed the signature. */
function fits(drafts: readonly InputDraft[], metadata: ModelMetadata): boolean {
  return drafts.length === metadata.inputs.length && drafts.every((draft, index) => {
    const input = metadata.inputs[index]
    return input !== undefined && input.name === draft.name && input.datatype === draft.datatype && String(input.shape) === String(draft.modelShape)
  })
}
