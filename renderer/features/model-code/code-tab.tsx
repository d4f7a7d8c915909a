/** The Code tab of a Python model's page: its model.py with what is likely wrong with it, and saving it. */
import { Button, Dialog, DialogActions, DialogBody, DialogContent, DialogSurface, DialogTitle, Select } from '@fluentui/react-components'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { preferredEdits } from '../../../server-core/model-code/check-model-code.ts'
import type { ModelDetail } from '../../../server-core/contract/console-api.ts'
import { DiffView } from '../../components/code-editor/diff-view.tsx'
import { PYTHON_LANGUAGE } from '../../components/code-editor/monaco-setup.ts'
import { ProblemCount, ProblemsList } from '../../components/code-editor/problems-list.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { DetailActions } from '../../components/detail-actions.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { FileIcon, SaveIcon } from '../../components/icons.tsx'
import { ReturnFocus } from '../../components/return-focus.tsx'
import { StateMark, StatePill } from '../../components/state-pill.tsx'
import { useConsole } from '../../console-store.ts'
import { diffLines, splitLines } from '../../lib/line-diff.ts'
import { isDialogOpen } from '../../lib/is-dialog-open.ts'
import { CodeEditor, editCode, goToCodeProblem, stepToCodeProblem, useCodeCursor } from './code-editor.tsx'
import { startCodeLint } from './code-lint.ts'
import LintWorkerScript from './code-lint-worker.ts?worker'
import { dismissCodeOutcome, isCodeModified, openCode, saveCode, settleDiskChange, useCode } from './code-store.ts'
import type { CodeDocument } from './code-store.ts'
import './model-code.css'

type SaveDialogKind = 'save' | 'saveAndLoad' | 'theirs'

export default function CodeTab({ detail }: { readonly detail: ModelDetail }) {
  const { t } = useTranslation('model-code')
  const { name } = detail.summary
  const document = useCode((state) => state.document)
  const openError = useCode((state) => state.openError)
  const [version, setVersion] = useState<number | null>(null)
  const [dialog, setDialog] = useState<SaveDialogKind | null>(null)
  const [lintFailure, setLintFailure] = useState<string | null>(null)
  useFile(detail, version)
  useEffect(() => startCodeLint(() => new LintWorkerScript(), setLintFailure), [])
  const openSave = useCallback(() => { if (canSave()) setDialog('save') }, [])
  useKeys(openSave)
  const isOpen = document?.modelName === name
  if (openError !== null && !isOpen) return <ErrorNotice sentence={t('notOpened')} error={openError} />
  if (!isOpen) return null
  return (
    <>
      {document.versions.length > 1 && (
        <DetailActions>
          <label className="npu-row npu-code-version">{t('version')}
            <Select size="small" value={String(document.version)} onChange={(_event, { value }) => setVersion(Number(value))} data-testid="code-version">
              {document.versions.toReversed().map((entry) => <option key={entry} value={entry}>{entry}</option>)}
            </Select>
          </label>
        </DetailActions>
      )}
      <Outcome document={document} onCompare={() => setDialog('theirs')} />
      <div className="npu-code">
        <section className="npu-card npu-editor-card" aria-label={t('textLabel', { model: name, file: document.name })}>
          <Head document={document} />
          <CodeEditor label={t('textLabel', { model: name, file: document.name })} onSave={openSave} />
          <ProblemsList testId="code" diagnostics={document.diagnostics} isCurrent={document.checkedRevision === document.revision} failure={lintFailure} onGoTo={goToCodeProblem}
            onFix={({ edits }) => editCode(edits)} onFixAll={() => editCode(preferredEdits(document.diagnostics).edits)} />
        </section>
        <SaveBar document={document} open={setDialog} />
      </div>
      <SaveDialog document={document} dialog={dialog} close={() => setDialog(null)} />
    </>
  )
}

function canSave(): boolean {
  const { document, outcome } = useCode.getState()
  return document !== null && isCodeModified(document) && document.diskChange === null && outcome.kind !== 'saving' && outcome.kind !== 'loading' && useConsole.getState().connection === 'open'
}

function Head({ document }: { readonly document: CodeDocument }) {
  const { t } = useTranslation('model-code')
  const { line, column } = useCodeCursor()
  const isDirty = isCodeModified(document)
  return (
    <div className="npu-row npu-editor-head">
      <FileIcon /><span className="npu-mono npu-cut" title={document.path}>{document.modelName}/{document.name}</span>
      {isDirty && <span className="npu-editor-dot" role="img" aria-label={t('dirty')} title={t('dirty')} />}
      <span className="npu-grow" />
      <ProblemCount diagnostics={document.diagnostics} />
      <span className="npu-quiet npu-editor-place">{t('config-editor:place', { line, column })}</span>
      <CopyButton text={document.text} label={t('copy')} />
    </div>
  )
}

/** How the last save or load ended when it did not end well, and a file that changed on disk. */
function Outcome({ document, onCompare }: { readonly document: CodeDocument; readonly onCompare: () => void }) {
  const { t } = useTranslation('model-code')
  const outcome = useCode((state) => state.outcome)
  const actions = <Button onClick={dismissCodeOutcome}>{t('common:close')}</Button>
  return (
    <>
      {outcome.kind === 'saveFailed' && <ErrorNotice sentence={t('notSaved', { file: document.name })} error={outcome.error} actions={actions} />}
      {outcome.kind === 'loadFailed' && <div data-testid="code-load-failed"><ErrorNotice sentence={t('notLoaded')} error={outcome.error} nextStep={t('notLoadedNext')} actions={actions} /></div>}
      {document.diskChange !== null && (
        <div className="npu-notice" role="status" data-testid="code-disk-change"><StateMark kind="degraded" isDecoration /><div>
          <p className="npu-notice-sentence">{t(document.diskChange.text === null ? 'goneFromDisk' : 'changedOnDisk', { file: document.name })}</p>
          {document.diskChange.text !== null && (
            <div className="npu-row">
              <Button onClick={onCompare}>{t('compare')}</Button>
              <Button onClick={() => settleDiskChange('mine')} data-testid="code-keep-mine">{t('keepMine')}</Button>
              <Button onClick={() => settleDiskChange('theirs')} data-testid="code-take-theirs">{t('takeTheirs')}</Button>
            </div>
          )}
        </div></div>
      )}
    </>
  )
}

function SaveBar({ document, open }: { readonly document: CodeDocument; readonly open: (dialog: SaveDialogKind) => void }) {
  const { t } = useTranslation('model-code')
  const mode = useConsole((state) => state.status?.controlMode)
  const isConnected = useConsole((state) => state.connection === 'open')
  const outcome = useCode((state) => state.outcome)
  const isDirty = isCodeModified(document)
  const changes = useMemo(() => diffLines(splitLines(document.savedText), splitLines(document.text)).length, [document.savedText, document.text])
  const isBusy = outcome.kind === 'saving' || outcome.kind === 'loading'
  const isFree = !isBusy && isConnected && document.diskChange === null
  const canLoad = isFree && mode === 'explicit'
  const said = { saved: t('saved', { file: document.name }), loaded: t('config-editor:save.loaded') }
  return (
    <div className="npu-editor-bar" role="group" aria-label={t('config-editor:save.bar')}>
      {isBusy ? <StatePill kind="loading" text={t(outcome.kind === 'saving' ? 'config-editor:save.saving' : 'config-editor:save.loading')} isPlain />
        : isDirty ? <span className="npu-row"><StateMark kind="degraded" isDecoration />{t('config-editor:save.changes', { count: changes })}</span> : <span className="npu-quiet">{t('config-editor:save.clean')}</span>}
      <span className="npu-quiet npu-editor-bar-note">{t(!isConnected ? 'config-editor:load.offline' : mode === 'explicit' ? 'runsAfterLoad' : mode === 'poll' ? 'runsByPoll' : 'runsAfterStart')}</span>
      <span className="npu-grow" />
      <Button icon={<SaveIcon />} disabledFocusable={!(isFree && isDirty)} onClick={() => { if (isFree && isDirty) open('save') }} data-testid="code-save">{t('config-editor:action.save')}</Button>
      <Button appearance="primary" disabledFocusable={!canLoad} data-testid="code-save-load" onClick={() => { if (canLoad) { if (isDirty) open('saveAndLoad'); else void saveCode(true, said) } }}>{t(isDirty ? 'config-editor:action.saveAndLoad' : 'config-editor:action.load')}</Button>
    </div>
  )
}

/** What a save would change, before it is written; or what the file on disk has that the text here has not. */
function SaveDialog({ document, dialog, close }: { readonly document: CodeDocument; readonly dialog: SaveDialogKind | null; readonly close: () => void }) {
  const { t } = useTranslation('model-code')
  const isSaving = dialog === 'save' || dialog === 'saveAndLoad'
  const errors = document.diagnostics.filter(({ severity }) => severity === 'error').length
  const confirm = () => {
    close()
    void saveCode(dialog === 'saveAndLoad', { saved: t('saved', { file: document.name }), loaded: t('config-editor:save.loaded') })
  }
  return (
    <Dialog open={dialog !== null} onOpenChange={(_event, data) => { if (!data.open) close() }}>
      <DialogSurface className="npu-dialog npu-editor-dialog" data-testid="code-diff">
        <ReturnFocus />
        <DialogBody className="npu-editor-dialog-body">
          <DialogTitle>{t(isSaving ? 'saveTitle' : 'compareTitle', { model: document.modelName, file: document.name })}</DialogTitle>
          <DialogContent className="npu-editor-dialog-content">
            {isSaving && errors > 0 && <div className="npu-notice"><StateMark kind="degraded" isDecoration /><div><p className="npu-notice-sentence">{t('withErrors', { count: errors })}</p><p className="npu-secondary">{t('withErrorsNote')}</p></div></div>}
            <DiffView before={isSaving ? document.savedText : document.diskChange?.text ?? document.savedText} after={document.text} beforeLabel={t('config-editor:save.onDisk')} afterLabel={t('config-editor:save.edited')} language={PYTHON_LANGUAGE} />
          </DialogContent>
          <DialogActions>
            <Button onClick={close}>{t(isSaving ? 'common:cancel' : 'common:close')}</Button>
            {isSaving && <Button appearance="primary" onClick={confirm} data-testid="code-diff-confirm">{t(dialog === 'saveAndLoad' ? 'config-editor:action.saveAndLoad' : 'config-editor:action.save')}</Button>}
          </DialogActions>
        </DialogBody>
      </DialogSurface>
    </Dialog>
  )
}

/** Reads the file when the tab opens, when the server sees another one, and when the window comes back from another program. */
function useFile(detail: ModelDetail, version: number | null): void {
  const { name } = detail.summary
  const isConnected = useConsole((state) => state.connection === 'open')
  // Changes with every file of the model, and with its config, which may name the file.
  const mark = `${detail.configText ?? ''}\n${detail.summary.versions.flatMap(({ files }) => files.map((file) => `${file.path} ${file.byteSize} ${file.modifiedAt}`)).join('\n')}`
  useEffect(() => {
    if (!isConnected) return
    const read = () => void openCode(name, version)
    read()
    window.addEventListener('focus', read)
    return () => window.removeEventListener('focus', read)
  }, [name, version, mark, isConnected])
}

/** Keys of the whole tab, wherever the focus is; those pressed in the text are the editor's. */
function useKeys(openSave: () => void): void {
  useEffect(() => {
    const handle = (event: KeyboardEvent) => {
      if (event.defaultPrevented || isDialogOpen() || (event.target instanceof Element && event.target.closest('.npu-editor-monaco') !== null)) return
      if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 's') openSave()
      else if (event.key !== 'F8' || !stepToCodeProblem(event.shiftKey ? -1 : 1)) return
      event.preventDefault()
    }
    window.addEventListener('keydown', handle, { capture: true })
    return () => window.removeEventListener('keydown', handle, { capture: true })
  }, [openSave])
}
