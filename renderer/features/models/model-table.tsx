/**
 * The model table: a tree grid of models, versions and files, virtualised. Arrow keys move, Left and Right fold, Space selects, Enter opens;
 * Tab reaches the actions of the current row.
 */
import { Checkbox } from '@fluentui/react-components'
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef } from 'react'
import type { KeyboardEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { useConsole } from '../../console-store.ts'
import { traffic } from '../../lib/sample-figures.ts'
import { navigate } from '../../router.ts'
import { moveInTable } from './model-rows.ts'
import type { ModelRow, TableKey } from './model-rows.ts'
import { FileCells, ModelCells, VersionCells } from './model-cells.tsx'
import { setCursor, setExpanded, setSelected, useModelsView } from './models-store.ts'

const MODEL_ROW = 36
const INNER_ROW = 32
const KEYS: readonly string[] = ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'Home', 'End', 'PageUp', 'PageDown'] satisfies readonly TableKey[]

/** Back to the row with the cursor, from a part of the page that goes away with the focus. */
export function focusCurrentRow(): void {
  document.querySelector<HTMLElement>('[data-row][tabindex="0"]')?.focus()
}

export function ModelTable({ rows, paneModel }: { readonly rows: readonly ModelRow[]; readonly paneModel: string | null }) {
  const { t } = useTranslation('models')
  const scroller = useRef<HTMLDivElement>(null)
  const wantsFocus = useRef(false)
  const cursor = useModelsView((state) => state.cursor)
  const selected = useModelsView((state) => state.selected)
  const samples = useConsole((state) => state.samples)
  const figures = useMemo(() => traffic(samples), [samples])
  const current = rows.some((row) => row.key === cursor) ? cursor : (rows[0]?.key ?? null)
  const currentIndex = rows.findIndex((row) => row.key === current)
  const virtualizer = useVirtualizer({
    count: rows.length, getScrollElement: () => scroller.current, overscan: 12, getItemKey: (index) => rows[index]?.key ?? index,
    // The current row stays drawn when it is scrolled away: the focus may be on it.
    rangeExtractor: (range) => [...new Set([...defaultRangeExtractor(range), ...(currentIndex >= 0 ? [currentIndex] : [])])].sort((a, b) => a - b),
    estimateSize: (index) => (rows[index]?.kind === 'model' ? MODEL_ROW : INNER_ROW),
  })
  const names = rows.filter((row) => row.kind === 'model').map((row) => row.model.name)
  const selectedCount = names.filter((name) => selected.has(name)).length

  useEffect(() => virtualizer.measure(), [rows, virtualizer])
  useEffect(() => {
    if (!wantsFocus.current || current === null) return
    virtualizer.scrollToIndex(currentIndex)
    const target = [...(scroller.current?.querySelectorAll<HTMLElement>('[data-row]') ?? [])].find((row) => row.dataset['row'] === current)
    // A row far away is drawn after the scroll only: this effect runs again then.
    if (target === undefined) return
    wantsFocus.current = false
    target.focus({ preventScroll: true })
  })

  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const row = rows.find((entry) => entry.key === current)
    const isOnRow = event.target instanceof HTMLElement && event.target.dataset['row'] !== undefined
    if (row === undefined || event.ctrlKey || event.altKey || event.metaKey) return
    if (KEYS.includes(event.key)) {
      event.preventDefault()
      const move = moveInTable(rows, current, event.key as TableKey)
      if (move.expand !== undefined) setExpanded(move.expand, true)
      if (move.collapse !== undefined) setExpanded(move.collapse, false)
      wantsFocus.current = true
      setCursor(move.focus ?? row.key)
    } else if (event.key === ' ' && isOnRow) {
      event.preventDefault()
      setSelected([row.model.name], !selected.has(row.model.name))
    } else if (event.key === 'Enter' && isOnRow) {
      event.preventDefault()
      navigate('models', row.model.name)
    }
  }

  return (
    <div className="npu-models-grid" role="treegrid" aria-label={t('table.name')} aria-rowcount={rows.length + 1} aria-multiselectable onKeyDown={onKeyDown} data-testid="model-table">
      <div role="rowgroup">
        <div className="npu-models-row npu-models-head" role="row" aria-rowindex={1}>
          <div role="columnheader" className="npu-models-name">
            <Checkbox checked={selectedCount === 0 ? false : selectedCount === names.length ? true : 'mixed'} aria-label={t('table.selectAll')}
              onChange={(_event, { checked }) => setSelected(names, checked === true)} />
            <span>{t('table.model')}</span>
          </div>
          <div role="columnheader">{t('table.state')}</div>
          <div role="columnheader">{t('table.backend')}</div>
          <div role="columnheader">{t('table.runsOn')}</div>
          <div role="columnheader" className="npu-right" title={t('table.instancesHint')}>{t('table.instances')}</div>
          <div role="columnheader" className="npu-right" title={t('table.pendingHint')}>{t('table.pending')}</div>
          <div role="columnheader" className="npu-right" title={t('table.inFlightHint')}>{t('table.inFlight')}</div>
          <div role="columnheader" className="npu-right" title={t('table.rateHint')}>{t('table.rate')}</div>
          <div role="columnheader" className="npu-right" title={t('table.p95Hint')}>p95</div>
          <div role="columnheader" className="npu-right" title={t('table.errorsHint')}>{t('table.errors')}</div>
          <div role="columnheader" className="npu-right">{t('table.actions')}</div>
        </div>
      </div>
      <div className="npu-models-body" role="rowgroup" ref={scroller}>
        <div role="presentation" style={{ height: virtualizer.getTotalSize(), position: 'relative' }}>
          {virtualizer.getVirtualItems().map((item) => {
            const row = rows[item.index]
            if (row === undefined) return null
            const isCurrent = row.key === current
            return (
              <div key={row.key} role="row" data-row={row.key} data-state={row.kind === 'model' ? row.model.state : undefined} tabIndex={isCurrent ? 0 : -1} aria-level={row.level} aria-posinset={row.position} aria-setsize={row.siblings}
                aria-rowindex={item.index + 2} {...(row.isExpanded === null ? {} : { 'aria-expanded': row.isExpanded })} aria-selected={row.kind === 'model' && selected.has(row.model.name)}
                className={`npu-models-row npu-models-${row.kind}${row.kind === 'model' && row.model.name === paneModel ? ' npu-models-in-pane' : ''}`}
                style={{ height: item.size, transform: `translateY(${item.start}px)` }}
                onClick={() => setCursor(row.key)} onFocus={(event) => { if (event.target === event.currentTarget && row.key !== cursor) setCursor(row.key) }}
                onDoubleClick={() => navigate('models', row.model.name)}>
                {row.kind === 'model' && <ModelCells row={row} figures={figures.of(row.model.name)} isSelected={selected.has(row.model.name)} tabIndex={isCurrent ? 0 : -1} />}
                {row.kind === 'version' && <VersionCells row={row} />}
                {row.kind === 'file' && <FileCells row={row} />}
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}
