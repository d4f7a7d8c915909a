/** The Config tab of a model's page: form and text of one document, its problems, and saving it. */
import { lazy, Suspense, useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelDetail } from '../../../server-core/contract/console-api.ts'
import { insideQuotes, tensorNamed } from '../../../server-core/model-config/ensemble-graph.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { DetailActions } from '../../components/detail-actions.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { CompareIcon, FileIcon, HistoryIcon, RedoIcon, UndoIcon } from '../../components/icons.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { ConsoleError } from '../../console-client.ts'
import { useConsole } from '../../console-store.ts'
import { desktopApi } from '../../lib/desktop-api.ts'
import { applyAllFixes, applyEdits, isModified, redo, undo, useConfigDocument } from './config-document.ts'
import { DriftDialog } from './drift-dialog.tsx'
import { goToProblem, goToText, openDialog, setNotice, useEditorView } from './editor-view-store.ts'
import { HistoryDialog } from './history-dialog.tsx'
import { startLint, useLintFailure } from './lint-client.ts'
import LintWorkerScript from './lint-worker.ts?worker'
import { MergeDialog } from './merge-dialog.tsx'
import { ProblemCount, ProblemsList } from '../../components/code-editor/problems-list.tsx'
import { SaveBar } from './save-bar.tsx'
import { SaveDialog } from './save-dialog.tsx'
import { SaveOutcome } from './save-outcome.tsx'
import { openConfig, useSave } from './save-store.ts'
import { TensorNotice } from './tensor-notice.tsx'
import { TextView } from './text-view.tsx'
import { ViewSwitch } from './view-switch.tsx'
import '../../components/code-editor/code-editor.css'
import './config-editor.css'

const ConfigForm = lazy(() => import('./config-form.tsx').then((module) => ({ default: module.ConfigForm })))

export default function ConfigTab({ detail }: { readonly detail: ModelDetail }) {
  const { t } = useTranslation('config-editor')
  const { name } = detail.summary
  const view = useEditorView((state) => state.view)
  const dialog = useEditorView((state) => state.dialog)
  const isOpen = useConfigDocument((state) => state.modelName === name)
  const saveState = useSave((store) => store.state)
  const openError = useSave((store) => store.openError)
  useFile(name, detail.configText)
  useEffect(() => startLint(() => new LintWorkerScript()), [])
  useKeys()
  useLeaveGuard()
  useWantedTensor(name, isOpen)
  if (openError !== null && !isOpen) return <ErrorNotice sentence={t('outcome.notOpened')} error={openError} {...(openError instanceof ConsoleError && openError.kind === 'INVALID_ARG' ? { nextStep: t('outcome.notOpenedNext') } : {})} />
  if (!isOpen) return null
  return (
    <>
      <DetailActions>
        <IconButton icon={<HistoryIcon />} label={t('action.history')} onClick={() => openDialog('history')} data-testid="config-history" />
        <IconButton icon={<CompareIcon />} label={t('action.drift')} onClick={() => openDialog('drift')} data-testid="config-drift" />
        <ViewSwitch />
      </DetailActions>
      <SaveOutcome />
      <div className={`npu-config-editor npu-config-view-${view}`}>
        {view !== 'text' && <section className="npu-card npu-config-form-card" aria-label={t('view.form')}><Suspense fallback={null}><ConfigForm /></Suspense></section>}
        {view !== 'form' && (
          <section className="npu-card npu-editor-card" aria-label={t('view.text')}>
            <TextHead name={name} hasFile={detail.configText !== null} />
            <TensorNotice modelName={name} />
            <TextView label={t('textLabel', { model: name })} />
            <ConfigProblems />
          </section>
        )}
        <SaveBar />
      </div>
      <SaveDialog />
      {dialog === 'history' && <HistoryDialog modelName={name} />}
      {dialog === 'drift' && <DriftDialog modelName={name} />}
      {saveState.kind === 'conflict' && <MergeDialog conflict={saveState} />}
    </>
  )
}

function ConfigProblems() {
  const diagnostics = useConfigDocument((state) => state.diagnostics)
  const isCurrent = useConfigDocument((state) => state.checkedVersion === state.version)
  const failure = useLintFailure((state) => state.reason)
  return <ProblemsList testId="config" diagnostics={diagnostics} isCurrent={isCurrent} failure={failure} onGoTo={({ offset }) => goToText(offset, offset)} onFix={({ edits }) => applyEdits(edits, 'fix')} onFixAll={applyAllFixes} />
}

function TextHead({ name, hasFile }: { readonly name: string; readonly hasFile: boolean }) {
  const { t } = useTranslation('config-editor')
  const text = useConfigDocument((state) => state.text)
  const diagnostics = useConfigDocument((state) => state.diagnostics)
  const isDirty = useConfigDocument(isModified)
  const canUndo = useConfigDocument((state) => state.undoSteps.length > 0)
  const canRedo = useConfigDocument((state) => state.redoSteps.length > 0)
  const { line, column } = useEditorView((state) => state.cursor)
  return (
    <div className="npu-row npu-editor-head">
      <FileIcon /><span className="npu-mono npu-cut">{name}/config.pbtxt</span>
      {isDirty && <span className="npu-editor-dot" role="img" aria-label={t('save.dirty')} title={t('save.dirty')} />}
      {!hasFile && <span className="npu-quiet npu-cut">{t('noFile')}</span>}
      <span className="npu-grow" />
      <ProblemCount diagnostics={diagnostics} />
      <span className="npu-quiet npu-editor-place">{t('place', { line, column })}</span>
      <IconButton icon={<UndoIcon />} label={t('action.undo')} shortcut="Ctrl+Z" disabledReason={canUndo ? undefined : t('action.nothingToUndo')} onClick={undo} />
      <IconButton icon={<RedoIcon />} label={t('action.redo')} shortcut="Ctrl+Shift+Z" disabledReason={canRedo ? undefined : t('action.nothingToRedo')} onClick={redo} />
      <CopyButton text={text} label={t('action.copy')} />
    </div>
  )
}

/** Reads the file when the tab opens, when the server sees another one, and when the window comes back from another program. */
function useFile(name: string, configText: string | null): void {
  const isConnected = useConsole((state) => state.connection === 'open')
  useEffect(() => {
    if (!isConnected) return
    const read = () => void openConfig(name)
    read()
    window.addEventListener('focus', read)
    return () => window.removeEventListener('focus', read)
  }, [name, configText, isConnected])
}

/** Goes to the tensor for whose sake this config was opened. */
function useWantedTensor(name: string, isOpen: boolean): void {
  const wanted = useEditorView((state) => state.wanted)
  useEffect(() => {
    if (!isOpen || wanted?.modelName !== name) return
    const { tensor } = wanted
    const { tree, version } = useConfigDocument.getState()
    const literal = tensor === null ? null : tensorNamed(tree, tensor.role, tensor.name)
    const { start, end } = literal === null ? { start: 0, end: 0 } : insideQuotes(literal)
    useEditorView.setState({ wanted: null })
    setNotice(tensor !== null && literal === null ? { modelName: name, version, kind: 'notWritten', tensor: tensor.name } : null)
    goToText(start, end)
  }, [wanted, name, isOpen])
}

/** Keys of the whole tab, wherever the focus is, before the window's own; those pressed in the text are the editor's. */
function useKeys(): void {
  useEffect(() => {
    const handle = (event: KeyboardEvent) => {
      if (event.defaultPrevented || document.querySelector('[role="dialog"][aria-modal="true"]') !== null) return
      if (event.target instanceof Element && event.target.closest('.npu-editor-monaco') !== null) return
      const key = event.key.toLowerCase()
      const isControl = (event.ctrlKey || event.metaKey) && !event.altKey
      if (isControl && !event.shiftKey && key === 's') openDialog('save')
      else if (isControl && !event.shiftKey && key === 'z' && !hasOwnUndo(event.target)) undo()
      else if (isControl && !hasOwnUndo(event.target) && (key === 'y' || (event.shiftKey && key === 'z'))) redo()
      else if (event.key === 'F8') { if (goToProblem(event.shiftKey ? -1 : 1) === null) return }
      else return
      event.preventDefault()
    }
    window.addEventListener('keydown', handle, { capture: true })
    return () => window.removeEventListener('keydown', handle, { capture: true })
  }, [])
}

/** A field that is being typed in and not yet part of the document undoes its own letters. */
function hasOwnUndo(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('[data-own-undo]') !== null
}

/** A browser asks before it drops unsaved changes. The desktop keeps them with the window. */
function useLeaveGuard(): void {
  const isDirty = useConfigDocument(isModified)
  useEffect(() => {
    if (!isDirty || desktopApi() !== undefined) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    window.addEventListener('beforeunload', ask)
    return () => window.removeEventListener('beforeunload', ask)
  }, [isDirty])
}
