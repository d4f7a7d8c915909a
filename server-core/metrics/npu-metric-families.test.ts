import { expect, it } from 'vitest'
import type { DevicesReport } from '../contract/devices.ts'
import type { NpuSample } from '../contract/statistics.ts'
import { npuMetricsPage } from './npu-metric-families.ts'

const MB = 2 ** 20
const REPORT: DevicesReport = { source: 'npu-smi', isSimulated: false, driverVersion: null, problem: null, cards: [], processes: null, memory: [], visibleDevices: null }
const sample = (part: Partial<NpuSample> = {}): NpuSample => ({
  card: 0, chip: '910B3', aiCorePercent: null, vectorCorePercent: null, cubeCorePercent: null, memoryUsedBytes: null, memoryTotalBytes: null, temperatureCelsius: null, powerWatts: null, health: null, errorCodes: null,
  readAt: 0, detailsReadAt: null, isSimulated: false, ...part,
})
const series = (samples: readonly NpuSample[] | null, report: Partial<DevicesReport> = {}) => npuMetricsPage(samples, { ...REPORT, ...report }).split('\n').filter((line) => line !== '' && !line.startsWith('#'))

it('is empty without a card', () => {
  expect([npuMetricsPage(null, REPORT), npuMetricsPage([], REPORT)]).toEqual(['', ''])
})

it('has only what a card reports: unknown is absent, 0 is 0', () => {
  expect(series([sample({ aiCorePercent: 0 })])).toEqual([
    'machine_npu_nums 1', 'npu_chip_info_name{id="0",model_name="910B3",name="910B3"} 1', 'npu_chip_info_utilization{id="0",model_name="910B3"} 0',
  ])
  expect(npuMetricsPage([sample()], REPORT)).not.toContain('power')
})

it('prints every family of a card that reports all, with the names and units of npu-exporter', () => {
  const full = sample({ aiCorePercent: 38, vectorCorePercent: 19, cubeCorePercent: 34, memoryUsedBytes: 3369 * MB, memoryTotalBytes: 65536 * MB, temperatureCelsius: 50, powerWatts: 98.4, health: 'alarm', errorCodes: ['80E01801', '0x80cb8009'],
    gauges: { overallPercent: 40, aiCoreMegahertz: 1800, hbmTemperatureCelsius: 48, hbmBandwidthPercent: 21 } })
  const card = { card: 0, chip: '910B3', slot: 0, chipIndex: 0, logicalId: 0, visibleId: 0, busId: '0000:c1:00.0', deviceNode: null, aiCores: 20, vectorCores: 40 }
  const processes = [{ card: 0, processId: 7, name: 'npu-console', memoryBytes: 100 * MB, models: [], isOurs: true }]
  const labels = 'id="0",model_name="910B3",pcie_bus_info="0000:c1:00.0"'
  expect(series([full], { cards: [card], processes })).toEqual([
    'machine_npu_nums 1',
    'npu_chip_info_name{id="0",model_name="910B3",name="910B3",pcie_bus_info="0000:c1:00.0"} 1',
    `npu_chip_info_utilization{${labels}} 38`, `npu_chip_info_overall_utilization{${labels}} 40`, `npu_chip_info_vector_utilization{${labels}} 19`, `npu_chip_info_cube_utilization{${labels}} 34`, `npu_chip_info_aicore_current_freq{${labels}} 1800`,
    `npu_chip_info_temperature{${labels}} 50`, `npu_chip_info_power{${labels}} 98.4`, `npu_chip_info_health_status{${labels}} 0`,
    `npu_chip_info_hbm_used_memory{${labels}} 3369`, `npu_chip_info_hbm_total_memory{${labels}} 65536`,
    `npu_chip_info_hbm_utilization{${labels}} 5`, `npu_chip_info_hbm_temperature{${labels}} 48`, `npu_chip_info_hbm_bandwidth_utilization{${labels}} 21`,
    `npu_chip_info_error_code{${labels}} ${0x80E01801}`, `npu_chip_info_error_code_1{${labels}} ${0x80cb8009}`,
    `npu_chip_info_process_info{${labels},process_id="7"} 100`, `npu_chip_info_process_info_num{${labels}} 1`,
  ])
})

it('counts the DDR of a 310P as memory, not as HBM, and marks what is simulated', () => {
  expect(series([sample({ chip: '310P3', memoryUsedBytes: MB, isSimulated: true })], { isSimulated: true })).toEqual([
    'machine_npu_nums{simulated="true"} 1', 'npu_chip_info_name{id="0",model_name="310P3",name="310P3",simulated="true"} 1', 'npu_chip_info_used_memory{id="0",model_name="310P3",simulated="true"} 1',
  ])
})
