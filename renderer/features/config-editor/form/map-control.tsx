/** Maps as rows of key and value; values that are messages open below their key. */
import { Button, Input } from '@fluentui/react-components'
import { useId, useState } from 'react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { renameMapKey } from '../../../../server-core/model-config/config-edit.ts'
import type { FieldSchema } from '../../../../server-core/model-config/config-schema.ts'
import { mapValueField } from '../../../../server-core/model-config/config-schema.ts'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import { IconButton } from '../../../components/icon-button.tsx'
import { AddIcon, CloseIcon } from '../../../components/icons.tsx'
import { useDocumentValue } from './document-value.ts'
import { readNumber } from './list-text.ts'
import { edit, removingEntry, setting, settingEntry } from './form-actions.ts'
import { ChangedMark, FieldName, Findings, GroupState, LockedField } from './form-field.tsx'
import { useIsShown } from './form-filter.tsx'
import { useFieldState } from './field-state.ts'
import { textMatches } from './field-search.ts'
import { useFieldText } from './field-text.ts'
import { mapEntries, messageAt, textAt } from './form-tree.ts'
import { useFormView } from './form-view-store.ts'
import { knownParameters } from '../known-parameters.ts'
import { MessageFields } from './schema-fields.tsx'

/** More rows than these are drawn on request: each is two fields, and nobody reads thousands. */
export const ROWS_AT_FIRST = 200

interface MapControlProps {
  readonly path: ConfigPath
  readonly field: FieldSchema
  /** Entries that other sections show. */
  readonly exceptKeys?: readonly string[]
  /** Where the value of an entry of text stands below the entry: `['value']`, for `parameters` `['value', 'string_value']`. */
  readonly valuePath?: readonly string[]
  readonly isHeadless?: boolean
}

export function MapControl({ path, field, exceptKeys = [], valuePath = ['value'], isHeadless = false }: MapControlProps) {
  const { t } = useTranslation('config-form')
  const text = useFieldText()
  const isShown = useIsShown(path)
  const { isChanged } = useFieldState(path, true)
  const query = useFormView((state) => state.query)
  const [limit, setLimit] = useState(ROWS_AT_FIRST)
  const keysId = useId()
  const valueField = mapValueField(field)
  const all = useDocumentValue(({ tree }) => mapEntries(path.length === 1 ? tree.root : messageAt(tree, path.slice(0, -1)), String(path.at(-1))).map(({ key }) => key))
  if (valueField === undefined || (!isHeadless && !isShown)) return null
  const keys = [...new Set(all)].filter((key) => !exceptKeys.includes(key))
  // What is searched for is among the rows that are drawn.
  const drawn = keys.length <= limit ? keys : (query.trim() === '' ? keys : [...keys.filter((key) => textMatches(key, query)), ...keys.filter((key) => !textMatches(key, query))]).slice(0, limit)
  const isText = valueField.type.kind !== 'message' || valuePath.length > 1
  return (
    <div className="npu-form-group" role="group" aria-label={field.name} data-path={JSON.stringify(path)}>
      {isText && field.name === 'parameters' && <KnownKeys id={keysId} taken={all} />}
      {!isHeadless && <div className="npu-form-group-head"><b>{text.label(path)}</b><ChangedMark isChanged={isChanged} /><FieldName name={field.name} /><span className="npu-quiet">{keys.length === 0 ? t('noItems') : keys.length}</span></div>}
      <GroupState path={path}>{() => (
        <>
          {drawn.map((key, index) => (
            <EntryRow key={index} path={path} entryKey={key} taken={all} {...(isText ? { valuePath } : {})}>
              {valueField.type.kind === 'message' && !isText ? <div className="npu-form-nested"><MessageFields path={[...path, { key }, 'value']} schema={valueField.type.message} /></div> : null}
            </EntryRow>
          ))}
          {drawn.length < keys.length && <button type="button" className="npu-link" onClick={() => setLimit(keys.length)}>{t('moreEntries', { count: keys.length - drawn.length })}</button>}
          <NewEntry path={path} field={field} taken={all} keysId={keysId} emptyValue={valueField.type.kind === 'message' ? (isText ? { string_value: '' } : {}) : ''} />
        </>
      )}</GroupState>
    </div>
  )
}

function EntryRow({ path, entryKey, taken, valuePath, children }: { readonly path: ConfigPath; readonly entryKey: string; readonly taken: readonly string[]; readonly valuePath?: readonly string[]; readonly children: ReactNode }) {
  const { t } = useTranslation('config-form')
  const entryPath: ConfigPath = [...path, { key: entryKey }]
  const state = useFieldState(entryPath, valuePath === undefined)
  const fullValuePath: ConfigPath = [...entryPath, ...(valuePath ?? [])]
  const id = useId()
  const value = useDocumentValue(({ tree }) => textAt(tree, fullValuePath))
  const choices = useDocumentValue(({ tree }) => (path[0] === 'parameters' ? knownParameters(textAt(tree, ['backend'])).find(({ key }) => key === entryKey)?.values ?? [] : []))
  const [draftKey, setDraftKey] = useState<string | null>(null)
  const isTaken = draftKey !== null && draftKey !== entryKey && taken.includes(draftKey)
  const rename = (): void => {
    if (draftKey !== null && draftKey !== entryKey && !isTaken) edit((current) => renameMapKey(current, path, entryKey, draftKey))
    setDraftKey(null)
  }
  return (
    <div className="npu-form-entry" data-path={JSON.stringify(entryPath)}>
      {state.lock !== null
        ? <div className="npu-row"><code>{entryKey}</code><LockedField path={entryPath} lock={state.lock} /></div>
        : (
          <div className="npu-form-entry-row">
            <Input className="npu-form-mono" value={draftKey ?? entryKey} aria-label={t('keyOf', { field: String(path.at(-1)) })} aria-invalid={isTaken} data-own-undo input={{ spellCheck: false }} onChange={(_event, { value }) => setDraftKey(value)} onBlur={rename} onKeyDown={(event) => { if (event.key === 'Enter') rename() }} />
            {valuePath !== undefined
              ? <Input className="npu-form-mono npu-form-entry-value" value={value} aria-label={t('valueOf', { key: entryKey })} input={{ spellCheck: false, list: `${id}-values` }} onChange={(_event, data) => edit(setting(fullValuePath, data.value))} />
              : <span className="npu-grow" />}
            <ChangedMark isChanged={state.isChanged} />
            <IconButton icon={<CloseIcon />} isRowAction label={t('removeItem', { item: entryKey })} onClick={() => edit(removingEntry(path, entryKey))} />
          </div>
        )}
      <datalist id={`${id}-values`}>{choices.map((choice) => <option key={choice} value={choice} />)}</datalist>
      {isTaken && <span className="npu-form-problem" role="alert">{t('problem.taken', { key: draftKey })}</span>}
      <Findings diagnostics={state.diagnostics} />
      {state.lock === null && children}
    </div>
  )
}

function NewEntry({ path, field, taken, keysId, emptyValue }: { readonly path: ConfigPath; readonly field: FieldSchema; readonly taken: readonly string[]; readonly keysId: string; readonly emptyValue: string | Record<string, string> }) {
  const { t } = useTranslation('config-form')
  const text = useFieldText()
  const [key, setKey] = useState('')
  const keyType = field.type.kind === 'message' ? field.type.message.byName.get('key')?.type : undefined
  const scalar = keyType?.kind === 'scalar' ? keyType.scalar : 'string'
  const isBad = key !== '' && scalar !== 'string' && 'problem' in readNumber(key, scalar)
  const isTaken = taken.includes(key)
  const canAdd = key !== '' && !isBad && !isTaken
  const add = (): void => {
    if (!canAdd) return
    edit(settingEntry(path, key, emptyValue))
    setKey('')
  }
  return (
    <div className="npu-form-entry-row npu-form-entry-new">
      <Input className="npu-form-mono" value={key} placeholder={t('newKey')} aria-label={t('newKeyOf', { field: text.label(path) })} aria-invalid={isBad || isTaken} data-own-undo input={{ spellCheck: false, list: keysId }} onChange={(_event, { value }) => setKey(value)} onKeyDown={(event) => { if (event.key === 'Enter') add() }} />
      <Button className="npu-small" size="small" icon={<AddIcon />} disabledFocusable={!canAdd} aria-label={t('addField', { field: text.label(path) })} onClick={add}>{t('add')}</Button>
      {(isBad || isTaken) && <span className="npu-form-problem" role="alert">{isBad ? t('problem.not-a-number', { part: key }) : t('problem.taken', { key })}</span>}
    </div>
  )
}

/** What the backend is known to read, to choose from while a key is typed. */
function KnownKeys({ id, taken }: { readonly id: string; readonly taken: readonly string[] }) {
  const backend = useDocumentValue(({ tree }) => textAt(tree, ['backend']))
  const { local } = useFieldText()
  return <datalist id={id}>{knownParameters(backend).filter(({ key }) => !taken.includes(key)).map(({ key, meaning }) => <option key={key} value={key}>{local(meaning)}</option>)}</datalist>
}
