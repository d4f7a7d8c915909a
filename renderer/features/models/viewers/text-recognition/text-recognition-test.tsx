/** Test of a text recogniser: a picture of a text line goes in, visibly prepared; the text it reads comes out. */
import { useCallback, useEffect, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelDetail } from '../../../../../server-core/contract/console-api.ts'
import type { ModelMetadata } from '../../../../../server-core/contract/inference.ts'
import { Card } from '../../../../components/card.tsx'
import { EmptyState } from '../../../../components/empty-state.tsx'
import { ErrorNotice } from '../../../../components/error-notice.tsx'
import { command } from '../../../../console-client.ts'
import { RunButton } from '../../test-tab/run-button.tsx'
import { runModel, useModelRun } from '../../test-tab/test-run-store.ts'
import { TimingWaterfall } from '../../test-tab/timing-waterfall.tsx'
import type { TextRecognitionViewer } from '../viewers.ts'
import { decodePicture } from './picture-decode.ts'
import { PictureInput } from './picture-input.tsx'
import { loadCharacters, preparePicture, readText, recognitionInput } from './recognition-model.ts'
import { RecognitionResult } from './recognition-result.tsx'
import { useRecognition, type ChosenPicture } from './recognition-store.ts'
import './text-recognition.css'

interface TextRecognitionTestProps {
  readonly detail: ModelDetail
  readonly metadata: ModelMetadata
  readonly viewer: TextRecognitionViewer
}

export function TextRecognitionTest({ detail, metadata, viewer }: TextRecognitionTestProps) {
  const { t } = useTranslation('test-tab')
  const model = detail.summary.name
  const run = useModelRun(model)
  const { chosen, problem, characters } = useRecognition((state) => state.models[model]) ?? {}
  const input = useMemo(() => recognitionInput(metadata), [metadata])
  const samples = useMemo(() => detail.samples.filter((sample) => sample.mediaType.startsWith('image/')), [detail.samples])
  const prepared = useMemo(() => (chosen && input ? preparePicture(chosen.picture, input) : null), [chosen, input])
  const [ranOn, setRanOn] = useState<ChosenPicture | null>(null)

  const choose = useCallback(async (name: string, read: () => Promise<Blob>) => {
    try {
      useRecognition.getState().change(model, { chosen: { name, picture: await decodePicture(await read()) }, problem: null })
    } catch (error) {
      useRecognition.getState().change(model, { problem: { name, error } })
    }
  }, [model])
  const chooseSample = useCallback((path: string) => choose(path, async () => {
    const { data, mediaType } = await command('model.sample', { name: model, path })
    return new Blob([data as Uint8Array<ArrayBuffer>], { type: mediaType })
  }), [choose, model])

  // With the first sample chosen from the start, Run is one press.
  const first = samples[0]?.path
  useEffect(() => { if (first !== undefined && !useRecognition.getState().models[model]?.chosen) void chooseSample(first) }, [first, chooseSample, model])
  useEffect(() => {
    if (useRecognition.getState().models[model]?.characters) return
    loadCharacters(detail, viewer.charactersPath).then(
      (list) => useRecognition.getState().change(model, { characters: list }),
      (error: unknown) => useRecognition.getState().change(model, { problem: { name: viewer.charactersPath, error } }),
    )
  }, [detail, model, viewer.charactersPath])

  const start = useCallback(() => {
    if (!prepared || !chosen) return
    setRanOn(chosen)
    void runModel({ modelName: model, inputs: [prepared.tensor] })
  }, [prepared, chosen, model])
  const read = useMemo(() => {
    if (run.outcome === null || !characters) return null
    try {
      return { text: readText(run.outcome.response.outputs[0], characters), error: null }
    } catch (error) {
      return { text: null, error }
    }
  }, [run.outcome, characters])

  if (input === null) return <div className="npu-card"><EmptyState title={t('recognition.otherSignature')}>{t('recognition.otherSignatureHint')}</EmptyState></div>
  return (
    <div className="npu-test">
      <RunButton isRunning={run.isRunning} disabledReason={prepared ? undefined : t('recognition.choosePicture')} onRun={start} />
      <div className="npu-test-columns">
        <PictureInput samples={samples} chosen={chosen ?? null} prepared={prepared} problem={problem ?? null} onSample={(path) => void chooseSample(path)} onFile={(file) => void choose(file.name, () => Promise.resolve(file))} />
        <Card title={t('output.title')}>
          {run.error !== null && <ErrorNotice sentence={t('run.failed', { model })} error={run.error} />}
          {read !== null && read.text === null && <ErrorNotice sentence={t('recognition.unreadable')} nextStep={t('recognition.unreadableHint', { file: viewer.charactersPath })} error={read.error} />}
          {run.outcome === null && run.error === null && <EmptyState title={t('recognition.none')}>{t('recognition.noneHint')}</EmptyState>}
          {read?.text && run.outcome && <RecognitionResult text={read.text} isStale={ranOn !== null && ranOn !== chosen} />}
        </Card>
      </div>
      {run.outcome !== null && <TimingWaterfall outcome={run.outcome} {...(prepared ? { preprocessMilliseconds: prepared.milliseconds } : {})} {...(read?.text ? { postprocessMilliseconds: read.text.milliseconds } : {})} />}
    </div>
  )
}
