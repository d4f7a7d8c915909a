import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createFakeNpuSmi, npuSmiOutput, type FakeNpuSmi } from '../testing/fake-npu-smi.ts'
import { findNpuSmi, NpuSmiSource } from './npu-smi-source.ts'

let directory: string
let tool: FakeNpuSmi
let now = 0

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'npu-smi-source-'))
  tool = createFakeNpuSmi(join(directory, 'bin'))
  now = 1_000_000
})

afterEach(() => { rmSync(directory, { recursive: true, force: true }) })

const source = () => new NpuSmiSource({ toolPath: join(tool.directory, 'npu-smi'), environment: { PATH: process.env['PATH'] }, wallMilliseconds: () => now })

describe('NpuSmiSource', () => {
  it('asks for the table and one slower question a time, and dates what it keeps', async () => {
    tool.set('info', npuSmiOutput('info-910b'))
    tool.set('usages', npuSmiOutput('usages-910b'))
    tool.set('health', npuSmiOutput('health-ok'))
    tool.set('ids', '\tNPU ID   Chip ID   Chip Logic ID   Chip Name\n\t0        0         0               Ascend 910B3\n\t5        0         1               Ascend 910B3\n')
    const reader = source()
    const first = await reader.read()
    expect(first).toMatchObject({ readAt: 1_000_000, driverVersion: '25.2.0', isSimulated: false })
    // Ids come first: they name the cards.
    expect(first.chips.map(({ logicalId, vectorCorePercent, errorCodes }) => [logicalId, vectorCorePercent, errorCodes])).toEqual([[0, null, null], [1, null, null]])
    now += 1000
    const second = await reader.read()
    expect(second.chips[0]).toMatchObject({ vectorCorePercent: { value: 19, readAt: 1_001_000 }, cubeCorePercent: { value: 34, readAt: 1_001_000 }, errorCodes: null })
    for (let turn = 0; turn < 3; turn++) {
      now += 1000
      await reader.read()
    }
    expect(tool.calls()).toEqual(['info', 'info -m', 'info', 'info -t usages -i 0', 'info', 'info -t usages -i 5', 'info', 'info -t health -i 0', 'info', 'info -t health -i 5'])
    now += 1000
    expect((await reader.read()).chips[1]).toMatchObject({ errorCodes: { value: [], readAt: 1_004_000 } })
  })

  it('leaves unknown what the card does not support, and does not ask for it every second', async () => {
    tool.set('info', npuSmiOutput('info-310p-duo'))
    const reader = source()
    for (let turn = 0; turn < 30; turn++) {
      const { chips } = await reader.read()
      expect(chips[0]).toMatchObject({ logicalId: 0, aiCorePercent: 61, vectorCorePercent: null, errorCodes: null })
      now += 1000
    }
    // Two cards, usages and health each, once within the half minute; the ids stand in the table.
    expect(tool.calls().filter((call) => call !== 'info')).toEqual(['info -t usages -i 1', 'info -t usages -i 4', 'info -t health -i 1', 'info -t health -i 4'])
  })

  it('explains the failures that are known', async () => {
    tool.fail('dcmi module initialize failed. ret is -8005')
    await expect(source().read()).rejects.toMatchObject({ explanation: { en: expect.stringContaining('HwHiAiUser') as string, 'zh-CN': expect.stringContaining('HwHiAiUser') as string } })
    tool.fail('npu-smi: error while loading shared libraries: libc_sec.so: cannot open shared object file: No such file or directory')
    await expect(source().read()).rejects.toThrow("npu-smi does not find libc_sec.so: the driver's libraries are not installed completely")
    tool.fail(null)
    tool.set('info', 'something else')
    await expect(source().read()).rejects.toThrow('npu-smi printed no table of cards: something else')
  })

  it('gives the tool the libraries of the driver, and ends one that does not answer', async () => {
    const runs: (string | undefined)[] = []
    const reader = new NpuSmiSource({
      toolPath: '/x/npu-smi', environment: { LD_LIBRARY_PATH: '/mine' }, wallMilliseconds: () => now,
      run: ({ environment }) => { runs.push(environment['LD_LIBRARY_PATH']); return Promise.resolve({ exitCode: null, stdout: '', stderr: '', isTimedOut: true }) },
    })
    await expect(reader.read()).rejects.toThrow('npu-smi did not answer within 10 s')
    expect(runs).toEqual(['/mine:/usr/local/Ascend/driver/lib64:/usr/local/Ascend/driver/lib64/common:/usr/local/Ascend/driver/lib64/driver'])
  })

  it('is found on the PATH, and nowhere on a machine without it', async () => {
    expect(await findNpuSmi({ PATH: `/nowhere:${tool.directory}` }, directory)).toBe(join(tool.directory, 'npu-smi'))
    expect(await findNpuSmi({ PATH: '/nowhere' }, directory)).toBeNull()
  })
})
