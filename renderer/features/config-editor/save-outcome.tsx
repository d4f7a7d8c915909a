/** How the last save or load ended when it did not end well, and the ways on. */
import { Button } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { CloseIcon, FixIcon } from '../../components/icons.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { StateMark } from '../../components/state-pill.tsx'
import { localized } from '../../lib/localized-text.ts'
import { applyEdits, useConfigDocument } from './config-document.ts'
import { goToText } from './editor-view-store.ts'
import { diagnosticOf, dismissOutcome, mergeDiskChange, restorePrevious, useSave } from './save-store.ts'

export function SaveOutcome() {
  const { t } = useTranslation('config-editor')
  const state = useSave((store) => store.state)
  const diskChange = useConfigDocument((document) => document.diskChange)
  if (state.kind === 'saveFailed') return <ErrorNotice sentence={t('outcome.notSaved')} error={state.error} actions={<Button onClick={dismissOutcome}>{t('common:close')}</Button>} />
  if (state.kind === 'loadFailed') return <LoadFailure state={state} />
  if (diskChange === null) return null
  return (
    <div className="npu-notice" role="status"><StateMark kind="degraded" isDecoration /><div>
      <p className="npu-notice-sentence">{t('outcome.changedOnDisk')}</p>
      <div className="npu-row"><Button onClick={mergeDiskChange} data-testid="config-merge-open">{t('outcome.merge')}</Button></div>
    </div></div>
  )
}

function LoadFailure({ state }: { readonly state: Extract<ReturnType<typeof useSave.getState>['state'], { kind: 'loadFailed' }> }) {
  const { t } = useTranslation('config-editor')
  const diagnostics = useConfigDocument((document) => document.diagnostics)
  const { reason, previous, isRestored } = state
  const problem = diagnosticOf(reason, diagnostics)
  const fix = problem?.fixes.find(({ isPreferred }) => isPreferred) ?? problem?.fixes[0]
  return (
    <div className="npu-notice npu-notice-failed" role="alert" data-testid="config-load-failed">
      <StateMark kind="failed" isDecoration />
      <div>
        <p className="npu-notice-sentence">{t(isRestored ? 'outcome.restoredNotLoaded' : 'outcome.notLoaded')}</p>
        {problem && <p className="npu-secondary">{t('outcome.place', { line: problem.line, column: problem.column })} {localized(problem.message)}</p>}
        <pre className="npu-server-text">{reason}</pre>
        <div className="npu-row">
          {problem && fix && <Button appearance="primary" icon={<FixIcon />} data-testid="config-load-fix" onClick={() => { applyEdits(fix.edits, 'fix'); dismissOutcome() }}>{localized(fix.title)}</Button>}
          {problem && <Button onClick={() => goToText(problem.offset, problem.offset + problem.length)}>{t('outcome.show')}</Button>}
          {previous && <Button data-testid="config-restore-previous" onClick={() => void restorePrevious(previous)}>{t('outcome.restore')}</Button>}
        </div>
      </div>
      <IconButton icon={<CloseIcon />} label={t('common:close')} onClick={dismissOutcome} />
    </div>
  )
}
