/** Reads the machine's CPU use and memory from /proc, as the `nv_cpu_*` gauges want them. */
import { readFile } from 'node:fs/promises'
import type { CpuMetrics } from './metric-families.ts'

const UNKNOWN: CpuMetrics = { utilization: null, memoryTotalBytes: null, memoryUsedBytes: null }

interface CpuTicks {
  readonly total: number
  readonly idle: number
}

/** Keeps the last reading, since utilization is a difference. Where there is no /proc every value is unknown. */
export class CpuMetricsReader {
  readonly #readText: (path: string) => Promise<string>
  #last: CpuTicks | undefined
  #current: CpuMetrics = UNKNOWN

  constructor(readText: (path: string) => Promise<string> = (path) => readFile(path, 'utf8')) {
    this.#readText = readText
  }

  get current(): CpuMetrics {
    return this.#current
  }

  async update(): Promise<void> {
    try {
      const [stat, memory] = await Promise.all([this.#readText('/proc/stat'), this.#readText('/proc/meminfo')])
      const ticks = parseTicks(stat)
      const memoryTotalBytes = kibibytes(memory, 'MemTotal')
      const available = kibibytes(memory, 'MemAvailable')
      this.#current = {
        utilization: ticks === undefined ? null : utilization(this.#last, ticks),
        memoryTotalBytes,
        memoryUsedBytes: memoryTotalBytes === null || available === null ? null : memoryTotalBytes - available,
      }
      this.#last = ticks
    } catch {
      // No /proc on this system: the gauges are absent, never 0.
      this.#current = UNKNOWN
    }
  }
}

/** First line: `cpu user nice system idle iowait irq softirq steal guest guest_nice`; guest time is part of user. */
function parseTicks(stat: string): CpuTicks | undefined {
  const end = stat.indexOf('\n')
  const [label, ...fields] = stat.slice(0, end < 0 ? undefined : end).trim().split(/\s+/)
  const values = fields.slice(0, 8).map(Number)
  if (label !== 'cpu' || values.length < 5 || values.some(Number.isNaN)) return undefined
  return { total: values.reduce((sum, value) => sum + value, 0), idle: (values[3] ?? 0) + (values[4] ?? 0) }
}

/** The share since the last reading; since boot at the first. */
function utilization(last: CpuTicks | undefined, now: CpuTicks): number {
  const total = now.total - (last?.total ?? 0)
  const idle = now.idle - (last?.idle ?? 0)
  return total <= 0 ? 0 : Math.min(1, Math.max(0, (total - idle) / total))
}

function kibibytes(memory: string, field: string): number | null {
  const match = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(memory)
  return match?.[1] === undefined ? null : Number(match[1]) * 1024
}
