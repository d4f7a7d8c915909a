/** CANN and its environment, Python, shared memory, compiler, ONNX Runtime. */
import { join } from 'node:path'
import type { LocalizedText } from '../../contract/config-language.ts'
import type { DoctorCheck } from '../../contract/devices.ts'
import { readVisibleDevices } from '../visible-devices.ts'
import { cannHomeCandidates, readCannEnvironment, type CannInstallation } from './cann-installation.ts'
import { check, fix, list, text } from './check-result.ts'
import type { Machine } from './machine.ts'

export function checkCann(machine: Machine, cann: CannInstallation | null): DoctorCheck {
  if (cann === null) {
    const places = list(cannHomeCandidates(machine))
    return check('cann', 'problem', text('CANN is not installed', 'CANN 未安装'), text(`Looked at: ${places.en}.`, `已查找：${places['zh-CN']}。`), fix(
      'Install the toolkit, then the operator package of your chip.', '安装工具包，再安装与芯片对应的算子包。', `./Ascend-cann-toolkit_<version>_linux-${machine.options.architecture}.run --install`,
    ))
  }
  const version = cann.version ?? ''
  return cann.version === null
    ? check('cann', 'unknown', text('CANN without a version', 'CANN 版本未知'), text(`${cann.home} has no version.cfg.`, `${cann.home} 中没有 version.cfg。`), fix('An installation that was cut short looks like this: install it again.', '安装中断会造成这种情况：重新安装。'))
    : check('cann', 'ok', text(`CANN ${version}`, `CANN ${version}`), text(cann.home, cann.home))
}

/** Does this process have what set_env.sh sets? If not: does the file work, and how the server is started with it. */
export async function checkEnvironment(machine: Machine, cann: CannInstallation): Promise<DoctorCheck> {
  const { environment } = machine
  const libraries = (environment['LD_LIBRARY_PATH'] ?? '').split(':').filter((path) => path !== '')
  const stubs = libraries.find((path) => /\/devlib\/?$/.test(path))
  if (stubs !== undefined) {
    return check('environment', 'problem', text('The library path leads to stubs', '库路径指向桩库'), text(
      `LD_LIBRARY_PATH holds ${stubs}: CANN's set_env.sh adds it where it finds no driver, and every call then fails with 100039.`, `LD_LIBRARY_PATH 中有 ${stubs}：set_env.sh 找不到驱动时会加上它，之后所有调用都返回 100039。`,
    ), fix('Install the driver, then open a new shell and source set_env.sh again.', '先安装驱动，再新开终端重新 source set_env.sh。', cann.setEnvPath === null ? null : `source ${cann.setEnvPath}`))
  }
  const home = environment['ASCEND_HOME_PATH'] ?? ''
  if (home !== '' && !await machine.exists(join(home, 'lib64'))) {
    return check('environment', 'problem', text('ASCEND_HOME_PATH leads nowhere', 'ASCEND_HOME_PATH 指向的位置没有 CANN'), text(
      `ASCEND_HOME_PATH=${home}, and ${join(home, 'lib64')} is not there. CANN was found in ${cann.home}.`, `ASCEND_HOME_PATH=${home}，而 ${join(home, 'lib64')} 不存在。在 ${cann.home} 找到了 CANN。`,
    ), cann.setEnvPath === null
      ? fix('Set it to the place where CANN is.', '将其设为 CANN 所在的位置。', `export ASCEND_HOME_PATH=${cann.home}`)
      : fix('Let the engine start with the set_env.sh of the CANN that is there.', '让引擎带着现有 CANN 的 set_env.sh 启动。', `npu-console serve --cann-set-env=${cann.setEnvPath}`, { cannSetEnv: cann.setEnvPath }))
  }
  const missing = ['ASCEND_HOME_PATH', 'ASCEND_OPP_PATH'].filter((name) => (environment[name] ?? '') === '')
  if (missing.length === 0 && libraries.some((path) => path.startsWith(home) && /\/lib64\/?$/.test(path))) {
    return check('environment', 'ok', text('CANN environment is set', 'CANN 环境变量已设置'), text(`ASCEND_HOME_PATH=${home}`, `ASCEND_HOME_PATH=${home}`))
  }
  const lacks = list(missing.length === 0 ? ['LD_LIBRARY_PATH'] : missing)
  if (cann.setEnvPath === null) {
    return check('environment', 'problem', text('CANN environment is not set, and set_env.sh is missing', 'CANN 环境变量未设置，且找不到 set_env.sh'), text(`Not set: ${lacks.en}. ${cann.home} has no set_env.sh.`, `未设置：${lacks['zh-CN']}。${cann.home} 中没有 set_env.sh。`), fix('Install CANN again.', '重新安装 CANN。'))
  }
  const { variables, problem } = await readCannEnvironment(machine, cann.setEnvPath)
  if (problem !== null) {
    return check('environment', 'problem', text('set_env.sh fails', 'set_env.sh 执行失败'), text(`${cann.setEnvPath}: ${problem.en}`, `${cann.setEnvPath}：${problem['zh-CN']}`), fix('Run it in a shell to see the whole message.', '在终端中运行以查看完整信息。', `source ${cann.setEnvPath}`))
  }
  const names = list(Object.keys(variables).sort())
  return check('environment', 'problem', text('CANN environment is not set', 'CANN 环境变量未设置'), text(
    `Not set in this process: ${lacks.en}. ${cann.setEnvPath} was read and would set: ${names.en}.`, `本进程未设置：${lacks['zh-CN']}。已读取 ${cann.setEnvPath}，它会设置：${names['zh-CN']}。`,
  ), fix('Let the engine start with it: it reads the file itself, nothing else changes.', '让引擎带着它启动：引擎自行读取该文件，不改动其他内容。', `npu-console serve --cann-set-env=${cann.setEnvPath}`, { cannSetEnv: cann.setEnvPath }))
}

export function checkVisibleDevices(machine: Machine, count: number | null): DoctorCheck {
  const visible = readVisibleDevices(machine.environment['ASCEND_RT_VISIBLE_DEVICES'], count)
  if (visible === null) return check('visible-devices', 'ok', text('All cards are visible', '所有卡可见'), text('ASCEND_RT_VISIBLE_DEVICES is not set.', '未设置 ASCEND_RT_VISIBLE_DEVICES。'))
  const setting = `ASCEND_RT_VISIBLE_DEVICES=${visible.value}`
  if (visible.problem === null) {
    const map = list(visible.logicalIds.map((id, index) => `${id} → ${index}`))
    return check('visible-devices', 'ok', text(setting, setting), text(`Logical id → id in the engine: ${map.en}. npu-smi goes on to show all cards.`, `逻辑 ID → 引擎中的 ID：${map['zh-CN']}。npu-smi 仍显示全部卡。`))
  }
  const sorted = [...new Set(visible.value.split(/[\s,]+/).filter((entry) => /^\d+$/.test(entry)).map(Number))].filter((id) => count === null || id < count).sort((a, b) => a - b)
  return check('visible-devices', visible.logicalIds.length === 0 ? 'problem' : 'warning', text(`${setting}: only part of it counts`, `${setting}：只有一部分生效`), text(`${visible.problem.en}.`, `${visible.problem['zh-CN']}。`),
    sorted.length === 0 ? fix('Unset it: then all cards are visible.', '取消设置：所有卡将可见。', 'unset ASCEND_RT_VISIBLE_DEVICES') : fix('Ascending ids, commas, no blanks.', '编号升序、以逗号分隔、不含空格。', `export ASCEND_RT_VISIBLE_DEVICES=${sorted.join(',')}`))
}

/** What GE and ATC import, by the names of their packages; without one of them GEInitialize fails. */
const PYTHON_PACKAGES = ['numpy', 'decorator', 'sympy', 'cffi', 'pyyaml', 'absl-py', 'requests', 'protobuf', 'scipy', 'attrs', 'psutil', 'cython', 'pathlib2'] as const
const PYTHON = '/usr/bin/python3'
const PYTHON_QUESTION = `
import json, sys
from importlib import metadata
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        found[name] = None
print(json.dumps({"version": sys.version.split()[0], "packages": found}))
`

interface PythonAnswer {
  readonly version: string
  readonly packages: Readonly<Record<string, string | null>>
}

/** @param isForCann whether CANN's packages are asked for too */
export async function checkPython(machine: Machine, isForCann: boolean): Promise<DoctorCheck> {
  if (!await machine.exists(PYTHON)) {
    return check('python', isForCann ? 'problem' : 'warning', text('Python is not there', '没有 Python'), isForCann
      ? text(`CANN's compilers start ${PYTHON}.`, `CANN 的编译器会调用 ${PYTHON}。`) : text(`Models written in Python (model.py) start ${PYTHON}; all others do without.`, `Python 模型（model.py）会调用 ${PYTHON}；其他模型不需要。`),
    fix('Install it.', '安装它。', await installCommand(machine, 'python3 python3-pip', 'python3 python3-pip')))
  }
  const packages = isForCann ? PYTHON_PACKAGES : ['numpy'] as const
  const answer = await askPython(machine, packages)
  if (!('version' in answer)) {
    return check('python', 'unknown', text('Python does not answer', 'Python 无应答'), text(`${PYTHON}: ${answer.en}`, `${PYTHON}：${answer['zh-CN']}`), fix('Run it in a shell to see why.', '在终端中运行以查看原因。', `${PYTHON} --version`))
  }
  const title = text(`Python ${answer.version}`, `Python ${answer.version}`)
  const missing = packages.filter((name) => answer.packages[name] === null)
  const hasNumpyTwo = isForCann && /^([2-9]|\d\d)/.test(answer.packages['numpy'] ?? '')
  if (missing.length > 0 || hasNumpyTwo) {
    const wanted = [...missing, ...(hasNumpyTwo ? ['numpy'] : [])].map((name) => (name === 'numpy' && isForCann ? "'numpy<2'" : name))
    const parts = [
      missing.length > 0 ? text(`not installed: ${missing.join(', ')}`, `未安装：${missing.join('、')}`) : null,
      hasNumpyTwo ? text(`numpy ${answer.packages['numpy'] ?? ''}, and CANN takes only versions before 2`, `numpy ${answer.packages['numpy'] ?? ''}，而 CANN 只支持 2 以前的版本`) : null,
    ].filter((part) => part !== null)
    const effect = isForCann ? text('GEInitialize fails without them.', '缺少它们 GEInitialize 会失败。') : text('Models written in Python usually want it.', 'Python 模型通常需要它。')
    return check('python', isForCann ? 'problem' : 'warning', text(`Python ${answer.version}: packages are missing`, `Python ${answer.version}：缺少软件包`), text(
      `For ${PYTHON} ${parts.map((part) => part.en).join('; ')}. ${effect.en}`, `${PYTHON} ${parts.map((part) => part['zh-CN']).join('；')}。${effect['zh-CN']}`,
    ), fix('Install them for this very interpreter.', '为这个解释器安装它们。', `${PYTHON} -m pip install ${wanted.join(' ')}`))
  }
  const [major = 0, minor = 0] = answer.version.split('.').map(Number)
  if (isForCann && (major !== 3 || minor < 7 || minor > 11)) {
    return check('python', 'warning', title, text('CANN supports Python 3.7 to 3.11, depending on its version.', 'CANN 支持 Python 3.7 至 3.11，视版本而定。'), fix('Install a Python of that range as /usr/bin/python3, or in a container.', '将该范围内的 Python 安装为 /usr/bin/python3，或使用容器。'))
  }
  const found = list(packages.map((name) => `${name} ${answer.packages[name] ?? ''}`))
  return check('python', 'ok', title, text(`${PYTHON}: ${found.en}`, `${PYTHON}：${found['zh-CN']}`))
}

/** @returns why there is no answer, as a sentence */
async function askPython(machine: Machine, packages: readonly string[]): Promise<PythonAnswer | LocalizedText> {
  try {
    const { stdout, stderr, exitCode, isTimedOut } = await machine.options.run({
      command: machine.path(PYTHON), args: ['-c', PYTHON_QUESTION, ...packages], environment: machine.environment, timeoutMilliseconds: 15_000,
    })
    if (isTimedOut) return text('no answer within 15 s', '15 秒内没有应答')
    const said = stderr.trim().split('\n').at(-1) ?? ''
    if (exitCode !== 0) return said === '' ? text(`it ended with code ${exitCode ?? '-'}`, `退出码 ${exitCode ?? '-'}`) : text(said, said)
    return JSON.parse(stdout) as PythonAnswer
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return text(message, message)
  }
}

const MEGABYTE = 2 ** 20

export async function checkSharedMemory(machine: Machine): Promise<DoctorCheck> {
  const bytes = await machine.fileSystemBytes('/dev/shm')
  const isContainer = await machine.isContainer()
  const larger = isContainer
    ? fix('Start the container with more.', '启动容器时调大。', 'docker run --shm-size=4g …') : fix('Mount it larger (until the next restart; /etc/fstab keeps it).', '重新挂载并调大（重启前有效；写入 /etc/fstab 可长期保留）。', 'sudo mount -o remount,size=4G /dev/shm')
  if (bytes === null) return check('shared-memory', 'problem', text('/dev/shm is not there', '没有 /dev/shm'), text('The Python backend passes tensors through it.', 'Python 后端通过它传递张量。'), larger)
  const size = bytes >= 1024 * MEGABYTE ? `${(bytes / 2 ** 30).toFixed(1)} GB` : `${Math.round(bytes / MEGABYTE)} MB`
  // 64 MB is what a container gets unless told otherwise; the Python backend alone takes that for a few instances.
  const verdict = bytes <= 64 * MEGABYTE ? 'problem' : bytes < 1024 * MEGABYTE ? 'warning' : 'ok'
  if (verdict === 'ok') return check('shared-memory', 'ok', text(`Shared memory ${size}`, `共享内存 ${size}`), text('/dev/shm', '/dev/shm'))
  return check('shared-memory', verdict, text(`Shared memory ${size}: too little`, `共享内存 ${size}，不够用`), text('The Python backend wants at least 1 GB; a container has 64 MB unless told otherwise.', 'Python 后端至少需要 1 GB；容器默认只有 64 MB。'), larger)
}

/** What scripts/build.mjs needs for the native parts, each with the packages that bring it: Debian's name, then openEuler's and Fedora's. */
const BUILD_TOOLS = [
  { programs: ['c++', 'g++', 'clang++'], names: text('a C++ compiler', 'C++ 编译器'), debian: 'g++', redHat: 'gcc-c++' },
  { programs: ['cmake'], names: text('cmake', 'cmake'), debian: 'cmake', redHat: 'cmake' },
  { programs: ['make'], names: text('make', 'make'), debian: 'make', redHat: 'make' },
] as const

export async function checkCompiler(machine: Machine): Promise<DoctorCheck> {
  const found = await Promise.all(BUILD_TOOLS.map(({ programs }) => machine.findProgram(...programs)))
  const missing = BUILD_TOOLS.filter((_tool, index) => found[index] === null)
  if (missing.length === 0) {
    const paths = list(found.filter((path) => path !== null))
    return check('compiler', 'ok', text('Build tools', '构建工具'), paths)
  }
  const names = text(list(missing.map(({ names }) => names.en)).en, list(missing.map(({ names }) => names['zh-CN']))['zh-CN'])
  const packages = (key: 'debian' | 'redHat') => missing.map((tool) => tool[key]).join(' ')
  return check('compiler', 'warning', text(`Build tools are missing: ${names.en}`, `缺少构建工具：${names['zh-CN']}`), text(
    'Building the native parts from source, and the Ascend backends against this CANN, needs them; serving does not.', '从源码构建原生部件、针对本机 CANN 编译昇腾后端时才需要；推理服务不需要。',
  ), fix('Install what is missing.', '安装缺少的部分。', await installCommand(machine, packages('debian'), packages('redHat'))))
}

export function checkOnnxRuntime({ options }: Machine): DoctorCheck {
  const version = options.onnxRuntimeVersion
  if (version !== null) return check('onnxruntime', 'ok', text(`ONNX Runtime ${version}`, `ONNX Runtime ${version}`), text('It runs ONNX models on the CPU, with or without a card.', '有没有卡都能在 CPU 上运行 ONNX 模型。'))
  return check('onnxruntime', 'problem', text('ONNX Runtime is missing', '缺少 ONNX Runtime'), text('It belongs to this application; ONNX models cannot be loaded.', '它是本应用的一部分；无法加载 ONNX 模型。'), fix('Install the application again.', '重新安装本应用。'))
}

/** By the family of the distribution: Debian's names, then those of openEuler, CentOS and Kylin. */
async function installCommand(machine: Machine, debian: string, redHat: string): Promise<string> {
  const release = await machine.readSettings('/etc/os-release')
  return /debian|ubuntu|uos/i.test(`${release?.get('id') ?? ''} ${release?.get('id_like') ?? ''}`) ? `sudo apt-get install -y ${debian}` : `sudo dnf install -y ${redHat}`
}
