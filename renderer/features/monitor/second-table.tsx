/** The window as numbers: one row per second, newest first. Unknown is an em dash; 0 is a measured zero. */
import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { formatClock, formatCount, formatDecimal } from '../../lib/format.ts'
import type { SeriesPoint } from '../../lib/sample-series.ts'
import { BYTES_PER_MEGABYTE } from './monitor-view.ts'

const ROW_HEIGHT = 32
/** Up to this many rows are all in the document; more are drawn as they scroll into view. */
const WHOLE_ROWS = 300

const COLUMNS: readonly { readonly key: string; readonly text: (row: SeriesPoint) => string }[] = [
  { key: 'requests', text: (row) => formatCount(row.requests) },
  { key: 'errors', text: (row) => formatCount(row.failures) },
  { key: 'p50', text: (row) => formatDecimal(row.p50, 2) },
  { key: 'p95', text: (row) => formatDecimal(row.p95, 2) },
  { key: 'p99', text: (row) => formatDecimal(row.p99, 2) },
  { key: 'queue', text: (row) => formatDecimal(row.queue, 2) },
  { key: 'computeInput', text: (row) => formatDecimal(row.computeInput, 2) },
  { key: 'computeInfer', text: (row) => formatDecimal(row.computeInfer, 2) },
  { key: 'computeOutput', text: (row) => formatDecimal(row.computeOutput, 2) },
  { key: 'meanBatch', text: (row) => formatDecimal(row.meanBatch, 1) },
  { key: 'pending', text: (row) => formatCount(row.pending) },
  { key: 'cpu', text: (row) => formatDecimal(row.cpuCores, 2) },
  { key: 'memory', text: (row) => formatDecimal(row.residentBytes === null ? null : row.residentBytes / BYTES_PER_MEGABYTE, 0) },
]

export function SecondTable({ rows }: { readonly rows: readonly SeriesPoint[] }) {
  const { t } = useTranslation('monitor')
  const scroller = useRef<HTMLDivElement>(null)
  const newestFirst = [...rows].reverse()
  const isWhole = rows.length <= WHOLE_ROWS
  const virtualizer = useVirtualizer({ count: rows.length, enabled: !isWhole, getScrollElement: () => scroller.current, estimateSize: () => ROW_HEIGHT, overscan: 12 })
  const items = isWhole ? newestFirst.map((_, index) => index) : virtualizer.getVirtualItems().map((item) => item.index)
  const before = (items[0] ?? 0) * ROW_HEIGHT
  const after = (rows.length - 1 - (items[items.length - 1] ?? -1)) * ROW_HEIGHT
  return (
    <div className="npu-second-table" ref={scroller} tabIndex={0} role="region" aria-label={t('table.name')}>
      <table className="npu-table" aria-rowcount={rows.length + 1}>
        <thead><tr>
          <th scope="col">{t('table.time')}</th>
          {COLUMNS.map((column) => <th key={column.key} scope="col" className="npu-right">{t(`table.${column.key}`)}</th>)}
        </tr></thead>
        <tbody>
          {!isWhole && before > 0 && <tr aria-hidden="true"><td colSpan={COLUMNS.length + 1} style={{ height: before, padding: 0 }} /></tr>}
          {items.map((index) => {
            const row = newestFirst[index]
            return row && <SecondRow key={row.time} row={row} index={index} />
          })}
          {!isWhole && after > 0 && <tr aria-hidden="true"><td colSpan={COLUMNS.length + 1} style={{ height: after, padding: 0 }} /></tr>}
        </tbody>
      </table>
    </div>
  )
}

/** `data-...` holds the exact values, for whoever reads the page by program. */
const SecondRow = memo(function SecondRow({ row, index }: { readonly row: SeriesPoint; readonly index: number }) {
  const time = new Date(row.time).toISOString()
  return (
    <tr data-testid="second" data-time={time} data-requests={row.requests ?? ''} data-failures={row.failures ?? ''} data-p95-milliseconds={row.p95 ?? ''} aria-rowindex={index + 2}>
      <td><time dateTime={time}>{formatClock(row.time)}</time></td>
      {COLUMNS.map((column) => <td key={column.key} className="npu-right">{column.text(row)}</td>)}
    </tr>
  )
}, (before, after) => before.row === after.row)
