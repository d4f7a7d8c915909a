/** The ensemble as a graph: request on the left, response on the right, steps that do not wait for each other in one column. The outline is its equal in words. */
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import type { EnsembleEdge, EnsembleGraph } from '../../../server-core/contract/ensemble.ts'
import { Card } from '../../components/card.tsx'
import { StateMark } from '../../components/state-pill.tsx'
import { formatMilliseconds, formatShape, percentFigure, joinFigure } from '../../lib/format.ts'
import type { StepFigures } from './pipeline-figures.ts'
import { layOut, NODE_WIDTH } from './pipeline-layout.ts'
import type { PipelineNode, PipelinePort } from './pipeline-layout.ts'
import { selectStep, usePipelinesView } from './pipelines-store.ts'
import { useStepState } from './use-step-state.ts'

export function tensorText({ datatype, shape }: EnsembleEdge): string { return `${datatype} ${formatShape(shape)}` }

export function PipelineCanvas({ graph, figures }: { readonly graph: EnsembleGraph; readonly figures: readonly StepFigures[] }) {
  const { t } = useTranslation('pipelines')
  const { steps, edges } = graph
  // The graph is read again and again; its shape stays until the ensemble is loaded anew.
  const shape = JSON.stringify({ steps, edges })
  const layout = useMemo(() => layOut(JSON.parse(shape) as Pick<EnsembleGraph, 'steps' | 'edges'>), [shape])
  const selected = usePipelinesView((state) => state.step)
  return (
    <Card title={t('canvas.title')} note={t('canvas.note')} isFlush className="npu-pipelines-canvas-card">
      <div className="npu-pipelines-canvas" tabIndex={0} role="group" aria-label={t('canvas.title')} data-testid="pipeline-canvas">
        <div className="npu-pipelines-sheet" style={{ width: layout.width, height: layout.height }}>
          <svg width={layout.width} height={layout.height} aria-hidden="true" focusable="false">
            {layout.lines.map((line, index) => (
              <path key={index} d={line.path} className={`npu-pipelines-line${selected !== null && (line.from === selected || line.to === selected) ? ' npu-pipelines-line-on' : ''}`}><title>{`${line.edge.tensor}: ${tensorText(line.edge)}`}</title></path>
            ))}
          </svg>
          {layout.nodes.map((node) => {
            const step = typeof node.id === 'number' ? figures.find((entry) => entry.step.step === node.id) : undefined
            return step === undefined ? <EndNode key={node.id} node={node} /> : <StepNode key={node.id} node={node} figures={step} isSelected={selected === node.id} />
          })}
        </div>
      </div>
    </Card>
  )
}

function EndNode({ node }: { readonly node: PipelineNode }) {
  const { t } = useTranslation('pipelines')
  return (
    <div className="npu-pipelines-node npu-pipelines-end" style={{ left: node.x, top: node.y, width: NODE_WIDTH, height: node.height }}>
      <div className="npu-pipelines-node-head">{t(node.id === 'request' ? 'request' : 'response')}</div>
      <Ports node={node} />
    </div>
  )
}

function StepNode({ node, figures, isSelected }: { readonly node: PipelineNode; readonly figures: StepFigures; readonly isSelected: boolean }) {
  const { t } = useTranslation('pipelines')
  const { step, mean, share } = figures
  const state = useStepState(step)
  const select = () => selectStep(isSelected ? null : step.step)
  return (
    // The whole node is the pointer's handle of the button in its head.
    <div className={`npu-pipelines-node npu-pipelines-step-node${isSelected ? ' npu-pipelines-node-on' : ''}`} style={{ left: node.x, top: node.y, width: NODE_WIDTH, height: node.height }} onClick={select} data-testid={`pipeline-node-${step.step}`}>
      <button type="button" className="npu-pipelines-node-head" aria-pressed={isSelected} onClick={(event) => { event.stopPropagation(); select() }}>
        <StateMark kind={state} /><b className="npu-cut" title={step.modelName}>{`${step.step + 1} ${step.modelName}`}</b><span className="npu-grow" />
        <span className="npu-badge">{step.isEnsemble ? t('badge.ensemble') : step.isDecoupled ? t('badge.decoupled') : t('badge.version', { version: step.servedVersion })}</span>
      </button>
      <Ports node={node} />
      <span className="npu-pipelines-node-foot"><span data-testid="node-time">{mean === null ? t('canvas.noRun') : formatMilliseconds(mean)}</span><span className="npu-grow" />{share !== null && <span>{joinFigure(percentFigure(share))}</span>}</span>
    </div>
  )
}

function Ports({ node }: { readonly node: PipelineNode }) {
  return <>{node.inputs.map((port) => <Port key={`in/${port.name}`} port={port} side="in" />)}{node.outputs.map((port) => <Port key={`out/${port.name}`} port={port} side="out" />)}</>
}

function Port({ port, side }: { readonly port: PipelinePort; readonly side: 'in' | 'out' }) {
  const text = tensorText(port.edge)
  return (
    <span className={`npu-pipelines-port npu-pipelines-port-${side}`} title={`${port.name}: ${text}`}>
      <span className="npu-cut">{port.name}</span><span className="npu-grow" /><span className="npu-mono npu-pipelines-port-type">{text}</span>
    </span>
  )
}
