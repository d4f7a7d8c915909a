/** The rows of the model table: models, and below the unfolded ones their versions and files, filtered and in order of attention. */
import type { ModelFile, ModelSummary, ModelVersionSummary } from '../../../server-core/contract/repository.ts'
import { compareByAttention, modelState } from '../../lib/model-state.ts'
import type { ModelStateKind } from '../../lib/model-state.ts'

export type StateFilter = 'all' | 'ready' | 'loading' | 'degraded' | 'failed' | 'unloaded'
export const STATE_FILTERS: readonly StateFilter[] = ['all', 'ready', 'loading', 'degraded', 'failed', 'unloaded']

interface RowPlace {
  readonly key: string
  readonly parentKey: string | null
  /** 1 model, 2 version, 3 file. */
  readonly level: 1 | 2 | 3
  /** null: nothing to unfold. */
  readonly isExpanded: boolean | null
  readonly position: number
  readonly siblings: number
  readonly model: ModelSummary
}

export type ModelRow =
  | (RowPlace & { readonly kind: 'model' })
  | (RowPlace & { readonly kind: 'version'; readonly version: ModelVersionSummary })
  | (RowPlace & { readonly kind: 'file'; readonly version: ModelVersionSummary; readonly file: ModelFile })

function filterOf(state: ModelStateKind): StateFilter {
  return state === 'unloading' ? 'loading' : state
}

/** How many models each filter would show. */
export function countByFilter(models: readonly ModelSummary[]): Readonly<Record<StateFilter, number>> {
  const counts: Record<StateFilter, number> = { all: models.length, ready: 0, loading: 0, degraded: 0, failed: 0, unloaded: 0 }
  for (const model of models) counts[filterOf(modelState(model))]++
  return counts
}

export interface RowOptions {
  readonly filter: StateFilter
  /** Part of a name, any case. */
  readonly text: string
  /** Keys of unfolded rows. */
  readonly expanded: ReadonlySet<string>
  /** Names in the order to keep (the pointer is over the table: a row must not move away under it); new models follow. Default: by attention. */
  readonly heldOrder?: readonly string[] | null
}

/** Rows from top to bottom. */
export function modelRows(models: readonly ModelSummary[], { filter, text, expanded, heldOrder = null }: RowOptions): readonly ModelRow[] {
  const wanted = text.trim().toLowerCase()
  const shown = models.filter((model) => (filter === 'all' || filterOf(modelState(model)) === filter) && model.name.toLowerCase().includes(wanted)).sort(heldOrder === null ? compareByAttention : comparatorOf(heldOrder))
  return shown.flatMap((model, index): ModelRow[] => {
    const key = model.name
    const isExpanded = model.versions.length === 0 ? null : expanded.has(key)
    const row: ModelRow = { kind: 'model', key, parentKey: null, level: 1, isExpanded, position: index + 1, siblings: shown.length, model }
    return isExpanded === true ? [row, ...versionRows(model, expanded)] : [row]
  })
}

function comparatorOf(order: readonly string[]): (left: ModelSummary, right: ModelSummary) => number {
  const places = new Map(order.map((name, place) => [name, place]))
  const placeOf = (model: ModelSummary) => places.get(model.name) ?? order.length
  return (left, right) => placeOf(left) - placeOf(right) || compareByAttention(left, right)
}

function versionRows(model: ModelSummary, expanded: ReadonlySet<string>): readonly ModelRow[] {
  const versions = [...model.versions].sort((a, b) => Number(b.version) - Number(a.version))
  return versions.flatMap((version, index): ModelRow[] => {
    const key = `${model.name}/${version.version}`
    const isExpanded = version.files.length === 0 ? null : expanded.has(key)
    const row: ModelRow = { kind: 'version', key, parentKey: model.name, level: 2, isExpanded, position: index + 1, siblings: versions.length, model, version }
    if (isExpanded !== true) return [row]
    const files = version.files.map((file, position): ModelRow => (
      { kind: 'file', key: `${key}/${file.path}`, parentKey: key, level: 3, isExpanded: null, position: position + 1, siblings: version.files.length, model, version, file }))
    return [row, ...files]
  })
}

export type TableKey = 'ArrowUp' | 'ArrowDown' | 'ArrowLeft' | 'ArrowRight' | 'Home' | 'End' | 'PageUp' | 'PageDown'

export interface TableMove {
  /** Row to go to. */
  readonly focus?: string
  readonly expand?: string
  readonly collapse?: string
}

const PAGE = 10

/** What a key does in the tree: moves the cursor, folds, unfolds. */
export function moveInTable(rows: readonly ModelRow[], cursor: string | null, key: TableKey): TableMove {
  const index = Math.max(0, rows.findIndex((row) => row.key === cursor))
  const row = rows[index]
  if (row === undefined) return {}
  const to = (target: number): TableMove => ({ focus: rows[Math.max(0, Math.min(rows.length - 1, target))]?.key ?? row.key })
  switch (key) {
    case 'ArrowDown': return to(index + 1)
    case 'ArrowUp': return to(index - 1)
    case 'PageDown': return to(index + PAGE)
    case 'PageUp': return to(index - PAGE)
    case 'Home': return to(0)
    case 'End': return to(rows.length - 1)
    case 'ArrowRight': return row.isExpanded === false ? { expand: row.key } : row.isExpanded === true ? to(index + 1) : {}
    case 'ArrowLeft': return row.isExpanded === true ? { collapse: row.key } : row.parentKey === null ? {} : { focus: row.parentKey }
  }
}
