import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseNpuSmiTable } from './npu-smi-table.ts'

const MB = 2 ** 20
const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}.txt`, import.meta.url), 'utf8')
const table = (name: string) => {
  const parsed = parseNpuSmiTable(fixture(name))
  if (parsed === null) throw new Error(`${name} is no table`)
  return parsed
}

describe('parseNpuSmiTable', () => {
  it('reads a Duo: two chips of one card, power that is not reported, one chip that reports no AI Core', () => {
    const { chips, ...about } = table('info-310p-duo')
    expect(about).toEqual({ toolVersion: '24.1.0', driverVersion: '24.1.0', isSimulated: false, layout: '310' })
    expect(chips).toEqual([
      {
        slot: 1, chipIndex: 0, logicalId: 0, physicalId: null, name: '310P3', busId: '0000:01:00.0', health: 'ok', powerWatts: null, temperatureCelsius: 58, aiCorePercent: 61,
        memoryUsedBytes: 3276 * MB, memoryTotalBytes: 44280 * MB,
        processes: [{ processId: 21840, name: 'npu-console', memoryBytes: 1638 * MB }, { processId: 9127, name: 'python3', memoryBytes: 118 * MB }],
      },
      {
        slot: 1, chipIndex: 1, logicalId: 1, physicalId: null, name: '310P3', busId: '0000:01:00.0', health: 'ok', powerWatts: null, temperatureCelsius: 56, aiCorePercent: 0,
        memoryUsedBytes: 1529 * MB, memoryTotalBytes: 43693 * MB, processes: [],
      },
      {
        slot: 4, chipIndex: 0, logicalId: 2, physicalId: null, name: '310P3', busId: '0000:c1:00.0', health: 'warning', powerWatts: 42.8, temperatureCelsius: 82, aiCorePercent: null,
        memoryUsedBytes: 1705 * MB, memoryTotalBytes: 21525 * MB, processes: [],
      },
    ])
  })

  it('reads an A2: HBM although its columns touch, a process table with one column more', () => {
    const { chips, layout } = table('info-910b')
    expect(layout).toBe('910')
    expect(chips).toMatchObject([
      { slot: 0, chipIndex: 0, logicalId: null, name: '910B3', powerWatts: 98.4, temperatureCelsius: 50, aiCorePercent: 38, memoryUsedBytes: 31877 * MB, memoryTotalBytes: 65536 * MB, processes: [{ processId: 21847, name: 'npu-console', memoryBytes: 28508 * MB }] },
      { slot: 5, health: 'alarm', powerWatts: null, temperatureCelsius: null, aiCorePercent: 0, memoryUsedBytes: 3369 * MB, processes: [] },
    ])
  })

  it('takes the HBM of a 910 that has DDR too, and says nothing about processes where none are listed', () => {
    const { chips } = table('info-910pro-b')
    expect(chips).toMatchObject([{ slot: 3, name: '910ProB', health: null, memoryUsedBytes: 18 * MB, memoryTotalBytes: 32768 * MB, aiCorePercent: 7, processes: null }])
  })

  it('reads an A3: two chips with physical ids, power once', () => {
    expect(table('info-a3').chips).toMatchObject([
      { slot: 0, chipIndex: 0, physicalId: 0, logicalId: null, name: 'Ascend910', powerWatts: 171.9, aiCorePercent: 12 },
      { slot: 0, chipIndex: 1, physicalId: 1, logicalId: null, name: 'Ascend910', powerWatts: null, temperatureCelsius: 36, memoryUsedBytes: 2893 * MB },
    ])
  })

  it('reads a 950, which has no chips', () => {
    const { chips, layout } = table('info-950')
    expect(layout).toBe('950')
    expect(chips).toMatchObject([{ slot: 2, chipIndex: null, name: 'Ascend950PR', busId: '0000:81:00.0', powerWatts: 310.5, temperatureCelsius: 44, aiCorePercent: 17, memoryUsedBytes: 4096 * MB, memoryTotalBytes: 131072 * MB }])
  })

  it('knows the simulator by its title, and keeps the version apart from the word', () => {
    expect(table('info-simulated')).toMatchObject({ isSimulated: true, driverVersion: '25.2.0' })
  })

  it('does not depend on widths: every run of spaces shortened gives the same', () => {
    for (const name of ['info-310p-duo', 'info-910b', 'info-910pro-b', 'info-a3', 'info-950']) {
      expect(parseNpuSmiTable(fixture(name).replace(/ {2,}/g, ' ')), name).toEqual(table(name))
      expect(parseNpuSmiTable(fixture(name).replaceAll('\n', '\r\n')), name).toEqual(table(name))
    }
  })

  it('is null for a text that is no table, and has no cards for a table cut off', () => {
    expect(parseNpuSmiTable('dcmi module initialize failed. ret is -8005')).toBeNull()
    expect(parseNpuSmiTable('')).toBeNull()
    expect(parseNpuSmiTable(fixture('info-910b').split('\n').slice(0, 7).join('\n'))?.chips).toEqual([])
  })
})
