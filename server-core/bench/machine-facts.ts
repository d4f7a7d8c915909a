import { cpus, loadavg, totalmem } from 'node:os'

/** What figures depend on, for the head of a report. The load says whether the machine was idle. */
export function machineFacts(): string {
  return `machine: ${cpus()[0]?.model ?? 'unknown'}, ${cpus().length} cores, ${(totalmem() / 2 ** 20).toFixed(0)} MB, Node ${process.versions.node}, load of the last minute ${loadavg()[0]?.toFixed(1) ?? '?'}`
}
