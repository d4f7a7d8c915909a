/** Where a group's instances run, in the words of the form, and how the chosen backend wants it written. */
import type { ConfigValue } from '../../../../server-core/model-config/config-style.ts'

/** 'auto': the file leaves it to the server. 'model': the backend places instances itself (KIND_MODEL). */
export type Placement = 'auto' | 'cpu' | 'gpu' | 'npu' | 'model'

export const NPU_BACKENDS: readonly string[] = ['npu_ge', 'npu_om']

export function isNpuBackend(backend: string): boolean {
  return NPU_BACKENDS.includes(backend)
}

/** @param kind of the group as written; '' where it is left out */
export function placementOf(backend: string, kind: string): Placement {
  if (isNpuBackend(backend)) return 'npu'
  switch (kind) {
    case 'KIND_CPU': return 'cpu'
    case 'KIND_GPU': return 'gpu'
    case 'KIND_MODEL': return 'model'
    default: return 'auto'
  }
}

/** null: the backend cannot run there at all; another backend is needed. */
export function kindFor(backend: string, placement: Placement): 'KIND_CPU' | 'KIND_GPU' | 'KIND_MODEL' | 'none' | null {
  const isNpu = isNpuBackend(backend)
  switch (placement) {
    // NPU backends take their cards from `device_ids`: a kind would only say where they do not run.
    case 'npu': return isNpu ? 'none' : null
    case 'auto': return isNpu ? null : 'none'
    case 'cpu': return isNpu ? null : 'KIND_CPU'
    case 'gpu': return isNpu ? null : 'KIND_GPU'
    case 'model': return isNpu ? null : 'KIND_MODEL'
  }
}

/** The backend that runs on such a device; null: any. */
export function backendFor(placement: Placement): string | null {
  return placement === 'npu' ? 'npu_ge' : placement === 'cpu' ? 'onnxruntime' : null
}

/** A new group for the backend. */
export function newGroup(backend: string, count: number): ConfigValue {
  return isNpuBackend(backend) ? { count } : { count, kind: 'KIND_CPU' }
}

/** `2,3` or `[2, 3]` to card numbers; null: not readable. */
export function parseCards(text: string): readonly number[] | null {
  const parts = text.split(/[\s,;[\]]+/).filter((part) => part !== '')
  return parts.every((part) => /^\d+$/.test(part)) ? parts.map(Number) : null
}

export function formatCards(cards: readonly number[]): string {
  return [...new Set(cards)].sort((left, right) => left - right).join(',')
}
