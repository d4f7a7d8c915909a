import { describe, expect, it } from 'vitest'
import { modelSummary, versionSummary } from '../../testing/models.ts'
import { countByFilter, modelRows, moveInTable } from './model-rows.ts'

const models = [
  modelSummary('rec', { state: 'READY', versions: [versionSummary('2', { state: 'READY' }), versionSummary('10', { state: 'READY' })] }),
  modelSummary('det', { state: 'UNAVAILABLE', reason: 'Invalid argument: x' }),
  modelSummary('cls', { state: 'UNAVAILABLE', reason: 'unloaded' }),
  modelSummary('empty', { versions: [] }),
]
const rowsWith = (expanded: readonly string[], part: { filter?: 'all' | 'ready' | 'failed'; text?: string } = {}) => modelRows(models, { filter: part.filter ?? 'all', text: part.text ?? '', expanded: new Set(expanded) })
const keys = (rows: ReturnType<typeof rowsWith>) => rows.map((row) => row.key)

describe('modelRows', () => {
  it('puts failed models first and unloaded ones last', () => {
    expect(keys(rowsWith([]))).toEqual(['det', 'rec', 'cls', 'empty'])
  })

  it('unfolds versions, the highest number first, and their files', () => {
    const rows = rowsWith(['rec', 'rec/10'])
    expect(keys(rows)).toEqual(['det', 'rec', 'rec/10', 'rec/10/10/model.onnx', 'rec/2', 'cls', 'empty'])
    expect(rows[3]).toMatchObject({ level: 3, parentKey: 'rec/10', isExpanded: null })
    expect(rows[4]).toMatchObject({ level: 2, position: 2, siblings: 2 })
  })

  it('filters by state and by part of the name, in any case', () => {
    expect(keys(rowsWith([], { filter: 'failed' }))).toEqual(['det'])
    expect(keys(rowsWith([], { text: ' RE ' }))).toEqual(['rec'])
    expect(keys(rowsWith([], { filter: 'ready', text: 'det' }))).toEqual([])
  })

  it('keeps a held order, new models after it', () => {
    const changed = [...models.map((model) => (model.name === 'cls' ? { ...model, state: 'LOADING' as const } : model)), modelSummary('new', { state: 'READY' })]
    const rows = (heldOrder: readonly string[] | null) => keys(modelRows(changed, { filter: 'all', text: '', expanded: new Set(), heldOrder }))
    expect(rows(['det', 'rec', 'cls', 'empty'])).toEqual(['det', 'rec', 'cls', 'empty', 'new'])
    expect(rows(null)).toEqual(['det', 'cls', 'new', 'rec', 'empty'])
  })

  it('counts every model under one filter', () => {
    expect(countByFilter(models)).toEqual({ all: 4, ready: 1, loading: 0, degraded: 0, failed: 1, unloaded: 2 })
  })
})

describe('moveInTable', () => {
  const rows = rowsWith(['rec'])

  it('moves by one row and stops at both ends', () => {
    expect(moveInTable(rows, 'det', 'ArrowDown')).toEqual({ focus: 'rec' })
    expect(moveInTable(rows, 'det', 'ArrowUp')).toEqual({ focus: 'det' })
    expect(moveInTable(rows, 'empty', 'ArrowDown')).toEqual({ focus: 'empty' })
    expect(moveInTable(rows, null, 'End')).toEqual({ focus: 'empty' })
    expect(moveInTable(rows, 'cls', 'Home')).toEqual({ focus: 'det' })
    expect(moveInTable(rows, 'det', 'PageDown')).toEqual({ focus: 'empty' })
  })

  it('unfolds with Right, then goes in; folds with Left, then goes out', () => {
    expect(moveInTable(rows, 'det', 'ArrowRight')).toEqual({ expand: 'det' })
    expect(moveInTable(rows, 'rec', 'ArrowRight')).toEqual({ focus: 'rec/10' })
    expect(moveInTable(rows, 'rec', 'ArrowLeft')).toEqual({ collapse: 'rec' })
    expect(moveInTable(rows, 'rec/10', 'ArrowLeft')).toEqual({ focus: 'rec' })
    expect(moveInTable(rows, 'empty', 'ArrowRight')).toEqual({})
    expect(moveInTable(rows, 'cls', 'ArrowLeft')).toEqual({})
  })
})
