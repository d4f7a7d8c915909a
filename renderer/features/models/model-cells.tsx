/** The cells of a row of the model table: of a model, of a version, of a file. */
import { Checkbox } from '@fluentui/react-components'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelSummary } from '../../../server-core/contract/repository.ts'
import { Age } from '../../components/age.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { ChevronDownIcon, ChevronRightIcon, CloseIcon, EditIcon, FileIcon, LoadIcon, TestIcon, UnloadIcon } from '../../components/icons.tsx'
import { LatencyFigure } from '../../components/latency-figure.tsx'
import { LoadingState } from '../../components/loading-state.tsx'
import { RestartPill } from '../../components/restart-pill.tsx'
import { RunsOnBadge } from '../../components/runs-on-badge.tsx'
import { StatePill } from '../../components/state-pill.tsx'
import { formatBytes, formatCount, formatRate, UNKNOWN } from '../../lib/format.ts'
import { hasInstanceTrouble, instanceTally, nextRestart } from '../../lib/instance-state.ts'
import { modelState, versionState } from '../../lib/model-state.ts'
import type { TrafficFigures } from '../../lib/sample-figures.ts'
import { navigate } from '../../router.ts'
import type { ModelRow } from './model-rows.ts'
import { cancelLoad, loadModels, setExpanded, setSelected, unloadModels, useLoadAvailability } from './models-store.ts'

type RowOf<K extends ModelRow['kind']> = Extract<ModelRow, { kind: K }>

function Fold({ row }: { readonly row: ModelRow }) {
  if (row.isExpanded === null) return <span className="npu-models-fold" />
  // The row carries aria-expanded and the keys; this is the pointer's handle.
  return (
    <span className="npu-models-fold" aria-hidden onClick={(event) => { event.stopPropagation(); setExpanded(row.key, row.isExpanded !== true) }}>
      {row.isExpanded ? <ChevronDownIcon /> : <ChevronRightIcon />}
    </span>
  )
}

interface ModelCellsProps {
  readonly row: RowOf<'model'>
  readonly figures: TrafficFigures
  readonly isSelected: boolean
  readonly tabIndex: number
}

export function ModelCells({ row, figures, isSelected, tabIndex }: ModelCellsProps) {
  const { t } = useTranslation('models')
  const { model } = row
  const state = modelState(model)
  const isServing = state === 'ready' || state === 'degraded'
  const flash = useFlash(state)
  const errors = isServing ? figures.failures : null
  return (
    <>
      <div role="gridcell" className="npu-models-name" ref={flash}>
        <Checkbox checked={isSelected} tabIndex={tabIndex} aria-label={t('table.select', { name: model.name })} onClick={(event) => event.stopPropagation()} onChange={(_event, { checked }) => setSelected([model.name], checked === true)} />
        <Fold row={row} />
        <b className="npu-cut" title={model.name}>{model.name}</b>
      </div>
      <div role="gridcell"><ModelStateCell model={model} /></div>
      <div role="gridcell" className="npu-secondary npu-cut">{model.backend || model.platform || UNKNOWN}</div>
      <div role="gridcell"><RunsOnBadge model={model} /></div>
      <div role="gridcell" className="npu-right" data-cell="instances"><InstanceCount model={model} /></div>
      <div role="gridcell" className="npu-right" data-cell="pending">{formatCount(isServing ? figures.pending : null)}</div>
      <div role="gridcell" className="npu-right" data-cell="in-flight">{formatCount(isServing ? figures.inFlight : null)}</div>
      <div role="gridcell" className="npu-right" data-cell="rate">{formatRate(isServing ? figures.requestsPerSecond : null)}</div>
      <div role="gridcell" className="npu-right"><LatencyFigure milliseconds={isServing ? figures.p95Milliseconds : null} isSimulated={model.isSimulated} /></div>
      <div role="gridcell" className={`npu-right${errors !== null && errors > 0 ? ' npu-is-failed npu-models-errors' : ''}`}>{formatCount(errors)}</div>
      <div role="gridcell" className="npu-models-actions" onClick={(event) => event.stopPropagation()} onDoubleClick={(event) => event.stopPropagation()}><RowActions name={model.name} state={state} tabIndex={tabIndex} /></div>
    </>
  )
}

function ModelStateCell({ model }: { readonly model: ModelSummary }) {
  const { t } = useTranslation('models')
  const state = modelState(model)
  if (state === 'loading' || model.stage !== null) return <LoadingState name={model.name} stage={model.stage} />
  if (model.awaitsTrust !== null && state !== 'ready') return <StatePill kind={state} text={t('trust.state')} isPlain />
  if (state !== 'degraded' || !hasInstanceTrouble(model)) return <StatePill kind={state} isPlain />
  const tally = instanceTally(model)
  const restart = nextRestart(tally)
  return restart === null ? <StatePill kind={tally.running === 0 ? 'failed' : 'degraded'} text={t('instances.givenUp', { count: tally.givenUp.length })} isPlain /> : <RestartPill restart={restart} />
}

/** How many run; of how many, where that is not all. */
function InstanceCount({ model }: { readonly model: ModelSummary }) {
  const { t } = useTranslation('models')
  const { running, total } = instanceTally(model)
  if (model.instanceCount === null || running === total) return <>{formatCount(model.instanceCount)}</>
  return <b className={running === 0 ? 'npu-is-failed' : 'npu-is-degraded'} title={t('instances.running', { running, count: total })}>{running}/{total}</b>
}

function RowActions({ name, state, tabIndex }: { readonly name: string; readonly state: ReturnType<typeof modelState>; readonly tabIndex: number }) {
  const { t } = useTranslation('models')
  const availability = useLoadAvailability()
  const isServing = state === 'ready' || state === 'degraded'
  const isMoving = state === 'unloading'
  const blocked = availability.canChange ? (isMoving ? t('blocked.moving') : undefined) : t(`blocked.${availability.reason}`)
  return (
    <>
      {state === 'loading'
        ? <IconButton isRowAction tabIndex={tabIndex} icon={<CloseIcon />} label={t('action.cancel', { name })} tooltip={t('tooltip.cancel')} disabledReason={availability.canChange ? undefined : blocked} onClick={() => void cancelLoad(name)} data-testid={`cancel-${name}`} />
        : isServing ? <IconButton isRowAction tabIndex={tabIndex} icon={<UnloadIcon />} label={t('action.unload', { name })} tooltip={t('tooltip.unload')} disabledReason={blocked} onClick={() => void unloadModels([name])} data-testid={`unload-${name}`} />
        : <IconButton isRowAction tabIndex={tabIndex} icon={<LoadIcon />} label={t('action.load', { name })} tooltip={t('tooltip.load')} disabledReason={blocked} onClick={() => void loadModels([name])} data-testid={`load-${name}`} />}
      <IconButton isRowAction tabIndex={tabIndex} icon={<TestIcon />} label={t('action.test', { name })} tooltip={t('tooltip.test')} disabledReason={isServing ? undefined : t('blocked.testNotReady')} onClick={() => navigate('models', name, 'test')} data-testid={`test-${name}`} />
      <IconButton isRowAction tabIndex={tabIndex} icon={<EditIcon />} label={t('action.config', { name })} tooltip={t('tooltip.config')} onClick={() => navigate('models', name, 'config')} data-testid={`config-${name}`} />
    </>
  )
}

/** Flashes the row's ground once when the state changes (not at first sight). */
function useFlash(state: string) {
  const element = useRef<HTMLDivElement>(null)
  const shown = useRef(state)
  useEffect(() => {
    if (shown.current === state) return
    shown.current = state
    const row = element.current?.closest<HTMLElement>('[role="row"]')
    if (!row || typeof row.animate !== 'function' || window.matchMedia('(prefers-reduced-motion: reduce)').matches) return
    row.animate([{ backgroundColor: 'var(--colorNeutralBackground1Selected)' }, {}], { duration: 200, easing: 'ease-out' })
  }, [state])
  return element
}

export function VersionCells({ row }: { readonly row: RowOf<'version'> }) {
  const { t } = useTranslation('models')
  const { version } = row
  const state = versionState(version)
  const bytes = version.files.reduce((sum, file) => sum + file.byteSize, 0)
  const changed = version.files.reduce((latest, file) => Math.max(latest, file.modifiedAt), 0)
  const word = state === 'ready' ? t('version.serving') : state === 'unloaded' && ['ready', 'degraded'].includes(modelState(row.model)) ? t('version.kept') : undefined
  return (
    <>
      <div role="gridcell" className="npu-models-name npu-models-indent-1"><Fold row={row} />{t('version.name', { version: version.version })}</div>
      <div role="gridcell"><StatePill kind={state} isPlain {...(word === undefined ? {} : { text: word })} /></div>
      <div role="gridcell" className="npu-models-wide npu-quiet npu-cut" title={version.reason}>{state === 'failed' || state === 'degraded' ? version.reason : t('version.files', { count: version.files.length, size: formatBytes(bytes) })}</div>
      <div role="gridcell" className="npu-right npu-quiet npu-small-text"><Age time={changed} /></div>
    </>
  )
}

export function FileCells({ row }: { readonly row: RowOf<'file'> }) {
  const { file } = row
  return (
    <>
      <div role="gridcell" className="npu-models-name npu-models-indent-2"><span className="npu-quiet npu-models-file-icon"><FileIcon /></span><code className="npu-cut" title={file.path}>{file.path}</code></div>
      <div role="gridcell" className="npu-models-wide-4 npu-quiet">{formatBytes(file.byteSize)}</div>
      <div role="gridcell" className="npu-right npu-quiet npu-small-text"><Age time={file.modifiedAt} /></div>
    </>
  )
}
