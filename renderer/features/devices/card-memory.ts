/** How the memory of a card is shared out: the console's processes, others, and what the driver itself takes. Pure. */
import type { DeviceProcess } from '../../../server-core/contract/devices.ts'
import type { NpuSample } from '../../../server-core/contract/statistics.ts'

export interface MemoryShare {
  readonly kind: 'models' | 'console' | 'others' | 'system'
  /** Of `models`: their names. */
  readonly models: readonly string[]
  readonly bytes: number
}

/** Largest share of the console first, then others, then the rest; empty where the driver does not say who uses what. */
export function memoryShares(npu: Pick<NpuSample, 'memoryUsedBytes'>, processes: readonly DeviceProcess[] | null): readonly MemoryShare[] {
  const used = npu.memoryUsedBytes
  if (used === null || processes === null) return []
  const own = processes.filter(({ isOurs, memoryBytes }) => isOurs && (memoryBytes ?? 0) > 0)
    .map(({ models, memoryBytes }): MemoryShare => ({ kind: models.length > 0 ? 'models' : 'console', models, bytes: memoryBytes ?? 0 }))
    .sort((a, b) => b.bytes - a.bytes)
  const others = processes.reduce((sum, { isOurs, memoryBytes }) => sum + (isOurs ? 0 : memoryBytes ?? 0), 0)
  const rest = used - others - own.reduce((sum, { bytes }) => sum + bytes, 0)
  return [...own, { kind: 'others' as const, models: [], bytes: others }, { kind: 'system' as const, models: [], bytes: rest }].filter(({ bytes }) => bytes > 0)
}
