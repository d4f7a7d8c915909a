/**
 * The cards in the words of npu-exporter (`npu_chip_info_...`, `machine_npu_nums`), so that dashboards made for it work. What a card does not
 * report is absent, never 0; without a card there is nothing at all. Its label `vdie_id` and those of Kubernetes are not known here and left out.
 */
import type { DeviceCard, DevicesReport } from '../contract/devices.ts'
import type { NpuSample } from '../contract/statistics.ts'
import { header, labels, printedValue } from './metric-families.ts'

interface NpuFamily {
  readonly name: string
  readonly help: string
  /** null: not reported. */
  readonly value: (card: NpuSample) => number | null
}

const BYTES_PER_MEGABYTE = 2 ** 20
const megabytes = (bytes: number | null) => (bytes === null ? null : bytes / BYTES_PER_MEGABYTE)
const percentOf = (part: number | null, whole: number | null) => (part === null || whole === null || whole === 0 ? null : Math.round((part / whole) * 100))
/** Chips whose models live in DDR; the others have HBM. */
const hasDdr = ({ chip }: NpuSample) => /310/.test(chip)

const FAMILIES: readonly NpuFamily[] = [
  { name: 'npu_chip_info_utilization', help: 'AI Core utilization of the chip, in percent', value: (card) => card.aiCorePercent },
  { name: 'npu_chip_info_overall_utilization', help: 'Utilization of the whole chip, in percent', value: ({ gauges }) => gauges?.overallPercent ?? null },
  { name: 'npu_chip_info_vector_utilization', help: 'Vector core utilization of the chip, in percent', value: (card) => card.vectorCorePercent },
  { name: 'npu_chip_info_cube_utilization', help: 'Cube core utilization of the chip, in percent', value: (card) => card.cubeCorePercent },
  { name: 'npu_chip_info_aicore_current_freq', help: 'Frequency of the AI Cores now, in MHz', value: ({ gauges }) => gauges?.aiCoreMegahertz ?? null },
  { name: 'npu_chip_info_temperature', help: 'Temperature of the chip, in degrees Celsius', value: (card) => card.temperatureCelsius },
  { name: 'npu_chip_info_power', help: 'Power of the chip, in watts', value: (card) => card.powerWatts },
  { name: 'npu_chip_info_health_status', help: 'Health of the chip: 1 healthy, 0 not', value: (card) => (card.health === null ? null : card.health === 'ok' ? 1 : 0) },
  { name: 'npu_chip_info_used_memory', help: 'DDR memory in use, in MB', value: (card) => (hasDdr(card) ? megabytes(card.memoryUsedBytes) : null) },
  { name: 'npu_chip_info_total_memory', help: 'DDR memory of the chip, in MB', value: (card) => (hasDdr(card) ? megabytes(card.memoryTotalBytes) : null) },
  { name: 'npu_chip_info_hbm_used_memory', help: 'HBM memory in use, in MB', value: (card) => (hasDdr(card) ? null : megabytes(card.memoryUsedBytes)) },
  { name: 'npu_chip_info_hbm_total_memory', help: 'HBM memory of the chip, in MB', value: (card) => (hasDdr(card) ? null : megabytes(card.memoryTotalBytes)) },
  { name: 'npu_chip_info_hbm_utilization', help: 'HBM memory in use, in percent', value: (card) => (hasDdr(card) ? null : percentOf(card.memoryUsedBytes, card.memoryTotalBytes)) },
  { name: 'npu_chip_info_hbm_temperature', help: 'Temperature of the HBM, in degrees Celsius', value: ({ gauges }) => gauges?.hbmTemperatureCelsius ?? null },
  { name: 'npu_chip_info_hbm_bandwidth_utilization', help: 'HBM bandwidth in use, in percent', value: ({ gauges }) => gauges?.hbmBandwidthPercent ?? null },
]

/** @returns '' without a card */
export function npuMetricsPage(samples: readonly NpuSample[] | null, report: DevicesReport): string {
  if (samples === null || samples.length === 0) return ''
  const labelsOf = (sample: NpuSample) => cardLabels(sample, report.cards.find(({ card }) => card === sample.card))
  const family = (name: string, help: string, rows: readonly string[]) => (rows.length === 0 ? '' : header(name, 'gauge', help) + rows.map((row) => `${row}\n`).join(''))
  const chipFamilies = FAMILIES.map(({ name, help, value }) => family(name, help, samples.flatMap((sample) => {
    const reported = value(sample)
    return reported === null ? [] : [`${name}${labels(labelsOf(sample))} ${printedValue(reported)}`]
  })))
  const [nameFamily, processFamily, countFamily] = ['npu_chip_info_name', 'npu_chip_info_process_info', 'npu_chip_info_process_info_num']
  const processes = report.processes ?? []
  return [
    family('machine_npu_nums', 'Number of NPU chips of the machine', [`machine_npu_nums${report.isSimulated ? labels({ simulated: 'true' }) : ''} ${samples.length}`]),
    family(nameFamily, 'Name of the chip; always 1', samples.map((sample) => `${nameFamily}${labels({ ...labelsOf(sample), name: sample.chip })} 1`)),
    ...chipFamilies,
    ...errorFamilies(samples, labelsOf).map(([name, rows]) => family(name, 'Error code of the chip; absent: none is reported', rows)),
    family(processFamily, 'Memory of a process on the chip, in MB', samples.flatMap((sample) => processes.flatMap(({ card, processId, memoryBytes }) => (card !== sample.card || memoryBytes === null
      ? [] : [`${processFamily}${labels({ ...labelsOf(sample), process_id: String(processId) })} ${printedValue(memoryBytes / BYTES_PER_MEGABYTE)}`])))),
    family(countFamily, 'Number of processes on the chip', report.processes === null ? [] : samples.map((sample) => `${countFamily}${labels(labelsOf(sample))} ${processes.filter(({ card }) => card === sample.card).length}`)),
  ].join('')
}

/** The second code and those after it have a number in the name, as in npu-exporter. The driver writes codes in hexadecimal; a gauge holds a number. */
function errorFamilies(samples: readonly NpuSample[], labelsOf: (sample: NpuSample) => Record<string, string>): readonly (readonly [string, readonly string[]])[] {
  const most = Math.max(0, ...samples.map(({ errorCodes }) => errorCodes?.length ?? 0))
  return Array.from({ length: most }, (_, index) => {
    const name = index === 0 ? 'npu_chip_info_error_code' : `npu_chip_info_error_code_${index}`
    const rows = samples.flatMap((sample) => {
      const code = sample.errorCodes?.[index]
      return code === undefined ? [] : [`${name}${labels(labelsOf(sample))} ${printedValue(Number.parseInt(code.replace(/^0x/i, ''), 16))}`]
    })
    return [name, rows] as const
  })
}

function cardLabels(sample: NpuSample, card: DeviceCard | undefined): Record<string, string> {
  return {
    id: String(sample.card), model_name: sample.chip, ...(card === undefined || card.busId === null ? {} : { pcie_bus_info: card.busId }), ...(sample.isSimulated ? { simulated: 'true' } : {}),
  }
}
