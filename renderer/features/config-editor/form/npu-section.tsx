/** What the NPU backends understand: cards, streams, static graph, gears, core limits, precision, and what is recorded while they run. */
import { Select, Switch } from '@fluentui/react-components'
import { useId, useState } from 'react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { ASCEND_CHIPS, findAscendChip } from '../../../../server-core/model-config/ascend-chips.ts'
import type { AscendChip } from '../../../../server-core/model-config/ascend-chips.ts'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import { Segmented } from '../../../components/segmented.tsx'
import { StateMark } from '../../../components/state-pill.tsx'
import { useConfigDocument } from '../config-document.ts'
import type { ConfigDocument } from '../config-document.ts'
import { useDocumentValue } from './document-value.ts'
import { formatCoreLimit, parseCoreLimit } from './core-limit.ts'
import { edit, settingParameter } from './form-actions.ts'
import { FieldRow } from './form-field.tsx'
import type { ControlNames } from './form-field.tsx'
import { textMatches } from './field-search.ts'
import { isChanged } from './field-state.ts'
import { FormSection } from './form-section.tsx'
import { countAt, numberAt, numbersAt, parameterAt, textAt, valueAt } from './form-tree.ts'
import { useFormView } from './form-view-store.ts'
import { GearsEditor } from './gears-editor.tsx'
import { npuKeys, optionAt, optionKey, PRECISION_MODES, PRECISION_MODES_V2 } from './npu-options.ts'
import type { OptionName, PlainKey } from './npu-options.ts'
import { ParameterLine } from './parameter-line.tsx'
import { formatCards, isNpuBackend, parseCards } from './placement.ts'
import { NumberField } from './scalar-controls.tsx'

const plainPath = (key: PlainKey): ConfigPath => ['parameters', { key }]

export function useIsNpuShown(): boolean {
  const { t } = useTranslation('config-form')
  const query = useFormView((state) => state.query)
  const scope = useFormView((state) => state.scope)
  const keywords = t('npu.keywords')
  return useDocumentValue((document) => {
    const { tree } = document
    if (!isNpuBackend(textAt(tree, ['backend']))) return false
    const keys = npuKeys(tree)
    if (scope === 'set' && keys.length === 0) return false
    if (scope === 'changed' && !keys.some((key) => isChanged(document, ['parameters', { key }]))) return false
    return textMatches(`npu ge ascend ${keys.join(' ')} ${keywords}`, query)
  })
}

export function NpuSection() {
  const { t } = useTranslation('config-form')
  const backend = useDocumentValue(({ tree }) => textAt(tree, ['backend']))
  const keys = useDocumentValue(({ tree }) => npuKeys(tree))
  const isShown = useIsNpuShown()
  const { chip, isAssumed, choose } = useChip()
  if (!isShown) return null
  const isGe = backend === 'npu_ge'
  const cores = chip === undefined ? undefined : chip.vectorCores === null ? t('npu.cores', { chip: chip.chip, cores: chip.aiCores }) : t('npu.coresBoth', { chip: chip.chip, cube: chip.aiCores, vector: chip.vectorCores })
  return (
    <FormSection id="npu" paths={keys.map((key): ConfigPath => ['parameters', { key }])} note={isGe ? undefined : t('npu.omNote')} actions={<ChipChoice chip={chip} isAssumed={isAssumed} onChoose={choose} text={cores} />}>
      {isGe && chip !== undefined && !chip.hasOnlineGraphEngine && <Caution>{t('npu.noOnline', { chip: chip.chip })}</Caution>}
      <Cards />
      <Streams />
      {isGe && <StaticGraph />}
      {isGe && <GearsEditor />}
      {isGe && <CoreLimits chip={chip} />}
      {isGe && <Precision />}
      <Recording isGe={isGe} />
    </FormSection>
  )
}

export function Caution({ children }: { readonly children: ReactNode }) {
  return <p className="npu-form-caution npu-small-text"><StateMark kind="degraded" isDecoration /> <span>{children}</span></p>
}

/** The chip of the first chosen card; one that the user names where no card is known. */
function useChip(): { readonly chip: AscendChip | undefined; readonly isAssumed: boolean; choose(name: string): void } {
  const [named, setNamed] = useState('')
  const npus = useConfigDocument((state) => state.context.machine?.npus ?? null)
  const cards = useDocumentValue(({ tree }) => parseCards(parameterAt(tree, 'device_ids') ?? '') ?? [])
  const used = npus?.filter(({ card }) => cards.length === 0 || cards.includes(card)) ?? []
  // Several chips: the one with the fewest cores bounds them all.
  const known = used.map(({ chip }) => findAscendChip(chip)).filter((chip) => chip !== undefined).sort((left, right) => left.aiCores - right.aiCores)[0]
  return { chip: known ?? ASCEND_CHIPS.find(({ chip }) => chip === named), isAssumed: known === undefined, choose: setNamed }
}

function ChipChoice({ chip, isAssumed, onChoose, text }: { readonly chip: AscendChip | undefined; readonly isAssumed: boolean; readonly onChoose: (name: string) => void; readonly text: string | undefined }) {
  const { t } = useTranslation('config-form')
  if (!isAssumed) return <span className="npu-quiet npu-small-text">{text}</span>
  return (
    <span className="npu-row npu-small-text npu-quiet">
      <span className="npu-form-chip-note">{chip === undefined ? t('npu.noCard') : text}</span>
      <Select size="small" aria-label={t('npu.chip')} value={chip?.chip ?? ''} onChange={(_event, { value }) => onChoose(value)}>
        <option value="">{t('npu.chooseChip')}</option>
        {ASCEND_CHIPS.map((one) => <option key={one.chip} value={one.chip}>{one.chip}</option>)}
      </Select>
    </span>
  )
}

function Cards() {
  const { t } = useTranslation('config-form')
  const npus = useConfigDocument((state) => state.context.machine?.npus ?? null)
  const written = useDocumentValue(({ tree }) => parameterAt(tree, 'device_ids'))
  const cards = parseCards(written ?? '')
  const toggle = (card: number): void => {
    const next = (cards ?? []).includes(card) ? (cards ?? []).filter((one) => one !== card) : [...(cards ?? []), card]
    edit(settingParameter('device_ids', next.length === 0 ? null : formatCards(next)))
  }
  const isChips = npus !== null && npus.length > 0 && cards !== null
  const absent = isChips ? cards.filter((card) => !npus.some((npu) => npu.card === card)) : []
  return (
    <FieldRow path={plainPath('device_ids')} name="device_ids" label={t('npu.cards')} isAlwaysShown note={written === null ? t('npu.allCards') : undefined}>{(names) => (isChips
      ? <span className="npu-form-control">
        {npus.map(({ card, chip }) => <button key={card} type="button" className="npu-form-chip" aria-pressed={cards.includes(card)} onClick={() => toggle(card)}>{t('npu.card', { card, chip: chip.replace(/^Ascend/, '') })}</button>)}
        {absent.map((card) => <button key={card} type="button" className="npu-form-chip npu-form-chip-absent" aria-pressed onClick={() => toggle(card)}>{t('npu.absentCard', { card })}</button>)}
      </span>
      : <ParameterLine name="device_ids" names={names} placeholder="0,1" />)}</FieldRow>
  )
}

function ParameterNumber({ name, names, placeholder, slideTo, unit }: { readonly name: string; readonly names: ControlNames; readonly placeholder: string; readonly slideTo?: number; readonly unit?: string }) {
  const shown = useDocumentValue(({ tree }) => parameterAt(tree, name) ?? '')
  return <NumberField shown={shown} names={names} scalar="int32" limits={{ min: 1, placeholder, ...(slideTo === undefined ? {} : { slideTo }), ...(unit === undefined ? {} : { unit }) }} onChange={(value) => edit(settingParameter(name, value === null ? null : String(value)))} />
}

/** Advised at most; more makes the slowest requests slower. */
const MAX_STREAMS = 8

/** How many streams a card gets: as written, and where nothing is. */
function streamsOf({ tree, context: { machine } }: ConfigDocument): { readonly streams: number | null; readonly byDefault: number | null } {
  const cards = parseCards(parameterAt(tree, 'device_ids') ?? '')?.length ?? 0
  const devices = cards > 0 ? cards : machine?.npus?.length ?? 0
  const perInstance = Number(parameterAt(tree, 'instance_exec_blocks') ?? '1') || 1
  const groups = countAt(tree, ['instance_group'])
  const instances = groups === 0 ? 1 : Array.from({ length: groups }, (_, index) => numberAt(tree, ['instance_group', index, 'count']) ?? 1).reduce((sum, count) => sum + count, 0)
  const byDefault = devices > 0 ? Math.ceil((instances * perInstance) / devices) : null
  return { streams: Number(parameterAt(tree, 'device_exec_blocks') ?? '') || byDefault, byDefault }
}

function Streams() {
  const { t } = useTranslation('config-form')
  const { streams, byDefault } = useDocumentValue(streamsOf)
  return (
    <>
      <FieldRow path={plainPath('device_exec_blocks')} name="device_exec_blocks" label={t('npu.streams')} isAlwaysShown note={streams !== null && streams > MAX_STREAMS ? <Caution>{t('npu.manyStreams', { streams, most: MAX_STREAMS })}</Caution> : t('npu.streamsNote', { default: byDefault ?? '—', most: MAX_STREAMS })}>{(names) => <ParameterNumber name="device_exec_blocks" names={names} placeholder={byDefault === null ? '' : String(byDefault)} slideTo={MAX_STREAMS} />}</FieldRow>
      <FieldRow path={plainPath('instance_exec_blocks')} name="instance_exec_blocks" label={t('npu.instanceStreams')} isAlwaysShown note={t('npu.instanceStreamsNote')}>{(names) => <ParameterNumber name="instance_exec_blocks" names={names} placeholder="1" />}</FieldRow>
    </>
  )
}

/** What of the config a static graph cannot go with, in words. */
function useStaticConflicts(): readonly string[] {
  const { t } = useTranslation('config-form')
  const { variable, max, isBatching, hasGears } = useDocumentValue(({ tree }) => ({
    variable: (['input', 'output'] as const).flatMap((role) => Array.from({ length: countAt(tree, [role]) }, (_, index) => index).filter((index) => numbersAt(tree, [role, index, 'dims']).includes(-1)).map((index) => textAt(tree, [role, index, 'name']))),
    max: numberAt(tree, ['max_batch_size']) ?? 0, isBatching: valueAt(tree, ['dynamic_batching']) !== null, hasGears: optionAt(tree, 'ge.dynamicDims') !== null,
  }))
  return [
    ...(isBatching ? [t('npu.conflict.batching')] : []),
    ...(max > 0 ? [t('npu.conflict.maxBatch', { max })] : []),
    ...(variable.length > 0 ? [t('npu.conflict.variable', { names: variable.join(', ') })] : []),
    ...(hasGears ? [t('npu.conflict.gears')] : []),
  ]
}

function StaticGraph() {
  const { t } = useTranslation('config-form')
  const conflicts = useStaticConflicts()
  const isOn = useDocumentValue(({ tree }) => parameterAt(tree, 'static_model') === '1')
  const note = conflicts.length === 0 ? t('npu.staticNote') : t(isOn ? 'npu.staticConflict' : 'npu.staticWould', { conflicts: conflicts.join(t('npu.and')) })
  return (
    <FieldRow path={plainPath('static_model')} name="static_model" label={t('npu.static')} isAlwaysShown isKept note={conflicts.length > 0 && isOn ? <Caution>{note}</Caution> : note}>{(names) => (
      <Switch className="npu-form-switch" checked={isOn} label={isOn ? t('on') : t('off')} aria-labelledby={names.labelId} onChange={(_event, { checked }) => edit(settingParameter('static_model', checked ? '1' : null))} />
    )}</FieldRow>
  )
}

function CoreLimits({ chip }: { readonly chip: AscendChip | undefined }) {
  const { t } = useTranslation('config-form')
  const { key, text } = useDocumentValue(({ tree }) => ({ key: optionKey(tree, 'ge.aicoreNum'), text: optionAt(tree, 'ge.aicoreNum') }))
  const path: ConfigPath = ['parameters', { key }]
  const limit = parseCoreLimit(text ?? '')
  if (chip === undefined || limit === null) {
    return <FieldRow path={path} name={key} label={t('npu.coreLimit')} isAlwaysShown note={chip === undefined ? t('npu.coreNoChip') : t('npu.coreUnreadable')}>{(names) => <ParameterLine name={key} names={names} placeholder="12|10" />}</FieldRow>
  }
  const set = (part: 'cube' | 'vector', value: number | bigint | null): void => edit(settingParameter(key, formatCoreLimit({ ...limit, [part]: value === null ? null : Number(value) }, chip)))
  const isBoth = chip.coreLimit === 'cubeAndVector'
  const row = (part: 'cube' | 'vector', most: number, isFirst: boolean) => (
    <FieldRow
      path={path} name={isFirst ? key : ''} label={t(isBoth ? `npu.${part}Limit` : 'npu.coreLimit')} isAlwaysShown isKept={!isFirst}
      note={limit[part] !== null && limit[part] > most ? <Caution>{t('npu.tooManyCores', { chip: chip.chip, most })}</Caution> : isFirst ? t('npu.coreNote') : undefined}
    >{(names) => <NumberField shown={limit[part] === null ? '' : String(limit[part])} names={names} scalar="int32" limits={{ min: 1, max: most, slideTo: most, placeholder: String(most), unit: t('npu.ofCores', { most }) }} onChange={(value) => set(part, value)} />}</FieldRow>
  )
  return <>{row('cube', chip.aiCores, true)}{isBoth && chip.vectorCores !== null && row('vector', chip.vectorCores, false)}</>
}

const NEWER_PRECISION: OptionName = 'ge.exec.precision_mode_v2'
const OLDER_PRECISION: OptionName = 'ge.exec.precision_mode'

/** The newer key is written; an older one that stands beside it is a conflict, alone it is shown as it is. */
function Precision() {
  const { t } = useTranslation('config-form')
  const { newer, older, newerKey, olderKey } = useDocumentValue(({ tree }) => ({
    newer: optionAt(tree, NEWER_PRECISION), older: optionAt(tree, OLDER_PRECISION), newerKey: optionKey(tree, NEWER_PRECISION), olderKey: optionKey(tree, OLDER_PRECISION),
  }))
  const isOlder = older !== null && newer === null
  const key = isOlder ? olderKey : newerKey
  const value = (isOlder ? older : newer) ?? ''
  const modes: readonly string[] = isOlder ? PRECISION_MODES : PRECISION_MODES_V2
  return (
    <>
      <FieldRow path={['parameters', { key }]} name={key} label={t('npu.precision')} isAlwaysShown note={value === '' ? t('npu.precisionDefault') : t('npu.precisionNote')}>{(names) => (
        <Select className="npu-form-choice" value={value} aria-labelledby={names.labelId} onChange={(_event, data) => edit(settingParameter(key, data.value === '' ? null : data.value))}>
          <option value="">{t('notWritten', { value: isOlder ? 'force_fp16' : 'fp16' })}</option>
          {[...modes, ...(value !== '' && !modes.includes(value) ? [value] : [])].map((mode) => <option key={mode} value={mode}>{mode}</option>)}
        </Select>
      )}</FieldRow>
      {older !== null && newer !== null && (
        <FieldRow path={['parameters', { key: olderKey }]} name={olderKey} label={t('npu.olderPrecision')} isAlwaysShown note={<Caution>{t('npu.bothPrecisions')}</Caution>}>{(names) => <ParameterLine name={olderKey} names={names} />}</FieldRow>
      )}
    </>
  )
}

function Recording({ isGe }: { readonly isGe: boolean }) {
  const { t } = useTranslation('config-form')
  const id = useId()
  const { profiling, ...dumps } = useDocumentValue(({ tree }) => ({ profiling: parameterAt(tree, 'profiling') ?? '', dump_graph: parameterAt(tree, 'dump_graph') === '1', dump_data: parameterAt(tree, 'dump_data') === '1' }))
  const switches = (['dump_graph', 'dump_data'] as const).map((key) => (
    <FieldRow key={key} path={plainPath(key)} name={key} label={t(`npu.${key}`)} isAlwaysShown isKept note={dumps[key] ? <Caution>{t('npu.dumpNote')}</Caution> : undefined}>{(names) => (
      <Switch className="npu-form-switch" checked={dumps[key]} label={dumps[key] ? t('on') : t('off')} aria-labelledby={names.labelId} onChange={(_event, { checked }) => edit(settingParameter(key, checked ? '1' : null))} />
    )}</FieldRow>
  ))
  const known = ['', 'true', 'dynamic']
  return (
    <>
      {switches}
      {isGe && (
        <FieldRow path={plainPath('profiling')} name="profiling" label={t('npu.profiling')} isAlwaysShown isKept={known.includes(profiling)} note={profiling !== '' ? <Caution>{t('npu.profilingNote')}</Caution> : undefined}>{(names) => (known.includes(profiling)
          ? <Segmented key={id} label={t('npu.profiling')} value={profiling} onChange={(value) => edit(settingParameter('profiling', value === '' ? null : value))} options={known.map((value) => ({ value, label: t(`npu.profiling-${value === '' ? 'off' : value}`) }))} />
          : <ParameterLine name="profiling" names={names} />)}</FieldRow>
      )}
    </>
  )
}
