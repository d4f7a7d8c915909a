/** With `--npu=simulated` (or `off`) the Doctor looks at what that needs, item by item as for real cards; every headline says that it is simulated. */
import { join } from 'node:path'
import type { DoctorCheck } from '../../contract/devices.ts'
import { check, fix, list, text } from './check-result.ts'
import { checkNpuSmi, type NpuTraces } from './hardware-checks.ts'
import type { Machine } from './machine.ts'
import type { NpuSmiFinding } from './hardware-checks.ts'

export function npuIsOff(): DoctorCheck {
  return check('npu', 'ok', text('The NPU is switched off', 'NPU 已关闭'), text('The engine runs with --npu=off: no cards are looked for, all models run on the CPU.', '引擎以 --npu=off 运行：不查找任何卡，所有模型在 CPU 上运行。'))
}

/** @param simulatedCann its folder, absolute */
export async function checkSimulatedNpu(machine: Machine, simulatedCann: string): Promise<NpuSmiFinding> {
  const traces: NpuTraces = { pciAddresses: [], hasDriver: false, nodes: [], npuSmiPath: join(simulatedCann, 'bin/npu-smi') }
  const tool = await checkNpuSmi(machine, traces)
  const settings = machine.environment['NPU_SIMULATOR_SETTINGS'] ?? ''
  const needless = (id: 'firmware' | 'device-nodes', en: string, zh: string) => check(id, 'ok', text(`Simulated cards: ${en}`, `模拟卡：${zh}`), text('Only a real card needs it.', '只有真实的卡才需要。'))
  return {
    chips: tool.chips,
    checks: [
      check('npu', 'ok', text('Simulated NPU', '模拟 NPU'), text(
        'The engine runs with --npu=simulated: results are computed, times and figures of cards are made up.', '引擎以 --npu=simulated 运行：结果是真实计算的，卡的耗时和各项数值是模拟的。',
      ), fix('To use the cards of this machine, start the engine with --npu=auto.', '要使用本机的卡，请以 --npu=auto 启动引擎。', 'npu-console serve --npu=auto', { npuSource: 'auto' })),
      ...tool.checks,
      needless('firmware', 'no firmware', '无固件'),
      needless('device-nodes', 'no device nodes', '无设备节点'),
      await checkSimulatedDriver(machine, simulatedCann),
      await machine.exists(join(simulatedCann, 'lib64/libascendcl.so'))
        ? check('cann', 'ok', text('Simulated CANN', '模拟 CANN'), text(simulatedCann, simulatedCann))
        : check('cann', 'problem', text('The simulated CANN is not complete', '模拟 CANN 不完整'), text(`${simulatedCann}/lib64/libascendcl.so is not there.`, `找不到 ${simulatedCann}/lib64/libascendcl.so。`), rebuild()),
      settings === '' || !await machine.exists(settings)
        ? check('environment', 'problem', text('The simulated cards have no settings', '模拟卡没有设置文件'), text('NPU_SIMULATOR_SETTINGS names no file that is there.', 'NPU_SIMULATOR_SETTINGS 指向的文件不存在。'), fix('Start the engine again.', '重新启动引擎。', 'npu-console serve --npu=simulated'))
        : check('environment', 'ok', text('Simulated environment is set', '模拟环境已设置'), text(`NPU_SIMULATOR_SETTINGS=${settings}`, `NPU_SIMULATOR_SETTINGS=${settings}`)),
    ],
  }
}

async function checkSimulatedDriver(machine: Machine, simulatedCann: string): Promise<DoctorCheck> {
  const library = join(simulatedCann, 'lib64/libdcmi.so')
  if (await machine.exists(library)) return check('driver', 'ok', text('Simulated driver', '模拟驱动'), text(library, library))
  return check('driver', 'problem', text('The simulated driver is not there', '缺少模拟驱动'), text(`${library} is not there.`, `找不到 ${library}。`), rebuild())
}

function rebuild() { return fix('Build the native parts again (needs g++, cmake and make).', '重新构建原生部件（需要 g++、cmake 和 make）。', 'npm run build') }

/** Files of the product that are built from C++, by what is missing without them. */
const NATIVE_PARTS = [
  { path: 'addon.node', lacks: text('thread names and DCMI', '线程命名和 DCMI') },
  { path: 'libtritonserver.so', lacks: text('backends that are libraries', '以库形式提供的后端') },
  { path: 'backends/npu_om/libtriton_npu_om.so', lacks: text('.om models', '.om 模型') },
  { path: 'backends/npu_ge/libtriton_npu_ge.so', lacks: text('ONNX models on the NPU', '在 NPU 上运行 ONNX 模型') },
  { path: 'backends/onnxruntime/libtriton_onnxruntime.so', lacks: text('ONNX models natively on the CPU', '在 CPU 上原生运行 ONNX 模型') },
  { path: 'simulated-cann/lib64/libascendcl.so', lacks: text('--npu=simulated', '--npu=simulated') },
] as const

/** @param directory where the build puts them; a path of the machine */
export async function checkNativeParts(machine: Machine, directory: string, isNpuMachine: boolean): Promise<DoctorCheck> {
  const isThere = await Promise.all(NATIVE_PARTS.map(({ path }) => machine.exists(join(directory, path))))
  const missing = NATIVE_PARTS.filter((_part, index) => !isThere[index])
  if (missing.length === 0) return check('native', 'ok', text('Native parts', '原生部件'), text(directory, directory))
  const { en } = list(missing.map(({ path, lacks }) => `${path} (${lacks.en})`))
  const { 'zh-CN': zh } = list(missing.map(({ path, lacks }) => `${path}（${lacks['zh-CN']}）`))
  return check('native', isNpuMachine ? 'problem' : 'warning', text('Native parts are missing', '缺少原生部件'), text(
    `Not in ${directory}: ${en}. Everything else works without.`, `${directory} 中没有：${zh}。其他功能不受影响。`,
  ), rebuild())
}
