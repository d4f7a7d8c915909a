/**
 * Gears of a GE model: the shapes it is compiled for. Three options say them together: `ge.inputShape` (`x:-1,3,224,224;y:-1,8`),
 * `ge.dynamicDims` (`1;2;4`: gears by semicolon, the values for each -1 in order by comma) and `ge.dynamicNodeType` (`1` = placeholder).
 */

export const GEAR_KEYS = { inputShape: 'ge.inputShape', dynamicDims: 'ge.dynamicDims', dynamicNodeType: 'ge.dynamicNodeType' } as const
export const OPTION_PREFIXES = ['graph.', 'session.', ''] as const
export const MIN_GEARS = 2
export const MAX_GEARS = 100

export interface ShapedInput {
  readonly name: string
  readonly dims: readonly number[]
}

/** One -1 of `ge.inputShape`: a column of the gear table. */
export interface GearColumn {
  readonly input: string
  readonly axis: number
}

export interface Gears {
  readonly inputs: readonly ShapedInput[]
  readonly columns: readonly GearColumn[]
  /** Values per column; a row may be short or long where the text is wrong. */
  readonly rows: readonly (readonly number[])[]
}

/** `x:-1,3;y:8` to inputs; null where it cannot be read. */
export function parseInputShape(text: string): readonly ShapedInput[] | null {
  const inputs: ShapedInput[] = []
  for (const part of text.split(';').map((piece) => piece.trim()).filter((piece) => piece !== '')) {
    const colon = part.lastIndexOf(':')
    const dims = part.slice(colon + 1).split(',').map((dim) => dim.trim())
    if (colon <= 0 || !dims.every((dim) => /^-?\d+$/.test(dim))) return null
    inputs.push({ name: part.slice(0, colon).trim(), dims: dims.map(Number) })
  }
  return inputs
}

export function formatInputShape(inputs: readonly ShapedInput[]): string {
  return inputs.map(({ name, dims }) => `${name}:${dims.join(',')}`).join(';')
}

/** `1;2;4` or `1,224;8,448` to rows; null where it cannot be read. */
export function parseDynamicDims(text: string): readonly (readonly number[])[] | null {
  const rows = text.split(';').map((piece) => piece.trim()).filter((piece) => piece !== '').map((piece) => piece.split(',').map((value) => value.trim()))
  return rows.every((row) => row.every((value) => /^\d+$/.test(value))) ? rows.map((row) => row.map(Number)) : null
}

export function formatDynamicDims(rows: readonly (readonly number[])[]): string {
  return rows.map((row) => row.join(',')).join(';')
}

export function columnsOf(inputs: readonly ShapedInput[]): readonly GearColumn[] {
  return inputs.flatMap(({ name, dims }) => dims.flatMap((dim, axis) => (dim < 0 ? [{ input: name, axis }] : [])))
}

/** null where either text cannot be read. */
export function parseGears(inputShape: string, dynamicDims: string): Gears | null {
  const inputs = parseInputShape(inputShape)
  const rows = parseDynamicDims(dynamicDims)
  return inputs === null || rows === null ? null : { inputs, columns: columnsOf(inputs), rows }
}

/** Batch sizes that have a gear, ascending: the values of the first columns on axis 0. Empty where no axis 0 is a gear. */
export function batchGears({ columns, rows }: Gears): readonly number[] {
  const column = columns.findIndex(({ axis }) => axis === 0)
  if (column < 0) return []
  return [...new Set(rows.flatMap((row) => row[column] ?? []))].sort((left, right) => left - right)
}

export interface CoverageCell {
  readonly size: number
  /** The gear that runs it; null: none is large enough. */
  readonly gear: number | null
}

export interface Coverage {
  readonly cells: readonly CoverageCell[]
  readonly uncovered: readonly number[]
  /** Rows computed for nothing, as a share of the rows computed, if every covered size came equally often. 0...1. */
  readonly paddedShare: number
}

/** Each batch size from 1 to `maxBatchSize` and the least gear that holds it. */
export function coverage(gears: readonly number[], maxBatchSize: number): Coverage {
  const sorted = [...gears].sort((left, right) => left - right)
  const cells: CoverageCell[] = []
  let computed = 0
  let padded = 0
  for (let size = 1; size <= maxBatchSize; size++) {
    const gear = sorted.find((candidate) => candidate >= size) ?? null
    cells.push({ size, gear })
    if (gear === null) continue
    computed += gear
    padded += gear - size
  }
  return { cells, uncovered: cells.flatMap(({ size, gear }) => (gear === null ? [size] : [])), paddedShare: computed === 0 ? 0 : padded / computed }
}

/** Runs of neighbouring sizes with the same gear: `5, 6, 7 → 8`. For many sizes on little room. */
export function coverageRuns(cells: readonly CoverageCell[]): readonly { readonly from: number; readonly to: number; readonly gear: number | null }[] {
  const runs: { from: number; to: number; gear: number | null }[] = []
  for (const { size, gear } of cells) {
    const last = runs.at(-1)
    if (last !== undefined && last.gear === gear) last.to = size
    else runs.push({ from: size, to: size, gear })
  }
  return runs
}

/** 1, 2, 4 ... and the greatest size itself. */
export function powersOfTwo(maxBatchSize: number): readonly number[] {
  const sizes: number[] = []
  for (let size = 1; size < maxBatchSize; size *= 2) sizes.push(size)
  return [...sizes, Math.max(1, maxBatchSize)]
}

/** Axis 0 of every input as -1 where the model batches; other -1 of `dims` stay and become columns too. */
export function shapedInputs(inputs: readonly ShapedInput[], maxBatchSize: number): readonly ShapedInput[] {
  return inputs.map(({ name, dims }) => ({ name, dims: maxBatchSize > 0 ? [-1, ...dims] : dims }))
}

/** The row of a batch size: `size` on axis 0, elsewhere what the first row has, or 1. */
export function rowForBatch({ columns, rows }: Gears, size: number): readonly number[] {
  return columns.map(({ axis }, index) => (axis === 0 ? size : rows[0]?.[index] ?? 1))
}

/** Every batch column carries the same size in each row, and nothing but the batch varies: gears can be shown as single numbers. */
export function isBatchOnly({ columns, rows }: Gears): boolean {
  return columns.length > 0 && columns.every(({ axis }) => axis === 0) && rows.every((row) => row.length === columns.length && row.every((value) => value === row[0]))
}
