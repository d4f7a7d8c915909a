/** Form, both, or text. */
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import { setView, useEditorView } from './editor-view-store.ts'
import '../../components/segmented.css'

const VIEWS = ['form', 'split', 'text'] as const

export function ViewSwitch() {
  const { t } = useTranslation('config-editor')
  const view = useEditorView((state) => state.view)
  const name = useId()
  return (
    <div className="npu-segmented" role="radiogroup" aria-label={t('view.label')}>
      {VIEWS.map((value) => (
        <label key={value} className={value === view ? 'npu-segment npu-segment-on' : 'npu-segment'}>
          <input type="radio" className="npu-segment-input" name={name} value={value} checked={value === view} onChange={() => setView(value)} data-testid={`config-view-${value}`} />
          {t(`view.${value}`)}
        </label>
      ))}
    </div>
  )
}
