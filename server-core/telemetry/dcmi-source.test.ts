import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { DcmiCallback, DcmiChipValues } from '../backends/native-addon.ts'
import { LogHub } from '../logger.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import { DcmiSource, findDcmi } from './dcmi-source.ts'

const CHIP: DcmiChipValues = {
  card: 2, chip: 0, logicalId: 4, name: '910B3', busId: '0000:c1:00.0', health: 0, powerWatts: 98.4, temperatureCelsius: 50, aiCorePercent: 38, vectorCorePercent: 12,
  cubeCorePercent: 38, memoryUsedBytes: 3369, memoryTotalBytes: 65536, errorCodes: [0, 0x80e01801], processes: [{ processId: 7, memoryBytes: 100 }],
  overallPercent: 40, aiCoreMegahertz: 1800, hbmTemperatureCelsius: 48, hbmBandwidthPercent: 21,
}
const SILENT: DcmiChipValues = {
  ...CHIP, logicalId: null, name: null, busId: null, health: null, powerWatts: null, temperatureCelsius: null, aiCorePercent: null, vectorCorePercent: null, cubeCorePercent: null,
  memoryUsedBytes: null, memoryTotalBytes: null, errorCodes: null, processes: null, overallPercent: null, aiCoreMegahertz: null, hbmTemperatureCelsius: null, hbmBandwidthPercent: null,
}

/** A stand-in for the driver's library, which is not here: the test answers its calls. */
function rig({ isNamed = true } = {}) {
  const calls: DcmiCallback[] = []
  const clock = new FakeClock()
  const options = { readDcmi: (_directory: string, callback: DcmiCallback) => { calls.push(callback) }, directory: '', clock, ...(isNamed ? { processName: async () => 'python3' } : {}) }
  const source = new DcmiSource(options)
  const answer = (...chips: readonly DcmiChipValues[]) => { calls.shift()?.(null, { driverVersion: '25.0.rc1', isSimulated: false, chips }) }
  const fail = (message: string, dcmiCode: number) => { calls.shift()?.(Object.assign(new Error(message), { dcmiCode }), null) }
  return { calls, clock, options, source, answer, fail }
}

describe('DcmiSource', () => {
  it('tells every value with its time, and error codes as npu-smi prints them', async () => {
    const { source, answer, clock } = rig()
    const reading = source.read()
    answer(CHIP)
    const readAt = clock.wallMilliseconds()
    expect(await reading).toEqual({
      readAt, isSimulated: false, driverVersion: '25.0.rc1',
      chips: [{
        slot: 2, chipIndex: 0, logicalId: 4, name: '910B3', busId: '0000:c1:00.0', health: 'ok', powerWatts: 98.4, temperatureCelsius: 50, aiCorePercent: 38,
        memoryUsedBytes: 3369, memoryTotalBytes: 65536, processes: [{ processId: 7, name: 'python3', memoryBytes: 100 }],
        vectorCorePercent: { value: 12, readAt }, cubeCorePercent: { value: 38, readAt }, errorCodes: { value: ['80E01801'], readAt },
        gauges: { overallPercent: 40, aiCoreMegahertz: 1800, hbmTemperatureCelsius: 48, hbmBandwidthPercent: 21 },
      }],
    })
  })

  it('keeps the names of a chip that does not answer any more, and nothing else of it', async () => {
    const { source, answer } = rig()
    const first = source.read()
    answer(CHIP)
    await first
    const second = source.read()
    answer(SILENT)
    expect((await second).chips[0]).toMatchObject({ logicalId: 4, name: '910B3', busId: '0000:c1:00.0', health: null, aiCorePercent: null, memoryTotalBytes: null, processes: null, errorCodes: null })
  })

  it('does not wait for a card that hangs, nor asks again before it answered', async () => {
    const { source, answer, calls, clock } = rig()
    const hung = source.read()
    clock.advance(10e9)
    await expect(hung).rejects.toMatchObject({ explanation: { en: expect.stringContaining('did not answer within 10 s') as string, 'zh-CN': expect.stringContaining('10 秒') as string } })
    const again = source.read()
    expect(calls).toHaveLength(1)
    answer(CHIP)
    expect((await again).chips).toHaveLength(1)
    void source.read().catch(() => undefined)
    expect(calls).toHaveLength(1)
    expect(clock.timerCount).toBe(1)
  })

  it('explains who is refused by the driver', async () => {
    const { source, fail } = rig()
    const reading = source.read()
    fail('dcmi_init failed with -8005', -8005)
    await expect(reading).rejects.toMatchObject({ explanation: { en: expect.stringContaining('HwHiAiUser') as string } })
  })
})

describe('the name of a process', () => {
  it('is that of its script where Node names all programs alike', async () => {
    await using folder = await TemporaryRepository.create({ 'serve-models.mjs': 'process.stdin.resume()\n' })
    const script = join(folder.path, 'serve-models.mjs')
    const child = spawn(process.execPath, [script, '--flag'], { stdio: ['pipe', 'ignore', 'ignore'] })
    try {
      await once(child, 'spawn')
      await expect.poll(() => readFileSync(`/proc/${child.pid}/comm`, 'utf8')).toBe('MainThread\n')
      const { source, answer } = rig({ isNamed: false })
      const reading = source.read()
      answer({ ...CHIP, processes: [{ processId: child.pid ?? 0, memoryBytes: 1 }, { processId: 2 ** 30, memoryBytes: 2 }] })
      expect((await reading).chips[0]?.processes).toEqual([{ processId: child.pid, memoryBytes: 1, name: 'serve-models' }, { processId: 2 ** 30, memoryBytes: 2, name: '' }])
    } finally {
      child.stdin.end()
      await once(child, 'exit')
    }
  })
})

describe('findDcmi', () => {
  it('leaves the cards to npu-smi where DCMI cannot be used, or lists none', async () => {
    const { options, answer, fail } = rig()
    const log = new LogHub().logger('npu-telemetry')
    const absent = findDcmi(options, log)
    fail('libdcmi.so cannot be opened', 0)
    expect(await absent).toBeNull()
    const empty = findDcmi(options, log)
    answer()
    expect(await empty).toBeNull()
    const found = findDcmi(options, log)
    answer(CHIP)
    expect(await found).toMatchObject({ kind: 'dcmi' })
  })
})
