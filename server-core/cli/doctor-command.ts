/** `npu-console doctor`: what this machine lacks to serve from an NPU, and the exact repair. Needs no server. */
import { parseArgs } from 'node:util'
import { NPU_SOURCES, SIMULATED_MARK, type DeviceCard, type DoctorReport, type DoctorVerdict, type NpuSource } from '../contract/devices.ts'
import type { LocalizedText } from '../contract/config-language.ts'
import { DEFAULT_SERVER_OPTIONS } from '../options.ts'
import { ServerError } from '../server-error.ts'
import { SimulatedNpu } from '../simulated-npu/simulated-npu.ts'
import { runDoctor } from '../telemetry/doctor/doctor.ts'
import { Machine } from '../telemetry/doctor/machine.ts'
import { textTable } from '../text-table.ts'
import type { CommandOutput } from './config-command.ts'
import { languageOf } from './findings.ts'
import { UsageError } from './usage-error.ts'

export const DOCTOR_USAGE = `  doctor [--json] [--language=en|zh-CN] [--npu=auto|simulated|off] [--npu-simulated-cards=<profile>,...]
           examine this machine: driver, firmware, CANN, Python, permissions, memory; each with verdict and repair
           Exit code: 0 no problem, 1 problems found, 2 wrong usage.
`

const VERDICTS: Readonly<Record<DoctorVerdict, LocalizedText>> = {
  ok: { en: 'ok', 'zh-CN': '正常' }, warning: { en: 'warning', 'zh-CN': '警告' }, problem: { en: 'problem', 'zh-CN': '问题' }, unknown: { en: 'unknown', 'zh-CN': '未知' },
}
const FIX: LocalizedText = { en: 'Fix', 'zh-CN': '修复' }

/** @returns the exit code */
export async function doctorCommand(args: readonly string[], machine: Machine, { print, printError }: CommandOutput): Promise<number> {
  try {
    const { json, language, npu, cards } = parse(args)
    const chosen = languageOf(language, machine.environment)
    const report = await examine(machine, npu, cards)
    print(json ? JSON.stringify(report, null, 2) : printReport(report, chosen))
    return report.checks.some(({ verdict }) => verdict === 'problem') ? 1 : 0
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof ServerError)) throw error
    printError(`npu-console doctor: ${error.message}${error instanceof UsageError ? `\n${DOCTOR_USAGE}` : ''}`)
    return 2
  }
}

/** As a server with these flags would find the machine. */
async function examine(machine: Machine, npu: NpuSource, cards: readonly string[]): Promise<DoctorReport> {
  if (npu !== 'simulated') return runDoctor(new Machine({ ...machine.options, npu: { source: npu, simulatedCann: null } }))
  const simulated = await SimulatedNpu.start({ cards, timeScale: 1, environment: machine.environment })
  try {
    return await runDoctor(new Machine({ ...machine.options, environment: simulated.environment, npu: { source: npu, simulatedCann: simulated.cann.directory } }))
  } finally {
    await simulated.stop()
  }
}

interface DoctorArguments {
  readonly json: boolean
  readonly language: string | undefined
  readonly npu: NpuSource
  readonly cards: readonly string[]
}

function parse(args: readonly string[]): DoctorArguments {
  try {
    const { values } = parseArgs({ args: [...args], options: { json: { type: 'boolean' }, language: { type: 'string' }, npu: { type: 'string' }, 'npu-simulated-cards': { type: 'string' } } })
    const npu = NPU_SOURCES.find((source) => source === (values.npu ?? 'auto'))
    if (npu === undefined) throw new UsageError(`--npu is one of ${NPU_SOURCES.join(', ')}`)
    return { json: values.json === true, language: values.language, npu, cards: values['npu-simulated-cards']?.split(',') ?? DEFAULT_SERVER_OPTIONS.npuSimulatedCards }
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

/** `-`: not told, or hidden from this process. */
function printDevices(devices: readonly DeviceCard[]): readonly string[] {
  if (devices.length === 0) return []
  const cell = (value: number | string | null) => (value === null ? '-' : String(value))
  // Terminals draw Han characters twice as wide: a table with a frame keeps the tools' own words.
  return ['', textTable(['NPU', 'Chip', 'Name', 'Bus-Id', 'Logical id', 'Visible id', 'Node'], devices.map((device) => [
    cell(device.slot), cell(device.chipIndex), device.chip, cell(device.busId), cell(device.logicalId), cell(device.visibleId), cell(device.deviceNode),
  ]))]
}

function printReport({ isSimulated, summary, checks, devices }: DoctorReport, language: keyof LocalizedText): string {
  const lines = checks.flatMap(({ verdict, title, detail, fix }) => [
    '', `[${VERDICTS[verdict][language]}] ${title[language]}`, `    ${detail[language]}`,
    ...(fix === null ? [] : [`    ${FIX[language]}${language === 'en' ? ': ' : '：'}${fix.text[language]}`]),
    ...(fix?.command === null || fix?.command === undefined ? [] : [`      ${fix.command}`]),
  ])
  return [`${isSimulated ? `${SIMULATED_MARK} ` : ''}${summary[language]}`, ...printDevices(devices), ...lines].join('\n')
}
