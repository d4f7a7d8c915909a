/** How many instances, and where they run. */
import { Button } from '@fluentui/react-components'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import { AddIcon, CloseIcon } from '../../../components/icons.tsx'
import { Disclosure } from '../../../components/disclosure.tsx'
import { IconButton } from '../../../components/icon-button.tsx'
import { Segmented } from '../../../components/segmented.tsx'
import { StateMark } from '../../../components/state-pill.tsx'
import { useConfigDocument } from '../config-document.ts'
import { useDocumentValue } from './document-value.ts'
import { edit, inserting, removing, removingItem, setting, settingParameter } from './form-actions.ts'
import { FieldRow, GroupState } from './form-field.tsx'
import { useIsShown } from './form-filter.tsx'
import { FormSection } from './form-section.tsx'
import { countAt, schemaAt, textAt } from './form-tree.ts'
import { backendFor, isNpuBackend, kindFor, newGroup, placementOf } from './placement.ts'
import type { Placement } from './placement.ts'
import { NumberControl, NumberField, ListControl } from './scalar-controls.tsx'
import { MessageFields } from './schema-fields.tsx'

const GROUPS: ConfigPath = ['instance_group']

export function InstancesSection() {
  const { t } = useTranslation('config-form')
  const machine = useConfigDocument((state) => state.context.machine)
  const isShown = useIsShown(GROUPS)
  const count = useDocumentValue(({ tree }) => countAt(tree, GROUPS))
  const backend = useDocumentValue(({ tree }) => textAt(tree, ['backend']))
  if (!isShown) return null
  const note = machine === null ? undefined : t('instances.machine', { cpus: machine.cpuCount, gpus: machine.gpuCount, npus: machine.npus?.length ?? 0 })
  return (
    <FormSection
      id="instances" paths={[GROUPS]} note={note}
      actions={<Button className="npu-small" size="small" appearance="subtle" icon={<AddIcon />} onClick={() => edit(inserting(GROUPS, count, newGroup(backend, 1)))}>{t('instances.addGroup')}</Button>}
    >
      <div data-path={JSON.stringify(GROUPS)}>
        <GroupState path={GROUPS}>{() => (count === 0 ? <Unwritten backend={backend} /> : Array.from({ length: count }, (_, index) => <Group key={index} index={index} total={count} backend={backend} />))}</GroupState>
      </div>
    </FormSection>
  )
}

/** No group in the file: setting the number writes one. */
function Unwritten({ backend }: { readonly backend: string }) {
  const { t } = useTranslation('config-form')
  const path: ConfigPath = [...GROUPS, 0, 'count']
  const most = useMost()
  return (
    <FieldRow path={path} isAlwaysShown note={t('instances.unwritten')}>{(names) => (
      <NumberField shown="" names={names} scalar="int32" limits={{ min: 1, slideTo: most, placeholder: '1' }} onChange={(value) => { if (value !== null) edit(inserting(GROUPS, 0, newGroup(backend, Number(value)))) }} />
    )}</FieldRow>
  )
}

function useMost(): number {
  const machine = useConfigDocument((state) => state.context.machine)
  return Math.max(8, machine?.cpuCount ?? 8)
}

function Group({ index, total, backend }: { readonly index: number; readonly total: number; readonly backend: string }) {
  const { t } = useTranslation('config-form')
  const path: ConfigPath = [...GROUPS, index]
  const most = useMost()
  const schema = schemaAt(GROUPS)
  const name = useDocumentValue(({ tree }) => textAt(tree, [...path, 'name']))
  const placement = useDocumentValue(({ tree }) => placementOf(backend, textAt(tree, [...path, 'kind'])))
  return (
    <div className={total > 1 ? 'npu-form-item' : ''} role="group" aria-label={t('instances.group', { index: index + 1 })} data-path={JSON.stringify(path)}>
      {total > 1 && <div className="npu-form-item-head"><span className="npu-form-index">{index + 1}</span><b className="npu-mono">{name}</b><span className="npu-grow" /><IconButton icon={<CloseIcon />} isRowAction label={t('removeItem', { item: t('instances.group', { index: index + 1 }) })} onClick={() => edit(removingItem(GROUPS, index))} /></div>}
      <GroupState path={path}>{() => (
        <>
          <FieldRow path={[...path, 'count']} isKept>{(names) => <NumberControl path={[...path, 'count']} names={names} scalar="int32" limits={{ min: 1, slideTo: most, placeholder: '1' }} />}</FieldRow>
          <RunsOn path={path} backend={backend} placement={placement} />
          {placement === 'gpu' && <Gpus path={[...path, 'gpus']} />}
          <Disclosure title={t('instances.more')}>
            <div className="npu-form-nested">
              {schema?.type.kind === 'message' && <MessageFields path={path} schema={schema.type.message} except={placement === 'gpu' ? ['count', 'gpus'] : ['count']} />}
              {total === 1 && <Button className="npu-small" size="small" icon={<CloseIcon />} onClick={() => edit(removing(GROUPS))}>{t('instances.remove')}</Button>}
            </div>
          </Disclosure>
        </>
      )}</GroupState>
    </div>
  )
}

function Gpus({ path }: { readonly path: ConfigPath }) {
  const { t } = useTranslation('config-form')
  const field = schemaAt(path)
  return field === null ? null : <FieldRow path={path} note={t('instances.gpusNote')}>{(names) => <ListControl path={path} names={names} field={field} placeholder="[ 0 ]" />}</FieldRow>
}

/** A device that the backend cannot use leads to the backend that can, said before anything is written. */
function RunsOn({ path, backend, placement }: { readonly path: ConfigPath; readonly backend: string; readonly placement: Placement }) {
  const { t } = useTranslation('config-form')
  const machine = useConfigDocument((state) => state.context.machine)
  const [asked, setAsked] = useState<Placement | null>(null)
  const choices: readonly Placement[] = placement === 'model' ? ['auto', 'cpu', 'gpu', 'npu', 'model'] : ['auto', 'cpu', 'gpu', 'npu']
  const take = (next: Placement): void => {
    const kind = kindFor(backend, next)
    setAsked(kind === null && next !== placement ? next : null)
    if (kind === null) return
    if (kind === 'none') edit(removing([...path, 'kind']), removing([...path, 'gpus']))
    else edit(setting([...path, 'kind'], kind), ...(kind === 'KIND_GPU' ? [] : [removing([...path, 'gpus'])]))
  }
  const changeBackend = (next: Placement, other: string): void => {
    edit(
      setting(['backend'], other), removing(['platform']), removing([...path, 'gpus']), next === 'npu' ? removing([...path, 'kind']) : setting([...path, 'kind'], 'KIND_CPU'),
      ...(next === 'npu' ? [] : [settingParameter('device_ids', null)]),
    )
    setAsked(null)
  }
  const pending = asked !== null && kindFor(backend, asked) === null ? asked : null
  const other = pending === null ? null : backendFor(pending)
  const isWithoutGpu = placement === 'gpu' && machine !== null && machine.gpuCount === 0
  return (
    <FieldRow
      path={[...path, 'kind']} isKept label={t('instances.runsOn')}
      note={pending !== null
        ? <span className="npu-form-ask" role="status">{t('instances.cannot', { backend: backend === '' ? 'onnxruntime' : backend, device: t(`instances.on.${pending}`) })} {other !== null && <Button className="npu-small" size="small" onClick={() => changeBackend(pending, other)}>{t('instances.changeBackend', { backend: other })}</Button>}</span>
        : isWithoutGpu ? <span className="npu-form-caution"><StateMark kind="degraded" isDecoration /> {t('instances.noGpu')}</span> : t(`instances.note.${placement}`)}
    >{() => (
      <Segmented label={t('instances.runsOn')} value={pending ?? placement} onChange={take} options={choices.filter((choice) => !isNpuBackend(backend) || choice !== 'auto').map((value) => ({ value, label: t(`instances.on.${value}`) }))} />
    )}</FieldRow>
  )
}

