/** No ensemble in the repository: what one is, and how to make one. */
import { Button } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import { Card } from '../../components/card.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { useConsole } from '../../console-store.ts'
import { openSampleRepository, useRepository } from '../../frame/repository-actions.ts'
import { navigate } from '../../router.ts'

const EXAMPLE = `platform: "ensemble"
max_batch_size: 8
input [ { name: "IMAGE" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] } ]
output [ { name: "LABEL" data_type: TYPE_FP32 dims: [ 1000 ] } ]
ensemble_scheduling {
  step [
    {
      model_name: "resize"
      model_version: -1
      input_map { key: "x" value: "IMAGE" }
      output_map { key: "y" value: "resized" }
    },
    {
      model_name: "classify"
      model_version: -1
      input_map { key: "data" value: "resized" }
      output_map { key: "prob" value: "LABEL" }
    }
  ]
}
`

export function NoPipelines() {
  const { t } = useTranslation('pipelines')
  const mode = useConsole((state) => state.status?.controlMode)
  const isOpening = useRepository((state) => state.task !== null && state.task.error === null)
  const canOpen = mode === 'explicit' && !isOpening
  return (
    <div className="npu-page npu-pipelines" data-testid="no-pipelines">
      <PageHeader title={t('title')} />
      <div className="npu-pipelines-none">
        <Card title={t('none.title')}>
          <div className="npu-column">
            <p>{t('none.what')}</p>
            <ol className="npu-pipelines-steps"><li>{t('none.make.folder')}</li><li>{t('none.make.config')}</li><li>{t('none.make.load')}</li></ol>
            <div className="npu-row npu-pipelines-actions">
              <Button appearance="primary" disabledFocusable={!canOpen} onClick={() => { if (canOpen) void openSampleRepository(() => navigate('pipelines', 'ppocr_line')) }}>{t('none.sample')}</Button>
              <Button onClick={() => navigate('models')}>{t('none.models')}</Button>
            </div>
            <p className="npu-secondary">{mode !== undefined && mode !== 'explicit' ? t('common:repository.onlyExplicit', { mode: t(`common:controlMode.${mode}`) }) : t('none.sampleNote')}</p>
          </div>
        </Card>
        <Card title={t('none.example')} actions={<CopyButton text={EXAMPLE} label={t('none.copy')} />}><pre className="npu-pipelines-example" tabIndex={0} aria-label={t('none.example')}>{EXAMPLE}</pre></Card>
      </div>
    </div>
  )
}
