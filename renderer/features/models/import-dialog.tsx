/** The card of an import: files on their way, what they are and what would be written, then Create & load. An error stays in it and loses nothing. */
import { Button, Dialog, DialogActions, DialogBody, DialogContent, DialogSurface, DialogTitle } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { ReturnFocus } from '../../components/return-focus.tsx'
import { StateMark, StatePill } from '../../components/state-pill.tsx'
import { ImportProgress } from './import-progress.tsx'
import { ImportReview } from './import-review.tsx'
import { chooseModelFile, closeImport, prepare, useImport } from './import-store.ts'
import type { ImportState } from './import-store.ts'
import './import-dialog.css'

export function ImportDialog() {
  const { t } = useTranslation('import')
  const state = useImport((store) => store.state)
  // A press beside the card would be a careless way to end a transfer; Escape and the button cancel it.
  const isBusy = state.kind === 'preparing' || (state.kind === 'review' && state.step !== 'ask')
  return (
    <Dialog open={state.kind !== 'idle'} onOpenChange={(_event, { type }) => { if (!isBusy || type !== 'backdropClick') closeImport() }}>
      <DialogSurface className="npu-dialog npu-import" data-testid="import-dialog">
        <ReturnFocus />
        {state.kind === 'review' ? <ImportReview key={state.review.fileName} state={state} /> : (
          <DialogBody>
            <DialogTitle>{t('title')}</DialogTitle>
            <DialogContent><BeforeReview state={state} /></DialogContent>
            <DialogActions>
              {state.kind === 'failed' && <Button appearance="primary" onClick={() => void prepare(state.dropped)}>{t('common:retry')}</Button>}
              {state.kind !== 'preparing' && <Button onClick={() => { closeImport(); chooseModelFile() }}>{t('chooseOther')}</Button>}
              <Button onClick={closeImport} data-testid="import-cancel">{t(state.kind === 'preparing' ? 'common:cancel' : 'common:close')}</Button>
            </DialogActions>
          </DialogBody>
        )}
      </DialogSurface>
    </Dialog>
  )
}

function BeforeReview({ state }: { readonly state: ImportState }) {
  const { t } = useTranslation('import')
  switch (state.kind) {
    case 'preparing': return state.progress === null
      ? <StatePill kind="loading" text={t('reading', { name: state.fileName })} />
      : <ImportProgress sentence={t('uploading', { name: state.fileName })} progress={state.progress} />
    case 'refused': return (
      <div className="npu-notice"><StateMark kind="degraded" isDecoration /><div>
        <p className="npu-notice-sentence">{t(`refused.${state.reason}`, { name: state.fileName })}</p>
        <p className="npu-secondary">{t('refused.nextStep')}</p>
      </div></div>
    )
    case 'failed': return <ErrorNotice sentence={t('reviewFailed', { name: state.dropped[0]?.fileName ?? '' })} nextStep={t('reviewFailedNext')} error={state.error} />
    default: return null
  }
}
