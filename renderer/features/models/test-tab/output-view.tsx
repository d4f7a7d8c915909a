/** One output tensor: what it is, its statistics, and its values as a table or as JSON. What is left out is counted. */
import { Button } from '@fluentui/react-components'
import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Tensor } from '../../../../server-core/contract/inference.ts'
import { CopyButton } from '../../../components/copy-button.tsx'
import { Segmented } from '../../../components/segmented.tsx'
import { formatBytes, formatCount, formatDecimal, formatShape, UNKNOWN } from '../../../lib/format.ts'
import { tensorReader } from '../../../../server-core/tensors/tensor-codec.ts'
import { tensorStatistics, unravelIndex } from '../../../../server-core/tensors/tensor-statistics.ts'
import { formatTensorValue, tensorAsJson } from '../../../../server-core/tensors/tensor-text.ts'

const FIRST_VALUES = 100
/** More than this is neither drawn nor copied as text. */
const MOST_VALUES = 10_000

export function OutputView({ tensor }: { readonly tensor: Tensor }) {
  const { t } = useTranslation('test-tab')
  const [view, setView] = useState<'table' | 'json'>('table')
  const [limit, setLimit] = useState(FIRST_VALUES)
  const { datatype, data, shape } = tensor
  const statistics = useMemo(() => tensorStatistics(datatype, data), [datatype, data])
  const shown = Math.min(limit, statistics.count)
  const number = (value: number | bigint | null) => (value === null ? UNKNOWN : typeof value === 'bigint' ? String(value) : formatTensorValue(value, datatype))
  return (
    <section className="npu-output" aria-label={t('output.name', { name: tensor.name })} data-testid="output">
      <div className="npu-row npu-output-head">
        <b className="npu-mono">{tensor.name}</b><span className="npu-mono npu-quiet">{datatype} {formatShape(shape)}</span>
        <span className="npu-quiet npu-small-text">{t('output.size', { count: statistics.count, elements: formatCount(statistics.count), bytes: formatBytes(data.byteLength) })}</span>
        <span className="npu-grow" />
        <Segmented label={t('output.view')} value={view} onChange={setView} options={[{ value: 'table', label: t('output.table') }, { value: 'json', label: 'JSON' }]} />
        <CopyButton label={t('output.copy', { name: tensor.name })} text={() => tensorAsJson(datatype, shape, data, MOST_VALUES)} />
      </div>
      {datatype !== 'BYTES' && (
        <dl className="npu-tensor-figures">
          <Figure name={t('output.min')} value={number(statistics.min)} />
          <Figure name={t('output.max')} value={number(statistics.max)} />
          <Figure name={t('output.mean')} value={statistics.mean === null ? UNKNOWN : formatDecimalShort(statistics.mean)} />
          <Figure name={t('output.argmax')} value={statistics.argmax === null ? UNKNOWN : formatShape(unravelIndex(statistics.argmax, shape))} />
          {statistics.nanCount > 0 && <Figure name="NaN" value={formatCount(statistics.nanCount)} />}
        </dl>
      )}
      {view === 'table' ? <ValueTable tensor={tensor} count={shown} argmax={statistics.argmax} /> : <pre className="npu-server-text npu-output-json" tabIndex={0} aria-label="JSON">{tensorAsJson(datatype, shape, data, limit)}</pre>}
      {shown < statistics.count && (
        <div className="npu-row npu-secondary">
          {t('output.shown', { shown: formatCount(shown), count: formatCount(statistics.count) })}
          {limit < MOST_VALUES && <Button size="small" appearance="subtle" className="npu-small" onClick={() => setLimit(limit * 10)}>{t('output.more')}</Button>}
        </div>
      )}
    </section>
  )
}

function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return <div><dt>{name}</dt><dd className="npu-mono">{value}</dd></div>
}

function formatDecimalShort(value: number): string {
  const magnitude = Math.abs(value)
  return magnitude !== 0 && (magnitude < 0.001 || magnitude >= 1e6) ? value.toExponential(3) : formatDecimal(value, magnitude < 10 ? 4 : 2)
}

/** One row per index of all axes but the last, where the last is short; else one row per value. */
function ValueTable({ tensor, count, argmax }: { readonly tensor: Tensor; readonly count: number; readonly argmax: number | null }) {
  const { t } = useTranslation('test-tab')
  const reader = useMemo(() => tensorReader(tensor.datatype, tensor.data), [tensor.datatype, tensor.data])
  const last = tensor.shape[tensor.shape.length - 1] ?? 1
  const columns = tensor.shape.length > 1 && last > 1 && last <= 8 ? last : 1
  const indexShape = columns > 1 ? tensor.shape.slice(0, -1) : tensor.shape
  const rows = Math.ceil(count / columns)
  if (reader.count === 0) return <p className="npu-quiet">{t('output.empty')}</p>
  return (
    <div className="npu-output-values" tabIndex={0} role="region" aria-label={t('output.values', { name: tensor.name })}>
      <table className="npu-table">
        <thead><tr><th scope="col">{t('output.index')}</th>{Array.from({ length: columns }, (_, column) => <th key={column} scope="col" className="npu-right">{columns > 1 ? column : t('output.value')}</th>)}<th className="npu-grow-cell" aria-hidden="true" /></tr></thead>
        <tbody>{Array.from({ length: rows }, (_, row) => (
          <tr key={row}>
            <td className="npu-mono npu-quiet">{formatShape(unravelIndex(row, indexShape))}</td>
            {Array.from({ length: columns }, (_, column) => {
              const index = row * columns + column
              return index < count ? <td key={column} className="npu-mono npu-right">{index === argmax && <span className="npu-output-best" title={t('output.argmax')}>▲ </span>}{formatTensorValue(reader.read(index), tensor.datatype)}</td> : <td key={column} />
            })}
            <td aria-hidden="true" />
          </tr>
        ))}</tbody>
      </table>
    </div>
  )
}
