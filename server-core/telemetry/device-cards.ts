/** The cards by all the numbers that name them. Pure. */
import type { DeviceCard, VisibleDevices } from '../contract/devices.ts'
import { findAscendChip } from '../model-config/ascend-chips.ts'
import type { ChipIds } from './npu-smi-details.ts'
import type { NpuChipReading } from './npu-telemetry-source.ts'

type NamedChip = Pick<NpuChipReading, 'slot' | 'chipIndex' | 'logicalId' | 'name' | 'busId'>

/** @param visible null: `ASCEND_RT_VISIBLE_DEVICES` is not set */
export function deviceCards(chips: readonly NamedChip[], visible: VisibleDevices | null): readonly DeviceCard[] {
  return chips.map(({ slot, chipIndex, logicalId, name, busId }, index) => {
    const known = findAscendChip(name)
    return {
      card: cardNumber({ logicalId }, index), chip: name, slot, chipIndex, logicalId, visibleId: visibleIdOf(logicalId, visible), busId,
      deviceNode: logicalId === null ? null : `/dev/davinci${logicalId}`, aiCores: known?.aiCores ?? null, vectorCores: known?.vectorCores ?? null,
    }
  })
}

/** The logical id, or where none is told the place in the driver's list. */
export function cardNumber({ logicalId }: Pick<NamedChip, 'logicalId'>, index: number): number {
  return logicalId ?? index
}

/** Null: `npu-smi info -m` does not list this chip. */
export function logicalIdOf({ slot, chipIndex }: Pick<NamedChip, 'slot' | 'chipIndex'>, ids: readonly ChipIds[]): number | null {
  return ids.find((entry) => entry.slot === slot && (entry.chipIndex === null || chipIndex === null || entry.chipIndex === chipIndex))?.logicalId ?? null
}

function visibleIdOf(logicalId: number | null, visible: VisibleDevices | null): number | null {
  if (logicalId === null || visible === null) return logicalId
  const index = visible.logicalIds.indexOf(logicalId)
  return index < 0 ? null : index
}
