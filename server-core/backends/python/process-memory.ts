import { readFileSync } from 'node:fs'

/** Resident memory of a process in bytes, as Linux counts it; 0: it is gone, or this is no Linux. */
export function residentBytesOf(processId: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${processId}/status`, 'utf8'))?.[1] ?? 0) * 1024
  } catch {
    // Between two looks it may have ended.
    return 0
  }
}
