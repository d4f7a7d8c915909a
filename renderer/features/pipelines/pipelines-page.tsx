/** The pipelines page: one ensemble as a graph and as an outline, what its steps cost, and its last requests step by step. Address: `#/pipelines/<name>`. */
import { Button, Select } from '@fluentui/react-components'
import { useEffect, useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import type { EnsembleGraph } from '../../../server-core/contract/ensemble.ts'
import type { ModelSummary } from '../../../server-core/contract/repository.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { EditIcon, LoadIcon, TestIcon } from '../../components/icons.tsx'
import { LoadingState } from '../../components/loading-state.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Segmented } from '../../components/segmented.tsx'
import { StatePill } from '../../components/state-pill.tsx'
import { useConsole } from '../../console-store.ts'
import { failureReason, modelState } from '../../lib/model-state.ts'
import { navigate, useRoute } from '../../router.ts'
import { loadModels, useLoadAvailability, useModelsView } from '../models/models-store.ts'
import { ExecutionsCard } from './executions-card.tsx'
import { NoPipelines } from './no-pipelines.tsx'
import { PipelineCanvas } from './pipeline-canvas.tsx'
import { stepFigures } from './pipeline-figures.ts'
import { PipelineOutline } from './pipeline-outline.tsx'
import { PIPELINE_VIEWS, setView, showPipeline, usePipelinesView } from './pipelines-store.ts'
import { StepCard } from './step-card.tsx'
import { StepTimes } from './step-times.tsx'
import { useEnsembleGraph } from './use-ensemble-graph.ts'
import './pipelines.css'

export default function PipelinesPage() {
  const models = useConsole((state) => state.models)
  const wanted = useRoute((route) => route.rest[0])
  const ensembles = useMemo(() => (models ?? []).filter(isEnsemble), [models])
  if (models === null) return null
  const shown = ensembles.find((model) => model.name === wanted) ?? ensembles.find((model) => ['ready', 'degraded'].includes(modelState(model))) ?? ensembles[0]
  return shown === undefined ? <NoPipelines /> : <Pipeline key={shown.name} model={shown} ensembles={ensembles} />
}

/** Also before it was ever loaded: the config names the platform. */
function isEnsemble(model: ModelSummary): boolean { return model.platform === 'ensemble' }

function Pipeline({ model, ensembles }: { readonly model: ModelSummary; readonly ensembles: readonly ModelSummary[] }) {
  const { t } = useTranslation('pipelines')
  const state = modelState(model)
  const isServing = state === 'ready' || state === 'degraded'
  const { graph, error } = useEnsembleGraph(isServing ? model.name : null)
  const view = usePipelinesView((store) => store.view)
  useEffect(() => showPipeline(model.name), [model.name])
  return (
    <div className="npu-page npu-pipelines">
      <PageHeader title={t('title')} state={(
        <>
          <Select className="npu-pipelines-picker" value={model.name} aria-label={t('choose')} onChange={(_event, { value }) => navigate('pipelines', value)} data-testid="pipeline-choice">
            {ensembles.map(({ name }) => <option key={name} value={name}>{name}</option>)}
          </Select>
          <StatePill kind={state} />
        </>
      )} note={graph === null ? undefined : [t('note.steps', { count: graph.steps.length }), t('note.edges', { count: graph.edges.length })].join(' · ')}>
        {graph !== null && <Segmented label={t('view.name')} options={PIPELINE_VIEWS.map((value) => ({ value, label: t(`view.${value}`) }))} value={view} onChange={setView} />}
        <Button icon={<TestIcon />} disabledFocusable={!isServing} onClick={() => { if (isServing) navigate('models', model.name, 'test') }}>{t('test')}</Button>
        <Button icon={<EditIcon />} onClick={() => navigate('models', model.name, 'config')}>{t('config')}</Button>
      </PageHeader>
      {!isServing ? <NotServing model={model} />
        : error !== null ? <ErrorNotice sentence={t('notShown', { name: model.name })} error={error} />
          : graph !== null && <Graph graph={graph} />}
    </div>
  )
}

function Graph({ graph }: { readonly graph: EnsembleGraph }) {
  const view = usePipelinesView((store) => store.view)
  const selected = usePipelinesView((store) => store.step)
  const sample = useConsole((store) => store.samples.at(-1))
  const figures = useMemo(() => stepFigures(graph, sample), [graph, sample])
  const step = figures.find((entry) => entry.step.step === selected)
  const hasSide = view !== 'canvas' || step !== undefined
  return (
    <div className={`npu-pipelines-layout${hasSide ? ' npu-pipelines-with-side' : ''}`}>
      <div className="npu-pipelines-column">
        {view !== 'outline' && <PipelineCanvas graph={graph} figures={figures} />}
        <StepTimes figures={figures} />
        <ExecutionsCard graph={graph} />
      </div>
      {hasSide && (
        <div className="npu-pipelines-column" data-region="pane" tabIndex={-1}>
          {view !== 'canvas' && <PipelineOutline graph={graph} figures={figures} />}
          {step !== undefined && <StepCard graph={graph} figures={step} />}
        </div>
      )}
    </div>
  )
}

/** Without its steps' models there is no graph: what stands in the way, and how it goes on. */
function NotServing({ model }: { readonly model: ModelSummary }) {
  const { t } = useTranslation('pipelines')
  const availability = useLoadAvailability()
  const failures = useModelsView((store) => store.failures)
  const state = modelState(model)
  const load = () => { if (availability.canChange) void loadModels([model.name]) }
  return (
    <>
      {failures.filter((failure) => failure.model === model.name).map((failure) => <ErrorNotice key={failure.action} sentence={t('models:failed.load', { name: model.name })} error={failure.error} />)}
      <div className="npu-card">
        {state === 'loading' || state === 'unloading' ? <EmptyState title={t('moving.title')}><LoadingState name={model.name} stage={model.stage} /></EmptyState>
          : state === 'failed' ? (
            <EmptyState title={t('failed.title', { name: model.name })} actions={<Button appearance="primary" onClick={() => navigate('models', model.name)}>{t('failed.open')}</Button>}>
              <pre className="npu-server-text">{failureReason(model)}</pre>
            </EmptyState>
          ) : (
            <EmptyState title={t('unloaded.title', { name: model.name })} actions={(
              <>
                <Button appearance="primary" icon={<LoadIcon />} disabledFocusable={!availability.canChange} onClick={load} data-testid="pipeline-load">{t('unloaded.load')}</Button>
                {!availability.canChange && <span className="npu-secondary">{t(`models:blocked.${availability.reason}`)}</span>}
              </>
            )}>{t('unloaded.hint')}</EmptyState>
          )}
      </div>
    </>
  )
}
