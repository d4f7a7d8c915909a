/** Card, driver, firmware, tools and device nodes. */
import type { DoctorCheck } from '../../contract/devices.ts'
import { logicalIdOf } from '../device-cards.ts'
import { parseIdTable } from '../npu-smi-details.ts'
import { explainNpuSmiFailure, findNpuSmi } from '../npu-smi-source.ts'
import { parseNpuSmiTable, type NpuSmiChip, type NpuSmiTable } from '../npu-smi-table.ts'
import { check, fix, list, text } from './check-result.ts'
import type { Machine } from './machine.ts'

const DRIVER_VERSION = '/usr/local/Ascend/driver/version.info'
const INSTALL_INFO = '/etc/ascend_install.info'
const GROUP = 'HwHiAiUser'
/** Nodes that every process with a card opens, beside the card's own. */
const COMMON_NODES = ['davinci_manager', 'devmm_svm', 'hisi_hdc']
const NPU_SMI_TIMEOUT_MILLISECONDS = 15_000

/** What of an NPU is there at all. */
export interface NpuTraces {
  /** Cards on the PCI bus. */
  readonly pciAddresses: readonly string[]
  readonly hasDriver: boolean
  /** `davinci0`, ... in the order of their numbers. */
  readonly nodes: readonly string[]
  /** Path of this process; null: not found. */
  readonly npuSmiPath: string | null
}

export async function findNpuTraces(machine: Machine): Promise<NpuTraces> {
  const devices = await machine.list('/sys/bus/pci/devices')
  const isNpu = await Promise.all(devices.map(async (address) => {
    const [vendor, kind] = await Promise.all(['vendor', 'class'].map((file) => machine.readText(`/sys/bus/pci/devices/${address}/${file}`)))
    // Huawei's vendor number, and the PCI class "processing accelerator".
    return vendor?.trim().toLowerCase() === '0x19e5' && /^0x12/i.test(kind?.trim() ?? '')
  }))
  const nodes = (await machine.list('/dev')).filter((name) => /^davinci\d+$/.test(name)).sort((a, b) => Number(a.slice(7)) - Number(b.slice(7)))
  const root = machine.path('/')
  const path = (machine.environment['PATH'] ?? '').split(':').filter((directory) => directory.startsWith('/')).map((directory) => machine.path(directory)).join(':')
  return {
    pciAddresses: devices.filter((_address, index) => isNpu[index]),
    hasDriver: await machine.exists('/usr/local/Ascend/driver'), nodes, npuSmiPath: await findNpuSmi({ PATH: path }, root),
  }
}

export function hasNpu({ pciAddresses, hasDriver, nodes, npuSmiPath }: NpuTraces): boolean {
  return pciAddresses.length > 0 || hasDriver || nodes.length > 0 || npuSmiPath !== null
}

export async function checkDriver(machine: Machine, traces: NpuTraces): Promise<DoctorCheck> {
  const [version, install] = await Promise.all([machine.readSettings(DRIVER_VERSION), machine.readSettings(INSTALL_INFO)])
  const { architecture } = machine.options
  const number = version?.get('version')
  if (version === null || number === undefined) {
    const cards = list(traces.pciAddresses)
    const isContainer = await machine.isContainer()
    return check('driver', 'problem', text('The driver is not installed', '驱动未安装'), text(
      `${DRIVER_VERSION} is not there${cards.en === '' ? '' : `; cards on the bus: ${cards.en}`}.`, `找不到 ${DRIVER_VERSION}${cards.en === '' ? '' : `；总线上的卡：${cards['zh-CN']}`}。`,
    ), isContainer
      ? fix('Start the container with the driver of the host mounted.', '启动容器时挂载宿主机的驱动。', `docker run -v /usr/local/Ascend/driver/lib64:/usr/local/Ascend/driver/lib64:ro -v ${DRIVER_VERSION}:${DRIVER_VERSION}:ro -v ${INSTALL_INFO}:${INSTALL_INFO}:ro …`)
      : fix('Install the driver package of your card as root (then its firmware), and restart the machine.', '以 root 安装与卡型号对应的驱动包（随后安装固件），然后重启机器。', `./Ascend-hdk-<card>-npu-driver_<version>_linux-${architecture === 'aarch64' ? 'aarch64' : 'x86-64'}.run --full --install-for-all`))
  }
  const status = install?.get('driver_install_status')
  if (status !== undefined && status !== 'complete') {
    return check('driver', 'warning', text(`Driver ${number}: its installation is not complete`, `驱动 ${number}：安装未完成`), text(
      `${INSTALL_INFO} says Driver_Install_Status=${status}.`, `${INSTALL_INFO} 中 Driver_Install_Status=${status}。`,
    ), fix('Run the driver package again and restart the machine.', '重新运行驱动安装包并重启机器。'))
  }
  return check('driver', 'ok', text(`Driver ${number}`, `驱动 ${number}`), text(DRIVER_VERSION, DRIVER_VERSION))
}

export async function checkFirmware(machine: Machine): Promise<DoctorCheck> {
  const install = await machine.readSettings(INSTALL_INFO)
  const status = install?.get('firmware_install_status')
  const place = `${install?.get('firmware_install_path_param') ?? '/usr/local/Ascend'}/firmware/version.info`
  const version = (await machine.readSettings(place))?.get('version')
  if (status !== undefined && status !== 'complete') {
    return check('firmware', 'problem', text('The firmware is not installed completely', '固件未装全'), text(`${INSTALL_INFO} says Firmware_Install_Status=${status}.`, `${INSTALL_INFO} 中 Firmware_Install_Status=${status}。`),
      fix('Install the firmware package that belongs to the driver as root, and restart the machine.', '以 root 安装与驱动配套的固件包，然后重启机器。', './Ascend-hdk-<card>-npu-firmware_<version>.run --full'))
  }
  if (version === undefined) {
    return check('firmware', 'unknown', text('Firmware version not known', '固件版本未知'), text(`${place} is not there. In a container that is usual.`, `找不到 ${place}。在容器中属正常情况。`),
      fix('On the host, ask the card itself.', '在宿主机上直接查询卡。', 'npu-smi info -t board -i 0'))
  }
  return check('firmware', 'ok', text(`Firmware ${version}`, `固件 ${version}`), text(place, place))
}

export interface NpuSmiFinding {
  readonly checks: readonly DoctorCheck[]
  /** With their logical ids, as far as the tool tells them; null: it does not answer. */
  readonly chips: readonly NpuSmiChip[] | null
}

/** The tool, and what it says about the cards. */
export async function checkNpuSmi(machine: Machine, { npuSmiPath }: NpuTraces): Promise<NpuSmiFinding> {
  if (npuSmiPath === null) {
    return { chips: null, checks: [check('npu-smi', 'warning', text('npu-smi was not found', '找不到 npu-smi'), text(
      'Neither PATH nor /usr/local/bin has it: without it (or DCMI) there are no figures of the cards. Serving does not need it.', 'PATH 和 /usr/local/bin 中都没有：没有它（或 DCMI）就没有卡的实时数据。推理服务不依赖它。',
    ), await machine.isContainer()
      ? fix('Mount it when the container starts.', '启动容器时挂载它。', 'docker run -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi:ro -v /usr/local/dcmi:/usr/local/dcmi:ro …')
      : fix('It comes with the driver: install that again.', '它随驱动提供：重新安装驱动。'))] }
  }
  const driver = '/usr/local/Ascend/driver/lib64'
  const environment = { ...machine.environment, LD_LIBRARY_PATH: [machine.environment['LD_LIBRARY_PATH'] ?? '', driver, `${driver}/common`, `${driver}/driver`].filter((path) => path !== '').join(':') }
  const failed = (reason: { readonly en: string; readonly 'zh-CN': string }, isPermission: boolean): NpuSmiFinding => ({
    chips: null,
    checks: [check('npu-smi', 'problem', text('npu-smi does not answer', 'npu-smi 不可用'), text(`${reason.en}.`, `${reason['zh-CN']}。`), isPermission
      ? fix(`Put the user into the group ${GROUP}, then log in again; or stop the container that has the card.`, `将用户加入 ${GROUP} 组后重新登录；或停止占用该卡的容器。`, `sudo usermod -aG ${GROUP} ${machine.options.userName}`)
      : fix("Check the driver's libraries, and whether the cards answer at all.", '检查驱动库是否齐全、卡是否在位。', `ls ${driver}; dmesg | grep -i -e davinci -e drv | tail`))],
  })
  try {
    const result = await machine.options.run({ command: npuSmiPath, args: ['info'], environment, timeoutMilliseconds: NPU_SMI_TIMEOUT_MILLISECONDS })
    if (result.isTimedOut) return failed(text(`it did not answer within ${NPU_SMI_TIMEOUT_MILLISECONDS / 1000} s`, `${NPU_SMI_TIMEOUT_MILLISECONDS / 1000} 秒内没有应答`), false)
    const output = `${result.stdout}\n${result.stderr}`
    const table = result.exitCode === 0 ? parseNpuSmiTable(result.stdout) : null
    if (table === null) return failed(explainNpuSmiFailure(output, result.exitCode).explanation, /-8005\b/.test(output))
    const version = table.toolVersion ?? '?'
    return { chips: await withLogicalIds(machine, npuSmiPath, table.chips, environment), checks: [check('npu-smi', 'ok', text(`npu-smi ${version}`, `npu-smi ${version}`), text(npuSmiPath, npuSmiPath)), checkCards(table)] }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return failed(text(`it cannot be started: ${message}`, `无法启动：${message}`), false)
  }
}

/** Only the tables of the 310 family have them. */
async function withLogicalIds(machine: Machine, npuSmiPath: string, chips: readonly NpuSmiChip[], environment: NodeJS.ProcessEnv): Promise<readonly NpuSmiChip[]> {
  if (chips.every(({ logicalId }) => logicalId !== null)) return chips
  const { stdout, exitCode } = await machine.options.run({ command: npuSmiPath, args: ['info', '-m'], environment, timeoutMilliseconds: NPU_SMI_TIMEOUT_MILLISECONDS })
  const ids = exitCode === 0 ? parseIdTable(stdout) : []
  return chips.map((chip) => ({ ...chip, logicalId: chip.logicalId ?? logicalIdOf(chip, ids) }))
}

const HEALTH_ZH = { ok: '健康', warning: '警告', alarm: '告警', critical: '严重', unknown: '未知' } as const

function checkCards({ chips, isSimulated }: NpuSmiTable): DoctorCheck {
  if (chips.length === 0) {
    return check('cards', 'problem', text('The driver lists no card', '驱动没有列出任何卡'), text('npu-smi answers with an empty table.', 'npu-smi 返回空列表。'), fix('Check that the cards sit in their slots and have power, then restart the machine.', '检查卡是否插稳、供电是否正常，然后重启机器。', 'lspci -d 19e5:'))
  }
  const names = list([...new Set(chips.map(({ name }) => name))].map((name) => {
    const count = chips.filter((chip) => chip.name === name).length
    return count === 1 ? name : `${count} × ${name}`
  }))
  const sick = chips.filter(({ health }) => health !== 'ok')
  const simulated = isSimulated ? text(' Simulated.', '（模拟）') : text('', '')
  if (sick.length === 0) return check('cards', 'ok', text(`Cards: ${names.en}`, `卡：${names['zh-CN']}`), text(`All report health OK.${simulated.en}`, `健康状态全部为 OK。${simulated['zh-CN']}`))
  const [first] = sick
  const isCritical = sick.some(({ health }) => health === 'alarm' || health === 'critical')
  const { en } = list(sick.map(({ slot, chipIndex, health }) => `NPU ${slot}${chipIndex === null ? '' : ` chip ${chipIndex}`}: ${health ?? 'unknown'}`))
  const { 'zh-CN': zh } = list(sick.map(({ slot, chipIndex, health }) => `NPU ${slot}${chipIndex === null ? '' : ` 芯片 ${chipIndex}`}：${HEALTH_ZH[health ?? 'unknown']}`))
  return check('cards', isCritical ? 'problem' : 'warning', text(`Not every card is healthy (${names.en})`, `有卡不健康（${names['zh-CN']}）`), text(`${en}.${simulated.en}`, `${zh}。${simulated['zh-CN']}`),
    fix('Read the error codes of the card; with Alarm or Critical do not serve from it.', '查看该卡的错误码；Alarm 或 Critical 状态下不要用它提供服务。', `npu-smi info -t health -i ${first?.slot ?? 0}`))
}

export async function checkDeviceNodes(machine: Machine, { nodes }: NpuTraces): Promise<DoctorCheck> {
  const { userName, userId, groupIds } = machine.options
  const present = new Set(await machine.list('/dev'))
  const missing = [...(nodes.length === 0 ? ['davinci0'] : []), ...COMMON_NODES.filter((name) => !present.has(name))]
  const isContainer = await machine.isContainer()
  if (missing.length > 0) {
    const absent = list(missing.map((name) => `/dev/${name}`))
    const devices = [...(nodes.length === 0 ? ['davinci0'] : nodes), ...COMMON_NODES].map((name) => `--device=/dev/${name}`).join(' ')
    return check('device-nodes', 'problem', text('Device nodes are missing', '缺少设备节点'), text(`Not there: ${absent.en}.`, `不存在：${absent['zh-CN']}。`), isContainer
      ? fix('Hand them to the container when it starts.', '启动容器时传入这些设备。', `docker run ${devices} …`)
      : fix('The driver makes them when the machine starts: restart it; if they stay away, install the driver again.', '驱动在开机时创建它们：重启机器；若仍没有，重新安装驱动。', 'ls -l /dev/davinci* /dev/devmm_svm /dev/hisi_hdc'))
  }
  const all = [...nodes, ...COMMON_NODES]
  const isOpen = await Promise.all(all.map((name) => machine.canReadAndWrite(`/dev/${name}`)))
  const closed = all.filter((_name, index) => !isOpen[index]).map((name) => `/dev/${name}`)
  const groupId = groupIdOf(await machine.readText('/etc/group'))
  const isMember = userId === 0 || (groupId !== null && groupIds.includes(groupId))
  const membership = userId === 0 ? text('root', 'root') : isMember ? text(`the user ${userName} is in the group ${GROUP}`, `用户 ${userName} 在 ${GROUP} 组中`) : text(`the user ${userName} is not in the group ${GROUP}`, `用户 ${userName} 不在 ${GROUP} 组中`)
  if (closed.length > 0) {
    return check('device-nodes', 'problem', text('The device nodes are closed to this user', '当前用户无权访问设备节点'), text(`Not readable and writable: ${closed.join(', ')}; ${membership.en}.`, `不可读写：${closed.join('、')}；${membership['zh-CN']}。`), isMember
      ? fix('The user is in the group, the process has not got it yet, or may not use it (a container without capabilities): log in again, or start the container with CAP_DAC_OVERRIDE.', '用户已在组中，但进程尚未生效或被限制（容器去掉了权限）：重新登录，或启动容器时保留 CAP_DAC_OVERRIDE。', 'id')
      : fix(`Put the user into the group ${GROUP}, then log in again.`, `将用户加入 ${GROUP} 组，然后重新登录。`, `sudo usermod -aG ${GROUP} ${userName}`))
  }
  return check('device-nodes', 'ok', text('Device nodes and permissions', '设备节点与权限'), text(`${nodes.join(', ')}: readable and writable; ${membership.en}.`, `${nodes.join('、')} 可读写；${membership['zh-CN']}。`))
}

function groupIdOf(groups: string | null): number | null {
  const line = groups?.split('\n').find((entry) => entry.startsWith(`${GROUP}:`))
  const id = line?.split(':')[2]
  return id === undefined || !/^\d+$/.test(id) ? null : Number(id)
}
