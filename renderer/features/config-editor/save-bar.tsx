/** Below the views: what is unsaved, what keeps it from being saved, and the ways to save it. */
import { Button, Tooltip } from '@fluentui/react-components'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { useConsole } from '../../console-store.ts'
import { SaveIcon, UndoIcon } from '../../components/icons.tsx'
import { StateMark, StatePill } from '../../components/state-pill.tsx'
import { diffLines, splitLines } from '../../lib/line-diff.ts'
import { isModified, revertToSaved, useConfigDocument } from './config-document.ts'
import { openDialog } from './editor-view-store.ts'
import { SeverityMark } from '../../components/severity-mark.tsx'
import { save, useSave } from './save-store.ts'

/** Why a model cannot be loaded from here, as a key below `load.`; null: it can. */
export function useLoadBlock(): 'none' | 'poll' | 'offline' | null {
  const mode = useConsole((state) => state.status?.controlMode)
  const isOpen = useConsole((state) => state.connection === 'open')
  if (!isOpen || mode === undefined) return 'offline'
  return mode === 'explicit' ? null : mode
}

export function SaveBar() {
  const { t } = useTranslation('config-editor')
  const text = useConfigDocument((state) => state.text)
  const savedText = useConfigDocument((state) => state.savedText)
  const errors = useConfigDocument((state) => state.diagnostics.filter(({ severity }) => severity === 'error').length)
  const saving = useSave((store) => store.state.kind)
  const loadBlock = useLoadBlock()
  const changes = useMemo(() => diffLines(splitLines(savedText ?? ''), splitLines(text)).length, [savedText, text])
  const isDirty = isModified({ text, savedText })
  const isBusy = saving === 'saving' || saving === 'loading' || saving === 'restoring'
  const isOffline = loadBlock === 'offline'
  const canSave = isDirty && errors === 0 && !isBusy && !isOffline
  const canLoad = (!isDirty || errors === 0) && !isBusy && loadBlock === null
  const saveHint = !isDirty ? t('save.nothing') : errors > 0 ? t('save.blocked', { count: errors }) : isOffline ? t('load.offline') : `${t('action.save')} (Ctrl+S)`
  const said = { saved: t('save.saved'), loaded: t('save.loaded') }
  return (
    <div className="npu-editor-bar" role="group" aria-label={t('save.bar')}>
      {isBusy ? <StatePill kind="loading" text={t(`save.${saving}`)} isPlain /> : isDirty ? <span className="npu-row"><StateMark kind="degraded" isDecoration />{t('save.changes', { count: changes })}</span> : <span className="npu-quiet">{t('save.clean')}</span>}
      {errors > 0 && isDirty && <span className="npu-row"><SeverityMark severity="error" /><b className="npu-editor-error-text">{t('save.blocked', { count: errors })}</b></span>}
      {errors > 0 && isDirty && !isOffline && <Button size="small" appearance="transparent" className="npu-small" onClick={() => openDialog('save')} data-testid="config-save-anyway">{t('save.anyway')}</Button>}
      {loadBlock !== null && <span className="npu-quiet npu-editor-bar-note">{t(`load.${loadBlock}`)}</span>}
      <span className="npu-grow" />
      {isDirty && <Button appearance="subtle" icon={<UndoIcon />} onClick={revertToSaved} data-testid="config-undo-all">{t('save.undoAll')}</Button>}
      {isDirty && <Button onClick={() => openDialog('review')}>{t('save.review')}</Button>}
      <Tooltip content={saveHint} relationship="description">
        <Button icon={<SaveIcon />} disabledFocusable={!canSave} onClick={() => { if (canSave) openDialog('save') }} data-testid="config-save">{t('action.save')}</Button>
      </Tooltip>
      <Button appearance="primary" disabledFocusable={!canLoad} data-testid="config-save-load" onClick={() => { if (canLoad) { if (isDirty) openDialog('saveAndLoad'); else void save(true, said) } }}>{t(isDirty ? 'action.saveAndLoad' : 'action.load')}</Button>
    </div>
  )
}
