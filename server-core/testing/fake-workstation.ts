/** An NPU workstation in a temporary folder, for tests of the Doctor: files as the installers leave them, programs as small shell scripts. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Machine, type MachineOptions } from '../telemetry/doctor/machine.ts'
import { runTool } from '../telemetry/run-tool.ts'
import { createFakeNpuSmi, npuSmiOutput } from './fake-npu-smi.ts'

export class FakeWorkstation implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), 'fake-workstation-'))

  write(path: string, text: string, mode = 0o644): this {
    const file = join(this.root, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    chmodSync(file, mode)
    return this
  }

  remove(path: string): this {
    rmSync(join(this.root, path), { recursive: true, force: true })
    return this
  }

  /** A python3 that answers the Doctor with these packages. */
  python(version: string, packages: Readonly<Record<string, string | null>>): this {
    return this.write('/usr/bin/python3', `#!/bin/sh\ncat <<'END'\n${JSON.stringify({ version, packages })}\nEND\n`, 0o755)
  }

  buildTools(): this {
    for (const tool of ['g++', 'cmake', 'make']) this.write(`/usr/bin/${tool}`, '#!/bin/sh\n', 0o755)
    return this
  }

  /** Two A2 cards, everything installed and in order. */
  complete(): this {
    for (const node of ['davinci0', 'davinci1', 'davinci_manager', 'devmm_svm', 'hisi_hdc']) this.write(`/dev/${node}`, '')
    this.write('/dev/shm/.keep', '')
    this.write('/usr/local/Ascend/driver/version.info', 'Version=25.2.0\nascendhal_version=7.35.23\n')
    this.write('/usr/local/Ascend/firmware/version.info', 'Version=7.7.0.3.220\n')
    this.write('/etc/ascend_install.info', 'UserName=HwHiAiUser\nUserGroup=HwHiAiUser\nDriver_Install_Type=full\nDriver_Install_Path_Param=/usr/local/Ascend\nDriver_Install_Status=complete\nFirmware_Install_Path_Param=/usr/local/Ascend\nFirmware_Install_Status=complete\n')
    this.write('/etc/group', 'root:x:0:\nHwHiAiUser:x:1000:operator\n')
    this.write('/etc/os-release', 'NAME="openEuler"\nID="openEuler"\n')
    this.write('/usr/local/Ascend/cann/version.cfg', '8.5.0\n')
    this.write('/usr/local/Ascend/cann/lib64/.keep', '')
    this.write('/usr/local/Ascend/cann/set_env.sh', [
      'export ASCEND_HOME_PATH=/usr/local/Ascend/cann', 'export ASCEND_OPP_PATH=${ASCEND_HOME_PATH}/opp',
      'export LD_LIBRARY_PATH=${ASCEND_HOME_PATH}/lib64:${ASCEND_HOME_PATH}/lib64/plugin/opskernel:$LD_LIBRARY_PATH', 'echo noise that belongs nowhere', '',
    ].join('\n'))
    this.python('3.11.6', Object.fromEntries(['numpy', 'decorator', 'sympy', 'cffi', 'pyyaml', 'absl-py', 'requests', 'protobuf', 'scipy', 'attrs', 'psutil', 'cython', 'pathlib2'].map((name) => [name, '1.26.4'])))
    this.buildTools()
    const npuSmi = createFakeNpuSmi(join(this.root, 'usr/local/bin'))
    npuSmi.set('info', npuSmiOutput('info-910b').replace('Alarm', 'OK   '))
    npuSmi.set('ids', '\tNPU ID   Chip ID   Chip Logic ID   Chip Name\n\t0        0         0               Ascend 910B3\n\t5        0         1               Ascend 910B3\n')
    return this
  }

  /** As a process with CANN's environment on this machine sees it. */
  machine(options: Partial<MachineOptions> = {}): Machine {
    return new Machine({
      root: this.root,
      environment: { PATH: '/usr/bin:/bin', ASCEND_HOME_PATH: '/usr/local/Ascend/cann', ASCEND_OPP_PATH: '/usr/local/Ascend/cann/opp', LD_LIBRARY_PATH: '/usr/local/Ascend/cann/lib64' },
      homeDirectory: '/home/operator', userName: 'operator', userId: 1001, groupIds: [1001, 1000], architecture: 'aarch64', onnxRuntimeVersion: '1.22.0', run: runTool,
      canReadAndWrite: () => Promise.resolve(true), fileSystemBytes: () => Promise.resolve(8 * 2 ** 30), ...options,
    })
  }

  [Symbol.dispose](): void { rmSync(this.root, { recursive: true, force: true }) }
}
