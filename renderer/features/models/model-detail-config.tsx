/** config.pbtxt as it is written, and the config in use with everything the server filled in. Read only. */
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelDetail } from '../../../server-core/contract/console-api.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { FileIcon } from '../../components/icons.tsx'
import { Segmented } from '../../components/segmented.tsx'
import { DetailActions } from './detail-actions.tsx'
import { PbtxtEditor } from './pbtxt-editor.tsx'

type Shown = 'written' | 'effective'

export default function ModelDetailConfig({ detail }: { readonly detail: ModelDetail }) {
  const { t } = useTranslation('model-detail')
  const [choice, setChoice] = useState<Shown>(detail.configText === null ? 'effective' : 'written')
  const text = choice === 'written' ? detail.configText : detail.effectiveConfigText
  return (
    <>
      <DetailActions>
        <Segmented label={t('config.view')} value={choice} onChange={setChoice} options={[{ value: 'written', label: t('config.written') }, { value: 'effective', label: t('config.effective') }]} />
      </DetailActions>
      <section className="npu-card npu-config" aria-label={t(`config.${choice}`)}>
        <div className="npu-row npu-config-head">
          <FileIcon /><b className="npu-mono">{choice === 'written' ? `${detail.summary.name}/config.pbtxt` : t('config.effective')}</b><span className="npu-quiet npu-cut">{t(`config.${choice}Note`)}</span>
          <span className="npu-grow" />
          {text !== null && <CopyButton text={text} label={t('config.copy')} />}
        </div>
        {text === null ? <p className="npu-card-body npu-quiet">{t(`config.${choice}None`)}</p> : <PbtxtEditor text={text} label={t(`config.${choice}`)} />}
      </section>
    </>
  )
}
