/** What a save would change, before it is written. */
import { Button, Dialog, DialogActions, DialogBody, DialogContent, DialogSurface, DialogTitle } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import { useConfigDocument } from './config-document.ts'
import { DiffView } from '../../components/code-editor/diff-view.tsx'
import { openDialog, useEditorView } from './editor-view-store.ts'
import { save } from './save-store.ts'
import { ReturnFocus } from '../../components/return-focus.tsx'
import { SeverityMark } from '../../components/severity-mark.tsx'

/** Enter confirms at once; the diff is for reading. After the dialog has put the focus on its first element. */
function focusNow(button: HTMLButtonElement | null): void {
  if (button) requestAnimationFrame(() => button.focus())
}

export function SaveDialog() {
  const { t } = useTranslation('config-editor')
  const dialog = useEditorView((state) => state.dialog)
  const { modelName, text, savedText, diagnostics } = useConfigDocument()
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  const isSame = text === (savedText ?? '') && savedText !== null
  const isSaving = dialog === 'save' || dialog === 'saveAndLoad'
  const confirm = () => {
    openDialog(null)
    void save(dialog === 'saveAndLoad', { saved: t('save.saved'), loaded: t('save.loaded') })
  }
  return (
    <Dialog open={isSaving || dialog === 'review'} onOpenChange={(_, data) => { if (!data.open) openDialog(null) }}>
      <DialogSurface className="npu-dialog npu-editor-dialog" data-testid="config-diff">
        <ReturnFocus />
        <DialogBody className="npu-editor-dialog-body">
          <DialogTitle>{t(isSaving ? 'save.title' : 'save.review', { model: modelName })}</DialogTitle>
          <DialogContent className="npu-editor-dialog-content">
            {isSaving && errors.length > 0 && (
              <div className="npu-notice npu-notice-failed"><SeverityMark severity="error" /><div>
                <p className="npu-notice-sentence">{t('save.anywayTitle', { count: errors.length })}</p><p className="npu-secondary">{t('save.anywayNote')}</p>
              </div></div>
            )}
            {isSame ? <p className="npu-quiet">{t('save.nothing')}</p> : <DiffView before={savedText ?? ''} after={text} beforeLabel={t('save.onDisk')} afterLabel={t('save.edited')} />}
          </DialogContent>
          <DialogActions>
            <Button onClick={() => openDialog(null)}>{t(isSaving ? 'common:cancel' : 'common:close')}</Button>
            {isSaving && !isSame && <Button ref={focusNow} appearance="primary" onClick={confirm} data-testid="config-diff-confirm">{t(errors.length > 0 ? 'save.anyway' : dialog === 'saveAndLoad' ? 'action.saveAndLoad' : 'action.save')}</Button>}
          </DialogActions>
        </DialogBody>
      </DialogSurface>
    </Dialog>
  )
}
