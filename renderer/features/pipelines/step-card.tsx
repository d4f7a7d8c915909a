/** The selected step: its model, its tensors by name, its figures, and the ways to the model and its config. */
import { Button } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import type { EnsembleGraph } from '../../../server-core/contract/ensemble.ts'
import { Card } from '../../components/card.tsx'
import { CloseIcon, EditIcon } from '../../components/icons.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { StatePill } from '../../components/state-pill.tsx'
import { useConsole } from '../../console-store.ts'
import { formatCount, formatMilliseconds, joinFigure, percentFigure, UNKNOWN } from '../../lib/format.ts'
import { failureReason } from '../../lib/model-state.ts'
import { navigate } from '../../router.ts'
import type { StepFigures } from './pipeline-figures.ts'
import { selectStep } from './pipelines-store.ts'
import { useStepState } from './use-step-state.ts'

export function StepCard({ graph, figures }: { readonly graph: EnsembleGraph; readonly figures: StepFigures }) {
  const { t } = useTranslation('pipelines')
  const { step } = figures
  const state = useStepState(step)
  const reason = useConsole((store) => { const model = store.models?.find(({ name }) => name === step.modelName); return model === undefined ? '' : failureReason(model) })
  const wanted = step.modelVersion === -1 ? t('step.latest', { version: step.servedVersion }) : String(step.modelVersion)
  const close = () => {
    document.querySelector<HTMLElement>(`[data-testid="outline-step-${step.step}"], [data-testid="pipeline-node-${step.step}"] button`)?.focus()
    selectStep(null)
  }
  return (
    <Card title={`${step.step + 1} ${step.modelName}`} state={<StatePill kind={state} />} actions={<IconButton icon={<CloseIcon />} label={t('common:close')} onClick={close} />}>
      <div className="npu-column" data-testid="step-card">
        {reason !== '' && <pre className="npu-server-text">{reason}</pre>}
        <dl className="npu-pipelines-facts">
          <dt>{t('step.version')}</dt><dd>{wanted}</dd>
          <dt>{t('step.mean')}</dt><dd>{formatMilliseconds(figures.mean)}</dd>
          <dt>{t('step.queue')}</dt><dd>{formatMilliseconds(figures.meanQueue)}</dd>
          <dt>{t('step.share')}</dt><dd>{figures.share === null ? UNKNOWN : joinFigure(percentFigure(figures.share))}</dd>
          <dt>{t('step.runs')}</dt><dd>{formatCount(figures.runs)}</dd>
          {graph.maxInflightRequests > 0 && <><dt>{t('step.limit')}</dt><dd>{formatCount(graph.maxInflightRequests)}</dd></>}
        </dl>
        <div className="npu-row npu-pipelines-actions">
          <Button onClick={() => (step.isEnsemble ? navigate('pipelines', step.modelName) : navigate('models', step.modelName))} data-testid="step-model">{t(step.isEnsemble ? 'step.openPipeline' : 'step.openModel')}</Button>
          <Button icon={<EditIcon />} onClick={() => navigate('models', step.modelName, 'config')} data-testid="step-config">{t('step.openConfig')}</Button>
        </div>
      </div>
    </Card>
  )
}
