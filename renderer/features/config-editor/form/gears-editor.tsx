/** Gears: the shapes a GE model is compiled for, which batch sizes they cover, and what padding costs. */
import { Button, Input } from '@fluentui/react-components'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import { AddIcon, CloseIcon } from '../../../components/icons.tsx'
import { IconButton } from '../../../components/icon-button.tsx'
import { StateMark } from '../../../components/state-pill.tsx'
import { useDocumentValue } from './document-value.ts'
import { edit, settingParameter } from './form-actions.ts'
import { FieldRow, Findings } from './form-field.tsx'
import { batchGears, coverage, coverageRuns, formatDynamicDims, formatInputShape, isBatchOnly, MAX_GEARS, MIN_GEARS, parseGears, powersOfTwo, rowForBatch, shapedInputs } from './gears.ts'
import type { Gears } from './gears.ts'
import { useFieldState } from './field-state.ts'
import { countAt, numberAt, numbersAt, textAt } from './form-tree.ts'
import { optionAt, optionKey } from './npu-options.ts'
import { ParameterLine } from './parameter-line.tsx'

export function GearsEditor() {
  const { t } = useTranslation('config-form')
  const { shape, dims, nodeType, shapeKey, dimsKey, nodeKey, maxBatchSize, inputs } = useDocumentValue(({ tree }) => ({
    shape: optionAt(tree, 'ge.inputShape'), dims: optionAt(tree, 'ge.dynamicDims'), nodeType: optionAt(tree, 'ge.dynamicNodeType'),
    shapeKey: optionKey(tree, 'ge.inputShape'), dimsKey: optionKey(tree, 'ge.dynamicDims'), nodeKey: optionKey(tree, 'ge.dynamicNodeType'),
    maxBatchSize: numberAt(tree, ['max_batch_size']) ?? 0,
    inputs: Array.from({ length: countAt(tree, ['input']) }, (_, index) => ({ name: textAt(tree, ['input', index, 'name']), dims: numbersAt(tree, ['input', index, 'dims']) })),
  }))
  const gears = parseGears(shape ?? '', dims ?? '')
  const dimsPath: ConfigPath = ['parameters', { key: dimsKey }]
  const nodeState = useFieldState(['parameters', { key: nodeKey }])
  const write = (rows: readonly (readonly number[])[], nextShape = shape): void => edit(
    settingParameter(shapeKey, nextShape), settingParameter(dimsKey, formatDynamicDims(rows)), settingParameter(nodeKey, nodeType ?? '1'),
  )
  const clear = (): void => edit(settingParameter(shapeKey, null), settingParameter(dimsKey, null), settingParameter(nodeKey, null))
  /** Gears for 1, 2, 4 ... of the config's own inputs. */
  const start = (): void => {
    const shaped = shapedInputs(inputs, maxBatchSize)
    const begun = parseGears(formatInputShape(shaped), '')
    if (begun !== null) write(powersOfTwo(maxBatchSize).map((size) => rowForBatch(begun, size)), formatInputShape(shaped))
  }
  const isNone = shape === null && dims === null && nodeType === null
  const canStart = inputs.length > 0 && maxBatchSize > 0
  if (isNone) {
    return (
      <FieldRow path={dimsPath} name="ge.dynamicDims" label={t('gears.title')} isAlwaysShown isKept note={canStart ? t('gears.none') : t('gears.cannotStart')}>{() => (
        <Button className="npu-small" size="small" icon={<AddIcon />} disabledFocusable={!canStart} onClick={() => { if (canStart) start() }}>{t('gears.start', { sizes: powersOfTwo(Math.max(1, maxBatchSize)).join(', ') })}</Button>
      )}</FieldRow>
    )
  }
  const isMissingPart = shape === null || dims === null || nodeType === null
  return (
    <>
      <FieldRow path={dimsPath} name={dimsKey} label={gears !== null && isBatchOnly(gears) ? t('gears.batchTitle') : t('gears.title')} isAlwaysShown isKept note={isMissingPart ? <Incomplete parts={[shape === null ? 'ge.inputShape' : '', dims === null ? 'ge.dynamicDims' : '', nodeType === null ? 'ge.dynamicNodeType' : '']} onComplete={() => (shape === null || gears === null ? start() : write(gears.rows))} /> : <GearCount count={gears?.rows.length ?? 0} />}>{(names) => (gears === null || gears.columns.length === 0
        ? <ParameterLine name={dimsKey} names={names} placeholder="1;2;4;8" />
        : <span className="npu-form-control">
          {isBatchOnly(gears) || gears.rows.length === 0 ? <BatchGears gears={gears} maxBatchSize={maxBatchSize} onChange={write} /> : <GearTable gears={gears} onChange={write} />}
          <button type="button" className="npu-link" onClick={clear}>{t('gears.clear')}</button>
        </span>)}</FieldRow>
      {gears !== null && maxBatchSize > 0 && batchGears(gears).length > 0 && <CoverageRow gears={gears} maxBatchSize={maxBatchSize} onAdd={(size) => write(sorted([...gears.rows, rowForBatch(gears, size)]))} path={dimsPath} />}
      <FieldRow path={['parameters', { key: shapeKey }]} name={shapeKey} label={t('gears.inputShape')} isAlwaysShown isKept note={t('gears.inputShapeNote')}>{(names) => <ParameterLine name={shapeKey} names={names} placeholder="x:-1,3,224,224" />}</FieldRow>
      <Findings diagnostics={nodeState.diagnostics} />
    </>
  )
}

function sorted(rows: readonly (readonly number[])[]): readonly (readonly number[])[] {
  return [...rows].sort((left, right) => left.reduce((difference, value, index) => (difference !== 0 ? difference : value - (right[index] ?? 0)), 0))
}

function Incomplete({ parts, onComplete }: { readonly parts: readonly string[]; readonly onComplete: () => void }) {
  const { t } = useTranslation('config-form')
  return <span className="npu-form-caution npu-tensor-wrong"><StateMark kind="failed" isDecoration /> {t('gears.incomplete', { parts: parts.filter((part) => part !== '').join(', ') })} <Button className="npu-small" size="small" onClick={onComplete}>{t('gears.complete')}</Button></span>
}

function GearCount({ count }: { readonly count: number }) {
  const { t } = useTranslation('config-form')
  if (count < MIN_GEARS || count > MAX_GEARS) return <span className="npu-form-caution npu-tensor-wrong"><StateMark kind="failed" isDecoration /> {t('gears.count', { count, least: MIN_GEARS, most: MAX_GEARS })}</span>
  return <>{t(count > 8 ? 'gears.many' : 'gears.note', { count })}</>
}

interface EditorProps {
  readonly gears: Gears
  readonly onChange: (rows: readonly (readonly number[])[]) => void
}

/** Gears that differ in the batch alone: one number each. */
function BatchGears({ gears, maxBatchSize, onChange }: EditorProps & { readonly maxBatchSize: number }) {
  const { t } = useTranslation('config-form')
  const sizes = batchGears(gears)
  const [next, setNext] = useState('')
  const size = Number(next)
  const canAdd = /^\d+$/.test(next) && size >= 1 && !sizes.includes(size)
  const add = (): void => {
    if (!canAdd) return
    onChange(sorted([...gears.rows, rowForBatch(gears, size)]))
    setNext('')
  }
  return (
    <>
      {gears.rows.map((row, index) => (
        <span key={index} className="npu-gear"><b>{row[0]}</b><button type="button" className="npu-gear-remove" aria-label={t('gears.remove', { gear: row[0] })} onClick={() => onChange(gears.rows.filter((_, other) => other !== index))}><CloseIcon /></button></span>
      ))}
      <Input className="npu-gear-new" type="number" min={1} max={maxBatchSize > 0 ? maxBatchSize : undefined} value={next} aria-label={t('gears.newSize')} placeholder={String(sizes.at(-1) === undefined ? 1 : (sizes.at(-1) ?? 1) * 2)} onChange={(_event, { value }) => setNext(value)} onKeyDown={(event) => { if (event.key === 'Enter') add() }} />
      <Button className="npu-small" size="small" icon={<AddIcon />} disabledFocusable={!canAdd} onClick={add}>{t('gears.add')}</Button>
    </>
  )
}

/** Gears with several variable dims: a row each, a column per -1. */
function GearTable({ gears, onChange }: EditorProps) {
  const { t } = useTranslation('config-form')
  const change = (row: number, column: number, text: string): void => {
    if (!/^\d+$/.test(text)) return
    onChange(gears.rows.map((values, index) => (index === row ? gears.columns.map((_, place) => (place === column ? Number(text) : values[place] ?? 1)) : values)))
  }
  return (
    <table className="npu-gear-table">
      <thead><tr>{gears.columns.map(({ input, axis }, index) => <th key={index} scope="col"><code>{input}[{axis}]</code>{axis === 0 ? ` ${t('gears.batch')}` : ''}</th>)}<td /></tr></thead>
      <tbody>
        {gears.rows.map((row, index) => (
          <tr key={index}>
            {gears.columns.map(({ input, axis }, column) => <td key={column}><Input type="number" min={1} value={String(row[column] ?? '')} aria-label={t('gears.cell', { input, axis, row: index + 1 })} aria-invalid={row[column] === undefined} onChange={(_event, { value }) => change(index, column, value)} /></td>)}
            <td><IconButton icon={<CloseIcon />} isRowAction label={t('gears.removeRow', { row: index + 1 })} onClick={() => onChange(gears.rows.filter((_, other) => other !== index))} /></td>
          </tr>
        ))}
      </tbody>
      <tfoot><tr><td colSpan={gears.columns.length + 1}><Button className="npu-small" size="small" icon={<AddIcon />} onClick={() => onChange([...gears.rows, gears.rows.at(-1) ?? gears.columns.map(() => 1)])}>{t('gears.addRow')}</Button></td></tr></tfoot>
    </table>
  )
}

/** Beyond this many sizes neighbours with the same gear share a cell. */
const SINGLE_CELLS = 12

function CoverageRow({ gears, maxBatchSize, onAdd, path }: { readonly gears: Gears; readonly maxBatchSize: number; readonly onAdd: (size: number) => void; readonly path: ConfigPath }) {
  const { t } = useTranslation('config-form')
  const { cells, uncovered, paddedShare } = coverage(batchGears(gears), maxBatchSize)
  const runs = maxBatchSize <= SINGLE_CELLS ? cells.map(({ size, gear }) => ({ from: size, to: size, gear })) : coverageRuns(cells)
  const percent = Math.round(paddedShare * 100)
  const summary = uncovered.length === 0 ? t('gears.allCovered') : t('gears.uncovered', { from: uncovered[0], to: uncovered.at(-1), count: uncovered.length })
  return (
    <div className="npu-form-row" data-path={JSON.stringify(path)}>
      <div className="npu-form-label"><span className="npu-quiet npu-small-text">{t('gears.coverage', { max: maxBatchSize })}</span></div>
      <div className="npu-form-value">
        <div className="npu-gear-coverage">
          <ol aria-label={t('gears.coverage', { max: maxBatchSize })}>
            {runs.map(({ from, to, gear }) => (
              <li key={from} className={gear === null ? 'npu-gear-gap' : gear === to && from === to ? 'npu-gear-hit' : ''} style={{ flexGrow: Math.sqrt(to - from + 1) }}>{from === to ? from : `${from}–${to}`}{gear === null ? ' ✕' : gear === from && from === to ? '' : `→${gear}`}</li>
            ))}
          </ol>
          <div className="npu-small-text"><div className={uncovered.length > 0 ? 'npu-gear-missing npu-tensor-wrong' : ''}>{uncovered.length > 0 && <StateMark kind="failed" isDecoration />} {summary}</div><div className="npu-quiet" title={t('gears.paddedNote')}>{t('gears.padded', { percent })}</div></div>
          {uncovered.length > 0 && <Button className="npu-small" size="small" icon={<AddIcon />} onClick={() => onAdd(maxBatchSize)}>{t('gears.addMax', { max: maxBatchSize })}</Button>}
        </div>
      </div>
    </div>
  )
}
