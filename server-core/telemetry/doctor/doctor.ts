/** The Doctor: looks at everything an NPU workstation needs, and says what is wrong and what repairs it. Changes nothing. */
import type { LocalizedText } from '../../contract/config-language.ts'
import type { DeviceCard, DoctorCheck, DoctorReport, DoctorVerdict } from '../../contract/devices.ts'
import { deviceCards } from '../device-cards.ts'
import { readVisibleDevices } from '../visible-devices.ts'
import { findCann } from './cann-installation.ts'
import { check, text } from './check-result.ts'
import { checkDeviceNodes, checkDriver, checkFirmware, checkNpuSmi, findNpuTraces, hasNpu, type NpuTraces } from './hardware-checks.ts'
import type { Machine } from './machine.ts'
import { checkNativeParts, checkSimulatedNpu, npuIsOff } from './simulated-checks.ts'
import { checkCann, checkCompiler, checkEnvironment, checkOnnxRuntime, checkPython, checkSharedMemory, checkVisibleDevices } from './software-checks.ts'

const ORDER: readonly DoctorVerdict[] = ['problem', 'warning', 'unknown', 'ok']

/** What every report of a machine without a card says. */
const NO_NPU = text(
  'There is no NPU in this machine: models run on the CPU, and loading, testing, load runs and monitoring work as ever.',
  '本机没有 NPU：模型在 CPU 上运行，加载、试运行、压测和监控照常可用。',
)

export async function runDoctor(machine: Machine, now: () => number = Date.now): Promise<DoctorReport> {
  const ranAt = now()
  const traces = await findNpuTraces(machine)
  const { source, simulatedCann } = machine.npu
  const isNpuMachine = source === 'auto' && hasNpu(traces)
  const { checks, devices } = simulatedCann !== null ? await simulatedChecks(machine, simulatedCann) : source === 'off' ? { devices: [], checks: [npuIsOff()] } : isNpuMachine ? await npuChecks(machine, traces) : { devices: [], checks: [check('npu', 'ok', text('No NPU', '没有 NPU'), text(
    'Looked at: the PCI bus, /dev/davinci*, /usr/local/Ascend/driver, npu-smi.', '已查找：PCI 总线、/dev/davinci*、/usr/local/Ascend/driver、npu-smi。',
  ))] }
  const common = await Promise.all([checkPython(machine, isNpuMachine), checkSharedMemory(machine), checkCompiler(machine)])
  const { nativeDirectory } = machine.options
  const native = nativeDirectory === undefined ? [] : [await checkNativeParts(machine, nativeDirectory, isNpuMachine)]
  const all = [...checks, ...common, ...native, checkOnnxRuntime(machine)].sort((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict))
  return { ranAt, milliseconds: now() - ranAt, hasNpu: isNpuMachine, isSimulated: simulatedCann !== null, summary: isNpuMachine || simulatedCann !== null ? summaryOf(all) : source === 'off' ? NPU_IS_OFF : NO_NPU, devices, checks: all }
}

const NPU_IS_OFF = text('The NPU is switched off: models run on the CPU.', 'NPU 已关闭：模型在 CPU 上运行。')

async function simulatedChecks(machine: Machine, simulatedCann: string): Promise<Findings> {
  const { checks, chips } = await checkSimulatedNpu(machine, simulatedCann)
  const count = chips?.length ?? null
  return { checks: [...checks, checkVisibleDevices(machine, count)], devices: deviceCards(chips ?? [], visibleDevices(machine, count)) }
}

function visibleDevices({ environment }: Machine, count: number | null) { return readVisibleDevices(environment['ASCEND_RT_VISIBLE_DEVICES'], count) }

interface Findings {
  readonly checks: readonly DoctorCheck[]
  readonly devices: readonly DeviceCard[]
}

async function npuChecks(machine: Machine, traces: NpuTraces): Promise<Findings> {
  const cann = await findCann(machine)
  const [driver, firmware, tool, nodes] = await Promise.all([checkDriver(machine, traces), checkFirmware(machine), checkNpuSmi(machine, traces), checkDeviceNodes(machine, traces)])
  const count = tool.chips?.length ?? (traces.nodes.length === 0 ? null : traces.nodes.length)
  const checks = [
    driver, firmware, ...tool.checks, nodes, checkCann(machine, cann),
    ...(cann === null ? [] : [await checkEnvironment(machine, cann)]),
    checkVisibleDevices(machine, count),
  ]
  return { checks, devices: deviceCards(tool.chips ?? [], visibleDevices(machine, count)) }
}

function summaryOf(checks: readonly DoctorCheck[]): LocalizedText {
  const [problems, warnings] = (['problem', 'warning'] as const).map((verdict) => checks.filter((entry) => entry.verdict === verdict))
  const [first] = [...problems ?? [], ...warnings ?? []]
  if (first === undefined) return text(`Ready: nothing to repair in ${checks.length} checks.`, `就绪：${checks.length} 项检查均无需修复。`)
  const counts = [problems?.length ?? 0, warnings?.length ?? 0] as const
  const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`
  return text(
    `${[counts[0] > 0 ? counted(counts[0], 'problem') : '', counts[1] > 0 ? counted(counts[1], 'warning') : ''].filter((part) => part !== '').join(', ')}; first: ${first.title.en}.`,
    `${[counts[0] > 0 ? `${counts[0]} 个问题` : '', counts[1] > 0 ? `${counts[1]} 个警告` : ''].filter((part) => part !== '').join('，')}；首先：${first.title['zh-CN']}。`,
  )
}
