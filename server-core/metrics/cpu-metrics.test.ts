import { describe, expect, it } from 'vitest'
import { CpuMetricsReader } from './cpu-metrics.ts'

describe('CpuMetricsReader', () => {
  it('reports the share since the last reading and the memory in bytes', async () => {
    const stats = ['cpu  100 0 100 700 100 0 0 0 50 0\n', 'cpu  150 0 125 750 175 0 0 0 99 0\n']
    const reader = new CpuMetricsReader((path) => Promise.resolve(path === '/proc/stat' ? (stats.shift() ?? '') : 'MemTotal:  4 kB\nMemFree: 1 kB\nMemAvailable:  3 kB\n'))
    await reader.update()
    expect(reader.current).toEqual({ utilization: 0.2, memoryTotalBytes: 4096, memoryUsedBytes: 1024 })
    await reader.update()
    expect(reader.current.utilization).toBe(0.375)
  })

  it('knows nothing where there is no /proc', async () => {
    const reader = new CpuMetricsReader(() => Promise.reject(new Error('ENOENT')))
    await reader.update()
    expect(reader.current).toEqual({ utilization: null, memoryTotalBytes: null, memoryUsedBytes: null })
  })

  it('knows no utilization from a line it cannot read', async () => {
    const reader = new CpuMetricsReader((path) => Promise.resolve(path === '/proc/stat' ? 'intr 1 2 3\n' : ''))
    await reader.update()
    expect(reader.current.utilization).toBeNull()
  })
})
