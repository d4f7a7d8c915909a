/** The Ascend chips by the name their driver gives: core counts and memory, as the platform files of CANN state them. Pure. */
import chips from './ascend-chips.json' with { type: 'json' }

export interface AscendChip {
  /** Name of the SoC: `Ascend310P3`, `Ascend910B3`. `Ascend910B` (first generation, 30 cores) is not one of `Ascend910B1`..`B4` (A2). */
  readonly chip: string
  readonly architecture: string | null
  /** AI cores; on chips with separate vector cores: cube cores. The upper bound of `ge.aicoreNum`. */
  readonly aiCores: number
  /** null: the chip has no separate ones. */
  readonly vectorCores: number | null
  /** null: not stated, or stated differently by different sources. */
  readonly memoryBytes: number | null
  readonly l2CacheBytes: number | null
  /** What `ge.aicoreNum` takes: `cube|vector`, or one number (a vector part is ignored). */
  readonly coreLimit: 'cubeAndVector' | 'aiCoresOnly'
  /** False: only compiled OM files run there. */
  readonly hasOnlineGraphEngine: boolean
  /** Where the chip is found, for people. */
  readonly products: string
}

export const ASCEND_CHIPS: readonly AscendChip[] = chips as readonly AscendChip[]

/**
 * The chip of a name as tools print it: `Ascend910B3`, `910B3` and `ascend910b3` are the same.
 * @returns undefined for names that are not in the table (plain `Ascend910` of the A3 cards too: several chips bear it)
 */
export function findAscendChip(name: string): AscendChip | undefined {
  const plain = plainName(name)
  return ASCEND_CHIPS.find(({ chip }) => plainName(chip) === plain)
}

function plainName(name: string): string {
  return name.trim().toLowerCase().replace(/^ascend[ _-]?/, '')
}
