/** Controls generated from the schema: any field, with all that is in it. */
import { Button, Select } from '@fluentui/react-components'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { FieldSchema, MessageSchema } from '../../../../server-core/model-config/config-schema.ts'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import type { ConfigValue } from '../../../../server-core/model-config/config-style.ts'
import { AddIcon, CloseIcon } from '../../../components/icons.tsx'
import { IconButton } from '../../../components/icon-button.tsx'
import { useDocumentValue } from './document-value.ts'
import { controlKind } from './control-kind.ts'
import { edit, inserting, removing, removingItem, setting } from './form-actions.ts'
import { ChangedMark, FieldName, FieldRow, GroupState } from './form-field.tsx'
import { useAreShown, useIsShown } from './form-filter.tsx'
import { useFieldText } from './field-text.ts'
import { useFieldState } from './field-state.ts'
import { countAt, pathKey, valueAt } from './form-tree.ts'
import { MapControl } from './map-control.tsx'
import { ChoiceControl, ListControl, NumberControl, SwitchControl } from './scalar-controls.tsx'
import { TextControl } from './scalar-controls.tsx'
import { TextListControl } from './text-list-control.tsx'

/** All fields of a message; members of a oneof as one choice with what is chosen below it. */
export function MessageFields({ path, schema, except = [] }: { readonly path: ConfigPath; readonly schema: MessageSchema; readonly except?: readonly string[] }) {
  const seen = new Set<string>()
  const parts: ReactNode[] = []
  for (const field of schema.fields) {
    if (except.includes(field.name)) continue
    if (field.oneof === undefined) {
      parts.push(<SchemaField key={field.name} path={[...path, field.name]} field={field} />)
    } else if (!seen.has(field.oneof)) {
      seen.add(field.oneof)
      parts.push(<OneofFields key={field.oneof} path={path} oneof={field.oneof} members={schema.fields.filter((member) => member.oneof === field.oneof)} />)
    }
  }
  return <>{parts}</>
}

/** One field with the control of its type. */
export function SchemaField({ path, field }: { readonly path: ConfigPath; readonly field: FieldSchema }) {
  const kind = controlKind(field)
  switch (kind) {
    case 'group': return <GroupField path={path} field={field} />
    case 'group-list': return <GroupListField path={path} field={field} />
    case 'text-map':
    case 'message-map': return <MapControl path={path} field={field} />
    case 'text-list': return <FieldRow path={path}>{(names) => <TextListControl path={path} field={field} names={names} />}</FieldRow>
    case 'text': return <FieldRow path={path}>{(names) => <TextControl path={path} names={names} />}</FieldRow>
    case 'number': return <FieldRow path={path}>{(names) => <NumberControl path={path} names={names} scalar={field.type.kind === 'scalar' ? field.type.scalar : 'int64'} limits={{ placeholder: '0' }} />}</FieldRow>
    case 'switch': return <FieldRow path={path}>{(names) => <SwitchControl path={path} names={names} />}</FieldRow>
    case 'choice': return <FieldRow path={path}>{(names) => (field.type.kind === 'enum' ? <ChoiceControl path={path} names={names} schema={field.type.enum} /> : null)}</FieldRow>
    case 'number-list':
    case 'boolean-list': return <FieldRow path={path}>{(names) => <ListControl path={path} names={names} field={field} />}</FieldRow>
  }
}

/** "none" or one of the members; choosing one takes the other out. */
function OneofFields({ path, oneof, members }: { readonly path: ConfigPath; readonly oneof: string; readonly members: readonly FieldSchema[] }) {
  const { t } = useTranslation('config-form')
  const text = useFieldText()
  const areShown = useAreShown(members.map((member) => [...path, member.name]))
  const chosenName = useDocumentValue(({ tree }) => members.find((member) => valueAt(tree, [...path, member.name]) !== null)?.name)
  const chosen = members.find(({ name }) => name === chosenName)
  if (!areShown.includes(true)) return null
  const choose = (name: string): void => {
    const member = members.find((candidate) => candidate.name === name)
    if (member === undefined) edit(...members.map((other) => removing([...path, other.name])))
    else if (member !== chosen) edit(setting([...path, member.name], firstValue(member)))
  }
  const rowPath: ConfigPath = [...path, (chosen ?? members[0])?.name ?? oneof]
  return (
    <>
      <FieldRow path={rowPath} label={text.label([...path, oneof])} name={chosen?.name ?? ''} isAlwaysShown isKept>{(names) => (
        <Select className="npu-form-choice" value={chosen?.name ?? ''} aria-labelledby={names.labelId} aria-describedby={names.describedBy} onChange={(_event, { value }) => choose(value)}>
          <option value="">{t('none')}</option>
          {members.map((member) => <option key={member.name} value={member.name}>{`${text.label([...path, member.name])} (${member.name})`}</option>)}
        </Select>
      )}</FieldRow>
      {chosen !== undefined && (chosen.type.kind === 'message' ? chosen.type.message.fields.length > 0 && <div className="npu-form-nested"><MessageFields path={[...path, chosen.name]} schema={chosen.type.message} /></div> : <SchemaField path={[...path, chosen.name]} field={chosen} />)}
    </>
  )
}

/** What a member of a oneof starts with: an on switch, an empty message, a zero. */
function firstValue(member: FieldSchema): ConfigValue {
  if (member.type.kind === 'message') return {}
  if (member.type.kind === 'enum') return Object.keys(member.type.enum.values)[0] ?? 0
  return member.type.scalar === 'bool' ? true : member.type.scalar === 'string' ? '' : 0
}

/** A single message: its fields, indented. Setting any of them writes it; an empty one can be written and taken out as a whole. */
function GroupField({ path, field }: { readonly path: ConfigPath; readonly field: FieldSchema }) {
  const isShown = useIsShown(path)
  if (field.type.kind !== 'message' || !isShown) return null
  const { message } = field.type
  return (
    <div className="npu-form-group" role="group" aria-label={`${field.name}`} data-path={JSON.stringify(path)}>
      <GroupHead path={path} />
      <GroupState path={path}>{() => <div className="npu-form-nested"><MessageFields path={path} schema={message} /></div>}</GroupState>
    </div>
  )
}

function GroupHead({ path }: { readonly path: ConfigPath }) {
  const { t } = useTranslation('config-form')
  const text = useFieldText()
  const { isWritten, isChanged } = useFieldState(path, true)
  return (
    <div className="npu-form-group-head">
      <b>{text.label(path)}</b><ChangedMark isChanged={isChanged} /><FieldName name={String(path.at(-1))} />
      <span className="npu-grow" />
      {isWritten
        ? <IconButton icon={<CloseIcon />} isRowAction label={t('removeField', { field: text.label(path) })} onClick={() => edit(removing(path))} />
        : <Button className="npu-small" size="small" appearance="subtle" icon={<AddIcon />} aria-label={t('addField', { field: text.label(path) })} onClick={() => edit(setting(path, {}))}>{t('add')}</Button>}
    </div>
  )
}

/** A list of messages: a part for each, and a button for one more. */
export function GroupListField({ path, field }: { readonly path: ConfigPath; readonly field: FieldSchema }) {
  const { t } = useTranslation('config-form')
  const text = useFieldText()
  const isShown = useIsShown(path)
  const titles = useDocumentValue(({ tree }) => Array.from({ length: countAt(tree, path) }, (_, index) => itemTitle(tree, path, index)))
  const { isChanged } = useFieldState(path, true)
  if (field.type.kind !== 'message' || !isShown) return null
  const { message } = field.type
  const count = titles.length
  return (
    <div className="npu-form-group" role="group" aria-label={field.name} data-path={JSON.stringify(path)}>
      <div className="npu-form-group-head">
        <b>{text.label(path)}</b><ChangedMark isChanged={isChanged} /><FieldName name={field.name} /><span className="npu-quiet">{count === 0 ? t('noItems') : count}</span>
        <span className="npu-grow" />
        <Button className="npu-small" size="small" appearance="subtle" icon={<AddIcon />} aria-label={t('addField', { field: text.label(path) })} onClick={() => edit(inserting(path, count, {}))}>{t('add')}</Button>
      </div>
      <GroupState path={path}>{() => titles.map((title, index) => (
        <GroupItem key={index} path={path} index={index} title={title}><MessageFields path={[...path, index]} schema={message} /></GroupItem>
      ))}</GroupState>
    </div>
  )
}

/** `name` (or what names it) of an item, else its place. */
function itemTitle(tree: Parameters<typeof valueAt>[0], path: ConfigPath, index: number): string {
  for (const name of ['name', 'model_name', 'input_name', 'family', 'kind']) {
    const value = valueAt(tree, [...path, index, name])
    if (value?.kind === 'scalar' && value.value !== null && value.value !== '') return String(value.value)
  }
  return `${index + 1}`
}

export function GroupItem({ path, index, title, children }: { readonly path: ConfigPath; readonly index: number; readonly title: string; readonly children: ReactNode }) {
  const { t } = useTranslation('config-form')
  const itemPath: ConfigPath = [...path, index]
  return (
    <div className="npu-form-item" role="group" aria-label={title} data-path={JSON.stringify(itemPath)} key={pathKey(itemPath)}>
      <div className="npu-form-item-head"><span className="npu-form-index">{index + 1}</span><b className="npu-cut npu-mono">{title}</b><span className="npu-grow" /><IconButton icon={<CloseIcon />} isRowAction label={t('removeItem', { item: title })} onClick={() => edit(removingItem(path, index))} /></div>
      <GroupState path={itemPath}>{() => children}</GroupState>
    </div>
  )
}
