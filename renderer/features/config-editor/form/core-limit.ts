/** `ge.aicoreNum`: how many cores of a chip the compiled model may use. `cube|vector` (`12|10`) where the chip has both kinds, else `n`. */
import type { AscendChip } from '../../../../server-core/model-config/ascend-chips.ts'

export interface CoreLimit {
  readonly cube: number | null
  readonly vector: number | null
}

/** null: not readable. An empty part is "no limit". */
export function parseCoreLimit(text: string): CoreLimit | null {
  const match = /^\s*(\d*)\s*(?:\|\s*(\d*)\s*)?$/.exec(text)
  if (match === null) return null
  const [, cube = '', vector = ''] = match
  return { cube: cube === '' ? null : Number(cube), vector: vector === '' ? null : Number(vector) }
}

/** null: no limit at all, the option goes. A part that is left out on a chip with both kinds is written as the chip's full count. */
export function formatCoreLimit({ cube, vector }: CoreLimit, chip: Pick<AscendChip, 'aiCores' | 'vectorCores' | 'coreLimit'>): string | null {
  if (cube === null && vector === null) return null
  if (chip.coreLimit === 'aiCoresOnly') return cube === null ? null : String(cube)
  return `${cube ?? chip.aiCores}|${vector ?? chip.vectorCores ?? ''}`
}
