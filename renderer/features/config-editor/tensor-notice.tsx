/** Above the text: why a tensor was not renamed, what must follow elsewhere after it was, or that a config leaves it to the model file. */
import { useTranslation } from 'react-i18next'
import { CloseIcon } from '../../components/icons.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { StateMark } from '../../components/state-pill.tsx'
import { localized } from '../../lib/localized-text.ts'
import { useConfigDocument } from './config-document.ts'
import { setNotice, useEditorView } from './editor-view-store.ts'

export function TensorNotice({ modelName }: { readonly modelName: string }) {
  const { t } = useTranslation('config-editor')
  const notice = useEditorView((state) => state.notice)
  const version = useConfigDocument((state) => state.version)
  if (notice === null || notice.modelName !== modelName || notice.version < version) return null
  const isRefused = notice.kind === 'refused'
  return (
    <div className={`npu-notice npu-config-notice${isRefused ? ' npu-notice-failed' : ''}`} role={isRefused ? 'alert' : 'status'} data-testid="tensor-notice">
      <StateMark kind={isRefused ? 'failed' : 'degraded'} isDecoration />
      <div>
        {notice.kind === 'notWritten'
          ? <p className="npu-notice-sentence">{t('tensor.notWritten', { tensor: notice.tensor })}</p>
          : <><p className="npu-notice-sentence">{t(isRefused ? 'tensor.notRenamed' : 'tensor.renamed')}</p>{notice.texts.map((text) => <p key={text.en} className="npu-secondary">{localized(text)}</p>)}</>}
      </div>
      <IconButton icon={<CloseIcon />} label={t('common:close')} onClick={() => setNotice(null)} />
    </div>
  )
}
