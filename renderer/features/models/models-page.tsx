/** The models page: every model of the repository with its state, its actions, and the error card of the one that needs it. */
import { Button, Input } from '@fluentui/react-components'
import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { AddIcon, InfoIcon, LoadIcon, RescanIcon, SearchIcon, UnloadIcon } from '../../components/icons.tsx'
import { KeyboardHint } from '../../components/keyboard-hint.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { StateMark } from '../../components/state-pill.tsx'
import { useConsole } from '../../console-store.ts'
import { modelState } from '../../lib/model-state.ts'
import { useMediaQuery } from '../../lib/use-media-query.ts'
import { FirstRun } from '../first-run/first-run.tsx'
import { chooseModelFile } from './import-store.ts'
import { countByFilter, modelRows, STATE_FILTERS } from './model-rows.ts'
import { focusCurrentRow, ModelTable } from './model-table.tsx'
import { closePane, dismissFailures, loadModels, rescan, setFilter, setSelected, setText, unloadModels, useLoadAvailability, useModelsView } from './models-store.ts'
import { ProblemPane } from './problem-pane.tsx'
import { TemplateMenu } from './template-menu.tsx'
import { TrustNotices } from './trust-notice.tsx'
import './models-page.css'

export default function ModelsPage() {
  const models = useConsole((state) => state.models)
  if (models === null) return null
  return models.length === 0 ? <FirstRun /> : <Models />
}

function Models() {
  const { t } = useTranslation('models')
  const models = useConsole((state) => state.models ?? NONE)
  const mode = useConsole((state) => state.status?.controlMode)
  const filter = useModelsView((state) => state.filter)
  const text = useModelsView((state) => state.text)
  const expanded = useModelsView((state) => state.expanded)
  const [heldOrder, setHeldOrder] = useState<readonly string[] | null>(null)
  const rows = useMemo(() => modelRows(models, { filter, text, expanded, heldOrder }), [models, filter, text, expanded, heldOrder])
  const pane = usePaneModel(rows)
  const versions = models.reduce((sum, model) => sum + model.versions.length, 0)
  const note = [t('note.models', { count: models.length }), t('note.versions', { count: versions }), ...(mode === undefined ? [] : [t('note.control', { mode: t(`common:controlMode.${mode}`) })])].join(' · ')
  return (
    <div className="npu-page npu-models-page">
      <PageHeader title={t('title')} note={note}>
        <Input className="npu-models-filter" data-page-filter contentBefore={<SearchIcon />} contentAfter={<KeyboardHint keys="/" />} value={text} placeholder={t('filter.placeholder')} aria-label={t('filter.placeholder')}
          onChange={(_event, { value }) => setText(value)} onKeyDown={(event) => { if (event.key === 'Escape') setText('') }} />
        <Button icon={<RescanIcon />} onClick={() => void rescan()} data-testid="rescan">{t('rescan')}</Button>
        <TemplateMenu />
        <Button appearance="primary" icon={<AddIcon />} onClick={chooseModelFile} title="Ctrl+O" data-testid="import-model">{t('import')}</Button>
      </PageHeader>
      <TrustNotices models={models} />
      <FilterBar />
      <WhyBlocked />
      <ActionFailures />
      <div className={`npu-models-layout${pane === null ? '' : ' npu-models-with-pane'}`} onKeyDown={(event) => { if (event.key === 'Escape' && pane !== null) closePane() }}>
        <section className="npu-card npu-models-card" aria-label={t('title')} onPointerEnter={() => setHeldOrder(rows.filter((row) => row.kind === 'model').map((row) => row.model.name))} onPointerLeave={() => setHeldOrder(null)}>
          {rows.length > 0 ? <ModelTable rows={rows} paneModel={pane?.name ?? null} /> : (
            <EmptyState title={t('filter.nothing')} actions={<Button onClick={() => { setText(''); setFilter('all'); focusFilter() }}>{t('filter.clear')}</Button>} />
          )}
          <span className="npu-grow" />
          <div className="npu-models-foot npu-small-text npu-quiet"><span>{t('foot.drop')}</span><span className="npu-grow" /><span>{t('foot.unknown')}</span></div>
        </section>
        {pane !== null && <ProblemPane model={pane} />}
      </div>
    </div>
  )
}

const NONE: readonly never[] = []

function focusFilter(): void {
  document.querySelector<HTMLElement>('input[data-page-filter]')?.focus()
}

/** The model whose error card is shown: the current row's; at first sight the topmost failed one, where the pane covers nothing. */
function usePaneModel(rows: ReturnType<typeof modelRows>) {
  const cursor = useModelsView((state) => state.cursor)
  const isClosed = useModelsView((state) => state.isPaneClosed)
  const retried = useModelsView((state) => state.retried)
  const isWide = useMediaQuery('(min-width: 1360px)')
  if (isClosed) return null
  const retriedRow = rows.find((row) => row.kind === 'model' && row.model.name === retried)
  if (retriedRow !== undefined) return retriedRow.model
  const current = rows.find((row) => row.key === cursor) ?? (isWide ? rows[0] : undefined)
  return current !== undefined && ['failed', 'degraded'].includes(modelState(current.model)) ? current.model : null
}

function FilterBar() {
  const { t } = useTranslation('models')
  const models = useConsole((state) => state.models ?? NONE)
  const filter = useModelsView((state) => state.filter)
  const selected = useModelsView((state) => state.selected)
  const counts = useMemo(() => countByFilter(models), [models])
  if (selected.size > 0) return <SelectionBar />
  return (
    <div className="npu-row npu-models-bar">
      <div className="npu-row npu-models-chips" role="group" aria-label={t('filter.byState')}>
        {STATE_FILTERS.map((entry) => (
          <button key={entry} type="button" className="npu-chip" aria-pressed={filter === entry} onClick={() => setFilter(entry)} data-testid={`filter-${entry}`}>
            {entry !== 'all' && <StateMark kind={entry} isDecoration />}<span>{entry === 'all' ? t('filter.all') : t(`common:state.${entry}`)}</span><b>{counts[entry]}</b>
          </button>
        ))}
      </div>
      <span className="npu-grow" />
      <span className="npu-small-text npu-quiet">{t('sorted')}</span>
    </div>
  )
}

/** In the modes that have no Load and Unload, the reason stands on the page, not only in the tooltips. */
function WhyBlocked() {
  const { t } = useTranslation('models')
  const availability = useLoadAvailability()
  if (availability.canChange || availability.reason === 'offline') return null
  return <p className="npu-secondary npu-models-blocked" data-testid="why-blocked"><InfoIcon />{t(`blocked.${availability.reason}`)}</p>
}

function SelectionBar() {
  const { t } = useTranslation('models')
  const models = useConsole((state) => state.models ?? NONE)
  const selected = useModelsView((state) => state.selected)
  const availability = useLoadAvailability()
  const chosen = models.filter((model) => selected.has(model.name))
  const toLoad = chosen.filter((model) => ['failed', 'unloaded'].includes(modelState(model))).map((model) => model.name)
  const toUnload = chosen.filter((model) => ['ready', 'degraded'].includes(modelState(model))).map((model) => model.name)
  return (
    <div className="npu-row npu-models-bar" role="toolbar" aria-label={t('selection.name')} data-testid="selection-bar">
      <b>{t('selection.count', { count: chosen.length })}</b>
      <Button size="small" className="npu-small" icon={<LoadIcon />} disabledFocusable={!availability.canChange || toLoad.length === 0} onClick={() => void loadModels(toLoad)}>{t('selection.load', { count: toLoad.length })}</Button>
      <Button size="small" className="npu-small" icon={<UnloadIcon />} disabledFocusable={!availability.canChange || toUnload.length === 0} onClick={() => void unloadModels(toUnload)}>{t('selection.unload', { count: toUnload.length })}</Button>
      <Button size="small" className="npu-small" appearance="subtle" onClick={() => { setSelected([...selected], false); focusCurrentRow() }}>{t('selection.clear')}</Button>
    </div>
  )
}

function ActionFailures() {
  const { t } = useTranslation('models')
  const failures = useModelsView((state) => state.failures)
  if (failures.length === 0) return null
  return (
    <div className="npu-column">
      {failures.map((failure) => (
        <ErrorNotice key={`${failure.action}/${failure.model}`} sentence={t(`failed.${failure.action}`, { name: failure.model })} error={failure.error} actions={<Button size="small" className="npu-small" onClick={dismissFailures}>{t('common:close')}</Button>} />
      ))}
    </div>
  )
}
