import { describe, expect, it } from 'vitest'
import type { DoctorCheck, DoctorCheckId, DoctorReport } from '../../contract/devices.ts'
import { createFakeNpuSmi, npuSmiOutput } from '../../testing/fake-npu-smi.ts'
import { FakeWorkstation } from '../../testing/fake-workstation.ts'
import { join } from 'node:path'
import { runDoctor } from './doctor.ts'

const found = (report: DoctorReport, id: DoctorCheckId): DoctorCheck => {
  const check = report.checks.find((entry) => entry.id === id)
  if (check === undefined) throw new Error(`no check ${id}: ${report.checks.map((entry) => entry.id).join()}`)
  return check
}
const verdicts = (report: DoctorReport) => Object.fromEntries(report.checks.map(({ id, verdict }) => [id, verdict]))
const needy = (report: DoctorReport) => report.checks.filter(({ verdict }) => verdict !== 'ok').map(({ id, verdict }) => [id, verdict])
const ENVIRONMENT = { PATH: '/usr/bin:/bin' }

describe('runDoctor', () => {
  it('has nothing to repair on a workstation that is in order', async () => {
    using station = new FakeWorkstation().complete()
    const report = await runDoctor(station.machine())
    expect(needy(report)).toEqual([])
    expect(report).toMatchObject({ hasNpu: true, summary: { en: 'Ready: nothing to repair in 12 checks.', 'zh-CN': '就绪：12 项检查均无需修复。' } })
    expect(report.checks.map(({ id, title }) => [id, title.en])).toEqual(expect.arrayContaining([
      ['driver', 'Driver 25.2.0'], ['firmware', 'Firmware 7.7.0.3.220'], ['cann', 'CANN 8.5.0'], ['npu-smi', 'npu-smi 25.2.0'], ['cards', 'Cards: 2 × 910B3'], ['python', 'Python 3.11.6'], ['onnxruntime', 'ONNX Runtime 1.22.0'],
    ]) as unknown)
    expect(found(report, 'device-nodes').detail.en).toBe('davinci0, davinci1: readable and writable; the user operator is in the group HwHiAiUser.')
  })

  it('says in one calm sentence that there is no NPU, and asks for nothing of CANN', async () => {
    using station = new FakeWorkstation().python('3.12.1', { numpy: '2.1.0' }).buildTools()
    const report = await runDoctor(station.machine({ environment: ENVIRONMENT }))
    expect(report).toMatchObject({ hasNpu: false, summary: { en: 'There is no NPU in this machine: models run on the CPU, and loading, testing, load runs and monitoring work as ever.' } })
    expect(verdicts(report)).toEqual({ npu: 'ok', python: 'ok', 'shared-memory': 'ok', compiler: 'ok', onnxruntime: 'ok' })
  })

  it('gives every finding that is not in order a fix, in both languages', async () => {
    using station = new FakeWorkstation().write('/usr/local/Ascend/driver/lib64/.keep', '')
    const report = await runDoctor(station.machine({ environment: ENVIRONMENT, onnxRuntimeVersion: null, fileSystemBytes: () => Promise.resolve(64 * 2 ** 20) }))
    const open = report.checks.filter(({ verdict }) => verdict !== 'ok')
    expect(open.map(({ id }) => id)).toEqual(expect.arrayContaining(['driver', 'firmware', 'npu-smi', 'device-nodes', 'cann', 'python', 'shared-memory', 'compiler', 'onnxruntime']) as unknown)
    for (const { id, title, detail, fix } of open) {
      for (const text of [title, detail, fix?.text]) {
        expect(text?.en, id).toMatch(/^[\x20-\x7e…]+$/)
        expect(text?.['zh-CN'], id).toMatch(/\p{Script=Han}/u)
      }
    }
    expect(report.checks.map(({ verdict }) => verdict)).toEqual([...report.checks].sort((a, b) => ['problem', 'warning', 'unknown', 'ok'].indexOf(a.verdict) - ['problem', 'warning', 'unknown', 'ok'].indexOf(b.verdict)).map(({ verdict }) => verdict))
    expect(report.summary.en).toMatch(/^\d problems, \d warnings?; first: The driver is not installed\.$/)
  })

  it('sees a card on the bus whose driver was never installed', async () => {
    using station = new FakeWorkstation().write('/sys/bus/pci/devices/0000:c1:00.0/vendor', '0x19e5\n').write('/sys/bus/pci/devices/0000:c1:00.0/class', '0x120000\n')
      // The same maker's network card is none.
      .write('/sys/bus/pci/devices/0000:02:00.0/vendor', '0x19e5\n').write('/sys/bus/pci/devices/0000:02:00.0/class', '0x020000\n')
    const report = await runDoctor(station.machine({ environment: ENVIRONMENT }))
    expect(found(report, 'driver')).toMatchObject({
      verdict: 'problem', detail: { en: '/usr/local/Ascend/driver/version.info is not there; cards on the bus: 0000:c1:00.0.' },
      fix: { command: './Ascend-hdk-<card>-npu-driver_<version>_linux-aarch64.run --full --install-for-all' },
    })
  })

  it('notices installations that were not completed', async () => {
    using station = new FakeWorkstation().complete().write('/etc/ascend_install.info', 'Driver_Install_Status=uncomplete\nFirmware_Install_Status=uncomplete\n')
    expect(needy(await runDoctor(station.machine()))).toEqual([['firmware', 'problem'], ['driver', 'warning']])
  })

  it('finds CANN in the old place, in the home of the user, and by the environment first', async () => {
    const title = async (station: FakeWorkstation, environment: NodeJS.ProcessEnv = ENVIRONMENT) => {
      const { title: { en }, detail } = found(await runDoctor(station.machine({ environment })), 'cann')
      return [en, detail.en]
    }
    using station = new FakeWorkstation().complete().remove('/usr/local/Ascend/cann').write('/home/operator/Ascend/cann/version.cfg', '9.1.0\n')
    expect(await title(station)).toEqual(['CANN 9.1.0', '/home/operator/Ascend/cann'])
    station.write('/usr/local/Ascend/ascend-toolkit/latest/version.cfg', 'version=8.3.RC1\n')
    expect(await title(station)).toEqual(['CANN 8.3.RC1', '/usr/local/Ascend/ascend-toolkit/latest'])
    station.write('/opt/cann/aarch64-linux/ascend_toolkit_install.info', 'package_name=Ascend-cann-toolkit\nversion=8.0.RC3\n').write('/opt/cann/opp/.keep', '')
    expect(await title(station, { ...ENVIRONMENT, ASCEND_HOME_PATH: '/opt/cann' })).toEqual(['CANN 8.0.RC3', '/opt/cann'])
  })

  it('reads set_env.sh where the environment is not set, and offers to start the engine with it', async () => {
    using station = new FakeWorkstation().complete()
    expect(found(await runDoctor(station.machine({ environment: ENVIRONMENT })), 'environment')).toMatchObject({
      verdict: 'problem', title: { en: 'CANN environment is not set' },
      detail: { en: 'Not set in this process: ASCEND_HOME_PATH, ASCEND_OPP_PATH. /usr/local/Ascend/cann/set_env.sh was read and would set: ASCEND_HOME_PATH, ASCEND_OPP_PATH, LD_LIBRARY_PATH.' },
      fix: { command: 'npu-console serve --cann-set-env=/usr/local/Ascend/cann/set_env.sh' },
    })
    station.write('/usr/local/Ascend/cann/set_env.sh', 'export ASCEND_HOME_PATH=/x\ncd /not-there-at-all || return 3\n')
    expect(found(await runDoctor(station.machine({ environment: ENVIRONMENT })), 'environment')).toMatchObject({ title: { en: 'set_env.sh fails' }, detail: { en: expect.stringContaining('/not-there-at-all') as string } })
    station.write('/usr/local/Ascend/cann/set_env.sh', 'return 3\n')
    expect(found(await runDoctor(station.machine({ environment: ENVIRONMENT })), 'environment').detail['zh-CN']).toBe('/usr/local/Ascend/cann/set_env.sh：退出码 3')
    station.remove('/usr/local/Ascend/cann/set_env.sh')
    expect(found(await runDoctor(station.machine({ environment: ENVIRONMENT })), 'environment').title.en).toBe('CANN environment is not set, and set_env.sh is missing')
  })

  it('says so where ASCEND_HOME_PATH leads nowhere, with the CANN that is there', async () => {
    using station = new FakeWorkstation().complete()
    const environment = { ...station.machine().environment, ASCEND_HOME_PATH: '/opt/gone' }
    expect(found(await runDoctor(station.machine({ environment })), 'environment')).toMatchObject({
      verdict: 'problem', title: { en: 'ASCEND_HOME_PATH leads nowhere' }, detail: { en: 'ASCEND_HOME_PATH=/opt/gone, and /opt/gone/lib64 is not there. CANN was found in /usr/local/Ascend/cann.' },
      fix: { command: 'npu-console serve --cann-set-env=/usr/local/Ascend/cann/set_env.sh', restart: { cannSetEnv: '/usr/local/Ascend/cann/set_env.sh' } },
    })
    station.remove('/usr/local/Ascend/cann/set_env.sh')
    expect(found(await runDoctor(station.machine({ environment })), 'environment').fix?.command).toBe('export ASCEND_HOME_PATH=/usr/local/Ascend/cann')
  })

  it('warns of the stub libraries, which answer every call with 100039', async () => {
    using station = new FakeWorkstation().complete()
    const environment = { ...station.machine().environment, LD_LIBRARY_PATH: '/usr/local/Ascend/cann/lib64:/usr/local/Ascend/cann/devlib' }
    expect(found(await runDoctor(station.machine({ environment })), 'environment').detail.en).toContain('/usr/local/Ascend/cann/devlib')
  })

  it('names the missing Python packages, and a numpy that is too new', async () => {
    using station = new FakeWorkstation().complete().python('3.10.4', { numpy: '2.0.1', decorator: null, sympy: '1', cffi: '1', pyyaml: '1', 'absl-py': null, requests: '1', protobuf: '1', scipy: '1', attrs: '1', psutil: '1', cython: '1', pathlib2: '1' })
    expect(found(await runDoctor(station.machine()), 'python')).toMatchObject({
      verdict: 'problem',
      detail: { en: 'For /usr/bin/python3 not installed: decorator, absl-py; numpy 2.0.1, and CANN takes only versions before 2. GEInitialize fails without them.' },
      fix: { command: "/usr/bin/python3 -m pip install decorator absl-py 'numpy<2'" },
    })
    station.write('/usr/bin/python3', '#!/bin/sh\necho "no module named encodings" >&2; exit 1\n', 0o755)
    expect(found(await runDoctor(station.machine()), 'python')).toMatchObject({ verdict: 'unknown', detail: { en: '/usr/bin/python3: no module named encodings' } })
    station.write('/usr/bin/python3', '#!/bin/sh\nexit 3\n', 0o755)
    expect(found(await runDoctor(station.machine()), 'python').detail).toEqual({ en: '/usr/bin/python3: it ended with code 3', 'zh-CN': '/usr/bin/python3：退出码 3' })
  })

  it('tells missing nodes from closed ones, and one who is not in the group from one whom that does not help', async () => {
    using station = new FakeWorkstation().complete()
    const closed = { canReadAndWrite: () => Promise.resolve(false) }
    expect(found(await runDoctor(station.machine({ ...closed, groupIds: [1001] })), 'device-nodes')).toMatchObject({ verdict: 'problem', fix: { command: 'sudo usermod -aG HwHiAiUser operator' } })
    expect(found(await runDoctor(station.machine(closed)), 'device-nodes').fix?.text.en).toContain('CAP_DAC_OVERRIDE')
    station.remove('/dev/devmm_svm')
    expect(found(await runDoctor(station.machine()), 'device-nodes')).toMatchObject({ title: { en: 'Device nodes are missing' }, detail: { en: 'Not there: /dev/devmm_svm.' } })
    station.write('/.dockerenv', '')
    expect(found(await runDoctor(station.machine()), 'device-nodes').fix?.command).toBe('docker run --device=/dev/davinci0 --device=/dev/davinci1 --device=/dev/davinci_manager --device=/dev/devmm_svm --device=/dev/hisi_hdc …')
  })

  it('proposes the value that ASCEND_RT_VISIBLE_DEVICES was meant to have', async () => {
    using station = new FakeWorkstation().complete()
    const visible = async (value: string) => found(await runDoctor(station.machine({ environment: { ...station.machine().environment, ASCEND_RT_VISIBLE_DEVICES: value } })), 'visible-devices')
    expect(await visible('1,0')).toMatchObject({ verdict: 'warning', fix: { command: 'export ASCEND_RT_VISIBLE_DEVICES=0,1' } })
    expect(await visible('5')).toMatchObject({ verdict: 'problem', fix: { command: 'unset ASCEND_RT_VISIBLE_DEVICES' } })
    expect(await visible('1')).toMatchObject({ verdict: 'ok', detail: { en: 'Logical id → id in the engine: 1 → 0. npu-smi goes on to show all cards.' } })
  })

  it('measures the shared memory, and repairs it as the machine is started', async () => {
    using station = new FakeWorkstation().complete()
    const sized = async (bytes: number | null) => {
      const { verdict, title, fix } = found(await runDoctor(station.machine({ fileSystemBytes: () => Promise.resolve(bytes) })), 'shared-memory')
      return [verdict, title.en, fix?.command]
    }
    expect(await sized(2 ** 30)).toEqual(['ok', 'Shared memory 1.0 GB', undefined])
    expect(await sized(512 * 2 ** 20)).toEqual(['warning', 'Shared memory 512 MB: too little', 'sudo mount -o remount,size=4G /dev/shm'])
    station.write('/.dockerenv', '')
    expect(await sized(64 * 2 ** 20)).toEqual(['problem', 'Shared memory 64 MB: too little', 'docker run --shm-size=4g …'])
    expect(await sized(null)).toEqual(['problem', '/dev/shm is not there', 'docker run --shm-size=4g …'])
  })

  it('explains npu-smi that is refused, sick cards, and no cards', async () => {
    using station = new FakeWorkstation().complete()
    const npuSmi = createFakeNpuSmi(join(station.root, 'usr/local/bin'))
    npuSmi.set('info', npuSmiOutput('info-910b'))
    expect(found(await runDoctor(station.machine()), 'cards')).toMatchObject({ verdict: 'problem', detail: { en: 'NPU 5 chip 0: alarm.', 'zh-CN': 'NPU 5 芯片 0：告警。' }, fix: { command: 'npu-smi info -t health -i 5' } })
    npuSmi.set('info', npuSmiOutput('info-910b').split('\n').slice(0, 6).join('\n'))
    expect(found(await runDoctor(station.machine()), 'cards')).toMatchObject({ verdict: 'problem', title: { en: 'The driver lists no card' } })
    npuSmi.fail('dcmi module initialize failed. ret is -8005')
    expect(found(await runDoctor(station.machine()), 'npu-smi')).toMatchObject({ verdict: 'problem', fix: { command: 'sudo usermod -aG HwHiAiUser operator' } })
  })

  it('speaks the package manager of the distribution', async () => {
    using station = new FakeWorkstation().complete().remove('/usr/bin/g++')
    expect(found(await runDoctor(station.machine()), 'compiler').fix?.command).toBe('sudo dnf install -y gcc-c++')
    station.write('/etc/os-release', 'ID=ubuntu\nID_LIKE=debian\n')
    expect(found(await runDoctor(station.machine()), 'compiler').fix?.command).toBe('sudo apt-get install -y g++')
    station.remove('/usr/bin/cmake').remove('/usr/bin/make')
    expect(found(await runDoctor(station.machine()), 'compiler')).toMatchObject({ title: { en: 'Build tools are missing: a C++ compiler, cmake, make' }, fix: { command: 'sudo apt-get install -y g++ cmake make' } })
  })
})
