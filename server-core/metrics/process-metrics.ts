/** This process in the words of Prometheus' client libraries (`process_...`). What the system does not tell is absent. */
import { readdirSync, readFileSync } from 'node:fs'
import { header, printedValue } from './metric-families.ts'

/** @returns families in Prometheus' text format */
export function processMetricsPage(): string {
  const { user, system } = process.cpuUsage()
  return [
    family('process_cpu_seconds_total', 'counter', 'Total user and system CPU time spent in seconds', (user + system) / 1e6),
    family('process_resident_memory_bytes', 'gauge', 'Resident memory size in bytes', process.memoryUsage.rss()),
    family('process_start_time_seconds', 'gauge', 'Start time of the process since unix epoch in seconds', Math.floor(Date.now() / 1000 - process.uptime())),
    family('process_open_fds', 'gauge', 'Number of open file descriptors', openFileCount()),
    family('process_max_fds', 'gauge', 'Maximum number of open file descriptors', mostOpenFiles()),
  ].join('')
}

function family(name: string, type: string, help: string, value: number | null): string {
  return value === null ? '' : `${header(name, type, help)}${name} ${printedValue(value)}\n`
}

function openFileCount(): number | null {
  try {
    // The directory itself is one of them while it is read.
    return readdirSync('/proc/self/fd').length - 1
  } catch {
    return null
  }
}

function mostOpenFiles(): number | null {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === undefined ? null : Number(limit)
  } catch {
    return null
  }
}
