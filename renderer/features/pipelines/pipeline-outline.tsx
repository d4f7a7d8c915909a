/** The graph in words, for keyboard and screen reader: what each step gets and from where, and what the response is made of. */
import { useTranslation } from 'react-i18next'
import type { EnsembleEdge, EnsembleGraph } from '../../../server-core/contract/ensemble.ts'
import { Card } from '../../components/card.tsx'
import { StateMark } from '../../components/state-pill.tsx'
import { formatMilliseconds } from '../../lib/format.ts'
import { tensorText } from './pipeline-canvas.tsx'
import type { StepFigures } from './pipeline-figures.ts'
import { targetOf } from './pipeline-layout.ts'
import { selectStep, usePipelinesView } from './pipelines-store.ts'
import { useStepState } from './use-step-state.ts'

export function PipelineOutline({ graph, figures }: { readonly graph: EnsembleGraph; readonly figures: readonly StepFigures[] }) {
  const { t } = useTranslation('pipelines')
  const { edges, steps } = graph
  const inputs = [...new Map(edges.filter(({ from }) => from.kind === 'request').map((edge) => [edge.tensor, edge])).values()]
  /** `ppocr_cls.x`; the same model may be called by several steps. */
  const origin = ({ from, tensor }: EnsembleEdge) => (from.kind === 'request' ? tensor : `${from.step + 1} ${steps.find((step) => step.step === from.step)?.modelName ?? ''}.${from.output}`)
  return (
    <Card title={t('outline.title')} note={t('outline.note')} isFlush>
      <ul className="npu-pipelines-outline" data-testid="pipeline-outline">
        <li>
          <div className="npu-pipelines-outline-head"><b>{t('request')}</b></div>
          <ul>{inputs.map((edge) => <li key={edge.tensor} className="npu-pipelines-outline-way"><span className="npu-cut" title={edge.tensor}>{edge.tensor}</span><Type edge={edge} /></li>)}</ul>
        </li>
        {figures.map((entry) => (
          <li key={entry.step.step}>
            <OutlineStep figures={entry} />
            <ul>{edges.filter((edge) => targetOf(edge) === entry.step.step).map((edge, index) => <Way key={index} edge={edge} name={edge.to.kind === 'step' ? edge.to.input : ''} from={origin(edge)} />)}</ul>
          </li>
        ))}
        <li>
          <div className="npu-pipelines-outline-head"><b>{t('response')}</b></div>
          <ul>{edges.filter(({ to }) => to.kind === 'response').map((edge) => <Way key={edge.tensor} edge={edge} name={edge.tensor} from={origin(edge)} />)}</ul>
        </li>
      </ul>
    </Card>
  )
}

function OutlineStep({ figures: { step, mean } }: { readonly figures: StepFigures }) {
  const state = useStepState(step)
  const isSelected = usePipelinesView((store) => store.step === step.step)
  return (
    <button type="button" className={`npu-pipelines-outline-head npu-pipelines-outline-step${isSelected ? ' npu-pipelines-outline-on' : ''}`} aria-pressed={isSelected} onClick={() => selectStep(isSelected ? null : step.step)} data-testid={`outline-step-${step.step}`}>
      <StateMark kind={state} /><b className="npu-cut" title={step.modelName}>{`${step.step + 1} ${step.modelName}`}</b><span className="npu-grow" /><span className="npu-quiet">{formatMilliseconds(mean)}</span>
    </button>
  )
}

function Way({ edge, name, from }: { readonly edge: EnsembleEdge; readonly name: string; readonly from: string }) {
  const { t } = useTranslation('pipelines')
  return <li className="npu-pipelines-outline-way"><span className="npu-cut" title={`${name} ← ${from}`}>{name} <span aria-hidden="true">←</span><span className="npu-visually-hidden">{t('outline.from')}</span> {from}</span><Type edge={edge} /></li>
}

function Type({ edge }: { readonly edge: EnsembleEdge }) { return <span className="npu-mono npu-quiet npu-pipelines-port-type">{tensorText(edge)}</span> }
