/** `npu-console doctor`: what this machine lacks to serve from an NPU, and the exact repair. Needs no server. */
import { parseArgs } from 'node:util'
import type { DeviceCard, DoctorReport, DoctorVerdict } from '../contract/devices.ts'
import type { LocalizedText } from '../contract/config-language.ts'
import { runDoctor } from '../telemetry/doctor/doctor.ts'
import type { Machine } from '../telemetry/doctor/machine.ts'
import { textTable } from '../text-table.ts'
import { languageOf, UsageError, type CommandOutput } from './config-command.ts'

export const DOCTOR_USAGE = `  doctor [--json] [--language=en|zh-CN]
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
    const { json, language } = parse(args)
    const chosen = languageOf(language, machine.environment)
    const report = await runDoctor(machine)
    print(json ? JSON.stringify(report, null, 2) : printReport(report, chosen))
    return report.checks.some(({ verdict }) => verdict === 'problem') ? 1 : 0
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    printError(`npu-console doctor: ${error.message}\n${DOCTOR_USAGE}`)
    return 2
  }
}

function parse(args: readonly string[]): { readonly json: boolean; readonly language: string | undefined } {
  try {
    const { values } = parseArgs({ args: [...args], options: { json: { type: 'boolean' }, language: { type: 'string' } } })
    return { json: values.json === true, language: values.language }
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

function printReport({ summary, checks, devices }: DoctorReport, language: keyof LocalizedText): string {
  const lines = checks.flatMap(({ verdict, title, detail, fix }) => [
    '', `[${VERDICTS[verdict][language]}] ${title[language]}`, `    ${detail[language]}`,
    ...(fix === null ? [] : [`    ${FIX[language]}${language === 'en' ? ': ' : '：'}${fix.text[language]}`]),
    ...(fix?.command === null || fix?.command === undefined ? [] : [`      ${fix.command}`]),
  ])
  return [summary[language], ...printDevices(devices), ...lines].join('\n')
}
