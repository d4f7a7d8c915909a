/**
 * Gears of the graph engine: the few shapes that a graph is compiled for. `ge.inputShape` lists every input with -1 where the size varies,
 * `ge.dynamicDims` one row of values a gear (in the order of the -1s), `ge.dynamicNodeType` "1". Pure.
 */

export interface GearInput {
  readonly name: string
  readonly dims: readonly number[]
}

/** `x:-1,3,224,224;ids:-1,16`; null: not readable. */
export function parseInputShape(text: string): GearInput[] | null {
  const inputs: GearInput[] = []
  for (const part of text.split(';')) {
    const colon = part.lastIndexOf(':')
    const name = part.slice(0, colon).trim()
    const dims = integers(part.slice(colon + 1))
    if (colon < 0 || name === '' || dims === null || dims.some((dim) => dim < 1 && dim !== -1)) return null
    inputs.push({ name, dims })
  }
  return inputs
}

/** `1;2;4` or `1,128;4,128`; null: not readable. */
export function parseDynamicDims(text: string): number[][] | null {
  const gears = text.split(';').map(integers)
  return gears.every((gear) => gear !== null && gear.every((value) => value >= 1)) ? (gears as number[][]) : null
}

function integers(text: string): number[] | null {
  const parts = text.split(',').map((part) => part.trim())
  return parts.every((part) => /^-?\d{1,15}$/.test(part)) ? parts.map(Number) : null
}

export function printInputShape(inputs: readonly GearInput[]): string {
  return inputs.map(({ name, dims }) => `${name}:${dims.join(',')}`).join(';')
}

export function printDynamicDims(gears: readonly (readonly number[])[]): string {
  return gears.map((gear) => gear.join(',')).join(';')
}

/** For each value of a gear: is it the first dimension of its input (the batch, where the model batches)? */
export function gearBatchPositions(inputs: readonly GearInput[]): boolean[] {
  return inputs.flatMap(({ dims }) => dims.flatMap((dim, axis) => (dim === -1 ? [axis === 0] : [])))
}

/** Batch sizes 1..`maxBatchSize` that no gear has; empty where the batch is no part of the gears. */
export function uncoveredBatchSizes(inputs: readonly GearInput[], gears: readonly (readonly number[])[], maxBatchSize: number): number[] {
  const position = gearBatchPositions(inputs).indexOf(true)
  if (position < 0) return []
  const covered = new Set(gears.map((gear) => gear[position]))
  return Array.from({ length: maxBatchSize }, (_none, index) => index + 1).filter((size) => !covered.has(size))
}

/** `3, 5 to 7` */
export function rangesText(sizes: readonly number[], language: 'en' | 'zh-CN'): string {
  const ranges: [number, number][] = []
  for (const size of sizes) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === size - 1) last[1] = size
    else ranges.push([size, size])
  }
  const to = language === 'en' ? ' to ' : ' 到 '
  return ranges.map(([from, until]) => (from === until ? `${from}` : `${from}${to}${until}`)).join(language === 'en' ? ', ' : '、')
}
