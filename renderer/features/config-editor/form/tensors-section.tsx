/** Inputs and outputs beside the model file's, with a tick or the difference and a button that takes the file's over. */
import { Button, Input } from '@fluentui/react-components'
import { useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { ConfigContextVersion, FileTensor } from '../../../../server-core/contract/config-language.ts'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import type { PbtxtTree } from '../../../../server-core/model-config/pbtxt-tree.ts'
import { AddIcon, ChevronDownIcon, ChevronRightIcon, CloseIcon, FixIcon } from '../../../components/icons.tsx'
import { IconButton } from '../../../components/icon-button.tsx'
import { StateMark } from '../../../components/state-pill.tsx'
import { useConfigDocument } from '../config-document.ts'
import { useDocumentValue } from './document-value.ts'
import { edit, inserting, removing, removingItem, setting } from './form-actions.ts'
import type { EditStep } from './form-actions.ts'
import { ChangedMark, FieldName, FieldRow, Findings, GroupState, LockedField } from './form-field.tsx'
import { useAreShown } from './form-filter.tsx'
import { FormSection } from './form-section.tsx'
import { useFieldState } from './field-state.ts'
import { countAt, numberAt, numbersAt, schemaAt, textAt, valueAt } from './form-tree.ts'
import { ChoiceControl, ListControl, NumberControl } from './scalar-controls.tsx'
import { MessageFields } from './schema-fields.tsx'
import { compareTensor, entryFor, shapeText, unlisted } from './tensor-comparison.ts'
import type { ConfigTensor, TensorComparison } from './tensor-comparison.ts'

type Role = 'input' | 'output'
const MAX_BATCH: ConfigPath = ['max_batch_size']
const ROLES: readonly Role[] = ['input', 'output']

/** The version whose file is read: the newest with a signature. */
function signatureVersion(versions: readonly ConfigContextVersion[]): ConfigContextVersion | undefined {
  return [...versions].sort((left, right) => right.version - left.version).find(({ signature }) => signature !== null)
}

export function TensorsSection() {
  const { t } = useTranslation('config-form')
  const [isMaxShown, ...areRolesShown] = useAreShown([MAX_BATCH, ...ROLES.map((role): ConfigPath => [role])])
  const versions = useConfigDocument((state) => state.context.versions)
  if (isMaxShown !== true && !areRolesShown.includes(true)) return null
  const source = signatureVersion(versions)
  const file = source?.files.find((name) => name.endsWith('.onnx')) ?? source?.files[0]
  return (
    <FormSection id="tensors" paths={[MAX_BATCH, ['input'], ['output']]} note={source === undefined ? t('tensor.noFile') : t('tensor.checked', { file: `${source.version}/${file ?? ''}` })}>
      <FieldRow path={MAX_BATCH} note={<BatchNote />}>{(names) => <NumberControl path={MAX_BATCH} names={names} scalar="int32" limits={{ min: 0, placeholder: '0' }} />}</FieldRow>
      {ROLES.map((role, index) => areRolesShown[index] === true && <TensorList key={role} role={role} tensors={source?.signature === null || source?.signature === undefined ? null : role === 'input' ? source.signature.inputs : source.signature.outputs} />)}
    </FormSection>
  )
}

function BatchNote() {
  const { t } = useTranslation('config-form')
  const size = useDocumentValue(({ tree }) => numberAt(tree, MAX_BATCH) ?? 0)
  return <>{size > 0 ? t('tensor.batching') : t('tensor.noBatching')}</>
}

function TensorList({ role, tensors }: { readonly role: Role; readonly tensors: readonly FileTensor[] | null }) {
  const { t } = useTranslation('config-form')
  const path: ConfigPath = [role]
  const names = useDocumentValue(({ tree }) => Array.from({ length: countAt(tree, path) }, (_, index) => textAt(tree, [role, index, 'name'])))
  const count = names.length
  const missing = unlisted(names, tensors)
  const maxBatchSize = useDocumentValue(({ tree }) => numberAt(tree, MAX_BATCH) ?? 0)
  const add = (added: readonly FileTensor[]): void => edit(...added.map((tensor, index): EditStep => inserting(path, count + index, { name: tensor.name, ...entryFor(tensor, maxBatchSize) })))
  return (
    <div className="npu-tensor-list" role="group" aria-label={t(`tensor.${role}s`)} data-path={JSON.stringify(path)}>
      <div className="npu-form-group-head">
        <b>{t(`tensor.${role}s`)}</b><FieldName name={role} />
        {count === 0 && <span className="npu-quiet npu-small-text">{t('tensor.fromFile')}</span>}
        <span className="npu-grow" />
        <Button className="npu-small" size="small" appearance="subtle" icon={<AddIcon />} onClick={() => edit(inserting(path, count, { name: '' }))}>{t(`tensor.add-${role}`)}</Button>
      </div>
      <GroupState path={path}>{() => names.map((_, index) => <TensorRow key={index} role={role} index={index} tensors={tensors} maxBatchSize={maxBatchSize} missing={missing} />)}</GroupState>
      {missing.length > 0 && (
        <p className="npu-tensor-missing npu-small-text">
          <span>{count === 0 ? t('tensor.inFile') : t('tensor.notListed')}</span>
          {missing.map((tensor) => <button key={tensor.name} type="button" className="npu-form-chip" onClick={() => add([tensor])} title={`${t('tensor.addFromFile', { name: tensor.name })}: [${tensor.shape.join(', ')}]`}><AddIcon /><span className="npu-mono">{tensor.name}</span> <span className="npu-quiet">{tensor.datatype ?? '?'} {shapeText(tensor.shape)}</span></button>)}
          {missing.length > 1 && <button type="button" className="npu-link" onClick={() => add(missing)}>{t('tensor.addAll')}</button>}
        </p>
      )}
    </div>
  )
}

/** Shown when a tensor is opened. */
const FOLDED = ['format', 'reshape', 'is_shape_tensor', 'allow_ragged_batch', 'optional', 'is_non_linear_format_io', 'label_filename'] as const

function tensorOf(tree: PbtxtTree, path: ConfigPath): ConfigTensor {
  const reshape = valueAt(tree, [...path, 'reshape']) === null ? null : numbersAt(tree, [...path, 'reshape', 'shape'])
  return { name: textAt(tree, [...path, 'name']), dataType: textAt(tree, [...path, 'data_type']), dims: numbersAt(tree, [...path, 'dims']), reshape }
}

function TensorRow({ role, index, tensors, maxBatchSize, missing }: { readonly role: Role; readonly index: number; readonly tensors: readonly FileTensor[] | null; readonly maxBatchSize: number; readonly missing: readonly FileTensor[] }) {
  const { t } = useTranslation('config-form')
  const path: ConfigPath = [role, index]
  const { tensor, more } = useDocumentValue(({ tree }) => ({ tensor: tensorOf(tree, path), more: FOLDED.filter((field) => valueAt(tree, [...path, field]) !== null) }))
  const { name } = tensor
  const state = useFieldState(path)
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  const schema = schemaAt([role])
  const dims = schemaAt([role, index, 'dims'])
  const type = schemaAt([role, index, 'data_type'])
  const title = name === '' ? t('tensor.unnamed', { index: index + 1 }) : name
  const comparison = compareTensor(tensor, tensors, maxBatchSize)
  const part = (what: string) => ({ labelId: `${id}-${what}`, describedBy: state.diagnostics.length > 0 ? `${id}-findings` : undefined, isWrong: false })
  return (
    <div className="npu-tensor-row" role="group" aria-label={title} data-path={JSON.stringify(path)}>
      {state.lock !== null ? <LockedField path={path} lock={state.lock} /> : (
        <div className="npu-tensor-line">
          <span className="npu-visually-hidden" id={`${id}-type`}>{t('tensor.typeOf', { name: title })}</span><span className="npu-visually-hidden" id={`${id}-dims`}>{t('tensor.dimsOf', { name: title })}</span>
          <span className="npu-form-cell" data-path={JSON.stringify([...path, 'name'])}><TensorName path={[...path, 'name']} label={t('tensor.nameOf', { index: index + 1 })} choices={[...missing.map((file) => file.name), ...(tensors?.some((file) => file.name === name) === true ? [name] : [])]} /></span>
          <span className="npu-form-cell" data-path={JSON.stringify([...path, 'data_type'])}>{type?.type.kind === 'enum' && <ChoiceControl path={[...path, 'data_type']} names={part('type')} schema={type.type.enum} label={(value) => value.replace('TYPE_', '')} />}</span>
          <span className="npu-form-cell" data-path={JSON.stringify([...path, 'dims'])}>{dims !== null && <ListControl path={[...path, 'dims']} names={part('dims')} field={dims} placeholder="[ 3, 224, 224 ]" />}</span>
          <Compared comparison={comparison} />
          <span className="npu-tensor-buttons">
            <ChangedMark isChanged={state.isChanged} />
            <IconButton isRowAction icon={isOpen ? <ChevronDownIcon /> : <ChevronRightIcon />} label={t('tensor.more', { name: title })} onClick={() => setOpen(!isOpen)} />
            <IconButton isRowAction icon={<CloseIcon />} label={t('removeItem', { item: title })} onClick={() => edit(removingItem([role], index))} />
          </span>
        </div>
      )}
      <Differences comparison={comparison} path={path} maxBatchSize={maxBatchSize} />
      <Findings id={`${id}-findings`} diagnostics={state.diagnostics} />
      {!isOpen && more.length > 0 && <p className="npu-secondary">{t('tensor.alsoSet')} <code>{more.join(', ')}</code></p>}
      {isOpen && schema?.type.kind === 'message' && <div className="npu-form-nested"><MessageFields path={path} schema={schema.type.message} except={['name', 'data_type', 'dims']} /></div>}
    </div>
  )
}

function TensorName({ path, label, choices }: { readonly path: ConfigPath; readonly label: string; readonly choices: readonly string[] }) {
  const name = useDocumentValue(({ tree }) => textAt(tree, path))
  const id = useId()
  return (
    <>
      <Input className="npu-form-mono" value={name} aria-label={label} input={{ spellCheck: false, list: choices.length > 0 ? id : undefined }} onChange={(_event, { value }) => edit(setting(path, value))} />
      {choices.length > 0 && <datalist id={id}>{choices.map((choice) => <option key={choice} value={choice} />)}</datalist>}
    </>
  )
}

/** The file's type and shape, and a tick where the config says the same. */
function Compared({ comparison }: { readonly comparison: TensorComparison }) {
  const { t } = useTranslation('config-form')
  switch (comparison.kind) {
    case 'unknown': return <span className="npu-quiet npu-small-text npu-tensor-file">{t('tensor.unknown')}</span>
    case 'missing': return <span className="npu-tensor-file npu-small-text npu-tensor-wrong"><StateMark kind="failed" isDecoration /> {t('tensor.notInFile')}</span>
    case 'match':
    case 'differs': {
      const { file } = comparison
      const isTypeShown = comparison.kind === 'differs' && comparison.differences.includes('datatype')
      return (
        <span className={`npu-tensor-file npu-small-text${comparison.kind === 'match' ? ' npu-quiet' : ' npu-tensor-wrong'}`}>
          {t('tensor.model')} <code title={`[${file.shape.join(', ')}]`}>{isTypeShown ? `${file.datatype ?? '?'} ` : ''}{shapeText(file.shape)}</code>{' '}
          {comparison.kind === 'match' ? <span role="img" aria-label={t('tensor.agrees')} title={t('tensor.agrees')}><StateMark kind="ready" isDecoration /></span> : <StateMark kind="failed" isDecoration />}
        </span>
      )
    }
  }
}

/** What differs in words, and what takes the file's over. */
function Differences({ comparison, path, maxBatchSize }: { readonly comparison: TensorComparison; readonly path: ConfigPath; readonly maxBatchSize: number }) {
  const { t } = useTranslation('config-form')
  if (comparison.kind === 'missing' && comparison.suggestion !== null) {
    const { suggestion } = comparison
    return <p className="npu-tensor-difference npu-small-text"><span>{t('tensor.didYouMean', { name: suggestion })}</span><Button className="npu-small" size="small" icon={<FixIcon />} onClick={() => edit(setting([...path, 'name'], suggestion))}>{t('tensor.rename', { name: suggestion })}</Button></p>
  }
  if (comparison.kind !== 'differs') return null
  const { differences, file } = comparison
  const takeOver = (): void => {
    const entry = entryFor(file, maxBatchSize)
    edit(setting([...path, 'data_type'], entry.data_type), setting([...path, 'dims'], entry.dims), entry.reshape === undefined ? removing([...path, 'reshape']) : setting([...path, 'reshape'], { shape: entry.reshape.shape }))
  }
  const isFixed = differences.includes('batch-axis-fixed')
  return (
    <p className="npu-tensor-difference npu-small-text" title={comparison.serverText}>
      <span>{differences.map((difference) => t(`tensor.difference.${difference}`)).join(' ')}</span>
      {isFixed
        ? <Button className="npu-small" size="small" icon={<FixIcon />} onClick={() => edit(setting(MAX_BATCH, 0), setting([...path, 'dims'], entryFor(file, 0).dims))}>{t('tensor.stopBatching')}</Button>
        : <Button className="npu-small" size="small" icon={<FixIcon />} onClick={takeOver}>{t('tensor.takeOver')}</Button>}
    </p>
  )
}
