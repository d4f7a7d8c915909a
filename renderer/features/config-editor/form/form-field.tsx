/** A row of the form: label with Triton's name, control, and below it what is wrong. Locked where only the text can say what is meant. */
import { Button, Tooltip } from '@fluentui/react-components'
import { Fragment, useId } from 'react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ConfigDiagnostic } from '../../../../server-core/contract/config-language.ts'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import { CloseIcon, FixIcon, InfoIcon } from '../../../components/icons.tsx'
import { StateMark } from '../../../components/state-pill.tsx'
import { applyEdits, useConfigDocument } from '../config-document.ts'
import { useDocumentValue } from './document-value.ts'
import { edit, removing } from './form-actions.ts'
import { treeOfText, useFieldState } from './field-state.ts'
import type { FieldState } from './field-state.ts'
import { useFieldText } from './field-text.ts'
import type { Lock } from './form-tree.ts'
import { valueAt } from './form-tree.ts'
import { findField } from '../../../../server-core/model-config/config-edit.ts'
import { useIsShown } from './form-filter.tsx'
import { showPathInText } from '../editor-view-store.ts'

export interface ControlNames {
  /** Id of the label, for `aria-labelledby`. */
  readonly labelId: string
  /** Id of the list of problems; undefined where there is none. */
  readonly describedBy: string | undefined
  readonly isWrong: boolean
}

interface FieldRowProps {
  readonly path: ConfigPath
  /** Instead of the field's own label. */
  readonly label?: string
  /** Instead of the last name of the path. */
  readonly name?: string
  /** Shown whatever the filter says: its section decides. */
  readonly isAlwaysShown?: boolean
  /** Has no "remove" button: taking it out is said in another way. */
  readonly isKept?: boolean
  readonly note?: ReactNode
  readonly children: (names: ControlNames) => ReactNode
}

export function FieldRow({ path, label, name, isAlwaysShown = false, isKept = false, note, children }: FieldRowProps) {
  const state = useFieldState(path)
  const text = useFieldText()
  const isShown = useIsShown(path)
  const id = useId()
  if (!isAlwaysShown && !isShown) return null
  const labelId = `${id}-label`
  const human = label ?? text.label(path)
  const ownName = name ?? lastName(path)
  const errors = state.diagnostics.some(({ severity }) => severity === 'error')
  return (
    <div className="npu-form-row" data-path={JSON.stringify(path)}>
      <FieldLabel id={labelId} human={human} name={ownName} isChanged={state.isChanged} help={text.help(path)} />
      <div className="npu-form-value">
        <div className="npu-form-control">
          {state.lock !== null ? <LockedField path={path} lock={state.lock} /> : children({ labelId, describedBy: state.diagnostics.length > 0 ? `${id}-findings` : undefined, isWrong: errors })}
          {state.lock === null && state.isChanged && <Was path={path} />}
          {state.lock === null && state.isWritten && !isKept && <RemoveButton path={path} human={human} />}
        </div>
        {note !== undefined && <div className="npu-secondary npu-form-note">{note}</div>}
        <Findings id={`${id}-findings`} diagnostics={state.diagnostics} />
      </div>
    </div>
  )
}

export function lastName(path: ConfigPath): string {
  return String(path.findLast((step) => typeof step === 'string') ?? '')
}

function FieldLabel({ id, human, name, isChanged, help }: { readonly id: string; readonly human: string; readonly name: string; readonly isChanged: boolean; readonly help: string }) {
  const label = <span className="npu-form-label-text"><span id={id}>{human}</span><ChangedMark isChanged={isChanged} /></span>
  return (
    <div className="npu-form-label">
      {help === '' ? label : <Tooltip content={help} relationship="inaccessible" withArrow positioning="above-start">{label}</Tooltip>}
      {name !== '' && <FieldName name={name} />}
    </div>
  )
}

/** Triton's name; long ones break between their words. */
export function FieldName({ name }: { readonly name: string }) {
  return <code className="npu-form-name">{name.split(/(?<=[_.])/).map((word, index) => <Fragment key={index}>{word}<wbr /></Fragment>)}</code>
}

/** What a changed field was in the saved file. */
function Was({ path }: { readonly path: ConfigPath }) {
  const { t } = useTranslation('config-form')
  const savedText = useConfigDocument((state) => state.savedText)
  const saved = treeOfText(savedText ?? '')
  const isEntry = typeof path.at(-1) === 'object' && path.length === 2
  const value = valueAt(saved, isEntry ? [...path, 'value', 'string_value'] : path)
  if (value?.kind !== 'scalar' || value.value === null || String(value.value).length > 24) return null
  return <span className="npu-quiet npu-small-text">{t('was', { value: String(value.value) })}</span>
}

/** A dot with a word: the field is not as in the saved file. */
export function ChangedMark({ isChanged }: { readonly isChanged: boolean }) {
  const { t } = useTranslation('config-form')
  return isChanged ? <span className="npu-form-changed" role="img" aria-label={t('changed')} title={t('changed')} /> : null
}

function RemoveButton({ path, human }: { readonly path: ConfigPath; readonly human: string }) {
  const { t } = useTranslation('config-form')
  return (
    <Tooltip content={t('removeHint')} relationship="description" withArrow>
      <Button className="npu-form-remove" appearance="subtle" size="small" icon={<CloseIcon />} aria-label={t('removeField', { field: human })} onClick={() => edit(removing(path))} />
    </Tooltip>
  )
}

/** In place of a control: the text as it stands, why the form leaves it alone, and the way to it. */
export function LockedField({ path, lock }: { readonly path: ConfigPath; readonly lock: Lock }) {
  const { t } = useTranslation('config-form')
  const written = useDocumentValue(({ tree }) => {
    const span = findField(tree, path)
    return span === null ? '' : tree.text.slice(span.start, span.end).replace(/\s+/g, ' ').slice(0, 80)
  })
  return (
    <div className="npu-form-locked">
      <span className="npu-small-text npu-form-why"><StateMark kind="failed" isDecoration /><span>{t('locked', { line: lock.error.line })}</span></span>
      {written !== '' && <code className="npu-cut" title={written}>{written}</code>}
      <span className="npu-secondary npu-mono">{lock.error.message}</span>
      <button type="button" className="npu-link" onClick={() => showPathInText(lock.path)}>{t('showInText')}</button>
    </div>
  )
}

/** Problems under a control, each with the buttons that repair it. */
export function Findings({ id, diagnostics }: { readonly id?: string; readonly diagnostics: readonly ConfigDiagnostic[] }) {
  if (diagnostics.length === 0) return null
  return <ul className="npu-form-findings" id={id}>{diagnostics.map((diagnostic, index) => <FindingRow key={`${diagnostic.code}-${index}`} diagnostic={diagnostic} />)}</ul>
}

function FindingRow({ diagnostic }: { readonly diagnostic: ConfigDiagnostic }) {
  const { t } = useTranslation('config-form')
  const { local } = useFieldText()
  const { severity, message, fixes, code } = diagnostic
  const sorted = [...fixes].sort((left, right) => Number(right.isPreferred) - Number(left.isPreferred))
  return (
    <li className={`npu-form-finding npu-form-finding-${severity}`} title={code}>
      {severity === 'error' ? <StateMark kind="failed" isDecoration /> : severity === 'warning' ? <StateMark kind="degraded" isDecoration /> : <InfoIcon />}
      <span><span className="npu-form-severity">{t(`severity.${severity}`)}</span> {local(message)}</span>
      {sorted.length > 0 && <span className="npu-form-fixes">{sorted.map((fix) => (
        <Button key={fix.title.en} className="npu-small" size="small" icon={<FixIcon />} onClick={() => applyEdits(fix.edits, 'fix')}>{local(fix.title)}</Button>
      ))}</span>}
    </li>
  )
}

/** A part with parts of its own: what concerns the whole stands above them; `null` children where the whole is locked. */
export function GroupState({ path, children }: { readonly path: ConfigPath; readonly children: (state: FieldState) => ReactNode }) {
  const state = useFieldState(path, true)
  return (
    <>
      {state.lock !== null && <LockedField path={path} lock={state.lock} />}
      <Findings diagnostics={state.diagnostics} />
      {state.lock === null && children(state)}
    </>
  )
}
