import { describe, expect, it } from 'vitest'
import type { DoctorReport } from '../contract/devices.ts'
import { FakeWorkstation } from '../testing/fake-workstation.ts'
import type { MachineOptions } from '../telemetry/doctor/machine.ts'
import { doctorCommand } from './doctor-command.ts'

async function run(station: FakeWorkstation, args: readonly string[], options: Partial<MachineOptions> = {}) {
  const output: string[] = []
  const errors: string[] = []
  const code = await doctorCommand(args, station.machine(options), { print: (text) => { output.push(text) }, printError: (text) => { errors.push(text) } })
  return { code, output: output.join('\n'), errors: errors.join('\n') }
}

describe('npu-console doctor', () => {
  it('prints the sentence, then each finding with its repair, and fails while there are problems', async () => {
    using station = new FakeWorkstation().complete()
    const small = { fileSystemBytes: () => Promise.resolve(64 * 2 ** 20) }
    const { code, output } = await run(station, [], small)
    expect(code).toBe(1)
    expect(output.split('\n').slice(0, 13)).toEqual([
      '1 problem; first: Shared memory 64 MB: too little.', '',
      '+-----+------+-------+--------------+------------+------------+---------------+',
      '| NPU | Chip | Name  | Bus-Id       | Logical id | Visible id | Node          |',
      '+-----+------+-------+--------------+------------+------------+---------------+',
      '| 0   | 0    | 910B3 | 0000:c1:00.0 | 0          | 0          | /dev/davinci0 |',
      '| 5   | 0    | 910B3 | 0000:42:00.0 | 1          | 1          | /dev/davinci1 |',
      '+-----+------+-------+--------------+------------+------------+---------------+',
      '', '[problem] Shared memory 64 MB: too little', '    The Python backend wants at least 1 GB; a container has 64 MB unless told otherwise.',
      '    Fix: Mount it larger (until the next restart; /etc/fstab keeps it).', '      sudo mount -o remount,size=4G /dev/shm',
    ])
    expect((await run(station, [])).code).toBe(0)
  })

  it('speaks Chinese by flag and by the locale', async () => {
    using station = new FakeWorkstation().complete()
    const expected = /^就绪：12 项检查均无需修复。\n[^]*\n\n\[正常\] 驱动 25\.2\.0\n/
    expect((await run(station, ['--language=zh-CN'])).output).toMatch(expected)
    expect((await run(station, [], { environment: { ...station.machine().environment, LANG: 'zh_CN.UTF-8' } })).output).toMatch(expected)
  })

  it('prints the report as JSON', async () => {
    using station = new FakeWorkstation()
    const { output, code } = await run(station, ['--json'], { environment: { PATH: '/usr/bin' } })
    const report = JSON.parse(output) as DoctorReport
    expect([code, report.hasNpu, report.checks.map(({ id }) => id)]).toEqual([0, false, ['python', 'compiler', 'npu', 'shared-memory', 'onnxruntime']])
  })

  it('refuses what it does not know', async () => {
    using station = new FakeWorkstation()
    expect(await run(station, ['--fix'])).toMatchObject({ code: 2, errors: expect.stringContaining("Unknown option '--fix'") as string })
    expect(await run(station, ['--language=fr'])).toMatchObject({ code: 2, errors: expect.stringContaining("--language is en or zh-CN, not 'fr'") as string })
  })
})
